// The engine's requests while it loads a model: every byte once, with times, and nothing else.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { check, fresh, generate, host, jsonLines, library, record, rows, stats } from "./traces.mjs";
import { noPython } from "./pressure.mjs";

const tiny = model("tiny"), size = statSync(tiny).size;
const libraries = jsonLines(output(engine, ["run", "-m", tiny, "-p", "x", "-n", "1", "-t", "1", "--json"]))[0].engine.directory;
const kinds = { read: 1, populate: 2, advice: 3, lock: 4 };
const sum = (list, key) => list.reduce((total, row) => total + row[key], 0);
const map = JSON.parse(output(ggscope, ["gguf", "--json", tiny]));
const firstTensor = Math.min(...map.tensors.map((t) => t.offset_start));

// Bytes of a file covered by the rows, each once.
function covered(reads) {
    let bytes = 0, end = 0;
    for (const r of [...reads].sort((a, b) => a.file_offset - b.file_offset)) {
        bytes += Math.max(0, r.file_offset + r.bytes - Math.max(end, r.file_offset));
        end = Math.max(end, r.file_offset + r.bytes);
    }
    return bytes;
}

function examine(directory) {
    const t = rows(directory, "reads", "loads", "files");
    const [load] = t.loads;
    for (const read of t.reads) {
        assert.equal(t.files[read.file - 1].gguf, 1);
        assert.ok(read.file_offset + read.bytes <= t.files[read.file - 1].size);
        assert.ok(read.bytes > 0 && read.duration_ns > 0);
        assert.equal(read.load, load.load);
        assert.ok(read.begin_ns >= load.begin_ns && read.begin_ns + read.duration_ns <= load.end_ns);
    }
    assert.ok(sum(t.reads, "duration_ns") <= load.end_ns - load.begin_ns);
    const { load: told } = stats(directory).machine;
    assert.equal(told.models, t.loads.length);
    assert.equal(told.duration_ns, sum(t.reads, "duration_ns"));
    assert.equal(sum(told.by_kind, "bytes"), sum(t.reads, "bytes"));
    assert.equal(sum(told.by_kind, "reads"), t.reads.length);
    assert.equal(told.wall_ns, sum(t.loads.map((l) => ({ ns: l.end_ns - l.begin_ns })), "ns"));
    check(directory);
    return { ...t, told, of: (kind) => t.reads.filter((r) => r.kind === kinds[kind]) };
}

test("a mapped model: its header is read, the whole of it populated", () => {
    const { directory } = generate(tiny, "-n", "2");
    const { of, told } = examine(directory);
    assert.deepEqual(of("populate").map((r) => [r.file_offset, r.bytes]), [[0, size]]);
    assert.deepEqual(of("advice").map((r) => [r.file_offset, r.bytes]), [[0, size]]);
    // Tens of thousands of small reads are one row, from the first byte to the block that has the
    // last tensor info.
    const [header, ...more] = of("read");
    assert.equal(header.file_offset, 0);
    assert.ok(header.bytes > firstTensor - 64 && header.bytes <= firstTensor + 65536);
    assert.deepEqual(more, []);
    assert.equal(told.bytes, size);
    assert.match(output(ggscope, ["stats", directory]), /^load +1 model in \S+ \S+, \S+ \S+ of that to ask for 19\.0 MiB of files\n +populate +19\.0 MiB/m);
});

test("without mmap: every tensor is read, all of it", () => {
    const { directory } = generate(tiny, "-n", "2", "--no-mmap");
    const { of, reads } = examine(directory);
    assert.equal(of("read").length, reads.length);
    for (const t of map.tensors) {
        const inside = reads.filter((r) => r.file_offset < t.offset_end && r.file_offset + r.bytes > t.offset_start)
            .map((r) => ({ file_offset: Math.max(r.file_offset, t.offset_start), bytes: Math.min(r.file_offset + r.bytes, t.offset_end) - Math.max(r.file_offset, t.offset_start) }));
        assert.equal(covered(inside), t.size_bytes, t.name);
    }
});

