// ggscope itself: help, version, unknown verbs, closed pipes.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ggscope, engine, output, run } from "../lib.mjs";

for (const program of [ggscope, engine]) {
    const name = program.split("/").pop();
    test(`${name} --version prints one version`, () => {
        const result = run(program, ["--version"]);
        assert.equal(result.status, 0);
        assert.match(result.stdout, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+`));
    });
    test(`${name} --help lists the verbs on stdout`, () => {
        const result = run(program, ["--help"]);
        assert.equal(result.status, 0);
        assert.match(result.stdout, name === "ggscope" ? /\bgguf\b/ : /\bsynth\b[^]*|\brun\b/);
        assert.equal(result.stderr, "");
    });
    test(`${name} without a verb explains itself on stderr, exit 2`, () => {
        const result = run(program, []);
        assert.equal(result.status, 2);
        assert.equal(result.stdout, "");
        assert.match(result.stderr, /Usage/);
    });
    test(`${name} with a wrong verb says so in one line, exit 2`, () => {
        const result = run(program, ["gguff"]);
        assert.equal(result.status, 2);
        assert.equal(result.stdout, "");
        assert.match(result.stderr, new RegExp(`^${name}: there is no verb 'gguff'.*\\n$`));
    });
}

test("ggscope-engine VERB -h, --help and help VERB say the same", () => {
    for (const verb of ["run", "replay", "synth", "version"]) {
        const help = output(engine, [verb, "--help"]);
        assert.match(help, new RegExp(`^Usage: ggscope-engine ${verb} `));
        assert.deepEqual([output(engine, [verb, "-h"]), output(engine, ["help", verb])], [help, help]);
    }
    assert.match(run(engine, ["help", "runn"]).stderr, /^ggscope-engine: there is no verb 'runn'/);
});

test("ggscope help says what a word means", () => {
    const help = (...words) => run(ggscope, ["help", ...words]);
    assert.match(help("Lane").stdout, /^lane: .*queue of a device\.\n$/);
    assert.match(help("graph", "run").stdout, /^graph run: /);
    assert.match(help("graph").stdout, /^Usage: ggscope graph /);
    assert.match(help("words").stdout, /^absorbed: .*\n(\w[\w ]*: .*\.\n){20,29}$/);
    assert.deepEqual([help("lanes of").status, help("lanes of").stdout], [2, ""]);
});

test("ggscope guesses the verb that was meant", () => {
    assert.match(run(ggscope, ["ggu"]).stderr, /did you mean 'gguf'\?/);
});
