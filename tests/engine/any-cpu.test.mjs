// What must hold on every CPU variant of the engine: the one that it chooses on this machine, and
// the one for AMX. All other tests run on a fixed variant (tests/variant.mjs).
import { test as nodeTest } from "node:test";
import assert from "node:assert/strict";
import { basename } from "node:path";
import { engine, engineFails, ggscope, model, output, run } from "../lib.mjs";
import { amx, amxTiles, otherVariants } from "../variant.mjs";
import { accounted, check, experiment, fresh, rows, stats } from "./traces.mjs";
import { MiB, budget, sizes, stream } from "./streaming.mjs";

const variants = otherVariants();
let threads;
assert.notEqual(variants.length, 0, "the engine runs on none");
const test = (variant, name, body) => nodeTest(`${variant.name}: ${name}`, (t) => {
    process.env.GGSCOPE_ENGINE = variant.folder;
    threads = variant.name === amx && amxTiles === "emulated" ? "1" : "2"; // emulated, threads that wait for each other are slow if others need the cores
    return body(t);
});
const few = ["--layers", "2"]; // emulated tiles are slow
const models = {
    tiny: model("tiny", ...few), moe: model("moe", ...few), gemma3: model("tiny", "--arch", "gemma3", ...few), deepseek2: model("tiny", "--arch", "deepseek2", ...few),
    q8_0: model("tiny", "--types", "q8_0", ...few),
};
const placements = [[], ["--no-repack"], ["--no-mmap"]];
const words = (path, ...options) => ["run", "-m", path, "-p", "Once upon a time", "-n", "3", "--ignore-eos", "--json", "--logits-hash", "-t", threads, ...options];

// The engine's own result.
const stock = (path, ...options) => JSON.parse(output(engine, words(path, ...options))).logits_hash;

// With emulated tiles one model has all placements.
const placementsOf = (variant, name) => (variant.name === amx && amxTiles === "emulated" && name !== "tiny" ? [[]] : placements);
for (const variant of variants) for (const [name, path] of Object.entries(models)) for (const options of placementsOf(variant, name)) {
    test(variant, `${[name, ...options].join(" ")} is recorded in full, and the logits are those of the engine alone`, (t) => {
        const reason = engineFails(path, ...options, "--engine", variant.folder);
        if (reason) return t.skip(reason);
        const wanted = stock(path, ...options);
        const directory = fresh(), recorded = run(ggscope, ["record", "-q", "-o", directory, "--", engine, ...words(path, ...options)]);
        assert.equal(recorded.status, 0, recorded.stderr);
        assert.equal(JSON.parse(recorded.stdout).logits_hash, wanted);
        assert.ok(experiment(directory).engine.libraries.some((library) => basename(library.path) === `libggml-cpu-${variant.name}.so`));
        check(directory);
        for (const row of rows(directory, "runs").runs) accounted(row);
        sumsAgree(directory);
    });
}

for (const variant of variants) test(variant, "where an assertion of the engine ends a run, that is said, and what helps", (t) => {
    if (!/GGML_ASSERT/.test(engineFails(models.deepseek2, "--engine", variant.folder))) return t.skip("the engine runs the model that others fail with");
    const generate = (...options) => run(ggscope, ["run", "-q", "-o", fresh(), ...words(models.deepseek2, ...options).slice(1)], { env: { ...process.env, GGML_NO_BACKTRACE: "1" } });
    const failed = generate();
    assert.equal(failed.status, 128 + 6);
    assert.match(failed.stderr, /^ggscope: the engine ended it by an assertion of its own: ggml[^ /]*\.cpp:\d+: GGML_ASSERT\(.*\) failed; it has weights in a buffer of type AMX, which --no-repack avoids$/m);
    assert.equal(generate("--no-repack").status, 0);
});

