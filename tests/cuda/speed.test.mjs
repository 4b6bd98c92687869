// Tokens per second with recording, on a model of TinyLlama's shape. Modes alternate; one of them
// repeats not recording.
//     GGSCOPE_CUDA_ROUNDS=N     rounds (12)
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { median, ratioOfMedians } from "../bench/statistics.mjs";
import { engine, env, ggscope, maybe, model, output, say, scratch } from "./cuda.mjs";

const rounds = Number(process.env.GGSCOPE_CUDA_ROUNDS ?? 12), tokens = 600;
const behind = 64; // the window of first:32 has ended after this many tokens
const modes = { "not recorded": null, "--gpu-ops none": "none", "--gpu-ops first:32": "first:32", "not recorded, again": null };

// The token times of one run: a typical one after the window, and all of them.
function measure(gpuOps) {
    const args = ["run", "-m", model("tinyllama-1.1b"), "-p", "Once upon a time", "-n", String(tokens), "-t", "2", "-ngl", "99", "--ignore-eos", "--json"];
    const directory = scratch("speed");
    const text = gpuOps === null ? output(engine, args, { env }) : output(ggscope, [...args, "--gpu-ops", gpuOps, "-q", "-o", directory], { env });
    rmSync(directory, { recursive: true, force: true });
    const { token_ns } = JSON.parse(text), after = token_ns.slice(behind);
    const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
    return { typical: median(after), mean: mean(after), all: mean(token_ns) };
}

maybe("tokens per second outside of the window", () => {
    const names = Object.keys(modes), runs = new Map(names.map((name) => [name, []]));
    measure(null); // brings the file into the page cache
    for (let i = 0; i < rounds; i++)
        for (let k = 0; k < names.length; k++) {
            const name = names[(k + i) % names.length]; // each goes first in turn
            runs.get(name).push(measure(modes[name]));
        }
    const once = runs.get("not recorded"), again = runs.get("not recorded, again"), low = {};
    const mean = (a, b) => Object.fromEntries(Object.keys(a).map((key) => [key, (a[key] + b[key]) / 2]));
    const both = once.map((run, i) => mean(run, again[i])); // two unrecorded runs per round: both count
    say(`tinyllama-1.1b, ${tokens} tokens, ${rounds} rounds; tokens/s as a ratio to not recording, with its 95 % interval; a token takes ${(median(both.map((r) => r.typical)) / 1e6).toFixed(3)} ms`);
    for (const name of names.slice(1)) {
        const base = name === "not recorded, again" ? once : both;
        const ratio = (key) => ratioOfMedians(base.map((r) => r[key]), runs.get(name).map((r) => r[key]));
        const show = ({ ratio, low, high }) => `${ratio.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
        say(`${name}: after the window, median token ${show(ratio("typical"))}, mean ${show(ratio("mean"))}; all tokens ${show(ratio("all"))}`);
        low[name] = ratio("typical");
    }
    for (const name of ["--gpu-ops none", "--gpu-ops first:32"]) assert.ok(low[name].high >= 0.98, `${name}: ${JSON.stringify(low[name])}`);
});
