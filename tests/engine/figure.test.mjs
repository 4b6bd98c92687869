// ggscope figure: every kind for a dense model and a mixture of experts, as SVG and PDF, with the
// numbers of other verbs.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import { build, engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { browse } from "../server.mjs";
import { noGroups } from "../memory-group.mjs";
import { generate, record } from "./traces.mjs";

const dense = generate(model("tiny"), "-n", "6", "-t", "2").directory, moe = generate(model("moe"), "-n", "6", "-t", "2").directory;
const kinds = ["access-order", "memory-map", "order-map", "heat-over-offset", "heat-rows", "reuse", "experts", "expert-matrix", "roofline", "paging", "tokens", "token-ops", "token-bytes", "graph", "timeline", "cells", "choices", "working-sets", "lead-times", "durations", "storage"];
const ofExperts = new Set(["experts", "expert-matrix", "choices", "working-sets", "lead-times"]);
const json = (...words) => JSON.parse(output(ggscope, [...words, "--json"]));
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);

let files = 0;
const draw = (directory, ending, ...options) => {
    const file = scratch(`figure${files++}.${ending}`);
    output(ggscope, ["figure", directory, "-o", file, ...options]);
    return readFileSync(file);
};

// Rows of CSV by the names of their columns; quoted fields have no line breaks here.
function rowsOf(directory, ...options) {
    const [names, ...rows] = output(ggscope, ["figure", directory, "--data", "-", ...options]).trimEnd().split("\n")
        .map((line) => [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain));
    return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
}

// Elements in order, with their attributes; fails if they do not nest.
function elements(svg) {
    const found = [], open = [];
    for (const [, closes, name, attributes, ends] of svg.matchAll(/<(\/?)([a-z]+)((?:\s+[\w-]+="[^"<]*")*)\s*(\/?)>/g)) {
        if (closes) assert.equal(open.pop(), name);
        else if (!ends) open.push(name);
        if (!closes) found.push({ name, ...Object.fromEntries([...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value])) });
    }
    assert.deepEqual(open, []);
    assert.equal(svg.replace(/<[^>]*>/g, "").match(/[<>]/), null);
    return found;
}

// Objects of a PDF by number, each { head, stream }, found by its cross-reference table.
function objects(pdf) {
    const text = pdf.toString("latin1"), xref = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)[1]);
    const lines = text.slice(xref).split("\n");
    assert.equal(lines[0], "xref");
    const n = Number(lines[1].split(" ")[1]), found = [null];
    for (let i = 1; i < n; i++) {
        assert.match(lines[2 + i], /^\d{10} 00000 n $/);
        const at = Number(lines[2 + i].slice(0, 10)), [whole, head] = new RegExp(`^${i} 0 obj\\n(<<[^]*?>>)\\n(?:stream\\n|endobj\\n)`).exec(text.slice(at)) ?? [];
        assert.ok(whole, `object ${i} at ${at}`);
        const length = /\/Length (\d+)/.exec(head);
        found.push({ head, stream: length && inflateSync(pdf.subarray(at + whole.length, at + whole.length + Number(length[1]))) });
    }
    return found;
}

// Texts on one line do not overlap and end inside the page with any font: each states its length.
function apart(all, what) {
    const [, , wide] = numbersOf(all[0].viewBox);
    const texts = all.filter((one) => one.name === "text" && one.transform === undefined && one["font-weight"] === undefined).map((one) => {
        const length = Number(one.textLength), x = Number(one.x) - { start: 0, middle: 0.5, end: 1 }[one["text-anchor"] ?? "start"] * length;
        assert.ok(length > 0, what);
        return { y: Number(one.y), from: x, to: x + length };
    });
    for (const { from, to } of texts) assert.ok(from >= 0 && to <= wide, `${what}: a text from ${from} to ${to} of ${wide}`);
    for (const a of texts) for (const b of texts) if (a !== b && a.y === b.y) assert.ok(a.to < b.from || b.to < a.from, `${what}: texts at ${a.from}, ${b.from} touch`);
}

const numbersOf = (text) => [...text.matchAll(/-?\d+(?:\.\d+)?/g)].map(Number);

