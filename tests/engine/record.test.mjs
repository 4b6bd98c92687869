// ggscope record and ggscope seal: the program behaves as without ggscope, and leaves an
// experiment.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, preloadable, run, scratch } from "../lib.mjs";
import { segments } from "./traces.mjs";

const tiny = model("tiny");
const root = process.getuid() === 0;
scratch(); // creates the directory
let counter = 0;
const fresh = () => scratch(`e${counter++}`);
const json = (directory) => JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));
const generate = (...options) => [engine, "run", "-m", tiny, "-p", "Hello world", "-t", "1", ...options];
const spools = (id) => (existsSync("/dev/shm") ? readdirSync("/dev/shm").filter((name) => name === `ggscope-${id}`) : []);

// Records a program to its end.
function record(command, { options = [], directory = fresh(), ...rest } = {}) {
    const result = run(ggscope, ["record", "-o", directory, ...options, "--", ...command], rest);
    return { ...result, directory };
}
const sh = (script, options) => record(["sh", "-c", script], options);

// Must fail with exactly one sentence, before anything is made.
function refused(args, pattern, directory) {
    const result = run(ggscope, args);
    assert.equal(result.status, 1, result.stderr);
    assert.equal(result.stdout, "");
    assert.match(result.stderr, /^ggscope: [^\n]+\n$/);
    assert.match(result.stderr, pattern);
    if (directory) assert.ok(!existsSync(directory), "no directory was made");
}

// A small program that uses the engine: opens a model's metadata, runs a shell command and waits
// for a line.
const engineDirectory = output(engine, ["version"]).trimEnd().split("\n")[2];
const user = scratch("user");
writeFileSync(scratch("user.c"), `
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
struct parameters { bool no_alloc; void * context; };
void * gguf_init_from_file(const char * path, struct parameters parameters);
int main(int argc, char ** argv) {
    if (argc < 3 || gguf_init_from_file(argv[1], (struct parameters){true, NULL}) == NULL) return 3;
    fflush(stdout);
    int status = system(argv[2]);
    if (argc > 3) getchar();
    return status == 0 ? 0 : 4;
}`);
output("gcc", ["-o", user, scratch("user.c"), `-L${engineDirectory}`, "-lggml-base", `-Wl,-rpath,${engineDirectory}`, "-Wl,--allow-shlib-undefined"]);

// ---- results ----

test("an engine's run becomes an experiment: trace, metadata, output; the spool is gone", () => {
    const result = record(generate("-n", "5"));
    assert.equal(result.status, 0, result.stderr);
    const { directory } = result;
    const data = json(directory);
    assert.deepEqual(readdirSync(directory).sort(), ["experiment.json", "stderr.txt", "stdout.txt", "trace.ggs"]);
    for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    assert.equal(readFileSync(join(directory, "stdout.txt"), "utf8"), result.stdout);
    assert.deepEqual(spools(data.experiment_id), []);

    assert.match(data.experiment_id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(data.state, "complete");
    assert.equal(data.exit_status, 0);
    assert.equal(data.signal, null);
    assert.match(data.start_utc, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Date.parse(data.end_utc) >= Date.parse(data.start_utc));
    assert.ok(data.duration_ns > 0 && data.start_monotonic_ns > 0);
    assert.deepEqual(data.command, generate("-n", "5"));
    assert.equal(data.working_directory, process.cwd());
    assert.equal(data.model, tiny);
    assert.ok(data.host.cores >= 1 && data.host.memory_bytes > 0 && data.host.kernel && data.host.os);
    assert.ok(data.engine.libraries.some((l) => /libllama/.test(l.path) && /^[0-9a-f]{8,}$/.test(l.build_id)));
    assert.match(data.engine.ggml_version, /./);
    assert.equal(data.threads, 1);
    assert.equal(data.model_files.length, 1);
    assert.equal(data.model_files[0].size, statSync(tiny).size);
    assert.match(data.model_files[0].metadata_xxh3, /^[0-9a-f]{16}$/);
    assert.deepEqual(data.losses, []);
    assert.ok(data.settings.max_size > 0);
    assert.match(result.stderr, /5 (token steps|tokens)/);
});

test("recording changes no logits", () => {
    for (const threads of ["1", "2"]) {
        const args = generate("-n", "4", "--json", "--logits-hash", "-t", threads);
        const plain = JSON.parse(output(args[0], args.slice(1)));
        const recorded = record(args);
        assert.equal(recorded.status, 0, recorded.stderr);
        assert.equal(JSON.parse(recorded.stdout).logits_hash, plain.logits_hash);
    }
});

test("secrets in the environment are named, not kept", () => {
    const env = { ...process.env, LLAMA_API_KEY: "sesame", GGML_VISIBLE: "yes", UNRELATED: "no" };
    const { directory } = record(["true"], { env });
    const { environment } = json(directory);
    assert.equal(environment.GGML_VISIBLE, "yes");
    assert.equal(environment.LLAMA_API_KEY, "(hidden)");
    assert.equal(environment.UNRELATED, undefined);
});

test("without -o it goes to experiments/<date-time>-<model>, each time to another", () => {
    const cwd = fresh();
    mkdirSync(cwd);
    for (let i = 0; i < 2; i++) assert.equal(run(ggscope, ["record", "-q", "--", ...generate("-n", "1")], { cwd }).status, 0);
    const names = readdirSync(join(cwd, "experiments"));
    assert.equal(names.length, 2);
    for (const name of names) assert.match(name, /^\d{8}-\d{6}-tiny(-\d+)?$/);
});

test("--quiet says nothing of its own", () => {
    const result = record(generate("-n", "1"), { options: ["--quiet"] });
    assert.equal(result.stderr, readFileSync(join(result.directory, "stderr.txt"), "utf8"));
});

// ---- the program is not affected ----

test("output passes byte by byte, each stream to its own", () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) & 255)); // no line end at the end
    writeFileSync(scratch("bytes"), bytes);
    const result = sh(`cat "${scratch("bytes")}"; printf 'to stderr' >&2; exit 3`, { encoding: "buffer" });
    assert.equal(result.status, 3);
    assert.ok(result.stdout.equals(bytes));
    assert.ok(result.stderr.toString().startsWith("to stderr"));
    assert.ok(readFileSync(join(result.directory, "stdout.txt")).equals(bytes));
    assert.equal(readFileSync(join(result.directory, "stderr.txt"), "utf8"), "to stderr");
});

