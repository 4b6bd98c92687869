// Shared by the tests of ggscope attach: running programs, attaching to them, and facts that do not
// depend on the moment.
import { afterEach } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, writeFileSync } from "node:fs";
import { ggscope, model, output } from "../lib.mjs";
import { fresh, graphs, host, jsonLines, rows } from "./traces.mjs";

// Under a seccomp filter, attaching works where no process can have one of its own
// (docs/attach.md, "Inside a container").
const own = readFileSync("/proc/self/status", "utf8"), adminBit = 21n;
const filtered = /^Seccomp:\s+[12]$/m.test(own) && (/^NoNewPrivs:\s+1$/m.test(own) || (BigInt(`0x${own.match(/^CapBnd:\s+(\w+)$/m)[1]}`) >> adminBit & 1n) === 1n);
export const skip = process.arch !== "x64" || !existsSync(host) ? "attaching is made for x86-64"
    : filtered ? "the tests run under a seccomp filter, which might differ from that of other programs: ggscope attach is refused there" : false;
export const tiny = model("tiny", "--layers", "2");
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Ended even if a test fails, with the processes that they started.
const running = new Set();
afterEach(() => Promise.all([...running].map((child) => new Promise((resolve) => (child.on("exit", resolve), process.kill(-child.pid, "SIGKILL"))))));

export function start(program, args, options = {}) {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: true, ...options });
    running.add(child);
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"]) child[name]?.setEncoding("utf8").on("data", (text) => (said[name] += text));
    const ended = new Promise((resolve) => child.on("exit", (status, signal) => (running.delete(child), resolve({ status, signal, ...said }))));
    return { child, said, ended };
}

export async function until(what, condition) {
    for (const end = Date.now() + 60_000; !condition(); await sleep(10)) assert.ok(Date.now() < end, `waited for ${what}`);
}

// A file of /proc for each thread of a process. Threads end meanwhile: they have none.
export function ofThreads(pid, file) {
    return readdirSync(`/proc/${pid}/task`).flatMap((id) => {
        try {
            return [{ id, text: readFileSync(`/proc/${pid}/task/${id}/${file}`, "utf8") }];
        } catch (error) {
            if (error.code === "ENOENT" || error.code === "ESRCH") return [];
            throw error;
        }
    });
}

// A program that generates the same text repeatedly, and its state.
export class Host {
    // Its options, and an object of environment variables.
    constructor(...options) {
        const words = options.filter((one) => typeof one === "string"), more = options.find((one) => typeof one === "object");
        Object.assign(this, start(host, ["endless", "-g", "3", ...words, tiny], { env: { ...process.env, ...more } }));
        this.pid = String(this.child.pid);
    }
    hashes() {
        return jsonLines(this.said.stdout.slice(0, this.said.stdout.lastIndexOf("\n") + 1)).filter((line) => "logits" in line).map((line) => line.logits);
    }
    // Waits until it has computed n more steps.
    async steps(n = 2) {
        const before = this.hashes().length;
        await until("the program's next steps", () => (assert.equal(this.child.exitCode, null, this.said.stderr), this.hashes().length >= before + n));
    }
    // Every generation has the same four hashes.
    sameOutput() {
        const hashes = this.hashes();
        for (let i = 4; i < hashes.length; i++) assert.equal(hashes[i], hashes[i % 4], `step ${i}`);
    }
    maps() {
        return readFileSync(`/proc/${this.pid}/maps`, "utf8").trim().split("\n").map((line) => {
            const [, from, to, permissions, path] = line.match(/^(\w+)-(\w+) (\S+) \S+ \S+ \S+ *(.*)$/);
            return { from: Number.parseInt(from, 16), to: Number.parseInt(to, 16), permissions, path };
        });
    }
    bytes(map) {
        const fd = openSync(`/proc/${this.pid}/mem`, "r"), data = Buffer.alloc(map.to - map.from);
        readSync(fd, data, 0, data.length, map.from);
        closeSync(fd);
        return data;
    }
    // Code and RELRO memory of the program and the engine, and the number of words in it that point
    // into ggscope's library.
    image() {
        const maps = this.maps(), own = maps.filter((map) => map.path.includes("libggscope-capture") || map.path.includes("memfd:ggscope"));
        const low = Math.min(...own.map((map) => map.from)), high = Math.max(...own.map((map) => map.to));
        const fixed = [];
        let words = 0;
        for (const map of maps.filter((m) => /lib(ggml|llama)|\/host$/.test(m.path) && m.permissions.startsWith("r"))) {
            const data = this.bytes(map);
            for (let i = 0; own.length > 0 && map.permissions[2] !== "x" && i + 8 <= data.length; i += 8) {
                const word = data.readUInt32LE(i) + data.readUInt32LE(i + 4) * 2 ** 32;
                words += word >= low && word < high;
            }
            fixed.push(`${map.from} ${map.permissions} ${map.path} ${map.permissions[1] === "w" ? "" : data.toString("latin1")}`);
        }
        return { fixed, words };
    }
    counts() {
        const list = (name) => readdirSync(`/proc/${this.pid}/${name}`);
        return { threads: list("task").length, descriptors: list("fd").length, files: this.maps().filter((map) => map.path.startsWith("/")).length };
    }
    async stop() {
        this.child.kill("SIGKILL");
        return this.ended;
    }
}

