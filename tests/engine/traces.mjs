// Shared by the tests of the capture library: recording a program, and reading the rows of its
// trace.
import assert from "node:assert/strict";
import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, output, preloadable, run, scratch } from "../lib.mjs";

export const host = join(build, "tests", "host");
export const library = preloadable(join(build, "lib", "libggscope-capture.so"));
scratch(); // creates the directory
let counter = 0;
export const fresh = () => scratch(`e${counter++}`);
export const jsonLines = (text) => text.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));

// Records a program that must succeed without messages of ggscope. Returns its stdout and the
// experiment.
export function record(command, options = {}) {
    const directory = fresh();
    const result = run(ggscope, ["record", "-q", "-o", directory, "--", ...command], options);
    assert.equal(result.status, 0, `${command.join(" ")}: exit ${result.status ?? result.signal}\n${result.stderr}`);
    assert.doesNotMatch(result.stderr, /^ggscope: /m);
    return { directory, stdout: result.stdout, stderr: result.stderr };
}

// The same for ggscope-engine; `json` is what it printed.
export function generate(path, ...options) {
    const command = [engine, "run", "-m", path, "--json", "--ignore-eos", ...options];
    const recorded = record(options.some((o) => o === "-p" || o === "-f") ? command : [...command, "-p", "Once upon a time"]);
    return { ...recorded, json: JSON.parse(recorded.stdout) };
}

// The segments of a live recording: [{ name, lane, sequence, pid }]; lane is a number, "journal" or
// "machine". A file counts once it has a header.
export function segments(directory) {
    const spool = join(directory, "spool"), header = Buffer.alloc(64), found = [];
    for (const name of existsSync(spool) ? readdirSync(spool).filter((file) => file.endsWith(".seg")) : []) {
        let file;
        try { file = openSync(join(spool, name), "r"); } catch { continue; } // it has been sealed
        const whole = readSync(file, header, 0, 64, 0) === 64 && header.toString("latin1", 0, 8) === "GGSPOOL1", lane = header.readUInt32LE(12);
        closeSync(file);
        if (whole) found.push({ name, lane: { 0xffff: "journal", 0xfffe: "machine" }[lane] ?? lane, sequence: header.readUInt32LE(16), pid: header.readUInt32LE(20) });
    }
    return found;
}
export const hasLane = (directory) => segments(directory).some(({ lane }) => typeof lane === "number");

// Rows of tables by their names: rows(directory, "runs", "steps") -> { runs: [...], steps: [...] }
export function rows(directory, ...tables) {
    const result = Object.fromEntries(tables.map((name) => [name, []]));
    for (const row of jsonLines(output(join(build, "tests", "trace-dump"), [directory, ...tables]))) result[row.table].push(row);
    return result;
}

// The graphs of a trace: number -> nodes in order, each { op, name, tensor, sources: { slot: tensor
// } }. A graph stored as a difference has its own rows in place of its base's.
export function graphs(directory) {
    const t = rows(directory, "graphs", "nodes", "edges", "tensors", "ops");
    const names = new Map(t.ops.map((op) => [op.op, op.name]));
    const tensor = (number) => t.tensors[number - 1];
    const own = new Map(t.graphs.map((g) => [g.graph, { nodes: new Map(), edges: new Map() }]));
    for (const n of t.nodes) own.get(n.graph).nodes.set(n.node, n);
    for (const e of t.edges) own.get(e.graph).edges.set(`${e.node} ${e.slot}`, e);
    return new Map(t.graphs.map((g) => {
        const merged = (what) => new Map([...(g.base ? own.get(g.base)[what] : []), ...own.get(g.graph)[what]]);
        const nodes = [...merged("nodes").values()].sort((a, b) => a.node - b.node)
            .map((n) => ({ node: n.node, op: names.get(n.op), name: tensor(n.tensor).name, tensor: tensor(n.tensor), sources: {} }));
        for (const e of merged("edges").values()) nodes[e.node].sources[e.slot] = tensor(e.tensor);
        assert.equal(nodes.length, g.nodes);
        return [g.graph, nodes];
    }));
}