test("input reaches it, and output comes at once", async () => {
    const child = spawn(ggscope, ["record", "-q", "-o", fresh(), "--", "sh", "-c", "printf ask; read answer; printf \"<$answer>\""]);
    let text = "";
    child.stdout.on("data", (data) => (text += data));
    while (text !== "ask") await once(child.stdout, "data"); // would hang if output were held back
    child.stdin.end("forty two\n");
    await once(child, "close");
    assert.equal(text, "ask<forty two>");
});

test("its exit status is ours, a signal is 128 more", () => {
    for (const status of [1, 2, 77, 255]) assert.equal(sh(`exit ${status}`).status, status);
    const killed = record(["perl", "-e", "kill 'KILL', $$"]);
    assert.equal(killed.status, 137);
    assert.equal(json(killed.directory).signal, "SIGKILL");
    assert.equal(json(killed.directory).exit_status, null);
});

test("signals that are sent to us reach it, each once", async () => {
    const names = ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"];
    const script = `$|=1; for my $s (qw(${names.join(" ")})) { $SIG{$s} = sub { print "$s\\n" } } print "ready\\n"; while (!defined($l = <STDIN>) || $l !~ /end/) {}`;
    const child = spawn(ggscope, ["record", "-q", "-o", fresh(), "--", "perl", "-e", script]);
    let text = "";
    child.stdout.on("data", (data) => (text += data));
    while (text !== "ready\n") await once(child.stdout, "data");
    let expected = "ready\n";
    for (const name of names) {
        child.kill(`SIG${name}`);
        expected += `${name}\n`;
        while (text.length < expected.length) await once(child.stdout, "data");
        assert.equal(text, expected);
    }
    child.stdin.end("end\n");
    const [status] = await once(child, "close");
    assert.equal(status, 1); // it has no ggml
    assert.equal(text, expected, "nothing came twice");
});

test("a reader that goes away is the program's business", () => {
    const result = run("bash", ["-c", `set -o pipefail; "${ggscope}" record -q -o "${fresh()}" -- yes | head -n 1`]);
    assert.equal(result.stdout, "y\n");
    assert.equal(result.status, 141);
});

test("a reader of both streams that goes away keeps nothing from being sealed", () => {
    const directory = fresh();
    const result = run("bash", ["-c", `"${ggscope}" record -o "${directory}" -- ${generate("-n", "60", "--verbose").map((word) => `'${word}'`).join(" ")} 2>&1 | head -n 1`]);
    assert.equal(result.status, 0);
    assert.ok(existsSync(join(directory, "experiment.json")));
    assert.ok(!existsSync(join(directory, "spool")));
    assert.deepEqual(spools(json(directory).experiment_id), []);
    assert.notEqual(json(directory).state, "recording");
});

