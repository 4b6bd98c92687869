// Programs on ggml without llama.cpp: one for speech recognition (weights in GGUF), one for
// pictures (weights in its own format, or in no file). Their steps are graph runs, and every verb
// and export says so.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { fresh, jsonLines, rows } from "./traces.mjs";

const speech = join(build, "tests", "whisper-host"), pictures = join(build, "tests", "diffusion-host");
const skip = existsSync(speech) ? false : "built for the pinned engine only";
const backends = skip ? "" : JSON.parse(output(engine, ["run", "-m", model("tiny", "--layers", "2"), "-p", "x", "-n", "1", "-t", "1", "--json"])).engine.directory;
const words = scratch("speech.gguf"), paints = scratch("paints.bin");
if (!skip) {
    output(speech, ["make", words]);
    output(pictures, ["make", paints]);
}

const programs = {
    ...Object.fromEntries(["read", "set", "map", "stream", "bytes", "overwritten", "reused", "unseen", "partly"].map((l) => [`speech-${l}`, [speech, "run", words, "-b", backends, "-l", l, "-t", "1"]])),
    ...Object.fromEntries(["backend", "context", "scheduler"].map((c) => [`pictures-${c}`, [pictures, "run", paints, "-c", c, "-t", "1"]])),
    ...Object.fromEntries(["read", "set"].map((l) => [`pictures-${l}`, [pictures, "run", paints, "-l", l, "-t", "1"]])),
    "pictures-alone": [pictures, "run", "-t", "1"],
};
const recordings = new Map();
function recorded(name) {
    if (!recordings.has(name)) {
        const directory = fresh(), [program, ...args] = programs[name];
        const result = run(ggscope, ["record", "-q", "--no-faults", "-o", directory, "--", program, ...args]);
        assert.equal(result.status, 0, result.stderr);
        assert.doesNotMatch(result.stderr, /^ggscope: /m);
        recordings.set(name, { directory, told: jsonLines(result.stdout), plain: jsonLines(output(program, args)) });
    }
    return recordings.get(name);
}
const json = (verb, directory, ...options) => JSON.parse(output(ggscope, [verb, "--json", ...options, directory]));

for (const name of Object.keys(programs)) {
    test(`${name}: computes what it computes alone; every graph is a step, and whole`, { skip }, () => {
        const { directory, told, plain } = recorded(name);
        assert.deepEqual(told, plain);
        const { runs, steps } = rows(directory, "runs", "steps");
        assert.deepEqual(runs.map((r) => r.nodes), told.map((t) => t.nodes));
        assert.deepEqual(runs.map((r) => [r.step, r.phase, r.unseen, r.cut, r.lost]), told.map((_, i) => [i, 6, 0, 0, 0]));
        assert.deepEqual(steps.map((s) => [s.step, s.phase, s.runs, s.tokens, s.decodes]), told.map((_, i) => [i, 6, 1, 0, 0]));
        for (const s of steps) assert.ok(s.end_ns > s.begin_ns);
        const checked = output(ggscope, ["check", directory]);
        assert.doesNotMatch(checked, /^FAILED/m);
        assert.equal(/(is|are) gone/.test(checked), name === "speech-unseen"); // its file is in the program's memory
        assert.match(checked, /tokens +the program has no tokens/);
        if (name.startsWith("pictures")) assert.match(checked, /model map +the program opened no GGUF file/);
    });
}

test("values of an encoder and a decoder: the results are the same, every op has values, weights too", { skip }, () => {
    for (const load of ["map", "read", "overwritten"]) {
        const directory = fresh(), words_ = [speech, "run", words, "-b", backends, "-l", load, "-t", "2"];
        const told = jsonLines(output(ggscope, ["record", "-q", "--no-faults", "--values", "-o", directory, "--", ...words_]));
        assert.deepEqual(told, jsonLines(output(words_[0], words_.slice(1))));
        const { runs, op_values, nodes } = rows(directory, "runs", "op_values", "nodes");
        const outputs = op_values.filter((v) => v.flags === 0), weights = op_values.filter((v) => v.flags > 0 && v.flags < 256);
        assert.deepEqual([...new Set(outputs.map((v) => v.run))], runs.map((r) => r.run));
        assert.ok(outputs.length > runs.length * 40 && weights.length > 50 && nodes.length > 0, `${outputs.length} outputs, ${weights.length} weights`);
        assert.ok([...outputs, ...weights].every((v) => v.nan === 0));
        assert.equal(run(ggscope, ["diff", "--values", directory, directory]).status, 0);
    }
});

