// Checks that `ggscope stream` is never slower than the stock engine: models that fit and that do
// not, memory of 10 % to 110 % of the file, disks of several speeds.
//     node tests/bench/stream-matrix.mjs [--tokens N] [--rounds N] [--shares 10,50,110,fits]
//         [--disks 0,500M,2G] [--readahead KIB] [--seconds N] [--used] [MODEL...]
//
// A round is stock, streamed, stock again, each from a cold page cache; results are medians over
// rounds. Prints the speedup of the streamed run per token, to the first token (loading and prompt:
// the stock engine reads the file while it loads) and for the whole command, with stock against
// stock (A/A) as the noise of this machine, and the same for the fastest runs. A case below 0.97 is
// marked, and makes the exit status 1 unless A/A deviates as much. --seconds: starts no case after
// this time. --used: memory was in use until just before each run (limited.mjs: hold).
import { statSync } from "node:fs";
import { model } from "../lib.mjs";
import { measure, readahead, reason, setDisk, setReadahead } from "./limited.mjs";
import { median } from "./statistics.mjs";

const MiB = 1 << 20, LEAST = 0.97;
let tokens = 8, rounds = 3, shares = ["10", "25", "50", "75", "90", "100", "110", "fits"], disks = ["0", "500M", "2G"], ahead = 0, seconds = Infinity, used = false;
const models = [];
for (const args = process.argv.slice(2); args.length > 0;) {
    const word = args.shift();
    if (word === "--tokens") tokens = Number(args.shift());
    else if (word === "--rounds") rounds = Number(args.shift());
    else if (word === "--shares") shares = args.shift().split(",");
    else if (word === "--disks") disks = args.shift().split(",");
    else if (word === "--readahead") ahead = Number(args.shift());
    else if (word === "--used") used = true;
    else if (word === "--seconds") seconds = Number(args.shift());
    else models.push(word);
}
if (reason) {
    console.log(`streaming, never slower: skipped: ${reason}`);
    process.exit(0);
}
if (models.length === 0) models.push(model("tinyllama-1.1b"), model("moe", "--embd", "512", "--ff", "1024"));
const usual = readahead(models[0]), began = Date.now();
if (ahead > 0) setReadahead(models[0], ahead);
const bytesOf = (text) => Number.parseFloat(text) * { M: 1e6, G: 1e9 }[text.at(-1)] || 0;

console.log(`streaming, never slower: ${tokens} tokens, medians of ${rounds} rounds, readahead ${ahead || usual} KiB${used ? ", memory in use just before" : ""}; ratios are stock / streamed, the last three stock / stock`);
console.log("disk    memory   stock ms   streamed ms    token    first    whole   A/A token    first   whole   best: token    first    whole");
let slower = 0;
for (const path of models) {
    const size = statSync(path).size;
    let hash;
    console.log(`${path.split("/").at(-1)}, ${(size / MiB).toFixed(0)} MiB`);
    for (const disk of disks) {
        setDisk(path, bytesOf(disk));
        for (const share of shares) {
            if ((Date.now() - began) / 1000 > seconds) continue;
            const limit = share === "fits" ? 0 : Math.round((size * Number(share)) / 100), found = [[], [], []];
            let failed;
            for (let i = 0; i < rounds; i++) {
                for (const turn of [0, 1, 2]) {
                    const result = await measure(path, tokens, limit, turn === 1, used ? size : 0);
                    if (!result.failed && result.hash !== (hash ??= result.hash)) result.failed = "OTHER LOGITS";
                    if (result.failed) failed = `${turn === 1 ? "streamed" : "stock"}: ${result.failed}`;
                    else found[turn].push(result);
                }
                if (failed) break;
            }
            const begin = `${(disk === "0" ? "free" : disk).padEnd(6)}  ${(share === "fits" ? share : `${share} %`).padStart(6)}`;
            if (failed) {
                console.log(`${begin}   failed: ${failed}`);
                slower += failed.startsWith("streamed") && found[0].length > 0;
                continue;
            }
            const of = (runs, field) => median(runs.map((run) => run[field])), stock = [...found[0], ...found[2]];
            const ratio = (field) => of(stock, field) / of(found[1], field), scatter = (field) => of(found[0], field) / of(found[2], field);
            const best = (runs, field) => Math.min(...runs.map((run) => run[field])), fastest = (field) => best(stock, field) / best(found[1], field);
            const below = (field) => ratio(field) < Math.min(LEAST, scatter(field), 1 / scatter(field));
            const fields = ["ms", "first", "wall"], bad = fields.filter(below);
            slower += bad.length > 0;
            console.log(`${begin}   ${of(stock, "ms").toFixed(1).padStart(8)}   ${of(found[1], "ms").toFixed(1).padStart(11)}   ${fields.map((field) => ratio(field).toFixed(2).padStart(6)).join("   ")}      ` +
                `${fields.map((field) => scatter(field).toFixed(2).padStart(6)).join("   ")}        ${fields.map((field) => fastest(field).toFixed(2).padStart(6)).join("   ")}   ${found[1][0].counts.state}${bad.length > 0 ? `   SLOWER: ${bad.join(", ")}` : ""}`);
        }
    }
}
if (slower > 0) {
    console.log(`${slower} cases are slower than stock`);
    process.exitCode = 1;
}
