// ggscope tune with llama-server: started for each trial, sent requests, and ended; the printed
// command starts a server that answers.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { ggscope, model, run, scratch } from "../lib.mjs";
import { environment } from "../engine/node/recordings.mjs";
import { freePort } from "../server.mjs";
import { buildServer, unbuildable } from "./llama-server.mjs";

scratch();
const unusable = unbuildable();

// True if the command, with a port, starts a server that answers.
async function answers(command) {
    const port = await freePort(), child = spawn("sh", ["-c", `exec ${command} --port ${port}`], { env: environment, stdio: "ignore" }), ended = once(child, "exit");
    try {
        for (let i = 0; i < 600 && child.exitCode === null; i++) {
            if (await fetch(`http://127.0.0.1:${port}/health`).then((answer) => answer.ok, () => false)) return true;
            await sleep(100);
        }
        return false;
    } finally {
        child.kill("SIGINT");
        await ended;
    }
}

test("one slot and small batches: remedies are tried with requests, and the command has no port of ours", { skip: unusable || false }, async () => {
    const program = [buildServer(), "-m", model("tiny"), "-np", "1", "-ub", "8", "-t", "1", "-tb", "1", "-c", "2048", "--no-webui"];
    const { status, stdout, stderr } = run(ggscope, ["tune", "--json", "-q", "--for", "server", "-r", "1", "--", ...program], { env: environment });
    const tuned = JSON.parse(stdout || "{}");
    assert.equal(tuned.figure, "request_ns", stderr);
    assert.equal(status, tuned.better ? 0 : 1);
    assert.ok(tuned.parts.some((part) => part.finding === "one-slot" && /^-np \d+$/.test(part.setting)), stdout);
    if (!tuned.better) return;
    assert.doesNotMatch(tuned.command, /--port/);
    assert.ok(await answers(tuned.command), tuned.command);
});

test("a server that cannot start is named", { skip: unusable || false }, () => {
    const { status, stderr } = run(ggscope, ["tune", "-q", "--for", "server", "--", buildServer(), "-m", "/nonexistent.gguf"], { env: environment });
    assert.equal(status, 1);
    assert.match(stderr, /cannot be tuned: it failed/);
});
