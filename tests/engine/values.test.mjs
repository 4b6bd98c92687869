// Values of ops: computed values are recorded, and nothing changes.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, engineFails, ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { recorded as planted } from "./plants.mjs";
import { check, experiment, fresh, graphs, host, rows } from "./traces.mjs";

const prompt = "Hello world, this is a test of the values that ops compute. One two three four five six seven.";
const words = (path, ...options) => ["-m", path, "-p", prompt, "-n", "3", "--ignore-eos", "--json", "--logits-hash", ...options];

// Records with --values, and compares the engine's output with an unrecorded run.
function record(path, options = [], values = ["--values"]) {
    const directory = fresh();
    const recorded = run(ggscope, ["run", "-q", ...values, "-o", directory, ...words(path, ...options)]);
    assert.equal(recorded.status, 0, recorded.stderr);
    const plain = JSON.parse(output(engine, ["run", ...words(path, ...options)]));
    const json = JSON.parse(recorded.stdout);
    assert.match(plain.logits_hash, /^[0-9a-f]{16}$/);
    assert.deepEqual([json.text, json.logits_hash], [plain.text, plain.logits_hash]);
    return directory;
}

// Rows with the op and name of their node: "OP:name position" -> row. A repeated name gets a
// number.
function values(directory) {
    const { op_values, runs } = rows(directory, "op_values", "runs");
    const known = graphs(directory), run = new Map(runs.map((r) => [r.run, r])), result = new Map();
    const names = new Map([...known].map(([graph, nodes]) => {
        const seen = new Map();
        return [graph, nodes.map((n) => {
            const name = `${n.op}:${/^node_/.test(n.name) ? "" : n.name}`, count = (seen.get(name) ?? 0) + 1;
            seen.set(name, count);
            return `${name}~${count}`;
        })];
    }));
    for (const row of op_values) {
        if (row.flags !== 0 || run.get(row.run).phase === 4) continue; // skips weights, inputs and warm-up
        result.set(`${names.get(run.get(row.run).graph)[row.node]} ${row.position}`, row);
    }
    return result;
}

const same = ["elements", "nan", "inf", "min", "max", "mean", "rms", "largest", "hash", "sketch"];
const contents = (row) => same.map((key) => row[key]).join(" ");

function assertSame(a, b, least) {
    const left = values(a), right = values(b);
    let compared = 0;
    for (const [key, row] of left) {
        if (!right.has(key)) continue;
        compared++;
        assert.equal(contents(right.get(key)), contents(row), key);
    }
    assert.ok(compared >= least * left.size, `${compared} of ${left.size} compared`);
}

for (const arch of ["llama", "gpt2", "gemma3", "qwen3moe", "deepseek2"])
    test(`values of ${arch} change no logits, and every op has them`, (t) => {
        const path = model("tiny", "--arch", arch, "--layers", "3");
        const reason = engineFails(path);
        if (reason) return t.skip(reason);
        const directory = record(path);
        const { op_values, op_runs, runs } = rows(directory, "op_values", "op_runs", "runs");
        const known = graphs(directory), graphOf = new Map(runs.map((r) => [r.run, known.get(r.graph)]));
        const seen = new Set(op_values.filter((v) => v.flags === 0).map((v) => `${v.run} ${v.node}`));
        for (const op of op_runs) {
            // the first of a fused pair has no output
            let node = op.node;
            for (let left = op.absorbed; left > 0; left--) do node++; while (/^(VIEW|RESHAPE|PERMUTE|TRANSPOSE|NONE)$/.test(graphOf.get(op.run)[node].op));
            assert.ok(seen.has(`${op.run} ${node}`), `${graphOf.get(op.run)[node].op} ${graphOf.get(op.run)[node].name}`);
            if (op.absorbed > 0) assert.ok(!seen.has(`${op.run} ${op.node}`));
        }
        for (const v of op_values.filter((o) => o.flags < 256)) { // masks contain infinities
            assert.ok(v.min <= v.mean && v.mean <= v.max && v.largest < v.elements && v.nan === 0 && v.inf === (v.min === 0 && v.max === 0 ? v.inf : 0));
            assert.ok(Math.abs(v.rms - Math.max(Math.abs(v.min), Math.abs(v.max))) >= 0 && v.rms <= 1.000001 * Math.max(Math.abs(v.min), Math.abs(v.max)));
        }
        check(directory);
    });

