// Draws file offset over time: the grid, its two axes, and the selection.
import { heatRgb, type Theme } from "../../colours";
import { bytes, instant } from "../../format";
import { canvasFont, textWithin } from "../../shell/Canvas";
import { steps as roundSteps } from "../../shell/Chart";
import type { Steps } from "../../shell/Scrubber";
import { selection } from "../../state";
import { shortName } from "../memory/draw";
import type { Disk } from "../memory/model";
import { tickStep } from "../timeline/window";
import { type Grid, strength } from "./access";

export interface Window {
    time: [number, number];
    bytes: [number, number];
}

// The position of the grid in the picture: names and bytes at the left, tokens above, times below.
export interface Frame {
    width: number; // of the whole picture
    height: number;
    left: number;
    top: number;
    bottom: number; // height of the area below the grid
}

const bytesWidth = 62;
const namesWidth = 96;
export const frameFor = (width: number, height: number): Frame => ({ width, height, left: bytesWidth + (width < 600 ? 0 : namesWidth), top: 16, bottom: 20 });

export interface Scales {
    x(ns: number): number;
    y(byte: number): number;
    timeAt(x: number): number;
    byteAt(y: number): number;
}

export function scalesOf(frame: Frame, { time, bytes: range }: Window): Scales {
    const [wide, high] = [frame.width - frame.left, frame.height - frame.top - frame.bottom];
    return {
        x: (ns) => frame.left + ((ns - time[0]) / (time[1] - time[0])) * wide,
        y: (byte) => frame.top + ((byte - range[0]) / (range[1] - range[0])) * high,
        timeAt: (x) => time[0] + ((x - frame.left) / wide) * (time[1] - time[0]),
        byteAt: (y) => range[0] + ((y - frame.top) / high) * (range[1] - range[0]),
    };
}

export const isInside = (frame: Frame, { x, y }: { x: number; y: number }) => x >= frame.left && x <= frame.width && y >= frame.top && y < frame.height - frame.bottom;

// While the answer for another window is pending, the previous one is drawn at its position.
export function drawGrid(context: CanvasRenderingContext2D, grid: Grid, layer: number, frame: Frame, { x, y }: Scales): void {
    const image = context.createImageData(grid.columns, grid.rows);
    const [cells, most] = [grid.cells[layer]!, grid.most[layer]!];
    for (let i = 0; i < cells.length; i++) {
        const v = strength(cells[i]!, most);
        if (v <= 0) continue;
        const [r, g, b] = heatRgb(v);
        image.data.set([r, g, b, 255], i * 4);
    }
    const tile = document.createElement("canvas");
    [tile.width, tile.height] = [grid.columns, grid.rows];
    tile.getContext("2d")!.putImageData(image, 0, 0);
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top, frame.width - frame.left, frame.height - frame.top - frame.bottom);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(tile, x(grid.begin), y(grid.first), x(grid.end) - x(grid.begin), y(grid.last) - y(grid.first));
    context.restore();
}

// Draws layers at the left, or tensors if there is room, and offsets beside them. Returns the
// offsets' labels.
export function drawOffsets(context: CanvasRenderingContext2D, disk: Disk, shown: Window, frame: Frame, { y }: Scales, colours: Theme): string[] {
    const bottom = frame.height - frame.bottom;
    const groups: { name: string; begin: number; end: number }[] = [];
    const isClose = shown.bytes[1] - shown.bytes[0] < disk.whole.units.reduce((sum, unit) => sum + unit.end - unit.begin, 0) / 12;
    for (const unit of disk.whole.units) {
        if (unit.end <= shown.bytes[0] || unit.begin >= shown.bytes[1]) continue;
        const entry = disk.entries[unit.entry]!;
        const name = isClose || entry.layer < 0 ? (entry.kind === "tensor" ? shortName(entry.name) : entry.kind) : `layer ${entry.layer}`;
        const last = groups[groups.length - 1];
        if (last && last.name === name) last.end = unit.end;
        else groups.push({ name, begin: unit.begin, end: unit.end });
    }
    context.font = canvasFont(10.5);
    context.textBaseline = "middle";
    let free = frame.top;
    for (const group of groups) {
        const [a, b] = [Math.max(frame.top, y(group.begin)), Math.min(bottom, y(group.end))];
        context.fillStyle = colours.line;
        if (b - a > 2) context.fillRect(frame.left, a, frame.width, 0.5);
        const middle = (a + b) / 2;
        if (frame.left <= bytesWidth || b - a < 5 || middle - 6 < free) continue;
        context.fillStyle = colours.faint;
        textWithin(context, group.name, 2, middle, frame.left - bytesWidth - 4);
        free = middle + 6;
    }
    return drawBytes(context, shown, frame, y, colours);
}

