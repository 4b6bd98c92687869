import { expect, test } from "vitest";
import { layoutShape } from "./layout";
import { NODE_WIDTH } from "./layout-size";

// A layer: norm, three products, attention, output, residual, norm, two products, product,
// residual.
const layer = {
    chips: [0, 1, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0],
    edges: [[0, 1], [0, 2], [0, 3], [1, 4], [2, 4], [3, 4], [4, 5], [5, 6], [6, 7], [7, 8], [7, 9], [8, 10], [9, 10], [10, 11], [11, 12], [6, 12]] as [number, number][],
    memory: [] as [number, number][],
    into: [0, 6],
    outof: [12],
};

test("every node stands below what it reads, and no two overlap", () => {
    const { x, y, h, width, height } = layoutShape(layer);
    for (const [from, to] of layer.edges) expect(y[to]!).toBeGreaterThan(y[from]! + h[from]!);
    x.forEach((left, i) => {
        expect(left).toBeGreaterThanOrEqual(0);
        expect(left + NODE_WIDTH).toBeLessThanOrEqual(width);
        expect(y[i]! + h[i]!).toBeLessThanOrEqual(height);
        for (let k = 0; k < i; k++) expect(left + NODE_WIDTH <= x[k]! || x[k]! + NODE_WIDTH <= left || y[i]! + h[i]! <= y[k]! || y[k]! + h[k]! <= y[i]!).toBe(true);
    });
});

test("edges begin and end at their nodes, those of other blocks at the entry and the exit", () => {
    const { x, y, h, edges, entry, exit } = layoutShape(layer);
    expect(edges.length).toBe(layer.edges.length + 3);
    layer.edges.forEach(([from, to], i) => {
        const points = edges[i]!;
        expect(points.slice(0, 2)).toEqual([x[from]! + NODE_WIDTH / 2, y[from]! + h[from]!]);
        expect(points.slice(-2)).toEqual([x[to]! + NODE_WIDTH / 2, y[to]!]);
    });
    expect(entry!.y).toBeLessThan(y[0]!);
    expect(exit!.y).toBeGreaterThan(y[12]!);
    expect(edges.at(-1)!.slice(-2)[0]).toBe(exit!.x);
});

test("it is no wider than its nodes and edges", () => {
    const { x, edges, width } = layoutShape(layer);
    const all = [...x, ...x.map((left) => left + NODE_WIDTH), ...edges.flatMap((points) => points.filter((_, i) => i % 2 === 0))];
    expect(Math.min(...all)).toBeLessThan(20);
    expect(width - Math.max(...all)).toBeLessThan(20);
    expect(width).toBeLessThan(4 * NODE_WIDTH + 200);
});

test("a chain is a straight line, one node is one node, none is nothing", () => {
    const chain = layoutShape({ chips: [0, 0, 0], edges: [[0, 1], [1, 2]], memory: [], into: [], outof: [] });
    expect(new Set(chain.x.map(Math.round)).size).toBe(1);
    expect(layoutShape({ chips: [2], edges: [], memory: [], into: [], outof: [] }).x.length).toBe(1);
    expect(layoutShape({ chips: [], edges: [], memory: [], into: [], outof: [] }).x).toEqual([]);
});

test("edges of a layer do not cross without need", () => {
    const { edges } = layoutShape(layer);
    const side = (a: number[], b: number[], c: number[]) => Math.sign((b[0]! - a[0]!) * (c[1]! - a[1]!) - (b[1]! - a[1]!) * (c[0]! - a[0]!));
    const segments = edges.flatMap((points, e) => Array.from({ length: points.length / 2 - 1 }, (_, i) => ({ e, a: points.slice(2 * i, 2 * i + 2), b: points.slice(2 * i + 2, 2 * i + 4) })));
    const crosses = (p: (typeof segments)[number], q: (typeof segments)[number]) => p.e !== q.e && side(p.a, p.b, q.a) * side(p.a, p.b, q.b) < 0 && side(q.a, q.b, p.a) * side(q.a, q.b, p.b) < 0;
    const count = segments.reduce((sum, p, i) => sum + segments.slice(i + 1).filter((q) => crosses(p, q)).length, 0);
    expect(count).toBeLessThanOrEqual(1);
});