for (const [name, directory] of [["dense", dense], ["moe", moe]])
    for (const kind of kinds)
        test(`${kind} of a ${name} recording: SVG and PDF, the same bytes twice`, () => {
            if (name === "dense" && ofExperts.has(kind)) {
                const file = scratch("none.svg"), { status, stderr } = run(ggscope, ["figure", directory, "--kind", kind, "-o", file]);
                assert.deepEqual([status, stderr, existsSync(file)], [1, "ggscope: this model has no experts: there is nothing to draw\n", false]);
                return;
            }
            const svg = draw(directory, "svg", "--kind", kind, "--width", "84mm"), all = elements(svg.toString());
            assert.ok(svg.equals(draw(directory, "svg", "--kind", kind, "--width", "84mm")));
            assert.equal(all[0].width, "84.00mm");
            assert.doesNotMatch(svg.toString().replace(/base64,[^"]*/g, ""), /nan|inf|>-0</i);
            const [, , wide, high] = numbersOf(all[0].viewBox);
            for (const { x, y } of all.filter((one) => one.name === "text")) assert.ok(x >= 0 && x <= wide && y >= 0 && y <= high, `a text at ${x}, ${y} lies outside`);
            apart(all, `${kind} of ${name}`);
            const pdf = draw(directory, "pdf", "--kind", kind, "--width", "84mm"), parts = objects(pdf);
            assert.ok(pdf.equals(draw(directory, "pdf", "--kind", kind, "--width", "84mm")));
            assert.doesNotMatch(pdf.toString("latin1"), /\/(ID|CreationDate|ModDate)\b/);
            // Both have the same texts, paths and rasters.
            const page = parts[4].stream.toString("latin1");
            assert.equal([...page.matchAll(/ Tj ET$/gm)].length, all.filter((one) => one.name === "text").length);
            assert.equal([...page.matchAll(/ Do Q$/gm)].length, all.filter((one) => one.name === "image").length);
            for (const { head, stream } of parts.slice(7)) assert.equal(stream.length, Number(/Width (\d+)/.exec(head)[1]) * Number(/Height (\d+)/.exec(head)[1]));
        });

test("rasters are PNG in SVG: their pixels are those of the PDF", () => {
    const svg = draw(moe, "svg", "--kind", "expert-matrix").toString(), [, png] = /data:image\/png;base64,([^"]*)/.exec(svg);
    const bytes = Buffer.from(png, "base64"), width = bytes.readUInt32BE(16), height = bytes.readUInt32BE(20), data = [];
    for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at)) if (bytes.toString("latin1", at + 4, at + 8) === "IDAT") data.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)));
    const rows = inflateSync(Buffer.concat(data)), pixels = Buffer.concat(Array.from({ length: height }, (_, y) => rows.subarray(y * (width + 1) + 1, (y + 1) * (width + 1))));
    assert.deepEqual([width, height], [32, 24]);
    assert.ok(pixels.equals(objects(draw(moe, "pdf", "--kind", "expert-matrix"))[7].stream));
});

// ---- numbers ----

test("experts and expert-matrix have the counts of ggscope experts", () => {
    const { by_layer } = json("experts", moe);
    const counts = (rows) => rows.map((row) => [Number(row.layer), Number(row.expert), Number(row.times)]);
    const right = by_layer.flatMap(({ layer, counts: all }) => all.map((times, expert) => [layer, expert, times]));
    assert.deepEqual(counts(rowsOf(moe, "--kind", "experts")), right);
    assert.deepEqual(counts(rowsOf(moe, "--kind", "expert-matrix")), right);
    assert.deepEqual(counts(rowsOf(moe, "--kind", "experts", "--layer", "3")), right.filter(([layer]) => layer === 3));
    assert.match(run(ggscope, ["figure", moe, "--kind", "experts", "--layer", "99", "--data", "-"]).stderr, /layer 99 has no experts: the layers from 0 to 23 have/);
});

test("reuse has the bins of stats", () => {
    for (const directory of [dense, moe]) {
        const { pattern } = json("stats", directory), rows = rowsOf(directory, "--kind", "reuse");
        assert.equal(Number(rows.at(-1).bytes), pattern.bytes_first);
        const bins = pattern.reuse_bins.flatMap((bytes, i) => (bytes > 0 ? [[2 ** (i - 1), 2 ** i, bytes]] : []));
        assert.deepEqual(rows.slice(0, -1).map((row) => [Number(row.distance_from), Number(row.distance_to), Number(row.bytes)]), bins);
    }
});

test("paging has the costs of ggscope paging", () => {
    const right = json("paging", moe, "--policy", "lru,linux,pin-hot,opt,stream"), rows = rowsOf(moe, "--kind", "paging");
    const of = (policy) => rows.filter((row) => row.policy === policy).map((row) => [Number(row.memory_bytes), Number(row.bytes_per_token)]);
    assert.deepEqual(of("lru"), right.lru_curve.map((p) => [p.memory_bytes, p.bytes_per_token]));
    for (const policy of ["linux", "pin-hot", "opt", "stream"])
        assert.deepEqual(of(policy), right.budgets.filter(({ policies: { [policy]: cost } }) => cost.known !== false && cost.streams !== false).map((one) => [one.memory_bytes, one.policies[policy].bytes_per_token]), policy);
});

