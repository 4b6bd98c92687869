// Requests the data of the timeline and prepares it.
import { useEffect, useState } from "preact/hooks";
import type { Summary } from "../../api";
import { ask, type Columns, revision } from "../../ask";
import { opFamily, theme } from "../../colours";
import { time } from "../../format";
import type { Steps } from "../../shell/Scrubber";
import type { Table } from "../../shell/TableView";
import { chosenOpsBut, here, summary } from "../../state";
import { axisHeight, type Curve, rulerHeight } from "./draw";
import { type Answered, answered, opAt } from "./strips";
import { clamp, type Span, type Tile } from "./window";

export const countHeight = 13;
export const bufferClasses = [
    ["weights", "weights"],
    ["kv", "KV cache"],
    ["compute", "compute"],
    ["io", "input and output"],
    ["other", "other"],
] as const;

export interface Held {
    tile: Tile;
    data: Answered;
    revision: number;
    filter: string; // filter of the marked op runs
}

// Unfolded op runs serve every window within theirs; folded ones only the window that they were
// folded for.
const answers = (held: Held | null, tile: Tile, filter: string, now: number) =>
    held !== null && held.data.isRaw && held.revision === now && held.filter === filter && held.tile.begin <= tile.begin && held.tile.end >= tile.end;

// Requests the tile that covers the window. The shown tile stays until the answer arrives.
export function useTile(tile: Tile | null): { held: Held | null; problem: string | null } {
    const [held, hold] = useState<Held | null>(null);
    const [problem, setProblem] = useState<string | null>(null);
    // Lanes, times and tokens are marked in the picture. The other parts of the selection mark op
    // runs that match.
    const { tokens: _tokens, request: _request, ...narrowed } = chosenOpsBut("lane", "time");
    const filter = JSON.stringify(narrowed);
    const path = tile && here("timeline", { begin: tile.begin, end: tile.end, pixels: tile.pixels, ...narrowed });
    const now = revision.value;
    useEffect(() => {
        if (!path || !tile || answers(held, tile, filter, now)) return;
        const abort = new AbortController();
        ask<Columns>(path, abort.signal).then(
            (columns) => {
                if (abort.signal.aborted) return;
                hold({ tile, data: answered(columns), revision: now, filter });
                setProblem(null);
            },
            (error: Error) => !abort.signal.aborted && setProblem(error.message),
        );
        return () => abort.abort();
    }, [path, now]);
    return { held, problem };
}

export function curvesOf(occupancy: Columns | null, curves: Columns | null): Curve[] {
    const list: Curve[] = [];
    const colours = theme();
    if (occupancy && occupancy.rows > 0) {
        const [begin, end] = [Number(occupancy.header["begin_ns"] ?? 0), Number(occupancy.header["end_ns"] ?? 0)];
        const layers = bufferClasses.filter(([name]) => occupancy.has(name)).map(([name]) => ({ values: occupancy.column(name), colour: colours[name] }));
        list.push({ name: "buffers", meaning: "bytes allocated, at most in each bin", most: "bytes", layers, begin, step: (end - begin) / occupancy.rows });
    }
    if (curves && curves.rows > 0) {
        const step = Number(curves.header["bin_ns"] ?? (Number(curves.header["end_ns"]) - Number(curves.header["begin_ns"])) / curves.rows);
        const one = (column: string, name: string, meaning: string, most: Curve["most"], colour: string) => {
            if (curves.has(column)) list.push({ name, meaning, most, layers: [{ values: curves.column(column), colour }], begin: curves.base_ns, step });
        };
        if (summary.value?.model) one("bytes_disk", "addressed", "bytes of mapped model files that ops read, from memory or from the disk", "rate", opFamily("GET_ROWS").colour);
        one("bytes_requested", "disk reads", "bytes of the model's files that the disk was asked for, spread until they came", "rate", opFamily("ARGSORT").colour);
        one("faults", "page faults", "page faults that begin in each bin", "count", opFamily("RMS_NORM").colour);
        one("stalled_ns", "stalled", "threads held up by page faults, on average over each bin", "threads", colours.stall);
        one("disk_wait_ns", "disk waits", "threads that waited for weights that were being streamed, on average over each bin", "threads", colours.diskwait);
    }
    return list;
}

