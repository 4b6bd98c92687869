// Takes snapshots of a recording in progress while lanes and the journal move from segment to
// segment: each is a normal experiment.
//
// 12 snapshots; with GGSCOPE_ATTACK=full 180. One thread, because two that wait for each other make
// little progress on a busy machine.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";

const count = process.env.GGSCOPE_ATTACK === "full" ? 60 : 4;
scratch();

const kinds = {
    "sealed in the background": [],
    "with no eye on faults": ["--no-faults"],
    "a ring, which gives up what is being read": ["--policy", "ring", "--max-size", "8M"],
};

// Takes a snapshot; returns undefined if it is refused.
function tokensOf(directory, copy) {
    rmSync(copy, { recursive: true, force: true });
    if (run(ggscope, ["control", directory, "snapshot", "-o", copy]).status !== 0) return undefined;
    return JSON.parse(output(ggscope, ["stats", "--json", copy])).tokens;
}

let number = 0;
for (const [name, options] of Object.entries(kinds)) {
    test(`${count} snapshots under load: ${name}`, async () => {
        const directory = scratch(`recording-${++number}`), copy = scratch("snapshot");
        const recording = spawn(ggscope, ["record", "-q", ...options, "-o", directory, "--", engine, "run", "-m", model("tiny"), "-p", "Once", "-n", "100000", "-c", "100200", "--ignore-eos", "-t", "1"], { stdio: "ignore", detached: true });
        const ended = new Promise((resolve) => recording.on("exit", resolve));
        try {
            for (const end = Date.now() + 120_000; !(tokensOf(directory, copy) > 50); await sleep(200)) assert.ok(Date.now() < end, "nothing is recorded");
            for (let i = 0, tokens = 0; i < count; i++) {
                const now = tokensOf(directory, copy);
                assert.ok(now >= tokens, `${now} tokens after ${tokens}`);
                tokens = now;
                const checked = run(ggscope, ["check", copy]);
                const lines = checked.stdout.split("\n").filter((line) => /^FAIL/.test(line) && !(name.startsWith("a ring") && /no losses .*overwritten|no losses .*ring/.test(line)));
                assert.deepEqual(lines, [], `snapshot ${i}`);
            }
        } finally {
            process.kill(-recording.pid, "SIGTERM"); // of this test alone: the process leads its own group
            await ended;
        }
        assert.ok(existsSync(`${directory}/trace.ggs`));
        rmSync(directory, { recursive: true });
    });
}
