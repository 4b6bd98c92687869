// Recordings with values for comparisons, on one of the engine's CPU libraries: with a bug planted
// in one op (plant.c), or without.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, preloadable, run, scratch } from "../lib.mjs";
import { engineOf, loadedVariant, wholeEngine } from "../variant.mjs";

export const library = preloadable(join(build, "tests", "libplant.so")), vulkanLibrary = preloadable(join(build, "tests", "libplant-vulkan.so"));
export const prompt = "Hello world, this is a test of the values that ops compute. One two three four five six seven eight nine ten eleven twelve.";

// CPU libraries that run on this machine, fewest instruction sets first.
let known;
export function variants() {
    known ??= readdirSync(wholeEngine).map((file) => /^libggml-cpu-(.*)\.so$/.exec(file)?.[1]).filter((name) => name && loadedVariant(engineOf(name)).name === name)
        .sort((a, b) => rank(a) - rank(b));
    return known;
}
const ranks = ["x64", "sse42", "sandybridge", "ivybridge", "piledriver", "haswell", "skylakex", "cannonlake", "cascadelake", "icelake", "cooperlake", "zen4", "sapphirerapids", "alderlake"];
const rank = (name) => (ranks.includes(name) ? ranks.indexOf(name) : 99);

// The folder of a recording, made on first use.
//     recorded(path, { plant: "flip,17,^MUL_MAT:ffn_out-3$", variant: "x64", kv: 8, options: ["--ubatch", "8"], tokens: 4, text: "Once" })
//     recorded(path, { vulkan: env, plant: "fused,0.01,^MUL:attn_norm-1$", values: ["--values", "--values-unfused"] })    on a device
//     recorded(path, { program: ["build/tests/server-host", "slots"] })    another program, which takes models
const made = new Map();
export function recorded(path, { plant = "", variant = "haswell", kv, options = [], tokens = 3, text = prompt, vulkan, values = ["--values"], program } = {}) {
    const key = JSON.stringify([path, plant, variant, kv, options, tokens, text, vulkan !== undefined, values, program]);
    if (made.has(key)) return made.get(key);
    const directory = scratch(`values-${made.size}`), environment = { ...(vulkan ?? { ...process.env, GGSCOPE_ENGINE: engineOf(variant) }), PLANT: plant };
    if (kv !== undefined) environment.PLANT_KV = String(kv);
    if (existsSync(directory)) rmSync(directory, { recursive: true });
    const words = program ? [...program, path, ...options] : [engine, "run", "-m", path, "-p", text, "-n", String(tokens), "--ignore-eos", "--logits-hash", ...(vulkan ? ["-ngl", "99"] : []), ...options];
    const { status, stderr } = run(ggscope, ["record", "-q", ...values, "-o", directory, "--", "sh", "-c", 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"', vulkan ? vulkanLibrary : library, ...words], { env: environment, timeout: 1_800_000 }); // a software device compiles shaders
    if (status !== 0) throw new Error(`${words.join(" ")}: exit ${status}\n${stderr}`);
    made.set(key, directory);
    return directory;
}

// The output of ggscope diff --values, with its exit status.
export function compared(a, b, ...options) {
    const result = run(ggscope, ["diff", "--values", "--json", ...options, a, b]);
    if (result.stdout === "") throw new Error(result.stderr);
    return { status: result.status, ...JSON.parse(result.stdout) };
}

// The first named op and its reason; "" for none.
export function first(answer) {
    const op = answer.wrong[0];
    return op === undefined ? "" : `${op.key} ${op.rule}`;
}