test("paging: the scale shows every policy, and no two curves look the same without colours", () => {
    for (const directory of [dense, moe]) {
        const svg = draw(directory, "svg", "--kind", "paging").toString(), rows = rowsOf(directory, "--kind", "paging");
        const most = (...policies) => Math.max(...rows.filter((row) => policies.includes(row.policy)).map((row) => Number(row.bytes_per_token)));
        assert.ok(most("linux") > 4 * most("lru", "opt"), "Linux reads far more with little memory");
        // On a logarithmic axis neighbouring labels of y have equal ratios, not differences.
        const labels = [...svg.matchAll(/text-anchor="end"[^>]*>([\d.]+) ([KMG]?i?B)</g)].map(([, n, unit]) => Number(n) * { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }[unit]);
        assert.ok(labels.length >= 4 && labels[1] / labels[0] === labels[2] / labels[1], labels.join(" "));
        assert.ok(labels[0] < most("opt") && labels.at(-1) >= most("linux"));
        const dashes = [...svg.matchAll(/<path [^>]*fill="none"[^>]*stroke-width="1.10"[^>]*>/g)].map(([path]) => /dasharray="([\d.]+)"/.exec(path)?.[1] ?? "0");
        const curves = new Set(rows.map((row) => row.policy)).size - 1; // Linux is drawn as points
        assert.equal(new Set(dashes).size, curves, dashes.join(" "));
    }
});

test("roofline has the rows of stats --roofline", () => {
    for (const directory of [dense, moe]) {
        const right = json("stats", "--roofline", directory).by_op.filter((row) => row.flops > 0 && !row.on_device && row.wall_ns > 0);
        assert.ok(right.length > 3);
        assert.deepEqual(
            rowsOf(directory, "--kind", "roofline").map((row) => [row.phase, row.op, row.component, ...["ops", "wall_ns", "bytes_read", "bytes_written", "flops"].map((key) => Number(row[key]))]),
            right.map((row) => [row.phase, row.op, row.component, row.ops, row.wall_ns, row.bytes_read, row.bytes_written, row.flops]),
        );
    }
});

test("tokens has the steps of the recording", () => {
    const steps = JSON.parse(output(ggscope, ["sql", moe, "SELECT token, phase, begin_ns, end_ns FROM tokens WHERE token >= 0 ORDER BY token", "--json"]));
    const right = (steps.rows ?? steps).map((row) => (Array.isArray(row) ? row : Object.values(row)));
    assert.equal(right.length, 6);
    assert.deepEqual(rowsOf(moe, "--kind", "tokens").map((row) => [Number(row.token), row.phase, Number(row.begin_ns), Number(row.end_ns)]), right);
});

test("the memory map hatches what was not read", () => {
    const { bytes_touched: touched, bytes } = json("stats", moe).model;
    assert.ok(touched < 0.9 * bytes, "experts that no token chose");
    output(ggscope, ["figure", moe, "--kind", "memory-map", "-o", scratch("map.svg")]);
    assert.match(readFileSync(scratch("map.svg"), "utf8"), />untouched</);
});

test("the memory map has the bytes of buffers that ops touch, as the page has them", async () => {
    for (const directory of [dense, moe]) {
        await browse([directory], async (get) => {
            const { buffer_ranges: of } = await get("/api/x/0/heat"), { buffers } = await get("/api/x/0/buffers");
            const shown = new Set(buffers.filter((one) => one.file === null && one.class !== "weights").map((one) => one.buffer));
            const right = of.buffer.flatMap((buffer, i) => (shown.has(buffer) ? [[buffer, of.buffer_offset[i], of.bytes[i], of.bytes_touched[i]]] : []));
            const rows = rowsOf(directory, "--kind", "memory-map").filter((row) => row.buffer !== "");
            const key = (one) => one.join();
            assert.ok(right.length > 10);
            assert.deepEqual(rows.map((row) => key([row.buffer, row.buffer_offset, row.bytes_read, row.bytes_touched])).sort(), right.map(key).sort());
        });
        output(ggscope, ["figure", directory, "--kind", "memory-map", "-o", scratch("buffers.svg")]);
        for (const name of ["KV cache", "compute"]) assert.match(readFileSync(scratch("buffers.svg"), "utf8"), new RegExp(`>${name}<`));
    }
});

test("order-map has the last access of each tensor, as the page has it, in order", async () => {
    for (const directory of [dense, moe]) {
        const rows = rowsOf(directory, "--kind", "order-map", "--token", "2");
        await browse([directory], async (get) => {
            const { tensors: of } = await get("/api/x/0/heat?tokens=2..2"), { files } = await get("/api/x/0/map");
            const right = of.last_run.filter((run) => run !== null).length;
            assert.ok(files.length > 0 && right > 100);
            assert.equal(rows.length, right);
        });
        const sorted = [...rows].sort((a, b) => a.order - b.order);
        sorted.forEach((row, i) => assert.equal(Number(row.order), i + 1));
        for (const [i, row] of sorted.entries()) if (i > 0) assert.ok(Number(sorted[i - 1].last_run) * 1e6 + Number(sorted[i - 1].last_node) <= Number(row.last_run) * 1e6 + Number(row.last_node));
        // The last one is read by the last op that reads a weight.
        const last = json("log", "--token", "2", directory).ops.filter((op) => rows.some((row) => Number(row.last_run) === op.run && Number(row.last_node) === op.node)).at(-1);
        assert.equal(Number(sorted.at(-1).last_node), last.node);
    }
});

