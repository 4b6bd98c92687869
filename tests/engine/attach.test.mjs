// ggscope attach: a running program is recorded from outside, and is unchanged afterwards.
import { test } from "node:test";
import assert from "node:assert/strict";
import { chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, engine, ggscope, output, run } from "../lib.mjs";
import { Host, alive, attach, attachTo, begun, compile, facts, refused, skip, sleeper, start, tiny, until } from "./attaching.mjs";
import { check, experiment, fresh, host, jsonLines, rows, steps } from "./traces.mjs";

test("a program that runs is recorded, and is as before afterwards", { skip }, async () => {
    const program = new Host("-t", "2");
    await program.steps(4);
    const before = program.image();
    const { directory, status, stderr } = await attach(program.pid, "--steps", "9");
    assert.equal(status, 0, stderr);
    await program.steps(4);
    const after = program.image();
    assert.deepEqual(after.fixed.map((text) => text.slice(0, 200)), before.fixed.map((text) => text.slice(0, 200)));
    assert.ok(after.fixed.every((text, i) => text === before.fixed[i]), "code and relocated data are as before");
    assert.equal(after.words, 0, "no slot leads to the library");
    program.sameOutput();
    assert.match(program.said.stderr, /^$/, "--quiet by the same user");
    await program.stop();

    const results = check(directory);
    for (const name of Object.keys(results)) assert.ok(["ok", "skipped"].includes(results[name]), `${name}: ${results[name]}`);
    const { steps, contexts, loads } = rows(directory, "steps", "contexts", "loads");
    assert.equal(steps.length, 9);
    assert.ok(steps.every((step) => step.phase !== 4), "no step is a warm-up");
    assert.equal(contexts.length, 1);
    assert.ok(loads === undefined || loads.length <= 1);
    const facts = experiment(directory);
    assert.equal(facts.state, "complete");
    assert.equal(facts.exit_status, null);
    assert.equal(facts.process_id, Number(program.pid));
    assert.equal(facts.command[0], host);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
});

test("attached and preloaded recordings say the same", { skip }, async () => {
    const program = new Host();
    await program.steps(4);
    const attached = await attach(program.pid, "--steps", "8");
    assert.equal(attached.status, 0, attached.stderr);
    await program.stop();
    const preloaded = fresh();
    assert.equal(run(ggscope, ["record", "-q", "-o", preloaded, "--", host, "generate", "-g", "3", tiny]).status, 0);
    assert.deepEqual(facts(attached.directory), facts(preloaded));
});

test("ggscope doctor PID says what would be seen, and touches nothing", { skip }, async () => {
    const program = new Host();
    await program.steps(2);
    const threads = program.counts();
    const answer = run(ggscope, ["doctor", "--verbose", program.pid]);
    assert.match(answer.stdout, new RegExp(`^ok +process +ggscope attach ${program.pid} can record process ${program.pid} \\(host\\)$`, "m"));
    assert.match(answer.stdout, /^ok +tokens +llama_decode: /m);
    assert.deepEqual(program.counts(), threads);
    await program.stop();
    const bare = start(compile("bare", sleeper), []);
    await begun(bare);
    assert.match(run(ggscope, ["doctor", String(bare.child.pid)]).stdout, /^warn +process .* has no ggml inside and no library of ggml or llama.cpp loaded/m);
    bare.child.kill("SIGKILL");
    const gone = run(ggscope, ["doctor", "999999999"]);
    assert.equal(gone.status, 1);
    assert.match(gone.stdout, /^FAIL +process +there is no process 999999999$/m);
});

test("again and again: nothing is left in the process", { skip }, async () => {
    const program = new Host();
    await program.steps(2);
    const seen = [];
    for (let i = 0; i < 6; i++) {
        const { directory, status, stderr } = await attach(program.pid, "--steps", "2");
        assert.equal(status, 0, stderr);
        assert.equal(rows(directory, "steps").steps.length, 2);
        check(directory);
        seen.push(program.counts());
    }
    assert.deepEqual(seen.at(-1), seen[1]);
    assert.equal(program.image().words, 0);
    await program.steps(4);
    program.sameOutput();
    await program.stop();
});

