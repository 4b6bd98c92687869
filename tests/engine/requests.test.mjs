// Requests: a program feeds the engine like a server and prints the truth; every count must match.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, run as plainRun, scratch } from "../lib.mjs";
import { attachTo, skip as attachingSkip, start, until } from "./attaching.mjs";
import { check, graphs, jsonLines, phases, record, rows, stats, steps, table, values } from "./traces.mjs";

const host = join(build, "tests", "server-host");
const target = model("tiny"), small = model("tiny", "--layers", "2");
const sum = (list, key) => list.reduce((all, row) => all + row[key], 0);
const answer = (directory, ...options) => JSON.parse(output(ggscope, ["requests", "--json", ...options, directory]));

const recorded = new Map();
function run(pattern) {
    if (!recorded.has(pattern)) {
        const { directory, stdout } = record([host, pattern, ...(pattern.startsWith("draft") ? [target, small] : [small])]);
        recorded.set(pattern, { directory, truth: jsonLines(stdout).at(-1).requests });
    }
    return recorded.get(pattern);
}
const told = ({ requests }) => requests.map((r) => ({
    kind: r.kind, context: r.context, sequence: r.sequence, prompt: r.prompt_tokens, cached: r.cached_tokens, generated: r.generated_tokens,
    accepted: r.accepted_tokens, rejected: r.rejected_tokens, ...(r.kind === "draft" ? {} : { decoded: r.decoded_tokens, unused: r.unused_tokens }),
}));
// Tokens that a drafting context feeds back belong to no text.
const comparable = (truth) => truth.map(({ decoded, unused, ...rest }) => (rest.kind === "draft" ? rest : { ...rest, decoded, unused }));

const patterns = ["slots", "slots-apart", "cancelled", "cached", "continued", "loaded", "shared", "forks", "forks-apart", "forks-in-batch", "embeddings", "embeddings-cut", "embeddings-slowly", "perplexity", "echo",
    "one-by-one", "unused", "benchmark", "benchmark-cold", "benchmark-short", "unanswered", "at-once", "samples", "image", "aborted", "shift", "turns", "warmup", "draft", "draft-behind", "draft-at-once", "lookup", "lookahead", "tree", "slots-unseen", "cached-unseen"];
for (const pattern of patterns) {
    test(`${pattern}: every request has the counts that the program tells`, () => {
        const { directory, truth } = run(pattern), found = answer(directory);
        assert.deepEqual(told(found), comparable(truth));
        const counted = truth.filter((r) => !["draft", "warmup"].includes(r.kind)), all = stats(directory);
        assert.equal(all.prompt_tokens, sum(counted, "prompt"));
        assert.equal(all.generated_tokens, sum(counted, "generated"));
        assert.equal(all.drafted_tokens, sum(truth.filter((r) => r.kind === "draft"), "generated"));
        assert.equal(all.accepted_tokens, sum(truth, "accepted"));
        assert.equal(all.rejected_tokens, sum(truth, "rejected"));
        assert.ok(found.contexts.every((context) => context.changes_seen !== pattern.endsWith("-unseen")));
        for (const r of found.requests) {
            assert.ok(r.compute_ns > 0 && r.duration_ns >= r.compute_ns, "decodes lie in the request");
            assert.ok(Math.abs(r.duration_ns - r.compute_ns - r.wait_ns) <= 1, "what is no decode is waiting");
            const sample = r.prompt_tokens === 0 && r.cached_tokens > 0; // its first token is from the output of another sequence
            assert.equal(r.time_to_first_ns === null, sample || (r.generated_tokens === 0 && !["embedding", "scoring"].includes(r.kind)), JSON.stringify(r));
            assert.equal(r.ns_per_token === null, r.generated_tokens < 2);
        }
    });
}

