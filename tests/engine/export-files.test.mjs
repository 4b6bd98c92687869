// Files of ggscope export: full disks, kills, traces that shrink; and the exports that run and
// record make.
import { test } from "node:test";
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ggscope, model, output, run, scratch, withoutBlanks } from "../lib.mjs";
import { readGgmlviz } from "../export/ggmlviz.mjs";
import { readDot } from "../export/layout.mjs";
import { fresh, generate, host, record, stats } from "./traces.mjs";

const dense = generate(withoutBlanks(model("tiny")), "-n", "3", "-t", "2").directory;
const many = generate(model("moe"), "-n", "6", "-t", "1").directory, contexts = record([host, "contexts", "-g", "6", model("tiny")]).directory;
const split = ([program, ...args]) => [program, args];
const streams = [["chrome"], ["perfetto"], ["fio"], ["ggmlviz"], ["buffers"], ["dot", "--token", "1"], ["csv", "--table", "ops"], ["parquet", "--table", "ops"]];
const temporary = (folder) => readdirSync(folder, { recursive: true }).filter((f) => f.includes(".tmp-"));
const until = async (condition) => {
    while (!condition()) await new Promise((done) => setTimeout(done, 2));
};
const ended = (child) => new Promise((done) => child.on("close", (status, signal) => done({ status, signal })));

// ---- failures to write ----

test("a device that is full: every format gives the reason", () => {
    for (const [format, ...options] of streams)
        for (const more of [[], ...(format === "parquet" ? [] : [["--gzip"]])]) {
            const result = run(ggscope, ["export", dense, "-q", "-f", format, ...options, ...more, "-o", "/dev/full"]);
            assert.equal(result.status, 1, format);
            assert.equal(result.stderr, "ggscope: cannot write /dev/full: No space left on device\n", format);
        }
    assert.ok(statSync("/dev/full").isCharacterDevice(), "and it is still one");
    const piped = run("sh", ["-c", `'${ggscope}' export '${dense}' -q -f ggmlviz -o - > /dev/full`]);
    assert.equal(piped.stderr, "ggscope: cannot write the export: No space left on device\n");
});

test("a disk that is full: every format gives the reason, and leaves nothing half written", (t) => {
    const place = scratch("small");
    mkdirSync(place, { recursive: true });
    const script = `mount -t tmpfs -o size=64k none '${place}' && '${ggscope}' export '${dense}' -q -f "$1" -o '${place}/out'; echo "status $?"; find '${place}' -name '*.tmp-*'`;
    if (run("unshare", ["-rm", "mount", "-t", "tmpfs", "-o", "size=64k", "none", place]).status !== 0) return t.skip("a file system cannot be mounted here");
    for (const format of ["json", "csv", "sqlite", "parquet", "chrome", "perfetto", "dot", "ggmlviz"]) {
        const result = run("unshare", ["-rm", "sh", "-c", script, "sh", format]);
        assert.match(result.stderr, /^ggscope: cannot write [^\n]*: No space left on device\n$/, format);
        assert.equal(result.stdout, "status 1\n", `${format}: ${result.stdout}`);
    }
});

test("an export that is killed leaves nothing, or what the next one removes", { timeout: 120_000 }, async () => {
    // A pipe in place of a later file stops the export between files.
    const folder = fresh(), pipe = join(folder, "tensors.csv");
    mkdirSync(folder);
    output("mkfifo", [pipe]);
    const held = spawn(ggscope, ["export", dense, "-q", "-f", "csv", "-o", folder]);
    await until(() => existsSync(join(folder, "edges.csv")));
    held.kill("SIGKILL");
    await ended(held);
    assert.deepEqual(temporary(folder), []);

    // A file being written has no name. If the file system requires one, the next export removes
    // it.
    const big = generate(model("moe"), "-n", "12", "-t", "1").directory;
    for (const [format, name] of [["ggmlviz", "out.ggmlviz"], ["chrome", "out.json"], ["sqlite", "out.sqlite"]]) {
        const place = fresh(), file = join(place, name);
        mkdirSync(place);
        let killed = 0;
        for (let i = 0; i < 8; i++) {
            const child = spawn(ggscope, ["export", big, "-q", "-f", format, "-o", file], { stdio: "ignore" });
            const end = ended(child);
            if (format === "sqlite") await until(() => temporary(place).some((f) => f.includes(`-${child.pid}-`)) || child.exitCode !== null);
            else await new Promise((done) => setTimeout(done, 2 + 3 * i));
            child.kill("SIGKILL");
            killed += (await end).signal === "SIGKILL";
            if (format !== "sqlite") assert.deepEqual(temporary(place), [], format);
            else assert.ok(temporary(place).length <= 1, "that of the one that was killed before is gone");
        }
        assert.ok(killed > 0, `${format}: at least one was killed`);
        output(ggscope, ["export", dense, "-q", "-f", format, "-o", file]);
        assert.deepEqual(readdirSync(place), [name], format);
    }
});

