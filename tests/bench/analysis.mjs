// Measures readers of a trace, each relative to its lower bound in the same run.
//     node tests/bench/analysis.mjs [OP-RUNS...]     (default 1000000 10000000)
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { build, engine, ggscope, model, output, preloadable, root } from "../lib.mjs";
import { median } from "./statistics.mjs";

const sizes = process.argv.slice(2).map(Number);
const work = mkdtempSync("/dev/shm/ggscope-bench-");
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
const tool = (name) => join(build, "tests", name);

// Milliseconds and peak memory (MB) of a program.
function measured(program, args) {
    const script = "import resource,subprocess,sys,time\nt=time.time()\nsubprocess.run(sys.argv[1:],check=True,stdout=subprocess.DEVNULL)\n" +
        "print(1000*(time.time()-t), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss/1024)";
    const [ms, mb] = output("python3", ["-c", script, program, ...args]).trim().split(" ").map(Number);
    return { ms, mb };
}
const size = (path) => statSync(path).isDirectory() ? readdirSync(path).reduce((sum, name) => sum + size(join(path, name)), 0) : statSync(path).size;

const short = join(work, "short");
output(engine, ["run", "-m", model("tiny"), "-p", "Once upon a time", "-n", "40", "-t", "2", "--ignore-eos"],
    { env: { ...process.env, LD_PRELOAD: preloadable(join(build, "lib", "libggscope-capture.so")), GGSCOPE_OUTPUT: short } });

for (const wanted of sizes.length ? sizes : [1e6, 1e7]) {
    const long = join(work, String(wanted));
    output("node", [join(root, "tests", "bench", "grow-spool.mjs"), join(short, "spool"), join(long, "spool"), String(wanted)]);
    const seal = measured(ggscope, ["seal", "-q", long]);
    const { op_runs } = JSON.parse(output(ggscope, ["stats", "--json", long]));
    const decode = [], stats = [];
    let memory = 0;
    for (let i = 0; i < 5; i++) {
        decode.push(Number(output(tool("bench-decode"), [join(long, "trace.ggs")])));
        const run = measured(ggscope, ["stats", "--json", long]);
        stats.push(run.ms);
        memory = Math.max(memory, run.mb);
    }
    const parquet = measured(ggscope, ["export", "-q", long, "--format", "parquet", "--table", "op_runs", "-o", join(long, "parquet")]);
    const rowBytes = size(join(long, "parquet")) / op_runs;
    console.log(`${op_runs} op runs, trace of ${(size(join(long, "trace.ggs")) / op_runs).toFixed(2)} bytes each; sealed with ${seal.mb.toFixed(0)} MB`);
    console.log(`  stats / decoding alone    ${(median(stats) / median(decode)).toFixed(2)}   (${median(stats).toFixed(0)} ms, ${median(decode).toFixed(0)} ms, ${memory.toFixed(0)} MB)`);
    console.log(`  parquet op_runs           ${(op_runs / parquet.ms / 1000).toFixed(2)} million rows/s, ${rowBytes.toFixed(1)} bytes per row, ${parquet.mb.toFixed(0)} MB`);
    const out = (format, cores) => join(long, `${format}-${cores}`);
    const write = (format, cores) => {
        const [program, ...args] = [...(cores === "one" ? ["taskset", "-c", "0"] : []), ggscope, "export", "-q", long, "--format", format, "--token", "0..199", "-o", out(format, cores)];
        return measured(program, args);
    };
    for (const format of ["json", "dot"]) {
        const times = { one: [], all: [] };
        let mb = 0;
        for (let i = 0; i < 5; i++) {
            for (const cores of i % 2 ? ["one", "all"] : ["all", "one"]) {
                rmSync(out(format, cores), { recursive: true, force: true });
                const run = write(format, cores);
                times[cores].push(run.ms);
                mb = Math.max(mb, run.mb);
            }
        }
        const bytes = size(out(format, "one")), ratio = median(times.one.map((ms, i) => ms / times.all[i]));
        console.log(`  ${format} on ${availableParallelism()} cores / on one ${ratio.toFixed(2)}   (${(bytes / 1e3 / median(times.all)).toFixed(0)} MB/s, ${(bytes / 1e3 / median(times.one)).toFixed(0)} MB/s; each process ${mb.toFixed(0)} MB)`);
        if (format !== "json") continue;
        const rate = bytes / 1e3 / median(times.one), floor = median([1, 2, 3].map(() => Number(output(tool("bench-json"), []))));
        console.log(`  json / the bare writer    ${(rate / floor).toFixed(2)}   (on one core ${rate.toFixed(0)} MB/s, ${floor.toFixed(0)} MB/s)`);
    }
    rmSync(long, { recursive: true });
}
