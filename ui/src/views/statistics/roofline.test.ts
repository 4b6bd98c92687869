import { expect, test } from "vitest";
import type { RooflineRow } from "../../api";
import { decades, durationsOf, pointsOf, roofAt } from "./roofline";

const row = (more: Partial<RooflineRow> = {}): RooflineRow => ({
    phase: "GENERATE",
    op: "MUL_MAT",
    component: "FFN Up",
    on_device: false,
    ops: 2,
    op_runs: 4,
    wall_ns: 1000,
    busy_ns: 1900,
    bytes_read: 4000,
    bytes_written: 1000,
    flops: 10_000,
    shared: null,
    duration_bins: [0, 0, 0, 2],
    ...more,
});

test("a point is at flop per byte and flop per ns; ops without flops and those of devices have none", () => {
    expect(pointsOf([row(), row({ flops: null }), row({ wall_ns: 0 }), row({ on_device: true })])).toEqual([{ row: row(), intensity: 2, gflops: 10, gbytes: 5 }]);
});

test("the roof is the memory's slope up to the peak", () => {
    const limits = { threads: 2, memory_bytes_per_second: 10e9, flops_per_second: 100e9, measured_at: 0, others_percent: 0 };
    expect(roofAt(limits, 1)).toBe(10);
    expect(roofAt(limits, 50)).toBe(100);
    expect(roofAt({ ...limits, flops_per_second: 0 }, 50)).toBe(500);
});

test("axes hold all values", () => {
    expect(decades([])).toEqual([0, 1]);
    expect(decades([0.5, 30])).toEqual([-1, 2]);
    expect(decades([2, 3])).toEqual([0, 1]);
});

test("durations are added up from the shortest that there is", () => {
    expect(durationsOf([row(), row({ duration_bins: [0, 0, 1, 0, 4] })])).toEqual([
        { from_ns: 4, to_ns: 8, ops: 1 },
        { from_ns: 8, to_ns: 16, ops: 2 },
        { from_ns: 16, to_ns: 32, ops: 4 },
    ]);
});