// ---- where weights come from ----

// The weights of the pictures follow each other, after 4096 bytes.
function placesInPaints(directory) {
    const { tensors, files } = rows(directory, "tensors", "files");
    const weights = new Map(tensors.filter((t) => t.name.endsWith(".weight") && t.view === 0).map((t) => [t.name, t]));
    assert.equal(weights.size, 12);
    return { weights: [...weights.values()], files };
}

test("weights of a file that is no GGUF, mapped: DISK, at their offsets", { skip }, () => {
    const { weights, files } = placesInPaints(recorded("pictures-backend").directory);
    assert.deepEqual(files.map((f) => [f.path, f.size, f.gguf]), [[paints, statSync(paints).size, 0]]);
    for (const w of weights) assert.deepEqual([w.source, w.file], [1, 1], w.name);
    assert.deepEqual([Math.min(...weights.map((w) => w.file_offset)), weights.find((w) => w.name === "conv_out.weight").file_offset], [4096, 55808]);
});

for (const name of ["pictures-read", "pictures-set"]) {
    test(`${name}: their origin is where the reads were seen to take them from`, { skip }, () => {
        const mapped = new Map(placesInPaints(recorded("pictures-backend").directory).weights.map((w) => [w.name, w.file_offset]));
        const { weights, files } = placesInPaints(recorded(name).directory);
        assert.deepEqual(files.map((f) => f.path), [paints]);
        for (const w of weights) assert.deepEqual([w.source, w.origin_file, w.origin_offset], [2, 1, mapped.get(w.name)], w.name);
        const stats = json("stats", recorded(name).directory);
        assert.equal(stats.model.bytes, statSync(paints).size);
        assert.equal(stats.model.bytes_touched, statSync(paints).size - 4096); // all but the header
    });
}

test("weights without a file: no origin, no model, and nothing is made up", { skip }, () => {
    const { directory } = recorded("pictures-alone");
    const { weights, files } = placesInPaints(directory);
    assert.deepEqual(files, []);
    for (const w of weights) assert.deepEqual([w.source, w.file, w.origin_file], [2, 0, 0], w.name);
    assert.equal(json("stats", directory).model.bytes, 0);
    assert.match(run(ggscope, ["paging", directory]).stderr, /^ggscope: no op of these graph runs reads bytes of a file: there is nothing to page\n$/);
});

test("GGUF of another kind: weights lie where the file says, however they were loaded", { skip }, () => {
    const places = new Map(json("gguf", words).tensors.map((t) => [t.name, t.offset_start]));
    for (const name of ["speech-read", "speech-set", "speech-map", "speech-stream", "speech-bytes"]) {
        const { tensors } = rows(recorded(name).directory, "tensors");
        let seen = 0;
        for (const t of tensors.filter((t) => places.has(t.name) && t.view === 0)) {
            assert.equal(t.source === 1 ? t.file_offset : t.origin_offset, places.get(t.name), `${name}: ${t.name}`);
            seen++;
        }
        assert.ok(seen >= places.size, `${seen} of ${places.size}`);
        assert.match(output(ggscope, ["check", recorded(name).directory]), /model map +\d+ weights lie where the GGUF says/);
    }
});

