// Joins several recordings of this machine. (With servers and other hosts:
// tests/full/rpc.test.mjs.)
import { test, before } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { assertWhole, rows, stats } from "./node/recordings.mjs";

const tiny = model("tiny", "--layers", "2"), moe = model("moe");
const a = scratch("a"), b = scratch("b"), joined = scratch("joined");
const generate = (file, tokens) => [engine, "run", "-m", file, "-p", "Once upon a time", "-n", String(tokens), "-t", "1"];
const json = (directory) => JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));

before(() => {
    output(ggscope, ["record", "-q", "-o", a, "--", ...generate(tiny, 4)]);
    output(ggscope, ["record", "-q", "-o", b, "--", ...generate(moe, 3)]);
    output(ggscope, ["join", "-q", a, b, "-o", joined]);
});

test("two programs: every count is the sum of theirs, and times are where they were", () => {
    const [one, two, all] = [a, b, joined].map(assertWhole);
    for (const key of ["tokens", "prompt_tokens", "generated_tokens", "runs", "nodes", "executed", "absorbed", "empty", "ops", "op_runs", "bytes_read", "bytes_written", "op_ns", "run_ns"])
        assert.equal(all[key], one[key] + two[key], key);
    assert.equal(all.processes.hosts, 1);
    assert.deepEqual(all.processes.by_process.map((process) => [process.clock, process.error_ns]), [["own", 0], ["same boot", 0]]);
    // One clock: exact to the nanosecond.
    const shift = json(b).start_monotonic_ns - json(a).start_monotonic_ns;
    const begins = (directory, process) => rows(directory, "op_runs").filter((row) => process === undefined || process.has(row.run)).map((row) => row.begin_ns);
    const runsOf = (process) => new Set(rows(joined, "runs").filter((row) => row.process === process).map((row) => row.run));
    assert.deepEqual(begins(joined, runsOf(1)), begins(a));
    assert.deepEqual(begins(joined, runsOf(2)), begins(b).map((ns) => ns + shift));
});

test("a lane belongs to one process, and the page is told whose it is", () => {
    const lanes = rows(joined, "lanes"), names = new Set(lanes.map((lane) => lane.name));
    assert.equal(lanes.length, rows(a, "lanes").length + rows(b, "lanes").length);
    assert.equal(names.size, lanes.length);
    const of = new Map();
    for (const row of rows(joined, "runs")) of.set(row.slot, (of.get(row.slot) ?? new Set()).add(row.process));
    for (const [slot, processes] of of) assert.equal(processes.size, 1, `slot ${slot}`);
    const bins = (directory) => rows(directory, "lod").filter((row, _, all) => row.level === all[0].level).reduce((sum, row) => sum + row.count, 0);
    assert.equal(bins(joined), bins(a) + bins(b), "levels of detail have every op run");
    // A figure keeps the end of a long name, which is the lane of its process.
    const svg = scratch("lanes.svg");
    output(ggscope, ["figure", joined, "--kind", "timeline", "-o", svg]);
    const shown = [...readFileSync(svg, "utf8").matchAll(/>([^<]*CPU thread 0)</g)].map(([, name]) => name);
    assert.equal(new Set(shown).size, 2, shown.join());
});

test("by process and by host", () => {
    const by = JSON.parse(output(ggscope, ["stats", "--json", "--by", "process,host", joined]));
    assert.deepEqual(by.by_process.map((row) => row.ops), [stats(a).ops, stats(b).ops]);
    assert.deepEqual(by.by_host.map((row) => [row.host, row.ops]), [["host 1", by.ops]]);
    const text = output(ggscope, ["stats", "--by", "process", joined]);
    assert.match(text, /processes 2 on 1 host/);
    assert.match(text, /ggscope-engine \d+, |ggscope-engine \d+:/);
    // Neither sent graphs to the other: there is no client, no server and no wire.
    assert.match(text, /^time .*\n +computing .*\n +idle .*\n(?! +on the wire)/m);
    assert.doesNotMatch(text, /client computes|on the wire/);
});

test("processes with the same engine have one engine", () => {
    const { warnings } = JSON.parse(run(ggscope, ["diff", "--json", joined, a]).stdout);
    assert.ok(warnings.some((warning) => /models differ/.test(warning)), warnings.join("; "));
    assert.ok(!warnings.some((warning) => /engine/.test(warning)), warnings.join("; "));
});

