import { expect, test } from "vitest";
import { within, keysOf, opsOf, rowAt, type Runs } from "./lanes";

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

test("alike by order within layer and op, whatever the lanes' numbers and the op table", () => {
    const other: Runs = { ...runs, lanes: [0, 1], lane: [0, 0, 1, 0, 1], ops: ["MUL_MAT", "ADD"], op: [0, 0, 0, 1, 1], start: [0, 300, 0, 900, 900] };
    expect(keysOf(other)).toEqual(keysOf(runs));
    expect(new Set(keysOf(runs)).size).toBe(3);
});

test("an op that ran on two lanes in one recording is there on the one lane of the other", () => {
    const one: Runs = { ...runs, lanes: [0], rows: 3, lane: [0, 0, 0], op: [1, 1, 0], layer: [0, 0, 0], start: [0, 200, 500], duration: [180, 150, 60], node: [0, 1, 2], run: [1, 1, 1] };
    const [two, single] = [opsOf(runs, keysOf(runs)), opsOf(one, keysOf(one))];
    expect([...two.keys()].sort()).toEqual([...single.keys()].sort());
    expect(two.get("0 MUL_MAT 0")).toEqual({ row: 0, lanes: 2, duration: 90 });
    expect(two.get("0 ADD 0")).toEqual({ row: 3, lanes: 2, duration: 40 });
    expect(single.get("0 MUL_MAT 0")).toEqual({ row: 0, lanes: 1, duration: 180 });
});

test("what lies under the pointer, or the nearest within reach", () => {
    expect(rowAt(runs, 0, 50, 5)).toBe(0);
    expect(rowAt(runs, 0, 150, 5)).toBe(1);
    expect(rowAt(runs, 0, 92, 5)).toBe(0);
    expect(rowAt(runs, 0, 225, 5)).toBe(-1);
    expect(rowAt(runs, 1, 270, 5)).toBe(4);
});

test("a zoom stays inside the token", () => {
    expect(within([2000, 6000], 10_000)).toEqual([2000, 6000]);
    expect(within([-500, 3500], 10_000)).toEqual([0, 4000]);
    expect(within([8000, 12_000], 10_000)).toEqual([6000, 10_000]);
    expect(within([5000, 5001], 10_000)).toEqual([5000, 6000]);
    expect(within([0, Infinity], 10_000)).toBeNull();
    expect(within([0, 500], 400)).toBeNull();
});
