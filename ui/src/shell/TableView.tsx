// A canvas, and a switch that shows its data as a table: for screen readers and for copying.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { count } from "../format";
import { asSet, kept } from "../state";
import { matching } from "./details/dock";
import { type Saved, Saves } from "./Saves";

// On a phone, or magnified four times, the picture comes before what explains it.
const isSmall = matching("(max-width: 480px), (max-height: 420px)");

// The pictures that are shown as tables, in the address.
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
    more?: number; // number of omitted rows
}

// `table` is called only if the table is shown. `tools` are placed beside the switch. `saved`: the
// canvas is a picture with the usual buttons. Its CSV has the rows of the table, but all of them,
// and as numbers.
export function TableView(properties: { label: string; file: string; table: () => Table; tools?: ComponentChildren; saved?: Saved; children: ComponentChildren }) {
    const [asTable, toggle] = useAsTable(properties.file);
    const box = useRef<HTMLElement>(null);
    const { saved } = properties;
    return (
        <section class="table-view painted" aria-label={properties.label} ref={box} {...(saved ? { "data-picture": saved.file } : {})}>
            <div class="tools">
                {isSmall.value ? (
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

// A long table grows while scrolling, because a thousand rows at once would block the page.
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