// If several tokens share an entry, requests the tokens of the tile one by one, if they are few
// enough.
export function closerPath(steps: Steps | null, tile: Tile | null): string | null {
    if (!steps || !tile) return null;
    let from = Infinity;
    let to = -1;
    let isFolded = false;
    for (let i = 0; i < steps.rows; i++) {
        if (steps.base + steps.end[i]! < tile.begin || steps.base + steps.begin[i]! > tile.end) continue;
        from = Math.min(from, steps.first[i]!);
        to = Math.max(to, steps.last[i]!);
        isFolded ||= steps.first[i] !== steps.last[i];
    }
    return isFolded && to - from < steps.last[steps.rows - 1]! ? here("tokens", { bins: 1000, from, to }) : null;
}

// From the first token to the last, with a little air.
export function fitFor(steps: Steps, bounds: Span): Span {
    if (steps.rows === 0) return bounds;
    const [begin, end] = [steps.base + steps.begin[0]!, steps.base + steps.end[steps.rows - 1]!];
    const air = (end - begin) * 0.01;
    return clamp({ begin: begin - air, end: end + air }, bounds);
}

export function csvOf(held: Held | null, span: Span, lanes: Summary["lanes"]) {
    const rows: (string | number | null)[][] = [];
    for (const { lane, label, device } of lanes)
        for (const row of held?.data.lanes.get(lane) ?? []) {
            const op = opAt(held!.data, row);
            if (op.begin >= span.end || op.begin + held!.data.length(row) <= span.begin) continue;
            rows.push([label, op.begin, op.op, op.layer === null || op.layer < 0 ? null : op.layer, op.duration, device === null ? op.stalled : null, device === null ? op.diskWait : null, device === null ? op.wait : null, op.count]);
        }
    return { columns: ["lane", "begin_ns", "op", "layer", "duration_ns", "stalled_ns", "disk_wait_ns", "wait_ns", "op_runs"], rows };
}

export function tableOf(held: Held | null, span: Span, lanes: Summary["lanes"]): Table {
    const rows: (string | number)[][] = [];
    const most = 500;
    let more = 0;
    for (const { lane, label, device } of lanes) {
        for (const row of held?.data.lanes.get(lane) ?? []) {
            const op = opAt(held!.data, row);
            if (op.begin >= span.end || op.begin + held!.data.length(row) <= span.begin) continue;
            if (rows.length < most) rows.push([label, time(op.begin), op.op, op.layer === null || op.layer < 0 ? "" : op.layer, time(op.duration), device === null ? time(op.stalled) : "–", device === null ? time(op.wait) : "not seen", op.count]);
            else more++;
        }
    }
    return { caption: held?.data.isRaw === false ? "Folded: the op that has most of each stretch, and how many op runs begin there" : "Op runs in the window", columns: ["lane", "begin", "op", "layer", "duration", "stalled", "wait", "op runs"], rows, more };
}

// Divides the height between lanes and curves. Many lanes get their minimum, and the page scrolls.
export function heightsFor(room: number, lanes: number, curves: number): { lane: number; curve: number } {
    const [leastLane, mostLane, leastCurve, mostCurve] = [lanes > 24 ? 16 : lanes > 8 ? 22 : 34, 240, 40, 120];
    const fixed = rulerHeight + axisHeight + 10 + lanes * (countHeight + 3) + curves * 5;
    const left = room - fixed - lanes * leastLane - curves * leastCurve;
    if (left <= 0 || lanes + curves === 0) return { lane: leastLane, curve: leastCurve };
    const curve = Math.floor(Math.min(mostCurve, leastCurve + left / (2 * lanes + curves)));
    return { lane: Math.floor(Math.min(mostLane, leastLane + (left - curves * (curve - leastCurve)) / Math.max(1, lanes))), curve };
}

