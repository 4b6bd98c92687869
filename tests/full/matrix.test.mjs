// The engine matrix: stock releases from llama.cpp b4753 to v0.5.0, recorded through their own
// Node.js binding and through ggscope-engine and small programs compiled against each one's
// headers: servers, drafts, windows, ggml alone, joined recordings.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output, root, run, scratch } from "../lib.mjs";
import {
    assertOpRuns, assertSteps, assertWhole, checkout, environment, generateScript, libraries, newest, promptTokens, recordTwin, release, rows,
    sourceBundle, stats,
} from "../engine/node/recordings.mjs";

const TOKENS = 5;
// b4753 does not have the architecture of `moe`; with that of llama it loads the same experts.
// `older`: see tests/engine/older-releases.h.
const releases = {
    "3.6.0": { llama: "b4753", moe: ["moe", "--arch", "llama"], older: ["OLDER_MEMORY", "OLDER_CELLS", "OLDER_GGML"] },
    "3.10.0": { llama: "b5640", moe: ["moe"], older: ["OLDER_CELLS"] },
    "3.18.1": { llama: "b8390", moe: ["moe"] },
    [newest]: { llama: "v0.5.0", moe: ["moe"] },
};
// The patterns of tests/engine/server-host.c that releases might treat differently.
const patterns = ["slots", "cached", "forks", "perplexity", "shift", "turns", "warmup", "embeddings", "draft"];
const only = process.arch === "x64" ? {} : { skip: `npm has these libraries for x64, this is ${process.arch}` };
scratch();

// A tree like that of a llama.cpp build: headers, version files, libraries in bin/. Returns the
// folder with the compiled programs.
function compilePrograms(folder, older = ["OTHER_RELEASE"]) {
    const tree = join(folder, "engine"), binary = join(folder, "build");
    checkout(sourceBundle(folder), tree, ["/include/", "/ggml/include/", "/CMakeLists.txt", "/ggml/CMakeLists.txt"]);
    if (!existsSync(join(tree, "bin"))) symlinkSync(libraries(folder), join(tree, "bin"));
    const env = { ...process.env, GGSCOPE_ENGINE: tree };
    output("cmake", ["-G", "Ninja", "-S", root, "-B", binary, "-DCMAKE_BUILD_TYPE=Release", "-DGGSCOPE_WERROR=ON", `-DGGSCOPE_TEST_HOSTS=${older.join(";")}`], { env });
    const compiled = run("cmake", ["--build", binary, "--target", "ggscope-engine", "server-host", "whisper-host"], { env });
    assert.equal(compiled.status, 0, compiled.stdout + compiled.stderr);
    return binary;
}

// The parts of the runner's answer that must not depend on whether it is recorded.
function answer(stdout) {
    const { text, ids, prompt_tokens, generated_tokens, logits_hash } = JSON.parse(stdout);
    return { text, ids, prompt_tokens, generated_tokens, logits_hash };
}

// The trace has the 4 of 32 experts of every token and layer, and they differ between tokens.
function assertExperts(directory) {
    const LAYERS = 24, EXPERTS = 32, USED = 4;
    const { by_op, runs } = stats(directory);
    assert.equal(by_op.find(({ op }) => op === "MUL_MAT_ID").ops, 3 * LAYERS * runs, "gate, up and down");
    const choices = new Map(); // The first run is the prompt: there a row of 4 ids may be its tokens.
    for (const { run: number, width, slot, ne0, ne1, data } of rows(directory, "index")) {
        if (number === 1 || slot === 0 || width !== 4 || ne0 !== USED || ne1 !== 1) continue;
        const ids = Buffer.from(data, "hex");
        const experts = Array.from({ length: USED }, (_, i) => ids.readInt32LE(4 * i));
        assert.ok(new Set(experts).size === USED && experts.every((id) => id >= 0 && id < EXPERTS), experts.join(" "));
        choices.set(number, [...(choices.get(number) ?? []), experts.join(" ")]);
    }
    assert.deepEqual([...choices.values()].map((layers) => layers.length), new Array(runs - 1).fill(LAYERS));
    assert.equal(new Set([...choices.values()].map((layers) => layers.join("; "))).size, choices.size, "routing differs");
}

// Records a program that must succeed. `options` are of ggscope record.
let counter = 0;
function record(command, ...options) {
    const directory = scratch(`recorded-${counter++}`);
    const result = run(ggscope, ["record", "-q", "--no-faults", ...options, "-o", directory, "--", ...command], { env: environment });
    assert.equal(result.status, 0, result.stderr);
    return { directory, stdout: result.stdout };
}