test("heat and the memory map have the accesses of stats, by tensor", () => {
    for (const directory of [dense, moe]) {
        const right = new Map(json("stats", directory, "--token", "0..").weights.map((row) => [row.name, row]));
        for (const kind of ["heat-over-offset", "memory-map"]) {
            const rows = rowsOf(directory, "--kind", kind).filter((row) => row.file !== ""), bytes = new Map();
            for (const row of rows) if (row.name) bytes.set(row.name, (bytes.get(row.name) ?? 0) + Number(row.bytes_read));
            assert.ok(right.size > 100);
            for (const [name, { bytes_read: read }] of right) assert.equal(bytes.get(name), read, name);
            // Every byte of the files counts exactly once.
            let at = 0;
            for (const row of rows) assert.equal(Number(row.file_offset), at), (at += Number(row.bytes));
        }
    }
});

test("the grids hold every byte that ops read of the model", () => {
    for (const directory of [dense, moe]) {
        const { pattern } = json("stats", directory, "--token", "0.."), near = (a, b) => assert.ok(Math.abs(a - b) < 1e-3 * b, `${a} and ${b}`);
        near(sum(rowsOf(directory, "--kind", "heat-rows").map((row) => Number(row.bytes_read))), pattern.bytes);
        near(sum(rowsOf(directory, "--kind", "access-order").map((row) => Number(row.bytes_mapped) + Number(row.bytes_copies))), pattern.bytes);
        for (const token of [0, 3]) {
            const one = json("stats", directory, "--token", String(token)).pattern.bytes;
            near(sum(rowsOf(directory, "--kind", "heat-rows").filter((row) => Number(row.token) === token).map((row) => Number(row.bytes_read))), one);
            near(sum(rowsOf(directory, "--kind", "heat-rows", "--token", String(token)).map((row) => Number(row.bytes_read))), one);
        }
    }
});

test("choices, working-sets and lead-times have the numbers of ggscope experts", () => {
    const right = json("experts", moe), sql = JSON.parse(output(ggscope, ["sql", moe, "SELECT token, rank, expert FROM experts WHERE layer = 2 AND token >= 0", "--json"]));
    const all = (sql.rows ?? sql).map((row) => (Array.isArray(row) ? row : Object.values(row)).join());
    assert.ok(all.length > 20);
    assert.deepEqual(rowsOf(moe, "--kind", "choices", "--layer", "2").map((row) => `${row.token},${row.rank},${row.expert}`).sort(), all.sort());
    assert.deepEqual(rowsOf(moe, "--kind", "choices"), rowsOf(moe, "--kind", "choices", "--layer", "0"));
    assert.deepEqual(rowsOf(moe, "--kind", "working-sets").map((row) => [row.window, row.most_experts, row.most_bytes].map(Number)), right.working_sets.map((one) => [one.window, one.most_experts, one.most_bytes]));
    assert.deepEqual(
        rowsOf(moe, "--kind", "lead-times").map((row) => [row.component, ...["count", "least_ns", "mean_ns", "most_ns"].map((key) => Number(row[key]))]),
        right.by_component.filter((one) => one.prefetch).map(({ component, prefetch: p }) => [component, p.count, p.least_ns, p.mean_ns, p.most_ns]),
    );
    assert.match(run(ggscope, ["figure", moe, "--kind", "choices", "--layer", "99", "--data", "-"]).stderr, /layer 99 has no experts: the layers from 0 to 23 have/);
});

test("durations, storage and token-ops have the numbers of stats and log", () => {
    for (const directory of [dense, moe]) {
        const bins = [];
        for (const row of json("stats", "--roofline", directory).by_op) row.duration_bins.forEach((n, i) => (bins[i] = (bins[i] ?? 0) + n));
        assert.deepEqual(rowsOf(directory, "--kind", "durations").map((row) => [row.from_ns, row.to_ns, row.ops].map(Number)), bins.flatMap((n, i) => (n > 0 ? [[2 ** i, 2 ** (i + 1), n]] : [])));
        const { by_token: tokens, machine } = json("stats", "--by", "token", directory), stalls = new Map(machine.faults?.by_token.map((row) => [row.token, row.stalled_ns]));
        assert.deepEqual(
            rowsOf(directory, "--kind", "storage").map((row) => [Number(row.token), Number(row.bytes_disk), row.stalled_ns]),
            tokens.filter((row) => row.token !== null).map((row) => [row.token, row.bytes_disk, machine.faults ? String(stalls.get(row.token) ?? 0) : ""]),
        );
        const ops = json("log", "--token", "3", directory).ops.filter((op) => op.fused_with === null && op.duration_ns > 0);
        assert.deepEqual(rowsOf(directory, "--kind", "token-ops", "--token", "3").map((row) => [row.op, row.name, Number(row.duration_ns)]), ops.map((op) => [op.op, op.name, op.duration_ns]));
        const boxes = draw(directory, "svg", "--kind", "token-ops").toString();
        for (const text of ["token 1", "matrix product", "norm"]) assert.ok(boxes.includes(`>${text}<`), text);
        const moved = rowsOf(directory, "--kind", "token-bytes", "--token", "3"), { bytes_read, bytes_written } = json("stats", "--token", "3", directory);
        assert.equal(sum(moved.map((row) => Number(row.bytes))), bytes_read + bytes_written);
        assert.match(draw(directory, "svg", "--kind", "token-bytes", "--token", "3").toString(), />bytes read and written \([KM]iB\)</);
    }
});

