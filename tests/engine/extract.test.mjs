// One op as a file: --values-dump, ggscope extract, ggscope-engine replay.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { library } from "./plants.mjs";
import { fresh, rows } from "./traces.mjs";

function dumped(path, pattern, ...options) {
    const directory = fresh(), result = run(ggscope, ["run", "-q", "--values-dump", pattern, "-o", directory, "-m", path, "-p", "Hello world, one two three.", "-n", "2", "-t", "2", "--no-repack", "--ignore-eos", ...options]);
    assert.equal(result.status, 0, result.stderr);
    return directory;
}

function extracted(directory, op, ...options) {
    const file = scratch(`${op.replace(/[^A-Za-z0-9]+/g, "-")}.gguf`), result = run(ggscope, ["extract", directory, op, "-o", file, ...options]);
    assert.equal(result.status, 0, result.stderr);
    return file;
}
const replayed = (file, ...options) => JSON.parse(run(engine, ["replay", "--json", file, ...options]).stdout);

const dense = () => model("tiny", "--layers", "3");
const cases = [
    ["llama", dense, [], ["MUL_MAT:Qcur-1", "MUL_MAT:ffn_out-1", "MUL:attn_norm-1", "ROPE:Qcur-1", "GLU:ffn_swiglu-1", "GET_ROWS:embd", "kqv_out-1", "SET_ROWS:cache_v_l1"], "Qcur-1|ffn_out-1|attn_norm-1|swiglu-1|GET_ROWS:embd|FLASH|cache_v_l1"],
    ["llama, F16", () => model("tiny", "--layers", "3", "--types", "f16"), [], ["MUL_MAT:ffn_out-1"], "ffn_out-1"],
    ["llama without flash attention", dense, ["--flash-attn", "off"], ["SOFT_MAX:kq_soft_max-1", "MUL_MAT:kq-1"], "SOFT_MAX|kq-1"],
    ["qwen3moe", () => model("tiny", "--arch", "qwen3moe", "--layers", "3", "--experts", "4", "--experts-used", "2"), [], ["MUL_MAT_ID:ffn_moe_gate-1"], "ffn_moe_gate-1"],
];
for (const [name, path, options, ops, pattern] of cases)
    test(`${name}: ops come out again, bit by bit`, () => {
        const directory = dumped(path(), pattern, ...options);
        for (const op of ops) {
            const { wrong, backends } = replayed(extracted(directory, op)), cpu = backends.find((b) => b.name === "CPU");
            assert.ok(!wrong && cpu.problem === null && cpu.recorded.elements > 0, op);
            assert.equal(cpu.recorded.differ, 0, op);
        }
    });

test("a fused group is two ops, and some ten KB; a token of its own", () => {
    const directory = dumped(dense(), "attn_norm-1"), file = extracted(directory, "MUL:attn_norm-1");
    assert.ok(statSync(file).size < 64 << 10);
    assert.match(output(engine, ["replay", file]), /^MUL:attn_norm-1, 2 ops computed together\nCPU\n {2}against the recording {3}equal, bit by bit$/m);
    assert.ok(statSync(extracted(directory, "MUL:attn_norm-1", "--token", "1")).size < statSync(file).size + 64 << 10);
    assert.equal(replayed(file, "--repeat", "5").backends[0].other_repeats, 0);
});

test("what was kept is listed and read in SQL, exports and Python", () => {
    const directory = dumped(dense(), "ffn_out-1"), file = extracted(directory, "MUL_MAT:ffn_out-1"), bytes = readFileSync(file);
    const { tensors } = JSON.parse(output(ggscope, ["gguf", "--json", file]));
    const out = tensors.find((t) => t.name === "op.0.out"), expected = bytes.subarray(out.offset_start, out.offset_end);
    const sql = (text) => JSON.parse(output(ggscope, ["sql", "--json", directory, text])).rows;
    assert.deepEqual(sql("select distinct o.op, d.source, d.tensor, d.type from op_dumps d join ops o using (run, node) order by d.source"), [["MUL_MAT", null, "ffn_out-1", "f32"], ["MUL_MAT", 1, "ffn_swiglu-1", "f32"]]);
    const [[run_, node, offset, total, length, data]] = sql("select run, node, offset, total_bytes, bytes, data from op_dumps where token = 0 and source is null");
    assert.deepEqual([offset, total, length, data], [0, expected.length, expected.length, expected.toString("hex")]);
    const folder = fresh();
    output(ggscope, ["export", directory, "-q", "-f", "csv", "--table", "op_dumps", "-o", folder]);
    assert.ok(readFileSync(folder, "utf8").includes(data));
    const python = `import ggscope, sys
r = ggscope.open(sys.argv[1])
assert (int(sys.argv[2]), int(sys.argv[3]), -1) in r.dumps() and len(r.dumps()) == 4
print(r.dump(int(sys.argv[2]), int(sys.argv[3])).hex())
try:
    r.dump(1, 0)
except ggscope.Error as e:
    print(e)`;
    const [hex, refused] = output("python3", ["-c", python, directory, String(run_), String(node)], { env: { ...process.env, PYTHONPATH: join(root, "python"), GGSCOPE_LIBRARY: join(build, "lib", "libggscope.so.0") } }).trim().split("\n");
    assert.equal(hex, expected.toString("hex"));
    assert.match(refused, /nothing was kept; dumps\(\) lists what was/);
});

