// Kills ggscope at any of its system calls: recorded data is not lost, written files are whole, and
// nothing stays behind.
//
// The moment is a system call (strace kills at the n-th of a kind), not a time. 24 kills; with
// GGSCOPE_ATTACK=full 200.
import { test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { engine, ggscope, model, run, scratch } from "../lib.mjs";
import { look } from "./commands.mjs";

const full = process.env.GGSCOPE_ATTACK === "full";
const golden = join(dirname(fileURLToPath(import.meta.url)), "..", "golden");
const newest = readdirSync(golden).filter((name) => /^v\d+$/.test(name)).sort().at(-1);
const skip = run("sh", ["-c", "strace -o /dev/null true"]).status !== 0 && "strace cannot trace here";

let seed = 7;
const random = (below) => Math.floor(((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32) * below);

// The system calls of a command in order, each as { name, nth }: the n-th of its name.
function systemCalls(command) {
    const log = scratch("calls.txt"), seen = new Map();
    assert.equal(run("strace", ["-o", log, ...command]).status, 0);
    return readFileSync(log, "utf8").split("\n").map((line) => line.match(/^(\w+)\(/)?.[1]).filter((name) => name && !/^(execve|exit|exit_group)$/.test(name))
        .map((name) => ({ name, nth: (seen.set(name, (seen.get(name) ?? 0) + 1), seen.get(name)) }));
}

const killed = (command, { name, nth }) => run("strace", ["-o", "/dev/null", "-e", `inject=${name}:signal=SIGKILL:when=${nth}`, ...command]);

// True if a program still records into this place. It outlives its ggscope.
const recording = (place) => readdirSync("/proc").some((pid) => {
    try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "latin1").includes(place);
    } catch {
        return false; // it ended
    }
});

test(`${full ? 120 : 12} recordings whose ggscope is killed`, { skip }, (t) => {
    const directory = scratch("recording"), spools = scratch("spools"); // a private place: other tests record into /dev/shm meanwhile
    mkdirSync(spools);
    const command = [ggscope, "record", "-q", "--spool", spools, "-o", directory, "--", engine, "run", "-m", model("tiny"), "-p", "Once", "-n", "2"];
    const calls = systemCalls(command);
    rmSync(directory, { recursive: true });
    const count = { nothing: 0, recovered: 0 };
    for (let i = 0; i < (full ? 120 : 12); i++) {
        const call = calls[Math.floor((i + random(1000) / 1000) * calls.length / (full ? 120 : 12))];
        const where = `killed at ${call.name} number ${call.nth}`;
        killed(command, call);
        for (const end = Date.now() + 60_000; recording(spools);) assert.ok(Date.now() < end, `${where}: the program does not end`);
        const looked = run(ggscope, ["check", directory], { timeout: 60_000 });
        assert.equal(looked.signal, null, where);
        assert.doesNotMatch(looked.stdout, /^FAIL|^fail/m, `${where}\n${looked.stdout}`);
        if (looked.status === 0) count.recovered++;
        else count.nothing++, assert.match(looked.stderr + looked.stdout, /\S/, where);
        rmSync(directory, { recursive: true, force: true });
    }
    // The next recording removes what a kill left of a spool.
    assert.equal(run(command[0], command.slice(1)).status, 0);
    rmSync(directory, { recursive: true });
    assert.deepEqual(readdirSync(spools), []);
    t.diagnostic(`${full ? 120 : 12} kills: ${count.recovered} recordings whole or recovered, ${count.nothing} with nothing in them`);
});

for (const format of ["json", "csv", "sqlite", "parquet", "chrome", "ggmlviz"]) {
    test(`exports to ${format} that are killed: the old file or the new one, and nothing beside it`, { skip }, (t) => {
        const directory = scratch(`${format}/experiment`), folder = scratch(`${format}/out`), out = join(folder, "export");
        cpSync(join(golden, newest), directory, { recursive: true });
        const words = ["export", "--quiet", "--format", format, "{dir}", "-o", "{out}"];
        mkdirSync(folder);
        const right = look(words, directory, out);
        assert.equal(right.status, 0, right.stderr);
        const command = [ggscope, "export", "--quiet", "--format", format, directory, "-o", out];
        const calls = systemCalls(command);
        for (let i = 0; i < (full ? 14 : 2); i++) {
            rmSync(out, { recursive: true, force: true });
            const call = calls[random(calls.length)];
            killed(command, call);
            // The next recording is whole, and cleans up.
            assert.equal(run(command[0], command.slice(1)).status, 0);
            assert.deepEqual(readdirSync(folder), ["export"], `killed at ${call.name} number ${call.nth}`);
            const left = existsSync(out) && run("find", [folder, "-name", "*tmp*"]).stdout;
            assert.equal(left, "", `killed at ${call.name} number ${call.nth}`);
            assert.equal(look(words, directory, out).result, right.result);
        }
        t.diagnostic(`${full ? 14 : 2} kills`);
    });
}