test("closed standard streams do no harm", () => {
    const directory = fresh();
    run("bash", ["-c", `"${ggscope}" record -o "${directory}" -- sh -c 'echo out; echo err >&2; exit 6' <&- >&- 2>&-`]);
    assert.equal(json(directory).exit_status, 6);
    assert.equal(readFileSync(join(directory, "stdout.txt"), "utf8"), "out\n");
    assert.equal(readFileSync(join(directory, "stderr.txt"), "utf8"), "err\n");
});

test("a child of its own that holds the pipes open does not keep us", async () => {
    const child = spawn(ggscope, ["record", "-q", "-o", fresh(), "--", "sh", "-c", "(read never) <&3 & echo $!"], { stdio: ["ignore", "pipe", "pipe", "pipe"] });
    let text = "";
    child.stdout.on("data", (data) => (text += data));
    const [status] = await once(child, "exit"); // the other one waits for a line that is never sent
    assert.equal(status, 1);
    while (!/\n/.test(text)) await once(child.stdout, "data");
    process.kill(Number(text), "SIGKILL");
});

test("no descriptor and no variable of ours is left to children of an engine", () => {
    const look = "ls /proc/self/fd | sort -n | tr '\\n' ' '; env | sort | grep -v '^_='";
    const plain = run(user, [tiny, look]);
    const recorded = record([user, tiny, look], { options: ["-q"] });
    assert.equal(plain.status, 0, plain.stderr);
    assert.equal(recorded.status, 0, recorded.stderr);
    assert.equal(recorded.stdout, plain.stdout);
});

test("an assertion of ggml that ends a program is told apart from other ways to abort", () => {
    const said = (line) => run(ggscope, ["record", "-q", "-o", fresh(), "--", "sh", "-c", `printf '%s\\n' 'before' "$0" 'behind' >&2; kill -ABRT $$`, line]).stderr;
    const told = /^ggscope: the engine ended it by an assertion of its own: (.*)$/m;
    assert.equal(told.exec(said("/some/where/llama.cpp/ggml/src/ggml-cpu/ops.cpp:77: GGML_ASSERT(a == b) failed"))[1], "ops.cpp:77: GGML_ASSERT(a == b) failed");
    assert.equal(told.exec(said("ggml-cuda.cu:9: fatal \x1b[31m error"))[1], "ggml-cuda.cu:9: fatal ?[31m error");
    for (const other of ["main.c:3: assertion failed", "see ggml.c:3: it is there", "ggml.txt:3: no source", "ggml.c: no line", "ggml.c:x: none", ""]) assert.doesNotMatch(said(other), told, other);
});

test("an LD_PRELOAD that was there stays, for the program and its children", (t) => {
    writeFileSync(scratch("other.c"), "int nothing;");
    output("gcc", ["-shared", "-fPIC", "-o", scratch("libother.so"), scratch("other.c")]);
    const other = preloadable(scratch("libother.so"));
    const env = { ...process.env, LD_PRELOAD: other };
    const recorded = record([user, tiny, "printenv LD_PRELOAD; grep -c libother /proc/$PPID/maps"], { options: ["-q"], env });
    const [first, second] = recorded.stdout.split("\n");
    assert.equal(first, other);
    assert.ok(Number(second) > 0);
});

// ---- on a terminal ----

// Drives a program on a terminal: for each pair, waits for a text, then types or does something.
const python = ["python3", "/usr/bin/python3"].find((name) => { try { return run(name, ["-c", "import pty"]).status === 0; } catch { return false; } });
const driver = scratch("driver.py");
writeFileSync(driver, `
import fcntl, json, os, pty, struct, sys, termios
def resize(fd, rows, columns): fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
argv, steps = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    resize(0, 33, 101)
    os.execvp(argv[0], argv)
seen, mark = b"", 0
while True:
    try: data = os.read(fd, 65536)
    except OSError: break
    if not data: break
    seen += data
    while steps and steps[0][0].encode() in seen[mark:]:
        wanted, action = steps.pop(0)
        mark = seen.index(wanted.encode(), mark) + len(wanted)
        if isinstance(action, list): resize(fd, *action)
        else: os.write(fd, action.encode())
_, status = os.waitpid(pid, 0)
print(json.dumps({"status": os.waitstatus_to_exitcode(status), "text": seen.decode("utf8", "replace"), "left": steps}))
`);
function onTerminal(command, steps) {
    const result = run(python, [driver, JSON.stringify([command, steps])], { timeout: 120_000 });
    assert.equal(result.status, 0, result.stderr);
    const answer = JSON.parse(result.stdout);
    assert.deepEqual(answer.left, [], answer.text);
    return answer;
}
const noPython = python ? false : "python3 is not there to drive a terminal";
// A container without /dev/pts has no pseudo terminals.
const noTerminal = noPython || (run("python3", ["-c", "import os; os.openpty()"]).status === 0 ? false : "pseudo terminals cannot be made here (is /dev/pts mounted?)");