test("what was overwritten is told from what is computed wrong", () => {
    const file = extracted(dumped(dense(), "ffn_out-1"), "MUL_MAT:ffn_out-1"), bytes = readFileSync(file);
    const { tensors } = JSON.parse(output(ggscope, ["gguf", "--json", file]));
    const at = tensors.find((t) => t.name === "op.0.out").offset_start;
    for (let token = 1; token < 4; token++) bytes.writeFloatLE(100, at + 4 * (256 * token + 17));
    writeFileSync(file, bytes);
    const result = run(engine, ["replay", file]);
    assert.equal(result.status, 1);
    assert.match(result.stdout, /in channel 17, 3 of \d+ elements differ/);
    assert.match(result.stdout, /the op itself is right: something overwrites its result/);
});

test("without a dump the recorded command runs again, and its inputs are compared", () => {
    const path = dense(), words = (prompt, ...options) => ["run", "-q", "-o", fresh(), ...options, "-m", path, "-p", prompt, "-n", "2", "-t", "2", "--no-repack", "--ignore-eos"];
    const directory = (args) => (output(ggscope, args), args[3]);
    const file = scratch("again.gguf"), before = directory(words("Hello world, one two three.", "--values"));
    const again = run(ggscope, ["extract", before, "MUL_MAT:ffn_out-1", "-o", file]);
    assert.equal(again.status, 0, again.stderr);
    assert.match(again.stderr, /^no tensors of MUL_MAT:ffn_out-1 were kept: running the recorded command again$/m);
    assert.equal(replayed(file).backends.find((b) => b.name === "CPU").recorded.differ, 0);
    assert.deepEqual(readFileSync(file), readFileSync(extracted(dumped(path, "ffn_out-1"), "MUL_MAT:ffn_out-1")));
    assert.doesNotMatch(again.stderr, /another output/);
    // The bug is in the recording and not in the second run, as with a race.
    const wrong = fresh(), shell = `if [ ! -e "$0" ]; then : > "$0"; export LD_PRELOAD="$1:$LD_PRELOAD" PLANT='flip,17,^MUL_MAT:ffn_out-1$'; fi; shift; exec "$@"`;
    output(ggscope, ["record", "-q", "--values", "-o", wrong, "--", "sh", "-c", shell, scratch("once"), library, engine, "run", "-m", path, "-p", "Hello world, one two three.", "-n", "1", "-t", "2", "--no-repack"]);
    const second = run(ggscope, ["extract", wrong, "MUL_MAT:ffn_out-1", "-o", file]);
    assert.equal(second.status, 0, second.stderr);
    assert.match(second.stderr, /^MUL_MAT:ffn_out-1 has another output than in the recording, from the same inputs: a race,/m);
    // Without values nothing can be compared, and extract says so.
    const plain = run(ggscope, ["extract", directory(words("Hello world, one two three.")), "MUL_MAT:ffn_out-1", "-o", file]);
    assert.equal(plain.status, 0, plain.stderr);
    assert.match(plain.stderr, /nothing shows that they were the same/);
    // The command computes something else: its prompt file has changed.
    const prompt = scratch("prompt.txt"), other = scratch("other.gguf");
    writeFileSync(prompt, "Once upon a time");
    const changing = directory(["run", "-q", "-o", fresh(), "--values", "-m", path, "-f", prompt, "-n", "1", "-t", "2", "--no-repack", "--ignore-eos"]);
    writeFileSync(prompt, "Something else again");
    const refused = run(ggscope, ["extract", changing, "MUL_MAT:ffn_out-1", "-o", other]);
    assert.deepEqual([refused.status, existsSync(other)], [1, false]);
    assert.match(refused.stderr, /the inputs of MUL_MAT:ffn_out-1 differ when the command runs again/);
});

test("what is missing or no op is one sentence", () => {
    const none = fresh(), path = dense();
    output(ggscope, ["run", "-q", "--values", "-o", none, "-m", path, "-p", "x", "-n", "1"]);
    assert.deepEqual(rows(none, "op_dumps").op_dumps, []);
    const file = scratch("nothing.gguf");
    for (const [args, said] of [[[none, "MUL_MAT:nothing"], /there is no op MUL_MAT:nothing/], [[none, "MUL_MAT:fn_out-1"], /did you mean MUL_MAT:ffn_out-1$/m], [[none, "ffn_out"], /did you mean ffn_out-0$/m]]) {
        const refused = run(ggscope, ["extract", ...args, "-o", file]);
        assert.deepEqual([refused.status, existsSync(file)], [1, false]);
        assert.match(refused.stderr, said);
    }
    assert.equal(run(ggscope, ["extract", none]).status, 2);
    for (const [args, status, said] of [[["replay"], 2, /missing argument: a file that ggscope extract wrote/], [["replay", path], 1, /holds no op/], [["replay", "/nowhere.gguf"], 1, /cannot|not a GGUF/], [["replay", "--repeat", "0", path], 2, /--repeat takes/]]) {
        const refused = run(engine, args);
        assert.equal(refused.status, status, refused.stderr);
        assert.match(refused.stderr, said);
    }
    const refused = run(ggscope, ["run", "--values-dump", "(", "-o", fresh(), "-m", path, "-p", "x", "-n", "1"]);
    assert.equal(refused.status, 2);
});
