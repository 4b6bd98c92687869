// The requests of a server on the page: lanes of slots, and a table, with the numbers of ggscope requests.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { build, cleanUp, finish, ggscope, json, model, open, output, recorded, scratch, serve, skip } from "./browser.mjs";

after(cleanUp);

test("slots have lanes, requests bars with their first output, and a click selects their time", { skip }, async () => {
    const directory = scratch("slots");
    output(ggscope, ["record", "-q", "-o", directory, "--", join(build, "tests", "server-host"), "slots", model("tiny", "--layers", "2")]);
    const { requests } = json("requests", directory);
    const server = await serve(directory);
    const at = await open(server.url, { fragment: "view=statistics" });
    await at.locator(".slot-bar").first().waitFor();
    assert.equal(await at.locator(".slot:has(.slot-bar)").count(), new Set(requests.map((r) => r.sequence)).size);
    assert.equal(await at.locator(".slot-bar").count(), requests.length);
    assert.equal(await at.locator(".slot-first").count(), requests.length);
    const batches = json("requests", "--batches", directory).batches;
    assert.equal(await at.locator(".batch").count(), batches.length);
    const [first] = requests;
    const bar = at.getByRole("button", { name: new RegExp(`^request ${first.request},.*${first.generated_tokens} tokens`) });
    await bar.click();
    assert.equal(await bar.getAttribute("aria-pressed"), "true");
    assert.match(decodeURIComponent(new URL(at.url()).hash), new RegExp(`time=${first.begin_ns}\\.\\.${first.end_ns}`));
    const table = at.locator("table", { has: at.locator("th", { hasText: "cached" }) });
    assert.equal(await table.locator("tbody tr").count(), requests.length);
    if (process.env.GGSCOPE_SHOT) await at.locator("#part-requests").screenshot({ path: process.env.GGSCOPE_SHOT });
    await finish(at);
    await server.stop();
});

test("a program that answered one prompt has no such part", { skip }, async () => {
    const server = await serve(recorded("tiny"));
    const at = await open(server.url, { fragment: "view=statistics" });
    await at.locator("#part-requests").waitFor({ state: "attached" });
    await at.waitForLoadState("networkidle");
    assert.equal(await at.locator(".slot").count(), 0);
    await finish(at);
    await server.stop();
});
