// A planted problem, and how well ggscope explain names it.
//
//     { name, number, finding, figure, remedy, quiet, mended, also, make }
//         number    the row of the list of 28 problems that it is, null for another one
//         finding   the name of the finding that is its cause
//         figure    what the finding's figure must be within 20 %: a number, or a function of what make() returns
//         remedy    a pattern that what to try must match
//         quiet     true if it shows on a quiet machine alone
//         mended    () => the command with the remedy, where explain's own command to verify lacks it
//         also      findings that are true of it besides: they do not mislead
//         make      (directory) => records into the directory. Returns what is true of it, or { skip: why this machine cannot make it }
//
// Score: 2 if the cause is the first or second finding, its figure right and its remedy too; 1 if
// it is named, but lower, or with another figure or remedy; 0 if nothing is named; -1 if something
// else is.
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { join } from "node:path";
import { build, engine, ggscope, model, output, run, scratch } from "../lib.mjs";

// Other tests run side by side, on one thread each; a run on one of several cores has a finding.
delete process.env.LLAMA_ARG_THREADS;

export const host = join(build, "tests", "plant-host");

// Usable CPUs, and the number of cores among them: two threads of one core count once.
export const cores = availableParallelism();
const siblings = Array.from({ length: cpus().length }, (_, i) => `/sys/devices/system/cpu/cpu${i}/topology/thread_siblings_list`);
const together = siblings.every(existsSync) ? siblings.length / new Set(siblings.map((path) => readFileSync(path, "utf8"))).size : 1;
export const wholeCores = Math.ceil(cores / together);

// Records a command; returns its stdout.
export function record(directory, command, { env = {}, options = [] } = {}) {
    return output(ggscope, ["record", "-q", "--force", "-o", directory, ...options, "--", ...command], { env: { ...process.env, ...env } });
}

// The runner's command: a prompt of about 160 tokens, 24 tokens.
const text = "The quick brown fox jumps over the lazy dog and runs away. ".repeat(12);
export const runner = (path, ...options) => [engine, "run", "-m", path, "-p", text, "-n", "24", "--ignore-eos", ...options];
// The command of plant-host.
export const hosted = (mistake, ...options) => [host, mistake, ...options, small()];
// Records plant-host and returns its own measurements.
export function planted(directory, mistake, ...options) {
    if (!existsSync(host)) return { skip: "plant-host is not built for this engine" };
    return JSON.parse(record(directory, hosted(mistake, ...options)).trim().split("\n").at(-1));
}

// A model with ops long enough for several threads, and one that is quick to run.
export const middle = () => model("tiny", "--embd", "768", "--ff", "2048", "--layers", "12", "--heads", "12", "--kv-heads", "4");
export const small = () => model("tiny");

export function explain(directory) {
    const result = run(ggscope, ["explain", "--json", directory]);
    return result.status === 0 ? JSON.parse(result.stdout) : { findings: [], error: result.stderr.trim() };
}

const within = (value, wanted) => wanted === undefined || (value !== null && Math.abs(value - wanted) <= 0.2 * Math.abs(wanted));

// "up to 71 % of the tokens", "saves 24 MiB", "gain not known"
export function gainOf({ gain, gain_bytes, part }) {
    if (gain_bytes !== null) return `saves ${(gain_bytes / 2 ** 20).toFixed(0)} MiB`;
    return gain === null ? "gain not known" : `up to ${(100 * gain).toFixed(0)} % of the ${part}`;
}

export function score(plant, truth, answer) {
    // Conditions of the machine are not the plant's, unless it is one: they have no rank.
    const list = answer.findings.filter((finding) => !finding.condition || finding.name === plant.finding);
    const rank = list.findIndex((finding) => finding.name === plant.finding);
    const strangers = answer.findings.filter((finding) => finding.name !== plant.finding && !finding.condition && finding.gain > 0.05 && !plant.also?.includes(finding.name));
    if (rank < 0) return strangers.length > 0 ? { points: -1, why: `misled to ${strangers[0].name}` } : { points: 0, why: answer.error || "not named" };
    const found = list[rank], wanted = typeof plant.figure === "function" ? plant.figure(truth) : plant.figure;
    if (rank > 1) return { points: 1, why: `at rank ${rank + 1} behind ${list.slice(0, rank).map((f) => f.name).join(", ")}` };
    if (!within(found.figure, wanted)) return { points: 1, why: `figure ${found.figure}, true is ${wanted}` };
    if (plant.remedy && !plant.remedy.test(found.remedy ?? "")) return { points: 1, why: `remedy ${found.remedy}` };
    return { points: 2, why: `figure ${found.figure?.toPrecision(3)}, ${gainOf(found)}` };
}

// Makes a plant and scores it: { skip } or { points, why, answer, truth, directory }. A plant that
// cannot be recorded scores 0, and the table continues.
export async function judge(plant) {
    const directory = scratch(plant.name);
    let truth;
    try {
        truth = (await plant.make(directory)) ?? {};
    } catch (failure) {
        return { points: 0, why: `could not be recorded: ${failure.message.split("\n")[0]}`, failed: true, answer: null };
    }
    if (truth.skip) return truth;
    const answer = explain(directory), busy = answer.findings.find((finding) => ["other-programs", "steal"].includes(finding.name));
    if (plant.quiet && busy) return { skip: `needs a quiet machine: ${busy.title}` };
    return { ...score(plant, truth, answer), answer, truth, directory };
}
