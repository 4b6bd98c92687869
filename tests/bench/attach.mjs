// What attaching costs, within --seconds in all (60 and a few more):
//   - how long threads stand: the borrowed one, and all of them, in a stand-in for a program with ggml inside that has --threads threads;
//   - tokens per second of a program alone, with the library left in it (attached and detached), attached and recorded, and recorded from
//     its start, in one interleaved run, beside an A/A control (what "no difference" looks like here). Left out if there are more threads
//     than processors: a token then measures the scheduler.
//     node tests/bench/attach.mjs [--seconds N] [--tokens N] [--threads N] [MODEL]
// Tokens of the second half of each run count; a run in which ggscope attached later than that is
// made again.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { engine, ggscope, model, output, root, scratch } from "../lib.mjs";
import { median, ratioOfMedians } from "./statistics.mjs";

const { values, positionals } = parseArgs({
    options: { seconds: { type: "string", default: "60" }, tokens: { type: "string", default: "400" }, threads: { type: "string", default: "1" } },
    allowPositionals: true,
});
const began = Date.now(), seconds = Number(values.seconds), isOver = (share) => Date.now() - began > seconds * share * 1000;
const kinds = ["alone", "control", "left", "attached", "preloaded"];

function start(program, args) {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] }), said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => (said[name] += text));
    return { child, said, ended: new Promise((resolve) => child.on("close", (status) => resolve({ status, ...said }))) };
}

// Resolves when the program has printed the text, or ended.
const says = ({ child, said, ended }, text) => Promise.race([ended, new Promise((resolve) => child.stderr.on("data", () => text.test(said.stderr) && resolve()))]);

async function tokenTimes(path, kind, tokens) {
    const folder = mkdtempSync("/dev/shm/ggscope-bench-"), directory = join(folder, "x"), late = kind === "left" || kind === "attached";
    const words = ["run", "-m", path, "-p", "Once upon a time", "-n", String(tokens), "-t", values.threads, "--ignore-eos", "--json", "--ctx", String(tokens + 64)];
    try {
        const program = kind === "preloaded" ? start(ggscope, ["record", "-q", "-o", directory, "--", engine, ...words]) : start(engine, words);
        const attach = late && start(ggscope, ["attach", "-o", directory, ...(kind === "left" ? ["--steps", "1"] : []), String(program.child.pid)]);
        const cut = setTimeout(() => [program, attach].forEach((one) => one && one.child.kill("SIGTERM")), Math.max(0, began + seconds * 1000 - Date.now()));
        program.ended.then(() => clearTimeout(cut));
        if (kind === "left") await attach.ended;
        if (kind === "attached") await says(attach, /stood for [\d.]+ ms/);
        const attachedAt = process.hrtime.bigint(), { stdout, stderr, status } = await program.ended, endedAt = process.hrtime.bigint();
        if (status !== 0 && isOver(1)) return null;
        if (status !== 0) throw new Error(stderr);
        const { token_ns } = JSON.parse(stdout.trim().split("\n").at(-1)), half = token_ns.slice(token_ns.length / 2);
        if (late) {
            const milliseconds = (await attach.ended).stderr.match(/stood for ([\d.]+) ms/)?.[1];
            if (milliseconds === undefined || Number(endedAt - attachedAt) < half.reduce((sum, ns) => sum + ns, 0)) return null;
        }
        return half;
    } finally {
        rmSync(folder, { recursive: true, force: true });
    }
}

// ---- how long threads stand ----

async function measureStanding() {
    const file = scratch("standing"), directory = scratch("standing-recording"), one = [], all = [];
    output("gcc", ["-O2", "-DYIELDS", `-DTHREADS=${values.threads}`, "-I", join(root, "src"), "-o", file, join(root, "tests", "engine", "inside-host.c"), "-lpthread"]);
    const program = start(file, ["endless"]);
    try {
        while (!isOver(0.4) || one.length === 0) {
            const { stderr } = await start(ggscope, ["attach", "-o", directory, "--for", "20ms", String(program.child.pid)]).ended;
            rmSync(directory, { recursive: true, force: true });
            const [, borrowed, every] = stderr.match(/stood for ([\d.]+) ms, and all of them for ([\d.]+) ms/) ?? [];
            if (every === undefined) throw new Error(stderr);
            one.push(Number(borrowed)), all.push(Number(every));
        }
    } finally {
        program.child.kill("SIGKILL");
        await program.ended;
    }
    for (const [what, times] of [["the borrowed thread", one], [`all ${values.threads} threads`, all]]) {
        times.sort((a, b) => a - b);
        console.log(`  ${what.padEnd(22)} ${median(times).toFixed(2)} ms in the median, ${times[Math.floor(times.length * 0.99)]} ms in 99 of 100, ${times.at(-1)} ms at most`);
    }
    console.log(`  (${one.length} times)`);
}
console.log(`how long threads stand, ${values.threads} threads on ${availableParallelism()} processors`);
await measureStanding();

// ---- tokens ----

const show = ({ ratio, low, high }) => `${ratio.toFixed(4)} [${low.toFixed(4)}, ${high.toFixed(4)}]`;
const mean = (list) => list.reduce((sum, ns) => sum + ns, 0) / list.length;

async function measureTokens(path) {
    const found = Object.fromEntries(kinds.map((kind) => [kind, []]));
    let tokens = Number(values.tokens), rounds = 0;
    while (!isOver(0.9)) {
        const times = {};
        for (let k = 0; k < kinds.length && !isOver(1); k++) { // each goes first in turn
            const kind = kinds[(k + rounds) % kinds.length];
            while (!isOver(1) && !(times[kind] = await tokenTimes(path, kind, tokens))) tokens *= 2; // ggscope attached later than in the middle
        }
        if (!kinds.every((kind) => times[kind])) break;
        for (const kind of kinds) found[kind].push(times[kind]);
        rounds++;
    }
    console.log(`tokens/s as a ratio of medians with its 95 % interval, ${rounds} interleaved rounds, up to ${tokens} tokens per run`);
    for (const [title, figure] of rounds === 0 ? [] : [["mean", mean], ["median", median]]) {
        const of = (kind) => found[kind].map((times) => 1e9 / figure(times)), row = (label, a, b, note = "") => console.log(`  ${label.padEnd(22)} ${show(ratioOfMedians(of(a), of(b)))}${note}`);
        console.log(` by the ${title} token of each run`);
        row("alone / alone", "control", "alone", "   (control)");
        row("left / alone", "left", "alone");
        row("attached / alone", "attached", "alone");
        row("preloaded / alone", "preloaded", "alone");
        row("attached / preloaded", "attached", "preloaded");
    }
}
if (Number(values.threads) <= availableParallelism()) await measureTokens(model(positionals[0] ?? "tiny"));
else console.log("tokens are not measured: there are more threads than processors");
