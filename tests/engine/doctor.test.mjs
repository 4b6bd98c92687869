// ggscope doctor on engines and programs that can be recorded, and on those that cannot.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, renameSync, symlinkSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, output, run, scratch } from "../lib.mjs";
import { wholeEngine } from "../variant.mjs";

scratch();

function doctor(...args) {
    const result = run(ggscope, ["doctor", "--json", ...args]);
    assert.ok([0, 1].includes(result.status), result.stderr);
    const answer = JSON.parse(result.stdout);
    assert.equal(answer.ok, result.status === 0);
    assert.equal(answer.ok, !answer.checks.some((check) => check.level === "fail"));
    return answer.checks;
}
const of = (checks, topic) => checks.filter((check) => check.topic === topic);

// The functions that the capture library hooks, from its symbol table.
const hooks = output("nm", ["-D", "--defined-only", join(build, "lib", "libggscope-capture.so")]).split("\n")
    .map((line) => line.split(" ")[2]).filter((name) => /^(ggml|gguf|llama)_/.test(name ?? ""));

test("the default engine can be recorded, hook by hook", () => {
    const checks = doctor();
    for (const topic of ["kernel", "clock", "spool", "faults", "io", "memory", "capture", "engine", "ops", "graphs", "buffers", "transfers", "files", "tokens"])
        assert.ok(of(checks, topic).length > 0, topic);
    for (const topic of ["capture", "engine", "ops", "graphs", "files"])
        for (const check of of(checks, topic)) assert.equal(check.level, "ok", check.text);
    assert.ok(hooks.length > 20);
    for (const hook of hooks) assert.equal(checks.filter((check) => check.text.split(/[ :]/)[0] === hook).length, 1, hook);
    assert.match(of(checks, "ops").map((check) => check.text).join("\n"), /ggml_barrier: in libggml-cpu.*, called by libggml-cpu/);
});

test("as text: one line each, exit status 0", () => {
    const result = run(ggscope, ["doctor"]);
    assert.equal(result.status, 0, result.stdout);
    for (const line of result.stdout.trimEnd().split("\n")) assert.match(line, /^(ok|warn) +[a-z]+ +\S/);
});

// A small engine with the relevant functions, linked in several ways.
function fakeEngine(name, ...options) {
    const directory = scratch(name);
    mkdirSync(directory);
    const library = (file, source) => {
        writeFileSync(join(directory, `${file}.c`), source);
        output("gcc", ["-shared", "-fPIC", "-O1", "-fno-inline", ...options, "-o", join(directory, `${file}.so`), join(directory, `${file}.c`)]);
    };
    library("libllama", "int llama_decode(void); int llama_decode(void) { return 1; }");
    library("libggml-base", `int ggml_backend_graph_compute_async(void); int ggml_backend_graph_compute_async(void) { return 1; }
        int other(void); int other(void) { return ggml_backend_graph_compute_async() + 1; }`);
    library("libggml-cpu", `int ggml_cpu_extra_compute_forward(void); int ggml_cpu_extra_compute_forward(void) { __asm__ volatile(""); return 1; }
        int ggml_barrier(void); int ggml_barrier(void) { __asm__ volatile(""); return 1; }
        int ggml_graph_compute(void); int ggml_graph_compute(void) { return ggml_cpu_extra_compute_forward() + ggml_barrier(); }
        int user(void); int user(void) { return ggml_graph_compute() + 1; }`);
    return directory;
}

test("backends are listed with what will be seen of them", () => {
    const directory = fakeEngine("backends");
    const backend = (name, body) => {
        writeFileSync(join(directory, `${name}.c`), `int ggml_is_empty(void *); int run(void * node); int run(void * node) { ${body} }`);
        output("gcc", ["-shared", "-fPIC", "-o", join(directory, `libggml-${name}.so`), join(directory, `${name}.c`)]);
    };
    for (const name of ["vulkan", "cuda", "sycl"]) backend(name, "return ggml_is_empty(node);");
    backend("blas", "return node != 0;");
    symlinkSync("libggml-vulkan.so", join(directory, "libggml-vulkan.so.0"));
    const checks = of(doctor(directory), "backend");
    const about = (name) => checks.filter((check) => check.text.startsWith(`libggml-${name}.so: `));
    assert.equal(checks.length, 4);
    for (const name of ["vulkan", "cuda", "sycl", "blas"]) assert.equal(about(name).length, 1, name);
    assert.match(about("vulkan")[0].text, /every op, with its times on the device/);
    assert.match(about("cuda")[0].text, /ops and kernels/);
    for (const name of ["sycl", "blas"]) assert.match(about(name)[0].text, /whole graph runs.*its ops have no times/);
    writeFileSync(join(directory, "libcupti.so.13"), "");
    const found = JSON.parse(run(ggscope, ["doctor", "--json", directory], { env: { ...process.env, LD_LIBRARY_PATH: directory } }).stdout).checks;
    assert.equal(found.find((check) => check.text.startsWith("libggml-cuda.so: ")).level, "ok", "libcupti is in LD_LIBRARY_PATH");
    assert.deepEqual(of(doctor(), "backend"), [], "the default engine has the CPU's alone");
});

