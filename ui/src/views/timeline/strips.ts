// Folds lanes into pixels: busy and waiting time, longest op and number of ops per column. draw.ts
// draws them.
import type { Timeline } from "../../api";
import type { Column, Columns } from "../../columns";
import type { Span } from "./window";

const rawNames = ["run", "node", "op", "layer", "duration_ns", "wait_ns", "inner_wait_ns", "stalled_ns", "disk_wait_ns", "token", "label", "fits", "flags"];
const foldedNames = ["busy_ns", "count", "longest_ns", "longest_op", "longest_run", "longest_node", "longest_layer", "fits_ns"];

// One answer of /timeline, with its rows by lane and in order of time.
export interface Answered {
    isRaw: boolean;
    binNs: number;
    base: number;
    ops: string[]; // all ops of the engine
    labels: string[]; // of op runs: the weight that is read, else the result
    used: Set<string>; // those that occur
    losses: Timeline["losses"];
    servers: ReadonlyMap<number, number>; // by graph run of a client: the run of the server that computed it
    lanes: Map<number, Uint32Array>; // rows
    begin: ArrayLike<number>; // relative to base
    length: (row: number) => number; // ns that the row covers, waiting included
    of: Record<string, Column>;
}

export function answered(columns: Columns): Answered {
    const lane = columns.column("lane");
    const begin = columns.column("begin_ns");
    const isRaw = Number(columns.header["level"] ?? -1) < 0;
    const rows = new Map<number, number[]>();
    for (let i = 0; i < columns.rows; i++) {
        let list = rows.get(lane[i]!);
        if (!list) rows.set(lane[i]!, (list = []));
        list.push(i);
    }
    const lanes = new Map<number, Uint32Array>();
    for (const [name, list] of rows) {
        let isSorted = true;
        for (let i = 1; i < list.length && isSorted; i++) isSorted = begin[list[i]!]! >= begin[list[i - 1]!]!;
        if (!isSorted) list.sort((a, b) => begin[a]! - begin[b]!);
        lanes.set(name, Uint32Array.from(list));
    }
    const binNs = Number(columns.header["bin_ns"] ?? 0);
    const ops = (columns.header["ops"] ?? []) as string[];
    const labels = (columns.header["labels"] ?? []) as string[];
    const used = new Set(columns.column(isRaw ? "op" : "longest_op"));
    const duration = isRaw ? columns.column("duration_ns") : null;
    const wait = isRaw ? columns.column("wait_ns") : null;
    return {
        isRaw,
        binNs,
        base: columns.base_ns,
        ops,
        labels,
        used: new Set([...used].map((op) => ops[op] ?? "?")),
        losses: (columns.header["losses"] ?? []) as Timeline["losses"],
        servers: new Map(((columns.header["sent"] ?? []) as Timeline["sent"]).map((one) => [one.run, one.server_run])),
        lanes,
        begin,
        length: duration && wait ? (row) => duration[row]! + wait[row]! : () => binNs,
        of: Object.fromEntries([...rawNames, ...foldedNames].filter((name) => columns.has(name)).map((name) => [name, columns.column(name)])),
    };
}

export interface Strip {
    busy: Float32Array; // 0 to 1 per pixel
    wait: Float32Array;
    stalled: Float32Array; // part of busy
    diskWait: Float32Array; // likewise: weights were still on their way from the disk
    fits: Float32Array; // part of busy: op runs that match the selection
    op: Int16Array; // index into ops of the longest, -1: none
    row: Int32Array; // the row that it came from
    folded: Float64Array; // ops that begin in the pixel and are too short to be seen by themselves
    edge: Uint8Array; // 1: an op run begins here that is wide enough for a line
    wide: { row: number; x0: number; x1: number }[]; // op runs of two pixels and more
}

const widest = 2;
const parted = 5; // pixels; a line between narrower op runs would look like idle time

// The first row of the lane that ends after `time`. Rows are sorted by begin and do not overlap.
function firstAfter(rows: Uint32Array, data: Answered, time: number): number {
    let low = 0;
    let high = rows.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        const row = rows[middle]!;
        if (data.base + data.begin[row]! + data.length(row) <= time) low = middle + 1;
        else high = middle;
    }
    return low;
}

