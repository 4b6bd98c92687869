import { expect, test } from "vitest";
import type { Block } from "./blocks";
import { bestFit, between, CLOSED_GAP, columnsFor, edgePath, GAP, HEADER, PENDING, place } from "./place";

const blocks = ["a", "b", "c"].map((key) => ({ key, shape: { signature: key } }) as unknown as Block);
const layout = { width: 900, height: 300 } as never;

test("what is expanded moves what is below it, and nothing above", () => {
    const closed = place(
        blocks,
        () => false,
        () => undefined,
    );
    expect(closed.top).toEqual([0, HEADER + CLOSED_GAP, 2 * (HEADER + CLOSED_GAP)]);
    expect(closed.total).toBe(3 * HEADER + 2 * CLOSED_GAP);
    const open = place(
        blocks,
        (b) => b.key === "b",
        () => layout,
    );
    expect(open.top).toEqual([0, HEADER + GAP, 2 * (HEADER + GAP) + 300]);
    expect(open.width).toBe(900);
    expect(
        place(
            blocks,
            (b) => b.key === "b",
            () => undefined,
        ).height,
    ).toEqual([HEADER, HEADER + PENDING, HEADER]);
});

test("only blocks in sight", () => {
    const placed = place(
        blocks,
        () => false,
        () => undefined,
    );
    expect(between(placed, 0, 10)).toEqual([0]);
    expect(between(placed, HEADER + 1, HEADER + CLOSED_GAP + 1)).toEqual([1]);
    expect(between(placed, 1e6, 2e6)).toEqual([]);
});

test("paths begin and end at their first and last point", () => {
    expect(edgePath([0, 0, 10, 20])).toBe("M0 0L10 20");
    expect(edgePath([0, 0, 10, 20, 10, 40])).toBe("M0 0Q10 20 10 40");
    expect(edgePath([0, 0, 10, 20, 10, 40, 0, 60])).toBe("M0 0Q10 20 10 30Q10 40 0 60");
    expect(edgePath([1, 2])).toBe("");
});

test("in columns a block opens where it stands, and only its own column grows", () => {
    const placeIn = (open: string | null, columns: number) =>
        place(
            blocks,
            (b) => b.key === open,
            () => layout,
            columns,
        );
    const [closed, open] = [placeIn(null, 2), placeIn("a", 2)];
    expect(closed.column).toEqual([0, 0, 1]);
    expect(open.column).toEqual(closed.column);
    expect([open.top[2], open.left[0]]).toEqual([0, 0]);
    expect(open.left[2]! - closed.left[2]!).toBe(900 - 560);
    expect(open.total).toBe(HEADER * 2 + GAP + 300);
});

test("as many columns as there is room for, and as are needed to see everything", () => {
    expect(columnsFor(24, 700, 600)).toBe(1);
    expect(columnsFor(24, 1400, 600)).toBe(2);
    expect(columnsFor(4, 4000, 600)).toBe(1);
    const best = bestFit(1400, 100, 3, (columns) => place(blocks, () => false, () => undefined, columns));
    expect(best.columns).toBe(2);
});