for (const pattern of ["idle", "idle-older"]) test(`${pattern}: attached between two requests: the first ones after that, and what a new context computes first`, { skip: attachingSkip }, async () => {
    const program = start(host, [pattern, small], { stdio: ["pipe", "pipe", "pipe"] });
    await until("the first request", () => (assert.equal(program.child.exitCode, null, program.said.stderr), /ready/.test(program.said.stdout)));
    const a = attachTo(String(program.child.pid));
    await a.attached;
    program.child.stdin.end("\n");
    const { stdout } = await program.ended, { status, stderr } = await a.ended;
    assert.equal(status, 0, stderr);
    const found = answer(a.directory), truth = jsonLines(stdout).at(-1).requests.slice(2);
    assert.deepEqual(told(found), comparable(truth));
    assert.deepEqual(found.requests.map((r) => r.cells_peak), truth.map((r) => r.cached + r.prompt + Math.max(0, r.generated - 1)));
    assert.deepEqual(found.contexts.map((context) => context.cells_peak), [null, null], "other sequences may have had cells");
});

test("attached while a request is under way: its beginning is not seen", { skip: attachingSkip }, async () => {
    const program = start(engine, ["run", "-m", small, "-p", "Once upon a time", "-n", "100000", "--ctx", "131072", "-t", "1", "--ignore-eos"]);
    await until("the first token", () => (assert.equal(program.child.exitCode, null, program.said.stderr), program.said.stdout !== ""));
    const a = attachTo(String(program.child.pid), "--steps", "8"), { status, stderr } = await a.ended;
    program.child.kill("SIGKILL");
    assert.equal(status, 0, stderr);
    const { requests: [request, ...more], contexts: [context] } = answer(a.directory), { prompt_tokens, cached_tokens, first_output_ns, time_to_first_ns, cells_peak } = request;
    assert.deepEqual({ more, begun: request.begun_before, prompt_tokens, cached_tokens, first_output_ns, time_to_first_ns, cells_peak },
        { more: [], begun: true, prompt_tokens: null, cached_tokens: null, first_output_ns: null, time_to_first_ns: null, cells_peak: null });
    assert.ok(request.generated_tokens >= 8 && request.ns_per_token > 0);
    assert.deepEqual([context.begun_before, context.prompt_tokens, context.cached_tokens, context.cells_peak], [1, 0, 0, null]);
    assert.match(output(ggscope, ["requests", a.directory]), /^ +1 +0 +completion .* - +- +\d+ [^]*, prompt not seen, [^]* 1 of them began before the recording: [^]* are not seen$/m);
});

test("attached while drafts are checked: the requests that were under way go on, with the drafts since", { skip: attachingSkip }, async () => {
    const program = start(host, ["draft-pause", small, small], { stdio: ["pipe", "pipe", "pipe"] });
    await until("the pause", () => (assert.equal(program.child.exitCode, null, program.said.stderr), /ready/.test(program.said.stdout)));
    const a = attachTo(String(program.child.pid));
    await a.attached;
    program.child.stdin.end("\n");
    const { stdout } = await program.ended, { status, stderr } = await a.ended, truth = jsonLines(stdout).at(-1).requests;
    assert.equal(status, 0, stderr);
    const found = answer(a.directory), rest = (list) => list.map(({ prompt, cached, decoded, unused, context, ...one }) => one).sort((a, b) => a.kind.localeCompare(b.kind) || a.sequence - b.sequence);
    assert.deepEqual(rest(told(found)), rest(truth));
    assert.ok(found.requests.every((r) => r.begun_before && r.prompt_tokens === null && r.cached_tokens === null));
});

test("the last drafts of a program whose changes are not seen are told apart, all others are right", () => {
    const { directory, truth } = run("draft-unseen"), found = answer(directory);
    for (const [i, r] of told(found).entries()) {
        const open = found.requests[i].unsettled_tokens;
        assert.deepEqual([r.kind, r.prompt], [truth[i].kind, truth[i].prompt]);
        assert.ok(truth[i].generated - r.generated >= 0 && truth[i].generated - r.generated <= open, `${open} are open`);
    }
    assert.equal(found.contexts[0].changes_seen, false);
});

