// Hundreds of experiments in one folder, with the queries of docs/distributed.md.
import { test } from "node:test";
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { installed } from "../export/install.mjs";
import { stats } from "./node/recordings.mjs";

const lake = scratch("lake"), models = { "tiny-2.gguf": model("tiny", "--layers", "2"), "moe.gguf": model("moe") };
const COPIES = 100; // of each
const recordings = [];
mkdirSync(scratch("m"), { recursive: true });
for (const [name, path] of Object.entries(models)) {
    const directory = scratch(name), link = join(scratch("m"), name);
    symlinkSync(path, link);
    output(ggscope, ["record", "-q", "-o", directory, "--", engine, "run", "-m", link, "-p", "Once upon a time", "-n", "4", "--ignore-eos", "-t", "1"]);
    recordings.push({ name, directory, id: JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).experiment_id });
}
const add = (directory, ...options) => run(ggscope, ["export", "-q", "--format", "parquet", "--lake", ...options, directory, "-o", lake]);

test("an experiment is added once, whole, or replaces itself", () => {
    for (const { directory, id } of recordings) {
        assert.equal(add(directory).status, 0);
        assert.ok(existsSync(join(lake, `experiment=${id}`, "table=ops", "data.parquet")));
        const again = add(directory);
        assert.equal(again.status, 1);
        assert.match(again.stderr, /in the lake already.*--force/);
        assert.equal(add(directory, "--force").status, 0);
    }
    assert.deepEqual(readdirSync(lake).sort(), recordings.map(({ id }) => `experiment=${id}`).sort(), "nothing else is left");
    for (const [options, says] of [[["--format", "csv", "--lake"], /--lake goes with --format parquet/], [["--format", "parquet", "--force"], /--force goes with --lake/], [["--format", "parquet", "--lake", "--token", "1"], /whole experiments/]]) {
        const answer = run(ggscope, ["export", ...options, recordings[0].directory, "-o", scratch("no")]);
        assert.equal(answer.status, 2);
        assert.match(answer.stderr, says);
    }
    const file = run(ggscope, ["export", "--format", "parquet", "--lake", recordings[0].directory, "-o", join(recordings[0].directory, "trace.ggs")]);
    assert.equal(file.status, 1);
    assert.equal(file.stderr.trim().split("\n").length, 1);
});

test("the queries of docs/distributed.md over hundreds of experiments", async () => {
    const { DuckDBInstance } = await installed("@duckdb/node-api");
    for (const { id } of recordings)
        for (let i = 1; i < COPIES; i++) cpSync(join(lake, `experiment=${id}`), join(lake, `experiment=${randomUUID()}`), { recursive: true });
    assert.equal(readdirSync(lake).length, recordings.length * COPIES);
    const queries = [...readFileSync(join(root, "docs", "distributed.md"), "utf8").matchAll(/```sql\n([^]*?)```/g)].map((match) => match[1].replaceAll("'lake/", `'${lake}/`));
    assert.equal(queries.length, 3);
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    const [speed, bytes, slowest] = await Promise.all(queries.map(async (sql) => (await connection.runAndReadAll(sql)).getRowObjects()));
    const expected = Object.fromEntries(recordings.map(({ name, directory }) => [name, stats(directory)]));
    assert.deepEqual(speed.map((row) => row.model), Object.keys(models).sort());
    for (const row of speed) {
        const one = expected[row.model];
        assert.equal(Number(row.experiments), COPIES);
        assert.ok(Math.abs(Number(row.tokens_per_second) - one.tokens_per_second_of_decodes) < 0.051, `${row.tokens_per_second} is ${one.tokens_per_second_of_decodes}`);
        assert.ok(row.llama_version);
    }
    for (const row of bytes) {
        const { directory } = recordings.find(({ name }) => name === row.model);
        const part = JSON.parse(output(ggscope, ["stats", "--json", "--token", "1..3", directory]));
        assert.equal(Number(row.tokens), 3 * COPIES);
        assert.equal(Number(row.bytes_per_token), Math.round(part.bytes_read / 3));
        assert.equal(Number(row.bytes_from_files), Math.round(part.bytes_disk / 3));
    }
    const byOp = (op) => recordings.reduce((sum, { name }) => sum + (expected[name].by_op.find((row) => row.op === op)?.ops ?? 0), 0);
    const product = slowest.find((row) => row.op === "MUL_MAT");
    assert.equal(Number(product.ops), COPIES * byOp("MUL_MAT"));
    assert.ok(slowest.every((row, i) => i === 0 || row.ns <= slowest[i - 1].ns));
    assert.match(product.slowest_in, /^[0-9a-f-]{36}$/);
});
