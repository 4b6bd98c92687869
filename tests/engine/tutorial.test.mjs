// Every command of docs/tutorial.md and README.md's models, as they stand there.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build, root, run, scratch } from "../lib.mjs";

const text = readFileSync(join(root, "docs", "tutorial.md"), "utf8");
const commands = [...text.matchAll(/^```sh\n([^]*?)^```/gm)].flatMap((block) => block[1].trim().split("\n"));
const directory = scratch("tutorial");
mkdirSync(directory);
const env = { ...process.env, PATH: `${join(build, "bin")}:${process.env.PATH}`, NO_COLOR: "1" };

test("the tutorial has its commands", () => assert.ok(commands.length >= 12));

for (const command of commands) {
    test(command, () => {
        const result = run("bash", ["-c", command], { cwd: directory, env });
        assert.equal(result.status, 0, result.stderr);
        if (/ggscope (stats|log|experts|check)/.test(command)) assert.ok(result.stdout.length > 100);
    });
}

test("what the tutorial quotes is what the commands say, numbers apart", () => {
    const quoted = [...text.matchAll(/^```text\n([^]*?)^```/gm)].map((block) => block[1]);
    assert.ok(quoted.length >= 5);
    const words = (line) => line.replace(/[\d.,▏▎▍▌▋▊▉█]+/g, " ").replace(/\b(us|ms|ns|s|B|KiB|MiB|GiB|K|M)\b/g, " ").replace(/\s+/g, " ").trim();
    const said = new Set(commands.filter((c) => /^ggscope (stats|log|experts)/.test(c) && !/json/.test(c))
        .flatMap((c) => run("bash", ["-c", c], { cwd: directory, env }).stdout.split("\n").map(words)));
    // Times decide the order of rows and which ops are the slowest, so each quoted line is looked for on its own; most must be there.
    const lines = quoted.flatMap((block) => block.trimEnd().split("\n")).map(words).filter((line) => line !== "");
    const missing = lines.filter((line) => !said.has(line));
    assert.ok(missing.length <= lines.length / 5, missing.join("\n"));
});
