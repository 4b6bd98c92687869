// Ops and kernels on an NVIDIA GPU: make test-cuda. The CUDA backend is built from the release's source bundle (minutes, once), the rest of
// the engine is the stock release. Where there is no GPU, or nothing to build with, it says so and skips.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { availableParallelism } from "node:os";
import { engine, ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { checkout, libraries, newest, release, sourceBundle } from "../engine/node/recordings.mjs";
import { accounted, table } from "../engine/traces.mjs";

const folder = join(root, "build", "cuda-engine"), libs = join(folder, "engine");
const succeeds = (command) => run("sh", ["-c", `PATH=$PATH:/usr/local/cuda/bin; ${command}`]).status === 0;

function reason() {
    if (process.arch !== "x64") return "the release's source bundle comes with libraries for x64";
    if (!succeeds("nvidia-smi -L | grep -q GPU")) return "nvidia-smi finds no NVIDIA GPU here";
    if (!existsSync(join(libs, "libggml-cuda.so")) && !succeeds("command -v nvcc")) return "there is no nvcc to build the CUDA backend with";
    return false;
}
const skip = reason();
const maybe = (name, body) => test(name, { skip }, body);

function buildBackend() {
    const source = join(folder, "source"), tree = join(folder, "build");
    if (existsSync(join(libs, "libggml-cuda.so"))) return;
    checkout(sourceBundle(release(newest)), source, ["ggml"]);
    writeFileSync(join(source, "ggml", "ggml.pc.in"), "", { flag: "a" });
    const path = { env: { ...process.env, PATH: `${process.env.PATH}:/usr/local/cuda/bin` }, timeout: 3_600_000 };
    const capability = output("nvidia-smi", ["--query-gpu=compute_cap", "--format=csv,noheader"]).trim().split("\n")[0].replace(".", "");
    output("cmake", ["-G", "Ninja", "-S", join(source, "ggml"), "-B", tree, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DGGML_BACKEND_DL=ON",
        "-DGGML_CUDA=ON", "-DGGML_CPU=OFF", "-DGGML_CUDA_GRAPHS=ON", `-DCMAKE_CUDA_ARCHITECTURES=${capability}`, "-DGGML_CUDA_FA=OFF", "-DGGML_CCACHE=OFF",
        "-DGGML_BUILD_TESTS=OFF", "-DGGML_BUILD_EXAMPLES=OFF", "-DCMAKE_BUILD_RPATH=$ORIGIN"], path);
    output("cmake", ["--build", tree, "--target", "ggml-cuda", "-j", String(availableParallelism())], path);
    mkdirSync(libs, { recursive: true });
    const stock = libraries(release(newest));
    for (const name of readdirSync(stock).filter((n) => n.endsWith(".so"))) copyFileSync(join(stock, name), join(libs, name));
    // The backend asks for its own build's name of the library that is there already.
    if (!existsSync(join(libs, "libggml-base.so.0"))) symlinkSync("libggml-base.so", join(libs, "libggml-base.so.0"));
    const built = output("find", [tree, "-name", "libggml-cuda.so"]).trim().split("\n")[0];
    copyFileSync(built, join(libs, "libggml-cuda.so"));
}

maybe("the backend builds, and the engine finds the device", () => {
    buildBackend();
    console.log(`# ${new Date().toISOString().slice(0, 10)}, ${output("nvidia-smi", ["--query-gpu=name,driver_version", "--format=csv,noheader"]).trim()}`);
    const probe = run(engine, ["run", "--engine", libs, "-m", model("tiny"), "-p", "x", "-n", "1", "--device", "none,"]);
    assert.match(probe.stderr, /it has .*CUDA0/);
});

let n = 0;
function recorded(preset, ...options) {
    const directory = scratch(`cuda-${n++}`);
    const args = ["--engine", libs, "-m", model(preset), "-p", "Once upon a time", "-n", "12", "-t", "2", "-ngl", "99", "--ignore-eos", "--json", "--logits-hash"];
    const plain = JSON.parse(output(engine, ["run", ...args]));
    const traced = JSON.parse(output(ggscope, ["run", ...args, ...options, "-q", "-o", directory]));
    assert.equal(traced.logits_hash, plain.logits_hash, "logits are the same with and without recording");
    return directory;
}
const stats = (directory, by) => JSON.parse(output(ggscope, ["stats", "--json", "--by", by, directory]));

for (const preset of ["tiny", "moe"]) {
    maybe(`${preset}: every node of every run, its kernels, and their sum`, () => {
        const directory = recorded(preset, "--gpu-ops", "all");
        const runs = table(directory, "runs");
        runs.forEach(accounted);
        assert.equal(runs.filter((r) => r.backend === "CUDA0").length, 12);
        const kernels = table(directory, "kernels");
        assert.ok(kernels.length > runs.length && kernels.every((k) => k.name !== "" && Number(k.duration_ns) > 0));
        assert.ok(kernels.filter((k) => k.grid_x !== "").length > 0.9 * kernels.length);
        assert.equal(kernels.filter((k) => k.node === "").length, 0, "each belongs to a node");
        const { by_device, by_kernel } = stats(directory, "device,kernel");
        const sum = by_kernel.reduce((total, g) => total + g.wall_ns, 0), ops = by_device.find((g) => g.device === "CUDA0").wall_ns;
        // Kernels of a replayed graph overlap; ops do not.
        assert.ok(ops <= 1.05 * sum && ops >= 0.6 * sum, `ops take ${ops} ns, kernels ${sum}`);
        assert.equal(run(ggscope, ["check", directory]).status, 0);
    });

    maybe(`${preset}: outside of the window runs are seen as a whole, and that is said`, () => {
        const directory = recorded(preset, "--gpu-ops", "first:4");
        const device = stats(directory, "device").devices.find((d) => d.name === "CUDA0");
        assert.equal(device.runs, 12);
        assert.ok(device.runs_with_op_times >= 4 && device.runs_with_op_times < 12 && device.busy === null);
        assert.match(output(ggscope, ["stats", directory]), /^device {4}CUDA0: op times of [\d.]+ % of its time: \d+ of 12 graph runs$/m);
        assert.match(run(ggscope, ["check", directory]).stdout, /^warning +time in ops/m);
    });
}
