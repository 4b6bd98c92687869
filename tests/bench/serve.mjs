// Measures the requests that the page makes before it first paints, for a short and a long
// recording in turn.
//     node tests/bench/serve.mjs [SHORT LONG]     (op runs: default 10000 10000000)
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, preloadable, root } from "../lib.mjs";
import { median } from "./statistics.mjs";

const sizes = process.argv.length > 3 ? process.argv.slice(2, 4).map(Number) : [1e4, 1e7];
const work = mkdtempSync("/dev/shm/ggscope-bench-");
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

const short = join(work, "short");
output(engine, ["run", "-m", model("tiny"), "-p", "Once upon a time", "-n", "40", "-t", "2", "--ignore-eos"],
    { env: { ...process.env, LD_PRELOAD: preloadable(join(build, "lib", "libggscope-capture.so")), GGSCOPE_OUTPUT: short } });
const directories = sizes.map((wanted) => {
    const long = join(work, String(wanted));
    output("node", [join(root, "tests", "bench", "grow-spool.mjs"), join(short, "spool"), join(long, "spool"), String(wanted)]);
    output(ggscope, ["seal", "-q", long]);
    return long;
});

// A fresh server each time: nothing is cached.
const paths = ["summary", "tokens?bins=1000", "map", "buffers", "occupancy?bins=1000", "timeline?pixels=1024", "log?from=0&count=100"];
async function open(directory) {
    const server = spawn(ggscope, ["serve", directory], { stdio: ["ignore", "pipe", "inherit"] });
    const address = new URL(String((await once(server.stdout, "data"))[0]).trim());
    const began = performance.now();
    let bytes = 0;
    for (const path of paths) {
        const answer = await fetch(new URL(`api/x/0/${path}`, address));
        if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
        bytes += Number(answer.headers.get("content-length"));
        await answer.arrayBuffer();
    }
    const ms = performance.now() - began;
    server.kill("SIGINT");
    await once(server, "exit");
    return { ms, bytes };
}

const results = directories.map(() => []);
for (let i = 0; i < 9; i++) for (const [k, directory] of directories.entries()) results[k].push(await open(directory));
const [few, many] = results.map((list) => ({ ms: median(list.map((r) => r.ms)), bytes: list[0].bytes }));
console.log(`what the page asks first: ${(many.ms / few.ms).toFixed(2)} times as long for ${sizes[1]} op runs as for ${sizes[0]}   (${many.ms.toFixed(0)} ms, ${few.ms.toFixed(0)} ms)`);
console.log(`bytes of it               ${(many.bytes / few.bytes).toFixed(2)}   (${many.bytes}, ${few.bytes})`);
