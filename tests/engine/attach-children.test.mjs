// Programs that fork, start others, stop, exec or end while ggscope attaches or is attached.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { ggscope, run } from "../lib.mjs";
import { Host, alive, attach, attachTo, compile, ofThreads, refused, skip, sleep, start, tiny, until } from "./attaching.mjs";
import { check, fresh, host, jsonLines, rows, stats } from "./traces.mjs";

// A program that waits for a line before it makes its children.
async function waiting(mode) {
    const program = start(host, [mode, tiny], { stdio: ["pipe", "pipe", "pipe"] });
    await until("the program", () => (assert.equal(program.child.exitCode, null, program.said.stderr), /ready/.test(program.said.stdout)));
    return { ...program, pid: String(program.child.pid), go: () => program.child.stdin.write("\n") };
}
const recordings = (directory) => readdirSync(directory).filter((name) => name.startsWith("process-"));

test("forked workers: told without --follow", { skip }, async () => {
    const program = await waiting("prefork"), a = attachTo(program.pid);
    await a.attached;
    program.go();
    await until("both to compute", () => new Set(jsonLines(program.said.stdout.slice(0, program.said.stdout.lastIndexOf("\n"))).filter((l) => l.decode).map((l) => l.context)).size === 2);
    await looked(String(a.child.pid));
    a.child.kill("SIGINT");
    const { status, stderr } = await a.ended;
    assert.equal(status, 1, "nothing was recorded");
    assert.match(stderr, /^ggscope: the program computed no graph itself: 2 forked children did; record them with --follow$/m);
    assert.deepEqual(recordings(a.directory), []);
    // A worker can be attached to separately, although its parent was.
    const worker = String(jsonLines(program.said.stdout.slice(0, program.said.stdout.lastIndexOf("\n"))).find((l) => "worker" in l).worker);
    const own = await attach(worker, "--steps", "3");
    assert.equal(own.status, 0, own.stderr);
    check(own.directory);
    assert.equal(rows(own.directory, "steps").steps.length, 3);
    alive(program.child);
});

test("forked workers: recorded with --follow, and let go", { skip }, async () => {
    const program = await waiting("prefork"), a = attachTo(program.pid, "--follow");
    await a.attached;
    program.go();
    const decodes = () => jsonLines(program.said.stdout.slice(0, program.said.stdout.lastIndexOf("\n"))).filter((l) => l.decode);
    const each = () => [0, 1].map((n) => decodes().filter((l) => l.context === n).length);
    await until("both to compute", () => Math.min(...each()) > 6);
    a.child.kill("SIGINT");
    const { status, stderr } = await a.ended;
    assert.equal(status, 0, stderr);
    const [other] = recordings(a.directory);
    assert.equal(recordings(a.directory).length, 1, "the first to compute has the directory itself");
    assert.match(stderr, new RegExp(`^children +${join(a.directory, other)}$`, "m"));
    for (const directory of [a.directory, join(a.directory, other)]) {
        check(directory);
        assert.ok(rows(directory, "steps").steps.length > 2, directory);
        assert.equal(statSync(directory).mode & 0o777, 0o700);
    }
    // They continue, can be recorded again, and write nothing more to this recording.
    const before = each();
    await until("both to go on", () => each().every((n, i) => n > before[i] + 4));
    const again = await attach(other.slice("process-".length), "--steps", "2");
    assert.equal(again.status, 0, again.stderr);
    check(again.directory);
    assert.deepEqual(recordings(a.directory), [other]);
});

test("--follow, and ggscope is killed: the workers go on", { skip }, async () => {
    const program = await waiting("prefork"), a = attachTo(program.pid, "--follow");
    await a.attached;
    program.go();
    await until("a recording of a worker", () => recordings(a.directory).length === 1);
    a.child.kill("SIGKILL");
    await a.ended;
    await until("the seal", () => run(ggscope, ["seal", a.directory]).status === 0);
    await until("the other's", () => run(ggscope, ["seal", join(a.directory, recordings(a.directory)[0])]).status === 0);
    check(a.directory);
    check(join(a.directory, recordings(a.directory)[0]));
    const before = program.said.stdout.length;
    await until("it to go on", () => program.said.stdout.length > before + 10_000);
});

