// Page faults: recorded, attributed to ops, tensors and tokens, and the same in stats, log and
// exports.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, mkdirSync, chownSync } from "node:fs";
import { join } from "node:path";
import { build, ggscope, model, output, run, scratch, terminal } from "../lib.mjs";
import { command, evict, limit, obstacle, sum } from "./machine.mjs";
import { check, experiment, fresh, rows, stats } from "./traces.mjs";

const refused = obstacle("faults");
const why = refused ? { skip: refused } : {};

function recorded(options, program) {
    const directory = fresh();
    const result = run(ggscope, ["record", "-q", "-o", directory, ...options, "--", ...program]);
    assert.equal(result.status, 0, result.stderr);
    assert.doesNotMatch(result.stderr, /^ggscope: /m);
    return directory;
}

const count = (s) => s.minor + s.major + s.open;

// Holds for any recording with faults.
function consistent(directory) {
    const t = rows(directory, "faults", "op_runs", "runs", "files", "losses");
    const total = stats(directory).machine.faults;
    assert.ok(t.faults.length > 100);
    assert.deepEqual(t.losses, []);
    assert.equal(total.lost, 0);
    // Faults are in order of time, and stats sums them up.
    for (let i = 1; i < t.faults.length; i++) assert.ok(t.faults[i].begin_ns >= t.faults[i - 1].begin_ns);
    assert.equal(count(total), t.faults.length);
    assert.equal(total.stalled_ns, sum(t.faults, "duration_ns"));
    assert.equal(total.major, t.faults.filter((f) => f.kind === 2).length);
    assert.equal(total.by_phase.reduce((n, p) => n + count(p), 0), t.faults.length);
    assert.equal(sum(total.by_phase, "stalled_ns"), total.stalled_ns);
    assert.equal(count(total.in_ops), t.faults.filter((f) => f.run).length);
    for (const by of ["by_op", "by_layer"]) assert.equal(sum(total[by], "stalled_ns"), total.in_ops.stalled_ns, by);
    assert.equal(sum(total.by_weight, "stalled_ns"), total.model.stalled_ns);
    assert.equal(total.by_token.reduce((n, g) => n + count(g), 0), t.faults.filter((f) => f.step >= 0).length);
    // Of a selection without faults they are zero, not unknown.
    const none = JSON.parse(output(ggscope, ["stats", "--json", "--tensor", "no-such-tensor", directory])).machine.faults;
    assert.deepEqual([count(none), none.stalled_ns, none.by_op], [0, 0, []]);
    // The page of a file is inside the file.
    for (const f of t.faults) if (f.file) assert.ok(f.file_offset < t.files[f.file - 1].size);
    // A fault of an op is within its run on that thread, and all of them take no longer than it.
    const runs = new Map(t.op_runs.map((r) => [`${r.run} ${r.node} ${r.os_thread}`, { ...r, stalled: 0 }]));
    const steps = new Map(t.runs.map((r) => [r.run, r.step]));
    for (const f of t.faults.filter((f) => f.run)) {
        const op = runs.get(`${f.run} ${f.node} ${f.os_thread}`);
        assert.ok(op, `op run ${f.run}.${f.node} of thread ${f.os_thread}`);
        assert.ok(f.begin_ns >= op.begin_ns && f.begin_ns < op.begin_ns + op.duration_ns);
        assert.equal(f.step, steps.get(f.run));
        op.stalled += f.duration_ns;
    }
    for (const op of runs.values()) assert.ok(op.stalled <= op.duration_ns + 1000, `${op.run}.${op.node}: ${op.stalled} ns of ${op.duration_ns}`);
    assert.equal(check(directory)["page faults"], "ok");
    return { ...t, total };
}

test("in a time namespace: the kernel's times are put on the program's clock", why, (t) => {
    const apart = ["-T", "--monotonic=3600", "--fork", "--kill-child"];
    if (run("unshare", [...apart, "true"]).status !== 0) return t.skip("time namespaces cannot be made here");
    const directory = fresh(), result = run("unshare", [...apart, ggscope, "record", "-q", "-o", directory, "--", ...command(model("tiny"))]);
    assert.equal(result.status, 0, result.stderr);
    const { faults } = consistent(directory), { runs } = rows(directory, "runs");
    assert.ok(faults.filter((f) => f.run).length > 50, "in ops");
    assert.ok(faults.every((f) => f.begin_ns >= 0 && f.begin_ns < runs.at(-1).end_ns + 60e9));
});

test("by default, warm: all are there, none is lost, sums agree", why, () => {
    const directory = recorded([], command(model("tiny")));
    const { faults, total } = consistent(directory);
    assert.equal(experiment(directory).settings.faults, true);
    assert.ok(total.by_phase.find((p) => p.phase === "load").minor > 100, "starting a program faults");
    assert.ok(faults.some((f) => f.run), "fresh buffers fault when ops write to them");
    assert.ok(faults.every((f) => f.kind !== 0 || f.duration_ns === 0));
});