test("every verb and every export takes it", () => {
    for (const [verb, ...options] of [["log", "-n", "5"], ["graph", "--token", "0"], ["requests"], ["buffers"], ["paging"], ["experts"], ["diff", a], ["sql"]]) {
        const words = verb === "sql" ? ["sql", joined, "SELECT process, count(*) AS runs FROM runs GROUP BY process ORDER BY process"] : [verb, ...options, joined];
        const answer = run(ggscope, words);
        assert.ok(answer.status === 0 || verb === "diff", `${verb}: ${answer.stderr}`);
        assert.ok(answer.stdout.length > 50 || verb === "sql", `${verb} says ${answer.stdout}`);
    }
    for (const format of ["chrome", "perfetto", "json", "dot", "sqlite", "csv", "parquet"])
        output(ggscope, ["export", "-q", "--format", format, joined, "-o", scratch(`out-${format}`)]);
    const chrome = JSON.parse(readFileSync(scratch("out-chrome"), "utf8"));
    assert.equal(chrome.traceEvents.filter((event) => event.ph === "X" && event.cat === "op").length, stats(joined).op_runs);
    const groups = chrome.traceEvents.filter((event) => event.name === "process_name").map((event) => event.args.name);
    assert.ok(groups.some((name) => /^host 1, ggscope-engine \d+$/.test(name)), groups.join("; "));
    output(ggscope, ["report", "-q", joined, "-o", scratch("report.html")]);
});

test("programs that a followed one has started", () => {
    const script = scratch("both.sh"), directory = scratch("followed"), result = scratch("followed-joined");
    writeFileSync(script, [tiny, tiny].map((file) => generate(file, 2).map((word) => `'${word}'`).join(" ")).join("\n"));
    output(ggscope, ["record", "-q", "--follow", "-o", directory, "--", "sh", script]);
    assert.ok(readdirSync(directory).some((name) => name.startsWith("process-")), readdirSync(directory).join(" "));
    output(ggscope, ["join", "-q", directory, "-o", result]);
    const all = assertWhole(result);
    assert.equal(all.processes.by_process.length, 2);
    assert.deepEqual(all.processes.by_process.map((process) => process.error_ns), [0, 0]);
    assert.equal(all.tokens, 4);
});

test("a joined experiment and one more are all of them joined; if one of them is gone, that is said", () => {
    const c = scratch("c"), of = scratch("of-joined"), all = scratch("of-all"), pair = scratch("pair"), moved = scratch("moved");
    output(ggscope, ["record", "-q", "-o", c, "--", ...generate(tiny, 2)]);
    output(ggscope, ["join", "-q", `here=${a}`, c, "-o", pair]);
    output(ggscope, ["join", "-q", pair, b, "-o", of]);
    output(ggscope, ["join", "-q", `here=${a}`, c, b, "-o", all]);
    const figures = (directory) => ({ ...stats(directory), experiment_id: undefined });
    assert.equal(stats(of).processes.by_process.length, 3);
    assert.deepEqual(figures(of), figures(all));
    assert.deepEqual(json(of).joined, json(all).joined);
    renameSync(c, moved);
    const answer = run(ggscope, ["join", pair, b, "-o", scratch("y")]);
    assert.deepEqual([answer.status, answer.stderr], [1, `ggscope: ${pair} was joined already: name the recordings that it was joined from\n`]);
});

test("what cannot be joined is a sentence", () => {
    for (const [words, status, says] of [
        [["join", a, b], 2, /name the joined experiment with -o DIR/],
        [["join", "-o", scratch("x")], 2, /missing argument/],
        [["join", a, "-o", scratch("x")], 1, /is one recording/],
        [["join", a, a, "-o", scratch("x")], 1, /the same recording/],
        [["join", a, joined, "-o", scratch("x")], 1, /the same recording/],
        [["join", a, scratch("nothing"), "-o", scratch("x")], 1, /nothing/],
        [["join", a, `=${b}`, "-o", scratch("x")], 1, /the name of the host before = is empty/],
        [["join", a, "there=", "-o", scratch("x")], 1, /there=: the recording after = is missing/],
        [["join", a, b, "-o", joined], 1, /exists already/],
    ]) {
        const answer = run(ggscope, words);
        assert.deepEqual([answer.status, answer.stdout], [status, ""], `${words.join(" ")}: ${answer.stderr}`);
        assert.match(answer.stderr, says);
    }
    output(ggscope, ["join", "-q", "--force", `here=${a}`, b, "-o", joined]);
    assert.deepEqual(stats(joined).processes.by_process.map((process) => process.host), ["here", "here"]);
    assert.throws(() => readdirSync(scratch("x")));
});
