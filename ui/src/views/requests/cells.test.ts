import { describe, expect, it } from "vitest";
import type { CellUse } from "../../api";
import { type CellChange, drawnSequences, marksOf, stacked } from "./cells";

const use = (time_ns: number, ...held: [number, number][]): CellUse => ({
    time_ns,
    token: 0,
    context: 0,
    cells: 0,
    sequences: held.length,
    up_to: null,
    holes: null,
    attended: null,
    attended_in_use: null,
    by_sequence: held.map(([sequence, cells]) => ({ sequence, cells, first_cell: null, last_cell: null, pieces: null })),
});
const change = (begin_ns: number, kind: CellChange["kind"]): CellChange => ({ begin_ns, end_ns: begin_ns, context: 0, kind, sequence: 0, other: null, calls: 1, cells: 2 });

describe("cells of sequences", () => {
    it("draws the largest by number, and the rest as one", () => {
        const uses = [use(1, [0, 5], [1, 9]), use(2, [2, 1], [3, 7])];
        expect(drawnSequences(uses, 4)).toEqual({ drawn: [0, 1, 2, 3], rest: 0 });
        expect(drawnSequences(uses, 3)).toEqual({ drawn: [1, 3], rest: 2 });
    });

    it("stacks them, the last layer has all", () => {
        expect(stacked([use(1, [0, 5], [1, 9]), use(2, [3, 7])], [0, 1])).toEqual([
            [5, 14, 14],
            [0, 0, 7],
        ]);
    });

    it("joins marks of one kind that lie upon each other", () => {
        const marks = marksOf([change(0, "remove"), change(3, "copy"), change(5, "remove"), change(30, "remove")], (ns) => ns, 10);
        expect(marks.map((mark) => [mark.x, mark.changes[0]!.kind, mark.calls, mark.cells])).toEqual([
            [0, "remove", 2, 4],
            [3, "copy", 1, 2],
            [30, "remove", 1, 2],
        ]);
    });
});
