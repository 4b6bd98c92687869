import { expect, test } from "vitest";
import { byteAt, cellAt, layout, least, pixelOf, type Unit, unitAt } from "./layout";

function units(sizes: number[], experts: number[] = []): Unit[] {
    let at = 100;
    return sizes.map((size, i) => {
        const unit = { begin: at, end: at + size, entry: experts.length ? Math.floor(i / 4) : i, expert: experts[i] ?? -1 };
        at += size;
        return unit;
    });
}

// A generator of the same numbers each time.
function random(seed: number): () => number {
    let state = seed;
    return () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
}

// Cells cover 0 to the width without gap or overlap, and so do their units.
function isSound(result: ReturnType<typeof layout>, count: number, width: number): void {
    let x = 0;
    let unit = 0;
    const wrong = result.cells.find((cell) => {
        const isRight = cell.x === x && cell.width > 0 && cell.first === unit && cell.last >= cell.first;
        x += cell.width;
        unit = cell.last + 1;
        return !isRight;
    });
    expect(wrong).toBeUndefined();
    expect([x, unit]).toEqual([width, count]);
}

test("every unit keeps the least width where all fit, and the badge knows", () => {
    const list = units([1_000_000, 10, 10, 500_000]);
    const result = layout(list, 400);
    isSound(result, 4, 400);
    expect(result.cells.map((cell) => cell.width >= least - 1)).toEqual([true, true, true, true]);
    expect(result.toScale).toBe(false);
    expect(result.folded).toBe(0);
    expect(layout(units([100, 100, 200]), 400).toScale).toBe(true);
});

test("what does not fit folds with a count, and zooming unfolds it", () => {
    const list = units(Array.from({ length: 1000 }, () => 50));
    const narrow = layout(list, 300);
    isSound(narrow, 1000, 300);
    expect(narrow.cells.length).toBeLessThanOrEqual(60);
    expect(narrow.folded).toBe(1000);
    const wide = layout(list, 300 * 32);
    isSound(wide, 1000, 300 * 32);
    expect(wide.folded).toBe(0);
});

test("a large unit never folds away with small ones", () => {
    const list = units([...Array.from({ length: 200 }, () => 1), 100_000, ...Array.from({ length: 200 }, () => 1)]);
    const result = layout(list, 500);
    isSound(result, 401, 500);
    const large = result.cells.find((cell) => cell.first === 200)!;
    expect(large.last).toBe(200);
    expect(large.width).toBeGreaterThan(450);
});

test("experts fold only within their tensor", () => {
    const list = units(Array.from({ length: 400 }, () => 10), Array.from({ length: 400 }, (_, i) => i % 4));
    for (const cell of layout(list, 260).cells) expect(list[cell.first]!.entry).toBe(list[cell.last]!.entry);
});

test("true scale widens nothing", () => {
    const list = units([1_000_000, 10, 10, 1_000_000]);
    const result = layout(list, 400, { trueScale: true });
    expect(result.toScale).toBe(true);
    expect(result.cells.reduce((sum, cell) => sum + cell.width, 0)).toBe(400);
    expect(result.cells[0]!.width).toBe(200);
    isSound(layout(units([1, 1_000_000, 1]), 400, { trueScale: true }), 3, 400);
});

test("cells never overlap, whatever the sizes and widths", () => {
    const next = random(7);
    for (let round = 0; round < 300; round++) {
        const count = 1 + Math.floor(next() * 400);
        const list = units(Array.from({ length: count }, () => 1 + Math.floor(next() ** 8 * 1e9)));
        const width = 40 + Math.floor(next() * 2000);
        isSound(layout(list, width), count, width);
        isSound(layout(list, width, { trueScale: true }), count, width);
    }
});

test("pixels and bytes lead to each other", () => {
    const list = units([5000, 10, 70_000, 20, 9]);
    const { cells } = layout(list, 600);
    for (const unit of list) {
        const x = pixelOf(list, cells, unit.begin);
        expect(unitAt(list, byteAt(list, cells, x + 0.5))).toBe(list.indexOf(unit));
    }
    expect(cellAt(cells, -1)).toBe(-1);
    expect(cellAt(cells, 600)).toBe(-1);
    expect(cellAt(cells, 599)).toBe(cells.length - 1);
});
