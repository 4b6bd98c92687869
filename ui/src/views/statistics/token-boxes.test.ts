import { expect, test } from "vitest";
import type { LogRow } from "../../api";
import { boxesOf, componentOf, type Leaf, leavesOf } from "./token-boxes";

const leaf = (token: number, layer: number | null, name: string, op: string, duration_ns: number, bytes: number): Leaf => ({ token, layer, component: componentOf(name), op, name, run: 1, node: 0, duration_ns, bytes });

test("boxes lie within those above them and share out all of it", () => {
    const boxes = boxesOf([leaf(1, 0, "Qcur-0", "MUL_MAT", 60, 10), leaf(1, 0, "Kcur-0", "MUL_MAT", 20, 30), leaf(1, 1, "ffn_up-1", "MUL_MAT", 20, 60)], "time");
    expect(boxes.map((box) => [box.depth, box.name, box.from, Number(box.to.toFixed(6)), box.ns])).toEqual([
        [0, "token 1", 0, 1, 100],
        [1, "layer 0", 0, 0.8, 80],
        [2, "attention", 0, 0.8, 80],
        [3, "MUL_MAT", 0, 0.6, 60],
        [3, "MUL_MAT", 0.6, 0.8, 20],
        [1, "layer 1", 0.8, 1, 20],
        [2, "FFN", 0.8, 1, 20],
        [3, "MUL_MAT", 0.8, 1, 20],
    ]);
    expect(boxesOf([leaf(1, 0, "Qcur-0", "MUL_MAT", 60, 10), leaf(1, 1, "ffn_up-1", "MUL_MAT", 20, 30)], "bytes").filter((box) => box.depth === 1).map((box) => box.to)).toEqual([0.25, 1]);
    expect(boxesOf([], "time")).toEqual([]);
});

test("another layer of the same name begins a new box below a new one", () => {
    const boxes = boxesOf([leaf(1, null, "norm", "RMS_NORM", 1, 1), leaf(2, null, "norm", "RMS_NORM", 1, 1)], "time");
    expect(boxes.filter((box) => box.depth === 1).length).toBe(2);
});

test("bytes of what was fused into an op are the op's", () => {
    const row = (node: number, fused_with: number | null, duration_ns: number | null) => ({ run: 1, node, fused_with, duration_ns, token: 1, layer: 0, op: "X", name: "norm-0", bytes_read: 10, bytes_written: 1 }) as unknown as LogRow;
    expect(leavesOf([row(0, null, 5), row(1, 0, 0), row(2, null, 7), row(3, null, null)]).map((leaf) => [leaf.node, leaf.bytes])).toEqual([
        [0, 22],
        [2, 11],
    ]);
});