for (const [model, option] of [["looked up by the C library", "-DTLS=__thread"], ["at a fixed distance", "-DTLS=__attribute__((tls_model(\"initial-exec\"))) __thread"]]) {
    test(`an allocator that links the data of threads, ${model}`, { skip }, async () => {
        const source = readFileSync(new URL("thread-allocator.c", import.meta.url), "utf8");
        const allocator = compile(`allocator, ${model}`, source, "-shared", "-fPIC", "-O1", option);
        const program = new Host({ LD_PRELOAD: allocator });
        await program.steps(2);
        const seen = [];
        for (let i = 0; i < 4; i++) {
            const { status, stderr } = await attach(program.pid, "--steps", "2");
            assert.equal(status, 0, stderr);
            await program.steps(4);
            seen.push(program.counts());
        }
        assert.deepEqual(seen.at(-1), seen[1]);
        program.sameOutput();
        await program.stop();
    });
}

test("an allocator inside the program", { skip }, async () => {
    const source = readFileSync(new URL("thread-allocator.c", import.meta.url), "utf8"), work = `
        #include <unistd.h>
        static void * work(void * unused) { free(calloc(1, 100)); return unused; }
        int main(void) {
            for (pthread_t thread;; usleep(1000)) {
                if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
            }
        }`;
    const program = start(compile("allocator inside", source + work, "-O1"), []);
    for (let i = 0; i < 3; i++) {
        await until("its threads", () => existsSync(`/proc/${program.child.pid}/maps`));
        const { stderr } = await attach(String(program.child.pid), "--for", "100ms");
        assert.doesNotMatch(stderr, /ended/);
    }
    assert.equal(program.child.exitCode ?? program.child.signalCode, null);
    program.child.kill("SIGKILL");
});

test("Ctrl-C, control stop and --for detach; the process says that it is recorded", { skip }, async () => {
    const program = new Host();
    await program.steps(2);
    const ends = { "Ctrl-C": (a) => a.child.kill("SIGINT"), "SIGTERM": (a) => a.child.kill("SIGTERM"), "control stop": (a) => assert.equal(run(ggscope, ["control", a.directory, "stop"]).stdout, "paused\n") };
    for (const [name, end] of Object.entries(ends)) {
        const a = attachTo(program.pid);
        await a.attached;
        await program.steps(4);
        assert.match(output(ggscope, ["control", a.directory, "status"]), /recording/);
        end(a);
        const { status, stderr } = await a.ended;
        assert.equal(status, 0, `${name}: ${stderr}`);
        check(a.directory);
        assert.ok(rows(a.directory, "steps").steps.length >= 3, name);
        assert.equal(program.image().words, 0, name);
    }
    const begin = Date.now(), timed = await attach(program.pid, "--for", "2s");
    assert.ok(Date.now() - begin >= 2000);
    if (timed.status !== 0) assert.match(timed.stderr, /computed no graph while ggscope was attached/); // on a busy machine
    else check(timed.directory);
    assert.equal(program.said.stderr.match(/ggscope: process \d+ is being recorded by \w+, prompts included/g).length, 3);
    await program.steps(2);
    program.sameOutput();
    await program.stop();
});

test("a snapshot of an attached recording", { skip }, async () => {
    const program = new Host();
    await program.steps(2);
    const a = attachTo(program.pid);
    await a.attached;
    await program.steps(4);
    const copy = output(ggscope, ["control", a.directory, "snapshot"]).trim();
    check(copy);
    a.child.kill("SIGINT");
    assert.equal((await a.ended).status, 0);
    await program.stop();
});

