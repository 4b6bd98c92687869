import { expect, test } from "vitest";
import type { GraphAnswer, ModelMap } from "../api";
import { find, itemsOf } from "./search-items";

const items = itemsOf({
    steps: { rows: 2, first: [0, 1], last: [0, 1], begin: [0, 5], end: [5, 9], phase: [1, 2], texts: ["Once upon", " time"], base: 0 },
    map: {
        files: [],
        tensors: { name: [null, "blk.0.attn_q.weight", "blk.1.ffn_up_exps.weight"], type: [null, "q4_K", "q4_K"], shape: [[], [8, 8], [8, 8, 4]], experts: [0, 0, 4] },
    } as unknown as ModelMap,
    graph: { token: 1, runs: [], graphs: [{ run: 7, graph: 1, backend: "CPU", nodes: [{ node: 3, op: "MUL_MAT", name: "Qcur-0", state: "executed" }, { node: 4, op: "VIEW", name: "Qcur-0 (view)", state: "empty" }], leaves: [], edges: [] }] } as unknown as GraphAnswer,
    ops: ["MUL_MAT", "ADD"],
    layers: 12,
    lanes: [{ lane: 0, label: "CPU thread 0" }],
});
const names = (text: string) => find(items, text, 50).found.map((item) => item.name);

test("the name itself comes first, then what begins with it", () => {
    expect(names("layer 1").slice(0, 3)).toEqual(["layer 1", "layer 10", "layer 11"]);
    expect(names("mul_mat")).toEqual(["MUL_MAT", "Qcur-0"]);
    expect(names("time")[0]).toBe("token 1");
    expect(names("attn q4")).toEqual(["blk.0.attn_q.weight"]);
    expect(names("expert 3")).toEqual(["expert 3"]);
    expect(names("nothing like it")).toEqual([]);
});

test("names are ranked by the words that were typed", () => {
    const tensors = ["blk.13.ffn_down.weight", "blk.30.ffn_down.weight", "blk.3.ffn_down.weight", "blk.3.ffn_down_shexp.weight"].map((name) => ({ kind: "tensor" as const, name, more: "q4_K 3 × 3", selects: {} }));
    expect(find(tensors, "ffn down 3", 9).found.map((item) => item.name)).toEqual(["blk.3.ffn_down.weight", "blk.3.ffn_down_shexp.weight", "blk.30.ffn_down.weight", "blk.13.ffn_down.weight"]);
});

test("what is found can be selected; what was not computed is no op", () => {
    expect(find(items, "Qcur", 5).found).toEqual([{ kind: "op", name: "Qcur-0", more: "MUL_MAT, token 1", selects: { op: { run: 7, node: 3 } } }]);
    expect(find(items, "token 0", 5).found[0]!.selects).toEqual({ tokens: [0, 0] });
    expect(find(items, "", 3).total).toBe(items.length);
});
