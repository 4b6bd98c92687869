import { expect, test } from "vitest";
import { apart, steps } from "./Chart";

test("texts are left out where they would lie over others", () => {
    expect(apart([0, 10, 40, 45, 80], (x) => x, () => "12 MiB")).toEqual([0, 80]);
    expect(apart([0, 60, 120], (x) => x, () => "12 MiB")).toEqual([0, 60, 120]);
});

test("steps of an axis are round, those of bytes in their own unit", () => {
    expect(steps(10)).toEqual([0, 5, 10]);
    expect(steps(7)).toEqual([0, 2, 4, 6]);
    expect(steps(0)).toEqual([0, 1]);
    expect(steps(200 * 2 ** 20, 4, true)).toEqual([0, 50, 100, 150, 200].map((n) => n * 2 ** 20));
    expect(steps(900, 4, true)).toEqual([0, 250, 500, 750]);
    expect(steps(92 * 2 ** 20, 4, true)).toEqual([0, 25, 50, 75].map((n) => n * 2 ** 20));
});