test("a ggscope that is killed lets the process go, and what it recorded is sealed", { skip }, async () => {
    const program = new Host();
    await program.steps(2);
    const a = attachTo(program.pid);
    await a.attached;
    await program.steps(4);
    a.child.kill("SIGKILL");
    await a.ended;
    await until("the library to leave", () => program.image().words === 0);
    await until("the seal", () => run(ggscope, ["seal", a.directory]).status === 0);
    check(a.directory);
    assert.ok(rows(a.directory, "steps").steps.length >= 3);
    const again = await attach(program.pid, "--steps", "2");
    assert.equal(again.status, 0, again.stderr);
    await program.steps(2);
    program.sameOutput();
    await program.stop();
});

test("a process that ends or is killed while it is recorded", { skip }, async () => {
    for (const signal of ["SIGTERM", "SIGKILL"]) {
        const program = new Host();
        await program.steps(2);
        const a = attachTo(program.pid);
        await a.attached;
        await program.steps(4);
        program.child.kill(signal);
        const { status, stderr } = await a.ended;
        assert.equal(status, 0, stderr);
        check(a.directory);
        assert.ok(rows(a.directory, "steps").steps.length >= 3);
    }
});

const python3 = "/usr/bin/python3"; // not another one in PATH
test("Python, which loads the engine after ggscope has attached", { skip: skip || (existsSync(python3) ? false : "python3 is missing") }, async () => {
    const script = fileURLToPath(new URL("ctypes-host.py", import.meta.url)), sizes = output(host, ["sizes"]).trim();
    const where = jsonLines(output(engine, ["run", "-m", tiny, "-p", "x", "-n", "1", "-t", "1", "--json"]))[0].engine.directory;
    // The first decodes give ggscope time to find the loaded libraries.
    const late = "import runpy, sys\nprint('begun', file=sys.stderr, flush=True)\nsys.stdin.readline()\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')";
    const python = start(python3, ["-c", late, script, where, tiny, sizes, "5", JSON.stringify(Array(60).fill([1, 2, 3]))], { stdio: ["pipe", "pipe", "pipe"] });
    await until("python", () => /begun/.test(python.said.stderr));
    const a = attachTo(String(python.child.pid));
    await a.attached;
    python.child.stdin.end("\n");
    assert.equal((await python.ended).status, 0, python.said.stderr);
    assert.equal((await a.ended).status, 0, a.said.stderr);
    check(a.directory);
    const fed = jsonLines(python.said.stdout), found = steps(a.directory).slice(-3);
    assert.deepEqual(found.map((s) => ({ tokens: s.tokens, positions: s.positions })), fed.slice(-3).map(({ tokens, positions }) => ({ tokens, positions })));
});

test("two at once, and a process that is being recorded already", { skip }, async () => {
    const program = new Host();
    await program.steps(2);
    const a = attachTo(program.pid);
    await a.attached;
    await program.steps(2);
    const second = await attach(program.pid);
    assert.equal(second.status, 1);
    assert.match(second.stderr, /^ggscope: .*(is being recorded already|another ggscope attaches)/);
    assert.ok(!existsSync(second.directory));
    a.child.kill("SIGINT");
    assert.equal((await a.ended).status, 0);
    await program.stop();

    const directory = fresh(), recorded = start(ggscope, ["record", "-q", "-o", directory, "--", host, "endless", tiny]);
    const child = () => readFileSync(`/proc/${recorded.child.pid}/task/${recorded.child.pid}/children`, "utf8").split(" ")[0];
    await until("the program", () => /logits/.test(recorded.said.stdout));
    const third = await attach(child());
    assert.equal(third.status, 1);
    assert.match(third.stderr, /is being recorded already/);
    recorded.child.kill("SIGTERM");
    await recorded.ended;
    check(directory);
});

