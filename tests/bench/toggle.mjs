// Measures the cost of recording within one process: recording is switched on and off with every
// token, and each recorded token is compared with its two neighbours, which do the same work on the
// same memory and processors. A few thousand tokens give the cost to two microseconds, also on a
// machine with other load.
//     node tests/bench/toggle.mjs [--seconds N] [--tokens N] [--threads N] [--with=OPTION] [--libraries FILE,...] [MODEL...]
// --with: an option of ggscope record, such as --with=--values; the cost of recording is included.
// --libraries: builds of the capture library to compare, each without ggscope, in turn.
//
// tests/bench/alternate.c switches recording from within the program. Not included: the cost of
// hooks while a recording is paused (tests/bench/paused.mjs), ggscope's work before and after the
// run, and rare events such as a new segment, which the median ignores; the mean includes these,
// and other programs. Control: the same figure for runs that are never recorded. Times have a long
// tail, so it is a little below zero; costs are relative to it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { build, engine, ggscope, model, run } from "../lib.mjs";
import { median, random } from "./statistics.mjs";

const { values, positionals } = parseArgs({
    options: { seconds: { type: "string", default: "90" }, tokens: { type: "string" }, threads: { type: "string", default: "2" }, libraries: { type: "string" }, with: { type: "string", multiple: true, default: [] } },
    allowPositionals: true,
});
const WARM = 10, kinds = [...(values.libraries?.split(",") ?? ["recording"]), "control"]; // WARM: tokens at the start that do not count
const alternate = join(build, "tests/libalternate.so");

// The times of one run's tokens. `phase`, 0 or 1, decides whether even or odd tokens are recorded.
function times(path, tokens, kind, phase) {
    const folder = mkdtempSync("/dev/shm/ggscope-bench-");
    let words = [engine, "run", "-m", path, "-p", "Once upon a time", "-n", String(tokens), "-t", values.threads, "--ignore-eos", "--json", "--ctx", String(tokens + 64)];
    const env = { ...process.env, LD_PRELOAD: alternate, GGSCOPE_PHASE: String(phase), GGSCOPE_STRETCH: kind === "control" ? "1000000000" : "1" };
    if (!values.libraries) words = [ggscope, "record", "-q", "--paused", ...values.with, "-o", join(folder, "x"), "--", ...words];
    else {
        env.LD_PRELOAD += ` ${kind === "control" ? kinds[0] : kind}`;
        env.GGSCOPE_OUTPUT = folder;
        mkdirSync(join(folder, "spool"));
        writeFileSync(join(folder, "spool/control"), Buffer.concat([Buffer.from("GGSCTRL1"), Buffer.alloc(4088)])); // src/trace/spool.h
    }
    try {
        const result = run(words[0], words.slice(1), { env });
        return JSON.parse(result.stdout.trim().split("\n").at(-1)).token_ns;
    } finally {
        rmSync(folder, { recursive: true, force: true });
    }
}

// Ops of a token.
function opsOf(path) {
    const folder = mkdtempSync("/dev/shm/ggscope-bench-");
    run(ggscope, ["run", "-q", "-o", join(folder, "x"), "-m", path, "-p", "Once", "-n", "2", "--ignore-eos"]);
    const { ops } = JSON.parse(run(ggscope, ["stats", "--json", "--token", "1", join(folder, "x")]).stdout);
    rmSync(folder, { recursive: true, force: true });
    return ops;
}

const all = (runs, member) => runs.flatMap((one) => one[member]);
const mean = (list) => list.reduce((sum, ns) => sum + ns, 0) / list.length;
const us = (ns) => (ns / 1000).toFixed(1);

for (const name of positionals.length ? positionals : ["tiny", "tinyllama-1.1b"]) {
    const path = model(name), tokens = Number(values.tokens ?? { tiny: 400 }[name] ?? 60), until = Date.now() + Number(values.seconds) * 1000;
    const found = new Map(kinds.map((kind) => [kind, []]));
    for (let round = 0; Date.now() < until || round % 2; round++)
        for (let i = 0; i < kinds.length; i++) {
            const kind = kinds[(i + round) % kinds.length], ns = times(path, tokens, kind, round % 2), one = { more: [], off: [] };
            for (let k = WARM; k + 1 < ns.length; k++)
                if ((k + 1 + round) % 2) one.more.push(ns[k] - (ns[k - 1] + ns[k + 1]) / 2);
                else one.off.push(ns[k]);
            found.get(kind).push(one);
        }
    const control = found.get("control"), next = random(1), draw = (runs) => runs.map(() => runs[Math.floor(next() * runs.length)]);
    console.log(`${name}, ${values.threads} threads, ${tokens} tokens a run, ${control.length} runs each; a token that is not recorded: ${us(median(all(control, "off")))} us`);
    console.log(`  ${"control".padEnd(12)}  ${us(median(all(control, "more")))} us by the median token, ${us(mean(all(control, "more")))} by the mean`);
    for (const kind of kinds.slice(0, -1)) {
        const runs = found.get(kind), off = median(all(runs, "off")), cost = (a, b) => median(all(a, "more")) - median(all(b, "more"));
        const drawn = Array.from({ length: 400 }, () => cost(draw(runs), draw(control))).sort((a, b) => a - b);
        const [low, ns, high] = [drawn[10], cost(runs, control), drawn[389]], ratio = (more) => (off / (off + more)).toFixed(4);
        console.log(`  ${basename(kind).padEnd(12)}  ${ratio(ns)} [${ratio(high)}, ${ratio(low)}]   ${us(ns)} us more [${us(low)}, ${us(high)}]; by the mean token ${us(mean(all(runs, "more")) - mean(all(control, "more")))}; per op ${(ns / opsOf(path)).toFixed(0)} ns`);
    }
}