// The same bytes, summed in two ways.
function sumsAgree(directory) {
    const { rows: [[ops, reads, writes]] } = JSON.parse(output(ggscope, ["sql", "--json", directory, "SELECT count(*) FILTER (WHERE fused_into IS NULL), sum(bytes_read), sum(bytes_written) FROM ops"]));
    const totals = stats(directory);
    assert.deepEqual([totals.ops, totals.bytes_read, totals.bytes_written], [ops, reads, writes]);
    for (const by of ["op", "layer", "component"]) {
        const groups = JSON.parse(output(ggscope, ["stats", "--by", by, "--json", directory]))[`by_${by}`];
        for (const [key, whole] of [["ops", ops], ["bytes_read", reads], ["bytes_written", writes]]) assert.equal(groups.reduce((sum, group) => sum + group[key], 0), whole, `${key} by ${by}`);
    }
}

for (const variant of variants) test(variant, "every page that an op touches is one that was predicted", () => {
    for (const options of [["--no-repack"], []]) {
        const directory = fresh(), path = models.tiny;
        output(ggscope, ["run", "-q", "--prove", "-o", directory, ...words(path, ...options).slice(1)]);
        const answer = JSON.parse(run(ggscope, ["prove", "--json", directory]).stdout);
        assert.deepEqual([answer.recall, answer.unpredicted_pages, answer.incomplete_ops, answer.lost_ops], [1, 0, 0, 0]);
        assert.ok(answer.precision >= 0.99, `precision ${answer.precision}`);
        // Only weights that the engine copied could not be checked.
        const copies = rows(directory, "buffers").buffers.map((buffer) => buffer.type).filter((type) => /REPACK|AMX/.test(type)).sort();
        assert.deepEqual(answer.not_looked_at.map((row) => row.buffer_type).sort(), copies);
        const multiplied = stats(directory).by_op.find((row) => row.op === "MUL_MAT").ops;
        assert.ok(copies.length === 0 ? answer.ops_not_looked_at === 0 : answer.ops_not_looked_at > 0 && answer.ops_not_looked_at <= multiplied, JSON.stringify(answer.not_looked_at));
    }
});

// Some types have additional sums per block in the layout for AMX: the product reads more bytes
// than the file has.
const grown = { q8_0: 38 / 34, q4_K: 148 / 144, q5_K: 180 / 176, iq4_xs: 138 / 136 };
for (const variant of variants) test(variant, "weights are counted with the bytes that they take in memory", () => {
    const path = model("tiny", "--layers", "2", "--types", "q8_0,attn_q=q4_K,attn_v=q5_K,ffn_up=iq4_xs,ffn_gate=q6_K"), directory = fresh();
    output(ggscope, ["run", "-q", "-o", directory, ...words(path).slice(1)]);
    const query = (text) => JSON.parse(output(ggscope, ["sql", "--json", directory, text])).rows;
    const weights = query("SELECT t.name, t.type, b.type, t.bytes, t.packed_bytes FROM tensors t JOIN buffers b USING (buffer) WHERE t.name LIKE 'blk.%.weight' AND t.ne1 > 1");
    assert.ok(weights.length >= 14);
    for (const [name, type, buffer, bytes, packed] of weights) assert.equal(packed, buffer === "AMX" && grown[type] ? bytes * grown[type] : null, `${name} ${type} in ${buffer}`);
    // A product reads its weight in this layout; the model's bytes are those of the file.
    const [[off]] = query(`SELECT count(*) FROM accesses a JOIN tensors t USING (tensor) WHERE t.name LIKE 'blk.%.weight' AND a.bytes != coalesce(t.packed_bytes, t.bytes)`);
    assert.equal(off, 0);
    const { model: { bytes, bytes_touched: touched } } = stats(directory);
    assert.ok(touched < bytes && bytes <= sizes(path));
    check(directory);
    sumsAgree(directory);
});

for (const variant of variants) test(variant, "a streamed model gives the same logits", () => {
    for (const path of [models.tiny, models.moe]) {
        const command = [engine, ...words(path, "--no-repack")], wanted = stock(path, "--no-repack");
        const streamed = stream(command, budget(command, path, 0.5));
        assert.equal(streamed.status, 0, streamed.stderr);
        assert.equal(JSON.parse(streamed.stdout).logits_hash, wanted);
        const fitting = stream([engine, ...words(path)], sizes(path) * 4 + 512 * MiB);
        assert.equal(fitting.counts.state, "fits", fitting.stderr);
        assert.equal(JSON.parse(fitting.stdout).logits_hash, stock(path));
    }
});
