// The requests of a server on the page: lanes of slots, and a table, with the numbers of ggscope requests.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { engine } from "../lib.mjs";
import { becomes, build, cleanUp, finish, ggscope, hashed, hashOf, json, model, open, output, recorded, scratch, serve, settled, show, skip, stats } from "./browser.mjs";

after(cleanUp);

test("slots have lanes, requests bars with their first output, and a click selects the request everywhere", { skip }, async () => {
    const directory = scratch("slots");
    output(ggscope, ["record", "-q", "-o", directory, "--", join(build, "tests", "server-host"), "slots", model("tiny", "--layers", "2")]);
    const { requests } = json("requests", directory);
    const server = await serve(directory);
    const at = await open(server.url, { fragment: "view=statistics" });
    await at.locator(".slot-bar").first().waitFor();
    await settled(at);
    assert.equal(await at.locator(".slot:has(.slot-bar)").count(), new Set(requests.map((r) => r.sequence)).size);
    assert.equal(await at.locator(".slot-bar").count(), requests.length);
    assert.equal(await at.locator(".slot-first").count(), requests.length);
    const batches = json("requests", "--batches", directory).batches;
    assert.equal(await at.locator(".batch").count(), batches.length);
    const [first] = requests;
    const bar = at.getByRole("button", { name: new RegExp(`^request ${first.request},.*${first.generated_tokens} tokens`) });
    await bar.click();
    await becomes(() => bar.getAttribute("aria-pressed"), "true");
    await hashed(at, new RegExp(`time=${first.begin_ns}\\.\\.${first.end_ns}`));
    const table = at.locator("table", { has: at.locator("th", { hasText: "cached" }) });
    await becomes(() => table.locator("tbody tr").count(), requests.length);
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
            const answer = await fetch(`/api/x/0/heat?request=${request}`);
            if (answer.status !== 202) return answer.json();
        }
    }, first.request);
    assert.equal(heat.model.bytes_touched, mine.model.bytes_touched);
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
