// Where the nodes of one shape stand. Runs in the worker, or in the page where there is none (a report).
import dagre from "@dagrejs/dagre";
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

export function layoutShape(shape: Pick<Shape, "chips" | "edges" | "memory" | "into" | "outof">): Layout {
    const g = new dagre.graphlib.Graph({ multigraph: true });
    g.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 26, marginx: MARGIN, marginy: MARGIN, ranker: "network-simplex" });
    g.setDefaultEdgeLabel(() => ({}));
    shape.chips.forEach((chips, i) => g.setNode(String(i), { width: NODE_WIDTH, height: nodeHeight(chips) }));
    if (shape.into.length > 0) g.setNode("in", { width: 1, height: 1 });
    if (shape.outof.length > 0) g.setNode("out", { width: 1, height: 1 });
    const names: [string, string][] = [];
    for (const [from, to] of shape.edges) names.push([String(from), String(to)]);
    for (const [from, to] of shape.memory) names.push([String(from), String(to)]);
    for (const to of shape.into) names.push(["in", String(to)]);
    for (const from of shape.outof) names.push([String(from), "out"]);
    names.forEach(([from, to], i) => g.setEdge(from, to, { weight: from === "in" || to === "out" ? 2 : 1 }, String(i)));
    dagre.layout(g);
    const at = (name: string) => g.node(name) as { x: number; y: number; width: number; height: number };
    const places = shape.chips.map((_, i) => at(String(i)));
    const edges = names.map(([from, to], i) =>
        ((g.edge(from, to, String(i)) as { points?: { x: number; y: number }[] }).points ?? []).flatMap((p) => [p.x, p.y]),
    );
    // The library's own size leaves the bends of edges out.
    const xs = [...places.flatMap((p) => [p.x - p.width / 2, p.x + p.width / 2]), ...edges.flatMap((points) => points.filter((_, i) => i % 2 === 0))];
    const left = Math.min(MARGIN, ...xs) - MARGIN,
        right = Math.max(0, ...xs) + MARGIN;
    const width = right - left,
        height = (g.graph() as { height?: number }).height ?? 0;
    return {
        width,
        height,
        x: places.map((p) => p.x - p.width / 2 - left),
        y: places.map((p) => p.y - p.height / 2),
        h: places.map((p) => p.height),
        edges: edges.map((points) => points.map((value, i) => (i % 2 === 0 ? value - left : value))),
        entry: shape.into.length > 0 ? { x: at("in").x - left, y: at("in").y } : null,
        exit: shape.outof.length > 0 ? { x: at("out").x - left, y: at("out").y } : null,
    };
}
