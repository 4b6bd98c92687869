// What the server would answer, worked out by the page from the whole: windows of the timeline, filters and order of the log. For reports.
import type { Heat, LogAnswer, LogRow, ModelMap, OpAnswer } from "./api";
import { build, type Column, type Columns } from "./columns";

// ---- timeline

// The rows of the raw timeline that lie in the window; folded into bins where there are more than two per pixel and lane.
export function cutTimeline(all: Columns, begin: number, end: number, pixels: number): Columns {
    const at = all.column("begin_ns");
    const duration = all.column("duration_ns");
    const wait = all.column("wait_ns");
    const lane = all.column("lane");
    const inside: number[] = [];
    const perLane = new Map<number, number>();
    for (let i = 0; i < all.rows; i++) {
        const from = all.base_ns + at[i]!;
        if (from >= end || from + duration[i]! + wait[i]! <= begin) continue;
        inside.push(i);
        perLane.set(lane[i]!, (perLane.get(lane[i]!) ?? 0) + 1);
    }
    const extra = { ...all.header, base_ns: all.base_ns };
    if (Math.max(0, ...perLane.values()) > 2 * pixels) return foldTimeline(all, inside, begin, end, pixels);
    const names = ["lane", "run", "node", "op", "layer", "begin_ns", "duration_ns", "wait_ns", "inner_wait_ns", "token", "flags"].filter((name) => all.has(name));
    return build(Object.fromEntries(names.map((name) => [name, pick(all.column(name), inside)])), { ...extra, rows: inside.length, level: -1, bin_ns: 0 });
}

function pick(column: Column, rows: number[]): Column {
    const picked = new (column.constructor as new (length: number) => Column)(rows.length);
    rows.forEach((row, i) => (picked[i] = column[row]!));
    return picked;
}

interface Bin {
    lane: number;
    begin: number;
    busy: number;
    wait: number;
    count: number;
    longest: number;
    row: number;
}

function foldTimeline(all: Columns, rows: number[], begin: number, end: number, pixels: number): Columns {
    const binNs = 2 ** Math.max(0, Math.ceil(Math.log2((end - begin) / pixels)));
    const [at, duration, wait, lane] = [all.column("begin_ns"), all.column("duration_ns"), all.column("wait_ns"), all.column("lane")];
    const bins = new Map<string, Bin>();
    for (const row of rows) {
        const from = all.base_ns + at[row]!;
        const done = from + duration[row]!;
        const left = done + wait[row]!;
        const first = Math.floor(from / binNs);
        for (let k = first; k * binNs < Math.max(left, from + 1); k++) {
            const key = `${lane[row]} ${k}`;
            let bin = bins.get(key);
            if (!bin) bins.set(key, (bin = { lane: lane[row]!, begin: k * binNs, busy: 0, wait: 0, count: 0, longest: -1, row }));
            const within = (a: number, b: number) => Math.max(0, Math.min(b, (k + 1) * binNs) - Math.max(a, k * binNs));
            bin.busy += within(from, done);
            bin.wait += within(done, left);
            if (k === first) bin.count++;
            if (duration[row]! > bin.longest) [bin.longest, bin.row] = [duration[row]!, row];
        }
    }
    const list = [...bins.values()].sort((a, b) => a.lane - b.lane || a.begin - b.begin);
    const numbers = (of: (bin: Bin) => number) => Float64Array.from(list, of);
    return build(
        {
            lane: Uint16Array.from(list, (bin) => bin.lane),
            begin_ns: numbers((bin) => bin.begin - all.base_ns),
            busy_ns: numbers((bin) => bin.busy),
            wait_ns: numbers((bin) => bin.wait),
            count: Uint32Array.from(list, (bin) => bin.count),
            longest_ns: numbers((bin) => bin.longest),
            longest_op: Uint16Array.from(list, (bin) => all.column("op")[bin.row]!),
            longest_run: Uint32Array.from(list, (bin) => all.column("run")[bin.row]!),
            longest_node: Uint32Array.from(list, (bin) => all.column("node")[bin.row]!),
        },
        { ...all.header, base_ns: all.base_ns, rows: list.length, level: Math.log2(binNs), bin_ns: binNs },
    );
}

