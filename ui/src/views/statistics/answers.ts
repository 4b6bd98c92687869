// What the server says of statistics and experts.
import { bytes, plural } from "../../format";
import type { Processes } from "./Processes";

export interface Times {
    ops: number;
    ops_untimed: number; // of those, without times: on a backend that is seen as a whole
    op_runs: number;
    wall_ns: number | null; // null: not seen, of a tensor that only such ops read
    busy_ns: number | null;
    wait_ns: number | null; // not seen: on a device
}

export interface Bytes {
    bytes_read: number;
    bytes_written: number;
    bytes_disk: number;
}

export type TimesAndBytes = Times & Bytes;

export const by = ["op", "layer", "component", "tensor", "thread", "device"] as const;
export type By = (typeof by)[number];

// A row of any of the tables by something; a thread has no bytes, because they belong to ops.
export interface Group extends Times, Partial<Bytes> {
    name: string; // "none" for what has no layer
    stalled_ns?: number; // by page faults, part of busy_ns; absent: not recorded
}

// Backends that are seen as whole graphs are rows of their own.
export function groupsOf(stats: Stats, kind: By): Group[] {
    const named = <G extends Times & { backend: string | null }>(rows: G[], name: (g: G) => string | number | null) =>
        rows.map((g) => ({ ...g, name: g.backend === null ? String(name(g) ?? "none") : `${g.backend}, as a whole` }));
    // Stalls are known by op and by layer.
    const faults = stats.machine?.faults;
    const stalled = <G extends Group>(groups: G[], rows: readonly { stalled_ns: number }[] | undefined, name: (row: never) => unknown): Group[] => {
        if (!rows) return groups;
        const by = new Map(rows.map((row) => [String(name(row as never) ?? "none"), row.stalled_ns]));
        return groups.map((group) => ({ ...group, stalled_ns: by.get(group.name) ?? 0 }));
    };
    switch (kind) {
        case "op":
            return stalled(named(stats.by_op, (g) => g.op), faults?.by_op, (row: { op: string | null }) => row.op);
        case "layer":
            return stalled(named(stats.by_layer, (g) => g.layer), faults?.by_layer, (row: { layer: number | null }) => row.layer);
        case "component":
            return named(stats.by_component, (g) => g.component);
        case "tensor":
            return named(stats.by_tensor, (g) => g.name);
        case "thread":
            return named(stats.by_thread, (g) => g.thread);
        case "device":
            return named(stats.by_device, (g) => g.device);
    }
}

export interface Device {
    name: string;
    description: string | null;
    type: string;
    runs: number;
    runs_with_op_times: number;
    queues: number;
    busy: number | null; // null: some graph runs have no op times
    to_device: { bytes: number; bytes_timed: number; duration_ns: number };
    from_device: { bytes: number };
}

// What the tile of a device says.
export function deviceNote(device: Device): [string, string] {
    const known = device.busy === null ? `op times of ${device.runs_with_op_times} of ${plural(device.runs, "graph run")}` : "op times of all graph runs";
    const rate = device.to_device.duration_ns > 0 ? ` at ${(device.to_device.bytes_timed / device.to_device.duration_ns).toFixed(2)} GB/s` : "";
    const moved = `${bytes(device.to_device.bytes)} to it${rate}, ${bytes(device.from_device.bytes)} from it`;
    return [device.busy === null ? "-" : `${(100 * device.busy).toFixed(1)} % busy`, `${known}; ${moved}`];
}

// For graph runs of devices that have no op times; null if all have.
export interface Estimated {
    runs: number;
    run_ns: number;
    from_runs: number;
    from_ns: number;
    by_op: { op: string; wall_ns: number }[];
}

export interface Totals {
    estimated: Estimated | null;
    tokens: number;
    requests: number;
    prompt_tokens: number;
    generated_tokens: number;
    threads: number;
    runs: number;
    nodes: number;
    executed: number;
    absorbed: number;
    empty: number;
    skipped: number;
    opaque: number;
    unseen: number;
    lost: number;
    ops: number;
    op_runs: number;
    wall_ns: number;
    run_ns: number;
    prompt_ns: number;
    generate_ns: number;
    tokens_per_second: number | null;
    tokens_per_second_of_decodes: number | null;
    bytes_read: number;
    bytes_written: number;
    bytes_disk: number;
    bytes_vram: number;
    bytes_buffer: number;
    devices: Device[];
    buffers: { count: number; peak_bytes: number };
    model: { bytes: number; bytes_touched: number; bytes_unknown: number; stray_weights: number; stray_bytes: number };
}

