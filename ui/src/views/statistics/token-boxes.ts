// Boxes of token, layer, component and op, as wide as their time or bytes, computed from the log's
// rows.
import type { LogRow } from "../../api";

export interface Leaf {
    token: number | null;
    layer: number | null;
    component: string;
    op: string;
    name: string;
    run: number;
    node: number;
    duration_ns: number;
    bytes: number;
}

export interface Box {
    depth: number;
    name: string;
    key: string;
    from: number; // of all, 0 to 1
    to: number;
    ns: number;
    bytes: number;
    leaf: Leaf | null;
    token: number | null;
    layer: number | null;
}

// The log's rows as leaves. A node that was fused into an op has no time; its bytes count for the
// op.
export function leavesOf(rows: readonly LogRow[]): Leaf[] {
    const leaves: Leaf[] = [];
    for (const row of rows) {
        const bytes = row.bytes_read + row.bytes_written;
        const last = leaves[leaves.length - 1];
        if (row.fused_with !== null) {
            if (last && last.run === row.run && last.node === row.fused_with) last.bytes += bytes;
        } else if (row.duration_ns !== null) leaves.push({ token: row.token, layer: row.layer, component: componentOf(row.name), op: row.op, name: row.name, run: row.run, node: row.node, duration_ns: row.duration_ns, bytes });
    }
    return leaves;
}

// The component of the model, derived from the name of a result.
export function componentOf(name: string): string {
    const plain = name.replace(/ \(.*\)$/, "").replace(/-\d+$/, "");
    if (/^(attn|Q|K|V|q|k|v|kq|cache|rope|kqv|node_|__fattn__)/.test(plain)) return "attention";
    if (/moe|exp/.test(plain)) return "experts";
    if (/^(ffn|gate|up|down)/.test(plain)) return "FFN";
    if (/norm/.test(plain)) return "norm";
    if (/^(result|output|logits)/.test(plain)) return "output";
    if (/^(inp|embd|tok)/.test(plain)) return "input";
    return "other";
}

// Boxes in order of execution; children lie within their parent. Neighbours with the same name are
// merged.
export function boxesOf(leaves: readonly Leaf[], by: "time" | "bytes"): Box[] {
    const weight = (leaf: Leaf) => (by === "time" ? leaf.duration_ns : leaf.bytes);
    const all = leaves.reduce((sum, leaf) => sum + weight(leaf), 0);
    if (all <= 0) return [];
    const boxes: Box[] = [];
    const open: (Box | null)[] = [null, null, null];
    let at = 0;
    leaves.forEach((leaf, i) => {
        const [from, to] = [at, at + weight(leaf) / all];
        at = to;
        const path = [leaf.token === null ? "no token" : `token ${leaf.token}`, leaf.layer === null || leaf.layer < 0 ? "no layer" : `layer ${leaf.layer}`, leaf.component];
        let isSame = true;
        path.forEach((name, depth) => {
            const held = open[depth];
            isSame &&= held !== null && held !== undefined && held.name === name;
            if (isSame) {
                held!.to = to;
                held!.ns += leaf.duration_ns;
                held!.bytes += leaf.bytes;
                return;
            }
            const box: Box = { depth, name, key: `${depth} ${i}`, from, to, ns: leaf.duration_ns, bytes: leaf.bytes, leaf: null, token: leaf.token, layer: depth > 0 ? leaf.layer : null };
            boxes.push(box);
            open[depth] = box;
        });
        boxes.push({ depth: 3, name: leaf.op, key: `3 ${i}`, from, to, ns: leaf.duration_ns, bytes: leaf.bytes, leaf, token: leaf.token, layer: leaf.layer });
    });
    return boxes;
}