export function stripOf(data: Answered, lane: number, span: Span, width: number): Strip {
    const strip: Strip = {
        busy: new Float32Array(width),
        wait: new Float32Array(width),
        stalled: new Float32Array(width),
        diskWait: new Float32Array(width),
        fits: new Float32Array(width),
        op: new Int16Array(width).fill(-1),
        row: new Int32Array(width).fill(-1),
        folded: new Float64Array(width),
        edge: new Uint8Array(width),
        wide: [],
    };
    const rows = data.lanes.get(lane);
    if (!rows) return strip;
    const longest = new Float64Array(width);
    const scale = width / (span.end - span.begin);
    for (let i = firstAfter(rows, data, span.begin); i < rows.length; i++) {
        const row = rows[i]!;
        const x = (data.base + data.begin[row]! - span.begin) * scale;
        if (x >= width) break;
        const next = i + 1 < rows.length ? data.begin[rows[i + 1]!]! : Infinity;
        if (data.isRaw) addRun(strip, data, row, next, x, scale, width, longest);
        else addBin(strip, data, row, x, scale, width, longest);
    }
    return strip;
}

// Spreads `amount` (in pixels of time) over [from, to).
function spread(into: Float32Array, from: number, to: number, density: number, width: number): void {
    const [a, b] = [Math.max(0, from), Math.min(width, to)];
    for (let x = Math.floor(a); x < b; x++) into[x] = Math.min(1, into[x]! + (Math.min(b, x + 1) - Math.max(a, x)) * density);
}

function claim(strip: Strip, x: number, op: number, row: number, length: number, longest: Float64Array): void {
    if (length < longest[x]!) return;
    longest[x] = length;
    strip.op[x] = op;
    strip.row[x] = row;
}

// Waits inside an op are part of it; waits at its end follow it, up to the begin of the next op.
function addRun(strip: Strip, data: Answered, row: number, next: number, x: number, scale: number, width: number, longest: Float64Array): void {
    const duration = data.of["duration_ns"]![row]!;
    const inner = Math.min(duration, data.of["inner_wait_ns"]?.[row] ?? 0);
    const wait = Math.max(0, Math.min(data.of["wait_ns"]![row]!, next - data.begin[row]! - duration));
    const op = data.of["op"]![row]!;
    const end = x + duration * scale;
    const done = end + wait * scale;
    const idle = duration > 0 ? inner / duration : 0;
    const held = duration > 0 ? Math.min(1 - idle, (data.of["stalled_ns"]?.[row] ?? 0) / duration) : 0;
    const fits = data.of["fits"]?.[row] ?? 1;
    const waits = x + Math.min(duration - inner, data.of["disk_wait_ns"]?.[row] ?? 0) * scale; // it comes first
    spread(strip.diskWait, x, waits, 1, width);
    if (end - x >= widest) {
        const [x0, x1] = [Math.round(x), Math.max(Math.round(x) + 1, Math.round(end))];
        for (let i = Math.max(0, x0); i < Math.min(width, x1); i++) {
            strip.busy[i] = 1 - idle;
            strip.wait[i] = idle;
            strip.stalled[i] = held;
            strip.fits[i] = fits * (1 - idle);
            claim(strip, i, op, row, Infinity, longest);
        }
        if (x0 >= 0 && x0 < width && x1 - x0 >= parted) strip.edge[x0] = 1;
        if (x1 > 0) strip.wide.push({ row, x0, x1 });
        spread(strip.wait, x1, Math.max(x1, done), 1, width);
        return;
    }
    spread(strip.busy, x, end, 1 - idle, width);
    spread(strip.wait, x, end, idle, width);
    spread(strip.stalled, x, end, held, width);
    spread(strip.fits, x, end, fits * (1 - idle), width);
    spread(strip.wait, end, done, 1, width);
    const first = Math.floor(x);
    for (let i = Math.max(0, first); i < Math.min(width, Math.max(first + 1, Math.ceil(end))); i++) claim(strip, i, op, row, duration, longest);
    for (let i = Math.max(0, Math.floor(end)); i < Math.min(width, Math.ceil(done)); i++) if (strip.op[i] === -1) strip.row[i] = row;
    if (first >= 0 && first < width) strip.folded[first] = strip.folded[first]! + 1;
}

function addBin(strip: Strip, data: Answered, row: number, x: number, scale: number, width: number, longest: Float64Array): void {
    const { of, binNs } = data;
    const end = x + binNs * scale;
    spread(strip.busy, x, end, Math.min(1, of["busy_ns"]![row]! / binNs), width);
    spread(strip.wait, x, end, Math.min(1, of["wait_ns"]![row]! / binNs), width);
    spread(strip.fits, x, end, Math.min(1, (of["fits_ns"] ?? of["busy_ns"])![row]! / binNs), width);
    spread(strip.stalled, x, end, Math.min(of["busy_ns"]![row]!, of["stalled_ns"]?.[row] ?? 0) / binNs, width);
    spread(strip.diskWait, x, end, Math.min(of["busy_ns"]![row]!, of["disk_wait_ns"]?.[row] ?? 0) / binNs, width);
    // A bin of waiting alone has no op.
    const op = of["longest_run"]![row] ? of["longest_op"]![row]! : -1;
    for (let i = Math.max(0, Math.floor(x)); i < Math.min(width, Math.ceil(end)); i++) {
        if (op >= 0) claim(strip, i, op, row, of["longest_ns"]![row]!, longest);
        else if (strip.row[i] === -1) strip.row[i] = row;
    }
    const first = Math.max(0, Math.floor(x));
    if (first < width) strip.folded[first] = strip.folded[first]! + of["count"]![row]!;
}

