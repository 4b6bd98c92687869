// The requests of a server on the page: lanes of slots, and a table, with the numbers of ggscope
// requests.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { engine } from "../lib.mjs";
import { becomes, build, cleanUp, finish, ggscope, hashed, hashOf, json, model, open, output, recorded, savedCsv, scratch, serve, settled, show, skip, stats } from "./browser.mjs";

after(cleanUp);

test("slots have lanes, requests bars with their first output, and a click selects the request everywhere", { skip }, async () => {
    const directory = scratch("slots");
    output(ggscope, ["record", "-q", "-o", directory, "--", join(build, "tests", "server-host"), "slots", model("tiny", "--layers", "2")]);
    const { requests } = json("requests", directory);
    const server = await serve(directory);
    const at = await open(server.url, { fragment: "view=statistics", expected: /status of 400/ });
    await at.locator(".slot-bar").first().waitFor();
    await settled(at);
    const { requests: served, tokens: steps } = stats(directory);
    await becomes(() => at.locator("#sentence").innerText(), (text) => text.includes(`${served} requests in ${steps} steps`), "the headline");
    assert.equal(await at.locator(".slot:has(.slot-bar)").count(), new Set(requests.map((r) => r.sequence)).size);
    assert.equal(await at.locator(".slot-bar").count(), requests.length);
    assert.equal(await at.locator(".slot-first").count(), requests.length);
    const batches = json("requests", "--batches", directory).batches;
    assert.equal(await at.locator(".batch").count(), batches.length);
    // Cells of keys and values: a layer for each sequence, marks for calls, and the numbers of
    // ggscope requests --cells.
    const known = json("requests", "--cells", directory);
    const cells = at.locator('[data-picture="kv-cells"]');
    const held = new Set(known.cells.flatMap((use) => use.by_sequence.map((one) => one.sequence)));
    assert.deepEqual(new Set(await cells.locator(".cells-layer[data-sequence]").evaluateAll((all) => all.map((one) => Number(one.dataset.sequence)))), held);
    const [memory] = known.memories;
    assert.match(await cells.locator("[data-memory]").innerText(), new RegExp(`^at most ${memory.cells_peak} in use of ${memory.capacity}; holes: at most ${memory.holes_peak},`));
    const calls = await cells.locator(".cells-mark").evaluateAll((all) => all.map((one) => [one.dataset.kind, Number(one.dataset.calls)]));
    const sum = (rows) => rows.reduce((all, [kind, n]) => ({ ...all, [kind]: (all[kind] ?? 0) + n }), {});
    assert.deepEqual(sum(calls), sum(known.changes.map((one) => [one.kind, one.calls])));
    assert.equal(known.changes.reduce((all, one) => all + one.calls, 0), known.contexts[0].removed);
    const saved = await savedCsv(at, cells.getByRole("button", { name: /as CSV$/ }));
    assert.deepEqual(
        saved.map((row) => [row.time_ns, row.cells, row.holes, row.sequence, row.sequence_cells]),
        known.cells.flatMap((use) => use.by_sequence.map((one) => [use.time_ns, use.cells, use.holes, one.sequence, one.cells])),
    );
    await cells.locator("svg.cells-chart").focus();
    await at.keyboard.press("ArrowRight");
    await becomes(() => cells.getByRole("tooltip").innerText(), (text) => text.includes(`in use: ${known.cells[0].cells}\n`), "the first moment:");
    const [first] = requests;
    const bar = at.getByRole("button", { name: new RegExp(`^request ${first.request},.*${first.generated_tokens} tokens`) });
    await bar.click();
    await becomes(() => bar.getAttribute("aria-pressed"), "true");
    await hashed(at, new RegExp(`time=${first.begin_ns}\\.\\.${first.end_ns}`));
    const table = at.locator("table", { has: at.locator("th", { hasText: "cached" }) });
    await becomes(() => table.locator("tbody tr").count(), requests.length);
    assert.equal(await table.locator("th", { hasText: "accepted" }).count(), 0, "nothing was drafted");
    // The table asks for as many rows as it shows, in its order; the CSV has all.
    await table.getByRole("button", { name: "time" }).click();
    const longest = [...requests].sort((a, b) => b.duration_ns - a.duration_ns).map((r) => String(r.request));
    await becomes(() => table.locator("tbody th").allInnerTexts(), longest);
    // The two orders may be the same, so the rows alone do not show that the table has asked.
    const requested = () => at.evaluate(() => performance.getEntriesByType("resource").map((one) => one.name).filter((name) => /\/requests\?/.test(name)));
    const asked = await becomes(requested, (all) => all.some((name) => /count=\d+&sort=duration_ns&desc=1/.test(name)), "the sorted rows");
    for (const name of asked) assert.match(name, /\b(count|request)=\d/);
    const rows = await savedCsv(at, at.getByRole("button", { name: 'Save "Requests" as CSV' }));
    assert.deepEqual(rows.map((row) => row.request), requests.map((r) => r.request));
    const some = await at.evaluate(async () => (await fetch("./api/x/0/requests?from=1&count=2&sort=duration_ns&desc=1")).json());
    assert.deepEqual([some.total, some.requests.map((r) => String(r.request))], [requests.length, longest.slice(1, 3)]);
    assert.equal(await at.evaluate(async () => (await fetch("./api/x/0/requests?count=2&sort=nothing")).status), 400);
    if (process.env.GGSCOPE_SHOT) await at.locator("#part-requests").screenshot({ path: process.env.GGSCOPE_SHOT });

    // The request narrows statistics, log and memory to its steps: the numbers of --request.
    await hashed(at, new RegExp(`request=${first.request}\\b`));
    await at.locator(".chip", { hasText: `request ${first.request}` }).waitFor();
    const mine = stats(directory, "--request", String(first.request));
    await at.locator("[data-tile=ops] .tile-value", { hasText: new RegExp(`^${String(mine.ops).replace(/\B(?=(\d{3})+(?!\d))/g, ",")}$`) }).waitFor();
    const inside = json("log", "--request", String(first.request), directory).ops.filter((op) => op.begin_ns < first.end_ns && op.begin_ns + op.duration_ns > first.begin_ns);
    await show(at, "log");
    await at.locator(`[data-total="${inside.length}"]`).waitFor();
    await show(at, "memory");
    const heat = await at.evaluate(async (request) => {
        for (;;) {
            const answer = await fetch(`./api/x/0/heat?request=${request}`);
            if (answer.status !== 202) return answer.json();
        }
    }, first.request);
    assert.equal(heat.model.bytes_touched, mine.model.bytes_touched);
    // Experts are counted by step: if the model has experts, the page says so.
    const about = await at.evaluate(async () => (await fetch("./api/x/0/summary")).json());
    await show(at, "experts");
    await at.getByText(about.has.experts ? "experts of all requests" : "No experts: this model is dense").waitFor();
    // Of a request that began before the recording, the beginning is not seen.
    await at.route(/\/requests\?.*request=/, async (route) => {
        const response = await route.fetch(), answer = await response.json();
        for (const one of answer.requests ?? []) Object.assign(one, { begun_before: true, prompt_tokens: null, cached_tokens: null, first_output_ns: null, time_to_first_ns: null });
        await route.fulfill({ response, json: answer });
    });
    await at.reload();
    await at.locator(".details .card", { hasText: /since the recording began\s*first\s*not seen[^]*prompt not seen, cached not seen/ }).waitFor();
    await at.getByRole("button", { name: `Deselect request ${first.request}` }).click();
    await becomes(() => hashOf(at), (hash) => !/request=|time=/.test(hash), "the address:");
    await finish(at);
    await server.stop();
});

test("the timeline shades what was not recorded, and says how much was", { skip }, async () => {
    const directory = scratch("windows");
    output(ggscope, ["record", "-q", "--steps", "2", "-o", directory, "--", engine, "run", "-m", model("tiny", "--layers", "2"), "-p", "Once upon a time", "-n", "8", "-t", "1", "--ignore-eos"]);
    const { windows } = stats(directory);
    assert.ok(windows !== null && windows.recorded_ns < windows.whole_ns);
    const server = await serve(directory);
    const at = await open(server.url, { fragment: "view=timeline" });
    await at.locator("[data-pauses]").waitFor();
    await becomes(() => at.locator("[data-pauses]").innerText(), /^recorded \S+ \S+ of \S+ \S+$/);
    await finish(at);
    await server.stop();
});

test("a program that answered one prompt has no such part", { skip }, async () => {
    const server = await serve(recorded("tiny"));
    const at = await open(server.url, { fragment: "view=statistics" });
    await at.locator("#part-requests").waitFor({ state: "attached" });
    await settled(at);
    assert.equal(await at.locator(".slot").count(), 0);
    await finish(at);
    await server.stop();
});
