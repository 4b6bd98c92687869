// Measures the cost of recording per token for the host, on a device whose graph runs are not
// traced: CPU time of the engine's threads with and without recording, on a device that does
// nothing (null-device.c). Prints one JSON line.
//     node tests/bench/device.mjs [ROUNDS [TOKENS]]
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, model, output, root, scratch } from "../lib.mjs";
import { checkout, newest, release, sourceBundle } from "../engine/node/recordings.mjs";

const [rounds, tokens] = [Number(process.argv[2] ?? 12), Number(process.argv[3] ?? 600)];
const folder = join(root, "build", "null-device"), libs = join(folder, "engine"), source = join(folder, "source");
const stock = join(root, "engine", "node_modules", "@node-llama-cpp", "linux-x64", "bins", "linux-x64");
mkdirSync(libs, { recursive: true });
if (!existsSync(join(source, "ggml", "src", "ggml-backend-impl.h"))) checkout(sourceBundle(release(newest)), source, ["ggml"]);
for (const name of readdirSync(stock).filter((n) => n.endsWith(".so"))) copyFileSync(join(stock, name), join(libs, name));
output("cc", ["-O2", "-shared", "-fPIC", `-I${join(source, "ggml", "src")}`, `-I${join(source, "ggml", "include")}`, "-o", join(libs, "libggml-cuda.so"), join(root, "tests", "bench", "null-device.c")]);

const env = { ...process.env, GGSCOPE_ENGINE: libs };
const args = ["run", "-m", model("tiny"), "-p", "Once upon", "-n", String(tokens), "-t", "1", "-ngl", "99", "--json"];
const modes = {
    plain: () => output(engine, args, { env }),
    recorded: (i) => output(ggscope, [...args, "--gpu-ops", "none", "-q", "-o", scratch(`r${i}`)], { env }),
    again: () => output(engine, args, { env }),
};
const us = Object.fromEntries(Object.keys(modes).map((name) => [name, []]));
for (let i = 0; i < rounds; i++)
    for (const name of Object.keys(modes).sort(() => (i % 2 ? 1 : -1))) us[name].push(JSON.parse(modes[name](i)).generate_cpu_ns / 1000 / tokens);
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const least = (values) => Math.min(...values);
const round = (value) => Math.round(100 * value) / 100;
console.log(JSON.stringify({
    tokens, rounds, plain_us: round(median(us.plain)), recorded_us: round(median(us.recorded)), again_us: round(median(us.again)),
    cost_us_per_token: round(median(us.recorded) - median(us.plain)), least_us: round(least(us.recorded) - least(us.plain)), scatter_us: round(median(us.again) - median(us.plain)),
}));
