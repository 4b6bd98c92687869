// Directories: claiming one, replacing one, leftovers of a killed recording, files of unexpected
// kinds.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, preloadable, run, sanitized, scratch } from "../lib.mjs";
import { obstacle } from "./machine.mjs";
import { hasLane } from "./traces.mjs";

const tiny = model("tiny");
scratch(); // creates the directory
let counter = 0;
const fresh = () => scratch(`d${counter++}`);
const generate = (...options) => [engine, "run", "-m", tiny, "-p", "Hello world", "-t", "1", "--ignore-eos", ...options];
const quoted = (words) => words.map((word) => `'${word}'`).join(" ");
const spools = () => readdirSync("/dev/shm").filter((name) => name.startsWith("ggscope-"));

// The reason why spools lie beside their recordings here, or false: /dev/shm is small.
const beside = obstacle("spool") || false;

// Starts a recording.
function start(args, options = {}) {
    const child = spawn(ggscope, ["record", ...args], { stdio: ["ignore", "pipe", "pipe"], ...options });
    const said = { stdout: "", stderr: "" };
    child.stdout.on("data", (data) => (said.stdout += data));
    child.stderr.on("data", (data) => (said.stderr += data));
    return { child, said, ended: once(child, "close").then(([status]) => status) };
}

async function until(condition, what) {
    for (const begin = Date.now(); Date.now() - begin < 60_000; await new Promise((done) => setTimeout(done, 5))) if (condition()) return;
    assert.fail(`waited in vain: ${what}`);
}
const isEmpty = (directory) => !existsSync(directory) || readdirSync(directory).length === 0;

function refused(args, pattern) {
    const result = run(ggscope, args);
    assert.equal(result.status, 1, result.stderr);
    assert.match(result.stderr, /^ggscope: [^\n]+\n$/);
    assert.match(result.stderr, pattern);
}

const good = scratch("good");
output(ggscope, ["record", "-q", "-o", good, "--", ...generate("-n", "3")]);

// Recordings that stop between claiming the directory and making their spool: each makes a file
// FOLDER/PID and waits for FOLDER/go.
writeFileSync(scratch("slow.c"), `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int symlink(const char * target, const char * path) {
    char mine[4096], go[4096];
    snprintf(mine, sizeof(mine), "%s/%d", getenv("HELD_UP"), (int) getpid());
    snprintf(go, sizeof(go), "%s/go", getenv("HELD_UP"));
    close(open(mine, O_WRONLY | O_CREAT, 0600));
    while (access(go, F_OK) != 0) usleep(1000);
    return ((int (*)(const char *, const char *)) dlsym(RTLD_NEXT, "symlink"))(target, path);
}`);
output("gcc", ["-shared", "-fPIC", "-o", scratch("slow.so"), scratch("slow.c"), "-ldl"]);
const heldUp = (folder) => (mkdirSync(folder), { env: { ...process.env, LD_PRELOAD: preloadable(scratch("slow.so")), HELD_UP: folder } });

test("of two recordings into one directory one is refused, and the other whole", { skip: beside }, async () => {
    const directory = fresh(), folder = fresh();
    const first = start(["-q", "-o", directory, "--", ...generate("-n", "4")], heldUp(folder));
    try {
        await until(() => readdirSync(folder).length === 1, "the first one to be held up");
        refused(["record", "-o", directory, "--", ...generate("-n", "4")], /is being recorded to/);
        refused(["record", "--force", "-o", directory, "--", ...generate("-n", "4")], /is being recorded to/);
    } finally {
        writeFileSync(join(folder, "go"), "");
    }
    assert.equal(await first.ended, 0, first.said.stderr);
    assert.equal(run(ggscope, ["check", directory]).status, 0);
});

test("8 recordings at once into one directory: one gets it, the others are refused before they touch it", { skip: beside }, async () => {
    const directory = fresh(), folder = fresh(), options = heldUp(folder);
    let ended = 0;
    const all = Array.from({ length: 8 }, () => start(["-q", "-o", directory, "--", ...generate("-n", "2")], options));
    for (const one of all) one.ended.then(() => ended++);
    try {
        await until(() => ended + readdirSync(folder).length === 8, "all of them to be refused or held up");
        assert.equal(readdirSync(folder).length, 1, "one has the directory");
    } finally {
        writeFileSync(join(folder, "go"), "");
    }
    const ends = await Promise.all(all.map((one) => one.ended));
    assert.equal(ends.filter((status) => status === 0).length, 1, all.map((one) => one.said.stderr).join(""));
    for (const [i, one] of all.entries()) if (ends[i] !== 0) assert.match(one.said.stderr, /^ggscope: [^\n]+is being recorded to[^\n]+\n$/);
    assert.equal(run(ggscope, ["check", directory]).status, 0);
});