test("on a terminal it sees one: size, keys, Ctrl-C, Ctrl-D", { skip: noTerminal }, () => {
    const directory = fresh();
    const script = `$|=1; print join(",", map { -t $_ ? "tty" : "no" } *STDIN, *STDOUT, *STDERR), "\\n"; print STDERR "to stderr\\n"; system "stty size";
        $SIG{INT} = sub { print "interrupted\\n" }; $SIG{WINCH} = sub { print "resized "; system "stty size" };
        print "ask:"; my $l = <STDIN>; print "got $l"; $l = <STDIN>; print defined $l ? "more" : "end", "\\n"; exit 5`;
    const { status, text } = onTerminal([ggscope, "record", "-q", "-o", directory, "--", "perl", "-e", script],
        [["ask:", "hello\r"], ["got hello", "\x03"], ["interrupted", [20, 60]], ["resized 20 60", "\x04"]]);
    assert.equal(status, 5);
    assert.match(text, /tty,tty,tty/);
    assert.match(text, /33 101/);
    assert.match(text, /to stderr/);
    assert.equal(readFileSync(join(directory, "stderr.txt"), "utf8"), "to stderr\n"); // as written, without \r
    assert.match(readFileSync(join(directory, "stdout.txt"), "utf8"), /^tty,tty,tty\n33 101\nask:hello\ngot hello\n/);
});

test("Ctrl-Z stops it and gives the terminal back; fg goes on", { skip: noTerminal }, () => {
    const command = `"${ggscope}" record -q -o "${fresh()}" -- sh -c 'echo u''p; read x; echo "got=$x"'`;
    const { text, status } = onTerminal(["env", "LC_ALL=C", "bash", "--norc", "--noprofile", "-i"], [ // it says "Stopped" in the user's language
        ["bash", `PS1='prompt> '\r`], ["prompt> ", ""], ["prompt> ", `${command}\r`], ["up\r", "\x1a"], ["Stopped", "stty -a | grep -ow icanon; fg\r"], ["icanon\r", "yes\r"], ["got=yes", ""], ["prompt> ", "exit 0\r"],
    ]);
    assert.equal(status, 0, text);
});

test("the terminal is as it was, also when we are terminated", { skip: noTerminal }, () => {
    const command = `"${ggscope}" record -q -o "${fresh()}" -- perl -e '$|=1; print "u", "p\\n"; kill "TERM", getppid; kill "KILL", $$'; echo "after: $(stty -a | grep -ow icanon)"`;
    const { text } = onTerminal(["bash", "--norc", "-c", command], []);
    assert.match(text, /after: icanon/);
});

test("only what is a terminal becomes one", { skip: noTerminal }, () => {
    const look = "for i in 0 1 2; do test -t $i && printf tty, >&3 || printf no, >&3; done";
    const ask = (redirect) => onTerminal(["bash", "-c", `exec 3>"${scratch("ttys")}"; "${ggscope}" record -q -o "${fresh()}" -- sh -c '${look}' ${redirect}; cat "${scratch("ttys")}"`], []).text;
    assert.match(ask("| cat"), /tty,no,tty,/);
    assert.match(ask("2>/dev/null"), /tty,tty,no,/);
    assert.match(ask("</dev/null"), /no,tty,tty,/);
    assert.match(ask(">/dev/null 2>&1"), /tty,no,no,/);
    assert.match(ask("</dev/null >/dev/null 2>&1"), /no,no,no,/);
});

