// A data table: sorts by any column, draws bars behind numbers, selects on a click, and can be
// saved as CSV.
import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useMemo } from "preact/hooks";
import { count } from "../../format";
import { KindButtons, saveFigure } from "../../shell/Saves";
import { asOrder, asSet, kept, type Parameters } from "../../state";
import { download, toCsv } from "./csv";
import { sorted, type Value } from "./sort";
import "./table.css";

// In the address: the order of each table whose header was clicked ("file:-column"), and the tables
// that show all rows.
const orders = kept<Record<string, Order>>("orders", {}, {
    write: (value) =>
        Object.entries(value)
            .map(([file, order]) => `${file}:${asOrder.write(order)}`)
            .join(","),
    read: (text) =>
        Object.fromEntries(
            text.split(",").flatMap((part) => {
                const [file, order] = [part.slice(0, part.indexOf(":")), asOrder.read(part.slice(part.indexOf(":") + 1))];
                return file && order ? [[file, order]] : [];
            }),
        ),
});
const unfolded = kept<ReadonlySet<string>>("unfolded", new Set(), asSet);

export interface TableColumn<T> {
    key: string; // also the name in the CSV
    title: string;
    value(row: T): Value;
    show?(row: T): ComponentChildren; // absent: the value as it is
    numeric?: boolean;
    bar?(row: T): number; // 0..1
    barClass?: string | ((row: T) => string);
    hint?: string;
    ascending?: boolean; // first press of the header
}

export interface Order {
    key: string;
    descending: boolean;
}

export interface TableProps<T> {
    caption: string;
    file: string; // name of the CSV, without its ending
    rows: readonly T[];
    columns: readonly TableColumn<T>[];
    order?: Order;
    orderIn?: Signal<Order | null>; // where the order lives, if the address has it
    rowKey(row: T): string;
    press?(row: T): void;
    pressHint?: string;
    isSelected?(row: T): boolean;
    most?: number; // rows shown before one asks for all
    window?: { total: number; more(): void; all(): Promise<readonly T[]> }; // `rows` are the first of `total`, in the order of `orderIn`
    empty?: string;
    figure?: () => Parameters; // parameters for `ggscope figure`, if it draws this table
    children?: ComponentChildren; // beside the caption
}

export function Table<T>(props: TableProps<T>) {
    const { rows, columns, most = 40 } = props;
    const order = (props.orderIn ? props.orderIn.value : orders.value[props.file]) ?? props.order ?? null;
    const setOrder = (next: Order) => (props.orderIn ? (props.orderIn.value = next) : (orders.value = { ...orders.value, [props.file]: next }));
    const all = unfolded.value.has(props.file);
    const setAll = () => (unfolded.value = new Set([...unfolded.value, props.file]));
    const caption = useId();
    const inOrder = useMemo(() => {
        const column = columns.find((c) => c.key === order?.key);
        return column && order ? sorted(rows, column.value, order.descending) : rows;
    }, [rows, columns, order]);
    const { window } = props;
    const shown = all || window ? inOrder : inOrder.slice(0, most);
    const total = window?.total ?? inOrder.length;
    const save = async () => {
        const whole = window ? await window.all() : inOrder;
        download(
            `${props.file}.csv`,
            toCsv(
                columns.map((c) => c.key),
                whole.map((row) => columns.map((c) => c.value(row))),
            ),
        );
    };
    return (
        <section class="table-part">
            <div class="table-head">
                <h3 id={caption}>{props.caption}</h3>
                {props.children}
                <span class="table-space" />
                {props.figure && <KindButtons only={["svg", "pdf"]} of={`Save "${props.caption}"`} save={(format) => void saveFigure(format, props.file, props.figure!())} />}
                <button type="button" class="quiet" onClick={() => void save()} disabled={rows.length === 0} aria-label={`Save "${props.caption}" as CSV`}>
                    CSV
                </button>
            </div>
            {rows.length === 0 ? (
                <p class="empty">{props.empty ?? "Nothing here."}</p>
            ) : (
                <div class="table-scroll" tabIndex={0} role="region" aria-labelledby={caption}>
                    <table aria-labelledby={caption}>
                        <thead>
                            <tr>
                                {columns.map((c) => (
                                    <Head key={c.key} column={c} order={order} press={() => setOrder(turn(order, c))} />
                                ))}
                            </tr>
                        </thead>
                        <tbody>
                            {shown.map((row) => (
                                <Row key={props.rowKey(row)} row={row} table={props} />
                            ))}
                        </tbody>
                    </table>
                </div>
            )}
            {total > shown.length && (
                <button type="button" class="quiet" onClick={window?.more ?? setAll}>
                    Show {window ? `more of ${count(total)}` : `all ${count(total)}`} rows
                </button>
            )}
        </section>
    );
}

function turn<T>(order: Order | null, column: TableColumn<T>) {
    const first = !(column.ascending ?? !column.numeric);
    return { key: column.key, descending: order?.key === column.key ? !order.descending : first };
}

function Head<T>({ column, order, press }: { column: TableColumn<T>; order: Order | null; press(): void }) {
    const mine = order?.key === column.key;
    return (
        <th scope="col" class={column.numeric ? "number" : undefined} aria-sort={mine ? (order.descending ? "descending" : "ascending") : "none"}>
            <button type="button" onClick={press} title={column.hint}>
                {column.title}
                <span aria-hidden="true" class="arrow">
                    {mine ? (order.descending ? "▼" : "▲") : ""}
                </span>
            </button>
        </th>
    );
}

function Row<T>({ row, table }: { row: T; table: TableProps<T> }) {
    const chosen = table.isSelected?.(row) ?? false;
    const classes = [table.press ? "pressable" : "", chosen ? "selected" : ""].filter(Boolean).join(" ");
    return (
        <tr class={classes || undefined} onClick={table.press && (() => table.press!(row))}>
            {table.columns.map((column, i) => {
                const text = column.show ? column.show(row) : column.value(row);
                const body =
                    i === 0 && table.press ? (
                        <button type="button" class="row-name" aria-pressed={chosen} title={table.pressHint}>
                            {text}
                        </button>
                    ) : (
                        text
                    );
                const cell = column.bar ? (
                    <Bar share={column.bar(row)} kind={typeof column.barClass === "function" ? column.barClass(row) : column.barClass}>
                        {body}
                    </Bar>
                ) : (
                    body
                );
                return i === 0 ? (
                    <th key={column.key} scope="row" class={column.numeric ? "number" : undefined}>
                        {cell}
                    </th>
                ) : (
                    <td key={column.key} class={column.numeric ? "number" : undefined}>
                        {cell}
                    </td>
                );
            })}
        </tr>
    );
}

function Bar({ share, kind, children }: { share: number; kind?: string | undefined; children: ComponentChildren }) {
    const width = Number.isFinite(share) ? Math.min(1, Math.max(0, share)) * 100 : 0;
    return (
        <span class="bar">
            <span class={`bar-fill ${kind ?? ""}`} style={{ width: `${width}%` }} />
            <span class="bar-text">{children}</span>
        </span>
    );
}
