// ggscope stream in many cases: every architecture, batches of 1 to 512, 1 to 8 threads, servers,
// other releases, clang, and weights on a device.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build, ggscope, model, output, root } from "../lib.mjs";
import { fresh, host } from "../engine/traces.mjs";
import { env as vulkan, maybe } from "../engine/vulkan.mjs";
import { environment, generateScript, newest, release } from "../engine/node/recordings.mjs";
import { MiB, budget, report, same, sameProgram, sizes, stock, stream, words } from "../engine/streaming.mjs";

const moe = model("moe"), dense = model("tiny", "--embd", "512", "--ff", "1024");
const mapped = model("tiny", "--types", "bf16", "--embd", "384", "--ff", "768"); // no engine copies these weights
const half = model("moe", "--types", "f16", "--embd", "96", "--ff", "136", "--heads", "6", "--kv-heads", "2"); // never repacked
const sentence = "Once upon a time, in a land far away, there was a small village by the sea. ";

const architectures = { llama: ["tiny", "--embd", "512"], gpt2: ["tiny", "--arch", "gpt2", "--embd", "512"], gemma3: ["tiny", "--arch", "gemma3", "--embd", "512"], qwen3moe: ["moe"], deepseek2: ["moe", "--arch", "deepseek2"] };
for (const [name, options] of Object.entries(architectures)) {
    test(`${name}: the same logits, compared with the file piece by piece`, () => {
        const { counts } = same(model(...options), 0.5, ["-p", sentence, "-n", "4", "-t", "2"], { options: ["--verify"] });
        assert.ok(counts.verified > 0);
    });
}

for (const threads of [1, 2, 8]) {
    test(`${threads} threads`, () => {
        for (const path of [dense, moe]) same(path, 0.4, ["-p", "Once", "-n", "2", "-t", String(threads)]);
    });
}

for (const batch of [1, 2, 7, 32, 128, 512]) {
    test(`batches of ${batch}`, () => {
        for (const path of [dense, moe]) same(path, 0.4, ["-p", sentence.repeat(batch > 32 ? 24 : 2), "-n", "2", "-t", "2", "--batch", String(batch), "--ubatch", String(batch)]);
    });
}

test("contexts, models, sequences, forks, a model that is loaded twice, a library that is opened anew", () => {
    for (const [mode, ...models] of [["contexts", half], ["models", half, dense], ["sequences", half], ["fork", half], ["twice", half], ["reopen", mapped]]) {
        sameProgram([host, mode, "-t", "2", ...models], models);
    }
});

for (const pattern of ["slots", "cancelled", "cached", "shared", "forks", "forks-in-batch", "perplexity", "shift", "turns", "draft", "draft-behind"]) {
    test(`a server: ${pattern}`, () => {
        const models = pattern.startsWith("draft") ? [half, dense] : [half];
        sameProgram([join(build, "tests", "server-host"), pattern, ...models], models, { env: { ...process.env, SERVER_HOST_LOGITS: "1" } });
    });
}

// Through their Node.js binding. Tokens are chosen greedily from random weights: a different logit
// soon changes all of them.
const x64 = process.arch === "x64" ? {} : { skip: `npm has these libraries for x64, this is ${process.arch}` };
for (const [version, experts] of [["3.6.0", ["moe", "--arch", "llama"]], ["3.10.0", ["moe"]], ["3.18.1", ["moe"]], [newest, ["moe"]]]) {
    test(`release ${version} of node-llama-cpp`, x64, () => {
        const folder = release(version);
        for (const path of [mapped, model(...experts)]) {
            const command = [process.execPath, generateScript, folder, path, "2", "24"], env = environment;
            const wanted = stream(command, 16 * MiB, { env }); // too little: the stock engine, without repacking
            assert.equal(wanted.status, 0, wanted.stderr);
            let found = wanted; // the program's own memory grows while it runs
            for (let i = 0; i < 4 && found.counts.uses === 0; i++) found = stream(command, (found.counts.engine + 8 * MiB + 0.5 * sizes(path)) * 32 / 31, { env });
            assert.equal(found.status, 0, found.stderr);
            assert.equal(found.counts.state, "streamed", found.stderr);
            assert.ok(found.counts.uses > 0);
            assert.equal(found.stdout, wanted.stdout);
        }
    });
}

