// What attaching costs: tokens per second of a program alone, with the library left in it (attached and detached), attached and recorded, and recorded from its start, in one interleaved run, beside an A/A
// control (what "no difference" looks like here); and how long the borrowed thread stands.
//     node tests/bench/attach.mjs [--pairs N] [--tokens N] [--threads N] [MODEL...]
// Tokens of the second half of each run count; a run in which ggscope attached later than that is made again.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { engine, ggscope, model } from "../lib.mjs";
import { median, ratioOfMedians } from "./statistics.mjs";

const { values, positionals } = parseArgs({
    options: { pairs: { type: "string", default: "20" }, tokens: { type: "string", default: "1000" }, threads: { type: "string", default: "1" } },
    allowPositionals: true,
});
const kinds = ["alone", "control", "left", "attached", "preloaded"], stood = [];

function start(program, args) {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] }), said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => (said[name] += text));
    return { child, said, ended: new Promise((resolve) => child.on("close", (status) => resolve({ status, ...said }))) };
}

// Resolves when the text is there, or the program has ended.
const says = ({ child, said, ended }, text) => Promise.race([ended, new Promise((resolve) => child.stderr.on("data", () => text.test(said.stderr) && resolve()))]);

async function tokenTimes(path, kind) {
    const folder = mkdtempSync("/dev/shm/ggscope-bench-"), directory = join(folder, "x"), late = kind === "left" || kind === "attached";
    const words = ["run", "-m", path, "-p", "Once upon a time", "-n", values.tokens, "-t", values.threads, "--ignore-eos", "--json", "--ctx", String(Number(values.tokens) + 64)];
    try {
        const program = kind === "preloaded" ? start(ggscope, ["record", "-q", "-o", directory, "--", engine, ...words]) : start(engine, words);
        const attach = late && start(ggscope, ["attach", "-o", directory, ...(kind === "left" ? ["--steps", "1"] : []), String(program.child.pid)]);
        if (kind === "left") await attach.ended;
        if (kind === "attached") await says(attach, /stood for [\d.]+ ms/);
        const attachedAt = process.hrtime.bigint(), { stdout, stderr, status } = await program.ended, endedAt = process.hrtime.bigint();
        if (status !== 0) throw new Error(stderr);
        const { token_ns } = JSON.parse(stdout.trim().split("\n").at(-1)), half = token_ns.slice(token_ns.length / 2);
        if (late) {
            const milliseconds = (await attach.ended).stderr.match(/stood for ([\d.]+) ms/)?.[1];
            if (milliseconds === undefined || Number(endedAt - attachedAt) < half.reduce((sum, ns) => sum + ns, 0)) return null;
            stood.push(Number(milliseconds));
        }
        return half;
    } finally {
        rmSync(folder, { recursive: true, force: true });
    }
}

const show = ({ ratio, low, high }) => `${ratio.toFixed(4)} [${low.toFixed(4)}, ${high.toFixed(4)}]`;
const mean = (list) => list.reduce((sum, ns) => sum + ns, 0) / list.length;
console.log(`tokens/s as a ratio of medians with its 95 % interval, ${values.pairs} interleaved rounds, ${values.threads} threads`);
for (const name of positionals.length ? positionals : ["tiny"]) {
    const path = model(name), found = Object.fromEntries(kinds.map((kind) => [kind, []]));
    for (let i = 0; i < Number(values.pairs); i++)
        for (let k = 0; k < kinds.length; k++) { // each goes first in turn
            const kind = kinds[(k + i) % kinds.length];
            let times = null;
            for (let tries = 0; times === null; tries++) {
                if (tries === 10) throw new Error(`ggscope attaches later than in the middle of ${values.tokens} tokens, ten times in a row; use more (--tokens)`);
                times = await tokenTimes(path, kind);
            }
            found[kind].push(times);
        }
    console.log(`${name}, ${values.tokens} tokens per run`);
    for (const [title, figure] of [["mean", mean], ["median", median]]) {
        const of = (kind) => found[kind].map((times) => 1e9 / figure(times)), row = (label, a, b, note = "") => console.log(`  ${label.padEnd(22)} ${show(ratioOfMedians(of(a), of(b)))}${note}`);
        console.log(` by the ${title} token of each run`);
        row("alone / alone", "control", "alone", "   (control)");
        row("left / alone", "left", "alone");
        row("attached / alone", "attached", "alone");
        row("preloaded / alone", "preloaded", "alone");
        row("attached / preloaded", "attached", "preloaded");
    }
}
stood.sort((a, b) => a - b);
console.log(`the borrowed thread stood ${median(stood).toFixed(2)} ms in the median, ${stood[Math.floor(stood.length * 0.99)]} ms in 99 of 100, ${stood.at(-1)} ms at most (${stood.length} times)`);