test("the same values whatever the threads and the batch", () => {
    // Repacked weights have different kernels for one and for several tokens, which round
    // differently.
    const path = model("tiny", "--layers", "3"), options = ["--no-repack"];
    const one = record(path, ["-t", "1", ...options]);
    assertSame(one, record(path, ["-t", "3", ...options]), 1);
    assertSame(one, record(path, ["-t", "2", "--ubatch", "8", ...options]), 0.95);
    assertSame(one, record(path, ["-t", "2", "--ubatch", "1", ...options]), 0.95);
});

// The others compute the next op meanwhile, often in place.
test("a thread that comes late reads what the others have not overwritten", () => {
    const path = model("tiny", "--layers", "3"), right = planted(path, { options: ["--no-repack", "-t", "1"] });
    for (const thread of [0, 1, 2])
        assertSame(right, planted(path, { plant: `late,${thread},.`, options: ["--no-repack", "-t", "3"] }), 1);
});

test("of those that match, and of every so-many-th graph", () => {
    const path = model("tiny", "--layers", "3");
    const some = rows(record(path, [], ["--values=^MUL_MAT:ffn_out-1$"]), "op_values", "nodes", "ops", "tensors", "runs");
    const graphOf = new Map(some.runs.map((r) => [r.run, r.graph])), ops = new Map(some.ops.map((o) => [o.op, o.name]));
    const nodes = new Map(some.nodes.map((n) => [`${n.graph} ${n.node}`, `${ops.get(n.op)}:${some.tensors[n.tensor - 1].name}`]));
    assert.deepEqual([...new Set(some.op_values.map((v) => nodes.get(`${graphOf.get(v.run)} ${v.node}`)))], ["MUL_MAT:ffn_out-1"]);
    const { op_values, runs } = rows(record(path, ["-n", "6"], ["--values", "--values-every", "3"]), "op_values", "runs");
    assert.deepEqual([...new Set(op_values.map((v) => v.run))], runs.map((r) => r.run).filter((_, i) => i % 3 === 0));
});

test("without --values there are none; a pattern that is none is refused", () => {
    const path = model("tiny", "--layers", "3"), directory = record(path, [], []);
    assert.deepEqual(rows(directory, "op_values").op_values, []);
    assert.equal(experiment(directory).settings.values, null);
    const refused = run(ggscope, ["run", "--values=(", "-o", fresh(), ...words(path)]);
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /--values takes an extended regular expression/);
    const number = run(ggscope, ["run", "--values", "--values-every", "0", "-o", fresh(), ...words(path)]);
    assert.equal(number.status, 2);
    for (const option of [["--values-every", "2"], ["--values-unfused"]])
        for (const command of [["run", ...option, ...words(path)], ["record", ...option, "--", engine, "run", ...words(path)]]) {
            const alone = run(ggscope, command);
            assert.equal(alone.status, 2);
            assert.ok(alone.stderr.includes(`${option[0]} needs --values or --values-dump`), alone.stderr);
        }
});

test("in SQL, in exports and in Python", () => {
    const directory = record(model("tiny", "--layers", "3"));
    const rows = JSON.parse(output(ggscope, ["sql", "--json", directory, "select o.name, v.batch_row, v.rms, v.hash, v.sketch from op_values v join ops o using (run, node) where o.name = 'l_out-1' and v.token = 0"])).rows;
    assert.ok(rows.length > 10);
    for (const row of rows) assert.equal(row.at(-1).split(" ").length, 16);
    assert.ok(rows.every((row) => row[2] > 0 && /^[0-9a-f]{16}$/.test(row[3])));
    const python = `import ggscope, sys
r = ggscope.open(sys.argv[1])
t = r.table("op_values")
assert len(t["rms"]) == r.tables()["op_values"] > 1000 and t["rms"].kind == "real"
assert all(a <= m <= b for a, m, b in zip(t["min"], t["mean"], t["max"]))
print(sum(t["nan"]))`;
    assert.equal(output("python3", ["-c", python, directory], { env: { ...process.env, PYTHONPATH: join(root, "python"), GGSCOPE_LIBRARY: join(build, "lib", "libggscope.so.0") } }).trim(), "0");
});

