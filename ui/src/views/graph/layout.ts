// Computes the positions of a shape's nodes. Runs in the worker, or in the page if there is none (a
// report).
//
// Sugiyama's method, for graphs of a layer's size: each node has a rank below its sources. Within a
// rank, nodes are ordered to reduce crossings and moved towards their neighbours. An edge that
// spans several ranks bends in each.
import type { Shape } from "./blocks";
import { nodeHeight, NODE_WIDTH } from "./layout-size";

export interface Layout {
    width: number;
    height: number;
    x: number[]; // left
    y: number[]; // top
    h: number[];
    edges: number[][]; // x, y, x, y, ... in the order: edges, memory, into, outof
    entry: { x: number; y: number } | null; // where edges from other blocks come in, at the top
    exit: { x: number; y: number } | null; // where those to other blocks leave, at the bottom
}

const MARGIN = 14;
const NODE_GAP = 22;
const BEND_GAP = 12;
const RANK_GAP = 26;
const SWEEPS = 12;

interface Vertex {
    rank: number;
    width: number;
    height: number;
    x: number; // middle
    above: Vertex[]; // neighbours in the rank before, once long edges are cut
    below: Vertex[];
}

type Edge = [number, number];

// The rank of each node: one more than the largest rank of its sources. A node without sources is
// one rank above its first reader.
function ranksOf(n: number, edges: readonly Edge[]): number[] {
    const out: number[][] = Array.from({ length: n }, () => []);
    const waiting = new Array<number>(n).fill(0);
    for (const [from, to] of edges) {
        out[from]!.push(to);
        waiting[to]!++;
    }
    const isSource = waiting.map((count) => count === 0);
    const rank = new Array<number>(n).fill(0);
    const ready = waiting.flatMap((count, i) => (count === 0 ? [i] : []));
    const order: number[] = [];
    for (let i = ready.shift(); i !== undefined; i = ready.shift()) {
        order.push(i);
        for (const to of out[i]!) {
            rank[to] = Math.max(rank[to]!, rank[i]! + 1);
            if (--waiting[to]! === 0) ready.push(to);
        }
    }
    for (const i of order.reverse()) if (isSource[i] && out[i]!.length > 0) rank[i] = Math.min(...out[i]!.map((to) => rank[to]!)) - 1;
    return rank;
}

// Cuts edges at every rank that they pass. Returns the vertices of each edge from begin to end.
function cut(vertices: Vertex[], edges: readonly Edge[]): Vertex[][] {
    return edges.map(([from, to]) => {
        const path = [vertices[from]!];
        for (let rank = vertices[from]!.rank + 1; rank < vertices[to]!.rank; rank++) {
            const bend: Vertex = { rank, width: 1, height: 0, x: 0, above: [], below: [] };
            vertices.push(bend);
            path.push(bend);
        }
        path.push(vertices[to]!);
        for (let i = 1; i < path.length; i++) {
            path[i - 1]!.below.push(path[i]!);
            path[i]!.above.push(path[i - 1]!);
        }
        return path;
    });
}

function crossings(ranks: readonly Vertex[][]): number {
    let sum = 0;
    for (const rank of ranks) {
        const place = new Map((ranks[(rank[0]?.rank ?? 0) + 1] ?? []).map((vertex, i) => [vertex, i]));
        const ends = rank.flatMap((vertex) => vertex.below.map((one) => place.get(one)!).sort((a, b) => a - b));
        for (let i = 0; i < ends.length; i++) for (let k = i + 1; k < ends.length; k++) if (ends[i]! > ends[k]!) sum++;
    }
    return sum;
}

// Orders each rank by the mean position of its neighbours, downwards and upwards, and keeps the
// order with the fewest crossings.
function order(ranks: Vertex[][]): Vertex[][] {
    let best = ranks.map((rank) => [...rank]);
    let least = crossings(best);
    for (let sweep = 0; sweep < SWEEPS && least > 0; sweep++) {
        const down = sweep % 2 === 0;
        const indexes = ranks.map((_, i) => (down ? i : ranks.length - 1 - i));
        for (const r of indexes.slice(1)) {
            const place = new Map(ranks[down ? r - 1 : r + 1]!.map((vertex, i) => [vertex, i]));
            const now = new Map(ranks[r]!.map((vertex, i) => [vertex, i]));
            const mean = (vertex: Vertex) => {
                const near = down ? vertex.above : vertex.below;
                return near.length === 0 ? now.get(vertex)! : near.reduce((sum, one) => sum + place.get(one)!, 0) / near.length;
            };
            const means = new Map(ranks[r]!.map((vertex) => [vertex, mean(vertex)]));
            ranks[r]!.sort((a, b) => means.get(a)! - means.get(b)! || now.get(a)! - now.get(b)!);
        }
        const count = crossings(ranks);
        if (count < least) [best, least] = [ranks.map((rank) => [...rank]), count];
    }
    return best;
}

