// ggscope attach in longer cases than tests/engine/attach*.test.mjs: a Vulkan device, llama-server
// under load, a request in progress, Node.js and Go.
import { test } from "node:test";
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { Host, attach, attachTo, skip, sleep, start, tiny, until } from "../engine/attaching.mjs";
import { checkout, environment, generateScript, libraries, newest, release, sourceBundle } from "../engine/node/recordings.mjs";
import { check, host, jsonLines, rows, stats } from "../engine/traces.mjs";
import { env, maybe } from "../engine/vulkan.mjs";
import { freePort } from "../server.mjs";
import { buildServer, unbuildable } from "./llama-server.mjs";

maybe("Vulkan, whose device was made before: graph runs as a whole, and it says so", async () => {
    const program = start(host, ["endless", "-g", "3", "-l", "99", tiny], { env });
    const hashes = () => [...program.said.stdout.matchAll(/"logits":(\d+)/g)].map(([, hash]) => hash);
    for (let i = 0; hashes().length < 5 && i < 10; i++) await until("the shaders", () => program.child.exitCode === null && hashes().length >= 5).catch(() => {});
    const a = attachTo(String(program.child.pid), "--steps", "6"), { status, stderr } = await a.ended;
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^opaque +\d+ nodes ran on a backend that is seen as a whole only$/m);
    check(a.directory);
    const { steps } = rows(a.directory, "steps");
    assert.equal(steps.length, 6);
    const n = hashes().length;
    await until("it to go on", () => hashes().length > n + 3);
    hashes().forEach((hash, i) => assert.equal(hash, hashes()[i % 4], `step ${i}`));
});

// They spin at each barrier: with fewer processors a step takes seconds.
test("64 threads, on however many processors: attached again and again, nothing is left", { skip }, async (t) => {
    const program = new Host("-t", "64", "-g", "1");
    const more = async (n) => {
        const last = program.hashes().length + n, minutes = 10;
        for (let i = 0; program.hashes().length < last && i < minutes; i++) await until("steps", () => program.child.exitCode !== null || program.hashes().length >= last).catch(() => {});
        assert.ok(program.hashes().length >= last, `${program.hashes().length} steps, ${program.said.stderr}`);
    };
    await more(3);
    const before = program.image(), stood = [];
    let counts;
    for (let i = 0; i < 3; i++) {
        const a = attachTo(program.pid, "--steps", "1"), { status, stderr } = await a.ended;
        assert.equal(status, 0, stderr);
        stood.push(stderr.match(/stood for ([\d.]+) ms/)[1]);
        check(a.directory);
        const { threads, op_runs, ops, unseen, lost } = stats(a.directory);
        assert.deepEqual([threads, op_runs, unseen, lost], [64, ops * 64, 0, 0]);
        await more(1);
        const { descriptors, files } = program.counts(); // it makes its threads for each graph
        counts ??= { descriptors, files };
        assert.deepEqual({ descriptors, files }, counts, "descriptors and mapped files");
        assert.deepEqual(program.image().fixed, before.fixed, "code and permissions");
        assert.equal(program.image().words, 0, "no slot leads to the library");
    }
    const hashes = program.hashes();
    hashes.forEach((hash, i) => assert.equal(hash, hashes[i % 2], `step ${i}`));
    t.diagnostic(`the borrowed thread stood for ${stood.join(", ")} ms`);
});

const unbuilt = skip || unbuildable() || false;
const prompts = ["the quick brown fox", "seven tiny models", "in the deep night", "once upon a time"];

// A server with 4 slots. The end of the test ends it.
async function serve(env, ...options) {
    const port = await freePort(), url = `http://127.0.0.1:${port}`;
    const server = start(buildServer(), ["-m", model("tiny"), "--parallel", "4", "-t", "1", "-tb", "1", "-c", "2048", "--host", "127.0.0.1", "--port", String(port), ...options], { env });
    for (let ready = false; !ready; await sleep(50)) {
        assert.equal(server.child.exitCode, null, server.said.stderr.slice(-2000));
        ready = await fetch(`${url}/health`).then((answer) => answer.ok, () => false);
    }
    const ask = async (prompt) => (await (await fetch(`${url}/completion`, { method: "POST", headers: { "content-type": "application/json" },
        body: JSON.stringify({ prompt, n_predict: 16, temperature: 0, ignore_eos: true, cache_prompt: false }) })).json()).content;
    // One request after the other: what is computed together, and so its sums, is always the same.
    const askAll = async () => { const answers = []; for (const prompt of prompts) answers.push(await ask(prompt)); return answers; };
    // All slots are busy while `work` goes on.
    const busy = async (work) => {
        let over = false;
        const clients = prompts.map(async (prompt) => { const answers = []; while (!over) answers.push(await ask(prompt)); return answers; });
        await work().finally(() => (over = true));
        for (const answers of await Promise.all(clients)) assert.ok(answers.length > 1 && answers.every((text) => typeof text === "string" && text.length > 0));
        assert.equal(server.child.exitCode, null, server.said.stderr.slice(-2000));
    };
    return { pid: String(server.child.pid), askAll, busy };
}