test("what a token took with drafts and without is the time of the batches that say so", () => {
    for (const pattern of ["draft", "draft-behind", "slots"]) {
        const { directory } = run(pattern);
        const { batches, contexts, requests } = JSON.parse(output(ggscope, ["requests", "--json", "--batches", directory]));
        const ns = (list) => sum(list.map((b) => ({ ns: b.end_ns - b.begin_ns })), "ns");
        const free = batches.filter((b) => b.prompt_tokens === 0), of = (context) => free.filter((b) => b.context === context);
        const checked = of(0).filter((b) => b.verify_tokens > 0), plain = of(0).filter((b) => b.verify_tokens === 0);
        const near = (found, expected, what) => (expected === null ? assert.equal(found, null, what) : assert.ok(Math.abs(found - expected) <= 1, `${pattern}, ${what}: ${found}, not ${expected}`));
        near(contexts[0].ns_per_plain_token, plain.length ? ns(plain) / sum(plain, "requests") : null, "plain");
        near(contexts[0].ns_per_drafted_token, checked.length ? (ns(checked) + ns(of(1))) / (sum(checked, "requests") + sum(requests.filter((r) => r.context === 0), "accepted_tokens")) : null, "drafted");
        assert.equal(contexts[0].ns_per_drafted_token !== null, pattern !== "slots");
        for (const other of contexts.slice(1)) assert.deepEqual([other.ns_per_drafted_token, other.ns_per_plain_token], [null, null]);
        if (pattern === "draft") assert.match(output(ggscope, ["requests", directory]), /a token took .* with drafts, .* without \(estimated\)$/m);
    }
});

test("a draft's context names its target, and a batch that checks drafts is no prompt", () => {
    for (const pattern of ["draft", "draft-behind"]) {
        const { directory, truth } = run(pattern), found = answer(directory);
        for (const r of [...found.requests, ...found.contexts]) assert.equal(r.decoded_tokens === null, r.kind === "draft" || r.target === 0, "what is fed to a draft belongs to no text");
        assert.deepEqual(found.contexts.map((context) => context.target), [null, 0]);
        assert.equal(found.contexts[0].acceptance, sum(truth, "accepted") / (sum(truth, "accepted") + sum(truth, "rejected")));
        const phases = [0, 1].map((context) => steps(directory).filter((s) => s.context === context).map((s) => s.phase));
        assert.equal(phases[0].filter((phase) => phase === "PROMPT").length, 1);
        assert.equal(phases[1].filter((phase) => phase === "PROMPT").length, 1);
        assert.ok(phases[0].includes("VERIFY") && !phases[0].includes("MIXED"));
        assert.ok(phases[1].includes("GENERATE") && !phases[1].includes("MIXED"));
    }
});

test("prompts of different slots are steps of their own, and their time is that of computing", () => {
    const { directory, truth } = run("embeddings-slowly"), { requests } = answer(directory), all = stats(directory);
    assert.deepEqual(steps(directory).map((s) => [s.phase, s.tokens.length]), truth.map((r) => ["PROMPT", r.prompt]));
    assert.equal(all.tokens, truth.length);
    assert.equal(all.prompt_ns, sum(requests, "compute_ns"));
    const waited = requests.slice(1).reduce((so, r, i) => so + r.begin_ns - requests[i].end_ns, 0);
    assert.ok(waited > 3 * 200e6, "the program paused three times");
    const [, count, time] = output(ggscope, ["stats", directory]).match(/: prompts of (\d+) in ([\d.]+ \w+)/);
    assert.equal(Number(count), sum(truth, "prompt"));
    assert.ok(all.prompt_ns < waited, time);
});

test("batches in which some read their prompt while others generate are MIXED, and prompts alone PROMPT", () => {
    const found = steps(run("slots").directory).map((s) => s.phase);
    assert.equal(found[0], "PROMPT");
    assert.ok(found.includes("MIXED") && found.includes("GENERATE"));
});

test("inputs given as embeddings have no token number, and check looks for none in the graphs", () => {
    const { directory } = run("image"), inputs = table(directory, "inputs");
    assert.deepEqual(inputs.map((row) => row.id === ""), inputs.map((row) => row.position >= 5 && row.position < 21));
    assert.equal(check(directory).tokens, "ok");
});