for (const name of ["speech-overwritten", "speech-reused"]) {
    test(`${name}: of a weight that the program wrote over what it had read, the origin is not known`, { skip }, () => {
        const places = new Map(json("gguf", words).tensors.map((t) => [t.name, t.offset_start])), { directory } = recorded(name);
        const weights = rows(directory, "tensors").tensors.filter((t) => places.has(t.name) && t.view === 0);
        const computed = new Set([...places.keys()].filter((_, i) => i % 2 === 1));
        assert.ok(weights.some((t) => computed.has(t.name)) && weights.some((t) => !computed.has(t.name)));
        for (const t of weights) assert.deepEqual([t.origin_file, t.origin_offset], computed.has(t.name) ? [0, 0] : [1, places.get(t.name)], t.name);
        assert.equal(json("stats", directory).model.stray_weights, new Set(weights.filter((t) => computed.has(t.name)).map((t) => t.name)).size);
    });
}

test("weights that a program brings in ways that are not seen are counted apart, and no curve is drawn of them", { skip }, () => {
    const { directory } = recorded("speech-unseen");
    const seen = json("stats", recorded("speech-read").directory), stats = json("stats", directory);
    assert.equal(seen.model.stray_weights, 0);
    assert.equal(stats.model.stray_weights, json("gguf", words).tensors.length);
    assert.equal(stats.model.bytes_touched, 0);
    assert.match(output(ggscope, [directory]), new RegExp(`^origin +of ${stats.model.stray_weights} weights .* unknown`, "m"));
    const paging = run(ggscope, ["paging", directory]);
    assert.equal(paging.status, 1);
    assert.equal(paging.stdout, "");
    assert.match(paging.stderr, /^ggscope: [^\n]*\n$/);
    assert.match(paging.stderr, new RegExp(`the origin of ${stats.model.stray_weights} weights .* was not seen.*no estimate`));
});

test("weights that are copied unseen beside mapped ones are counted by their names", { skip }, () => {
    const { directory } = recorded("speech-partly"), tensors = json("gguf", words).tensors, copied = tensors.filter((t, i) => i % 2 === 1 && t.name.endsWith(".weight"));
    const { model } = json("stats", directory);
    assert.equal(model.stray_weights, copied.length);
    assert.ok(model.bytes_touched > 0 && model.bytes_touched < json("stats", recorded("speech-map").directory).model.bytes_touched);
    assert.match(run(ggscope, ["paging", directory]).stderr, /^ggscope: the origin of \d+ weights \([^)]*\) was not seen, and the other \S+ \S+ say too little of the model: there is no estimate\n$/);
});

test("gguf shows a file without block_count and tokenizer, with its layers and components", { skip }, () => {
    const text = output(ggscope, ["gguf", words]);
    assert.match(text, /whisper/);
    const tensors = json("gguf", words).tensors;
    const query = tensors.find((t) => t.name === "decoder.blocks.1.cross_attn.query.weight");
    assert.deepEqual([query.layer_id, query.component_type, query.category], [1, "Cross Attention Q", "attention"]);
});

test("a convolution's im2col reads the picture, of the kernel only its shape: proved by the pages it touches", { skip }, () => {
    const directory = fresh();
    const result = run(ggscope, ["record", "-q", "--no-faults", "--prove", "-o", directory, "--", ...programs["speech-map"]]);
    assert.equal(result.status, 0, result.stderr);
    const proof = json("prove", directory);
    assert.deepEqual([proof.pages_predicted, proof.pages_both], [proof.pages_touched, proof.pages_touched]);
});

// ---- words ----

const verbs = [["stats"], ["stats", "--by", "token"], ["stats", "--by", "layer"], ["stats", "--by", "component"], ["stats", "--by", "tensor"], ["stats", "--by", "thread"],
    ["stats", "--by", "device"], ["log"], ["log", "--faults"], ["graph"], ["graph", "--token", "2"], ["graph", "--dot"], ["buffers"], ["experts"], ["paging"]];

