// Values of ops on an NVIDIA GPU: make test-cuda, or node tests/cuda/values.test.mjs (see cuda.mjs
// for the engine).
import assert from "node:assert/strict";
import { check } from "../engine/traces.mjs";
import { coverage, outputs, recorded, weights } from "../engine/device-values.mjs";
import { compared, first } from "../engine/plants.mjs";
import { env, maybe, model, say } from "./cuda.mjs";

const layers = ["--layers", "3"], experts = ["--experts", "4", "--experts-used", "2"], gpu = ["-ngl", "99"], text = "Hello world, one two three.";
const models = { tiny: [], llama: layers, gpt2: ["--arch", "gpt2", ...layers], gemma3: ["--arch", "gemma3", ...layers], qwen3moe: ["--arch", "qwen3moe", ...layers, ...experts],
    // the embedding is in memory twice; experts are chosen in another order if two are nearly equal
    tied: ["--arch", "gemma3", ...layers, "--types", "f16"], many: ["--arch", "qwen3moe", ...layers, "--experts", "64", "--experts-used", "2", "--seed", "5"] };

for (const [name, options] of Object.entries(models)) {
    maybe(`${name}: the logits of an unobserved run, and what every group has written`, () => {
        const directory = recorded(model("tiny", ...options), env, gpu, ["--values"], text), groups = coverage(directory);
        const missing = groups.filter((g) => !g.read && !(g.op === "ADD" && /^l_out/.test(g.last.name)));
        say(`${name}: ${groups.length} groups, ${groups.filter((g) => g.fused).length} of them fused, ${missing.length} not read`);
        assert.deepEqual(missing.map((g) => `${g.op} .. ${g.last.name}`), []);
        // Rows are of one token each, except for tensors that are not divided by tokens (the cache,
        // made contiguous).
        const device = outputs(directory).filter((v) => !v.onCpu), strange = device.filter((v) => (v.row >= 0 && v.position < 0) || v.nan > 0);
        assert.ok(device.length > 500, `${device.length} rows of the device`);
        assert.deepEqual(strange.map((v) => `${v.op} ${v.name} at ${v.position}: ${v.nan} NaN`).slice(0, 5), []);
        check(directory);
        // The CPU library of the same engine computes the same text from the same weights, except
        // for rounding.
        const cpu = recorded(model("tiny", ...options), env, ["-ngl", "0"], ["--values"], text);
        assert.deepEqual(weights(directory), weights(cpu));
        const answer = compared(cpu, directory);
        say(`${name}, CPU and CUDA: ${first(answer) || "no alarm"}, ${answer.outputs} outputs of ${answer.ops} ops`);
        assert.equal(first(answer), "");
    });
}

maybe("--values-unfused: every op has its own", () => {
    const directory = recorded(model("tiny", ...layers), env, gpu, ["--values", "--values-unfused"]);
    assert.ok(coverage(directory).every((g) => !g.fused && g.read));
});
