// Programs and addons that have an engine inside: a stand-in for ggml in one file (inside-host.c), linked in every way that matters.
import { test } from "node:test";
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ggscope, output, root, run, scratch } from "../lib.mjs";
import { rows } from "./traces.mjs";

const only = process.arch === "x64" ? {} : { skip: `entries of functions are hooked on x64 alone, this is ${process.arch}` };
const source = join(root, "tests", "engine", "inside-host.c");
scratch();

function compile(name, compiler, ...options) {
    output(compiler, ["-I", join(root, "src"), "-o", scratch(name), source, ...options, "-lpthread"]);
    return scratch(name);
}
const has = (program) => run("sh", ["-c", `command -v ${program}`]).status === 0;

let counter = 0;
function record(...command) {
    const directory = scratch(`experiment-${counter++}`);
    return { directory, ...run(ggscope, ["record", "-o", directory, "--", ...command]) };
}

// Recorded in full, and nothing that it computes has changed.
function assertRecorded(...command) {
    const plain = output(command[0], command.slice(1));
    const recorded = record(...command);
    assert.equal(recorded.status, 0, recorded.stderr);
    assert.equal(recorded.stdout, plain);
    const totals = JSON.parse(output(ggscope, ["stats", "--json", recorded.directory]));
    assert.deepEqual([totals.runs, totals.nodes, totals.ops, totals.op_runs, totals.unseen, totals.lost], [5, 60, 40, 80, 0, 0]);
    const checks = JSON.parse(run(ggscope, ["check", "--json", recorded.directory]).stdout).checks;
    assert.deepEqual(checks.filter((check) => check.result === "FAIL"), []);
    return recorded;
}
const program = (file) => JSON.parse(run(ggscope, ["doctor", "--json", file]).stdout).checks.filter((check) => check.topic === "program" || check.topic === "ops");

for (const [name, ...words] of [["O1", "gcc", "-O1"], ["O2", "gcc", "-O2"], ["O3", "gcc", "-O3", "-march=x86-64-v2"], ["fixed", "gcc", "-O2", "-no-pie"],
    ["marked", "gcc", "-O2", "-fcf-protection=full", "-Wl,-z,now"], ["clang", "clang", "-O2"]])
    test(`a program with symbols, ${words.join(" ")}`, only, (t) => {
        if (!has(words[0])) return t.skip(`there is no ${words[0]}`);
        const file = compile(`program-${name}`, ...words), { directory } = assertRecorded(file);
        assert.ok(program(file).every((check) => check.level === "ok"), JSON.stringify(program(file)));
        assert.ok(program(file).some((check) => /entries of 4 of 4 functions lead to hooks/.test(check.text)));
        const { op_runs } = rows(directory, "op_runs");
        for (const one of op_runs) assert.equal(one.flags & 8, 0, "its wait was seen");
    });

test("registers that callers rely on survive the hooks: the compiler keeps values in them", only, () => {
    const code = output("objdump", ["-d", "--no-show-raw-insn", compile("registers", "gcc", "-O2")]);
    const kernel = code.slice(code.indexOf("<kernel>:")).split("\n\n")[0];
    assert.match(kernel, /call.*<ggml_barrier>/);
    assert.doesNotMatch(kernel, /push/, "nothing is saved around the call");
});

test("an addon that hides its functions, found when it is looked up", only, () => {
    const addon = compile("addon.bare", "gcc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden");
    writeFileSync(scratch("loader.c"), `
        #include <dlfcn.h>
        int main(int argc, char ** argv) {
            for (int i = 1; i < argc; i++) {
                void * addon = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
                int (*run)(void) = addon ? (int (*)(void)) dlsym(addon, "inside_run") : 0;
                if (!run || run()) return 1;
            }
            return 0;
        }`);
    output("gcc", ["-o", scratch("loader"), scratch("loader.c"), "-ldl"]);
    assertRecorded(scratch("loader"), addon);
    chmodSync(addon, 0o755);
    const said = program(addon);
    assert.match(said[0].text, /addon\.bare is a library that a program loads/);
    assert.ok(said.every((check) => check.level === "ok"), JSON.stringify(said));
    assert.match(record(addon).stderr, /addon\.bare is a shared library, not a program/);
});

test("stripped: refused with the ways out; with its debug file all is seen", only, (t) => {
    const whole = compile("whole", "gcc", "-O2", "-Wl,--build-id=sha1"), file = scratch("stripped");
    output("objcopy", ["--strip-all", whole, file]);
    const refusal = /ggml is linked into [^\n]*stripped itself \(which is stripped\), so its functions cannot be found/;
    const blind = record(file);
    assert.equal(blind.stdout, output(whole));
    assert.match(blind.stderr, refusal);
    assert.match(blind.stderr, /-DBUILD_SHARED_LIBS=ON/);
    assert.ok(program(file).some((check) => check.level === "fail" && refusal.test(check.text) && /not stripped/.test(check.fix)));

    const id = /Build ID: ([0-9a-f]+)/.exec(output("readelf", ["-n", whole]))[1];
    const debug = `/usr/lib/debug/.build-id/${id.slice(0, 2)}/${id.slice(2)}.debug`, folder = dirname(debug), had = existsSync(folder);
    try {
        mkdirSync(folder, { recursive: true });
        output("objcopy", ["--only-keep-debug", whole, debug]);
    } catch (error) {
        return t.skip(`no debug file can be installed: ${error.message.split("\n")[0]}`);
    }
    try {
        assertRecorded(file);
        assert.ok(program(file).every((check) => check.level === "ok"), JSON.stringify(program(file)));
    } finally {
        rmSync(had ? debug : folder, { recursive: true, force: true });
    }
});

test("fully static: refused with the reason and both ways out", only, (t) => {
    for (const how of ["-static", "-static-pie"]) {
        const made = run("gcc", ["-I", join(root, "src"), "-O2", how, "-o", scratch(`fixed${how}`), source, "-lpthread"]);
        if (made.status !== 0) return t.skip(`there is no static C library: ${made.stderr.split("\n")[0]}`);
        const refused = record(scratch(`fixed${how}`));
        assert.equal(refused.status, 1);
        assert.match(refused.stderr, /is statically linked, the C library included.*-DBUILD_SHARED_LIBS=ON.*link the C library dynamically/);
        assert.ok(!existsSync(refused.directory));
        assert.match(program(scratch(`fixed${how}`))[0].text, /is statically linked/);
    }
});

test("link-time optimisation that leaves no function to hook: refused with the reason", only, () => {
    const file = compile("lto", "gcc", "-O3", "-flto", "-DPUBLIC=static");
    const { stderr, stdout } = record(file);
    assert.equal(stdout, output(file));
    assert.match(stderr, /no ggml activity was seen/);
});
