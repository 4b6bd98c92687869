// Positions of the blocks in columns.
import type { Block, Shape } from "./blocks";
import type { Layout } from "./layout";

export const HEADER = 36,
    GAP = 20,
    CLOSED_GAP = 6, // between two closed blocks
    PENDING = 64,
    LEAST_WIDTH = 560;

export interface Placed {
    column: number[]; // by block
    left: number[];
    top: number[];
    wide: number[]; // width of its column
    height: number[];
    inset: number[]; // left edge of the block's insides, relative to the content
    width: number; // of everything
    total: number; // height of everything
}

const COLUMN_GAP = 32;

// The column of a block depends on the number of blocks, not on expanded ones, so a block opens in
// place. Closed blocks are not wider than the room.
export function place(blocks: readonly Block[], isExpanded: (block: Block) => boolean, layoutOf: (shape: Shape) => Layout | undefined, columns = 1, room = LEAST_WIDTH): Placed {
    const insides = blocks.map((block) => (isExpanded(block) ? (layoutOf(block.shape) ?? null) : undefined));
    const each = Math.max(1, Math.ceil(blocks.length / columns));
    const placed: Placed = { column: [], left: [], top: [], wide: [], height: [], inset: [], width: 0, total: 0 };
    for (let first = 0, x = 0; first < Math.max(1, blocks.length); first += each) {
        const inColumn = insides.slice(first, first + each);
        const least = Math.min(LEAST_WIDTH, room);
        const width = Math.max(least, ...inColumn.map((layout) => layout?.width ?? 0));
        let [y, gap] = [0, 0];
        inColumn.forEach((layout, i) => {
            const height = HEADER + (layout === undefined ? 0 : layout === null ? PENDING : layout.height);
            placed.column.push(first / each);
            placed.left.push(x);
            placed.top.push(y);
            placed.wide.push(layout || room > LEAST_WIDTH ? width : least);
            placed.height.push(height);
            placed.inset.push(x + (layout ? (width - layout.width) / 2 : 0));
            gap = layout === undefined && inColumn[i + 1] === undefined ? CLOSED_GAP : GAP;
            y += height + gap;
        });
        placed.total = Math.max(placed.total, y - gap);
        placed.width = x + width;
        x += width + COLUMN_GAP;
    }
    return placed;
}

// The number of columns that fit side by side, limited to what shows all closed blocks at once.
export function columnsFor(blocks: number, width: number, height: number): number {
    const besides = Math.max(1, Math.floor((width + COLUMN_GAP) / (LEAST_WIDTH + COLUMN_GAP)));
    return Math.max(1, Math.min(besides, Math.ceil((blocks * (HEADER + CLOSED_GAP)) / Math.max(1, height))));
}

// The number of columns with the largest scale at which everything is visible, and that scale.
export function bestFit(width: number, height: number, blocks: number, placeIn: (columns: number) => Placed): { columns: number; scale: number } {
    let best = { columns: 1, scale: 0 };
    for (let columns = 1; columns <= Math.max(1, blocks); columns++) {
        const { width: wide, total } = placeIn(columns);
        const scale = Math.min(width / wide, height / Math.max(1, total));
        if (scale > best.scale) best = { columns, scale };
    }
    return best;
}

// The blocks that reach into [from, to].
export function between(placed: Placed, from: number, to: number): number[] {
    return placed.top.flatMap((top, i) => (top <= to && top + placed.height[i]! >= from ? [i] : []));
}

// A path through an edge's points with soft bends.
export function edgePath(points: readonly number[]): string {
    const n = points.length / 2;
    if (n < 2) return "";
    const at = (i: number) => `${Math.round(points[2 * i]! * 10) / 10} ${Math.round(points[2 * i + 1]! * 10) / 10}`;
    const middle = (i: number) => `${(points[2 * i]! + points[2 * i + 2]!) / 2} ${(points[2 * i + 1]! + points[2 * i + 3]!) / 2}`;
    let path = `M${at(0)}`;
    for (let i = 1; i < n - 1; i++) path += `Q${at(i)} ${i < n - 2 ? middle(i) : at(n - 1)}`;
    return n === 2 ? `${path}L${at(1)}` : path;
}
