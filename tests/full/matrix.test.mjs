// The engine matrix: stock releases from llama.cpp b4753 to v0.5.0, recorded through their own Node.js binding and through
// ggscope-engine compiled against each one's headers.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output, root, run, scratch } from "../lib.mjs";
import {
    assertOpRuns, assertSteps, assertWhole, checkout, environment, generateScript, libraries, newest, promptTokens, recordTwin, release, rows,
    sourceBundle, stats,
} from "../engine/node/recordings.mjs";

const TOKENS = 5;
// b4753 does not know the architecture of `moe`; with that of llama it loads the same experts.
const releases = {
    "3.6.0": { llama: "b4753", moe: ["moe", "--arch", "llama"] },
    "3.10.0": { llama: "b5640", moe: ["moe"] },
    "3.18.1": { llama: "b8390", moe: ["moe"] },
    [newest]: { llama: "v0.5.0", moe: ["moe"] },
};
const only = process.arch === "x64" ? {} : { skip: `npm has these libraries for x64, this is ${process.arch}` };
scratch();

// A tree as llama.cpp's own builds leave it: headers, version files, libraries in bin/. Returns the compiled runner.
function compileRunner(folder) {
    const tree = join(folder, "engine"), binary = join(folder, "build");
    checkout(sourceBundle(folder), tree, ["/include/", "/ggml/include/", "/CMakeLists.txt", "/ggml/CMakeLists.txt"]);
    if (!existsSync(join(tree, "bin"))) symlinkSync(libraries(folder), join(tree, "bin"));
    const env = { ...process.env, GGSCOPE_ENGINE: tree };
    output("cmake", ["-G", "Ninja", "-S", root, "-B", binary, "-DCMAKE_BUILD_TYPE=Release", "-DGGSCOPE_WERROR=ON"], { env });
    const compiled = run("cmake", ["--build", binary, "--target", "ggscope-engine"], { env });
    assert.equal(compiled.status, 0, compiled.stdout + compiled.stderr);
    return join(binary, "bin", "ggscope-engine");
}

// The parts of the runner's answer that must not depend on whether it is recorded.
function answer(stdout) {
    const { text, ids, prompt_tokens, generated_tokens, logits_hash } = JSON.parse(stdout);
    return { text, ids, prompt_tokens, generated_tokens, logits_hash };
}

// Of each layer the trace holds which 4 of the 32 experts every token took, and that differs from token to token.
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

for (const [version, { llama, moe }] of Object.entries(releases)) {
    const name = (what) => `${version} (${llama}): ${what}`;
    let folder, runner;

    test(name("installs, and ggscope doctor finds everything that it needs"), only, () => {
        folder = release(version);
        const { checks } = JSON.parse(run(ggscope, ["doctor", "--json", "--engine", libraries(folder)]).stdout);
        for (const topic of ["ops", "graphs", "buffers", "files", "tokens"]) {
            const found = checks.filter((check) => check.topic === topic);
            assert.ok(found.length > 0, topic);
            assert.deepEqual(found.filter((check) => check.level !== "ok"), [], topic);
        }
    });

    test(name("ggscope-engine compiles against it without a warning"), only, () => {
        runner = compileRunner(folder ?? assert.fail("it is not installed"));
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
                });
            }
        }
    }
}
