// A joined experiment on the page: lanes are grouped by host and process, and every view takes the sum.
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
    // The groups in words, one host said once for each of its processes.
    const said = await at.locator(".timeline-processes").innerText();
    const titles = said.split("; ");
    assert.deepEqual(titles.map((title) => title.split(",")[0]), ["host 1", "host 1"]);
    processes.forEach((process, i) => assert.ok(titles[i].includes(process.name), `${process.name} is not in ${titles[i]}`));
    // Lanes stand together by process, each with all of its own.
    const about = await at.evaluate(async () => (await fetch("./api/x/0/summary")).json());
    const owners = about.lanes.map((lane) => lane.process);
    assert.deepEqual(owners, [...owners].sort((one, other) => one - other));
    assert.equal(owners.length, stats(a).threads + stats(b).threads);
    await at.locator('[data-picture="timeline"] .saves > button').click();
    const rows = await savedCsv(at, at.getByRole("button", { name: 'Save "Timeline" as CSV' }));
    assert.deepEqual(new Set(rows.map((row) => row.lane)), new Set(about.lanes.map((lane) => lane.label)));
    for (const lane of about.lanes) assert.ok(lane.label.includes(about.processes.find((one) => one.process === lane.process).name), lane.label);
    // Where the time went, as ggscope stats has it: not the op that computes longest alone.
    const { time } = stats(joined).processes, percent = (ns) => `${((100 * ns) / time.wall_ns).toFixed(1)} %`;
    await becomes(() => at.locator("#sentence").innerText(), new RegExp(`${percent(time.wire_ns)} of the time on the wire`));
    await show(at, "statistics");
    for (const [part, ns] of [["client", time.client_compute_ns], ["server", time.server_compute_ns], ["wire", time.wire_ns], ["idle", time.idle_ns]])
        await becomes(() => at.locator(`[data-tile=processes-${part}] .tile-value`).innerText(), percent(ns));
    await show(at, "log");
    await becomes(async () => Number(await at.locator(".log-count").getAttribute("data-total")), json("log", a).ops.length + json("log", b).ops.length);
    await finish(at);
    await server.stop();
});
