// Long-running programs: recording that starts and ends while the program runs, marks, snapshots,
// and the live view.
import { afterEach, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { check, fresh, jsonLines, rows } from "./traces.mjs";

const pictures = join(build, "tests", "diffusion-host");
const skip = existsSync(pictures) ? false : "built for the pinned engine only";
const tiny = model("tiny", "--layers", "2");
const control = (directory, ...words) => run(ggscope, ["control", directory, ...words]);
const stats = (directory) => JSON.parse(output(ggscope, ["stats", "--json", directory]));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const running = new Set(); // ended even if a test fails
afterEach(() => Promise.all([...running].map((child) => new Promise((resolve) => {
    child.on("exit", resolve);
    child.kill("SIGTERM");
}))));

// Records a program that computes a small graph every 2 ms. `until(text)` waits for this output.
function start(options, command = [pictures, "run", "-n", "100000", "-s", "2000", "-t", "1"]) {
    const directory = fresh();
    const child = spawn(ggscope, ["record", "-q", "--no-faults", "-o", directory, ...options, "--", ...command], { stdio: ["ignore", "pipe", "pipe"] });
    running.add(child);
    child.on("exit", () => running.delete(child));
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => (said[name] += text));
    const ended = new Promise((resolve) => child.on("exit", (status, signal) => resolve({ status, signal, ...said })));
    const lines = () => said.stdout.split("\n").length - 1;
    return {
        directory, child, ended, said, lines,
        // Waits for n more lines, which are steps of the program; some may have been in transit.
        async steps(n) {
            for (const to = lines() + n; lines() < to; await sleep(5)) assert.equal(child.exitCode, null, said.stderr);
        },
        async stop() {
            child.kill("SIGTERM");
            return ended;
        },
    };
}
// False once a process has ended, whether its parent has read its status or not.
function isRunning(pid) {
    try {
        return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
    } catch {
        return false;
    }
}
// True if every graph run begins in a window.
function inWindows(directory) {
    const { runs, windows } = rows(directory, "runs", "windows");
    const spans = windows.filter((w) => w.kind === 1);
    for (const r of runs) assert.ok(spans.some((w) => r.begin_ns >= w.begin_ns && (w.end_ns < 0 || r.begin_ns <= w.end_ns)), `run ${r.run} at ${r.begin_ns}`);
    return { runs, spans, marks: windows.filter((w) => w.kind === 2) };
}

test("paused, started, marked, stopped, started again: windows hold all runs, and the program notices nothing", { skip }, async () => {
    const at = start(["--paused"]);
    await at.steps(20);
    assert.equal(statSync(join(at.directory, "control.sock")).mode & 0o777, 0o600);
    assert.equal(control(at.directory, "status").stdout, "paused\n");
    assert.equal(control(at.directory, "start").stdout, "recording\n");
    await at.steps(30);
    assert.equal(control(at.directory, "mark", "it was slow").stdout, "marked\n");
    assert.match(control(at.directory, "start").stderr, /^ggscope: it is recording already\n$/);
    assert.equal(control(at.directory, "stop").stdout, "paused\n");
    const between = at.lines();
    await at.steps(30);
    assert.match(control(at.directory, "stop").stderr, /^ggscope: it is paused already\n$/);
    assert.equal(control(at.directory, "toggle").stdout, "recording\n");
    await at.steps(30);
    assert.equal(control(at.directory, "stop").stdout, "paused\n");
    await at.steps(5);
    await at.stop();
    assert.ok(between > 0 && !existsSync(join(at.directory, "control.sock")) && !existsSync(join(at.directory, "spool")));

    const { runs, spans, marks } = inWindows(at.directory);
    assert.deepEqual([spans.length, marks.map((m) => m.text)], [2, ["it was slow"]]);
    const all = jsonLines(readFileSync(join(at.directory, "stdout.txt"), "utf8")).length;
    assert.ok(runs.length > 0 && runs.length < all, `${runs.length} of ${all}`);
    for (const w of spans) assert.ok(runs.some((r) => r.begin_ns >= w.begin_ns && r.begin_ns <= w.end_ns), "both windows hold runs");
    assert.ok(runs.every((r) => r.unseen === 0 && r.lost === 0));
    assert.deepEqual(rows(at.directory, "losses").losses, []);
    const { windows, tokens } = stats(at.directory);
    assert.equal(tokens, runs.length);
    assert.ok(windows.recorded_ns > 0 && windows.recorded_ns < windows.whole_ns);
    assert.match(output(ggscope, ["stats", at.directory]), /^windows +2 recorded: .* of .*; what was outside of them is not known$/m);
    assert.doesNotMatch(output(ggscope, ["check", at.directory]), /^FAILED/m);
    const chrome = JSON.parse(output(ggscope, ["export", "-q", "--format", "chrome", "-o", "-", at.directory])).traceEvents;
    assert.deepEqual(chrome.filter((e) => e.cat === "window" && e.ph === "X").map((e) => e.name).sort(), ["it was slow", "recorded", "recorded"]);
    assert.match(output(ggscope, ["export", "-q", "--format", "csv", "--table", "windows", "-o", "-", at.directory]), /^1,recorded,\d+,\d+,/m);
});

