// What the graph view shows, kept while one looks at other views.
import { signal } from "@preact/signals";
import type { Graph } from "./blocks";

export const expanded = signal<ReadonlySet<string>>(new Set());
export const withViews = signal(false);
export const scale = signal(1);
export const text = signal("");
// A node that was not computed by itself has no card; it is shown as selected together with the op that stands for it.
export const standsFor = signal<{ run: number; row: number; node: number } | null>(null);

export interface Told extends Graph {
    token: number;
    run: number;
    runs: { run: number; backend?: string }[]; // of the token step
}

export function rowOf(graph: Graph, node: number): number {
    if (graph.node[node] === node) return node;
    for (let row = 0; row < graph.rows; row++) if (graph.node[row] === node) return row;
    return -1;
}

// The row that was computed in a row's place: itself, or for one that was fused or is a view, the last one before it.
export function computedWith(graph: Graph, row: number): number {
    for (let at = row; at >= 0; at--) if (graph.kind[at] === 0) return at;
    for (let at = row; at < graph.rows; at++) if (graph.kind[at] === 0) return at;
    return row;
}

export function setOpen(keys: Iterable<string>, open: boolean) {
    const next = new Set(expanded.value);
    for (const key of keys) open ? next.add(key) : next.delete(key);
    expanded.value = next;
}

export function zoomBy(factor: number) {
    scale.value = Math.min(3, Math.max(0.1, scale.value * factor));
}
