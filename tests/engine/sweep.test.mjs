// ggscope sweep: studies, their tables, and what remains when one is killed.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { engine, ggscope, model, run, scratch } from "../lib.mjs";
import { installed } from "../export/install.mjs";
import { noGroups } from "../memory-group.mjs";

const tiny = model("tiny"), words = (...more) => [engine, "run", "-m", tiny, "-p", "Hello", "-n", "2", "-t", "1", ...more];
const sweep = (...args) => run(ggscope, ["sweep", ...args]);
const csv = (study) => {
    const [head, ...rows] = sweep(study, "--table=csv").stdout.trim().split("\n").map((line) => line.split(","));
    return rows.map((cells) => Object.fromEntries(head.map((name, i) => [name, cells[i]])));
};
// Columns that depend on neither time nor the machine.
const lasting = (study) => csv(study).map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !/_ns|per_s|^busy|^read_bytes|resident_peak|memory_peak/.test(name))));

test("a sweep records every combination, and its tables say the same", async () => {
    const study = scratch("combinations");
    const made = sweep("-o", study, "--cold", "yes,no", "--vary", "-n=2,3", "--repeat", "2", "--", ...words());
    assert.equal(made.status, 0, made.stderr);
    assert.match(made.stdout, /^10 of 10 runs; medians \[95 % interval\]; of 2 values the range covers 50\.0 %\n/);
    assert.match(made.stdout, /^control .*\nA\/A .*\n$/m);
    const rows = csv(study);
    assert.deepEqual(rows.map((row) => [row.variant, row.cold, row["-n"], row.control, row.runs, row.n, row.tokens]),
        [["v01", "yes", "2", "0", "2", "2", "2"], ["v02", "yes", "3", "0", "2", "2", "3"], ["v03", "no", "2", "0", "2", "2", "2"],
            ["v04", "no", "3", "0", "2", "2", "3"], ["control", "yes", "2", "1", "2", "2", "2"]]);
    assert.ok(Number(rows[1].bytes_read) > Number(rows[0].bytes_read), "another token reads more");
    for (const row of rows.filter(({ cold }) => cold === "no")) assert.ok(Number(row.read_bytes) < statSync(tiny).size / 10, `a warm run does not read the model from the disk: ${row.read_bytes} bytes`);
    const { rows: json, factors } = JSON.parse(sweep(study, "--table", "--json").stdout);
    assert.deepEqual(factors, ["cold", "-n"]);
    for (const [i, row] of json.entries())
        for (const figure of row.figures) assert.equal(figure.median === null ? "" : String(figure.median), rows[i][figure.figure] === "" ? "" : String(Number(rows[i][figure.figure])));
    // Medians are those of the recordings.
    const rate = (name) => JSON.parse(run(ggscope, ["stats", "--json", join(study, "runs", name)]).stdout).bytes_read;
    assert.equal(Number(rows[1].bytes_read), (rate("v02-001") + rate("v02-002")) / 2);
    const { rows: [named] } = JSON.parse(run(ggscope, ["sql", "--json", join(study, "runs", "v02-001"), "SELECT run_name, run_group FROM experiment"]).stdout);
    assert.deepEqual(named, ["cold=yes -n=3", "combinations"]);
    // Parquet, read by DuckDB.
    const file = scratch("table.parquet");
    assert.equal(sweep(study, "--table=parquet", "--to", file).status, 0);
    const connection = await (await (await installed("@duckdb/node-api")).DuckDBInstance.create(":memory:")).connect();
    const read = await connection.runAndReadAll(`SELECT variant, cold, "-n", control, n, bytes_read, bytes_read_low FROM '${file}' ORDER BY control, variant`);
    assert.deepEqual(read.getRows().map((row) => row.map(String)), rows.map((row) => [row.variant, row.cold, row["-n"], row.control === "1" ? "true" : "false", row.n, row.bytes_read, row.bytes_read_low]));
    const latex = sweep(study, "--table=latex", "--figures", "bytes_read").stdout;
    assert.match(latex, /^% 10 of 10 runs.*\n+\\begin\{tabular\}\{lllrl\}\n\\hline\n & cold & -n & n & bytes\\_read \\\\\n\\hline\nv01 & yes & 2 & 2 & [\d.]+ MiB \\\\\n/);
    assert.match(sweep(study, "--table=markdown").stdout, /^\| v04 \| no \| 3 \| 2 \| /m);
});

