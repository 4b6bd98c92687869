import { expect, test } from "vitest";
import { changeText, effect, opTime, partnerOf, shownItems, shownUnmatched, type Item, type Verdict } from "./answers";

// 10 ops on each side.
const item = (layer: number | null | "all", a: number, b: number, verdict: Verdict, ops_bytes_differ = 0): Item => ({
    phase: "GENERATE",
    all_layers: layer === "all",
    layer: layer === "all" ? null : layer,
    op: "MUL_MAT",
    name: "x",
    a: { ops: 10, ops_only: 0, wall_ns: 10 * a, low_ns: a, median_ns: a, high_ns: a, bytes_read: 0, bytes_written: 0 },
    b: { ops: 10, ops_only: 0, wall_ns: 10 * b, low_ns: b, median_ns: b, high_ns: b, bytes_read: 0, bytes_written: 0 },
    verdict,
    ops_bytes_differ,
});

test("changes are written as ggscope diff writes them", () => {
    expect(changeText(100, 125)).toBe("+25.0 %");
    expect(changeText(100, 50)).toBe("-50.0 %");
    expect(changeText(100, 100)).toBe("-");
    expect(changeText(0, 5)).toBe("new");
    expect(changeText(100, 199)).toBe("+99.0 %");
    expect(changeText(100, 595)).toBe("6.0 ×");
    expect(changeText(10, 24_402)).toBe("2,440.2 ×");
});

test("the threshold hides noise and small changes, never bytes that differ", () => {
    const items = [
        item("all", 100, 150, "slower"),
        item("all", 100, 104, "slower"),
        item("all", 100, 180, "noise"),
        item("all", 100, 100, "same", 3),
        item(4, 100, 50, "faster"),
        item(null, 100, 90, "uncertain"),
    ];
    const threshold = { least: 0.05, noise: false, layers: false };
    expect(shownItems(items, threshold).map((i) => items.indexOf(i))).toEqual([0, 3]);
    expect(shownItems(items, { ...threshold, least: 0 }).map((i) => items.indexOf(i))).toEqual([0, 1, 3]);
    expect(shownItems(items, { ...threshold, noise: true }).map((i) => items.indexOf(i))).toEqual([0, 2, 3]);
    expect(shownItems(items, { ...threshold, layers: true, noise: true }).map((i) => items.indexOf(i))).toEqual([4, 5]);
});

test("an op that stalls is shown, with numbers that go the way of its word", () => {
    const held: Item = { ...item("all", 100, 90, "stalls"), b: { ...item("all", 100, 90, "stalls").b, wall_ns: 900 + 141_000 } };
    expect(shownItems([held], { least: 0.03, noise: false, layers: false })).toEqual([held]);
    expect(opTime(held.b, held.verdict)).toBeGreaterThan(opTime(held.a, held.verdict));
    expect(effect(held)).toBeGreaterThan(0);
});

test("ops without a counterpart are not told twice", () => {
    const only = (layer: number | null | "all"): Item => {
        const one = item(layer, 0, 0, "same");
        return { ...one, a: { ...one.a, ops: 0 }, b: { ...one.b, ops: 0, ops_only: 3 } };
    };
    const items = [only("all"), only(null), only(3)];
    const threshold = { least: 0, noise: false, layers: false };
    expect(shownItems(items, threshold)).toEqual([]);
    expect(shownUnmatched(items, threshold).map((row) => [row.side, row.item, row.ops])).toEqual([["b", items[0], 3]]);
    expect(shownUnmatched(items, { ...threshold, layers: true }).map((row) => row.item.layer)).toEqual([null, 3]);
});

test("without a choice a recording is compared with the newest of the same model", () => {
    const entry = (index: number, name: string, start_utc: string) => ({ index, model: { name, bytes: 5 }, start_utc });
    const entries = [entry(0, "tiny", "1"), entry(1, "moe", "9"), entry(2, "tiny", "2"), entry(3, "tiny", "3")];
    expect(partnerOf(0, [0, 1, 2, 3], entries)).toBe(3);
    expect(partnerOf(0, [0, 1, 2], entries)).toBe(2);
    expect(partnerOf(1, [0, 1, 2], entries)).toBe(0);
    expect(partnerOf(0, [0, 1], [])).toBe(1);
});