function drawBytes(context: CanvasRenderingContext2D, shown: Window, frame: Frame, y: Scales["y"], colours: Theme): string[] {
    const [first, last] = shown.bytes;
    const ticks = roundSteps(last - first, Math.max(2, (frame.height - frame.top - frame.bottom) / 60), true);
    const step = ticks[1]! - ticks[0]!;
    const labels: string[] = [];
    context.textAlign = "right";
    context.fillStyle = colours.faint;
    for (let at = Math.ceil(first / step) * step; at <= last; at += step) {
        labels.push(bytes(at));
        context.fillRect(frame.left - 5, y(at), 5, 1);
        context.fillText(bytes(at), frame.left - 8, Math.max(frame.top + 5, Math.min(frame.height - frame.bottom - 5, y(at))));
    }
    context.textAlign = "left";
    return labels;
}

const leastApart = 6; // pixels; closer token lines would hide the grid

// Times below, tokens above. Returns the number of lines between tokens.
export function drawTimes(context: CanvasRenderingContext2D, steps: Steps | null, shown: Window, frame: Frame, { x }: Scales, colours: Theme): number {
    const bottom = frame.height - frame.bottom;
    const step = tickStep({ begin: shown.time[0], end: shown.time[1] }, frame.width - frame.left, 110);
    context.font = canvasFont(10.5);
    context.textBaseline = "middle";
    context.fillStyle = colours.faint;
    for (let at = Math.ceil(shown.time[0] / step) * step; at < shown.time[1]; at += step) {
        context.fillRect(x(at), bottom, 1, 4);
        context.fillText(instant(at, step), x(at) + 3, bottom + frame.bottom / 2 + 1);
    }
    if (!steps) return 0;
    const places: [at: number, token: number][] = [];
    for (let i = 0; i < steps.rows; i++) {
        const at = x(steps.base + steps.begin[i]!);
        if (at >= frame.left && at <= frame.width) places.push([at, steps.first[i]!]);
    }
    const isRoomy = places.length > 0 && (frame.width - frame.left) / places.length >= leastApart;
    let free = frame.left;
    for (const [at, token] of places) {
        context.fillStyle = colours.ink;
        context.globalAlpha = 0.35;
        if (isRoomy) context.fillRect(at, frame.top, 1, bottom - frame.top);
        context.globalAlpha = 1;
        if (at < free || token > 0xfffffff0) continue;
        context.fillStyle = colours.faint;
        context.fillRect(at, frame.top - 4, 1, 4);
        const label = free === frame.left ? `token ${token}` : String(token);
        if (at + context.measureText(label).width > frame.width) continue;
        context.fillText(label, at + 3, frame.top / 2);
        free = at + Math.max(44, context.measureText(label).width + 12);
    }
    return isRoomy ? places.length : 0;
}

// `span`: when the selected tokens ran, or null.
export function drawSelection(context: CanvasRenderingContext2D, disk: Disk, span: [number, number] | null, shown: Window, frame: Frame, scales: Scales, colours: Theme): void {
    const { time: range, region, tensor, expert } = selection.value;
    const bottom = frame.height - frame.bottom;
    const x = (ns: number) => Math.max(frame.left, Math.min(frame.width, scales.x(ns)));
    const y = (byte: number) => Math.max(frame.top, Math.min(bottom, scales.y(byte)));
    const box = (a: number, b: number, c: number, d: number) => {
        context.strokeStyle = colours.accent;
        context.lineWidth = 1.5;
        context.strokeRect(a, b, Math.max(1, c - a), Math.max(1, d - b));
        context.fillStyle = colours.accent;
        context.globalAlpha = 0.1;
        context.fillRect(a, b, Math.max(1, c - a), Math.max(1, d - b));
        context.globalAlpha = 1;
    };
    const chosen = range ?? span;
    const [left, right] = chosen ? [x(chosen[0]), x(chosen[1])] : [frame.left, frame.width];
    if (region) {
        const base = disk.bases.get(region.file) ?? 0;
        box(left, y(base + region.begin), right, y(base + region.end));
    } else if (tensor !== null) {
        for (const unit of disk.whole.units) {
            if (disk.entries[unit.entry]!.name !== tensor || (expert !== null && unit.expert >= 0 && unit.expert !== expert)) continue;
            if (unit.end > shown.bytes[0] && unit.begin < shown.bytes[1]) box(left, y(unit.begin), right, y(unit.end));
        }
    } else if (chosen) box(left, frame.top, right, bottom);
}