test("a decode that fails feeds only the tokens that the engine keeps", () => {
    const { directory } = run("aborted"), inputs = table(directory, "inputs");
    assert.deepEqual(inputs.filter((row) => row.sequence === "2").map((row) => Number(row.position)), Array.from({ length: 98 }, (_, i) => i));
    assert.deepEqual(rows(directory, "decodes").decodes.map((d) => d.status).filter((status) => status !== 0), [2, 2, 2]);
    const fed = rows(directory, "steps").steps.filter((s) => s.tokens > 0 && s.phase === phases.indexOf("GENERATE"));
    assert.equal(fed.length, 7);
    assert.equal(stats(directory).generate_ns, fed.reduce((so, s) => so + s.end_ns - s.begin_ns, 0), "what failed is no step that generates");
    assert.equal(check(directory).tokens, "ok");
});

test("tokens of several sequences are counted as changes, not as calls of the program", () => {
    assert.match(output(ggscope, ["requests", run("forks-in-batch").directory]), /^ +changes: 0 remove \(0 cells\), 2 copy \(10\), /m);
});

test("a sample that fed nothing has a row in the decode that computed its output", () => {
    const { directory } = run("samples"), query = (sql) => output(ggscope, ["sql", "--csv", directory, sql]).trim().split(/\r?\n/).slice(1);
    assert.deepEqual(query("SELECT request, decode, phase, tokens, generated_tokens, batch_tokens FROM request_steps WHERE request <= 3"),
        ["1,1,PROMPT,6,1,6", "2,1,PROMPT,0,1,6", "3,1,PROMPT,0,1,6"]);
    const part = JSON.parse(output(ggscope, ["stats", "--json", "--request", "2", directory]));
    assert.deepEqual([part.requests, part.prompt_tokens, part.generated_tokens], [1, 0, 1]);
    assert.equal(answer(directory, "--batches").batches[0].prompt_tokens, 6);
});

test("warm-ups and probes are steps of their own kind", () => {
    assert.deepEqual(steps(run("warmup").directory).map((s) => s.phase).slice(0, 3), ["WARMUP", "WARMUP", "PROMPT"]);
});

test("changes of the memory are rows in order, with the decode before them", () => {
    const { memory_changes } = rows(run("shift").directory, "memory_changes");
    const kinds = memory_changes.map((change) => change.kind);
    assert.deepEqual(kinds.slice(0, 2), [2, 5]);
    assert.deepEqual([memory_changes[0].from, memory_changes[0].to, memory_changes[1].delta], [3, 13, -10]);
    assert.ok(memory_changes.every((change, i) => i === 0 || change.decode >= memory_changes[i - 1].decode));
    assert.equal(memory_changes[0].decode, 17);
});

test("cells of the memory: shared ones count once, shifted ones are gone", () => {
    const [forks] = answer(run("forks").directory).contexts;
    assert.equal(forks.cells_peak, 5 + 3 * 5);
    assert.equal(forks.sequences_peak, 3);
    const shift = answer(run("shift").directory);
    assert.equal(shift.contexts[0].cells_peak, 24);
    assert.equal(shift.requests[0].cells_peak, 24);
});

