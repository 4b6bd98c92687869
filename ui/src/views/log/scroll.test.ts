import { expect, test } from "vitest";
import { lastTop, MOST, reveal, rowsAt, scrollTopOf, spacer, topOf, type Scroll } from "./scroll";

const of = (rows: number): Scroll => ({ rows, rowHeight: 24, view: 600 });

test("a short table scrolls pixel by pixel", () => {
    const s = of(1000);
    expect(spacer(s)).toBe(24_000);
    expect(topOf(s, 240)).toBeCloseTo(10, 9);
    expect(scrollTopOf(s, 10)).toBeCloseTo(240, 9);
});

test("a long one stays below what browsers can hold, and every row can be reached", () => {
    for (const rows of [1e6, 1e8, 3e9]) {
        const s = of(rows);
        expect(spacer(s)).toBe(MOST);
        expect(topOf(s, 0)).toBe(0);
        expect(topOf(s, spacer(s))).toBe(lastTop(s));
        const end = rowsAt(s, lastTop(s));
        expect(end.first + end.count).toBe(rows);
        for (const row of [0, 1, 12345, rows - 30]) {
            expect(topOf(s, scrollTopOf(s, row)) / row || 0).toBeCloseTo(row === 0 ? 0 : 1, 6);
            expect(rowsAt(s, row).first).toBe(row);
        }
    }
});

test("fewer rows than fit, and none", () => {
    expect(rowsAt(of(3), 17)).toEqual({ first: 0, count: 3, offset: -0 });
    expect(rowsAt(of(0), 0).count).toBe(0);
    expect(scrollTopOf(of(3), 2)).toBe(0);
    expect(topOf(of(3), 100)).toBe(0);
});

test("the fraction of a row that is scrolled away is cut off above", () => {
    expect(rowsAt(of(1000), 10.5)).toEqual({ first: 10, count: 26, offset: -12 });
});

test("a row is brought into view with the least movement", () => {
    const s = of(1000);
    expect(reveal(s, 100, 110)).toBe(100);
    expect(reveal(s, 100, 50)).toBe(50);
    expect(reveal(s, 100, 125)).toBe(101);
    expect(reveal(s, 100, 999)).toBe(lastTop(s));
});
