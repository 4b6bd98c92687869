// Draws what surrounds the cells of a memory track: names, rulers, the selection.
import type { Theme } from "../../colours";
import { canvasFont, textWithin } from "../../shell/Canvas";
import { selection } from "../../state";
import { type Box, outline, shortName } from "./draw";
import { pixelOf, type Unit } from "./layout";
import { type Mark, spansOf } from "./marks";
import type { Row } from "./Tracks";

export const rulerHeight = 13;
export const headerHeight = 16;

export function drawName(context: CanvasRenderingContext2D, row: Row, gutter: number, colours: Theme): void {
    const isChosen = row.track.key === `layer ${selection.value.layer}`;
    context.font = canvasFont(Math.min(12, Math.max(9, row.height - 4)), isChosen ? 700 : 400);
    context.textBaseline = "middle";
    context.fillStyle = isChosen ? colours.accent : colours.ink;
    const isRoomy = gutter >= 120;
    textWithin(context, row.track.title, 2, row.top + row.height / 2, isRoomy ? gutter - 62 : gutter - 6);
    if (!isRoomy) return;
    context.textAlign = "right";
    context.fillStyle = colours.faint;
    context.fillText(row.track.note, gutter - 8, row.top + row.height / 2);
    context.textAlign = "left";
}

export function drawBand(context: CanvasRenderingContext2D, box: Box, colours: Theme): void {
    context.fillStyle = colours.accent;
    context.globalAlpha = 0.3;
    context.fillRect(box.x, box.y, box.width, box.height);
    context.globalAlpha = 1;
    context.fillRect(box.x - 1, box.y, 2, box.height);
    context.fillRect(box.x + box.width - 1, box.y, 2, box.height);
}

export function drawOutline(context: CanvasRenderingContext2D, row: Row, unit: Unit, pan: number, gutter: number, colour: string, innerColour: string): void {
    const i = row.track.units.indexOf(unit);
    const cell = row.cells.find((candidate) => candidate.first <= i && candidate.last >= i);
    if (cell) outline(context, { x: gutter + cell.x - pan, y: row.top, width: cell.width, height: row.height - 2 }, colour, innerColour);
}

export function drawMarks(context: CanvasRenderingContext2D, row: Row, box: Box, pan: number, colours: Theme, marks: readonly Mark[], pins?: ReadonlySet<string>): void {
    const { tensor, region, buffer, expert, layer } = selection.value;
    context.save();
    context.beginPath();
    context.rect(box.x - 1, box.y, box.width + 2, box.height);
    context.clip();
    for (const cell of row.cells) {
        let isChosen = false;
        if (pins && row.track.place === "disk") drawPins(context, row, cell, box, pan, pins);
        for (let i = cell.first; i <= cell.last && !isChosen; i++) {
            const unit = row.track.units[i]!;
            const entry = row.entries[unit.entry]!;
            const isExpert = expert === null || unit.expert === expert;
            isChosen = (tensor !== null && entry.name === tensor && (isExpert || unit.expert < 0)) || (buffer !== null && entry.buffer === buffer);
            isChosen ||= tensor === null && expert !== null && unit.expert === expert && (layer === null || entry.layer === layer);
        }
        if (isChosen) outline(context, { x: box.x + cell.x - pan, y: box.y, width: cell.width, height: box.height }, colours.accent, colours.surface);
    }
    drawOp(context, row, box, pan, colours, marks);
    if (region && row.track.place === "disk") {
        const inside = row.track.units.filter((unit) => {
            const entry = row.entries[unit.entry]!;
            return entry.file === region.file && entry.offset < region.end && entry.offset + entry.bytes > region.begin;
        });
        const first = inside[0];
        const last = inside[inside.length - 1];
        if (first && last) {
            const entry = row.entries[first.entry]!;
            const base = firstUnit(row.track.units, first).begin - entry.offset;
            const from = Math.max(first.begin, base + region.begin);
            const to = Math.min(last.end, base + region.end);
            if (to > from) {
                const [a, b] = [pixelOf(row.track.units, row.cells, from), pixelOf(row.track.units, row.cells, to)];
                drawBand(context, { x: box.x + a - pan, y: box.y, width: Math.max(1, b - a), height: box.height }, colours);
            }
        }
    }
    context.restore();
}

export const pinColour = "#009e73";