// Compares what ggscope paging predicts from a recording of the stock engine with what the tokens
// of a streamed run needed: reads for ops, and ahead of them for experts that were then chosen.
// Others are read only while the disk has time. The model is new to ggscope stream.
for (const [name, path, shares] of [["dense", dense, [0.35, 0.7]], ["experts", moe, [0.16, 0.3, 0.45, 0.8]]]) {
    test(`paging predicts the bytes per token: ${name}`, () => {
        const options = ["-p", "Once upon a time", "-n", "96", "-t", "1"], command = words(path, ...options), plain = fresh(), streamed = fresh();
        output(ggscope, ["record", "-q", "-o", plain, "--", ...command]);
        for (const share of shares) {
            output(ggscope, ["stream", "-q", "--no-history", "--record", "--force", "-o", streamed, "--budget", String(Math.round(budget(command, path, share))), "--report", report, "--", ...command]);
            const { limit, engine } = JSON.parse(readFileSync(report, "utf8")), { streamed: real } = JSON.parse(output(ggscope, ["stats", "--json", "--token", "1..95", streamed]));
            const { policies } = JSON.parse(output(ggscope, ["paging", "--json", "--policy", "stream", "--memory", String(limit - engine), plain])).budgets[0];
            const early = real.predicted === 0 ? 0 : (real.bytes_early * real.predicted_used) / real.predicted;
            const ratio = policies.stream.bytes_per_token / ((real.bytes_read + early) / real.runs);
            assert.ok(policies.stream.streams && ratio > 0.9 && ratio < 1.1, `${name} with ${share}: ${ratio}`);
        }
    });
}

const clang = join(root, "build", "clang-engine", "engine"); // built by tests/full/clang.test.mjs, which runs earlier
test("an engine whose compute loop clang has built", existsSync(join(clang, "libggml-cpu.so")) ? {} : { skip: "it was not built (tests/full/clang.test.mjs)" }, () => {
    for (const path of [dense, moe])
        for (const threads of ["1", "2"]) same(path, 0.4, ["-p", sentence, "-n", "4", "-t", threads, "--engine", clang], { env: environment });
});

// Weights copied to the device are not streamed; mapped ones are.
for (const [name, ...options] of [["experts on the CPU", "-ngl", "99", "--override-tensor", "exps=CPU"], ["some layers on the CPU", "-ngl", "10"]]) {
    maybe(`Vulkan, ${name}`, () => {
        const command = words(moe, "-p", "Once upon a time", "-n", "3", "-t", "2", "--device", "Vulkan0", ...options), wanted = stock(command, { env: vulkan });
        // The device's memory is this machine's and grows while the program runs: the right budget
        // lies between one that is too little and one in which all fits.
        let result = stream(command, 16 * MiB, { env: vulkan }), little = 0, enough = (result.counts.engine + 8 * MiB + 2 * sizes(moe)) * 32 / 31;
        for (let i = 0; i < 8 && result.counts.hits === 0; i++) {
            if (result.counts.state === "fits") enough = result.counts.limit;
            else little = result.counts.limit;
            result = stream(command, (little + enough) / 2, { env: vulkan });
        }
        assert.equal(result.status, 0, result.stderr);
        assert.ok(result.counts.uses > 0 && result.counts.hits > 0, result.stderr);
        assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
        if (!options.includes("exps=CPU")) return;
        // Each layer's experts are in a separate run, with the router on the device: the decision
        // is printed once, and the next layer's experts are read early.
        assert.equal(result.stderr.match(/^ggscope: streaming /gm).length, 1, result.stderr);
        assert.ok(result.counts.predicted_used > result.counts.predicted / 2 && result.counts.predicted_used > result.counts.misses / 4, JSON.stringify(result.counts));
    });
}
