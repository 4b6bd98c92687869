// The state of the graph view. It survives changes of the view.
import { signal } from "@preact/signals";
import type { GraphAnswer } from "../../api";
import { shape } from "../../format";
import { asAnyText, asFlag, asNumber, asSet, asText, kept } from "../../state";
import { states, type Graph } from "./blocks";

export const leastScale = 0.04;
// Columns of blocks; null: as many as the window has room for.
export const columns = kept<number | null>("columns", null, asNumber, { isZoom: true });
export const expanded = kept<ReadonlySet<string>>("open", new Set(), asSet);
// The meaning of node colours: time, or computed values.
export const colouring = kept("colour", "time", asText(["time", "values"]));
export const withViews = kept("views", false, asFlag);
export const scale = kept("scale", 1, { write: (value: number) => String(Math.round(value * 1000) / 1000), read: (text) => (Number(text) >= leastScale && Number(text) <= 3 ? Number(text) : undefined) }, { isZoom: true });
export const text = kept("find", "", asAnyText);
// A node that was not computed separately has no details. It is selected together with the op that
// computed it.
export const standsFor = signal<{ run: number; row: number; node: number } | null>(null);

export interface RunGraph extends Graph {
    head: ArrayLike<number>; // the node that a row was computed with, itself or another; -1: it was not computed
    token: number;
    run: number;
    runs: { run: number; backend?: string }[]; // of the token step
}

// The first graph of an answer. A source beyond the nodes is a leaf.
export function firstGraph(answer: GraphAnswer): RunGraph {
    const { run, nodes, leaves, edges } = answer.graphs[0]!;
    const ops = [...new Set(nodes.map((node) => node.op))];
    return {
        rows: nodes.length,
        node: nodes.map((node) => node.node),
        op: nodes.map((node) => ops.indexOf(node.op)),
        layer: nodes.map((node) => node.layer ?? -1),
        kind: nodes.map((node) => states.indexOf(node.state as (typeof states)[number])),
        time: nodes.map((node) => node.duration_ns ?? 0),
        head: nodes.map((node) => (node.state === "executed" || node.state === "opaque" ? node.node : (node.fused_with ?? -1))),
        source: edges.map((edge) => edge.source_node ?? nodes.length + (edge.leaf ?? leaves.length)),
        target: edges.map((edge) => edge.node),
        ops,
        names: nodes.map((node) => node.name),
        shapes: nodes.map((node) => `${node.type ?? ""} ${shape(node.shape)}`.trim()),
        leaves,
        token: answer.token ?? 0,
        run,
        runs: answer.runs,
    };
}

export function rowOf(graph: Graph, node: number): number {
    if (graph.node[node] === node) return node;
    for (let row = 0; row < graph.rows; row++) if (graph.node[row] === node) return row;
    return -1;
}

// The row that computed a row: itself, the one that it was fused with, or for a view the last
// computed one before it.
export function computedWith(graph: RunGraph, row: number): number {
    const head = graph.head[row]!;
    if (head >= 0) return rowOf(graph, head);
    const computes = (at: number) => graph.head[at] === graph.node[at];
    for (let at = row; at >= 0; at--) if (computes(at)) return at;
    for (let at = row; at < graph.rows; at++) if (computes(at)) return at;
    return row;
}

export function setOpen(keys: Iterable<string>, open: boolean) {
    const next = new Set(expanded.value);
    for (const key of keys) open ? next.add(key) : next.delete(key);
    expanded.value = next;
}

export function zoomBy(factor: number) {
    scale.value = Math.min(3, Math.max(leastScale, scale.value * factor));
}
