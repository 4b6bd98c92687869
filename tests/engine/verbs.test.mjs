// The verbs that show a recording: log, graph, experts, buffers, diff. What they say is computed a second time here, from the rows of
// the trace.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, cpSync, mkdirSync, readFileSync, truncateSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output, run, scratch } from "../lib.mjs";
import { fresh, generate, graphs, rows, stats, values } from "./traces.mjs";

const verb = (...args) => output(ggscope, args);
const json = (...args) => JSON.parse(verb(...args, "--json"));
const sum = (list, key) => list.reduce((total, item) => total + (key ? item[key] : item), 0);
const lines = (text) => text.trimEnd().split("\n");

const moe = generate(model("moe"), "-n", "6", "-t", "2", "--ubatch", "4").directory; // the prompt takes two graphs
const tiny = generate(model("tiny"), "-n", "6", "-t", "1").directory;
const all = json("log", moe).ops;

// Text fits 80 columns where it is piped.
function fits(text) {
    for (const line of lines(text)) assert.ok([...line].length <= 80, `${[...line].length} columns: ${line}`);
    return text;
}

// ---- log ----

test("log has every op of stats, and the same bytes", () => {
    const totals = stats(moe);
    assert.equal(all.length, totals.ops + totals.absorbed);
    assert.equal(all.filter((op) => op.fused === null).length, totals.ops);
    assert.equal(sum(all, "bytes_read"), totals.bytes.read);
    assert.equal(sum(all, "bytes_written"), totals.bytes.written);
    assert.equal(sum(all, "bytes_disk"), totals.bytes.disk);
    for (const op of all) {
        assert.equal(sum(op.operands.filter((o) => o.access === "read"), "bytes"), op.bytes_read);
        assert.equal(sum(op.operands.filter((o) => o.access === "write"), "bytes"), op.bytes_written);
    }
    assert.deepEqual([...new Set(all.map((op) => op.token))], [0, 1, 2, 3, 4, 5]);
    assert.equal(lines(fits(verb("log", moe))).length, all.length + 1);
});

test("log's filters pass what they say", () => {
    const same = (args, keep) => {
        const expected = all.filter(keep);
        assert.ok(expected.length > 0 && expected.length < all.length, `${args.join(" ")}: ${expected.length} ops`);
        const key = (op) => `${op.run}.${op.node}`;
        assert.deepEqual(json("log", moe, ...args).ops.map(key), expected.map(key), args.join(" "));
    };
    const end = (op) => op.begin_ns + op.duration_ns;
    const middle = all[Math.floor(all.length / 2)].begin_ns, later = middle + 2_000_000;
    const offset = all.find((op) => op.tensor === "ffn_moe_down-3" && op.token === 2).source;
    const at = offset.disk_offset ?? offset.origin_offset;
    const touches = (o, from, to) => (o.disk_offset ?? o.origin_offset) < to && (o.disk_offset ?? o.origin_offset) + o.bytes > from;
    same(["--token", "2"], (op) => op.token === 2);
    same(["--token", "1..3"], (op) => op.token >= 1 && op.token <= 3);
    same(["--token", "4.."], (op) => op.token >= 4);
    same(["--token", "..0"], (op) => op.token === 0);
    same(["--layer", "7"], (op) => op.layer === 7);
    same(["--layer", "none"], (op) => op.layer === null);
    same(["--op", "mul_mat_id"], (op) => op.op === "MUL_MAT_ID");
    same(["--tensor", "blk.5.attn_q.*"], (op) => op.operands.some((o) => /^blk\.5\.attn_q\./.test(o.name)));
    same(["--source", "disk"], (op) => op.operands.some((o) => o.memory_source === "DISK"));
    same(["--source", "disk", "--layer", "2", "--token", "3"], (op) => op.layer === 2 && op.token === 3 && op.operands.some((o) => o.memory_source === "DISK"));
    same(["--buffer", "4"], (op) => op.operands.some((o) => o.buffer_id === 4));
    same(["--since", `${middle}`], (op) => end(op) > middle || op.begin_ns >= middle);
    same(["--until", `${middle}ns`], (op) => op.begin_ns < middle);
    same(["--since", `${middle}`, "--until", `${later}`], (op) => op.begin_ns < later && (end(op) > middle || op.begin_ns >= middle));
    // One byte that only these weights have; whole operands, because what is sparse has several ranges.
    same(["--range", `${at}`], (op) => op.operands.some((o) => o.ranges === 1 && touches(o, at, at + 1)) ||
        op.operands.some((o) => o.ranges > 1 && (o.disk_offset ?? o.origin_offset) === at));
});

