// What the capture library records of a stock engine, compared with the engine's output, its eval
// callback, its log, and the GGUF file.
import { test } from "node:test";
import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { basename } from "node:path";
import { engine, engineFails, ggscope, model, output, run, scratch } from "../lib.mjs";
import { check, fresh, generate, graphs, host, jsonLines, record, rows, stats, steps, told, values } from "./traces.mjs";

const tiny = model("tiny");
const models = {
    tiny, moe: model("moe"), gpt2: model("tiny", "--arch", "gpt2"), gemma3: model("tiny", "--arch", "gemma3"),
    qwen3moe: model("tiny", "--arch", "qwen3moe"), deepseek2: model("tiny", "--arch", "deepseek2"),
};
// The reason for t.skip if a model cannot be recorded.
const skips = (t, name) => { const reason = engineFails(models[name]); if (reason) t.skip(reason); return reason !== ""; };
const EMPTY = new Set(["NONE", "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE"]);
const once = (make) => { let made; return (...args) => (made ??= make(...args)); };
const distinct = (array) => [...new Set(array)];
const sum = (array) => array.reduce((a, b) => a + b, 0);
const by = (array, key) => Map.groupBy?.(array, key) ?? array.reduce((map, x) => map.set(key(x), [...(map.get(key(x)) ?? []), x]), new Map());

// One recording per model, with the same work as seen by the engine's callback.
const recordings = Object.fromEntries(Object.entries(models).map(([name, path]) => [name, once(() => record([host, "generate", path]))]));
const observed = Object.fromEntries(Object.entries(models).map(([name, path]) => [name, once(() => {
    const lines = jsonLines(output(host, ["generate", "-c", path]));
    const decodes = [];
    for (const line of lines) {
        if (line.decode) decodes.push({ nodes: [], values: [] });
        else if (line.node !== undefined) decodes.at(-1).nodes.push([line.op, line.node]);
        else if (line.of !== undefined) decodes.at(-1).values.push({ ...line, node: decodes.at(-1).nodes.length - 1 });
    }
    return { decodes, logits: lines.filter((l) => l.logits).map((l) => l.logits) };
})]));

// ---- every op ----

for (const name of Object.keys(models)) {
    test(`${name}: every node of every graph run is accounted for`, (t) => {
        if (skips(t, name)) return;
        const { directory } = recordings[name]();
        const { runs, op_runs } = rows(directory, "runs", "op_runs");
        const graph = graphs(directory);
        assert.equal(runs.length, 3);
        for (const r of runs) {
            const nodes = graph.get(r.graph);
            const mine = op_runs.filter((o) => o.run === r.run);
            const absorbed = new Set(mine.flatMap((o) => Array.from({ length: o.absorbed }, (_, i) => o.node + 1 + i)));
            const executed = new Set(mine.map((o) => o.node));
            assert.equal(r.nodes, nodes.length);
            assert.equal(r.executed + r.absorbed + r.empty + r.skipped + r.opaque + r.unseen + r.cut, r.nodes);
            assert.deepEqual([r.skipped, r.opaque, r.unseen, r.cut, r.lost, r.flags, r.status], [0, 0, 0, 0, 0, 0, 0]);
            assert.equal(r.empty, nodes.filter((n) => EMPTY.has(n.op)).length);
            assert.equal(r.executed, executed.size);
            assert.equal(r.absorbed, absorbed.size);
            for (const n of nodes) assert.equal(executed.has(n.node) + absorbed.has(n.node) + EMPTY.has(n.op), 1, `${n.node} ${n.op} ${n.name}`);
        }
        const results = check(directory);
        for (const [what, result] of Object.entries(results)) assert.equal(result, "ok", what);
        assert.equal(stats(directory).unseen, 0);
    });

    test(`${name}: nodes, names and ops are those that the engine's own callback sees`, (t) => {
        if (skips(t, name)) return;
        const { directory, stdout } = recordings[name]();
        const { decodes, logits } = observed[name]();
        const { runs } = rows(directory, "runs");
        const graph = graphs(directory);
        assert.equal(decodes.length, 3);
        runs.forEach((r, i) => assert.deepEqual(graph.get(r.graph).map((n) => [n.op, n.name]), decodes[i].nodes));
        assert.deepEqual(jsonLines(stdout).filter((l) => l.logits).map((l) => l.logits), logits);
    });
}

