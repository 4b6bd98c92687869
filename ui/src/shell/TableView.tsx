// A canvas and, one switch away, the same as a table: for readers of screens, for copying, for being sure.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { count } from "../format";
import { asSet, kept } from "../state";
import { type Saved, Saves } from "./Saves";

// On a phone, or magnified four times, the picture comes before what explains it.
function useSmall(): boolean {
    const [query] = useState(() => matchMedia("(max-width: 480px), (max-height: 420px)"));
    const [is, setIs] = useState(query.matches);
    useEffect(() => {
        const change = () => setIs(query.matches);
        query.addEventListener("change", change);
        return () => query.removeEventListener("change", change);
    }, []);
    return is;
}

// Which pictures are shown as tables, in the address.
const tables = kept<ReadonlySet<string>>("tables", new Set(), asSet);

export function useAsTable(file: string): [boolean, () => void] {
    const is = tables.value.has(file);
    return [is, () => (tables.value = new Set(is ? [...tables.value].filter((one) => one !== file) : [...tables.value, file]))];
}

export function TableSwitch({ asTable, toggle }: { asTable: boolean; toggle(): void }) {
    return (
        <button type="button" class="quiet" aria-pressed={asTable} onClick={toggle}>
            {asTable ? "View as picture" : "View as table"}
        </button>
    );
}

export interface Table {
    caption: string;
    columns: string[];
    rows: (string | number)[][];
    more?: number; // rows that are left out
}

// `table` is called only when the table is shown. `tools` are put beside the switch.
// `saved`: it is a picture by itself, with what every picture has. The CSV is made of the same rows as the table, but of all of them and as numbers.
export function TableView(properties: { label: string; file: string; table: () => Table; tools?: ComponentChildren; saved?: Saved; children: ComponentChildren }) {
    const [asTable, toggle] = useAsTable(properties.file);
    const box = useRef<HTMLElement>(null);
    const isSmall = useSmall();
    const { saved } = properties;
    return (
        <section class="table-view painted" aria-label={properties.label} ref={box} {...(saved ? { "data-picture": saved.file } : {})}>
            <div class="tools">
                {isSmall ? (
                    <details class="tools-left tools-fold">
                        <summary>Colours and switches</summary>
                        <div class="tools-left">{properties.tools}</div>
                    </details>
                ) : (
                    <div class="tools-left">{properties.tools}</div>
                )}
                <TableSwitch asTable={asTable} toggle={toggle} />
                {saved && <Saves {...saved} root={() => box.current} />}
            </div>
            {asTable ? <DataTable {...properties.table()} /> : properties.children}
        </section>
    );
}

// A long table grows as one scrolls: a thousand rows at once would keep the page from answering.
const slice = 150;

export function DataTable({ caption, columns, rows, more }: Table) {
    const [shown, setShown] = useState(slice);
    const grow = (event: Event) => {
        const box = event.currentTarget as HTMLElement;
        if (shown < rows.length && box.scrollTop + 2 * box.clientHeight > box.scrollHeight) setShown(shown + slice);
    };
    return (
        <div class="data-table" tabIndex={0} role="region" aria-label={caption} onScroll={grow} data-rows={rows.length}>
            <table aria-rowcount={rows.length + 1}>
                <caption>{caption}</caption>
                <thead>
                    <tr>
                        {columns.map((name) => (
                            <th scope="col">{name}</th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {rows.slice(0, shown).map((row, i) => (
                        <tr key={i}>
                            {row.map((cell) => (
                                <td class={typeof cell === "number" ? "number" : ""}>{cell}</td>
                            ))}
                        </tr>
                    ))}
                </tbody>
            </table>
            {shown < rows.length && <p class="quiet">{count(rows.length - shown)} more below: scroll on.</p>}
            {more ? <p class="quiet">and {count(more)} more: narrow the selection to see them.</p> : null}
        </div>
    );
}
