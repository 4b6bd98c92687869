// A slice of AArch64 in an emulator: programs and libraries compile, unit tests of what runs inside programs and stored traces pass, and
// a recording of the stock engine is whole. All of it is in tests/full/aarch64.test.mjs.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output, root, scratch } from "../lib.mjs";
import { compile, cross, prepare, runUnitTest, tree, treeWorks } from "../aarch64.mjs";
import { check, fresh, rows } from "./traces.mjs";

const why = prepare();
const options = why ? { skip: why } : {};
// What depends on the machine: clocks, signals, memory, layouts of other libraries. Stored traces go through the rest.
const chosen = ["base", "batches", "buffers", "code", "copies", "device", "fault-context", "graphs", "journal", "observe", "pages", "resolve", "values"].map((name) => `test-${name}`);
const folder = join(root, "build", "aarch64-slice"), program = (name) => join(folder, "bin", name);
let compiled = false;

test("programs and libraries compile", options, () => {
    // Quickly: what the compiler makes of it with optimisation is for the whole test.
    compile(folder, ["ggscope", "ggscope-engine", "ggscope-capture", "ggscope-stream", ...chosen], "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O0", "-DGGSCOPE_WERROR=OFF");
    compiled = true;
});

test("unit tests", options, async (t) => {
    assert.ok(compiled);
    for (const name of chosen) await t.test(name, () => void runUnitTest(folder, name));
});

test("a synthetic model is the same bytes on both machines", options, () => {
    assert.ok(compiled);
    const there = scratch("there.gguf"), here = model("tiny", "--layers", "2");
    output(join(cross, "run"), [program("ggscope-engine"), "synth", "tiny", "--layers", "2", "-o", there]);
    assert.ok(readFileSync(there).equals(readFileSync(here)));
});

const inTree = why ? options : treeWorks() ? {} : { skip: "this kernel does not let a namespace have a binfmt_misc of its own (6.7 and newer do)" };

test("stored traces say the same", inTree, () => {
    assert.ok(compiled);
    const { status, stdout } = tree(["node", "--test-reporter=tap", join(root, "tests", "golden", "golden.test.mjs")], { env: { ...process.env, GGSCOPE_BUILD: folder } });
    assert.equal(status, 0, stdout);
    assert.match(stdout, /^# pass [1-9]/m);
});

test("a recording of the stock engine: nothing cut off, the same logits, every page proved", inTree, () => {
    assert.ok(compiled);
    const words = ["-m", model("tiny", "--layers", "2"), "-p", "Once upon", "-n", "2", "-t", "1", "--no-repack", "--ignore-eos", "--json", "--logits-hash"];
    const directory = fresh();
    const recorded = tree([program("ggscope"), "run", "-q", "--prove", "-o", directory, ...words]), plain = tree([program("ggscope-engine"), "run", ...words]);
    assert.equal(recorded.status, 0, recorded.stderr);
    assert.equal(plain.status, 0, plain.stderr);
    assert.equal(JSON.parse(recorded.stdout).logits_hash, JSON.parse(plain.stdout).logits_hash);
    check(directory); // by this machine's own program
    const { runs, op_runs } = rows(directory, "runs", "op_runs");
    assert.equal(runs.length, 2);
    assert.deepEqual(runs.map((r) => [r.unseen, r.cut]), runs.map(() => [0, 0]));
    assert.equal(op_runs.filter((o) => (o.flags & 1) === 0).length, 0, "op runs without an end");
    const proof = JSON.parse(output(ggscope, ["prove", "--json", directory]));
    assert.deepEqual([proof.recall, proof.unpredicted_pages, proof.lost_ops], [1, 0, 0]);
    assert.ok(proof.pages_touched > 100);
});
