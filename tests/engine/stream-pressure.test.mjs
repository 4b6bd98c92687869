// ggscope stream beside a program that takes memory in the same control group: memory is released
// in time, and the output is the same.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build, ggscope, sanitized, scratch } from "../lib.mjs";
import { memoryGroup, noGroups } from "../memory-group.mjs";
import { ownModel } from "./pressure.mjs";
import { MiB, stock, words } from "./streaming.mjs";

const skip = sanitized ? "AddressSanitizer takes more than the limit" : noGroups;
const group = memoryGroup("pressure");
const inside = (command, options) => spawn("sh", ["-c", `${group.enter()} exec "$@"`, "sh", ...command], options);

// Runs a streamed command in a group with this limit. Once it has printed `line`, another program
// allocates `mib` MiB there, one per `microseconds` of the command's CPU time. Fails if the command
// ends before that.
async function besides(command, limit, line, mib, microseconds) {
    const report = scratch("report.json");
    group.make();
    try {
        group.limit(limit);
        const program = inside([ggscope, "stream", "--report", report, "--", ...command], { stdio: ["ignore", "pipe", "pipe"] });
        const closed = once(program, "close"), said = { out: "", text: "" };
        let ended = false;
        closed.then(() => (ended = true));
        program.stdout.setEncoding("utf8").on("data", (text) => (said.out += text));
        program.stderr.setEncoding("utf8").on("data", (text) => (said.text += text));
        while (!line.test(said.text) && !ended) await Promise.race([once(program.stderr, "data"), closed]);
        const grower = inside([join(build, "tests", "grow"), String(mib), String(microseconds), String(program.pid)], { stdio: ["pipe", "pipe", "inherit"] });
        const gone = once(grower, "close");
        let grown = "";
        grower.stdout.setEncoding("utf8").on("data", (text) => (grown += text));
        while (!/full/.test(grown) && grower.exitCode === null && grower.signalCode === null) await Promise.race([once(grower.stdout, "data"), gone]);
        const early = ended;
        const [status, signal] = await closed;
        grower.stdin.end();
        await gone;
        assert.deepEqual([status, signal, group.killed(), grown], [0, null, 0, "begun\nfull\n"], said.text);
        assert.ok(!early, "the command ended before the other program had its memory");
        assert.ok(group.most() <= limit);
        return { text: said.text, hash: JSON.parse(said.out).logits_hash, counts: JSON.parse(readFileSync(report, "utf8")) };
    } finally {
        group.remove();
    }
}

// 40 MB per second of CPU time: more than the reserve over the run, and slow enough for a thread
// whose CPU a hypervisor takes away for 100 ms.
for (const [name, path, tokens] of [["a mixture of experts", () => ownModel("moe"), 250], ["a dense model", () => ownModel("tiny", "--embd", "768", "--ff", "3072"), 200]]) {
    test(`${name} gives back what another program takes`, { skip }, async () => {
        const command = words(path(), "-p", "Once upon a time", "-n", String(tokens), "-t", "1"), wanted = stock(command);
        const { text, hash, counts } = await besides(command, 112 * MiB, /^ggscope: streaming /m, 36, 25000);
        assert.equal(hash, wanted.logits_hash);
        assert.equal(counts.state, "streamed", text);
        assert.ok(counts.bytes_given > 12 * MiB, JSON.stringify(counts));
    });
}

test("a model that fitted is streamed when others have taken its place", { skip }, async () => {
    const command = words(ownModel("moe"), "-p", "Once upon a time", "-n", "600", "-t", "1"), wanted = stock(command);
    const { text, hash, counts } = await besides(command, 220 * MiB, /^ggscope: the model .* fits into memory/m, 110, 1000);
    assert.equal(hash, wanted.logits_hash);
    assert.equal(counts.state, "streamed", text);
    assert.ok(counts.uses > 0, JSON.stringify(counts));
});
