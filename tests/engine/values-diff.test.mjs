// ggscope diff --values: names the first op that computes something else, and ignores rounding.
// tests/full/values.test.mjs has many more cases.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, ggscope, model, output, run, scratch } from "../lib.mjs";
import { loadedVariant, wholeEngine } from "../variant.mjs";
import { compared, first, prompt, recorded } from "./plants.mjs";
import { rows } from "./traces.mjs";

const dense = model("tiny", "--layers", "7"), moe = model("moe", "--layers", "6");
const low = "x64", best = loadedVariant(wholeEngine).name;

for (const [path, plant, variant, expected] of [
    [dense, "flip,17,^MUL_MAT:ffn_out-3$", "haswell", "MUL_MAT:ffn_out-3 error"],
    [dense, "flip,17,^MUL_MAT:ffn_out-3$", low, "MUL_MAT:ffn_out-3 error"],
    [dense, "nan,5,^FLASH_ATTN_EXT:.Qcur-5", low, "FLASH_ATTN_EXT:(Qcur-5) nan"],
    [dense, "inf,4,^MUL_MAT:ffn_up-1$", "haswell", "MUL_MAT:ffn_up-1 inf"],
    [dense, "turn,0.05,^ROPE:Qcur-0$", low, "ROPE:Qcur-0 error"],
    [dense, "scale,1.02,^MUL_MAT:Vcur-4$", "haswell", "MUL_MAT:Vcur-4 same"],
    [dense, "scale,1.02,^MUL_MAT:Vcur-4$", low, "MUL_MAT:Vcur-4 bias"],
    [dense, "epsilon,0.01,^MUL:attn_norm-4$", low, "MUL:attn_norm-4 error"],
    [dense, "shift,0,^SET_ROWS:cache_k_l3", low, "SET_ROWS:cache_k_l3 error"],
    [moe, "expert,3,^MUL_MAT_ID:ffn_moe_up-4$", low, "MUL_MAT_ID:ffn_moe_up-4 error"],
])
    test(`planted: ${plant} on ${variant}`, () => {
        const answer = compared(recorded(path), recorded(path, { plant, variant }));
        assert.deepEqual([answer.status, first(answer)], [1, expected]);
        assert.equal(answer.wrong_ops, answer.wrong.length);
        const { first: event, rule } = answer.wrong[0];
        if (rule === "error") assert.ok(event.error > event.allowed && event.allowed >= 0);
    });

test("a weight that differs is named as the weight's", () => {
    const path = model("tiny", "--layers", "4", "--types", "f16"), { tensors } = JSON.parse(output(ggscope, ["gguf", "--json", path]));
    const changed = (name, tensor, change) => {
        const copy = scratch(name), bytes = readFileSync(path), { offset_start, dtype, shape } = tensors.find((t) => t.name === tensor);
        assert.deepEqual([dtype, shape.length], ["f32", 1]);
        for (let i = 0; i < shape[0]; i++) bytes.writeFloatLE(change(bytes.readFloatLE(offset_start + 4 * i), i), offset_start + 4 * i);
        writeFileSync(copy, bytes);
        return recorded(copy);
    };
    const a = recorded(path), scaled = changed("scaled.gguf", "blk.2.attn_norm.weight", (x) => 1.02 * x);
    const answer = compared(a, scaled);
    assert.deepEqual([answer.status, first(answer), answer.wrong[0].weight, answer.wrong_ops], [1, "MUL:attn_norm-2 weight", "blk.2.attn_norm.weight", 1]);
    assert.ok(Math.abs(answer.wrong[0].first.error / 0.02 - 1) < 0.5);
    const text = run(ggscope, ["diff", "--values", a, scaled]);
    assert.equal(text.status, 1);
    assert.match(text.stdout, /^wrong     MUL attn_norm-2, position 0, in \d+ of \d+ tokens\n          the weight itself differs: blk.2.attn_norm.weight\n            error 0.02; its types explain 0\n/m);
    const nan = compared(a, changed("nan-weight.gguf", "blk.1.ffn_norm.weight", (x, i) => (i === 5 ? NaN : x)));
    assert.deepEqual([nan.status, first(nan), nan.wrong[0].weight, nan.wrong[0].first.not_finite, nan.wrong_ops], [1, "MUL:ffn_norm-1 weight", "blk.1.ffn_norm.weight", 1, 1]);
});

