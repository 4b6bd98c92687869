// ggscope attach to programs that have an engine inside, with symbols, stripped or link-time
// optimised: their code is changed while all threads stand, and put back byte for byte.
import { test } from "node:test";
import assert from "node:assert/strict";
import { closeSync, existsSync, openSync, readFileSync, readSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ggscope, output, root, run, scratch } from "../lib.mjs";
import { attach, attachTo, ofThreads, skip, sleep, start, until } from "./attaching.mjs";
import { rows, stats } from "./traces.mjs";

scratch();
const has = (program) => run("sh", ["-c", `command -v ${program}`]).status === 0;
function compile(name, source, compiler, ...options) {
    output(compiler, ["-O2", "-DYIELDS", "-I", join(root, "src"), "-o", scratch(name), join(root, "tests", "engine", source), ...options, "-lpthread"]);
    return scratch(name);
}
const build = (name, ...options) => compile(name, "inside-host.c", "gcc", ...options);
function stripped(name, compiler, ...options) {
    const file = compile(name, "stripped-host.c", compiler, ...options);
    output("objcopy", ["--strip-all", file]);
    return file;
}
// Loads addons and waits.
function loads() {
    const source = `#include <dlfcn.h>
        #include <stdio.h>
        #include <unistd.h>
        int main(int argc, char ** argv) { for (int i = 1; i < argc; i++) if (!dlopen(argv[i], RTLD_NOW | RTLD_LOCAL)) return 1; puts("loaded"); fflush(stdout); for (;;) pause(); }`;
    output("gcc", ["-x", "c", "-o", scratch("loads"), "-"], { input: source });
    return scratch("loads");
}
const failures = (directory) => JSON.parse(run(ggscope, ["check", "--json", directory]).stdout).checks.filter((check) => check.result === "FAIL");

class Program {
    constructor(file, options) {
        Object.assign(this, start(file, ["endless"], options));
        this.file = file;
        this.pid = String(this.child.pid);
    }
    lines() {
        return this.said.stdout.split("\n").slice(0, -1);
    }
    async more(n = 3) {
        const before = this.lines().length;
        await until("the program's next lines", () => (assert.equal(this.child.exitCode ?? this.child.signalCode, null, this.said.stderr), this.lines().length >= before + n));
    }
    // Every line is the same: the output has not changed.
    sameOutput() {
        assert.equal(new Set(this.lines()).size, 1);
    }
    // Its code, with its permissions.
    code() {
        const fd = openSync(`/proc/${this.pid}/mem`, "r"), parts = [];
        for (const line of readFileSync(`/proc/${this.pid}/maps`, "utf8").split("\n").filter((one) => one.endsWith(this.file))) {
            const [, from, to, permissions] = line.match(/^(\w+)-(\w+) (\S+)/), data = Buffer.alloc(Number.parseInt(to, 16) - Number.parseInt(from, 16));
            readSync(fd, data, 0, data.length, Number.parseInt(from, 16));
            parts.push(`${from} ${permissions} ${permissions[1] === "w" ? "" : data.toString("latin1")}`);
        }
        closeSync(fd);
        return parts;
    }
    neverBoth() {
        for (const line of readFileSync(`/proc/${this.pid}/maps`, "utf8").split("\n")) assert.doesNotMatch(line, /^\S+ .wx/, line);
    }
}

// Attached and detached twice: `judge` looks at each recording; the code is changed meanwhile, and
// the same afterwards.
async function attachTwice(file, judge) {
    const program = new Program(file);
    await program.more();
    const before = program.code();
    for (let i = 0; i < 2; i++) {
        const a = attachTo(program.pid);
        await a.attached;
        await program.more(4);
        assert.notDeepEqual(program.code(), before, a.said.stderr);
        program.neverBoth();
        a.child.kill("SIGINT");
        const { status, stderr } = await a.ended;
        assert.equal(status, 0, stderr);
        assert.match(stderr, /and all of them for [\d.]+ ms/);
        assert.deepEqual(program.code(), before);
        assert.deepEqual(failures(a.directory), []);
        judge(stats(a.directory), a.directory, stderr);
        await program.more();
    }
    program.sameOutput();
}

test("recorded, twice, and its code is put back byte for byte", { skip }, () =>
    attachTwice(build("with-symbols"), (totals) => {
        assert.ok(totals.runs >= 5, `${totals.runs} graph runs`);
        assert.deepEqual([totals.nodes, totals.ops, totals.op_runs, totals.unseen, totals.lost], [totals.runs * 12, totals.runs * 8, totals.runs * 16, 0, 0]);
    }));

