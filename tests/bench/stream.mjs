// A model larger than its memory: the stock engine and `ggscope stream`, in turns, from a cold page cache.
//     node tests/bench/stream.mjs [--tokens N] [--runs N] [--shares 25,50,75] [--readahead KIB] [--disk BYTES-PER-SECOND] [--used] [--ram] [--large] [MODEL...]
//
// Prints for each share of the model's size as memory: median ms per token of both, their ratio, the bytes that each read per token (loading and prompt included), and
// what the streamed run waited for the disk; ms to the first token (loading and prompt: the stock engine reads the file while it loads), and of the whole command the ratio too. `--used`: memory was in use until just before each run (limited.mjs: hold). `--ram`: the models lie on a disk in memory, faster than this machine's (limited.mjs: inMemory). The bound is the larger of the time to compute in memory and the bytes that an optimal cache
// of that much memory would read (ggscope paging, opt) at the speed of the disk (bench-disk: reading all of the file; once beside each pair of runs, the best of them). Logits are compared. Needs root and the memory controller of control groups; --disk needs that of disks too.
import { mkdirSync, rmSync, statSync, statfsSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { build, engine, ggscope, model, output } from "../lib.mjs";
import { command, file, inMemory, measure, readahead, reason, setDisk, setReadahead } from "./limited.mjs";
import { median } from "./statistics.mjs";

const MiB = 1 << 20;
let tokens = 24, runs = 3, shares = [25, 50, 75, 90], disk = 0, ahead = 0, large = false, used = false, ram = false;
const models = [];
for (const args = process.argv.slice(2); args.length > 0;) {
    const word = args.shift();
    if (word === "--tokens") tokens = Number(args.shift());
    else if (word === "--runs") runs = Number(args.shift());
    else if (word === "--shares") shares = args.shift().split(",").map(Number);
    else if (word === "--large") large = true;
    else if (word === "--used") used = true;
    else if (word === "--ram") ram = true;
    else if (word === "--readahead") ahead = Number(args.shift());
    else if (word === "--disk") disk = Number(args.shift());
    else models.push(word);
}
// A mixture of experts of 33 GiB, made for this and removed: 4 of 128 experts of each layer for each token.
if (large) {
    const folder = join(build, "large"), path = join(folder, "moe-33g.gguf"), { bavail, bsize } = statfsSync(build);
    if (bavail * bsize < 45e9) {
        console.log("streaming: skipped: a model of 33 GiB wants 45 GB of free disk");
        process.exit(0);
    }
    mkdirSync(folder, { recursive: true });
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    output(engine, ["synth", "moe", "--embd", "2048", "--ff", "3072", "--experts", "128", "--experts-used", "4", "--force", "-o", path], { timeout: 3_600_000 });
    models.push(path);
}
if (models.length === 0) models.push(model("tinyllama-1.1b"), model("moe", "--embd", "512", "--ff", "1024"));

if (reason) {
    console.log(`streaming: skipped: ${reason}`);
    process.exit(0);
}
if (ram) models.splice(0, Infinity, ...inMemory(models));
setDisk(models[0], disk);
const usual = readahead(models[0]);
if (ahead > 0) setReadahead(models[0], ahead);

// Bytes per token that an optimal cache of so much memory would read, of a recording of the model in memory.
function optimum(recording, memory) {
    const answer = JSON.parse(output(ggscope, ["paging", "--json", "--policy", "opt", "--memory", String(Math.round(memory)), recording]));
    return answer.budgets[0].policies.opt.bytes_per_token;
}
const diskRate = (path) => disk || JSON.parse(output(join(build, "tests", "bench-disk"), [path])).rate;

console.log(`streaming: ${tokens} tokens, median of ${runs} interleaved runs, readahead ${ahead || usual} KiB${disk > 0 ? `, disk held to ${disk / 1e6} MB/s` : ""}${ram ? ", disk in memory" : ""}${used ? ", memory in use until just before" : ""}`);
console.log("memory      stock ms   streamed ms   ratio   read MiB/token stock -> streamed   wait ms   first ms stock -> streamed    whole command   bound ms   disk GB/s");
for (const path of models) {
    const size = statSync(path).size;
    const fits = size < 0.8 * totalmem(), free = fits ? await measure(path, tokens, 0, false) : { ms: NaN, hash: undefined };
    const recording = file("recording");
    if (fits) output(ggscope, ["record", "-q", "--force", "-o", recording, "--", ...command(path, tokens)]);
    console.log(`${path.split("/").at(-1)}, ${(size / MiB).toFixed(0)} MiB; in memory ${free.ms.toFixed(1)} ms per token`);
    for (const share of shares) {
        const found = { stock: [], streamed: [] };
        let speed = 0;
        for (let i = 0; i < runs; i++) {
            for (const kind of ["stock", "streamed"]) {
                const result = await measure(path, tokens, Math.round((size * share) / 100), kind === "streamed", used ? size : 0);
                if (result.failed) console.log(`  ${share} % ${kind} failed: ${result.failed}`);
                else if (result.hash !== (free.hash ??= result.hash)) console.log(`  ${share} % ${kind}: OTHER LOGITS`);
                else found[kind].push(result);
            }
            speed = Math.max(speed, diskRate(path));
        }
        if (found.stock.length === 0 || found.streamed.length === 0) continue;
        const of = (kind, field) => median(found[kind].map((run) => run[field]));
        const counts = found.streamed[0].counts;
        const ratio = of("stock", "ms") / of("streamed", "ms");
        console.log(`${String(share).padStart(4)} %    ${of("stock", "ms").toFixed(1).padStart(8)}   ${of("streamed", "ms").toFixed(1).padStart(11)}   ${ratio.toFixed(1).padStart(5)}   ` +
            `${(of("stock", "read") / MiB).toFixed(0).padStart(20)} -> ${(of("streamed", "read") / MiB).toFixed(0).padEnd(8)}   ${(counts.wait_ns / 1e6 / tokens).toFixed(1).padStart(7)}   ` +
            `${of("stock", "first").toFixed(0).padStart(15)} -> ${of("streamed", "first").toFixed(0)}   ${(of("stock", "wall") / of("streamed", "wall")).toFixed(2).padStart(13)}   ${!fits ? "?" : Math.max(free.ms, optimum(recording, (size * share) / 100 - counts.engine) / speed * 1e3).toFixed(0).padStart(8)}   ${(speed / 1e9).toFixed(1).padStart(9)}${counts.state === "streamed" ? "" : `   (${counts.state})`}`);
    }
}
