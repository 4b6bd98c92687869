// Runs ggscope in a folder whose path LD_PRELOAD cannot contain, with all files in such folders.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { build, model, run, scratch } from "../lib.mjs";

const folder = scratch("a b:c\td"), runtime = scratch("runtime");
for (const name of ["bin", "lib", "experiments"]) mkdirSync(join(folder, name), { recursive: true });
mkdirSync(runtime, { mode: 0o700 });
for (const file of ["bin/ggscope", "bin/ggscope-engine", "lib/libggscope-capture.so", "lib/libggscope-stream.so"]) copyFileSync(join(build, file), join(folder, file));
const path = join(folder, "a model.gguf"), ggscope = join(folder, "bin/ggscope"), engine = join(folder, "bin/ggscope-engine");
symlinkSync(model("tiny"), path);
const generate = [engine, "run", "-m", path, "-p", "Once", "-n", "2", "--ignore-eos", "--json", "--logits-hash"];
const start = (words, environment = {}) => run(ggscope, words, { env: { ...process.env, XDG_RUNTIME_DIR: runtime, ...environment } });
const hash = (result) => (assert.equal(result.status, 0, result.stderr), JSON.parse(result.stdout).logits_hash);

test("recording and streaming work, and the program is the same", () => {
    const directory = join(folder, "experiments", "an experiment"), wanted = hash(run(generate[0], generate.slice(1)));
    assert.equal(hash(start(["record", "-q", "-o", directory, "--", ...generate])), wanted);
    assert.equal(start(["check", directory]).status, 0);
    const streamed = start(["stream", "--budget", "64M", "--", ...generate]);
    assert.equal(hash(streamed), wanted);
    assert.match(streamed.stderr, /fits into memory/); // printed by the preloaded library
    assert.equal(start(["doctor"]).stdout.includes("can be preloaded"), true);
    const [place] = readdirSync(runtime);
    assert.match(place, /^ggscope-preload-/);
    assert.equal(lstatSync(join(runtime, place)).mode & 0o777, 0o700);
});

test("a folder that others can write to, or a link in its place, is not used", () => {
    const [place] = readdirSync(runtime), elsewhere = scratch("elsewhere");
    mkdirSync(elsewhere);
    rmSync(join(runtime, place), { recursive: true });
    symlinkSync(elsewhere, join(runtime, place));
    const directory = join(folder, "experiments", "second");
    hash(start(["record", "-q", "-o", directory, "--", ...generate])); // in /dev/shm or /tmp
    assert.deepEqual(readdirSync(elsewhere), []);
    for (const parent of ["/dev/shm", "/tmp"]) if (existsSync(join(parent, place))) rmSync(join(parent, place), { recursive: true });
});