test("log --thread gives that thread's own times", () => {
    const t = rows(moe, "op_runs").op_runs.filter((r) => r.thread === 1);
    const ops = json("log", moe, "--thread", "1").ops;
    assert.equal(ops.filter((op) => op.fused === null).length, t.length);
    const byKey = new Map(t.map((r) => [`${r.run}.${r.node}`, r]));
    for (const op of ops) {
        const row = byKey.get(`${op.run}.${op.fused ?? op.node}`), counts = op.fused === null ? 1 : 0; // time counts once
        assert.equal(op.begin_ns, row.begin_ns);
        assert.equal(op.duration_ns, counts * row.duration_ns);
        assert.equal(op.wait_ns, counts * (row.wait_ns + row.inner_wait_ns));
    }
});

test("log sorts, limits, and writes CSV", () => {
    const longest = [...all].sort((a, b) => b.duration_ns - a.duration_ns || a.run - b.run || a.node - b.node);
    assert.deepEqual(json("log", moe, "--sort", "duration", "--limit", "5").ops, longest.slice(0, 5));
    assert.deepEqual(json("log", moe, "--limit", "3").ops, all.slice(0, 3));
    const byName = [...all].sort((a, b) => (a.tensor < b.tensor ? -1 : a.tensor > b.tensor ? 1 : a.run - b.run || a.node - b.node));
    assert.deepEqual(json("log", moe, "--sort", "tensor").ops, byName);
    const csv = lines(verb("log", moe, "--csv")).map((line) => line.trimEnd().split(",")); // no name here has a comma
    const column = (row, name) => row[csv[0].indexOf(name)];
    assert.equal(csv.length, all.length + 1);
    csv.slice(1).forEach((row, i) => {
        assert.equal(row.length, csv[0].length);
        assert.equal(column(row, "tensor"), all[i].tensor);
        assert.equal(column(row, "layer"), all[i].layer === null ? "" : `${all[i].layer}`);
        assert.equal(+column(row, "bytes_read"), all[i].bytes_read);
        assert.equal(column(row, "source"), all[i].source.memory_source);
        assert.equal(+column(row, "duration_ns"), all[i].duration_ns);
    });
});