// The program's output must be read meanwhile, or it blocks.
export async function attach(pid, ...options) {
    const directory = fresh(), { ended } = start(ggscope, ["attach", "-q", "-o", directory, ...options, pid]);
    return { directory, ...(await ended) };
}
// Attaches in the background: `attached` resolves when it records.
export function attachTo(pid, ...options) {
    const directory = fresh(), started = start(ggscope, ["attach", "-o", directory, ...options, pid]);
    const attached = until("attaching", () => /attached to process/.test(started.said.stderr) || started.child.exitCode !== null);
    return { directory, ...started, attached };
}

const compiled = new Map();
export function compile(name, source, ...options) {
    if (!compiled.has(name)) {
        const file = fresh();
        writeFileSync(`${file}.c`, source);
        output("cc", [...options, "-o", file, `${file}.c`]);
        compiled.set(name, file);
    }
    return compiled.get(name);
}
export const sleeper = '#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts("begun"); fflush(stdout); for (;;) pause(); }\n';
export const begun = ({ said }) => until("its begin", () => /begun/.test(said.stdout));

// Facts about the model that do not depend on the moment: ops with their operands, buffers and
// their classes, origins of weights.
export function facts(directory) {
    const buffers = JSON.parse(output(ggscope, ["buffers", "--json", directory]));
    // The buffer of copied results is in no graph: a late recorder does not see it.
    const kinds = buffers.buffers.filter((b) => b.class !== "io").map((b) => `${b.class} ${b.usage} ${b.bytes} ${b.type}`).sort();
    const shapes = new Set();
    for (const nodes of graphs(directory).values()) shapes.add(nodes.map((n) => [n.op, n.name, ...Object.values(n.sources).map((s) => `${s.name} ${s.file} ${s.file_offset} ${s.origin_file} ${s.origin_offset}`)].join(" ")).join("\n"));
    return { kinds, shapes: [...shapes].map((text) => createHash("md5").update(text).digest("hex")).sort(), files: rows(directory, "files").files.map((f) => f.path) };
}

// Must be refused with one sentence, and leave nothing behind.
export async function refused(pid, sentence, options = {}) {
    const directory = fresh(), { ended } = start(ggscope, ["attach", "-q", "-o", directory, pid], options);
    const { status, stderr } = await ended;
    assert.equal(status, 1, stderr);
    assert.match(stderr, sentence);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
    assert.ok(!existsSync(directory), "no directory is left");
}
export const alive = (child) => assert.ok(child.exitCode === null && child.signalCode === null);