test("a model file that was removed: what is touched is told, and no share of it", { skip }, async () => {
    const file = `${fresh()}.gguf`;
    copyFileSync(tiny, file);
    const program = start(host, ["endless", "-g", "3", file]);
    await until("its output", () => /logits/.test(program.said.stdout));
    rmSync(file);
    const directory = fresh(), { status, stderr } = await start(ggscope, ["attach", "-o", directory, "--steps", "4", String(program.child.pid)]).ended;
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^model +[\d.]+ MiB touched; its size is not known: the file was removed or replaced$/m);
    check(directory);
});

// ---- refusals: one sentence, and nothing changes ----

test("what is no process, or not one", { skip }, async () => {
    await refused("999999999", /there is no process 999999999/);
    await refused("no-such-program", /there is no process named no-such-program/);
    const file = compile("twins", sleeper), children = [start(file, []), start(file, [])];
    await Promise.all(children.map(begun));
    await refused(basename(file), /2 processes are named .* give the number of one/);
    for (const { child } of children) child.kill("SIGKILL");
    const threaded = new Host("-t", "2");
    await threaded.steps(1);
    let thread;
    await until("a thread", () => (thread = readdirSync(`/proc/${threaded.pid}/task`).find((id) => id !== threaded.pid)) !== undefined);
    const { stderr, status } = await attach(thread);
    assert.equal(status, 1);
    assert.match(stderr, /is a thread of another process|there is no process/); // the engine's threads come and go
    await threaded.stop();
});

test("a stopped, a traced and a statically linked process", { skip }, async () => {
    const stopped = new Host();
    await stopped.steps(1);
    stopped.child.kill("SIGSTOP");
    await until("the stop", () => /State:\s+T/.test(readFileSync(`/proc/${stopped.pid}/status`, "utf8")));
    await refused(stopped.pid, /it is stopped; continue it \(kill -CONT \d+\)/);
    stopped.child.kill("SIGCONT");
    await stopped.steps(2);
    stopped.sameOutput();
    const tracer = compile("tracer", "#include <stdlib.h>\n#include <stdio.h>\n#include <sys/ptrace.h>\n#include <unistd.h>\nint main(int c, char ** v) { (void) c; if (ptrace(PTRACE_SEIZE, atoi(v[1]), 0, 0)) return 1; puts(\"traces\"); fflush(stdout); pause(); }\n");
    const debuggerOf = start(tracer, [stopped.pid]);
    await until("the tracer", () => /traces/.test(debuggerOf.said.stdout));
    await refused(stopped.pid, /process \d+ traces it \(a debugger\?\)/);
    debuggerOf.child.kill("SIGKILL");
    await debuggerOf.ended;
    await stopped.steps(2);
    await stopped.stop();
    const lone = start(compile("static", sleeper, "-static"), []);
    await begun(lone);
    await refused(String(lone.child.pid), /it is statically linked, so no library can be loaded into it/);
    alive(lone.child);
});

test("32-bit programs, musl and Valgrind, known by what they map", { skip }, async () => {
    const maps = compile("maps", "#include <fcntl.h>\n#include <stdio.h>\n#include <sys/mman.h>\n#include <unistd.h>\nint main(int c, char ** v) { (void) c; if (mmap(0, 4096, PROT_READ, MAP_PRIVATE, open(v[1], O_RDONLY), 0) == MAP_FAILED) return 1; puts(\"mapped\"); fflush(stdout); for (;;) pause(); }\n");
    const folder = fresh();
    mkdirSync(join(folder, "x86_64-linux-musl"), { recursive: true });
    for (const [name, sentence] of [["ld-linux.so.2", /: it is a 32-bit program$/m], ["vgpreload_core-amd64-linux.so", /: it runs in Valgrind, which simulates its threads$/m], ["x86_64-linux-musl/libc.so", /: its C library is musl, /]]) {
        writeFileSync(join(folder, name), "x");
        const { child, said } = start(maps, [join(folder, name)]);
        await until("the mapping", () => /mapped/.test(said.stdout));
        await refused(String(child.pid), sentence);
        alive(child);
    }
});