// A line along the lower edge, as wide as the part that is kept.
function drawPins(context: CanvasRenderingContext2D, row: Row, cell: Row["cells"][number], box: Box, pan: number, pins: ReadonlySet<string>): void {
    let [kept, size] = [0, 0];
    for (let i = cell.first; i <= cell.last; i++) {
        const unit = row.track.units[i]!;
        const { name } = row.entries[unit.entry]!;
        size += unit.end - unit.begin;
        if (pins.has(name) || (unit.expert >= 0 && pins.has(`${name} ${unit.expert}`))) kept += unit.end - unit.begin;
    }
    if (kept === 0) return;
    context.fillStyle = pinColour;
    context.fillRect(box.x + cell.x - pan, box.y + box.height - 4, Math.max(2, (cell.width * kept) / size), 4);
}

// Outlines the bytes of the selected op, with an arrow at the exact byte: at the upper edge for
// reads, at the lower edge for writes.
function drawOp(context: CanvasRenderingContext2D, row: Row, box: Box, pan: number, colours: Theme, marks: readonly Mark[]): void {
    for (const span of spansOf(marks, row.track.place, row.track.units, row.entries)) {
        const [a, b] = [box.x - pan + pixelOf(row.track.units, row.cells, span.begin), box.x - pan + pixelOf(row.track.units, row.cells, span.end)];
        if (b < box.x - 2 || a > box.x + box.width + 2) continue;
        outline(context, { x: a, y: box.y, width: b - a, height: box.height }, colours.stall, colours.surface);
        const middle = (a + b) / 2;
        const [tip, back] = span.isWritten ? [box.y + box.height - 7, box.y + box.height] : [box.y + 7, box.y];
        for (const [size, colour] of [[6, colours.surface], [4.5, colours.stall]] as const) {
            context.fillStyle = colour;
            context.beginPath();
            context.moveTo(middle, tip);
            context.lineTo(middle - size, back);
            context.lineTo(middle + size, back);
            context.fill();
        }
    }
}

function firstUnit(units: readonly Unit[], unit: Unit): Unit {
    return units.find((candidate) => candidate.entry === unit.entry) ?? unit;
}

// The ruler: layers below the whole file, classes below the buffers.
export function drawRuler(context: CanvasRenderingContext2D, row: Row, box: Box, pan: number, colours: Theme): void {
    const groups: { name: string; begin: number; end: number }[] = [];
    for (const cell of row.cells) {
        const entry = row.entries[row.track.units[cell.first]!.entry]!;
        const name = row.track.place === "buffer" ? entry.kind : entry.layer >= 0 ? String(entry.layer) : entry.kind === "tensor" ? shortName(entry.name) : entry.kind;
        const open = groups[groups.length - 1];
        if (open && open.name === name) open.end = cell.x + cell.width;
        else groups.push({ name, begin: cell.x, end: cell.x + cell.width });
    }
    context.font = canvasFont(10);
    context.textBaseline = "middle";
    groups.forEach((group) => {
        const [a, b] = [box.x + group.begin - pan, box.x + group.end - pan];
        context.fillStyle = colours.line;
        context.fillRect(a, box.y + 2, Math.max(1, b - a - 1), 1);
        context.fillStyle = colours.faint;
        const wide = context.measureText(group.name).width;
        if (wide <= b - a - 2) context.fillText(group.name, (a + b - wide) / 2, box.y + 8.5);
        else textWithin(context, group.name, a + 1, box.y + 8.5, b - a - 4);
    });
}

// Expert cells are too narrow for their tensor's name, so it is above the first layer with experts.
export function drawHeader(context: CanvasRenderingContext2D, rows: Row[], box: Box, pan: number, colours: Theme): void {
    const row = rows.find((candidate) => candidate.track.units.some((unit) => unit.expert >= 0));
    if (!row) return;
    const groups: { name: string; begin: number; end: number; experts: number }[] = [];
    for (const cell of row.cells) {
        const unit = row.track.units[cell.first]!;
        if (unit.expert < 0) continue;
        const name = shortName(row.entries[unit.entry]!.name);
        const open = groups[groups.length - 1];
        if (open && open.name === name) [open.end, open.experts] = [cell.x + cell.width, row.track.units[cell.last]!.expert + 1];
        else groups.push({ name, begin: cell.x, end: cell.x + cell.width, experts: row.track.units[cell.last]!.expert + 1 });
    }
    context.font = canvasFont(11);
    context.textBaseline = "middle";
    for (const group of groups) {
        const [a, b] = [Math.max(box.x, box.x + group.begin - pan), Math.min(box.x + box.width, box.x + group.end - pan)];
        if (b - a < 8) continue;
        context.fillStyle = colours.faint;
        context.fillRect(a, box.height - 4, b - a - 2, 1);
        context.fillRect(a, box.height - 4, 1, 4);
        context.fillRect(b - 3, box.height - 4, 1, 4);
        textWithin(context, `${group.name}: ${group.experts} experts`, a + 4, box.height / 2 - 2, b - a - 8);
    }
}
