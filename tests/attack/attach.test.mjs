// Kills ggscope attach at each of its system calls in turn: the target process runs on unchanged.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { build, run } from "../lib.mjs";
import { skip as impossible } from "../engine/attaching.mjs";

const full = process.env.GGSCOPE_ATTACK === "full";
const tool = (name) => join(build, "tests", name);
const library = tool("libattach-answer.so");
const skip = impossible || (existsSync(tool("kill-at")) ? false : "kill-at is not built for this machine");

// A process that checks itself all the time, and its state as seen from outside.
class Host {
    constructor(...words) {
        this.child = spawn(tool("busy-host"), words, { stdio: ["ignore", "pipe", "inherit"] });
        this.said = "";
        this.bytes = 0;
        this.child.stdout.on("data", (data) => ((this.said = (this.said + data).slice(-4096)), (this.bytes += data.length)));
        this.ended = new Promise((resolve) => this.child.on("exit", (status, signal) => resolve((this.end = { status, signal }))));
    }
    // Returns its next line: it runs, and has found nothing wrong.
    async line() {
        const before = this.bytes;
        for (const end = Date.now() + 120_000; this.bytes === before && !this.end && Date.now() < end;) await new Promise((resolve) => setTimeout(resolve, 5));
        if (!this.end && this.bytes === before) assert.fail(`the process stands: ${readFileSync(`/proc/${this.child.pid}/status`, "utf8")}`);
        assert.equal(this.end, undefined, `the process has ended: ${JSON.stringify(this.end)} ${this.said.trim().split("\n").at(-1)}`);
        assert.match(this.said.trim().split("\n").at(-1), /^ok /);
    }
    maps() {
        return readFileSync(`/proc/${this.child.pid}/maps`, "utf8").trim().split("\n");
    }
    // What must not change. Anonymous memory may: the C library keeps the stacks of ended threads
    // and makes arenas. None of it is executable, and none is where ggscope puts its own.
    state() {
        const list = (name) => readdirSync(`/proc/${this.child.pid}/${name}`).length, maps = this.maps();
        const files = maps.filter((line) => / [/[]/.test(line)), own = maps.filter((line) => !/ [/[]/.test(line) && (/^\S+ ..x/.test(line) || !/^(7[c-f]|5[56])/.test(line)));
        return { threads: list("task"), descriptors: list("fd"), files: files.map((line) => line.replace(/^(\S+) (\S+) .* (\S+)$/, "$1 $2 $3")), own };
    }
    // Waits until leftovers have ended by themselves.
    async settles(wanted) {
        for (const end = Date.now() + 120_000; JSON.stringify(this.state()) !== JSON.stringify(wanted) && Date.now() < end;) await this.line();
        assert.deepEqual(this.state(), wanted);
    }
    async stop() {
        this.child.kill();
        await this.ended;
    }
}

const load = (host) => [tool("load-library"), String(host.child.pid), library, "hello"];

// Kills at call `first`, `first + step`, ... The number of calls varies with scheduling.
async function killAll(host, prefix, first, step, check = async () => {}) {
    let kills = 0;
    for (let n = first; ; n += step) {
        const killed = run(tool("kill-at"), [`${prefix}${n}`, ...load(host)]);
        await check();
        if (host.end) break;
        if (killed.status !== 0) return kills; // it ended by itself
        kills++;
    }
    await host.line();
}

for (const words of [["waiter"], ["alone"], ["churn", "signals"]]) {
    test(`killed while it attaches to a process that is ${words.join(", ")}`, { skip }, async (t) => {
        const host = new Host(...words);
        t.after(() => host.stop());
        await host.line();
        const once = run(load(host)[0], load(host).slice(1));
        assert.equal(once.status, 0, once.stderr);
        const before = host.state();
        const kills = await killAll(host, "+", 1, full ? 1 : 3) + (await killAll(host, "", full ? 1 : 11, full ? 1 : 97));
        await host.line();
        if (!words.includes("churn")) await host.settles(before);
        const again = run(load(host)[0], load(host).slice(1));
        assert.equal(again.status, 0, `afterwards it can be attached to: ${again.stderr}`);
        assert.ok(kills > 30, `${kills} kills`);
        console.log(`# ${kills} kills`);
    });
}
