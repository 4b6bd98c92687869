// Matches the op runs of one token in two recordings, and computes their positions.

export interface Runs {
    begin: number; // of the window, ns
    ops: string[];
    lanes: number[]; // in the order in which they are drawn
    lane: ArrayLike<number>;
    op: ArrayLike<number>;
    layer: ArrayLike<number>;
    start: ArrayLike<number>; // relative to `begin`
    duration: ArrayLike<number>;
    wait: ArrayLike<number>;
    run: ArrayLike<number>;
    node: ArrayLike<number>;
    rows: number;
}

// Gives the k-th such op of a layer the same key in both recordings: by order, never by time. All
// op runs of an op share its key, because the recordings may differ in the number of lanes.
export function keysOf(runs: Runs): string[] {
    const order = Array.from({ length: runs.rows }, (_, row) => row).sort((x, y) => runs.run[x]! - runs.run[y]! || runs.node[x]! - runs.node[y]!);
    const seen = new Map<string, number>();
    const keys: string[] = new Array<string>(runs.rows);
    let before = "";
    for (const row of order) {
        const kind = `${runs.layer[row]} ${runs.ops[runs.op[row]!]}`;
        const op = `${runs.run[row]} ${runs.node[row]}`;
        if (op !== before) seen.set(kind, (seen.get(kind) ?? 0) + 1);
        before = op;
        keys[row] = `${kind} ${seen.get(kind)! - 1}`;
    }
    return keys;
}

export interface Op {
    row: number; // of the first op run
    lanes: number;
    duration: number; // first begin to last end, on whatever lane
}

// The ops by key, in the order of their rows.
export function opsOf(runs: Runs, keys: readonly string[]): Map<string, Op> {
    const ops = new Map<string, { row: number; lanes: number; begin: number; end: number }>();
    keys.forEach((key, row) => {
        const begin = runs.start[row]!,
            end = begin + runs.duration[row]!;
        const op = ops.get(key);
        if (!op) ops.set(key, { row, lanes: 1, begin, end });
        else (op.lanes++, (op.begin = Math.min(op.begin, begin)), (op.end = Math.max(op.end, end)));
    });
    return new Map([...ops].map(([key, { row, lanes, begin, end }]) => [key, { row, lanes, duration: end - begin }]));
}

// The row at a point of a lane: the one that covers `at`, else the nearest within `reach` ns; -1:
// none.
export function rowAt(runs: Runs, lane: number, at: number, reach: number): number {
    let best = -1,
        distance = reach;
    for (let row = 0; row < runs.rows; row++) {
        if (runs.lanes.indexOf(runs.lane[row]!) !== lane) continue;
        const begin = runs.start[row]!,
            end = begin + runs.duration[row]!;
        const away = at < begin ? begin - at : at > end ? at - end : 0;
        if (away < distance || (away === 0 && distance === 0)) [best, distance] = [row, away];
        if (away === 0) return row;
    }
    return best;
}

// Moves and clips a range into [0, whole]; null if it covers everything.
export function within([from, to]: [number, number], whole: number): [number, number] | null {
    const least = Math.min(whole, 1000); // ns
    const width = Math.max(least, to - from);
    if (!(width < whole)) return null;
    const begin = Math.max(0, Math.min(from, whole - width));
    return [Math.floor(begin), Math.ceil(begin + width)];
}