test("a study.json names models, prompts, engines, options and arguments", () => {
    const other = model("tiny", "--types", "attn_q=f16"), plan = scratch("plan.json"), study = plan.replace(/\.json$/, "");
    const stock = /^engine +(.*)$/m.exec(run(ggscope, ["version"]).stdout)[1];
    writeFileSync(plan, JSON.stringify({ program: words("--no-mmap"), repeat: 1, pairs: true, factors: { model: [tiny, other], prompt: ["a, b", "c"], engine: ["none", stock], residency: [true, false], "--no-mmap": [false, true], "-t": [1, 2] } }));
    const made = sweep(plan);
    assert.equal(made.status, 0, made.stderr);
    const command = (name) => JSON.parse(readFileSync(join(study, "runs", name, "experiment.json"), "utf8"));
    const [one, two] = ["v01-001", "v02-001"].map(command);
    assert.deepEqual(one.command, [engine, "run", "-m", tiny, "-p", "a, b", "-n", "2", "-t", "1"]);
    assert.deepEqual(two.command, [engine, "run", "-m", other, "-p", "c", "-n", "2", "-t", "2", "--no-mmap"]);
    assert.ok(one.machine.residency && !two.machine.residency);
    // The same plan continues, another one is refused.
    assert.equal(sweep(plan).status, 0);
    const refused = sweep("-o", study, "--cold", "yes", "--", ...words());
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /^ggscope: .* holds another study: continue that one with ggscope sweep .*\n$/);
});

test("what is wrong is said before anything runs", () => {
    const study = scratch("wrong");
    for (const [args, sentence] of [
        [["--memory", "much"], /memory takes a size .* or none, not 'much'/], [["--cold", "maybe"], /cold takes yes or no, not 'maybe'/], [["--memory", "1%"], /memory 1% of the model is .*: give at least 16M/],
        [["--vary", "colour=red"], /a study cannot vary 'colour'/], [["--vary", "output=x"], /cannot vary 'output'/], [["--pairs", "--cold", "yes,no", "--vary", "-t=1,2,3"], /--pairs takes values together/], [["--repeat", "0", "--cold", "yes"], /a study repeats 1 to 1000 times/],
    ]) {
        const result = sweep("-o", study, ...args, "--", ...words());
        assert.equal(result.status, 1, args.join(" "));
        assert.match(result.stderr, sentence);
        assert.match(result.stderr, /^[^\n]*\n$/);
        assert.ok(!existsSync(study), args.join(" "));
    }
    for (const args of [[], ["--cold", "yes", "--", ...words()], ["-o", study, "--cold", "yes", ...words()], [study, "--repeat", "3"]]) assert.equal(sweep(...args).status, 2, args.join(" "));
    assert.equal(sweep(scratch("none")).status, 1);
    const failing = sweep("-o", study, "--vary", "-t=1,2", "--", engine, "run", "-m", "/nowhere.gguf", "-p", "x");
    assert.equal(failing.status, 1);
    assert.match(failing.stderr, /^ggscope: the first 3 runs failed, the last with status 1: .*nowhere\.gguf.*; nothing more is tried\n$/);
    assert.equal(sweep("-o", study, "--cold", "yes", "--repeat", "1", "--", ...words()).status, 0, "nothing has ended there: another plan is fine");
});