test("backends that have a folder to themselves, as Debian puts them, are found", () => {
    const folder = fakeEngine("debian"), apart = join(folder, "ggml", "backends0"), program = scratch("debian-program");
    mkdirSync(apart, { recursive: true });
    renameSync(join(folder, "libggml-cpu.so"), join(apart, "libggml-cpu-haswell.so"));
    output("gcc", ["-x", "c", "-o", program, "-", "-Wl,--no-as-needed", `-L${folder}`, "-lggml-base", `-Wl,-rpath,${folder}`], { input: "int main(void) { return 0; }" });
    for (const checks of [doctor(program), doctor("--engine", folder)])
        for (const check of of(checks, "ops")) assert.equal(check.level, "ok", check.text);
});

test("an engine whose libraries call themselves directly is recognised, and the fallback named", () => {
    for (const option of ["-Wl,-Bsymbolic-functions", "-Wl,-Bsymbolic"]) {
        const folder = fakeEngine(`symbolic${option}`, option), checks = doctor("--engine", folder);
        const barrier = checks.find((check) => check.text.startsWith("ggml_barrier"));
        assert.equal(barrier.level, "warn", option); // ends follow from the next begin
        assert.match(barrier.text, /cannot be hooked in libggml-cpu.so/);
        assert.match(barrier.fix, /-Bsymbolic-functions/);
        const begins = checks.find((check) => check.text.startsWith("ggml_cpu_extra_compute_forward"));
        assert.equal(begins.level, "fail");
        assert.match(begins.text, /only whole graph runs/);
        const lines = run(ggscope, ["doctor", "--engine", folder, "--verbose"]).stdout.split("\n");
        const blind = lines.map((line, i) => [line, i]).filter(([line]) => line.includes("cannot be hooked"));
        assert.ok(blind.length > 1);
        for (const [line, i] of blind) assert.equal(line.includes(" (build llama.cpp without "), !lines[i + 1].includes("cannot be hooked"), "consecutive ones have what is to be done once");
    }
    const hidden = doctor("--engine", fakeEngine("hidden", "-fvisibility=hidden", "-g"));
    assert.match(hidden.find((check) => check.text.startsWith("ggml_barrier")).text, /not exported/);
});

test("the same engine linked plainly is fine", () => {
    const checks = doctor("--engine", fakeEngine("plain"));
    for (const check of of(checks, "ops")) assert.equal(check.level, "ok", check.text);
    assert.match(of(checks, "engine")[0].text, /release that ggscope-engine was not built for/);
});

test("an engine without a CPU backend: that is said, not that the release lacks functions", () => {
    const folder = scratch("no-cpu");
    mkdirSync(folder);
    for (const name of readdirSync(wholeEngine).filter((file) => /^lib(llama|ggml|ggml-base)\./.test(file))) symlinkSync(join(wholeEngine, name), join(folder, name));
    const texts = doctor("--engine", folder).map((check) => check.text);
    assert.ok(texts.some((text) => text.startsWith("ggml_cpu_extra_compute_forward: not there, as ggml's CPU backend is not: ")), texts.join("\n"));
    assert.ok(!texts.some((text) => /^ggml_(graph_compute|cpu_extra_compute_forward): not in this release/.test(text)));
});

test("an engine that is not there is a failure", () => {
    const checks = doctor("--engine", "/nowhere");
    assert.equal(of(checks, "engine")[0].level, "fail");
});