test("log ends quietly when its reader goes away, and uses a wide terminal", () => {
    const head = run("sh", ["-c", `"${ggscope}" log "${moe}" | head -n 2`]);
    assert.equal(lines(head.stdout).length, 2);
    assert.equal(head.stderr, "");
    const wide = output(ggscope, ["log", moe, "--limit", "40"], { env: { ...process.env, COLUMNS: "140" } });
    assert.match(wide, /^ +# +time token op +tensor +L +T +bytes source +took +wait\n/);
    assert.match(wide, /ffn_moe_weights_sum_clamped-0 /);
});

test("what cannot be understood is refused before anything is read", () => {
    for (const args of [["--token", "x"], ["--token", "5..2"], ["--layer", "-3"], ["--range", "9..1"], ["--source", "tape"], ["--since", "soon"],
        ["--sort", "colour"], ["--buffer", "0"], ["--thread", "-1"]]) {
        const result = run(ggscope, ["log", moe, ...args]);
        assert.equal(result.status, 2, args.join(" "));
        assert.equal(result.stdout, "");
    }
    assert.equal(run(ggscope, ["diff", moe]).status, 2);
    for (const args of [["log", scratch("none")], ["graph", scratch("none")], ["experts", scratch("none")], ["buffers", scratch("none")], ["diff", moe, scratch("none")]]) {
        const result = run(ggscope, args);
        assert.equal(result.status, 1);
        assert.match(result.stderr, /^ggscope: [^\n]+\n$/);
    }
});

// ---- graph ----

test("without a directory, the newest recording below ./experiments is taken", () => {
    const here = scratch("newest");
    mkdirSync(join(here, "experiments/empty"), { recursive: true });
    for (const name of ["log", "graph", "experts", "buffers", "stats", "paging", "check", "seal"]) {
        const none = run(ggscope, [name], { cwd: here });
        assert.equal(none.status, 1, name);
        assert.match(none.stderr, /^ggscope: there is no recording in \.\/experiments[^\n]+\n$/);
    }
    for (const [name, when] of [["old", 1000], ["new", 2000]]) {
        cpSync(moe, join(here, "experiments", name), { recursive: true });
        utimesSync(join(here, "experiments", name), when, when);
    }
    for (const name of ["log", "graph", "experts", "buffers", "stats", "paging", "check", "seal"]) {
        const newest = run(ggscope, [name], { cwd: here });
        assert.equal(newest.status, 0, name + newest.stderr);
        assert.match(newest.stderr, /^ggscope: experiments\/new, the newest recording here\n/);
        if (name !== "seal") assert.equal(newest.stdout, output(ggscope, [name, moe]), name);
    }
});

test("graph has every node and edge of the step, each layer once", () => {
    const t = graphs(moe), runs = rows(moe, "runs").runs.filter((r) => r.step === 1);
    assert.equal(runs.length, 1);
    const nodes = t.get(runs[0].graph);
    const g = json("graph", moe, "--token", "1");
    const computed = g.nodes.filter((n) => n.id.startsWith("node_"));
    assert.deepEqual(computed.map((n) => n.operation), nodes.map((n) => n.op));
    assert.deepEqual(computed.map((n) => n.label), nodes.map((n) => n.name));
    assert.equal(g.edges.length, sum(nodes.map((n) => Object.keys(n.sources).length)));
    const ids = new Set(g.nodes.map((n) => n.id));
    assert.equal(ids.size, g.nodes.length);
    for (const e of g.edges) assert.ok(ids.has(e.source) && ids.has(e.target), JSON.stringify(e));
    const count = (state) => computed.filter((n) => n.state === state).length;
    assert.deepEqual([count("executed"), count("absorbed"), count("empty")], [runs[0].executed, runs[0].absorbed, runs[0].empty]);

    const text = fits(verb("graph", moe, "--token", "1"));
    assert.deepEqual([...text.matchAll(/^layer (\d+):/gm)].map((m) => +m[1]), Array.from({ length: 24 }, (_, i) => i));
    const shown = (output) => [...output.matchAll(/^ [ +] ([A-Z_]+) /gm)].length;
    assert.equal(shown(text), runs[0].executed + runs[0].absorbed);
    assert.equal(shown(verb("graph", moe, "--token", "1", "--all")), nodes.length);
});

test("a step with several graphs has them all, with ids that continue", () => {
    const runs = rows(moe, "runs").runs.filter((r) => r.step === 0);
    const distinct = runs.filter((r, i) => i === 0 || r.graph !== runs[i - 1].graph);
    assert.ok(distinct.length > 1);
    const g = json("graph", moe, "--token", "0");
    assert.equal(g.metadata.total_graphs, distinct.length);
    assert.equal(g.metadata.total_nodes, sum(distinct, "nodes"));
    assert.equal(new Set(g.nodes.map((n) => n.id)).size, g.nodes.length);
});

test("graph --dot is a drawing that Graphviz takes", (t) => {
    if (run("sh", ["-c", "command -v dot"]).status !== 0) return t.skip("Graphviz is not installed");
    const dot = verb("graph", tiny, "--token", "2", "--dot");
    assert.equal([...dot.matchAll(/subgraph cluster_/g)].length, 22);
    const svg = run("dot", ["-Tsvg"], { input: dot });
    assert.equal(svg.status, 0, svg.stderr);
    assert.equal([...svg.stdout.matchAll(/class="edge"/g)].length, json("graph", tiny, "--token", "2").edges.length);
});

test("graph of a token that is not there is refused by name", () => {
    for (const form of [[], ["--dot"], ["--json"]]) {
        const result = run(ggscope, ["graph", tiny, "--token", "6", ...form]);
        assert.equal(result.status, 1);
        assert.equal(result.stdout, "");
        assert.match(result.stderr, /^ggscope: there is no graph of token step 6;/);
    }
});

// ---- experts ----

// The choices of every token, from the copies of the router's output: [{ layer: [expert, ...] }, ...] in order.
function choices(directory) {
    const t = rows(directory, "runs", "index"), g = graphs(directory), tokens = [];
    for (const run of t.runs.filter((r) => r.step >= 0)) {
        const columns = new Map();
        for (const row of t.index.filter((r) => r.run === run.run)) {
            const layer = /^ffn_moe_topk-(\d+)$/.exec(g.get(run.graph)[row.node].sources[row.slot].name)?.[1];
            if (layer === undefined) continue;
            const ids = values(row);
            columns.set(+layer, Array.from({ length: row.ne1 }, (_, i) => ids.slice(i * row.ne0, (i + 1) * row.ne0)));
        }
        const n = Math.max(...[...columns.values()].map((c) => c.length));
        for (let i = 0; i < n; i++) { // the last layer has only the tokens whose output is wanted
            const at = [...columns].map(([layer, c]) => [layer, c[i - (n - c.length)]]);
            tokens.push(Object.fromEntries(at.filter(([, ids]) => ids !== undefined)));
        }
    }
    return tokens;
}

test("experts counts what the router chose", () => {
    const tokens = choices(moe), e = json("experts", moe);
    assert.equal(tokens.length, 5 + 5);
    assert.equal(e.tokens, tokens.length);
    assert.equal(e.layers.length, 24);
    for (const l of e.layers) {
        const chosen = tokens.map((t) => t[l.layer] ?? []), flat = chosen.flat();
        assert.deepEqual(l.counts, Array.from({ length: 32 }, (_, x) => flat.filter((id) => id === x).length));
        assert.equal(l.activations, flat.length);
        assert.equal(l.distinct, new Set(flat).size);
        assert.ok(Math.abs(l.imbalance - Math.max(...l.counts) * 32 / flat.length) < 1e-9);
        const follows = chosen.map((ids, i) => [chosen[i - 1] ?? [], ids]).filter(([a, b]) => a.length && b.length);
        const hits = follows.map(([a, b]) => b.filter((id) => a.includes(id)).length);
        assert.equal(l.follows, follows.length);
        assert.equal(l.reused, sum(hits));
        assert.equal(l.all_predicted, hits.filter((n) => n === 4).length);
        assert.equal(l.none_predicted, hits.filter((n) => n === 0).length);
    }
    for (const p of e.pairs) {
        const times = tokens.filter((t) => t[p.layer]?.includes(p.a) && t[p.layer].includes(p.b)).length;
        assert.equal(p.times, times);
    }
});

test("experts: the working set of a window is what its tokens need together", () => {
    const tokens = choices(moe), keys = tokens.map((t) => Object.entries(t).flatMap(([layer, ids]) => ids.map((id) => `${layer}.${id}`)));
    for (const window of [1, 2, 3, 7, 10]) {
        const sets = keys.slice(window - 1).map((_, i) => new Set(keys.slice(i, i + window).flat()).size);
        const [set] = json("experts", moe, "--window", `${window}`).working_sets;
        assert.equal(set.samples, sets.length);
        assert.equal(set.most_experts, Math.max(...sets));
        assert.ok(Math.abs(set.mean_experts - sum(sets) / sets.length) < 1e-9);
    }
    assert.deepEqual(json("experts", moe, "--window", "11").working_sets, []);
    assert.deepEqual(json("experts", moe).working_sets.map((s) => s.window), [1, 2, 4, 8]);
});

test("experts: the prefetch window reaches from the router's end to the first read", () => {
    const find = (op) => new Map(all.filter((o) => o.op === op && (op !== "MUL_MAT_ID" || /^ffn_moe_gate-/.test(o.tensor))).map((o) => [`${o.run} ${o.layer}`, o]));
    const routers = find("ARGSORT"), gates = find("MUL_MAT_ID");
    const windows = [...gates].map(([key, gate]) => gate.begin_ns - (routers.get(key).begin_ns + routers.get(key).duration_ns));
    const { prefetch } = json("experts", moe).matrices.find((m) => m.component === "ffn_gate_exps");
    assert.equal(prefetch.count, windows.length);
    assert.equal(prefetch.least_ns, Math.min(...windows));
    assert.equal(prefetch.most_ns, Math.max(...windows));
    const later = json("experts", moe).matrices.find((m) => m.component === "ffn_down_exps").prefetch;
    assert.ok(later.least_ns > prefetch.least_ns);
});

test("experts: tokens can be chosen, text fits, dense models have none", () => {
    assert.equal(json("experts", moe, "--token", "1..3").tokens, 3);
    assert.equal(json("experts", moe, "--token", "0").tokens, 5);
    const text = fits(verb("experts", moe));
    assert.match(text, /^experts +768 in 24 layers, 4 chosen per token and layer; 10 tokens$/m);
    assert.equal(verb("experts", tiny), "no experts in this model\n");
    assert.equal(json("experts", tiny).has_experts, false);
});

test("experts of a model whose first layers are dense", () => {
    const { directory } = generate(model("tiny", "--arch", "deepseek2"), "-n", "3", "-t", "1");
    const e = json("experts", directory), chosen = choices(directory);
    assert.ok(e.has_experts);
    assert.ok(e.layers.length > 0);
    assert.equal(e.activations, sum(chosen.flatMap((t) => Object.values(t).map((ids) => ids.length))));
    fits(verb("experts", directory));
});

// ---- buffers ----

test("buffers lists them all, and its peak is that of stats", () => {
    const t = rows(moe, "buffers", "transfers"), b = json("buffers", moe), totals = stats(moe);
    assert.equal(b.count, totals.buffers.count);
    assert.equal(b.peak_bytes, totals.buffers.peak_bytes);
    assert.deepEqual(b.buffers.map((x) => [x.id, x.size, x.type]), t.buffers.map((x) => [x.buffer, x.size, x.type]));
    assert.equal(Math.max(...b.timeline.map((event) => event.total)), b.peak_bytes);
    const live = new Map();
    for (const event of b.timeline) {
        if (event.event === "alloc") live.set(event.buffer_id, event.size);
        else live.delete(event.buffer_id);
        assert.equal(event.total, sum([...live.values()]));
        assert.equal(event.live, live.size);
    }
    assert.equal(sum(b.transfers, "bytes"), sum(t.transfers, "bytes"));
    assert.equal(sum(b.transfers, "count"), t.transfers.length);
    const text = fits(verb("buffers", moe));
    assert.match(text, /^ +4 +kv +CPU +/m);
    assert.match(text, /^ +0 B └─+$/m);
    assert.match(text, /^mapped file 1 +buffer \d+ \(weights\) +\d+/m);
});

// ---- diff ----

test("diff of a recording with itself is empty", () => {
    for (const directory of [moe, tiny]) {
        assert.equal(verb("diff", directory, directory), "");
        const d = json("diff", directory, directory);
        assert.ok(d.identical);
        assert.deepEqual([d.changes, d.warnings, d.totals], [[], [], {}]);
        assert.equal(d.ops_compared, stats(directory).ops);
    }
});

test("diff of the same command twice: the same ops, bytes and experts; only times may differ", () => {
    const again = generate(model("moe"), "-n", "6", "-t", "2", "--ubatch", "4").directory;
    const d = json("diff", moe, again);
    assert.equal(d.ops_compared, all.filter((op) => op.fused === null).length);
    assert.deepEqual([d.ops_only_in_a, d.ops_only_in_b, d.ops_with_other_bytes, d.expert_ops_that_differ], [0, 0, 0, 0]);
    assert.equal(d.expert_ops_compared, all.filter((op) => op.op === "MUL_MAT_ID").length);
    assert.deepEqual(d.warnings, []);
    for (const change of d.changes) { // beyond the spread within either run, or not at all
        const { a, b } = { a: change.a.time, b: change.b.time };
        assert.ok(Math.min(a.count, b.count) >= 5);
        const gap = change.verdict === "slower" ? b.median_ns - a.median_ns : a.median_ns - b.median_ns;
        assert.match(change.verdict, /^(slower|faster)$/);
        assert.ok(gap > a.high_ns - a.low_ns && gap > b.high_ns - b.low_ns, JSON.stringify(change));
    }
    fits(verb("diff", moe, again));
});

test("diff warns of what makes two recordings hard to compare", () => {
    const threads = generate(model("tiny"), "-n", "8", "-t", "2").directory;
    const d = json("diff", tiny, threads);
    assert.deepEqual(d.warnings, ["the threads differ: 1 and 2"]);
    assert.deepEqual([d.tokens_compared, d.tokens_only_in_a, d.tokens_only_in_b], [6, 0, 2]);
    assert.deepEqual(d.totals.threads, { a: 1, b: 2 });
    const prompt = generate(model("tiny"), "-n", "6", "-t", "1", "-p", "Another text that is longer").directory;
    assert.match(json("diff", tiny, prompt).warnings[0], /^the prompts differ: 5 and \d+ tokens$/);
    assert.match(json("diff", tiny, moe).warnings[0], /^the models differ: tiny\.gguf .* and moe\.gguf /);
    assert.match(fits(verb("diff", tiny, moe)), /^warning: the models differ: /m);
});

test("diff finds ops that only one has, and other bytes", () => {
    const small = generate(model("tiny", "--layers", "20"), "-n", "6", "-t", "1").directory;
    const d = json("diff", small, tiny);
    const layers = new Set(d.changes.filter((c) => typeof c.layer === "number" && c.b.only_here > 0 && c.a.ops === 0).map((c) => c.layer));
    assert.ok(layers.has(20) && layers.has(21));
    assert.ok(!layers.has(5));
    assert.equal(d.ops_compared + d.ops_only_in_a, stats(small).ops);
    assert.equal(d.ops_compared + d.ops_only_in_b, stats(tiny).ops);
    assert.ok(d.ops_only_in_a <= 3 * 6); // what only a last layer has
    const f16 = generate(model("tiny", "--types", "attn_q=f16"), "-n", "6", "-t", "1").directory;
    const e = json("diff", tiny, f16);
    assert.equal(e.ops_only_in_a + e.ops_only_in_b, 0);
    assert.equal(e.ops_with_other_bytes, 22 * 6); // the query of each layer and step
    for (const change of e.changes.filter((c) => c.bytes_differ > 0)) assert.match(change.tensor, /^Qcur/);
});

// ---- damage ----

test("a trace that lost its end is shown as far as it goes, with a warning", () => {
    const directory = fresh();
    mkdirSync(directory);
    copyFileSync(join(moe, "experiment.json"), join(directory, "experiment.json"));
    copyFileSync(join(moe, "trace.ggs"), join(directory, "trace.ggs"));
    truncateSync(join(directory, "trace.ggs"), statSync(join(moe, "trace.ggs")).size - 100);
    assert.ok(readFileSync(join(directory, "trace.ggs")).length > 0);
    for (const args of [["log"], ["graph", "--token", "1"], ["experts"], ["buffers"], ["diff", moe]]) {
        const result = run(ggscope, [...args, directory]);
        assert.equal(result.status, 0, result.stderr);
        assert.match(result.stderr, /^ggscope: .* has no intact end /);
    }
    assert.equal(json("log", directory).ops.length, all.length);
});