test("--force refuses a recording that has not computed anything yet", async () => {
    const directory = fresh();
    const first = start(["-q", "-o", directory, "--", "sh", "-c", `read line; exec ${quoted(generate("-n", "3"))}`], { stdio: ["pipe", "pipe", "pipe"] });
    await until(() => existsSync(join(directory, "experiment.json")), "experiment.json");
    refused(["record", "--force", "-o", directory, "--", ...generate("-n", "3")], /is being recorded to/);
    refused(["seal", directory], /still being recorded/);
    refused(["check", directory], /still being recorded/);
    first.child.stdin.end("go\n");
    assert.equal(await first.ended, 0, first.said.stderr);
    assert.equal(run(ggscope, ["check", directory]).status, 0);
    assert.equal(run(ggscope, ["record", "-q", "--force", "-o", directory, "--", ...generate("-n", "2")]).status, 0);
    assert.equal(run(ggscope, ["check", directory]).status, 0);
});

const namespace = run("unshare", ["-rpf", "--mount-proc", "true"]).status === 0 ? ["-rpf", "--mount-proc"] : null;
test("a recording in another PID namespace is live", { skip: namespace ? false : "PID namespaces cannot be made here" }, async () => {
    const directory = fresh(), n = 300;
    const child = spawn("unshare", [...namespace, ggscope, "record", "-q", "-o", directory, "--", ...generate("-n", String(n))], { stdio: "ignore" });
    const ended = once(child, "close");
    await until(() => hasLane(directory), "a lane");
    refused(["seal", directory], /still being recorded/);
    refused(["record", "--force", "-o", directory, "--", "true"], /is being recorded to/);
    assert.equal((await ended)[0], 0);
    assert.match(output(ggscope, ["stats", directory]), new RegExp(`tokens +${n} steps`));
});

test("an engine whose ggscope was killed is live in whatever namespace, and sealed after its end", { skip: namespace ? false : "PID namespaces cannot be made here" }, async () => {
    const directory = fresh();
    const outer = spawn("unshare", [...namespace, "sh", "-c", `${quoted([ggscope, "record", "-q", "-o", directory, "--", ...generate("-n", "300")])} & read line; kill -9 $!; read line; wait`],
        { stdio: ["pipe", "ignore", "ignore"] });
    const ended = once(outer, "close");
    await until(() => hasLane(directory), "a lane");
    outer.stdin.write("kill\n");
    await new Promise((done) => setTimeout(done, 50));
    const looked = run(ggscope, ["seal", directory]);
    if (looked.status !== 0) assert.match(looked.stderr, /still being recorded/); // otherwise the engine had ended
    outer.stdin.end("end\n");
    await ended;
    for (let status = 1; status !== 0; ) {
        const sealed = run(ggscope, ["seal", "-q", directory]);
        status = sealed.status;
        if (status !== 0) assert.match(sealed.stderr, /still being recorded/);
    }
    assert.equal(run(ggscope, ["check", directory]).status, 0);
});

test("killed before the first segment: the next recording removes what was left in memory", { skip: beside }, async () => {
    const directory = fresh(), begun = fresh();
    const killed = start(["-o", directory, "--", "sh", "-c", `: > "${begun}"; exec sleep 3456`]);
    await until(() => existsSync(begun), "the program"); // all processes that hold the mark exist
    const place = readlinkSync(join(directory, "spool"));
    const program = readFileSync(`/proc/${killed.child.pid}/task/${killed.child.pid}/children`, "utf8").trim().split(" ").map(Number);
    killed.child.kill("SIGKILL");
    for (const pid of program) if (pid) process.kill(pid, "SIGKILL");
    await killed.ended;
    assert.ok(existsSync(place));
    output(ggscope, ["record", "-q", "-o", fresh(), "--", ...generate("-n", "2")]);
    assert.ok(!existsSync(place), `${place} is still there`);
    refused(["check", directory], /holds nothing that was recorded/);
    assert.equal(run(ggscope, ["record", "-q", "--force", "-o", directory, "--", ...generate("-n", "2")]).status, 0);
});

