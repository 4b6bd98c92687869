import { expect, test } from "vitest";
import { segmentsOf } from "./levels";
import type { Answered, Strip } from "./strips";

const data = (layers: number[]) => ({ isRaw: true, of: { layer: Int16Array.from(layers) } }) as unknown as Answered;
const strip = (rows: number[]) => ({ row: Int32Array.from(rows), op: Int16Array.from(rows) }) as unknown as Strip;
const wide = (row: number, pixels: number) => Array.from({ length: pixels }, () => row);

test("neighbours of one layer are one segment, and a gap between two of the same is theirs", () => {
    const rows = [...wide(0, 5), -1, ...wide(1, 4), ...wide(2, 6)];
    expect(segmentsOf([strip(rows)], data([7, 7, 8]), "layer", 1)).toEqual([
        { x0: 0, x1: 10, value: 7, count: 1 },
        { x0: 10, x1: 16, value: 8, count: 1 },
    ]);
});

test("what is too narrow is folded with its count; what belongs to no layer leaves a gap", () => {
    const rows = [0, 1, 2, 3, ...wide(4, 3), ...wide(0, 4)];
    expect(segmentsOf([strip(rows)], data([0, 1, 2, 3, -1]), "layer", 1)).toEqual([
        { x0: 0, x1: 4, value: -1, count: 4 },
        { x0: 7, x1: 11, value: 0, count: 1 },
    ]);
});

test("the first lane that computes says it; others fill what it leaves", () => {
    expect(segmentsOf([strip([...wide(0, 4), ...wide(-1, 4)]), strip([...wide(1, 8)])], data([1, 2]), "layer", 1)).toEqual([
        { x0: 0, x1: 4, value: 1, count: 1 },
        { x0: 4, x1: 8, value: 2, count: 1 },
    ]);
});

test("a bin with ops of several layers names none, unless one op fills half of it", () => {
    const of = { longest_layer: Int16Array.from([13, 13, 13, 5]), count: Int32Array.from([900, 900, 900, 20]), longest_ns: Float64Array.from([4, 4, 60, 4]) };
    const bins = { isRaw: false, binNs: 100, of } as unknown as Answered;
    const rows = [...wide(0, 4), ...wide(1, 4), ...wide(2, 4), ...wide(3, 4)];
    expect(segmentsOf([strip(rows)], bins, "layer", 1, 30)).toEqual([
        { x0: 0, x1: 8, value: -1, count: 0 },
        { x0: 8, x1: 12, value: 13, count: 1 },
        { x0: 12, x1: 16, value: 5, count: 1 },
    ]);
});
