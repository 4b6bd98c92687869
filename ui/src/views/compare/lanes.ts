// Op runs of one token in two recordings: which belong together, and where they are drawn.

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

// Alike are the k-th such op of the same layer on the same lane: by order, never by time.
export function keysOf(runs: Runs): string[] {
    const seen = new Map<string, number>();
    const keys: string[] = [];
    for (let row = 0; row < runs.rows; row++) {
        const kind = `${runs.lanes.indexOf(runs.lane[row]!)} ${runs.layer[row]} ${runs.ops[runs.op[row]!]}`;
        const k = seen.get(kind) ?? 0;
        seen.set(kind, k + 1);
        keys.push(`${kind} ${k}`);
    }
    return keys;
}

// The row at a point of a lane: the one that covers `at`, else the nearest within `reach` ns; -1 for none.
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