// ---- every thread ----

for (const threads of [1, 2, 4]) {
    test(`${threads} threads: each op has one op run per thread, in order, with its wait`, () => {
        // Few layers, because more threads than cores mostly wait.
        const { directory } = generate(model("tiny", "--layers", "2"), "-n", "3", "-t", String(threads));
        const { runs, op_runs } = rows(directory, "runs", "op_runs");
        assert.equal(runs.length, 3);
        assert.equal(op_runs.length, sum(runs.map((r) => r.executed)) * threads);
        for (const r of runs) {
            assert.deepEqual([r.threads, r.unseen, r.lost], [threads, 0, 0]);
            const mine = op_runs.filter((o) => o.run === r.run);
            const nodes = by(mine, (o) => o.node);
            for (const [node, ops] of nodes)
                assert.deepEqual(ops.map((o) => o.thread).sort(), Array.from({ length: threads }, (_, i) => i), `node ${node}`);
            assert.equal(distinct(mine.map((o) => o.os_thread)).length, threads);
            for (const lane of by(mine, (o) => o.thread).values()) {
                let last = r.begin_ns, node = -1;
                for (const o of lane) {
                    assert.ok(o.flags & 1, "ended");
                    assert.ok(o.begin_ns >= last && o.node > node, `node ${o.node} on thread ${o.thread}`);
                    assert.ok(o.inner_wait_ns <= o.duration_ns);
                    last = o.begin_ns + o.duration_ns;
                    node = o.node;
                }
                assert.ok(last <= r.end_ns);
            }
            // Threads synchronise after every op: none starts the next one before all have finished
            // this one.
            const SLACK = 1000; // readings of the clock are not synchronised
            let ended = r.begin_ns;
            for (const [node, ops] of [...nodes].sort((a, b) => a[0] - b[0])) {
                for (const o of ops) assert.ok(o.begin_ns >= ended - SLACK, `node ${node} on thread ${o.thread}`);
                ended = Math.max(...ops.map((o) => o.begin_ns + o.duration_ns));
            }
        }
        const waits = sum(op_runs.map((o) => o.wait_ns));
        assert.ok(waits > 0);
        assert.equal(check(directory).times, "ok");
    });
}

// ---- token steps ----

for (const n of [1, 5, 100]) {
    test(`-n ${n} is ${n} steps, each with all 22 layers and the tokens that the engine printed`, () => {
        const { directory, json } = generate(tiny, "-n", String(n), "-t", "1");
        const found = steps(directory);
        const { runs } = rows(directory, "runs");
        const graph = graphs(directory);
        assert.equal(found.length, n);
        assert.equal(stats(directory).tokens, n);
        assert.deepEqual(found.map((s) => s.step), Array.from({ length: n }, (_, i) => i));
        assert.deepEqual(found.map((s) => s.phase), ["PROMPT", ...Array(n - 1).fill("GENERATE")]);
        assert.equal(found[0].tokens.length, json.prompt_tokens);
        assert.deepEqual(found.slice(1).flatMap((s) => s.tokens), json.ids.slice(0, n - 1));
        assert.deepEqual(found.flatMap((s) => s.positions), Array.from({ length: json.prompt_tokens + n - 1 }, (_, i) => i));
        for (const s of found) {
            const mine = runs.filter((r) => r.step === s.step);
            assert.equal(mine.length, 1);
            const layers = distinct(graph.get(mine[0].graph).flatMap((node) => Object.values(node.sources)).map((t) => /^blk\.(\d+)\./.exec(t.name)?.[1]).filter(Boolean));
            assert.equal(layers.length, 22);
        }
    });
}

