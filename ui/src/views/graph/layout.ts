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
    entry: number; // x at which edges enter at the top, leave at the bottom
    exit: number;
}

const MARGIN = 14;

export function layoutShape(shape: Pick<Shape, "chips" | "edges" | "memory" | "into" | "outof">): Layout {
    const g = new dagre.graphlib.Graph({ multigraph: true });
    g.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 26, marginx: MARGIN, marginy: MARGIN, ranker: "network-simplex" });
    g.setDefaultEdgeLabel(() => ({}));
    shape.chips.forEach((chips, i) => g.setNode(String(i), { width: NODE_WIDTH, height: nodeHeight(chips) }));
    if (shape.into.length > 0) g.setNode("in", { width: 8, height: 1 });
    if (shape.outof.length > 0) g.setNode("out", { width: 8, height: 1 });
    const names: [string, string][] = [];
    for (const [from, to] of shape.edges) names.push([String(from), String(to)]);
    for (const [from, to] of shape.memory) names.push([String(from), String(to)]);
    for (const to of shape.into) names.push(["in", String(to)]);
    for (const from of shape.outof) names.push([String(from), "out"]);
    names.forEach(([from, to], i) => g.setEdge(from, to, { weight: from === "in" || to === "out" ? 2 : 1 }, String(i)));
    dagre.layout(g);
    const size = g.graph() as { width?: number; height?: number };
    const at = (name: string) => g.node(name) as { x: number; y: number; width: number; height: number };
    const width = size.width ?? 0;
    const places = shape.chips.map((_, i) => at(String(i)));
    return {
        width,
        height: size.height ?? 0,
        x: places.map((p) => p.x - p.width / 2),
        y: places.map((p) => p.y - p.height / 2),
        h: places.map((p) => p.height),
        edges: names.map(([from, to], i) =>
            ((g.edge(from, to, String(i)) as { points: { x: number; y: number }[] }).points ?? []).flatMap((p) => [p.x, p.y])),
        entry: shape.into.length > 0 ? at("in").x : width / 2,
        exit: shape.outof.length > 0 ? at("out").x : width / 2,
    };
}