test("a program whose ggscope was killed before it computed anything is live, and sealed after its end", { skip: beside }, async () => {
    const directory = fresh(), begun = scratch("begun"), go = scratch("go-on");
    const script = `: > "${begun}"; while [ ! -e "${go}" ]; do sleep 0.02; done; exec ${quoted(generate("-n", "3"))} > /dev/null 2>&1`; // its output is not read
    const killed = start(["-q", "-o", directory, "--", "sh", "-c", script]);
    await until(() => existsSync(begun), "the program");
    killed.child.kill("SIGKILL");
    await killed.ended;
    refused(["seal", directory], /still being recorded/);
    refused(["check", directory], /still being recorded/);
    refused(["record", "--force", "-o", directory, "--", ...generate("-n", "2")], /is being recorded to/);
    const place = readlinkSync(join(directory, "spool"));
    output(ggscope, ["record", "-q", "-o", fresh(), "--", ...generate("-n", "2")]);
    assert.ok(existsSync(place), "swept away under a program that lives");
    writeFileSync(go, "");
    await until(() => run(ggscope, ["seal", "-q", directory]).status === 0, "the seal");
    assert.equal(run(ggscope, ["check", directory]).status, 0);
    assert.match(output(ggscope, ["stats", directory]), /tokens +3 steps/);
    assert.ok(!existsSync(place));
});

test("what can still be sealed is not swept away", async () => {
    const directory = fresh();
    const killed = start(["-q", "-o", directory, "--", ...generate("-n", "2000")]);
    await until(() => hasLane(directory), "a lane");
    const program = readFileSync(`/proc/${killed.child.pid}/task/${killed.child.pid}/children`, "utf8").trim().split(" ").map(Number);
    killed.child.kill("SIGKILL");
    for (const pid of program) process.kill(pid, "SIGKILL");
    await killed.ended;
    output(ggscope, ["record", "-q", "-o", fresh(), "--", ...generate("-n", "2")]);
    await until(() => run(ggscope, ["seal", "-q", directory]).status === 0, "the seal");
    assert.equal(run(ggscope, ["check", directory]).status, 0);
});

test("two that look at an unsealed recording at once: both get the answer", async () => {
    const directory = fresh();
    const preload = preloadable(join(build, "lib", "libggscope-capture.so")); // of this build: there may be others below the folder
    output(generate()[0], generate("-n", "3").slice(1), { env: { ...process.env, LD_PRELOAD: preload, GGSCOPE_OUTPUT: directory } });
    assert.ok(existsSync(join(directory, "spool")));
    const all = Array.from({ length: 6 }, () => {
        const child = spawn(ggscope, ["check", directory], { stdio: ["ignore", "ignore", "pipe"] });
        return once(child, "close");
    });
    for (const [status] of await Promise.all(all)) assert.equal(status, 0);
});

test("a child in the background keeps its output, and does not keep us", async () => {
    const directory = fresh(), mark = scratch("mark"), go = scratch("go");
    const script = `(while [ ! -e "${go}" ]; do sleep 0.02; done; echo hi; echo oops >&2; echo ok > "${mark}") & echo first; exec ${quoted(generate("-n", "2"))}`;
    const recording = start(["-q", "-o", directory, "--", "sh", "-c", script]);
    const [status] = await once(recording.child, "exit");
    assert.equal(status, 0, recording.said.stderr);
    assert.ok(existsSync(join(directory, "trace.ggs")), "sealed while the child lives");
    assert.equal(run(ggscope, ["check", directory]).status, 0);
    writeFileSync(go, "");
    await recording.ended; // wait for the end of its output
    assert.ok(existsSync(mark), "the child lived on");
    assert.match(recording.said.stdout, /^first\n[^]*hi\n$/);
    assert.match(recording.said.stderr, /oops\n$/);
    assert.match(readFileSync(join(directory, "stdout.txt"), "utf8"), /hi\n$/);
});

test("a directory that is renamed while it is recorded to is sealed where it is; one that is removed is said to be", async () => {
    for (const removed of [false, true]) {
        const directory = fresh(), elsewhere = fresh(), begun = fresh(), go = fresh(), spools = scratch(`spools-${removed}`);
        mkdirSync(spools);
        const script = `: > "${begun}"; while [ ! -e "${go}" ]; do sleep 0.02; done; exec ${quoted(generate("-n", "3"))}`;
        const recording = start(["-q", "--spool", spools, "-o", directory, "--", "sh", "-c", script]);
        await until(() => existsSync(begun), "the program to begin"); // earlier, ggscope itself opens the directory by name
        try {
            if (removed) rmSync(directory, { recursive: true, maxRetries: 50, retryDelay: 20 }); // the recording may still create files there
            else renameSync(directory, elsewhere);
        } finally {
            writeFileSync(go, ""); // it ends in any case
        }
        assert.equal(await recording.ended, removed ? 1 : 0, recording.said.stderr);
        if (removed) assert.match(recording.said.stderr, /^ggscope: [^\n]+ was removed while it was being recorded to/m);
        else assert.equal(run(ggscope, ["check", elsewhere]).status, 0);
        assert.ok(!existsSync(directory));
        assert.deepEqual(readdirSync(spools), []);
    }
});

