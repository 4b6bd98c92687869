// The KV memory of a context over time: the cells of each sequence, stacked, and the operations on
// them.
import type { CellUse, Requests } from "../../api";

export type CellChange = NonNullable<Requests["changes"]>[number];
export type Memory = NonNullable<Requests["memories"]>[number];

// The sequences with their own colour: those with the largest peak, by number. The rest shares one.
export function drawnSequences(uses: readonly CellUse[], most: number): { drawn: number[]; rest: number } {
    const peaks = new Map<number, number>();
    for (const use of uses) for (const one of use.by_sequence) peaks.set(one.sequence, Math.max(peaks.get(one.sequence) ?? 0, one.cells));
    const inOrder = [...peaks].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([sequence]) => sequence);
    const drawn = inOrder.slice(0, inOrder.length > most ? most - 1 : most).sort((a, b) => a - b);
    return { drawn, rest: inOrder.length - drawn.length };
}

// The upper edges of the stacked layers at each moment: the first is that of drawn[0], the last
// that of all sequences.
export function stacked(uses: readonly CellUse[], drawn: readonly number[]): number[][] {
    return uses.map((use) => {
        const of = new Map(use.by_sequence.map((one) => [one.sequence, one.cells]));
        let sum = 0;
        const heights = drawn.map((sequence) => (sum += of.get(sequence) ?? 0));
        return [...heights, use.by_sequence.reduce((all, one) => all + one.cells, 0)];
    });
}

export interface Mark {
    x: number;
    changes: CellChange[]; // of one kind
    calls: number;
    cells: number;
}

// Operations as marks. Overlapping neighbours of one kind are merged.
export function marksOf(changes: readonly CellChange[], px: (ns: number) => number, distance: number): Mark[] {
    const newest = new Map<string, Mark>();
    const marks: Mark[] = [];
    for (const change of [...changes].sort((a, b) => a.begin_ns - b.begin_ns)) {
        const x = px(change.begin_ns);
        let mark = newest.get(change.kind);
        if (!mark || x - mark.x >= distance) {
            mark = { x, changes: [], calls: 0, cells: 0 };
            newest.set(change.kind, mark);
            marks.push(mark);
        }
        mark.changes.push(change);
        mark.calls += change.calls;
        mark.cells += change.cells;
    }
    return marks;
}
