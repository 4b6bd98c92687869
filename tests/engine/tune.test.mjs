// ggscope tune: remedies of explain, applied together and left out in turn.
import { test } from "node:test";
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { build, engine, ggscope, model, run, scratch } from "../lib.mjs";

const words = "The quick brown fox jumps over the lazy dog and runs away. ".repeat(8);
const program = (...options) => [engine, "run", "-m", model("tiny"), "-p", words, "-n", "3", "--ignore-eos", "-t", "1", ...options];
const left = () => readdirSync(process.env.TMPDIR ?? "/tmp").filter((name) => name.startsWith("ggscope-tune-")).length;

test("a program whose batches are small: the remedy is tried, and the command has it", () => {
    const before = left();
    const { status, stdout, stderr } = run(ggscope, ["tune", "--json", "-q", "--for", "prompt", "-r", "2", "--", ...program("--ubatch", "1")]);
    const tuned = JSON.parse(stdout), part = tuned.parts.find((p) => p.finding === "small-batches");
    assert.equal(part.setting, "--ubatch 512", stderr);
    assert.ok(part.without > 0);
    assert.equal(tuned.figure, "prompt_ns");
    assert.ok(tuned.runs >= 7 && tuned.rounds >= 2, stdout);
    assert.equal(status, tuned.better ? 0 : 1);
    if (tuned.better) assert.match(tuned.command, /--ubatch 512/);
    if (tuned.better) assert.doesNotMatch(tuned.command, /--ubatch 1 /);
    assert.equal(left(), before, "recordings are removed");
});

// The host makes its prompt in pieces of one token unless it is told otherwise: an option that ggscope does not know.
test("a knob of a program that is not known: each value is tried alone, the better one becomes a part", () => {
    const script = `exec '${engine}' run -m '${model("tiny")}' -p '${words.slice(0, 240)}' -n 2 -t 1 --ignore-eos --ubatch "$2"`;
    const { status, stdout, stderr } = run(ggscope, ["tune", "--json", "-q", "--for", "prompt", "-r", "1", "--knob", "pieces: --pieces {1, 512,nonsense}",
        "--", "sh", "-c", script, "sh", "--pieces", "1"]);
    const tuned = JSON.parse(stdout);
    assert.deepEqual(tuned.values.map(({ setting, failed }) => [setting, failed]), [["--pieces 512", false], ["--pieces nonsense", true]], stderr);
    assert.ok(tuned.values[0].ratio > 0 && tuned.values[1].ratio === null);
    const part = tuned.parts.find((one) => one.knob === "pieces");
    if (tuned.values[0].ratio < 0.98) assert.deepEqual([part.setting, part.finding], ["--pieces 512", null]);
    else assert.equal(part, undefined);
    assert.equal(status, tuned.better ? 0 : 1);
    if (tuned.better) assert.match(tuned.command, / --pieces 512$/);
    for (const [knob, why] of [["threads", /no name/], ["threads: {1}", /names no option/], ["t: -t 1", /no list of values/], ["t: -t {1", /no } at its end/], ["t: -t {1,,2}", /value is empty/],
        ["t: -a -b {1}", /more than one word/]]) {
        const wrong = run(ggscope, ["tune", "--knob", knob, "--", "true"]);
        assert.equal(wrong.status, 2);
        assert.match(wrong.stderr, why);
        assert.match(wrong.stderr, /a knob is 'threads: --n-threads \{1,2,4\}'/);
    }
});

const host = join(build, "tests", "server-host"), noHost = existsSync(host) ? undefined : "server-host is not built for this engine";

test("a server: it is loaded with requests of our own, ended, and tuned by the time to an answer", { skip: noHost }, () => {
    const { status, stdout, stderr } = run(ggscope, ["tune", "--json", "-q", "--for", "server", "-r", "1", "--knob", "pieces: --pieces {32,0}", "--", host, "http", model("tiny")]);
    const tuned = JSON.parse(stdout || "{}");
    assert.equal(tuned.figure, "request_ns", stderr);
    assert.deepEqual(tuned.values.map(({ setting, failed }) => [setting, failed]), [["--pieces 32", false], ["--pieces 0", true]]);
    assert.ok(tuned.values[0].ratio > 0);
    assert.equal(status, tuned.better ? 0 : 1);
    if (tuned.better) {
        assert.equal(tuned.same_output, true, "answers are the same");
        assert.match(tuned.command, /server-host http \S+ --pieces 32$/, "without the port that was chosen for it");
    }
});

test("a server gets the requests of a recording", { skip: noHost }, () => {
    const directory = scratch("served");
    const made = run(ggscope, ["record", "-q", "-o", directory, "--", host, "slots", model("tiny")]);
    assert.equal(made.status, 0, made.stderr);
    const { requests } = JSON.parse(made.stdout.trim().split("\n").at(-1));
    const seen = scratch("replayed");
    const { stderr } = run(ggscope, ["tune", "--json", "-q", "--for", "server", "--replay", directory, "-r", "1", "--", "sh", "-c",
        `exec "$0" http "$@" > '${seen}'`, host, model("tiny")]);
    const answered = JSON.parse(readFileSync(seen, "utf8").trim().split("\n").at(-1)).requests;
    assert.deepEqual(answered.map((one) => one.prompt).sort((a, b) => a - b), requests.filter((one) => one.kind === "completion").map((one) => Math.min(40, one.prompt + one.cached)).sort((a, b) => a - b), stderr);
    const none = run(ggscope, ["tune", "--for", "server", "--replay", scratch("nothing"), "--", host, "http", model("tiny")]);
    assert.equal(none.status, 1);
    assert.match(none.stderr, /nothing/);
    assert.equal(run(ggscope, ["tune", "--replay", directory, "--", "true"]).status, 2);
});

test("a server that is never ready, and a port that somebody has", { skip: noHost }, async () => {
    const failed = run(ggscope, ["tune", "-q", "--for", "server", "--", host, "http", "/nonexistent.gguf"]);
    assert.equal(failed.status, 1);
    assert.match(failed.stderr, /cannot be tuned: it failed/);
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const taken = run(ggscope, ["tune", "-q", "--for", "server", "--", host, "http", model("tiny"), "--port", String(other.address().port)]);
    other.close();
    assert.equal(taken.status, 1);
    assert.match(taken.stderr, /another server answers at port \d+: end it/);
});

test("no program, a program that fails, and a figure that is none", () => {
    assert.equal(run(ggscope, ["tune"]).status, 2);
    const failed = run(ggscope, ["tune", "-q", "--", engine, "run", "-m", "/nonexistent.gguf", "-p", "x", "-n", "1"]);
    assert.equal(failed.status, 1);
    assert.match(failed.stderr, /cannot be tuned: it failed/);
    assert.equal(run(ggscope, ["tune", "--for", "nothing", "--", "true"]).status, 2);
});