test("a trace that shrinks while it is read is an error, not a signal", { timeout: 60_000 }, async () => {
    const directory = fresh(), pipe = scratch("held");
    mkdirSync(directory);
    for (const file of ["experiment.json", "trace.ggs"]) copyFileSync(join(dense, file), join(directory, file));
    output("mkfifo", [pipe]);
    // The export has mapped the trace when it waits for a reader of the pipe.
    const waits = (pid) => readFileSync(`/proc/${pid}/maps`, "utf8").includes("trace.ggs") && / S /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
    const child = spawn(ggscope, ["export", directory, "-q", "-f", "csv", "--table", "op_runs", "-o", pipe]);
    let said = "";
    child.stderr.on("data", (d) => (said += d));
    await until(() => child.exitCode !== null || waits(child.pid));
    truncateSync(join(directory, "trace.ggs"), 100);
    const reader = spawn("cat", [pipe], { stdio: ["ignore", "ignore", "ignore"] });
    const { status, signal } = await ended(child);
    reader.kill();
    assert.deepEqual([status, signal], [1, null]);
    assert.match(said, /^ggscope: [^\n]+\n$/);
});

// ---- exports that run and record make ----

test("GGML_VIZ_OUTPUT and GGML_VIZ_VERBOSE: a file for ggml-viz at the end of run and record", () => {
    const file = join(fresh(), "deep", "trace.ggmlviz"), directory = fresh();
    const basic = ["run", "-m", model("tiny"), "-p", "Hello", "-n", "2", "-t", "1", "-o", directory];
    const loud = run(ggscope, basic, { env: { ...process.env, GGML_VIZ_OUTPUT: file, GGML_VIZ_VERBOSE: "1" } });
    assert.equal(loud.status, 0, loud.stderr);
    assert.ok(loud.stderr.includes(`ggmlviz   ${file}, 1 file\n`), loud.stderr);
    const begins = readGgmlviz(readFileSync(file)).filter((e) => e.type === "op begin");
    assert.equal(begins.length, stats(directory).ops);

    const other = join(fresh(), "of-record.ggmlviz");
    const record = (extra) => run(ggscope, ["record", "--quiet", "-o", fresh(), "--", host, "generate", model("tiny")], { env: { ...process.env, GGML_VIZ_OUTPUT: other, ...extra } });
    const off = record({ GGML_VIZ_DISABLE: "1" });
    assert.equal(off.status, 0, off.stderr);
    assert.ok(!existsSync(other));
    const quiet = record({});
    assert.equal(quiet.status, 0, quiet.stderr);
    assert.ok(readGgmlviz(readFileSync(other)).length > 0);
    assert.ok(!quiet.stderr.includes("ggmlviz"));
    // A file that cannot be written is reported, and the program's status stays.
    const wrong = run(ggscope, ["record", "--quiet", "-o", fresh(), "--", host, "generate", model("tiny")], { env: { ...process.env, GGML_VIZ_OUTPUT: "/dev/full" } });
    assert.equal(wrong.status, 0);
    assert.match(wrong.stderr, /cannot write \/dev\/full: No space left on device/);
});

test("settings: temp_files are written, llama.cpp's names for keys are known, comments are skipped", () => {
    const folder = fresh();
    mkdirSync(folder);
    const file = join(folder, "settings.json");
    writeFileSync(file, `{ // an experiment
  "experiment": {"model": ${JSON.stringify(model("tiny"))}, "prompt": "see http://x // not a comment \\" // nor this", "n_predict": 2, "n_threads": 1, "n_ctx": 64},
  // where to
  "paths": {"output_dir": "recording"},
  "temp_files": {"trace_bin": "trace.bin", "buffer_stats": "stats.jsonl", "graphs_dir": "graphs"}
} // the end`);
    const result = run(ggscope, ["run", "--settings", file]);
    assert.equal(result.status, 0, result.stderr);
    const directory = join(folder, "recording");
    assert.equal(stats(directory).tokens, 2);
    const command = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).command;
    assert.ok(command.includes('see http://x // not a comment " // nor this'));
    assert.deepEqual(command.slice(command.indexOf("-t"), command.indexOf("-t") + 2), ["-t", "1"]);
    const lines = readFileSync(join(folder, "stats.jsonl"), "utf8").trimEnd().split("\n").map((l) => JSON.parse(l));
    assert.ok(lines.length > 3 && lines.every((l) => ["alloc", "dealloc"].includes(l.event)));
    assert.deepEqual(readdirSync(join(folder, "graphs")).sort(), ["token_00000.dot", "token_00001.dot"]);
    output(ggscope, ["export", directory, "-q", "-f", "json", "-o", join(folder, "json")]);
    for (const token of ["00000", "00001"]) {
        const { metadata } = JSON.parse(readFileSync(join(folder, "json", "graphs", `token-${token}.json`), "utf8"));
        const { nodes, edges } = readDot(readFileSync(join(folder, "graphs", `token_${token}.dot`), "utf8"));
        assert.deepEqual([nodes.length, edges.length], [metadata.total_nodes, metadata.total_edges]);
    }
    // Two names for one setting may agree; a comment that hides a brace is located.
    const twins = (other) => JSON.stringify({ experiment: { model: model("tiny"), prompt: "x", tokens_to_generate: 2, n_predict: other, n_threads: 1 }, paths: { output_dir: `twins-${other}` } });
    writeFileSync(file, twins(3));
    assert.match(run(ggscope, ["run", "--settings", file]).stderr, /experiment.tokens_to_generate is given twice: 2, and as n_predict 3/);
    writeFileSync(file, twins(2));
    assert.equal(run(ggscope, ["run", "-q", "--settings", file]).status, 0);
    assert.equal(stats(join(folder, "twins-2")).tokens, 2);
    writeFileSync(file, '{\n  "experiment": {"prompt": "x" // }\n');
    assert.match(run(ggscope, ["run", "--settings", file]).stderr, /not valid JSON at line 3/);
});

