// A joined experiment on the page: lanes are grouped by host and process, and every view has the
// sums.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { engine } from "../lib.mjs";
import { becomes, cleanUp, finish, ggscope, json, model, open, output, savedCsv, scratch, serve, settled, show, skip, stats } from "./browser.mjs";

after(cleanUp);

test("two programs of one host: each has its lanes beneath its name, and the numbers are those of both", { skip }, async () => {
    const [a, b, joined] = ["a", "b", "joined"].map((name) => scratch(name));
    for (const [directory, threads] of [[a, "1"], [b, "2"]])
        output(ggscope, ["record", "-q", "--no-faults", "-o", directory, "--", engine, "run", "-m", model("tiny", "--layers", "2"), "-p", "Once", "-n", "2", "-t", threads, "--ignore-eos"]);
    output(ggscope, ["join", "-q", a, b, "-o", joined]);
    const { by_process: processes } = stats(joined).processes;
    assert.equal(processes.length, 2);
    const server = await serve(joined);
    const at = await open(server.url, { fragment: "view=timeline" });
    await at.locator(".timeline canvas").waitFor();
    await settled(at);
    // The groups in words, with the host once per process.
    const said = await at.locator(".timeline-processes").innerText();
    const titles = said.split("; ");
    assert.deepEqual(titles.map((title) => title.split(",")[0]), ["host 1", "host 1"]);
    processes.forEach((process, i) => assert.ok(titles[i].includes(process.name), `${process.name} is not in ${titles[i]}`));
    // Lanes are grouped by process, each group complete.
    const about = await at.evaluate(async () => (await fetch("./api/x/0/summary")).json());
    const owners = about.lanes.map((lane) => lane.process);
    assert.deepEqual(owners, [...owners].sort((one, other) => one - other));
    assert.equal(owners.length, stats(a).threads + stats(b).threads);
    await at.locator('[data-picture="timeline"] .saves > button').click();
    const rows = await savedCsv(at, at.getByRole("button", { name: 'Save "Timeline" as CSV' }));
    assert.deepEqual(new Set(rows.map((row) => row.lane)), new Set(about.lanes.map((lane) => lane.label)));
    for (const lane of about.lanes) assert.ok(lane.label.includes(about.processes.find((one) => one.process === lane.process).name), lane.label);
    // The breakdown of time, as in ggscope stats. Neither sent graphs to the other, so there is no
    // client, no server and no wire.
    const { time } = stats(joined).processes, percent = (ns) => `${((100 * ns) / time.wall_ns).toFixed(1)} %`;
    assert.deepEqual([stats(joined).processes.links, time.wire_ns], [[], 0]);
    await becomes(() => at.locator("#sentence").innerText(), (text) => / % of computing in /.test(text) && !/wire/.test(text));
    await show(at, "statistics");
    const tile = (part) => at.locator(`[data-tile=processes-${part}]`);
    for (const [part, name, ns] of [["server", "computing", time.server_compute_ns], ["idle", "idle", time.idle_ns]])
        await becomes(() => tile(part).innerText(), new RegExp(`^${name}\\s+${percent(ns)}`));
    assert.equal((await tile("client").count()) + (await tile("wire").count()), 0);
    // With a wire between them: each part has its share, and the headline says what is on the wire.
    const spent = { wall_ns: 1000, client_compute_ns: 100, server_compute_ns: 250, wire_ns: 510, idle_ns: 140 };
    await at.route(/\/stats\b/, async (route) => {
        const response = await route.fetch(), answer = await response.json();
        if (answer.processes) Object.assign(answer.processes, { time: spent, links: [{ client: 1, server: 2, backend: "RPC0", runs: 4, matched_runs: 4, round_trip_ns: 800, server_ns: 250, bytes_sent: 9, bytes_loaded: 5, bytes_received: 7 }] });
        await route.fulfill({ response, json: answer });
    });
    await at.reload();
    await becomes(() => at.locator("#sentence").innerText(), /51\.0 % of the time on the wire/);
    for (const [part, name, share] of [["client", "client computes", "10.0"], ["server", "servers compute", "25.0"], ["wire", "on the wire", "51.0"], ["idle", "idle", "14.0"]])
        await becomes(() => tile(part).innerText(), new RegExp(`^${name}\\s+${share} %`));
    await at.unrouteAll();
    // Of the token's runs, the graph that opens has the most ops.
    const { runs, graphs } = await at.evaluate(async () => (await fetch("./api/x/0/graph?token=0")).json());
    assert.equal(graphs[0].nodes.filter((node) => node.state === "executed").length, Math.max(...runs.map((run) => run.executed)));
    // Long names of lanes do not push the filters out of a small window.
    await at.setViewportSize({ width: 360, height: 640 });
    await at.getByLabel("View", { exact: true }).selectOption("log");
    await settled(at);
    assert.ok(await at.locator(".log-filter").evaluate((form) => [...form.querySelectorAll("input, select")].every((one) => one.getBoundingClientRect().right <= innerWidth)));
    await at.setViewportSize({ width: 1400, height: 900 });
    await show(at, "log");
    await becomes(async () => Number(await at.locator(".log-count").getAttribute("data-total")), json("log", a).ops.length + json("log", b).ops.length);
    await finish(at);
    await server.stop();
});