test("what a window records is what is recorded without one: the same graphs, places and bytes", { skip }, async () => {
    const at = start(["--paused"]);
    await at.steps(5);
    control(at.directory, "start");
    await at.steps(30);
    await at.stop();
    const whole = fresh();
    output(ggscope, ["record", "-q", "--no-faults", "-o", whole, "--", pictures, "run", "-n", "3", "-t", "1"]);
    const about = (directory) => {
        const { tensors, runs } = rows(directory, "tensors", "runs");
        return { run: [runs[0].nodes, runs[0].executed, runs[0].empty], tensors: tensors.map((t) => [t.name, t.source, t.buffer, t.buffer_offset, t.origin_file]) };
    };
    assert.deepEqual(about(at.directory), about(whole));
});

test("--steps: exactly so many; --for: so long; the program runs on and its exit status is its own", { skip }, async () => {
    const directory = fresh();
    const result = run(ggscope, ["record", "--no-faults", "-o", directory, "--steps", "7", "--", pictures, "run", "-n", "30", "-s", "1000", "-t", "1"]);
    assert.equal(result.status, 0);
    assert.match(result.stderr, /^ggscope: 7 steps are recorded, the program runs on$/m);
    assert.equal(jsonLines(result.stdout).length, 30);
    assert.equal(inWindows(directory).runs.length, 7);

    const timed = fresh();
    const other = run(ggscope, ["record", "--no-faults", "-o", timed, "--for", "500ms", "--", pictures, "run", "-n", "150", "-s", "10000", "-t", "1"]); // which sleeps for 1.5 s in total
    assert.match(other.stderr, /^ggscope: the time to record is over, the program runs on$/m);
    const { runs, spans } = inWindows(timed);
    assert.ok(runs.length > 0 && runs.length < 150);
    assert.ok(spans[0].end_ns - spans[0].begin_ns >= 500e6);
});

// Work of the program before the first request is not a request.
const asked = (directory) => JSON.parse(output(ggscope, ["requests", "--json", directory])).requests.filter((r) => !["warmup", "draft"].includes(r.kind));
const counts = (r) => [r.prompt_tokens, r.cached_tokens, r.generated_tokens];

for (const [pattern, n] of [["slowly", 2], ["turns", 1], ["turns", 2], ["turns", 3], ["warmup", 1], ["warmup", 2], ["continued", 3], ["samples", 3], ["at-once", 2], ["draft", 1]]) {
    test(`--requests ${n} of a program (${pattern}) records so many, and the program runs on`, () => {
        const directory = fresh(), models = pattern === "draft" ? [tiny, tiny] : [tiny];
        const result = run(ggscope, ["record", "--no-faults", "-o", directory, "--requests", String(n), "--", join(build, "tests", "server-host"), pattern, ...models]);
        assert.equal(result.status, 0, result.stderr);
        const truth = JSON.parse(result.stdout.trim().split("\n").at(-1)).requests.filter((r) => !["warmup", "draft"].includes(r.kind));
        if (pattern === "slowly") assert.match(result.stderr, /^ggscope: 2 requests are recorded, the program runs on$/m);
        // Two drafted texts continue in the same batches: the second is complete as far as the
        // first.
        const found = asked(directory).slice(0, pattern === "draft" ? n : undefined);
        assert.deepEqual(found.map(counts), truth.slice(0, n).map((r) => [r.prompt, r.cached, r.generated]));
        check(directory);
        const { windows, decodes } = rows(directory, "windows", "decodes");
        assert.equal(windows.length, 1);
        assert.ok(decodes.every((decode) => decode.end_ns <= windows[0].end_ns), "it ends with the last of them");
    });
}

test("--requests wants a number", () => {
    for (const wrong of ["0", "-1", "many"]) assert.equal(run(ggscope, ["record", "--requests", wrong, "--", "true"]).status, 2);
});

