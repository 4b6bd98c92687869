// Shared by the tests of values on devices.
import assert from "node:assert/strict";
import { engine, ggscope, output, run } from "../lib.mjs";
import { fresh, graphs, rows } from "./traces.mjs";

// Records with --values on a device, once for every file of tests; the logits are those of a run
// that is not recorded, unless ops are not fused. The prompt is that of vulkan.test.mjs, so that a
// software device compiles its shaders for both: those for batches of more than eight tokens are
// others.
const made = new Map();
export function recorded(path, env, options = [], values = ["--values"], prompt = "Once upon") {
    const key = JSON.stringify([path, options, values, prompt]);
    if (made.has(key)) return made.get(key);
    const directory = fresh(), args = ["-m", path, "-p", prompt, "-n", "5", "-t", "2", "--ignore-eos", "--json", "--logits-hash", ...options];
    const result = run(ggscope, ["run", "-q", ...values, "-o", directory, ...args], { env });
    assert.equal(result.status, 0, result.stderr);
    const json = JSON.parse(result.stdout);
    if (!values.includes("--values-unfused")) assert.equal(json.logits_hash, JSON.parse(output(engine, ["run", ...args], { env })).logits_hash);
    made.set(key, directory);
    return directory;
}

// { op, name, backend, position, ...row } of every row, without warm-up.
export function outputs(directory) {
    const { op_values, runs, strings } = rows(directory, "op_values", "runs", "strings");
    const known = graphs(directory), run = new Map(runs.map((r) => [r.run, r]));
    return op_values.filter((v) => v.flags === 0 && run.get(v.run).phase !== 4).map((v) => {
        const node = known.get(run.get(v.run).graph)[v.node];
        return { ...v, op: node.op, name: node.name, onCpu: run.get(v.run).backend === "CPU" };
    });
}

// Hashes of the weights by name: a device holds the bytes of the model's file.
export function weights(directory) {
    const { op_values, runs } = rows(directory, "op_values", "runs"), known = graphs(directory), graphOf = new Map(runs.map((r) => [r.run, known.get(r.graph)]));
    const list = op_values.filter((v) => v.flags > 0 && v.flags < 256).map((v) => [`${graphOf.get(v.run)[v.node].sources[v.flags - 1].name} ${v.row}`, v.hash]);
    return Object.fromEntries(list.sort(([a], [b]) => (a < b ? -1 : 1)));
}

// The ops with rows, and the computed or fused ones without.
export function coverage(directory) {
    const { op_values, op_runs, runs } = rows(directory, "op_values", "op_runs", "runs");
    const known = graphs(directory), graphOf = new Map(runs.map((r) => [r.run, known.get(r.graph)])), seen = new Set(op_values.filter((v) => v.flags === 0).map((v) => `${v.run} ${v.node}`));
    const empty = /^(VIEW|RESHAPE|PERMUTE|TRANSPOSE|NONE)$/;
    return op_runs.map((op) => {
        const nodes = graphOf.get(op.run);
        let last = op.node;
        for (let left = op.absorbed; left > 0; left--) do last++; while (empty.test(nodes[last].op));
        return { op: nodes[op.node].op, last: nodes[last], read: seen.has(`${op.run} ${last}`), fused: op.absorbed > 0 };
    });
}