test("an assertion of llama.cpp itself comes without advice about layouts of weights", () => {
    const command = (file) => [process.execPath, "-e", `require("child_process").spawnSync(${JSON.stringify(engine)}, ["run", "-m", ${JSON.stringify(model("tiny", "--layers", "2"))}, "-p", "x", "-n", "1", "-t", "1"]); console.error("/x/llama.cpp/${file}:506: GGML_ASSERT(is_full) failed"); process.abort()`];
    const said = (file) => /^ggscope: the engine ended it by .*$/m.exec(run(ggscope, ["record", "-q", "--follow", "-o", fresh(), "--", ...command(file)]).stderr)?.[0];
    assert.equal(said("src/llama-kv-cache.cpp"), "ggscope: the engine ended it by an assertion of its own: llama-kv-cache.cpp:506: GGML_ASSERT(is_full) failed");
    assert.match(said("ggml/src/ggml-cpu/ops.cpp"), /: ops\.cpp:506: GGML_ASSERT\(is_full\) failed(; it has weights in a buffer of type \w+, which --no-repack avoids)?$/);
});

// ---- refusals ----

test("an existing directory is refused, and stays as it is", () => {
    const directory = fresh();
    mkdirSync(directory);
    writeFileSync(join(directory, "mine"), "precious");
    refused(["record", "-o", directory, "--", "true"], /exists already and is not empty/);
    refused(["record", "-o", directory, "--force", "--", "true"], /no experiment/);
    assert.deepEqual(readdirSync(directory), ["mine"]);
});

test("an empty directory is fine; --force replaces an experiment", () => {
    const directory = fresh();
    mkdirSync(directory);
    assert.equal(record(generate("-n", "1"), { directory }).status, 0);
    const first = json(directory).experiment_id;
    refused(["record", "-o", directory, "--", ...generate("-n", "1")], /--force/);
    assert.equal(json(directory).experiment_id, first);
    assert.equal(record(generate("-n", "1"), { directory, options: ["--force"] }).status, 0);
    assert.notEqual(json(directory).experiment_id, first);
});

test("a place that cannot be written to is refused", () => {
    refused(["record", "-o", "/proc/nowhere/x", "--", "true"], /cannot create the directory/);
    refused(["record", "-o", "/proc/x", "--", "true"], /cannot create the directory/);
    writeFileSync(scratch("file"), "");
    refused(["record", "-o", scratch("file"), "--", "true"], /cannot read the folder|Not a directory/);
    refused(["record", "-o", scratch("file/x"), "--", "true"], /Not a directory/);
    const directory = fresh();
    refused(["record", "-o", directory, "--spool", "/nowhere", "--", "true"], /nowhere/, directory);
});

test("a program that cannot be run is refused", () => {
    const directory = fresh();
    refused(["record", "-o", directory, "--", "no-such-program"], /no program 'no-such-program' in PATH/, directory);
    refused(["record", "-o", directory, "--", "/no/such/program"], /No such file/, directory);
    refused(["record", "-o", directory, "--", "/etc"], /directory/, directory);
    writeFileSync(scratch("text"), "no program", { mode: 0o644 });
    refused(["record", "-o", directory, "--", scratch("text")], /not executable/, directory);
    writeFileSync(scratch("broken"), "\x7fELF nonsense", { mode: 0o755 });
    refused(["record", "-o", directory, "--", scratch("broken")], /broken/, directory);
    assert.equal(run(ggscope, ["record", "-o", directory]).status, 2);
    assert.equal(run(ggscope, ["record", "--policy", "shrug", "--", "true"]).status, 2);
    assert.equal(run(ggscope, ["record", "--max-size", "much", "--", "true"]).status, 2);
});

test("a static program is recognised before it runs", (t) => {
    writeFileSync(scratch("static.c"), "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }");
    for (const how of ["-static", "-static-pie"]) {
        const program = scratch(`static${how}`);
        if (run("gcc", [how, "-o", program, scratch("static.c")]).status !== 0) return t.skip("there is no static C library");
        const directory = fresh();
        refused(["record", "-o", directory, "--", program], /statically linked/, directory);
    }
});

test("a set-user-ID program is recognised before it runs", { skip: root ? false : "only root can give a file to somebody else" }, () => {
    const program = scratch("setuid");
    copyFileSync("/bin/true", program);
    chownSync(program, 65534, 65534);
    chmodSync(program, 0o4755);
    const directory = fresh();
    refused(["record", "-o", directory, "--", program], /set-user-ID/, directory);
});

test("a program without ggml: no activity, exit 1, and why", () => {
    const result = record(["true"]);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /^ggscope: no ggml activity was seen: .*does not link ggml.*\n$/);
    assert.equal(json(result.directory).state, "empty");
    assert.deepEqual(spools(json(result.directory).experiment_id), []);
    assert.ok(!existsSync(join(result.directory, "spool")));
});