test("a process whose root has no /proc: refused before it is touched", { skip: skip || (process.getuid() === 0 ? false : "needs root to change roots") }, async () => {
    const rooted = compile("rooted", "#include <stdio.h>\n#include <unistd.h>\nint main(int c, char ** v) { (void) c; if (chroot(v[1]) || chdir(\"/\")) return 1; puts(\"rooted\"); fflush(stdout); for (;;) pause(); }\n"), folder = fresh();
    mkdirSync(join(folder, "tmp"), { recursive: true });
    const { child, said } = start(rooted, [folder]);
    await until("the root", () => /rooted/.test(said.stdout));
    await refused(String(child.pid), /: it has no \/proc, by which it would load the capture library$/m);
    alive(child);
});

test("a process at its memory limit, which the kernel would kill: refused before it is touched", { skip: skip || (process.getuid() === 0 ? false : "needs root to limit memory") }, async (t) => {
    const folder = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map((root) => join(root, `ggscope-test-${process.pid}`)).find((one) => {
        try { mkdirSync(one); } catch { return false; }
        if (existsSync(join(one, "memory.limit_in_bytes")) || existsSync(join(one, "memory.max"))) return true;
        rmdirSync(one);
        return false;
    });
    if (folder === undefined) return t.skip("there is no control group of memory");
    const { child, ended } = start("sh", ["-c", `echo $$ > ${folder}/cgroup.procs && exec ${compile("limited", sleeper)}`]);
    try {
        await until("the program", () => /limited|^e\d+/.test(readFileSync(`/proc/${child.pid}/comm`, "utf8")));
        writeFileSync(join(folder, existsSync(join(folder, "memory.max")) ? "memory.max" : "memory.limit_in_bytes"), String(4 << 20));
        await refused(String(child.pid), /: its memory limit leaves it \d+ KiB, a recording needs 8 MiB, and the kernel would kill it; raise the limit of \/sys\/fs\/cgroup\S*ggscope-test-/);
        alive(child);
    } finally {
        child.kill("SIGKILL");
        await ended;
        await until("the group to be empty", () => { try { rmdirSync(folder); return true; } catch { return !existsSync(folder); } });
    }
});

// Sleeps under a seccomp filter that does ACTION at the system call NUMBER.
const filtered = `#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    struct sock_filter code[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}, {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, NUMBER}, {BPF_RET | BPF_K, 0, 0, ACTION}, {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    struct sock_fprog program = {4, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 1;
    puts("filtered");
    fflush(stdout);
    for (;;) pause();
}
`;
const root = process.getuid() === 0 ? false : "needs root to read filters and to become other users";
test("a process under a seccomp filter: the filter is read, and tried on what attaching does", { skip: skip || root }, async () => {
    const cases = [["SYS_clone", "SECCOMP_RET_KILL_PROCESS", /its seccomp filter would end it at the system call clone;/], ["SYS_openat", "SECCOMP_RET_ERRNO | 1", /its seccomp filter refuses the system call openat;/],
        ["SYS_memfd_create", "SECCOMP_RET_TRAP", /its seccomp filter would end it at the system call memfd_create;/], ["SYS_socket", "SECCOMP_RET_KILL_PROCESS", null], ["SYS_clone3", "SECCOMP_RET_ERRNO | 38", null]];
    for (const [call, action, sentence] of cases) {
        const { child, said } = start(compile(`filtered ${call}`, filtered, `-DNUMBER=${call}`, `-DACTION=${action}`), []);
        await until("the filter", () => /filtered/.test(said.stdout));
        if (sentence !== null) {
            await refused(String(child.pid), sentence);
        } else {
            const { status, stderr } = await attach(String(child.pid), "--for", "100ms"); // it has no engine: attaches, and records nothing
            assert.equal(status, 1);
            assert.match(stderr, /computed no graph while ggscope was attached/);
        }
        alive(child);
        child.kill("SIGKILL");
    }
});

