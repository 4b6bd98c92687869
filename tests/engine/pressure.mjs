// Shared by the tests of --cold and --memory: private models, because pages that another process
// maps cannot be dropped.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { build, ggscope, model, run } from "../lib.mjs";

// A copy on the build's disk, removed at the end: /tmp may be in memory, which cannot be dropped.
const folder = join(build, "models", `own-${process.pid}`);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
export function ownModel(...name) {
    const path = model(...name), copy = join(folder, basename(path));
    mkdirSync(folder, { recursive: true });
    if (!existsSync(copy)) copyFileSync(path, copy);
    chmodSync(copy, 0o644);
    return copy;
}
export const ownFolder = () => (mkdirSync(folder, { recursive: true }), folder);

// Reads a file into the page cache.
export const warm = (path) => void readFileSync(path);

// The reason why memory cannot be limited here, or undefined.
export function noLimit() {
    const result = run(ggscope, ["record", "-q", "--memory", "64M", "-o", join(ownFolder(), "probe"), "--", "true"]);
    const reason = /ggscope: (memory cannot be limited here: .*)/.exec(result.stderr);
    return reason?.[1];
}

// Runs a command line as an unprivileged user; undefined if that is impossible, or the build is not
// accessible.
const asNobody = (command, options) => run("setpriv", ["--reuid", "65534", "--regid", "65534", "--clear-groups", ...command], options);
export const nobody = process.getuid() === 0 && run("sh", ["-c", "command -v setpriv"]).status === 0 && asNobody(["test", "-x", ggscope]).status === 0
    ? asNobody : undefined;

export const machine = (directory) => JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).machine;
export const noPython = run("sh", ["-c", "command -v python3"]).status !== 0 && "python3 is missing";