test("a program that has ggml inside is told from one that has none", () => {
    writeFileSync(scratch("inside.c"), "void ggml_init(void); void ggml_init(void) {} int main(void) { ggml_init(); return 0; }");
    output("gcc", ["-o", scratch("inside"), scratch("inside.c")]);
    assert.match(record([scratch("inside")]).stderr, /ggml is linked into .*inside itself/);
    writeFileSync(scratch("idle.c"), "void ggml_time_init(void); int main(int n, char ** v) { (void) v; if (n > 1) ggml_time_init(); return 0; }");
    output("gcc", ["-o", scratch("idle"), scratch("idle.c"), `-L${engineDirectory}`, "-lggml-base", `-Wl,-rpath,${engineDirectory}`, "-Wl,--allow-shlib-undefined"]);
    assert.match(record([scratch("idle")]).stderr, /uses libggml-base.so, but it ended before it computed anything/);
});

test("wrapper scripts work, with and without #!", () => {
    for (const [name, first] of [["wrapped", "#!/bin/sh\n"], ["wrapped-env", "#!/usr/bin/env bash\n"], ["bare", ""]]) {
        const script = scratch(name);
        writeFileSync(script, `${first}echo wrapper\n'${engine}' "$@"\n`, { mode: 0o755 });
        const result = record([script, ...generate("-n", "2").slice(1)]);
        assert.equal(result.status, 0, result.stderr);
        assert.match(result.stdout, /^wrapper\n/);
        assert.ok(existsSync(join(result.directory, "trace.ggs")));
    }
});

// ---- how programs end ----

test("a signal reaches the program once: sent to ggscope, to the whole process group, by timeout(1)", async () => {
    // Prints each signal that it gets; SIGUSR1 ends it.
    writeFileSync(scratch("count.c"), `
        #include <signal.h>
        #include <unistd.h>
        static void say(int number) { if (write(1, number == SIGINT ? "I" : "T", 1) < 0) _exit(1); }
        static void end(int number) { (void) number; _exit(0); }
        int main(void) {
            signal(SIGINT, say), signal(SIGTERM, say), signal(SIGUSR1, end);
            if (write(1, "ready ", 6) < 0) return 1;
            for (;;) pause();
        }`);
    output("gcc", ["-o", scratch("count"), scratch("count.c")]);
    const start = async (before = []) => {
        const words = [...before, ggscope, "record", "-q", "--no-faults", "-o", fresh(), "--", scratch("count")];
        const child = spawn(words[0], words.slice(1), { detached: true, stdio: ["ignore", "pipe", "ignore"] });
        process.on("exit", () => { try { process.kill(-child.pid, "SIGKILL"); } catch { /* it is gone */ } }); // also if the test fails
        const at = { child, said: "", closed: once(child, "close") };
        child.stdout.setEncoding("utf8").on("data", (text) => { at.said += text; });
        // Signals are passed on in order: when this one arrives, all earlier ones have.
        at.says = async (text) => { while (at.said !== text) { assert.ok(text.startsWith(at.said), at.said); await once(child.stdout, "data", { signal: AbortSignal.timeout(60_000) }); } };
        await at.says("ready ");
        return at;
    };
    const at = await start();
    // Two pending signals of one kind are merged, so ggscope is stopped until the program has
    // received the first.
    const toAll = async (signal, text) => {
        process.kill(at.child.pid, "SIGSTOP");
        while (!/\) T /.test(readFileSync(`/proc/${at.child.pid}/stat`, "latin1"))) await new Promise((resolve) => setTimeout(resolve, 5));
        process.kill(-at.child.pid, signal);
        const program = Number(readFileSync(`/proc/${at.child.pid}/task/${at.child.pid}/children`, "utf8").split(" ")[0]);
        const caught = () => readFileSync(`/proc/${program}/status`, "latin1").match(/ShdPnd:\s*(\w+)/)[1];
        while (parseInt(caught(), 16) !== 0) await new Promise((resolve) => setTimeout(resolve, 5));
        process.kill(at.child.pid, "SIGCONT");
        await at.says(text);
    };
    await toAll("SIGINT", "ready I");
    process.kill(at.child.pid, "SIGTERM");
    await at.says("ready IT");
    process.kill(at.child.pid, "SIGINT");
    await at.says("ready ITI");
    await toAll("SIGTERM", "ready ITIT");
    const children = readFileSync(`/proc/${at.child.pid}/task/${at.child.pid}/children`, "utf8").trim().split(" ");
    const named = children.map((pid) => ["cmdline", "comm"].map((file) => readFileSync(`/proc/${pid}/${file}`, "latin1").replace(/\0+$/, "").trim()));
    assert.deepEqual(named, [[scratch("count"), "count"], ["group-watch", "group-watch"]], "pkill -f 'ggscope record' means ggscope alone");
    process.kill(at.child.pid, "SIGUSR1");
    await at.closed;
    assert.equal(at.said, "ready ITIT");

    // A signal to timeout(1) goes to ggscope first, then to the group.
    const timed = await start(["timeout", "600"]);
    process.kill(timed.child.pid, "SIGINT");
    await timed.says("ready I");
    process.kill(Number(readFileSync(`/proc/${timed.child.pid}/task/${timed.child.pid}/children`, "utf8").split(" ")[0]), "SIGUSR1");
    await timed.closed;
    assert.equal(timed.said, "ready I");
});

