// Divides the graph of a token step into blocks: one per layer, and one for the nodes before,
// between and after layers.
//
// Blocks with equal contents have the same shape, and a shape is laid out once. A shape consists of
// ops, their edges and the lines of text per node. Names and times do not belong to it.

export interface Leaf {
    name: string;
    kind: string; // "weight", "input", "kv" or "other"
    bytes: number;
}

// The server's answer. Rows are nodes in order of execution; a source at or above `rows` is a leaf.
export interface Graph {
    rows: number;
    node: ArrayLike<number>;
    op: ArrayLike<number>; // index into ops
    layer: ArrayLike<number>;
    kind: ArrayLike<number>;
    time: ArrayLike<number>; // nanoseconds
    source: ArrayLike<number>;
    target: ArrayLike<number>;
    ops: string[];
    names: string[];
    shapes?: string[]; // "f32 256 × 7"
    leaves: Leaf[];
}

// The server's words, and what people read.
export const states = ["executed", "absorbed", "empty", "skipped", "opaque", "unseen"] as const;
export const kinds = ["executed", "fused", "view", "skipped", "opaque", "unseen"] as const;
export const KIND_EMPTY = 2;

// A source that is written in the node and not drawn as an edge.
export interface Chip {
    name: string;
    kind: "weight" | "kv" | "port" | "input";
    bytes: number;
    row: number; // -1 for a leaf
}

export interface Shape {
    signature: string;
    chips: number[]; // per node
    edges: [number, number][]; // within the block
    memory: [number, number][]; // one writes into a cache, the other reads it later
    into: number[]; // nodes that read what another block made
    outof: number[]; // nodes that another block reads
}

export interface Block {
    key: string;
    title: string;
    layer: number; // -1: none
    rows: number[];
    executed: number;
    time: number;
    shape: Shape;
}

export interface Blocks {
    blocks: Block[];
    blockOf: Int32Array; // by row; -1: not shown
    chips: Chip[][]; // by row
    sources: number[][]; // by row: rows, ports included
    consumers: number[][]; // by row
    links: { from: number; to: number; count: number }[]; // between blocks, ports left out
    shapes: Map<string, Shape>;
    time: number;
}

// Ops that write into a cache and do not return it.
const WRITERS = new Set(["SET_ROWS", "CPY", "SET"]);

// A source that this many blocks read is a port: its edges would hide everything else.
const PORT_BLOCKS = 3;

export function makeBlocks(graph: Graph, withViews: boolean): Blocks {
    const shown = (row: number) => withViews || graph.kind[row] !== KIND_EMPTY;
    const all = contract(graph, shown);
    const { blocks, blockOf } = cut(graph, shown);
    const chips: Chip[][] = Array.from({ length: graph.rows }, () => []);
    const sources: number[][] = Array.from({ length: graph.rows }, () => []);
    const consumers: number[][] = Array.from({ length: graph.rows }, () => []);
    const readers = readersOf(graph, all, blockOf);
    const links = new Map<string, { from: number; to: number; count: number }>();
    for (let row = 0; row < graph.rows; row++) {
        if (blockOf[row]! < 0) continue;
        for (const source of all[row]!) {
            const wide = readers.get(source)!.size >= PORT_BLOCKS;
            if (source >= graph.rows) {
                chips[row]!.push(leafChip(graph.leaves[source - graph.rows], wide));
                continue;
            }
            sources[row]!.push(source);
            consumers[source]!.push(row);
            const from = blockOf[source]!,
                to = blockOf[row]!;
            if (from !== to && wide) {
                chips[row]!.push({ name: graph.names[source] ?? "", kind: "port", bytes: 0, row: source });
            } else if (from !== to) {
                const link = links.get(`${from} ${to}`);
                if (link) link.count++;
                else links.set(`${from} ${to}`, { from, to, count: 1 });
            }
        }
    }
    const isPort = (row: number) => (readers.get(row)?.size ?? 0) >= PORT_BLOCKS;
    const shapes = new Map<string, Shape>();
    let time = 0;
    for (const block of blocks) {
        block.shape = shapeOf(graph, block, blockOf, chips, sources, consumers, isPort);
        if (shapes.has(block.shape.signature)) block.shape = shapes.get(block.shape.signature)!;
        else shapes.set(block.shape.signature, block.shape);
        time += block.time;
    }
    return { blocks, blockOf, chips, sources, consumers, links: [...links.values()], shapes, time };
}

function leafChip(leaf: Leaf | undefined, wide: boolean): Chip {
    const kind = leaf?.kind === "weight" || leaf?.kind === "kv" ? leaf.kind : wide ? "port" : "input";
    return { name: leaf?.name ?? "", kind, bytes: leaf?.bytes ?? 0, row: -1 };
}