// The values of index data, by the element's width; routing weights are 32-bit floats.
export function values(row, float = false) {
    const bytes = Buffer.from(row.data, "hex");
    const read = row.width === 8 ? (i) => Number(bytes.readBigInt64LE(i)) : float ? (i) => bytes.readFloatLE(i) : (i) => bytes.readInt32LE(i);
    return Array.from({ length: bytes.length / row.width }, (_, i) => read(i * row.width));
}

// ggscope check, whose answer must have no FAIL. Returns the results by name.
export function check(directory) {
    const result = run(ggscope, ["check", "--json", directory]);
    assert.notEqual(result.stdout, "", result.stderr);
    const answer = JSON.parse(result.stdout);
    assert.deepEqual(answer.checks.filter((c) => c.result === "FAIL"), []);
    assert.equal(result.status, 0);
    return Object.fromEntries(answer.checks.map((c) => [c.name, c.result]));
}

export const stats = (directory) => JSON.parse(output(ggscope, ["stats", "--json", directory]));
export const experiment = (directory) => JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));

export const phases = ["NONE", "PROMPT", "GENERATE", "MIXED", "WARMUP", "VERIFY"];

// The steps of a trace in the form of a program that prints its decodes, grouped by context.
export function steps(directory) {
    const t = rows(directory, "steps", "tokens");
    return t.steps.map((s) => {
        const tokens = t.tokens.slice(s.first_token, s.first_token + s.tokens);
        for (const token of tokens) assert.equal(token.step, s.step);
        return {
            context: s.context, step: s.step, phase: phases[s.phase], runs: s.runs,
            tokens: tokens.map((x) => x.token), positions: tokens.map((x) => x.position), sequences: tokens.map((x) => x.sequence),
            outputs: tokens.map((x) => x.output),
        };
    });
}

// The decodes that host printed, in the same form.
export const told = (stdout) => jsonLines(stdout).filter((line) => line.decode)
    .map((d) => ({ context: d.context, phase: d.decode, tokens: d.tokens, positions: d.positions, sequences: d.sequences, outputs: d.outputs }));

// The rows of an exported table, every cell as text.
export function table(directory, name) {
    const rows = output(ggscope, ["export", "-f", "csv", "--table", name, "-q", "-o", "-", directory]).trim().split("\n");
    const keys = rows.shift().split(",");
    return rows.map((row) => Object.fromEntries(row.match(/("([^"]|"")*"|[^,]*)(,|$)/g).map((cell, i) => [keys[i], cell.replace(/,$/, "")])));
}

// Every node of a graph run was computed, alone or fused, or had nothing to compute.
export function accounted(row) {
    const n = (key) => Number(row[key]);
    assert.equal(n("executed") + n("absorbed") + n("empty") + n("skipped"), n("nodes"), JSON.stringify(row));
    assert.ok(n("unseen") === 0 && n("opaque") === 0 && n("lost") === 0 && n("cut") === 0, JSON.stringify(row));
}

// A library that passes calls of ggml_barrier directly to the engine, hidden from hooks. Preloaded
// in front of ours, it simulates an engine whose compiler inlined the barrier.
export function hidingBarrier() {
    writeFileSync(scratch("hide.c"), `
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdlib.h>
        void ggml_barrier(void * pool) {
            static void (*real)(void *);
            if (real == NULL) {
                Dl_info info;
                if (dladdr(__builtin_return_address(0), &info) == 0) abort();
                void * library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
                if (library == NULL || (real = (void (*)(void *)) dlsym(library, "ggml_barrier")) == NULL) abort();
            }
            real(pool);
        }`);
    output("gcc", ["-shared", "-fPIC", "-O2", "-o", scratch("hide.so"), scratch("hide.c")]);
    return preloadable(scratch("hide.so"));
}