test("Ctrl-C reaches the engine, and what it did is sealed", async () => {
    const directory = fresh();
    const child = spawn(ggscope, ["record", "-o", directory, "--", ...generate("-n", "100000", "--ctx", "100100", "--ignore-eos")]);
    await once(child.stdout, "data"); // wait until it generates
    child.kill("SIGINT");
    const [status] = await once(child, "close");
    assert.equal(status, 130);
    const data = json(directory);
    assert.ok(data.exit_status === 130 || data.signal === "SIGINT");
    assert.notEqual(data.state, "recording");
    assert.ok(existsSync(join(directory, "trace.ggs")));
    assert.ok(!existsSync(join(directory, "spool")));
    assert.deepEqual(spools(data.experiment_id), []);
});

// The process that writes a spool, from the header of its first segment.
const writerOf = (directory) => segments(directory).find(({ lane, sequence }) => lane === "journal" && sequence === 0).pid;

test("a recording that goes on is not sealed; one whose ggscope was killed is", async () => {
    const directory = fresh();
    const child = spawn(ggscope, ["record", "-o", directory, "--", user, tiny, "echo up", "wait"]);
    await once(child.stdout, "data");
    const writer = writerOf(directory);
    const id = json(directory).experiment_id;
    refused(["seal", directory], /still being recorded/);
    refused(["record", "-o", directory, "--force", "--", "true"], /is being recorded to/);
    assert.equal(json(directory).state, "recording");
    child.kill("SIGKILL");
    process.kill(writer, "SIGKILL");
    await once(child, "close");
    const deadline = Date.now() + 120_000; // until the kernel has removed the killed process
    let result;
    do result = run(ggscope, ["seal", directory]);
    while (result.status !== 0 && Date.now() < deadline);
    assert.equal(result.status, 0, result.stderr);
    const data = json(directory);
    assert.equal(data.experiment_id, id);
    assert.equal(data.state, "interrupted");
    assert.equal(data.exit_status, null);
    assert.ok(existsSync(join(directory, "trace.ggs")) && !existsSync(join(directory, "spool")));
    assert.deepEqual(spools(id), []);
    const again = run(ggscope, ["seal", directory]);
    assert.equal(again.status, 0);
    assert.match(again.stderr, /sealed already/);
});

test("a program started with LD_PRELOAD alone is sealed afterwards", () => {
    const directory = fresh();
    const env = { ...process.env, LD_PRELOAD: preloadable(join(build, "lib", "libggscope-capture.so")), GGSCOPE_OUTPUT: directory };
    const [program, ...args] = generate("-n", "3");
    assert.equal(run(program, args, { env }).status, 0);
    assert.ok(existsSync(join(directory, "spool")));
    const result = run(ggscope, ["seal", directory]);
    assert.equal(result.status, 0, result.stderr);
    const data = json(directory);
    assert.equal(data.state, "complete");
    assert.deepEqual(data.command, [program, ...args]);
    assert.equal(data.model_files[0].path, tiny);
    assert.ok(data.start_monotonic_ns > 0 && Date.parse(data.start_utc) > 0);
    assert.deepEqual(readdirSync(directory).sort(), ["experiment.json", "trace.ggs"]);
});

