// The rows above the lanes: the graph run and the layer of the ops at each pixel. Segments that are
// too narrow are folded, with their count.
import type { Answered, Strip } from "./strips";

export interface Segment {
    x0: number; // device pixels, x1 exclusive
    x1: number;
    value: number; // of the graph run or layer; -1: several, folded
    count: number; // number of folded values; 0: not known
}

const narrow = 3;
const several = -2;

// The value of the ops at each pixel, of any lane; -1: no op, or no value. A bin with more than
// `most` op runs has several values, unless one op fills half of it.
function valuesOf(strips: Iterable<Strip>, data: Answered, column: string, none: number, most: number): Int32Array | null {
    const { [column]: of, count, longest_ns: longest } = data.of;
    let values: Int32Array | null = null;
    for (const strip of strips) {
        values ??= new Int32Array(strip.row.length).fill(-1);
        for (let x = 0; of && x < values.length; x++) {
            const row = strip.row[x]!;
            if (values[x] === -1 && strip.op[x]! >= 0 && of[row] !== none) values[x] = !data.isRaw && count![row]! > most && 2 * longest![row]! < data.binNs ? several : of[row]!;
        }
    }
    return values;
}

// Joins neighbours of one value, including the gaps between them.
function runsOf(values: Int32Array): Segment[] {
    const runs: Segment[] = [];
    for (let x = 0; x < values.length; x++) {
        const value = values[x]!;
        if (value === -1) continue;
        const last = runs.at(-1);
        if (last && last.value === value) last.x1 = x + 1;
        else runs.push({ x0: x, x1: x + 1, value, count: 1 });
    }
    return runs;
}

// `most`: op runs of one value on one lane.
export function segmentsOf(strips: Iterable<Strip>, data: Answered, kind: "run" | "layer", ratio: number, most = Infinity): Segment[] {
    const column = data.isRaw ? kind : `longest_${kind}`;
    const values = valuesOf(strips, data, column, kind === "run" ? 0 : -1, most);
    const out: Segment[] = [];
    for (const one of values ? runsOf(values) : []) {
        const last = out.at(-1), isSeveral = one.value === several;
        if (!isSeveral && one.x1 - one.x0 >= narrow * ratio) out.push(one);
        else if (last && last.value === -1 && one.x0 - last.x1 <= narrow * ratio) Object.assign(last, { x1: one.x1, count: isSeveral || last.count === 0 ? 0 : last.count + 1 });
        else out.push({ ...one, value: -1, count: isSeveral ? 0 : 1 });
    }
    return out;
}
