// A canvas and, one switch away, the same as a table: for readers of screens, for copying, for being sure.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
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

export interface Table {
    caption: string;
    columns: string[];
    rows: (string | number)[][];
    more?: number; // rows that are left out
}

// `table` is called only when the table is shown. `tools` are put beside the switch.
// `saved`: it is a picture by itself, with what every picture has. The CSV is made of the same rows as the table, but of all of them and as numbers.
export function TableView(properties: { label: string; table: () => Table; tools?: ComponentChildren; saved?: Saved; children: ComponentChildren }) {
    const [asTable, setAsTable] = useState(false);
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
                <button type="button" class="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
                    {asTable ? "View as picture" : "View as table"}
                </button>
                {saved && <Saves {...saved} root={() => box.current} />}
            </div>
            {asTable ? <DataTable {...properties.table()} /> : properties.children}
        </section>
    );
}

export function DataTable({ caption, columns, rows, more }: Table) {
    return (
        <div class="data-table" tabIndex={0} role="region" aria-label={caption}>
            <table>
                <caption>{caption}</caption>
                <thead>
                    <tr>
                        {columns.map((name) => (
                            <th scope="col">{name}</th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {rows.map((row) => (
                        <tr>
                            {row.map((cell) => (
                                <td class={typeof cell === "number" ? "number" : ""}>{cell}</td>
                            ))}
                        </tr>
                    ))}
                </tbody>
            </table>
            {more ? <p class="quiet">and {more} more: narrow the selection to see them.</p> : null}
        </div>
    );
}