test("maps of touched pages and page faults have the numbers of prove and log", () => {
    const proved = scratch("proved");
    output(ggscope, ["run", "-q", "-m", model("tiny", "--layers", "2"), "-p", "Once", "-n", "2", "-t", "1", "--prove", "--no-repack", "-o", proved]);
    const pages = rowsOf(proved, "--kind", "page-map"), { pages_touched, page_bytes } = json("prove", proved);
    // A page counts once here, and there in each graph run that touches it: two steps, the warm-up.
    const touched = sum(pages.map((row) => Number(row.bytes_touched))), all = pages_touched * page_bytes;
    assert.ok(touched <= all && touched >= all / 3, `${touched} bytes of ${pages_touched} pages`);
    for (const row of pages) assert.ok(Number(row.bytes_touched) <= Number(row.bytes), JSON.stringify(row));
    assert.match(draw(proved, "svg", "--kind", "page-map").toString(), />part touched/);
    assert.match(run(ggscope, ["figure", dense, "--kind", "page-map", "--data", "-"]).stderr, /touched pages \(--prove\) were not recorded/);
    if (json("stats", moe).machine.faults === null) return;
    const faults = json("log", "--faults", moe).faults.filter((one) => one.file !== null && one.token !== null);
    assert.equal(sum(rowsOf(moe, "--kind", "fault-map").map((row) => Number(row.minor) + Number(row.major))), faults.length);
    assert.match(draw(moe, "pdf", "--kind", "fault-map").toString("latin1"), /^%PDF/);
});

test("graph has the nodes and times of ggscope graph, each below what it reads", () => {
    for (const directory of [dense, moe]) {
        const { graphs: [{ nodes, edges }] } = json("graph", "--token", "2", directory), computed = nodes.filter((one) => one.state !== "empty");
        const words = ({ node, op, name, layer, state, duration_ns: took }) => [node, op, name, layer ?? -1, state, took ?? ""].join();
        const rows = rowsOf(directory, "--kind", "graph", "--token", "2"), lines = new Map(rows.map((row) => [Number(row.node), row]));
        assert.deepEqual(rows.map(words), computed.map(words));
        // Past views, within a layer.
        const direct = edges.filter((edge) => lines.has(edge.source_node) && lines.has(edge.node)).map((edge) => [lines.get(edge.source_node), lines.get(edge.node)]).filter(([from, to]) => from.layer === to.layer && from.layer !== "-1");
        assert.ok(direct.length > 200);
        for (const [from, to] of direct) assert.ok(Number(from.line) < Number(to.line), `${to.name} reads ${from.name}`);
        assert.deepEqual(rowsOf(directory, "--kind", "graph", "--token", "2", "--layer", "3"), rows.filter((row) => row.layer === "3"));
        const [columns, layer] = [draw(directory, "svg", "--kind", "graph", "--token", "2"), draw(directory, "svg", "--kind", "graph", "--token", "2", "--layer", "3")].map(String);
        for (const text of ["in", "layer", "MUL_MAT", "time of a node", "read by the node below, in token 2"]) assert.ok(columns.includes(`>${text}<`), text);
        for (const text of ["3", "Qcur-3", "attn_norm-3", "fused"]) assert.ok(layer.includes(`>${text}<`), text);
        // No node lies over another one.
        const boxes = [...layer.matchAll(/<path d="M([\d.]+) ([\d.]+)L([\d.]+) [\d.]+L[\d.]+ ([\d.]+)L[^"]*Z" fill="#/g)].map(([, left, top, right, bottom]) => [left, top, right, bottom].map(Number));
        assert.ok(boxes.length > 30);
        for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) assert.ok(a[2] <= b[0] + 0.02 || b[2] <= a[0] + 0.02 || a[3] <= b[1] + 0.02 || b[3] <= a[1] + 0.02 || (a[0] === b[0] && a[2] === b[2]), `${a} and ${b}`);
        assert.match(run(ggscope, ["figure", directory, "--kind", "graph", "--layer", "99", "--data", "-"]).stderr, /there is no layer 99: this recording has layers 0 to \d+/);
    }
});

test("a timeline has curves below its lanes, up to the largest value", () => {
    const { peak_bytes: peak } = json("buffers", dense);
    const svg = draw(dense, "svg", "--kind", "timeline").toString();
    assert.match(svg, />curves, up to the amount beside them</);
    const [, amount, unit] = />buffers, ([\d.]+) ([KMG]iB)</.exec(svg), shown = amount * { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }[unit];
    assert.ok(Math.abs(shown / peak - 1) < 0.005, `${shown} of ${peak}`);
    assert.match(svg, />addressed, [\d.]+ [KMG]iB\/s</);
    // Two recordings have lanes alone.
    const both = scratch("lanes.svg");
    output(ggscope, ["figure", dense, moe, "--kind", "timeline", "-o", both]);
    assert.doesNotMatch(readFileSync(both, "utf8"), />buffers, /);
});