test("a run that its limit ends is a result", (t) => {
    if (noGroups) return t.skip(noGroups);
    const study = scratch("limited"), made = sweep("-o", study, "--memory", "16M,none", "--repeat", "1", "--", ...words("--no-mmap"));
    assert.equal(made.status, 0, made.stderr);
    const [limited, free, control] = csv(study);
    assert.deepEqual([limited.runs, limited.n, limited.out_of_memory, limited.bytes_read], ["1", "0", "1", ""]);
    assert.deepEqual([free.runs, free.n, free.out_of_memory], ["1", "1", "0"]);
    assert.equal(control.out_of_memory, "1");
    assert.match(made.stdout, /^3 of 3 runs, 2 out of memory; /);
    assert.match(made.stdout, /^v01 +16M +0 of 1 +out of memory /m);
});

// A new state of the study's folder since the sweep was started.
const seen = {
    "a run begins": (study, before) => names(study).some((name) => !before.has(name)),
    "its program runs": (study, before) => names(study).some((name) => !before.has(name) && existsSync(join(study, "runs", name, "experiment.json"))),
    "it is sealed": (study, before) => names(study).some((name) => !before.has(name) && existsSync(join(study, "runs", name, "trace.ggs"))),
    "its line is written": (study, before) => lines(study) > before.lines,
    "nothing but the lock": () => true,
};
const names = (study) => (existsSync(join(study, "runs")) ? readdirSync(join(study, "runs")) : []);
const lines = (study) => (existsSync(join(study, "trials.jsonl")) ? readFileSync(join(study, "trials.jsonl"), "utf8").split("\n").length : 0);

test("a sweep that is killed at ten moments goes on and gives the same table", async () => {
    const whole = scratch("whole"), study = scratch("killed"), args = (where) => ["-o", where, "--cold", "yes,no", "--vary", "-n=2,3", "--repeat", "2", "--", ...words()];
    assert.equal(sweep(...args(whole)).status, 0);
    let kills = 0;
    for (const signal of ["SIGKILL", "SIGINT"]) {
        for (const [moment, came] of Object.entries(seen)) {
            // The next sweep removes what a killed one left of its last run, so a name may be
            // reused.
            const before = Object.assign(new Set(names(study).filter((name) => readFileSync(join(study, "trials.jsonl"), "utf8").includes(`runs/${name}"`))), { lines: lines(study) });
            const child = spawn(ggscope, ["sweep", ...(existsSync(join(study, "study.json")) ? [study] : args(study))], { stdio: "ignore" }), ended = once(child, "exit");
            while (child.exitCode === null && !(came(study, before) && existsSync(study))) await sleep(1);
            assert.equal(child.exitCode, null, `${moment}: it ended before`);
            child.kill(signal);
            const [code, by] = await ended;
            assert.ok(by === signal || code === 130, `${moment}: ${code} ${by}`);
            kills++;
        }
    }
    assert.equal(kills, 10);
    const last = sweep(study);
    assert.equal(last.status, 0, last.stderr);
    assert.match(last.stdout, /^10 of 10 runs; /);
    assert.deepEqual(lasting(study), lasting(whole));
    assert.deepEqual(names(study).sort(), names(whole).sort());
    for (const name of names(study)) assert.equal(run(ggscope, ["check", join(study, "runs", name)]).status, 0, name);
});

test("a journal that was cut off in a line, or that is another's", () => {
    const study = scratch("journal");
    assert.equal(sweep("-o", study, "--vary", "-n=2,3", "--repeat", "1", "--", ...words()).status, 0);
    const journal = join(study, "trials.jsonl"), text = readFileSync(journal, "utf8"), table = lasting(study);
    writeFileSync(journal, text.slice(0, -20));
    assert.match(sweep(study, "--table").stdout, /^2 of 3 runs; /);
    assert.equal(sweep(study).status, 0);
    assert.deepEqual(lasting(study), table);
    for (const line of ["{}", "no", '{"variant":99,"round":0,"outcome":"done"}']) {
        writeFileSync(journal, `${text}${line}\n`);
        const result = sweep(study, "--table");
        assert.equal(result.status, 1);
        assert.match(result.stderr, /^ggscope: .*trials\.jsonl: line 4 is no trial of this study\n$/);
    }
});

