// Draws cells. The arithmetic is in layout.ts, the heat in model.ts.
import { heat, heatInk, type Theme } from "../../colours";
import { canvasFont, dots, hatch, textWithin } from "../../shell/Canvas";
import { type Cell, pixelOf, type Unit, unitAt } from "./layout";
import type { Entry, Paint, Painted, Stretch } from "./model";

export interface Box {
    x: number;
    y: number;
    width: number;
    height: number;
}

// "blk.3.attn_q.weight" -> "attn_q": the row names the layer, and everything is a weight.
export function shortName(name: string): string {
    return name.replace(/^blk\.\d+\./, "").replace(/\.weight$/, "");
}

function labelOf(entries: readonly Entry[], units: readonly Unit[], cell: Cell): string {
    const unit = units[cell.first]!;
    const name = shortName(entries[unit.entry]!.name);
    if (cell.last === cell.first) return unit.expert < 0 ? name : String(unit.expert);
    return unit.expert < 0 ? `×${cell.last - cell.first + 1}` : `${unit.expert}–${units[cell.last]!.expert}`;
}

export function drawCell(context: CanvasRenderingContext2D, box: Box, paint: Paint, colours: Theme, isFolded: boolean): void {
    const { y, height } = box;
    const x = box.x;
    const width = box.width - (box.width >= 4 ? 1 : 0);
    if (paint.level === null || paint.part < 0.999) {
        context.fillStyle = paint.copied ? colours.empty : hatch(context, colours.hatch, colours.empty);
        context.fillRect(x, y, width, height);
    }
    if (paint.level !== null) {
        const filled = paint.part < 0.999 ? Math.max(3, Math.round(paint.part * height)) : height;
        context.fillStyle = heat(paint.level);
        context.fillRect(x, y + height - filled, width, filled);
        if (filled < height) {
            // The dark end of the scale is hard to see on a dark page: a line marks the end of the
            // touched part.
            context.fillStyle = colours.faint;
            context.fillRect(x, y + height - filled - 1, width, 1);
        }
    }
    if (paint.copied) {
        context.fillStyle = dots(context, paint.level === null ? colours.faint : heatInk(paint.level));
        context.fillRect(x, y, width, height);
        if (width >= 3) {
            context.strokeStyle = colours.ink;
            context.lineWidth = 1;
            context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
        }
    }
    if (isFolded) {
        context.fillStyle = colours.ink;
        context.globalAlpha = 0.75;
        context.fillRect(x, y, width, 1.5);
        context.globalAlpha = 1;
    }
}

// Has a plain background if something else is drawn below it.
function drawLabel(context: CanvasRenderingContext2D, box: Box, paint: Paint, colours: Theme, label: string, isCrossed: boolean): void {
    const { x, y, height } = box;
    const width = box.width - (box.width >= 4 ? 1 : 0);
    if (width >= 18 && height >= 12 && (width >= 40 || label.length <= 4)) {
        const isPlain = paint.level !== null && paint.part >= 0.5;
        const size = Math.min(11, height - 2);
        context.font = canvasFont(size);
        context.textBaseline = "middle";
        const room = width - 6;
        if (!isPlain || paint.copied || isCrossed) {
            const measured = Math.min(room, context.measureText(label).width);
            context.fillStyle = isPlain ? heat(paint.level!) : colours.empty;
            context.fillRect(x + 2, y + height / 2 - size / 2 - 1, measured + 3, size + 2);
        }
        context.fillStyle = isPlain ? heatInk(paint.level!) : colours.ink;
        textWithin(context, label, x + 3, y + height / 2 + 0.5, room);
    }
}

export interface RowPicture {
    units: readonly Unit[];
    cells: readonly Cell[];
    entries: readonly Entry[];
    painted: Painted;
}

// The cells of one row that lie between the box's edges, `pan` pixels from the row's begin.
export function drawRow(context: CanvasRenderingContext2D, picture: RowPicture, box: Box, pan: number, colours: Theme): void {
    context.save();
    context.beginPath();
    context.rect(box.x, box.y, box.width, box.height);
    context.clip();
    const { units, entries, painted } = picture, stretches = painted.stretches ?? [];
    const seen = picture.cells
        .filter((cell) => cell.x - pan + cell.width > 0 && cell.x - pan < box.width)
        .map((cell) => ({ cell, at: { ...box, x: box.x + cell.x - pan, width: cell.width }, paint: painted.paint(units, cell.first, cell.last) }));
    for (const { cell, at, paint } of seen) drawCell(context, at, paint, colours, cell.last > cell.first);
    for (const stretch of stretches) drawStretch(context, picture, stretch, box, pan);
    for (const { cell, at, paint } of seen) drawLabel(context, at, paint, colours, labelOf(entries, units, cell), stretches.length > 0);
    context.restore();
}

// Draws machine data (pages, faults) on the units that a stretch covers.
function drawStretch(context: CanvasRenderingContext2D, picture: RowPicture, stretch: Stretch, box: Box, pan: number): void {
    const { units, cells, painted } = picture;
    const filled = stretch.part < 0.999 ? Math.max(3, Math.round(stretch.part * box.height)) : box.height;
    context.fillStyle = heat(stretch.level);
    for (let i = unitAt(units, stretch.begin); i >= 0 && i < units.length && units[i]!.begin < stretch.end; i++) {
        if (painted.isStill?.(units[i]!)) continue;
        const x = box.x - pan + pixelOf(units, cells, Math.max(units[i]!.begin, stretch.begin));
        const end = box.x - pan + pixelOf(units, cells, Math.min(units[i]!.end, stretch.end));
        if (end >= box.x && x <= box.x + box.width) context.fillRect(x, box.y + box.height - filled, Math.max(1, end - x), filled);
    }
}

export function outline(context: CanvasRenderingContext2D, box: Box, colour: string, inner: string): void {
    context.lineWidth = 2;
    context.strokeStyle = colour;
    context.strokeRect(box.x - 0.5, box.y + 1, Math.max(3, box.width), box.height - 2);
    context.lineWidth = 1;
    context.strokeStyle = inner;
    context.strokeRect(box.x + 1.5, box.y + 2.5, Math.max(1, box.width - 4), box.height - 5);
}