// ---- log

function glob(pattern: string): RegExp {
    const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
    return new RegExp(`^${escaped}$`);
}

// The tensor of the model file at an offset, or -1.
export function tensorAt(map: ModelMap, offset: number): number {
    const { file_offset: at, bytes } = map.tensors;
    return at.findIndex((begin, i) => offset >= begin && offset < begin + bytes[i]!);
}

function tests(query: URLSearchParams, map: ModelMap): ((row: LogRow) => boolean)[] {
    const list: ((row: LogRow) => boolean)[] = [];
    const add = (name: string, test: (value: string) => (row: LogRow) => boolean) => {
        const value = query.get(name);
        if (value !== null) list.push(test(value));
    };
    const range = (text: string) => text.split("..").map(Number) as [number, number];
    add("tokens", (value) => {
        const [first, last] = range(value);
        return (row) => row.token !== null && row.token >= first && row.token <= last;
    });
    add("layer", (value) => (row) => (value === "none" ? row.layer === null : row.layer === Number(value)));
    add("op", (value) => (row) => row.op === value);
    add("source", (value) => (row) => row.source === value);
    add("buffer", (value) => (row) => row.source === "BUFFER" && row.buffer === Number(value));
    add("since", (value) => (row) => row.begin_ns + row.duration_ns > Number(value));
    add("until", (value) => (row) => row.begin_ns < Number(value));
    add("tensor", (value) => {
        const pattern = glob(value);
        const weights = new Set(map.tensors.name.map((name, i) => (name !== null && pattern.test(name) ? i : -1)).filter((i) => i >= 0));
        return (row) => pattern.test(row.name) || (row.file_offset !== null && weights.has(tensorAt(map, row.file_offset)));
    });
    add("region", (value) => {
        const [begin, end] = range(value.slice(value.indexOf(":") + 1));
        return (row) => {
            if (row.file_offset === null) return false;
            const i = tensorAt(map, row.file_offset);
            return i >= 0 && map.tensors.file_offset[i]! < end && map.tensors.file_offset[i]! + map.tensors.bytes[i]! > begin;
        };
    });
    return list;
}

export function cutLog(all: LogAnswer, query: URLSearchParams, map: ModelMap): LogAnswer {
    const wanted = tests(query, map);
    let rows = wanted.length ? all.ops.filter((row) => wanted.every((test) => test(row))) : all.ops;
    const by = query.get("sort");
    if (by !== null) {
        const column = by as "row";
        const sign = query.get("desc") === "1" ? -1 : 1;
        rows = [...rows].sort((a, b) => {
            const [x, y] = [a[column] ?? -1, b[column] ?? -1];
            return sign * (typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : x - y) || a.row - b.row;
        });
    }
    const from = Number(query.get("from") ?? 0);
    return { total: rows.length, of: all.of, from, ops: rows.slice(from, from + Number(query.get("count") ?? 500)) };
}

// The card of an op, as far as the log tells it.
export function cardFromLog(all: LogAnswer, map: ModelMap, run: number, node: number): OpAnswer | null {
    const i = all.ops.findIndex((row) => row.run === run && row.node === node);
    const row = all.ops[i];
    if (!row) return null;
    const beside = (at: number) => (all.ops[at] ? { run: all.ops[at]!.run, node: all.ops[at]!.node } : null);
    const weight = row.file_offset !== null ? tensorAt(map, row.file_offset) : -1;
    const nowhere = { tensor: 0, exact: true, offset: 0, n_ranges: 1, origin_file: null, origin_offset: null, buffer_offset: null };
    const reads = {
        ...nowhere,
        slot: 0,
        write: false,
        name: weight >= 0 ? map.tensors.name[weight]! : "its operands",
        type: weight >= 0 ? map.tensors.type[weight]! : "",
        shape: weight >= 0 ? map.tensors.shape[weight]! : [],
        bytes: row.bytes_read,
        source: row.source,
        file: weight >= 0 ? map.tensors.file[weight]! : null,
        file_offset: row.file_offset,
        buffer: row.buffer,
    };
    const writes = { ...nowhere, slot: 1, write: true, name: row.name, type: "", shape: [], bytes: row.bytes_written, source: "BUFFER", file: null, file_offset: null, buffer: null };
    return {
        run,
        node,
        token: row.token,
        phase: row.phase,
        op: row.op,
        name: row.name,
        layer: row.layer,
        begin_ns: row.begin_ns,
        duration_ns: row.duration_ns,
        busy_ns: Math.max(0, row.duration_ns * row.threads - row.wait_ns),
        wait_ns: row.wait_ns,
        threads: Array.from({ length: row.threads }, (_, thread) => ({ thread, begin_ns: row.begin_ns, duration_ns: row.duration_ns, wait_ns: 0 })),
        absorbed: [],
        operands: [reads, writes],
        experts: null,
        producers: [],
        consumers: [],
        previous: beside(i - 1),
        next: beside(i + 1),
        row: row.row,
    };
}