test("a link that leads nowhere is no directory to record to", () => {
    const link = fresh();
    symlinkSync("nowhere", link);
    refused(["record", "-o", link, "--", "true"], /is a link that leads nowhere/);
});

const withoutProc = run("unshare", ["-m", "sh", "-c", "mount -t tmpfs none /proc"]).status === 0;
test("a program without /proc: what is not seen is said, and check says it again", { skip: sanitized ? "AddressSanitizer itself needs /proc" : withoutProc ? false : "mounts cannot be made here" }, () => {
    const directory = fresh();
    const { status, stderr } = run(ggscope, ["record", "-q", "-o", directory, "--", "unshare", "-m", "sh", "-c", `mount -t tmpfs none /proc; exec ${quoted(generate("-n", "2", "--no-repack"))}`]);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^ggscope: cannot read \/proc\/self\/maps [^\n]+ is not seen/m);
    assert.match(run(ggscope, ["check", directory]).stdout, /^warning +mappings +\d+ bytes of mapped files count as buffers/m);
});

// ---- files of unexpected kinds ----

test("a pipe as experiment.json hangs nobody", () => {
    const directory = fresh();
    cpSync(good, directory, { recursive: true });
    rmSync(join(directory, "experiment.json"));
    output("mkfifo", [join(directory, "experiment.json")]);
    for (const verb of ["check", "stats", "seal"]) {
        const result = run(ggscope, [verb, directory], { timeout: 120_000 });
        assert.equal(result.signal, null, verb);
        assert.equal(result.status, 0, result.stderr);
    }
    rmSync(join(directory, "experiment.json"));
});

test("a spool that leads out of the experiment is left as it is", () => {
    const outside = scratch("outside");
    mkdirSync(outside);
    for (const name of ["journal-0000.seg", "lane-000-0000.seg", "story-0000.seg"]) writeFileSync(join(outside, name), "precious");
    for (const target of [outside, "../outside", scratch("ggscope-00000000-0000-4000-8000-000000000000")]) {
        const directory = fresh();
        cpSync(good, directory, { recursive: true });
        if (target.includes("ggscope-0000") && !existsSync(target)) renameSync(outside, target);
        symlinkSync(target, join(directory, "spool"));
        const before = readdirSync(existsSync(target) ? target : outside);
        for (const verb of ["check", "seal", "stats"]) refused([verb, directory], /does not lead to the spool of this experiment/);
        assert.deepEqual(readdirSync(existsSync(target) ? target : outside), before);
        assert.ok(lstatSync(join(directory, "spool")).isSymbolicLink());
    }
});

test("devices and links are written through, not replaced", () => {
    const page = scratch("page.html"), link = scratch("link.html");
    output(ggscope, ["report", "-q", "-o", page, good]);
    for (const path of ["/dev/full"]) {
        const before = statSync(path).rdev;
        const lost = run(ggscope, ["report", "-q", "-o", path, good]);
        assert.equal(lost.status, 1);
        assert.match(lost.stderr, /^ggscope: [^\n]*No space left on device\n$/);
        assert.ok(statSync(path).isCharacterDevice() && statSync(path).rdev === before);
    }
    symlinkSync(page, link);
    rmSync(page);
    for (let again = 0; again < 2; again++) { // first to a file that does not exist
        output(ggscope, ["report", "-q", "-o", link, good]);
        assert.ok(lstatSync(link).isSymbolicLink());
        assert.ok(lstatSync(page).isFile() && statSync(page).size > 1000);
    }
    assert.deepEqual(readdirSync(scratch()).filter((name) => name.includes(".tmp-")), []);
});

test("a report that is killed leaves nothing behind", async () => {
    const folder = fresh();
    mkdirSync(folder);
    for (const wait of [1, 5, 10, 20, 40]) {
        const child = spawn(ggscope, ["report", "-q", "-o", join(folder, "page.html"), good], { stdio: "ignore" });
        const ended = once(child, "close");
        await new Promise((done) => setTimeout(done, wait));
        child.kill("SIGKILL");
        await ended;
        assert.deepEqual(readdirSync(folder).filter((name) => name !== "page.html"), []);
    }
});

test("nothing is left in memory", () => {
    const ours = readdirSync(scratch()).filter((name) => existsSync(scratch(join(name, "experiment.json")))).map((name) => {
        try { return JSON.parse(readFileSync(scratch(join(name, "experiment.json")), "utf8")).experiment_id; } catch { return ""; }
    });
    assert.deepEqual(spools().filter((name) => ours.includes(name.slice(8))), []);
    assert.ok(isEmpty(scratch("nowhere")));
});