// A child has its parent's open files until it runs, which can take a while on a busy machine.
test("a child that was forked and has not run yet: the recording is sealed all the same", { skip }, async () => {
    const program = await waiting("bare-child"), a = attachTo(program.pid);
    await a.attached;
    const steps = () => (program.said.stdout.match(/logits/g) ?? []).length, before = steps();
    await until("a recorded step", () => steps() > before + 1);
    program.go();
    await until("the child", () => /"child"/.test(program.said.stdout));
    a.child.kill("SIGINT");
    const { status, stderr } = await a.ended;
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stderr, /still being recorded/);
    check(a.directory);
    program.child.stdin.end(); // this ends its child
    await program.ended;
});

// Waits until ggscope has searched for started programs three times: its thread sleeps in between.
async function looked(pid) {
    const thread = ofThreads(pid, "comm").find(({ text }) => text === "children\n").id;
    const looks = () => Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8"))[1]);
    const before = looks();
    await until("three looks", () => looks() >= before + 3);
}

test("a router, whose servers are programs of their own", { skip }, async () => {
    for (const follow of [[], ["--follow"]]) {
        const program = await waiting("router"), a = attachTo(program.pid, ...follow);
        await a.attached;
        program.go();
        await until("the server", () => (program.said.stdout.match(/logits/g) ?? []).length > 4);
        const [server] = readFileSync(`/proc/${program.pid}/task/${program.pid}/children`, "utf8").trim().split(" ");
        if (follow.length > 0) await until("ggscope's notice", () => (a.said.stderr.match(/attached to process/g) ?? []).length === 2);
        else await looked(a.child.pid);
        const before = program.said.stdout.length;
        await until("more", () => program.said.stdout.length > before + 10_000);
        a.child.kill("SIGINT");
        const { status, stderr } = await a.ended;
        if (follow.length === 0) {
            assert.equal(status, 1, stderr);
            assert.match(stderr, new RegExp(`^ggscope: the program computed no graph itself: 1 program that it started ran an engine \\(.*, process ${server}\\); record it with --follow$`, "m"));
        } else {
            assert.equal(status, 0, stderr);
            assert.match(stderr, new RegExp(`^children +${join(a.directory, `process-${server}`)}$`, "m"));
            check(join(a.directory, `process-${server}`));
            assert.ok(rows(join(a.directory, `process-${server}`), "steps").steps.length > 2);
        }
        alive(program.child);
        const after = program.said.stdout.length;
        await until("it to go on", () => program.said.stdout.length > after + 1000);
        program.child.stdin.end();
        assert.equal((await program.ended).status, 0);
    }
});

test("record of a router: its servers are told, or recorded with --follow", { skip }, async () => {
    for (const follow of [[], ["--follow"]]) {
        const directory = fresh(), program = start(ggscope, ["record", "-o", directory, ...follow, "--", host, "busy-router", tiny], { stdio: ["pipe", "pipe", "pipe"] });
        await until("the router", () => (assert.equal(program.child.exitCode, null, program.said.stderr), /ready/.test(program.said.stdout)));
        program.child.stdin.write("\n");
        await until("the server", () => (program.said.stdout.match(/logits/g) ?? []).length > 12);
        if (follow.length === 0) await looked(program.child.pid);
        program.child.stdin.end();
        const { status, stderr } = await program.ended;
        if (follow.length === 0) {
            assert.match(stderr, /^children +1 program that it started ran engines, not recorded: --follow$/m);
            assert.deepEqual(recordings(directory), []);
            assert.equal(stats(directory).machine.started_unrecorded, 1);
        } else {
            assert.equal(status, 0, stderr);
            const [server] = recordings(directory);
            assert.match(stderr, new RegExp(`^children +${join(directory, server)}$`, "m"));
            assert.ok(rows(join(directory, server), "steps").steps.length > 2);
        }
    }
});