for (const name of ["speech-read", "pictures-backend"]) {
    test(`${name}: every verb works, and none speaks of tokens`, { skip }, () => {
        const { directory } = recorded(name);
        for (const verb of verbs) {
            const text = output(ggscope, [...verb, directory]).replace(/token.embedding/gi, "");
            assert.doesNotMatch(text, /token/i, verb.join(" "));
            assert.notEqual(text.trim(), "", verb.join(" "));
        }
        const text = output(ggscope, ["stats", directory]);
        assert.match(text, /^graphs +\d runs: /m);
        assert.doesNotMatch(text, /mmap/); // llama.cpp's programs do that
        assert.match(output(ggscope, ["stats", "--by", "token", directory]), /^graph run +ops/m);
        assert.match(run(ggscope, ["graph", "--token", "9", directory]).stderr, /^ggscope: there is no graph of graph run 9; the experiment has [35] of them, from 0\n$/);
        assert.match(run(ggscope, ["stats", "--token", "9", directory]).stderr, /^ggscope: there is no graph run 9: this recording has graph runs 0 to [24]\n$/);
        const stats = json("stats", directory);
        assert.deepEqual([stats.step_kind, stats.tokens, stats.prompt_tokens, stats.generated_tokens, stats.tokens_per_second],
            ["graph run", recorded(name).told.length, 0, 0, null]);
        const graph = json("graph", directory);
        assert.deepEqual([graph.token, graph.phase, graph.runs.length], [0, "GRAPH", 1]);
    });
}

test("a llama program's steps are tokens still", { skip }, () => {
    const directory = fresh();
    output(ggscope, ["run", "-q", "-m", model("tiny", "--layers", "2"), "-p", "Hello", "-n", "2", "-t", "1", "--ignore-eos", "-o", directory]);
    assert.equal(json("stats", directory).step_kind, "token");
});

test("diff of two runs of such a program", { skip }, () => {
    const diff = json("diff", recorded("pictures-backend").directory, recorded("pictures-scheduler").directory);
    assert.deepEqual([diff.tokens, diff.ops_only_a, diff.ops_only_b, diff.token_parted], [3, 0, 0, null]);
    assert.doesNotMatch(output(ggscope, ["diff", recorded("speech-read").directory, recorded("speech-map").directory]).replace(/token.embedding/gi, ""), /token/i);
});

// ---- exports ----

const formats = ["json", "csv", "sqlite", "parquet", "chrome", "perfetto", "dot", "buffers", "ggmlviz"];
for (const name of ["speech-map", "pictures-alone"]) {
    test(`${name}: every export format has something in it`, { skip }, () => {
        const { directory, told } = recorded(name);
        for (const format of formats) {
            const to = join(scratch(), `export-${name}-${format}`);
            output(ggscope, ["export", "-q", "--format", format, "-o", to, directory]);
            if (format === "dot") {
                assert.equal(readdirSync(to).length, told.length);
                assert.match(readFileSync(join(to, "token-00000.dot"), "utf8"), /IM2COL/);
            }
            if (format === "json") {
                assert.equal(readdirSync(join(to, "graphs")).length, told.length);
                assert.equal(JSON.parse(readFileSync(join(to, "traces", "token-00001.json"), "utf8")).entries.length, rows(directory, "runs").runs[1].executed);
                assert.doesNotMatch(output(ggscope, ["check", to]), /^FAILED/m);
            }
            if (format === "chrome") {
                const slices = JSON.parse(readFileSync(to, "utf8")).traceEvents.filter((e) => e.cat === "token" && e.ph === "X");
                assert.ok(slices.length >= told.length && slices.every((s) => /^step \d+$/.test(s.name)), JSON.stringify(slices[0]));
            }
        }
    });
}

test("the server answers all of the page's questions about such a program", { skip }, async () => {
    const { serve } = await import("../browser/browser.mjs");
    const server = await serve(recorded("pictures-alone").directory);
    try {
        const get = async (path) => {
            const answer = await fetch(`${server.url}api/x/0/${path}`);
            assert.equal(answer.status, 200, `${path}: ${await answer.clone().text()}`);
            return answer;
        };
        assert.equal((await (await get("summary")).json()).step_kind, "graph run");
        assert.equal((await (await get("graph?token=1")).json()).token, 1);
        for (const path of ["tokens?bins=10", "stats", "heat", "map", "log?from=0&count=10", "occupancy"]) await get(path);
    } finally {
        await server.stop();
    }
});