test("split models: each file is asked for", () => {
    const path = scratch("part.gguf");
    output(engine, ["synth", "tiny", "--layers", "6", "--split", "3", "-o", path]);
    const parts = [1, 2, 3].map((i) => scratch(`part-0000${i}-of-00003.gguf`));
    const { directory } = generate(parts[0], "-n", "1");
    const { of, files, told } = examine(directory);
    assert.deepEqual(of("populate").map((r) => [files[r.file - 1].path, r.bytes]), parts.map((part) => [part, statSync(part).size]));
    assert.equal(told.bytes, sum(parts.map((part) => ({ size: statSync(part).size })), "size"));
});

test("calls through dlsym (Python's ctypes): no hook sees the load, what it reads is told", { skip: noPython }, () => {
    const script = fileURLToPath(new URL("ctypes-host.py", import.meta.url));
    const { directory } = record(["python3", script, libraries, tiny, output(host, ["sizes"]).trim(), "5"]);
    const t = rows(directory, "reads", "loads", "runs");
    assert.deepEqual(t.loads, []);
    assert.deepEqual(t.reads.map((r) => [r.kind, r.file_offset, r.load]), [[kinds.read, 0, 0], [kinds.populate, 0, 0], [kinds.advice, 0, 0]]);
    for (const read of t.reads) assert.ok(read.begin_ns + read.duration_ns <= t.runs[0].begin_ns);
    assert.equal(stats(directory).machine.load.bytes, size);
    assert.match(output(ggscope, ["stats", directory]), /^load +\S+ \S+ to ask for 19\.0 MiB of files$/m);
});

test("nothing else is told: not what a program reads beside its models, nor after", () => {
    const { directory } = record([host, "generate", "-t", "1", "-g", "3", tiny]);
    const { reads, runs } = rows(directory, "reads", "runs");
    for (const read of reads) assert.ok(read.begin_ns + read.duration_ns <= runs[0].begin_ns);
});

test("reads are exported", () => {
    const { directory } = generate(tiny, "-n", "1"), out = fresh();
    output(ggscope, ["export", "--quiet", "--format", "csv", directory, "-o", out]);
    const [head, ...lines] = readFileSync(join(out, "reads.csv"), "utf8").trim().split("\n");
    assert.equal(head, "read,kind,file,file_offset,bytes,begin_ns,duration_ns,os_thread,load");
    const { reads } = rows(directory, "reads");
    assert.deepEqual(lines.map((line) => line.split(",").slice(1).map((x) => Number(x) || x)),
        reads.map((r) => [Object.keys(kinds).find((k) => kinds[k] === r.kind), r.file, r.file_offset || "0", r.bytes, r.begin_ns, r.duration_ns, r.os_thread, r.load]));
});

test("the functions of libc do what they do without us", () => {
    const program = scratch("libc-calls"), base = readdirSync(libraries).find((name) => name.startsWith("libggml-base."));
    output("cc", ["-O1", "-o", program, fileURLToPath(new URL("libc-calls.c", import.meta.url)), "-ldl"]);
    const words = [tiny, join(libraries, base)], directory = fresh();
    const plain = output(program, words);
    const preloaded = run(program, words, { env: { ...process.env, LD_PRELOAD: library, GGSCOPE_OUTPUT: directory } });
    assert.equal(preloaded.stderr, "");
    assert.equal(preloaded.status, 0);
    assert.equal(preloaded.stdout, plain);
    assert.ok(plain.split("\n").length > 45);
    // They are timed: successful calls, at their offsets, without those of the child.
    output(ggscope, ["seal", "-q", directory]);
    const { reads } = rows(directory, "reads");
    const of = (kind) => reads.filter((r) => r.kind === kinds[kind]).map((r) => [r.file_offset, r.bytes]);
    assert.deepEqual(of("populate"), [[4096, 65536]]);
    assert.deepEqual(of("advice"), [[4096, 65536], [4096, 65536]]);
    assert.ok(of("lock").length <= 1); // if locking is permitted
    for (const read of [[0, 1000 + (1 << 20)], [12345, 4096], [54321, 4096], [size - 5, 5], [0, 3000], [size - 7, 4]])
        assert.ok(of("read").some(([offset, bytes]) => offset === read[0] && bytes >= read[1]), `${read}: ${JSON.stringify(of("read"))}`);
});