test("record of a program that only starts others: the empty recording says how many, and what records them", { skip }, async () => {
    const program = start(ggscope, ["record", "-o", fresh(), "--", "sh", "-c", "cat; true"], { stdio: ["pipe", "pipe", "pipe"] });
    await until("the search", () => ofThreads(program.child.pid, "comm").some(({ text }) => text === "children\n"));
    await looked(program.child.pid);
    program.child.stdin.end();
    const { stderr } = await program.ended;
    assert.match(stderr, /^ggscope: no ggml activity was seen: .*; it started 1 program, which --follow records too$/m);
});

test("a process that becomes another program while it is attached", { skip }, async () => {
    const file = compile("becomes", '#include <signal.h>\n#include <unistd.h>\nstatic void become(int n) { (void) n; execl("/bin/sleep", "sleep", "60", (char *) 0); }\nint main(void) { signal(SIGUSR1, become); for (;;) pause(); }\n');
    const { child } = start(file, []);
    await until("the program", () => /becomes|e\d+/.test(readFileSync(`/proc/${child.pid}/comm`, "utf8")));
    const a = attachTo(String(child.pid));
    await a.attached;
    child.kill("SIGUSR1");
    const { status, stderr } = await a.ended;
    assert.equal(status, 1);
    assert.match(stderr, /computed no graph while ggscope was attached/);
    assert.equal(readFileSync(`/proc/${child.pid}/comm`, "utf8"), "sleep\n");
    child.kill("SIGKILL");
});

