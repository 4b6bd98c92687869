// Attaches and detaches repeatedly while the program computes and takes every lock: its output
// stays the same, every recording is whole or empty, and nothing stays in the process. The full
// test makes 1,000 cycles, and kills ggscope itself at its system calls.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { build, ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { skip as impossible } from "../engine/attaching.mjs";

const full = process.env.GGSCOPE_ATTACK === "full";
const host = join(build, "tests", "host"), killAt = join(build, "tests", "kill-at");
const skip = impossible || (existsSync(killAt) ? false : "kill-at is not built for this machine");
const tiny = model("tiny", "--layers", "2");
scratch();

function start(program, args) {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] }), said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => (said[name] += text));
    return { child, said, ended: new Promise((resolve) => child.on("exit", (status, signal) => resolve({ status, signal, ...said }))) };
}

// A program that computes the same again and again, and says what: `period` results in turn.
class Host {
    constructor(program, words, period, pattern) {
        Object.assign(this, start(program, words), { period, pattern });
        this.pid = String(this.child.pid);
        this.results = [];
        this.seen = this.rests = 0;
    }
    look() {
        const end = this.said.stdout.lastIndexOf("\n") + 1;
        for (const [, result] of this.said.stdout.slice(0, end).matchAll(this.pattern)) {
            if (this.seen < this.period) this.results.push(result);
            else assert.equal(result, this.results[this.seen % this.period], `step ${this.seen}`);
            this.seen++;
        }
        this.rests += this.said.stdout.slice(0, end).match(/^\{"rests":1\}$/gm)?.length ?? 0;
        this.said.stdout = this.said.stdout.slice(end);
        assert.equal(this.child.exitCode ?? this.child.signalCode, null, `the program has ended: ${this.said.stderr}`);
    }
    async until(what, reached) {
        for (const end = Date.now() + 60_000; !reached(); this.look()) {
            assert.ok(Date.now() < end, what);
            await new Promise((resolve) => setTimeout(resolve, 2));
        }
    }
    steps(n) {
        const before = this.seen;
        return this.until("the program stands", () => this.seen >= before + n);
    }
    threads() {
        return readdirSync(`/proc/${this.pid}/task`).length;
    }
    signal() {
        process.kill(this.child.pid, "SIGUSR1");
    }
    // What it has while it rests: between two generations, nobody churns.
    async atRest() {
        const before = this.rests;
        this.signal();
        await this.until("the program does not rest", () => this.rests > before);
        const list = (name) => readdirSync(`/proc/${this.pid}/${name}`).length, maps = readFileSync(`/proc/${this.pid}/maps`, "utf8").trim().split("\n");
        const counts = { threads: this.threads(), descriptors: list("fd"), mappings: maps.length, files: maps.filter((line) => / [/[]/.test(line)).map((line) => line.replace(/^\S+ (\S+) .* ([/[].*)$/, "$1 $2")) };
        this.signal();
        return counts;
    }
    // What the program's own file has in memory and nobody writes.
    code() {
        const file = this.child.spawnfile, fd = openSync(`/proc/${this.pid}/mem`, "r"), parts = [];
        for (const line of readFileSync(`/proc/${this.pid}/maps`, "utf8").split("\n").filter((one) => one.endsWith(file))) {
            const [, from, to, permissions] = line.match(/^(\w+)-(\w+) (\S+)/), data = Buffer.alloc(Number.parseInt(to, 16) - Number.parseInt(from, 16));
            if (permissions[1] !== "w") readSync(fd, data, 0, data.length, Number.parseInt(from, 16));
            parts.push(`${from} ${permissions} ${data.toString("latin1")}`);
        }
        closeSync(fd);
        return parts;
    }
    async stop() {
        this.child.kill("SIGKILL");
        await this.ended;
    }
}

const onLibraries = (mode, ...options) => new Host(host, [mode, "-g", "3", ...options, tiny], 4, /^\{"logits":(\d+)\}$/gm);
// ggml inside, or what looks like it: all its threads stand while code is changed.
function inside(source, ...options) {
    const file = scratch(source.replace(".c", ""));
    output("gcc", ["-O2", "-DYIELDS", "-I", join(root, "src"), "-o", file, join(root, "tests", "engine", source), ...options, "-lpthread"]);
    return new Host(file, ["endless"], 1, /^(\d.*)$/gm);
}

// Whole, or empty because nothing was computed in its time.
function judge(directory, { status, stderr }) {
    if (status !== 0) assert.match(stderr, /computed no graph while ggscope was attached/);
    else assert.equal(run(ggscope, ["check", directory]).status, 0, directory);
    rmSync(directory, { recursive: true, force: true });
    return status === 0;
}

test("attach and detach, again and again", { skip }, async (t) => {
    const cycles = Number(process.env.GGSCOPE_CYCLES ?? (full ? 1000 : 12)), threads = availableParallelism() > 8 ? 8 : 1; // with fewer processors they spin for seconds at each barrier
    const program = onLibraries("churn", "-t", String(threads));
    t.after(() => program.stop());
    await program.steps(2);
    const stood = [], directory = scratch("cycle");
    let whole = 0, counts;
    for (let i = 0; i < cycles; i++) {
        const result = await start(ggscope, ["attach", "-o", directory, "--steps", "1", program.pid]).ended;
        stood.push(Number(result.stderr.match(/stood for ([\d.]+) ms/)?.[1] ?? assert.fail(result.stderr)));
        whole += judge(directory, result);
        program.look();
        const seen = await program.atRest();
        if (i < 10) counts = seen;
        else assert.deepEqual(seen, counts, `cycle ${i}`);
        if (i % 100 === 99) console.log(`# ${i + 1} cycles`);
    }
    await program.steps(4);
    stood.sort((a, b) => a - b);
    console.log(`# ${cycles} cycles, computing threads: ${threads}; ${whole} recordings with something in them; the borrowed thread stood ${stood[cycles >> 1]} ms in the median, ${stood[Math.floor(cycles * 0.99)]} ms in 99 of 100, ${stood.at(-1)} ms at most`);
});

const programs = [
    ["a program on shared libraries", () => onLibraries("endless"), ""],
    ["a program with ggml inside", () => inside("inside-host.c"), "+"],
    ["a stripped program with ggml inside", () => inside("stripped-host.c", "-s"), "+"],
];

// The calls to stop at: every `step`th, until `tried` says that it came to its end. How many there
// are depends on the moment: if only few were met, they are tried again, closer together.
async function atCalls(first, step, least, tried) {
    for (let met = 0, n = first; ;)
        if (await tried(n)) met++, (n += step);
        else if (met > least) return met;
        else assert.ok(step > 1, `${met} calls`), ([n, step] = [first, step >> 1]);
}

// At any stage: while it checks, stops threads, changes code, records, detaches or seals. The full
// test kills at each call that another process can notice (kill-at.c lists them): between two of
// them ggscope changes only itself. The time that passes between them differs, so others of its
// calls follow in steps: how many there are depends on the machine. Calls before the first ptrace
// touch nothing.
for (const [what, make, from] of programs)
    test(`ggscope attach to ${what} is killed at its system calls`, { skip }, async (t) => {
        const program = make(), directory = scratch("killed");
        t.after(() => program.stop());
        await program.steps(2);
        const code = program.code(), counts = [];
        for (const [kind, first, step] of full ? [["@", 1, 1], [from, 53, 523]] : [["@", 1, 67]]) {
            let refusals = 0;
            counts.push(await atCalls(first, step, kind === "@" ? (full ? 100 : 3) : 0, async (n) => {
                for (;;) {
                    const { status, stderr } = await start(killAt, [`${kind}${n}`, ggscope, "attach", "-q", "-o", directory, "--steps", "1", program.pid]).ended;
                    program.look();
                    rmSync(directory, { recursive: true, force: true });
                    if (status === 0) return (refusals = 0), true;
                    if (!/another ggscope attaches|recorded already/.test(stderr)) return false;
                    // The killed one's lock and recording end by themselves, not at once.
                    assert.ok(refusals++ < 100, `at ${kind}${n}: ${stderr}`);
                    await program.steps(1);
                }
            }));
        }
        await program.steps(4);
        const last = await start(ggscope, ["attach", "-q", "-o", directory, "--steps", "2", program.pid]).ended;
        assert.ok(judge(directory, last), last.stderr);
        assert.deepEqual(program.code(), code, "its code is what it was");
        await program.steps(2);
        console.log(`# ${counts.join(" + ")} kills`);
    });

// Ctrl-C at any of those calls: ggscope ends in order, and the program is what it was at once.
for (const [what, make] of programs)
    test(`ggscope attach to ${what} is interrupted at its system calls`, { skip }, async (t) => {
        const program = make(), directory = scratch("interrupted");
        t.after(() => program.stop());
        await program.steps(2);
        const code = program.code(), threads = program.threads();
        const interrupts = await atCalls(1, full ? 1 : 67, 3, async (n) => {
            const { status, stderr } = await start(killAt, [`^${n}`, ggscope, "attach", "-q", "-o", directory, "--steps", "1", program.pid]).ended;
            rmSync(directory, { recursive: true, force: true });
            if (!/^interrupted$/m.test(stderr)) return false;
            // 5: SIGINT ends it while it has touched nothing
            assert.ok([5, 10, 11].includes(status), `call ${n}: ${status} ${stderr}`);
            assert.deepEqual(program.code(), code, `call ${n}: its code is what it was`);
            await program.until(`call ${n}: a thread stays`, () => program.threads() === threads);
            await program.steps(1);
            return true;
        });
        console.log(`# ${interrupts} interrupts`);
    });