// ---- heat

// Several tokens as the sum of each. Bytes touched are those of whole tensors and experts, and of the rest at most what was read.
export function sumHeat(parts: Heat[], map: ModelMap): Heat {
    const sum = (lists: number[][]) => (lists[0] ?? []).map((_, i) => lists.reduce((total, list) => total + (list[i] ?? 0), 0));
    const experts = new Map<number, Heat["experts"][number]>();
    for (const part of parts)
        for (const one of part.experts) {
            const known = experts.get(one.place);
            experts.set(one.place, known ? { place: one.place, reads: sum([known.reads, one.reads]), bytes_read: sum([known.bytes_read, one.bytes_read]) } : one);
        }
    const reads = sum(parts.map((part) => part.tensors.reads));
    const bytes = sum(parts.map((part) => part.tensors.bytes_read));
    const touched = bytes.reduce((total, got, i) => {
        const size = map.tensors.bytes[i]!;
        const parted = experts.get(i);
        return total + (parted ? (parted.reads.filter((n) => n > 0).length * size) / parted.reads.length : Math.min(size, got));
    }, 0);
    const buffers = new Map<number, [number, number, number]>();
    for (const { buffers: list } of parts)
        list.buffer.forEach((buffer, i) => {
            const [r, w, b] = buffers.get(buffer) ?? [0, 0, 0];
            buffers.set(buffer, [r + list.reads[i]!, w + list.writes[i]!, b + list.bytes[i]!]);
        });
    const all = <K extends "faults" | "pages">(name: K) => (parts.every((part) => part[name]) ? parts.map((part) => part[name]!) : null);
    const faults = all("faults");
    const pages = all("pages");
    return {
        tensors: { reads, bytes_read: bytes, last_op: reads.map((_, i) => [...parts].reverse().find((part) => part.tensors.last_op[i])?.tensors.last_op[i] ?? null) },
        experts: [...experts.values()],
        model: { bytes: parts[0]?.model.bytes ?? 0, bytes_touched: touched },
        faults: faults && { minor: sum(faults.map((one) => one.minor)), major: sum(faults.map((one) => one.major)), stalled_ns: sum(faults.map((one) => one.stalled_ns)) },
        pages: pages && { bytes_touched: sum(pages.map((one) => one.bytes_touched)).map((got, i) => Math.min(got, map.tensors.bytes[i]!)) },
        buffers: { buffer: [...buffers.keys()], reads: [...buffers.values()].map((one) => one[0]), writes: [...buffers.values()].map((one) => one[1]), bytes: [...buffers.values()].map((one) => one[2]) },
    };
}

// ---- tokens

export function cutTokens(all: Columns, from: number, to: number): Columns {
    const first = all.column("first_token");
    const last = all.column("last_token");
    const rows: number[] = [];
    for (let i = 0; i < all.rows; i++) if (last[i]! >= from && first[i]! <= to) rows.push(i);
    const texts = (all.header["texts"] ?? []) as (string | null)[];
    const names = ["first_token", "last_token", "begin_ns", "end_ns", "phase", "count"];
    return build(Object.fromEntries(names.map((name) => [name, pick(all.column(name), rows)])), { rows: rows.length, base_ns: all.base_ns, texts: rows.map((row) => texts[row] ?? null) });
}
