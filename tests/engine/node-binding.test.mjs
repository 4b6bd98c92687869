// ggscope record -- node script.mjs: node-llama-cpp, whose addon opens the engine with RTLD_LOCAL
// inside Node.js.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { model, scratch } from "../lib.mjs";
import { assertOpRuns, assertSteps, assertWhole, generateScript, libraries, newest, recordTwin, release } from "./node/recordings.mjs";

const only = process.arch !== "x64" ? { skip: `npm has these libraries for x64, this is ${process.arch}` }
    : parseInt(process.versions.node) < 20 ? { skip: `node-llama-cpp needs Node.js 20, this is ${process.versions.node}` } : {};
scratch();

test("a Node.js program is recorded in full, and its output is what it is without us", only, () => {
    const folder = release(newest);
    const { directory, stdout } = recordTwin([process.execPath, generateScript, folder, model("tiny"), "2", "5"]);
    const { prompt, generated } = JSON.parse(stdout);
    assert.equal(generated.length, 5);
    assertWhole(directory);
    assertOpRuns(directory, 2);
    assertSteps(directory, prompt, generated);

    const { engine, command, model_files: models } = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));
    assert.equal(command[0], process.execPath);
    assert.deepEqual(models.map(({ path }) => path), [model("tiny")]);
    for (const name of ["libllama", "libggml-base", "libggml-cpu"])
        assert.ok(engine.libraries.some(({ path }) => path.startsWith(libraries(folder)) && path.includes(name)), name);
});
