// A part of the AArch64 tests in an emulator: programs and libraries compile, unit tests of code
// inside programs and stored traces pass, and recordings of the stock engine and of programs with
// an engine inside are complete.
// tests/full/aarch64.test.mjs has all of it.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, ggscope, model, output, root, scratch } from "../lib.mjs";
import { compile, cross, prepare, runUnitTest, tree, treeWorks } from "../aarch64.mjs";
import * as inside from "./inside.mjs";
import { check, fresh, rows } from "./traces.mjs";

const why = prepare();
const options = why ? { skip: why } : {};
// Tests of what depends on the machine: clocks, signals, memory, layouts. Stored traces cover the
// rest.
const chosen = ["base", "batches", "buffers", "code", "code-aarch64", "copies", "device", "fault-context", "graphs", "journal", "observe", "pages", "resolve", "values"].map((name) => `test-${name}`);
const folder = join(root, "build", "aarch64-slice"), program = (name) => join(folder, "bin", name);
let compiled = false;

test("programs and libraries compile", options, () => {
    // Without optimisation, which the full test covers.
    compile(folder, ["ggscope", "ggscope-engine", "ggscope-capture", "ggscope-stream", ...chosen], "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O0", "-DGGSCOPE_WERROR=OFF", `-DGGSCOPE_PAGE=${join(build, "ui-assets.c")}`);
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
    const { NODE_TEST_CONTEXT, ...env } = process.env; // set by node --test, for its own children
    const { status, stdout } = tree(["node", "--test-reporter=tap", join(root, "tests", "golden", "golden.test.mjs")], { env: { ...env, GGSCOPE_BUILD: folder } });
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
    check(directory); // by this machine's program
    const { runs, op_runs } = rows(directory, "runs", "op_runs");
    assert.equal(runs.length, 2);
    assert.deepEqual(runs.map((r) => [r.unseen, r.cut]), runs.map(() => [0, 0]));
    assert.equal(op_runs.filter((o) => (o.flags & 1) === 0).length, 0, "op runs without an end");
    const proof = JSON.parse(output(ggscope, ["prove", "--json", directory]));
    assert.deepEqual([proof.recall, proof.unpredicted_pages, proof.lost_ops], [1, 0, 0]);
    assert.ok(proof.pages_touched > 100);
});

const machine = { run: (command) => tree(command), ggscope: program("ggscope") };
const gcc = ["aarch64-linux-gnu-gcc", `--sysroot=${join(cross, "sysroot")}`, "-O2"];

test("a program with an engine inside: registers that callers rely on survive the hooks", inTree, () => {
    assert.ok(compiled);
    const file = inside.compileHost("inside-host.c", scratch("inside"), ...gcc, "-mno-outline-atomics");
    inside.assertKeepsRegisters("aarch64-linux-gnu-objdump", file);
    inside.assertRecorded(machine, file);
    inside.assertHooked(machine, file);
});

// The C library's own files for the beginning of a program have no landing pads.
test("an addon of signed return addresses and guarded pages: its landing pads stay", inTree, () => {
    assert.ok(compiled);
    const addon = inside.compileHost("inside-host.c", scratch("guarded.bare"), ...gcc, "-mbranch-protection=standard", "-mno-outline-atomics", "-nostartfiles", "-shared", "-fPIC",
        "-fvisibility=hidden", "-Wl,-z,force-bti");
    writeFileSync(scratch("loader.c"), inside.loader);
    output(gcc[0], [...gcc.slice(1), "-o", scratch("loader"), scratch("loader.c")]);
    inside.assertRecorded(machine, scratch("loader"), addon);
});

test("a stripped program with an engine inside", inTree, () => {
    assert.ok(compiled);
    const file = inside.compileHost("stripped-host.c", scratch("stripped"), ...gcc, "-s");
    inside.assertRecordedInPart(machine, file, { executed: 24, absorbed: 4 });
    inside.assertInPart(machine, file, "(which is stripped)");
});

test("attaching is refused with one sentence", inTree, () => {
    assert.ok(compiled);
    const { status, stderr } = tree([program("ggscope"), "attach", "1"]);
    assert.equal(status, 1);
    assert.equal(stderr, "ggscope: ggscope attach is made for x86-64: start the program with ggscope record\n");
});