test("a process that forks while it is attached: the child runs on, and is counted", { skip }, async () => {
    const { child, said } = start(host, ["forking", tiny]);
    await until("its output", () => /logits/.test(said.stdout));
    const a = attachTo(String(child.pid));
    await a.attached;
    const before = said.stdout.length;
    await until("children", () => (said.stdout.slice(before).match(/child_status":0/g) ?? []).length >= 2);
    a.child.kill("SIGINT");
    const { status, stderr } = await a.ended;
    assert.equal(status, 0, stderr);
    check(a.directory);
    assert.match(stderr, /^children +\d+ forked process(es)? computed graphs, not recorded: --follow$/m);
    assert.doesNotMatch(said.stdout, /child_status":[1-9]/);
    child.kill("SIGKILL");
});

// A program of one thread takes no locks for a fork. The child decodes one token, its parent none.
test("a fork that began before attaching: its child is not recorded and does not hang", { skip }, async () => {
    const slow = compile("slow-fork", "#include <pthread.h>\n#include <time.h>\nstatic void rest(void) { nanosleep(&(struct timespec){0, 5000000}, 0); }\n__attribute__((constructor)) static void begin(void) { pthread_atfork(rest, 0, 0); }\n", "-shared", "-fPIC");
    for (let i = 0; i < 3; i++) {
        const { child, said } = start(host, ["forking", tiny], { env: { ...process.env, LD_PRELOAD: slow } });
        await until("its output", () => /child_status/.test(said.stdout));
        const { directory, status, stderr } = await attach(String(child.pid), "--steps", "3");
        assert.equal(status, 0, stderr);
        check(directory);
        assert.deepEqual(rows(directory, "steps").steps.filter((step) => step.tokens < 2), []);
        const before = said.stdout.length;
        await until("children", () => (said.stdout.slice(before).match(/child_status":0/g) ?? []).length >= 2);
        child.kill("SIGKILL");
    }
});

// ---- at any moment ----

test("a process that is stopped while it is attached: it is let go when it runs again", { skip }, async () => {
    const program = new Host();
    await program.steps(2);
    const a = attachTo(program.pid);
    await a.attached;
    await program.steps(2);
    program.child.kill("SIGSTOP");
    await until("the stop", () => /State:\s+T/.test(readFileSync(`/proc/${program.pid}/status`, "utf8")));
    a.child.kill("SIGINT");
    await until("the sentence", () => /waiting for the graph run under way to end; Ctrl-C leaves that to the process/.test(a.said.stderr));
    a.child.kill("SIGINT");
    const { stderr } = await a.ended;
    assert.match(stderr, /is still being recorded; when it is over: ggscope seal /);
    assert.match(readFileSync(`/proc/${program.pid}/status`, "utf8"), /State:\s+T/, "it stays stopped");
    program.child.kill("SIGCONT");
    await program.steps(4);
    await until("the slots", () => program.image().words === 0);
    await until("the seal", () => run(ggscope, ["seal", a.directory]).status === 0);
    check(a.directory);
    program.sameOutput();
    await program.stop();
});

test("a process that cannot be stopped: its only thread waits in the kernel", { skip }, async () => {
    const { child, said } = start(compile("vfork", '#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts("waits"); fflush(stdout); if (vfork() == 0) { char c; _exit(read(0, &c, 1) < 0); } puts("on"); fflush(stdout); for (;;) pause(); }\n'), [], { stdio: ["pipe", "pipe", "pipe"] });
    await until("the wait", () => /waits/.test(said.stdout) && /^State:\s+D/m.test(readFileSync(`/proc/${child.pid}/status`, "utf8")));
    await refused(String(child.pid), /none of its threads can be stopped at a place from which it could go on; try again$/m);
    child.stdin.end();
    await until("it to go on", () => /on/.test(said.stdout));
    alive(child);
    assert.match((await attach(String(child.pid), "--for", "100ms")).stderr, /computed no graph while ggscope was attached/);
    child.kill("SIGKILL");
});

// The moment varies from the start of ggscope to after its attaching.
const moments = Array.from({ length: 12 }, (_, i) => 3 * i);
const sentence = /^ggscope: (there is no process \d+|process \d+ \(.*\) (has ended|ended, or became another program, while ggscope attached to it|computed no graph while ggscope was attached(; ggscope doctor \d+ says what can be seen)?)|cannot attach to process \d+ \(.*\): .*|cannot (read|open|write to) the (memory|mappings) of process .*)$/;

test("a process that ends, or becomes another program, at any moment of attaching: one sentence", { skip }, async () => {
    const becomes = compile("becomes", '#include <signal.h>\n#include <unistd.h>\nstatic void become(int n) { (void) n; execl("/bin/sleep", "sleep", "60", (char *) 0); }\nint main(void) { signal(SIGUSR1, become); for (;;) pause(); }\n');
    for (const signal of ["SIGKILL", "SIGUSR1"]) {
        for (const moment of moments) {
            const { child } = start(becomes, []);
            await until("the program", () => readFileSync(`/proc/${child.pid}/comm`, "utf8").trim() === basename(becomes).slice(0, 15));
            await sleep(20);
            const directory = fresh(), a = start(ggscope, ["attach", "-q", "-o", directory, "--for", "100ms", String(child.pid)]);
            await sleep(moment);
            child.kill(signal);
            const { status, stderr } = await a.ended;
            assert.equal(status, 1, stderr);
            assert.equal(stderr.trim().split("\n").length, 1, stderr);
            assert.match(stderr.trim(), sentence);
            if (signal === "SIGKILL") continue;
            await until("the other program", () => readFileSync(`/proc/${child.pid}/comm`, "utf8") === "sleep\n");
            alive(child);
            child.kill("SIGKILL");
        }
    }
});

test("a process that forks all the time, attached to and let go", { skip }, async () => {
    const { child, said } = start(host, ["forking", tiny]);
    await until("its output", () => /logits/.test(said.stdout));
    for (let i = 0; i < 6; i++) {
        const { directory, status, stderr } = await attach(String(child.pid), "--steps", "2", ...(i % 2 ? ["--follow"] : []));
        assert.equal(status, 0, stderr);
        check(directory);
        for (const name of recordings(directory)) check(join(directory, name));
    }
    alive(child);
    assert.doesNotMatch(said.stdout, /child_status":[1-9]/);
    child.kill("SIGKILL");
});
