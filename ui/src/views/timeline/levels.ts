// The rows above the lanes: which graph run, and which layer, the ops of each pixel belong to. What is too narrow to be seen by itself is
// folded, with its count.
import type { Answered, Strip } from "./strips";

export interface Segment {
    x0: number; // device pixels, x1 exclusive
    x1: number;
    value: number; // of the graph run or layer; -1: several, folded
    count: number; // that it stands for
}

const narrow = 3;

// What the ops at each pixel belong to, whichever lane they run in; -1: none is there, or it belongs to nothing.
function valuesOf(strips: Iterable<Strip>, data: Answered, column: string, none: number): Int32Array | null {
    const of = data.of[column];
    let values: Int32Array | null = null;
    for (const strip of strips) {
        values ??= new Int32Array(strip.row.length).fill(-1);
        if (of) for (let x = 0; x < values.length; x++) if (values[x] === -1 && strip.op[x]! >= 0 && of[strip.row[x]!] !== none) values[x] = of[strip.row[x]!]!;
    }
    return values;
}

// Neighbours of one value; a gap between two of the same is theirs too.
function runsOf(values: Int32Array): Segment[] {
    const runs: Segment[] = [];
    for (let x = 0; x < values.length; x++) {
        const value = values[x]!;
        if (value < 0) continue;
        const last = runs.at(-1);
        if (last && last.value === value) last.x1 = x + 1;
        else runs.push({ x0: x, x1: x + 1, value, count: 1 });
    }
    return runs;
}

export function segmentsOf(strips: Iterable<Strip>, data: Answered, kind: "run" | "layer", ratio: number): Segment[] {
    const column = data.isRaw ? kind : `longest_${kind}`;
    const values = valuesOf(strips, data, column, kind === "run" ? 0 : -1);
    const out: Segment[] = [];
    for (const one of values ? runsOf(values) : []) {
        const last = out.at(-1);
        if (one.x1 - one.x0 >= narrow * ratio) out.push(one);
        else if (last && last.value === -1 && one.x0 - last.x1 <= narrow * ratio) Object.assign(last, { x1: one.x1, count: last.count + 1 });
        else out.push({ ...one, value: -1 });
    }
    return out;
}