test("a program that is killed leaves the values that it had", async () => {
    const directory = fresh(), path = model("tiny", "--layers", "3");
    const child = spawn(ggscope, ["record", "-q", "--values", "-o", directory, "--", "sh", "-c", 'echo $$; exec "$0" "$@"', host, "generate", "-t", "2", "-g", "4000", path], { stdio: ["ignore", "pipe", "ignore"] });
    const closed = once(child, "close");
    let stdout = "";
    for await (const text of child.stdout.setEncoding("utf8")) {
        stdout += text;
        if (stdout.split('"logits"').length > 20) break;
    }
    process.kill(Number(stdout.split("\n")[0]), "SIGKILL");
    await closed;
    const { op_values, runs } = rows(directory, "op_values", "runs");
    const last = Math.max(...op_values.map((v) => v.run));
    assert.ok(runs.length >= 19 && last >= runs.length - 1, `values up to run ${last} of ${runs.length}`);
});

// ---- ggscope values ----

// A copy of a model with one weight changed.
function changed(name, tensor, index, value, of = model("tiny", "--layers", "3")) {
    const path = scratch(name), bytes = readFileSync(of);
    const { tensors } = JSON.parse(output(ggscope, ["gguf", "--json", of]));
    const found = tensors.find((t) => t.name === tensor);
    assert.equal(found.dtype, "f32");
    bytes.writeFloatLE(value, found.offset_start + 4 * index);
    writeFileSync(path, bytes);
    return path;
}

function report(directory, ...options) {
    const result = run(ggscope, ["values", "--json", ...options, directory]);
    assert.ok(result.stdout !== "", result.stderr);
    return { status: result.status, ...JSON.parse(result.stdout) };
}

function recorded(path, ...options) {
    const directory = fresh(), result = run(ggscope, ["run", "-q", "--values", "-o", directory, "-m", path, "-p", prompt, "-n", "2", "--ignore-eos", ...options]);
    assert.equal(result.status, 0, result.stderr);
    return directory;
}

test("a NaN is found where it comes from", () => {
    // Both norms of a layer have the same name, and in some layers the same address, and no node
    // computes them: the first one's inputs are finite, the second one's are not. Products of
    // quantised weights would hide the NaN. The weight has it, and is named.
    for (const [what, ...options] of [["ffn", "-t", "1"], ["attn", "-t", "2"], ["attn", "--flash-attn", "off"], ["ffn", "--ubatch", "8"]]) {
        const directory = recorded(changed("nan.gguf", `blk.1.${what}_norm.weight`, 5, NaN, model("tiny", "--layers", "4", "--types", "f16")), ...options);
        const { status, nan, nan_origins } = report(directory);
        assert.deepEqual([status, nan_origins, nan.length], [1, 1, 1]);
        assert.deepEqual([nan[0].op, nan[0].name, nan[0].from, nan[0].from_weight, nan[0].layer, nan[0].count, nan[0].elements], ["MUL", `${what}_norm-1`, `blk.1.${what}_norm.weight`, true, 1, 1, 256]);
        const text = run(ggscope, ["values", directory]);
        assert.equal(text.status, 1);
        assert.match(text.stdout, new RegExp(`^NaN       weight blk.1.${what}_norm.weight: 1 of 256 elements; read by MUL ${what}_norm-1$`, "m"));
    }
});