// Simulates the memory of a context: an array of cells, each with a position and its sequences.
// Writes come from the ids of SET_ROWS, changes of sequences from the calls. One entry per decode.
function simulate(directory, context) {
    const t = rows(directory, "runs", "index", "tokens", "tensors", "memory_changes", "decodes"), known = graphs(directory);
    const root = (tensor) => tensor.view === 0 ? tensor : root(t.tensors[tensor.view - 1]);
    const cells = new Map(), seen = [];
    let streams = 1, each = 0;
    const drop = (wanted) => { for (const [number, cell] of cells) { for (const q of [...cell.sequences]) if (wanted(q, cell.position)) cell.sequences.delete(q); if (cell.sequences.size === 0) cells.delete(number); } };
    const between = (c) => (p) => p >= Math.max(c.from, 0) && (c.to < 0 || p < c.to);
    const change = (c) => {
        const inside = between(c), mine = (q) => c.sequence < 0 || q === c.sequence;
        if (c.kind === 1) return cells.clear();
        if (c.kind === 2) return drop((q, p) => mine(q) && inside(p));
        if (c.kind === 3 && streams > 1) for (let i = 0; i < each; i++) { const cell = cells.get(c.sequence * each + i); if (cell) cells.set(c.other * each + i, { position: cell.position, sequences: new Set([c.other]) }); }
        else if (c.kind === 3) for (const cell of cells.values()) { if (cell.sequences.has(c.sequence) && inside(cell.position)) cell.sequences.add(c.other); }
        else if (c.kind === 5) for (const cell of cells.values()) { if ([...cell.sequences].some(mine) && inside(cell.position)) cell.position += c.delta; }
        else assert.fail(`a change of kind ${c.kind}`);
    };
    const changes = t.memory_changes.filter((c) => c.context === context);
    for (const { decode } of t.decodes.filter((d) => d.context === context)) {
        while (changes.length > 0 && changes[0].decode < decode) change(changes.shift());
        const written = [], fed = t.tokens.filter((token) => token.decode === decode);
        for (const run of t.runs.filter((r) => r.decode === decode)) {
            const node = known.get(run.graph).find((n) => n.op === "SET_ROWS" && n.name.startsWith("cache_k_l0"));
            if (!node) continue; // a separate graph shifts positions
            ({ ne1: each, ne2: streams } = root(node.tensor));
            written.push(...values(t.index.find((row) => row.run === run.run && row.node === node.node && row.slot === 1)));
        }
        assert.equal(written.length, fed.length);
        for (const number of written) {
            const i = streams === 1 ? 0 : fed.findIndex((token) => token.sequence === Math.floor(number / each)), [token] = fed.splice(i, 1);
            assert.ok(!cells.has(number), `cell ${number} is free`);
            cells.set(number, { position: token.position, sequences: new Set([token.sequence]) });
        }
        const upTo = Array.from({ length: streams }, (_, s) => Math.max(0, ...[...cells.keys()].filter((n) => Math.floor(n / each) === s).map((n) => n % each + 1)));
        const sequences = [...new Set([...cells.values()].flatMap((cell) => [...cell.sequences]))];
        seen.push({
            cells: cells.size, up_to: upTo.reduce((a, b) => a + b, 0), holes: upTo.reduce((a, b) => a + b, 0) - cells.size,
            by_sequence: sequences.map((sequence) => {
                const own = [...cells].filter(([, cell]) => cell.sequences.has(sequence)).map(([number]) => number).sort((a, b) => a - b);
                return { sequence, cells: own.length, first_cell: own[0], last_cell: own.at(-1), pieces: own.filter((n, i) => own[i - 1] !== n - 1).length };
            }).sort((a, b) => a.sequence - b.sequence),
        });
    }
    return { seen, capacity: streams * each, streams };
}

for (const pattern of ["slots", "slots-apart", "cached", "shared", "forks", "forks-apart", "shift", "turns", "draft"]) {
    test(`${pattern}: which cells are in use after each decode, by whom, and the holes among them`, () => {
        const { directory } = run(pattern), found = answer(directory, "--cells");
        for (const { context, capacity, streams, up_to_peak, holes_peak, cells_peak } of found.memories) {
            const truth = simulate(directory, context), own = found.cells.filter((use) => use.context === context);
            assert.deepEqual(own.map(({ cells, up_to, holes, by_sequence }) => ({ cells, up_to, holes, by_sequence: by_sequence.sort((a, b) => a.sequence - b.sequence) })), truth.seen);
            const most = (key) => Math.max(...truth.seen.map((one) => one[key]));
            assert.deepEqual([capacity, streams, cells_peak, up_to_peak, holes_peak], [truth.capacity, truth.streams, most("cells"), most("up_to"), most("holes")]);
            assert.ok(own.every((use) => use.attended_in_use <= use.attended && (streams > 1 || use.attended_in_use === use.cells)));
            assert.ok(own.some((use) => use.attended_in_use !== null));
        }
        assert.equal(found.memories[0].streams > 1, pattern.endsWith("-apart"));
        for (const context of found.contexts) {
            const of = (key, ...kinds) => found.changes.filter((one) => one.context === context.context && kinds.includes(one.kind)).reduce((sum, one) => sum + one[key], 0);
            assert.deepEqual(["calls", "cells"].map((key) => [of(key, "remove", "keep"), of(key, "copy"), of(key, "add", "divide"), of(key, "clear")]), [
                [context.removed, context.copied, context.moved, context.cleared],
                [context.removed_cells, context.copied_cells, context.moved_cells, context.cleared_cells],
            ]);
        }
    });
}

