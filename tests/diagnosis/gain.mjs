// What a remedy really brings, against what explain says it could bring at most: the program as it
// was planted and with the remedy, in turns (ggscope bench).
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ggscope, run } from "../lib.mjs";

const rounds = process.env.GGSCOPE_GAIN_ROUNDS ?? "3", minutes = 3;
const quote = (words) => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");

// The command that verifies a finding, with few rounds; undefined if it is left to the user (a copy
// with the change, a model to be made).
function benchOf(plant, found, directory) {
    const bench = [ggscope, "bench", "--json", "-q", "-r", rounds];
    if (plant.mended) {
        const { command } = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));
        return quote([...bench, "-b", quote(command), "--", ...plant.mended()]);
    }
    if (!found.verify?.startsWith("ggscope bench ") || /a copy with the change|OUT\.gguf/.test(found.verify)) return undefined;
    return found.verify.replace("ggscope bench", quote(bench)).replaceAll(/(?<= )ggscope(?= stream)/g, ggscope);
}

// The time of a part of the run. Generating includes what lies between decodes.
function timeOf(figures, side, part) {
    const value = (name) => figures.find((one) => one.figure === name)?.[side] ?? NaN;
    if (part === "load" || part === "prompt") return value(`${part}_ns`);
    return part === "tokens" ? value("wall_ns") : value("wall_ns") - value("prompt_ns");
}

// A busy machine may take hours for threads that take turns.
function runFor(minutes, command, env) {
    try {
        return run("sh", ["-c", command], { env, timeout: 60_000 * minutes });
    } catch (failure) {
        if (failure.code !== "ETIMEDOUT") throw failure;
        return { status: null };
    }
}

// { bound, gain, noise, estimated, part } or { why } there is nothing to measure.
export function measure(plant, { answer, directory, truth }) {
    const found = answer?.findings.find((finding) => finding.name === plant.finding);
    if (!found || found.condition || !(found.gain > 0)) return { why: "no time to gain" };
    const command = benchOf(plant, found, directory);
    if (!command) return { why: "no option of the program does it" };
    const env = { ...process.env, ...truth?.env, PATH: `${dirname(ggscope)}:${process.env.PATH}` };
    const { status, stdout, stderr } = runFor(minutes, `exec ${command}`, env);
    if (status === null) return { late: true, why: `it took longer than ${minutes} minutes` };
    if (status > 1 || !stdout) return { why: `bench ended with ${status}: ${stderr.trim().split("\n")[0]}` };
    const { figures } = JSON.parse(stdout), [a, b] = ["a", "b"].map((side) => timeOf(figures, side, found.part));
    const control = figures.find((one) => one.figure === (["prompt", "load"].includes(found.part) ? `${found.part}_ns` : "wall_ns"))?.control;
    return { part: found.part, bound: found.gain, gain: 1 - b / a, noise: control?.ratio == null ? NaN : Math.abs(control.ratio - 1), estimated: found.estimated };
}

// "at least half", or what the text says of it. If the program differs much from itself, nothing
// can be said.
export function verdict({ bound, gain, noise, estimated }) {
    if (Number.isNaN(gain)) return "not seen";
    if (noise > Math.max(0.1, bound / 4)) return `the machine is too busy to tell: the program differs from itself by ${(100 * noise).toFixed(0)} %`;
    if (gain >= bound / 2) return "at least half of the bound";
    return estimated ? "below half: its text says \"measure it\"" : "BELOW HALF";
}
