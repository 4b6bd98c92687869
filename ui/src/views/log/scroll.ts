// Scrolling through more rows than a browser can hold: elements are limited to some ten million
// pixels. Beyond MOST pixels the thumb maps to a fraction of the rows, and wheel and keys move by
// rows.

export const MOST = 8_000_000;

export interface Scroll {
    rows: number;
    rowHeight: number;
    view: number; // height of the part that is seen
}

export const spacer = (s: Scroll) => Math.min(MOST, Math.max(s.rows * s.rowHeight, 1));
export const visible = (s: Scroll) => s.view / s.rowHeight;
// The largest possible row at the top, with a fraction.
export const lastTop = (s: Scroll) => Math.max(0, s.rows - visible(s));

const travel = (s: Scroll) => Math.max(0, spacer(s) - s.view);

export const clampTop = (s: Scroll, top: number) => Math.min(Math.max(0, top), lastTop(s));

// Converts a thumb position to the row at the top, and back.
export function topOf(s: Scroll, scrollTop: number): number {
    const way = travel(s);
    return way === 0 ? 0 : clampTop(s, (Math.min(scrollTop, way) / way) * lastTop(s));
}

export function scrollTopOf(s: Scroll, top: number): number {
    const last = lastTop(s);
    return last === 0 ? 0 : (clampTop(s, top) / last) * travel(s);
}

// The rows to draw, and where the first one begins, relative to the top of the view.
export function rowsAt(s: Scroll, top: number): { first: number; count: number; offset: number } {
    const first = Math.floor(clampTop(s, top));
    const count = Math.min(s.rows - first, Math.ceil(visible(s)) + 1);
    return { first, count: Math.max(0, count), offset: -(clampTop(s, top) - first) * s.rowHeight };
}

// The top row that makes `row` visible with the smallest movement.
export function reveal(s: Scroll, top: number, row: number): number {
    if (row < top) return clampTop(s, row);
    if (row + 1 > top + visible(s)) return clampTop(s, row + 1 - visible(s));
    return clampTop(s, top);
}
