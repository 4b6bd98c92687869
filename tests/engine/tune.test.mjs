// ggscope tune: remedies of explain, applied together and left out in turn.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { engine, ggscope, model, run } from "../lib.mjs";

const words = "The quick brown fox jumps over the lazy dog and runs away. ".repeat(8);
const program = (...options) => [engine, "run", "-m", model("tiny"), "-p", words, "-n", "3", "--ignore-eos", "-t", "1", ...options];
const left = () => readdirSync(process.env.TMPDIR ?? "/tmp").filter((name) => name.startsWith("ggscope-tune-")).length;

test("a program whose batches are small: the remedy is tried, and the command has it", () => {
    const before = left();
    const { status, stdout, stderr } = run(ggscope, ["tune", "--json", "-q", "--for", "prompt", "-r", "2", "--", ...program("--ubatch", "1")]);
    const tuned = JSON.parse(stdout), part = tuned.parts.find((p) => p.finding === "small-batches");
    assert.equal(part.setting, "--ubatch 512", stderr);
    assert.ok(part.without > 0);
    assert.equal(tuned.figure, "prompt_ns");
    assert.ok(tuned.runs >= 7 && tuned.rounds >= 2, stdout);
    assert.equal(status, tuned.better ? 0 : 1);
    if (tuned.better) assert.match(tuned.command, /--ubatch 512/);
    if (tuned.better) assert.doesNotMatch(tuned.command, /--ubatch 1 /);
    assert.equal(left(), before, "recordings are removed");
});

test("no program, a program that fails, and a figure that is none", () => {
    assert.equal(run(ggscope, ["tune"]).status, 2);
    const failed = run(ggscope, ["tune", "-q", "--", engine, "run", "-m", "/nonexistent.gguf", "-p", "x", "-n", "1"]);
    assert.equal(failed.status, 1);
    assert.match(failed.stderr, /cannot be tuned: it failed/);
    assert.equal(run(ggscope, ["tune", "--for", "nothing", "--", "true"]).status, 2);
});
