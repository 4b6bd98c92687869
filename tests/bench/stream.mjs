// Measures a model larger than its memory: the stock engine and `ggscope stream` in turn, from a
// cold page cache.
//     node tests/bench/stream.mjs [OPTION...] [MODEL...]
//         --shape NAME          a synthetic model of that shape, made for this run (see `shapes`)
//         --tokens N --runs N --shares 25,50,75 --threads N
//         --readahead 128,own   runs the stock engine with each: KiB, or the device's own; none: no stock
//         --disk BYTES          limits the disk to this many bytes per second
//         --used                memory was in use until just before each run (limited.mjs: hold)
//         --ram                 models are on a disk in memory (limited.mjs: inMemory)
//
// Prints medians for each share of the model's size as memory: ms per token, ms to the first token
// (loading and prompt), MiB read per token (loading and prompt included), the whole command. Each
// round has two streamed runs; their ratio is A/A. A bound is the larger of two times: computing in
// memory, and reading the misses of a cache of that size at the disk's speed (bench-disk, the best
// of all rounds). "opt": the optimal cache of weights (ggscope paging). "lfu": for experts, a cache
// that evicts the least often chosen expert, empty at first; the median token, as for the runs.
// Logits are compared. Needs root and the memory controller of control groups.
import { mkdirSync, rmSync, statSync, statfsSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { build, engine, ggscope, model, output } from "../lib.mjs";
import { command, file, inMemory, measure, readahead, reason, setDisk, setReadahead, setThreads } from "./limited.mjs";
import { median } from "./statistics.mjs";

const MiB = 1 << 20;
const shapes = {
    // A token uses 8 of 128 experts per layer: 16.7 GiB.
    "qwen3-30b-a3b": ["moe", "--layers", "48", "--embd", "2048", "--ff", "768", "--heads", "32", "--kv-heads", "4", "--experts", "128", "--experts-used", "8"],
    // 4 of 128: 33 GiB.
    "moe-33g": ["moe", "--embd", "2048", "--ff", "3072", "--experts", "128", "--experts-used", "4"],
};
const options = { tokens: "24", runs: "3", shares: "25,50,75,90", threads: "2", readahead: "own", disk: "0" };
const flags = new Set(), models = [];
for (const args = process.argv.slice(2); args.length > 0;) {
    const word = args.shift(), name = word.replace(/^--/, "");
    if (["used", "ram"].includes(name)) flags.add(name);
    else if (word !== name) options[name] = args.shift();
    else models.push(word);
}
const [tokens, runs, threads, disk] = ["tokens", "runs", "threads", "disk"].map((name) => Number(options[name]));
if (reason) {
    console.log(`streaming: skipped: ${reason}`);
    process.exit(0);
}

if (options.shape) {
    const folder = join(build, "large"), path = join(folder, `${options.shape}.gguf`), { bavail, bsize } = statfsSync(build), wanted = options.shape === "moe-33g" ? 45e9 : 25e9;
    if (!shapes[options.shape]) throw new Error(`--shape: ${Object.keys(shapes).join(", ")}`);
    if (bavail * bsize < wanted) {
        console.log(`streaming: skipped: the shape ${options.shape} needs ${wanted / 1e9} GB of free disk`);
        process.exit(0);
    }
    mkdirSync(folder, { recursive: true });
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    output(engine, ["synth", ...shapes[options.shape], "--force", "-o", path], { timeout: 3_600_000 });
    models.push(path);
}
if (models.length === 0) models.push(model("tinyllama-1.1b"), model("moe", "--embd", "512", "--ff", "1024"));
if (flags.has("ram")) models.splice(0, Infinity, ...inMemory(models));
setDisk(models[0], disk);
setThreads(threads);
const own = readahead(models[0]), settings = options.readahead.split(",").filter((kib) => kib !== "none").map((kib) => (kib === "own" ? own : kib));

// Bytes per token that an optimal cache of this size reads, from a recording of the model in
// memory.
function optimum(recording, memory) {
    const answer = JSON.parse(output(ggscope, ["paging", "--json", "--policy", "opt", "--memory", String(Math.round(memory)), recording]));
    return answer.budgets[0].policies.opt.bytes_per_token;
}
// Milliseconds of the median token if each layer caches as many experts as fit, those chosen most
// often, and reads every other one when it is chosen. NaN: no experts.
function leastFrequent(recording, counts, computed, speed) {
    const sql = "select token, layer, expert from experts group by 1, 2, 3 order by 1, 2, 3";
    const chosen = JSON.parse(output(ggscope, ["sql", "--json", recording, sql])).rows.map(([token, layer, expert]) => ({ token, layer, expert }));
    if (chosen.length === 0) return NaN;
    const n = 1 + Math.max(...chosen.map((c) => c.expert)), layers = new Map(), missed = new Map();
    const bytes = counts.experts / (n * new Set(chosen.map((c) => c.layer)).size), room = Math.floor((n * (counts.slots + counts.spare)) / counts.experts);
    for (const { token, layer, expert } of chosen) {
        if (!layers.has(layer)) layers.set(layer, { uses: new Map(), kept: new Set() });
        const { uses, kept } = layers.get(layer);
        uses.set(expert, (uses.get(expert) ?? 0) + 1);
        missed.set(token, (missed.get(token) ?? 0) + !kept.has(expert));
        kept.add(expert);
        if (kept.size <= room) continue;
        kept.delete([...kept].filter((e) => e !== expert).reduce((a, b) => (uses.get(b) < uses.get(a) ? b : a)));
    }
    return median([...missed.values()].slice(1).map((misses) => Math.max(computed, ((misses * bytes) / speed) * 1e3)));
}
const diskRate = (path) => disk || JSON.parse(output(join(build, "tests", "bench-disk"), [path])).rate;

const cell = (value, width, digits = 0) => (Number.isFinite(value) ? value.toFixed(digits) : "?").padStart(width);
function line(what, results, more = "") {
    const of = (field) => median(results.map((run) => run[field]));
    const range = results.map((run) => run.ms.toFixed(0)).join(" ");
    console.log(`  ${what.padEnd(20)} ${cell(of("ms"), 9, 1)} ${cell(of("first"), 10)} ${cell(of("read") / MiB, 10)} ${cell(of("wall"), 10)}   ${range}${more}`);
}

console.log(`streaming: ${tokens} tokens, ${threads} threads, medians of ${runs} interleaved runs, readahead of the device ${own} KiB${disk > 0 ? `, disk held to ${disk / 1e6} MB/s` : ""}${flags.has("ram") ? ", disk in memory" : ""}${flags.has("used") ? ", memory in use until just before" : ""}`);
for (const path of models) {
    const size = statSync(path).size, fits = size < 0.8 * totalmem();
    const free = fits ? await measure(path, tokens, 0, false) : { ms: NaN, hash: undefined };
    const recording = file("recording");
    if (fits) output(ggscope, ["record", "-q", "--force", "-o", recording, "--", ...command(path, tokens)]);
    console.log(`${path.split("/").at(-1)}, ${(size / MiB).toFixed(0)} MiB; in memory ${free.ms.toFixed(1)} ms per token\n  memory               ms/token   first ms  MiB/token   whole ms   each run`);
    for (const share of options.shares.split(",").map(Number)) {
        const limit = Math.round((size * share) / 100), kinds = ["streamed", "again", ...settings];
        const found = Object.fromEntries(kinds.map((kind) => [kind, []]));
        let speed = 0;
        for (let i = 0; i < runs; i++) {
            for (const kind of kinds) {
                const streamed = !settings.includes(kind);
                setReadahead(path, streamed ? own : kind);
                const result = await measure(path, tokens, limit, streamed, flags.has("used") ? size : 0);
                if (result.failed) console.log(`  ${share} % ${kind} failed: ${result.failed}`);
                else if (result.hash !== (free.hash ??= result.hash)) console.log(`  ${share} % ${kind}: OTHER LOGITS`);
                else found[kind].push(result);
            }
            setReadahead(path, own);
            speed = Math.max(speed, diskRate(path));
        }
        if (found.streamed.length === 0) continue;
        const of = (kind, field) => median(found[kind].map((run) => run[field])), counts = found.streamed[0].counts;
        const bound = fits ? Math.max(free.ms, (optimum(recording, limit - counts.engine) / speed) * 1e3) : NaN;
        const lfu = fits ? leastFrequent(recording, counts, free.ms, speed) : NaN;
        line(`${share} %, streamed`, found.streamed, counts.state === "streamed" ? "" : `   (${counts.state})`);
        if (found.again.length > 0) console.log(`    A/A ${(of("again", "ms") / of("streamed", "ms")).toFixed(2)}, first ${(of("again", "first") / of("streamed", "first")).toFixed(2)}; waited ${(counts.wait_ns / 1e6 / tokens).toFixed(0)} ms per token; bounds: opt ${cell(bound, 1)} ms, lfu ${cell(lfu, 1)} ms (${(of("streamed", "ms") / lfu).toFixed(2)} times); first token: model / disk ${cell((size / speed) * 1e3, 1)} ms; disk ${(speed / 1e9).toFixed(1)} GB/s`);
        for (const kind of settings) {
            if (found[kind].length === 0) continue;
            line(`${share} %, stock ${kind} KiB`, found[kind], `   ratio ${(of(kind, "ms") / of("streamed", "ms")).toFixed(1)}, first ${(of(kind, "first") / of("streamed", "first")).toFixed(1)}, whole ${(of(kind, "wall") / of("streamed", "wall")).toFixed(1)}`);
        }
    }
}
