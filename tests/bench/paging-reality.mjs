// Compares `ggscope paging --policy linux` with the machine: bytes read per token under a memory
// limit, as measured and as predicted from a recording without a limit.
//     node tests/bench/paging-reality.mjs [--tokens N] [--runs N] [MODEL LIMIT-IN-MIB,...]...
//
// Needs root, the memory controller of cgroup version 1 or 2, and python3 for the page cache.
// Default: a dense model and a mixture of experts, three limits each. The limit includes the
// engine's own memory; the prediction is for the rest. The group's memory.stat is not read while
// the engine runs: reading it updates statistics that the kernel's reclaim depends on, which
// changes the result.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engine, ggscope, model, output } from "../lib.mjs";
import { memoryGroup, noGroups } from "../memory-group.mjs";
import { median } from "./statistics.mjs";

const MIB = 1 << 20;
const prompt = "Once upon a time, in a land far away";
let tokens = 25, runs = 3;
const jobs = [];
for (const args = process.argv.slice(2); args.length > 0;) {
    const word = args.shift();
    if (word === "--tokens") tokens = Number(args.shift());
    else if (word === "--runs") runs = Number(args.shift());
    else jobs.push({ path: word, limits: args.shift().split(",").map(Number) });
}
if (jobs.length === 0) jobs.push({ path: model("tinyllama-1.1b"), limits: [200, 350, 500] }, { path: model("moe", "--embd", "512", "--ff", "1024"), limits: [250, 400, 600] });

if (noGroups) {
    console.log(`paging against reality: skipped: ${noGroups}`);
    process.exit(0);
}

const group = memoryGroup("paging");
const work = mkdtempSync(join(tmpdir(), "ggscope-paging-"));
let running; // the engine
group.make();
process.on("exit", () => {
    running?.kill("SIGKILL");
    rmSync(work, { recursive: true, force: true });
    group.remove();
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

// One run under the limit, from a cold cache: { bytes per token, the engine's anonymous memory }.
function measure(path, limit) {
    output("python3", ["-c", "import os,sys\nf=os.open(sys.argv[1],os.O_RDONLY)\nos.posix_fadvise(f,0,0,os.POSIX_FADV_DONTNEED)", path]);
    group.limit(limit * MIB);
    const child = spawn("sh", ["-c", `${group.enter()} exec "$@"`, "sh", engine, "run", "-m", path, "-p", prompt, "-n", String(tokens),
        "-t", "2", "--no-repack", "--ignore-eos"], { stdio: ["ignore", "pipe", "ignore"] });
    running = child;
    const field = (file, name) => Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(readFileSync(`/proc/${child.pid}/${file}`, "utf8"))[1]);
    let first, last, anonymous = 0;
    child.stdout.on("data", () => { // a token: its text is written at once
        try {
            last = field("io", "read_bytes");
            first ??= last;
            anonymous = Math.max(anonymous, 1024 * field("status", "RssAnon"));
        } catch { /* it has ended */ }
    });
    return new Promise((resolve, reject) => child.on("close", (status, signal) =>
        status === 0 ? resolve({ bytes: (last - first) / (tokens - 1), anonymous }) : reject(new Error(`${path} with ${limit} MiB: ended with ${status ?? signal}`))));
}

console.log(`bytes read per token, ${tokens} tokens, median of ${runs} runs (and their range), beside ggscope paging --policy linux (and its range); MiB`);
const show = (x) => (x / MIB).toFixed(0).padStart(5);
for (const { path, limits } of jobs) {
    const recording = join(work, String(jobs.findIndex((j) => j.path === path)));
    output(ggscope, ["record", "-q", "-o", recording, "--", engine, "run", "-m", path, "-p", prompt, "-n", String(tokens), "-t", "2", "--no-repack", "--ignore-eos"]);
    console.log(path);
    for (const limit of limits) {
        const results = [];
        for (let i = 0; i < runs; i++) results.push(await measure(path, limit));
        const bytes = results.map((r) => r.bytes), budget = limit * MIB - Math.max(...results.map((r) => r.anonymous));
        const { budgets: [{ policies: { linux } }] } = JSON.parse(output(ggscope, ["paging", "--json", "--policy", "linux", "--memory", String(budget), recording]));
        const error = 100 * (linux.bytes_per_token / median(bytes) - 1);
        console.log(`  limit ${show(limit * MIB)}  for the cache ${show(budget)}  measured ${show(median(bytes))} (${show(Math.min(...bytes))} -${show(Math.max(...bytes))})` +
            `  predicted ${show(linux.bytes_per_token)} (${show(linux.least_bytes_per_token)} -${show(linux.most_bytes_per_token)})  error ${error.toFixed(1)} %`);
    }
}