test("readahead of the device is restored, also after a kill", async (t) => {
    const { dev } = statSync(tiny), major = Math.floor(dev / 256) % 4096, setting = `/sys/class/bdi/${major}:${dev % 256}/read_ahead_kb`;
    if (process.getuid() !== 0) return t.skip("this needs root");
    if (!existsSync(setting)) return t.skip(`there is no ${setting}`);
    const now = () => Number(readFileSync(setting, "utf8")), before = now(), other = before + 64, study = scratch("readahead");
    const args = ["-o", study, "--readahead", `${other}K`, "--repeat", "2", "--", ...words()];
    const child = spawn(ggscope, ["sweep", ...args], { stdio: "ignore" }), ended = once(child, "exit");
    while (child.exitCode === null && now() !== other) await sleep(1);
    child.kill("SIGKILL");
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    assert.equal(now(), other, "nobody is left to restore it");
    const rest = sweep(study);
    assert.equal(rest.status, 0, rest.stderr);
    assert.equal(now(), before);
    assert.match(rest.stderr, /readahead is set for the whole device that holds the model, for all programs, until the sweep ends\n/);
    assert.match(rest.stderr, /readahead of 1 device, which a killed sweep had changed, was restored\n/);
    const { conditions } = JSON.parse(readFileSync(join(study, "runs", "v01-001", "experiment.json"), "utf8"));
    assert.equal(conditions.storage.readahead_bytes, other * 1024);
    // Every other end restores it too: signals, and a program that fails.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
        const stopped = scratch(`readahead-${signal}`), child = spawn(ggscope, ["sweep", "-o", stopped, ...args.slice(2)], { stdio: "ignore" }), over = once(child, "exit");
        while (child.exitCode === null && now() !== other) await sleep(1);
        child.kill(signal);
        await over;
        assert.equal(now(), before, signal);
    }
    const failing = sweep("-o", scratch("readahead-failing"), ...args.slice(2), "--no-such-option");
    assert.equal(failing.status, 1);
    assert.match(failing.stderr, /the first 3 runs failed/);
    assert.equal(now(), before);
    assert.deepEqual(readdirSync("/run/ggscope").filter((name) => name.startsWith("readahead-")), [], "nothing is left to restore");
});

test("drop-caches empties the page cache of all files before a run", (t) => {
    if (process.getuid() !== 0) return t.skip("this needs root");
    if (run("sh", ["-c", "test -w /proc/sys/vm/drop_caches"]).status !== 0) return t.skip("/proc/sys/vm/drop_caches cannot be written");
    const other = scratch("other-file"), resident = () => Number(run("fincore", ["--bytes", "--noheadings", "--output", "RES", other]).stdout);
    writeFileSync(other, Buffer.alloc(1 << 20, 1));
    run("sync", [other]);
    if (resident() !== 1 << 20) return t.skip("fincore does not tell what is resident here");
    const kept = sweep("-o", scratch("kept"), "--vary", "drop-caches=no", "--repeat", "1", "--", ...words());
    assert.equal(kept.status, 0, kept.stderr);
    assert.ok(resident() > 0, "without it a file stays");
    const study = scratch("dropped"), made = sweep("-o", study, "--vary", "drop-caches=yes", "--repeat", "1", "--", ...words("--no-repack"));
    assert.equal(made.status, 0, made.stderr);
    assert.equal(resident(), 0);
    for (const row of csv(study)) assert.ok(Number(row.read_bytes) >= statSync(tiny).size / 2, `the model is read from the disk: ${row.read_bytes} bytes`);
    assert.match(made.stderr, /the page cache of all files is dropped before runs, for all programs\n/);
});
