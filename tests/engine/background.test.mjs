// Recordings that are sealed while the program runs: whoever is killed and whenever, nothing is missing, and nothing is left behind.
import { afterEach, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output } from "../lib.mjs";
import { check, fresh, host, rows, steps } from "./traces.mjs";

const tiny = model("tiny");
const THREADS = 1, DECODES = 200;
const running = new Set(); // a test that fails leaves none behind
afterEach(() => { for (const pid of running) try { process.kill(pid, "SIGKILL"); } catch { /* it has ended */ } });
const decodes = (stdout) => stdout.split('"logits"').length - 1; // that have returned
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// A program that has computed so many tokens and then stands still, recorded until its first segments are sealed and gone.
async function start(...options) {
    const directory = fresh();
    const command = [host, "generate", "-t", String(THREADS), "-g", "2000", tiny];
    const child = spawn(ggscope, ["record", "-q", "-o", directory, ...options, "--", "sh", "-c", 'echo $$; exec "$0" "$@"', ...command], { stdio: ["ignore", "pipe", "pipe"] });
    const at = { directory, child, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => (at.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (at.stderr += text));
    at.closed = once(child, "close");
    running.add(child.pid);
    while (decodes(at.stdout) < DECODES) await once(child.stdout, "data");
    at.pid = Number(at.stdout.split("\n")[0]);
    running.add(at.pid);
    process.kill(at.pid, "SIGSTOP");
    return at;
}
const lanes = (directory) => readdirSync(join(directory, "spool")).filter((name) => /^lane-.*-0000\.seg$/.test(name));
async function sealedInPart(at) {
    for (; lanes(at.directory).length > 0; await sleep(20)) assert.equal(at.child.exitCode, null, at.stderr);
    assert.ok(statSync(join(at.directory, "trace.ggs.part")).size > 64);
}

// Everything that the program told is in the trace: each decode that returned, and every op of it.
function examine(directory, stdout) {
    const results = check(directory);
    const { runs, op_runs, losses } = rows(directory, "runs", "op_runs", "losses");
    const completed = decodes(stdout);
    const whole = runs.filter((r) => !(r.flags & 1));
    assert.ok(whole.length >= completed && completed >= DECODES, `${whole.length} graph runs of ${completed} decodes`);
    assert.ok(steps(directory).length >= completed);
    assert.deepEqual(losses, []);
    let row = 0;
    for (const r of runs) {
        assert.equal(r.first_op_run, row);
        for (let i = 0; i < r.op_runs; i++) assert.equal(op_runs[row + i].run, r.run);
        row += r.op_runs;
        assert.deepEqual([r.unseen, r.lost, r.cut], [0, 0, r.flags & 1 ? r.cut : 0]);
        if (!(r.flags & 1)) assert.equal(r.op_runs, r.executed * THREADS);
    }
    assert.equal(row, op_runs.length);
    assert.match(results["op coverage"], /^(ok|interrupted)$/);
    assert.deepEqual(readdirSync(directory).filter((name) => !["control.sock"].includes(name)).sort(), ["experiment.json", "stderr.txt", "stdout.txt", "trace.ggs"]);
    return op_runs.length;
}

test("sealed while the program runs: who looks at it meanwhile sees all of it; ggscope record is killed, then the program: any verb seals the rest", async () => {
    const at = await start();
    await sealedInPart(at);
    const snapshot = fresh();
    output(ggscope, ["control", at.directory, "snapshot", "-o", snapshot]);
    const seen = rows(snapshot, "runs", "op_runs");
    assert.ok(seen.runs.length >= DECODES);
    assert.equal(seen.op_runs.length, seen.runs.reduce((sum, r) => sum + r.op_runs, 0));
    process.kill(at.pid, "SIGCONT"); // it goes on in the same lanes
    for (const before = decodes(at.stdout); decodes(at.stdout) < before + 20;) await once(at.child.stdout, "data");
    at.child.kill("SIGKILL");
    await once(at.child, "exit");
    process.kill(at.pid, "SIGKILL");
    while (existsSync(`/proc/${at.pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${at.pid}/status`, "utf8"))) await sleep(5);
    assert.ok(existsSync(join(at.directory, "trace.ggs.part")));
    assert.ok(examine(at.directory, at.stdout) >= seen.op_runs.length);
});
