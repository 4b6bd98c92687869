// llama.cpp linked statically into a program: gcc and clang, with and without OpenMP, stripped or not, with link-time optimisation. Each is
// recorded or refused as docs/attach.md promises; what is recorded is what a program on the shared libraries shows of the same model.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { assertWhole, checkout, environment, libraries, newest, recordTwin, release, rows, sourceBundle, stats } from "../engine/node/recordings.mjs";

const only = process.arch === "x64" ? {} : { skip: `entries of functions are hooked on x64 alone, this is ${process.arch}` };
const folder = join(root, "build", "static"), source = join(folder, "source"), host = join(root, "tests", "full", "inside-host.c");
const has = (program) => run("sh", ["-c", `command -v ${program}`]).status === 0;
scratch();

const headers = ["-I", join(source, "include"), "-I", join(source, "ggml", "include")];
const builds = {
    "gcc-openmp": { compilers: ["gcc", "g++"], openmp: true, flags: [], waits: true },
    gcc: { compilers: ["gcc", "g++"], openmp: false, flags: [], waits: true },
    clang: { compilers: ["clang", "clang++"], openmp: false, flags: [], waits: false },
    "gcc-lto": { compilers: ["gcc", "g++"], openmp: false, flags: ["-flto=auto"], tools: ["-DCMAKE_AR=/usr/bin/gcc-ar", "-DCMAKE_RANLIB=/usr/bin/gcc-ranlib"], refused: /because of ggml_op_name: link-time optimisation has left none/ },
    "clang-lto": { compilers: ["clang", "clang++"], openmp: false, flags: ["-flto"], link: ["-fuse-ld=lld"], refused: /because of ggml_graph_compute: clang may have changed its arguments/ },
};

// Takes minutes the first time.
function build(name) {
    const { compilers: [c, cxx], openmp, flags, tools = [], link = [] } = builds[name], tree = join(folder, name), program = join(folder, `host-${name}`);
    if (existsSync(program)) return program;
    mkdirSync(folder, { recursive: true });
    checkout(sourceBundle(release(newest)), source);
    output("nice", ["cmake", "-G", "Ninja", "-S", source, "-B", tree, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=OFF", "-DGGML_CCACHE=OFF",
        "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", `-DGGML_OPENMP=${openmp ? "ON" : "OFF"}`, `-DCMAKE_C_COMPILER=${c}`, `-DCMAKE_CXX_COMPILER=${cxx}`,
        `-DCMAKE_C_FLAGS=${flags.join(" ")}`, `-DCMAKE_CXX_FLAGS=${flags.join(" ")}`, "-DCMAKE_C_FLAGS_RELEASE=-O2", "-DCMAKE_CXX_FLAGS_RELEASE=-O2", ...tools,
        ...["COMMON", "TESTS", "EXAMPLES", "TOOLS", "SERVER"].map((part) => `-DLLAMA_BUILD_${part}=OFF`)]);
    output("nice", ["cmake", "--build", tree, "--target", "llama"], { timeout: 3_600_000 });
    output(c, ["-O2", ...flags, ...headers, "-c", host, "-o", `${program}.o`]);
    output(cxx, ["-O2", ...flags, ...link, "-o", program, `${program}.o`, join(tree, "src", "libllama.a"),
        ...["libggml.a", "libggml-cpu.a", "libggml-base.a"].map((file) => join(tree, "ggml", "src", file)), ...(openmp ? ["-fopenmp"] : []), "-lpthread", "-ldl", "-lm"], { timeout: 1_200_000 });
    return program;
}

// The same program on the stock shared libraries.
function shared() {
    const program = join(folder, "host-shared"), stock = libraries(release(newest));
    mkdirSync(folder, { recursive: true });
    checkout(sourceBundle(release(newest)), source);
    output("gcc", ["-O2", ...headers, `-DBACKENDS="${stock}"`, host, "-o", program, "-Wl,--no-as-needed", `-L${stock}`, "-l:libllama.v0.5.0.so", "-l:libggml.v0.5.0.so", "-l:libggml-base.so",
        `-Wl,-rpath,${stock}`, "-Wl,--allow-shlib-undefined"]);
    return program;
}

// What does not depend on how the engine was built: ops by name and tensor, and tokens.
function essence(directory) {
    const { runs, executed, absorbed, empty } = stats(directory);
    return { runs, computed: executed + absorbed, empty, tokens: rows(directory, "tokens").map(({ step, token, position }) => ({ step, token, position })) };
}

let expected;
test("on shared libraries", only, () => {
    const { directory } = recordTwin([shared(), model("tiny"), "2", "4"]);
    expected = essence(directory);
    assert.equal(expected.runs, 4);
});

for (const [name, { compilers, waits, refused }] of Object.entries(builds)) {
    test(name, only, async (t) => {
        if (!compilers.every(has)) return t.skip(`there is no ${compilers.join(" or no ")}`);
        const program = build(name), command = [program, model("tiny"), "2", "4"];
        if (refused) {
            const { directory, stdout, status, stderr } = { directory: scratch(`refused-${name}`), ...run(ggscope, ["record", "-o", scratch(`refused-${name}`), "--", ...command], { env: environment }) };
            assert.equal(stdout, output(command[0], command.slice(1)), `the program runs on (${status}, ${directory})`);
            assert.match(stderr, refused);
            const doctor = JSON.parse(run(ggscope, ["doctor", "--json", program]).stdout);
            assert.ok(!doctor.ok && doctor.checks.some((check) => check.level === "fail" && refused.test(check.text)));
            return;
        }
        const { directory } = recordTwin(command);
        assert.deepEqual(essence(directory), expected);
        if (waits) assertWhole(directory);
        else assert.deepEqual(JSON.parse(run(ggscope, ["check", "--json", directory]).stdout).checks.filter((check) => check.result === "FAIL"), []);
        for (const one of rows(directory, "op_runs")) assert.equal((one.flags & 8) === 0, waits, "its wait");
        const doctor = JSON.parse(run(ggscope, ["doctor", "--json", program]).stdout);
        assert.ok(doctor.checks.some((check) => check.level === "ok" && /with symbols: ops, graphs, buffers and tokens are seen/.test(check.text)));
        await t.test("stripped: graph runs, tokens and the first thread's ends", () => {
            output("objcopy", ["--strip-all", program, scratch(`stripped-${name}`)]);
            const { directory: blind } = recordTwin([scratch(`stripped-${name}`), ...command.slice(1)]), seen = stats(blind);
            assert.deepEqual(essence(blind), expected);
            assert.equal(seen.runs_of_first_thread, seen.runs);
            assert.equal(seen.op_runs, seen.ops, "each op once, on thread 0");
            assert.deepEqual(JSON.parse(run(ggscope, ["check", "--json", blind]).stdout).checks.filter((check) => check.result === "FAIL"), []);
        });
    });
}
