// ggscope tune: remedies of explain, applied together and left out one by one.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { build, engine, ggscope, model, run, scratch } from "../lib.mjs";

const words = "The quick brown fox jumps over the lazy dog and runs away. ".repeat(8);
const program = (...options) => [engine, "run", "-m", model("tiny"), "-p", words, "-n", "3", "--ignore-eos", "-t", "1", ...options];
process.env.TMPDIR = scratch("tmp"); // nobody else's
mkdirSync(process.env.TMPDIR);
const left = () => readdirSync(process.env.TMPDIR).filter((name) => name.startsWith("ggscope-tune-")).length;

test("a program whose batches are small: the remedy is tried, and the command has it", () => {
    const before = left();
    const { status, stdout, stderr } = run(ggscope, ["tune", "--json", "-q", "--for", "prompt", "-r", "2", "--", ...program("--ubatch", "1")]);
    const tuned = JSON.parse(stdout), part = tuned.parts.find((p) => p.finding === "small-batches");
    assert.match(part.setting, /^--ubatch \d\d+$/, stderr);
    assert.ok(tuned.values.some(({ setting }) => setting === "--ubatch 512"), stdout);
    assert.ok(part.without > 0);
    assert.equal(tuned.figure, "prompt_ns");
    assert.ok(tuned.runs >= 4 && tuned.rounds >= 2, stdout);
    assert.equal(status, tuned.better ? 0 : 1);
    if (tuned.better) assert.match(tuned.command, /--ubatch \d\d+/);
    if (tuned.better) assert.doesNotMatch(tuned.command, /--ubatch 1 /);
    assert.equal(left(), before, "recordings are removed");
});

// The host computes its prompt one token at a time unless an option, which ggscope does not know,
// says otherwise.
test("a knob of a program that is not known: each value is tried, the better one becomes a part", () => {
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

test("llama-server does not end by itself: tune sends it requests, bench refuses it", () => {
    const folder = scratch("bin"), server = join(folder, "llama-server");
    mkdirSync(folder);
    writeFileSync(server, "#!/bin/sh\nexit 3\n", { mode: 0o755 });
    const tuned = run(ggscope, ["tune", "-q", "--", server]);
    assert.equal(tuned.status, 1);
    assert.match(tuned.stderr, /cannot be tuned: it failed/);
    for (const words of [["tune", "--for", "load", "--"], ["bench", "--"], ["bench", "--", "nice"]]) {
        const refused = run(ggscope, [...words, server]);
        assert.equal(refused.status, 2);
        assert.match(refused.stderr, /llama-server does not end by itself/);
    }
});

test("Ctrl-C and --time end it with the best so far, and leave nothing behind", async () => {
    const before = left(), child = spawn(ggscope, ["tune", "--json", "--", ...program("--ubatch", "1")], { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "", stderr = "";
    child.stdout.on("data", (text) => stdout += text);
    child.stderr.on("data", (text) => { if (!/round 1/.test(stderr) && /round 1/.test(stderr += text)) child.kill("SIGINT"); });
    const [status] = await once(child, "close"), tuned = JSON.parse(stdout);
    assert.deepEqual([tuned.stopped, status], [true, tuned.better ? 0 : 1], stderr);
    assert.ok(tuned.runs >= 1);
    const short = run(ggscope, ["tune", "--time", "1ms", "--", ...program("--ubatch", "1")]);
    assert.equal(short.status, 1);
    assert.match(short.stderr, /^ggscope: remedies: --ubatch 512/m);
    assert.match(short.stdout, /^no setting is clearly better so far$[^]*^tried {5}1 run in 0 rounds$/m);
    assert.equal(left(), before);
});

test("a goal that the recording does not have", () => {
    const { status, stderr } = run(ggscope, ["tune", "-q", "--for", "generate", "--", ...program().map((word, i, all) => all[i - 1] === "-n" ? "1" : word)]);
    assert.equal(status, 1);
    assert.match(stderr, /cannot be tuned for that: its recording has no token_quiet_ns/);
});

test("no program, a program that fails, and a figure that is none", () => {
    assert.equal(run(ggscope, ["tune"]).status, 2);
    const script = `"$0" "$@"; kill -TERM $$`, ended = run(ggscope, ["tune", "-q", "--", "sh", "-c", script, ...program()]);
    assert.match(ended.stderr, /cannot be tuned: it failed: .*ended by signal 15/, "not the first line that the program printed");
    const failed = run(ggscope, ["tune", "-q", "--", engine, "run", "-m", "/nonexistent.gguf", "-p", "x", "-n", "1"]);
    assert.equal(failed.status, 1);
    assert.match(failed.stderr, /cannot be tuned: it failed/);
    for (const [words, why] of [[["--for", "nothing"], /--for takes all, prompt/], [["--time", "soon"], /a time such as 10m/], [["-r", "0"], /a number of rounds, not 0/],
        [["--knob", "a: -t {1}", "--knob", "b: -t {2}"], /two knobs set -t/]]) {
        const wrong = run(ggscope, ["tune", ...words, "--", "true"]);
        assert.equal(wrong.status, 2);
        assert.match(wrong.stderr, why);
    }
});
