// A model larger than its memory: the stock engine and `ggscope stream`, in turns, from a cold page cache.
//     node tests/bench/stream.mjs [--tokens N] [--runs N] [--shares 25,50,75] [--readahead KIB] [--disk BYTES-PER-SECOND] [--large] [MODEL...]
//
// Prints for each share of the model's size as memory: median ms per token of both, their ratio, the bytes that each read per token (loading and prompt included), and
// what the streamed run waited for the disk; of the whole command (loading, prompt and tokens) the ratio too. The bound is the larger of the time to compute in memory and the bytes that an optimal cache
// of that much memory would read (ggscope paging, opt) at the speed of the disk (bench-disk, the best of three). Logits are compared. Needs root and the memory controller of control groups version 1; --disk needs blkio.throttle of version 1.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, rmdirSync, statSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { build, engine, ggscope, model, output } from "../lib.mjs";
import { median } from "./statistics.mjs";

const MiB = 1 << 20;
let tokens = 24, runs = 3, shares = [25, 50, 75, 90], disk = 0, readahead = 0, large = false;
const models = [];
for (const args = process.argv.slice(2); args.length > 0;) {
    const word = args.shift();
    if (word === "--tokens") tokens = Number(args.shift());
    else if (word === "--runs") runs = Number(args.shift());
    else if (word === "--shares") shares = args.shift().split(",").map(Number);
    else if (word === "--large") large = true;
    else if (word === "--readahead") readahead = Number(args.shift());
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

const controller = "/sys/fs/cgroup/memory";
if (process.getuid() !== 0 || !existsSync(join(controller, "memory.limit_in_bytes"))) {
    console.log("streaming: skipped: this needs root and the memory controller of control groups version 1");
    process.exit(0);
}
const group = join(controller, `ggscope-stream-${process.pid}`), slow = join("/sys/fs/cgroup/blkio", `ggscope-stream-${process.pid}`);
const work = mkdtempSync(join(tmpdir(), "ggscope-stream-"));
mkdirSync(group);
if (disk > 0) {
    mkdirSync(slow);
    const device = output("stat", ["-c", "%Hd:%Ld", models[0]]).trim();
    writeFileSync(join(slow, "blkio.throttle.read_bps_device"), `${device} ${disk}`);
}
const device = (path) => `/sys/class/bdi/${output("stat", ["-c", "%Hd:%Ld", path]).trim()}/read_ahead_kb`;
const usual = (() => { try { return readFileSync(device(models[0]), "utf8").trim(); } catch { return "?"; } })();
if (readahead > 0) writeFileSync(device(models[0]), String(readahead));
process.on("exit", () => {
    if (readahead > 0) writeFileSync(device(models[0]), usual);
    rmSync(work, { recursive: true, force: true });
    for (const folder of [group, slow]) {
        for (let i = 0; i < 100 && existsSync(folder); i++) {
            try { rmdirSync(folder); } catch { spawnSync("sleep", ["0.1"]); }
        }
    }
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

// One run: ms per token (the median of its tokens), bytes read per token of all the run, the hash of its logits.
function measure(path, limit, streamed) {
    output("python3", ["-c", "import os,sys\nf=os.open(sys.argv[1],os.O_RDONLY)\nos.posix_fadvise(f,0,0,os.POSIX_FADV_DONTNEED)", path]);
    if (limit > 0) writeFileSync(join(group, "memory.limit_in_bytes"), String(limit));
    const report = join(work, "report.json"), io = join(work, "io");
    const command = [engine, "run", "-m", path, "-p", "Once upon a time, in a land far away", "-n", String(tokens), "-t", "2", "--no-repack", "--ignore-eos", "--json", "--logits-hash"];
    const before = streamed ? [ggscope, "stream", "-q", "--report", report, "--"] : [];
    const enter = `echo $$ > "${join(group, "cgroup.procs")}"; ${disk > 0 ? `echo $$ > "${join(slow, "cgroup.procs")}";` : ""} "$@"; status=$?; cat /proc/$$/io > "${io}"; exit $status`;
    const began = process.hrtime.bigint();
    const result = spawnSync("sh", ["-c", enter, "sh", ...before, ...command], { encoding: "utf8", timeout: 900_000 });
    if (limit > 0) writeFileSync(join(group, "memory.limit_in_bytes"), "-1");
    if (result.status !== 0) return { failed: `${result.status ?? result.signal} ${result.stderr.trim().split("\n").at(-1)}` };
    const said = JSON.parse(result.stdout);
    // What a process has read is added to its parent's account when it ends.
    const read = Number(/^read_bytes: (\d+)/m.exec(readFileSync(io, "utf8"))[1]);
    return { wall: Number(process.hrtime.bigint() - began) / 1e6, ms: said.generate_median_ns / 1e6, prompt: said.prompt_ns / 1e6, read: read / tokens, hash: said.logits_hash, counts: streamed ? JSON.parse(readFileSync(report, "utf8")) : undefined };
}

// Bytes per token that an optimal cache of so much memory would read, of a recording of the model in memory.
function optimum(recording, memory) {
    const answer = JSON.parse(output(ggscope, ["paging", "--json", "--policy", "opt", "--memory", String(Math.round(memory)), recording]));
    return answer.budgets[0].policies.opt.bytes_per_token;
}
const fastest = (path) => disk || Math.max(...[1, 2, 3].map(() => JSON.parse(output(join(build, "tests", "bench-disk"), [path])).random));

console.log(`streaming: ${tokens} tokens, median of ${runs} interleaved runs, readahead ${readahead || usual} KiB${disk > 0 ? `, disk held to ${disk / 1e6} MB/s` : ""}`);
console.log("memory      stock ms   streamed ms   ratio   read MiB/token stock -> streamed   wait ms   prompt ms stock -> streamed   whole command   bound ms");
for (const path of models) {
    const size = statSync(path).size;
    const fits = size < 0.8 * totalmem(), free = fits ? measure(path, 0, false) : { ms: NaN, hash: undefined };
    const recording = join(work, "recording"), speed = fastest(path);
    if (fits) output(ggscope, ["record", "-q", "--force", "-o", recording, "--", engine, "run", "-m", path, "-p", "Once upon a time, in a land far away", "-n", String(tokens), "-t", "2", "--no-repack", "--ignore-eos"]);
    console.log(`${path.split("/").at(-1)}, ${(size / MiB).toFixed(0)} MiB; disk ${(speed / 1e9).toFixed(1)} GB/s; in memory ${free.ms.toFixed(1)} ms per token`);
    for (const share of shares) {
        const found = { stock: [], streamed: [] };
        for (let i = 0; i < runs; i++) {
            for (const kind of ["stock", "streamed"]) {
                const result = measure(path, Math.round((size * share) / 100), kind === "streamed");
                if (result.failed) console.log(`  ${share} % ${kind} failed: ${result.failed}`);
                else if (result.hash !== (free.hash ??= result.hash)) console.log(`  ${share} % ${kind}: OTHER LOGITS`);
                else found[kind].push(result);
            }
        }
        if (found.stock.length === 0 || found.streamed.length === 0) continue;
        const of = (kind, field) => median(found[kind].map((run) => run[field]));
        const counts = found.streamed[0].counts;
        const ratio = of("stock", "ms") / of("streamed", "ms");
        console.log(`${String(share).padStart(4)} %    ${of("stock", "ms").toFixed(1).padStart(8)}   ${of("streamed", "ms").toFixed(1).padStart(11)}   ${ratio.toFixed(1).padStart(5)}   ` +
            `${(of("stock", "read") / MiB).toFixed(0).padStart(20)} -> ${(of("streamed", "read") / MiB).toFixed(0).padEnd(8)}   ${(counts.wait_ns / 1e6 / tokens).toFixed(1).padStart(7)}   ` +
            `${of("stock", "prompt").toFixed(0).padStart(15)} -> ${of("streamed", "prompt").toFixed(0)}   ${(of("stock", "wall") / of("streamed", "wall")).toFixed(2).padStart(13)}   ${!fits ? "?" : Math.max(free.ms, optimum(recording, (size * share) / 100 - counts.engine) / speed * 1e3).toFixed(0).padStart(8)}${counts.state === "streamed" ? "" : `   (${counts.state})`}`);
    }
}
