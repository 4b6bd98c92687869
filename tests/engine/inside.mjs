// Shared by the tests on programs with an engine inside (inside-host.c, stripped-host.c), on this
// machine and in an emulator.
import assert from "node:assert/strict";
import { join } from "node:path";
import { ggscope, output, root, run, scratch } from "../lib.mjs";
import { rows } from "./traces.mjs";

// Where programs run: a command there, and the ggscope that records them. Traces are read here.
export const here = { run: ([program, ...words]) => run(program, words), ggscope };

export const has = (program) => run("sh", ["-c", `command -v ${program}`]).status === 0;
export const hostSource = (name) => join(root, "tests", "engine", name);
export function compileHost(source, file, compiler, ...options) {
    output(compiler, ["-I", join(root, "src"), "-o", file, hostSource(source), ...options, "-lpthread"]);
    return file;
}

// Loads addons and runs the engine in each.
export const loader = `
    #include <dlfcn.h>
    int main(int argc, char ** argv) {
        for (int i = 1; i < argc; i++) {
            void * addon = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
            int (*run)(void) = addon ? (int (*)(void)) dlsym(addon, "inside_run") : 0;
            if (!run || run()) return 1;
        }
        return 0;
    }`;

let counter = 0;
export function record(machine, ...command) {
    const directory = scratch(`inside-${counter++}`);
    return { directory, ...machine.run([machine.ggscope, "record", "-o", directory, "--", ...command]) };
}

// Records a command whose output stays the same; returns the totals of the recording, too.
export function recordTwin(machine, command) {
    const plain = machine.run(command), recorded = record(machine, ...command);
    assert.equal(plain.status, 0, plain.stderr);
    assert.equal(recorded.status, 0, recorded.stderr);
    assert.equal(recorded.stdout, plain.stdout);
    const checks = JSON.parse(run(ggscope, ["check", "--json", recorded.directory]).stdout).checks;
    assert.deepEqual(checks.filter((check) => check.result === "FAIL"), []);
    return { ...recorded, totals: JSON.parse(output(ggscope, ["stats", "--json", recorded.directory])) };
}

// inside-host.c, recorded in full.
export function assertRecorded(machine, ...command) {
    const { totals, ...recorded } = recordTwin(machine, command);
    assert.deepEqual([totals.runs, totals.nodes, totals.ops, totals.op_runs, totals.unseen, totals.lost], [5, 60, 40, 80, 0, 0]);
    for (const one of rows(recorded.directory, "op_runs").op_runs) assert.equal(one.flags & 8, 0, "its wait was seen");
    return recorded;
}

// stripped-host.c: graph runs with all their nodes, tokens, and op runs of thread 0.
export function assertRecordedInPart(machine, file, { executed, absorbed }) {
    const { directory, stderr, totals } = recordTwin(machine, [file]);
    assert.match(stderr, /^threads +only the first was seen in 4 of 4 graph runs/m);
    assert.deepEqual([totals.runs, totals.runs_of_first_thread, totals.nodes, totals.executed, totals.absorbed, totals.empty, totals.unseen, totals.opaque, totals.lost, totals.threads],
        [4, 4, 32, executed, absorbed, 4, 0, 0, 0, 2]);
    const recorded = rows(directory, "tokens", "op_runs", "runs");
    assert.deepEqual(recorded.tokens.map(({ step, token, position }) => [step, token, position]), [[0, 0, 0], [0, 1, 1], [0, 2, 2], [1, 3, 3], [2, 4, 4], [3, 5, 5]]);
    for (const one of recorded.op_runs) assert.ok(one.thread === 0 && (one.flags & 8) !== 0 && (one.flags & 1) !== 0, "it has an end, and no wait");
    for (const one of recorded.runs) assert.ok(one.backend === "CPU" && one.threads === 2 && (one.flags & 32) !== 0);
    return directory;
}

// The compiler has seen which registers ggml_barrier leaves alone: nothing is saved around calls.
export function assertKeepsRegisters(objdump, file) {
    const code = output(objdump, ["-d", "--no-show-raw-insn", file]), kernel = code.slice(code.indexOf("<kernel>:")).split("\n\n")[0];
    assert.match(kernel, /(call|bl).*<ggml_barrier>/);
    assert.doesNotMatch(kernel, /push|stp\s+d/);
}

// What ggscope doctor says of a file.
export const doctor = (machine, file) =>
    JSON.parse(machine.run([machine.ggscope, "doctor", "--json", file]).stdout).checks.filter((check) => check.topic === "program" || check.topic === "ops");
export function assertHooked(machine, file) {
    const said = doctor(machine, file);
    assert.ok(said.every((check) => check.level === "ok"), JSON.stringify(said));
    assert.ok(said.some((check) => /entries of 4 of 4 functions lead to hooks/.test(check.text)));
}
const inPart = "graph runs of the CPU with all their nodes, tokens, and the ends of ops on the first thread are seen; waits, other threads and buffers are not";
export function assertInPart(machine, file, why) {
    const said = doctor(machine, file);
    assert.ok(said.some((check) => check.level === "warn" && check.text.includes(`${why}: ${inPart}`)), JSON.stringify(said));
}
