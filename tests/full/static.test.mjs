// llama.cpp linked statically into a program: gcc and clang, with and without OpenMP, stripped or
// not, with link-time optimisation. Each is recorded, from its start and attached, as
// docs/attach.md says; recordings equal those of a program with shared libraries.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { ggscope, model, output, run, scratch } from "../lib.mjs";
import { assertWhole, libraries, newest, recordTwin, release, rows, stats } from "../engine/node/recordings.mjs";
import { buildShared, buildStatic, essence } from "./static-llama.mjs";

const only = process.arch === "x64" ? {} : { skip: `the builds are for x64, this is ${process.arch}; tests/full/aarch64.test.mjs has those for AArch64` };
const has = (program) => run("sh", ["-c", `command -v ${program}`]).status === 0;
scratch();

const features = ["-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON"];
const builds = {
    "gcc-openmp": { compilers: ["gcc", "g++"], openmp: true, flags: [], waits: true },
    gcc: { compilers: ["gcc", "g++"], openmp: false, flags: [], waits: true },
    clang: { compilers: ["clang", "clang++"], openmp: false, flags: [], waits: false },
    "gcc-lto": { compilers: ["gcc", "g++"], openmp: false, flags: ["-flto=auto"], cmake: ["-DCMAKE_AR=/usr/bin/gcc-ar", "-DCMAKE_RANLIB=/usr/bin/gcc-ranlib"], blind: /\(ggml_op_name: link-time optimisation has left none\)/ },
    "clang-lto": { compilers: ["clang", "clang++"], openmp: false, flags: ["-flto"], link: ["-fuse-ld=lld"], blind: /\(ggml_graph_compute: clang may have changed its arguments/ },
};

let expected;
test("on shared libraries", only, () => {
    const { directory } = recordTwin([buildShared("shared", libraries(release(newest)), "gcc"), model("tiny"), "2", "4"]);
    expected = essence(directory);
    assert.equal(expected.runs, 4);
});

const checks = (verb, ...words) => JSON.parse(run(ggscope, [verb, "--json", ...words]).stdout).checks;
const assertNoFailure = (directory) => assert.deepEqual(checks("check", directory).filter((check) => check.result === "FAIL"), []);

// The row of programs whose functions are not found.
function assertBlind(directory) {
    const seen = stats(directory);
    assert.ok(seen.runs > 0);
    assert.equal(seen.runs_of_first_thread, seen.runs);
    assert.equal(seen.op_runs, seen.ops, "each op once, on thread 0");
    assert.deepEqual([seen.unseen, seen.opaque, seen.lost], [0, 0, 0]);
    assertNoFailure(directory);
}
const seenInPart = /: graph runs of the CPU with all their nodes, tokens, and the ends of ops on the first thread are seen/;
function assertSaid(program, why) {
    const doctor = checks("doctor", program);
    assert.ok(doctor.some((check) => check.level === "warn" && why.test(check.text) && seenInPart.test(check.text)), JSON.stringify(doctor));
}

// Attached while it generates 100,000 tokens: what it says until it is ended.
async function attached(command) {
    const program = spawn(command[0], [command[1], command[2], "100000"], { stdio: ["ignore", "pipe", "ignore"] }), directory = scratch(`attached-${command[0].split("/").at(-1)}`);
    try {
        await new Promise((resolve) => program.stdout.once("data", resolve));
        const attach = spawn(ggscope, ["attach", "-q", "-o", directory, "--steps", "4", String(program.pid)], { stdio: ["ignore", "ignore", "pipe"] });
        let stderr = "";
        program.stdout.resume();
        attach.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
        assert.equal(await new Promise((resolve) => attach.on("exit", resolve)), 0, stderr);
        assert.equal(program.exitCode, null, "the program runs on");
        return directory;
    } finally {
        program.kill("SIGKILL");
    }
}

for (const [name, { waits, blind, ...spec }] of Object.entries(builds)) {
    test(name, only, async (t) => {
        if (!spec.compilers.every(has)) return t.skip(`there is no ${spec.compilers.join(" or no ")}`);
        const program = buildStatic(name, { ...spec, cmake: [...features, ...(spec.cmake ?? [])] }), command = [program, model("tiny"), "2", "4"], { directory } = recordTwin(command);
        assert.deepEqual(essence(directory), expected);
        if (blind) {
            assertBlind(directory);
            assertSaid(program, blind);
            assertBlind(await attached(command));
        } else {
            if (waits) assertWhole(directory);
            else assertNoFailure(directory);
            for (const one of [directory, await attached(command)])
                for (const { flags } of rows(one, "op_runs")) assert.equal((flags & 8) === 0, waits, "its wait");
            assert.ok(checks("doctor", program).some((check) => check.level === "ok" && /with symbols: ops, graphs, buffers and tokens are seen/.test(check.text)));
        }
        await t.test("stripped: graph runs, tokens and the first thread's ends", async () => {
            const stripped = scratch(`stripped-${name}`);
            output("objcopy", ["--strip-all", program, stripped]);
            const { directory: recorded } = recordTwin([stripped, ...command.slice(1)]);
            assert.deepEqual(essence(recorded), expected);
            assertBlind(recorded);
            assertSaid(stripped, /\(which is stripped\)/);
            assertBlind(await attached([stripped, ...command.slice(1)]));
        });
    });
}
