// ggscope export: programs of others read the files and find the numbers of ggscope stats.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, readFileSync, statSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { build, ggscope, model, output, root, run, scratch, withoutBlanks } from "../lib.mjs";
import { readChrome } from "../export/chrome.mjs";
import { readGgmlviz } from "../export/ggmlviz.mjs";
import { installed } from "../export/install.mjs";
import { readDot, readMap } from "../export/layout.mjs";
import { importSpeedscope } from "../export/speedscope.mjs";
import { readPerfetto } from "../export/perfetto.mjs";
import { loadedCsv, overCsv, overParquet, overSqlite, questions } from "../export/tables.mjs";
import { fresh, generate, graphs, host, record, rows, stats, values } from "./traces.mjs";

const tokens = 4;
const dense = generate(withoutBlanks(model("tiny")), "-n", String(tokens), "-t", "2").directory;
const moe = generate(model("moe"), "-n", String(tokens), "-t", "1").directory;
const json = (...path) => JSON.parse(readFileSync(join(...path), "utf8"));
const names = [...output(ggscope, ["export", "--tables"]).matchAll(/^## (\w+)$/gm)].map((m) => m[1]);
const optional = ["memory_changes", "residency", "faults", "block_requests", "kernels", "submits", "streamed", "windows", "op_values", "op_dumps", "off_cpu"]; // recorded only if requested and permitted
const has = (program) => run("sh", ["-c", `command -v ${program}`]).status === 0;

function exported(directory, format, ...options) {
    const out = fresh();
    output(ggscope, ["export", directory, "-q", "-f", format, "-o", out, ...options]);
    return out;
}

// Must be refused with one sentence.
function refused(status, args, pattern) {
    const result = run(ggscope, ["export", ...args]);
    assert.equal(result.status, status, result.stderr);
    assert.match(result.stderr, pattern);
    assert.equal(result.stdout, "");
}

// ---- tables ----

test("the same ten questions get the same answers from DuckDB on parquet and csv, from sqlite3, and from stats", async (t) => {
    if (!has("sqlite3")) return t.skip("sqlite3 is not installed");
    for (const directory of [dense, moe]) {
        const known = stats(directory);
        const readers = {
            parquet: await overParquet(exported(directory, "parquet"), names),
            csv: await overCsv(exported(directory, "csv"), names),
            sqlite: await overSqlite(exported(directory, "sqlite")),
        };
        assert.equal(questions.length, 10);
        for (const [question, sql, answer] of questions)
            for (const [reader, ask] of Object.entries(readers)) assert.deepEqual(await ask(sql), answer(known), `${question} (${reader})`);
    }
});

test("what an op reads is the work of the last one before it, also where two compute the same tensor", async (t) => {
    if (!has("sqlite3")) return t.skip("sqlite3 is not installed");
    const nearer = `SELECT count(*) FROM edges e JOIN nodes n ON n.graph = e.graph AND n.tensor = e.tensor AND n.node < e.node AND n.node > coalesce(e.source_node, -1)`;
    let again = 0;
    for (const directory of [dense, moe]) {
        const ask = await overSqlite(exported(directory, "sqlite"));
        assert.deepEqual(await ask(nearer), [[0]]);
        assert.deepEqual(await ask("SELECT count(*) FROM edges WHERE source_node >= node"), [[0]]);
        again += (await ask("SELECT count(*) FROM (SELECT 1 FROM nodes GROUP BY graph, tensor HAVING count(*) > 1)"))[0][0];
        // the drawing has the same numbers
        const [[graph]] = await ask("SELECT graph FROM runs WHERE token = 1 LIMIT 1");
        const edges = await ask(`SELECT source_node, node, slot FROM edges WHERE graph = ${graph} AND source_node IS NOT NULL ORDER BY 2, 3`);
        const drawn = JSON.parse(output(ggscope, ["graph", "--json", "--token", "1", directory])).graphs[0].edges.filter((e) => e.source_node !== null)
            .map((e) => [e.source_node, e.node, e.slot]);
        assert.deepEqual(drawn, edges);
    }
    assert.ok(again > 0, "the engine does that: the two norms of a layer have one name");
});

test("every table has the same rows in parquet, csv and sqlite, and the columns that are documented", async (t) => {
    if (!has("sqlite3")) return t.skip("sqlite3 is not installed");
    assert.deepEqual(readFileSync(join(root, "docs", "tables.md"), "utf8"), output(ggscope, ["export", "--tables"]), "docs/tables.md is what ggscope export --tables writes");
    const documented = new Map(readFileSync(join(root, "docs", "tables.md"), "utf8").split("\n## ").slice(1)
        .map((part) => [part.split("\n")[0], [...part.matchAll(/^\| (\w+) \| (integer|boolean|real|text|timestamp)/gm)].map((m) => m[1]).filter((c) => c !== "column")]));
    for (const wanted of ["ops", "op_runs", "transfers", "accesses", "tensors", "buffers", "tokens", "graphs", "nodes", "edges", "experts", "faults", "block_requests", "experiment"])
        assert.ok(names.includes(wanted), wanted);

    const folders = { parquet: exported(moe, "parquet"), csv: exported(moe, "csv") };
    const database = exported(moe, "sqlite");
    assert.deepEqual(readdirSync(folders.csv).sort(), [...names.map((n) => `${n}.csv`), "load-duckdb.sql", "load-sqlite.sql", "schema.sql"].sort());
    assert.deepEqual(readdirSync(folders.parquet).sort(), names.map((n) => `${n}.parquet`).sort());
    const parquet = await overParquet(folders.parquet, names), csv = await overCsv(folders.csv, names), sqlite = await overSqlite(database);
    for (const name of names) {
        assert.deepEqual((await parquet(`DESCRIBE "${name}"`)).map((r) => r[0]), documented.get(name), name);
        const [all, inCsv, inSqlite] = await Promise.all([parquet, csv, sqlite].map((ask) => ask(`SELECT * FROM "${name}"`)));
        assert.ok(all.length > 0 || optional.includes(name), `${name} is not empty`);
        assert.deepEqual(inCsv, all, `${name}: csv`);
        assert.deepEqual(inSqlite, all, `${name}: sqlite`);
    }
});

test("types: booleans and timestamps in parquet, a schema for csv, keys and views in sqlite", async (t) => {
    if (!has("sqlite3")) return t.skip("sqlite3 is not installed");
    const parquet = await overParquet(exported(moe, "parquet"), names), folder = exported(moe, "csv"), database = exported(moe, "sqlite");
    const types = async (ask, table) => Object.fromEntries((await ask(`DESCRIBE "${table}"`)).map((r) => [r[0], r[1]]));
    const columns = await types(parquet, "op_runs");
    assert.deepEqual([columns.ended, columns.begin_ns], ["BOOLEAN", "BIGINT"]);
    assert.match((await types(parquet, "tokens")).begin_utc, /^TIMESTAMP/);
    assert.match((await types(parquet, "experiment")).start_utc, /^TIMESTAMP/);
    const start = Date.parse(json(moe, "experiment.json").start_utc);
    const [[told]] = await parquet("SELECT start_utc FROM experiment");
    assert.ok(Math.abs(Date.parse(told) - start) <= 1, `${told} is the moment in experiment.json, to the millisecond that it has`);
    assert.deepEqual(await parquet("SELECT count(*) FROM tokens, experiment WHERE abs(epoch_us(tokens.begin_utc) - epoch_us(start_utc) - begin_ns // 1000) > 1"), [[0]]);

    // DuckDB takes mostly empty integer columns for text; the schema avoids guessing.
    const loaded = await loadedCsv(folder), sqlite = await overSqlite(database);
    for (const name of names) {
        const [fromParquet, fromCsv] = await Promise.all([types(parquet, name), types(loaded, name)]);
        for (const [column, type] of Object.entries(fromParquet)) assert.equal(fromCsv[column], type.replace(/^TIMESTAMP.*/, "TIMESTAMP"), `${name}.${column}`);
        assert.deepEqual(await loaded(`SELECT * FROM "${name}"`), await parquet(`SELECT * FROM "${name}"`), name);
    }
    const views = ["op_totals", "layer_totals", "token_totals", "weight_reads"];
    assert.deepEqual((await sqlite("SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY rowid")).flat(), views);
    for (const view of views) {
        const rows = await sqlite(`SELECT * FROM ${view} ORDER BY 1, 2, 3`);
        assert.ok(rows.length > 1, view);
        assert.deepEqual(await loaded(`SELECT * FROM ${view} ORDER BY 1 NULLS FIRST, 2, 3`), rows, view);
    }
    assert.deepEqual(await sqlite("SELECT sum(duration_ns) FROM op_totals"), [[stats(moe).by_op.reduce((n, o) => n + o.wall_ns, 0)]]);
    assert.ok((await sqlite("SELECT 1 FROM pragma_foreign_key_list('ops')")).length >= 4);
    assert.equal(output("sqlite3", [database, "PRAGMA foreign_key_check"]), "", "every id names a row");
    // and csv into SQLite
    output("sh", ["-c", "sqlite3 recording.sqlite < load-sqlite.sql"], { cwd: folder });
    const again = await overSqlite(join(folder, "recording.sqlite"));
    for (const name of names) assert.deepEqual(await again(`SELECT * FROM "${name}"`), await sqlite(`SELECT * FROM "${name}"`), name);
});

test("a node that was fused into another has a row of its own, and its time counts once", async () => {
    const ask = await overParquet(exported(dense, "parquet"), names);
    const known = stats(dense);
    assert.ok(known.absorbed > 0, "this engine fuses norms with what follows");
    assert.deepEqual(await ask("SELECT count(*), count(duration_ns), count(wait_ns), sum(threads), count(*) FILTER (WHERE bytes_read = 0) FROM ops WHERE fused_into IS NOT NULL"), [[known.absorbed, 0, 0, 0, 0]]);
    assert.deepEqual(await ask("SELECT count(*) FROM ops a LEFT JOIN ops b ON a.run = b.run AND a.fused_into = b.node WHERE a.fused_into IS NOT NULL AND (b.absorbed IS NULL OR b.absorbed = 0 OR b.begin_ns <> a.begin_ns OR b.duration_ns IS NULL)"), [[0]]);
    // Everything that an op reads was computed by an earlier op, or is a weight or an input.
    assert.deepEqual(await ask("SELECT count(*) FROM ops o JOIN edges e USING (graph, node) JOIN nodes n ON n.graph = e.graph AND n.node = e.source_node LEFT JOIN ops p ON p.run = o.run AND p.node = e.source_node WHERE p.op IS NULL AND n.op NOT IN ('VIEW', 'RESHAPE', 'PERMUTE', 'TRANSPOSE', 'NONE')"), [[0]]);
});

test("ids join: ops to runs, nodes and tokens, edges to nodes, accesses to ops and tensors", async () => {
    const ask = await overParquet(exported(moe, "parquet"), names);
    const none = async (sql) => assert.deepEqual(await ask(sql), [[0]], sql);
    await none("SELECT count(*) FROM ops LEFT JOIN runs USING (run) WHERE runs.run IS NULL OR ops.graph <> runs.graph");
    await none("SELECT count(*) FROM ops LEFT JOIN nodes USING (graph, node) WHERE nodes.op IS NULL OR nodes.op <> ops.op OR nodes.name <> ops.name");
    await none("SELECT count(*) FROM ops LEFT JOIN tokens USING (token) WHERE tokens.token IS NULL");
    await none("SELECT count(*) FROM op_runs LEFT JOIN ops USING (run, node) WHERE ops.op IS NULL OR op_runs.begin_ns < ops.begin_ns OR op_runs.begin_ns + op_runs.duration_ns > ops.begin_ns + ops.duration_ns");
    await none("SELECT count(*) FROM edges LEFT JOIN nodes USING (graph, node) WHERE nodes.op IS NULL");
    await none("SELECT count(*) FROM edges JOIN nodes ON nodes.graph = edges.graph AND nodes.node = edges.source_node WHERE nodes.tensor <> edges.tensor OR nodes.node >= edges.node");
    await none("SELECT count(*) FROM accesses LEFT JOIN tensors USING (tensor) WHERE tensors.name IS NULL OR accesses.\"offset\" + accesses.bytes > tensors.bytes");
    await none("SELECT count(*) FROM accesses LEFT JOIN files USING (file) WHERE source = 'DISK' AND (files.path IS NULL OR file_offset + accesses.bytes > files.bytes)");
    await none("SELECT count(*) FROM (SELECT run, node, sum(bytes) AS bytes FROM accesses GROUP BY run, node) AS a JOIN ops USING (run, node) WHERE a.bytes < bytes_read + bytes_written OR (a.bytes > bytes_read + bytes_written AND op <> 'GET_ROWS')");
});

test("experts: the choices of the trace, weights that add up, probabilities of the router", async () => {
    const ask = await overParquet(exported(moe, "parquet"), names);
    // The trace's own data: ids of the MUL_MAT_ID nodes, and the factors of the MUL nodes behind
    // them.
    const nodes = graphs(moe), t = rows(moe, "runs", "index");
    const expected = [];
    for (const { run: number, graph } of t.runs) {
        const index = t.index.filter((i) => i.run === number);
        const find = (tensor) => index.find((i) => nodes.get(graph)[i.node].sources[i.slot].tensor === tensor);
        for (let layer = 0; layer < 24; layer++) {
            const gate = nodes.get(graph).find((n) => n.op === "MUL_MAT_ID" && n.name.endsWith(`-${layer}`));
            const mul = nodes.get(graph).find((n) => n.op === "MUL" && n.name === `ffn_moe_weighted-${layer}`);
            const ids = find(gate.sources[2].tensor), weights = find(mul.sources[1].tensor);
            const w = values(weights, true);
            values(ids).forEach((expert, i) => expected.push([number, layer, Math.floor(i / ids.ne0), i % ids.ne0, expert, w[i]]));
        }
    }
    assert.deepEqual(await ask("SELECT run, layer, input, rank, expert, weight FROM experts ORDER BY run, layer, input, rank"), expected);
    const [[wrong]] = await ask("SELECT count(*) FROM (SELECT sum(weight) AS w, sum(probability) AS p FROM experts GROUP BY run, layer, input) WHERE abs(w - 1) > 1e-5 OR p IS NULL OR p <= 0 OR p > 1.00001");
    assert.equal(wrong, 0, "this model's weights are normalised, its probabilities are not");
    const [[unordered]] = await ask("SELECT count(*) FROM experts AS a JOIN experts AS b ON a.run = b.run AND a.layer = b.layer AND a.input = b.input AND a.rank + 1 = b.rank WHERE a.probability < b.probability");
    assert.equal(unordered, 0, "rank 0 is the likeliest");
});

test("--token takes a range, --table a table, and one table may go to standard output", async () => {
    const ask = await overParquet(exported(dense, "parquet", "--token", "1..2"), names);
    assert.deepEqual(await ask("SELECT DISTINCT token FROM ops ORDER BY token"), [[1], [2]]);
    assert.deepEqual(await ask("SELECT token FROM tokens ORDER BY token"), [[1], [2]]);
    const csv = output(ggscope, ["export", dense, "-f", "csv", "--table", "tokens", "-o", "-"]).trimEnd().split("\n");
    assert.equal(csv.length, 1 + tokens);
    assert.match(csv[0], /^token,phase,context,/);
    assert.match(csv[1], /^0,PROMPT,0,.*Once upon a time/);
});

// ---- json ----

function entriesOf(directory) {
    const files = readdirSync(join(directory, "traces")).sort();
    return files.map((f) => json(directory, "traces", f));
}

test("json: one trace and one graph file per token step, ids equal, totals those of stats", () => {
    for (const experiment of [dense, moe]) {
        const out = exported(experiment, "json");
        const known = stats(experiment);
        const wanted = Array.from({ length: tokens }, (_, i) => `token-0000${i}.json`);
        assert.deepEqual(readdirSync(join(out, "traces")).sort(), wanted);
        assert.deepEqual(readdirSync(join(out, "graphs")).sort(), wanted);
        const all = ["experiment_metadata.json", "memory-map.json", "buffer-timeline.json", ...wanted.flatMap((f) => [`traces/${f}`, `graphs/${f}`])];
        for (const file of all) {
            const text = readFileSync(join(out, file), "utf8");
            assert.equal(Object.keys(JSON.parse(text))[0], "experiment_id", file);
            assert.equal(JSON.parse(text).experiment_id, known.experiment_id, file);
        }
        const traces = entriesOf(out);
        const sum = (f) => traces.flatMap((t) => t.entries).reduce((n, e) => n + f(e), 0);
        const fused = traces.flatMap((t) => t.entries).filter((e) => e.fused_into !== undefined);
        assert.equal(sum(() => 1), known.ops + known.absorbed);
        assert.equal(fused.length, known.absorbed);
        assert.ok(fused.every((e) => e.duration_ns === null && e.wait_ns === null && e.bytes_read > 0 && e.num_sources > 0));
        assert.equal(sum((e) => e.bytes_read), known.bytes_read);
        assert.equal(sum((e) => e.bytes_written), known.bytes_written);
        assert.equal(sum((e) => e.duration_ns), known.by_op.reduce((n, o) => n + o.wall_ns, 0));
        const timeline = json(out, "buffer-timeline.json");
        assert.equal(timeline.metadata.peak_private_bytes, known.buffers.peak_bytes);
        assert.equal(timeline.buffers.length, known.buffers.count);
        assert.equal(Math.max(...timeline.timeline.map((e) => e.cumulative_size)), timeline.metadata.peak_occupancy_bytes);
        // the model itself, which is mapped
        const mapped = timeline.buffers.find((b) => b.name === "Weights_CPU_Mapped");
        assert.ok(mapped.file.endsWith(".gguf") && timeline.timeline.some((e) => e.buffer_id === mapped.id && e.event === "alloc" && e.buffer_name === mapped.name));
        assert.equal(timeline.metadata.peak_occupancy_bytes, known.buffers.peak_bytes + mapped.size);
        const types = new Map(rows(experiment, "buffers").buffers.map((b) => [b.buffer, b.type]));
        for (const b of timeline.buffers) {
            assert.ok(/^(Weights|KVCache|Compute|InputOutput|Buffer)_(.*)$/.exec(b.name)?.[2] === types.get(b.id), b.name);
            assert.equal(b.usage_name, ["ANY", "WEIGHTS", "COMPUTE"][b.usage]);
            assert.equal(b.layer, 65535);
        }
        assert.ok(timeline.buffers.some((b) => b.name === "KVCache_CPU") && timeline.buffers.some((b) => b.name.startsWith("Compute_CPU")));
        const usage = {};
        for (const b of timeline.buffers) usage[b.usage_name] = (usage[b.usage_name] ?? 0) + 1;
        assert.deepEqual(timeline.metadata.usage_breakdown, usage);
        assert.ok(Math.abs(timeline.metadata.duration_ms - (timeline.timeline.at(-1).timestamp_ms - timeline.timeline[0].timestamp_ms)) < 0.001);
        // the same as JSON lines
        const lines = readFileSync(exported(experiment, "buffers"), "utf8").trimEnd().split("\n").map((l) => JSON.parse(l));
        assert.deepEqual(lines.map((l) => [l.experiment_id, l.timestamp_ms, l.event, l.buffer_id]), timeline.timeline.map((e) => [known.experiment_id, e.timestamp_ms, e.event, e.buffer_id]));
        for (const l of lines.filter((x) => x.event === "alloc")) {
            const b = timeline.buffers.find((x) => x.id === l.buffer_id);
            assert.deepEqual([l.name, l.size, l.backend, l.usage, l.layer], [b.name, b.size, b.backend, b.usage, b.layer]);
        }
        assert.equal(timeline.metadata.total_events, timeline.timeline.length);
    }
});

test("json: entries, sources, graphs and the memory map refer to each other", () => {
    const out = exported(moe, "json");
    const map = json(out, "memory-map.json");
    const gguf = JSON.parse(output(ggscope, ["gguf", "--json", model("moe")]));
    assert.equal(map.metadata.source, "gguf");
    assert.deepEqual(map.tensors.map((t) => [t.name, t.offset_start, t.size_bytes, t.expert_id]), gguf.tensors.map((t) => [t.name, t.offset_start, t.size_bytes, t.expert_id ?? undefined]));
    for (const t of map.tensors) assert.equal("expert_id" in t, /\[\d+\]$/.test(t.name), t.name);
    assert.ok(map.tensors.some((t) => t.name === "blk.0.ffn_down_exps.weight[7]" && t.expert_id === 7 && t.component_type === "FFN Down Expert 7"));
    const metadata = json(out, "experiment_metadata.json");
    assert.equal(metadata.num_tokens_generated, tokens);
    assert.equal(metadata.prompt, "Once upon a time");
    let ranges = 0, experts = 0, onDisk = 0;
    for (const trace of entriesOf(out)) {
        const graph = json(out, "graphs", `token-${String(trace.token_id).padStart(5, "0")}.json`);
        const ids = new Map(graph.nodes.map((n) => [n.id, n]));
        assert.equal(ids.size, graph.nodes.length, "node ids are unique");
        assert.equal(graph.metadata.total_nodes, graph.nodes.length);
        assert.equal(graph.metadata.total_edges, graph.edges.length);
        for (const { source, target, label } of graph.edges) {
            assert.ok(ids.has(source) && ids.has(target), `${source} -> ${target}`);
            assert.match(label, /^src \d$/);
        }
        assert.equal(trace.metadata.total_entries, trace.entries.length);
        assert.equal(trace.metadata.timestamp_start_ns, trace.entries[0].timestamp_ns);
        const end = Math.max(...trace.entries.map((e) => e.timestamp_ns + (e.duration_ns ?? 0)));
        assert.ok(Math.abs(trace.metadata.duration_ms - (end - trace.entries[0].timestamp_ns) / 1e6) < 0.001);
        for (const node of graph.nodes) assert.equal(node.node_type, node.id.startsWith("leaf_") && /\.(weight|bias)$/.test(node.label) ? "weight" : "op", node.label);
        assert.equal(trace.entries[0].timestamp_relative_ms, 0);
        assert.equal(typeof graph.metadata.timestamp_generated, "string");
        assert.ok(Math.abs(Date.parse(graph.metadata.timestamp_generated) - Date.parse(metadata.timestamp_start) - trace.metadata.timestamp_start_ns / 1e6) < 2);
        trace.entries.forEach((e, i) => {
            assert.equal(e.entry_id, i);
            assert.equal(e.token_id, trace.token_id);
            assert.equal(e.phase, trace.token_id === 0 ? "PROMPT" : "GENERATE");
            assert.equal(ids.get(e.node_id).operation, e.operation_type);
            assert.equal(ids.get(e.node_id).label, e.dst_name);
            assert.ok(e.timestamp_relative_ms >= 0 && (e.fused_into !== undefined || (e.duration_ns >= 0 && e.wait_ns >= 0)));
            if (e.fused_into !== undefined) assert.ok(trace.entries.slice(0, i).some((h) => h.node_id === e.fused_into && h.duration_ns !== null));
            assert.equal(e.sources.length, e.num_sources);
            assert.equal(e.expert_ids.length, e.num_experts);
            if (e.operation_type === "MUL_MAT_ID") {
                experts++;
                // The last layer computes only tokens with requested output.
                assert.equal(e.num_experts, 4 * (trace.token_id === 0 && e.layer_id < 23 ? 5 : 1));
                assert.equal(e.routing_weights.length, e.num_experts);
                assert.deepEqual(e.expert_ranks.slice(0, 4), [0, 1, 2, 3]);
                // The parts of the matrices that were read are the chosen experts, each once.
                const [matrices] = e.sources, size = matrices.size_bytes / 32;
                const read = matrices.ranges.flatMap(([offset, length]) => Array.from({ length: length / size }, (_, k) => offset / size + k));
                assert.deepEqual(read, [...new Set(e.expert_ids)].sort((a, b) => a - b));
                assert.equal(map.tensors[matrices.tensor_idx].expert_id, read[0]);
            }
            for (const s of e.sources) {
                assert.match(s.tensor_ptr, /^0x[0-9a-f]+$/);
                if (s.ranges) ranges++;
                if (s.memory_source === "DISK") {
                    onDisk++;

                    assert.equal("buffer_id" in s, s.copied === true);
                    assert.equal(s.disk_offset, s.origin_offset);
                    assert.ok(s.disk_offset + s.size_bytes <= map.total_size_bytes);
                } else {
                    assert.equal(s.memory_source, "BUFFER");
                    assert.ok(!("disk_offset" in s));
                }
                if (s.tensor_idx !== null) assert.ok(map.tensors[s.tensor_idx].name.startsWith(s.name.split(" ")[0]), `${s.name}: ${map.tensors[s.tensor_idx].name}`);
            }
        });
    }
    assert.equal(experts, 24 * 3 * tokens);
    assert.ok(ranges > experts && onDisk > 0);
});

test("json: the memory map is what the layout's own script makes of gguf --csv --full --experts", () => {
    for (const [experiment, file] of [[dense, model("tiny")], [moe, model("moe")]]) {
        const { tensors } = json(exported(experiment, "json"), "memory-map.json"), kept = (t) => Object.fromEntries(Object.entries(t).filter(([key]) => !["dtype", "category", "file", "size_known"].includes(key)));
        assert.deepEqual(tensors.map(kept), readMap(output(ggscope, ["gguf", "--csv", "--full", "--experts", file])));
        assert.deepEqual([...new Set(tensors.map((t) => t.category))].sort(), ["attention", "embedding", "ffn", "norm", "output"]);
        const words = Object.fromEntries(tensors.filter((t) => !(t.layer_id > 0)).map((t) => [t.name.replace(/\[\d+\]$/, ""), [t.category, t.component]]));
        assert.deepEqual(words["token_embd.weight"], ["embedding", "other"]);
        assert.deepEqual(words["blk.0.attn_q.weight"], ["attention", "query"]);
        assert.deepEqual(words["blk.0.attn_output.weight"], ["attention", "output"]);
        assert.deepEqual(words[experiment === moe ? "blk.0.ffn_down_exps.weight" : "blk.0.ffn_down.weight"], ["ffn", "down"]);
    }
});

test("json: --per-thread gives an entry per op run, --gzip compresses every file, --token leaves no others behind", () => {
    const known = stats(dense);
    const out = exported(dense, "json", "--per-thread");
    const entries = entriesOf(out).flatMap((t) => t.entries);
    assert.equal(entries.filter((e) => e.fused_into === undefined).length, known.op_runs);
    assert.equal(entries.reduce((n, e) => n + e.bytes_read, 0), known.bytes_read);
    assert.ok(entries.every((e) => e.timestamp_relative_ms >= 0));
    assert.deepEqual([...new Set(entries.map((e) => e.thread_id))].sort(), [0, 1]);

    output(ggscope, ["export", dense, "-f", "json", "--gzip", "--token", "..1", "-o", out]);
    assert.deepEqual(readdirSync(join(out, "traces")).sort(), ["token-00000.json.gz", "token-00001.json.gz"]);
    assert.deepEqual(readdirSync(join(out, "graphs")).sort(), ["token-00000.json.gz", "token-00001.json.gz"]);
    assert.deepEqual(readdirSync(out).sort(), ["buffer-timeline.json.gz", "experiment_metadata.json.gz", "graphs", "memory-map.json.gz", "traces"]);
    const plain = exported(dense, "json", "--token", "1");
    assert.equal(gunzipSync(readFileSync(join(out, "traces", "token-00001.json.gz"))).toString(), readFileSync(join(plain, "traces", "token-00001.json"), "utf8"));
});

test("json: weights that the engine copied from the file are DISK, with their origin and the buffer they are in", () => {
    const { directory } = generate(model("tiny"), "-n", "1", "-t", "1", "--no-mmap");
    const out = exported(directory, "json"), map = json(out, "memory-map.json"), buffers = json(out, "buffer-timeline.json").buffers;
    const sources = entriesOf(out).flatMap((t) => t.entries).flatMap((e) => e.sources);
    const weights = sources.filter((s) => s.name.endsWith(".weight"));
    assert.ok(weights.length > 100);
    for (const s of weights) {
        assert.deepEqual([s.memory_source, s.copied], ["DISK", true], s.name);
        assert.equal(s.disk_offset, map.tensors.find((t) => t.name === s.name).offset_start);
        assert.match(buffers.find((b) => b.id === s.buffer_id).name, /^Weights_/);
    }
    assert.ok(sources.some((s) => s.memory_source === "BUFFER" && !("disk_offset" in s) && !("copied" in s)));
});

test("json: memory that is in no buffer has no buffer_id, because readers take it for a number", () => {
    const directory = record([join(build, "tests", "diffusion-host"), "run", "-c", "context", "-n", "2"]).directory;
    const sources = entriesOf(exported(directory, "json")).flatMap((trace) => trace.entries).flatMap((e) => e.sources), outside = sources.filter((s) => !("buffer_id" in s));
    assert.ok(outside.length > 0 && outside.length < sources.length && outside.every((s) => s.memory_source === "BUFFER"));
    for (const s of sources) assert.ok(!("buffer_id" in s) || Number.isInteger(s.buffer_id), s.name);
});

test("json: where the model is gone, the map is what the trace saw", () => {
    const copy = scratch("gone.gguf");
    writeFileSync(copy, readFileSync(model("tiny")));
    const { directory } = generate(copy, "-n", "1", "-t", "1");
    unlinkSync(copy);
    const map = json(exported(directory, "json"), "memory-map.json");
    assert.equal(map.metadata.source, "trace");
    assert.ok(map.tensors.some((t) => t.name === "output_norm.weight"));
    const [entry] = json(exported(dense, "json"), "memory-map.json").tensors.filter((t) => t.name === "output_norm.weight");
    assert.equal(map.tensors.find((t) => t.name === "output_norm.weight").offset_start, entry.offset_start);
});

// ---- timelines ----

test("perfetto and chrome: an op slice per op run inside its graph run and token, waits, counters", async () => {
    const protobuf = await installed("protobufjs");
    for (const experiment of [dense, moe]) {
        const known = stats(experiment), t = rows(experiment, "op_runs", "runs");
        const perfetto = readPerfetto(protobuf, readFileSync(exported(experiment, "perfetto")));
        const chrome = readChrome(readFileSync(exported(experiment, "chrome"), "utf8"));
        for (const [name, { slices }] of Object.entries({ perfetto, chrome })) {
            const ops = slices.filter((s) => s.category === "op");
            assert.equal(ops.length, known.op_runs, name);
            assert.equal(slices.filter((s) => s.category === "wait").length, t.op_runs.filter((r) => r.wait_ns > 0).length, name);
            for (const slice of ops) {
                assert.match(slice.parent.name, /^graph run \d+$/);
                assert.equal(slice.parent.name, `graph run ${slice.args.run}`);
                assert.match(slice.parent.parent.name, /^token \d+$/);
                assert.equal(typeof slice.args.tensor, "string");
                assert.ok(slice.args.sources.every((s) => typeof s === "string" && s.length > 0));
            }
            assert.equal(slices.filter((s) => s.category === "token" && s.depth === 0 && !slices.some((c) => c.parent === s)).length, tokens, `${name}: a track of tokens`);
            const once = new Map(ops.map((s) => [`${s.args.run} ${s.args.node}`, s.args]));
            assert.equal([...once.values()].reduce((n, a) => n + a.bytes_read, 0), known.bytes_read, name);
            assert.equal([...once.values()].reduce((n, a) => n + a.bytes_disk, 0), known.bytes_disk, name);
        }
        for (const s of perfetto.slices) assert.ok(s.end >= s.begin && (!s.parent || (s.begin >= s.parent.begin && s.end <= s.parent.end)));
        // The slices of both are the same, in the same order.
        const key = (s, begin, end) => `${s.name} ${s.category} ${begin} ${end}`;
        assert.deepEqual(chrome.slices.map((s) => key(s, Math.floor(s.ts * 1000), Math.floor((s.ts + s.dur) * 1000))), perfetto.slices.map((s) => key(s, s.begin, s.end)));
        const threads = new Set(t.op_runs.map((r) => r.thread)).size;
        const trackNames = [...perfetto.tracks.values()].map((d) => d.name);
        assert.equal(trackNames.filter((n) => /^CPU thread \d+$/.test(n)).length, threads);
        assert.equal(trackNames.filter((n) => n === "CPU").length, 1);
        const counter = (name) => perfetto.counters.filter((c) => perfetto.tracks.get(c.track).name === name).map((c) => c.value);
        assert.equal(Math.max(...counter("buffer bytes")), known.buffers.peak_bytes);
        const disk = counter("bytes read from disk");
        assert.ok(disk.length > 0 && disk.every((v, i) => i === 0 || v > disk[i - 1]));
        assert.equal(disk.at(-1), known.bytes_disk, "nothing is written to mapped files");
    }
});

test("speedscope's own importer has nothing to complain of", async () => {
    const contexts = record([host, "contexts", "-g", "6", model("tiny")]).directory;
    for (const experiment of [dense, moe, contexts]) {
        const text = readFileSync(exported(experiment, "chrome"), "utf8");
        const { slices, tracks } = readChrome(text);
        const { profiles, complaints } = await importSpeedscope("recording.json", text);
        assert.deepEqual(complaints.slice(0, 3), []);
        assert.equal(profiles.length, new Set(slices.map((s) => s.track)).size);
        // speedscope has no slices of zero length, and merges equal slices that touch, such as page
        // faults.
        const calls = profiles.reduce((n, p) => n + p.calls, 0), instant = slices.filter((s) => s.dur === 0).length;
        const ends = new Set(slices.map((s) => `${s.track} ${s.ts + s.dur} ${s.name} ${JSON.stringify(s.args)}`));
        const touching = slices.filter((s) => s.dur > 0 && ends.has(`${s.track} ${s.ts} ${s.name} ${JSON.stringify(s.args)}`)).length;
        assert.ok(calls <= slices.length && calls >= slices.length - instant - touching, `it found ${calls} of ${slices.length} slices, ${instant} of them without length, ${touching} touching one alike`);
        for (const p of profiles) assert.ok(p.deepest <= 3, `${p.name}: token, graph run, op`);
        assert.ok(profiles.some((p) => p.deepest === 3 && p.name.includes("CPU thread 0")));
        assert.ok(tracks.size >= profiles.length);
    }
});

test("contexts at the same time, and a warm-up: nothing is mixed up, nothing is missing", async () => {
    const protobuf = await installed("protobufjs");
    const warmup = record([host, "warmup", model("tiny")]).directory, atOnce = (directory) => new Set(rows(directory, "runs").runs.map((r) => r.slot)).size > 1;
    let contexts; // longer ones where the machine is so busy that the first has ended when the second begins
    for (let n = 6; n <= 96 && !(contexts && atOnce(contexts)); n *= 2) contexts = record([host, "contexts", "-g", String(n), model("tiny")]).directory;
    for (const directory of [contexts, warmup]) {
        const known = stats(directory), t = rows(directory, "steps", "runs", "op_runs");
        const ask = await overParquet(exported(directory, "parquet"), names);
        for (const [question, sql, answer] of questions.filter(([q]) => !/prompt/.test(q))) assert.deepEqual(await ask(sql), answer(known), question);
        const steps = t.steps.filter((s) => s.step >= 0);
        const out = exported(directory, "json");
        assert.equal(readdirSync(join(out, "traces")).length, known.tokens);
        assert.equal(readdirSync(join(out, "graphs")).length, known.tokens);
        for (const trace of entriesOf(out)) {
            const step = steps.find((s) => s.step === trace.token_id);
            const runs = t.runs.filter((r) => r.step === step.step);
            assert.equal(trace.entries.length, runs.reduce((n, r) => n + r.executed + r.absorbed, 0));
            assert.ok(trace.entries.every((e) => e.timestamp_ns >= step.begin_ns && e.timestamp_ns + e.duration_ns <= step.end_ns));
        }
        const { slices } = readPerfetto(protobuf, readFileSync(exported(directory, "perfetto")));
        assert.equal(slices.filter((s) => s.category === "op").length, known.op_runs);
        assert.equal(readChrome(readFileSync(exported(directory, "chrome"), "utf8")).slices.length, slices.length);
        const begins = readGgmlviz(readFileSync(exported(directory, "ggmlviz"))).filter((e) => e.type === "op begin");
        assert.equal(begins.length, known.ops);
    }
    assert.ok(atOnce(contexts), "contexts did run at the same time");
    assert.ok(rows(warmup, "runs").runs.some((r) => r.phase === 4), "there was a warm-up");
});

// ---- dot, fio, ggmlviz ----

test("dot: graphviz draws it, with all nodes, and layers as clusters", (t) => {
    if (!has("dot")) return t.skip("graphviz is not installed");
    const text = output(ggscope, ["export", dense, "-f", "dot", "--token", "1", "-o", "-"]);
    const graph = json(exported(dense, "json", "--token", "1"), "graphs", "token-00001.json");
    const plain = output("dot", ["-Tsvg", "-Gnslimit=1", "-Gnslimit1=1"], { input: text });
    assert.equal([...plain.matchAll(/class="node"/g)].length, graph.metadata.total_nodes);
    assert.equal([...plain.matchAll(/class="edge"/g)].length, graph.metadata.total_edges);
    assert.equal([...plain.matchAll(/class="cluster"/g)].length, graph.metadata.layers);
    const folder = exported(dense, "dot");
    assert.deepEqual(readdirSync(folder).sort(), Array.from({ length: tokens }, (_, i) => `token-0000${i}.dot`));
    assert.equal(readFileSync(join(folder, "token-00001.dot"), "utf8"), text);
});

test("dot: scripts that read it line by line find the nodes and edges of the json format", () => {
    const contexts = record([host, "contexts", "-g", "2", model("tiny")]).directory;
    for (const experiment of [dense, moe, contexts]) {
        const drawn = exported(experiment, "dot"), folder = exported(experiment, "json");
        for (const file of readdirSync(drawn)) {
            const { nodes, edges } = readDot(readFileSync(join(drawn, file), "utf8"));
            const graph = json(folder, "graphs", file.replace(".dot", ".json"));
            assert.ok(nodes.length > 20 && edges.length > 20);
            // For these readers a name ends at its first parenthesis: "cache_k_l0 (view)" has type
            // "view".
            const plain = (n) => !n.label.includes("(");
            const wanted = graph.nodes.map((n) => ({ id: n.id, label: n.label.split(" (")[0], dtype: plain(n) ? n.dtype : /\((.*?)\)/.exec(n.label)[1], shape: n.shape, operation: n.operation === "NONE" && n.id.startsWith("leaf") ? "CONST" : n.operation }));
            assert.deepEqual(nodes, wanted);
            assert.deepEqual(edges, graph.edges);
        }
    }
});

test("fio: replays exactly the bytes that were read from disk", (t) => {
    const file = exported(dense, "fio");
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    assert.equal(lines[0], "fio version 3 iolog");
    const reads = lines.map((l) => l.split(" ")).filter((w) => w[2] === "read");
    const known = stats(dense);
    assert.equal(reads.reduce((n, w) => n + Number(w[4]), 0), known.bytes_disk);
    assert.ok(reads.every((w, i) => Number(w[4]) > 0 && Number(w[4]) <= 1 << 20 && Number(w[3]) + Number(w[4]) <= statSync(model("tiny")).size && (i === 0 || Number(w[0]) >= Number(reads[i - 1][0]))));
    if (!has("fio")) return t.skip("fio is not installed");
    const result = JSON.parse(output("fio", ["--name=replay", `--read_iolog=${file}`, "--ioengine=psync", "--readonly", "--replay_no_stall=1", "--output-format=json"], { cwd: scratch() }));
    assert.equal(result.jobs[0].error, 0);
    assert.equal(result.jobs[0].read.total_ios, reads.length);
    assert.equal(result.jobs[0].read.io_bytes, known.bytes_disk);
    assert.equal(result.jobs[0].write.total_ios, 0);
});

test("fio: a blank in the model's name is refused; recording with a hard link helps, as the message says", () => {
    const path = scratch("two words.gguf"), linked = scratch("one-word.gguf");
    copyFileSync(model("tiny"), path);
    linkSync(path, linked);
    refused(1, [generate(path, "-n", "1").directory, "-q", "-f", "fio", "-o", fresh()], /there is a blank in its name; record with a hard link to it \(ln\)/);
    assert.match(readFileSync(exported(generate(linked, "-n", "1").directory, "fio"), "utf8"), /one-word\.gguf open/);
});

test("ggmlviz: a reader written from the format's description reads all events back", () => {
    const events = readGgmlviz(readFileSync(exported(dense, "ggmlviz")));
    const known = stats(dense), count = (type) => events.filter((e) => e.type === type).length;
    assert.ok(known.op_runs > known.ops, "on more than one thread");
    assert.equal(count("op begin"), known.ops);
    assert.equal(count("op end"), known.ops);
    assert.equal(count("graph begin"), known.runs);
    assert.equal(count("graph end"), known.runs);
    assert.equal(count("tensor alloc"), known.buffers.count);
    for (let i = 1; i < events.length; i++) assert.ok(events[i].ns >= events[i - 1].ns, "events are in order of time");
    // Like ggml-viz: an end belongs to the last begin of the same tensor.
    const open = new Map();
    let time = 0;
    for (const e of events.filter((x) => x.type.startsWith("op"))) {
        assert.equal(e.backend, 0, "NULL for the CPU");
        if (e.type === "op begin") assert.ok(!open.has(e.tensor)), open.set(e.tensor, e);
        else {
            const begin = open.get(e.tensor);
            assert.deepEqual([e.op, e.size, e.label], [begin.op, begin.size, begin.label]);
            time += e.ns - begin.ns;
            open.delete(e.tensor);
        }
    }
    assert.equal(open.size, 0);
    assert.equal(time, known.by_op.reduce((n, o) => n + o.wall_ns, 0), "the times that such a reader adds up");
    assert.equal(events.find((e) => e.type === "graph begin").threads, 2);
    assert.equal(events.find((e) => e.type === "graph begin").backend, 0);
    assert.ok(events.some((e) => e.type === "op begin" && e.label === "result_output" && e.size > 0));
});

// ---- all of them ----

const formats = ["json", "csv", "sqlite", "parquet", "chrome", "perfetto", "dot", "fio", "buffers", "ggmlviz"];

test("an export done again writes nothing again, and leaves no temporary files", () => {
    for (const format of formats) {
        const out = exported(dense, format);
        const list = () => (statSync(out).isDirectory() ? readdirSync(out, { recursive: true }).map((f) => join(out, f)).filter((f) => statSync(f).isFile()) : [out]);
        const files = list();
        assert.ok(files.every((f) => !f.includes(".tmp-")), format);
        for (const f of files) utimesSync(f, 1e9, 1e9);
        const [changed] = files;
        writeFileSync(changed, "something else");
        utimesSync(changed, 1e9, 1e9);
        const result = run(ggscope, ["export", dense, "-f", format, "-o", out]);
        assert.equal(result.status, 0, result.stderr);
        assert.deepEqual(list(), files);
        assert.deepEqual(files.filter((f) => statSync(f).mtimeMs !== 1e12), [changed], `${format}: only what changed`);
        assert.match(result.stderr, files.length === 1 ? /^wrote .*: 1 file, [^(]*$/m : new RegExp(`: ${files.length} files, .*\\(${files.length - 1} unchanged\\)`));
    }
});

test("streams go to standard output, and are the same as the file", () => {
    for (const format of ["chrome", "perfetto", "fio", "ggmlviz"]) {
        const bytes = run(ggscope, ["export", dense, "-f", format, "-o", "-"], { encoding: "buffer" });
        assert.equal(bytes.status, 0);
        assert.equal(bytes.stderr.length, 0);
        assert.ok(bytes.stdout.equals(readFileSync(exported(dense, format))), format);
        const packed = run(ggscope, ["export", dense, "-f", format, "--gzip", "-o", "-"], { encoding: "buffer" });
        assert.ok(gunzipSync(packed.stdout).equals(bytes.stdout), `${format}: gzip`);
    }
});

test("a device is written to, not replaced", () => {
    const pipe = scratch("pipe");
    output("mkfifo", [pipe]);
    const text = output("sh", ["-c", `cat '${pipe}' & '${ggscope}' export -q '${dense}' -f csv --table tokens -o '${pipe}'; wait`]);
    assert.match(text, /^token,phase/);
    assert.ok(statSync(pipe).isFIFO());
});

test("a trace that was cut off is exported as far as it goes, or refused with a sentence", () => {
    const whole = readFileSync(join(dense, "trace.ggs"));
    let done = 0;
    for (const share of [0.97, 0.8, 0.5, 0.2, 0.01]) {
        const directory = fresh();
        mkdirSync(directory);
        writeFileSync(join(directory, "experiment.json"), readFileSync(join(dense, "experiment.json")));
        writeFileSync(join(directory, "trace.ggs"), whole.subarray(0, Math.floor(whole.length * share)));
        for (const format of formats) {
            const result = run(ggscope, ["export", directory, "-q", "-f", format, "-o", fresh()]);
            assert.ok(result.status === 0 || result.status === 1, `${format} at ${share}: ${result.signal ?? result.status}`);
            done += result.status === 0;
            if (result.status === 1) assert.match(result.stderr, /^ggscope: [^\n]+\n$/m);
        }
    }
    assert.ok(done > 0, "some of it can be exported");
});

test("what cannot be done is refused with a sentence", () => {
    refused(2, [dense], /name the format/);
    refused(2, [dense, "-f", "csv"], /name the output/);
    refused(2, [dense, "-f", "yaml", "-o", "x"], /there is no format 'yaml'/);
    refused(2, [dense, "-f", "csv", "-o", "-"], /more than one stream/);
    refused(2, [dense, "-f", "sqlite", "--gzip", "-o", "x"], /--gzip cannot be used/);
    refused(2, [dense, "-f", "csv", "--table", "nothing", "-o", "-"], /there is no table 'nothing'/);
    refused(2, [dense, "-f", "chrome", "--per-thread", "-o", "-"], /--per-thread goes with/);
    refused(2, [dense, "-f", "csv", "--token", "3..1", "-o", "x"], /--token takes a token or a range/);
    refused(1, [dense, "-f", "chrome", "--token", "99", "-o", "-"], /no such token step/);
    refused(1, [scratch("nowhere"), "-f", "chrome", "-o", "-"], /nowhere/);
    const file = scratch("file");
    writeFileSync(file, "mine");
    refused(1, [dense, "-f", "csv", "-o", file], /is no directory/);
    assert.equal(readFileSync(file, "utf8"), "mine");
    const folder = fresh();
    mkdirSync(folder);
    refused(1, [dense, "-f", "chrome", "-o", folder], /is a directory/);
    refused(1, [dense, "-f", "sqlite", "-o", folder], /not a regular file/);
    refused(1, [dense, "-f", "chrome", "-o", join(file, "no", "such")], /cannot create/);
    assert.deepEqual(readdirSync(folder), []);
    assert.ok(!existsSync("x"));
});
