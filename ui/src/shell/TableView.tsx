// A canvas and, one switch away, the same as a table: for readers of screens, for copying, for being sure.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export interface Table {
    caption: string;
    columns: string[];
    rows: (string | number)[][];
    more?: number; // rows that are left out
}

// `table` is called only when the table is shown. `tools` are put beside the switch.
export function TableView(properties: { label: string; table: () => Table; tools?: ComponentChildren; children: ComponentChildren }) {
    const [asTable, setAsTable] = useState(false);
    return (
        <section class="table-view" aria-label={properties.label}>
            <div class="tools">
                <div class="tools-left">{properties.tools}</div>
                <button type="button" class="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
                    {asTable ? "View as picture" : "View as table"}
                </button>
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
