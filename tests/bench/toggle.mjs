// What recording costs, within one process: a recording is switched on and off every few tokens while a program generates, and each stretch of recorded tokens is compared
// with the stretches beside it that are not. Memory, processors and what else the machine does are the same for both, so far fewer tokens say more than whole runs against each other.
//     node tests/bench/toggle.mjs [--tokens N] [--runs N] [--threads N] [--stretch MS] [MODEL...]
//
// Not in it: what hooks cost while a recording is paused (a look at one word for each op: tests/bench/paused.mjs), and what ggscope does before and behind the run.
// A/A: of the stretches that are not recorded every second one against its neighbours, in the same way.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { engine, ggscope, model, output } from "../lib.mjs";
import { median, ratioOf } from "./statistics.mjs";

const { values, positionals } = parseArgs({
    options: { tokens: { type: "string" }, runs: { type: "string", default: "10" }, threads: { type: "string", default: "2" }, stretch: { type: "string" } },
    allowPositionals: true,
});
const usual = { tiny: { tokens: 800, stretch: 60 }, "tinyllama-1.1b": { tokens: 200, stretch: 400 } };
const EDGE = 2; // tokens at either end of a stretch, in which it is switched

// Stretches of one run, in order: whether it was recorded, and the times of its tokens.
async function stretches(path, tokens, pause) {
    const folder = mkdtempSync("/dev/shm/ggscope-bench-"), recording = join(folder, "x");
    const words = ["run", "-m", path, "-p", "Once upon a time", "-n", String(tokens), "-t", values.threads, "--ignore-eos", "--json", "--ctx", String(tokens + 64)];
    try {
        const program = spawn(ggscope, ["record", "-q", "--paused", "-o", recording, "--", engine, ...words], { stdio: ["ignore", "pipe", "inherit"] });
        let text = "", ended = false;
        program.stdout.setEncoding("utf8").on("data", (more) => (text += more));
        const closed = once(program, "close").finally(() => (ended = true));
        while (!ended) {
            await Promise.race([sleep(pause), closed]);
            if (!ended) await once(spawn(ggscope, ["control", recording, "toggle"], { stdio: "ignore" }), "close");
        }
        const { token_ns, prompt_tokens } = JSON.parse(text.trim().split("\n").at(-1));
        const seen = new Set(JSON.parse(output(ggscope, ["sql", "--json", recording, "SELECT position FROM inputs"])).rows.map(([position]) => position));
        const found = [];
        token_ns.forEach((ns, i) => {
            const recorded = seen.has(prompt_tokens + i);
            if (found.at(-1)?.recorded !== recorded) found.push({ recorded, tokens: [] });
            found.at(-1).tokens.push(ns);
        });
        return found.map(({ recorded, tokens: all }) => ({ recorded, tokens: all.slice(EDGE, -EDGE) })).filter((stretch) => stretch.tokens.length >= 3);
    } finally {
        rmSync(folder, { recursive: true, force: true });
    }
}

const figures = { "median token": median, "mean token": (all) => all.reduce((sum, ns) => sum + ns, 0) / all.length };
const show = ({ ratio, low, high }) => `${ratio.toFixed(4)} [${low.toFixed(4)}, ${high.toFixed(4)}]`;
const beside = (list, i, figure) => (figure(list[i - 1].tokens) + figure(list[i + 1].tokens)) / 2;

console.log(`speed as a ratio (1: as fast as without) with its 95 % interval, ${values.threads} threads, ${values.runs} runs`);
for (const name of positionals.length ? positionals : ["tiny", "tinyllama-1.1b"]) {
    const path = model(name), tokens = Number(values.tokens ?? usual[name]?.tokens ?? 200), pause = Number(values.stretch ?? usual[name]?.stretch ?? 200), runs = [];
    for (let i = 0; i < Number(values.runs); i++) runs.push(await stretches(path, tokens, pause));
    const n = runs.flat().filter((stretch) => stretch.recorded).length, ns = median(runs.flat().filter((stretch) => !stretch.recorded).flatMap((stretch) => stretch.tokens));
    console.log(`${name}, ${tokens} tokens a run, ${n} recorded stretches; a token that is not recorded: ${(ns / 1000).toFixed(1)} us`);
    for (const [kind, figure] of Object.entries(figures)) {
        const pairs = { "recording / paused": [], "paused / paused": [] };
        for (const run of runs) {
            const plain = run.filter((stretch) => !stretch.recorded);
            for (let i = 1; i + 1 < run.length; i++) if (run[i].recorded && !run[i - 1].recorded && !run[i + 1].recorded) pairs["recording / paused"].push(beside(run, i, figure) / figure(run[i].tokens));
            for (let i = 1; i + 1 < plain.length; i += 2) pairs["paused / paused"].push(beside(plain, i, figure) / figure(plain[i].tokens));
        }
        console.log(` by the ${kind} of each stretch`);
        for (const [what, ratios] of Object.entries(pairs)) {
            const { low, high } = ratioOf(median, ratios, ratios.map(() => 1));
            console.log(`  ${what.padEnd(20)}  ${show({ ratio: median(ratios), low, high })}${what.startsWith("paused") ? "   (control)" : `   ${((ns / median(ratios) - ns) / 1000).toFixed(1)} us more`}`);
        }
    }
}