const words = "one two three four five six seven eight nine ten ".repeat(12);

test("a long prompt is one step, in however many batches and graphs it is fed", () => {
    const { directory, json } = generate(tiny, "-p", words, "-n", "2", "-t", "1", "--batch", "32", "--ubatch", "16");
    const n = json.prompt_tokens;
    const { decodes, runs } = rows(directory, "decodes", "runs");
    const found = steps(directory);
    assert.ok(n > 100 && n % 32 > 1);
    assert.deepEqual(found.map((s) => s.phase), ["PROMPT", "GENERATE"]);
    assert.deepEqual(found[0].positions, Array.from({ length: n }, (_, i) => i));
    assert.deepEqual(found[1].tokens, json.ids.slice(0, 1));
    assert.equal(decodes.filter((d) => d.step === 0).length, Math.ceil(n / 32));
    assert.equal(runs.filter((r) => r.step === 0).length, Math.ceil(n / 16));
    assert.equal(runs.filter((r) => r.step === 1).length, 1);
});

test("a prompt whose last batch holds a single token is still one step", () => {
    const { prompt_tokens: n } = JSON.parse(output(engine, ["run", "-m", tiny, "-p", words, "-n", "1", "-t", "1", "--json"]));
    const { directory } = generate(tiny, "-p", words, "-n", "2", "-t", "1", "--batch", String(n - 1));
    assert.deepEqual(steps(directory).map((s) => [s.phase, s.tokens.length]), [["PROMPT", n], ["GENERATE", 1]]);
});

const withoutNumbers = ({ context, phase, tokens, positions, sequences, outputs }) => ({ context, phase, tokens, positions, sequences, outputs });

test("a second turn is a new prompt step", () => {
    const { directory, stdout } = record([host, "turns", tiny]);
    assert.deepEqual(steps(directory).map(withoutNumbers), told(stdout));
    assert.deepEqual(steps(directory).map((s) => s.phase), ["PROMPT", "GENERATE", "GENERATE", "PROMPT", "GENERATE", "GENERATE"]);
});

test("two sequences in one batch keep apart; a third one coming in makes the step MIXED", () => {
    const { directory, stdout } = record([host, "sequences", tiny]);
    assert.deepEqual(steps(directory).map(withoutNumbers), told(stdout));
    assert.deepEqual(steps(directory).map((s) => s.phase), ["PROMPT", "GENERATE", "GENERATE", "MIXED"]);
});

for (const [threads, more, path] of [[1, 40, tiny], [2, 5, model("tiny", "--layers", "2")]]) test(`two contexts that decode at the same time, ${threads} threads each, keep apart`, () => {
    const { directory, stdout } = record([host, "contexts", "-t", String(threads), "-g", String(more), path]);
    const found = steps(directory);
    const { runs, op_runs, schedules } = rows(directory, "runs", "op_runs", "schedules");
    for (const context of [0, 1]) {
        assert.deepEqual(found.filter((s) => s.context === context).map(withoutNumbers), told(stdout).filter((d) => d.context === context));
    }
    assert.deepEqual(found.map((s) => s.step), Array.from({ length: 2 * (more + 1) }, (_, i) => i));
    assert.equal(runs.length, 2 * (more + 1));
    const contextOf = new Map(found.map((s) => [s.step, s.context]));
    const scheduler = new Map(schedules.map((s) => [s.schedule, s.scheduler]));
    for (const context of [0, 1]) {
        const mine = runs.filter((r) => contextOf.get(r.step) === context);
        assert.equal(mine.length, more + 1);
        assert.equal(distinct(mine.map((r) => r.os_thread)).length, 1);
        assert.equal(distinct(mine.map((r) => scheduler.get(r.schedule))).length, 1);
    }
    const overlapping = runs.filter((a) => runs.some((b) => a.run < b.run && contextOf.get(a.step) !== contextOf.get(b.step) && a.begin_ns < b.end_ns && b.begin_ns < a.end_ns));
    if (more === 40) assert.ok(overlapping.length > 0, "they ran at the same time");
    for (const r of runs) assert.deepEqual([r.unseen, r.cut, r.lost], [0, 0, 0]);
    assert.equal(op_runs.length, threads * sum(runs.map((r) => r.executed)));
    check(directory);
});

