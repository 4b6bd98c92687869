// Measures the cost of recording: the time of a token with and without it, in one interleaved run.
//     node tests/bench/overhead.mjs [--least N] [--most N] [--tokens N] [--threads N] [--seconds N] [--long] [MODEL...]
// Rounds continue until the interval is narrow enough (0.5 % to either side for tiny, 0.3 % for
// tinyllama-1.1b), at most --most of them. The A/B has an A/A control, and the engine's own eval
// callback, which other tools use, for comparison.
//
// Other load on the machine only makes tokens slower. The figures are:
//     quiet token   sum over tokens (the same work in all rounds) of the time that a fifth of the
//                   rounds stay below. Excludes rare events such as a new segment of the spool
//     mean token    of each run, median over rounds: includes everything, also other programs
//     CPU time      of all threads per token, median over rounds: waiting threads spin, so a delay
//                   of one counts for all
//     all CPU time  per token, with ggscope's own: loading, watching, sealing during and after the run
//
// --long: runs of some seconds, in which most of the recording is sealed while it continues.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { engine, ggscope, model, output } from "../lib.mjs";
import { median, ratioOf } from "./statistics.mjs";

const { values, positionals } = parseArgs({
    options: { long: { type: "boolean" }, seconds: { type: "string", default: "Infinity" }, least: { type: "string", default: "20" }, most: { type: "string", default: "120" }, tokens: { type: "string" }, threads: { type: "string", default: "2" } },
    allowPositionals: true,
});
const models = positionals.length ? positionals : values.long ? ["tiny"] : ["tiny", "tinyllama-1.1b"];
const tokensOf = values.long ? { tiny: 6000, "tinyllama-1.1b": 300 } : { tiny: 150, moe: 60, "tinyllama-1.1b": 16 };
const until = Date.now() + Number(values.seconds) * 1000;
const wanted = { tiny: 0.005, "tinyllama-1.1b": 0.003 };

// "0m1.250s 0m0.500s"
const seconds = (line) => line.trim().split(" ").map((time) => /^(\d+)m([\d.]+)s$/.exec(time)).reduce((sum, [, m, s]) => sum + m * 60 + Number(s), 0);

function generate(path, tokens, kind) {
    const words = [engine, "run", "-m", path, "-p", "Once upon a time", "-n", String(tokens), "-t", values.threads, "--ignore-eos", "--json"];
    const directory = mkdtempSync("/dev/shm/ggscope-bench-");
    if (tokens > 2000) words.push("--ctx", String(tokens + 64));
    if (kind === "callback") words.push("--eval-callback");
    if (kind === "recording") words.unshift(ggscope, "record", "-q", "-o", join(directory, "x"), "--");
    if (kind === "no faults") words.unshift(ggscope, "record", "-q", "--no-faults", "-o", join(directory, "x"), "--");
    const lines = output("sh", ["-c", '"$@" && times', "sh", ...words]).trim().split("\n");
    const { token_ns, generate_ns, generate_cpu_ns } = JSON.parse(lines.at(-3)), n = token_ns.length;
    rmSync(directory, { recursive: true });
    return { token_ns, mean: generate_ns / n, cpu: generate_cpu_ns / n, all: (seconds(lines.at(-1)) * 1e9) / n };
}

function quiet(runs) {
    let sum = 0;
    for (let i = 0; i < runs[0].token_ns.length; i++) sum += runs.map((run) => run.token_ns[i]).sort((a, b) => a - b)[Math.floor(runs.length / 5)];
    return sum / runs[0].token_ns.length;
}

const figures = { "quiet token": quiet, "mean token": (runs) => median(runs.map((run) => run.mean)), "CPU time": (runs) => median(runs.map((run) => run.cpu)), "all CPU time": (runs) => median(runs.map((run) => run.all)) };
const names = { again: "off / off", recording: "recording / off", "no faults": "without faults / off", callback: "callback / off" };
const show = ({ ratio, low, high }) => `${ratio.toFixed(4)} [${low.toFixed(4)}, ${high.toFixed(4)}]`;

console.log(`speed as a ratio (1: as fast as without) with its 95 % interval, ${values.threads} threads`);
for (const name of models) {
    const path = model(name), tokens = Number(values.tokens ?? tokensOf[name] ?? 50), kinds = ["off", "recording", "again", ...(values.long ? [] : ["no faults", "callback"])];
    const runs = Object.fromEntries(kinds.map((kind) => [kind, []]));
    const narrow = (kind) => {
        const { low, high } = ratioOf(quiet, runs.off, runs[kind], 200);
        return (high - low) / 2 <= (wanted[name] ?? 0.005);
    };
    let round = 0;
    for (; round < Number(values.most) && Date.now() < until && (round < Number(values.least) || round % 10 > 0 || !narrow("again") || !narrow("recording")); round++) {
        const some = round % 5 === 0 ? kinds : kinds.slice(0, 3); // the others need less precision
        for (let k = 0; k < some.length; k++) {
            const kind = some[(k + round) % some.length]; // each goes first in turn
            runs[kind].push(generate(path, tokens, kind));
        }
    }
    console.log(`${name}, ${tokens} tokens per run, ${round} rounds; a token alone: ${(quiet(runs.off) / 1000).toFixed(1)} us`);
    for (const [title, figure] of Object.entries(figures)) {
        console.log(` by ${title.endsWith("CPU time") ? title : `the ${title}`}`);
        for (const kind of kinds.slice(1)) {
            const every = runs[kind].length < round ? runs.off.filter((_, i) => i % 5 === 0) : runs.off;
            const more = (figure(runs[kind]) - figure(every)) / 1000;
            console.log(`  ${names[kind].padEnd(22)} ${show(ratioOf(figure, every, runs[kind], title === "quiet token" ? 300 : 2000))} ${more.toFixed(1).padStart(8)} us more${kind === "again" ? "   (control)" : kind === "callback" ? "   (the engine's eval callback on every node)" : ""}`);
        }
    }
}
