// ggscope attaches and detaches again and again while the program computes and takes every lock there is: the output stays the same, every
// recording is whole or empty, and nothing is left in the process. The full test makes 1,000 cycles, and kills ggscope itself at its system calls.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build, ggscope, model, run, scratch } from "../lib.mjs";

const full = process.env.GGSCOPE_ATTACK === "full";
const host = join(build, "tests", "host"), killAt = join(build, "tests", "kill-at");
const skip = process.arch === "x64" && existsSync(host) && existsSync(killAt) ? false : "attaching is made for x86-64";
const tiny = model("tiny", "--layers", "2");
scratch();

function start(program, args) {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] }), said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => (said[name] += text));
    return { child, said, ended: new Promise((resolve) => child.on("exit", (status, signal) => resolve({ status, signal, ...said }))) };
}

// A program whose every generation must have the same hashes.
class Host {
    constructor(mode) {
        Object.assign(this, start(host, [mode, "-g", "3", tiny]));
        this.pid = String(this.child.pid);
        this.hashes = [];
        this.seen = 0;
    }
    look() {
        const end = this.said.stdout.lastIndexOf("\n") + 1;
        for (const [, hash] of this.said.stdout.slice(0, end).matchAll(/^\{"logits":(\d+)\}$/gm)) {
            if (this.seen < 4) this.hashes.push(hash);
            else assert.equal(hash, this.hashes[this.seen % 4], `step ${this.seen}`);
            this.seen++;
        }
        this.said.stdout = this.said.stdout.slice(end);
        assert.equal(this.child.exitCode ?? this.child.signalCode, null, `the program has ended: ${this.said.stderr}`);
    }
    async steps(n) {
        const before = this.seen;
        for (const end = Date.now() + 60_000; this.seen < before + n; this.look()) {
            assert.ok(Date.now() < end, "the program stands");
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
    }
    counts() {
        const list = (name) => readdirSync(`/proc/${this.pid}/${name}`).length;
        const maps = readFileSync(`/proc/${this.pid}/maps`, "utf8").split("\n");
        return { descriptors: list("fd"), files: maps.filter((line) => / \//.test(line) && !/libresolv/.test(line)).map((line) => line.replace(/^\S+ (\S+) .* (\/.*)$/, "$1 $2")) };
    }
    // The dynamic linker has a file or two more open and mapped while it loads a library.
    async least() {
        const all = [];
        for (let i = 0; i < 20; i++, await new Promise((resolve) => setTimeout(resolve, 3))) all.push(this.counts());
        return all.sort((a, b) => a.descriptors + a.files.length - b.descriptors - b.files.length)[0];
    }
    async settles(counts, what) {
        let seen;
        for (const end = Date.now() + 5000; JSON.stringify((seen = this.counts())) !== JSON.stringify(counts) && Date.now() < end;) await new Promise((resolve) => setTimeout(resolve, 2));
        assert.deepEqual(seen, counts, what);
    }
    async stop() {
        this.child.kill("SIGKILL");
        await this.ended;
    }
}

// Whole, or empty because nothing was computed in its time.
function judge(directory, { status, stderr }) {
    if (status !== 0) assert.match(stderr, /computed no graph while ggscope was attached/);
    else assert.equal(run(ggscope, ["check", directory]).status, 0, directory);
    rmSync(directory, { recursive: true, force: true });
    return status === 0;
}

test("attach and detach, again and again", { skip }, async (t) => {
    const cycles = Number(process.env.GGSCOPE_CYCLES ?? (full ? 1000 : 12)), program = new Host("churn");
    t.after(() => program.stop());
    await program.steps(2);
    const stood = [], directory = scratch("cycle");
    let whole = 0, counts;
    for (let i = 0; i < cycles; i++) {
        const result = await start(ggscope, ["attach", "-o", directory, "--steps", "1", program.pid]).ended;
        stood.push(Number(result.stderr.match(/stood for ([\d.]+) ms/)?.[1] ?? assert.fail(result.stderr)));
        whole += judge(directory, result);
        program.look();
        if (i === 10) counts = await program.least();
        if (i > 10) await program.settles(counts, `cycle ${i}`);
        if (i % 100 === 99) console.log(`# ${i + 1} cycles`);
    }
    await program.steps(4);
    stood.sort((a, b) => a - b);
    console.log(`# ${cycles} cycles, ${whole} recordings with something in them; the borrowed thread stood ${stood[cycles >> 1]} ms in the median, ${stood[Math.floor(cycles * 0.99)]} ms in 99 of 100, ${stood.at(-1)} ms at most`);
});

// Anywhere: while it checks, attaches, records, detaches or seals.
test("ggscope attach is killed at its system calls", { skip }, async (t) => {
    const program = new Host("endless"), step = full ? 7 : 211;
    t.after(() => program.stop());
    await program.steps(2);
    const directory = scratch("killed");
    let kills = 0;
    for (let n = full ? 1 : 53; ; n += step) {
        const { status, stderr } = await start(killAt, [String(n), ggscope, "attach", "-q", "-o", directory, "--steps", "1", program.pid]).ended;
        program.look();
        rmSync(directory, { recursive: true, force: true });
        if (status !== 0) {
            if (!/another ggscope attaches|recorded already/.test(stderr)) break; // it came to its end
            await program.steps(1);
        }
        kills++;
    }
    await program.steps(4);
    const last = await start(ggscope, ["attach", "-q", "-o", directory, "--steps", "2", program.pid]).ended;
    assert.ok(judge(directory, last), last.stderr);
    assert.ok(kills > 5, `${kills} kills`);
    console.log(`# ${kills} kills`);
});
