// Runs `ggscope paging` on recordings of 50, 100 and 200 tokens: its time grows with the length,
// its memory does not.
//     node tests/bench/paging.mjs [MODEL]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engine, ggscope, model, output } from "../lib.mjs";
import { median } from "./statistics.mjs";

const path = process.argv[2] ?? model("tinyllama-1.1b");
const work = mkdtempSync(join(tmpdir(), "ggscope-bench-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

// Milliseconds of CPU time, which excludes other programs, and peak memory in MB.
function measured(args) {
    const script = "import resource,subprocess,sys\nsubprocess.run(sys.argv[1:],check=True,stdout=subprocess.DEVNULL)\n" +
        "u=resource.getrusage(resource.RUSAGE_CHILDREN)\nprint(1000*(u.ru_utime+u.ru_stime), u.ru_maxrss/1024)";
    const [ms, mb] = output("python3", ["-c", script, ggscope, "paging", "--json", ...args]).trim().split(" ").map(Number);
    return { ms, mb };
}

const lengths = [50, 100, 200];
for (const n of lengths)
    output(ggscope, ["record", "-q", "-o", join(work, String(n)), "--", engine, "run", "-m", path, "-p", "Once upon a time", "-n", String(n), "-t", "1", "--no-repack", "--ignore-eos"]);
for (const [what, ...options] of [["the whole curve (lru)", "--policy", "lru"], ["opt, 8 sizes", "--policy", "opt"], ["pin-hot, 8 sizes", "--policy", "pin-hot"], ["linux, one size", "--policy", "linux", "--memory", "330M"], ["all policies, 8 sizes"]]) {
    const results = lengths.map((n) => {
        const each = Array.from({ length: 3 }, () => measured([...options, join(work, String(n))]));
        return { ms: median(each.map((r) => r.ms)), mb: Math.max(...each.map((r) => r.mb)) };
    });
    console.log(`${what.padEnd(24)} ${results.map((r, i) => `${lengths[i]} tokens ${r.ms.toFixed(0)} ms ${r.mb.toFixed(0)} MB`).join(", ")}; 200 / 50: ${(results[2].ms / results[0].ms).toFixed(2)} times the time`);
}
