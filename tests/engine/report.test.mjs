// ggscope report: its engine (WebAssembly, called here without a browser) answers every request
// with the server's bytes.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { build, ggscope, model, output, run, scratch } from "../lib.mjs";
import { openReport, parts } from "../report.mjs";
import { generate } from "./traces.mjs";

// ---- a server and its bytes ----

const servers = [];
after(() => servers.forEach((server) => server.kill("SIGKILL")));

async function serve(...directories) {
    const server = spawn(ggscope, ["serve", ...directories], { stdio: ["ignore", "pipe", "inherit"] });
    servers.push(server);
    const url = new URL(String((await once(server.stdout, "data"))[0]).trim());
    return async function get(path) {
        for (;;) {
            const response = await fetch(new URL(`.${path}`, url));
            const body = Buffer.from(await response.arrayBuffer());
            if (response.status !== 202) return { status: response.status, json: response.headers.get("content-type") === "application/json", body };
        }
    };
}

const told = (reply) => JSON.parse(reply.body);

// Asks both; the answers must be equal. Returns the server's.
async function same(get, report, path, status = 200) {
    const [right, ours] = [await get(path), await report.ask(path)];
    assert.equal(ours.status, right.status, path);
    assert.equal(ours.json, right.json, path);
    assert.ok(ours.body.equals(right.body), `${path}:\nserver ${right.body.subarray(0, 400)}\nreport ${ours.body.subarray(0, 400)}`);
    if (status !== null) assert.equal(right.status, status, `${path}: ${right.body.subarray(0, 200)}`);
    return right;
}

const write = (directory, name) => {
    const file = scratch(name);
    output(ggscope, ["report", "-q", directory, "-o", file]);
    return file;
};

// ---- requests ----

const x = (route, parameters = {}) => {
    const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
    return `/api/x/0/${route}${query ? `?${query}` : ""}`;
};

// All requests of the page's views, with many values of every filter, order and selection.
async function questions(get) {
    const about = told(await get(x("summary"))), log = told(await get(x("log", { count: 500 })));
    const { begin_ns: begin, end_ns: end, tokens } = about, middle = Math.floor((begin + end) / 2);
    const list = ["/api/experiments", ...["summary", "map", "buffers", "heat", "stats", "experts", "log"].map((route) => x(route))];
    for (const bins of [1, 10, 1000]) list.push(x("occupancy", { bins }), x("tokens", { bins }), x("tokens", { bins, from: 1, to: tokens - 1 }));
    for (const range of ["0", "1..2", `..1`, `2..`, `${tokens - 1}..${tokens + 5}`]) list.push(...["heat", "stats", "experts", "log"].map((route) => x(route, { tokens: range })));
    list.push(x("aggregate"), x("aggregate", { begin: middle, end: middle + 2_000_000 }), x("access", { columns: 50, rows: 40 }), x("access", { begin: middle, end, first: 1000, last: 900_000 }));
    list.push(x("paging", { readahead: 131072 }), x("paging", { tokens: "1..", readahead: 0 }), x("choices", { layer: 1 }), x("log", { expert: 3, count: 50 }), x("faults", { count: 30 }), x("faults", { tokens: "1..2" }));
    for (const kind of ["access-order", "memory-map", "order-map", "heat-over-offset", "heat-rows", "reuse", "roofline", "paging", "tokens", "token-ops", "token-bytes", "graph", "timeline", "cells", "durations", "storage"])
        for (const format of ["svg", "pdf"]) list.push(x("figure", { kind, format, caption: 1, ...(kind === "paging" ? { readahead: 131072 } : {}) }), x("figure", { kind, format, tokens: "1..", width: 84, font: 7, readahead: 131072 }));
    list.push(x("figure", { kind: "heat-rows", format: "svg", layer: 1 }), x("figure", { kind: "graph", format: "svg", layer: 1, run: 3 }));
    for (const token of [0, 1, tokens - 1]) list.push(x("graph", { token }));
    for (const run of [1, 2, 3]) list.push(x("graph", { run }));
    for (const [from, to] of [[begin, end], [middle, middle + 1_000_000], [middle, middle + 1000], [begin, middle], [begin - 5000, end + 5000]])
        for (const pixels of [1, 100, 4096]) list.push(...["timeline", "curves"].map((route) => x(route, { begin: from, end: to, pixels })));
    for (const op of new Set(log.ops.map((entry) => entry.op))) list.push(x("log", { op }), x("log", { op, sort: "duration_ns", desc: 1, from: 3, count: 7 }));
    for (const layer of [0, 1, 3, "none"]) list.push(x("log", { layer, sort: "begin_ns", desc: 1 }));
    for (const source of ["DISK", "BUFFER"]) list.push(x("log", { source, count: 500 }), x("log", { source, from: 100, sort: "wait_ns" }), x("log", { source, tokens: "1..1" }));
    for (const tensor of ["*", "blk.1.*", "*attn*", "ffn_out-[0-9]", "*.weight", "nothing", "[", "Q?ur-2"]) list.push(x("log", { tensor }), x("log", { tensor, sort: "name" }));
    for (const region of ["1:0..1000000", "1:1000000..2000000", "1:0..1"]) list.push(x("log", { region }));
    for (const buffer of [1, 2, 3]) list.push(x("log", { buffer }));
    list.push(x("log", { since: middle, count: 50 }), x("log", { until: middle, count: 50 }), x("log", { since: begin, until: middle, layer: 1, source: "DISK", sort: "duration_ns" }), x("log", { thread: 1 }));
    for (const { run, node } of log.ops.filter((_, i) => i % 23 === 0)) list.push(x("op", { run, node }));
    return list;
}

