// Recordings that are sealed while the program runs: whoever is killed, whenever, nothing is
// missing and nothing stays behind.
import { afterEach, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output, run, scratch } from "../lib.mjs";
import { check, fresh, host, rows, segments, steps } from "./traces.mjs";

const tiny = model("tiny");
const THREADS = 1, DECODES = 400; // more than two segments
const running = new Set(); // ended even if a test fails
afterEach(() => { for (const pid of running) try { process.kill(pid, "SIGKILL"); } catch { /* it has ended */ } });
const decodes = (stdout) => stdout.split('"logits"').length - 1; // number of decodes that have returned
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const state = (pid) => { try { return readFileSync(`/proc/${pid}/status`, "utf8").match(/^State:\s+(\w)/m)[1]; } catch { return "gone"; } };
async function signal(pid, name, ...states) {
    process.kill(pid, name);
    while (!states.includes(state(pid))) await sleep(5);
}
const kill = (pid) => signal(pid, "SIGKILL", "Z", "gone");
const stop = (pid) => signal(pid, "SIGSTOP", "T");
// Seals once all threads of all its processes have ended.
async function seal(directory) {
    for (let result; (result = run(ggscope, ["seal", "-q", directory])).status !== 0; await sleep(20)) assert.match(result.stderr, /still being recorded/);
}

