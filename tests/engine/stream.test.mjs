// ggscope stream: a model that does not fit gives the same as one that does, whatever happens to it.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, truncateSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { check, fresh, host, jsonLines } from "./traces.mjs";
import { machine, noLimit, ownModel } from "./pressure.mjs";

const MiB = 1 << 20;
const moe = model("moe"), dense = model("tiny", "--embd", "512", "--ff", "1024");
const half = model("moe", "--types", "f16", "--embd", "96", "--ff", "136", "--heads", "6", "--kv-heads", "2"); // experts that are no multiple of a block, and never repacked
const sentence = "Once upon a time, in a land far away, there was a small village by the sea. ";
const words = (path, ...options) => [engine, "run", "-m", path, "--json", "--logits-hash", "--ignore-eos", "--no-repack", ...options];
const stock = (command) => JSON.parse(output(command[0], command.slice(1)));
const report = scratch("report.json");

// Runs a command line under a budget. Returns what it printed, what was said, and the counts.
function stream(command, budget, { options = [], ...rest } = {}) {
    const result = run(ggscope, ["stream", "--budget", String(Math.round(budget)), "--report", report, ...options, "--", ...command], rest);
    const counts = readFileSync(report, "utf8");
    return { ...result, counts: counts === "" ? undefined : JSON.parse(counts) };
}

// A budget that leaves `share` of the model's size to its weights. What the engine takes is what a run that has too little says.
const sizes = (path) => statSync(path).size;
function budget(command, path, share) {
    const { counts, stderr } = stream(command, 16 * MiB);
    assert.ok(counts.engine > MiB, stderr);
    return (counts.engine + 8 * MiB + share * sizes(path)) * 32 / 31;
}

function same(path, share, options, more = {}) {
    const command = words(path, ...options), wanted = stock(command);
    const result = stream(command, budget(command, path, share), more);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(result.counts.state, "streamed", result.stderr);
    assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
    return result;
}
const short = ["-p", "Once upon a time", "-n", "4", "-t", "1"];

test("a dense model gives the same logits, whatever is kept", () => {
    const kept = [[], ["--keep", "first"], ["--keep", "none"]].map((options) => {
        const { counts } = same(dense, 0.5, short, { options });
        assert.ok(counts.bytes_streamed > 0 && counts.mapped_uses === 0, JSON.stringify(counts));
        return counts.kept;
    });
    assert.ok(kept[2] < kept[0] && kept[2] < kept[1], kept.join()); // what the ring cannot hold is kept always
});

test("a mixture of experts gives the same logits, with and without prediction", () => {
    const { counts } = same(moe, 0.4, short);
    assert.ok(counts.hits > 0 && counts.predicted_used > 0, JSON.stringify(counts));
    const without = same(moe, 0.4, short, { options: ["--predict", "0"] }).counts;
    assert.ok(without.misses > 0 && without.predicted === 0, JSON.stringify(without));
});

test("prompts of any batch size, any number of threads", () => {
    for (const [path, ...options] of [
        [dense, "-p", sentence.repeat(8), "-n", "2", "-t", "1"],
        [moe, "-p", sentence.repeat(8), "-n", "3", "-t", "2"],
        [moe, "-p", sentence, "-n", "2", "-t", "1", "--batch", "5", "--ubatch", "3"],
        [moe, "-p", "Once", "-n", "2", "-t", "2", "--ctx", "64"],
        [dense, "-p", sentence.slice(0, 30), "-n", "2", "-t", "1", "--batch", "1", "--ubatch", "1"],
        [dense, "-p", "Once", "-n", "3", "-t", "1", "--eval-callback"], // a graph that is run in pieces
    ]) same(path, 0.4, options);
});

test("other architectures, other types, experts that are no multiple of a disk's block", () => {
    for (const path of [model("tiny", "--arch", "gpt2", "--embd", "512"), model("tiny", "--arch", "gemma3", "--embd", "512"), model("moe", "--arch", "deepseek2"), half])
        same(path, 0.5, ["-p", "Once upon a time", "-n", "3", "-t", "1"], { options: ["--verify"] });
});

