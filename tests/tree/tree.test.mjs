// What must hold of the source tree itself: which way includes point, what is banned, what must not be committed.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { ggscope, root, run } from "../lib.mjs";

const files = run("git", ["ls-files"], { cwd: root }).stdout.split("\n").filter((f) => f && existsSync(join(root, f)));
const read = (file) => readFileSync(join(root, file), "utf8");
const sources = files.filter((f) => /^(src|include)\/.*\.[ch]$/.test(f));

// folder -> the folders it may include from (besides itself)
const sees = {
    base: [],
    gguf: ["base"],
    trace: ["base"],
    capture: ["base", "trace"],
    stream: ["base", "capture", "trace"],
    analyze: ["base", "gguf", "trace"],
    answer: ["base", "gguf", "trace", "analyze"],
    record: ["base", "gguf", "trace", "engine"],
    export: ["base", "gguf", "trace", "analyze", "answer"],
    serve: ["base", "gguf", "trace", "analyze", "answer"],
    wasm: ["base", "serve"],
    cli: ["base", "gguf", "trace", "analyze", "answer", "record", "export", "serve", "engine"],
    engine: ["base", "gguf"],
};

test("includes point one way", () => {
    assert.ok(sources.length > 10);
    for (const file of sources.filter((f) => f.startsWith("src/"))) {
        const folder = file.split("/")[1];
        assert.ok(folder in sees, `${file}: a folder that the table of this test does not know`);
        for (const [, target] of read(file).matchAll(/^#include "([a-z]+)\//gm))
            assert.ok(target === folder || sees[folder].includes(target), `${file} includes from ${target}/`);
    }
});

test("cli and record take only locate.h and options.h from the engine's folder", () => {
    for (const file of sources.filter((f) => /^src\/(cli|record)\//.test(f)))
        for (const [, header] of read(file).matchAll(/^#include "engine\/([^"]+)"/gm)) assert.ok(["locate.h", "options.h"].includes(header), file);
});

test("one name, one thing: no struct, enum, value or function is defined twice", () => {
    // A function may have the name of the struct that it fills, in its own folder. Code that is linked in another's place has its names.
    const folder = (file) => file.replace(/[^/]*$/, "").replace("src/wasm/", "src/serve/").replace("include/", "src/base/");
    const twice = (texts) => {
        const found = new Map(), add = (name, file) => found.set(name, (found.get(name) ?? new Set()).add(file));
        for (const [file, text] of texts) {
            const code = text.replace(/\/\/.*$/gm, "");
            for (const [, name] of code.matchAll(/^\s*(?:typedef )?(?:struct|enum|union) (ggs_\w+)\s*\{/gm)) add(name, file);
            for (const [, values] of code.matchAll(/\benum(?: \w+)?\s*\{([^}]*)\}/g)) for (const [, name] of values.matchAll(/(?:^|,)\s*(GGS_\w+)/g)) add(name, file);
            for (const [, name] of code.matchAll(/^(?!static\b|return\b)[A-Za-z][^;{}#=]*?\b(ggs_\w+)\([^;{}#]*\)\s*\{/gm)) add(name, file);
        }
        return [...found].map(([name, at]) => [name, ...new Set([...at].map(folder))]).filter((places) => places.length > 2).map((places) => places.join(" "));
    };
    assert.deepEqual(twice([["src/a/x.h", "struct ggs_x {\n    int a;\n};"], ["src/b/x.h", "enum ggs_x { A };"]]), ["ggs_x src/a/ src/b/"]);
    assert.deepEqual(twice([["src/a/x.c", "int ggs_x(int a,\n  int b) {\n}"], ["src/b/x.c", "struct ggs_y * ggs_x(void) {"]]), ["ggs_x src/a/ src/b/"]);
    assert.deepEqual(twice([["src/a/x.c", "int ggs_x(void) {\n    return ggs_y(1);\n}"], ["src/b/x.h", "int ggs_x(void);\nstruct ggs_y * y;"]]), []);
    assert.deepEqual(twice(sources.map((file) => [file, read(file)])), []);
});

test("headers and sources that comments name are there", () => {
    for (const file of sources)
        for (const [, comment] of read(file).matchAll(/\/\/(.*)$/gm))
            for (const [, name] of comment.matchAll(/(?<![\w./-])([\w/-]+\.[ch])\b/g))
                if (!/VERB|^ggml/.test(name)) assert.ok(sources.some((other) => `/${other}`.endsWith(`/${name}`)), `${file} names ${name}, which is not there`);
});

test("no banned functions", () => {
    const banned = /\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|system)\s*\(/;
    for (const file of sources) assert.doesNotMatch(read(file).replace(/\/\/.*$/gm, ""), banned, file);
});

test("library code neither prints nor exits", () => {
    const talk = /(^|[^a-z_])(printf|puts|putchar|perror|exit|_exit|abort)\s*\(|\b(fprintf|vfprintf|fputs|fputc|putc|fwrite|dprintf|write)\s*\([^;]*\b(stdout|stderr|STD(OUT|ERR)_FILENO)\b/m;
    for (const line of ['printf("x");', 'fprintf(stdout, "x");', 'fputs("x", stderr);', "fwrite(data, 1, n, stdout);", "exit(1);"]) assert.match(line, talk);
    for (const line of ['fprintf(file, "x");', 'snprintf(text, n, "x");', "fputs(text, out);"]) assert.doesNotMatch(line, talk);
    for (const file of sources.filter((f) => /^src\/((gguf|trace|analyze|answer|export|record\/observe)\/|record\/memory\/(?!conditions))/.test(f)))
        assert.doesNotMatch(read(file).replace(/\/\/.*$/gm, ""), talk, file);
});

test("no paths of one machine, no markers of unfinished work", () => {
    for (const file of files.filter((f) => !/package-lock\.json$|\.(png|gif|webp|ggs)$|^tests\/tree\//.test(f))) {
        const text = read(file);
        assert.doesNotMatch(text, /(\/work\/|\/root\/|\/home\/[a-z])/, file);
        assert.doesNotMatch(text, /\b(TODO|FIXME|XXX|HACK)\b/, file);
    }
});

test("no generated file is committed, and lock files name no host", () => {
    for (const file of files) assert.doesNotMatch(file, /(^build\/|node_modules\/|\.(o|so|a|gguf)$)/, file);
    for (const file of files.filter((f) => f.endsWith("package-lock.json"))) assert.doesNotMatch(read(file), /"resolved"/, file);
});

test("man pages are clean", (t) => {
    const pages = files.filter((f) => /^docs\/man\/.*\.[15]$/.test(f));
    assert.ok(pages.length > 0);
    for (const page of pages) {
        const lint = run("mandoc", ["-Tlint", "-Wwarning", page], { cwd: root });
        assert.equal(lint.stdout, "", page);
    }
});

test("every verb has a man page, a line in ggscope(1) and one in --help", () => {
    const commands = [...read("src/cli/main.c").matchAll(/^\s*\{"([a-z]+)", cmd_/gm)].map((m) => m[1]);
    assert.ok(commands.length > 0);
    const page = read("docs/man/ggscope.1"), help = run(ggscope, ["--help"]);
    assert.equal(help.status, 0, help.stderr);
    for (const command of commands) {
        assert.ok(existsSync(join(root, `docs/man/ggscope-${command}.1`)), `docs/man/ggscope-${command}.1`);
        assert.match(page, new RegExp(`ggscope-${command}`), `ggscope(1) names ${command}`);
        assert.match(help.stdout, new RegExp(`^  ${command} +\\S.*$`, "m"), `ggscope --help names ${command}`);
        assert.match(run(ggscope, [command, "--help"]).stdout, new RegExp(`^Usage: ggscope ${command} `), `ggscope ${command} --help`);
    }
});

test("every file that docs/architecture.md names is there, and it says where twelve kinds of change go", () => {
    const page = read("docs/architecture.md");
    const named = [...page.matchAll(/`((?:src|include|ui|tests|docs|cmake|scripts)\/[A-Za-z0-9_./-]+)`/g)].map((m) => m[1]).filter((name) => !name.includes("VERB"));
    assert.ok(named.length > 40, `${named.length} names`);
    for (const name of named) assert.ok(existsSync(join(root, name)), `docs/architecture.md names ${name}, which is not there`);
    const rows = page.split("## Where do I add ...?")[1].split("\n## ")[0].split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| a new "));
    assert.equal(rows.length, 12);
});