const apart = (a: Vertex, b: Vertex) => (a.width + b.width) / 2 + (a.width === 1 || b.width === 1 ? BEND_GAP : NODE_GAP);

// Moves vertices as close to their wanted positions as order and gaps allow. Neighbours that want
// the same position share it around their mean.
function settle(rank: readonly Vertex[], wanted: readonly number[]): void {
    const groups: { first: number; last: number; sum: number; offsets: number[] }[] = [];
    const begin = (group: (typeof groups)[number]) => group.sum / (group.last - group.first + 1);
    rank.forEach((_, i) => {
        let group = { first: i, last: i, sum: wanted[i]!, offsets: [0] };
        for (let before = groups.at(-1); before; before = groups.at(-1)) {
            const shift = before.offsets.at(-1)! + apart(rank[before.last]!, rank[group.first]!);
            if (begin(before) + shift <= begin(group)) break;
            groups.pop();
            const moved = group.offsets.map((offset) => offset + shift);
            group = { first: before.first, last: group.last, sum: before.sum + group.sum - shift * group.offsets.length, offsets: [...before.offsets, ...moved] };
        }
        groups.push(group);
    });
    for (const group of groups) group.offsets.forEach((offset, k) => (rank[group.first + k]!.x = begin(group) + offset));
}

function straighten(ranks: readonly Vertex[][]): void {
    for (const rank of ranks) settle(rank, rank.map(() => 0));
    for (let sweep = 0; sweep < 2 * SWEEPS; sweep++) {
        const down = sweep % 2 === 0;
        for (const rank of down ? ranks : [...ranks].reverse()) {
            const wanted = rank.map((vertex) => {
                const [first, second] = down ? [vertex.above, vertex.below] : [vertex.below, vertex.above];
                const near = first.length > 0 ? first : second;
                return near.length === 0 ? vertex.x : near.reduce((sum, one) => sum + one.x, 0) / near.length;
            });
            settle(rank, wanted);
        }
    }
}

export function layoutShape(shape: Pick<Shape, "chips" | "edges" | "memory" | "into" | "outof">): Layout {
    const n = shape.chips.length;
    const [entry, exit] = [n, n + 1];
    const hasEntry = shape.into.length > 0;
    const hasExit = shape.outof.length > 0;
    const edges: Edge[] = [...shape.edges, ...shape.memory, ...shape.into.map((to): Edge => [entry, to]), ...shape.outof.map((from): Edge => [from, exit])];
    const ranked = ranksOf(n + 2, edges);
    const lowest = Math.min(0, ...ranked.slice(0, n), ...(hasEntry ? [ranked[entry]!] : []));
    const highest = Math.max(0, ...ranked.slice(0, n));
    if (hasEntry) ranked[entry] = Math.min(ranked[entry]!, lowest);
    if (hasExit) ranked[exit] = Math.max(ranked[exit]!, highest + 1);
    const vertices: Vertex[] = ranked.map((rank, i) => ({ rank: rank - lowest, width: i < n ? NODE_WIDTH : 1, height: i < n ? nodeHeight(shape.chips[i]!) : 1, x: 0, above: [], below: [] }));
    const paths = cut(vertices, edges);
    const used = vertices.filter((_, i) => i < n || i > exit || (i === entry ? hasEntry : hasExit));
    const ranks: Vertex[][] = Array.from({ length: 1 + Math.max(0, ...used.map((vertex) => vertex.rank)) }, () => []);
    for (const vertex of used) ranks[vertex.rank]!.push(vertex);
    const ordered = order(ranks);
    straighten(ordered);

    const heights = ordered.map((rank) => Math.max(0, ...rank.map((vertex) => vertex.height)));
    const tops: number[] = [];
    let y = MARGIN;
    for (const height of heights) {
        tops.push(y);
        y += height + RANK_GAP;
    }
    const left = (used.length > 0 ? Math.min(...used.map((vertex) => vertex.x - vertex.width / 2)) : 0) - MARGIN;
    const right = (used.length > 0 ? Math.max(...used.map((vertex) => vertex.x + vertex.width / 2)) : 0) + MARGIN;
    const middle = (vertex: Vertex) => tops[vertex.rank]! + heights[vertex.rank]! / 2;
    const points = (path: Vertex[]) =>
        path.flatMap((vertex, i) => {
            const half = vertex.height / 2;
            return [vertex.x - left, middle(vertex) + (i === 0 ? half : i === path.length - 1 ? -half : 0)];
        });
    const at = (i: number) => ({ x: vertices[i]!.x - left, y: middle(vertices[i]!) });
    const nodes = vertices.slice(0, n);
    return {
        width: right - left,
        height: y - RANK_GAP + MARGIN,
        x: nodes.map((vertex) => vertex.x - vertex.width / 2 - left),
        y: nodes.map((vertex) => middle(vertex) - vertex.height / 2),
        h: nodes.map((vertex) => vertex.height),
        edges: paths.map(points),
        entry: hasEntry ? at(entry) : null,
        exit: hasExit ? at(exit) : null,
    };
}