test("a split model", () => {
    const path = scratch("split.gguf");
    output(engine, ["synth", "moe", "--split", "3", "-o", path]);
    const parts = [1, 2, 3].map((i) => scratch(`split-0000${i}-of-00003.gguf`));
    const command = words(parts[0], ...short), wanted = stock(command);
    const engineBytes = stream(command, 16 * MiB).counts.engine;
    const result = stream(command, engineBytes + 9 * MiB + 0.5 * parts.reduce((sum, part) => sum + sizes(part), 0));
    assert.equal(result.counts.state, "streamed", result.stderr);
    assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
});

test("--verify compares everything that was read", () => {
    const { counts } = same(dense, 0.5, short, { options: ["--verify"] });
    // What is read ahead for a token that does not come is not looked at.
    assert.ok(counts.verified > 0.7 * (counts.bytes_streamed + counts.bytes_kept), JSON.stringify(counts));
});

test("threads read where io_uring is not to be had, and what they fail to read comes from the mapping", () => {
    const env = { ...process.env, GGSCOPE_STREAM_READER: "threads" };
    const good = same(moe, 0.4, short, { env }).counts;
    assert.equal(good.reader, "threads");
    assert.equal(good.failed, 0);
    for (const path of [moe, dense]) {
        const bad = same(path, 0.4, short, { env: { ...env, LD_PRELOAD: join(build, "tests", "libstream-errors.so") } }).counts;
        assert.ok(bad.failed > 0 && bad.mapped_uses > 0, JSON.stringify(bad));
    }
});

test("a model that fits is left alone; too little memory too; both are said in one line", () => {
    const command = words(dense, ...short), wanted = stock(command);
    for (const [bytes, state, line] of [[1 << 30, "fits", /^ggscope: the model \(.*\) fits into memory \(.*\): nothing is streamed\n$/], [16 * MiB, "too little", /^ggscope: .* are too little to stream this model \(.*\): nothing is streamed\n$/]]) {
        const result = stream(command, bytes);
        assert.match(result.stderr, line);
        assert.equal(result.counts.uses, 0);
        assert.equal(result.counts.state, state);
        assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
    }
});

test("weights are not repacked where the model does not fit", () => {
    const command = words(moe, ...short).filter((word) => word !== "--no-repack"), wanted = stock(words(moe, ...short));
    const result = stream(command, budget(command, moe, 0.4));
    assert.equal(result.counts.state, "streamed", result.stderr);
    assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
});

// What a program computed, whichever thread was first.
const computed = (result) => jsonLines(result.stdout).filter((line) => line.logits !== undefined || line.hash !== undefined).map((line) => JSON.stringify({ ...line, thread: 0, process: 0 })).sort();

test("several contexts and models, sequences, a fork, a model that is loaded twice, a library that is opened anew", () => {
    for (const [mode, ...models] of [["contexts", half], ["models", half, dense], ["sequences", half], ["fork", half], ["twice", half], ["reopen", dense]]) {
        const command = [host, mode, "-t", "1", ...models];
        const wanted = stream(command, 16 * MiB), weights = 0.4 * models.reduce((sum, path) => sum + sizes(path), 0); // too little: the engine alone
        let found = wanted;
        for (let i = 0; i < 4 && found.counts.uses === 0; i++) found = stream(command, (found.counts.engine + 8 * MiB + weights) * 32 / 31); // contexts come one after the other
        assert.equal(found.status, 0, `${mode}: ${found.stderr}`);
        assert.ok(found.counts.uses > 0, `${mode}: ${found.stderr}`);
        assert.ok(computed(wanted).length > 0, mode);
        // Where a model alone would have fitted its weights are repacked, as without us.
        const possible = new Set([...computed(run(command[0], command.slice(1))), ...computed(wanted)]);
        assert.equal(computed(found).length, computed(wanted).length, mode);
        for (const line of computed(found)) assert.ok(possible.has(line), `${mode}: ${line}`);
    }
});

