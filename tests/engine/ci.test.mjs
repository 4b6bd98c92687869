// Verbs for CI: diff --fail-if, bench, JUnit and Markdown.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { engine, ggscope, model, run, scratch } from "../lib.mjs";
import { noGroups } from "../memory-group.mjs";
import { generate } from "./traces.mjs";

const words = (name, ...options) => [engine, "run", "-m", model("tiny", ...options), "-p", "Hello world", "-n", "4", "-t", "1"];
const a = generate(model("tiny"), "-n", "4", "-t", "1").directory, b = generate(model("tiny", "--types", "attn_q=f16"), "-n", "4", "-t", "1").directory;

// Checks that tags nest and attributes are quoted, as readers of JUnit require.
function wellFormed(text) {
    const open = [];
    for (const [, end, name, , self] of text.matchAll(/<(\/?)([a-z-]+)((?: [a-z]+="[^"<>]*")*)(\/?)>/g)) {
        if (end) assert.equal(open.pop(), name);
        else if (!self) open.push(name);
    }
    assert.deepEqual(open, []);
    assert.doesNotMatch(text.replace(/<\/?[a-z-]+(?: [a-z]+="[^"<>]*")*\/?>|^<\?xml[^>]*\?>/g, ""), /[<>]/);
}

test("diff --fail-if decides the exit status", () => {
    const junit = scratch("diff.xml");
    const good = run(ggscope, ["diff", a, a, "--fail-if", "bytes_read > +1 %", "--fail-if", "ops != 0"]);
    assert.equal(good.status, 0, good.stdout);
    assert.match(good.stdout, /^ok +bytes_read +\+0\.00 % /m);
    const bad = run(ggscope, ["diff", a, b, "--fail-if", "bytes_read > +1 %", "--fail-if", "ops != 0", "--fail-if", "bytes_read < -50 %", "--junit", junit]);
    assert.equal(bad.status, 1);
    assert.match(bad.stdout, /^FAIL +bytes_read +\+\d+\.\d+ % \(.* -> .*\): fails if bytes_read > \+1 %$/m);
    assert.match(bad.stdout, /^ok +ops +\+0 /m);
    const xml = readFileSync(junit, "utf8");
    wellFormed(xml);
    assert.match(xml, /tests="3" failures="1"/);
    assert.match(xml, /name="bytes_read &gt; \+1 %"/);
    const { conditions, totals } = JSON.parse(run(ggscope, ["diff", a, b, "--json", "--fail-if", "bytes_read > +1 %"]).stdout);
    assert.deepEqual(conditions.map((c) => [c.figure, c.failed, c.a, c.b]), [["bytes_read", true, totals.bytes_read.a, totals.bytes_read.b]]);
    assert.ok(Math.abs(conditions[0].change - 100 * (totals.bytes_read.b / totals.bytes_read.a - 1)) < 1e-9);
    const markdown = run(ggscope, ["diff", a, b, "--markdown", "--fail-if", "bytes_read > +1 %"]);
    assert.equal(markdown.status, 1);
    assert.match(markdown.stdout, /^\| bytes_read \| .* \| .* \| \+\d+\.\d+ % \|$/m);
    assert.match(markdown.stdout, /^\| \*\*FAIL\*\* \| fails if `bytes_read > \+1 %` \|/m);
    const wrong = run(ggscope, ["diff", a, b, "--fail-if", "speed < 3"]);
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /^ggscope diff: --fail-if takes a condition such as .*, not 'speed < 3'/);
});

test("bench names findings that only one of the two has", () => {
    const program = [engine, "run", "-m", model("tiny"), "-p", "The quick brown fox jumps over the lazy dog. ".repeat(10), "-n", "2", "-t", "1"];
    const base = `exec ${program.map((w) => `'${w}'`).join(" ")} --ubatch 2`;
    const answer = JSON.parse(run(ggscope, ["bench", "-r", "2", "--json", "-b", base, "--", ...program]).stdout);
    assert.ok(answer.causes.some((cause) => /^only A: the prompt is computed in pieces of 2 tokens \(up to \d+ % of the prompt time\)$/.test(cause)), JSON.stringify(answer.causes));
    assert.ok(!answer.causes.some((cause) => /other programs|hypervisor/.test(cause)), "what the machine did meanwhile is left out");
});

test("bench finds an exact difference, calls the rest noise, and cleans up", () => {
    const kept = scratch("kept"), junit = scratch("bench.xml");
    const base = `exec ${words("tiny").map((w) => `'${w}'`).join(" ")}`;
    const result = run(ggscope, ["bench", "-r", "3", "-b", base, "-o", kept, "--fail-if", "bytes_read > 1 %", "--fail-if", "ops != 0", "--junit", junit, "--", ...words("tiny", "--types", "attn_q=f16")]);
    assert.equal(result.status, 1, result.stderr);
    assert.match(result.stdout, /^3 rounds, A is the baseline/);
    assert.match(result.stdout, /^bytes_read .* more$/m);
    assert.doesNotMatch(result.stdout, /^ops /m, "what is the same is left out");
    assert.match(result.stdout, /^FAIL +bytes_read/m);
    wellFormed(readFileSync(junit, "utf8"));
    assert.deepEqual(readdirSync(kept).sort(), ["a", "b", "control"].flatMap((side) => [1, 2, 3].map((n) => `${side}-00${n}`)));
    const diff = JSON.parse(run(ggscope, ["diff", "--json", `${kept}/a-001`, `${kept}/b-001`]).stdout);
    assert.ok(diff.totals.bytes_read.b > diff.totals.bytes_read.a);
    const temporary = scratch("temporary");
    mkdirSync(temporary);
    const twice = scratch("twice");
    const again = run(ggscope, ["bench", "-r", "2", "--json", "-o", twice, "--", ...words("tiny")], { env: { ...process.env, TMPDIR: temporary } });
    assert.equal(again.status, 0, again.stderr);
    const answer = JSON.parse(again.stdout);
    assert.equal(answer.baseline, false);
    assert.ok(answer.figures.every((f) => !f.differs));
    assert.equal(answer.figures.find((f) => f.figure === "bytes_read").change.ratio, 1);
    assert.deepEqual(readdirSync(temporary), []);
    // Quiet tokens: the time that a tenth of the generating steps stay below. The steadier figure
    // decides.
    const quiet = (name) => {
        const { rows } = JSON.parse(run(ggscope, ["sql", `${twice}/${name}`, "SELECT end_ns - begin_ns FROM tokens WHERE phase = 'GENERATE' ORDER BY 1", "--json"]).stdout);
        return rows[Math.ceil(rows.length / 10) - 1][0];
    };
    const figure = (name) => answer.figures.find((f) => f.figure === name);
    assert.equal(figure("token_quiet_ns").a, (quiet("a-001") + quiet("a-002")) / 2);
    const width = ({ control }) => control.high - control.low;
    assert.equal(answer.decides, width(figure("token_quiet_ns")) < width(figure("token_ns")) ? "token_quiet_ns" : "token_ns");
    assert.match(result.stdout, /^token_(quiet_)?ns decides on tokens \(A\/A within \d+\.\d %\): /m);
});

test("bench -b FOLDER runs the same program on two engines", () => {
    // A copy of the stock libraries: recordings tell which ones a run used.
    const stock = /^engine +(.*)$/m.exec(run(ggscope, ["version"]).stdout)[1], old = scratch("old"), kept = scratch("engines");
    cpSync(stock, old, { recursive: true, verbatimSymlinks: true });
    const used = (name) => JSON.parse(readFileSync(join(kept, name, "experiment.json"), "utf8")).engine.libraries.map((library) => library.path).find((path) => /\/libllama\./.test(path));
    const result = run(ggscope, ["bench", "-r", "2", "-b", old, "--engine", stock, "-o", kept, "--json", "--fail-if", "bytes_read != 0", "--", ...words("tiny")]);
    assert.equal(result.status, 0, result.stderr);
    const answer = JSON.parse(result.stdout);
    assert.equal(answer.baseline, true);
    assert.equal(answer.figures.find((f) => f.figure === "bytes_read").change.ratio, 1);
    for (const round of ["001", "002"]) {
        for (const side of ["a", "control"]) assert.equal(dirname(used(`${side}-${round}`)), realpathSync(old));
        assert.equal(dirname(used(`b-${round}`)), realpathSync(stock));
    }
    // A folder without libraries; and a missing one, which is taken as a command.
    const empty = scratch("empty");
    mkdirSync(empty);
    const none = run(ggscope, ["bench", "-r", "2", "-b", empty, "--", ...words("tiny")]);
    assert.equal(none.status, 1);
    assert.match(none.stderr, new RegExp(`^ggscope: [^\\n]*no libllama\\.so in ${empty}[^\\n]*\\n$`));
    const gone = run(ggscope, ["bench", "-r", "2", "-b", scratch("gone"), "--", ...words("tiny")]);
    assert.equal(gone.status, 1);
    assert.match(gone.stderr, /^ggscope: [^\n]*gone[^\n]*\n$/);
});

test("bench ends by Ctrl-C and leaves nothing behind", async () => {
    const temporary = scratch("temporary-2"), kept = scratch("kept-2");
    mkdirSync(temporary);
    const child = spawn(ggscope, ["bench", "-r", "200", "-o", kept, "--", ...words("tiny")], { stdio: "ignore", env: { ...process.env, TMPDIR: temporary } }), ended = once(child, "exit");
    while (child.exitCode === null && !existsSync(join(kept, "a-001", "trace.ggs"))) await sleep(10); // it has started
    child.kill("SIGINT");
    assert.deepEqual(await ended, [130, null]);
    assert.deepEqual(readdirSync(temporary), []);
    for (const name of readdirSync(kept)) assert.ok(existsSync(join(kept, name, "trace.ggs")), `${name} is not whole`);
});

test("bench sets the same limit and the same cold start for both sides", (t) => {
    if (noGroups) return t.skip(noGroups);
    const kept = scratch("limited"), file = model("tiny"), command = [engine, "run", "-m", file, "-p", "Hello", "-n", "2", "-t", "1"];
    const result = run(ggscope, ["bench", "-r", "2", "-b", `exec '${command.join("' '")}'`, "--memory", "2000%", "--cold", "-o", kept, "--json", "--", ...command]);
    assert.equal(result.status, 0, result.stderr);
    const limit = Math.floor(statSync(file).size * 20 / 4096) * 4096;
    for (const name of readdirSync(kept)) {
        const { machine } = JSON.parse(readFileSync(join(kept, name, "experiment.json"), "utf8"));
        assert.equal(machine.memory_limit, limit, name);
        assert.equal(machine.cold.bytes, statSync(file).size, name);
    }
    // A share of an unknown size, or of too little, is refused before anything runs.
    for (const [share, words] of [["25%", ["true"]], ["1%", command]]) {
        const wrong = run(ggscope, ["bench", "--memory", share, "--", ...words]);
        assert.equal(wrong.status, 1);
        assert.match(wrong.stderr, /^ggscope: --memory (25%|1%) [^\n]*\n$/);
        assert.equal(run(ggscope, ["record", "--memory", share, "-o", scratch(`share${share}`), "--", ...words]).status, 2);
    }
});

test("bench says what is wrong with its program", () => {
    const failed = run(ggscope, ["bench", "-r", "2", "--", engine, "run", "-m", "/nowhere.gguf", "-p", "x"]);
    assert.equal(failed.status, 1);
    assert.match(failed.stderr, /^ggscope: a run of the program failed with status 1: .*nowhere\.gguf.*\n$/);
    for (const args of [[], ["-r", "1", "--", "true"], ["--fail-if", "ops != 0", "--", "true"]]) assert.equal(run(ggscope, ["bench", ...args]).status, 2);
});
