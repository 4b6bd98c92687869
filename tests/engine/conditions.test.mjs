// The conditions of a recording: facts about the machine are in experiment.json and in the table of
// experiments.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { host } from "../diagnosis/plant.mjs";
import { engine, ggscope, model, output, root, run, scratch } from "../lib.mjs";

function recorded(name, ...options) {
    const directory = scratch(name);
    output(ggscope, ["run", "-q", "-m", model("tiny"), "-p", "Once upon a time", "-n", "3", "-t", "2", "-o", directory, ...options]);
    return directory;
}
function row(directory) {
    const { columns, rows } = JSON.parse(output(ggscope, ["sql", directory, "SELECT * FROM experiment", "--json"]));
    assert.equal(rows.length, 1);
    return Object.fromEntries(columns.map((name, i) => [name, rows[0][i]]));
}
const first = (path) => {
    try {
        return readFileSync(path, "utf8").trim();
    } catch {
        return null;
    }
};

test("the table has what the machine says", () => {
    const directory = recorded("mapped", "--no-repack", "--name", "first", "--group", "a study");
    output(ggscope, ["note", directory, "a warm cache"]);
    const found = row(directory), { conditions } = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));
    assert.deepEqual([found.run_name, found.run_group, found.notes], ["first", "a study", "a warm cache"]);
    assert.equal(String(found.swappiness), first("/proc/sys/vm/swappiness"));
    assert.equal(found.huge_pages, /\[(\w+)\]/.exec(first("/sys/kernel/mm/transparent_hugepage/enabled") ?? "")?.[1] ?? null);
    assert.equal(found.cpu_governor, first("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    const flags = /^(?:flags|Features)\s*: (.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"));
    assert.equal(found.cpu_flags, flags?.[1].trim() ?? null);
    const [type, options] = output("findmnt", ["-no", "FSTYPE,VFS-OPTIONS", "--target", model("tiny")]).trim().split(/\s+/);
    assert.equal(found.file_system, type);
    assert.ok(found.mount_options.startsWith(options), found.mount_options);
    if (found.readahead_bytes !== null) assert.equal(found.readahead_bytes % 1024, 0);
    assert.ok(found.memory_peak_bytes > 10e6 && found.memory_available_bytes > found.memory_peak_bytes / 2);
    assert.match(found.cpu_library, /^libggml-cpu.*\.so$/);
    assert.deepEqual([found.memory_limit_bytes, found.cold, found.weights_locked], [null, 0, 0]);
    assert.ok(found.load_begin >= 0 && found.load_end >= 0 && found.numa_nodes >= 1);
    assert.equal(conditions.memory.swappiness, found.swappiness);
    assert.ok(conditions.memory.available_bytes_end > 0);
});

// It computes nothing for 8 ms between two tokens, so it takes longer than a second on any machine.
test("a program that runs for a second has its mappings: resident, huge, swapped", { skip: !existsSync(host) && "plant-host is not built for this engine" }, () => {
    const directory = scratch("mappings");
    output(ggscope, ["record", "-q", "-o", directory, "--", host, "between", "-t", "1", "-n", "150", model("tiny")]);
    const list = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).conditions.memory.mappings;
    for (const one of list) assert.ok(one.start > 0 && one.resident_bytes <= one.bytes && one.huge_bytes <= one.resident_bytes, JSON.stringify(one));
    assert.ok(list.some((one) => one.resident_bytes + one.swapped_bytes >= 8 << 20), "the weights are there");
});

test("the summary and stats say first what was recorded, and whether weights were copied at load", () => {
    const cases = [["--no-repack", 0, null], ["--no-mmap", 1, /copied at load into CPU.*\n.*loaded with mmap( and --no-repack)? they stay mapped/]];
    for (const [option, copied, said] of cases) {
        const directory = recorded(`case${option}`, option, "--no-repack"), found = row(directory);
        assert.equal(found.weights_copied_bytes > 0, copied === 1, option);
        assert.equal(found.weights_mapped_bytes > 0, copied === 0, option);
        assert.equal(found.weights_copied_into, copied ? "CPU" : null);
        for (const verb of [[directory], ["stats", directory]]) {
            const text = output(ggscope, verb);
            assert.match(text, /^run +tiny.*\.gguf, "Once upon a time"\nengine +llama.cpp .*libggml-cpu.*\.so\nmemory +\S+ .iB at most\n/);
            if (said) assert.match(text, said);
            else assert.doesNotMatch(text, /copied at load/);
        }
        const { model: bytes } = JSON.parse(output(ggscope, ["stats", "--json", directory]));
        assert.deepEqual([bytes.bytes_mapped, bytes.bytes_copied, bytes.copied_into], [found.weights_mapped_bytes, found.weights_copied_bytes, found.weights_copied_into]);
        const sources = JSON.parse(output(ggscope, ["sql", directory, "SELECT DISTINCT source FROM accesses WHERE file IS NOT NULL AND NOT write", "--json"])).rows.flat();
        assert.deepEqual(sources, [copied ? "BUFFER" : "DISK"]); // the origin is in `file`
    }
});

test("the speed of the disk is what ggscope stream has measured, and nothing before", () => {
    const home = scratch("cache"), env = { ...process.env, XDG_CACHE_HOME: home };
    const record = (name) => {
        const directory = scratch(name);
        output(ggscope, ["run", "-q", "-m", model("tiny"), "-p", "Hello", "-n", "2", "-t", "1", "-o", directory], { env });
        return row(directory);
    };
    const before = record("unmeasured");
    assert.deepEqual([before.disk_sequential_bytes_per_s, before.disk_random_bytes_per_s], [null, null]);
    const streamed = run(ggscope, ["stream", "--budget", "64M", "--", engine, "run", "-m", model("moe"), "-p", "Hello", "-n", "2", "-t", "1"], { env });
    assert.equal(streamed.status, 0, streamed.stderr);
    const kept = existsSync(join(home, "ggscope")) ? readdirSync(join(home, "ggscope")).find((name) => name.startsWith("disk-")) : undefined;
    assert.ok(kept, "stream has measured the disk");
    const { sequential, random } = JSON.parse(readFileSync(join(home, "ggscope", kept), "utf8")), after = record("measured");
    assert.deepEqual([after.disk_sequential_bytes_per_s, after.disk_random_bytes_per_s], [sequential, random].map((speed) => (speed > 0 ? speed : null)));
});

test("a recording without conditions shows none", () => {
    const found = row(join(root, "tests/golden/v2"));
    for (const key of ["run_name", "run_group", "file_system", "swappiness", "cpu_flags", "load_begin", "readahead_bytes"]) assert.equal(found[key], null, key);
});
