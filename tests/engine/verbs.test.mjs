// The verbs that show a recording: log, graph, experts, buffers, diff. Their answers are computed a
// second time here, from the rows of the trace.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, cpSync, mkdirSync, readFileSync, truncateSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output, run, scratch, terminal } from "../lib.mjs";
import { fresh, generate, graphs, rows, stats, values } from "./traces.mjs";

const verb = (...args) => output(ggscope, args);
const json = (...args) => JSON.parse(verb(...args, "--json"));
const KV = 2; // the class of a buffer
const sum = (list, key) => list.reduce((total, item) => total + (key ? item[key] : item), 0);
const lines = (text) => text.trimEnd().split("\n");

const moe = generate(model("moe"), "-n", "6", "-t", "2", "--ubatch", "4").directory; // the prompt takes two graphs
const tiny = generate(model("tiny"), "-n", "6", "-t", "1").directory;
const all = json("log", moe).ops;

// The output of a verb on a terminal of 80 columns: it fits.
function fits(...args) {
    const text = terminal(80, ggscope, args);
    for (const line of lines(text)) assert.ok([...line].length <= 80, `${[...line].length} columns: ${line}`);
    return text;
}

// ---- log ----

test("log has every op of stats, and the same bytes", () => {
    const totals = stats(moe);
    assert.equal(all.length, totals.ops + totals.absorbed);
    assert.equal(all.filter((op) => op.fused_with === null).length, totals.ops);
    assert.equal(sum(all, "bytes_read"), totals.bytes_read);
    assert.equal(sum(all, "bytes_written"), totals.bytes_written);
    assert.equal(sum(all, "bytes_disk"), totals.bytes_disk);
    for (const op of all) {
        assert.equal(sum(op.operands.filter((o) => !o.write), "bytes"), op.bytes_read);
        assert.equal(sum(op.operands.filter((o) => o.write), "bytes"), op.bytes_written);
    }
    assert.deepEqual([...new Set(all.map((op) => op.token))], [0, 1, 2, 3, 4, 5]);
    assert.equal(lines(fits("log", moe)).length, all.length + 1);
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
    const offset = all.find((op) => op.name === "ffn_moe_down-3" && op.token === 2);
    const at = offset.file_offset ?? offset.origin_offset;
    const touches = (o, from, to) => (o.file_offset ?? o.origin_offset) < to && (o.file_offset ?? o.origin_offset) + o.bytes > from;
    same(["--token", "2"], (op) => op.token === 2);
    same(["--token", "1..3"], (op) => op.token >= 1 && op.token <= 3);
    same(["--token", "4.."], (op) => op.token >= 4);
    same(["--token", "..0"], (op) => op.token === 0);
    same(["--layer", "7"], (op) => op.layer === 7);
    same(["--layer", "none"], (op) => op.layer === null);
    same(["--op", "mul_mat_id"], (op) => op.op === "MUL_MAT_ID");
    same(["--tensor", "blk.5.attn_q.*"], (op) => op.operands.some((o) => /^blk\.5\.attn_q\./.test(o.name)));
    same(["--source", "disk"], (op) => op.operands.some((o) => o.source === "DISK"));
    same(["--source", "disk", "--layer", "2", "--token", "3"], (op) => op.layer === 2 && op.token === 3 && op.operands.some((o) => o.source === "DISK"));
    const kv = rows(moe, "buffers").buffers.find((b) => b.class === KV).buffer;
    same(["--buffer", String(kv)], (op) => op.operands.some((o) => o.buffer === kv));
    same(["--since", `${middle}`], (op) => end(op) > middle || op.begin_ns >= middle);
    same(["--until", `${middle}ns`], (op) => op.begin_ns < middle);
    same(["--since", `${middle}`, "--until", `${later}`], (op) => op.begin_ns < later && (end(op) > middle || op.begin_ns >= middle));
    // One byte that only these weights have; whole operands, because sparse ones have several
    // ranges.
    same(["--range", `${at}`], (op) => op.operands.some((o) => o.n_ranges === 1 && touches(o, at, at + 1)) ||
        op.operands.some((o) => o.n_ranges > 1 && (o.file_offset ?? o.origin_offset) === at));
});

