// Measures the cost of recording values: the time of a token and of a prompt with and without it,
// in one interleaved run. toggle.mjs --with=--values measures tokens more exactly.
//     node tests/bench/values.mjs [--rounds N] [--tokens N] [--prompt N] [--threads N] [--only MODE,...] [MODEL...]
// Modes alternate, and each goes first in turn. "off again" is the control.
//     --values            every op of every graph
//     --values-every 8    every eighth graph
//     without weights     --values without weights, which are read once: the difference is their cost
// A token is the median of a run, a prompt its total; ratios are of medians over rounds, with their
// 95 % interval.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { engine, ggscope, model, output } from "../lib.mjs";
import { median, ratioOfMedians } from "./statistics.mjs";

const { values: given, positionals } = parseArgs({
    options: { rounds: { type: "string", default: "15" }, tokens: { type: "string" }, prompt: { type: "string", default: "400" }, threads: { type: "string", default: "2" }, only: { type: "string" } },
    allowPositionals: true,
});
const tokensOf = { tiny: 160, "tinyllama-1.1b": 24 };
const recorded = (...options) => ["record", "-q", "--no-faults", ...options];
const modes = {
    off: null, "off again": null, recording: recorded(), "--values": recorded("--values"),
    "--values-every 8": recorded("--values", "--values-every", "8"), "without weights": recorded("--values"),
};

function measure(name, path, tokens) {
    const folder = mkdtempSync("/dev/shm/ggscope-bench-"), text = "one two three four five six seven ".repeat(Math.ceil(Number(given.prompt) / 7));
    const words = [engine, "run", "-m", path, "-p", text, "-n", String(tokens), "-t", given.threads, "--ignore-eos", "--json"];
    if (modes[name]) words.unshift(ggscope, ...modes[name], "-o", join(folder, "x"), "--");
    const env = name === "without weights" ? { ...process.env, GGSCOPE_VALUES_NO_WEIGHTS: "1" } : process.env;
    const { token_ns, prompt_ns } = JSON.parse(output(words[0], words.slice(1), { env }).trim().split("\n").at(-1));
    rmSync(folder, { recursive: true });
    return { token: median(token_ns), prompt: prompt_ns };
}

const show = ({ ratio, low, high }) => `${ratio.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
console.log(`speed as a ratio (1: as fast as without) with its 95 % interval, ${given.threads} threads, ${given.rounds} rounds`);
for (const preset of positionals.length ? positionals : ["tiny", "tinyllama-1.1b"]) {
    const path = model(preset), tokens = Number(given.tokens ?? tokensOf[preset] ?? 50), names = Object.keys(modes).filter((name) => name === "off" || !given.only || given.only.split(",").includes(name)), runs = Object.fromEntries(names.map((name) => [name, []]));
    for (let round = 0; round < Number(given.rounds); round++)
        for (let k = 0; k < names.length; k++) {
            const name = names[(k + round) % names.length];
            runs[name].push(measure(name, path, tokens));
        }
    console.log(`${preset}: a token ${(median(runs.off.map((r) => r.token)) / 1000).toFixed(0)} us, the prompt ${(median(runs.off.map((r) => r.prompt)) / 1e6).toFixed(1)} ms`);
    for (const name of names.slice(1)) {
        const of = (key) => ratioOfMedians(runs.off.map((r) => r[key]), runs[name].map((r) => r[key]));
        const more = (key, unit) => ((median(runs[name].map((r) => r[key])) - median(runs.off.map((r) => r[key]))) / unit).toFixed(1);
        console.log(`  ${`${name} / off`.padEnd(24)} token ${show(of("token"))} ${more("token", 1000).padStart(8)} us more   prompt ${show(of("prompt"))} ${more("prompt", 1e6).padStart(8)} ms more${name === "off again" ? "   (control)" : ""}`);
    }
}
