// What recording costs: tokens per second with and without, in one interleaved run.
//     node tests/bench/overhead.mjs [--pairs N] [--tokens N] [--threads N] [MODEL...]
// Beside the A/B stand an A/A control (what "no difference" looks like here) and the engine's own eval callback, the way
// other tools take. Page faults are observed from outside, so they are measured through ggscope record, with and without; what they cost
// shows where there are many: while the model is loaded and repacked.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build, engine, ggscope, model, output } from "../lib.mjs";
import { ratioOfMedians } from "./statistics.mjs";

const { values, positionals } = parseArgs({
    options: { pairs: { type: "string", default: "20" }, tokens: { type: "string" }, threads: { type: "string", default: "2" } },
    allowPositionals: true,
});
const models = positionals.length ? positionals : ["tiny", "tinyllama-1.1b"];
const tokensOf = { tiny: 200, moe: 60, "tinyllama-1.1b": 16 };

function tokensPerSecond(path, tokens, { record, callback, faults } = {}) {
    const args = ["run", "-m", path, "-p", "Once upon a time", "-n", String(tokens), "-t", values.threads, "--ignore-eos", "--json"];
    const directory = (record || faults) && mkdtempSync("/dev/shm/ggscope-bench-");
    const env = { ...process.env };
    if (record) Object.assign(env, { LD_PRELOAD: join(build, "lib", "libggscope-capture.so"), GGSCOPE_OUTPUT: directory });
    const command = faults ? [ggscope, "record", "-q", "-o", directory, faults, "--", engine, ...args] : [engine, ...args, ...(callback ? ["--eval-callback"] : [])];
    const last = output(command[0], command.slice(1), { env }).trim().split("\n").pop();
    if (directory) rmSync(directory, { recursive: true });
    const { tokens_per_second, generate_median_ns, load_ns } = JSON.parse(last);
    return { mean: tokens_per_second, median: 1e9 / generate_median_ns, load: load_ns / 1e6 };
}

const show = ({ ratio, low, high }) => `${ratio.toFixed(4)} [${low.toFixed(4)}, ${high.toFixed(4)}]`;
console.log(`tokens/s as a ratio of medians with its 95 % interval, ${values.pairs} interleaved rounds, ${values.threads} threads`);
for (const name of models) {
    const path = model(name), tokens = Number(values.tokens ?? tokensOf[name] ?? 50);
    const plain = [], again = [], recorded = [], called = [], without = [], withFaults = [];
    for (let i = 0; i < Number(values.pairs); i++) {
        const round = [
            () => plain.push(tokensPerSecond(path, tokens)),
            () => recorded.push(tokensPerSecond(path, tokens, { record: true })),
            () => again.push(tokensPerSecond(path, tokens)),
            () => called.push(tokensPerSecond(path, tokens, { callback: true })),
            () => without.push(tokensPerSecond(path, tokens, { faults: "--no-faults" })),
            () => withFaults.push(tokensPerSecond(path, tokens, { faults: "--faults" })),
        ];
        for (let k = 0; k < round.length; k++) round[(k + i) % round.length](); // each goes first in turn
    }
    console.log(`${name}, ${tokens} tokens per run`);
    for (const kind of ["mean", "median"]) {
        const of = (runs) => runs.map((run) => run[kind]);
        console.log(` by the ${kind} token of each run`);
        console.log(`  off / off          ${show(ratioOfMedians(of(again), of(plain)))}   (control)`);
        console.log(`  recording / off    ${show(ratioOfMedians(of(recorded), of(plain)))}`);
        console.log(`  faults / no faults ${show(ratioOfMedians(of(withFaults), of(without)))}`);
        console.log(`  callback / off     ${show(ratioOfMedians(of(called), of(plain)))}   (the engine's eval callback on every node)`);
    }
    const load = (runs) => runs.map((run) => run.load);
    console.log(` time to load, faults / no faults ${show(ratioOfMedians(load(withFaults), load(without)))}`);
}
