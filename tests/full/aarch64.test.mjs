// AArch64 in an emulator: everything compiles, unit tests and stored traces pass, the stock engine
// is recorded in full although its compiler inlined the barrier, results have the structure of a
// recording made here, and so has llama.cpp inside a program.
import { test } from "node:test";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, model, output, root, scratch } from "../lib.mjs";
import { compile, cross, prepare, runUnitTest, tree, treeWorks, unitTests } from "../aarch64.mjs";
import * as inside from "../engine/inside.mjs";
import { check, fresh, rows } from "../engine/traces.mjs";
import { buildShared, buildStatic, essence } from "./static-llama.mjs";

const NO_WAITS = 8, ENDED = 1;
const folder = join(root, "build", "aarch64"), program = (name) => join(folder, "bin", name);
const why = prepare() || (treeWorks() ? "" : "this kernel does not let a namespace have a binfmt_misc of its own (6.7 and newer do)");
const options = why ? { skip: why } : {};
let compiled = false;
scratch();

test("everything compiles without a warning", options, () => {
    compile(folder, ["all"], "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DGGSCOPE_WERROR=ON");
    compiled = true;
});

test("unit tests", options, async (t) => {
    assert.ok(compiled);
    for (const name of unitTests(folder)) {
        await t.test(name, (one) => {
            for (const line of runUnitTest(folder, name).match(/^.*# SKIP.*$/gm) ?? []) one.diagnostic(line);
        });
    }
});

// Runs a command of the other machine that must succeed; returns its output.
function there(name, ...words) {
    assert.ok(compiled);
    const result = tree([program(name), ...words], { timeout: 1_200_000 });
    assert.equal(result.status, 0, `${name} ${words.join(" ")}\n${result.stderr}`);
    return result;
}

test("stored traces say the same", options, () => {
    assert.ok(compiled);
    const { status, stdout } = tree(["node", "--test-reporter=tap", join(root, "tests", "golden", "golden.test.mjs")], { env: { ...process.env, GGSCOPE_BUILD: folder } });
    assert.equal(status, 0, stdout);
    assert.match(stdout, /^# pass [1-9]/m);
});

const answer = ({ stdout }) => JSON.parse(stdout);
const words = (path, threads, ...more) => ["-m", path, "-p", "Once upon a time", "-n", "3", "-t", String(threads), "--ignore-eos", "--json", "--logits-hash", ...more];
// The graph itself: nodes by op, and the weights that they read.
const shape = (directory) => rows(directory, "nodes", "ops", "steps", "edges");

for (const [preset, ...more] of [["tiny"], ["moe"], ["tiny", "--arch", "deepseek2"]]) {
    for (const threads of [1, 2]) {
        test(`${[preset, ...more].join(" ")} on ${threads} thread${threads > 1 ? "s" : ""}: logits as without recording, nothing cut off`, options, () => {
            const path = model(preset, ...more), directory = fresh();
            const recorded = answer(there("ggscope", "run", "-q", "-o", directory, ...words(path, threads)));
            assert.equal(recorded.logits_hash, answer(there("ggscope-engine", "run", ...words(path, threads))).logits_hash);
            there("ggscope", "check", directory);
            check(directory); // by this machine's program
            const { runs, op_runs, losses } = rows(directory, "runs", "op_runs", "losses");
            assert.deepEqual(losses, []);
            for (const r of runs) assert.deepEqual([r.flags & NO_WAITS, r.unseen, r.cut], [NO_WAITS, 0, 0]);
            assert.equal(op_runs.length, runs.reduce((sum, r) => sum + threads * r.executed, 0));
            assert.equal(op_runs.filter((o) => (o.flags & ENDED) === 0).length, 0, "op runs without an end");
            // Ops are within their run and take most of it. Sealing derives the counter's rate from
            // pairs of both clocks.
            for (const o of op_runs) {
                const r = runs[o.run - 1];
                assert.ok(o.begin_ns >= r.begin_ns && o.begin_ns + o.duration_ns <= r.end_ns + 1000);
            }
        });
    }
}

test("exports have the structure of those of a recording made here", options, () => {
    const path = model("tiny", "--layers", "2"), away = fresh(), here = fresh();
    there("ggscope", "run", "-q", "-o", away, ...words(path, 1, "--no-repack"));
    output(ggscope, ["run", "-q", "-o", here, ...words(path, 1, "--no-repack")]);
    const a = shape(away), b = shape(here);
    const kinds = (t) => t.nodes.map((n) => t.ops.find((o) => o.op === n.op).name);
    assert.deepEqual(kinds(a), kinds(b), "the same nodes in the same order");
    assert.equal(a.edges.length, b.edges.length);
    assert.deepEqual(a.steps.map((s) => [s.phase, s.tokens]), b.steps.map((s) => [s.phase, s.tokens]));
    // Keys of every object; values may be null in one and not in the other, because waits are not
    // seen there.
    const keys = (value) => (Array.isArray(value) ? [...new Set(value.map((v) => JSON.stringify(keys(v))))].sort()
        : value !== null && typeof value === "object" ? Object.entries(value).map(([k, v]) => [k, keys(v)]) : "");
    for (const verb of [["log", "--json", "--limit", "50"], ["graph", "--json"], ["buffers", "--json"]])
        assert.deepEqual(keys(JSON.parse(there("ggscope", ...verb, away).stdout)), keys(JSON.parse(output(ggscope, [...verb, here]))), verb[0]);
    // The same recording exported there and here: the same bytes.
    for (const format of ["chrome", "csv", "json"]) {
        const hash = (make) => {
            const out = fresh();
            make(["export", "--quiet", "--format", format, "-o", out, away]);
            return output("sh", ["-c", `if [ -d '${out}' ]; then cd '${out}' && find . -type f | sort | xargs cat; else cat '${out}'; fi | sha256sum`]);
        };
        assert.equal(hash((w) => there("ggscope", ...w)), hash((w) => output(ggscope, w)), format);
    }
});

test("pages are proved, where one thread computes", options, () => {
    for (const path of [model("tiny"), model("moe")]) {
        const directory = fresh();
        const recorded = answer(there("ggscope", "run", "-q", "--prove", "-o", directory, ...words(path, 1, "--no-repack")));
        assert.equal(recorded.logits_hash, answer(there("ggscope-engine", "run", ...words(path, 1, "--no-repack"))).logits_hash);
        const proof = JSON.parse(output(ggscope, ["prove", "--json", directory]));
        assert.deepEqual([proof.recall, proof.unpredicted_pages, proof.lost_ops, proof.incomplete_ops], [1, 0, 0, 0]);
        assert.ok(proof.precision >= 0.99 && proof.pages_touched > 1000);
    }
    const several = tree([program("ggscope"), "run", "-q", "--prove", "-o", fresh(), ...words(model("tiny"), 2, "--no-repack")]);
    assert.equal(several.status, 0);
    assert.match(several.stderr, /only with one thread \(-t 1\)/);
});

test("a write that the emulator does not call one ends the program, and does not go round for ever", options, () => {
    assert.ok(compiled);
    const directory = fresh();
    const result = tree([program("ggscope"), "record", "-q", "--prove", "-o", directory, "--", join(folder, "tests", "host"), "crash-write", "-t", "1", "-n", "100", model("tiny")], { timeout: 120_000 });
    assert.equal(result.status, 128 + 11, result.stderr);
    assert.equal(JSON.parse(output(ggscope, ["prove", "--json", directory])).recall, 1);
});

test("ggscope doctor says what this engine's barrier is like", options, () => {
    const { checks } = JSON.parse(tree([program("ggscope"), "doctor", "--json"]).stdout);
    assert.ok(checks.some((c) => /ggml_barrier inlined/.test(c.text ?? JSON.stringify(c))));
    assert.equal(checks.find((c) => c.topic === "graphs").level, "ok");
});

test("synthetic models are the same bytes on both machines", options, () => {
    const sum = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
    for (const words of [["tiny", "--layers", "2"], ["moe", "--layers", "1"], ["tiny", "--layers", "1", "--types", "q5_k,attn_q=q8_0,attn_k=q3_k,ffn_up=q2_k,ffn_gate=iq4_xs"]]) {
        const away = scratch("away.gguf"), here = scratch("here.gguf");
        there("ggscope-engine", "synth", "--force", ...words, "-o", away);
        output(engine, ["synth", "--force", ...words, "-o", here]);
        assert.equal(sum(away), sum(here), words.join(" "));
    }
});

// ---- programs with an engine inside ----

const sysroot = `--sysroot=${join(cross, "sysroot")}`, machine = { run: (command) => tree(command, { timeout: 1_200_000 }), ggscope: program("ggscope") };
const gcc = ["aarch64-linux-gnu-gcc", sysroot], clang = ["clang", "--target=aarch64-linux-gnu", sysroot];

for (const words of [[...gcc, "-O1"], [...gcc, "-O2"], [...gcc, "-O3", "-march=armv8.2-a"], [...gcc, "-O2", "-no-pie"], [...gcc, "-O2", "-mbranch-protection=standard"],
    [...gcc, "-O3", "-march=armv8.2-a+sve"], [...clang, "-O2"], [...clang, "-O2", "-mbranch-protection=standard"]])
    test(`a stand-in inside a program: ${[words[0], ...words.slice(1).filter((word) => !/^--/.test(word))].join(" ")}`, options, (t) => {
        assert.ok(compiled);
        if (!inside.has(words[0])) return t.skip(`there is no ${words[0]}`);
        const file = inside.compileHost("inside-host.c", scratch("inside"), ...words);
        inside.assertRecorded(machine, file);
        inside.assertHooked(machine, file);
        const stripped = inside.compileHost("stripped-host.c", scratch("stripped"), ...words, "-s");
        inside.assertRecordedInPart(machine, stripped, { executed: 24, absorbed: 4 });
        inside.assertInPart(machine, stripped, "(which is stripped)");
    });

test("a stand-in inside a program, link-time optimised", options, () => {
    assert.ok(compiled);
    const file = inside.compileHost("stripped-host.c", scratch("optimised"), ...gcc, "-O2", "-flto");
    inside.assertRecordedInPart(machine, file, { executed: 24, absorbed: 4 });
    inside.assertInPart(machine, file, "(ggml_graph_compute: link-time optimisation has left none)");
});

test("what a jump does not reach is refused with the reason", options, (t) => {
    assert.ok(compiled);
    if (!["clang", "ld.lld"].every(inside.has)) return t.skip("there is no clang, or no lld");
    const refused = (name, text, reason, ...words) => {
        writeFileSync(scratch(`${name}.s`), text);
        const { stdout, stderr } = inside.record(machine, inside.compileHost("inside-host.c", scratch(name), ...words, "-O2", scratch(`${name}.s`)));
        assert.match(stdout, /^\d+/, "it runs");
        assert.match(stderr, reason);
        output("rm", [scratch(name)]);
    };
    refused("large", ".text; .skip 136 << 20; .type f, %function; f: ret; .size f, 4", /because of ggml_graph_compute: the program has more code than a jump reaches/, ...gcc);
    refused("surrounded", ".section .rodata; .skip 136 << 20; .bss; .skip 136 << 20", /^ggscope: ggml inside the program is not recorded: no memory is free in reach of its code$/m, ...clang, "-fuse-ld=lld");
    refused("unreadable", "", /because of ggml_graph_compute: it lies outside of the program's readable code/, ...clang, "-fuse-ld=lld", "-Wl,--execute-only");
});

const builds = {
    gcc: { compilers: ["aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++"], openmp: false, target: [sysroot], waits: true },
    "gcc-openmp": { compilers: ["aarch64-linux-gnu-gcc", "aarch64-linux-gnu-g++"], openmp: true, target: [sysroot], waits: true },
    clang: { compilers: ["clang", "clang++"], openmp: false, target: clang.slice(1), link: ["-L/usr/aarch64-linux-gnu/lib"], waits: false },
};
// clang uses the C++ library of g++.
const withLibrary = why || inside.has("aarch64-linux-gnu-g++") ? options : { skip: "there is no aarch64-linux-gnu-g++ (Debian's package g++-aarch64-linux-gnu)" };
const host = (file) => [file, model("tiny", "--layers", "2"), "2", "4"];

let expected;
test("llama.cpp as shared libraries of a program", withLibrary, () => {
    assert.ok(compiled);
    const stock = join(cross, "engine", "node_modules", "@node-llama-cpp", "linux-arm64", "bins", "linux-arm64");
    expected = essence(inside.recordTwin(machine, host(buildShared("aarch64-shared", stock, ...gcc))).directory);
    assert.equal(expected.runs, 4);
});

for (const [name, { waits, ...spec }] of Object.entries(builds))
    test(`llama.cpp inside a program, ${name}: the same ops and tokens`, withLibrary, (t) => {
        if (!spec.compilers.every(inside.has)) return t.skip(`there is no ${spec.compilers.join(" or no ")}`);
        const file = buildStatic(`aarch64-${name}`, { ...spec, cmake: ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"] });
        const { directory, totals } = inside.recordTwin(machine, host(file));
        assert.deepEqual(essence(directory), expected);
        assert.deepEqual([totals.unseen, totals.opaque, totals.lost, totals.op_runs], [0, 0, 0, 2 * totals.ops]);
        for (const { flags } of rows(directory, "op_runs").op_runs) assert.equal((flags & 8) === 0, waits, "its wait");
        assert.ok(inside.doctor(machine, file).some((one) => one.level === "ok" && /with symbols: ops, graphs, buffers and tokens are seen; the entries of (\d+) of \1 functions/.test(one.text)));

        const stripped = scratch(`stripped-${name}`);
        output("aarch64-linux-gnu-objcopy", ["--strip-all", file, stripped]);
        const blind = inside.recordTwin(machine, host(stripped));
        assert.deepEqual(essence(blind.directory), expected);
        assert.deepEqual([blind.totals.runs_of_first_thread, blind.totals.op_runs], [blind.totals.runs, blind.totals.ops]);
        inside.assertInPart(machine, stripped, "(which is stripped)");
    });