test("a timeline has every op run, alone where there is room, else in bins", () => {
    for (const directory of [dense, moe]) {
        const lanes = 2, rows = rowsOf(directory, "--kind", "timeline"), { op_runs: all } = json("stats", directory, "--token", "0..");
        assert.equal(sum(rows.map((row) => Number(row.op_runs))), all);
        assert.deepEqual([...new Set(rows.map((row) => Number(row.lane)))].sort(), [0, 1]);
        assert.ok(rows.length <= 2 * 600 * lanes, `${rows.length} bins`);
        const [op] = json("log", "--token", "2", "--sort", "duration", directory).ops.filter((one) => one.op === "MUL_MAT"), { begin_ns: from, duration_ns: took } = op;
        const near = ["--since", String(from), "--until", String(from + took)];
        const found = rowsOf(directory, "--kind", "timeline", ...near);
        assert.ok(found.some((row) => row.op === "MUL_MAT" && Number(row.begin_ns) <= from + took), JSON.stringify([op, found]));
        assert.ok(sum(found.map((row) => Number(row.op_runs))) < all / 10);
        assert.match(draw(directory, "svg", "--kind", "timeline", ...near).toString(), />matrix product</);
        assert.match(run(ggscope, ["figure", directory, "--kind", "timeline", "--since", "9000s", "--data", "-"]).stderr, /nothing was recorded in this time/);
        // What is painted last, and last in the legend, lies over the rest: stalls are within ops.
        const svg = draw(directory, "svg", "--kind", "timeline").toString(), place = (name) => svg.indexOf(`>${name}<`);
        if (rows.some((row) => Number(row.stalled_ns) > 0)) for (const name of ["waiting", "matrix product", "attention", "norm", "element-wise"]) assert.ok(place(name) < place("stalled by page faults"), name);
    }
});

test("values, value-ranges and residency of a recording that has them; others say what is missing", () => {
    const directory = scratch("values");
    output(ggscope, ["run", "-q", "--values", "--residency", "-m", model("tiny"), "-p", "Once upon a time", "-n", "4", "--ignore-eos", "-o", directory]);
    const values = json("values", directory), rows = rowsOf(directory, "--kind", "values", "--largest");
    const named = (list) => [...new Set(list)].sort();
    assert.deepEqual(named(rows.map((row) => `${row.op} ${row.tensor}`)), named(values.by_op.filter((op) => !op.choice).map((op) => `${op.op} ${op.name}`)));
    const [most] = [...values.by_op].filter((op) => !op.choice).sort((a, b) => b.largest - a.largest);
    assert.ok(Math.abs(Math.max(...rows.map((row) => Number(row.largest))) / most.largest - 1) < 1e-6);
    const close = (a, b) => assert.ok(Math.abs(a - b) <= 1e-6 * Math.abs(b), `${a} and ${b}`);
    const ranges = rowsOf(directory, "--kind", "value-ranges");
    assert.equal(ranges.length, values.by_layer.length);
    ranges.forEach((row, i) => ["min", "max", "rms"].forEach((key) => close(Number(row[key]), values.by_layer[i][key])));
    const { residency } = json("stats", directory).machine;
    assert.deepEqual(rowsOf(directory, "--kind", "residency").map((row) => [row.token, row.bytes, row.bytes_untouched].map(Number)), residency.by_token.filter((row) => row.token !== null).map((row) => [row.token, row.bytes, row.bytes_untouched]));
    for (const kind of ["values", "value-ranges", "residency"]) {
        assert.ok(elements(draw(directory, "svg", "--kind", kind, "--caption").toString()).length > 20);
        assert.ok(draw(directory, "pdf", "--kind", kind).equals(draw(directory, "pdf", "--kind", kind)));
        const { status, stderr } = run(ggscope, ["figure", dense, "--kind", kind, "--data", "-"]);
        assert.equal(status, 1);
        assert.match(stderr, kind === "residency" ? /--residency/ : /values/);
    }
    assert.match(run(ggscope, ["figure", dense, "--kind", "requests", "--data", "-"]).stderr, /single request/);
});

