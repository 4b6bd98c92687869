// llama-server: the tokens in its answers are those of the recording.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { ggscope, model, output, scratch } from "../lib.mjs";
import { buildServer, unbuildable } from "./llama-server.mjs";
import { assertWhole, environment, stats } from "../engine/node/recordings.mjs";
import { freePort } from "../server.mjs";

const target = model("tiny"), small = model("tiny", "--layers", "2");
scratch();

let program, unusable = "";
test("llama-server builds from source", (t) => {
    unusable = unbuildable();
    if (unusable) return t.skip(unusable);
    unusable = "it was not built";
    program = buildServer();
    unusable = "";
});

// Records a server while `work` sends requests to it. Returns the experiment.
let counter = 0;
async function serving(options, work) {
    const port = await freePort(), directory = scratch(`server-${counter++}`), url = `http://127.0.0.1:${port}`;
    const child = spawn(ggscope, ["record", "-q", "-o", directory, "--", program, "-m", target, "--parallel", "4", "-t", "1", "-tb", "1", "-c", "2048",
        "--host", "127.0.0.1", "--port", String(port), ...options], { env: environment, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => { said += data; });
    const ended = once(child, "exit");
    try {
        for (let ready = false; !ready;) {
            assert.equal(child.exitCode, null, said.slice(-2000));
            ready = await fetch(`${url}/health`).then((answer) => answer.ok, () => false);
            if (!ready) await sleep(50);
        }
        const post = (path, body, more = {}) => fetch(`${url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), ...more });
        await work({ post, ask: async (prompt, count, more = {}) => (await post("/completion", { prompt, n_predict: count, temperature: 0, ignore_eos: true, ...more })).json() });
    } finally {
        child.kill("SIGINT");
        await ended;
    }
    return directory;
}

const words = "the quick brown fox jumps over a lazy dog while seven tiny models count their many tokens in the deep night".split(" ");
const text = (from, count) => words.slice(from, from + count).join(" ");
const requests = (directory) => JSON.parse(output(ggscope, ["requests", "--json", directory]));
const row = (a) => [a.id_slot, a.timings.cache_n, a.timings.prompt_n, a.timings.predicted_n, a.timings.draft_n ?? 0, a.timings.draft_n_accepted ?? 0].join(" ");
const mine = (r) => [r.sequence, r.cached_tokens, r.prompt_tokens, r.generated_tokens, r.accepted_tokens + r.rejected_tokens, r.accepted_tokens].join(" ");

// Concurrent requests, more than slots; cached ones, the second of which lacks only the last token;
// a streamed one that is cancelled; one after it.
async function mix(answers, { ask, post }) {
    answers.push(...await Promise.all([5, 9, 14, 3, 7, 11].map((count, i) => ask(text(i, count), 8 + i))));
    for (const more of ["", "", " and more of it"]) answers.push(await ask(text(0, 12) + more, 6, { id_slot: 0 }));
    const abort = new AbortController();
    const streamed = await post("/completion", { prompt: "once upon a time", n_predict: 1000, stream: true, ignore_eos: true, id_slot: 2 }, { signal: abort.signal });
    let seen = "";
    try {
        for await (const chunk of streamed.body) {
            seen += Buffer.from(chunk).toString();
            if (seen.split("data: ").length > 6) abort.abort();
        }
    } catch (error) {
        assert.equal(error.name, "AbortError");
    }
    answers.push(await ask("after the cancelled one", 5, { id_slot: 2 }));
    return seen.split("data: ").length - 1;
}

function compare(directory, answers, streamed) {
    const { requests: all, contexts } = requests(directory);
    const found = all.filter((r) => r.kind === "completion").map(mine), expected = answers.map(row);
    const extra = [...found];
    for (const one of expected) {
        assert.ok(extra.includes(one), `${one} of\n${found.join("\n")}`);
        extra.splice(extra.indexOf(one), 1);
    }
    assert.equal(extra.length, 1, "and the cancelled one");
    const cancelled = all.filter((r) => r.kind === "completion").find((r) => mine(r) === extra[0]);
    assert.equal(cancelled.sequence, 2);
    assert.ok(cancelled.generated_tokens >= streamed, `${cancelled.generated_tokens} generated, ${streamed} seen`);
    const totals = stats(directory), sum = (key) => answers.reduce((so, a) => so + a.timings[key], 0);
    assert.equal(totals.prompt_tokens, sum("prompt_n") + cancelled.prompt_tokens);
    assert.equal(totals.generated_tokens, sum("predicted_n") + cancelled.generated_tokens);
    assert.ok(contexts.every((context) => context.changes_seen));
    return { all, contexts, cancelled };
}

test("concurrent, cached, streamed and cancelled requests", async (t) => {
    if (unusable) return t.skip(unusable);
    const answers = [];
    let streamed;
    const directory = await serving([], async (server) => { streamed = await mix(answers, server); });
    const { all } = compare(directory, answers, streamed);
    assert.equal(all.filter((r) => r.kind === "warmup").length, 2, "warm-up and probe");
    assertWhole(directory);
});

test("several samples of one prompt", async (t) => {
    if (unusable) return t.skip(unusable);
    let answers;
    const directory = await serving([], async ({ ask }) => { answers = await ask(text(0, 9), 7, { n_cmpl: 3 }); });
    const { requests: all } = requests(directory), samples = all.filter((r) => r.kind === "completion");
    assert.equal(answers.length, 3);
    assert.deepEqual(samples.map((r) => r.generated_tokens).sort(), answers.map((a) => a.timings.predicted_n).sort());
    const prompt = answers[0].timings.prompt_n;
    assert.deepEqual(samples.map((r) => [r.prompt_tokens, r.cached_tokens].join(" ")).sort(), [`0 ${prompt}`, `0 ${prompt}`, `${prompt} 0`], "it is computed once");
});

test("several samples of one prompt, of one token each: those that feed nothing are requests too", async (t) => {
    if (unusable) return t.skip(unusable);
    let answers;
    const directory = await serving([], async ({ ask }) => { answers = await ask(text(0, 9), 1, { n_cmpl: 3 }); });
    const { requests: all } = requests(directory), samples = all.filter((r) => r.kind === "completion"), prompt = answers[0].timings.prompt_n;
    assert.deepEqual(answers.map((a) => a.timings.predicted_n), [1, 1, 1]);
    assert.deepEqual(samples.map((r) => [r.prompt_tokens, r.cached_tokens, r.generated_tokens].join(" ")).sort(), [`0 ${prompt} 1`, `0 ${prompt} 1`, `${prompt} 0 1`]);
    assert.equal(stats(directory).generated_tokens, 3);
});

test("a draft model: what was drafted and accepted, for each request", async (t) => {
    if (unusable) return t.skip(unusable);
    const answers = [];
    let streamed;
    // Random weights never agree: the server is told how much to accept.
    const directory = await serving(["-md", small, "--spec-type", "draft-simple", "--spec-draft-n-max", "4", "--spec-draft-p-min", "0", "--spec-synth-len", "2.5"],
        async (server) => { streamed = await mix(answers, server); });
    const { all, contexts } = compare(directory, answers, streamed);
    assert.deepEqual(contexts.map((context) => context.target === null), [true, false]);
    assert.equal(contexts[1].target, contexts[0].context);
    const drafted = all.filter((r) => r.kind === "draft").reduce((so, r) => so + r.generated_tokens, 0);
    assert.equal(drafted, contexts[0].accepted_tokens + contexts[0].rejected_tokens);
});

test("embeddings are no generated tokens", async (t) => {
    if (unusable) return t.skip(unusable);
    let answer;
    const directory = await serving(["--embeddings", "--pooling", "mean"], async ({ post }) => {
        answer = await (await post("/v1/embeddings", { input: [text(0, 3), text(2, 5), "a"] })).json();
    });
    assert.equal(answer.data.length, 3);
    const totals = stats(directory), { requests: all } = requests(directory);
    assert.equal(totals.prompt_tokens, answer.usage.prompt_tokens);
    assert.equal(totals.generated_tokens, 0);
    assert.equal(all.filter((r) => r.kind === "embedding").length, 3);
});
