// One filter for sums, logs, heat and pictures: it selects the same ops in all of them.
import { test } from "node:test";
import assert from "node:assert/strict";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";

const directory = scratch("moe");
output(ggscope, ["run", "-q", "-m", model("moe"), "-p", "Once upon a time", "-n", "5", "-t", "2", "--no-repack", "--ignore-eos", "-o", directory]);
const json = (verb, ...options) => JSON.parse(output(ggscope, [verb, "--json", ...options, directory]));
const sum = (rows, of) => rows.reduce((all, row) => all + of(row), 0);
const all = json("log").ops;
const middle = all[Math.floor(all.length / 2)];
const weight = all.find((op) => /attn_q\.weight$/.test(op.source_name ?? ""));
const buffer = all.find((op) => op.source === "BUFFER").buffer;

const filters = {
    "a layer": ["--layer", "3"],
    "no layer": ["--layer", "none"],
    "an op, in any case": ["--op", "mul_mat"],
    "tensors by a pattern": ["--tensor", "*ffn_up_exps*"],
    "a thread": ["--thread", "1"],
    "a time": ["--since", String(all[0].begin_ns), "--until", String(middle.begin_ns)],
    "mapped files": ["--source", "disk"],
    "bytes of the file": ["--range", `${weight.file_offset}..${weight.file_offset + 4096}`],
    "a buffer": ["--buffer", String(buffer)],
    "several at once": ["--layer", "5", "--op", "MUL_MAT_ID", "--token", "2..3", "--thread", "0"],
};

for (const [name, options] of Object.entries(filters)) {
    test(`${name}: sums are those of the log's rows`, () => {
        // An op includes the nodes fused into it: any of them may have the requested bytes.
        const found = json("log", ...options).ops;
        const heads = new Map(found.map((op) => [`${op.run} ${op.fused_with ?? op.node}`, op]));
        for (const [key, op] of heads) if (op.fused_with !== null) heads.set(key, found.find((one) => `${one.run} ${one.node}` === key) ?? all.find((one) => `${one.run} ${one.node}` === key));
        const rows = [...heads.values()];
        const stats = json("stats", "--by", "op,layer,tensor", ...options);
        assert.ok(rows.length > 0 && (rows.length < all.length || name === "a thread"), `${rows.length} rows`);
        assert.equal(stats.ops, rows.length);
        assert.equal(sum(stats.by_op, (row) => row.wall_ns), sum(rows, (row) => row.duration_ns));
        assert.equal(sum(stats.by_op, (row) => row.busy_ns), sum(rows, (row) => row.busy_ns));
        assert.equal(sum(stats.by_layer, (row) => row.ops), rows.length);
        for (const one of stats.by_op) assert.equal(one.ops, rows.filter((row) => row.op === one.op).length, one.op);
        for (const one of stats.by_layer) assert.equal(one.wall_ns, sum(rows.filter((row) => row.layer === one.layer), (row) => row.duration_ns), `layer ${one.layer}`);
    });
}

test("the roofline is of the ops that are asked for", () => {
    const rows = json("log", "--layer", "3").ops.filter((op) => op.fused_with === null);
    const { by_op } = json("stats", "--roofline", "--layer", "3");
    assert.equal(sum(by_op, (row) => row.ops), rows.length);
});

test("what the recording has not is said, also by stats", () => {
    for (const [options, sentence] of [
        [["--layer", "99"], /there is no layer 99: this recording has layers 0 to 23/],
        [["--op", "MULMAT"], /this recording has no op MULMAT \(did you mean MUL_MAT\?\)/],
        [["--thread", "7"], /there is no thread 7: this recording has threads 0 to 1/],
        [["--buffer", "999"], /there is no buffer 999/],
    ])
        for (const verb of ["stats", "log"]) {
            const answer = run(ggscope, [verb, ...options, directory]);
            assert.equal(answer.status, 1, `${verb} ${options}: ${answer.stderr}`);
            assert.match(answer.stderr, sentence);
        }
});
