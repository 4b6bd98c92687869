import { expect, test } from "vitest";
import { keysOf, rowAt, type Runs } from "./lanes";

const runs: Runs = {
    begin: 1000,
    ops: ["ADD", "MUL_MAT"],
    lanes: [3, 7],
    rows: 5,
    lane: [3, 3, 7, 3, 7],
    op: [1, 1, 1, 0, 0],
    layer: [0, 0, 0, 0, 0],
    start: [0, 100, 0, 250, 260],
    duration: [90, 100, 80, 40, 30],
    wait: [0, 0, 0, 0, 0],
    run: [1, 1, 1, 1, 1],
    node: [0, 1, 0, 2, 2],
};

test("alike by order within layer, op and lane, whatever the lanes' numbers and the op table", () => {
    const other: Runs = { ...runs, lanes: [0, 1], lane: [0, 0, 1, 0, 1], ops: ["MUL_MAT", "ADD"], op: [0, 0, 0, 1, 1], start: [0, 300, 0, 900, 900] };
    expect(keysOf(other)).toEqual(keysOf(runs));
    expect(new Set(keysOf(runs)).size).toBe(5);
});

test("what lies under the pointer, or the nearest within reach", () => {
    expect(rowAt(runs, 0, 50, 5)).toBe(0);
    expect(rowAt(runs, 0, 150, 5)).toBe(1);
    expect(rowAt(runs, 0, 92, 5)).toBe(0);
    expect(rowAt(runs, 0, 225, 5)).toBe(-1);
    expect(rowAt(runs, 1, 270, 5)).toBe(4);
});
