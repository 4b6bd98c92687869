// ggscope note: lines of text beside an experiment.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ggscope, output, root, run, scratch } from "../lib.mjs";

function experiment(name) {
    const directory = scratch(name);
    cpSync(join(root, "tests", "golden", "v2"), directory, { recursive: true });
    return directory;
}
const notes = (directory) => JSON.parse(output(ggscope, ["note", "--json", directory])).notes;

test("notes are added, shown, told by the summary, and taken away", () => {
    const directory = experiment("note");
    assert.deepEqual(notes(directory), []);
    assert.equal(output(ggscope, ["note", directory]), "");
    assert.equal(output(ggscope, ["note", directory, "warm cache, é"]), "");
    output(ggscope, ["note", directory, "second"]);
    const [first, second] = notes(directory);
    assert.deepEqual([first.text, second.text], ["warm cache, é", "second"]);
    assert.ok(Math.abs(Date.now() - Date.parse(first.time_utc)) < 3600e3, first.time_utc);
    assert.match(output(ggscope, ["note", directory]), /^ {2}1 {2}\d{4}-\S+Z {2}warm cache, é\n {2}2 {2}\S+ {2}second\n$/);
    assert.match(output(ggscope, [directory]), /^note +\S+Z {2}second$/m);
    assert.equal(statSync(join(directory, "notes.txt")).mode & 0o777, 0o600);
    output(ggscope, ["note", "--remove", "1", directory]);
    assert.deepEqual(notes(directory), [second]);
    const none = run(ggscope, ["note", "--remove", "2", directory]);
    assert.equal(none.status, 1);
    assert.match(none.stderr, /^ggscope: there is no note 2: .* has 1\n$/);
});

test("control characters of a note do not reach the terminal", () => {
    const directory = experiment("note-control");
    writeFileSync(join(directory, "notes.txt"), "red \x1b[31m bell \x07 two bytes \u009b31m delete \x7f é\n");
    for (const words of [["note", directory], [directory]]) assert.match(output(ggscope, words), /red \?\[31m bell \? two bytes \?\?31m delete \? é\n/);
    assert.match(notes(directory)[0].text, /\x1b\[31m/); // JSON escapes them
});

test("notes that are a link are neither read nor written through", () => {
    for (const target of ["secret", "absent"]) {
        const directory = experiment(`note-link-${target}`), path = scratch(target);
        if (target === "secret") writeFileSync(path, "do not show\n");
        symlinkSync(path, join(directory, "notes.txt"));
        for (const words of [["note", directory], ["note", directory, "text"], ["note", "--json", directory]]) {
            const result = run(ggscope, words);
            assert.deepEqual([result.status, result.stdout], [1, ""]);
            assert.match(result.stderr, /^ggscope: .*notes\.txt is a link: notes are kept in a file of the experiment\n$/);
        }
        assert.doesNotMatch(output(ggscope, [directory]), /do not show/);
        if (target === "secret") assert.equal(readFileSync(path, "utf8"), "do not show\n");
        else assert.ok(!existsSync(path));
    }
});

test("a file that was edited by hand is read, and kept when a note is added", () => {
    const directory = experiment("note-by-hand");
    writeFileSync(join(directory, "notes.txt"), "no time\r\n\n2026-01-02T03:04:05Z with one\n2026-01-02 no time either");
    const before = notes(directory);
    assert.deepEqual(before.map(({ time_utc, text }) => [time_utc, text.trim()]), [[null, "no time"], ["2026-01-02T03:04:05Z", "with one"], [null, "2026-01-02 no time either"]]);
    output(ggscope, ["note", directory, "more"]);
    assert.deepEqual(notes(directory).slice(0, 3), before);
    assert.equal(notes(directory).length, 4);
});

test("of many who write at once none is lost, and no file is left behind", async () => {
    const directory = experiment("note-crowd");
    const ended = Array.from({ length: 12 }, (_, i) => new Promise((resolve) => spawn(ggscope, ["note", directory, `note ${i}`], { stdio: "inherit" }).on("exit", resolve)));
    assert.deepEqual(await Promise.all(ended), Array(12).fill(0));
    assert.deepEqual(notes(directory).map(({ text }) => text).sort(), Array.from({ length: 12 }, (_, i) => `note ${i}`).sort());
    assert.deepEqual(readdirSync(directory).filter((name) => name.startsWith("notes")), ["notes.txt"]);
});

test("what is no note and no experiment is refused with one sentence", () => {
    const directory = experiment("note-wrong"), folder = scratch("note-folder");
    mkdirSync(folder);
    for (const text of ["", "  ", "two\nlines"]) assert.equal(run(ggscope, ["note", directory, text]).status, 2, JSON.stringify(text));
    assert.equal(run(ggscope, ["note", "--remove", "1", directory, "text"]).status, 2);
    assert.ok(!existsSync(join(directory, "notes.txt")));
    for (const place of [folder, join(folder, "nothing")]) {
        const refused = run(ggscope, ["note", place, "text"]);
        assert.equal(refused.status, 1);
        assert.match(refused.stderr, /^ggscope: [^\n]* is not an experiment: [^\n]*\n$/);
    }
    assert.deepEqual(readdirSync(folder), []);
    writeFileSync(join(directory, "notes.txt"), "x".repeat(2 << 20));
    assert.match(run(ggscope, ["note", directory]).stderr, /larger than 1 MiB/);
    assert.equal(readFileSync(join(directory, "notes.txt"), "utf8").length, 2 << 20);
});