// Errors between recorded outputs are estimated: chosen experts, lengths and scales of unread
// outputs are unknown.
test("outputs that were left out: no alarm without a bug, and a bug is named at what was read", () => {
    for (const seed of ["20", "25"]) {
        const path = model("tiny", "--arch", "qwen3moe", "--layers", "3", "--experts", "16", "--experts-used", "4", "--types", "q8_0", "--seed", seed);
        const b = ["--values=logits|probs|swiglu|ffn_norm|ffn_inp|weights|down|l_out"], a = recorded(path, { values: [`${b[0]}|argsort|topk`] });
        assert.equal(first(compared(a, recorded(path, { variant: low, values: b }))), "");
        const bug = compared(a, recorded(path, { values: b, plant: "flip,17,^GLU:ffn_moe_swiglu-1$" }));
        assert.match(first(bug), /^GLU:ffn_moe_swiglu-1 /);
    }
});

test("another model is told by its first weight", () => {
    const answer = compared(recorded(dense), recorded(model("tiny", "--layers", "7", "--seed", "2")));
    assert.deepEqual([answer.status, first(answer), answer.wrong[0].weight], [1, "GET_ROWS:embd weight", "token_embd.weight"]);
});

for (const [path, a, b] of [
    [dense, {}, {}], [dense, {}, { options: ["-t", "1"] }], [dense, {}, { options: ["--ubatch", "5"] }], [dense, {}, { options: ["--ubatch", "1"] }],
    [dense, {}, { options: ["--flash-attn", "off"] }], [dense, {}, { options: ["--no-repack"] }], [dense, {}, { kv: 8 }],
    [dense, { variant: best }, { variant: low }], [moe, {}, { variant: low }], [moe, {}, { options: ["--ubatch", "8"] }],
])
    test(`no bug: ${path === moe ? "moe" : "dense"} ${JSON.stringify(a)} ${JSON.stringify(b)}`, () => {
        const answer = compared(recorded(path, a), recorded(path, b));
        assert.deepEqual([answer.status, first(answer)], [0, ""]);
        assert.ok(answer.tokens >= 25 && answer.ops > 100 && answer.outputs > 2500);
        if (b.options?.[0] === "-t") assert.equal(answer.outputs_equal, answer.outputs);
    });

test("a context that computes nothing, of the model loaded twice, does not count: releases differ in these", () => {
    const [a, b] = ["generate", "unused"].map((mode) => recorded(model("tiny", "--layers", "3"), { program: [join(build, "tests", "host"), mode] }));
    const answer = compared(a, b);
    assert.deepEqual([answer.status, first(answer), answer.ops_only_a, answer.ops_only_b], [0, "", 0, 0]);
    assert.ok(answer.outputs > 100);
});

test("recordings that have nothing in common are not taken for equal", () => {
    const [a, b] = ["^GLU:", "^ADD:"].map((some) => recorded(dense, { values: [`--values=${some}`] })), { status, stdout, stderr } = run(ggscope, ["diff", "--values", a, b]);
    assert.deepEqual([status, stdout], [1, ""]);
    assert.match(stderr, /nothing was compared: .* have values of no op and token in common/);
});

// What a server does: slots with a cache each, so attention has sequences in a dimension of its
// own; decodes that want no output, whose last nodes have no elements; kept prefixes; a draft
// model, which has the same names as its target.
for (const [pattern, ...draft] of [["slots-apart"], ["cached"], ["draft", model("tiny", "--layers", "2")]])
    test(`a server, ${pattern}: no bug, and one in the last layer`, () => {
        const path = model("tiny", "--layers", "3"), with_ = { program: [join(build, "tests", "server-host"), pattern], options: draft };
        const a = recorded(path, with_), seen = rows(a, "op_values", "op_runs"), read = new Set(seen.op_values.filter((v) => v.flags === 0).map((v) => `${v.run} ${v.node}`));
        assert.ok(seen.op_values.every((v) => v.flags !== 0 || v.position >= 0), "every row is a token's");
        assert.deepEqual(seen.op_runs.filter((op) => op.absorbed === 0 && !read.has(`${op.run} ${op.node}`)), []);
        const clean = compared(a, recorded(path, { ...with_, variant: low }));
        assert.deepEqual([clean.status, first(clean), clean.ops_only_a], [0, "", 0]);
        const bug = compared(a, recorded(path, { ...with_, plant: "flip,17,^MUL_MAT:ffn_out-2$" }));
        assert.match(first(bug), /^MUL_MAT:ffn_out-2 /);
        if (draft.length === 0) return;
        // Only the draft model selects its outputs in layer 1.
        const b = recorded(path, { ...with_, plant: "flip,17,^GET_ROWS:.attn_out-1" }), { status, stdout } = run(ggscope, ["diff", "--values", a, b]);
        assert.equal(status, 1);
        assert.match(stdout, /^wrong     GET_ROWS \(attn_out-1\) of model 2, /m);
        assert.match(stdout, /^next      ggscope extract .* 'GET_ROWS:\(attn_out-1\)@2' -o op.gguf$/m);
    });

