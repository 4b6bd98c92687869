// llama-server with four slots, streamed, for as many requests as a day has: the same answers as
// without streaming, and nothing that grows.
// GGSCOPE_TEST_REQUESTS sets how many (10000), GGSCOPE_TEST_SERVERS by how many pairs of servers at
// a time (1).
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ggscope, model, scratch } from "../lib.mjs";
import { environment } from "../engine/node/recordings.mjs";
import { MiB, sizes } from "../engine/streaming.mjs";
import { freePort } from "../server.mjs";
import { buildServer, unbuildable } from "./llama-server.mjs";

const REQUESTS = Number(process.env.GGSCOPE_TEST_REQUESTS ?? 10000), SERVERS = Number(process.env.GGSCOPE_TEST_SERVERS ?? 1), SLOTS = 4, moe = model("moe", "--layers", "8");

// Resources of a process: KiB of memory without the page cache, threads, descriptors, mappings.
function held(pid) {
    const read = (name) => readFileSync(`/proc/${pid}/${name}`, "utf8"), status = read("status");
    const [memory, threads] = ["RssAnon", "Threads"].map((name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)[1]));
    return { memory, threads, files: readdirSync(`/proc/${pid}/fd`).length, mappings: read("maps").split("\n").length };
}

// Runs a server under a budget for requests [first, end). Returns its answers, what it held after a
// fifth of them and at the end, and the counts.
async function serve(program, budget, name, first, end, { options: more = [], served = ["-m", moe], body = () => ({}) } = {}) {
    const port = await freePort(), url = `http://127.0.0.1:${port}`, answers = [], slots = scratch(`slots-${name}`), report = scratch(`report-${name}.json`);
    mkdirSync(slots);
    const options = [...served, ...more, "--no-repack", "-c", String(SLOTS * 96), "-np", String(SLOTS), "-t", "1", "-tb", "1", "--context-shift", "--no-warmup", "--cache-ram", "0", "--slot-save-path", `${slots}/`, "--host", "127.0.0.1", "--port", String(port)];
    const child = spawn(ggscope, ["stream", "-q", "--no-history", "--budget", String(Math.round(budget)), "--report", report, "--", program, ...options], { env: environment, stdio: ["ignore", "pipe", "pipe"] });
    let said = "", early, late;
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
        for (let i = first; i < end; i++) {
            const from = (i * 7) % words.length, prompt = [...words, ...words].slice(from, from + 1 + ((i * 5) % 14)).join(" ");
            const count = i % 50 === 49 ? 110 : 1 + (i % 4); // more than the context holds: it is shifted
            answers.push((await post("/completion", { prompt, n_predict: count, temperature: 0, ignore_eos: true, id_slot: i % SLOTS, ...body(i) })).content);
            if (i % 40 === 20 && served[0] === "-m") await post(`/slots/${i % SLOTS}?action=save`, { filename: "kept" });
            if (i % 40 === 30 && served[0] === "-m") await post(`/slots/${(i + 1) % SLOTS}?action=restore`, { filename: "kept" });
            if (i === first + Math.floor((end - first) / 5)) early = held(child.pid);
        }
        late = held(child.pid);
    } finally {
        child.kill("SIGINT");
        await ended;
    }
    return { answers, early, late, counts: JSON.parse(readFileSync(report, "utf8")) };
}

// The same requests without and with streaming, at the same time.
async function pair(program, engine, k) {
    const [first, end] = [k, k + 1].map((part) => Math.floor((part * REQUESTS) / SERVERS));
    const [alone, streamed] = await Promise.all([serve(program, 16 * MiB, `alone-${k}`, first, end), serve(program, ((engine + 8 * MiB + 0.4 * sizes(moe)) * 32) / 31, `streamed-${k}`, first, end)]);
    assert.equal(alone.counts.uses, 0, JSON.stringify(alone.counts)); // too little to stream: the engine alone
    assert.equal(streamed.counts.state, "streamed", JSON.stringify(streamed.counts));
    assert.ok(streamed.counts.misses > 0 && streamed.counts.failed === 0, JSON.stringify(streamed.counts));
    assert.equal(streamed.answers.length, end - first);
    const other = streamed.answers.findIndex((answer, i) => answer !== alone.answers[i]);
    assert.equal(other, -1, `answer ${first + other}: ${JSON.stringify(streamed.answers[other])}, not ${JSON.stringify(alone.answers[other])}`);
    const more = (run, name) => run.late[name] - run.early[name], of = JSON.stringify({ streamed: [streamed.early, streamed.late], alone: [alone.early, alone.late] });
    assert.ok(more(streamed, "memory") - Math.max(0, more(alone, "memory")) < 8192, of);
    for (const [name, most] of [["threads", 2], ["files", 2], ["mappings", 16]]) assert.ok(more(streamed, name) <= Math.max(0, more(alone, name)) + most, of); // the server's own come and go
    console.log(`# ${of}`);
}

test(`llama-server, ${REQUESTS} requests`, { timeout: 6 * 3_600_000 }, async (t) => {
    const unusable = unbuildable();
    if (unusable) return t.skip(unusable);
    const program = buildServer(), { counts } = await serve(program, 16 * MiB, "short", 0, 50);
    await Promise.all(Array.from({ length: SERVERS }, (_, k) => pair(program, counts.engine, k)));
});

test("layouts that keep experts on the CPU, and a router that starts a server for each model", { timeout: 3_600_000 }, async (t) => {
    const unusable = unbuildable();
    if (unusable) return t.skip(unusable);
    const program = buildServer(), { answers, counts } = await serve(program, 16 * MiB, "shapes", 0, 10), models = scratch("models");
    mkdirSync(models);
    for (const name of ["one", "other"]) symlinkSync(moe, join(models, `${name}.gguf`));
    // One is loaded at a time: every other request unloads one and loads the other.
    const router = { served: ["--models-dir", models, "--models-max", "1"], body: (i) => ({ model: i % 4 < 2 ? "one" : "other" }) };
    for (const [name, how] of Object.entries({ fit: { options: ["--fit", "on", "-fitt", "64"] }, "no-fit": { options: ["--fit", "off"] }, ncmoe: { options: ["-ncmoe", "3"] }, "cpu-moe": { options: ["--cpu-moe"] }, router })) {
        const streamed = await serve(program, ((counts.engine + 8 * MiB + 0.4 * sizes(moe)) * 32) / 31, name, 0, 10, how);
        assert.equal(streamed.counts.state, "streamed", name);
        assert.ok(streamed.counts.misses > 0, name);
        assert.deepEqual(streamed.answers, answers, name);
    }
});
