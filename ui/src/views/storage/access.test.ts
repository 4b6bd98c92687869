import { expect, test } from "vitest";
import { build } from "../../columns";
import { gridOf, pageOf, strength, usualLayer, zoomRange } from "./access";

test("the grid has every cell that was sent, by layer", () => {
    const grid = gridOf(
        build(
            { layer: Uint8Array.of(0, 0, 2), column: Uint16Array.of(0, 2, 1), row: Uint16Array.of(0, 1, 1), amount: Float64Array.of(5, 7, 1) },
            { n_columns: 3, n_rows: 2, begin_ns: 10, end_ns: 20, first_byte: 0, end_byte: 100, axis_bytes: 100, sums: { bytes_mapped: 12, bytes_copied: 0, faults: 1, bytes_requested: 0 } },
        ),
    );
    expect([...grid.cells[0]!]).toEqual([5, 0, 0, 0, 0, 7]);
    expect([...grid.cells[2]!]).toEqual([0, 0, 0, 0, 1, 0]);
    expect(grid.most).toEqual([7, 0, 1, 0]);
    expect(grid.sums).toEqual([12, 0, 1, 0]);
});

test("the page of a byte is as large as pages are where it was recorded", () => {
    expect(pageOf(1, 70000, 4096)).toEqual({ file: 1, begin: 69632, end: 73728 });
    expect(pageOf(1, 70000, 65536)).toEqual({ file: 1, begin: 65536, end: 131072 });
});

test("what is read once is still seen", () => {
    expect(strength(0, 10)).toBe(0);
    expect(strength(10, 10)).toBe(1);
    expect(strength(1e-9, 10)).toBeGreaterThan(0);
    expect(strength(1, 10)).toBeCloseTo(0.75);
});

test("zooming keeps the point under the pointer and stays within bounds", () => {
    expect(zoomRange([0, 100], 2, 50, [0, 100], 1)).toEqual([25, 75]);
    expect(zoomRange([0, 100], 2, 0, [0, 100], 1)).toEqual([0, 50]);
    expect(zoomRange([25, 75], 0.1, 50, [0, 100], 1)).toEqual([0, 100]);
    expect(zoomRange([50, 52], 10, 51, [0, 100], 1)).toEqual([51, 52]);
});

test("copies are shown first if ops read more of them than of mapped files", () => {
    expect([[1400, 109e6], [109e6, 1400], [0, 0], []].map(usualLayer)).toEqual(["copied", "mapped", "mapped", "mapped"]);
});
