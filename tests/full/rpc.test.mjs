// Machines that share a model: a client and two or three rpc-servers in network namespaces, with a
// slow wire and separate clocks, each recorded and then joined.
import { test, after } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { engine as runner, ggscope, model, output, run, scratch } from "../lib.mjs";
import { openReport } from "../report.mjs";
import { assertWhole, rows, stats } from "../engine/node/recordings.mjs";
import { buildRpc, relay, serverPid, startServer, unusable } from "../engine/rpc.mjs";
import { freePort } from "../server.mjs";

const tiny = model("tiny");
scratch();
const engine = unusable ? "" : buildRpc();
const skip = unusable || false;
const environment = { ...process.env, GGSCOPE_ENGINE: engine };
const json = (directory) => JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));
const generate = (endpoints, tokens) => [runner, "run", "-m", tiny, "-p", "Once upon a time", "-n", String(tokens), "--ignore-eos", "-t", "1", "-ngl", "99", "--rpc", endpoints.join(","), "--json", "--logits-hash"];
const listed = (answer) => ({ tokens: answer.tokens, logits_hash: answer.logits_hash });

// ---- a wire between two network namespaces ----

const made = [];
after(() => { for (const name of made) run("ip", ["netns", "del", name]); });
const able = process.getuid() !== 0 ? "only root can make network namespaces"
    : run("sh", ["-c", "ip netns add ggs-probe && ip netns del ggs-probe && command -v tc"]).status !== 0 ? "network namespaces cannot be made here" : "";
const clocks = run("unshare", ["-T", "--monotonic=5", "--fork", "true"]).status === 0;

// A namespace behind a wire of that rate, and a prefix that runs a command there with a clock
// `ahead` seconds off.
function wired(index, rate, ahead) {
    const name = `ggs-${process.pid}-${index}`, link = `ggs${process.pid % 10000}${index}`, net = `10.213.${index}`;
    output("ip", ["netns", "add", name]);
    made.push(name);
    output("ip", ["link", "add", link, "type", "veth", "peer", "name", "wire", "netns", name]);
    output("ip", ["addr", "add", `${net}.1/24`, "dev", link]);
    output("ip", ["link", "set", link, "up"]);
    const inside = (...words) => output("ip", ["netns", "exec", name, ...words]);
    inside("ip", "addr", "add", `${net}.2/24`, "dev", "wire");
    inside("ip", "link", "set", "wire", "up");
    inside("ip", "link", "set", "lo", "up");
    const limited = [["tc"], ["ip", "netns", "exec", name, "tc"]].every(([program, ...words], i) =>
        run(program, [...words, "qdisc", "add", "dev", i === 0 ? link : "wire", "root", "tbf", "rate", rate, "burst", "64kb", "latency", "2s"]).status === 0);
    const clock = ahead === 0 || !clocks ? [] : ["unshare", "-T", `--monotonic=${ahead}`, "--fork", "--kill-child"];
    return { host: `${net}.2`, limited, before: ["ip", "netns", "exec", name, ...clock] };
}

async function end(server, signal = "SIGTERM") {
    process.kill(serverPid(server, engine), signal);
    return server.ended;
}

// Holds for every joined experiment.
function assertJoined(directory, processes, tokens) {
    const all = stats(directory), { by_process, links, time } = all.processes;
    assert.equal(by_process.length, processes);
    assert.equal(all.tokens, tokens);
    assert.equal(time.wall_ns, time.client_compute_ns + time.server_compute_ns + time.wire_ns + time.idle_ns, "times add up");
    assert.ok(time.server_compute_ns > 0 && time.wire_ns > 0);
    for (const link of links) assert.ok(link.server_ns <= link.round_trip_ns, `${link.server_ns} of ${link.round_trip_ns}`);
    const byProcess = JSON.parse(output(ggscope, ["stats", "--json", "--by", "process,host", directory]));
    assert.equal(byProcess.by_process.reduce((sum, row) => sum + row.ops, 0), all.ops);
    assert.equal(byProcess.by_host.reduce((sum, row) => sum + row.bytes_read, 0), all.bytes_read);
    return all;
}

