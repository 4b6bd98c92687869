// The visible time range.

export interface Span {
    begin: number; // ns
    end: number;
}

const shortest = 200; // ns across the window

export function clamp(span: Span, bounds: Span): Span {
    const whole = Math.max(shortest, bounds.end - bounds.begin);
    const length = Math.min(whole, Math.max(shortest, span.end - span.begin));
    const begin = Math.min(Math.max(bounds.begin, span.begin), bounds.begin + whole - length);
    return { begin, end: begin + length };
}

// Zooms around the point at `part` (0 left, 1 right).
export function zoomed(span: Span, factor: number, part: number, bounds: Span): Span {
    const length = Math.min(bounds.end - bounds.begin, Math.max(shortest, (span.end - span.begin) / factor));
    const fixed = span.begin + part * (span.end - span.begin);
    return clamp({ begin: fixed - part * length, end: fixed + (1 - part) * length }, bounds);
}

export function panned(span: Span, ns: number, bounds: Span): Span {
    return clamp({ begin: span.begin + ns, end: span.end + ns }, bounds);
}

// Adds a margin around a range.
export function around(begin: number, end: number, bounds: Span): Span {
    const air = Math.max(50, (end - begin) * 0.15);
    return clamp({ begin: begin - air, end: end + air }, bounds);
}

export interface Tile extends Span {
    pixels: number;
}

const mostPixels = 4096;

// The range to request: from a fixed grid, with margins, so that panning and small zooms need no
// request and going back repeats the same one. All tiles of a window have the same number of
// pixels, so whether op runs are folded does not depend on earlier windows.
export function tileFor(span: Span, bounds: Span, width: number): Tile {
    const whole = bounds.end - bounds.begin;
    const pixels = Math.min(mostPixels, roundUp(4 * width));
    const length = 2 ** Math.ceil(Math.log2(Math.max(shortest, span.end - span.begin)));
    if (length * 4 >= whole) return { begin: Math.floor(bounds.begin), end: Math.ceil(bounds.end), pixels };
    const first = Math.floor((span.begin - bounds.begin) / (length / 2)) - 1;
    const begin = Math.max(bounds.begin, bounds.begin + (first * length) / 2);
    const end = Math.min(bounds.end, bounds.begin + ((first + 5) * length) / 2);
    return { begin: Math.floor(begin), end: Math.ceil(end), pixels };
}

// Rounds widths, so that windows that differ by a pixel ask the same.
function roundUp(pixels: number): number {
    return Math.max(256, Math.ceil(pixels / 256) * 256);
}

// Round steps of 1, 2 or 5 at least `room` pixels apart.
export function tickStep(span: Span, width: number, room: number): number {
    const least = ((span.end - span.begin) * room) / Math.max(1, width);
    const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
    return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least)!;
}

// The pauses of a recording: the gaps between its windows, within the bounds.
export function pausesOf(windows: readonly { kind: string; begin_ns: number; end_ns: number }[], bounds: Span): Span[] {
    const recorded = windows.filter((one) => one.kind === "recorded").sort((a, b) => a.begin_ns - b.begin_ns);
    if (recorded.length === 0) return [];
    const pauses: Span[] = [];
    let at = bounds.begin;
    for (const { begin_ns, end_ns } of recorded) {
        if (begin_ns > at) pauses.push({ begin: at, end: Math.min(begin_ns, bounds.end) });
        at = Math.max(at, end_ns);
    }
    if (at < bounds.end) pauses.push({ begin: at, end: bounds.end });
    return pauses.filter((one) => one.end > one.begin);
}
