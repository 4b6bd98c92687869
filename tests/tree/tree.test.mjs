// Rules of the source tree: direction of includes, banned functions and words, files that must not
// be committed.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { build, ggscope, root, run } from "../lib.mjs";

const files = run("git", ["ls-files"], { cwd: root }).stdout.split("\n").filter((f) => f && existsSync(join(root, f)));
const read = (file) => readFileSync(join(root, file), "utf8");
const sources = files.filter((f) => /^(src|include)\/.*\.[ch]$/.test(f));

// folder -> the folders it may include from (besides itself)
const sees = {
    base: [],
    gguf: ["base"],
    trace: ["base"],
    preload: ["base", "trace"],
    capture: ["base", "trace", "preload"],
    stream: ["base", "trace", "preload"],
    analyze: ["base", "gguf", "trace"],
    answer: ["base", "gguf", "trace", "analyze"],
    attach: ["base"],
    record: ["base", "gguf", "trace", "engine", "attach"],
    trials: ["base", "gguf", "trace", "analyze", "record"],
    export: ["base", "gguf", "trace", "analyze", "answer"],
    figure: ["base", "gguf", "trace", "analyze", "answer"],
    serve: ["base", "gguf", "trace", "analyze", "answer", "figure"],
    wasm: ["base", "serve"],
    cli: ["base", "gguf", "trace", "analyze", "answer", "figure", "record", "trials", "export", "serve", "engine"],
    engine: ["base", "gguf", "trace"],
    contract: ["base", "trace", "analyze", "answer", "record", "engine"],
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

test("cli, record and contract take only headers from the engine's folder that know nothing of the engine", () => {
    for (const file of sources.filter((f) => /^src\/(cli|record|contract)\//.test(f)))
        for (const [, header] of read(file).matchAll(/^#include "engine\/([^"]+)"/gm)) assert.ok(["locate.h", "runner-options.h", "run/run-result.h"].includes(header), file);
});

test("no test for a backend's name outside of its row and its file", () => {
    const rows = [...read("src/base/backend-traits.h").matchAll(/\bROW\((\w+),/g)].map((m) => m[1]);
    assert.ok(rows.length >= 3);
    const compared = new RegExp(`str(?:n?case)?n?(?:cmp|str)\\([^;]*"(?:${rows.join("|")})`, "i");
    for (const file of sources.filter((f) => !rows.some((name) => f === `src/capture/device/${name}.c`)))
        for (const line of read(file).split("\n")) assert.doesNotMatch(line, compared, file);
});

test("one name, one thing: no struct, enum, value or function is defined twice", () => {
    // A function may have the name of the struct that it fills, in the same folder. Code linked in
    // another's place has the same names.
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

// Markdown without fenced output, tables, pictures and lines that are one link.
const prose = (text) => text.replace(/^```(?:text|yaml)?\n[^]*?^```$/gm, (block) => block.replace(/[^\n]/g, "")).split("\n")
    .map((line) => (/^\s*\||^!?\[.*\]\(\S*\)$/.test(line) ? "" : line));
const pages = files.filter((f) => /^(docs\/)?[^/]*\.md$/.test(f));

test("documents are at most 100 columns wide", () => {
    const wide = (text) => prose(text).flatMap((line, i) => ([...line].length > 100 ? [i + 1] : []));
    const long = "x ".repeat(51);
    assert.deepEqual(wide(`a\n${long}\n| ${long} |\n\`\`\`text\n${long}\n\`\`\`\n\`\`\`sh\n${long}\n\`\`\``), [2, 8]);
    for (const page of pages) assert.deepEqual(wide(read(page)), [], `${page}: lines above 100 columns`);
});

test("comments are at most 100 columns wide, drawings apart", () => {
    const wide = (text) => text.split("\n").filter((line) => [...line].length > 100 && /^\s*\/\/ ?\S/.test(line) && !/\/\/.* {3}/.test(line));
    assert.equal(wide(`// ${"x ".repeat(60)}\nint a; // ${"x ".repeat(60)}\n//     a   ${"x ".repeat(60)}`).length, 1);
    const commented = [...sources, ...files.filter((f) => /^(tests|scripts|cmake)\/.*\.(mjs|c|h)$|^ui\/src\/.*\.tsx?$/.test(f))];
    assert.deepEqual(commented.flatMap((file) => wide(read(file)).map((line) => `${file}: ${line.trim()}`)), []);
});

test("documents tell what is, not what was", () => {
    const history = /\b(any ?more|anew|no longer|another hour|(was|were) tried|measured again|as before|until now|by now|now|formerly|previously|used to (be|have|take|hide|stand))\b/i;
    for (const line of ["it is not kept any more", "before this it used to be", "now it is"]) assert.match(line, history);
    for (const line of ["it is known", "memory used to hold weights", "the op before it"]) assert.doesNotMatch(line, history);
    for (const page of pages)
        prose(read(page)).forEach((line, i) => assert.doesNotMatch(line, history, `${page}:${i + 1}: a word that tells history`));
});

test("each document begins with what it answers, and README, NEWS and performance.md stay short", () => {
    for (const page of pages.filter((f) => f.startsWith("docs/") && f !== "docs/glossary.md")) {
        const first = read(page).replace(/^# .*\n/, "").trimStart().split("\n\n")[0];
        assert.match(first, /\?/, `${page}: its first paragraph names the question that it answers`);
    }
    const lines = (page) => read(page).trimEnd().split("\n").length;
    assert.ok(lines("README.md") <= 120, "README.md");
    assert.ok(lines("NEWS.md") <= 60, "NEWS.md");
    assert.ok(lines("docs/performance.md") <= 100, "docs/performance.md");
    assert.ok([...read("docs/glossary.md").matchAll(/^\| (?!word|-)/gm)].length <= 30, "docs/glossary.md");
});

test("documents list what the tables of the code have", () => {
    const rows = (file, pattern) => [...read(file).matchAll(pattern)].map(([, name]) => name);
    for (const [page, names, form] of [
        ["docs/http-api.md", rows("src/serve/site.c", /\{"([a-z-]+)", (?:true|false), ggs_route_/g), (name) => `${name}[?\` &]|/api/${name}\\b`],
        ["docs/explain.md", rows("src/analyze/explain/findings.h", /ROW\("([a-z-]+)"/g), (name) => `^\\| ${name} \\|`],
        ["docs/man/ggscope-export.1", rows("src/export/export.c", /^ {4}\{"([a-z]+)", "/gm), (name) => `\\b${name}\\b`],
        ["docs/man/ggscope-figure.1", rows("src/figure/figure.c", /\{\.name +=\s+"([a-z-]+)"/g), (name) => name],
    ]) {
        assert.ok(names.length >= 8, `${page}: ${names}`);
        assert.deepEqual(names.filter((name) => !new RegExp(form(name), "m").test(read(page))), [], `${page} lacks these`);
    }
});

test("the page asks for answers by their generated types", () => {
    let asked = 0;
    for (const file of files.filter((f) => /^ui\/src\/.*\.tsx?$/.test(f) && f !== "ui/src/ask.ts")) {
        const imports = [...read(file).matchAll(/import (?:type )?\{([^}]*)\} from "(?:\.\.?\/)+api"/g)];
        const generated = imports.flatMap(([, names]) => names.split(",").map((name) => name.replace("type ", "").trim()));
        for (const [, type] of read(file).matchAll(/\b(?:useAsk|ask)<([^(\n]*?)>\(/g)) {
            if (type !== "Columns") assert.ok(generated.includes(type.replace("[]", "")), `${file}: ${type} is no type of ui/src/api.ts`);
            asked++;
        }
    }
    assert.ok(asked > 50);
});

test("links between documents lead somewhere", () => {
    const anchors = (page) => new Set([...read(page).matchAll(/^#+ (.*)$/gm)].map(([, title]) => title.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-")));
    for (const page of pages)
        for (const [, target] of read(page).matchAll(/\]\(([^)\s]+)\)/g)) {
            if (/^https?:/.test(target)) continue;
            const [path, anchor] = target.split("#"), file = path === "" ? page : join(dirname(page), path);
            assert.ok(existsSync(join(root, file)), `${page} links to ${target}, which is not there`);
            if (anchor !== undefined && file.endsWith(".md")) assert.ok(anchors(file).has(anchor), `${page} links to ${target}, a heading that is not there`);
        }
});

test("no banned functions", () => {
    const banned = /\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|system)\s*\(/;
    for (const file of sources) assert.doesNotMatch(read(file).replace(/\/\/.*$/gm, ""), banned, file);
});

test("clocks are read and mappings listed in one place", () => {
    const only = (pattern, place) => {
        const found = sources.filter((file) => pattern.test(read(file).replace(/\/\/.*$/gm, "")));
        assert.deepEqual(found, [place], String(pattern));
    };
    only(/\bclock_gettime\s*\(/, "src/base/system/clock.h");
    only(/"[^"]*\/maps"/, "src/base/system/maps.c");
});

test("library code neither prints nor exits", () => {
    const talk = /(^|[^a-z_])(printf|puts|putchar|perror|exit|_exit|abort)\s*\(|\b(fprintf|vfprintf|fputs|fputc|putc|fwrite|dprintf|write)\s*\([^;]*\b(stdout|stderr|STD(OUT|ERR)_FILENO)\b/m;
    for (const line of ['printf("x");', 'fprintf(stdout, "x");', 'fputs("x", stderr);', "fwrite(data, 1, n, stdout);", "exit(1);"]) assert.match(line, talk);
    for (const line of ['fprintf(file, "x");', 'snprintf(text, n, "x");', "fputs(text, out);"]) assert.doesNotMatch(line, talk);
    for (const file of sources.filter((f) => /^src\/((gguf|trace|analyze|answer|export|record\/observe)\/|record\/memory\/(?!conditions))/.test(f)))
        // A worker is a process made by the export, which may exit.
        assert.doesNotMatch(read(file).replace(/\/\/.*$/gm, "").replace(file === "src/export/workers.c" ? /\b_exit\(/g : /$^/, ""), talk, file);
});

test("no paths of one machine, no markers of unfinished work", () => {
    for (const file of files.filter((f) => !/package-lock\.json$|\.(png|gif|webp|ggs)$|^tests\/tree\//.test(f))) {
        const text = read(file);
        assert.doesNotMatch(text, /(\/work\/|(?<!\/proc\/%d)\/root\/|\/home\/[a-z])/, file);
        assert.doesNotMatch(text, /\b(TODO|FIXME|XXX|HACK)\b/, file);
    }
});

test("no generated file is committed, and lock files name no host", () => {
    for (const file of files) assert.doesNotMatch(file, /(^build\/|node_modules\/|\.(o|so|a|gguf)$)/, file);
    for (const file of files.filter((f) => f.endsWith("package-lock.json"))) assert.doesNotMatch(read(file), /"resolved"/, file);
});

test("man pages are clean", (t) => {
    const pages = readdirSync(join(build, "man")).filter((page) => /\.[15]$/.test(page)).map((page) => join(build, "man", page));
    assert.ok(pages.length > files.filter((f) => /^docs\/man\/.*\.[15]$/.test(f)).length);
    for (const page of pages) {
        const lint = run("mandoc", ["-Tlint", "-Wwarning", page], { cwd: root });
        assert.equal(lint.stdout, "", page);
    }
});

test("verbs and their options are listed alike: --help, README, man pages", () => {
    const rows = [...read("src/cli/commands.h").matchAll(/^ +ROW\((\w+), ([A-Z]+), (?:true|false), "(.*)"\)/gm)];
    assert.ok(rows.length > 20);
    const help = run(ggscope, ["--help"]);
    assert.equal(help.status, 0, help.stderr);
    const list = help.stdout.slice(help.stdout.indexOf("Record:"), help.stdout.indexOf("  ggscope help VERB")).trimEnd();
    assert.ok(read("README.md").includes(list.replace(/^(?=.)/gm, "    ")), "README.md lists the verbs as ggscope --help does");
    const page = (name) => readFileSync(join(build, "man", name), "utf8");
    for (const [, verb, , summary] of rows) {
        assert.match(help.stdout, new RegExp(`^  ${verb} +\\S.*$`, "m"));
        assert.ok(page("ggscope.1").includes(`.It Xr ggscope-${verb} 1\n${summary}\n`), verb);
        const text = run(ggscope, [verb, "--help"]).stdout, manual = page(`ggscope-${verb}.1`);
        assert.match(text, new RegExp(`^Usage: ggscope ${verb} `), `ggscope ${verb} --help`);
        assert.ok(manual.includes(`.Nd ${summary}\n`), verb);
        const common = ["help", "usage", "quiet", "no-pager"];
        for (const [, option] of text.matchAll(/^ +(?:-., )? *--([a-z-]+)/gm))
            if (!common.includes(option)) assert.match(manual, new RegExp(`^\\.It (?:Fl . , )?Fl -${option}\\b`, "m"), `ggscope-${verb}.1 has no --${option}`);
    }
});

test("every file that docs/architecture.md names is there, and it says where sixteen kinds of change go", () => {
    const page = read("docs/architecture.md");
    const named = [...page.matchAll(/`((?:src|include|ui|tests|docs|cmake|scripts)\/[A-Za-z0-9_./-]+)`/g)].map((m) => m[1]).filter((name) => !name.includes("VERB"));
    assert.ok(named.length > 40, `${named.length} names`);
    for (const name of named) assert.ok(existsSync(join(root, name)), `docs/architecture.md names ${name}, which is not there`);
    const rows = page.split("## Where do I add ...?")[1].split("\n## ")[0].split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| a new "));
    assert.equal(rows.length, 16);
});
