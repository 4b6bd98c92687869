// llama-server, streamed, for as many requests as a day has: the same answers as without streaming, and nothing that grows.
// GGSCOPE_TEST_REQUESTS sets how many (10000).
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ggscope, model, scratch } from "../lib.mjs";
import { environment } from "../engine/node/recordings.mjs";
import { MiB, sizes } from "../engine/streaming.mjs";
import { buildServer, unbuildable } from "./llama-server.mjs";

const REQUESTS = Number(process.env.GGSCOPE_TEST_REQUESTS ?? 10000), moe = model("moe", "--layers", "8");
const slots = scratch("slots"), report = scratch("report.json");
mkdirSync(slots);

async function freePort() {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address();
    server.close();
    return port;
}

// What a process holds: KiB of memory, descriptors, threads.
const held = (pid) => [...["VmRSS", "Threads"].map((name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1])), readdirSync(`/proc/${pid}/fd`).length];

// Runs the server under a budget for `n` requests. Returns its answers, what it held after a fifth of them and at the end, and the counts.
async function serve(program, budget, n) {
    const port = await freePort(), url = `http://127.0.0.1:${port}`, answers = [];
    const options = ["-m", moe, "--no-repack", "-c", "96", "-np", "1", "-t", "1", "-tb", "1", "--context-shift", "--no-warmup", "--cache-ram", "0", "--slot-save-path", `${slots}/`, "--host", "127.0.0.1", "--port", String(port)];
    const child = spawn(ggscope, ["stream", "-q", "--no-history", "--budget", String(Math.round(budget)), "--report", report, "--", program, ...options], { env: environment, stdio: ["ignore", "pipe", "pipe"] });
    let said = "", early;
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => { said = (said + data).slice(-4000); });
    const ended = once(child, "exit");
    const post = async (path, body) => (await fetch(`${url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })).json();
    try {
        for (let ready = false; !ready;) {
            assert.equal(child.exitCode, null, said);
            ready = await fetch(`${url}/health`).then((answer) => answer.ok, () => false);
            if (!ready) await sleep(50);
        }
        const words = "the quick brown fox jumps over a lazy dog while seven tiny models count their many tokens".split(" ");
        for (let i = 0; i < n; i++) {
            const from = (i * 7) % words.length, prompt = [...words, ...words].slice(from, from + 1 + ((i * 5) % 14)).join(" ");
            const count = i % 50 === 49 ? 110 : 1 + (i % 4); // more than the context holds: it is shifted
            answers.push((await post("/completion", { prompt, n_predict: count, temperature: 0, ignore_eos: true })).content);
            if (i % 40 === 20) await post("/slots/0?action=save", { filename: "kept" });
            if (i % 40 === 30) await post("/slots/0?action=restore", { filename: "kept" });
            if (i === Math.floor(n / 5)) early = held(child.pid);
        }
        return { answers, early, late: held(child.pid), said };
    } finally {
        child.kill("SIGINT");
        await ended;
    }
}

test(`llama-server, ${REQUESTS} requests`, { timeout: 6 * 3_600_000 }, async (t) => {
    const unusable = unbuildable();
    if (unusable) return t.skip(unusable);
    const program = buildServer(), alone = await serve(program, 16 * MiB, REQUESTS), counts = JSON.parse(readFileSync(report, "utf8"));
    assert.equal(counts.uses, 0, JSON.stringify(counts)); // too little to stream: the engine alone
    const streamed = await serve(program, ((counts.engine + 8 * MiB + 0.4 * sizes(moe)) * 32) / 31, REQUESTS), found = JSON.parse(readFileSync(report, "utf8"));
    assert.equal(found.state, "streamed", JSON.stringify([counts, found]));
    assert.ok(found.misses > 0 && found.failed === 0, JSON.stringify(found));
    const other = streamed.answers.findIndex((answer, i) => answer !== alone.answers[i]);
    assert.equal(other, -1, `answer ${other}: ${JSON.stringify(streamed.answers[other])}, not ${JSON.stringify(alone.answers[other])}`);
    const [memory, threads, files] = streamed.late.map((value, i) => value - streamed.early[i]), without = alone.late[0] - alone.early[0];
    assert.ok(memory - Math.max(0, without) < 8192, `${memory} KiB more, ${without} without streaming`);
    assert.ok(threads <= 2 && files <= 2, `${threads} threads and ${files} descriptors more`); // the server's own come and go
});
