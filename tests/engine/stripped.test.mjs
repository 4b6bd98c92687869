// Programs with an engine inside and no symbols, or too few: a stand-in for ggml (stripped-host.c),
// stripped or link-time optimised. Graph runs are seen through the backends that the program makes;
// unproved engines are refused.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ggscope, output, scratch } from "../lib.mjs";
import * as inside from "./inside.mjs";

const x64 = process.arch === "x64";
const only = x64 || process.arch === "arm64" ? {} : { skip: `entries of functions are hooked on x64 and arm64 alone, this is ${process.arch}` };
scratch();

let counter = 0;
const buildWhole = (...words) => inside.compileHost("stripped-host.c", scratch(`host-${counter++}`), ...words);
function build(...words) {
    const file = buildWhole(...words);
    output("objcopy", ["--strip-all", file]);
    return file;
}
const record = (file) => inside.record(inside.here, file);
const assertRecorded = (file, counts) => inside.assertRecordedInPart(inside.here, file, counts);

for (const [compiler, ...options] of [["gcc", "-O1"], ["gcc", "-O2"], ["gcc", "-O3", x64 ? "-march=x86-64-v2" : "-march=armv8.2-a"], ["gcc", "-Os"], ["gcc", "-O2", "-no-pie"],
    ["gcc", "-O2", x64 ? "-fcf-protection=full" : "-mbranch-protection=standard", "-fno-omit-frame-pointer"], ["clang", "-O2"], ["clang", "-O2", "-no-pie"]])
    test(`${compiler} ${options.join(" ")}`, only, (t) => {
        if (!inside.has(compiler)) return t.skip(`there is no ${compiler}`);
        const file = build(compiler, ...options);
        assertRecorded(file, { executed: 24, absorbed: 4 });
        inside.assertInPart(inside.here, file, "(which is stripped)");
    });

for (const [compiler, ...options] of [["gcc", "-O2", "-flto"], ["clang", "-O2", "-flto", "-fuse-ld=lld"]])
    test(`not stripped, but link-time optimised: ${compiler}`, only, (t) => {
        if (![compiler, ...(compiler === "clang" ? ["ld.lld"] : [])].every(inside.has)) return t.skip(`there is no ${compiler}, or no lld`);
        const file = buildWhole(compiler, ...options);
        assertRecorded(file, { executed: 24, absorbed: 4 });
        inside.assertInPart(inside.here, file, "without functions to record single ops by (ggml_graph_compute: link-time optimisation has left none)");
    });

test("a release that visits empty nodes and fuses none", only, () => {
    assertRecorded(build("gcc", "-O2", "-DSKIPS_NOTHING"), { executed: 28, absorbed: 0 });
});

test("an engine that is laid out in another way: one sentence, and the program runs on", only, () => {
    for (const [option, sentence] of [["-DOTHER_BACKEND", /its CPU backend is not laid out as expected/], ["-DOTHER_TENSOR", /its graphs are not laid out as expected/]]) {
        const file = build("gcc", "-O2", option), { status, stdout, stderr } = record(file);
        assert.equal(stdout, output(file));
        assert.equal(status, 1);
        assert.match(stderr, sentence);
    }
});

test("a program that asks whether to go on is asked, and stops where it stops", only, () => {
    const file = build("gcc", "-O2", "-DABORTS"), { status, stdout, directory } = record(file);
    assert.equal(stdout, output(file));
    assert.equal(status, 0);
    const totals = JSON.parse(output(ggscope, ["stats", "--json", directory]));
    assert.deepEqual([totals.runs, totals.unseen, totals.cut > 0], [4, 0, true]);
});
