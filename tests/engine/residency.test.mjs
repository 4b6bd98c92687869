// --residency: resident pages of the model, compared with the kernel's answer and the pages that
// ops touch.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ggscope, output, run, terminal } from "../lib.mjs";
import { check, experiment, fresh, host, rows, stats } from "./traces.mjs";
import { machine, nobody, noLimit, noPython, ownFolder, ownModel, warm } from "./pressure.mjs";

const tiny = ownModel("tiny"), moe = ownModel("moe");
const generate = (path, ...options) => {
    const directory = fresh();
    const result = run(ggscope, ["run", "-q", "--residency", "-o", directory, "-m", path, "-p", "Once upon a time", "-n", "3", "-t", "1", "--ignore-eos", ...options]);
    assert.equal(result.status, 0, result.stderr);
    assert.doesNotMatch(result.stderr, /^ggscope: /m);
    return directory;
};
const pages = (list) => list.reduce((total, row) => total + row.pages, 0);

test("a mapped model: in memory as a whole from the load to the end", () => {
    const size = statSync(tiny).size, directory = generate(tiny, "--no-repack");
    const { residency: areas, runs } = rows(directory, "residency", "runs");
    const snapshots = [...new Set(areas.map((a) => a.snapshot))];
    assert.deepEqual(snapshots, [1, 2, 3, 4, 5]); // loaded, three tokens, end
    assert.deepEqual(snapshots.map((s) => areas.find((a) => a.snapshot === s)).map((a) => [a.moment, a.step]), [[1, -1], [2, 0], [2, 1], [2, 2], [3, -1]]);
    const all = Math.ceil(size / 4096), nearly = (n, whole) => n > 0.99 * whole && n <= whole; // the kernel may drop pages itself
    for (const s of snapshots) assert.ok(nearly(pages(areas.filter((a) => a.snapshot === s)), all));
    for (const run of runs) assert.ok(areas.find((a) => a.moment === 2 && a.step === run.step).begin_ns >= run.end_ns);
    assert.equal(machine(directory).residency, "mincore");

    const { machine: { residency }, model, weights } = stats(directory);
    assert.deepEqual([residency.method, residency.bytes], ["mincore", size]);
    assert.deepEqual(residency.by_token.map((t) => t.token), [0, 1, 2]);
    for (const t of [residency.load, ...residency.by_token, residency.end]) assert.ok(nearly(t.bytes, size));
    // Populated in vain: the header, and nearly all of the embedding, in whole pages.
    const embedding = weights.find((w) => w.name === "token_embd.weight");
    assert.ok(residency.load.bytes_untouched <= model.bytes - model.bytes_touched);
    assert.ok(residency.load.bytes_untouched > 0.9 * (embedding.bytes - embedding.bytes_touched));
    assert.match(output(ggscope, ["stats", directory]), /^resident +of 19\.0 MiB of files\n +after loading +1[89]\.\d MiB, of which [45]\.\d\d MiB no op touches$/m);
    for (const line of terminal(80, ggscope, ["stats", directory]).split("\n")) assert.ok([...line].length <= 80, line);
    check(directory);
});

const skip = noLimit();
test("under pressure pages come and go, within the limit", { skip }, () => {
    const directory = generate(moe, "--no-repack", "--memory", "64M");
    const { machine: { residency }, model } = stats(directory), limit = 64 << 20;
    for (const t of [residency.load, ...residency.by_token, residency.end]) {
        assert.ok(t.bytes > 0 && t.bytes <= limit, `${t.bytes}`);
        assert.ok(t.bytes_untouched <= t.bytes);
    }
    assert.equal(residency.bytes, model.bytes);
    const { residency: areas } = rows(directory, "residency");
    for (const s of new Set(areas.map((a) => a.snapshot))) { // ascending and disjoint
        const mine = areas.filter((a) => a.snapshot === s);
        mine.slice(1).forEach((a, i) => assert.ok(a.page > mine[i].page + mine[i].pages));
    }
    const out = fresh();
    output(ggscope, ["export", "--quiet", "--format", "csv", directory, "-o", out]);
    const lines = readFileSync(join(out, "residency.csv"), "utf8").trim().split("\n");
    assert.equal(lines[0], "snapshot,file,page,pages,moment,begin_ns,token");
    assert.equal(lines.length - 1, areas.length);
    output(ggscope, ["export", "--quiet", "--format", "sqlite", directory, "-o", join(out, "all.db")]);
});

test("the last snapshot is what the kernel says after the run", { skip: noPython }, () => {
    const directory = generate(tiny, "--no-repack", "--cold");
    const seen = output("python3", ["-c", `
import ctypes, mmap, os, sys
f = os.open(sys.argv[1], os.O_RDWR); n = os.fstat(f).st_size
m = mmap.mmap(f, n); v = ctypes.create_string_buffer((n + 4095) // 4096)
libc = ctypes.CDLL(None); a = ctypes.addressof(ctypes.c_char.from_buffer(m))
assert libc.mincore(ctypes.c_void_p(a), ctypes.c_size_t(n), v) == 0
print(sum(x & 1 for x in v.raw))`, tiny]);
    const { residency: areas } = rows(directory, "residency");
    const told = pages(areas.filter((a) => a.moment === 3));
    assert.ok(Math.abs(told - Number(seen)) < 0.01 * told, `${told} and ${seen}`);
});

test("weights that are not mapped: residency is unknown", () => {
    const directory = generate(tiny, "--no-mmap");
    assert.deepEqual(rows(directory, "residency").residency, []);
    assert.equal(machine(directory).residency, "none");
    assert.match(output(ggscope, ["stats", directory]), /^resident +unknown: no file of the model was mapped$/m);
    const { residency } = stats(directory).machine;
    assert.deepEqual([residency.method, residency.load, residency.by_token, residency.end], ["none", null, [], null]);
});

test("without the option nothing is taken", () => {
    const directory = fresh();
    output(ggscope, ["run", "-q", "-o", directory, "-m", tiny, "-p", "Hi", "-n", "1"]);
    assert.deepEqual(rows(directory, "residency").residency, []);
    assert.equal(stats(directory).machine.residency, null);
    assert.doesNotMatch(output(ggscope, ["stats", directory]), /^resident/m);
});

test("somebody else's model: what the program itself has in its page tables", { skip: !nobody && "needs root, to become somebody else" }, () => {
    output("install", ["-d", "-m", "777", ownFolder()]);
    warm(tiny);
    const directory = join(ownFolder(), "theirs");
    const result = nobody([ggscope, "run", "-q", "--residency", "-o", directory, "-m", tiny, "-p", "Hi", "-n", "2", "--no-repack"]);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(machine(directory).residency, "pagemap");
    const { residency } = stats(directory).machine, size = statSync(tiny).size;
    assert.ok(residency.load.bytes > 0.8 * size && residency.load.bytes <= size); // the engine populates its mapping
    assert.equal(residency.by_token.length, 2);
    assert.equal(residency.end, null); // the model is unmapped, and asking is not permitted
});

test("two models", () => {
    const directory = fresh();
    const result = run(ggscope, ["record", "-q", "--residency", "-o", directory, "--", host, "models", tiny, moe]);
    assert.equal(result.status, 0, result.stderr);
    const { residency: areas, files } = rows(directory, "residency", "files");
    const last = Math.max(...areas.map((a) => a.snapshot));
    assert.deepEqual([...new Set(areas.filter((a) => a.snapshot === last).map((a) => files[a.file - 1].path))].sort(), [moe, tiny].sort());
    assert.equal(experiment(directory).state, "complete");
});