test("programs: one that links the engine, a script, a static one, one with ggml inside, none", (t) => {
    const directory = output(engine, ["version"]).trimEnd().split("\n")[2];
    const compile = (name, source, ...options) => {
        writeFileSync(scratch(`${name}.c`), source);
        const result = run("gcc", ["-o", scratch(name), scratch(`${name}.c`), ...options]);
        return result.status === 0 ? scratch(name) : undefined;
    };
    const user = compile("user", "void ggml_time_init(void); int main(void) { ggml_time_init(); return 0; }", `-L${directory}`, "-lggml-base", `-Wl,-rpath,${directory}`, "-Wl,--allow-shlib-undefined");
    const checks = doctor(user);
    assert.equal(of(checks, "program")[0].level, "ok");
    assert.ok(of(checks, "ops").length > 0, "its engine is found and looked at");

    writeFileSync(scratch("script"), "#!/bin/sh\n", { mode: 0o755 });
    assert.match(of(doctor(scratch("script")), "program")[0].text, /is a script for \/bin\/sh/);

    const inside = doctor(compile("inside", "void ggml_init(void); void ggml_init(void) {} int main(void) { ggml_init(); return 0; }"));
    assert.ok(of(inside, "program").some((check) => check.level === "fail" && /linked into/.test(check.text)));

    for (const part of [200, readFileSync(user).length >> 1]) {
        writeFileSync(scratch("cut"), readFileSync(user).subarray(0, part), { mode: 0o755 });
        assert.match(of(doctor(scratch("cut")), "program")[0].text, /is cut off/);
    }
    writeFileSync(scratch("empty"), "", { mode: 0o755 });
    assert.deepEqual(of(doctor(scratch("empty")), "program").map((check) => [check.level, /is no program for Linux/.test(check.text)]), [["warn", true]]);

    assert.match(of(doctor("true"), "program").at(-1).text, /links no ggml library/);
    assert.equal(of(doctor("no-such-program"), "program")[0].level, "fail");
    const fixed = compile("fixed", "int main(void) { return 0; }", "-static");
    if (fixed) assert.match(of(doctor(fixed), "program")[0].text, /statically linked/);
    else t.diagnostic("there is no static C library: that part was left out");
});

test("an engine whose compiler inlined the barrier into the loop is recognised, though other files call it", (t) => {
    const build_ = (name, compiler, ...options) => {
        const directory = scratch(name), source = (file, text) => (writeFileSync(join(directory, file), text), join(directory, file));
        mkdirSync(directory);
        const files = [source("loop.c", `int counter;
            int ggml_cpu_extra_compute_forward(int x);
            void ggml_barrier(int * p) { __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST); while (__atomic_load_n(p, __ATOMIC_SEQ_CST) < 1); }
            static __attribute__((noinline)) int forward(int x) { return ggml_cpu_extra_compute_forward(x) + 1; }
            int ggml_graph_compute(int n) { int s = 0; for (int i = 0; i < n; i++) { s += forward(i); ggml_barrier(&counter); } return s; }`),
            source("ops.c", "void ggml_barrier(int * p); int other(int * p) { ggml_barrier(p); return 1; }"),
            source("traits.c", "int ggml_cpu_extra_compute_forward(int x) { return x; }")];
        output(compiler, ["-shared", "-fPIC", "-O2", ...options, "-o", join(directory, "libggml-cpu.so"), ...files]);
        for (const library of ["libllama", "libggml-base"]) output(compiler, ["-shared", "-fPIC", "-x", "c", "-o", join(directory, `${library}.so`), "-"], { input: "int x;" });
        return of(doctor("--engine", directory), "ops").filter((check) => check.level === "warn" && /has ggml_barrier inlined/.test(check.text));
    };
    for (const [i, options] of [[], ["-s"], ["-fno-plt", "-Wl,-z,now"]].entries()) {
        assert.equal(build_(`gcc-${i}`, "gcc", ...options).length, 0, `gcc ${options}`);
        if (run("sh", ["-c", "command -v clang"]).status !== 0) t.diagnostic("there is no clang: that part was left out");
        else assert.equal(build_(`clang-${i}`, "clang", ...options).length, 1, `clang ${options}`);
    }
});

