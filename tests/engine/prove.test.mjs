// Page truth: the pages that ops touched according to the hardware, compared with the trace.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { build, engine, ggscope, model, output, run } from "../lib.mjs";
import { check, experiment, fresh, host, jsonLines, rows } from "./traces.mjs";

const tiny = model("tiny");
const shifted = join(build, "tests", "prove-shifted");

// Records with --prove, which must not change the engine's output.
function prove(path, ...options) {
    const directory = fresh();
    const words = ["-m", path, "-p", "Once upon a time", "-n", "3", "--no-repack", "--ignore-eos", "--json", "--logits-hash", ...options];
    const recorded = run(ggscope, ["run", "-q", "--prove", "-o", directory, ...words]);
    assert.equal(recorded.status, 0, recorded.stderr);
    const { text, logits_hash: hash } = JSON.parse(recorded.stdout);
    const plain = JSON.parse(output(engine, ["run", ...words]));
    assert.deepEqual({ text, hash }, { text: plain.text, hash: plain.logits_hash });
    return { directory, stderr: recorded.stderr };
}

function proof(directory, program = ggscope) {
    const result = run(program, ["prove", "--json", directory]);
    assert.notEqual(result.stdout, "", result.stderr);
    return { status: result.status, ...JSON.parse(result.stdout) };
}

function assertProved(directory) {
    const answer = proof(directory);
    assert.equal(answer.recall, 1);
    assert.ok(answer.precision >= 0.99, `precision ${answer.precision}`);
    assert.deepEqual([answer.status, answer.unpredicted_pages, answer.incomplete_ops, answer.lost_ops], [0, 0, 0, 0]);
    assert.ok(answer.pages_touched > 1000);
    for (const what of ["ops", "pages_predicted", "pages_touched", "pages_both"])
        assert.equal(answer.by_op.reduce((sum, row) => sum + row[what], 0), answer[what], what);
    return answer;
}

for (const [name, ...options] of [["tiny"], ["tiny", "-t", "1"], ["tiny --layers 2", "-t", "3"], ["moe"], ["tinyllama-1.1b --layers 3"], ["tiny", "--batch", "2"]]) {
    test(`every page that an op touches is one that was predicted: ${[name, ...options].join(" ")}`, () => {
        const { directory } = prove(model(...name.split(" ")), ...options);
        const answer = assertProved(directory);
        const names = answer.by_op.map((row) => row.op);
        for (const op of ["MUL_MAT", "RMS_NORM", "GET_ROWS", ...(name === "moe" ? ["MUL_MAT_ID"] : [])]) assert.ok(names.includes(op), op);
        check(directory);
        assert.equal(experiment(directory).settings.prove, true, "the trace is marked");
    });
}

for (const arch of ["gpt2", "gemma3", "qwen3moe", "deepseek2"])
    test(`architectures that wire things differently: ${arch}`, () => void assertProved(prove(model("tiny", "--arch", arch, "--layers", "8")).directory));

test("the sparse ops touch no more than their rows and experts", () => {
    const { directory } = prove(model("moe"), "-n", "2");
    const answer = assertProved(directory);
    const experts = answer.by_op.find((row) => row.op === "MUL_MAT_ID");
    const { tensors, processes: [{ page_size: page }] } = rows(directory, "tensors", "processes");
    const whole = tensors.filter((t) => /ffn_.*_exps\.weight$/.test(t.name)).reduce((sum, t) => sum + t.nb3 / page, 0);
    assert.ok(experts.pages_touched < whole, `${experts.pages_touched} of ${whole} pages in two token steps`);
});

test("a wrong prediction is caught", () => {
    const { directory } = prove(tiny);
    const answer = proof(directory, shifted), right = proof(directory);
    assert.equal(right.status, 0);
    assert.equal(answer.status, 1);
    assert.ok(answer.recall < 1 && answer.precision < 1);
    assert.equal(answer.unpredicted_pages, answer.unpredicted.reduce((sum, u) => sum + u.pages, 0));
    assert.deepEqual([...new Set(answer.unpredicted.map((u) => u.op))], ["GET_ROWS"], "the first op with model bytes is the one that is wrong");
    const text = run(shifted, ["prove", directory]);
    assert.equal(text.status, 1);
    assert.match(text.stdout, /not predicted: \d+ pages\n.*GET_ROWS/);
});

