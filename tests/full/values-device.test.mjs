// A bug planted in a fused kernel of a Vulkan device: found at the ends of groups, and with ggscope
// extract.
import assert from "node:assert/strict";
import { engine, ggscope, model, run, scratch } from "../lib.mjs";
import { compared, first, recorded as planted, vulkanLibrary } from "../engine/plants.mjs";
import { coverage, outputs, recorded } from "../engine/device-values.mjs";
import { env, maybe } from "../engine/vulkan.mjs";

const dense = () => model("tiny", "--layers", "3");

const moe = () => model("tiny", "--arch", "qwen3moe", "--layers", "3", "--experts", "4", "--experts-used", "2");
for (const [name, path] of [["dense", dense], ["mixture of experts", moe]])
    maybe(`${name}, more than eight tokens at once, which have other kernels: the logits of an unobserved run, and what every group has written`, () => {
        const directory = recorded(path(), env, ["-ngl", "99"], ["--values"], "Hello world, one two three four five.");
        assert.deepEqual(coverage(directory).filter((g) => !g.read && !(g.op === "ADD" && g.last.name === "l_out-2")).map((g) => `${g.op} .. ${g.last.name}`), []);
        const device = outputs(directory).filter((v) => !v.onCpu);
        assert.ok(device.length > 500 && device.every((v) => v.position >= 0), "every row is a token's");
    });

maybe("a fused kernel's wrong epsilon is named at the ends of groups, and is not there without fusion", () => {
    const path = dense(), plant = "fused,0.01,^MUL:attn_norm-1$", unfused = ["--values", "--values-unfused"];
    const a = planted(path), answer = compared(a, planted(path, { vulkan: env, plant }));
    assert.deepEqual([answer.status, first(answer).split(" ")[0], answer.wrong[0].fused], [1, "MUL:attn_norm-1", true]);
    assert.equal(first(compared(a, planted(path, { vulkan: env, plant, values: unfused }))), "");
});

maybe("the fused kernel's bug comes out of its file, in another process", () => {
    const plant = "fused,0.5,^MUL:attn_norm-1$", file = scratch("fused.gguf");
    const directory = planted(dense(), { vulkan: env, plant, values: ["--values", "--values-dump", "attn_norm-1"] });
    const made = run(ggscope, ["extract", directory, "MUL:attn_norm-1", "-o", file], { env });
    assert.equal(made.status, 0, made.stderr);
    const replay = (preload) => {
        const result = run(engine, ["replay", "--json", file, "--device", "Vulkan0"], { env: { ...env, ...preload } });
        assert.ok(result.stdout !== "", result.stderr);
        return { status: result.status, ...JSON.parse(result.stdout) };
    };
    const wrong = replay({ LD_PRELOAD: vulkanLibrary, PLANT: "fused,0.5,^MUL:" }), right = replay({}), of = (answer) => answer.backends.find((b) => b.name === "Vulkan0");
    assert.ok(of(wrong).cpu.nmse > 1e-3 && of(wrong).recorded.nmse < 1e-8 && wrong.wrong && wrong.status === 1, JSON.stringify(wrong));
    assert.ok(of(right).cpu.nmse < 1e-8 && of(right).recorded.nmse > 1e-3, JSON.stringify(right));
});
