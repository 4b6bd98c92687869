import { expect, test } from "vitest";
import { changeText, shownItems, shownUnmatched, type Item, type Verdict } from "./answers";

const item = (layer: number | null, a: number, b: number, verdict: Verdict, bytes_differ = 0): Item => ({
    prompt: false,
    layer,
    op: "MUL_MAT",
    tensor: "x",
    a: { ops: 1, wall_ns: a, median_ns: a, read: 0 },
    b: { ops: 1, wall_ns: b, median_ns: b, read: 0 },
    verdict,
    bytes_differ,
});

test("changes have a sign, and none without a base", () => {
    expect(changeText(100, 125)).toBe("+25.0 %");
    expect(changeText(100, 50)).toBe("−50.0 %");
    expect(changeText(100, 100)).toBe("±0.0 %");
    expect(changeText(0, 5)).toBe("-");
});

test("the threshold hides noise and small changes, never bytes that differ", () => {
    const items = [
        item(-2, 100, 150, "slower"),
        item(-2, 100, 104, "slower"),
        item(-2, 100, 180, "noise"),
        item(-2, 100, 100, "same", 3),
        item(4, 100, 50, "faster"),
        item(null, 100, 90, "uncertain"),
    ];
    const threshold = { least: 0.05, noise: false, layers: false };
    expect(shownItems(items, threshold).map((i) => items.indexOf(i))).toEqual([0, 3]);
    expect(shownItems(items, { ...threshold, least: 0 }).map((i) => items.indexOf(i))).toEqual([0, 1, 3]);
    expect(shownItems(items, { ...threshold, noise: true }).map((i) => items.indexOf(i))).toEqual([0, 2, 3]);
    expect(shownItems(items, { ...threshold, layers: true, noise: true }).map((i) => items.indexOf(i))).toEqual([4, 5]);
});

test("ops without a counterpart are not told twice", () => {
    const rows = [-2, null, 3].map((layer) => ({ side: "b" as const, prompt: false, layer, op: "ADD", tensor: "x", ops: 1 }));
    const threshold = { least: 0, noise: false, layers: false };
    expect(shownUnmatched(rows, threshold).map((row) => row.layer)).toEqual([-2]);
    expect(shownUnmatched(rows, { ...threshold, layers: true }).map((row) => row.layer)).toEqual([null, 3]);
});