test("log --thread gives that thread's own times", () => {
    const t = rows(moe, "op_runs").op_runs.filter((r) => r.thread === 1);
    const ops = json("log", moe, "--thread", "1").ops;
    assert.equal(ops.filter((op) => op.fused_with === null).length, t.length);
    const byKey = new Map(t.map((r) => [`${r.run}.${r.node}`, r]));
    for (const op of ops) {
        const row = byKey.get(`${op.run}.${op.fused_with ?? op.node}`), counts = op.fused_with === null ? 1 : 0; // time counts once
        assert.equal(op.begin_ns, row.begin_ns);
        assert.equal(op.duration_ns, counts * row.duration_ns);
        assert.equal(op.wait_ns, counts * (row.wait_ns + row.inner_wait_ns));
    }
});

test("log sorts, limits, and writes CSV", () => {
    const longest = [...all].sort((a, b) => b.duration_ns - a.duration_ns || a.run - b.run || a.node - b.node);
    assert.deepEqual(json("log", moe, "--sort", "duration", "--limit", "5").ops, longest.slice(0, 5));
    assert.deepEqual(json("log", moe, "--limit", "3").ops, all.slice(0, 3));
    const byName = [...all].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.run - b.run || a.node - b.node));
    assert.deepEqual(json("log", moe, "--sort", "tensor").ops, byName);
    const csv = lines(verb("log", moe, "--csv")).map((line) => line.trimEnd().split(",")); // no name here has a comma
    const column = (row, name) => row[csv[0].indexOf(name)];
    assert.equal(csv.length, all.length + 1);
    csv.slice(1).forEach((row, i) => {
        assert.equal(row.length, csv[0].length);
        assert.equal(column(row, "name"), all[i].name);
        assert.equal(column(row, "layer"), all[i].layer === null ? "" : `${all[i].layer}`);
        assert.equal(+column(row, "bytes_read"), all[i].bytes_read);
        for (const key of csv[0].filter((name) => !["cut", "phase"].includes(name))) assert.equal(column(row, key), String(all[i][key] ?? ""), key);
        assert.equal(+column(row, "duration_ns"), all[i].duration_ns);
    });
});