const refused = ["/api/x/0/figure?kind=pie&format=svg", "/api/x/0/figure?kind=tokens&format=png", "/api/x/0/figure?kind=tokens&format=svg&width=5", ...["experts", "expert-matrix"].map((kind) => `/api/x/0/figure?kind=${kind}&format=pdf`), // for a dense model
    "/api/x/0/nothing", "/api/x/9/summary", "/api/x/0/log?bad=1", "/api/x/0/log?sort=nothing", "/api/x/0/log?count=99999", "/api/x/0/op?run=0&node=0", "/api/x/0/op?run=1",
    "/api/x/0/graph?token=99999", "/api/x/0/prove", "/api/x/0/aggregate?begin=5&end=5", "/api/x/0/access?columns=0", "/api/x/0/choices?layer=x", "/api/x/0/timeline?begin=5&end=1", "/api/x/0/heat?tokens=5..1", "/api/compare?a=0&b=7", "/api/x/0/log?tensor=%zz", "/elsewhere"];

test("a report answers as the server does: every filter, order, fold and selection, byte by byte", async () => {
    for (const directory of [generate(model("moe"), "-n", "5", "-t", "2").directory, generate(model("tiny"), "-n", "4", "-t", "2", "--no-repack").directory]) {
        writeFileSync(join(directory, "probe.json"), JSON.stringify({ threads: 2, memory_bytes_per_second: 1e10, flops_per_second: 1e11 })); // as stats --probe writes it; the server finds it beside the trace
        const get = await serve(directory), report = await openReport(write(directory, "same.html"));
        const list = await questions(get);
        assert.ok(list.length > 120, `${list.length}`);
        for (const path of list) await same(get, report, path);
        for (const path of refused) await same(get, report, path, null);
        let orders = 0; // sortable columns of a log entry
        for (const sort of Object.keys(told(await get(x("log", { count: 1 }))).ops[0]))
            for (const order of [{ sort }, { sort, desc: 1 }]) orders += (await same(get, report, x("log", { ...order, count: 200 }), null)).status === 200;
        assert.ok(orders >= 20, `${orders}`);
        // Rows that read both a file and a buffer.
        assert.equal(told(await report.ask(x("log", { source: "BUFFER" }))).total, JSON.parse(output(ggscope, ["log", "--json", "--source", "BUFFER", directory])).ops.length);
    }
});

