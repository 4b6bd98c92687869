// Machine events of an attached program: page faults, resident pages and block requests are those
// of a recording from the start.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build, ggscope, output, run, scratch } from "../lib.mjs";
import { Host, attach, skip, start, tiny, until } from "./attaching.mjs";
import { disk, evict, obstacle } from "./machine.mjs";
import { check, experiment, fresh, host, rows, stats } from "./traces.mjs";

const noFaults = skip || obstacle("faults") || false;

// Faults in the model's file by generation, each as an ordered list of pages. A generation is a
// prompt and its continuation.
function generations(directory) {
    const { steps, faults, files } = rows(directory, "steps", "faults", "files");
    const prompts = steps.filter((s) => s.phase === 1).map((s) => s.step), pages = new Map();
    for (const f of faults.filter((f) => f.file !== 0 && files[f.file - 1].path.endsWith(".gguf") && f.step >= 0)) {
        const first = prompts.findLast((p) => p <= f.step) ?? -1;
        if (!pages.has(first)) pages.set(first, []);
        pages.get(first).push(f.file_offset >> 12);
    }
    return [...pages].sort(([a], [b]) => a - b).map(([, list]) => [...new Set(list)].sort((a, b) => a - b).join(" "));
}
const most = (list) => list.sort((a, b) => list.filter((x) => x === b).length - list.filter((x) => x === a).length)[0];

for (const threads of ["1", "2"]) {
    test(`page faults on ${threads} thread${threads === "1" ? "" : "s"}: the same as from the start`, { skip: noFaults }, async () => {
        const forgetful = start(host, ["forgetful", "-g", "3", "-t", threads, tiny]);
        await until("its output", () => (assert.equal(forgetful.child.exitCode, null, forgetful.said.stderr), forgetful.said.stdout.match(/logits/g)?.length > 4));
        const attached = await attach(String(forgetful.child.pid), "--faults", "--steps", "24");
        assert.equal(attached.status, 0, attached.stderr);
        assert.doesNotMatch(attached.stderr, /page faults are not recorded/);
        forgetful.child.kill("SIGKILL");
        const preloaded = fresh();
        assert.equal(run(ggscope, ["record", "-q", "--faults", "-o", preloaded, "--", host, "forgetful-once", "-g", "3", "-t", threads, tiny]).status, 0);

        for (const directory of [attached.directory, preloaded]) {
            assert.equal(check(directory)["page faults"], "ok");
            assert.equal(stats(directory).machine.faults.lost, 0);
            const { faults, op_runs } = rows(directory, "faults", "op_runs");
            const inModel = faults.filter((f) => f.file !== 0 && f.run !== 0), known = new Set(op_runs.map((r) => `${r.run} ${r.node} ${r.os_thread}`));
            assert.ok(inModel.length > 20, `${inModel.length} faults`);
            for (const f of inModel) assert.ok(known.has(`${f.run} ${f.node} ${f.os_thread}`), "an op of that thread");
            // Two threads may fault on one page; each fault is recorded once.
            const seen = new Set(faults.map((f) => `${f.begin_ns} ${f.os_thread}`));
            assert.equal(seen.size, faults.length);
        }
        assert.equal(experiment(attached.directory).settings.faults, true);
        if (threads === "1") assert.equal(most(generations(attached.directory)), most(generations(preloaded)), "the same pages in each generation");
    });
}

test("--no-faults leaves them out; where perf events are forbidden one line says why", { skip }, async () => {
    const program = new Host();
    await program.steps(2);
    const without = await attach(program.pid, "--no-faults", "--steps", "2");
    assert.equal(without.status, 0, without.stderr);
    assert.equal(stats(without.directory).machine.faults, null);
    const directory = fresh(), { ended } = start(join(build, "tests", "without-perf"), [ggscope, "attach", "-q", "--faults", "-o", directory, "--steps", "2", program.pid]);
    const refused = await ended;
    assert.equal(refused.status, 0, refused.stderr);
    assert.match(refused.stderr, /^ggscope: page faults are not recorded: .*perf_event_open/m);
    assert.match(experiment(directory).settings.faults, /perf_event_open/);
    await program.steps(2);
    program.sameOutput();
    await program.stop();
});

const root = process.getuid() === 0 ? false : "needs root";
const apart = root || (run("unshare", ["--mount", "--pid", "--fork", "true"]).status === 0 ? false : "namespaces are not permitted here");
test("page faults of a process with its own process numbers", { skip: noFaults || apart }, async () => {
    const boxed = start("unshare", ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", `mount -t proc none /proc && exec '${host}' forgetful -t 2 '${tiny}'`]);
    await until("its output", () => (assert.equal(boxed.child.exitCode, null, boxed.said.stderr), /logits/.test(boxed.said.stdout)));
    const pid = readFileSync(`/proc/${boxed.child.pid}/task/${boxed.child.pid}/children`, "utf8").trim();
    const { directory, status, stderr } = await attach(pid, "--faults", "--steps", "12");
    assert.equal(status, 0, stderr);
    assert.equal(experiment(directory).settings.faults, true, "not a reason");
    assert.ok(experiment(directory).process_id < 100, "its own number");
    const { in_ops, model } = stats(directory).machine.faults;
    assert.ok(in_ops.minor + in_ops.major > 20 && model.minor + model.major > 20);
    boxed.child.kill("SIGKILL");
    await boxed.ended;
});

test("--residency: the pages that are in memory after each token", { skip }, async () => {
    const program = new Host();
    await program.steps(2);
    const { directory, status, stderr } = await attach(program.pid, "--residency", "--steps", "4");
    assert.equal(status, 0, stderr);
    const { residency } = rows(directory, "residency");
    assert.ok(new Set(residency.map((r) => r.snapshot)).size >= 4, "one after each token");
    assert.ok(residency.some((r) => r.pages > 0));
    check(directory);
    await program.stop();
});

test("--io: block requests to the model's disk", { skip: skip || obstacle("io") || false }, async (t) => {
    const { folder, reason } = disk(t, 64);
    if (reason) return t.skip(reason);
    const path = join(folder, "tiny.gguf");
    copyFileSync(tiny, path);
    output("sync", [path]);
    const program = start(host, ["forgetful", "-g", "3", path]);
    t.after(async () => (program.child.kill("SIGKILL"), program.ended));
    await until("its output", () => (assert.equal(program.child.exitCode, null, program.said.stderr), /logits/.test(program.said.stdout)));
    const directory = scratch("io"), a = start(ggscope, ["attach", "-o", directory, "--io", String(program.child.pid)]);
    await until("attaching", () => /attached to process/.test(a.said.stderr) || a.child.exitCode !== null);
    // Unmapped pages are dropped and read again.
    await until("requests", () => (evict(path), existsSync(join(directory, "experiment.json")) && program.said.stdout.length > 100_000));
    a.child.kill("SIGINT");
    const { status, stderr } = await a.ended;
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stderr, /block requests are not recorded/);
    assert.equal(experiment(directory).settings.io, true);
    assert.ok(rows(directory, "block_requests").block_requests.some((r) => r.file !== 0 && !r.write), "of the model");
    check(directory);
});
