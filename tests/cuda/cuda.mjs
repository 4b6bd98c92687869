// Shared by the tests on an NVIDIA GPU: the stock release with a CUDA backend, which is
//     GGSCOPE_CUDA_BACKEND=FILE     a libggml-cuda.so of that release, or else
//                                   built once from the release's source bundle (minutes)
// Without a GPU or build tools the tests print the reason and skip.
import { test } from "node:test";
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { engine, ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { engineOf, variant } from "../variant.mjs";
import { checkout, release, newest, sourceBundle } from "../engine/node/recordings.mjs";

const folder = join(root, "build", "cuda-engine"), prebuilt = process.env.GGSCOPE_CUDA_BACKEND;
const stock = join(root, "engine", "node_modules", "@node-llama-cpp", "linux-x64", "bins", "linux-x64");
const path = `${process.env.PATH}:/usr/local/cuda/bin`;
const succeeds = (command) => run("sh", ["-c", command], { env: { ...process.env, PATH: path } }).status === 0;
const whole = join(folder, "engine"), backend = join(whole, "libggml-cuda.so"); // with every CPU variant

function reason() {
    if (process.arch !== "x64") return "the release's source bundle comes with libraries for x64";
    if (!succeeds("nvidia-smi -L | grep -q GPU")) return "nvidia-smi finds no NVIDIA GPU here";
    if (prebuilt && !existsSync(prebuilt)) return `GGSCOPE_CUDA_BACKEND: there is no ${prebuilt}`;
    if (!prebuilt && !existsSync(backend) && !succeeds("command -v nvcc")) return "there is no nvcc to build the CUDA backend with, and GGSCOPE_CUDA_BACKEND names none";
    return false;
}
const skip = reason();
export const maybe = (name, body) => test(name, { skip }, body);
export const device = () => output("nvidia-smi", ["--query-gpu=name,driver_version", "--format=csv,noheader"], { env: { ...process.env, PATH: path } }).trim();
// A line that tests/run shows.
export const say = (text) => console.log(`# cuda: ${text}`);

function buildBackend() {
    const source = join(folder, "source"), tree = join(folder, "build");
    checkout(sourceBundle(release(newest)), source, ["ggml"]);
    writeFileSync(join(source, "ggml", "ggml.pc.in"), "", { flag: "a" });
    const options = { env: { ...process.env, PATH: path }, timeout: 3_600_000 };
    const capability = output("nvidia-smi", ["--query-gpu=compute_cap", "--format=csv,noheader"], options).trim().split("\n")[0].replace(".", "");
    output("cmake", ["-G", "Ninja", "-S", join(source, "ggml"), "-B", tree, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DGGML_BACKEND_DL=ON",
        "-DGGML_CUDA=ON", "-DGGML_CPU=OFF", "-DGGML_CUDA_GRAPHS=ON", `-DCMAKE_CUDA_ARCHITECTURES=${capability}`, "-DGGML_CUDA_FA=OFF", "-DGGML_CCACHE=OFF",
        "-DGGML_BUILD_TESTS=OFF", "-DGGML_BUILD_EXAMPLES=OFF", "-DCMAKE_BUILD_RPATH=$ORIGIN"], options);
    output("cmake", ["--build", tree, "--target", "ggml-cuda", "-j", String(availableParallelism())], options);
    return output("find", [tree, "-name", "libggml-cuda.so"]).trim().split("\n")[0];
}

function assemble() {
    if (existsSync(backend) && !prebuilt) return;
    const built = prebuilt ?? buildBackend();
    rmSync(whole, { recursive: true, force: true });
    mkdirSync(whole, { recursive: true });
    for (const name of readdirSync(stock).filter((n) => n.endsWith(".so"))) copyFileSync(join(stock, name), join(whole, name));
    // The backend needs the already loaded library by its own build's name.
    symlinkSync("libggml-base.so", join(whole, "libggml-base.so.0"));
    copyFileSync(built, backend);
}
if (!skip) assemble();
export const libs = skip ? whole : engineOf(variant, whole);

// The backend finds libggml-base.so.0 in its own folder, or here.
export const env = { ...process.env, GGSCOPE_ENGINE: libs, LD_LIBRARY_PATH: [libs, process.env.LD_LIBRARY_PATH].filter(Boolean).join(":") };

// Lists all kernels of a program by CUPTI itself, without ggscope: { name: { count, ns } }.
const here = dirname(fileURLToPath(import.meta.url));
let lister;
export function kernelList(program, args, more = {}) {
    if (!lister) {
        const cuda = "/usr/local/cuda", target = scratch("libkernel-list.so");
        const places = [`-I${cuda}/include`, `-I${cuda}/extras/CUPTI/include`, `-L${cuda}/lib64`, `-L${cuda}/extras/CUPTI/lib64`, `-Wl,-rpath,${cuda}/lib64:${cuda}/extras/CUPTI/lib64`];
        output("gcc", ["-shared", "-fPIC", "-O1", join(here, "kernel-list.c"), "-o", target, ...places, "-lcupti"]);
        lister = target;
    }
    const text = output(program, args, { env: { ...env, CUDA_INJECTION64_PATH: lister, ...more } });
    const lines = text.split("\n").filter((line) => line.startsWith("kernel "));
    if (lines.length === 0) throw new Error("CUPTI listed no kernels");
    return { kernels: lines.map((line) => line.split(" ")).map(([, count, ns, name]) => ({ name, count: Number(count), ns: Number(ns) })), lister };
}

export { engine, ggscope, model, output, run, scratch };
