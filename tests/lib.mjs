// Shared by the tests that run whole programs. Run them with `make test`, or a single file:
//     node tests/engine/run.test.mjs
// Each file is a node:test program; tests/run turns its TAP into the summary line.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { engineOf, variant } from "./variant.mjs";

const given = process.env.GGSCOPE_ENGINE;
if (variant !== "best") process.env.GGSCOPE_ENGINE = engineOf(variant);

// For tests of a build or installation that has its own engine.
export function leaveEngineAlone() {
    if (given === undefined) delete process.env.GGSCOPE_ENGINE;
    else process.env.GGSCOPE_ENGINE = given;
}

// Threads of an engine spin while they wait for each other, and test files run side by side:
// without -t an engine computes with one thread.
process.env.LLAMA_ARG_THREADS = "1";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
export const build = resolve(process.env.GGSCOPE_BUILD ?? join(root, "build"));
export const sanitized = basename(build) === "asan"; // built with AddressSanitizer
export const bin = (name) => join(build, "bin", name);
export const ggscope = bin("ggscope");
export const engine = bin("ggscope-engine");
export const vocabularies = join(root, "build", "engine", "source", "models"); // ggml-vocab-*.gguf

// Runs a program to its end. Returns { status, signal, stdout, stderr }, as text by default.
export function run(program, args = [], options = {}) {
    const result = spawnSync(program, args, { encoding: "utf8", maxBuffer: 1 << 30, timeout: 600_000, ...options });
    if (result.error) throw result.error;
    return result;
}

// Runs a program that must succeed; returns its stdout.
export function output(program, args = [], options = {}) {
    const result = run(program, args, options);
    if (result.status !== 0)
        throw new Error(`${program} ${args.join(" ")}: exit ${result.status ?? result.signal}\n${result.stderr}`);
    return result.stdout;
}

// The output of a program on a terminal of `columns` columns, without colour and pager. `script` is
// part of every Debian.
export function terminal(columns, program, args = [], environment = {}) {
    const words = [program, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
    const text = output("script", ["-qec", `stty cols ${columns} rows 50; exec ${words.join(" ")}`, "/dev/null"], { env: { ...process.env, NO_COLOR: "1", GGSCOPE_PAGER: "cat", ...environment }, input: "" });
    return text.replaceAll("\r\n", "\n").replace(/^\^D\x08\x08/, "");
}

// A path in a directory of this test file, which is removed when the file ends.
let scratchDirectory;
process.on("exit", () => scratchDirectory && rmSync(scratchDirectory, { recursive: true, force: true }));
export function scratch(name = "") {
    scratchDirectory ??= mkdtempSync(join(tmpdir(), "ggscope-test-"));
    return join(scratchDirectory, name);
}

// The same library at a path that LD_PRELOAD can name: blanks and colons separate its entries.
const links = [];
process.on("exit", () => links.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
export function preloadable(path) {
    if (!/[\s:]/.test(path)) return path;
    links.push(mkdtempSync("/tmp/ggscope-preload-"));
    symlinkSync(path, join(links.at(-1), basename(path)));
    return join(links.at(-1), basename(path));
}

// The same file at a path without blanks, which fio cannot read.
export function withoutBlanks(path) {
    if (!/\s/.test(path)) return path;
    const copy = scratch(basename(path));
    if (!existsSync(copy)) copyFileSync(path, copy);
    return copy;
}

// The path of a synthetic model, made on first use and shared by all test files.
//     model("tiny")     model("tiny", "--arch", "gpt2")
export function model(preset, ...options) {
    const directory = join(root, "build", "models");
    const name = [preset, ...options].join("-").replace(/[^A-Za-z0-9._-]+/g, "_").replace(/-+/g, "-");
    const path = join(directory, `${name}.gguf`);
    if (!existsSync(path)) {
        mkdirSync(directory, { recursive: true });
        const temporary = `${path}.${process.pid}`;
        output(engine, ["synth", preset, ...options, "-o", temporary]);
        renameSync(temporary, path);
    }
    return path;
}

// Why the engine cannot run a model on this CPU variant, even without ggscope: "" if it can. Some
// weight layouts lack operations that some architectures need.
const tried = new Map();
export const engineFails = (path, ...options) => engineFailsIn(process.env, path, ...options);
export function engineFailsIn(env, path, ...options) {
    const words = ["run", "-m", path, "-p", "Once", "-n", "1", "-t", "1", ...options], key = [env.GGSCOPE_ENGINE, ...words].join(" ");
    if (!tried.has(key)) {
        const { status, signal, stderr } = run(engine, words, { env });
        const said = /^.*GGML_ASSERT.*$/m.exec(stderr)?.[0] ?? stderr.trim().split("\n").at(-1);
        tried.set(key, status === 0 ? "" : `the engine itself ends with ${signal ?? status}: ${said}`);
    }
    return tried.get(key);
}

// The folder below build/ with the installed packages of a lock file; the source tree stays clean.
//     installed(here, "export-readers")     installed(here, "matrix/3.22.1", "--omit=optional")
export function installed(lock, name, ...options) {
    const folder = join(root, "build", name);
    const mark = join(folder, "installed-lock.json");
    const wanted = readFileSync(join(lock, "package-lock.json"), "utf8");
    if (!existsSync(mark) || readFileSync(mark, "utf8") !== wanted) {
        mkdirSync(folder, { recursive: true });
        for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(lock, file), join(folder, file));
        output("npm", ["ci", "--ignore-scripts", ...options, "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder });
        writeFileSync(mark, wanted);
    }
    return folder;
}