// The sources of each shown row. Paths through hidden rows are contracted; duplicates are removed.
function contract(graph: Graph, shown: (row: number) => boolean): number[][] {
    const direct: number[][] = Array.from({ length: graph.rows }, () => []);
    for (let i = 0; i < graph.source.length; i++) {
        const target = graph.target[i]!;
        if (target < graph.rows && graph.source[i]! < graph.rows + graph.leaves.length) direct[target]!.push(graph.source[i]!);
    }
    const result: number[][] = [];
    for (let row = 0; row < graph.rows; row++) {
        const list = new Set<number>();
        for (const source of direct[row]!) {
            // Only earlier rows are resolved. A later source would be a cycle and is kept
            // unresolved.
            if (source < row && !shown(source)) for (const further of result[source]!) list.add(further);
            else if (source !== row && (source >= graph.rows || shown(source))) list.add(source);
        }
        result.push([...list]);
    }
    return result;
}

function cut(graph: Graph, shown: (row: number) => boolean): { blocks: Block[]; blockOf: Int32Array } {
    const blockOf = new Int32Array(graph.rows).fill(-1);
    const blocks: Block[] = [];
    const layers = new Map<number, number>();
    let last = -1;
    for (let row = graph.rows - 1; row >= 0 && last < 0; row--) if (graph.layer[row]! >= 0) last = row;
    let current = -1;
    for (let row = 0; row < graph.rows; row++) {
        if (!shown(row)) continue;
        const layer = graph.layer[row]!;
        const known = layer >= 0 ? layers.get(layer) : undefined;
        if (known !== undefined) current = known;
        else if (current < 0 || blocks[current]!.layer !== layer || layer >= 0) {
            const title = layer >= 0 ? `layer ${layer}` : last < 0 ? "graph" : layers.size === 0 ? "input" : row > last ? "output" : "between layers";
            current = blocks.length;
            blocks.push({
                key: `${title}${layer < 0 ? ` ${blocks.length}` : ""}`,
                title,
                layer,
                rows: [],
                executed: 0,
                time: 0,
                shape: undefined as unknown as Shape,
            });
            if (layer >= 0) layers.set(layer, current);
        }
        const block = blocks[current]!;
        block.rows.push(row);
        block.time += graph.time[row]!;
        if (graph.kind[row] === 0) block.executed++;
        blockOf[row] = current;
    }
    return { blocks, blockOf };
}

function readersOf(graph: Graph, all: number[][], blockOf: Int32Array): Map<number, Set<number>> {
    const readers = new Map<number, Set<number>>();
    for (let row = 0; row < graph.rows; row++) {
        if (blockOf[row]! < 0) continue;
        for (const source of all[row]!) {
            let set = readers.get(source);
            if (!set) readers.set(source, (set = new Set()));
            set.add(blockOf[row]!);
        }
    }
    return readers;
}

function shapeOf(
    graph: Graph,
    block: Block,
    blockOf: Int32Array,
    chips: Chip[][],
    sources: number[][],
    consumers: number[][],
    isPort: (row: number) => boolean,
): Shape {
    const place = new Map(block.rows.map((row, i) => [row, i]));
    const shape: Shape = { signature: "", chips: [], edges: [], memory: [], into: [], outof: [] };
    let signature = "";
    const writers = new Map<string, number>();
    block.rows.forEach((row, i) => {
        shape.chips.push(chips[row]!.length);
        signature += `;${graph.op[row]},${chips[row]!.length}`;
        let outside = false;
        for (const source of sources[row]!) {
            const from = place.get(source);
            if (from !== undefined) shape.edges.push([from, i]);
            else if (!isPort(source)) outside = true;
            if (from !== undefined) signature += `<${i - from}`;
        }
        for (const chip of chips[row]!) {
            if (chip.kind !== "kv") continue;
            const writer = writers.get(chip.name);
            if (WRITERS.has(graph.ops[graph.op[row]!]!)) writers.set(chip.name, i);
            else if (writer !== undefined) (shape.memory.push([writer, i]), (signature += `~${i - writer}`));
        }
        if (outside) (shape.into.push(i), (signature += "^"));
        if (!isPort(row) && consumers[row]!.some((reader) => blockOf[reader] !== blockOf[row])) (shape.outof.push(i), (signature += "v"));
    });
    shape.signature = signature;
    return shape;
}

// Rows that match a text, by block: ops, names of results and of what they read.
export function search(graph: Graph, blocks: Blocks, text: string): { rows: number[]; perBlock: number[] } {
    const wanted = text.trim().toLowerCase();
    const rows: number[] = [];
    const perBlock = blocks.blocks.map(() => 0);
    if (wanted === "") return { rows, perBlock };
    for (let row = 0; row < graph.rows; row++) {
        const block = blocks.blockOf[row]!;
        if (block < 0) continue;
        const texts = [graph.ops[graph.op[row]!], graph.names[row], ...blocks.chips[row]!.map((chip) => chip.name)];
        if (texts.some((t) => t?.toLowerCase().includes(wanted))) {
            rows.push(row);
            perBlock[block]!++;
        }
    }
    return { rows, perBlock };
}
