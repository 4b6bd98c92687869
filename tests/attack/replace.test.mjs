// A replaced experiment is removed only when the new one is complete, whatever happens to the
// recording.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, model, output, root, run } from "../lib.mjs";
import { fresh, hasLane } from "../engine/traces.mjs";

const tiny = model("tiny"), generate = [engine, "run", "-m", tiny, "-p", "Once", "-n", "2", "--ignore-eos"];
const golden = join(root, "tests", "golden", "v2");
const id = (directory) => JSON.parse(output(ggscope, ["stats", "--json", directory])).experiment_id;
const files = (directory) => Object.fromEntries(readdirSync(directory).sort().map((name) => [name, readFileSync(join(directory, name)).toString("base64")]));
const force = (directory, ...command) => run(ggscope, ["record", "-q", "--force", "-o", directory, "--", ...command]);

function old() {
    const directory = fresh();
    mkdirSync(directory);
    for (const name of ["trace.ggs", "experiment.json"]) copyFileSync(join(golden, name), join(directory, name));
    writeFileSync(join(directory, "notes.txt"), "precious\n");
    return { directory, before: files(directory) };
}

test("programs that record nothing: the old experiment is as it was", () => {
    const { directory, before } = old();
    for (const command of [["true"], ["false"], ["sh", "-c", "kill -9 $$"], [engine, "run", "-m", "/nowhere.gguf", "-p", "x"], ["/nowhere/program"]]) {
        const result = force(directory, ...command);
        assert.notEqual(result.status, 0);
        if (command[0] !== "/nowhere/program") assert.match(result.stderr, /^ggscope: nothing was recorded: .* keeps the experiment that was there$/m);
        assert.deepEqual(files(directory), before, command.join(" "));
    }
});

test("one that records replaces it, and nothing is left of the old one", () => {
    const { directory } = old();
    // The socket of a killed ggscope is no obstacle.
    run(process.execPath, ["-e", `require("net").createServer().listen("${join(directory, "control.sock")}", () => process.kill(process.pid, "SIGKILL"))`]);
    assert.ok(existsSync(join(directory, "control.sock")));
    const result = force(directory, ...generate);
    assert.deepEqual([result.status, result.stderr.match(/^ggscope: .*$/m)], [0, null]);
    assert.deepEqual(readdirSync(directory).sort(), ["experiment.json", "stderr.txt", "stdout.txt", "trace.ggs"]);
    assert.equal(run(ggscope, ["check", directory]).status, 0);
});

// Starts a recording over the old experiment, and kills ggscope and the program once `there`
// returns true.
async function killed(directory, command, there) {
    const child = spawn(ggscope, ["record", "-q", "--force", "-o", directory, "--", ...command], { stdio: "ignore", detached: true });
    const ended = once(child, "exit");
    for (const from = Date.now(); !there(); ) {
        assert.ok(Date.now() - from < 120_000, "nothing happens");
        await new Promise((done) => setTimeout(done, 5));
    }
    process.kill(-child.pid, "SIGKILL");
    await ended;
    const goesOn = () => { try { return process.kill(-child.pid, 0); } catch { return false; } };
    while (goesOn()) await new Promise((done) => setTimeout(done, 5)); // waits for the program that it started
}

test("ggscope is killed before anything was recorded: the old experiment is back when somebody looks", async () => {
    const { directory, before } = old();
    await killed(directory, ["sleep", "600"], () => existsSync(join(directory, "stderr.txt")) && existsSync(join(directory, ".replaced")) && existsSync(join(directory, "experiment.json")));
    assert.notEqual(id(directory), undefined);
    assert.deepEqual(files(directory), before);
    // The same when it is replaced again.
    await killed(directory, ["sleep", "600"], () => existsSync(join(directory, "stderr.txt")) && existsSync(join(directory, "experiment.json")));
    assert.equal(force(directory, "true").status, 1);
    assert.deepEqual(files(directory), before);
});

test("ggscope is killed while it records: what was recorded replaces the old experiment", async () => {
    const { directory } = old(), first = id(directory);
    await killed(directory, [engine, "run", "-m", tiny, "-p", "Once", "-n", "8000", "--ctx", "8192", "-t", "1", "--ignore-eos"], () => hasLane(directory));
    assert.notEqual(id(directory), first);
    assert.ok(!existsSync(join(directory, ".replaced")));
});

test("a join that fails leaves the old experiment", () => {
    const { directory, before } = old(), part = fresh();
    cpSync(golden, part, { recursive: true });
    truncateSync(join(part, "trace.ggs"), 3000);
    assert.notEqual(run(ggscope, ["join", "-q", "--force", golden, part, "-o", directory]).status, 0);
    assert.deepEqual(files(directory), before);
});

test("--force replaces only experiments", () => {
    const directory = fresh();
    mkdirSync(join(directory, "spool"), { recursive: true });
    writeFileSync(join(directory, "spool", "letter"), "not ours");
    assert.equal(force(directory, "true").status, 1);
    assert.deepEqual(readdirSync(join(directory, "spool")), ["letter"]);
});
