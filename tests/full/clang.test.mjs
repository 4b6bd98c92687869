// The engine's CPU backend built by clang, which inlines ggml_barrier, so that no call ends an op.
// The rest of the engine is the stock release.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { checkout, environment, libraries, newest, recordTwin, release, sourceBundle } from "../engine/node/recordings.mjs";
import { rows } from "../engine/traces.mjs";

const only = process.arch === "x64" ? {} : { skip: `the release's source bundle comes with libraries for x64, this is ${process.arch}` };
const folder = join(root, "build", "clang-engine"), libs = join(folder, "engine");
scratch();

// Takes minutes the first time. Only C is compiled by clang: ggml-cpu.c has the loop; the kernels
// are unchanged.
function buildEngine() {
    const source = join(folder, "source"), tree = join(folder, "build");
    if (existsSync(join(libs, "libggml-cpu.so"))) return;
    checkout(sourceBundle(release(newest)), source, ["ggml"]);
    writeFileSync(join(source, "ggml", "ggml.pc.in"), "", { flag: "a" });
    output("nice", ["cmake", "-G", "Ninja", "-S", join(source, "ggml"), "-B", tree, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON",
        "-DGGML_BACKEND_DL=ON", "-DGGML_NATIVE=OFF", "-DGGML_OPENMP=OFF", "-DGGML_CCACHE=OFF", "-DGGML_BUILD_TESTS=OFF", "-DGGML_BUILD_EXAMPLES=OFF",
        "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=g++"]);
    output("nice", ["cmake", "--build", tree, "--target", "ggml-cpu"], { timeout: 3_600_000 });
    mkdirSync(libs, { recursive: true });
    const stock = libraries(release(newest));
    for (const name of readdirSync(stock).filter((n) => n.endsWith(".so") && !n.startsWith("libggml-cpu"))) copyFileSync(join(stock, name), join(libs, name));
    // Linked again, with the stock library under it.
    const objects = output("find", [join(tree, "src", "CMakeFiles", "ggml-cpu.dir"), "-name", "*.o"]).trim().split("\n");
    output("g++", ["-shared", "-o", join(libs, "libggml-cpu.so"), ...objects, `-L${libs}`, "-l:libggml-base.so", "-lpthread"]);
}

let unusable = "it was not built";
test("the CPU backend builds with clang, and its compute loop calls no barrier", only, (t) => {
    if (run("sh", ["-c", "command -v clang && command -v g++"]).status !== 0) {
        unusable = "there is no clang, or no g++, to build it with";
        return t.skip(unusable);
    }
    buildEngine();
    const code = output("objdump", ["-d", "--no-show-raw-insn", join(folder, "build", "src", "CMakeFiles", "ggml-cpu.dir", "ggml-cpu", "ggml-cpu.c.o"), "-r"]);
    const loop = code.slice(code.indexOf("<ggml_graph_compute_thread>:")).split("\n\n")[0];
    assert.ok(loop.length > 1000);
    assert.doesNotMatch(loop, /R_X86_64_PLT32\s+ggml_barrier/);
    unusable = "";
});

for (const preset of ["tiny", "moe"]) {
    for (const threads of [1, 2]) {
        test(`${preset}, ${threads} threads: every op has its time, and what was not seen is marked`, only, (t) => {
            if (unusable) return t.skip(unusable);
            const { directory } = recordTwin([engine, "run", "--engine", libs, "-m", model(preset), "-p", "Once upon a time", "-n", "4", "-t", String(threads), "--ignore-eos", "--json", "--logits-hash"],
                { compare: (text) => JSON.parse(text).logits_hash, env: environment });
            const { runs, op_runs, losses } = rows(directory, "runs", "op_runs", "losses");
            assert.deepEqual(losses, []);
            assert.equal(runs.length, 4);
            for (const r of runs) {
                assert.deepEqual([r.flags, r.unseen, r.cut], [8, 0, 0]);
                const mine = op_runs.filter((o) => o.run === r.run), own = mine.filter((o) => o.thread === 0);
                for (const o of mine) assert.equal(o.flags & 9, 9, "it ended, and its wait was not seen");
                for (const o of mine) assert.ok(o.inner_wait_ns <= o.duration_ns && o.wait_ns === 0);
                for (const o of own) assert.equal(o.flags & 16, 0);
                assert.ok(own.reduce((sum, o) => sum + o.duration_ns, 0) <= r.end_ns - r.begin_ns);
                assert.ok(mine.some((o) => o.duration_ns > 0));
            }
            const result = run(ggscope, ["check", "--json", directory]);
            assert.deepEqual(JSON.parse(result.stdout).checks.filter((c) => c.result === "FAIL"), []);
        });
    }
}