test("a model that does not fit: faults at its bytes, with the tensors that lie there", why, (t) => {
    const path = scratch("moe.gguf"), { group, reason } = limit(96 << 20);
    if (reason) return t.skip(reason);
    copyFileSync(model("moe"), path);
    evict(path);
    const directory = recorded(["--faults"], command(path, { group, options: ["--no-repack"] }));
    const { faults, total } = consistent(directory);
    const mapped = faults.filter((f) => f.file);
    assert.ok(mapped.length > 100);
    assert.ok(total.model.major > 0, "pages had to be read");
    assert.equal(mapped.length, count(total.model));
    assert.ok(mapped.filter((f) => f.run).length > 0.9 * mapped.length, "ops touch the model");
    // Every token reads the model again, because it does not stay in memory.
    for (const token of [0, 1, 2]) assert.ok(count(total.by_token.find((g) => g.token === token)) > 10, `token ${token}`);

    // The log has the same faults line by line, and weights at the file's offsets.
    const map = new Map(JSON.parse(output(ggscope, ["gguf", "--json", path])).tensors.map((w) => [w.name, w]));
    const log = JSON.parse(output(ggscope, ["log", "--faults", "--source", "disk", "--json", directory])).faults;
    assert.deepEqual(log.map((f) => [f.begin_ns, f.file_offset, f.duration_ns]), mapped.map((f) => [f.begin_ns, f.file_offset, f.duration_ns]));
    const whole = (name) => map.get(name) ?? { offset_start: map.get(`${name}[0]`).offset_start, offset_end: map.get(`${name}[31]`).offset_end };
    let named = 0;
    for (const f of log) {
        if (f.weight === null) continue;
        const { offset_start, offset_end } = whole(f.weight);
        assert.ok(f.file_offset >= offset_start && f.file_offset < offset_end, `${f.weight} at ${f.file_offset}`);
        named++;
    }
    assert.ok(named > 0.9 * log.length);
    const longest = JSON.parse(output(ggscope, ["log", "--faults", "--sort", "duration", "--limit", "3", "--json", directory])).faults;
    assert.deepEqual(longest.map((f) => f.duration_ns), faults.map((f) => f.duration_ns).sort((a, b) => b - a).slice(0, 3));
    const layer = JSON.parse(output(ggscope, ["log", "--faults", "--layer", "3", "--op", "mul_mat_id", "--token", "1..", "--json", directory])).faults;
    assert.ok(layer.every((f) => f.layer === 3 && f.op === "MUL_MAT_ID" && f.token >= 1));
    const csv = output(ggscope, ["log", "--faults", "--csv", directory]).trim().split("\r\n");
    assert.equal(csv.length, faults.length + 1);
    for (const line of terminal(80, ggscope, ["log", "--faults", directory]).split("\n").slice(0, 2000)) assert.ok([...line].length <= 80, line);
    for (const line of terminal(80, ggscope, ["stats", directory]).split("\n")) assert.ok([...line].length <= 80, line);

    // So do a part of the recording, and the exported table.
    const part = JSON.parse(output(ggscope, ["stats", "--json", "--token", "1", "--layer", "3", directory])).machine.faults;
    const those = JSON.parse(output(ggscope, ["log", "--faults", "--layer", "3", "--token", "1", "--json", directory])).faults;
    assert.equal(part === null ? 0 : part.stalled_ns, sum(those, "duration_ns"));
    const out = fresh();
    output(ggscope, ["export", directory, "-q", "-f", "csv", "--table", "faults", "-o", out]);
    const table = readFileSync(out, "utf8").trim().split(/\r?\n/).slice(1).map((line) => line.split(","));
    assert.equal(table.length, faults.length);
    assert.equal(table.reduce((n, r) => n + Number(r[2]), 0), total.stalled_ns);
    const slices = JSON.parse(output(ggscope, ["export", directory, "-q", "-f", "chrome", "-o", "-"])).traceEvents.filter((e) => e.cat === "fault");
    assert.equal(slices.length, faults.length);
});

test("--no-faults leaves them out", () => {
    const directory = recorded(["--no-faults"], command(model("tiny")));
    assert.deepEqual(rows(directory, "faults").faults, []);
    assert.equal(experiment(directory).settings.faults, false);
    assert.equal(stats(directory).machine.faults, null);
    assert.equal(check(directory)["page faults"], undefined);
});

test("where perf events are forbidden the recording goes on; asked for by name, one line says why", () => {
    const without = join(build, "tests", "without-perf");
    for (const options of [[], ["--faults"]]) {
        const directory = fresh();
        const result = run(without, [ggscope, "record", "-q", "-o", directory, ...options, "--", ...command(model("tiny"))]);
        assert.equal(result.status, 0, result.stderr);
        const said = result.stderr.split("\n").filter((line) => line.startsWith("ggscope: "));
        assert.equal(said.length, options.length, result.stderr);
        if (options.length) assert.match(said[0], /page faults are not recorded: .*perf_event_open/);
        assert.match(experiment(directory).settings.faults, /perf_event_open/);
        assert.equal(stats(directory).unseen, 0);
        check(directory);
    }
    const doctor = JSON.parse(run(without, [ggscope, "doctor", "--json"]).stdout).checks.find((c) => c.topic === "faults");
    assert.equal(doctor.level, "warn");
    assert.match(doctor.text, /perf_event_open/);
});

