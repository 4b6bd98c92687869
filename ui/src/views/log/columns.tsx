// The columns of the log.
import { stepColumn, stepWord } from "../../step";
import type { ComponentChildren } from "preact";
import type { LogRow } from "../../api";
import { opFamily } from "../../colours";
import { bytes, count, time } from "../../format";

export interface LogColumn {
    key: string; // the server's name, to sort by
    title: string;
    hint: string;
    width: number; // rem, minimum; the tensor's name gets the remaining width
    goes?: number; // order of removal if there is no room for all columns: 1 goes first
    numeric?: boolean;
    descendingFirst?: boolean;
    show(row: LogRow): ComponentChildren;
}

// Seconds with all the digits that tell two ops apart.
const moment = (ns: number | null) => (ns === null ? "–" : `${(ns / 1e9).toFixed(6)} s`);

// A node that was fused into another one has no time; on an opaque backend times are unknown.
const took = (row: LogRow, ns: number | null) => (row.fused_with !== null ? "fused" : ns === null ? "not seen" : time(ns));

function place(row: LogRow): string {
    if (row.source === "DISK") return `DISK ${count(row.file_offset ?? 0)}`;
    return row.buffer === null ? (row.source ?? "–") : `${row.source} #${row.buffer}`;
}

// Of a log that is saved.
export const savedColumns = [
    "row", "begin_ns", "token", "phase", "op", "name", "layer", "absorbed", "fused_with", "threads", "bytes_read", "bytes_written", "bytes_disk", "source", "source_name",
    "file", "file_offset", "buffer", "origin_file", "origin_offset", "duration_ns", "busy_ns", "wait_ns", "run", "node",
] as const satisfies (keyof LogRow)[];

export const columns: readonly LogColumn[] = [
    { key: "row", title: "#", hint: "row, in the order of execution", width: 4.5, goes: 4, numeric: true, show: (r) => count(r.row) },
    { key: "begin_ns", title: "time", hint: "since the experiment's start", width: 6.3, goes: 5, numeric: true, show: (r) => moment(r.begin_ns) },
    { key: "token", get title() { return stepColumn(); }, get hint() { return `${stepWord()}, counted from 0`; }, width: 3.3, numeric: true, show: (r) => r.token ?? "–" },
    { key: "phase", title: "phase", hint: "prompt or generated token", width: 5, goes: 1, show: (r) => r.phase.toLowerCase() },
    {
        key: "op",
        title: "op",
        hint: "ggml's name of the operation",
        width: 10,
        show: (r) => (
            <>
                <i class={`swatch pattern-${opFamily(r.op).pattern}`} style={{ "--swatch": opFamily(r.op).colour }} />
                {r.op}
            </>
        ),
    },
    { key: "name", title: "tensor", hint: "the result", width: 8, show: (r) => r.name },
    { key: "layer", title: "layer", hint: "of the model", width: 3.2, numeric: true, show: (r) => r.layer ?? "–" },
    { key: "threads", title: "threads", hint: "that took part", width: 4, goes: 2, numeric: true, show: (r) => r.threads },
    { key: "bytes_read", title: "read", hint: "bytes", width: 5, numeric: true, descendingFirst: true, show: (r) => bytes(r.bytes_read) },
    { key: "bytes_written", title: "written", hint: "bytes", width: 5, goes: 3, numeric: true, descendingFirst: true, show: (r) => bytes(r.bytes_written) },
    {
        key: "source",
        title: "source",
        hint: "where its main operand lies: DISK and the offset in the file, or BUFFER and its number",
        width: 8.4,
        show: place,
    },
    {
        key: "duration_ns",
        title: "duration",
        hint: "first begin to last end; fused: computed together with the row above, which has the time",
        width: 5.2,
        numeric: true,
        descendingFirst: true,
        show: (r) => took(r, r.duration_ns),
    },
    {
        key: "wait_ns",
        title: "wait",
        hint: "at barriers, summed over threads",
        width: 5.2,
        numeric: true,
        descendingFirst: true,
        show: (r) => (r.fused_with !== null || r.wait_ns === null ? "–" : time(r.wait_ns)),
    },
];

const gap = 0.6;
const padding = 1.5;

// The columns that fit into `width` pixels, the grid template, and the minimum width in pixels.
export function columnsFor(width: number, rem: number): { shown: LogColumn[]; template: string; least: number } {
    const needed = (list: readonly LogColumn[]) => (list.reduce((sum, column) => sum + column.width + gap, padding - gap)) * rem;
    let shown = [...columns];
    const goes = columns.filter((column) => column.goes).sort((a, b) => a.goes! - b.goes!);
    for (const column of goes) if (needed(shown) > width) shown = shown.filter((one) => one !== column);
    const template = shown.map((column) => (column.key === "name" ? `minmax(${column.width}rem, 1fr)` : `${column.width}rem`)).join(" ");
    return { shown, template, least: needed(shown) };
}
