// ggscope attach to programs that have an engine inside: their code is changed while all threads stand, and put back byte for byte.
import { test } from "node:test";
import assert from "node:assert/strict";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { ggscope, output, root, run, scratch } from "../lib.mjs";
import { attach, attachTo, skip, start, until } from "./attaching.mjs";
import { stats } from "./traces.mjs";

scratch();
function build(name, ...options) {
    output("gcc", ["-O2", "-I", join(root, "src"), "-o", scratch(name), join(root, "tests", "engine", "inside-host.c"), ...options, "-lpthread"]);
    return scratch(name);
}

class Program {
    constructor(file) {
        Object.assign(this, start(file, ["endless"]));
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
    // Every line is the same: nothing of what it computes has changed.
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

test("recorded, twice, and its code is put back byte for byte", { skip }, async () => {
    const program = new Program(build("with-symbols"));
    await program.more();
    const before = program.code();
    for (let i = 0; i < 2; i++) {
        const a = attachTo(program.pid);
        await a.attached;
        await program.more(4);
        assert.notDeepEqual(program.code(), before, "functions lead to hooks");
        program.neverBoth();
        a.child.kill("SIGINT");
        const { status, stderr } = await a.ended;
        assert.equal(status, 0, stderr);
        assert.match(stderr, /and all of them for [\d.]+ ms/);
        assert.deepEqual(program.code(), before);
        const totals = stats(a.directory);
        assert.ok(totals.runs >= 5, `${totals.runs} graph runs`);
        assert.deepEqual([totals.nodes, totals.ops, totals.op_runs, totals.unseen, totals.lost], [totals.runs * 12, totals.runs * 8, totals.runs * 16, 0, 0]);
        assert.deepEqual(JSON.parse(run(ggscope, ["check", "--json", a.directory]).stdout).checks.filter((check) => check.result === "FAIL"), []);
        await program.more();
    }
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
});
