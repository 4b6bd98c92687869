// Every command of README, CONTRIBUTING and docs. What stands in a ```sh block is run as it stands there, in a directory with the
// models and recordings of the tutorial; docs/tutorial.md has tests of its own. Commands elsewhere have placeholders, other machines or
// programs in them: their verbs, options, targets and files must be there.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { bin, build, root, run, scratch } from "../lib.mjs";
import { noGroups } from "../memory-group.mjs";
import { sections } from "../tutorial.mjs";

const pages = ["README.md", "CONTRIBUTING.md", ...readdirSync(join(root, "docs")).filter((f) => f.endsWith(".md")).map((f) => `docs/${f}`)];
const read = (page) => readFileSync(join(root, page), "utf8");
const lines = (text) => text.trim().replaceAll(/\\\n\s*/g, "").split(/\n(?! )/);
const blocks = (page) => [...read(page).matchAll(/^```sh\n([^]*?)^```$/gm)].flatMap(([, text]) => lines(text));

const here = scratch("documents");
mkdirSync(here);
const env = { ...process.env, PATH: `${join(build, "bin")}:${process.env.PATH}`, NO_COLOR: "1" };
const shell = (command) => run("bash", ["-c", command], { cwd: here, env });

test("the models and recordings of the tutorial", () => {
    for (const { kind, text } of sections[0].parts)
        if (kind === "sh" && !/check/.test(text))
            for (const command of lines(text)) {
                const { status, stderr } = shell(command);
                assert.equal(status, 0, `${command}\n${stderr}`);
            }
});

let found = 0;
for (const page of pages.filter((page) => page !== "docs/tutorial.md")) {
    const absent = new Map(); // recordings that this machine cannot make -> why
    for (const command of blocks(page)) {
        found++;
        test(`${page}: ${command.split("\n")[0]}`, (t) => {
            const why = (/ --memory /.test(command) && noGroups) || [...absent].find(([name]) => new RegExp(`\\b${name}\\b`).test(command))?.[1];
            if (why) {
                const [, made] = / -o (\w+)/.exec(command) ?? [];
                if (made) absent.set(made, why);
                return t.skip(why);
            }
            const { status, stdout, stderr } = shell(command);
            assert.equal(status, 0, stderr);
            if (/^ggscope (stats|prove|paging|sql|diff|bench)\b[^|]*$/.test(command)) assert.ok(stdout.length > 60, stdout);
        });
    }
}
test("there are commands to run", () => assert.ok(found >= 12, String(found)));

// ---- commands that are not run: what they name is there ----

const spans = (page) => [...read(page).replace(/^```(?:sh|text|yaml|sql|js|python)?\n[^]*?^```$/gm, "").matchAll(/`([^`\n]+)`|^ {4}(?:\w*\$ +)?(\S.*)$/gm)].map(([, span, line]) => span ?? line.split(/ {3,}/)[0]);
const help = new Map();
const helpOf = (program, verb) => {
    const key = `${program} ${verb}`;
    if (!help.has(key)) help.set(key, run(bin(program), [verb, "--help"]));
    return help.get(key);
};
// What is wrong with a command; undefined: nothing.
function wrong(command) {
    const [, program, verb, rest] = /^(ggscope(?:-engine)?) ([a-z]+)\b(.*)$/.exec(command) ?? [];
    if (program) {
        if (["help", "version"].includes(verb)) return undefined;
        const { status, stdout } = helpOf(program, verb);
        if (status !== 0) return `there is no ${program} ${verb}`;
        for (const [option] of rest.split(/ -- /)[0].matchAll(/(?<![\w-])--[a-z][a-z-]*/g)) if (!new RegExp(`${option}\\b`).test(stdout)) return `${program} ${verb} has no ${option}`;
    }
    const [, target] = /^make ([a-z][a-z-]*)/.exec(command) ?? [];
    if (target && !new RegExp(`^${target}:`, "m").test(read("Makefile"))) return `there is no make ${target}`;
    for (const [, file] of command.matchAll(/(?<![\w./-])((?:scripts|tests)\/[\w./-]*\w)/g)) {
        const at = [file, `${file}.test.mjs`, `${file}.c`].some((name) => existsSync(join(root, name)));
        if (!at) return `there is no ${file}`;
    }
    return undefined;
}

test("verbs, options, targets and files that documents name are there", () => {
    assert.equal(wrong("ggscope stats --by op"), undefined);
    assert.match(wrong("ggscope stats --nothing"), /has no --nothing/);
    assert.match(wrong("ggscope nothing"), /no ggscope nothing/);
    assert.match(wrong("make nothing"), /no make nothing/);
    assert.match(wrong("node tests/bench/nothing.mjs"), /no tests\/bench\/nothing/);
    const all = pages.flatMap((page) => spans(page).map((span) => [page, span]));
    assert.ok(all.filter(([, span]) => /^ggscope/.test(span)).length > 100);
    assert.deepEqual(all.map(([page, span]) => [page, span, wrong(span)]).filter(([, , why]) => why !== undefined), []);
});