test("without root: faults as far as the kernel permits, block requests not, and one line says that", (t) => {
    if (process.getuid() !== 0) return t.skip("only root can become somebody else");
    const folder = scratch("nobody");
    mkdirSync(folder);
    chownSync(folder, 65534, 65534);
    const nobody = (args) => run("setpriv", ["--reuid", "65534", "--regid", "65534", "--clear-groups", ...args], { cwd: folder });
    if (nobody([ggscope, "--version"]).status !== 0) return t.skip("the user nobody cannot reach the programs under test");
    const path = join(folder, "tiny.gguf"), directory = join(folder, "experiment");
    copyFileSync(model("tiny"), path);
    output("chmod", ["755", scratch()]);
    const result = nobody([ggscope, "record", "-q", "--io", "-o", directory, "--", ...command(path)]);
    assert.equal(result.status, 0, result.stderr);
    assert.deepEqual(result.stderr.match(/^ggscope: .*/gm), ["ggscope: block requests are not recorded: reading the kernel's block trace points takes root"]);
    assert.equal(typeof experiment(directory).settings.io, "string");
    const paranoid = Number(readFileSync("/proc/sys/kernel/perf_event_paranoid", "utf8"));
    if (paranoid <= 2 && !refused) consistent(directory);
    // Switches of the own threads are visible to everyone; what ran instead needs root.
    if (!experiment(directory).settings.switches) return;
    const spans = rows(directory, "off_cpu").off_cpu;
    assert.ok(spans.length > 0 && spans.every((span) => span.other === 0));
    assert.equal(stats(directory).machine.off_cpu.others_seen, false);
});

test("wrong input", () => {
    for (const [args, pattern] of [[["--thread", "1"], /do not go with --faults/], [["--sort", "bytes"], /by time or duration/]]) {
        const result = run(ggscope, ["log", "--faults", ...args, "somewhere"]);
        assert.equal(result.status, 2);
        assert.match(result.stderr, pattern);
    }
});

// ---- context switches, in the same rings ----

// Two threads on one CPU: while one computes, the other has none.
test("threads without a CPU: spans, what they were computing, what was lost, and who ran instead", why, (t) => {
    const cpu = /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))[1];
    const directory = fresh();
    const { status, stderr } = run("taskset", ["-c", cpu, ggscope, "record", "-q", "-o", directory, "--", ...command(model("tiny"), { tokens: 1 })]);
    assert.equal(status, 0, stderr);
    if (!experiment(directory).settings.switches) return t.skip("this kernel does not tell context switches");
    const { off_cpu: spans, losses } = rows(directory, "off_cpu", "losses");
    assert.deepEqual(losses, []);
    const threads = new Set(rows(directory, "op_runs").op_runs.map((row) => row.os_thread));
    assert.equal(threads.size, 2);
    for (const thread of threads) {
        const own = spans.filter((span) => span.os_thread === thread);
        assert.ok(own.length > 0, `thread ${thread}`);
        for (let i = 1; i < own.length; i++) assert.ok(own[i].begin_ns >= own[i - 1].begin_ns + own[i - 1].duration_ns, "one ends before the next begins");
    }
    for (let i = 1; i < spans.length; i++) assert.ok(spans[i].begin_ns + spans[i].duration_ns >= spans[i - 1].begin_ns + spans[i - 1].duration_ns, "by their ends");
    const lost = stats(directory).machine.off_cpu;
    assert.equal(lost.count, spans.length);
    assert.ok(lost.lost_ns > 0 && lost.lost_ns <= lost.run_ns && lost.preempted_ns <= lost.lost_ns && lost.lost_ns <= lost.thread_ns, JSON.stringify(lost));
    assert.equal(sum(lost.by_op, "lost_ns"), lost.lost_ns);
    assert.equal(sum(lost.by_other, "lost_ns"), lost.thread_ns);
    if (lost.others_seen) assert.ok(spans.some((span) => span.other === 2), "the other thread of the program");
    // A span in an op is between the begin and the end of that op's run on the thread.
    const runs = rows(directory, "op_runs").op_runs;
    for (const span of spans.filter((one) => one.run !== 0).slice(0, 20)) {
        const op = runs.find((row) => row.run === span.run && row.node === span.node && row.os_thread === span.os_thread);
        assert.ok(op && span.begin_ns + span.duration_ns <= op.begin_ns + op.duration_ns + 1000 && span.begin_ns >= op.begin_ns - 1000, JSON.stringify({ span, op }));
    }
    assert.match(output(ggscope, ["stats", directory]), /^off CPU {3}a thread that was waited for had no CPU in /m);
});