test("requests and cells of a server have the numbers of ggscope requests", () => {
    const { directory } = record([join(build, "tests", "server-host"), "slots", model("tiny")]);
    const right = json("requests", "--cells", directory), svg = draw(directory, "svg", "--kind", "requests").toString();
    for (const text of ["slot 0", "slot 1", "prompt", "generated tokens", "first token"]) assert.ok(svg.includes(`>${text}<`), text);
    const known = right.requests.filter((one) => one.kind !== "warmup" && one.kind !== "draft"), rows = rowsOf(directory, "--kind", "requests");
    assert.ok(rows.length > 3);
    for (const row of rows) {
        const one = known.find((request) => request.request === Number(row.request));
        assert.deepEqual([row.sequence, row.begin_ns, row.end_ns, row.first_output_ns].map(Number), [one.sequence, one.begin_ns, one.end_ns, one.first_output_ns]);
    }
    const cells = rowsOf(directory, "--kind", "cells"), times = new Map(right.cells.map((use) => [use.time_ns, use]));
    assert.ok(cells.length > 10);
    for (const row of cells) assert.equal(times.get(Number(row.time_ns)).by_sequence.find((one) => one.sequence === Number(row.sequence)).cells, Number(row.sequence_cells));
    assert.match(draw(directory, "svg", "--kind", "cells").toString(), />sequence 1</);
});