for (const [mode, what] of [["warmup", "under llama_set_warmup"], ["cleared", "whose memory is cleared before the next one"]]) {
    test(`a decode ${what} is a warm-up and takes no number`, () => {
        const { directory, stdout } = record([host, mode, tiny]);
        const found = steps(directory);
        assert.deepEqual(found.map(withoutNumbers), told(stdout));
        assert.deepEqual(found.map((s) => s.step), [-1, 0, 1, 2]);
        const { runs } = rows(directory, "runs");
        assert.deepEqual(runs.map((r) => [r.step, r.phase]), [[-1, 4], [0, 1], [1, 2], [2, 2]]);
        assert.equal(stats(directory).tokens, 3);
    });
}

// ---- where data lives ----

// Tensors of a model from `ggscope gguf`: name -> { file, offset, size }
function weightsOf(path) {
    const { tensors } = JSON.parse(output(ggscope, ["gguf", "--json", path]));
    const weights = new Map();
    for (const t of tensors) { // a tensor of experts is listed expert by expert, in order: name[0], name[1], ...
        const name = t.name.replace(/\[\d+\]$/, "");
        if (weights.has(name)) weights.get(name).size += t.size_bytes;
        else weights.set(name, { file: t.file, offset: t.offset_start, size: t.size_bytes });
    }
    return weights;
}

// Every operand with a weight's name, with the path of its file or origin.
function weightOperands(directory, weights) {
    const { tensors, edges, files } = rows(directory, "tensors", "edges", "files");
    const read = new Set(edges.map((e) => e.tensor));
    const path = (file) => (file === 0 ? null : files[file - 1].path);
    return tensors.filter((t) => read.has(t.tensor) && weights.has(t.name)).map((t) => ({
        name: t.name, source: ["NONE", "DISK", "BUFFER"][t.source], buffer: t.buffer,
        path: t.source === 1 ? path(t.file) : path(t.origin_file), offset: t.source === 1 ? t.file_offset : t.origin_offset,
    }));
}

function assertPlaces(operands, weights, path) {
    assert.deepEqual(distinct(operands.map((o) => o.name)).sort(), [...weights.keys()].sort());
    for (const o of operands) {
        const weight = weights.get(o.name);
        assert.equal(o.path, path(weight.file), o.name);
        assert.equal(o.offset, weight.offset, o.name);
    }
}

test("mapped weights are DISK, at the offsets of the GGUF", () => {
    const weights = weightsOf(tiny);
    const { directory } = generate(tiny, "-n", "2", "-t", "1", "--no-repack");
    const operands = weightOperands(directory, weights);
    assertPlaces(operands, weights, () => realpathSync(tiny));
    assert.deepEqual(distinct(operands.map((o) => o.source)), ["DISK"]);
});

test("repacked weights are BUFFER with their origin in the file", (t) => {
    const weights = weightsOf(tiny);
    const { directory } = generate(tiny, "-n", "2", "-t", "1");
    const operands = weightOperands(directory, weights);
    assertPlaces(operands, weights, () => realpathSync(tiny));
    const { buffers } = rows(directory, "buffers");
    const copied = operands.filter((o) => o.source === "BUFFER");
    for (const o of copied) assert.match(buffers[o.buffer - 1].type, /REPACK|AMX/, o.name);
    if (copied.length === 0) t.skip("this processor's backend repacks nothing");
});

for (const [name, path] of [["tiny", tiny], ["moe", models.moe]]) {
    test(`${name} --no-mmap: weights are BUFFER with their origin in the file`, () => {
        const weights = weightsOf(path);
        const { directory } = generate(path, "-n", "1", "-t", "1", "--no-mmap");
        const operands = weightOperands(directory, weights);
        assertPlaces(operands, weights, () => realpathSync(path));
        assert.deepEqual(distinct(operands.map((o) => o.source)), ["BUFFER"]);
    });
}