test("64 threads, on however many processors: all of them are stopped and recorded", { skip }, () =>
    attachTwice(build("many-threads", "-DTHREADS=64"), (totals) => {
        assert.deepEqual([totals.threads, totals.nodes, totals.op_runs, totals.unseen, totals.lost], [64, totals.runs * 12, totals.runs * 8 * 64, 0, 0]);
    }));

test("Ctrl-C pressed again and again: the code is put back all the same", { skip }, async () => {
    const program = new Program(build("pressed"));
    await program.more();
    const before = program.code();
    for (let i = 0; i < 3; i++) {
        const a = attachTo(program.pid);
        await a.attached;
        await program.more();
        // For less than the time after which it says that Ctrl-C ends the wait.
        for (const end = Date.now() + 1000; a.child.exitCode === null && Date.now() < end; await sleep(1)) a.child.kill("SIGINT");
        const { status, stderr } = await a.ended;
        assert.equal(status, 0, stderr);
        assert.deepEqual(program.code(), before, stderr);
    }
    await program.more();
    program.sameOutput();
});

test("waits of OpenMP's barrier are seen", { skip }, () =>
    attachTwice(build("openmp", "-fopenmp"), (totals, directory) => {
        assert.deepEqual([totals.ops, totals.op_runs, totals.unseen, totals.lost, totals.runs_without_waits], [totals.runs * 8, totals.runs * 16, 0, 0, 0]);
        for (const one of rows(directory, "op_runs").op_runs) assert.equal(one.flags & 8, 0, "its wait was seen");
    }));

for (const [name, make, compiler, ...options] of [["stripped", stripped, "gcc"], ["stripped", stripped, "gcc", "-no-pie"], ["stripped", stripped, "clang"],
    ["link-time optimised", (...words) => compile(words[0], "stripped-host.c", ...words.slice(1)), "gcc", "-flto"]])
    test(`${name}, ${[compiler, ...options].join(" ")}: graph runs, tokens and ends on the first thread`, { skip }, async (t) => {
        if (!has(compiler)) return t.skip(`there is no ${compiler}`);
        await attachTwice(make([name, compiler, ...options].join("-").replaceAll(" ", "-"), compiler, ...options), (totals, directory, stderr) => {
            assert.ok(totals.runs >= 4, `${totals.runs} graph runs`);
            for (const { token, position } of rows(directory, "tokens").tokens) assert.equal(token, position, "the program computes these");
            assert.ok(rows(directory, "tokens").tokens.length >= totals.runs);
            assert.deepEqual([totals.runs_of_first_thread, totals.nodes, totals.executed, totals.absorbed, totals.empty, totals.unseen, totals.opaque, totals.lost, totals.threads],
                [totals.runs, totals.runs * 8, totals.runs * 6, totals.runs, totals.runs, 0, 0, 0, 2]);
            assert.match(stderr, /^threads +only the first was seen/m);
            for (const one of rows(directory, "op_runs").op_runs) assert.ok(one.thread === 0 && (one.flags & 8) !== 0 && (one.flags & 1) !== 0, "it has an end, and no wait");
        });
    });

test("stripped, and its backend is not made yet, or laid out in another way: one sentence, and nothing is touched", { skip }, async () => {
    for (const [define, reason] of [["-DMAKES_NONE", "it has made no CPU backend yet: attach when its model is loaded"], ["-DOTHER_BACKEND", "it has made no CPU backend yet"], ["-DOTHER_TABLES", "it is not laid out as expected"]]) {
        const program = new Program(stripped(`refused${define}`, "gcc", define));
        await program.more(1);
        const before = program.code(), { status, stderr, directory } = await attach(program.pid, "--steps", "5");
        assert.equal(status, 1, stderr);
        assert.match(stderr, new RegExp(`its ggml has no functions to record single ops by, and ${reason}`));
        assert.ok(!existsSync(directory), "no directory is left");
        assert.deepEqual(program.code(), before);
        await program.more();
        program.sameOutput();
    }
});