test("two servers over a slow wire, with clocks of their own", { skip }, async (t) => {
    if (able) return t.skip(able);
    const places = [wired(1, "400mbit", 3600), wired(2, "100mbit", -500)], tokens = 12;
    if (!places.every((place) => place.limited)) t.diagnostic("tc has no tbf here: the wire is as fast as the machine");

    const plain = [];
    for (const place of places) plain.push(await startServer(engine, null, { ...place, port: await freePort() }));
    const expected = JSON.parse(output(...spread(generate(plain.map((server) => server.endpoint), tokens)), { env: environment }));
    for (const server of plain) await end(server, "SIGKILL");

    const directories = [1, 2].map((i) => scratch(`wired-${i}`)), client = scratch("wired-client"), joined = scratch("wired-joined");
    const servers = [];
    for (const [i, place] of places.entries()) servers.push(await startServer(engine, directories[i], { ...place, port: await freePort() }));
    const far = await relay(places[1].host, servers[1].port, 4); // the second server is 4 ms away
    const recorded = await asynchronously([ggscope, "record", "-q", "-o", client, "--", ...generate([servers[0].endpoint, far.endpoint], tokens)]);
    far.close();
    assert.equal(recorded.status, 0, recorded.stderr);
    for (const [i, signal] of ["SIGINT", "SIGTERM"].entries()) {
        await end(servers[i], signal);
        assert.equal(json(directories[i]).signal, signal);
        assert.equal(json(directories[i]).state, "interrupted");
    }
    assert.deepEqual(listed(JSON.parse(recorded.stdout)), listed(expected), "recording changes nothing");

    output(ggscope, ["join", client, `alpha=${directories[0]}`, `beta=${directories[1]}`, "-o", joined]);
    assertWhole(joined);
    const all = assertJoined(joined, 3, tokens), { by_process, links, hosts, time } = all.processes;
    assert.deepEqual(by_process.map((process) => process.host), ["host 1", "alpha", "beta"].map((name, i) => clocks || i === 0 ? name : by_process[i].host));
    // All nodes of all servers: each sent run is in a recording, where every node is accounted for.
    assert.equal(links.length, 2);
    for (const link of links) assert.deepEqual([link.runs, link.matched_runs], [tokens, tokens]);
    const separate = directories.map((directory) => assertWhole(directory));
    assert.equal(all.executed, separate.reduce((sum, one) => sum + one.executed, 0) + (stats(client).executed));
    assert.equal(all.ops, all.executed);
    // The weights crossed the wire; the second server was slower, and every token waited for 4 ms
    // twice.
    const weights = links.reduce((sum, link) => sum + link.bytes_loaded, 0);
    assert.ok(weights > 13e6 && weights < 20e6, `${weights} bytes of weights`);
    const first = (table, wanted) => Math.min(...rows(joined, table).filter(wanted).map((row) => row.begin_ns));
    const took = first("runs", (row) => row.process === 3) - first("transfers", (row) => row.peer === 3) + by_process[2].error_ns;
    if (places[1].limited) assert.ok(took > 0.9 * links[1].bytes_loaded * 8 / 100e6 * 1e9, `100 Mbit/s: ${took} ns for ${links[1].bytes_loaded} bytes`);
    assert.ok(time.wire_ns > tokens * 8e6, `${time.wire_ns} on the wire`);
    assert.ok(links[1].round_trip_ns - links[1].server_ns > tokens * 8e6);
    // Model bytes are those of the client's file, on any reader.
    assert.equal(all.model.bytes_touched, stats(client).model.bytes_touched);
    assert.deepEqual(rows(joined, "transfers").filter((row) => row.peer === 0 && row.from_buffer !== 0 && row.to_buffer !== 0), []);
    if (!clocks) return t.diagnostic("there are no time namespaces here: all have one clock");
    // The offset of the clocks is known: the shown error covers it.
    assert.equal(hosts, 3);
    // The details of an op on a server name the client that waited for it, for as long as its graph
    // run took.
    const page = scratch("wired.html");
    output(ggscope, ["report", "-q", joined, "-o", page]);
    const report = await openReport(page), runs = new Map(rows(joined, "runs").map((row) => [row.run, row]));
    const served = [...runs.values()].filter((row) => row.peer !== 0 && row.process !== 1 && row.nodes > 0), asked = [served[0], served.at(-1)], computed = rows(joined, "op_runs");
    for (const { run: number, peer, begin_ns, end_ns } of asked) {
        const { node } = computed.find((row) => row.run === number);
        const { client: told } = JSON.parse((await report.ask(`/api/x/0/op?run=${number}&node=${node}`)).body);
        assert.deepEqual(told, { run: peer, process: runs.get(peer).process, waited_ns: runs.get(peer).end_ns - runs.get(peer).begin_ns, computed_ns: end_ns - begin_ns });
        assert.ok(told.waited_ns > told.computed_ns);
        // The client's graph run has the details of the longest op on the server.
        const longest = Math.max(...computed.filter((row) => row.run === number).map((row) => row.duration_ns));
        const followed = JSON.parse((await report.ask(`/api/x/0/op?run=${peer}&node=0`)).body);
        assert.deepEqual([followed.run, followed.duration_ns, followed.client.run], [number, longest, peer]);
    }
    const columns = (await report.ask(`/api/x/0/timeline?begin=${asked[0].begin_ns}&end=${asked[0].end_ns}&pixels=4096`)).body;
    const { sent } = JSON.parse(columns.subarray(16, 16 + columns.readUInt32LE(8)));
    assert.ok(sent.some((one) => one.run === asked[0].peer && one.server_run === asked[0].run), JSON.stringify(sent));
    const origin = json(client).start_monotonic_ns, sources = json(joined).joined;
    for (const [i, ahead] of [3600, -500].entries()) {
        const truth = json(directories[i]).start_monotonic_ns - ahead * 1e9 - origin, found = sources[i + 1].offset_ns - sources[0].offset_ns;
        assert.equal(sources[i + 1].clock, "graph runs");
        assert.ok(Math.abs(found - truth) <= sources[i + 1].error_ns, `off by ${found - truth}, the bound is ${sources[i + 1].error_ns}`);
        assert.ok(sources[i + 1].error_ns < (i === 0 ? 20e6 : 40e6), `${sources[i + 1].error_ns}`);
    }
});