test("what the wrong ones have in common, and what to type next", () => {
    const a = recorded(dense), b = recorded(dense, { plant: "odd,1.5,^MUL_MAT:ffn_up-[2-5]$" });
    const { status, stdout } = run(ggscope, ["diff", "--values", a, b]);
    assert.equal(status, 1);
    assert.match(stdout, /^wrong     MUL_MAT ffn_up-2, position 1, in \d+ of \d+ tokens\n          more than rounding and its inputs explain\n            error 0\.\d+, inputs 0; these and rounding explain 0\.\d+$/m);
    assert.match(stdout, /^more      3 more ops$/m);
    assert.match(stdout, /^common    all are MUL_MAT ffn_up- of their layers\n          only tokens from position 1 on$/m);
    assert.ok(stdout.endsWith(`next      ggscope extract ${b} 'MUL_MAT:ffn_up-2' -o op.gguf\n`), stdout);
});

test("differences that heal are another meaning", () => {
    // A quantised cache is rotated: K, V and the attention's output differ by design.
    const answer = compared(recorded(dense), recorded(dense, { kv: 8 }));
    const off = answer.by_op.filter((op) => op.verdict === "other meaning");
    assert.equal(answer.ops_other_meaning, off.length);
    assert.ok(off.some((op) => op.name === "cache_k_l3"), off.map((op) => op.key).join(" "));
    const planted = compared(recorded(dense), recorded(dense, { kv: 8, plant: "flip,17,^MUL_MAT:ffn_out-3$" }));
    assert.equal(first(planted), "MUL_MAT:ffn_out-3 error");
});

test("a gate: status, conditions, JUnit and Markdown", () => {
    const a = recorded(dense), b = recorded(dense, { plant: "flip,17,^MUL_MAT:ffn_out-3$" }), junit = scratch("junit.xml");
    const bad = run(ggscope, ["diff", "--values", "--markdown", "--junit", junit, "--fail-if", "unseen != 0", a, b]);
    assert.equal(bad.status, 1);
    assert.match(bad.stdout, /\| MUL_MAT `ffn_out-3` \|/);
    assert.match(readFileSync(junit, "utf8"), /tests="2" failures="1"[^]*name="wrong_ops &gt; 0">\n    <failure message="[^"]*first MUL_MAT ffn_out-3 at position/);
    const good = run(ggscope, ["diff", "--values", "--junit", junit, a, recorded(dense, { options: ["-t", "1"] })]);
    assert.equal(good.status, 0);
    assert.match(readFileSync(junit, "utf8"), /tests="1" failures="0"/);
});

test("without values, without a common token: one sentence", () => {
    const a = recorded(dense), none = scratch("none");
    assert.equal(run(ggscope, ["run", "-q", "-o", none, "-m", dense, "-p", prompt, "-n", "1"]).status, 0);
    for (const [x, y, said] of [[a, none, /B has no values of ops: record it again with --values/], [none, a, /A has no values of ops/], [a, recorded(dense, { text: "7 8 9", options: ["--ubatch", "1"] }), null]]) {
        const { status, stderr, stdout } = run(ggscope, ["diff", "--values", x, y]);
        if (said) assert.deepEqual([status, stdout, said.test(stderr)], [1, "", true], stderr);
        else assert.match(stdout, /^texts     part at position \d+: what follows is not compared/m);
    }
});

test("B is fed the text of A", () => {
    const a = recorded(dense, { tokens: 8 }), b = scratch("taught"), other = recorded(dense, { text: "7 8 9" });
    const taught = run(ggscope, ["run", "-q", "--values", "--teacher", a, "-m", dense, "-o", b, "--ubatch", "4"]);
    assert.equal(taught.status, 0, taught.stderr);
    const answer = compared(a, b), { tokens } = compared(a, a);
    assert.deepEqual([answer.status, answer.tokens, answer.tokens_only_a, answer.parted_position], [0, tokens, 0, null]);
    assert.ok(compared(a, other).tokens_only_a > 0);
    for (const [options, status, said] of [
        [["--teacher", a, "-p", "x"], 2, /-p, -f and --teacher exclude each other/],
        [["--teacher", scratch("nowhere")], 1, /cannot open the experiment .*nowhere/],
    ]) {
        const refused = run(ggscope, ["run", "-m", dense, "-o", scratch("refused"), ...options]);
        assert.deepEqual([refused.status, said.test(refused.stderr)], [status, true], refused.stderr);
    }
});