test("llama.cpp: a window in the middle of a text is generated tokens, no prompt", async () => {
    // More tokens than the test waits for: it ends the program itself.
    const at = start(["--paused"], [engine, "run", "-m", tiny, "-p", "Once", "-n", "100000", "--ctx", "100100", "-t", "1", "--ignore-eos"]);
    const recorded = () => {
        const snapshot = fresh();
        assert.equal(control(at.directory, "snapshot", "-o", snapshot).status, 0);
        return stats(snapshot).tokens;
    };
    while (at.said.stdout.length < 200) await sleep(5);
    assert.equal(control(at.directory, "start").status, 0);
    while (recorded() === 0) await sleep(20);
    assert.equal(control(at.directory, "stop").status, 0);
    const first = recorded();
    for (const to = at.said.stdout.length + 200; at.said.stdout.length < to;) await sleep(5);
    assert.equal(recorded(), first, "nothing between the windows");
    assert.equal(control(at.directory, "start").status, 0);
    while (recorded() === first) await sleep(20);
    await at.stop();
    const { prompt_tokens, generated_tokens, tokens, step_kind } = stats(at.directory);
    assert.deepEqual([step_kind, prompt_tokens], ["token", 0]);
    assert.ok(tokens > first && generated_tokens === tokens, `${generated_tokens} of ${tokens}`);
});

test("SIGUSR2 starts and stops a recording that began paused; others pass it on to the program", { skip }, async () => {
    const at = start(["--paused"]);
    await at.steps(5);
    at.child.kill("SIGUSR2");
    while (control(at.directory, "status").stdout !== "recording\n") await sleep(10);
    await at.steps(5);
    at.child.kill("SIGUSR2");
    while (control(at.directory, "status").stdout !== "paused\n") await sleep(10);
    await at.stop();
    assert.equal(inWindows(at.directory).spans.length, 1);
    const other = start([]);
    await other.steps(2);
    other.child.kill("SIGUSR2"); // ends it, as without ggscope
    assert.equal((await other.ended).status, 128 + 12);
});

test("a snapshot is an experiment of what is there so far; the recording goes on", { skip }, async () => {
    const at = start(["--policy", "ring", "--max-size", "4M"]);
    await at.steps(10);
    const first = control(at.directory, "snapshot");
    assert.equal(first.stdout, `${at.directory}-snapshot-1\n`, first.stderr);
    await at.steps(10);
    assert.equal(control(at.directory, "snapshot", "-o", `${at.directory}-other`).stdout, `${at.directory}-other\n`);
    await at.stop();
    const counts = [`${at.directory}-snapshot-1`, `${at.directory}-other`, at.directory].map((d) => rows(d, "runs").runs.length);
    assert.ok(counts[0] > 0 && counts[0] < counts[1] && counts[1] <= counts[2], counts.join(" "));
    assert.doesNotMatch(output(ggscope, ["check", `${at.directory}-snapshot-1`]), /^FAILED/m);
    assert.match(output(ggscope, ["stats", at.directory]), /snapshot .*-snapshot-1$/m);
});

test("ggscope record is killed in a window: what was recorded is there, with its windows, and nobody is reached any more", { skip }, async () => {
    const at = start(["--paused"]);
    await at.steps(5);
    control(at.directory, "start");
    await at.steps(30);
    control(at.directory, "stop");
    control(at.directory, "start");
    await at.steps(30);
    const [{ pid }] = [JSON.parse(`{"pid":${readFileSync(`/proc/${at.child.pid}/task/${at.child.pid}/children`, "utf8").trim().split(" ")[0]}}`)];
    at.child.kill("SIGKILL");
    await at.ended;
    assert.match(control(at.directory, "status").stderr, /^ggscope: nothing is being recorded into /);
    process.kill(pid, "SIGKILL");
    while (isRunning(pid)) await sleep(10);
    output(ggscope, ["seal", "-q", at.directory]);
    const { spans, runs } = inWindows(at.directory);
    assert.deepEqual([spans.length, spans[1].end_ns], [2, -1]);
    assert.ok(runs.length > 0);
    assert.ok(!existsSync(join(at.directory, "control.sock")), "the socket is gone once it is sealed");
});

test("a recording that was never paused has no windows", { skip }, () => {
    const directory = fresh();
    output(ggscope, ["record", "-q", "--no-faults", "-o", directory, "--", pictures, "run", "-n", "2", "-t", "1"]);
    assert.deepEqual(rows(directory, "windows").windows, []);
    assert.equal(stats(directory).windows, null);
    assert.deepEqual(readdirSync(directory).sort(), ["experiment.json", "stderr.txt", "stdout.txt", "trace.ggs"]);
});