test("three servers, one of which is killed: what there is can be joined", { skip }, async () => {
    const directories = [1, 2, 3].map((i) => scratch(`killed-${i}`)), client = scratch("killed-client"), joined = scratch("killed-joined");
    const servers = [];
    for (const directory of directories) servers.push(await startServer(engine, directory, { port: await freePort() }));
    // In the middle: some words were generated.
    let killed;
    const words = generate(servers.map((server) => server.endpoint), 400).filter((word) => !["--json", "--logits-hash"].includes(word));
    const ended = await asynchronously([ggscope, "record", "-q", "-o", client, "--", ...words], (text) => {
        if (text.length > 60) killed ??= end(servers[1], "SIGKILL");
    });
    await killed;
    assert.notEqual(ended.status, 0, "the engine gives up");
    await end(servers[0]);
    await end(servers[2], "SIGINT");
    assert.equal(json(directories[1]).signal, "SIGKILL");
    output(ggscope, ["join", client, ...directories, "-o", joined]);
    const check = JSON.parse(run(ggscope, ["check", "--json", joined]).stdout);
    assert.deepEqual(check.checks.filter((one) => one.result === "failed"), []);
    const all = stats(joined);
    assert.equal(all.processes.links.length, 3);
    assert.equal(all.processes.hosts, 1);
    for (const link of all.processes.links) assert.ok(link.matched_runs >= 10 && link.matched_runs <= link.runs, `${link.matched_runs} of ${link.runs}`);
    for (const process of all.processes.by_process) assert.equal(process.error_ns, 0, "one machine, one clock");
    for (const format of ["chrome", "perfetto", "json"]) output(ggscope, ["export", "-q", "--token", "0..1", "--format", format, joined, "-o", scratch(`killed.${format}`)]);
    output(ggscope, ["export", "-q", "--format", "sqlite", joined, "-o", scratch("killed.sqlite")]);
});

function spread([program, ...args]) {
    return [program, args];
}

// Runs a program to its end while relays in this process continue.
async function asynchronously([program, ...args], heard = () => {}) {
    const { spawn } = await import("node:child_process");
    const child = spawn(program, args, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "", stderr = "";
    child.stdout.on("data", (data) => { stdout += data; heard(stdout); });
    child.stderr.on("data", (data) => { stderr += data; });
    return new Promise((done) => child.on("close", (status, signal) => done({ status, signal, stdout, stderr })));
}
