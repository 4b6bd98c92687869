// Truncated traces: every command that shows a part of one says so, and none claims that nothing
// was lost.
//
// 14 lengths; with GGSCOPE_ATTACK=full 120, and every command for each.
import { test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ggscope, output, run, scratch } from "../lib.mjs";
import { browse } from "../server.mjs";
import { commands, look } from "./commands.mjs";

const full = process.env.GGSCOPE_ATTACK === "full";
const golden = join(dirname(fileURLToPath(import.meta.url)), "..", "golden");
const newest = readdirSync(golden).filter((name) => /^v\d+$/.test(name)).sort().at(-1);
const source = join(golden, newest), whole = readFileSync(join(source, "trace.ggs"));
scratch();

let seed = 4711;
const random = (below) => Math.floor(((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32) * below);

// Ends of chunks: a trace cut there lacks only its end.
const ends = [64];
for (let at = 64; whole.toString("latin1", at, at + 4) === "ROWS"; ends.push(at)) at = (at + 96 + Number(whole.readBigUInt64LE(at + 8)) + 7) & ~7;
const lengths = [64, ends[1], ends.at(-1), whole.length - 1, ...Array.from({ length: full ? 58 : 5 }, () => ends[random(ends.length)]), ...Array.from({ length: full ? 58 : 5 }, () => 65 + random(whole.length - 66))];

const says = /^ggscope: .*(cut off|no intact end)/m;
const all = [["{dir}"], ...commands, ["join", "{dir}", "{good}", "-o", "{out}"], ["join", "{good}", "{dir}", "-o", "{out}"], ["diff", "{good}", "{dir}"], ["diff", "--json", "{dir}", "{good}"], ["check", "{dir}"], ["requests", "{dir}"], ["sql", "--json", "{dir}", "select count(*) n from op_runs"]];

test(`${lengths.length} lengths: every command says that the trace is not whole`, (t) => {
    const directory = scratch("experiment"), good = scratch("good"), out = scratch("out");
    cpSync(source, directory, { recursive: true });
    cpSync(source, good, { recursive: true });
    const count = { warned: 0, refused: 0 };
    for (const [i, length] of lengths.entries()) {
        writeFileSync(join(directory, "trace.ggs"), whole.subarray(0, length));
        for (const [c, command] of all.entries()) {
            if (!full && command[0] !== "{dir}" && command[0] !== "join" && (c + i) % 4 !== 0) continue;
            const words = command.map((word) => word.replace("{good}", good));
            const { status, signal, stdout, stderr } = look(words, directory, out);
            const where = `${length} of ${whole.length} bytes: ggscope ${command.join(" ")}: exit ${status}\n${stderr}${stdout.slice(0, 2000)}`;
            assert.ok(signal === null && (status === 0 || status === 1), where);
            assert.match(command[0] === "check" ? stdout.replace(/^/gm, "ggscope: ") : stderr, status === 0 ? says : /^ggscope: .+/m, where);
            assert.doesNotMatch(stdout + stderr, /lost +nothing|ok +no losses/, where);
            if (["check", "join"].includes(command[0])) assert.equal(status, 1, where);
            if (status === 0 && command.includes("--json") && stdout.startsWith("{")) assert.equal(JSON.parse(stdout).partial, true, where);
            count[status === 0 ? "warned" : "refused"]++;
        }
        assert.ok(!existsSync(out));
    }
    t.diagnostic(`${lengths.length} lengths: ${count.warned} answers with a warning, ${count.refused} refused`);
});

test("join names the part that is cut off, and leaves nothing behind", () => {
    const parts = [1, 2, 3].map((i) => scratch(`part-${i}`)), out = scratch("joined");
    for (const part of parts) cpSync(source, part, { recursive: true });
    writeFileSync(join(parts[1], "trace.ggs"), whole.subarray(0, ends.at(-2)));
    const { status, stdout, stderr } = run(ggscope, ["join", ...parts, "-o", out]);
    assert.deepEqual([status, stdout], [1, ""]);
    assert.match(stderr, /^ggscope: part 2 is cut off: .*part-2\/trace\.ggs .*\n$/);
    assert.ok(!existsSync(out));
});

test("the server says it of the experiment and in each answer, and a report does", async () => {
    const directory = scratch("served"), page = scratch("page.html");
    cpSync(source, directory, { recursive: true });
    writeFileSync(join(directory, "trace.ggs"), whole.subarray(0, ends.at(-2)));
    await browse([directory], async (get) => {
        const [row] = await get("/api/library");
        assert.match(row.warning, /cut off/);
        const about = await get("/api/x/0/summary");
        assert.match(about.warning, /cut off/);
        for (const path of ["stats", "heat", "buffers"]) assert.equal((await get(`/api/x/0/${path}`)).partial, true, path);
    });
    const reported = run(ggscope, ["report", directory, "-o", page]);
    assert.match(reported.stderr, says);
});

test("exports carry it", () => {
    const directory = scratch("exported"), out = scratch("export");
    cpSync(source, directory, { recursive: true });
    writeFileSync(join(directory, "trace.ggs"), whole.subarray(0, ends.at(-2)));
    const read = {
        json: () => JSON.stringify(readdirSync(out).filter((name) => name.endsWith(".json")).map((name) => readFileSync(join(out, name), "utf8"))),
        csv: () => readFileSync(join(out, "experiment.csv"), "utf8"),
        sqlite: () => output("sqlite3", [out, "select * from experiment"]),
    };
    for (const [format, text] of Object.entries(read)) {
        rmSync(out, { recursive: true, force: true });
        const { status, stderr } = run(ggscope, ["export", "-q", "-f", format, directory, "-o", out]);
        if (status === 0) assert.match(text(), /cut off/, format);
        assert.match(stderr, says, format);
    }
});