test("a recording that stayed paused says so", { skip }, () => {
    const directory = fresh();
    const result = run(ggscope, ["record", "-q", "--no-faults", "--paused", "-o", directory, "--", pictures, "run", "-n", "2", "-t", "1"]);
    assert.equal(result.status, 0);
    assert.match(result.stderr, /^ggscope: no graph run was recorded: it was paused whenever one began$/m);
    assert.deepEqual([rows(directory, "runs").runs.length, stats(directory).tokens], [0, 0]);
});

test("wrong input is one sentence", { skip }, async () => {
    const at = start(["--paused"]);
    await at.steps(2);
    const bad = (args, status, pattern) => {
        const result = run(ggscope, ["control", ...args]);
        assert.deepEqual([result.status, result.stdout], [status, ""], args.join(" "));
        assert.match(result.stderr, pattern);
    };
    bad([at.directory, "begin"], 2, /takes start, stop, toggle, status, mark or snapshot, not 'begin'/);
    bad([at.directory, "mark"], 2, /missing argument: the text of the mark/);
    bad([at.directory, "mark", "two\nlines"], 2, /one line/);
    bad([at.directory, "start", "now"], 2, /too many arguments/);
    bad([at.directory, "mark", "x".repeat(5000)], 1, /too long/);
    bad([at.directory], 2, /missing argument/);
    bad([fresh(), "start"], 1, /^ggscope: cannot open .*: No such file or directory\n$/);
    bad([scratch(), "start"], 1, /^ggscope: nothing is being recorded into /);
    bad([scratch(), "snapshot"], 1, /^ggscope: nothing is being recorded into /);
    // A client of another protocol gets an error and does no harm.
    const { connect } = await import("node:net");
    const say = (text) => new Promise((resolve) => {
        const socket = connect(join(at.directory, "control.sock"), () => socket.end(text));
        let answer = "";
        socket.setEncoding("utf8").on("data", (piece) => (answer += piece)).on("close", () => resolve(answer)).on("error", () => resolve(answer));
    });
    assert.match(await say("GET / HTTP/1.1\n"), /^error there is no command/);
    assert.equal(await say("start\0x\n"), "error that was no line\n");
    assert.equal(await say("x".repeat(10000)), "error that was no line\n");
    assert.equal(control(at.directory, "status").stdout, "paused\n");
    await at.stop();
    for (const [option, value] of [["--for", "soon"], ["--for", "0s"], ["--steps", "0"], ["--steps", "-1"]]) {
        const result = run(ggscope, ["record", option, value, "--", "true"]);
        assert.deepEqual([result.status, result.stdout], [2, ""]);
        assert.match(result.stderr, new RegExp(`${option} takes`));
    }
});

// ---- top ----

test("top: one look where there is no terminal; tokens, ops, waits, faults, bytes", async () => {
    const directory = fresh();
    const child = spawn(ggscope, ["record", "-q", "--no-faults", "-o", directory, "--", engine, "run", "-m", tiny, "-p", "Once", "-n", "100000", "--ctx", "100100", "-t", "1", "--ignore-eos"], { stdio: ["ignore", "pipe", "ignore"] });
    running.add(child);
    child.on("exit", () => running.delete(child));
    child.stdout.resume();
    await new Promise((resolve) => child.stdout.once("data", resolve));
    // On a busy machine the program may make no progress between two looks.
    let text = "";
    for (const end = Date.now() + 300_000; !/^tokens +(?!0\.0\/s)[^]*^MUL_MAT /m.test(text) && Date.now() < end;) text = output(ggscope, ["top", "-d", "300ms", directory]);
    child.kill("SIGTERM");
    await new Promise((resolve) => child.on("exit", resolve));
    assert.match(text, /recording +process \d+/);
    assert.match(text, /^tokens +(?!0\.0\/s)[\d.]+\/s out, [\d.]+\/s in; /m);
    assert.match(text, /^threads +[\d.]+ computing, /m);
    assert.match(text, /^faults +\d+ minor\/s/m);
    assert.match(text, /^disk +(read|not seen)/m);
    assert.match(text, /^MUL_MAT +\d+ +\S+ \S+ +\S+ \S+ +[\d.]+ %/m);
    assert.doesNotMatch(text, /\x1b/);
    assert.match(run(ggscope, ["top", directory]).stderr, /^ggscope: nothing is being recorded into /);
});

