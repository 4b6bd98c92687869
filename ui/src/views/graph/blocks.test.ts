import { describe, expect, test } from "vitest";
import { makeBlocks, search, type Graph } from "./blocks";
import { layoutShape } from "./layout";
import { NODE_WIDTH } from "./layout-size";

// A small transformer: `layers` times norm, three projections, a view, attention, add. The last
// layer selects rows first.
function transformer(layers: number): Graph {
    const ops = ["SET_ROWS", "GET_ROWS", "RMS_NORM", "MUL_MAT", "VIEW", "SOFT_MAX", "ADD"];
    const rows: { op: number; layer: number; name: string; sources: (number | string)[] }[] = [];
    const leaves: { name: string; kind: string; bytes: number }[] = [];
    const leaf = (name: string) => name;
    const add = (op: string, layer: number, name: string, ...sources: (number | string)[]) =>
        rows.push({ op: ops.indexOf(op), layer, name, sources }) - 1;
    let stream = add("GET_ROWS", -1, "embd", leaf("token_embd.weight"), leaf("inp_tokens"));
    for (let i = 0; i < layers; i++) {
        const norm = add("RMS_NORM", i, `norm-${i}`, stream);
        const [q, k, v] = ["q", "k", "v"].map((name) => add("MUL_MAT", i, `${name}-${i}`, norm, leaf(`blk.${i}.attn_${name}.weight`)));
        const view = add("VIEW", i, `k-${i} (view)`, k!);
        add("SET_ROWS", i, `cache_v_l${i} (view)`, v!, leaf(`cache_v_l${i}`));
        let attention = add("SOFT_MAX", i, `kq-${i}`, q!, view, leaf(`cache_v_l${i}`), leaf("inp_mask"));
        if (i === layers - 1) attention = add("GET_ROWS", i, `rows-${i}`, attention, leaf("inp_out_ids"));
        stream = add("ADD", i, `l_out-${i}`, attention, stream);
    }
    add("MUL_MAT", -1, "result", stream, leaf("output.weight"));
    const source: number[] = [],
        target: number[] = [];
    const numbers = new Map<string, number>();
    rows.forEach((row, t) =>
        row.sources.forEach((s) => {
            if (typeof s === "string" && !numbers.has(s))
                numbers.set(
                    s,
                    leaves.push({ name: s, kind: s.startsWith("inp") ? "input" : s.startsWith("cache") ? "kv" : "weight", bytes: 64 }) - 1,
                );
            source.push(typeof s === "string" ? rows.length + numbers.get(s)! : s);
            target.push(t);
        }),
    );
    return {
        rows: rows.length,
        ops,
        leaves,
        source,
        target,
        node: rows.map((_, i) => i),
        op: rows.map((r) => r.op),
        layer: rows.map((r) => r.layer),
        kind: rows.map((r) => (ops[r.op] === "VIEW" ? 2 : 0)),
        time: rows.map((_, i) => i + 1),
        names: rows.map((r) => r.name),
    };
}

describe("blocks", () => {
    test("one per layer, one before, one after; every row that is shown in exactly one", () => {
        const graph = transformer(5);
        for (const views of [false, true]) {
            const made = makeBlocks(graph, views);
            expect(made.blocks.map((b) => b.title)).toEqual(["input", "layer 0", "layer 1", "layer 2", "layer 3", "layer 4", "output"]);
            const rows = made.blocks.flatMap((b) => b.rows).sort((a, b) => a - b);
            expect(rows).toEqual([...Array(graph.rows).keys()].filter((row) => views || graph.kind[row] !== 2));
            expect(made.time).toBe(rows.reduce((sum, row) => sum + graph.time[row]!, 0));
        }
    });

    test("layers that look the same share a shape, however many there are", () => {
        const few = makeBlocks(transformer(5), false),
            many = makeBlocks(transformer(60), false);
        expect(few.shapes.size).toBe(4); // input, a layer, the last layer, output
        expect([...many.shapes.keys()]).toEqual([...few.shapes.keys()]);
    });

    test("inputs that many blocks read are ports, and an edge passes through what is not shown", () => {
        const graph = transformer(5),
            made = makeBlocks(graph, false);
        const attention = graph.names.indexOf("kq-2");
        expect(made.chips[attention]).toEqual([
            { name: "cache_v_l2", kind: "kv", bytes: 64, row: -1 },
            { name: "inp_mask", kind: "port", bytes: 64, row: -1 },
        ]);
        expect(made.sources[attention]!.map((row) => graph.names[row])).toEqual(["q-2", "k-2"]);
        expect(made.consumers[graph.names.indexOf("k-2")]!.map((row) => graph.names[row])).toEqual(["kq-2"]);
        expect(made.links.map((l) => [l.from, l.to])).toEqual([
            [0, 1],
            [1, 2],
            [2, 3],
            [3, 4],
            [4, 5],
            [5, 6],
        ]);
    });

    test("what is written into a cache is tied to who reads it later", () => {
        const graph = transformer(3),
            { blocks } = makeBlocks(graph, false);
        const { rows, shape } = blocks[1]!;
        expect(shape.memory.map((edge) => edge.map((i) => graph.names[rows[i]!]))).toEqual([["cache_v_l0 (view)", "kq-0"]]);
    });

    test("a graph without layers is one block", () => {
        const graph = transformer(2);
        const made = makeBlocks({ ...graph, layer: graph.names.map(() => -1) }, true);
        expect(made.blocks.map((b) => b.title)).toEqual(["graph"]);
    });

    test("nothing but what it was told: edges to nowhere, to itself, backwards", () => {
        const graph = transformer(2);
        const odd = { ...graph, source: [...Array.from(graph.source), 1e9, 3, graph.rows - 1], target: [...Array.from(graph.target), 2, 3, 0] };
        expect(makeBlocks(odd, false).blocks.length).toBe(4);
        expect(makeBlocks({ ...graph, rows: 0, source: [], target: [] }, false).blocks).toEqual([]);
    });
});

test("search counts inside every block: ops, results, weights", () => {
    const graph = transformer(5),
        made = makeBlocks(graph, false);
    expect(search(graph, made, "attn_q").perBlock).toEqual([0, 1, 1, 1, 1, 1, 0]);
    expect(search(graph, made, "mul_mat").perBlock).toEqual([0, 3, 3, 3, 3, 3, 1]);
    expect(search(graph, made, "  ").rows).toEqual([]);
    expect(search(graph, made, "L_OUT-4").rows.map((row) => graph.names[row])).toEqual(["l_out-4"]);
});

test("a layout has every node inside it, none on top of another, and edges that run down", () => {
    for (const shape of makeBlocks(transformer(3), true).shapes.values()) {
        const layout = layoutShape(shape);
        expect(layout.x.length).toBe(shape.chips.length);
        expect(layout.edges.length).toBe(shape.edges.length + shape.memory.length + shape.into.length + shape.outof.length);
        layout.x.forEach((x, i) => {
            expect(x).toBeGreaterThanOrEqual(0);
            expect(x + NODE_WIDTH).toBeLessThanOrEqual(layout.width + 0.5);
            for (let j = 0; j < i; j++) {
                const apart =
                    Math.abs(layout.x[j]! - x) >= NODE_WIDTH ||
                    layout.y[j]! + layout.h[j]! <= layout.y[i]! ||
                    layout.y[i]! + layout.h[i]! <= layout.y[j]!;
                expect(apart).toBe(true);
            }
        });
        shape.edges.forEach(([from, to]) => expect(layout.y[from]!).toBeLessThan(layout.y[to]!));
    }
});