test("recorded too: the recording names the same experts and the same places in the file", () => {
    const directory = fresh(), command = words(moe, ...short), wanted = stock(command), plain = fresh();
    const bytes = Math.round(budget(command, moe, 0.4));
    const result = run(ggscope, ["stream", "-q", "--record", "-o", directory, "--budget", String(bytes), "--report", report, "--", ...command]);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
    assert.ok(JSON.parse(readFileSync(report, "utf8")).uses > 0);
    output(ggscope, ["record", "-q", "-o", plain, "--", ...command]);
    check(directory);
    const timeless = (key, value) => (/_ns$|^experiment/.test(key) ? undefined : value);
    const experts = (folder) => JSON.parse(output(ggscope, ["experts", "--json", folder]), timeless);
    assert.deepEqual(experts(directory), experts(plain));
    const touched = (folder) => JSON.parse(output(ggscope, ["stats", "--json", folder])).model;
    assert.deepEqual(touched(directory), touched(plain));
});

test("at the limit of a control group the program lives, and stays within it", { skip: noLimit() }, () => {
    const path = ownModel("moe"), directory = fresh(), command = words(path, "-p", sentence.repeat(16), "-n", "4", "-t", "1");
    const wanted = stock(command);
    const result = run(ggscope, ["stream", "-q", "--record", "--memory", "150M", "-o", directory, "--report", report, "--", ...command]);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(JSON.parse(readFileSync(report, "utf8")).state, "streamed", result.stderr);
    assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
    assert.ok(machine(directory).memory_peak <= 150 * MiB);
});

// A run that goes on and on, once its first token is out.
async function start(path, bytes) {
    const child = spawn(ggscope, ["stream", "--budget", String(bytes), "--", engine, "run", "-m", path, "-p", "Once upon a time", "-n", "2000", "-t", "1", "--ignore-eos", "--no-repack"],
        { stdio: ["ignore", "pipe", "pipe"] });
    child.text = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (child.text += text));
    const closed = once(child, "close");
    await Promise.race([once(child.stdout, "data"), closed]);
    child.stdout.resume();
    return { child, closed };
}
const some = (() => { let bytes; return () => (bytes ??= Math.round(budget(words(moe, ...short), moe, 0.4))); })();

test("Ctrl-C and a kill end it as they end the program", async () => {
    for (const [signal, status, by] of [["SIGINT", 130, null], ["SIGKILL", null, "SIGKILL"]]) {
        const { child, closed } = await start(moe, some());
        child.kill(signal);
        assert.deepEqual(await closed, [status, by], child.text);
    }
});

test("a file that is changed or cut while it is in use is told of in one sentence, and its mapping goes on", async () => {
    const sentence_ = /the model file was changed or cut while it is in use/;
    const path = ownModel("moe"), { child, closed } = await start(path, some());
    utimesSync(path, new Date(), new Date(Date.now() - 1e6));
    while (!sentence_.test(child.text)) await once(child.stderr, "data");
    child.stdout.pause();
    child.stdout.resume();
    await once(child.stdout, "data"); // it still computes
    child.kill("SIGKILL");
    await closed;

    const other = await start(path, some());
    truncateSync(path, sizes(path) - 65536); // in the middle of the last weight
    const [status, signal] = await other.closed;
    assert.match(other.child.text, sentence_);
    assert.ok(signal === "SIGBUS" || status !== 0);
});

test("a wrong command line is told in one sentence", () => {
    for (const [args, words_] of [[["--budget", "x", "--", "true"], /--budget takes a size/], [["--keep", "all", "--", "true"], /--keep takes spread, first or none/], [["--predict", "-1", "--", "true"], /--predict takes a number/],
        [[], /missing argument: \[--\] PROGRAM/], [["-o", "x", "--", "true"], /want --record/]]) {
        const result = run(ggscope, ["stream", ...args]);
        assert.ok(result.status !== 0);
        assert.match(result.stderr, words_);
    }
    assert.match(run(ggscope, ["stream", "--", "no-such-program"]).stderr, /^ggscope: .*no-such-program/);
});