// Compares a program's own account of its requests with the recording.
function assertRequests(directory, truth) {
    const { requests, contexts } = JSON.parse(output(ggscope, ["requests", "--json", directory]));
    assert.deepEqual(requests.map((r) => ({
        kind: r.kind, context: r.context, sequence: r.sequence, prompt: r.prompt_tokens, cached: r.cached_tokens, generated: r.generated_tokens,
        accepted: r.accepted_tokens, rejected: r.rejected_tokens,
    })), truth);
    assert.ok(contexts.every((context) => context.changes_seen), "by whichever names the release has for the memory functions");
    const totals = stats(directory), counted = truth.filter((r) => !["draft", "warmup"].includes(r.kind)), sum = (key) => counted.reduce((so, r) => so + r[key], 0);
    assert.deepEqual([totals.prompt_tokens, totals.generated_tokens], [sum("prompt"), sum("generated")]);
    return contexts;
}

// Records a running program from `start` to `stop`: the recording has generated tokens and nothing
// else.
async function recordWindow(command) {
    const directory = scratch(`window-${counter++}`);
    const child = spawn(ggscope, ["record", "-q", "--no-faults", "--paused", "-o", directory, "--", ...command], { env: environment, stdio: ["ignore", "pipe", "ignore"] });
    const ended = once(child, "exit"), control = (...words) => output(ggscope, ["control", directory, ...words]);
    try {
        await once(child.stdout, "data"); // wait until it generates
        child.stdout.resume();
        assert.equal(control("start"), "recording\n");
        for (let recorded = 0; recorded < 3;) {
            const snapshot = scratch(`snapshot-${counter++}`);
            control("snapshot", "-o", snapshot);
            recorded = stats(snapshot).tokens;
        }
        assert.equal(control("stop"), "paused\n");
    } finally {
        child.kill("SIGTERM");
        await ended;
    }
    return directory;
}