// Rows of one op on all lanes: the end of each, and the wait after it. Known for unfolded op runs
// only.
export interface Share {
    lane: number;
    row: number;
    end: number; // ns
    wait: number;
}

export function sharesOf(data: Answered, run: number, node: number, around: number): Share[] {
    if (!data.isRaw || run === 0) return [];
    const shares: Share[] = [];
    for (const [lane, rows] of data.lanes) {
        // Threads begin an op within moments of each other: a few rows before and after suffice.
        const at = firstAfter(rows, data, around);
        for (let i = Math.max(0, at - 8); i < Math.min(rows.length, at + 8); i++) {
            const row = rows[i]!;
            if (data.of["run"]![row] !== run || data.of["node"]![row] !== node) continue;
            shares.push({ lane, row, end: data.base + data.begin[row]! + data.of["duration_ns"]![row]!, wait: data.of["wait_ns"]![row]! });
            break;
        }
    }
    return shares;
}

// The lane that the others waited for: the last to end. Null if no wait is long.
export function culpritOf(shares: readonly Share[]): Share | null {
    if (shares.length < 2) return null;
    const last = shares.reduce((one, other) => (other.end > one.end ? other : one));
    return shares.some((one) => one !== last && one.wait > 0 && last.end - one.end > one.wait / 2) ? last : null;
}

export interface Served {
    lane: number; // where the server's last op ended
    begin: number;
    end: number;
    longest: number; // row
}

// The work of a server for a graph run of its client, as far as it is shown. Null: not a client's
// graph run, or its server is out of sight.
export function servedOf(data: Answered, run: number): Served | null {
    const server = data.servers.get(run);
    if (server === undefined) return null;
    let found: Served | null = null;
    for (const [lane, rows] of data.lanes)
        for (const row of rows) {
            if (data.of["run"]![row] !== server) continue;
            const begin = data.base + data.begin[row]!;
            const took = data.of["duration_ns"]![row]!;
            found ??= { lane, begin, end: begin + took, longest: row };
            if (begin + took > found.end) [found.end, found.lane] = [begin + took, lane];
            if (took > data.of["duration_ns"]![found.longest]!) found.longest = row;
            found.begin = Math.min(found.begin, begin);
        }
    return found;
}

export interface OpAt {
    run: number; // 0: none, only waiting
    node: number;
    op: string;
    label: string | null;
    begin: number;
    duration: number;
    wait: number; // after it
    inner: number; // inside it, for other threads; in bins a part of `wait`
    stalled: number; // by page faults
    diskWait: number; // for weights that were streamed
    layer: number | null;
    count: number; // op runs that begin there
    bin: { ns: number; busy: number } | null; // of folded ones: wait, stalled and diskWait are sums of the bin
}

// The op at a row: of an unfolded one the op run, of a folded one the longest of the bin.
export function opAt(data: Answered, row: number): OpAt {
    const of = (name: string) => data.of[name]![row]!;
    const common = { begin: data.base + data.begin[row]!, wait: of("wait_ns"), inner: data.of["inner_wait_ns"]?.[row] ?? 0, stalled: data.of["stalled_ns"]?.[row] ?? 0, diskWait: data.of["disk_wait_ns"]?.[row] ?? 0 };
    if (data.isRaw) return { ...common, run: of("run"), node: of("node"), op: data.ops[of("op")] ?? "graph run", label: data.labels[data.of["label"]?.[row] ?? -1] ?? null, duration: of("duration_ns"), layer: of("layer"), count: 1, bin: null };
    const run = of("longest_run");
    return {
        ...common,
        run,
        node: of("longest_node"),
        op: run === 0 ? "waiting" : (data.ops[of("longest_op")] ?? "graph run"),
        label: null,
        duration: of("longest_ns"),
        layer: data.of["longest_layer"]?.[row] ?? null,
        count: of("count"),
        bin: { ns: data.binNs, busy: of("busy_ns") },
    };
}
