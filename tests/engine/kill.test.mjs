// Engines that die: everything written is recovered, the rest is reported as interrupted, nothing
// is wrong.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output, run } from "../lib.mjs";
import { check, experiment, fresh, host, jsonLines, library, rows, stats, steps, told } from "./traces.mjs";

const tiny = model("tiny");

// The same moments every time, as far as timing is reproducible.
let seed = 20240611;
const random = () => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32);

// Checks the trace of a host that printed `stdout` before it died. Returns whether a graph run was
// cut off.
function examine(directory, stdout, threads) {
    const results = check(directory);
    const { runs, processes: [process] } = rows(directory, "runs", "processes");
    const { op_runs } = rows(directory, "op_runs");
    const fed = told(stdout);
    const completed = jsonLines(stdout).filter((line) => line.logits).length;
    const found = steps(directory);

    // Every decode that returned is recorded, and at most the current one of the others.
    assert.equal(process.ended, 0);
    assert.ok(found.length === completed || found.length === completed + 1, `${found.length} steps of ${completed} decodes`);
    found.forEach((step, i) => {
        const { context, phase, tokens, positions, sequences, outputs } = step;
        assert.deepEqual({ context, phase, tokens, positions, sequences, outputs }, fed[i]);
    });
    const cut = runs.filter((r) => r.flags & 1);
    assert.ok(cut.length <= 1);
    assert.equal(runs.filter((r) => !(r.flags & 1)).length >= completed, true);
    for (const r of runs) {
        const mine = op_runs.filter((o) => o.run === r.run);
        assert.equal(r.executed + r.absorbed + r.empty + r.skipped + r.opaque + r.unseen + r.cut, r.nodes);
        assert.deepEqual([r.unseen, r.lost], [0, 0]);
        const unfinished = mine.filter((o) => !(o.flags & 1));
        if (r.flags & 1) {
            assert.equal(r.run, runs.at(-1).run, "only the last one is cut off");
            assert.ok(unfinished.length <= threads);
        } else {
            assert.equal(r.cut, 0);
            assert.equal(mine.length, r.executed * threads);
            assert.deepEqual(unfinished, []);
        }
    }
    assert.equal(results["op coverage"], cut.length > 0 ? "interrupted" : "ok");
    assert.equal(stats(directory).interrupted_runs, cut.length);
    return cut.length > 0;
}

// Starts host and kills it `delay` ms after its line number `line`, because durations vary with
// machine and build. Under `ggscope record` only the engine is killed; the other way has no CLI at
// all.
async function kill(underRecord, line, delay, threads) {
    const directory = fresh();
    const command = [host, "generate", "-t", String(threads), "-g", "2000", tiny];
    const script = 'echo $$; exec "$0" "$@"'; // the engine keeps this process id
    const child = underRecord
        ? spawn(ggscope, ["record", "-q", "-o", directory, "--", "sh", "-c", script, ...command], { stdio: ["ignore", "pipe", "pipe"] })
        : spawn("sh", ["-c", script, ...command], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, LD_PRELOAD: library, GGSCOPE_OUTPUT: directory } });
    let stdout = "", stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
    const closed = once(child, "close");
    while (stdout.split("\n").length <= line) await once(child.stdout, "data");
    await new Promise((resolve) => setTimeout(resolve, delay));
    let alive = true;
    try { process.kill(Number(stdout.split("\n")[0]), "SIGKILL"); } catch { alive = false; }
    const [status, signal] = await closed;
    return { directory, stdout, stderr, status, signal, alive };
}

const kills = process.env.GGSCOPE_ATTACK === "full" ? 50 : 20;
test(`${kills} engines killed at random moments: every trace opens and has all that was complete`, async (t) => {
    const outcome = { early: 0, between: 0, cut: 0, late: 0 };
    const cases = Array.from({ length: kills }, (_, i) => ({ underRecord: i % 2 === 0, threads: i % 10 === 9 ? 2 : 1, seal: i % 4 < 2, line: i % 5 === 0 ? 1 : 2 + Math.floor(random() * 60), delay: Math.floor(random() * 30) }));
    const work = async () => {
        for (let c; (c = cases.shift()) !== undefined;) {
            const killed = await kill(c.underRecord, c.line, c.delay, c.threads);
            if (!killed.alive) { // the machine is busy: it ended by itself
                outcome.late++;
                continue;
            }
            if (c.underRecord) assert.equal(killed.status, 137, killed.stderr);
            else assert.equal(killed.signal, "SIGKILL");
            const { directory } = killed;
            if (c.underRecord) assert.equal(experiment(directory).signal, "SIGKILL");
            if (!existsSync(join(directory, c.underRecord ? "trace.ggs" : "spool"))) { // killed before it used the engine
                assert.deepEqual(told(killed.stdout), []);
                outcome.early++;
                continue;
            }
            if (!c.underRecord && c.seal) output(ggscope, ["seal", directory]);
            outcome[examine(directory, killed.stdout, c.threads) ? "cut" : "between"]++;
            assert.ok(!existsSync(join(directory, "spool")), "nothing is left behind");
        }
    };
    await Promise.all([work(), work()]);
    t.diagnostic(JSON.stringify(outcome));
    assert.ok(outcome.cut >= kills / 5 - outcome.late / 4, "most were killed inside a graph");
    assert.ok(outcome.late < 0.8 * kills, "most lived long enough to be killed");
    assert.ok(outcome.early <= kills / 5, "only those that were killed while they started");
});

// The engine calls its abort callback after every op, before the op's barrier: it dies there, at a
// known op.
for (const [mode, signal, status] of [["crash-abort", "SIGABRT", 134], ["crash-segv", "SIGSEGV", 139]]) {
    for (const call of [1, 378, 1000]) {
        test(`${signal} in op ${call}: all ops up to it are there, the last one cut off`, () => {
            const command = [host, mode, "-n", String(call), tiny];
            const shell = ["sh", "-c", 'ulimit -c 0; exec "$0" "$@"', ...command];
            const recorded = fresh(), plain = fresh();
            const under = run(ggscope, ["record", "-q", "-o", recorded, "--", ...shell]);
            assert.equal(under.status, status, under.stderr);
            assert.equal(experiment(recorded).signal, signal);
            const alone = run(shell[0], shell.slice(1), { env: { ...process.env, LD_PRELOAD: library, GGSCOPE_OUTPUT: plain } });
            assert.equal(alone.signal, signal, alone.stderr);
            for (const [directory, stdout] of [[recorded, under.stdout], [plain, alone.stdout]]) {
                assert.equal(examine(directory, stdout, 1), true);
                const { op_runs } = rows(directory, "op_runs");
                assert.equal(op_runs.length, call);
                // The wait of the last one was not seen; until the engine's barrier is known to be
                // seen, the callback ends the op.
                assert.deepEqual(op_runs.filter((o) => !(o.flags & 1) || o.flags & 8), [op_runs.at(-1)]);
            }
        });
    }
}

test("a killed engine's spool is read again and again until it is sealed; sealing twice is fine", () => {
    const directory = fresh();
    const env = { ...process.env, LD_PRELOAD: library, GGSCOPE_OUTPUT: directory };
    run("sh", ["-c", 'ulimit -c 0; exec "$0" "$@"', host, "crash-abort", "-n", "500", tiny], { env });
    assert.ok(readdirSync(join(directory, "spool")).length >= 2);
    const first = stats(directory); // seals
    const again = run(ggscope, ["seal", directory]);
    assert.equal(again.status, 0, again.stderr);
    assert.deepEqual(stats(directory), first);
});
