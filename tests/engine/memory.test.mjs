// --memory: limits the program, excludes the recorder's own memory, and leaves nothing behind.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, readdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { engine, ggscope, output, run, scratch, terminal } from "../lib.mjs";
import { check, experiment, fresh, jsonLines, rows, segments, stats } from "./traces.mjs";
import { machine, nobody, noLimit, ownFolder, ownModel } from "./pressure.mjs";

const MiB = 1 << 20;
const skip = noLimit();
const moe = ownModel("moe"), tiny = ownModel("tiny");
const words = (path, ...options) => [engine, "run", "-m", path, "-p", "Once upon a time", "-t", "1", "--ignore-eos", ...options];
const record = (directory, memory, command, options) => run(ggscope, ["record", "-q", "--memory", memory, "-o", directory, "--", ...command], options);

// The memory control group of a process, as a folder of the file system.
function groupOf(pid) {
    const lines = readFileSync(`/proc/${pid}/cgroup`, "utf8").split("\n");
    const [, , one] = lines.find((line) => line.split(":")[1]?.split(",").includes("memory"))?.split(":") ?? [];
    const mounts = readFileSync("/proc/mounts", "utf8").split("\n").map((line) => line.split(" "));
    if (one) return join(mounts.find(([, , type, flags]) => type === "cgroup" && flags.split(",").includes("memory"))[1], one);
    return join(mounts.find(([, , type]) => type === "cgroup2")[1], lines.find((line) => line.startsWith("0::")).slice(3));
}
const number = (group, file, key) => Number(readFileSync(join(group, file), "utf8").match(key ? new RegExp(`^${key} (\\d+)$`, "m") : /(\d+)/)[1]);