for (const [version, { llama, moe, older }] of Object.entries(releases)) {
    const name = (what) => `${version} (${llama}): ${what}`;
    const single = new Map(); // preset -> a recording with one thread
    let folder, runner, hosts;

    test(name("installs, and ggscope doctor finds everything that it needs"), only, () => {
        folder = release(version);
        const { checks } = JSON.parse(run(ggscope, ["doctor", "--json", "--engine", libraries(folder)]).stdout);
        for (const topic of ["ops", "graphs", "buffers", "files", "tokens"]) {
            const found = checks.filter((check) => check.topic === topic);
            assert.ok(found.length > 0, topic);
            assert.deepEqual(found.filter((check) => check.level !== "ok"), [], topic);
        }
    });

    test(name("ggscope-engine and the hosts compile against it without a warning"), only, () => {
        const binary = compilePrograms(folder ?? assert.fail("it is not installed"), older);
        runner = join(binary, "bin", "ggscope-engine");
        hosts = join(binary, "tests");
        const [, versions, directory] = output(runner, ["version"], { env: environment }).trimEnd().split("\n");
        assert.match(versions, /^llama\.cpp /);
        assert.equal(directory, libraries(folder));
    });

    test(name("requests of two sequences, one of them used again"), only, () => {
        const directory = scratch(`sequences-${version}`);
        const script = join(root, "tests", "engine", "node", "sequences.mjs");
        const recorded = run(ggscope, ["record", "-q", "-o", directory, "--", process.execPath, script, release(version), model("tiny")], { env: environment });
        assert.equal(recorded.status, 0, recorded.stderr);
        const { requests, contexts, cells } = JSON.parse(output(ggscope, ["requests", "--json", "--cells", directory]));
        const found = requests.filter((r) => r.kind !== "warmup");
        assert.deepEqual(found.map((r) => [r.prompt_tokens, r.generated_tokens]), JSON.parse(recorded.stdout));
        assert.deepEqual(found.map((r) => [r.sequence, r.cached_tokens]), [[0, 0], [1, 0], [0, 0]]);
        assert.ok(contexts.at(-1).removed > 0 && contexts.at(-1).changes_seen, "by whichever name the release has for it");
        const used = cells.filter((use) => use.token !== null);
        assert.ok(used.length > 10 && used.every((use) => use.up_to >= use.cells && use.by_sequence.every((own) => own.last_cell >= own.first_cell)), "real cells");
    });

    for (const [preset, ...options] of [["tiny"], moe]) {
        for (const threads of [1, 2]) {
            const what = `${[preset, ...options].join(" ")}, threads: ${threads}`;
            const file = () => model(preset, ...options);
            const recordings = {
                "Node.js": () => [process.execPath, generateScript, folder, file(), threads, TOKENS].map(String),
                "ggscope-engine": () => [runner, "run", "-m", file(), "-p", "Once upon a time", "-n", TOKENS, "-t", threads,
                    "--ignore-eos", "--json", "--logits-hash"].map(String),
            };
            for (const [driver, command] of Object.entries(recordings)) {
                test(name(`${driver}, ${what}`), only, async (t) => {
                    assert.ok(driver === "Node.js" ? folder : runner, "it is not installed or not compiled");
                    const compare = driver === "Node.js" ? undefined : answer;
                    const { directory, stdout } = recordTwin(command(), { compare });
                    const said = JSON.parse(stdout);
                    await t.test("covered and consistent", () => assertWhole(directory));
                    await t.test("one op run per op and thread", () => assertOpRuns(directory, threads));
                    await t.test("token steps", () => {
                        const generated = said.generated ?? said.ids;
                        assert.equal(generated.length, TOKENS);
                        assertSteps(directory, said.prompt ?? promptTokens, generated);
                    });
                    if (preset === "moe") await t.test("experts", () => assertExperts(directory));
                    if (driver === "ggscope-engine" && threads === 1) single.set(preset, directory);
                });
            }
        }
    }

    test(name("servers: every request has the counts that the program tells"), only, async (t) => {
        assert.ok(hosts, "it is not compiled");
        for (const pattern of patterns) {
            await t.test(pattern, () => {
                const small = model("tiny", "--layers", "2"), models = pattern === "draft" ? [model("tiny"), small] : [small];
                const { directory, stdout } = record([join(hosts, "server-host"), pattern, ...models]);
                const contexts = assertRequests(directory, JSON.parse(stdout.trim().split("\n").at(-1)).requests);
                if (pattern !== "draft") return;
                assert.deepEqual(contexts.map((context) => context.target), [null, 0], "the draft's context names its target");
                const { by_context: by, ops } = JSON.parse(output(ggscope, ["stats", "--json", "--by", "context", directory]));
                assert.equal(by.length, 2);
                assert.equal(by[0].ops + by[1].ops, ops, "every op belongs to one of the two");
            });
        }
    });

    test(name("ggml without llama.cpp: graph runs are the steps, and every node is seen"), only, () => {
        const program = join(hosts ?? assert.fail("it is not compiled"), "whisper-host"), file = scratch(`speech-${version}.gguf`);
        output(program, ["make", file]);
        const command = [program, "run", file, "-b", libraries(folder), "-t", "1"], lines = (text) => text.trim().split("\n").map((line) => JSON.parse(line));
        const { directory, stdout } = record(command), told = lines(stdout);
        assert.deepEqual(told, lines(output(command[0], command.slice(1))), "it computes what it computes alone");
        const totals = assertWhole(directory);
        assert.deepEqual([totals.step_kind, totals.tokens, totals.prompt_tokens], ["graph run", told.length, 0]);
        assert.deepEqual(rows(directory, "runs").map((r) => r.nodes), told.map((line) => line.nodes));
    });

    test(name("windows: so many steps, and from start to stop while it runs"), only, async () => {
        const generate = (count) => [runner ?? assert.fail("it is not compiled"), "run", "-m", model("tiny", "--layers", "2"), "-p", "Once upon a time", "-n", String(count), "--ctx", "100100", "-t", "1", "--ignore-eos"];
        const few = record(generate(8), "--steps", "3").directory;
        assert.deepEqual([stats(few).tokens, rows(few, "windows").length], [3, 1]);
        const window = await recordWindow(generate(100_000)), { tokens, prompt_tokens: prompt, generated_tokens: generated } = stats(window);
        assert.deepEqual([prompt, generated], [0, tokens]);
        const [span] = rows(window, "windows");
        assert.ok(rows(window, "runs").every((r) => r.begin_ns >= span.begin_ns && r.begin_ns <= span.end_ns));
    });

    test(name("two recordings joined: every count is the sum of theirs"), only, () => {
        assert.equal(single.size, 2, "the recordings before are there");
        const parts = [...single.values()], joined = scratch(`joined-${version}`);
        output(ggscope, ["join", "-q", ...parts, "-o", joined]);
        const all = assertWhole(joined), each = parts.map(stats);
        for (const key of ["tokens", "prompt_tokens", "generated_tokens", "runs", "nodes", "ops", "op_runs", "bytes_read"]) assert.equal(all[key], each[0][key] + each[1][key], key);
    });
}
