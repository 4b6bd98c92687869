// ggscope explain and the causes in summaries, for a recording that has one.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { build, engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { engineOf, variant } from "../variant.mjs";
import { examples, written } from "../diagnosis/examples.mjs";

const words = "The quick brown fox jumps over the lazy dog and runs away. ".repeat(8);
const command = (...options) => [engine, "run", "-m", model("tiny"), "-p", words, "-n", "6", "--ignore-eos", "-t", "1", ...options];
function record(name, ...options) {
    const directory = scratch(name);
    const { status, stderr } = run(ggscope, ["record", "-o", directory, "--", ...command(...options)]);
    assert.equal(status, 0, stderr);
    return { directory, summary: stderr };
}
const explain = (directory) => JSON.parse(output(ggscope, ["explain", "--json", directory]));

test("small batches: figure, remedy, the command that verifies it, and the gate", () => {
    const { directory, summary } = record("pieces", "--ubatch", "4");
    const found = explain(directory).findings.find((finding) => finding.name === "small-batches");
    assert.ok(Math.abs(found.figure - 4) < 0.2);
    assert.equal(found.part, "prompt");
    assert.equal(found.remedy, "--ubatch 512");
    assert.match(found.verify, /^ggscope bench -b '.*--ubatch 4' -- .*--ubatch 512$/);
    const shown = output(ggscope, ["sql", directory, "--csv", /"(.*)"/.exec(found.query)[1]]).trim().split("\n")[1].split(",").map(Number);
    assert.equal(shown[0] / shown[1], found.figure, "the query that it names shows the same figure");
    assert.match(summary, /^explain {3}\S/m);
    assert.equal(run(ggscope, ["explain", "--fail-if", "gain > 5 %", directory]).status, 1);
    assert.equal(run(ggscope, ["explain", "--fail-if", "gain > 100 %", directory]).status, 0);
});

test("summaries say what shares of ops are of, with the rest, and what the program had of the machine", () => {
    const { summary } = record("callback", "--eval-callback");
    assert.match(summary, /^machine {3}\d+ of \d+ cores usable; others used \d+ % of all; .* read from disk$/m);
    assert.match(summary, /^ {12}outside of ops +\S+ \S+ +[\d.]+ %\n {12}of \S+ \S+ in token steps$/m);
    const shares = [...summary.matchAll(/^ {12}\S.*? ([\d.]+) %$/gm)].map(([, share]) => Number(share));
    assert.ok(shares.reduce((a, b) => a + b) <= 100.5, summary);
});

test("a program that taskset starts: its cores and its options count, not those of taskset", () => {
    const directory = scratch("taskset"), cpu = /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))[1];
    output(ggscope, ["record", "-q", "-o", directory, "--", "taskset", "-c", cpu, ...command("--ubatch", "4")]);
    assert.equal(JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).host.usable_cores, 1);
    const { findings, program } = explain(directory), found = findings.find((finding) => finding.name === "small-batches");
    assert.equal(program, "ggscope-engine");
    assert.equal(found.remedy, "--ubatch 512");
    assert.ok(found.verify.includes(` -- taskset -c ${cpu} `) && found.verify.endsWith(" --ubatch 512"), found.verify);
    assert.ok(!findings.some((finding) => finding.name === "too-few-threads"));
});

const pictures = join(build, "tests", "diffusion-host");
test("a program without tokens: graph runs are what it can gain", { skip: !existsSync(pictures) && "diffusion-host is not built" }, () => {
    const directory = scratch("pictures"), file = scratch("pictures.gguf");
    output(pictures, ["make", file]);
    output(ggscope, ["record", "-q", "-o", directory, "--", pictures, "run", file, "-n", "3", "-t", "1"]);
    const { program, rest, generate_ns } = explain(directory);
    assert.equal(program, "a program on ggml.h");
    assert.ok(generate_ns > 0);
    assert.doesNotMatch(rest, /no token is seen/);
});

test("a gain that is not known is null, and said so", () => {
    const directory = scratch("proved");
    output(ggscope, ["record", "-q", "--prove", "-o", directory, "--", ...command("--no-repack")]);
    const { condition, gain, gain_ns, gain_bytes } = explain(directory).findings.find((finding) => finding.name === "distorted-times");
    assert.deepEqual({ condition, gain, gain_ns, gain_bytes }, { condition: true, gain: null, gain_ns: null, gain_bytes: null });
    assert.match(output(ggscope, ["explain", directory]), /recorded with --prove: .* gain not known$/m);
});

test("diff names two CPU libraries", { skip: variant === "x64" && "this CPU has one library" }, () => {
    const { directory: a } = record("library-a"), { directory: b } = record("library-b", "--engine", engineOf("x64"));
    const { stdout } = run(ggscope, ["diff", a, b]);
    assert.match(stdout, /the CPU libraries differ: libggml-cpu-\S+\.so and libggml-cpu-x64\.so/);
    assert.match(stdout, /^shift {5}the typical op .*; the engines differ$/m);
    assert.doesNotMatch(stdout, /the machine may be why/);
    assert.ok(explain(b).findings.some((finding) => finding.name === "cpu-library"));
});

test("diff names the findings that one of the two has", () => {
    const { directory: whole } = record("whole"), pieces = scratch("pieces");
    const sentence = "only B: the prompt is computed in pieces of 4 tokens (up to ";
    assert.ok(JSON.parse(output(ggscope, ["diff", "--json", whole, pieces])).causes.some((cause) => cause.startsWith(sentence)));
    assert.match(run(ggscope, ["diff", whole, pieces]).stdout, /^cause: {3}only B: the prompt is computed in pieces of 4 tokens \(up to \d+ % of the prompt time\)$/m);
    assert.match(run(ggscope, ["diff", pieces, whole]).stdout, /^cause: {3}only A: the prompt is computed in pieces of 4 tokens /m);
});

test("the commands that findings name run as they stand", () => {
    const queries = output(join(build, "tests", "test-explain"), ["examples"]).trimEnd().split("\n").map((line) => line.split("\t").at(-1));
    const commands = new Set(queries.flatMap((query) => query.split("; "))), env = { ...process.env, PATH: `${dirname(ggscope)}:${process.env.PATH}` };
    assert.ok(commands.size >= 20);
    renameSync(scratch("pieces"), scratch("two words"));
    for (const command of commands) {
        assert.match(command, /^(ggscope [a-z]+ DIR\b|grep )/);
        const { status, stderr } = run("sh", ["-c", command.replaceAll("DIR", `'${scratch("two words")}'`)], { env });
        assert.ok(status === 0 || (status === 1 && command.startsWith("grep ")), `${command}: ${status} ${stderr}`);
    }
    renameSync(scratch("two words"), scratch("pieces"));
});

test("what is no recording, and a condition that is none", () => {
    assert.equal(run(ggscope, ["explain", "/nonexistent"]).status, 1);
    assert.equal(run(ggscope, ["explain", "--fail-if", "speed > 5", scratch("pieces")]).status, 2);
});

test("docs/explain.md has an example of each finding, as its rule tells it (node tests/diagnosis/examples.mjs writes them)", () => {
    assert.equal(written(), examples());
});