// Records a program that runs on: its process, its group and its spool, once it generates.
async function start(directory, path, memory, ...options) {
    const script = 'echo "pid $$"; exec "$0" "$@"'; // the engine keeps this process id
    const child = spawn(ggscope, ["record", "-q", `--cold=${path}`, "--memory", memory, ...options, "-o", directory, "--", "sh", "-c", script, ...words(path, "-n", "2000", "--no-repack")],
        { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    child.stderr.resume();
    child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
    const closed = once(child, "close");
    while (!/^pid \d+\n[^]*\S/.test(stdout)) await once(child.stdout, "data");
    const pid = Number(stdout.match(/pid (\d+)/)[1]);
    return { child, closed, pid, group: groupOf(pid), spool: realpathSync(join(directory, "spool")), more: () => once(child.stdout, "data") };
}

async function disappears(path) {
    for (let i = 0; existsSync(path) && i < 600; i++) await delay(50);
    assert.ok(!existsSync(path), path);
}

test("a program larger than its memory runs, and gives the same", { skip }, () => {
    const directory = fresh(), command = words(moe, "-n", "3", "--no-repack", "--json", "--logits-hash");
    const free = jsonLines(output(command[0], command.slice(1)))[0];
    const result = record(directory, "64M", command);
    assert.equal(result.status, 0, result.stderr);
    assert.doesNotMatch(result.stderr, /^ggscope: /m);
    assert.equal(jsonLines(result.stdout)[0].logits_hash, free.logits_hash);
    const found = machine(directory);
    assert.equal(found.memory_limit, 64 * MiB);
    assert.match(found.mechanism, /^(cgroup v[12]|systemd-run( --user)?)$/);
    assert.ok(found.memory_peak > 32 * MiB && found.memory_peak <= 64 * MiB, String(found.memory_peak));
    assert.ok(found.memory_anonymous > MiB && found.memory_anonymous < 64 * MiB, String(found.memory_anonymous));
    assert.ok(found.limit_hits > 0);
    assert.equal(found.oom_kills, 0);
    assert.ok(found.read_bytes > statSync(moe).size, "pages are read again");
    check(directory);
    const { memory } = stats(directory).machine;
    assert.deepEqual(memory, { limit: 64 * MiB, mechanism: found.mechanism, peak: found.memory_peak, anonymous: found.memory_anonymous,
        shared: found.memory_shared, limit_hits: found.limit_hits, oom_kills: 0 });
    assert.match(output(ggscope, ["stats", directory]), /^limit +64\.0 MiB of memory \(.*\), reached [\d,]+ times$/m);
    for (const line of terminal(80, ggscope, ["stats", directory]).split("\n")) assert.ok([...line].length <= 80, line);
});

test("the summary of a recording names the limit", { skip }, () => {
    const result = run(ggscope, ["run", "-o", fresh(), "--memory", "256M", "-m", tiny, "-p", "Hi", "-n", "2"]);
    assert.match(result.stderr, /^limit +256 MiB of memory/m);
});

test("the recorder's memory is not the program's, and Ctrl-C leaves nothing behind", { skip }, async () => {
    const directory = fresh(), { child, closed, pid, group, spool, more } = await start(directory, tiny, "1G");
    const taken = () => segments(directory).filter(({ lane }) => lane !== "machine").map(({ name }) => name);
    assert.notEqual(group, groupOf(process.pid));
    while (taken().length < 4) await more(); // the engine prints while it runs
    // The spool's memory is charged to ggscope. The engine has touched every page of it.
    assert.ok(taken().every((name) => /^(free-\d+|journal-0000)\.seg$/.test(name)) && readdirSync(spool).length > taken().length);
    assert.ok(number(group, "memory.stat", "shmem") < MiB / 4, readFileSync(join(group, "memory.stat"), "utf8"));
    assert.match(readFileSync(`/proc/${pid}/maps`, "utf8"), /free-\d+\.seg/);
    child.kill("SIGINT");
    await closed;
    assert.ok(!existsSync(group));
    assert.ok(!existsSync(spool));
    assert.deepEqual(readdirSync(directory).sort(), ["experiment.json", "stderr.txt", "stdout.txt", "trace.ggs"]);
    assert.ok(machine(directory).memory_shared < MiB / 4);
    check(directory);
});

test("ggscope is killed: the group goes as soon as the program does", { skip }, async () => {
    const directory = fresh(), { child, closed, pid, group } = await start(directory, tiny, "1G");
    child.kill("SIGKILL");
    await closed;
    try { process.kill(pid, "SIGKILL"); } catch { /* its output went nowhere, which ended it */ }
    await disappears(group);
    assert.equal(run(ggscope, ["seal", directory]).status, 0); // unused segments are removed with the spool
    assert.ok(!existsSync(join(directory, "spool")));
    assert.equal(machine(directory).memory_limit, 1024 * MiB);
});

test("a program that needs more is ended, which is foreseen and explained", { skip }, () => {
    const directory = fresh(), result = record(directory, "32M", words(moe, "-n", "2", "--no-mmap"));
    assert.equal(result.status, 128 + 9);
    assert.match(result.stderr, /^ggscope: the engine copies up to 10\d MiB of weights into memory of its own \(--no-mmap\), and has 32\.0 MiB: the limit will end it; .*$/m);
    assert.match(result.stderr, /^ggscope: the program was ended by the kernel: it needs more than the 32\.0 MiB of --memory .*; try --memory \d+M$/m);
    assert.doesNotMatch(result.stderr, /signal 9/);
    assert.equal(machine(directory).oom_kills, 1);
    assert.equal(experiment(directory).state, "interrupted");
    assert.equal(experiment(directory).signal, "SIGKILL");
});

test("repacking is foreseen for `ggscope run`, and not with --no-repack", { skip }, (t) => {
    const generate = (memory, directory, ...options) => run(ggscope, ["run", "-q", "-o", directory, "--memory", memory, "-m", moe, "-p", "Hi", "-n", "1", "-t", "1", ...options]).stderr;
    assert.doesNotMatch(generate("96M", fresh(), "--no-repack"), /^ggscope: /m);
    const directory = fresh();
    generate("1G", directory);
    const copies = rows(directory, "buffers").buffers.filter((b) => /REPACK|AMX/.test(b.type)).reduce((sum, b) => sum + b.size, 0);
    if (copies === 0) return t.skip("this CPU variant repacks nothing");
    const foreseen = /^ggscope: the engine copies up to ([\d.]+) MiB of weights into memory of its own \(it repacks them\)/m.exec(generate("96M", fresh()))?.[1];
    assert.ok(Math.abs(foreseen * MiB - copies) < 0.01 * copies, `${foreseen} MiB foreseen, ${copies / MiB} MiB copied`);
});

test("a program whose model is not known: said, and done", { skip }, () => {
    const result = record(fresh(), "64M", ["true"]);
    assert.match(result.stderr, /^ggscope: what is in the page cache already does not count against the limit, .*--cold=FILE$/m);
});

test("the size of the recording holds, segments made ahead included", { skip }, async () => {
    const directory = fresh(), { child, closed, spool, more } = await start(directory, tiny, "1G", "--max-size", "8M", "--policy", "ring");
    for (let last = 0; last < 8;) { // more than fits was written
        const names = readdirSync(spool).filter((name) => /^(journal|lane|free)-.*\.seg$/.test(name));
        assert.ok(names.length <= 8, names.join(" "));
        last = Math.max(0, ...segments(directory).map(({ lane, sequence }) => (typeof lane === "number" ? sequence : 0)));
        await more();
    }
    child.kill("SIGINT");
    await closed;
    assert.ok(stats(directory).lost > 0);
});

test("without the permission: one sentence, exit 1, nothing left", { skip: !nobody && "needs root, to become somebody else" }, () => {
    output("install", ["-d", "-m", "777", ownFolder()]);
    const directory = join(ownFolder(), "refused"), bare = scratch("bare");
    output("mkdir", ["-p", bare]); // no systemd-run in the PATH
    const result = nobody(["env", `PATH=${bare}`, ggscope, "record", "-o", directory, "--memory", "64M", "--", "/bin/true", "-m", tiny]);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /^ggscope: memory cannot be limited here: .*; run ggscope as root, or without --memory\n$/);
    assert.ok(!existsSync(directory));
});

test("systemd-run where that is what is permitted", { skip: !nobody && "needs root, to become somebody else" }, () => {
    output("install", ["-d", "-m", "777", ownFolder()]);
    const folder = join(ownFolder(), "fake"), log = join(folder, "log"), directory = join(ownFolder(), "scope");
    output("install", ["-d", "-m", "777", folder]);
    writeFileSync(join(folder, "systemd-run"), `#!/bin/sh\necho "$*" >> '${log}'\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n`);
    chmodSync(join(folder, "systemd-run"), 0o755);
    const command = words(tiny, "-n", "2", "--no-repack");
    const result = nobody([ggscope, "record", "-q", "-o", directory, "--memory", "192M", "--", ...command], { env: { ...process.env, PATH: `${folder}:${process.env.PATH}` } });
    assert.equal(result.status, 0, result.stderr);
    assert.equal(result.stdout, output(command[0], command.slice(1)));
    const scope = `--user --scope --quiet --collect --property=MemoryMax=${192 * MiB} --property=MemorySwapMax=0 -- `;
    assert.deepEqual(readFileSync(log, "utf8").trim().split("\n"), [`${scope}true`, scope + command.join(" ")]); // checked first, then used
    assert.equal(machine(directory).mechanism, "systemd-run --user");
    assert.deepEqual(experiment(directory).command, command);
    check(directory);
});

test("wrong sizes: exit 2", () => {
    for (const size of ["1M", "x", "-1", ""]) {
        const result = run(ggscope, ["record", "-o", scratch("never"), "--memory", size, "--", "true"]);
        assert.equal(result.status, 2, size);
        assert.match(result.stderr, /--memory takes a size of at least 16M/);
    }
});