test("cells: the tables have the number of each token's, and how many a change was about", () => {
    const { directory } = run("shared"), query = (sql) => output(ggscope, ["sql", "--csv", directory, sql]).trim().split(/\r?\n/).slice(1);
    const { index } = rows(directory, "index"), written = index.filter((row) => row.width === 8).filter((row, i) => i % 2 === 0).flatMap((row) => values(row));
    assert.deepEqual(query("SELECT cell FROM inputs ORDER BY token, input").map(Number), written, "keys and values are written to the same cells");
    assert.deepEqual(query("SELECT kind, cells FROM memory_changes"), [...Array(3).fill("copy,6"), ...[10, 11, 12].flatMap((cells) => [`remove,${cells}`, "copy,6"])]);
    const [context] = answer(directory).contexts;
    assert.deepEqual([context.copied, context.copied_cells, context.removed, context.removed_cells], [6, 36, 3, 10 + 11 + 12]);
});

test("cells over time: what is in use lies within what attention goes over", () => {
    const { directory } = run("slots"), { cells, contexts } = answer(directory, "--cells");
    assert.equal(cells.length, steps(directory).length);
    assert.equal(Math.max(...cells.map((use) => use.cells)), contexts[0].cells_peak);
    for (const use of cells) assert.ok(use.cells <= use.attended && use.attended % 32 === 0, JSON.stringify(use));
    assert.match(output(ggscope, ["requests", "--cells", directory]), /context +at +token +cells +sequences +up to +holes +attended +in use +sequence in each cell/);
});

test("batches: what decodes were made of adds up to what requests fed", () => {
    for (const pattern of ["slots", "draft"]) {
        const { directory, truth } = run(pattern), { batches, contexts } = answer(directory, "--batches");
        assert.equal(sum(batches.filter((b) => b.context === 0), "prompt_tokens"), sum(truth.filter((r) => r.context === 0), "prompt"));
        assert.equal(Math.max(...batches.map((b) => b.requests)), pattern === "slots" ? 4 : 2);
        assert.equal(sum(batches.filter((b) => b.context === 0), "verify_tokens") > 0, pattern === "draft");
        assert.deepEqual([...new Set(batches.map((b) => b.context))], contexts.map((context) => context.context));
    }
    const text = output(ggscope, ["requests", "--batches", run("slots").directory]);
    assert.match(text, /context +from +to +decodes +prompt +generate +verify +requests/);
});

test("costs are shared by tokens, and add up to those of the steps", () => {
    const { directory } = run("slots"), { requests } = answer(directory, "--costs"), all = stats(directory);
    for (const key of ["op_ns", "bytes_read", "bytes_written", "bytes_disk"]) {
        const shared = requests.reduce((so, r) => so + r.estimated[key], 0);
        assert.ok(Math.abs(shared - all[key]) <= all[key] / 1000 + 1000, `${key}: ${shared} of ${all[key]}`);
    }
});

