// ggscope serve: access control, the numbers of the other verbs, and that no client or file can end
// the server.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { build, engine, ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { generate, rows, stats } from "./traces.mjs";

// ---- a server and requests ----

const servers = [];
after(() => servers.forEach((server) => server.process.kill("SIGKILL")));

async function serve(...args) {
    const process = spawn(ggscope, ["serve", ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const server = { process, stderr: "" };
    servers.push(server);
    process.stderr.on("data", (data) => (server.stderr += data));
    const [line] = await Promise.race([once(process.stdout, "data"), once(process, "exit").then(() => { throw new Error(`serve ended: ${server.stderr}`); })]);
    server.address = new URL(String(line).trim());
    server.port = Number(server.address.port);
    server.below = server.address.pathname.slice(0, -1);
    return server;
}

async function stop(server, signal = "SIGINT") {
    const ended = once(server.process, "exit");
    server.process.kill(signal);
    assert.deepEqual(await ended, [0, null], server.stderr);
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 300 });
after(() => agent.destroy());

// Status, headers and uncompressed body of one request.
function get(server, path, { headers = {}, method = "GET", body } = {}) {
    return new Promise((resolve, reject) => {
        const request = http.request({ port: server.port, host: "127.0.0.1", path: (server.below ?? "") + path, method, agent, headers: { "Accept-Encoding": "gzip", ...headers } }, (response) => {
            const chunks = [];
            response.on("data", (chunk) => chunks.push(chunk));
            response.on("end", () => {
                const raw = Buffer.concat(chunks);
                resolve({ status: response.statusCode, headers: response.headers, sent: raw.length, body: response.headers["content-encoding"] === "gzip" && raw.length ? gunzipSync(raw) : raw });
            });
            response.on("error", reject);
        });
        // The server may close a kept connection at the moment of its reuse: not a failure.
        request.on("error", (error) => (request.reusedSocket && error.code === "ECONNRESET" ? resolve(get(server, path, { headers, method, body })) : reject(error)));
        request.end(body);
    });
}

// An answer that must exist, repeating the request while it is computed.
async function ask(server, path) {
    for (;;) {
        const answer = await get(server, path);
        if (answer.status === 202) {
            const { progress } = JSON.parse(answer.body);
            assert.ok(progress >= 0 && progress <= 1);
            continue;
        }
        assert.equal(answer.status, 200, `${path}: ${answer.body}`);
        return answer.headers["content-type"] === "application/json" ? JSON.parse(answer.body) : columns(answer.body);
    }
}

// A status other than 200 comes with one sentence.
async function refused(server, path, status, pattern) {
    let answer;
    do answer = await get(server, path); while (answer.status === 202);
    assert.equal(answer.status, status, `${path}: ${answer.body}`);
    assert.match(JSON.parse(answer.body).error, pattern);
}

function columns(body) {
    assert.equal(body.toString("latin1", 0, 4), "GGSC");
    assert.equal(body.readUInt32LE(4), 1);
    const length = body.readUInt32LE(8), header = JSON.parse(body.toString("utf8", 16, 16 + length)), start = 16 + length;
    assert.equal(start % 8, 0);
    const types = { u8: [1, "readUInt8"], u16: [2, "readUInt16LE"], i16: [2, "readInt16LE"], u32: [4, "readUInt32LE"], i32: [4, "readInt32LE"], f64: [8, "readDoubleLE"] };
    const result = { header };
    for (const { name, type, offset, rows: n } of header.columns) {
        assert.equal(offset % 8, 0);
        const [size, read] = types[type];
        result[name] = Array.from({ length: n }, (_, i) => body[read](start + offset + i * size));
    }
    return result;
}

const until = async (condition, what) => {
    const deadline = Date.now() + 300_000; // a limit against hanging, not a measurement
    for (;;) {
        const value = await condition();
        if (value) return value;
        assert.ok(Date.now() < deadline, `in vain: ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
};

const tiny = generate(model("tiny"), "-n", "6", "-t", "2", "--no-repack").directory;
const moe = generate(model("moe"), "-n", "5", "-t", "2", "--no-repack").directory;
const server = await serve(tiny, moe);

// Clients that send nothing, half a request, or nothing more: checked at the end.
const silent = ["", "GET /api/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\n", `GET ${server.below}/api/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`].map((bytes) => {
    const socket = net.connect(server.port, "127.0.0.1", () => socket.write(bytes));
    socket.on("error", () => {}).resume();
    return once(socket, "close");
});
const sum = (list) => list.reduce((a, b) => a + b, 0);

// ---- access control ----

test("the token opens the door, and nothing else does", async () => {
    const stranger = { port: server.port }, token = server.below.slice(1);
    const page = await get(stranger, "/");
    assert.equal(page.status, 403);
    assert.match(String(page.body), /address that <code>ggscope serve<\/code> printed/);
    for (const part of ["", "0".repeat(32), token.slice(0, -1), `${token}0`, `x${token}`, `${token}-`, `%${token.charCodeAt(0).toString(16)}${token.slice(1)}`])
        for (const path of ["", "/", "/api/experiments", "/api/x/0/summary", "/api/events", "/app.js", `/?token=${token}`])
            assert.equal((await get(stranger, `/${part}${path}`)).status, 403, part + path);
    for (const headers of [{ Cookie: `ggscope_${server.port}=${token}` }, { Authorization: `Bearer ${token}` }, { Referer: server.address.href }])
        assert.equal((await get(stranger, "/api/experiments", { headers })).status, 403, JSON.stringify(headers));
    const opened = await get(stranger, `/${token}`); // relative addresses need the slash
    assert.deepEqual([opened.status, opened.headers.location], [303, `/${token}/`]);
    for (const path of ["/", "/api/experiments", "/app.js"]) {
        const answer = await get(stranger, `/${token}${path}`);
        assert.equal(answer.status, 200, path);
        assert.equal(answer.headers["set-cookie"], undefined);
        assert.equal(answer.headers["referrer-policy"], "no-referrer");
    }
});

test("a link opens one experiment alone", async () => {
    const links = await Promise.all([0, 1].map((i) => ask(server, `/api/x/${i}/link`)));
    for (const [i, { path, loopback }] of links.entries()) {
        assert.match(path, /^\/[0-9a-f]{32}-[0-9a-f]{32}\/$/);
        assert.equal(loopback, true);
        const guest = { port: server.port, below: path.slice(0, -1) }, other = 1 - i; // this guest sees it as number 0
        assert.equal((await get(guest, "/")).status, 200);
        assert.deepEqual((await ask(guest, "/api/experiments")).map(({ index, name }) => [index, name]), [[0, basename(i === 0 ? tiny : moe)]]);
        assert.deepEqual((await ask(guest, "/api/library")).map(({ index, model: { name } }) => [index, name]), [[0, i === 0 ? "tiny.gguf" : "moe.gguf"]]);
        assert.deepEqual(await ask(guest, "/api/x/0/summary"), await ask(server, `/api/x/${i}/summary`));
        assert.deepEqual(await ask(guest, "/api/x/0/stats?tokens=1"), await ask(server, `/api/x/${i}/stats?tokens=1`));
        assert.deepEqual(await ask(guest, "/api/x/0/link"), links[i]);
        for (const hidden of ["/api/x/1/summary", "/api/x/1/stats", "/api/x/1/link", "/api/x/2/summary", `/api/compare?a=${i}&b=${other}`, "/api/compare?a=0&b=0", "/api/several?of=0,0", "/api/domains?of=0,0", "/api/figure?of=0,0&kind=timeline&format=svg"])
            assert.equal((await get(guest, hidden)).status, 404, hidden);
        // Another id, another code, additional text.
        const [id, code] = path.slice(1, -1).split("-"), [theirs] = links[other].path.slice(1, -1).split("-");
        for (const part of [`${theirs}-${code}`, `${id}-${code.slice(0, -1)}${code.at(-1) === "0" ? "1" : "0"}`, `${id}-${code}0`, `${id}-`, id, code, `${id}-${"0".repeat(32)}`])
            assert.equal((await get({ port: server.port }, `/${part}/api/experiments`)).status, 403, part);
    }
    assert.equal((await get(server, "/api/x/99/link")).status, 404);
    const again = await serve(tiny, moe); // it has another secret
    assert.equal((await get({ port: again.port }, links[0].path)).status, 403);
    await stop(again);
});

test("the Host header must name this machine", async () => {
    for (const host of ["evil.example", `evil.example:${server.port}`, "127.0.0.1.evil.example", "localhost.evil.example", "[::2]:80", "192.168.0.1", "127.0.0.1:x", "[", "a".repeat(300)])
        assert.equal((await get(server, "/api/experiments", { headers: { Host: host } })).status, 403, host);
    for (const host of [`127.0.0.1:${server.port}`, "localhost", `LOCALHOST:${server.port}`, "[::1]:1234"]) // another port: a tunnel
        assert.equal((await get(server, "/api/experiments", { headers: { Host: host } })).status, 200, host);
});

test("headers: a strict policy, nothing for other origins, nothing kept", async () => {
    for (const path of ["/", "/api/experiments", "/nothing", "/api/x/0/tokens?bins=0"]) {
        const { headers } = await get(server, path, { headers: { Origin: "http://evil.example" } });
        assert.equal(headers["content-security-policy"], "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
        assert.equal(headers["x-content-type-options"], "nosniff");
        assert.equal(headers["cross-origin-resource-policy"], "same-origin");
        assert.match(headers["cache-control"], path === "/" ? /no-cache/ : /no-store/);
        for (const name of Object.keys(headers)) assert.doesNotMatch(name, /^access-control/);
    }
});

test("only GET and HEAD", async () => {
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
        const answer = await get(server, "/api/experiments", { method, body: method === "OPTIONS" ? undefined : "x".repeat(100_000) }).catch(() => null);
        if (answer === null) continue; // it closed the connection while the body was sent
        assert.equal(answer.status, 405, method);
        assert.equal(answer.headers.allow, "GET, HEAD");
    }
    const head = await get(server, "/api/experiments", { method: "HEAD" });
    assert.equal(head.status, 200);
    assert.equal(head.body.length, 0);
});

test("assets: packed, with a tag that saves the second transfer, and the same without packing", async () => {
    const first = await get(server, "/");
    assert.equal(first.status, 200);
    assert.equal(first.headers["content-encoding"], "gzip");
    assert.match(first.headers["content-type"], /^text\/html/);
    const again = await get(server, "/", { headers: { "If-None-Match": first.headers.etag } });
    assert.equal(again.status, 304);
    assert.equal(again.body.length, 0);
    const plain = await get(server, "/", { headers: { "Accept-Encoding": "identity" } });
    assert.equal(plain.headers["content-encoding"], undefined);
    assert.deepEqual(plain.body, first.body);
});

test("an answer is the same, packed or not", async () => {
    const packed = await get(server, "/api/x/0/map"), plain = await get(server, "/api/x/0/map", { headers: { "Accept-Encoding": "" } });
    assert.equal(packed.headers["content-encoding"], "gzip");
    assert.ok(packed.sent < plain.sent / 3);
    assert.deepEqual(plain.body, packed.body);
});

// ---- answers ----

test("experiments and summary agree with ggscope stats", async () => {
    const list = await ask(server, "/api/experiments");
    assert.deepEqual(list.map(({ index, directory, live, error, state }) => ({ index, directory, live, error, state })),
        [tiny, moe].map((directory, index) => ({ index, directory, live: false, error: null, state: "complete" })));
    for (const [index, directory] of [tiny, moe].entries()) {
        const s = await ask(server, `/api/x/${index}/summary`), known = stats(directory);
        assert.equal(s.experiment_id, known.experiment_id);
        for (const key of ["tokens", "prompt_tokens", "generated_tokens", "ops", "op_runs", "unseen", "interrupted_runs", "tokens_per_second", "threads"]) assert.deepEqual(s[key], known[key], key);
        assert.equal(s.runs, known.runs);
        assert.equal(s.lost, known.lost);
        assert.equal(s.model.bytes, known.model.bytes);
        assert.equal(s.has.experts, directory === moe);
        assert.deepEqual(s.lanes.map((l) => [l.slot, l.thread]), [[0, 0], [0, 1]]);
        assert.equal(s.prompt, "Once upon a time");
    }
});

test("stats are those of ggscope stats --json, to the last digit", async () => {
    for (const [index, directory] of [tiny, moe].entries()) {
        assert.deepEqual(await ask(server, `/api/x/${index}/stats`), stats(directory));
        const by = "layer,component,tensor,thread,token";
        assert.deepEqual(await ask(server, `/api/x/${index}/stats?by=${by}`), JSON.parse(output(ggscope, ["stats", "--json", "--by", by, directory])));
        const part = await ask(server, `/api/x/${index}/stats?tokens=1..2`);
        assert.deepEqual(part, JSON.parse(output(ggscope, ["stats", "--json", "--token", "1..2", directory])));
    }
});

test("rows by token that are folded have the sums of their tokens", async () => {
    const known = JSON.parse(output(ggscope, ["stats", "--json", "--by", "token", tiny]));
    const folded = await ask(server, "/api/x/0/stats?by=token&fold=3");
    const row = (token) => (token === null ? null : token - (token % 3));
    const tokens = [...new Set(known.by_token.map((one) => row(one.token)))];
    assert.ok(tokens.length > 1 && tokens.length < known.by_token.length);
    assert.deepEqual(folded.by_token.map((one) => one.token), tokens);
    for (const one of folded.by_token) {
        const parts = known.by_token.filter((part) => row(part.token) === one.token);
        for (const key of ["ops", "op_runs", "wall_ns", "busy_ns", "wait_ns", "bytes_read", "bytes_written", "bytes_disk"])
            assert.equal(one[key], parts.reduce((sum, part) => sum + part[key], 0), `${key} of ${one.token}`);
    }
    assert.deepEqual({ ...folded, by_token: null, machine: null }, { ...known, by_token: null, machine: null });
});

test("heat counts what ggscope stats counts, without walking over op runs", async () => {
    for (const [index, directory] of [tiny, moe].entries())
        for (const tokens of ["", "0..0", "2..3"]) {
            const [map, heat] = [await ask(server, `/api/x/${index}/map`), await ask(server, `/api/x/${index}/heat${tokens && `?tokens=${tokens}`}`)];
            const known = JSON.parse(output(ggscope, ["stats", "--json", ...(tokens ? ["--token", tokens] : []), directory]));
            const weights = new Map(known.weights.map((w) => [w.name, w]));
            assert.equal(heat.model.bytes_touched, known.model.bytes_touched);
            assert.equal(heat.model.bytes, known.model.bytes);
            for (const [i, name] of map.tensors.name.entries()) {
                const weight = map.tensors.kind[i] === "tensor" ? weights.get(name) : { reads: 0, bytes_read: 0 };
                assert.deepEqual([heat.tensors.reads[i], heat.tensors.bytes_read[i]], [weight.reads, weight.bytes_read], name);
            }
            for (const { place, bytes_read } of heat.experts) assert.equal(sum(bytes_read), heat.tensors.bytes_read[place]);
            assert.equal(heat.experts.length > 0, directory === moe);
        }
});

test("the map covers every byte of the file, in order", async () => {
    for (const index of [0, 1]) {
        const { files, tensors } = await ask(server, `/api/x/${index}/map`);
        let at = 0;
        for (const [i, offset] of tensors.file_offset.entries()) {
            assert.equal(offset, at);
            at += tensors.bytes[i];
        }
        assert.equal(at, files[0].bytes);
        assert.ok(tensors.kind.includes("header"));
    }
    const { tensors } = await ask(server, "/api/x/1/map");
    assert.deepEqual([...new Set(tensors.experts)].sort((a, b) => a - b), [0, 32]);
});

test("weights that were copied at load keep their place on the map", async () => {
    const copied = await serve(generate(model("tiny"), "-n", "2", "--no-mmap").directory);
    const { tensors } = await ask(copied, "/api/x/0/map");
    assert.ok(tensors.copied.filter(Boolean).length > 100);
    await stop(copied);
});

test("tokens: one row per step, folded where there are more than wanted", async () => {
    const all = await ask(server, "/api/x/0/tokens?bins=100"), steps = rows(tiny, "steps").steps;
    assert.deepEqual(all.first_token, steps.map((s) => s.step));
    assert.deepEqual(all.begin_ns, steps.map((s) => s.begin_ns));
    assert.deepEqual(all.phase, [1, 2, 2, 2, 2, 2]);
    assert.match(all.header.texts[0], /Once upon a time$/);
    const folded = await ask(server, "/api/x/0/tokens?bins=2");
    assert.deepEqual([folded.first_token, folded.last_token, folded.count], [[0, 3], [2, 5], [3, 3]]);
    assert.deepEqual(folded.header.texts, [null, null]);
    const part = await ask(server, "/api/x/0/tokens?bins=10&from=2&to=3");
    assert.deepEqual(part.first_token, [2, 3]);
});

test("the timeline: every op run, or bins that add up to them", async () => {
    const { op_runs: known, runs } = rows(tiny, "op_runs", "runs"), s = await ask(server, "/api/x/0/summary");
    const folded = await ask(server, `/api/x/0/timeline?begin=${s.begin_ns}&end=${s.end_ns + 1}&pixels=50`);
    assert.ok(folded.header.level >= 10);
    assert.equal(sum(folded.count), known.length);
    // Inner waits count as waits at every zoom.
    assert.equal(sum(folded.busy_ns), sum(known.map((r) => r.duration_ns - r.inner_wait_ns)));
    assert.equal(sum(folded.wait_ns), sum(known.map((r) => r.wait_ns + r.inner_wait_ns)));
    const longest = Math.max(...known.map((r) => r.duration_ns)), at = folded.longest_ns.indexOf(longest);
    const row = known.find((r) => r.run === folded.longest_run[at] && r.node === folded.longest_node[at] && r.duration_ns === longest);
    assert.ok(row);
    const [{ run: run_ }] = [row], [a] = known.filter((r) => r.run === run_);
    const window = [a.begin_ns, a.begin_ns + 300_000], raw = await ask(server, `/api/x/0/timeline?begin=${window[0]}&end=${window[1]}&pixels=4000`);
    assert.equal(raw.header.level, -1);
    // A thread without a processor may leave the last barrier after the run has ended: that wait is
    // shown with its run.
    const touched = new Set(runs.filter((r) => r.begin_ns < window[1] && r.end_ns >= window[0]).map((r) => r.run));
    const inside = known.filter((r) => touched.has(r.run) && r.begin_ns < window[1] && (r.begin_ns + r.duration_ns + r.wait_ns > window[0] || r.begin_ns >= window[0]));
    const byOp = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
    assert.deepEqual(raw.node.map((node, i) => [raw.run[i], node, raw.lane[i], raw.begin_ns[i] + window[0], raw.duration_ns[i], raw.wait_ns[i], raw.inner_wait_ns[i]]).sort(byOp), inside.map((r) => [r.run, r.node, r.thread, r.begin_ns, r.duration_ns, r.wait_ns, r.inner_wait_ns]).sort(byOp));
});

test("the log: any depth at once, and filters and orders like ggscope log", async () => {
    const entries = JSON.parse(output(ggscope, ["log", "--json", moe])).ops;
    const first = await ask(server, "/api/x/1/log?from=0&count=500");
    assert.equal(first.of, stats(moe).ops + stats(moe).absorbed); // every computed node
    assert.equal(first.total, first.of);
    const pages = [];
    for (let from = 0; from < first.total; from += 500) pages.push(...(await ask(server, `/api/x/1/log?from=${from}&count=500`)).ops);
    assert.deepEqual(pages.map((r) => r.row), Array.from({ length: first.total }, (_, i) => i));
    assert.deepEqual(pages, entries.map(({ operands, ...op }) => op));
    assert.deepEqual((await ask(server, "/api/x/1/log?from=20&count=30&operands=1")).ops, entries.slice(20, 50));
    const same = async (query, ...args) => assert.deepEqual((await ask(server, `/api/x/1/log?count=500&operands=1&${query}`)).ops, JSON.parse(output(ggscope, ["log", "--json", "--limit", "500", ...args, moe])).ops, query);
    await same("source=BUFFER", "--source", "buffer");
    await same("sort=duration_ns&desc=1&thread=1", "--sort", "duration", "--thread", "1");
    await same("sort=source&tensor=*exps*", "--sort", "source", "--tensor", "*exps*");
    await same("sort=name&layer=3&tokens=1..2", "--sort", "tensor", "--layer", "3", "--token", "1..2");
    for (const [name, value] of [["op", "MUL_MAT_ID"], ["layer", 3], ["layer", "none"]]) {
        const found = await ask(server, `/api/x/1/log?${name}=${value}&count=500`);
        const wanted = pages.filter((r) => r[name] === (value === "none" ? null : value));
        assert.equal(found.total, wanted.length);
        assert.deepEqual(found.ops, wanted.slice(0, 500));
    }
    for (const [column, desc] of [["duration_ns", 1], ["name", 0], ["bytes_read", 1], ["bytes_written", 0], ["token", 1], ["op", 1]]) {
        const sorted = await ask(server, `/api/x/1/log?sort=${column}&desc=${desc}&count=200`), sign = desc ? -1 : 1;
        const order = (a, b) => (a === b ? 0 : a === null ? -1 : b === null ? 1 : a < b ? -1 : 1);
        const expected = [...pages].sort((a, b) => sign * order(a[column], b[column]) || a.row - b.row).slice(0, 200);
        assert.deepEqual(sorted.ops, expected, column);
    }
    const map = await ask(server, "/api/x/1/map"), i = map.tensors.name.indexOf("blk.3.attn_q.weight");
    const region = await ask(server, `/api/x/1/log?region=${map.tensors.file[i]}:${map.tensors.file_offset[i]}..${map.tensors.file_offset[i] + map.tensors.bytes[i]}&count=500`);
    const cli = run(ggscope, ["log", "--json", "--range", `${map.tensors.file_offset[i]}..${map.tensors.file_offset[i] + map.tensors.bytes[i]}`, moe]);
    assert.equal(region.total, JSON.parse(cli.stdout).ops.length);
    assert.ok(region.ops.every((r) => r.name === "Qcur-3"));
    assert.equal((await ask(server, `/api/x/1/log?region=9:0..4096`)).total, 0);
});

test("an op's card leads to its neighbours and back", async () => {
    const { ops: log } = await ask(server, "/api/x/1/log?from=300&count=3&operands=1"), [before, row, behind] = log;
    const card = await ask(server, `/api/x/1/op?run=${row.run}&node=${row.node}`);
    assert.deepEqual(card.operands.map(({ ranges, ...operand }) => operand), row.operands);
    for (const key of ["row", "run", "node", "token", "phase", "op", "name", "layer", "begin_ns", "duration_ns", "busy_ns", "wait_ns", "cut"]) assert.equal(card[key], row[key], key);
    assert.deepEqual([card.previous, card.next], [before, behind].map(({ run: r, node }) => ({ run: r, node })));
    for (const node of card.consumers) assert.ok((await ask(server, `/api/x/1/op?run=${row.run}&node=${node}`)).producers.includes(row.node));
    const experts = (await ask(server, "/api/x/1/log?op=MUL_MAT_ID&tokens=2&count=1")).ops[0], one = await ask(server, `/api/x/1/op?run=${experts.run}&node=${experts.node}`);
    assert.equal(one.experts.length, 4);
    assert.ok(one.experts.every((e) => e.expert >= 0 && e.expert < 32 && e.weight > 0));
    assert.ok(one.operands[0].exact);
    const edge = await ask(server, "/api/x/1/op?run=1&node=0").catch(() => null);
    if (edge) assert.equal(edge.previous, null);
});

test("graph, experts, buffers, occupancy and curves agree with the other verbs", async () => {
    const graph = await ask(server, "/api/x/0/graph?token=1"), drawn = JSON.parse(output(ggscope, ["graph", "--json", "--token", "1", tiny]));
    assert.deepEqual(graph, drawn);
    const [{ nodes }] = graph.graphs, count = (state) => nodes.filter((node) => node.state === state).length, known = JSON.parse(output(ggscope, ["stats", "--json", "--token", "1", tiny]));
    assert.deepEqual([count("executed"), count("absorbed"), count("empty"), count("unseen")], [known.executed, known.absorbed, known.empty, known.unseen]);
    assert.equal(sum(nodes.map((node) => node.duration_ns ?? 0)), sum(known.by_op.map((o) => o.wall_ns)));

    const experts = await ask(server, "/api/x/1/experts"), said = JSON.parse(output(ggscope, ["experts", "--json", moe]));
    assert.deepEqual(experts, said);
    assert.equal((await ask(server, "/api/x/0/experts")).has_experts, false);

    assert.deepEqual(await ask(server, "/api/x/0/buffers?transfers=1"), JSON.parse(output(ggscope, ["buffers", "--json", tiny])));
    const buffers = await ask(server, "/api/x/0/buffers"), occupancy = await ask(server, "/api/x/0/occupancy?bins=50");
    assert.equal(buffers.peak_bytes, stats(tiny).buffers.peak_bytes);
    const total = occupancy.kv.map((_, i) => sum(["other", "weights", "kv", "compute", "io"].map((name) => occupancy[name][i])));
    assert.ok(Math.max(...total) >= buffers.peak_bytes);

    const s = await ask(server, "/api/x/0/summary"), curves = await ask(server, `/api/x/0/curves?begin=${s.begin_ns}&end=${s.end_ns}&pixels=77`);
    const disk = sum(rows(tiny, "runs").runs.length ? [stats(tiny).bytes_disk] : []);
    assert.ok(Math.abs(sum(curves.bytes_disk) - disk) < 1e-6 * disk);
});

test("compare says what ggscope diff says", async () => {
    const answer = await ask(server, "/api/compare?a=0&b=1"), diff = JSON.parse(run(ggscope, ["diff", "--json", tiny, moe]).stdout);
    assert.deepEqual(answer, diff);
    assert.ok(answer.warnings.length > 0 && answer.ops_only_b > 0);
    assert.equal((await ask(server, "/api/compare?a=0&b=0")).identical, true);
});

test("several say what ggscope diff of several says, their experts what ggscope experts of several says", async () => {
    assert.deepEqual(await ask(server, "/api/several?of=0,1,0"), JSON.parse(run(ggscope, ["diff", "--json", tiny, moe, tiny]).stdout));
    assert.deepEqual(await ask(server, "/api/domains?of=1,1"), JSON.parse(run(ggscope, ["experts", "--json", moe, moe]).stdout));
    await refused(server, "/api/domains?of=1,0", 409, /recording 2 has no choices of experts/);
});

// ---- invalid requests ----

test("bad parameters: 400 and one sentence", async () => {
    const bad = ["tokens?bins=0", "tokens?bins=5000", "tokens?bins=x", "tokens?bins=1&bins=2", "tokens?from=3&to=1", "tokens?unknown=1", "tokens?%zz=1", "tokens?bins=%00", "tokens?bins=%0a",
        "heat?tokens=x", "heat?tokens=5..3", "heat?tokens=-1", "heat?tokens=99999999999999999999", "timeline?begin=5&end=5", "timeline?begin=x", "timeline?pixels=0", "timeline?pixels=100000",
        "log?count=501", "log?operands=2", "log?from=-1", "log?sort=nothing", "log?desc=2", "log?layer=x", "log?source=disk", "log?region=1", "log?region=1:5..5", "log?region=:1..2", "log?buffer=0", "log?thread=-1",
        "log?since=now", "op", "op?run=x&node=1", "op?run=1&node=-1", "graph?token=-1", "stats?tokens=..x", "curves?begin=9&end=1", "occupancy?bins=0", "summary?a=b", "map?x"];
    for (const path of bad) await refused(server, `/api/x/0/${path}`, 400, /^.{10,200}$/);
    await refused(server, "/api/compare?a=x", 400, /number/);
    for (const of of ["", "?of=", "?of=0", "?of=0,", "?of=,0", "?of=0,x", "?of=0,-1", "?of=0,99999999", "?of=0;1", `?of=${"0,".repeat(12)}1`, "?of=0,1&b=1"])
        for (const path of ["several", "domains"]) await refused(server, `/api/${path}${of}`, 400, /^.{10,200}$/);
    const many = Array.from({ length: 30 }, (_, i) => `a${i}=1`).join("&");
    await refused(server, `/api/x/0/tokens?${many}`, 400, /more than/);
});

test("what is not there: 404 and one sentence", async () => {
    for (const path of ["/api", "/api/", "/api/x", "/api/x/", "/api/x/0", "/api/x/0/", "/api/x/0/nothing", "/api/x/a/summary", "/api/x/-1/summary", "/api/x/00000000000/summary", "/../etc/passwd", "/api/x/0/summary/", "//", "/%2e%2e/"])
        await refused(server, path, 404, /nothing at this address/);
    await refused(server, "/api/x/2/summary", 404, /no experiment 2/);
    await refused(server, "/api/x/0/op?run=9999&node=1", 404, /no graph run/);
    await refused(server, "/api/x/0/op?run=1&node=999999", 404, /not computed/);
    await refused(server, "/api/x/0/graph?token=999", 404, /token step 999/);
    await refused(server, "/api/compare?a=0&b=9", 404, /no experiment 9/);
    await refused(server, "/api/several?of=0,9", 404, /no experiment 9/);
});

test("too long an address, too many headers", async () => {
    assert.equal((await get(server, `/api/x/0/tokens?bins=${"1".repeat(3000)}`)).status, 414);
    const huge = await get(server, "/api/experiments", { headers: { "X-Large": "x".repeat(15_000) } }).catch((error) => error);
    assert.ok(huge instanceof Error || huge.status === 200);
    const larger = await get(server, "/api/experiments", { headers: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`X-${i}`, "x".repeat(10_000)])) }).catch((error) => error);
    assert.ok(larger instanceof Error || larger.status === 431, String(larger.status));
});

// ---- hostile clients ----

test("200 clients at once, each with its own question", async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => ask(server, `/api/x/${i % 2}/log?from=${7 * i}&count=50`)));
    for (const [i, answer] of answers.entries()) assert.equal(answer.ops[0].row, 7 * i);
});

test("garbage on the socket, half a request, and a hang-up in the middle of an answer", async () => {
    const send = (bytes, hangUp) => new Promise((resolve) => {
        const socket = net.connect(server.port, "127.0.0.1", () => {
            socket.write(bytes);
            if (hangUp) socket.destroy();
        });
        socket.on("data", () => hangUp !== false && socket.destroy());
        socket.on("error", resolve);
        socket.on("close", resolve);
        setTimeout(() => socket.destroy(), 300).unref();
    });
    const noise = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919 + (i >> 3) * 104729) & 255));
    const whole = `GET ${server.below}/api/x/1/stats HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    const cases = [noise, "GET", "GET / HTTP/1.1\r\n", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\n", "GET /\0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", `${"A".repeat(60_000)}\r\n\r\n`,
        "GET /api/experiments HTTP/1.0\r\n\r\n", "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "GET / HTTP/1.1\r\nHost : x\r\n folded\r\n\r\n"];
    await Promise.all(cases.flatMap((bytes) => [send(bytes), send(bytes, true)]));
    await Promise.all(Array.from({ length: 50 }, () => send(whole, true)));
    await Promise.all(Array.from({ length: 20 }, () => send(whole + whole + whole)));
    assert.equal((await ask(server, "/api/experiments")).length, 2);
});

test("a client that reads slowly holds up nobody", async () => {
    const slow = net.connect(server.port, "127.0.0.1");
    await once(slow, "connect");
    slow.pause();
    for (let i = 0; i < 40; i++) slow.write(`GET ${server.below}/api/x/1/stats?tokens=0..${i} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    for (let i = 0; i < 20; i++) await ask(server, `/api/x/0/log?from=${i}&count=1`);
    slow.destroy();
});

test("events: a stream that says so, and one per page", async () => {
    const request = http.get({ port: server.port, host: "127.0.0.1", path: `${server.below}/api/events` });
    const [response] = await once(request, "response");
    assert.equal(response.headers["content-type"], "text/event-stream");
    assert.match(String((await once(response, "data"))[0]), /^retry: \d+\n\n/);
    request.destroy();
});

test("events: pages that were left make room for others at once", async () => {
    for (let i = 0; i < 70; i++) {
        const request = http.get({ port: server.port, host: "127.0.0.1", path: `${server.below}/api/events`, agent: false });
        const [response] = await once(request, "response");
        assert.equal(response.statusCode, 200, `stream ${i + 1}`);
        await once(response, "data");
        request.destroy();
        await once(request, "close");
    }
});

// ---- changing files ----

test("files of different experiments in one directory are refused with an explanation, others go on", async () => {
    const mixed = scratch("mixed");
    cpSync(tiny, mixed, { recursive: true });
    copyFileSync(join(moe, "experiment.json"), join(mixed, "experiment.json"));
    const both = await serve(mixed, tiny);
    const [wrong, right] = await ask(both, "/api/experiments");
    assert.match(wrong.error, /mixes two experiments: its experiment\.json is of [0-9a-f-]{36}, its trace\.ggs of [0-9a-f-]{36}/);
    assert.equal(wrong.state, "refused");
    assert.equal(right.error, null);
    await refused(both, "/api/x/0/summary", 409, /mixes two experiments/);
    await ask(both, "/api/x/1/summary");
    await stop(both);
});

test("a directory that disappears is a 410, and comes back", async () => {
    const here = scratch("here"), away = scratch("away");
    cpSync(tiny, here, { recursive: true });
    const server_ = await serve(here, tiny);
    await ask(server_, "/api/x/0/summary");
    renameSync(here, away);
    await until(async () => (await get(server_, "/api/x/0/summary")).status === 410, "410");
    await refused(server_, "/api/x/0/log?from=0", 410, /is gone/);
    assert.equal((await ask(server_, "/api/experiments"))[0].state, "gone");
    await ask(server_, "/api/x/1/summary");
    renameSync(away, here);
    await until(async () => (await get(server_, "/api/x/0/summary")).status === 200, "200 again");
    await stop(server_);
});

test("a trace that shrinks while it is read: no signal, a warning, and what is left", async () => {
    const here = scratch("shrinking"), trace = join(here, "trace.ggs");
    cpSync(moe, here, { recursive: true });
    const server_ = await serve(here), whole = readFileSync(trace), paths = ["stats", "heat", "log?sort=read&count=500", "timeline?pixels=50", "graph?token=1", "log?from=900&count=500"];
    for (const keep of [whole.length - 100, whole.length >> 1, 4096, 100, 0]) {
        const asked = Promise.allSettled(Array.from({ length: 60 }, (_, i) => get(server_, `/api/x/0/${paths[i % paths.length]}${paths[i % paths.length].includes("?") ? "&" : "?"}${i < 6 ? "" : `x${i}`}`)));
        truncateSync(trace, keep);
        for (const { status } of await asked) assert.equal(status, "fulfilled");
        await until(async () => {
            const { status, body } = await get(server_, "/api/x/0/summary");
            return keep >= 64 ? status === 200 && JSON.parse(body).warning !== null : status === 409;
        }, `a word about ${keep} bytes`);
        writeFileSync(trace, whole);
        await until(async () => {
            const { status, body } = await get(server_, "/api/x/0/summary");
            return status === 200 && JSON.parse(body).warning === null;
        }, "the whole trace again");
    }
    assert.deepEqual(await ask(server_, "/api/x/0/stats"), stats(moe));
    await stop(server_);
});

test("a damaged trace is refused, and with --damaged shown as far as it is intact, with a word about it", async () => {
    const here = scratch("damaged-chunk"), trace = join(here, "trace.ggs");
    cpSync(moe, here, { recursive: true });
    const bytes = readFileSync(trace);
    let end = 0;
    for (let at = 64; bytes.toString("latin1", at, at + 4) === "ROWS"; at = (end + 7) & ~7) {
        end = at + 96 + Number(bytes.readBigUInt64LE(at + 8));
        if (bytes.readUInt32LE(at + 4) === 17) break; // op runs, the largest table
    }
    bytes[end - 1] ^= 1;
    writeFileSync(trace, bytes);
    const strict = await serve(here);
    const refusals = await Promise.all(["summary", "stats", "log?from=0"].map((path) => get(strict, `/api/x/0/${path}`)));
    assert.ok(refusals.some(({ status }) => status === 409), "refused where it is read");
    await stop(strict);
    const patient = await serve("--damaged", here);
    assert.match((await ask(patient, "/api/x/0/summary")).warning, /trace\.ggs: 1 damaged chunk is left out/);
    const some = await ask(patient, "/api/x/0/stats");
    assert.equal(some.partial, true);
    assert.ok(some.ops < stats(moe).ops, `${some.ops} ops`);
    await stop(patient);
});

// ---- live recordings ----

test("a recording that goes on is seen growing, and nothing is written into its directory", async () => {
    const directory = scratch("live"), events = [];
    const recording = spawn(ggscope, ["record", "-q", "-o", directory, "--", engine, "run", "-m", model("tiny"), "-p", "Once upon a time", "-n", "1500", "-t", "2", "--ignore-eos"], { stdio: "ignore" });
    const ended = once(recording, "exit");
    await until(() => run("test", ["-e", join(directory, "experiment.json")]).status === 0, "the directory");
    const live = await serve(directory);
    const stream = http.get({ port: live.port, host: "127.0.0.1", path: `${live.below}/api/events` });
    const [response] = await once(stream, "response");
    response.on("data", (data) => events.push(...[...String(data).matchAll(/event: (\w+)\ndata: (.*)\n/g)].map(([, name, text]) => [name, JSON.parse(text)])));
    const first = await until(async () => {
        const { status, body } = await get(live, "/api/x/0/summary");
        return status === 200 && JSON.parse(body).tokens > 0 && JSON.parse(body).ops >= 10 && JSON.parse(body);
    }, "tokens");
    assert.equal(first.live, true);
    assert.equal(first.state, "recording");
    assert.ok((await ask(live, "/api/x/0/log?from=0&count=10")).ops.length === 10);
    const grown = await until(async () => {
        const s = await ask(live, "/api/x/0/summary");
        return s.tokens > first.tokens && s;
    }, "more tokens");
    assert.ok(grown.ops > first.ops);
    assert.deepEqual(output("ls", [directory]).split("\n").filter((name) => !["control.sock", "experiment.json", "spool", "stderr.txt", "stdout.txt", "trace.ggs", "trace.ggs.part", "trace.ggs.tmp", ""].includes(name)), []);
    recording.kill("SIGINT");
    await ended;
    const last = await until(async () => {
        const s = await ask(live, "/api/x/0/summary");
        return !s.live && s;
    }, "the sealed trace");
    assert.equal(last.tokens, stats(directory).tokens);
    assert.ok(last.tokens >= grown.tokens);
    await until(() => events.filter(([name, data]) => name === "experiment" && data.tokens > 0).length >= 2, "events");
    await stop(live);
});

// ---- the command line ----

test("the address is one line, and Ctrl-C ends it at once", async () => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
        const one = await serve("--port", "0", tiny);
        assert.match(one.address.href, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);
        const open = http.get({ port: one.port, host: "127.0.0.1", path: `${one.below}/api/events` });
        open.on("error", () => {});
        await once(open, "response");
        get(one, "/api/x/0/stats").catch(() => {});
        await stop(one, signal);
        assert.equal(one.stderr, "");
    }
});

test("what cannot be served: one sentence, exit 1 or 2", () => {
    const empty = scratch("empty");
    mkdirSync(empty);
    const nothing = run(ggscope, ["serve"], { cwd: empty });
    assert.equal(nothing.status, 1);
    assert.match(nothing.stderr, /no folder \.\/experiments; [^\n]*record one: ggscope run -m MODEL\.gguf/);
    for (const [args, status] of [[[empty], 1], [["/nonexistent"], 1], [["/dev/null"], 1], [["--port", "70000", tiny], 2], [["--port", "x", tiny], 2], [["--bind", "nowhere", tiny], 1], [["--nothing"], 2]]) {
        const result = run(ggscope, ["serve", ...args]);
        assert.equal(result.status, status, args.join(" "));
        assert.equal(result.stdout, "");
        assert.match(result.stderr, /^ggscope.*\n/);
    }
    const taken = run(ggscope, ["serve", "--port", String(server.port), tiny]);
    assert.equal(taken.status, 1);
    assert.match(taken.stderr, /cannot listen at 127\.0\.0\.1 port \d+/);
});

test("a folder shows every recording below it, and those that come later; without a directory that is ./experiments", async () => {
    const place = scratch("place"), below = (name) => join(place, "experiments", name);
    cpSync(tiny, below("older"), { recursive: true });
    cpSync(moe, below("deep/er/newer"), { recursive: true });
    mkdirSync(below("empty/spool"), { recursive: true });
    writeFileSync(below("empty/experiment.json"), "{}");
    const process_ = spawn(ggscope, ["serve"], { cwd: place, stdio: ["ignore", "pipe", "pipe"] });
    const one = { process: process_, stderr: "" };
    process_.stderr.on("data", (data) => (one.stderr += data));
    servers.push(one);
    one.address = new URL(String((await once(process_.stdout, "data"))[0]).trim());
    one.port = Number(one.address.port);
    one.below = one.address.pathname.slice(0, -1);
    const names = async () => (await ask(one, "/api/experiments")).map(({ name }) => name);
    assert.deepEqual(await names(), ["newer", "older"]);
    assert.match(one.stderr, /^ggscope: skipped: [^\n]*empty holds nothing that was recorded[^\n]*\n$/);
    cpSync(moe, scratch("place/elsewhere"), { recursive: true }); // beside the folder: not served
    output(ggscope, ["record", "-q", "-o", below("later"), "--", engine, "run", "-m", model("tiny"), "-p", "Hello", "-n", "2"]);
    for (const begin = Date.now(); (await names()).length < 3 && Date.now() - begin < 60_000; ) await new Promise((done) => setTimeout(done, 50));
    assert.deepEqual(await names(), ["newer", "older", "later"]);
    assert.equal((await ask(one, "/api/x/2/summary")).name, "later");
    assert.deepEqual(readdirSync(below("empty")).sort(), ["experiment.json", "spool"]);
    await stop(one);
});

test("--open shows the token to nobody", async () => {
    const bin = scratch("bin"), seen = scratch("seen");
    mkdirSync(bin);
    writeFileSync(join(bin, "xdg-open"), `#!/bin/sh\nstat -c %a "$1" > "${seen}.part"\necho "$@" >> "${seen}.part"\ncat "$1" >> "${seen}.part"\nmv "${seen}.part" "${seen}"\n`, { mode: 0o755 });
    const child = spawn(ggscope, ["serve", "--open", tiny], { env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, XDG_RUNTIME_DIR: scratch("") }, stdio: ["ignore", "pipe", "inherit"] });
    const one = { process: child, stderr: "" };
    servers.push(one);
    const address = String((await once(child.stdout, "data"))[0]).trim();
    for (const begin = Date.now(); !existsSync(seen) && Date.now() - begin < 60_000; ) await new Promise((done) => setTimeout(done, 20));
    const [mode, page, ...html] = readFileSync(seen, "utf8").split("\n");
    assert.equal(mode, "600");
    assert.ok(page.startsWith("/") && !page.includes(new URL(address).pathname.slice(1, -1)), page);
    assert.ok(html.join("\n").includes(`url=${address}"`));
    await stop(one);
    assert.ok(!existsSync(page), "removed at the end");
});

test("connections that send a byte now and then end in time, and keep the owner out at no moment", async () => {
    const one = await serve(tiny), sockets = [], closed = [];
    const slow = (bytes) => {
        const socket = net.connect(one.port, "127.0.0.1");
        socket.on("error", () => {});
        closed.push(once(socket, "close").then(() => (Date.now() - socket.began) / 1000));
        socket.began = Date.now();
        socket.write(bytes);
        sockets.push(socket);
    };
    for (let i = 0; i < 450; i++) slow("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ");
    const drip = setInterval(() => sockets.forEach((socket) => socket.destroyed || socket.write("a")), 1000);
    try {
        for (let i = 0; i < 10; i++) {
            const begin = Date.now();
            assert.equal((await get(one, "/api/experiments", { headers: { Connection: "close" } })).status, 200);
            assert.ok(Date.now() - begin < 10_000);
            for (let k = 0; k < 20; k++) slow("GET /");
        }
        const ages = await Promise.all(closed);
        assert.ok(Math.max(...ages) < 45, `the last one held on for ${Math.max(...ages)} s`);
    } finally {
        clearInterval(drip);
        sockets.forEach((socket) => socket.destroy());
    }
    await stop(one);
});

test("a trace by itself, and one whose model is gone", async () => {
    const alone = scratch("alone.ggs"), copy = scratch("copy.gguf");
    copyFileSync(model("tiny"), copy);
    const directory = generate(copy, "-n", "2", "--no-repack").directory;
    rmSync(copy);
    copyFileSync(join(directory, "trace.ggs"), alone);
    const one = await serve(alone);
    const map = await ask(one, "/api/x/0/map"), heat = await ask(one, "/api/x/0/heat");
    assert.equal(map.from_trace, 1);
    assert.ok(map.tensors.name.includes("blk.3.attn_q.weight"));
    assert.equal(heat.model.bytes_touched, stats(alone).model.bytes_touched);
    await stop(one);
});

test("clients that say nothing more are parted with", async () => {
    const patience = new Promise((_, reject) => setTimeout(reject, 300_000, new Error("still connected")).unref());
    await Promise.race([Promise.all(silent), patience]);
});

test("the server that all of this was asked of is still there, and ends cleanly", async () => {
    assert.equal((await ask(server, "/api/experiments")).length, 2);
    assert.equal(server.process.exitCode, null);
    await stop(server);
    assert.equal(server.stderr, "");
});