test("a thread that cannot be stopped: one sentence, and the program is not told that it is recorded", { skip }, async () => {
    const waits = scratch("waits.c");
    writeFileSync(waits, `#include <pthread.h>
        #include <unistd.h>
        static void * wait(void * p) { char c; if (vfork() == 0) _exit(read(0, &c, 1) < 0); return p; }
        __attribute__((constructor)) static void begin(void) { pthread_t thread; pthread_create(&thread, 0, wait, 0); }`);
    const program = new Program(build("waits", waits), { stdio: ["pipe", "pipe", "pipe"] });
    await program.more();
    const before = program.code(), { status, stderr, directory } = await attach(program.pid, "--steps", "5");
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^ggscope: the threads of process \d+ \(waits\) cannot be stopped for a moment \(one waits in the kernel\), so the ggml inside it is not recorded$/m);
    assert.equal(program.said.stderr, "");
    assert.ok(!existsSync(directory), "no directory is left");
    assert.deepEqual(program.code(), before);
    program.child.stdin.end();
    await program.more();
    let again;
    await until("the wait to end", () => ofThreads(program.pid, "status").every(({ text }) => !/^State:\s+D/m.test(text)));
    for (const end = Date.now() + 60_000; (again = await attach(program.pid, "--steps", "5")).status !== 0;) {
        assert.match(again.stderr, /is being recorded already/); // until the library has left
        assert.ok(Date.now() < end, again.stderr);
    }
    assert.deepEqual(failures(again.directory), []);
    program.sameOutput();
});

test("functions that a recording needs were removed by the linker: told with where to look", { skip }, async () => {
    const program = new Program(build("collected", "-ffunction-sections", "-Wl,--gc-sections"));
    await program.more(1);
    const { status, stderr } = await attach(program.pid, "--for", "100ms");
    assert.equal(status, 1, stderr);
    assert.match(stderr, new RegExp(`computed no graph while ggscope was attached; ggscope doctor ${program.pid} says what can be seen$`, "m"));
    assert.match(run(ggscope, ["doctor", program.pid]).stdout, /^FAIL +program +ggml is linked into \S*collected itself, and its calls cannot be seen/m);
    await program.more();
    program.sameOutput();
});

test("ggscope is killed while attached: the program goes on, and the next attach puts its code back", { skip }, async () => {
    const program = new Program(build("killed"));
    await program.more();
    const before = program.code(), a = attachTo(program.pid);
    await a.attached;
    await program.more();
    a.child.kill("SIGKILL");
    await a.ended;
    await until("the library's leave", () => run(ggscope, ["seal", "-q", a.directory]).status === 0);
    await program.more();
    let again;
    for (const end = Date.now() + 60_000; (again = await attach(program.pid, "--steps", "5")).status !== 0;) {
        assert.match(again.stderr, /is being recorded already/); // until the library has left
        assert.ok(Date.now() < end, again.stderr);
    }
    assert.deepEqual(program.code(), before);
    await program.more();
    program.sameOutput();
});

test("doctor PID says what would be seen", { skip }, async () => {
    const program = new Program(build("asked")), before = (await program.more(), program.code());
    const { checks } = JSON.parse(run(ggscope, ["doctor", "--json", program.pid]).stdout);
    assert.ok(checks.some((check) => check.level === "ok" && /ggml is linked into .*asked itself, with symbols/.test(check.text)), JSON.stringify(checks));
    assert.deepEqual(program.code(), before);
    const blind = new Program(stripped("asked-stripped", "gcc"));
    await blind.more(1);
    assert.match(run(ggscope, ["doctor", blind.pid]).stdout, /^warn +program +ggml is linked into .*asked-stripped itself \(which is stripped\): graph runs of the CPU/m);
});

test("doctor PID of programs and addons whose files were removed or replaced", { skip: skip || (process.getuid() === 0 ? false : "needs root to read such files") }, async () => {
    const program = new Program(build("removed")), replaced = new Program(stripped("replaced", "gcc"));
    await Promise.all([program.more(1), replaced.more(1)]);
    rmSync(program.file);
    writeFileSync(`${replaced.file}.new`, "another");
    renameSync(`${replaced.file}.new`, replaced.file);
    const said = (pid) => run(ggscope, ["doctor", pid]).stdout;
    assert.match(said(program.pid), /^ok +program +ggml is linked into \S*removed itself, with symbols/m);
    assert.match(said(replaced.pid), /^warn +program +ggml is linked into \S*replaced itself \(which is stripped\)/m);

    const addon = scratch("engine.node");
    output("gcc", ["-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-DYIELDS", "-I", join(root, "src"), "-o", addon, join(root, "tests", "engine", "inside-host.c"), "-lpthread"]);
    const loader = start(loads(), [addon]);
    await until("the addon", () => /loaded/.test(loader.said.stdout));
    rmSync(addon);
    assert.match(said(String(loader.child.pid)), /^ok +program +ggml is linked into \S*engine\.node itself, with symbols/m);
    loader.child.kill("SIGKILL");
});