test("a spool without room: the reason, and nothing else, is told", { skip: skip || root }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "ggscope-test-small-"));
    t.after(() => (run("umount", [folder]), rmSync(folder, { recursive: true })));
    if (run("mount", ["-t", "tmpfs", "-o", "size=1m", "none", folder]).status !== 0) return t.skip("tmpfs cannot be mounted here");
    const program = new Host();
    await program.steps(2);
    const { status, stderr } = await attach(program.pid, "--spool", folder, "--steps", "2");
    assert.equal(status, 1);
    assert.match(stderr, /^ggscope: process \d+ \(host\): cannot write to \S+: No space left on device: the program runs on, nothing is recorded\n$/);
    assert.deepEqual(readdirSync(folder), []);
    await program.steps(2);
    program.sameOutput();
});

const nobody = { uid: 65534, gid: 65534 };
test("other users: refused, or their recording is theirs", { skip: skip || root }, async (t) => {
    const ours = start(compile("ours", sleeper), []);
    await begun(ours);
    const home = mkdtempSync(join(tmpdir(), "ggscope-test-nobody-")); // other users cannot enter this file's directory
    t.after(() => rmSync(home, { recursive: true }));
    chownSync(home, nobody.uid, nobody.gid);
    await refused(String(ours.child.pid), /it belongs to user 0; run ggscope as that user or as root \(CAP_SYS_PTRACE\)/, { ...nobody, cwd: home });
    alive(ours.child);
    const theirs = start(host, ["endless", "-g", "3", tiny], nobody);
    await until("its output", () => (assert.equal(theirs.child.exitCode, null, theirs.said.stderr), /logits/.test(theirs.said.stdout)));
    const { directory, status, stderr } = await attach(String(theirs.child.pid), "--steps", "4");
    assert.equal(status, 0, stderr);
    check(directory);
    assert.equal(statSync(directory).uid, nobody.uid);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).uid, nobody.uid, name);
    // The same user needs no privileges.
    const own = join(home, "own"), { ended } = start(ggscope, ["attach", "-q", "-o", own, "--steps", "2", String(theirs.child.pid)], nobody);
    const result = await ended;
    assert.equal(result.status, 0, result.stderr);
    check(own);
});

// Separate PID and mount namespaces: an empty /dev/shm, and ggscope's libraries are not visible.
const apart = root || (run("unshare", ["--mount", "--pid", "--fork", "true"]).status === 0 ? false : "namespaces are not permitted here");
test("a process with other PIDs and other mounts: the library comes through memory", { skip: skip || apart }, async () => {
    const script = `mount -t proc none /proc && mount -t tmpfs none /dev/shm && mount -t tmpfs none '${join(build, "lib")}' && exec '${host}' endless -g 3 '${tiny}'`;
    const boxed = start("unshare", ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]);
    await until("its output", () => (assert.equal(boxed.child.exitCode, null, boxed.said.stderr), /logits/.test(boxed.said.stdout)));
    const pid = readFileSync(`/proc/${boxed.child.pid}/task/${boxed.child.pid}/children`, "utf8").trim();
    const inside = () => readdirSync(join("/proc", pid, "root", "dev", "shm")), descriptors = () => readdirSync(`/proc/${pid}/fd`).length;
    const before = descriptors();
    for (let i = 0; i < 3; i++) {
        const { directory, status, stderr } = await attach(pid, "--steps", "3", "--model", tiny);
        assert.equal(status, 0, stderr);
        check(directory);
        assert.equal(rows(directory, "steps").steps.length, 3);
        assert.deepEqual(inside(), [], "nothing is left there");
        assert.equal(descriptors(), before);
    }
    assert.equal(readFileSync(`/proc/${pid}/maps`, "utf8").split("\n").filter((line) => / r-xp .*memfd:ggscope_attach/.test(line)).length, 1, "loaded once");
    assert.match(run(ggscope, ["doctor", pid]).stdout, /^ok +process .* the capture library is loaded already$/m);
    boxed.child.kill("SIGKILL");
    await boxed.ended;
});