for (const options of [["--no-repack"], ["--no-mmap"], []]) {
    test(`a split model ${options.join(" ")}: the right file of three, the right offset`, () => {
        const first = scratch("split-00001-of-00003.gguf");
        run(engine, ["synth", "tiny", "--split", "3", "-o", scratch("split.gguf")]); // fails if it exists
        const weights = weightsOf(first);
        assert.equal(distinct([...weights.values()].map((w) => w.file)).length, 3);
        const { directory } = generate(first, "-n", "1", "-t", "1", ...options);
        assertPlaces(weightOperands(directory, weights), weights, (file) => realpathSync(scratch(basename(file))));
        check(directory);
    });
}

// Checks the operands of every run: `paths` and `weights` are by context.
function assertRunPlaces(directory, paths) {
    const weights = paths.map(weightsOf);
    const { runs, files } = rows(directory, "runs", "files");
    const graph = graphs(directory);
    const found = steps(directory);
    const contextOf = new Map(found.map((s) => [s.step, s.context]));
    paths.forEach((path, context) => {
        const mine = runs.filter((r) => contextOf.get(r.step) === context).flatMap((r) => graph.get(r.graph)).flatMap((n) => Object.values(n.sources)).filter((t) => weights[context].has(t.name));
        assert.deepEqual(distinct(mine.map((t) => t.name)).sort(), [...weights[context].keys()].sort());
        for (const t of mine) {
            const file = t.source === 1 ? t.file : t.origin_file;
            assert.equal(file && files[file - 1].path, path, t.name);
            assert.equal(t.source === 1 ? t.file_offset : t.origin_offset, weights[context].get(t.name).offset, `context ${context}: ${t.name}`);
        }
    });
    check(directory);
}

for (const options of [[], ["-r"], ["-f"], ["-r", "-f"]]) {
    const how = (options.includes("-r") ? "read" : "mapped") + (options.includes("-f") ? " from files that the program opens" : "");
    test(`two models in one process, ${how}: each weight in its own file`, () => {
        const { directory, stdout } = record([host, "models", ...options, tiny, models.gpt2]);
        const { contexts, files, loads } = rows(directory, "contexts", "files", "loads");
        assert.equal(distinct(contexts.map((c) => c.model)).length, 2);
        assert.deepEqual(files.filter((f) => f.gguf).map((f) => f.load), loads.map((l) => l.load));
        for (const context of [0, 1])
            assert.deepEqual(steps(directory).filter((s) => s.context === context).map(withoutNumbers), told(stdout).filter((d) => d.context === context));
        assertRunPlaces(directory, [tiny, models.gpt2].map((path) => realpathSync(path)));
    });
}

test("a model that is freed and loaded again: its weights are found both times", () => {
    const { directory } = record([host, "twice", tiny]);
    assert.deepEqual(steps(directory).map((s) => [s.step, s.context, s.phase]), [[0, 0, "PROMPT"], [1, 0, "GENERATE"], [2, 0, "GENERATE"], [3, 1, "PROMPT"], [4, 1, "GENERATE"], [5, 1, "GENERATE"]]);
    assertRunPlaces(directory, [tiny, tiny].map((path) => realpathSync(path)));
});

test("every operand of every op lies in a file or in a buffer", () => {
    for (const name of Object.keys(models).filter((one) => engineFails(models[one]) === "")) {
        const { directory } = recordings[name]();
        const { tensors, edges, nodes, buffers, files } = rows(directory, "tensors", "edges", "nodes", "buffers", "files");
        for (const number of distinct([...edges, ...nodes].map((x) => x.tensor))) {
            const t = tensors[number - 1];
            if (t.source === 1) assert.ok(t.file >= 1 && t.file_offset < files[t.file - 1].size, t.name);
            else assert.ok(t.source === 2 && t.buffer >= 1 && t.buffer_offset < buffers[t.buffer - 1].size && t.address === buffers[t.buffer - 1].address + t.buffer_offset, `${name}: ${t.name}`);
        }
    }
});