test("a trace that is dropped on a report is an experiment beside it, and can be compared with it", async () => {
    const [a, b] = [1, 2].map((threads) => generate(model("tiny"), "-n", "3", "-t", threads).directory);
    const get = await serve(a, b), report = await openReport(write(a, "two.html")), [about] = report.experiments;
    const path = join(b, "trace.ggs"), bytes = readFileSync(path);
    const number = await report.open({ path, directory: b, name: basename(b), files: about.files }, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    assert.equal(number, 1);
    for (const question of ["/api/experiments", "/api/x/1/summary", "/api/x/1/stats", "/api/x/0/stats", "/api/compare?a=0&b=1", "/api/compare?a=1&b=0", ...["svg", "pdf"].map((format) => `/api/figure?of=0,1&kind=timeline&tokens=1..1&format=${format}&caption=1`)]) await same(get, report, question);
});

test("a model that is gone, and a trace that was cut off: the same answers, and the same sentence", async () => {
    const borrowed = scratch("borrowed.gguf");
    copyFileSync(model("tiny"), borrowed);
    const source = generate(borrowed, "-n", "2").directory, directory = scratch("cut");
    rmSync(borrowed);
    mkdirSync(directory);
    copyFileSync(join(source, "trace.ggs"), join(directory, "trace.ggs"));
    truncateSync(join(directory, "trace.ggs"), Math.floor(statSync(join(directory, "trace.ggs")).size * 0.8));
    const get = await serve(directory), report = await openReport(write(directory, "cut.html"));
    for (const path of ["/api/experiments", ...["summary", "map", "heat", "stats", "log", "log?sort=duration_ns", "buffers"].map((route) => x(route))]) await same(get, report, path);
    assert.ok(told(await report.ask(x("summary"))).warning);
    assert.equal(told(await report.ask(x("map"))).from_trace, 1);

    const alone = await openReport(write(source, "alone.html"));
    const garbage = Buffer.from("no trace at all, whatever its name says. ".repeat(20));
    await alone.open({ path: "x.ggs", directory: "x.ggs", name: "x.ggs" }, garbage.buffer.slice(garbage.byteOffset, garbage.byteOffset + garbage.length));
    const [, listed] = told(await alone.ask("/api/experiments"));
    assert.match(listed.error, /^x\.ggs is no trace: it does not begin with "GGSCOPE1"$/);
    assert.equal((await alone.ask("/api/x/1/summary")).status, 409);
    assert.equal((await alone.ask(x("summary"))).status, 200);
});

// ---- the file ----

test("what a report weighs: the page below 420 KB gzipped, and the trace in base64", () => {
    const page = gzipSync(readFileSync(join(build, "ui", "report.html")), { level: 9 }).length;
    assert.ok(page < 420_000, `${page} bytes`);
    const { directory } = generate(model("tiny"), "-n", "3"), file = write(directory, "weight.html");
    const { experiments: [about], traces: [trace] } = parts(readFileSync(file, "utf8"));
    assert.ok(Buffer.from(trace, "base64").equals(readFileSync(join(directory, "trace.ggs"))));
    // Only the places of the model's tensors are included; its vocabulary is blank.
    const [{ head, bytes }] = about.files, known = gunzipSync(Buffer.from(head, "base64"));
    assert.equal(bytes, statSync(model("tiny")).size);
    assert.ok(known.includes("blk.3.attn_q.weight") && !known.includes("▁the"), "the vocabulary is in the report");
    assert.ok(readFileSync(model("tiny")).subarray(0, known.length).includes("▁the"));
});

test("too large a report is refused and leaves nothing; wrong input gets one sentence", () => {
    const { directory } = generate(model("tiny"), "-n", "2"), file = scratch("no.html");
    const large = run(ggscope, ["report", directory, "-o", scratch("large.html"), "--max-size", "20K"]);
    assert.equal(large.status, 1);
    assert.match(large.stderr, /^ggscope: the report would be larger than 20\.0 KiB: allow more with --max-size, or use ggscope serve\n$/);
    assert.equal(output("find", [scratch(), "-name", "large.html*"]), "");
    writeFileSync(scratch("junk"), "junk");
    for (const [args, status] of [[[directory], 2], [[], 2], [["-o", file, "/nonexistent"], 1], [["-o", "/nonexistent/x", directory], 1], [["--token", "1", "-o", file, directory], 2], [["-o", file, scratch("junk")], 1]]) {
        const result = run(ggscope, ["report", ...args]);
        assert.equal(result.status, status, args.join(" "));
        if (status === 1) assert.match(result.stderr, /^ggscope: [^\n]+\n$/);
    }
});

test("no text can end the script that it is in", async () => {
    const prompt = "</script><script>alert(1)</script><!--", name = scratch("a<b");
    output(ggscope, ["run", "-q", "-m", model("tiny"), "-p", prompt, "-n", "2", "--ignore-eos", "-o", name]);
    const file = write(name, "hostile.html"), html = readFileSync(file, "utf8");
    assert.ok(!html.includes("<script>alert") && !html.includes("a<b"));
    const about = told(await (await openReport(file)).ask(x("summary")));
    assert.equal(about.prompt, prompt);
    assert.equal(about.name, "a<b");
});