test("addons, stripped programs, ggml without llama.cpp, and what stands behind wrappers", () => {
    const inside = "const char * text = \"GGML_ASSERT(%s) failed\"; int ggml_init(void) { return 1; } int ggml_graph_compute(void) { return ggml_init(); }";
    const made = (name, source, ...options) => {
        output("gcc", ["-x", "c", "-o", scratch(name), ...options, "-"], { input: source });
        return scratch(name);
    };
    const texts = (checks) => of(checks, "program").map((check) => `${check.level} ${check.text}`).join("\n");

    const hidden = made("hidden.node", inside, "-shared", "-fPIC", "-fvisibility=hidden", "-s");
    assert.match(texts(doctor(hidden)), /ok [^\n]*hidden\.node is a library that a program loads\nfail ggml is linked into [^\n]*hidden\.node itself/);
    const shown = doctor(made("shown.node", `${inside} int user(void) { return ggml_graph_compute(); }`, "-shared", "-fPIC"));
    assert.match(texts(shown), /warn ggml is linked into [^\n]*shown\.node, which exports it/);
    assert.ok(of(shown, "graphs").some((check) => /ggml_graph_compute: in shown\.node/.test(check.text)));
    const whole = doctor(made("whole.node", `${inside} int llama_decode(void) { return ggml_graph_compute(); }`, "-shared", "-fPIC"));
    assert.match(of(whole, "tokens").find((check) => check.text.startsWith("llama_decode")).text, /cannot be hooked in whole\.node/, "nobody else calls it");

    const stripped = made("stripped", `${inside} int main(void) { return text[ggml_graph_compute()]; }`, "-s", "-fvisibility=hidden");
    assert.match(texts(doctor(stripped)), /fail ggml is linked into [^\n]*stripped itself \(which is stripped\)/);

    const folder = scratch("ggml-alone");
    mkdirSync(folder);
    for (const library of ["libggml-base.so", "libggml-cpu.so"]) made(`ggml-alone/${library}`, "int x;", "-shared", "-fPIC");
    for (const args of [["--engine", folder], [folder]])
        assert.match(of(doctor(...args), "engine")[0].text, /has ggml but not llama\.cpp: ops, graphs and buffers can be recorded/);

    for (const wrapped of [["timeout", "5", stripped, "-m", "x"], ["timeout", "-k", "1", "5", stripped], ["env", "-u", "A", "B=c", stripped, "--json"], ["nice", "-n", "5", stripped], ["nohup", stripped],
        ["sh", "-c", `A=b exec ${stripped} -m x`], ["bash", "-e", "-c", `${stripped}; true`], ["env", "timeout", "5", "sh", "-c", `'${stripped}' -m x`]]) {
        const said = texts(doctor(...wrapped));
        assert.match(said, /starts [^\n]*stripped/, wrapped.join(" "));
        assert.match(said, /fail ggml is linked into [^\n]*stripped itself/, wrapped.join(" "));
    }
    assert.match(texts(doctor("sh")), /ok [^\n]*\/sh is a shell: what it starts can be recorded/);
});

test("libraries of an engine are looked at together, also through another one, and like findings are one line", () => {
    const folder = fakeEngine("libraries");
    for (const name of ["libggml-base.so", "libggml-cpu.so", "libllama.so"]) {
        const checks = doctor(join(folder, name));
        assert.deepEqual(checks.filter((check) => check.level === "fail" && check.topic === "program"), [], name);
        assert.ok(of(checks, "ops").some((check) => /^ggml_barrier: in libggml-cpu\.so/.test(check.text)), name);
    }
    const between = join(folder, "libspeech.so"), addon = join(folder, "speech.node");
    output("gcc", ["-shared", "-x", "c", "-o", between, "-", "-Wl,--no-as-needed", `-L${folder}`, "-lggml-cpu"], { input: "int speech;" });
    output("gcc", ["-shared", "-x", "c", "-o", addon, "-", "-Wl,--no-as-needed", `-L${folder}`, "-lspeech"], { input: "int addon;" });
    assert.ok(of(doctor(addon), "ops").some((check) => /^ggml_barrier: in libggml-cpu\.so/.test(check.text)));
    const alone = scratch("alone.so");
    output("gcc", ["-shared", "-x", "c", "-o", alone, "-", "-Wl,--no-as-needed", `-L${folder}`, "-lggml-cpu"], { input: "const char * text = \"GGML_ASSERT(%s) failed\";" });
    assert.match(of(doctor(alone), "program").at(-1).text, /alone\.so needs libggml-cpu\.so, which is not found$/);

    const two = "int ggml_init(void) { return 1; } int ggml_graph_compute(void) { return ggml_init(); } int user(void) { return ggml_graph_compute(); } int llama_decode(void) { return 1; } int llama_encode(void) { return 1; }";
    output("gcc", ["-x", "c", "-shared", "-fPIC", "-o", scratch("two.node"), "-"], { input: two });
    const lines = (...words) => run(ggscope, ["doctor", ...words, scratch("two.node")]).stdout.match(/llama_..code cannot be hooked/g).length;
    assert.deepEqual([lines(), lines("--verbose")], [1, 2]);
});

test("files that only look like programs do no harm", () => {
    const good = scratch("good-program");
    output("gcc", ["-x", "c", "-o", good, "-"], { input: "int main(void) { return 0; }" });
    const bytes = Buffer.from(output("cat", [good], { encoding: "buffer" }));
    let seed = 1;
    const random = (n) => ((seed = (seed * 1103515245 + 12345) % 2147483648) >>> 8) % n;
    for (let i = 0; i < 60; i++) {
        const bad = Buffer.from(i % 3 === 0 ? bytes.subarray(0, random(bytes.length)) : bytes);
        for (let k = 0; k < 40 && bad.length > 8; k++) bad[4 + random(i % 3 === 1 ? Math.min(1000, bad.length - 4) : bad.length - 4)] = random(256);
        writeFileSync(scratch("bad"), bad, { mode: 0o755 });
        doctor(scratch("bad")); // any answer will do
    }
});

test("wrong command lines", () => {
    assert.equal(run(ggscope, ["doctor", "--nonsense"]).status, 2);
});