// ---- exact bytes ----

// The index data of a run: the values recorded for a node's source, once per tensor at its first
// use.
function indexOf(directory) {
    const { index, runs } = rows(directory, "index", "runs");
    const graph = graphs(directory);
    const kept = new Map();
    for (const row of index) {
        const run = runs.find((r) => r.run === row.run);
        kept.set(`${row.run} ${graph.get(run.graph)[row.node].sources[row.slot].tensor}`, row);
    }
    return { runs, graph, get: (r, node, slot) => kept.get(`${r.run} ${graph.get(r.graph)[node].sources[slot].tensor}`) };
}

for (const name of ["tiny", "moe", "qwen3moe", "deepseek2"]) {
    test(`${name}: rows, experts and routing weights are those that the engine's own callback reads`, (t) => {
        if (skips(t, name)) return;
        const { directory } = recordings[name]();
        const index = indexOf(directory);
        const seen = { GET_ROWS: 0, SET_ROWS: 0, MUL_MAT_ID: 0, MUL: 0 };
        observed[name]().decodes.forEach((decode, i) => {
            const r = index.runs[i];
            for (const line of decode.values) {
                const node = index.graph.get(r.graph)[line.node];
                const row = index.get(r, line.node, line.slot);
                assert.ok(row, `${node.op} ${line.of} source ${line.slot} (${line.source})`);
                assert.equal(row.flags, 0);
                assert.deepEqual(values(row, node.op === "MUL"), line.values, `${node.op} ${line.of}`);
                seen[node.op]++;
            }
        });
        assert.ok(seen.GET_ROWS >= 3 && seen.SET_ROWS >= 3);
        assert.equal(seen.MUL_MAT_ID > 0 && seen.MUL > 0, name !== "tiny");
    });
}

test("moe: the experts of a token come by rank, the likeliest first, and their weights add up to one", () => {
    const index = indexOf(recordings.moe().directory);
    let routings = 0;
    for (const r of index.runs) {
        for (const node of index.graph.get(r.graph).filter((n) => n.op === "MUL" && n.name.startsWith("ffn_moe_weighted"))) {
            const weights = values(index.get(r, node.node, 1), true);
            for (let at = 0; at < weights.length; at += 4, routings++) {
                const token = weights.slice(at, at + 4);
                assert.deepEqual(token, [...token].sort((a, b) => b - a));
                assert.ok(Math.abs(sum(token) - 1) < 1e-5);
            }
        }
    }
    assert.equal(routings, (23 * 5 + 1) + 24 + 24); // the last layer computes only requested outputs
});

// Bytes of a dense tensor of f32 or i32.
const bytes4 = (t) => 4 * t.ne0 * t.ne1 * t.ne2 * t.ne3;
const rowBytes = (types, t) => { const type = types.find((x) => x.type === t.type); return (t.ne0 / type.block_elements) * type.block_bytes; };

test("an embedding lookup reads the rows of its distinct tokens, not the table", () => {
    const { directory } = generate(tiny, "-p", "the the the the cat the cat", "-n", "3", "-t", "1", "--no-repack");
    const index = indexOf(directory);
    const { types, tokens } = rows(directory, "types", "tokens");
    const embedding = weightsOf(tiny).get("token_embd.weight");
    const row = embedding.size / 32000;
    let expected = 0, lookups = 0;
    for (const r of index.runs) {
        for (const node of index.graph.get(r.graph).filter((n) => n.op === "GET_ROWS")) {
            const ids = values(index.get(r, node.node, 1));
            const table = node.sources[0];
            if (table.name === "token_embd.weight") {
                const fed = tokens.filter((t) => t.step === r.step).map((t) => t.token);
                assert.deepEqual(ids, fed);
                assert.equal(rowBytes(types, table), row);
                lookups++;
            }
            expected += distinct(ids).length * rowBytes(types, table) + 4 * ids.length;
        }
    }
    const fed = distinct(tokens.map((t) => t.token));
    assert.ok(fed.length < tokens.length - 3, "tokens came twice");
    assert.equal(lookups, 3);
    const { by_op, model } = stats(directory);
    assert.equal(by_op.find((o) => o.op === "GET_ROWS").bytes_read, expected);
    // All other weights are read as a whole, and of the table only the rows of tokens.
    const weights = [...weightsOf(tiny).values()];
    assert.equal(model.bytes_touched, sum(weights.map((w) => w.size)) - embedding.size + fed.length * row);
});

