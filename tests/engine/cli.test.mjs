// The front door of ggscope: help, version, wrong verbs, closed pipes.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ggscope, engine, run } from "../lib.mjs";

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

test("ggscope guesses the verb that was meant", () => {
    assert.match(run(ggscope, ["ggu"]).stderr, /did you mean 'gguf'\?/);
});
