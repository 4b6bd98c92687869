// The bytes that the selected op touches, on both tracks.
import type { OpAnswer, Operand } from "../../api";
import { useAsk } from "../../ask";
import { here, selection } from "../../state";
import type { Unit } from "./layout";
import type { Entry } from "./model";

export interface Mark {
    place: "disk" | "buffer";
    number: number; // of the file or the buffer
    begin: number; // bytes in it
    end: number;
    isWritten: boolean;
}

function marksOfOperand(operand: Operand): Mark[] {
    const marks: Mark[] = [];
    const add = (place: Mark["place"], number: number | null, at: number | null) => {
        if (number === null || at === null) return;
        const base = at - operand.offset; // of the tensor: `at` is where its first touched byte lies
        for (const [offset, length] of operand.ranges ?? [[operand.offset, operand.bytes] as const]) marks.push({ place, number, begin: base + offset, end: base + offset + length, isWritten: operand.write });
    };
    if (operand.source === "DISK") add("disk", operand.file, operand.file_offset);
    else {
        add("buffer", operand.buffer, operand.buffer_offset);
        add("disk", operand.origin_file, operand.origin_offset);
    }
    return marks;
}

export function marksOf(op: OpAnswer): Mark[] {
    return op.operands.flatMap(marksOfOperand);
}

const none: Mark[] = [];

export function useMarks(): Mark[] {
    const { op } = selection.value;
    const answer = useAsk<OpAnswer>(op && here("op", op), { keep: true });
    return op && answer.data ? marksOf(answer.data) : none;
}

// The marked bytes on a track's axis: a range for each unit that holds some.
export function spansOf(marks: readonly Mark[], place: Mark["place"], units: readonly Unit[], entries: readonly Entry[]): { begin: number; end: number; isWritten: boolean }[] {
    const spans: { begin: number; end: number; isWritten: boolean }[] = [];
    for (const mark of marks) {
        if (mark.place !== place) continue;
        for (const unit of units) {
            const entry = entries[unit.entry]!;
            if ((place === "disk" ? entry.file : entry.buffer) !== mark.number) continue;
            // The units of an entry are contiguous: the axis is that of the file or buffer,
            // shifted.
            const move = axisOf(units, unit) - entry.offset;
            const [begin, end] = [Math.max(unit.begin, mark.begin + move), Math.min(unit.end, mark.end + move)];
            if (end <= begin) continue;
            const last = spans[spans.length - 1];
            if (last && last.end === begin && last.isWritten === mark.isWritten) last.end = end;
            else spans.push({ begin, end, isWritten: mark.isWritten });
        }
    }
    return spans;
}

const firsts = new WeakMap<readonly Unit[], Map<number, number>>();

// Where the entry of a unit begins on the axis.
export function axisOf(units: readonly Unit[], unit: Unit): number {
    let known = firsts.get(units);
    if (!known) {
        known = new Map();
        for (const one of units) if (!known.has(one.entry)) known.set(one.entry, one.begin);
        firsts.set(units, known);
    }
    return known.get(unit.entry)!;
}