test("log ends quietly when its reader goes away, and uses a wide terminal", () => {
    const head = run("sh", ["-c", `"${ggscope}" log "${moe}" | head -n 2`]);
    assert.equal(lines(head.stdout).length, 2);
    assert.equal(head.stderr, "");
    const wide = terminal(140, ggscope, ["log", moe, "--limit", "40"]);
    assert.match(wide, /^ +# +time token op +tensor +L +T +bytes source +took +wait\n/);
    assert.match(wide, /ffn_moe_weights_sum_clamped-0 /);
});

test("what is piped is never cut", () => {
    const cut = /…/;
    for (const args of [["log", moe], ["log", "--faults", moe], ["graph", "--all", moe], ["experts", moe], ["buffers", moe], ["diff", tiny, moe], ["stats", "--by", "tensor", moe], ["stats", moe]])
        assert.doesNotMatch(run(ggscope, args, { env: { ...process.env, COLUMNS: "60" } }).stdout, cut, args.join(" "));
    const text = verb("log", moe);
    for (const op of all.slice(0, 400)) assert.ok(text.includes(` ${op.op} `) && text.includes(` ${op.name} `), `${op.op} ${op.name}`);
    assert.ok(all.some((op) => op.op === "FLASH_ATTN_EXT") && all.some((op) => op.name.length > 20));
    assert.match(fits("log", moe), cut, "on a terminal it is");
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

test("tokens, layers, threads, buffers and ops that are not there are refused with the range that is", () => {
    const layer = /^ggscope: there is no layer 99: this recording has layers 0 to 23\n$/, token = /^ggscope: there is no token 99: this recording has tokens 0 to 5\n$/;
    for (const [args, says] of [[["log", "--layer", "99"], layer], [["log", "--json", "--layer", "99"], layer], [["log", "--faults", "--layer", "99"], layer],
        [["log", "--token", "99"], token], [["log", "--token", "99..120", "--csv"], token], [["experts", "--token", "99"], token], [["paging", "--token", "99"], token],
        [["stats", "--token", "99"], token], [["stats", "--token", "99..120", "--json"], token], [["stats", "--layer", "99"], layer],
        [["log", "--thread", "99"], /^ggscope: there is no thread 99: this recording has threads 0 to \d\n$/], [["log", "--buffer", "99"], /^ggscope: there is no buffer 99: this recording has buffers 1 to \d+\n$/],
        [["log", "--op", "MUL_MATT"], /^ggscope: this recording has no op MUL_MATT \(did you mean MUL_MAT\?\); ggscope stats lists those it has\n$/]]) {
        const result = run(ggscope, [...args, moe]);
        assert.deepEqual([result.status, result.stdout], [1, ""], args.join(" "));
        assert.match(result.stderr, says, args.join(" "));
    }
});

// ---- graph ----

test("without a directory, the newest recording below ./experiments is taken", () => {
    const here = scratch("newest");
    mkdirSync(join(here, "experiments/empty"), { recursive: true });
    for (const name of ["log", "graph", "experts", "buffers", "stats", "paging", "check", "seal"]) {
        const none = run(ggscope, [name], { cwd: here });
        assert.equal(none.status, 1, name);
        assert.match(none.stderr, /^ggscope: there is no recording with data in \.\/experiments[^\n]+\n$/);
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
    const { graphs: drawn, ...step } = json("graph", moe, "--token", "1"), [g] = drawn, computed = g.nodes;
    assert.equal(drawn.length, 1);
    assert.deepEqual([step.token, step.phase, step.runs.map((r) => r.run)], [1, "GENERATE", [runs[0].run]]);
    assert.deepEqual(computed.map((n) => [n.node, n.op, n.name]), nodes.map((n, i) => [i, n.op, n.name]));
    assert.equal(g.edges.length, sum(nodes.map((n) => Object.keys(n.sources).length)));
    for (const e of g.edges) assert.ok(e.leaf === null ? e.source_node < e.node : e.source_node === null && g.leaves[e.leaf].tensor === e.tensor, JSON.stringify(e));
    for (const n of computed) assert.equal(n.fused_with !== null, n.state === "absorbed");
    assert.equal(sum(computed.map((n) => n.duration_ns ?? 0)), sum(all.filter((op) => op.run === runs[0].run), "duration_ns"));
    const count = (state) => computed.filter((n) => n.state === state).length;
    assert.deepEqual([count("executed"), count("absorbed"), count("empty")], [runs[0].executed, runs[0].absorbed, runs[0].empty]);

    const text = fits("graph", moe, "--token", "1");
    assert.deepEqual([...text.matchAll(/^layer (\d+):/gm)].map((m) => +m[1]), Array.from({ length: 24 }, (_, i) => i));
    const shown = (output) => [...output.matchAll(/^ [ +] ([A-Z_]+) /gm)].length;
    assert.equal(shown(text), runs[0].executed + runs[0].absorbed);
    assert.equal(shown(verb("graph", moe, "--token", "1", "--all")), nodes.length);
});

test("a step with several graphs has them all", () => {
    const runs = rows(moe, "runs").runs.filter((r) => r.step === 0);
    const distinct = runs.filter((r, i) => i === 0 || r.graph !== runs[i - 1].graph);
    assert.ok(distinct.length > 1);
    const g = json("graph", moe, "--token", "0");
    assert.deepEqual(g.graphs.map((one) => [one.graph, one.nodes.length]), distinct.map((r) => [r.graph, r.nodes]));
    assert.deepEqual(g.runs.map((r) => r.run), runs.map((r) => r.run));
});

test("graph --dot is a drawing that Graphviz takes", (t) => {
    if (run("sh", ["-c", "command -v dot"]).status !== 0) return t.skip("Graphviz is not installed");
    const dot = verb("graph", tiny, "--token", "2", "--dot");
    assert.equal([...dot.matchAll(/subgraph cluster_/g)].length, 22);
    const svg = run("dot", ["-Tsvg"], { input: dot });
    assert.equal(svg.status, 0, svg.stderr);
    assert.equal([...svg.stdout.matchAll(/class="edge"/g)].length, json("graph", tiny, "--token", "2").graphs[0].edges.length);
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

// The choices of every token, from the recorded output of the router: [{ layer: [expert, ...] },
// ...] in order.
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
        for (let i = 0; i < n; i++) { // the last layer has only tokens with requested output
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
    assert.equal(e.by_layer.length, 24);
    for (const l of e.by_layer) {
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
    const find = (op) => new Map(all.filter((o) => o.op === op && (op !== "MUL_MAT_ID" || /^ffn_moe_gate-/.test(o.name))).map((o) => [`${o.run} ${o.layer}`, o]));
    const routers = find("ARGSORT"), gates = find("MUL_MAT_ID");
    const windows = [...gates].map(([key, gate]) => gate.begin_ns - (routers.get(key).begin_ns + routers.get(key).duration_ns));
    const { prefetch } = json("experts", moe).by_component.find((m) => m.component === "ffn_gate_exps");
    assert.equal(prefetch.count, windows.length);
    assert.equal(prefetch.least_ns, Math.min(...windows));
    assert.equal(prefetch.most_ns, Math.max(...windows));
    const later = json("experts", moe).by_component.find((m) => m.component === "ffn_down_exps").prefetch;
    assert.ok(later.least_ns > prefetch.least_ns);
});

test("experts: tokens can be chosen, text fits, dense models have none", () => {
    assert.equal(json("experts", moe, "--token", "1..3").tokens, 3);
    assert.equal(json("experts", moe, "--token", "0").tokens, 5);
    const text = fits("experts", moe);
    assert.match(text, /^experts +768 in 24 layers, 4 chosen per token and layer; 10 tokens$/m);
    assert.equal(verb("experts", tiny), "no experts in this model\n");
    assert.equal(json("experts", tiny).has_experts, false);
});

test("experts of a model whose first layers are dense", () => {
    const { directory } = generate(model("tiny", "--arch", "deepseek2"), "-n", "3", "-t", "1", "--no-repack");
    const e = json("experts", directory), chosen = choices(directory);
    assert.ok(e.has_experts);
    assert.ok(e.by_layer.length > 0);
    assert.equal(e.activations, sum(chosen.flatMap((t) => Object.values(t).map((ids) => ids.length))));
    fits("experts", directory);
});

// ---- buffers ----

test("buffers lists them all, and its peak is that of stats", () => {
    const t = rows(moe, "buffers", "transfers"), b = json("buffers", moe), totals = stats(moe);
    assert.equal(b.count, totals.buffers.count);
    assert.equal(b.peak_bytes, totals.buffers.peak_bytes);
    assert.deepEqual(b.buffers.map((x) => [x.buffer, x.bytes, x.type]), t.buffers.map((x) => [x.buffer, x.size, x.type]));
    assert.equal(Math.max(...b.timeline.map((event) => event.bytes_total)), b.peak_bytes);
    const live = new Map();
    for (const event of b.timeline) {
        if (event.freed) live.delete(event.buffer);
        else live.set(event.buffer, event.bytes);
        assert.equal(event.bytes_total, sum([...live.values()]));
        assert.equal(event.buffers, live.size);
    }
    assert.equal(sum(b.transfers, "bytes"), sum(t.transfers, "bytes"));
    assert.equal(sum(b.transfers, "count"), t.transfers.length);
    const text = fits("buffers", moe);
    assert.match(text, new RegExp(`^ +${t.buffers.find((x) => x.class === KV).buffer} +kv +CPU +`, "m"));
    assert.match(text, /^ +0 B └─+$/m);
    // Some CPU variants repack weights from the mapping, others use them in place.
    const repacked = t.transfers.some((x) => x.file !== 0 && t.buffers.some((y) => y.buffer === x.to_buffer && y.type !== "CPU_Mapped"));
    assert.equal(/^mapped file 1 +buffer \d+ \(weights\) +\d+/m.test(text), repacked);
});

// ---- diff ----

// The machine may be busy with other programs.
const settled = ({ warnings }) => warnings.filter((line) => !/^other programs used \d+ % of the CPUs(?:, and the hypervisor some \(steal\),)? while [AB] was recorded/.test(line));

test("diff of a recording with itself is empty", () => {
    for (const directory of [moe, tiny]) {
        assert.equal(verb("diff", directory, directory), "");
        const d = json("diff", directory, directory);
        assert.ok(d.identical);
        assert.deepEqual([d.changes, d.warnings], [[], []]);
        for (const [key, { a, b }] of Object.entries(d.totals)) assert.equal(a, b, key);
        assert.equal(d.ops, stats(directory).ops);
    }
});

test("diff of the same command twice: the same ops, bytes and experts; only times may differ", () => {
    const again = generate(model("moe"), "-n", "6", "-t", "2", "--ubatch", "4").directory;
    const d = json("diff", moe, again);
    assert.equal(d.ops, all.filter((op) => op.fused_with === null).length);
    assert.deepEqual([d.ops_only_a, d.ops_only_b, d.ops_bytes_differ, d.expert_ops_differ], [0, 0, 0, 0]);
    assert.equal(d.expert_ops, all.filter((op) => op.op === "MUL_MAT_ID").length);
    assert.deepEqual(settled(d), []);
    agree(d);
    fits("diff", moe, again);
});

// Beyond the spread within either run, or half as much more in total; words, medians and sums
// agree.
function agree(d) {
    for (const change of d.changes.filter((c) => c.ops_bytes_differ === 0 && c.a.ops_only + c.b.ops_only === 0)) {
        const { a, b, verdict } = change, why = JSON.stringify(change);
        assert.match(verdict, /^(slower|faster|stalls|fewer stalls)$/);
        const [from, to] = verdict === "slower" || verdict === "stalls" ? [a, b] : [b, a];
        assert.ok(Math.min(a.ops, b.ops) >= 5, why);
        assert.ok(to.wall_ns > from.wall_ns, why);
        const gap = to.median_ns - from.median_ns, spread = Math.max(a.high_ns - a.low_ns, b.high_ns - b.low_ns);
        if (/^(slower|faster)$/.test(verdict)) assert.ok(gap > 0, why);
        assert.ok(gap > spread || to.wall_ns >= 1.03 * from.wall_ns, why);
    }
}

test("diff warns of what makes two recordings hard to compare", () => {
    const threads = generate(model("tiny"), "-n", "8", "-t", "2").directory;
    const d = json("diff", tiny, threads);
    assert.deepEqual(settled(d), ["the threads differ: 1 and 2"]);
    assert.deepEqual([d.tokens, d.tokens_only_a, d.tokens_only_b], [6, 0, 2]);
    assert.deepEqual(d.totals.threads, { a: 1, b: 2 });
    const prompt = generate(model("tiny"), "-n", "6", "-t", "1", "-p", "Another text that is longer").directory;
    assert.match(json("diff", tiny, prompt).warnings[0], /^the prompts differ: 5 and \d+ tokens$/);
    assert.match(json("diff", tiny, moe).warnings[0], /^the models differ: tiny\.gguf .* and moe\.gguf /);
    assert.match(fits("diff", tiny, moe), /^warning: the models differ: /m);
});

test("diff finds ops that only one has, and other bytes", () => {
    const small = generate(model("tiny", "--layers", "20"), "-n", "6", "-t", "1").directory;
    const d = json("diff", small, tiny);
    const layers = new Set(d.changes.filter((c) => c.layer !== null && c.b.ops_only > 0 && c.a.ops === 0).map((c) => c.layer));
    assert.ok(layers.has(20) && layers.has(21));
    assert.ok(!layers.has(5));
    assert.equal(d.ops + d.ops_only_a, stats(small).ops);
    assert.equal(d.ops + d.ops_only_b, stats(tiny).ops);
    assert.ok(d.ops_only_a <= 3 * 6); // ops that only the last layer has
    const f16 = generate(model("tiny", "--types", "attn_q=f16"), "-n", "6", "-t", "1").directory;
    const e = json("diff", tiny, f16);
    assert.equal(e.ops_only_a + e.ops_only_b, 0);
    assert.equal(e.ops_bytes_differ, 22 * 6); // the query of each layer and step
    for (const change of e.changes.filter((c) => c.ops_bytes_differ > 0)) assert.match(change.name, /^Qcur/);
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

test("experts of one token: how many would be chosen again is not known, and not 0", () => {
    const { reuse } = json("experts", "--token", "1", moe);
    assert.deepEqual([reuse.follows, reuse.by_chance, reuse.share], [0, null, null]);
    const text = verb("experts", "--token", "1", moe);
    assert.match(text, /; 1 token$/m);
    assert.match(text, /^reuse +not known: no token follows another$/m);
    assert.doesNotMatch(text, /by\s+chance/);
    assert.match(verb("experts", moe), /\d % by\s+chance/);
});
