// Draws the timeline. Lanes are pixel strips: each column of pixels is busy up to a height, waiting
// above it, and the rest idle.
import { opFamily, phaseColour, type Pattern, type Theme } from "../../colours";
import { bytes, count, instant, share, time, tokenText } from "../../format";
import { canvasFont, endsWithin, hatch, textWithin } from "../../shell/Canvas";
import type { Steps } from "../../shell/Scrubber";
import { phases } from "../../api";
import type { Segment } from "./levels";
import type { RequestLane } from "./requests";
import type { Answered, Strip } from "./strips";
import { type Span, tickStep } from "./window";

export interface Frame {
    context: CanvasRenderingContext2D;
    colours: Theme;
    span: Span;
    left: number; // of the lanes
    width: number; // of the lanes
    ratio: number;
}

export const rulerHeight = 24;
export const axisHeight = 20;
export const levelHeight = 15; // of a row of graph runs or layers

export function xOf(frame: Frame, ns: number): number {
    return frame.left + ((ns - frame.span.begin) / (frame.span.end - frame.span.begin)) * frame.width;
}

// ---- pixels

function packed(colour: string): number {
    const n = Number.parseInt(colour.slice(1), 16);
    return (0xff000000 | ((n & 0xff) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}

// Towards the background by `part`.
function faded(colour: number, background: number, part: number): number {
    const channel = (shift: number) => Math.round(((colour >> shift) & 0xff) * (1 - part) + ((background >> shift) & 0xff) * part) << shift;
    return (0xff000000 | channel(16) | channel(8) | channel(0)) >>> 0;
}

function isHit(pattern: Pattern, x: number, y: number): boolean {
    switch (pattern) {
        case "diagonal": return (x + y) % 7 === 0;
        case "back": return (x - y + period) % 7 === 0;
        case "dots": return x % 4 === 0 && y % 4 === 0;
        case "horizontal": return y % 5 === 0;
        case "vertical": return x % 5 === 0;
        case "cross": return (x + y) % 8 === 0 || (x - y + period) % 8 === 0;
        default: return false;
    }
}

// Lookup tables of the patterns, which all repeat after 280 pixels.
const period = 280;
const hits = new Map<Pattern, Uint8Array>();

function hitsOf(pattern: Pattern): Uint8Array {
    let table = hits.get(pattern);
    if (!table) {
        table = new Uint8Array(period * period); // filled by hand: Uint8Array.from takes ten times as long
        for (let y = 0, i = 0; y < period; y++) for (let x = 0; x < period; x++, i++) table[i] = isHit(pattern, x, y) ? 1 : 0;
        hits.set(pattern, table);
    }
    return table;
}

export interface Inks {
    colour: Uint32Array; // by op
    faint: Uint32Array; // the same for op runs that do not match the selection
    dark: Uint32Array; // where the pattern hits
    hits: Uint8Array[]; // by op: the pattern
    wait: number;
    stall: number;
    diskWait: number;
    idle: number;
    line: number;
}

export function inksOf(ops: string[], colours: Theme): Inks {
    const idle = packed(colours.empty);
    const plain = ops.map((op) => packed(opFamily(op).colour));
    return {
        colour: Uint32Array.from(plain),
        faint: Uint32Array.from(plain.map((colour) => faded(colour, idle, 0.82))),
        dark: Uint32Array.from(plain.map((colour) => faded(colour, 0xff000000, 0.28))),
        hits: ops.map((op) => hitsOf(opFamily(op).pattern)),
        wait: packed(colours.wait),
        stall: packed(colours.stall),
        diskWait: packed(colours.diskwait),
        idle,
        line: packed(colours.surface),
    };
}

let canvas: { image: ImageData; pixels: Uint32Array } | null = null; // used again while the size stays

function pixelsFor(context: CanvasRenderingContext2D, width: number, height: number): { image: ImageData; pixels: Uint32Array } {
    if (!canvas || canvas.image.width !== width || canvas.image.height !== height) {
        const image = context.createImageData(width, height);
        canvas = { image, pixels: new Uint32Array(image.data.buffer) };
    }
    return canvas;
}

// `chosen`: the selected op, in whose colour the matching part is drawn; -1: none.
export function paintStrip(frame: Frame, strip: Strip, top: number, height: number, inks: Inks, chosen: number): void {
    const [w, h] = [strip.busy.length, Math.round(height * frame.ratio)];
    if (w === 0 || h === 0) return;
    const { image, pixels } = pixelsFor(frame.context, w, h);
    pixels.fill(inks.idle);
    for (let x = 0; x < w; x++) {
        const busy = strip.busy[x]!;
        const busyTop = h - (busy > 0 ? Math.max(1, Math.round(busy * h)) : 0);
        const waitTop = Math.max(0, busyTop - Math.round(Math.min(1 - busy, strip.wait[x]!) * h));
        for (let y = waitTop + ((5 - ((x + waitTop) % 5)) % 5); y < busyTop; y += 5) pixels[y * w + x] = inks.wait;
        const op = strip.op[x]!;
        if (op < 0 || strip.edge[x]) {
            const colour = op < 0 ? inks.wait : inks.line;
            for (let y = busyTop; y < h; y++) pixels[y * w + x] = colour;
        } else {
            const shown = chosen < 0 ? op : chosen;
            const [colour, dark, table, column] = [inks.colour[shown]!, inks.dark[shown]!, inks.hits[shown]!, x % period];
            const fitsTop = Math.max(busyTop, h - (strip.fits[x]! > 0 ? Math.max(1, Math.round(strip.fits[x]! * h)) : 0));
            for (let y = busyTop; y < fitsTop; y++) pixels[y * w + x] = inks.faint[op]!;
            for (let y = fitsTop; y < h; y++) pixels[y * w + x] = table[(y % period) * period + column] ? dark : colour;
        }
        // The stalled part of an op is drawn at the top of its column: lines for waits for the
        // disk, a grid for page faults.
        const waited = Math.min(busy, strip.diskWait[x]!);
        const waitedEnd = busyTop + (waited > 0 ? Math.max(1, Math.round(waited * h)) : 0);
        for (let y = busyTop; y < Math.min(h, waitedEnd); y++) pixels[y * w + x] = y % 4 < 2 ? inks.diskWait : inks.idle;
        const held = Math.min(busy - waited, strip.stalled[x]!);
        if (held <= 0) continue;
        const heldEnd = waitedEnd + Math.max(1, Math.round(held * h));
        for (let y = waitedEnd; y < Math.min(h, heldEnd); y++) pixels[y * w + x] = x % 4 === 0 || y % 4 === 0 ? inks.stall : inks.idle;
    }
    frame.context.putImageData(image, Math.round(frame.left * frame.ratio), Math.round(top * frame.ratio));
}

// "ffn_up 18": component and layer; the colour shows the op.
export function nameOf(data: Answered, row: number): string {
    const layer = data.of["layer"]![row]!;
    // A backend that is seen as a whole has graph runs and no ops.
    const label = data.labels[data.of["label"]?.[row] ?? -1] ?? data.ops[data.of["op"]![row]!] ?? `graph run ${data.of["run"]![row]}`;
    return layer >= 0 ? `${label} ${layer}` : label;
}

// Names on op runs that are wide enough for one.
export function labelStrip(frame: Frame, strip: Strip, data: Answered, top: number, height: number): void {
    const { context, ratio } = frame;
    context.font = canvasFont(11);
    context.textBaseline = "middle";
    for (const { row, x0, x1 } of strip.wide) {
        const [a, b] = [Math.max(0, x0) / ratio, Math.min(strip.busy.length, x1) / ratio];
        if (b - a < 34) continue;
        const op = data.ops[data.of["op"]![row]!];
        const family = opFamily(op ?? "");
        const text = nameOf(data, row);
        if (data.of["fits"]?.[row] === 0) continue;
        context.fillStyle = op ? family.colour : frame.colours.wait;
        context.fillRect(frame.left + a + 3, top + height / 2 - 7, Math.min(b - a - 6, context.measureText(text).width + 4), 14);
        context.fillStyle = family.ink;
        textWithin(context, text, frame.left + a + 5, top + height / 2 + 0.5, b - a - 9);
    }
}

// The number of folded op runs between two ticks.
export function countStrip(frame: Frame, strip: Strip, top: number): void {
    const { context, colours, span, ratio } = frame;
    const step = tickStep(span, frame.width, 110);
    context.font = canvasFont(10);
    context.textBaseline = "middle";
    context.fillStyle = colours.faint;
    context.textAlign = "center";
    for (let at = Math.floor(span.begin / step) * step; at < span.end; at += step) {
        const [a, b] = [Math.max(frame.left, xOf(frame, at)), Math.min(frame.left + frame.width, xOf(frame, at + step))];
        let folded = 0;
        for (let x = Math.max(0, Math.round((a - frame.left) * ratio)); x < Math.min(strip.folded.length, Math.round((b - frame.left) * ratio)); x++) folded += strip.folded[x]!;
        const text = `${count(folded)} ops`;
        if (folded > 1 && b - a > context.measureText(text).width) context.fillText(text, (a + b) / 2, top + 6);
    }
    context.textAlign = "left";
}

// ---- ruler and axis

export function drawRuler(frame: Frame, steps: Steps, tokens: [number, number] | null, slowest: number): void {
    const { context, colours } = frame;
    const right = frame.left + frame.width;
    for (let i = 0; i < steps.rows; i++) {
        const [x0, x1] = [xOf(frame, steps.base + steps.begin[i]!), xOf(frame, steps.base + steps.end[i]!)];
        if (x1 < frame.left || x0 > right) continue;
        const [a, b] = [Math.max(frame.left, x0), Math.min(right, x1)];
        const isChosen = tokens !== null && steps.last[i]! >= tokens[0] && steps.first[i]! <= tokens[1];
        context.fillStyle = isChosen ? colours.accent : phaseColour(phases[steps.phase[i]!]!);
        context.fillRect(a, 0, Math.max(1, b - a - 1), 4);
        context.fillStyle = isChosen ? colours.chosen : colours.empty;
        context.fillRect(a, 4, Math.max(1, b - a - 1), rulerHeight - 5);
        context.font = canvasFont(11, isChosen ? 700 : 400);
        context.textBaseline = "middle";
        context.fillStyle = colours.ink;
        const isSlowest = steps.first[i]! <= slowest && steps.last[i]! >= slowest;
        textWithin(context, `${isSlowest ? "▾ slowest " : ""}${stepLabel(steps, i)}`, a + 4, rulerHeight / 2 + 2.5, b - a - 7);
    }
}

function stepLabel(steps: Steps, i: number): string {
    if (steps.first[i] !== steps.last[i]) return `${steps.first[i]}–${steps.last[i]}`;
    const text = steps.texts[i];
    const phase = phases[steps.phase[i]!];
    const name = phase === "PROMPT" ? "prompt" : phase === "WARMUP" ? "warm-up" : String(steps.first[i]);
    return text ? `${name} ${tokenText(text)}` : name;
}

export function drawAxis(frame: Frame, bottom: number): void {
    const { context, colours, span } = frame;
    const step = tickStep(span, frame.width, 110);
    context.font = canvasFont(10.5);
    context.textBaseline = "middle";
    for (let at = Math.ceil(span.begin / step) * step; at <= span.end; at += step) {
        const x = Math.round(xOf(frame, at));
        context.fillStyle = colours.line;
        context.fillRect(x, rulerHeight, 1, bottom - rulerHeight);
        context.fillStyle = colours.faint;
        const text = instant(at, step);
        if (x + 4 + context.measureText(text).width < frame.left + frame.width) context.fillText(text, x + 4, rulerHeight + axisHeight / 2);
    }
}

const levelNames = { run: ["graph run", "graph runs"], layer: ["layer", "layers"] } as const;

export function drawLevel(frame: Frame, segments: readonly Segment[], kind: "run" | "layer", chosen: number | null, top: number): void {
    const { context, colours, ratio, left } = frame;
    context.textBaseline = "middle";
    context.font = canvasFont(10.5);
    context.fillStyle = colours.faint;
    context.fillText(levelNames[kind][1], 2, top + levelHeight / 2);
    for (const { x0, x1, value, count: n } of segments) {
        const [x, width] = [left + x0 / ratio, (x1 - x0) / ratio];
        const isChosen = chosen !== null && value === chosen;
        context.fillStyle = isChosen ? colours.accent : value < 0 ? hatch(context, colours.hatch, colours.surface, 5) : value % 2 === 0 ? colours.empty : colours.line;
        context.globalAlpha = chosen === null || isChosen ? 1 : 0.45;
        context.fillRect(x, top + 1, Math.max(1, width - 0.5), levelHeight - 3);
        context.globalAlpha = 1;
        const text = value < 0 ? `${n || "several"} ${levelNames[kind][n === 1 ? 0 : 1]}` : width > 62 ? `${levelNames[kind][0]} ${value}` : String(value);
        const wide = context.measureText(text).width;
        if (wide > width - 4) continue;
        if (value < 0) {
            context.fillStyle = colours.surface;
            context.fillRect(x + (width - wide) / 2 - 3, top + 1, wide + 6, levelHeight - 3);
        }
        context.fillStyle = isChosen ? colours.surface : colours.ink;
        context.fillText(text, x + (width - wide) / 2, top + levelHeight / 2 - 0.5);
    }
}

// ---- overlays

export const requestHeight = 17; // of a row of requests

// A bar: in the colours of prompts and tokens, hatched where it waits, with a line below where it
// shares decodes; a tick at the first token.
export function drawRequests(frame: Frame, { label, bars }: RequestLane, chosen: number | null, top: number): void {
    const { context, colours, left, width } = frame;
    context.font = canvasFont(10.5);
    context.textBaseline = "middle";
    context.fillStyle = colours.faint;
    endsWithin(context, label, 2, top + requestHeight / 2, left - 8);
    const height = requestHeight - 3;
    const clipped = (begin: number, end: number) => [Math.max(left, xOf(frame, begin)), Math.min(left + width, xOf(frame, end))] as const;
    for (const { request, requests, begin, end, pieces } of bars) {
        const [x0, x1] = clipped(begin, end);
        if (x1 < left || x0 > left + width) continue;
        for (const piece of pieces) {
            const [a, b] = clipped(piece.begin, piece.end);
            if (b <= a) continue;
            context.fillStyle = piece.kind === "waited" ? hatch(context, colours.wait, colours.surface, 5) : phaseColour(piece.kind === "prompt" ? "PROMPT" : "GENERATE");
            context.fillRect(a, top + 1, Math.max(0.5, b - a), height);
            if (piece.others > 0) {
                context.fillStyle = colours.ink;
                context.fillRect(a, top + height - 1, Math.max(0.5, b - a), 2);
            }
        }
        if (request && request.first_output_ns !== null) {
            context.fillStyle = colours.ink;
            const x = xOf(frame, request.first_output_ns);
            if (x >= left && x <= left + width) context.fillRect(x - 0.75, top, 1.5, height + 2);
        }
        const isChosen = request !== null && request.request === chosen;
        context.strokeStyle = isChosen ? colours.accent : colours.line;
        context.lineWidth = isChosen ? 2 : 1;
        context.strokeRect(x0 + 0.5, top + 1.5, Math.max(1, x1 - x0 - 1), height - 1);
        const text = !request ? `${requests} requests` : x1 - x0 > 80 ? `request ${request.request}` : String(request.request);
        const wide = context.measureText(text).width;
        if (wide + 8 > x1 - x0) continue;
        context.fillStyle = colours.surface;
        context.fillRect(x0 + 3, top + 3, wide + 4, height - 4);
        context.fillStyle = colours.ink;
        context.fillText(text, x0 + 5, top + requestHeight / 2);
    }
}

// An arrow from the middle of a wait to the end of the op run that it waited for.
export function drawArrow(frame: Frame, fromTime: number, fromY: number, toTime: number, toY: number): void {
    const { context, colours, left, width } = frame;
    const [x0, x1] = [xOf(frame, fromTime), xOf(frame, toTime)].map((x) => Math.max(left, Math.min(left + width, x))) as [number, number];
    const down = toY > fromY ? 1 : -1;
    for (const [colour, thick] of [[colours.surface, 5], [colours.ink, 2]] as const) {
        context.strokeStyle = context.fillStyle = colour;
        context.lineWidth = thick;
        context.beginPath();
        context.moveTo(x0, fromY);
        context.quadraticCurveTo(x1, fromY, x1, toY - 5 * down);
        context.stroke();
    }
    context.beginPath();
    context.moveTo(x1, toY);
    context.lineTo(x1 - 5, toY - 8 * down);
    context.lineTo(x1 + 5, toY - 8 * down);
    context.fill();
}

// Dims the times outside of the selected tokens.
export function drawVeil(frame: Frame, [begin, end]: readonly [number, number], top: number, bottom: number): void {
    const { context, colours, left, width } = frame;
    const [a, b] = [xOf(frame, begin), xOf(frame, end)].map((x) => Math.max(left, Math.min(left + width, x))) as [number, number];
    context.fillStyle = colours.surface;
    context.globalAlpha = 0.6;
    context.fillRect(left, top, a - left, bottom - top);
    context.fillRect(b, top, left + width - b, bottom - top);
    context.globalAlpha = 1;
}

export function drawBand(frame: Frame, begin: number, end: number, top: number, bottom: number): void {
    const { context, colours } = frame;
    const [a, b] = [Math.max(frame.left, xOf(frame, begin)), Math.min(frame.left + frame.width, xOf(frame, end))];
    if (b < a) return;
    context.fillStyle = colours.accent;
    context.globalAlpha = 0.16;
    context.fillRect(a, top, b - a, bottom - top);
    context.globalAlpha = 1;
    context.fillRect(a, top, 1.5, bottom - top);
    context.fillRect(b - 1.5, top, 1.5, bottom - top);
}

// Marks an op that touches the selection: an arrow above the lanes, and a line if it is wide
// enough.
export function drawUse(frame: Frame, begin: number, end: number, top: number, bottom: number): void {
    const { context, colours } = frame;
    const [a, b] = [xOf(frame, begin), xOf(frame, end)];
    if (b < frame.left || a > frame.left + frame.width) return;
    const x = Math.max(frame.left, Math.min(frame.left + frame.width, (a + b) / 2));
    context.fillStyle = colours.accent;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x - 4, top - 7);
    context.lineTo(x + 4, top - 7);
    context.fill();
    context.globalAlpha = 0.5;
    context.fillRect(Math.max(frame.left, a), top, Math.max(1, Math.min(frame.left + frame.width, b) - Math.max(frame.left, a)), 2);
    context.fillRect(x - 0.5, top, 1, bottom - top);
    context.globalAlpha = 1;
}

export function drawLoss(frame: Frame, begin: number, end: number, lost: number, top: number, height: number): void {
    const { context, colours } = frame;
    const [a, b] = [Math.max(frame.left, xOf(frame, begin)), Math.min(frame.left + frame.width, xOf(frame, end))];
    if (b <= a) return;
    context.fillStyle = hatch(context, colours.warn, colours.surface, 8, true);
    context.fillRect(a, top, Math.max(2, b - a), height);
    context.font = canvasFont(11, 600);
    context.textBaseline = "middle";
    const text = `${count(lost)} lost`;
    const wide = context.measureText(text).width;
    if (b - a < wide + 10) return;
    context.fillStyle = colours.surface;
    context.fillRect((a + b - wide) / 2 - 3, top + height / 2 - 8, wide + 6, 16);
    context.fillStyle = colours.warn;
    context.fillText(text, (a + b - wide) / 2, top + height / 2);
}

// Marks a time in which recording was paused.
export function drawPause(frame: Frame, begin: number, end: number, top: number, bottom: number): void {
    const { context, colours } = frame;
    const [a, b] = [Math.max(frame.left, xOf(frame, begin)), Math.min(frame.left + frame.width, xOf(frame, end))];
    if (b - a < 0.5) return;
    context.fillStyle = hatch(context, colours.hatch, colours.surface, 10, true);
    context.globalAlpha = 0.85;
    context.fillRect(a, top, b - a, bottom - top);
    context.globalAlpha = 1;
    context.font = canvasFont(11, 600);
    context.textBaseline = "middle";
    const text = "not recorded";
    const wide = context.measureText(text).width;
    if (b - a < wide + 10) return;
    context.fillStyle = colours.surface;
    context.fillRect((a + b - wide) / 2 - 3, top + 6, wide + 6, 16);
    context.fillStyle = colours.faint;
    context.fillText(text, (a + b - wide) / 2, top + 14);
}

// Marks a note with its text.
export function drawNote(frame: Frame, text: string, at: number, bottom: number): void {
    const x = xOf(frame, at);
    if (x < frame.left || x > frame.left + frame.width) return;
    const { context, colours } = frame;
    context.fillStyle = colours.accent;
    context.fillRect(x - 0.5, rulerHeight, 1, bottom - rulerHeight);
    context.font = canvasFont(11, 600);
    context.textBaseline = "top";
    context.fillText(text.slice(0, 40), x + 4, rulerHeight + axisHeight + 2);
}

export function drawMark(frame: Frame, name: string, at: number, bottom: number): void {
    const x = xOf(frame, at);
    if (x < frame.left || x > frame.left + frame.width) return;
    const { context, colours } = frame;
    context.fillStyle = colours.warn;
    context.fillRect(x - 0.75, rulerHeight, 1.5, bottom - rulerHeight);
    context.fillRect(x, rulerHeight, 14, 14);
    context.fillStyle = colours.surface;
    context.font = canvasFont(10.5, 700);
    context.textBaseline = "middle";
    context.fillText(name, x + 4, rulerHeight + 7.5);
}

// ---- curves

export interface Curve {
    name: string;
    meaning: string;
    // The format of values; a rate is per step, threads are their nanoseconds per step.
    most: "bytes" | "rate" | "threads" | "count" | "share";
    layers: { values: ArrayLike<number>; colour: string }[]; // stacked
    begin: number; // of values[0]
    step: number; // ns from one value to the next
}

// A value of the curve as text. Rates and shares refer to one bin, and the text states its width.
export function amount(curve: Curve, value: number): string {
    switch (curve.most) {
        case "bytes": return bytes(value);
        case "rate": return `${bytes((value / curve.step) * 1e9)}/s`;
        case "threads": {
            const threads = value / curve.step;
            return `${threads < 9.95 ? threads.toFixed(threads < 0.995 ? 2 : 1) : Math.round(threads)} ${threads === 1 ? "thread" : "threads"}`;
        }
        case "count": return count(value);
        case "share": return share(value, 1);
    }
}

export function valueAt(curve: Curve, ns: number): number | null {
    const i = Math.floor((ns - curve.begin) / curve.step);
    if (i < 0 || curve.layers.length === 0 || i >= curve.layers[0]!.values.length) return null;
    return curve.layers.reduce((sum, layer) => sum + layer.values[i]!, 0);
}

// The largest value of each pixel, so that no peak is lost.
export function drawCurve(frame: Frame, curve: Curve, top: number, height: number): void {
    const { context, colours, span, width, left } = frame;
    const columns = Math.floor(width);
    const perPixel = (span.end - span.begin) / columns;
    const sums = new Float64Array(columns);
    const stacked = curve.layers.map(({ values, colour }) => {
        const tops = new Float64Array(columns);
        for (let x = 0; x < columns; x++) {
            const from = Math.floor((span.begin + x * perPixel - curve.begin) / curve.step);
            const to = Math.max(from, Math.ceil((span.begin + (x + 1) * perPixel - curve.begin) / curve.step) - 1);
            let most = 0;
            for (let i = Math.max(0, from); i <= to && i < values.length; i++) most = Math.max(most, values[i]!);
            sums[x] = sums[x]! + most;
            tops[x] = sums[x]!;
        }
        return { tops, colour };
    });
    const most = sums.reduce((a, b) => Math.max(a, b), 0);
    context.fillStyle = colours.empty;
    context.fillRect(left, top, width, height);
    if (most > 0)
        for (const { tops, colour } of [...stacked].reverse()) {
            context.fillStyle = colour;
            context.beginPath();
            context.moveTo(left, top + height);
            let before = -1;
            for (let x = 0; x < columns; x++) {
                const filled = tops[x]! > 0 ? Math.max(1, (tops[x]! / most) * (height - 2)) : 0;
                if (filled === before) continue;
                context.lineTo(left + x, top + height - Math.max(0, before));
                context.lineTo(left + x, top + height - filled);
                before = filled;
            }
            context.lineTo(left + columns, top + height - Math.max(0, before));
            context.lineTo(left + columns, top + height);
            context.fill();
        }
    context.font = canvasFont(11);
    context.textBaseline = "middle";
    context.fillStyle = colours.ink;
    const isRoomy = height >= 44;
    endsWithin(context, curve.name, 2, top + height / 2 - (isRoomy ? 14 : 7), left - 8);
    context.fillStyle = colours.faint;
    textWithin(context, `${left < 120 ? "≤" : "up to"} ${amount(curve, most)}`, 2, top + height / 2 + (isRoomy ? 0 : 7), left - 8);
    if (isRoomy) textWithin(context, `per ${time(curve.step)}`, 2, top + height / 2 + 14, left - 8);
}
