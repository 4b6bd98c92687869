// The engine as `cmake` builds it from source: with OpenMP, whose threads and barriers are not
// ggml's, and one CPU backend for this machine, linked by libggml. libllama, which computes nothing
// itself, is the stock one.
import { test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { engine, ggscope, model, output, root, run, scratch } from "../lib.mjs";
import {
    assertOpRuns, assertSteps, assertWhole, checkout, environment, libraries, newest, promptTokens, recordTwin, release, rows, sourceBundle, stats,
} from "../engine/node/recordings.mjs";

const only = process.arch === "x64" ? {} : { skip: `the release's source bundle comes with libraries for x64, this is ${process.arch}` };
const TOKENS = 5;
const folder = join(root, "build", "openmp"), tree = join(folder, "build"), libs = join(folder, "engine");
scratch();

// Takes minutes the first time.
function buildEngine() {
    const source = join(folder, "source");
    checkout(sourceBundle(release(newest)), source);
    const options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DGGML_OPENMP=ON", "-DGGML_CCACHE=OFF",
        ...["COMMON", "TESTS", "EXAMPLES", "TOOLS", "SERVER"].map((part) => `-DLLAMA_BUILD_${part}=OFF`)];
    output("nice", ["cmake", "-G", "Ninja", "-S", source, "-B", tree, ...options]);
    output("nice", ["cmake", "--build", tree, "--target", "ggml"], { timeout: 3_600_000 });
    rmSync(libs, { recursive: true, force: true });
    mkdirSync(libs, { recursive: true });
    const built = join(tree, "bin"), stock = libraries(release(newest));
    for (const name of readdirSync(built).filter((one) => one.startsWith("libggml"))) symlinkSync(join(built, name), join(libs, name));
    // libllama needs libggml by the stock name.
    for (const name of readdirSync(stock).filter((one) => /^libggml\..*so$|^libllama\..*so$/.test(one) && !existsSync(join(libs, one))))
        symlinkSync(name.startsWith("libggml") ? join(built, "libggml.so") : join(stock, name), join(libs, name));
    assert.match(output("readelf", ["-d", join(tree, "bin", "libggml-cpu.so")]), /NEEDED.*libgomp/, "it uses OpenMP");
}

// Removes the pool that ggscope-engine attaches to its context: the engine then makes one per
// graph.
function withoutPool() {
    writeFileSync(scratch("no-pool.c"), `
        #include <stdio.h>
        void llama_attach_threadpool(void * context, void * pool, void * batch_pool) { fputs("no pool attached\\n", stderr); }`);
    output("gcc", ["-shared", "-fPIC", "-o", scratch("no-pool.so"), scratch("no-pool.c")]);
    return { ...environment, LD_PRELOAD: scratch("no-pool.so") };
}

function generate(preset, threads, count = TOKENS) {
    return [engine, "run", "--engine", libs, "-m", model(preset), "-p", "Once upon a time",
        "-n", count, "-t", threads, "--ignore-eos", "--json", "--logits-hash"].map(String);
}
// The parts of the runner's answer that must not depend on whether it is recorded.
function answer(stdout) {
    const { text, ids, prompt_tokens, logits_hash } = JSON.parse(stdout);
    return { text, ids, prompt_tokens, logits_hash };
}

let unusable = "it was not built";
test("llama.cpp builds from source with OpenMP", only, (t) => {
    if (run("sh", ["-c", "command -v g++"]).status !== 0) {
        unusable = "there is no g++ to build it with";
        return t.skip(unusable);
    }
    buildEngine();
    const [program, ...args] = generate("tiny", 1);
    const { status, signal, stderr } = run(program, args, { env: environment });
    // Compilers may emit instructions (AMX) that the kernel or hypervisor does not permit here.
    if (signal === "SIGILL") {
        unusable = "this build dies of SIGILL without us: it has instructions that this machine does not run";
        return t.skip(unusable);
    }
    assert.equal(status, 0, `${signal ?? ""} ${stderr}`);
    unusable = "";
});

test("ggscope doctor finds everything that it needs in it", only, (t) => {
    if (unusable) return t.skip(unusable);
    const { checks } = JSON.parse(run(ggscope, ["doctor", "--json", "--engine", libs]).stdout);
    for (const topic of ["ops", "graphs", "buffers", "files", "tokens"]) {
        const found = checks.filter((check) => check.topic === topic);
        assert.ok(found.length > 0, topic);
        assert.deepEqual(found.filter((check) => check.level !== "ok"), [], topic);
    }
});

const hashes = new Set();
for (const preset of ["tiny", "moe"]) {
    for (const pool of [true, false]) {
        for (const threads of [1, 2, 4]) {
            test(`${preset}, ${pool ? "with" : "without"} a pool attached, threads: ${threads}`, only, async (t) => {
                if (unusable) return t.skip(unusable);
                const env = pool ? environment : withoutPool();
                const { directory, stdout, stderr } = recordTwin(generate(preset, threads), { compare: answer, env });
                assert.equal(stderr.includes("no pool attached"), !pool);
                await t.test("covered and consistent", () => assertWhole(directory));
                await t.test("one op run per op and thread", () => assertOpRuns(directory, threads));
                await t.test("token steps", () => assertSteps(directory, promptTokens, JSON.parse(stdout).ids));
                await t.test("as many system threads as it computes with", () => {
                    const own = new Set(rows(directory, "op_runs").map((row) => row.os_thread));
                    assert.equal(own.size, threads, "OpenMP keeps its threads from graph to graph");
                });
                hashes.add(`${preset} ${JSON.parse(stdout).logits_hash}`);
            });
        }
    }
}

// Each graph has its own pool, whose threads start together: whichever comes first must find the
// run.
test("200 graphs without a pool lose nothing", only, (t) => {
    if (unusable) return t.skip(unusable);
    const { directory } = recordTwin(generate("tiny", 2, 200), { compare: answer, env: withoutPool() });
    assertWhole(directory);
    assertOpRuns(directory, 2);
});

test("OpenMP gives fewer threads than asked for", only, (t) => {
    if (unusable) return t.skip(unusable);
    const { directory } = recordTwin(generate("tiny", 4), { compare: answer, env: { ...environment, OMP_THREAD_LIMIT: "2" } });
    assertWhole(directory);
    const { ops, op_runs } = stats(directory);
    assert.equal(op_runs, 2 * ops);
    assert.deepEqual(new Set(rows(directory, "op_runs").map((row) => row.thread)), new Set([0, 1]));
});

test("the logits do not depend on threads, pool or recording", only, (t) => {
    if (unusable) return t.skip(unusable);
    assert.equal(hashes.size, 2, [...hashes].join(", "));
});