test("where weights are not mapped it says so", () => {
    const { directory, stderr } = prove(tiny, "--no-mmap");
    assert.equal(stderr.match(/no model file is mapped into memory/g)?.length, 1, stderr);
    const answer = run(ggscope, ["prove", directory]);
    assert.equal(answer.status, 1);
    assert.equal(answer.stdout, "");
    assert.match(answer.stderr, /^ggscope: this recording has no touched pages: .*--no-repack.*\n$/);
    const plain = fresh();
    output(ggscope, ["run", "-q", "-o", plain, "-m", tiny, "-p", "x", "-n", "1"]);
    assert.match(run(ggscope, ["prove", plain]).stderr, /record with --prove/);
});

test("what of the model stays mapped when the rest is repacked is proved", () => {
    const directory = fresh();
    output(ggscope, ["run", "-q", "--prove", "-o", directory, "-m", tiny, "-p", "Once upon a time", "-n", "2"]);
    const answer = proof(directory);
    assert.equal(answer.recall, 1);
    assert.ok(answer.precision >= 0.99);
});

test("the program's own SIGSEGV handlers keep working, also one that comes in the middle of a graph", () => {
    const directory = fresh();
    const words = ["handlers", "-t", "2", "-n", "100", tiny];
    const plain = output(host, words);
    const recorded = run(ggscope, ["record", "-q", "--prove", "-o", directory, "--", host, ...words]);
    assert.equal(recorded.status, 0, recorded.stderr);
    assert.equal(recorded.stdout, plain);
    const counts = Object.assign({}, ...jsonLines(plain).slice(-4));
    assert.deepEqual(counts, { first: 1, second: 2, replaced: 1, kept: 1 });
    assert.equal(proof(directory).recall, 1);
});

for (const [mode, what] of [["crash-segv", "crashes of its own accord"], ["crash-write", "writes to the model, which it may only read,"]])
    test(`a program that ${what} ends with the same signal`, () => {
        const directory = fresh();
        const words = [mode, "-t", "2", "-n", "500", tiny];
        assert.equal(run(host, words).signal, "SIGSEGV");
        const recorded = run(ggscope, ["record", "--prove", "-o", directory, "--", host, ...words], { timeout: 120_000 });
        assert.equal(recorded.status, 128 + 11, recorded.stderr);
        assert.ok(!existsSync(join(directory, "spool")));
        assert.equal(proof(directory).recall, 1);
    });

test("two contexts at once, and a fork between two graphs", () => {
    for (const words of [["contexts", "-t", "2", model("tiny", "--layers", "2")], ["models", tiny, model("tiny", "--layers", "2")], ["fork", tiny]]) {
        const directory = fresh();
        const recorded = run(ggscope, ["record", "-q", "--prove", "-o", directory, "--", host, ...words]);
        assert.equal(recorded.status, 0, recorded.stderr);
        const answer = proof(directory);
        assert.deepEqual([answer.status, answer.recall], [0, 1], words[0]);
        assert.ok(answer.precision >= 0.99);
    }
});

test("Ctrl-C and SIGKILL in the middle leave a trace and nothing else", async () => {
    for (const signal of ["SIGINT", "SIGKILL"]) {
        const directory = fresh();
        const child = spawn(ggscope, ["run", "-q", "--prove", "-o", directory, "-m", tiny, "-p", "Once", "-n", "100000", "--ctx", "100100", "--ignore-eos", "--no-repack"], { stdio: ["ignore", "pipe", "ignore"] });
        await once(child.stdout, "data"); // wait until it generates
        const program = Number(output("pgrep", ["-P", String(child.pid), "-x", "ggscope-engine"]));
        process.kill(signal === "SIGKILL" ? program : child.pid, signal);
        const [status] = await once(child, "exit");
        assert.equal(status, signal === "SIGINT" ? 130 : 137);
        assert.deepEqual(readdirSync(directory).sort(), ["experiment.json", "stderr.txt", "stdout.txt", "trace.ggs"]);
        const answer = proof(directory);
        assert.equal(answer.recall, 1);
        assert.ok(answer.precision >= 0.99, "ops that were not told of count for nothing");
    }
});

test("wrong use", () => {
    const absent = run(ggscope, ["prove", "nowhere"]);
    assert.deepEqual([absent.status, absent.stdout], [1, ""]);
    assert.match(absent.stderr, /^ggscope: .*nowhere.*\n$/);
});
