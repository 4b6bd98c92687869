// Programs that have an engine inside and no symbols: a stand-in for ggml (stripped-host.c), stripped. Graph runs are seen by the backends
// that the program makes; what cannot be proved is refused.
import { test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { ggscope, output, root, run, scratch } from "../lib.mjs";
import { rows } from "./traces.mjs";

const only = process.arch === "x64" ? {} : { skip: `entries of functions are hooked on x64 alone, this is ${process.arch}` };
const source = join(root, "tests", "engine", "stripped-host.c");
const has = (program) => run("sh", ["-c", `command -v ${program}`]).status === 0;
scratch();

let counter = 0;
function build(compiler, ...options) {
    const file = scratch(`host-${counter++}`);
    output(compiler, ["-o", file, source, ...options, "-lpthread"]);
    output("objcopy", ["--strip-all", file]);
    return file;
}
function record(file) {
    const directory = scratch(`experiment-${counter++}`);
    return { directory, ...run(ggscope, ["record", "-o", directory, "--", file]) };
}
const program = (file) => JSON.parse(run(ggscope, ["doctor", "--json", file]).stdout).checks.filter((check) => check.topic === "program");

// Graph runs with all their nodes, tokens, and op runs of thread 0.
function assertRecorded(file, { executed, absorbed }) {
    const plain = output(file), { directory, status, stdout, stderr } = record(file);
    assert.equal(status, 0, stderr);
    assert.equal(stdout, plain);
    assert.match(stderr, /^threads +only the first was seen in 4 of 4 graph runs/m);
    const totals = JSON.parse(output(ggscope, ["stats", "--json", directory]));
    assert.deepEqual([totals.runs, totals.runs_of_first_thread, totals.nodes, totals.executed, totals.absorbed, totals.empty, totals.unseen, totals.opaque, totals.lost, totals.threads],
        [4, 4, 32, executed, absorbed, 4, 0, 0, 0, 2]);
    const checks = JSON.parse(run(ggscope, ["check", "--json", directory]).stdout).checks;
    assert.deepEqual(checks.filter((check) => check.result === "FAIL"), []);
    const recorded = rows(directory, "tokens", "op_runs", "runs");
    assert.deepEqual(recorded.tokens.map(({ step, token, position }) => [step, token, position]), [[0, 0, 0], [0, 1, 1], [0, 2, 2], [1, 3, 3], [2, 4, 4], [3, 5, 5]]);
    for (const one of recorded.op_runs) assert.ok(one.thread === 0 && (one.flags & 8) !== 0 && (one.flags & 1) !== 0, "it has an end, and no wait");
    for (const one of recorded.runs) assert.ok(one.backend === "CPU" && one.threads === 2 && (one.flags & 32) !== 0);
    return directory;
}

for (const [compiler, ...options] of [["gcc", "-O1"], ["gcc", "-O2"], ["gcc", "-O3", "-march=x86-64-v2"], ["gcc", "-Os"], ["gcc", "-O2", "-no-pie"],
    ["gcc", "-O2", "-fcf-protection=full", "-fno-omit-frame-pointer"], ["clang", "-O2"], ["clang", "-O2", "-no-pie"]])
    test(`${compiler} ${options.join(" ")}`, only, (t) => {
        if (!has(compiler)) return t.skip(`there is no ${compiler}`);
        const file = build(compiler, ...options);
        assertRecorded(file, { executed: 24, absorbed: 4 });
        assert.ok(program(file).some((check) => check.level === "warn" && /\(which is stripped\): graph runs of the CPU with all their nodes, tokens, and the ends of ops on the first thread are seen; waits, other threads and buffers are not/.test(check.text)));
    });

test("a release that visits empty nodes and fuses none", only, () => {
    assertRecorded(build("gcc", "-O2", "-DSKIPS_NOTHING"), { executed: 28, absorbed: 0 });
});

test("an engine that is laid out in another way: one sentence, and the program runs on", only, () => {
    for (const [option, sentence] of [["-DOTHER_BACKEND", /its CPU backend is not laid out as expected/], ["-DOTHER_TENSOR", /its graphs are not laid out as expected/]]) {
        const file = build("gcc", "-O2", option), { status, stdout, stderr } = record(file);
        assert.equal(stdout, output(file));
        assert.equal(status, 1);
        assert.match(stderr, sentence);
    }
});

test("a program that asks whether to go on is asked, and stops where it stops", only, () => {
    const file = build("gcc", "-O2", "-DABORTS"), { status, stdout, directory } = record(file);
    assert.equal(stdout, output(file));
    assert.equal(status, 0);
    const totals = JSON.parse(output(ggscope, ["stats", "--json", directory]));
    assert.deepEqual([totals.runs, totals.unseen, totals.cut > 0], [4, 0, true]);
});