test("MUL_MAT_ID reads the chosen experts, SET_ROWS writes the named rows", () => {
    const { directory } = recordings.moe();
    const index = indexOf(directory);
    const { types } = rows(directory, "types");
    let experts = 0, written = 0;
    for (const r of index.runs) {
        for (const node of index.graph.get(r.graph)) {
            if (node.op === "MUL_MAT_ID") {
                const ids = values(index.get(r, node.node, 2));
                const expert = rowBytes(types, node.sources[0]) * node.sources[0].ne1;
                experts += distinct(ids).length * expert + bytes4(node.sources[1]) + 4 * ids.length;
            }
            if (node.op === "SET_ROWS") written += distinct(values(index.get(r, node.node, 1))).length * rowBytes(types, node.tensor);
        }
    }
    const { by_op } = stats(directory);
    assert.equal(by_op.find((o) => o.op === "MUL_MAT_ID").bytes_read, experts);
    assert.equal(by_op.find((o) => o.op === "SET_ROWS").bytes_written, written);
});

// ---- buffers and transfers ----

test("buffers: every one made and freed, numbered in order, of the class and size that the engine's log says", () => {
    for (const options of [[], ["--no-mmap"], ["--no-repack"]]) {
        const { directory, stderr } = generate(tiny, "-n", "2", "-t", "1", "--verbose", ...options);
        const { buffers } = rows(directory, "buffers");
        assert.deepEqual(buffers.map((b) => b.buffer), Array.from({ length: buffers.length }, (_, i) => i + 1));
        for (const b of buffers) assert.ok(b.end_ns > b.begin_ns && b.begin_ns >= 0 && b.size > 0 && b.address > 0);
        assert.equal(check(directory)["buffer events"], "ok");
        const classes = { model: 1, KV: 2, compute: 3, output: 4 };
        const log = [...stderr.matchAll(/(\S+) +(model|KV|compute|output) buffer size = +([\d.]+) MiB/g)]
            .map(([, type, kind, size]) => `${classes[kind]} ${type} ${size}`);
        assert.ok(log.length >= 4, stderr);
        assert.deepEqual(buffers.map((b) => `${b.class} ${b.type} ${(b.size / 2 ** 20).toFixed(2)}`).sort(), log.sort());
        assert.ok(stats(directory).buffers.peak_bytes <= sum(buffers.map((b) => b.size)));
    }
});

test("buffers of several contexts and models: all freed, no number twice", () => {
    const { directory } = record([host, "models", tiny, models.gpt2]);
    const { buffers } = rows(directory, "buffers");
    assert.deepEqual(buffers.map((b) => b.buffer), Array.from({ length: buffers.length }, (_, i) => i + 1));
    for (const b of buffers) assert.ok(b.end_ns > b.begin_ns);
    for (const kind of [2, 3, 4]) assert.equal(buffers.filter((b) => b.class === kind).length, 2, `class ${kind}`);
    assert.ok(buffers.filter((b) => b.class === 1).length >= 2);
});

