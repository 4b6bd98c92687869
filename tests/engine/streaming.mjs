// Shared by the tests of ggscope stream: runs under a budget, compared with the stock engine.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { engine, ggscope, output, run, scratch } from "../lib.mjs";
import { jsonLines } from "./traces.mjs";

export const MiB = 1 << 20;
export const cache = (process.env.XDG_CACHE_HOME = scratch("cache")); // an empty cache of disk speeds
export const words = (path, ...options) => [engine, "run", "-m", path, "--json", "--logits-hash", "--ignore-eos", "--no-repack", ...options];
export const stock = (command, options) => JSON.parse(output(command[0], command.slice(1), options));
export const report = scratch("report.json");
export const sizes = (path) => statSync(path).size;

// Runs a command line under a budget. Returns its output, ggscope's messages, and the counts.
export function stream(command, budget, { options = [], ...rest } = {}) {
    const result = run(ggscope, ["stream", "--budget", String(Math.round(budget)), "--report", report, ...options, "--", ...command], rest);
    const counts = readFileSync(report, "utf8");
    return { ...result, counts: counts === "" ? undefined : JSON.parse(counts) };
}

// A budget that leaves `share` of the model's size for its weights. The engine's own memory is
// taken from the message of a run with too little.
export function budget(command, path, share, { size = sizes(path), ...rest } = {}) {
    const { counts, stderr } = stream(command, 16 * MiB, rest);
    assert.ok(counts.engine > MiB, stderr);
    return (counts.engine + 8 * MiB + share * size) * 32 / 31;
}

export function same(path, share, options, { size, ...more } = {}) {
    const command = words(path, ...options), wanted = stock(command, { env: more.env });
    const result = stream(command, budget(command, path, share, { size, env: more.env }), more);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(result.counts.state, "streamed", result.stderr);
    assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
    return result;
}

// The results of a program, in any order of threads.
export const computed = (result) => jsonLines(result.stdout).filter((line) => line.logits !== undefined || line.hash !== undefined).map((line) => JSON.stringify({ ...line, thread: 0, process: 0 })).sort();

// Checks a program with several contexts or models, one after the other: streamed, it computes the
// same as without streaming.
export function sameProgram(command, models, rest = {}) {
    const wanted = stream(command, 16 * MiB, rest), weights = 0.4 * models.reduce((sum, path) => sum + sizes(path), 0); // too little: the engine alone
    let found = wanted;
    for (let i = 0; i < 4 && found.counts.uses === 0; i++) found = stream(command, (found.counts.engine + 8 * MiB + weights) * 32 / 31, rest);
    const name = command.slice(1, 3).join(" ");
    assert.equal(found.status, 0, `${name}: ${found.stderr}`);
    assert.ok(found.counts.uses > 0, `${name}: ${found.stderr}`);
    assert.ok(computed(wanted).length > 0, name);
    // If a model alone would have fitted, its weights are repacked, as without streaming.
    const possible = new Set([...computed(run(command[0], command.slice(1), rest)), ...computed(wanted)]);
    assert.equal(computed(found).length, computed(wanted).length, name);
    for (const line of computed(found)) assert.ok(possible.has(line), `${name}: ${line}`);
    return found;
}
