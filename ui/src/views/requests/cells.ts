// The memory of a context over time: how many cells each sequence has, stacked, and what was done to them.
export interface SequenceUse {
    sequence: number;
    cells: number;
    first_cell: number | null;
    last_cell: number | null;
    pieces: number | null; // null: not seen
}

export interface CellUse {
    time_ns: number; // holds from here on
    token: number | null;
    context: number;
    cells: number; // shared ones counted once
    sequences: number;
    up_to: number | null; // null: it was not seen which ones are in use
    holes: number | null;
    attended: number | null;
    attended_in_use: number | null;
    by_sequence: SequenceUse[];
}

export interface CellChange {
    begin_ns: number;
    end_ns: number;
    context: number;
    kind: "clear" | "remove" | "copy" | "keep" | "add" | "divide" | "load";
    sequence: number | null;
    other: number | null;
    calls: number;
    cells: number;
}

export interface Memory {
    context: number;
    capacity: number | null;
    streams: number | null;
    cells_peak: number;
    up_to_peak: number | null;
    holes_peak: number | null;
    holes_peak_ns: number | null;
}

export interface Cells {
    memories: Memory[];
    cells: CellUse[];
    changes: CellChange[];
    contexts: { context: number; target: number | null }[];
}

// The sequences that get a colour: those with the most cells at any moment, by number; the rest is one.
export function drawnSequences(uses: readonly CellUse[], most: number): { drawn: number[]; rest: number } {
    const peaks = new Map<number, number>();
    for (const use of uses) for (const one of use.by_sequence) peaks.set(one.sequence, Math.max(peaks.get(one.sequence) ?? 0, one.cells));
    const inOrder = [...peaks].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([sequence]) => sequence);
    const drawn = inOrder.slice(0, inOrder.length > most ? most - 1 : most).sort((a, b) => a - b);
    return { drawn, rest: inOrder.length - drawn.length };
}

// Of each moment how high the layers reach: the first that of drawn[0] alone, the last that of all sequences.
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

// What was done, as marks that keep their distance: neighbours of one kind that would lie upon each other are one.
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
