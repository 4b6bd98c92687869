// ggscope stream with disk errors, behind wrappers and with unusual files: the same output or a
// sentence, and never an endless wait.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build, ggscope, model, output, preloadable, run, scratch } from "../lib.mjs";
import { fresh } from "./traces.mjs";
import { budget, cache, report, same, stock, stream, words } from "./streaming.mjs";

const moe = model("moe"), dense = model("tiny", "--embd", "512", "--ff", "1024");
const library = preloadable(join(build, "tests", "libstream-faults.so")), EIO = 5, EAGAIN = 11, EINTR = 4;
const short = ["-p", "Once upon a time", "-n", "12", "-t", "1"];
const faults = (...rules) => ({ ...process.env, LD_PRELOAD: library, STREAM_FAULTS: rules.map((rule) => rule.join(" ")).join(";") });
const all = [0, Number.MAX_SAFE_INTEGER];

// The places of the tensors of a kind: [begin, end) of each layer.
const places = (path, kind) => output(ggscope, ["gguf", "--csv", path]).split("\n").map((line) => line.split(",")).filter(([name]) => name.endsWith(`.${kind}.weight`)).map(([, offset, size]) => [Number(offset), Number(offset) + Number(size)]);

test("a read that fails is left to the mapping", () => {
    for (const path of [moe, dense]) {
        const { counts } = same(path, 0.4, short, { env: faults(["fail", ...all, 3, 0, EIO]) });
        assert.ok(counts.failed > 0 && counts.mapped_uses > 0, JSON.stringify(counts));
    }
});

// A slot whose gate failed is empty, although reads of its other weights may be in flight.
test("an expert's gate fails while its other weights are late", () => {
    const gates = places(moe, "ffn_gate_exps"), ups = places(moe, "ffn_up_exps");
    for (const layer of [1, 5]) {
        const rules = [["fail", ...gates[layer], 2, 0, EIO], ["late", ...ups[layer], 3, 12, 300]];
        const { counts } = same(moe, 0.25, short, { env: faults(...rules), options: ["--predict", "0"], timeout: 120_000 });
        assert.ok(counts.failed > 0, JSON.stringify(counts));
    }
});

test("reads that come short, late or interrupted are carried on", () => {
    for (const bytes of [4096, 8192, 16384, 20480, 4608])
        for (const path of [moe, dense]) assert.equal(same(path, 0.4, short, { env: faults(["short", ...all, 1, 0, bytes]) }).counts.failed, 0, `${bytes}`);
    assert.equal(same(moe, 0.4, short, { env: faults(["again", ...all, 2, 0, EAGAIN], ["again", ...all, 3, 0, EINTR], ["late", ...all, 7, 0, 3]) }).counts.failed, 0);
});

test("a wrapper leaves the program's report as it is", () => {
    const command = words(moe, ...short), bytes = budget(command, moe, 0.4), script = `${command.map((word) => `'${word}'`).join(" ")}; exit $?`;
    for (const wrapper of [["bash", "-c", script], ["sh", "-c", script], ["python3", "-c", "import subprocess,sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)", ...command]]) {
        const result = stream(wrapper, bytes);
        assert.equal(result.status, 0, result.stderr);
        assert.equal(result.counts.state, "streamed", wrapper[0]);
        assert.ok(result.counts.uses > 0);
        assert.equal(result.stderr.match(/^ggscope: streaming /gm).length, 1, result.stderr);
    }
    // Recorded with its children, too: the line is the child's, once.
    const followed = stream(["sh", "-c", script], bytes, { options: ["--record", "--follow", "-o", fresh()] });
    assert.equal(followed.status, 0, followed.stderr);
    assert.equal(followed.counts.state, "streamed", followed.stderr);
    assert.equal(followed.stderr.match(/^ggscope: streaming /gm).length, 1, followed.stderr);
    assert.equal(stream(["true"], bytes).counts.state, "unused");
});

// Like a server that starts another for each model: it links the engine and computes nothing.
test("a program that only starts others passes streaming on", () => {
    const command = words(moe, ...short), bytes = budget(command, moe, 0.4), linked = scratch("libggml-linked.so");
    output("gcc", ["-shared", "-fPIC", "-x", "c", "/dev/null", "-o", linked]);
    const script = `LD_PRELOAD="$LD_PRELOAD:${linked}" exec bash -c '"$@"; exit $?' bash "$@"`;
    const result = stream(["sh", "-c", script, "sh", ...command], bytes);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(result.counts.state, "streamed");
    assert.equal(JSON.parse(result.stdout).logits_hash, stock(command).logits_hash);
});

test("a FIFO or a folder in place of a kept file is passed by", () => {
    const command = words(dense, ...short), bytes = budget(command, dense, 0.5), folder = join(cache, "ggscope"), wanted = stock(command);
    stream(command, bytes);
    const kept = readdirSync(folder);
    assert.ok(kept.length > 0);
    for (const make of ["mkfifo", "mkdir"]) {
        for (const name of kept) {
            rmSync(join(folder, name), { recursive: true, force: true });
            output(make, [join(folder, name)]);
        }
        const result = stream(command, bytes, { timeout: 60_000 });
        assert.equal(result.status, 0, `${make}: ${result.signal}`);
        assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
    }
    rmSync(folder, { recursive: true });
});
