// Where the blocks stand, one below the other, with what is expanded in its place.
import type { Block, Shape } from "./blocks";
import type { Layout } from "./layout";

export const HEADER = 36,
    GAP = 20,
    CLOSED_GAP = 6, // between two closed blocks
    PENDING = 64,
    LEAST_WIDTH = 640;

export interface Placed {
    top: number[];
    height: number[];
    inset: number[]; // left edge of the block's insides, relative to the content
    width: number;
    total: number; // height of everything
}

export function place(blocks: readonly Block[], isExpanded: (block: Block) => boolean, layoutOf: (shape: Shape) => Layout | undefined): Placed {
    const insides = blocks.map((block) => (isExpanded(block) ? (layoutOf(block.shape) ?? null) : undefined));
    const width = Math.max(LEAST_WIDTH, ...insides.map((layout) => layout?.width ?? 0));
    const placed: Placed = { top: [], height: [], inset: [], width, total: 0 };
    let y = 0;
    let gap = 0;
    insides.forEach((layout, i) => {
        const height = HEADER + (layout === undefined ? 0 : layout === null ? PENDING : layout.height);
        placed.top.push(y);
        placed.height.push(height);
        placed.inset.push(layout ? (width - layout.width) / 2 : 0);
        gap = layout === undefined && insides[i + 1] === undefined ? CLOSED_GAP : GAP;
        y += height + gap;
    });
    placed.total = Math.max(0, y - gap);
    return placed;
}

// The blocks that reach into [from, to].
export function between(placed: Placed, from: number, to: number): [number, number] {
    let first = 0;
    while (first < placed.top.length && placed.top[first]! + placed.height[first]! < from) first++;
    let last = first;
    while (last < placed.top.length && placed.top[last]! <= to) last++;
    return [first, last];
}

// A path through dagre's points with soft bends.
export function edgePath(points: readonly number[]): string {
    const n = points.length / 2;
    if (n < 2) return "";
    const at = (i: number) => `${Math.round(points[2 * i]! * 10) / 10} ${Math.round(points[2 * i + 1]! * 10) / 10}`;
    const middle = (i: number) => `${(points[2 * i]! + points[2 * i + 2]!) / 2} ${(points[2 * i + 1]! + points[2 * i + 3]!) / 2}`;
    let path = `M${at(0)}`;
    for (let i = 1; i < n - 1; i++) path += `Q${at(i)} ${i < n - 2 ? middle(i) : at(n - 1)}`;
    return n === 2 ? `${path}L${at(1)}` : path;
}