test("programs that are followed have the same windows, as far as they lived then", { skip }, async () => {
    const script = scratch("followed.sh"), both = [pictures, "run", "-n", "100000", "-s", "2000", "-t", "1"].map((word) => `'${word}'`).join(" ");
    writeFileSync(script, `${both} & first=$!\nread line\n${both} >&2 & echo second\ntrap 'kill $first $!; wait' TERM\nwait\nwait\n`);
    const directory = fresh();
    const child = spawn(ggscope, ["record", "-q", "--no-faults", "--follow", "--paused", "-o", directory, "--", "sh", script], { stdio: ["pipe", "pipe", "pipe"] });
    running.add(child);
    child.on("exit", () => running.delete(child));
    const lines = { stdout: 0, stderr: 0 };
    for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => (lines[name] += text.split("\n").length - 1));
    const more = async (name, n) => { for (const to = lines[name] + n; lines[name] < to; await sleep(5)) assert.equal(child.exitCode, null); };
    await more("stdout", 5);
    assert.equal(control(directory, "start").stdout, "recording\n");
    await more("stdout", 20);
    assert.equal(control(directory, "mark", "only the first was there").stdout, "marked\n");
    assert.equal(control(directory, "stop").stdout, "paused\n");
    child.stdin.end("go on\n");
    await more("stderr", 5);
    assert.equal(control(directory, "start").stdout, "recording\n");
    await more("stderr", 20);
    assert.equal(control(directory, "stop").stdout, "paused\n");
    await more("stderr", 20);
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    const [other] = readdirSync(directory).filter((name) => name.startsWith("process-"));
    const first = inWindows(directory), second = inWindows(join(directory, other));
    assert.deepEqual([first.spans.length, first.marks.length, second.spans.length, second.marks.length], [2, 1, 1, 0]);
    assert.ok(first.runs.length > 10 && second.runs.length > 10, `${first.runs.length}, ${second.runs.length}`);
    const begin = (folder) => JSON.parse(readFileSync(join(folder, "experiment.json"), "utf8")).start_monotonic_ns;
    assert.equal(begin(join(directory, other)) + second.spans[0].begin_ns, begin(directory) + first.spans[1].begin_ns, "it is the same moment");
});

test("top on a terminal: q and Ctrl-C leave it as it was; it follows the window's size and ends with the recording", { skip }, async () => {
    const at = start([]);
    await at.steps(3);
    // Runs on a terminal; `then` gets the program's input once its screen is drawn. Resolves to all
    // output.
    const shown = (command, then) => new Promise((resolve) => {
        const child = spawn("script", ["-qec", command, "/dev/null"], { stdio: ["pipe", "pipe", "ignore"] });
        let text = "", there = false;
        child.stdout.setEncoding("utf8").on("data", (piece) => {
            text += piece;
            if (there || !text.includes("\x1b[?25l")) return;
            there = true;
            then(child.stdin);
        });
        child.on("close", (status) => resolve({ status, text }));
    });
    // `stty -g` before and after shows whether the terminal is restored.
    const session = async (keys, rows = 24, columns = 80) => {
        writeFileSync(scratch("session"), `stty rows ${rows} cols ${columns}; stty -g > "${scratch("before")}"; trap : INT; "${ggscope}" top -d 100ms "${at.directory}"; echo "status $?"; stty -g > "${scratch("after")}"`);
        const { text } = await shown(`sh "${scratch("session")}"`, (input) => input.write(keys));
        assert.equal(readFileSync(scratch("before"), "utf8"), readFileSync(scratch("after"), "utf8"));
        return text;
    };
    const quit = await session("q");
    assert.match(quit, /\x1b\[\?1049h\x1b\[\?25l/);
    assert.match(quit, /\x1b\[\?25h\x1b\[\?1049l(?![^]*\x1b)[^]*status 0/);
    assert.match(await session("\x03"), /\x1b\[\?25h\x1b\[\?1049l[^]*status 130/);
    const narrow = (await session("q", 12, 30)).split("\x1b[H").at(-1).split("\x1b[J")[0].split(/\r*\n/);
    assert.ok(narrow.length <= 12 && narrow.every((line) => line.replace(/\x1b\[K/g, "").length <= 30), JSON.stringify(narrow));
    const last = await shown(`"${ggscope}" top -d 100ms "${at.directory}"`, () => at.child.kill("SIGTERM"));
    assert.equal(last.status, 0);
    assert.match(last.text, /\x1b\[\?1049l[^]*the recording has ended/);
    await at.ended; // wait for sealing before the directory is removed
});