test("transfers: inputs in, logits out, weights from their file, each with its bytes", () => {
    const { directory } = recordings.tiny();
    const { transfers, runs, decodes } = rows(directory, "transfers", "runs", "decodes");
    const inputs = transfers.filter((t) => t.name === "inp_tokens");
    assert.deepEqual(inputs.map((t) => [t.kind, t.bytes, t.from_buffer]), [[1, 20, 0], [1, 4, 0], [1, 4, 0]]);
    inputs.forEach((t, i) => assert.ok(t.to_buffer > 0 && t.begin_ns <= runs[i].begin_ns && t.begin_ns >= decodes[i].begin_ns));
    const outputs = transfers.filter((t) => t.kind === 2);
    assert.deepEqual(outputs.map((t) => t.bytes), [32000 * 4, 32000 * 4, 32000 * 4]);
    outputs.forEach((t, i) => assert.ok(t.from_buffer > 0 && t.begin_ns >= runs[i].begin_ns));
    const weights = weightsOf(tiny);
    for (const t of transfers.filter((x) => weights.has(x.name))) {
        assert.deepEqual([t.kind, t.bytes, t.file_offset], [1, weights.get(t.name).size, weights.get(t.name).offset], t.name);
        assert.ok(t.file > 0 && t.to_buffer > 0);
    }
});

// ---- the same output ----

for (const [name, options] of [["tiny", ["-n", "8"]], ["moe", ["-n", "4"]], ["tinyllama-1.1b", ["-n", "2", "--no-repack"]]]) {
    for (const threads of ["1", "2"]) {
        test(`${name}, ${threads} threads: recording changes no logits`, () => {
            const args = ["-p", "Once", "--logits-hash", "-t", threads, ...options];
            const path = model(name);
            const plain = JSON.parse(output(engine, ["run", "-m", path, "--json", "--ignore-eos", ...args]));
            const { directory, json } = generate(path, ...args);
            assert.match(plain.logits_hash, /^[0-9a-f]{16}$/);
            assert.equal(json.logits_hash, plain.logits_hash);
            assert.deepEqual(json.ids, plain.ids);
            assert.equal(stats(directory).tokens, json.ids.length);
        });
    }
}

// ---- losses ----

// Space runs out within a run, which is then cut, or between two, depending on other records.
for (const size of ["4M", "5M"]) {
    test(`recording that ends for want of room after ${size}: what is missing is of the CPU, with its run and its time`, () => {
        const directory = fresh();
        // Many small ops, so that lanes fill up long before the journal. Units older than three
        // seconds are sealed, which frees space.
        const quick = model("tiny", "--layers", "60", "--embd", "64", "--ff", "64", "--heads", "2", "--kv-heads", "1");
        const result = run(ggscope, ["record", "-q", "--no-faults", "-o", directory, "--max-size", size, "--", engine, "run", "-m", quick, "-p", "Hello", "-n", "400", "--ignore-eos", "-t", "1"]);
        assert.equal(result.status, 0, result.stderr);
        const { runs, losses, lanes, devices } = rows(directory, "runs", "losses", "lanes", "devices");
        assert.equal(sum(runs.map((r) => r.opaque)), 0);
        const cut = runs.filter((r) => r.flags & 4), rest = losses.filter((l) => l.run === 0);
        assert.equal(rest.length, 1); // from there on
        assert.ok(rest[0].begin_ns >= runs.at(-1).end_ns && rest[0].end_ns > rest[0].begin_ns && rest[0].count > 0);
        assert.ok(cut.length <= 1); // the run without space; later ones are not recorded
        const own = losses.filter((l) => l.run !== 0);
        assert.deepEqual(own.map((l) => [l.run, l.count]), cut.map((r) => [r.run, r.lost]));
        for (const [i, one] of cut.entries()) {
            assert.equal(one, runs.at(-1));
            assert.ok(one.cut > 300 && one.executed === 0 && one.lost === one.nodes);
            assert.ok(own[i].begin_ns >= one.begin_ns && own[i].end_ns <= one.end_ns && own[i].count < rest[0].count);
        }
        assert.deepEqual(devices.map((d) => [d.name, d.type, d.seen]), [["CPU", 1, 2]]);
        assert.deepEqual(lanes.map((l) => [l.device, l.slot, l.queue, l.kind]), [[1, 0, 0, 1]]);
    });
}