test("seal wants an experiment", () => {
    const directory = fresh();
    refused(["seal", directory], /cannot open the experiment/);
    mkdirSync(directory);
    refused(["seal", directory], /nothing that was recorded/);
    refused(["seal", tiny], /not an experiment's directory/);
    assert.equal(run(ggscope, ["seal", "a", "b"]).status, 2);
});

// ---- limits ----

test("--max-size: recording stops, the engine goes on, and the loss is told", () => {
    const result = record(generate("-n", "700", "--ignore-eos"), { options: ["--max-size", "4M"] });
    assert.equal(result.status, 0, result.stderr);
    assert.match(result.stderr, /recording ends here, the program runs on: the recording has reached the \d+ MiB that it may take \(allow more with --max-size/);
    const data = json(result.directory);
    assert.equal(data.settings.max_size, 4 << 20);
    assert.ok(data.losses.some((loss) => loss.reason === "space" && loss.count > 0));
    assert.equal(data.state, "complete");
});

test("--policy ring drops the oldest instead", () => {
    const result = record(generate("-n", "700", "--ignore-eos"), { options: ["--max-size", "4M", "--policy", "ring"] });
    assert.equal(result.status, 0, result.stderr);
    assert.ok(json(result.directory).losses.some((loss) => loss.reason === "ring" && loss.count > 0));
});

test("--follow records what the program starts, each into a directory of its own", () => {
    const directory = fresh();
    const inner = generate("-n", "2").map((word) => `'${word}'`).join(" ");
    const result = record([user, tiny, inner], { directory, options: ["--follow"] });
    assert.equal(result.status, 0, result.stderr);
    const below = readdirSync(directory).filter((name) => /^process-\d+$/.test(name));
    assert.equal(below.length, 1);
    assert.deepEqual(readdirSync(join(directory, below[0])).sort(), ["experiment.json", "trace.ggs"]);
    assert.equal(json(join(directory, below[0])).threads, 1);
    assert.equal(record(["true"], { directory, options: ["--force"] }).status, 1);
    assert.ok(existsSync(join(directory, below[0], "trace.ggs")), "nothing was recorded, and the old ones are there");
    assert.equal(record(generate("-n", "1"), { directory, options: ["--force"] }).status, 0);
    assert.ok(!readdirSync(directory).some((name) => /^process-/.test(name)), "--force replaced them too");
});

test("a full file system stops the recording, not the engine", { skip: root ? false : "only root can mount" }, (t) => {
    const place = fresh();
    mkdirSync(place);
    if (run("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", place]).status !== 0) return t.skip("mount is not permitted");
    try {
        const [program, ...args] = generate("-n", "250", "--ignore-eos", "--json", "--logits-hash");
        const result = record([program, ...args], { options: ["--spool", place, "--max-size", "1G"] });
        assert.equal(result.status, 0, result.stderr);
        assert.equal(JSON.parse(result.stdout).logits_hash, JSON.parse(output(program, args)).logits_hash);
        assert.match(result.stderr, /recording ends here, the program runs on/);
        assert.deepEqual(readdirSync(place), [], "the spool is gone");
        assert.ok(existsSync(join(result.directory, "trace.ggs")));
    } finally {
        output("umount", [place]);
    }
});

test("a read-only file system is refused", { skip: root ? false : "only root can mount" }, (t) => {
    const place = fresh();
    mkdirSync(place);
    if (run("mount", ["-t", "tmpfs", "-o", "ro", "tmpfs", place]).status !== 0) return t.skip("mount is not permitted");
    try {
        refused(["record", "-o", join(place, "x"), "--", "true"], /Read-only file system/);
        refused(["record", "-o", place, "--", "true"], /Read-only file system/);
    } finally {
        output("umount", [place]);
    }
});

test("--spool: segments lie there while it runs, and nothing after", async () => {
    const directory = fresh(), place = fresh();
    mkdirSync(place);
    const child = spawn(ggscope, ["record", "-q", "-o", directory, "--spool", place, "--", user, tiny, "echo up", "wait"]);
    await once(child.stdout, "data");
    assert.ok(lstatSync(join(directory, "spool")).isSymbolicLink());
    assert.deepEqual(readdirSync(place), [`ggscope-${json(directory).experiment_id}`]);
    assert.ok(readdirSync(join(directory, "spool")).some((name) => /^journal-/.test(name)));
    child.stdin.end("\n");
    const [status] = await once(child, "close");
    assert.equal(status, 0);
    assert.deepEqual(readdirSync(place), []);
    assert.deepEqual(readdirSync(directory).sort(), ["experiment.json", "stderr.txt", "stdout.txt", "trace.ggs"]);
});
