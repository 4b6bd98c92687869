// What the server says of statistics and experts.

export interface Group {
    name: string;
    order: number;
    ops: number;
    op_runs: number;
    wall_ns: number;
    busy_ns: number;
    wait_ns: number;
    read: number;
    written: number;
    disk: number;
}

export interface Totals {
    tokens: number;
    prompt_tokens: number;
    generated_tokens: number;
    threads: number;
    graph_runs: number;
    nodes: number;
    executed: number;
    absorbed: number;
    empty: number;
    skipped: number;
    opaque: number;
    unseen: number;
    dropped: number;
    ops: number;
    op_runs: number;
    wall_ns: number;
    prompt_ns: number;
    generate_ns: number;
    tokens_per_second: number | null;
    bytes: { read: number; written: number; disk: number; buffer: number };
    buffers: { count: number; peak_bytes: number };
    model: { bytes: number; touched: number; never_touched: number };
    weights?: Weight[];
}

export interface Weight {
    name: string;
    size: number;
    touched: number;
    reads: number;
    bytes_read: number;
}

export interface Pattern {
    sequential_share: number | null;
    reads: number;
    jumps: number;
    bytes?: number;
    first_bytes?: number;
    jump_bins: number[];
    reuse_bins: number[];
}

export interface Stats {
    totals: Totals;
    by_op: Group[];
    by_layer: Group[];
    by_component: Group[];
    by_tensor: Group[];
    by_thread: Group[];
    cold: { name: string; bytes: number; touched: number }[];
    pattern: Pattern;
}

export interface ExpertLayer {
    layer: number;
    experts: number;
    used: number;
    counts: number[];
    bytes: number;
    distinct: number;
    reuse_share: number | null;
    imbalance: number | null;
}

export interface Experts {
    any: boolean;
    tokens?: number;
    layers: ExpertLayer[];
}

// Bytes moved per second, in billions: read and written over wall time.
export const rate = (group: Pick<Group, "read" | "written" | "wall_ns">) => (group.wall_ns > 0 ? (group.read + group.written) / group.wall_ns : null);

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