// Records a program that computes this many tokens and then stops, until its first segments are
// sealed and removed.
async function start(...options) {
    const directory = fresh();
    const command = [host, "generate", "-t", String(THREADS), "-g", "2000", tiny];
    const child = spawn(ggscope, ["record", "-q", "-o", directory, ...options, "--", "sh", "-c", 'echo $$; exec "$0" "$@"', ...command], { stdio: ["ignore", "pipe", "pipe"] });
    const at = { directory, child, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => (at.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (at.stderr += text));
    at.closed = once(child, "close");
    running.add(child.pid);
    while (decodes(at.stdout) < DECODES) await once(child.stdout, "data");
    at.pid = Number(at.stdout.split("\n")[0]);
    running.add(at.pid);
    process.kill(at.pid, "SIGSTOP");
    return at;
}
const lanes = (directory) => segments(directory).filter(({ lane, sequence }) => typeof lane === "number" && sequence === 0);
async function sealedInPart(at, directory = at.directory) {
    run("sh", ["-c", `chrt -a -o -p 0 ${at.child.pid} || true`]); // on a busy machine, idle priority means never
    for (; lanes(directory).length > 0; await sleep(20)) assert.equal(at.child.exitCode, null, at.stderr);
    assert.ok(statSync(join(directory, "trace.ggs.part")).size > 64);
}

// Everything that the program printed is in the trace: each decode that returned, and every op of
// it.
function examine(directory, stdout, beside = ["stderr.txt", "stdout.txt"]) {
    const results = check(directory);
    const { runs, op_runs, losses } = rows(directory, "runs", "op_runs", "losses");
    const completed = decodes(stdout);
    const whole = runs.filter((r) => !(r.flags & 1));
    assert.ok(whole.length >= completed && completed >= DECODES, `${whole.length} graph runs of ${completed} decodes`);
    assert.ok(steps(directory).length >= completed);
    assert.deepEqual(losses, []);
    let row = 0;
    for (const r of runs) {
        assert.equal(r.first_op_run, row);
        for (let i = 0; i < r.op_runs; i++) assert.equal(op_runs[row + i].run, r.run);
        row += r.op_runs;
        assert.deepEqual([r.unseen, r.lost, r.cut], [0, 0, r.flags & 1 ? r.cut : 0]);
        if (!(r.flags & 1)) assert.equal(r.op_runs, r.executed * THREADS);
    }
    assert.equal(row, op_runs.length);
    assert.match(results["op coverage"], /^(ok|interrupted)$/);
    assert.deepEqual(readdirSync(directory).filter((name) => !["control.sock"].includes(name)).sort(), ["experiment.json", ...beside, "trace.ggs"]);
    return op_runs.length;
}

test("sealed while the program runs: who looks at it meanwhile sees all of it; ggscope record is killed, then the program: the rest is sealed later", async () => {
    const at = await start();
    await sealedInPart(at);
    const snapshot = fresh();
    output(ggscope, ["control", at.directory, "snapshot", "-o", snapshot]);
    const seen = rows(snapshot, "runs", "op_runs");
    assert.ok(seen.runs.length >= DECODES);
    assert.equal(seen.op_runs.length, seen.runs.reduce((sum, r) => sum + r.op_runs, 0));
    process.kill(at.pid, "SIGCONT"); // it continues in the same lanes
    for (const before = decodes(at.stdout); decodes(at.stdout) < before + 20;) await once(at.child.stdout, "data");
    at.child.kill("SIGKILL");
    await once(at.child, "exit");
    await kill(at.pid);
    assert.ok(existsSync(join(at.directory, "trace.ggs.part")));
    await seal(at.directory);
    assert.ok(examine(at.directory, at.stdout) >= seen.op_runs.length);
});

// ---- followed programs ----

// A script that starts such programs: the first is recorded into the directory, two more below it,
// when they are told to start.
async function startThree() {
    const at = { directory: fresh(), stderr: "" }, name = (what, n = "") => scratch(`followed-${what}${n}`);
    const script = `run() { "$@" > "$out$n" & echo $! > "$pid$n"; }; out='${name("out")}' pid='${name("pid")}'
        n=0; run "$@"; while [ ! -e '${name("go")}' ]; do sleep 0.02; done; n=1; run "$@"; n=2; run "$@"; wait`;
    at.child = spawn(ggscope, ["record", "-q", "--follow", "-o", at.directory, "--", "sh", "-c", script, "sh", host, "generate", "-t", String(THREADS), "-g", "2000", tiny], { stdio: ["ignore", "ignore", "pipe"] });
    running.add(at.child.pid);
    at.child.stderr.setEncoding("utf8").on("data", (text) => (at.stderr += text));
    at.stdout = (n) => (existsSync(name("out", n)) ? readFileSync(name("out", n), "utf8") : "");
    at.pids = [];
    at.computed = async (n, many) => { // and then it stops
        while (decodes(at.stdout(n)) < many) await sleep(10);
        at.pids[n] = Number(readFileSync(name("pid", n), "utf8"));
        running.add(at.pids[n]);
        await stop(at.pids[n]);
    };
    at.go = () => writeFileSync(name("go"), "");
    at.folder = (n) => join(at.directory, `process-${at.pids[n]}`);
    return at;
}

// The chunks of a trace except for the experiment and the windows, whose ends are known at the end.
function chunks(directory) {
    const file = readFileSync(join(directory, "trace.ggs")), [index, entries] = [0, 8].map((at) => Number(file.readBigUInt64LE(file.length - 64 + at)));
    const headers = Array.from({ length: entries }, (_, i) => file.subarray(index + 104 * i + 8, index + 104 * (i + 1)));
    return headers.filter((header) => ![1, 34].includes(header.readUInt32LE(4))).map((header) => header.toString("hex"));
}

// A reader of a recording that is stopped between listing its segments and reading them.
async function heldUp(directory) {
    writeFileSync(scratch("hold.c"), `
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <signal.h>
        #include <stdarg.h>
        #include <string.h>
        int open(const char * path, int flags, ...) {
            va_list more;
            va_start(more, flags);
            int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, int) : 0;
            va_end(more);
            static int held;
            size_t length = strlen(path);
            if (length > 13 && strcmp(path + length - 13, "trace.ggs.tmp") == 0 && !held++) raise(SIGSTOP);
            return ((int (*)(const char *, int, ...)) dlsym(RTLD_NEXT, "open"))(path, flags, mode);
        }`);
    output("gcc", ["-shared", "-fPIC", "-o", scratch("hold.so"), scratch("hold.c")]);
    const snapshot = fresh();
    const looker = spawn(ggscope, ["control", directory, "snapshot", "-o", snapshot], { stdio: "ignore", env: { ...process.env, LD_PRELOAD: scratch("hold.so") } });
    running.add(looker.pid);
    while (state(looker.pid) !== "T") assert.equal(looker.exitCode, null), await sleep(5);
    return { snapshot, looker };
}

test("programs that are followed are sealed while they run, too: the trace is the one that sealing at the end makes; one is killed, then ggscope record, then the rest", async () => {
    const at = await startThree();
    while (decodes(at.stdout(0)) < 1) await sleep(5);
    await stop(at.child.pid); // before anything is sealed
    await at.computed(0, DECODES);
    at.go();
    const { snapshot, looker } = await heldUp(at.directory), looked = once(looker, "exit");
    const goOn = async () => (looker.kill("SIGCONT"), assert.deepEqual(await looked, [0, null]));
    const early = !existsSync(join(at.directory, "trace.ggs.part")); // otherwise it holds the lock, and no segment is removed before it is done
    await Promise.all([1, 2].map((n) => at.computed(n, DECODES)));
    const copies = [1, 2].map(() => fresh());
    for (const n of [1, 2]) cpSync(at.folder(n), copies[n - 1], { recursive: true });
    process.kill(at.child.pid, "SIGCONT");
    if (!early) await goOn();
    await Promise.all([at.directory, at.folder(1), at.folder(2)].map((folder) => sealedInPart(at, folder)));
    if (early) await goOn();
    const held = (n) => readdirSync(`/proc/${at.child.pid}/fd`).filter((fd) => { try { return readlinkSync(`/proc/${at.child.pid}/fd/${fd}`).startsWith(at.folder(n)); } catch { return false; } });
    assert.ok(held(1).length > 0 && held(2).length > 0);
    await kill(at.pids[1]);
    while (held(1).length > 0) await sleep(20); // ended programs take none
    assert.ok(held(2).length > 0);
    assert.ok(existsSync(join(at.folder(1), "trace.ggs.part")));
    for (const copy of copies) cpSync(join(at.directory, "spool", "control"), join(copy, "spool", "control")); // the reader left a mark
    await kill(at.child.pid);
    for (const n of [2, 0]) await kill(at.pids[n]);
    await seal(at.directory);
    for (const n of [1, 2]) {
        assert.ok(examine(at.folder(n), at.stdout(n), []) > 0);
        await seal(copies[n - 1]);
        assert.deepEqual(chunks(at.folder(n)), chunks(copies[n - 1]));
    }
    check(at.directory);
    const [seen, known] = [snapshot, at.directory].map((folder) => rows(folder, "runs", "op_runs", "losses"));
    assert.deepEqual([seen.runs.length, seen.op_runs.length, seen.losses], [known.runs.length, known.op_runs.length, []]);
});
