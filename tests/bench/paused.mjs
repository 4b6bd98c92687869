// Measures the cost of a paused recording: tokens per second of a program alone and under `ggscope
// record --paused`, in one interleaved run, beside an A/A control.
//     node tests/bench/paused.mjs [--pairs N] [--tokens N] [--threads N] [MODEL...]
import { mkdtempSync, rmSync } from "node:fs";
import { parseArgs } from "node:util";
import { engine, ggscope, model, output } from "../lib.mjs";
import { ratioOfMedians } from "./statistics.mjs";

const { values, positionals } = parseArgs({
    options: { pairs: { type: "string", default: "20" }, tokens: { type: "string", default: "200" }, threads: { type: "string", default: "1" } },
    allowPositionals: true,
});

function tokensPerSecond(path, paused) {
    const args = ["run", "-m", path, "-p", "Once upon a time", "-n", values.tokens, "-t", values.threads, "--ignore-eos", "--json"];
    const directory = paused && mkdtempSync("/dev/shm/ggscope-bench-");
    const command = paused ? [ggscope, "record", "-q", "--paused", "-o", directory, "--", engine, ...args] : [engine, ...args];
    const { generate_median_ns, tokens_per_second } = JSON.parse(output(command[0], command.slice(1)).trim().split("\n").pop());
    if (directory) rmSync(directory, { recursive: true });
    return { mean: tokens_per_second, median: 1e9 / generate_median_ns };
}

const show = ({ ratio, low, high }) => `${ratio.toFixed(4)} [${low.toFixed(4)}, ${high.toFixed(4)}]`;
console.log(`tokens/s as a ratio of medians with its 95 % interval, ${values.pairs} interleaved rounds, ${values.threads} threads`);
for (const name of positionals.length ? positionals : ["tiny"]) {
    const path = model(name), plain = [], again = [], paused = [];
    for (let i = 0; i < Number(values.pairs); i++) {
        const round = [() => plain.push(tokensPerSecond(path, false)), () => paused.push(tokensPerSecond(path, true)), () => again.push(tokensPerSecond(path, false))];
        for (let k = 0; k < round.length; k++) round[(k + i) % round.length](); // each goes first in turn
    }
    console.log(`${name}, ${values.tokens} tokens per run`);
    for (const kind of ["mean", "median"]) {
        const of = (runs) => runs.map((run) => run[kind]);
        console.log(` by the ${kind} token of each run`);
        console.log(`  off / off       ${show(ratioOfMedians(of(again), of(plain)))}   (control)`);
        console.log(`  paused / off    ${show(ratioOfMedians(of(paused), of(plain)))}`);
    }
}