test("stats by request and sequence share the steps out, by context they are exact", () => {
    const { directory } = run("draft"), all = JSON.parse(output(ggscope, ["stats", "--json", "--by", "context,request,sequence", directory]));
    assert.deepEqual(all.by_context.map((group) => group.context), [0, 1]);
    assert.deepEqual(all.contexts, answer(directory).contexts, "what drafts cost and saved is told here too");
    assert.match(output(ggscope, ["stats", "--by", "context", directory]), /^context 0: \d+ of \d+ drafted tokens accepted .*\ncontext 0: a token took .* with drafts, .* without \(estimated\)\ncontext 1: drafts tokens for context 0$/m);
    assert.equal(stats(directory).contexts, undefined);
    assert.equal(sum(all.by_context, "ops"), all.ops);
    assert.equal(sum(all.by_context, "bytes_read"), all.bytes_read);
    assert.deepEqual(all.by_sequence.map((group) => `${group.context} ${group.sequence}`).sort(), ["0 0", "0 1", "1 0", "1 1"]);
    assert.deepEqual(all.by_request.map((group) => group.request), [1, 2, 3, 4]);
    for (const groups of [all.by_request, all.by_sequence]) {
        assert.ok(groups.every((group) => group.estimated === true));
        assert.ok(Math.abs(sum(groups, "bytes_read") - all.bytes_read) < all.bytes_read / 1000);
    }
});

test("a request, a sequence or a context by itself: stats, log, graph, export", () => {
    const { directory, truth } = run("slots");
    for (const [i, one] of truth.entries()) {
        const part = JSON.parse(output(ggscope, ["stats", "--json", "--request", String(i + 1), directory]));
        assert.deepEqual([part.prompt_tokens, part.generated_tokens, part.requests], [one.prompt, one.generated, 1]);
    }
    const found = answer(directory).requests[2];
    const tokens = (...options) => new Set(JSON.parse(output(ggscope, ["log", "--json", ...options, directory])).ops.map((op) => op.token));
    assert.equal(tokens("--request", "3").size, found.steps);
    assert.equal(tokens("--context", "0").size, stats(directory).tokens);
    assert.match(output(ggscope, ["graph", "--request", "6", directory]), /^graph /);
    const csv = output(ggscope, ["export", "--format", "csv", "--table", "request_steps", "--request", "3", "-q", "-o", "-", directory]).trim().split("\n");
    assert.ok(csv.length - 1 >= found.decodes);
    const wrong = plainRun(ggscope, ["stats", "--request", "70", directory]);
    assert.equal(wrong.status, 1);
    assert.match(wrong.stderr, /there is no request 70: this recording has requests 1 to 6/);
});

test("the tables requests, request_steps, contexts and memory_changes", () => {
    const { directory, truth } = run("draft"), out = scratch("draft-tables");
    output(ggscope, ["export", "--format", "csv", "--table", "requests", "--table", "request_steps", "--table", "contexts", "--table", "memory_changes", "-q", "-o", out, directory]);
    const table = (name) => {
        const [head, ...lines] = readFileSync(join(out, `${name}.csv`), "utf8").trim().split("\n").map((line) => line.split(","));
        return lines.map((cells) => Object.fromEntries(head.map((key, i) => [key, cells[i]])));
    };
    assert.deepEqual(table("requests").map((r) => Number(r.generated_tokens)), truth.map((r) => r.generated));
    assert.deepEqual(table("contexts").map((c) => c.target), ["", "0"]);
    const parts = table("request_steps");
    for (const [i, one] of truth.entries()) {
        const own = parts.filter((part) => Number(part.request) === i + 1);
        const total = (key) => own.reduce((so, part) => so + Number(part[key]), 0);
        assert.equal(total("generated_tokens"), one.generated);
        assert.equal(total("accepted_tokens"), one.accepted);
        assert.equal(total("rejected_tokens"), one.rejected);
    }
    assert.ok(table("memory_changes").every((change) => change.kind === "remove"));
});

test("text, csv and filters", () => {
    const { directory, truth } = run("slots");
    const lines = output(ggscope, ["requests", directory]).split("\n");
    assert.match(lines[0], /request +seq +kind +begin +time +prompt +cached +tokens +first +each +between +steps/);
    assert.equal(lines.filter((line) => line.includes(" completion ")).length, truth.length);
    const csv = output(ggscope, ["requests", "--csv", directory]).trim().split("\n").map((line) => line.split(","));
    assert.equal(csv.length, truth.length + 1);
    assert.ok(csv.every((cells) => cells.length === csv[0].length));
    assert.deepEqual(csv.slice(1).map((cells) => Number(cells[csv[0].indexOf("generated_tokens")])), truth.map((r) => r.generated));
    const one = answer(directory, "--sequence", "1").requests;
    assert.deepEqual(one.map((r) => r.sequence), truth.filter((r) => r.sequence === 1).map((r) => r.sequence));
    check(directory);
});

