// Every architecture of ggscope-engine synth on a Vulkan device, whole and in part, and the
// backend's own times. tests/engine/vulkan.test.mjs has the part in make test.
import assert from "node:assert/strict";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { accounted, table } from "../engine/traces.mjs";
import { env, maybe } from "../engine/vulkan.mjs";

const layers = ["--layers", "3"], experts = ["--experts", "4", "--experts-used", "2"];
const models = {
    llama: layers,
    "llama with experts": [...layers, ...experts],
    gpt2: ["--arch", "gpt2", ...layers],
    gemma3: ["--arch", "gemma3", ...layers],
    qwen3moe: ["--arch", "qwen3moe", ...layers, ...experts],
    deepseek2: ["--arch", "deepseek2", ...layers, ...experts],
};
const placements = { all: ["-ngl", "99"], part: ["-ngl", "2"], "experts on the CPU": ["-ngl", "99", "-ot", "exps=CPU"] };

let n = 0;
for (const [name, options] of Object.entries(models)) {
    for (const [where, placement] of Object.entries(placements)) {
        if (where.startsWith("experts") && !options.includes("--experts")) continue;
        maybe(`${name}, ${where}: the same logits, every node accounted for`, () => {
            const directory = scratch(`arch-${n++}`);
            // Flash attention of deepseek2 does not terminate on the software device.
            const attention = name === "deepseek2" ? ["-fa", "off"] : [];
            const args = ["-m", model("tiny", ...options), "-p", "Once upon", "-n", "3", "-t", "1", ...attention, ...placement, "--json", "--logits-hash"];
            const plain = JSON.parse(output(engine, ["run", ...args], { env }));
            const traced = JSON.parse(output(ggscope, ["run", ...args, "-q", "-o", directory], { env }));
            assert.equal(traced.logits_hash, plain.logits_hash);
            const runs = table(directory, "runs");
            assert.ok(runs.some((r) => r.backend === "Vulkan0"));
            runs.forEach(accounted);
            const checked = run(ggscope, ["check", directory]);
            assert.equal(checked.status, 0, checked.stdout);
        });
    }
}

// GGML_VK_PERF_LOGGER measures from the end of the previous op to the op's end. Other load makes
// this differ, so the quietest of three counts.
maybe("the sum of op times is the backend's own within 5 %", () => {
    const ratios = [];
    for (let i = 0; i < 3 && !ratios.some((r) => Math.abs(r - 1) < 0.05); i++) {
        const directory = scratch(`logger-${i}`);
        const args = ["run", "-m", model("tiny"), "-p", "Once upon", "-n", "3", "-t", "2", "-ngl", "99", "-q", "-o", directory];
        const { status, stdout, stderr } = run(ggscope, args, { env: { ...env, GGML_VK_PERF_LOGGER: "1" } });
        assert.equal(status, 0, stderr);
        const own = [...(stdout + stderr).matchAll(/: \d+ x [\d.e+]+ us = ([\d.e+]+) us/g)].reduce((sum, [, us]) => sum + 1000 * Number(us), 0);
        const { by_device } = JSON.parse(output(ggscope, ["stats", "--json", "--by", "device", directory]));
        ratios.push(by_device.find((g) => g.device === "Vulkan0").wall_ns / own);
    }
    assert.ok(Math.abs(ratios.at(-1) - 1) < 0.05, `ours is ${ratios} of the backend's`);
});
