// Shared by the tests on other engines: releases of node-llama-cpp from npm, and what holds for a
// recording of any engine.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, ggscope, installed, output, root, run, scratch } from "../../lib.mjs";

const here = dirname(fileURLToPath(import.meta.url));
export const generateScript = join(here, "generate.mjs");
export const newest = "3.22.1";
export const promptTokens = [1, 9038, 2501, 263, 931]; // "Once upon a time" in the synthetic models' vocabulary

// The tests choose the engine, not the environment that they are started from.
export const environment = { ...process.env, GGSCOPE_ENGINE: "" };

// The folder of a release, installed below build/ by lock file. The source tree stays unchanged.
export function release(version) {
    const lock = version === newest ? here : join(root, "tests", "full", "releases", version);
    return installed(lock, `matrix/${version}`, "--omit=optional");
}
export const libraries = (folder) => join(folder, "node_modules", "@node-llama-cpp", "linux-x64", "bins", "linux-x64");
export const sourceBundle = (folder) => join(folder, "node_modules", "node-llama-cpp", "llama", "gitRelease.bundle");

// The release's llama.cpp source, or these paths of it, checked out once into `folder`.
export function checkout(bundle, folder, paths) {
    if (existsSync(join(folder, "checked-out"))) return;
    output("rm", ["-rf", folder]);
    output("git", ["clone", "-q", "--no-checkout", bundle, folder]);
    if (paths) output("git", ["-C", folder, "sparse-checkout", "set", "--no-cone", ...paths]);
    output("git", ["-C", folder, "-c", "advice.detachedHead=false", "checkout", "-q", "HEAD"]);
    writeFileSync(join(folder, "checked-out"), "");
}

// Runs a program alone and recorded, and asserts equal output. Returns its stdout and the
// experiment.
let counter = 0;
export function recordTwin(command, { compare = (text) => text, env = environment } = {}) {
    const [program, ...args] = command;
    const plain = output(program, args, { env });
    const directory = scratch(`experiment-${counter++}`);
    const recorded = run(ggscope, ["record", "-o", directory, "--", ...command], { env });
    assert.equal(recorded.status, 0, recorded.stderr);
    assert.deepEqual(compare(recorded.stdout), compare(plain), "recording changes nothing");
    return { directory, stdout: recorded.stdout, stderr: recorded.stderr };
}

export const stats = (directory) => JSON.parse(output(ggscope, ["stats", "--json", directory]));
export const rows = (directory, table) =>
    output(join(build, "tests", "trace-dump"), [directory, table]).split("\n").filter(Boolean).map((line) => JSON.parse(line));

// Every node of every graph run is accounted for, and every check of `ggscope check` passes.
export function assertWhole(directory) {
    const answer = run(ggscope, ["check", "--json", directory]);
    const failed = JSON.parse(answer.stdout).checks.filter((check) => check.result !== "ok");
    // The share of ops in the time of graph runs depends on the machine's load: a thread that waits
    // for a core is in no op.
    assert.deepEqual(failed.filter((check) => check.result !== "skipped" && !(check.name === "time in ops" && check.result === "warning")), []);
    assert.equal(answer.status, 0);
    const totals = stats(directory);
    assert.ok(totals.nodes > 0 && totals.runs > 0);
    assert.equal(totals.executed + totals.absorbed + totals.empty + totals.skipped + totals.opaque, totals.nodes);
    for (const count of ["unseen", "opaque", "cut", "lost", "interrupted_runs"]) assert.equal(totals[count], 0, count);
    return totals;
}

// An op is a node computed once; each thread of the run has one op run of it.
export function assertOpRuns(directory, threads) {
    const totals = stats(directory);
    assert.equal(totals.threads, threads);
    assert.equal(totals.executed, totals.ops, "only what is executed is an op");
    assert.equal(totals.op_runs, totals.ops * threads, "every op ran on every thread");
    const lanes = new Map();
    for (const row of rows(directory, "op_runs")) {
        const lane = `run ${row.run} thread ${row.thread}`;
        lanes.set(lane, (lanes.get(lane) ?? new Set()).add(row.node));
    }
    for (const { run: number, executed } of rows(directory, "runs"))
        for (let thread = 0; thread < threads; thread++)
            assert.equal(lanes.get(`run ${number} thread ${thread}`)?.size, executed, `run ${number} thread ${thread}`);
}

// Step 0 is the prompt; each token except the last is fed again alone.
export function assertSteps(directory, prompt, generated) {
    const PROMPT = 1, GENERATE = 2;
    const steps = rows(directory, "steps").filter((step) => step.step >= 0);
    assert.deepEqual(steps.map((step) => step.step), generated.map((_, i) => i));
    assert.deepEqual(steps.map((step) => step.phase), generated.map((_, i) => (i === 0 ? PROMPT : GENERATE)));
    const tokens = rows(directory, "tokens").filter((token) => token.step >= 0);
    assert.deepEqual(tokens.map((token) => token.token), [...prompt, ...generated.slice(0, -1)]);
    assert.deepEqual(tokens.map((token) => token.position), tokens.map((_, i) => i));
}
