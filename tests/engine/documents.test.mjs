// Every command of README, CONTRIBUTING, docs and the man pages. Commands in ```sh blocks are run
// as they are written, in a directory with the models and recordings of the tutorial;
// docs/tutorial.md has its own tests. Other commands have placeholders, or need other machines or
// programs: their verbs, options, targets and files must exist.
import { test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
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
const shell = (command) => run("bash", ["-c", command], { cwd: here, env, timeout: 120_000 });

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
const manuals = readdirSync(join(root, "docs", "man")).map((file) => `docs/man/${file}`);
const examples = (page) => [...read(page).replaceAll(/\\e\n\s*/g, "").matchAll(/^(?:\.Dl |\w*\$ +)?(ggscope(?:-engine)? .*)$/gm)].map(([, command]) => command);
// Examples of man pages, with the tutorial's models and recordings in place of placeholders. Left
// out are other programs, other machines, Graphviz (slow; tests/export has it) and commands of
// several lines.
const elsewhere = /llama-|python3|PROGRAM|DIR|FOLDER|experiments\/|settings\.json|study|today|\bm\.gguf|\bserve\b|\bsynth\b|\bseal\b|\bprove\b|\battach\b|\bcontrol\b|^ggscope record|--faults|--rpc|\bjoin\b|\bdot -T|\|$|SELECT|\(dq/;
for (const page of manuals) {
    const commands = examples(page).filter((command) => !elsewhere.test(command));
    if (commands.length === 0) continue;
    const place = join(here, page.split("/").at(-1));
    test(`${page}: ${commands.length} examples`, () => {
        mkdirSync(place);
        const given = { "tiny.gguf": "tiny.gguf", "model.gguf": /gguf\.1/.test(page) ? "moe.gguf" : "tiny.gguf", experiment: "dense" };
        for (const [name, target] of Object.entries(given)) symlinkSync(join("..", target), join(place, name));
        if (commands.some((command) => /^ggscope (explain|figure --kind)/.test(command))) cpSync(join(here, "sparse"), join(place, "experiments", "newest"), { recursive: true });
        for (const command of commands) {
            const { status, stderr } = run("bash", ["-c", command], { cwd: place, env });
            assert.equal(status, 0, `${command}\n${stderr}`);
            found++;
        }
    });
}
test("there are commands to run", () => assert.ok(found >= 28, String(found)));

// ---- commands that are not run: what they name exists ----

const spans = (page) => [...read(page).replace(/^```(?:sh|text|yaml|sql|js|python)?\n[^]*?^```$/gm, "").matchAll(/`([^`\n]+)`|^ {4}(?:\w*\$ +)?(\S.*)$/gm)].map(([, span, line]) => span ?? line.split(/ {3,}/)[0]);
// Commands in blocks of another kind: sessions with output, workflows.
const quoted = (page) => [...read(page).matchAll(/^```(?:text|yaml)\n([^]*?)^```$/gm)].flatMap(([, text]) =>
    [...text.replaceAll(/\\\n\s*/g, "").matchAll(/^[ \w-]*(?:: |\$ )?(?<![\w-])(ggscope(?:-engine)? .*)$/gm)].map(([, command]) => command));
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
        const words = rest.split(/ -- /)[0].replaceAll(/'[^']*'|"[^"]*"/g, ""); // a quoted value may hold options of another program
        for (const [option] of words.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)) if (!new RegExp(`${option}\\b`).test(stdout)) return `${program} ${verb} has no ${option}`;
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
    const all = [
        ...pages.flatMap((page) => [...spans(page), ...quoted(page)].map((span) => [page, span])),
        ...manuals.flatMap((page) => examples(page).map((command) => [page, command])),
    ];
    assert.ok(manuals.flatMap(examples).length > 40, "examples of man pages");
    assert.ok(pages.flatMap(quoted).length >= 10, "commands in other blocks");
    assert.ok(all.filter(([, span]) => /^ggscope/.test(span)).length > 100);
    assert.deepEqual(all.map(([page, span]) => [page, span, wrong(span)]).filter(([, , why]) => why !== undefined), []);
});
