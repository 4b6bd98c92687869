// Programs and addons with an engine inside: a stand-in for ggml in one file (inside-host.c),
// linked in every relevant way.
import { test } from "node:test";
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { output, root, run, scratch } from "../lib.mjs";
import * as inside from "./inside.mjs";

const x64 = process.arch === "x64";
const only = x64 || process.arch === "arm64" ? {} : { skip: `entries of functions are hooked on x64 and arm64 alone, this is ${process.arch}` };
const source = inside.hostSource("inside-host.c");
scratch();

const compile = (name, ...words) => inside.compileHost("inside-host.c", scratch(name), ...words);
const record = (...command) => inside.record(inside.here, ...command);
const assertRecorded = (...command) => inside.assertRecorded(inside.here, ...command);
const program = (file) => inside.doctor(inside.here, file);

for (const [name, ...words] of [["O1", "gcc", "-O1"], ["O2", "gcc", "-O2"], ["O3", "gcc", "-O3", x64 ? "-march=x86-64-v2" : "-march=armv8.2-a"], ["fixed", "gcc", "-O2", "-no-pie"],
    ["marked", "gcc", "-O2", x64 ? "-fcf-protection=full" : "-mbranch-protection=standard", "-Wl,-z,now"], ["clang", "clang", "-O2"]])
    test(`a program with symbols, ${words.join(" ")}`, only, (t) => {
        if (!inside.has(words[0])) return t.skip(`there is no ${words[0]}`);
        const file = compile(`program-${name}`, ...words);
        assertRecorded(file);
        inside.assertHooked(inside.here, file);
    });

test("registers that callers rely on survive the hooks: the compiler keeps values in them", only, () => {
    const file = compile("registers", "gcc", "-O2", ...(x64 ? [] : ["-mno-outline-atomics"]));
    inside.assertKeepsRegisters("objdump", file);
    assertRecorded(file);
});

test("an addon that hides its functions, found when it is looked up", only, () => {
    const addon = compile("addon.bare", "gcc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden");
    writeFileSync(scratch("loader.c"), inside.loader);
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