async function recordServer({ pid, askAll, busy }, times, judge) {
    const before = await askAll();
    await busy(async () => {
        for (let i = 0; i < times; i++) {
            const { directory, status, stderr } = await attach(pid, "--requests", "8");
            assert.equal(status, 0, stderr);
            check(directory);
            const { requests } = JSON.parse(output(ggscope, ["requests", "--json", directory]));
            assert.ok(requests.length >= 8, `${requests.length} requests`);
            judge(directory);
        }
    });
    const recording = attachTo(pid);
    await recording.attached;
    const during = await askAll();
    recording.child.kill("SIGINT");
    const { status, stderr } = await recording.ended;
    assert.equal(status, 0, stderr);
    assert.deepEqual(during, before, "the same answers while it is recorded");
    const { requests } = JSON.parse(output(ggscope, ["requests", "--json", recording.directory]));
    assert.deepEqual(requests.map((r) => r.generated_tokens), prompts.map(() => 16));
    assert.deepEqual(await askAll(), before, "and afterwards");
}

test("llama-server with 4 slots under load: recorded, and every request is answered", { skip: unbuilt }, async () =>
    recordServer(await serve(environment), 3, (directory) => assert.equal(stats(directory).unseen, 0)));

maybe("llama-server on Vulkan with 4 slots under load: graph runs with their times, and every request is answered", async (t) => {
    if (unbuilt) return t.skip(unbuilt);
    const server = await serve({ ...env, GGML_BACKEND_PATH: join(env.GGSCOPE_ENGINE, "libggml-vulkan.so") }, "-ngl", "99");
    await recordServer(server, 2, (directory) => {
        const { runs } = rows(directory, "runs"), totals = stats(directory);
        assert.ok(totals.opaque > 0 && totals.unseen === 0, `${totals.opaque} opaque, ${totals.unseen} unseen`);
        for (const one of runs) assert.ok(one.end_ns > one.begin_ns, JSON.stringify(one));
    });
});

test("a request under way: what came before is not seen", { skip }, async () => {
    const program = start(host, ["endless", "-g", "600", tiny]);
    await until("the middle of a generation", () => (program.said.stdout.match(/logits/g) ?? []).length > 20);
    const { directory, status, stderr } = await attach(String(program.child.pid), "--steps", "4");
    assert.equal(status, 0, stderr);
    check(directory);
    const { steps, tokens } = rows(directory, "steps", "tokens");
    assert.equal(steps.length, 4);
    assert.equal(tokens.length, 4, "the tokens that came before are no rows");
    const fed = jsonLines(program.said.stdout.slice(0, program.said.stdout.lastIndexOf("\n"))).filter((l) => l.decode);
    const first = fed.findIndex((l) => l.positions[0] === tokens[0].position);
    assert.ok(tokens[0].position > 0 && first > 0);
    tokens.forEach((t, i) => assert.deepEqual([t.token, t.position], [fed[first + i].tokens[0], fed[first + i].positions[0]]));
});

// A program in another language that generates the same repeatedly, one line each time: recorded
// twice, and every line stays the same.
async function assertAttachable(program) {
    const lines = () => program.said.stdout.split("\n").slice(0, -1);
    const more = (n) => { const before = lines().length; return until("the program's next lines", () => (assert.equal(program.child.exitCode, null, program.said.stderr), lines().length >= before + n)); };
    await more(2);
    for (let i = 0; i < 2; i++) {
        const { directory, status, stderr } = await attach(String(program.child.pid), "--steps", "6");
        assert.equal(status, 0, stderr);
        check(directory);
        const totals = stats(directory);
        assert.deepEqual([totals.unseen, totals.opaque, totals.lost, totals.threads], [0, 0, 0, 2]);
        assert.equal(rows(directory, "steps").steps.length, 6);
        await more(2);
    }
    assert.deepEqual([...new Set(lines())].length, 1, "every line is the same");
}

const old = parseInt(process.versions.node) < 20 ? `node-llama-cpp needs Node.js 20, this is ${process.versions.node}` : false;
test("Node.js, whose addon opens the engine with RTLD_LOCAL", { skip: skip || old }, async () => {
    await assertAttachable(start(process.execPath, [generateScript, release(newest), model("tiny"), "2", "5", "Once upon a time", "endless"], { env: environment }));
});

const goless = run("sh", ["-c", "command -v go"]).status === 0 ? false : "there is no go (apt install golang-go, 464 MB)";
test("Go with cgo", { skip: skip || goless }, async () => {
    const stock = libraries(release(newest)), source = join(root, "build", "static", "source"), folder = scratch("cgo");
    checkout(sourceBundle(release(newest)), source);
    mkdirSync(folder);
    writeFileSync(join(folder, "go.mod"), "module host\n");
    writeFileSync(join(folder, "host.c"), `#define BACKENDS "${stock}"\n#include "${join(root, "tests", "full", "inside-host.c")}"\n`);
    writeFileSync(join(folder, "main.go"), `package main
/*
#cgo CFLAGS: -O2 -DAS_LIBRARY -I${source}/include -I${source}/ggml/include
#cgo LDFLAGS: -L${stock} -l:libllama.v0.5.0.so -l:libggml.v0.5.0.so -l:libggml-base.so -Wl,-rpath,${stock} -Wl,--allow-shlib-undefined
int host_main(int argc, char ** argv);
#include <stdio.h>
static int once(char * model) { char * words[] = {"host", model, "2", "6", 0}; int status = host_main(4, words); fflush(stdout); return status; }
*/
import "C"
import "os"
func main() {
	for C.once(C.CString(os.Args[1])) == 0 {
	}
	os.Exit(1)
}
`);
    const env = { ...environment, CGO_LDFLAGS_ALLOW: ".*", CGO_CFLAGS_ALLOW: ".*", GOCACHE: scratch("go-cache"), GOFLAGS: "-mod=mod", GO111MODULE: "on" };
    output("go", ["build", "-o", "host"], { cwd: folder, env });
    await assertAttachable(start(join(folder, "host"), [model("tiny")], { env: environment }));
});