// Asks /api/x/0/slots of a server that runs during the test.
async function slotsOf(directory, ask) {
    const server = spawn(ggscope, ["serve", "--port", "0", directory], { stdio: ["ignore", "pipe", "inherit"] });
    try {
        const address = /http:\/\/\S+/.exec(String((await once(server.stdout, "data"))[0]))[0];
        const get = async (query) => {
            for (;;) {
                const answer = await fetch(new URL(`api/x/0/slots?${query}`, address));
                if (answer.status !== 202) return answer.json();
            }
        };
        await ask(async (query) => {
            const { pieces, ...rest } = await get(query), keys = Object.keys(pieces);
            return { ...rest, pieces: pieces.slot.map((_, i) => Object.fromEntries(keys.map((key) => [key, pieces[key][i]]))) };
        });
    } finally {
        server.kill();
    }
}

test("slots over time: each decode of each request; folded, nothing is missing, and no more pieces come than pixels", async () => {
    const { directory } = run("slots"), all = answer(directory).requests;
    const sequences = [...new Set(all.map((r) => r.sequence))].sort((a, b) => a - b);
    const [begin, end] = [Math.min(...all.map((r) => r.begin_ns)), Math.max(...all.map((r) => r.end_ns))];
    await slotsOf(directory, async (ask) => {
        const near = await ask(`begin=${begin}&end=${end + 1}&pixels=4096`);
        assert.deepEqual(near.slots.map((slot) => slot.sequence), sequences);
        for (const r of all) {
            const mine = near.pieces.filter((piece) => piece.request === r.request && near.slots[piece.slot].sequence === r.sequence);
            assert.deepEqual([mine[0].begin_ns, mine.at(-1).end_ns], [r.begin_ns, r.end_ns]);
            assert.equal(sum(mine, "prompt_ns") + sum(mine, "tokens_ns"), r.compute_ns, `request ${r.request}`);
            const i = near.requests.request.indexOf(r.request);
            assert.equal(near.requests.prompt_ns[i] + near.requests.tokens_ns[i], r.compute_ns);
            assert.deepEqual([near.requests.wait_ns[i], near.requests.first_output_ns[i]], [r.wait_ns, r.first_output_ns]);
        }
        // In one pixel: one piece per slot, with the same time and number of requests.
        const far = await ask(`begin=${begin}&end=${end + 1}&pixels=1`);
        assert.equal(far.pieces.length, sequences.length);
        for (const piece of far.pieces) {
            const mine = near.pieces.filter((one) => one.slot === piece.slot);
            for (const key of ["prompt_ns", "tokens_ns"]) assert.equal(piece[key], sum(mine, key));
            assert.equal(piece.requests, all.filter((r) => r.sequence === sequences[piece.slot]).length);
            assert.equal(piece.others, Math.max(...mine.map((one) => one.others)));
        }
        // Two decodes around a wait without computation are listed, so that the wait is visible.
        const r = all.find((one) => one.wait_ns > 0), mine = near.pieces.filter((piece) => piece.request === r.request);
        const at = mine.findIndex((piece, i) => i > 0 && piece.begin_ns - mine[i - 1].end_ns > 2);
        const gap = await ask(`begin=${mine[at - 1].end_ns + 1}&end=${mine[at].begin_ns - 1}&pixels=64`);
        assert.deepEqual(gap.pieces.filter((piece) => piece.request === r.request), [mine[at - 1], mine[at]]);
    });
});

test("a program that answers one prompt has no slots", async () => {
    const { directory } = run("one-by-one");
    assert.equal(answer(directory).requests.filter((r) => r.kind !== "warmup").length, 1);
    await slotsOf(directory, async (ask) => assert.deepEqual(await ask("pixels=10"), { slots: [], more: 0, pieces: [], requests: (await ask("pixels=9")).requests }));
});