test("exports of many files are written on all cores, to the same bytes", () => {
    const folder = fresh(), files = (place) => readdirSync(place, { recursive: true }).filter((name) => statSync(join(place, name)).isFile()).sort();
    for (const [recording, ...options] of [
        [many, "csv"], [many, "parquet"], [many, "json"], [many, "json", "--gzip", "--per-thread"], [many, "json", "--token", "1..4"], [many, "dot"], [many, "dot", "--token", "2..3"],
        [contexts, "json"], [contexts, "json", "--context", "1"], [contexts, "dot"],
    ]) {
        const what = `${basename(recording)} ${options.join(" ")}`, [one, all] = ["one", "all"].map((name) => join(folder, what.replaceAll(" ", ""), name));
        const write = (place) => [ggscope, "export", recording, "--format", ...options, "-o", place];
        output("taskset", ["-c", "0", ...write(one)]);
        output(...split(write(all)));
        assert.deepEqual(files(all), files(one), what);
        assert.ok(files(one).length > 1, what);
        for (const name of files(one)) assert.ok(readFileSync(join(one, name)).equals(readFileSync(join(all, name))), `${what}: ${name}`);
        const again = run(...split(write(all))); // counts the files of all processes
        assert.match(again.stderr, new RegExp(`\\b${files(all).length} (unchanged )?files`), again.stderr);
    }
    for (const format of ["csv", "json", "dot"]) {
        const { stderr } = run("strace", ["-f", "-qq", "-e", "trace=fork,vfork,clone,clone3", ggscope, "export", "-q", many, "--format", format, "-o", join(folder, `traced-${format}`)]);
        assert.equal(/clone|fork/.test(stderr), availableParallelism() > 1, stderr);
    }
});

test("a file that cannot be written is said once, whichever process would write it", () => {
    for (const [format, name] of [["json", "traces/token-00003.json"], ["json", "graphs/token-00000.json"], ["dot", "token-00003.dot"]]) {
        const place = fresh();
        mkdirSync(join(place, name, "full"), { recursive: true });
        const { status, stderr } = run(ggscope, ["export", "-q", many, "--format", format, "-o", place]);
        assert.equal(status, 1, stderr);
        assert.equal(stderr, `ggscope: ${join(place, name)} is a directory, and this export is one file; give another name\n`);
        assert.deepEqual(temporary(place), []);
    }
});

test("export makes the folders above its output", () => {
    const folder = fresh(), recording = join(folder, "recording");
    output(ggscope, ["run", "-q", "-m", withoutBlanks(model("tiny")), "-p", "x", "-n", "2", "-t", "1", "-o", recording]);
    for (const [format, name] of [["json", "a/b/json"], ["sqlite", "c/d/all.db"], ["fio", "e/f/log"], ["dot", "g/h/"]]) {
        output(ggscope, ["export", recording, "-q", "--format", format, "-o", join(folder, name)]);
        assert.ok(existsSync(join(folder, name)), name);
    }
});

test("gguf --csv --full: shape, type, dimensions, elements and file of every tensor", () => {
    const rows = output(ggscope, ["gguf", "--csv", "--full", model("moe")]).trimEnd().split("\n").map((l) => l.split(","));
    const short = output(ggscope, ["gguf", "--csv", model("moe")]).trimEnd().split("\n").map((l) => l.split(","));
    assert.deepEqual(rows[0], [...short[0], "n_dims", "shape", "dtype", "n_elements", "file", "dim0", "dim1", "dim2", "dim3"]);
    assert.deepEqual(rows.map((r) => r.slice(0, 5)), short);
    const known = new Map(JSON.parse(output(ggscope, ["gguf", "--json", model("moe")])).tensors.map((t) => [t.name, t]));
    let compared = 0;
    for (const [name, , , , , dims, shape, dtype, elements, file, ...four] of rows.slice(1)) {
        const sizes = shape.split("x").map(Number);
        assert.deepEqual(four.map(Number), [...sizes, 1, 1, 1].slice(0, 4));
        assert.deepEqual([sizes.length, sizes.reduce((a, b) => a * b), file], [Number(dims), Number(elements), basename(model("moe"))]);
        if (!known.has(name)) continue; // JSON lists the parts of experts
        compared++;
        assert.deepEqual([sizes, dtype], [known.get(name).shape, known.get(name).dtype]);
    }
    assert.ok(compared > 100 && rows.length > compared);
    assert.equal(run(ggscope, ["gguf", "--full", model("moe")]).status, 2);
});
