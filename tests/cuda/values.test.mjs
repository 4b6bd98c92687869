// Values of ops on an NVIDIA GPU: make test-cuda, or node tests/cuda/values.test.mjs (see cuda.mjs for the engine).
import assert from "node:assert/strict";
import { check } from "../engine/traces.mjs";
import { coverage, outputs, recorded } from "../engine/device-values.mjs";
import { env, maybe, model, say } from "./cuda.mjs";

const layers = ["--layers", "3"], experts = ["--experts", "4", "--experts-used", "2"], gpu = ["-ngl", "99"];
const models = { tiny: [], llama: layers, gpt2: ["--arch", "gpt2", ...layers], gemma3: ["--arch", "gemma3", ...layers], qwen3moe: ["--arch", "qwen3moe", ...layers, ...experts] };

for (const [name, options] of Object.entries(models)) {
    maybe(`${name}: the logits of an unobserved run, and what every group has written`, () => {
        const directory = recorded(model("tiny", ...options), env, gpu), groups = coverage(directory);
        const missing = groups.filter((g) => !g.read && !(g.op === "ADD" && /^l_out/.test(g.last.name)));
        say(`${name}: ${groups.length} groups, ${groups.filter((g) => g.fused).length} of them fused, ${missing.length} not read`);
        assert.deepEqual(missing.map((g) => `${g.op} .. ${g.last.name}`), []);
        // Rows are of one token each, but for those of a tensor that is not divided by tokens (the cache, made contiguous).
        const odd = outputs(directory).filter((v) => !v.host && ((v.row >= 0 && v.position < 0) || v.nan > 0));
        assert.deepEqual([...new Set(odd.map((v) => `${v.op} ${v.name}, position ${v.position}: ${v.nan} of ${v.elements} are NaN`))], []);
        check(directory);
    });
}

maybe("--values-unfused: every op has its own", () => {
    const directory = recorded(model("tiny", ...layers), env, gpu, ["--values", "--values-unfused"]);
    assert.ok(coverage(directory).every((g) => !g.fused && g.read));
});