export interface Weight {
    name: string;
    bytes: number;
    bytes_touched: number;
    bytes_unknown: number; // besides: some of them were read, but which was not seen
    reads: number;
    bytes_read: number;
}

export interface Pattern {
    reads: number;
    jumps: number;
    bytes: number;
    gap_bytes: number;
    bytes_sequential: number;
    bytes_sequential_strict: number;
    bytes_first: number;
    jump_median: number;
    jump_90: number;
    reuse_median: number;
    reuse_90: number;
    jump_bins: number[];
    reuse_bins: number[];
}

export interface Stats extends Totals {
    processes: Processes | null; // of one process
    by_op: ({ op: string | null; backend: string | null } & TimesAndBytes)[];
    by_layer: ({ layer: number | null; backend: string | null } & TimesAndBytes)[];
    by_component: ({ component: string | null; backend: string | null } & TimesAndBytes)[];
    by_tensor: ({ name: string | null; backend: string | null } & TimesAndBytes)[];
    by_thread: ({ thread: number | null; backend: string | null } & Times)[];
    by_device: ({ device: string | null; backend: string | null } & TimesAndBytes)[];
    from_trace: number; // files that are gone: of their weights only those that ops used are known
    weights: Weight[];
    pattern: Pattern;
    machine?: { faults: { by_op: { op: string | null; stalled_ns: number }[]; by_layer: { layer: number | null; stalled_ns: number }[] } | null };
}

export interface ExpertLayer {
    layer: number;
    experts: number;
    chosen_per_token: number;
    counts: number[];
    bytes: number;
    distinct: number;
    reuse_share: number | null;
    imbalance: number | null;
}

export interface Experts {
    has_experts: boolean;
    tokens: number;
    by_layer: ExpertLayer[];
}

// Bytes moved per second, in billions: read and written over wall time. Not where the times of some are missing in it: a backend's own row has all.
export const rate = (group: Pick<TimesAndBytes, "bytes_read" | "bytes_written" | "wall_ns" | "ops" | "ops_untimed"> & { backend?: string | null }) =>
    group.wall_ns && (group.ops_untimed === 0 || group.backend) ? (group.bytes_read + group.bytes_written) / group.wall_ns : null;

// Of weights with bytes that no op touched, as the terminal says it: those that were never touched, and those touched in part.
export function coldNote(cold: readonly Weight[]): string {
    const sum = (list: readonly Weight[]) => bytes(list.reduce((total, w) => total + w.bytes - w.bytes_touched - w.bytes_unknown, 0));
    const never = cold.filter((w) => w.bytes_touched === 0);
    const partly = cold.filter((w) => w.bytes_touched > 0);
    const parts = [`${sum(never)} in ${plural(never.length, "tensor")} never touched`];
    if (partly.length > 0) parts.push(`${sum(partly)} of ${plural(partly.length, "tensor")} touched in part`);
    return parts.join(", ");
}

// A pattern for the log that matches the tensors of a component, told from their names: "*.attn_q.weight".
export function patternOf(names: readonly string[]): string | null {
    const rests = new Set(names.map((name) => name.replace(/^(.*?)\b(blk|layers?|h)\.\d+\./, "*.")));
    if (rests.size === 0) return null;
    const [first, ...others] = [...rests];
    if (others.length === 0) return first!;
    let common = first!;
    for (const other of others) while (!other.startsWith(common)) common = common.slice(0, -1);
    return common.length > 2 ? `${common}*` : null;
}

// The parts of a histogram over powers of two that hold anything, with their bounds: bin 0 is zero, bin i is [2^(i-1), 2^i).
export function bins(counts: readonly number[]): { from: number; to: number; value: number }[] {
    const used = counts.map((value, i) => ({ value, i })).filter((bin) => bin.value > 0);
    if (used.length === 0) return [];
    const [first, last] = [used[0]!.i, used.at(-1)!.i];
    return Array.from({ length: last - first + 1 }, (_, k) => {
        const i = first + k;
        return { from: i === 0 ? 0 : 2 ** (i - 1), to: 2 ** i, value: counts[i] ?? 0 };
    });
}