test("a NaN that an op makes is the op's: its weight is finite", () => {
    const directory = planted(model("tiny", "--layers", "4", "--types", "f16"), { plant: "nan,5,^MUL:ffn_norm-1$" });
    const { status, nan } = report(directory);
    assert.deepEqual([status, nan[0].op, nan[0].name, nan[0].from, nan[0].from_weight, nan[0].layer], [1, "MUL", "ffn_norm-1", null, false, 1]);
    assert.ok(nan[0].rows > 0 && nan[0].rows <= nan[0].of_rows);
    assert.deepEqual(nan[0].inputs.map((i) => [i.name, i.values]), [["norm-1", "finite"], ["blk.1.ffn_norm.weight", "finite"]]);
    assert.match(run(ggscope, ["values", directory]).stdout, /^NaN       MUL ffn_norm-1, token 0 at position \d+: .*\n            from norm-1 \(finite\)\n            from blk.1.ffn_norm.weight \(finite\)/m);
});

test("weights once, whatever their order in memory, and inputs in every graph run", () => {
    const path = model("tiny", "--layers", "3"), read = (directory) => {
        const { op_values } = rows(directory, "op_values"), leafs = op_values.filter((v) => v.flags !== 0);
        return { weights: leafs.filter((v) => v.flags < 256), inputs: leafs.filter((v) => v.flags >= 256), runs: new Set(op_values.map((v) => v.run)).size };
    };
    const { tensors } = JSON.parse(output(ggscope, ["gguf", "--json", path]));
    const repacked = read(record(path)), plain = read(record(path, ["--no-repack"])), copied = read(record(path, ["--no-mmap", "--no-repack"]));
    assert.equal(repacked.weights.length, tensors.length);
    assert.ok(repacked.weights.every((v) => v.nan + v.inf === 0 && v.rms > 0));
    for (const other of [plain, copied]) assert.deepEqual(other.weights.map((v) => v.hash), repacked.weights.map((v) => v.hash));
    assert.ok(repacked.inputs.length >= 3 * repacked.runs && repacked.inputs.length <= 8 * repacked.runs, `${repacked.inputs.length} inputs in ${repacked.runs} runs`);
    // A product's weight of a mixture of experts has a row per expert.
    const moe = model("tiny", "--arch", "qwen3moe", "--layers", "2", "--experts", "4", "--experts-used", "2");
    const experts = JSON.parse(output(ggscope, ["sql", "--json", record(moe), "select o.name, count(*), min(batch_row), max(batch_row), max(position) from op_values v join ops o using (run, node) where what = 'weight' and o.op = 'MUL_MAT_ID' group by 1"])).rows;
    assert.ok(experts.length === 6 && experts.every(([, n, least, most, position]) => n === 4 && least === 0 && most === 3 && position === null));
});

