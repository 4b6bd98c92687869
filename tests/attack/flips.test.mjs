// Flipped bits in a trace: each command gives its previous output or an error; never other numbers,
// never a crash.
//
// 40 flips; with GGSCOPE_ATTACK=full 500.
import { test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ggscope, run, scratch } from "../lib.mjs";
import { commands, look } from "./commands.mjs";

const flips = process.env.GGSCOPE_ATTACK === "full" ? 500 : 40;
const golden = join(dirname(fileURLToPath(import.meta.url)), "..", "golden");
const newest = readdirSync(golden).filter((name) => /^v\d+$/.test(name)).sort().at(-1);

let seed = 20261115;
const random = (below) => Math.floor(((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32) * below);

test(`${flips} flipped bits: the same answer or an error, from every command`, (t) => {
    const directory = scratch("flips/experiment"), out = scratch("flips/out");
    cpSync(join(golden, newest), directory, { recursive: true });
    const file = join(directory, "trace.ggs");
    const whole = readFileSync(file);
    const right = commands.map((command) => look(command, directory, out));
    commands.forEach((command, i) => {
        assert.ok([0, 1].includes(right[i].status), command.join(" "));
        assert.equal(look(command, directory, out).result, right[i].result, `${command.join(" ")}: the same question twice`);
    });
    const trailer = (whole.length - 64) * 8; // without it a trace reads as truncated: complete, with a warning
    const count = { same: 0, refused: 0, warned: 0, noticed: 0 };
    for (let i = 0; i < flips; i++) {
        const bit = random(whole.length * 8);
        const bytes = Buffer.from(whole);
        bytes[bit >> 3] ^= 1 << (bit & 7);
        writeFileSync(file, bytes);
        // A few commands per flip, and all of them over all flips.
        const some = process.env.GGSCOPE_ATTACK === "full" ? commands.keys() : [random(commands.length), random(commands.length), random(commands.length)];
        for (const c of some) {
            const answer = look(commands[c], directory, out);
            const where = `bit ${bit}: ggscope ${commands[c].join(" ")}`;
            assert.equal(answer.signal, null, `${where}: killed by ${answer.signal}`);
            if (answer.status === right[c].status && answer.result === right[c].result) {
                count.same++;
                continue;
            }
            // A report contains the trace verbatim, including bytes that no reader uses: ignorable
            // features, reserved bytes.
            if (commands[c][0] === "report" && answer.status === 0 && (bit >> 5 === 5 || (bit >> 3 >= 40 && bit >> 3 < 64))) {
                count.same++;
                continue;
            }
            if (bit >= trailer && answer.status === right[c].status) {
                assert.match(answer.stderr, /^ggscope: .*no intact end/m, where);
                count.warned++;
                continue;
            }
            assert.ok(answer.status === 1, `${where}: exit ${answer.status} with another answer\n${answer.stderr}`);
            assert.match(answer.stderr, /^ggscope: .+/m, `${where}: no sentence`);
            count.refused++;
        }
        if (run(ggscope, ["check", directory]).status === 1) count.noticed++;
    }
    t.diagnostic(`${flips} flips: ${count.same} answers the same, ${count.refused} refused, ${count.warned} with a warning; check noticed ${count.noticed}`);
    assert.ok(count.refused > 0);
});

test("a trace cut off at any length: an error, or a warning and what is intact", (t) => {
    const directory = scratch("cut/experiment"), out = scratch("cut/out");
    cpSync(join(golden, newest), directory, { recursive: true });
    const file = join(directory, "trace.ggs");
    const whole = readFileSync(file);
    const lengths = [0, 1, 8, 63, 64, 65, 160, ...Array.from({ length: flips / 4 }, () => random(whole.length)), whole.length - 1];
    const count = { warned: 0, refused: 0 };
    for (const length of lengths) {
        writeFileSync(file, whole.subarray(0, length));
        for (const command of [commands[0], commands[random(commands.length)]]) {
            const answer = look(command, directory, out);
            const where = `${length} of ${whole.length} bytes: ggscope ${command.join(" ")}`;
            assert.equal(answer.signal, null, where);
            assert.match(answer.stderr, /^ggscope: .+/m, `${where}: exit ${answer.status} without a word`);
            count[answer.status === 0 ? "warned" : "refused"]++;
        }
        assert.notEqual(run(ggscope, ["check", directory]).status, 0, `check of ${length} bytes`);
    }
    t.diagnostic(`${lengths.length} lengths: ${count.warned} with a warning, ${count.refused} refused`);
});

test("a damaged chunk of every table with --damaged: a part that says so, or an error", (t) => {
    const directory = scratch("damaged/experiment"), out = scratch("damaged/out");
    cpSync(join(golden, newest), directory, { recursive: true });
    const file = join(directory, "trace.ggs");
    const whole = readFileSync(file);
    const count = { partial: 0, refused: 0 };
    let chunks = 0;
    for (let at = 64; whole.toString("latin1", at, at + 4) === "ROWS"; chunks++) {
        const end = at + 96 + Number(whole.readBigUInt64LE(at + 8));
        const bytes = Buffer.from(whole);
        bytes[end - 1] ^= 1;
        writeFileSync(file, bytes);
        for (const c of commands.keys()) {
            if (commands[c][0] === "report" || (flips < 500 && (c + chunks) % 9 !== 0)) continue; // a report contains complete traces only
            const answer = look([commands[c][0], "--damaged", ...commands[c].slice(1)], directory, out);
            const where = `table ${whole.readUInt32LE(at + 4)}: ggscope --damaged ${commands[c].join(" ")}`;
            assert.equal(answer.signal, null, where);
            assert.match(answer.stderr, /^ggscope: .+/m, where);
            if (answer.status === 0) {
                assert.match(answer.stderr, /^ggscope: .*1 damaged chunk is left out/m, where);
                if (commands[c].includes("--json")) assert.equal(JSON.parse(answer.stdout).partial, true, where);
                count.partial++;
            } else {
                assert.equal(answer.status, 1, where);
                count.refused++;
            }
        }
        at = (end + 7) & ~7;
    }
    t.diagnostic(`${chunks} chunks: ${count.partial} partial answers, ${count.refused} refused`);
    assert.ok(count.partial > count.refused);
});