test("two recordings: lanes on one scale, values as an error, experts by recording as ggscope experts has them", () => {
    const lanes = rowsOf(moe, "--kind", "timeline", "--token", "2"), both = output(ggscope, ["figure", moe, dense, "--kind", "timeline", "--token", "2", "--data", "-"]).trim().split("\n").slice(1).map((line) => line.split(","));
    assert.deepEqual(new Set(both.map(([lane]) => lane)), new Set(["0", "1", "2", "3"]));
    assert.equal(both.filter(([lane]) => lane < 2).length, lanes.length);
    assert.ok(both.every(([, begin]) => Number(begin) < 60e9), "times from the begin of the token");
    // The same for bins.
    const bins = output(ggscope, ["figure", moe, dense, "--kind", "timeline", "--data", "-"]).trim().split("\n").slice(1).map((line) => line.split(",").map(Number));
    const first = (rows) => Math.min(...rows.map(([, begin]) => begin));
    assert.deepEqual(new Set(bins.map(([lane]) => lane)), new Set([0, 1, 2, 3]));
    assert.ok(first(bins.filter(([lane]) => lane >= 2)) < Math.min(...rowsOf(dense, "--kind", "timeline").map((row) => Number(row.begin_ns))) / 2, "from the begin of each");
    const svg = scratch("both.svg");
    output(ggscope, ["figure", moe, dense, "--kind", "timeline", "-o", svg]);
    const whole = readFileSync(svg, "utf8"), labels = [...whole.matchAll(/y="([\d.]+)"[^>]*>[AB]: CPU thread/g)].map(([, y]) => Number(y));
    const boxes = [...whole.matchAll(/<path d="M[\d.]+ ([\d.]+)[^"]*" fill="#0072b2"/g)].map(([, y]) => Number(y));
    assert.ok(boxes.some((y) => y > labels[2]), "boxes of B are in its lanes");
    output(ggscope, ["figure", moe, dense, "--kind", "timeline", "--token", "2", "-o", svg]);
    assert.match(readFileSync(svg, "utf8"), />A: CPU thread 0<[^]*>B: CPU thread 1</);
    const shares = output(ggscope, ["figure", moe, moe, "--kind", "expert-domains", "--layer", "3", "--data", "-"]).trim().split("\n").slice(1).map((line) => line.split(",").map(Number));
    const right = JSON.parse(output(ggscope, ["experts", "--json", moe, moe])).by_layer.find((one) => one.layer === 3).domains;
    assert.equal(shares.length, 2 * right[0].shares.length);
    for (const [layer, recording, expert, share] of shares) assert.ok(layer === 3 && Math.abs(share - right[recording - 1].shares[expert]) < 1e-6);
    for (const [words, said] of [[[moe, "-k", "expert-domains"], /needs two recordings/], [[moe, dense, "-k", "tokens"], /--kind tokens shows at most 1 recording/], [[moe, dense, moe, "-k", "values"], /shows at most 2 recordings/]])
        assert.match(run(ggscope, ["figure", ...words, "--data", "-"]).stderr, said);
});

test("a miss curve has the medians of a study's table, a curve for each other condition", { skip: noGroups }, () => {
    const study = scratch("study");
    output(ggscope, ["sweep", "-o", study, "--memory", "150M,100M,none", "--vary", "-t=1,2", "--repeat", "2", "--", engine, "run", "-m", model("tiny"), "-p", "Hello", "-n", "2", "--ignore-eos"]);
    const [names, ...table] = output(ggscope, ["sweep", study, "--table=csv"]).trim().split("\n").map((line) => line.split(","));
    const right = table.map((cells) => Object.fromEntries(names.map((name, i) => [name, cells[i]]))).filter((row) => row.control === "0");
    for (const figure of ["read_bytes", "bytes_read"])
        assert.deepEqual(
            rowsOf(study, "--kind", "miss-curve", "--figure", figure).map((row) => [row.variant, row.memory, row["-t"], Number(row[figure]), Number(row[`${figure}_low`]), Number(row[`${figure}_high`])]),
            right.map((row) => [row.variant, row.memory, row["-t"], Number(row[figure]), Number(row[`${figure}_low`]), Number(row[`${figure}_high`])]),
        );
    const limits = rowsOf(study, "--kind", "miss-curve").map((row) => row.memory_bytes);
    assert.deepEqual(new Set(limits), new Set([String(150 << 20), String(100 << 20), ""]));
    const svg = draw(study, "svg", "--kind", "miss-curve").toString();
    for (const text of ["-t 1", "-t 2", "no limit: -t 1", "memory limit (MiB)", "read from the disk ("]) assert.ok(svg.includes(`>${text}`), text);
    assert.ok(draw(study, "pdf", "--kind", "miss-curve", "--caption").equals(draw(study, "pdf", "--kind", "miss-curve", "--caption")));
    for (const [words, said] of [[[dense, "--kind", "miss-curve"], /study\.json/], [[study, "--kind", "miss-curve", "--figure", "luck"], /a study has no figure luck/], [[study, "--kind", "tokens"], /./]]) {
        const { status, stderr } = run(ggscope, ["figure", ...words, "--data", "-"]);
        assert.equal(status, 1, stderr);
        assert.match(stderr, said);
    }
});

// ---- the command line ----

test("width, height, font size and caption", () => {
    for (const [width, millimetres] of [["84mm", 84], ["8.4cm", 84], ["3in", 76.2], ["100", 100]]) assert.equal(elements(draw(dense, "svg", "-k", "tokens", "--width", width).toString())[0].width, `${millimetres.toFixed(2)}mm`);
    assert.equal(elements(draw(dense, "svg", "-k", "tokens", "--height", "60mm").toString())[0].height, "60.00mm");
    assert.ok(elements(draw(dense, "svg", "-k", "tokens", "--font-size", "11").toString()).some((one) => one["font-size"] === "11.00"));
    const svg = draw(dense, "svg", "-k", "tokens", "--caption").toString();
    assert.match(svg, />Time of each token: tiny\.gguf</);
    assert.match(svg, /<text [^>]*textLength=[^>]*>[^<]* · [^<]*ggscope-engine/, "a wider font runs out of the figure");
    assert.match(svg.replace(/<[^>]*>|\n/g, " "), / -p\s+'[^']* [^']*' /);
    assert.match(svg.replace(/<[^>]*>|\n/g, " "), /\d{4}-\d\d-\d\d\s+\d\d:\d\d:\d\d\s+UTC/, "long paths divide it into lines");
    assert.doesNotMatch(draw(dense, "svg", "-k", "tokens").toString(), /ggscope-engine/);
});

test("wrong command lines say what is wrong, and write nothing", () => {
    const folder = scratch("wrong");
    mkdirSync(folder);
    for (const [words, said] of [
        [["-o", "a.svg"], /name the figure with --kind KIND/],
        [["-k", "pie", "-o", "a.svg"], /--kind takes access-order, .* or miss-curve, not 'pie'/],
        [["-k", "tokens"], /name the figure's file with -o FILE\.svg/],
        [["-k", "tokens", "-o", "a.png"], /-o takes a file that ends in \.svg or \.pdf, not 'a\.png'/],
        [["-k", "tokens", "-o", "a.svg", "--width", "3mm"], /--width takes a length from 30mm to 1000mm, not '3mm'/],
        [["-k", "tokens", "-o", "a.svg", "--layer", "3"], /--layer needs --kind experts, choices, expert-domains or graph/],
        [["-k", "tokens", "-o", "a.svg", "--since", "1s"], /--since and --until need --kind timeline or requests/],
        [["-k", "tokens", "-o", "a.svg", "--marks", "disk"], /--marks needs --kind access-order/],
        [["-k", "tokens", "-o", "a.svg", "--figure", "token_ns"], /--figure needs --kind miss-curve/],
        [["-k", "miss-curve", "-o", "a.svg", "--token", "1"], /shows whole recordings/],
    ]) {
        const { status, stderr } = run(ggscope, ["figure", dense, ...words], { cwd: folder });
        assert.equal(status, 2, words.join(" "));
        assert.match(stderr, said);
    }
    const { status, stderr } = run(ggscope, ["figure", dense, "-k", "tokens", "--token", "77", "-o", "a.svg"], { cwd: folder });
    assert.equal(status, 1);
    assert.match(stderr, /token/);
    assert.deepEqual(readdirSync(folder), []);
});

test("a renderer of PDFs draws every kind", (t) => {
    if (run("sh", ["-c", "command -v pdftoppm"]).status !== 0) return t.skip("pdftoppm (poppler-utils) is not installed");
    for (const kind of kinds) {
        const file = scratch(`${kind}.pdf`);
        writeFileSync(file, draw(moe, "pdf", "--kind", kind, "--caption"));
        const { status, stdout, stderr } = run("pdftoppm", ["-r", "72", file], { encoding: "latin1" });
        assert.deepEqual([status, stderr], [0, ""], kind);
        assert.ok(new Set(stdout.slice(20).match(/[^]{3}/g)).size > 4, `${kind} has colours`);
    }
});