// Sealing reads weights in the model's file with conversions of its own; those in memory are
// converted by the engine's functions.
test("a weight in the model's file has the same values as one in memory, in any type", () => {
    const names = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down", "token_embd"];
    for (const types of [["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "mxfp4", "f16"], ["q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_xs", "bf16", "q8_0"]]) {
        const path = model("tiny", "--layers", "1", "--types", names.map((name, i) => `${name}=${types[i]}`).join(","));
        const query = "select node, source, elements, nan, inf, min, max, mean, rms, largest, hash, sketch from op_values where what = 'weight' order by node, source";
        const [file, memory] = [[], ["--no-mmap"]].map((options) => JSON.parse(output(ggscope, ["sql", "--json", record(path, options), query])).rows);
        assert.deepEqual(file, memory);
        assert.ok(file.length >= 12, `${file.length} weights`);
    }
});

test("a model's file that is gone or changed at the end has no weights, and they are counted", () => {
    const path = model("tiny", "--layers", "1"), all = JSON.parse(output(ggscope, ["gguf", "--json", path])).tensors.length;
    for (const change of ['rm "$0"', 'touch "$0"', 'cp "$0" "$0.new" && mv "$0.new" "$0"', ': > "$0"']) {
        const copy = scratch("file.gguf"), directory = fresh();
        copyFileSync(path, copy);
        const shell = `"$1" run -m "$0" -p Hello -n 2 && ${change}`;
        const result = run(ggscope, ["record", "-q", "--values", "-o", directory, "--", "sh", "-c", shell, copy, engine]);
        assert.equal(result.status, 0, result.stderr);
        assert.deepEqual([report(directory).weights, report(directory).lost], [0, all], change);
        assert.match(run(ggscope, ["values", directory]).stdout, new RegExp(`^lost      ${all} weights were not read: the model's file was gone or changed .*\nNaN       none$`, "m"));
        assert.match(run(ggscope, ["check", directory]).stdout, new RegExp(`no losses +${all} records lost`));
        rmSync(copy, { force: true });
    }
    assert.deepEqual([report(recorded(path)).weights, report(recorded(path)).lost], [all, 0]);
});

test("overflows, channels and ranges", () => {
    const directory = recorded(changed("large.gguf", "blk.2.attn_norm.weight", 77, 30000));
    const { status, nan_origins, inf_origins, near_f16, channels, by_layer, by_op } = report(directory);
    assert.deepEqual([status, nan_origins, inf_origins], [0, 0, 0]);
    assert.ok(near_f16.some((o) => o.name === "attn_norm-2" && o.largest > 16376));
    const channel = channels.find((c) => c.name === "attn_norm-2");
    assert.deepEqual([channel.op, channel.channel], ["MUL", 77]);
    assert.ok(channel.share > 0.9);
    assert.deepEqual(by_layer.map((l) => [l.layer, l.output]), [0, 1, 2].map((l) => [l, `l_out-${l}`]));
    assert.ok(by_layer.every((l) => l.min < 0 && l.max > 0 && l.rms > 0));
    assert.equal(by_op[0].name, "embd");
    const one = report(directory, "--layer", "1", "--tensor", "ffn_out");
    assert.deepEqual(one.by_op.map((o) => [o.op, o.name, o.layer]), [["MUL_MAT", "ffn_out-1", 1]]);
    const whole = by_op.find((o) => o.name === "ffn_out-1"), step = report(directory, "--token", "1").by_op.find((o) => o.name === "ffn_out-1");
    assert.ok(step.rows === 1 && whole.rows > 10 && step.min >= whole.min && step.max <= whole.max);
});

test("a draft model's ops and weights have the same names, and figures of their own", () => {
    const path = model("tiny", "--layers", "3"), draft = model("tiny", "--layers", "2");
    const directory = planted(path, { program: [join(build, "tests", "server-host"), "draft"], options: [draft] });
    const { by_op, by_layer, weights } = report(directory), tensors = [path, draft].map((file) => JSON.parse(output(ggscope, ["gguf", "--json", file])).tensors.length);
    assert.deepEqual(by_op.filter((o) => o.op === "MUL_MAT" && o.name === "ffn_out-0").map((o) => o.model), [1, 2]);
    assert.deepEqual(by_layer.map((l) => [l.model, l.layer]), [[1, 0], [1, 1], [1, 2], [2, 0], [2, 1]]);
    assert.equal(weights, tensors[0] + tensors[1]);
    assert.match(run(ggscope, ["values", directory]).stdout, / l_out-1\n[^]* l_out-1@2\n/);
});

test("values that could not be kept are counted beside those that were", () => {
    const path = model("tiny", "--layers", "3"), directory = record(path, [], ["--values", "--values-dump", ".", "--max-size", "8M"]);
    const { lost } = report(directory), text = run(ggscope, ["values", directory]).stdout;
    assert.ok(lost > 0);
    assert.match(text, /^lost      [\d,]+ records could not be kept: what is missing may have NaN$/m);
    assert.equal(report(recorded(path)).lost, 0);
});

test("without values, or with none of those that are asked for, it says so", () => {
    const path = model("tiny", "--layers", "3"), none = record(path, [], []);
    const result = run(ggscope, ["values", none]);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /no values were recorded: record again with --values, or with a REGEX that some OP:tensor matches/);
    const directory = recorded(path);
    for (const [options, said] of [[["--tensor", "nothing"], /no values of these ops were recorded/], [["--layer", "9"], /layer/], [["--token", "70"], /token/]]) {
        const refused = run(ggscope, ["values", ...options, directory]);
        assert.equal(refused.status, 1);
        assert.match(refused.stderr, said);
    }
});
