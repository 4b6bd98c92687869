// Block requests: the requested sectors, and the bytes of the model in them.
import { test } from "node:test";
import assert from "node:assert/strict";
import { closeSync, copyFileSync, openSync, readFileSync, readSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { command, disk, evict, limit, obstacle, sum } from "./machine.mjs";
import { check, experiment, fresh, rows, stats } from "./traces.mjs";

scratch(); // creates the directory
const why = (() => {
    const refused = obstacle("io");
    if (refused) return { skip: refused };
    const said = output("sh", ["-c", '"$1" gguf --extents --json "$2" 2>&1 || true', "sh", ggscope, model("tiny")]);
    return /FIEMAP/.test(said) ? { skip: said.trim() } : {};
})();

function recorded(path, options = {}) {
    const directory = fresh();
    evict(path);
    const result = run(ggscope, ["record", "-q", "--io", "-o", directory, "--", ...command(path, options)]);
    assert.equal(result.status, 0, result.stderr);
    return { directory, said: result.stderr.match(/^ggscope: .*/gm) ?? [] };
}

// Bytes of a file covered by reads.
function covered(requests) {
    let end = 0, bytes = 0;
    for (const r of [...requests].sort((a, b) => a.file_offset - b.file_offset)) {
        const from = Math.max(end, r.file_offset), to = r.file_offset + r.bytes;
        if (to > from) bytes += to - from;
        end = Math.max(end, to);
    }
    return bytes;
}

// The disk has the same bytes at the sector as the file at the offset.
function sameBytes(requests, device, path) {
    const disk = openSync(device, "r"), content = readFileSync(path), block = Buffer.alloc(4096);
    for (const r of requests) {
        const length = Math.min(4096, r.bytes, content.length - r.file_offset);
        readSync(disk, block, 0, length, r.sector * 512);
        assert.ok(block.subarray(0, length).equals(content.subarray(r.file_offset, r.file_offset + length)), `sector ${r.sector}, offset ${r.file_offset}`);
    }
    closeSync(disk);
    assert.ok(requests.length > 0);
}

test("a cold model is read whole, and every request is found in its file", why, (t) => {
    const path = scratch("cold.gguf");
    copyFileSync(model("tiny"), path);
    const { directory, said } = recorded(path);
    if (said.length) return t.skip(said[0]);
    const { block_requests: requests, files, losses } = rows(directory, "block_requests", "files", "losses");
    const size = statSync(path).size, reads = requests.filter((r) => r.file === 1 && !r.write);
    assert.equal(files[0].path, path);
    assert.deepEqual(losses, []);
    assert.ok(covered(reads) >= size, `${covered(reads)} of ${size}`);
    assert.ok(sum(reads, "bytes") < 1.1 * size, "and hardly anything twice");
    for (const r of reads) assert.ok(r.file_offset < size);
    // The kernel counts a completion in the interrupt of an idle processor, but does not always
    // report it to perf.
    t.diagnostic(`${reads.filter((r) => r.duration_ns > 0).length} of ${reads.length} requests were seen to end`);
    const total = stats(directory).machine.block_requests;
    assert.equal(total.model.bytes, sum(reads, "bytes"));
    assert.equal(total.model.count, reads.length);
    assert.equal(sum(total.by_phase, "bytes"), total.model.bytes);
    assert.equal(sum(total.by_weight, "bytes"), total.model.bytes);
    assert.equal(total.over_time.bytes.reduce((a, b) => a + b, 0), total.model.bytes);
    assert.equal(total.other.bytes, sum(requests.filter((r) => !r.file && !r.write), "bytes"));
    const sizes = reads.map((r) => r.bytes).sort((a, b) => a - b), median = sizes[Math.ceil(sizes.length / 2) - 1];
    assert.ok(total.bytes.median <= median && total.bytes.median > 0.93 * median);
    assert.equal(experiment(directory).settings.io, true);
    assert.equal(check(directory)["block requests"], "ok");
    const out = fresh();
    output(ggscope, ["export", directory, "-q", "-f", "csv", "--table", "block_requests", "-o", out]);
    assert.equal(readFileSync(out, "utf8").trim().split(/\r?\n/).length, requests.length + 1);
});

test("on a partition, a file in many pieces and a model in several files: the sectors have the files' bytes", why, (t) => {
    const { folder, device, reason } = disk(t, 160);
    if (reason) return t.skip(reason);
    // Writes pieces of a megabyte with other data between them, which is then removed: the rest is
    // fragmented.
    const path = join(folder, "pieces.gguf"), content = readFileSync(model("tiny")), piece = 1 << 20, gap = 64 << 10, parts = [];
    for (let at = 0; at < content.length; at += piece) parts.push(content.subarray(at, at + piece), Buffer.alloc(gap, "x"));
    writeFileSync(path, Buffer.concat(parts.slice(0, -1)));
    for (let i = parts.length / 2 - 2; i >= 0; i--) output("fallocate", ["-c", "-o", String(i * (piece + gap) + piece), "-l", String(gap), path]);
    assert.ok(readFileSync(path).equals(content));
    const { directory, said } = recorded(path);
    assert.deepEqual(said, []);
    const reads = rows(directory, "block_requests").block_requests.filter((r) => r.file === 1 && !r.write);
    assert.ok(covered(reads) >= content.length, `${covered(reads)} of ${content.length}`);
    sameBytes(reads, device, path);
    const shifts = new Set(reads.map((r) => r.sector * 512 - r.file_offset));
    assert.ok(shifts.size >= 10, `${shifts.size} pieces`);

    output(engine, ["synth", "tiny", "--split", "3", "-o", join(folder, "split.gguf")]);
    const names = [1, 2, 3].map((i) => join(folder, `split-0000${i}-of-00003.gguf`));
    for (const name of names) evict(name);
    const split = rows(recorded(names[0]).directory, "block_requests", "files");
    for (const name of names) {
        const file = split.files.find((f) => f.path === name), own = split.block_requests.filter((r) => r.file === file.file && !r.write);
        assert.ok(covered(own) >= file.size, `${name}: ${covered(own)} of ${file.size}`);
        sameBytes(own, device, name);
    }
});

test("a model that does not fit is read again for every token, by the ops that need it", why, (t) => {
    const path = scratch("moe.gguf"), { group, reason } = limit(96 << 20);
    if (reason) return t.skip(reason);
    copyFileSync(model("moe"), path);
    const { directory, said } = recorded(path, { group, options: ["--no-repack"] });
    if (said.length) return t.skip(said[0]);
    const { block_requests: requests, op_runs, runs } = rows(directory, "block_requests", "op_runs", "runs");
    const total = stats(directory).machine.block_requests, steps = new Map(runs.map((r) => [r.run, r.step]));
    for (const token of [0, 1, 2]) assert.ok(total.by_token[token].bytes > 1 << 20, `token ${token}`);
    const own = requests.filter((r) => r.run);
    assert.ok(own.length > 0.5 * requests.filter((r) => r.file && r.step >= 0).length);
    for (const r of own) {
        assert.equal(r.step, steps.get(r.run));
        const under = op_runs.filter((o) => o.run === r.run && o.node === r.node && o.begin_ns <= r.begin_ns && r.begin_ns < o.begin_ns + o.duration_ns);
        assert.ok(under.length > 0, `request at ${r.begin_ns}`);
    }
});

test("where the model lies on no disk of its own, one line says so", { skip: obstacle("io") || undefined }, (t) => {
    const folder = output("mktemp", ["-d", "/dev/shm/ggscope-test-XXXXXX"]).trim(), path = join(folder, "tiny.gguf");
    t.after(() => output("rm", ["-r", folder]));
    copyFileSync(model("tiny"), path);
    const { directory, said } = recorded(path);
    assert.equal(said.length, 1);
    assert.match(said[0], /tiny\.gguf: its filesystem lies on no block device/);
    assert.deepEqual(rows(directory, "block_requests").block_requests, []);
    check(directory);
});
