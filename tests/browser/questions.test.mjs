// The questions of docs/ui.md, answered as its table says in at most three actions: a click, a
// choice, a typed text or a key.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import * as plants from "../engine/plants.mjs";
import { becomes, build, cleanUp, finish, ggscope, hashed, json, longest, model, open, opsOfFirstLane, output, pointOf, recorded, scratch, serve, settled, skip, stats } from "./browser.mjs";

let server;
const started = async () => (server ??= await serve(recorded("moe"), recorded("moe", { as: "moe-one-thread", threads: 1 })));
after(cleanUp);

// Opens the page and counts the actions on it.
async function walk(fragment = "", address = null) {
    const at = await open(address ?? (await started()).url, { fragment, viewport: { width: 1440, height: 900 } });
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    await settled(at);
    let actions = 0;
    const act = async (what) => {
        actions++;
        assert.ok(actions <= 3, "more than three actions");
        const result = await what;
        await settled(at);
        return result;
    };
    return { at, act, view: (name) => act(at.locator(`#tab-${name}`).click()) };
}
const get = (at, path) => at.evaluate(async (asked) => {
    for (;;) {
        const answer = await fetch(`./api/x/0/${asked}`);
        if (answer.status !== 202) return answer.json();
    }
}, path);

test("1 the slowest op of a token, and why", { skip }, async () => {
    const { at, act } = await walk("view=timeline");
    const slowest = (await get(at, "summary")).slowest_token.token;
    // The strip of tokens is above every view, and marks the slowest one.
    const strip = await at.locator(".scrubber canvas").boundingBox();
    const tokens = (await get(at, "summary")).tokens;
    await act(at.mouse.click(strip.x + ((slowest + 0.5) / tokens) * strip.width, strip.y + strip.height / 2));
    await at.locator(".chip", { hasText: `token ${slowest}` }).waitFor();
    const rows = json("log", "--token", String(slowest), recorded("moe")).ops.filter((op) => op.fused_with === null);
    const longest = rows.reduce((one, other) => (other.duration_ns > one.duration_ns ? other : one));
    await act(at.locator("[data-slowest-ops] button").first().click());
    await hashed(at, new RegExp(`op=${longest.run}\\.${longest.node}\\b`));
    await at.locator("[data-verdict]").waitFor();
    await finish(at);
});

test("2 bytes that are never read", { skip }, async () => {
    const { at, act, view } = await walk();
    await view("statistics");
    await act(at.getByRole("button", { name: "hot and cold weights" }).click());
    const { model: sums } = stats(recorded("moe"));
    assert.ok(sums.bytes > sums.bytes_touched);
    await at.getByText(/in \d+ tensors? never touched|touched in part/).first().waitFor();
    await finish(at);
});

test("3 sequential or not", { skip }, async () => {
    const { at, act, view } = await walk();
    await view("storage");
    await act(at.getByText("Access order", { exact: true }).first().click());
    const { pattern } = stats(recorded("moe"));
    await at.getByText(new RegExp(`${((100 * pattern.bytes_sequential) / pattern.bytes).toFixed(1)} % of the bytes continue where the read before ended`)).waitFor();
    await finish(at);
});

test("4 hot experts of a layer, and how early they are known", { skip }, async () => {
    const { at, act, view } = await walk();
    await view("experts");
    await act(at.getByLabel("Layer", { exact: true }).selectOption("3"));
    const { by_layer, by_component } = json("experts", recorded("moe"));
    const counts = by_layer.find((one) => one.layer === 3).counts;
    const order = counts.map((times, expert) => ({ times, expert })).filter((one) => one.times > 0).sort((a, b) => b.times - a.times || a.expert - b.expert);
    assert.deepEqual(await at.locator(".use-bars .use-name").allInnerTexts(), order.map((one) => String(one.expert)));
    assert.deepEqual((await at.locator("[data-lead]").evaluateAll((list) => list.map((one) => one.dataset.lead))).sort(), by_component.filter((one) => one.prefetch?.count > 0).map((one) => one.component).sort());
    await finish(at);
});

test("5 half the memory", { skip }, async () => {
    const { at, act, view } = await walk();
    await view("storage");
    await act(at.getByText("Less memory", { exact: true }).first().click());
    const known = json("paging", recorded("moe"));
    const middle = known.budgets[Math.floor(known.budgets.length / 2)];
    assert.ok(middle.memory_bytes > 0.3 * known.touched_bytes && middle.memory_bytes < 0.7 * known.touched_bytes, "the middle is about half");
    await at.locator("[data-tile=paging-linux]", { hasText: "per token from the disk" }).waitFor();
    await finish(at);
});

test("6 which thread waits for which", { skip }, async () => {
    const { at, act } = await walk("view=timeline");
    // Clicking an op shows what each thread did.
    const { x, y } = await pointOf(at, longest(opsOfFirstLane(recorded("moe"))));
    await act(at.mouse.click(x, y));
    await at.locator(".threads tbody tr").first().waitFor();
    assert.equal(await at.locator(".threads tbody tr").count(), 2);
    assert.match(await at.locator(".threads").innerText(), /waited [\d.]+ /);
    await finish(at);
});

test("7 who reads a tensor, and when", { skip }, async () => {
    const { at, act } = await walk("view=timeline");
    await act(at.keyboard.press("/"));
    await act(at.getByRole("combobox", { name: /^Search/ }).fill("attn q 3"));
    await act(at.keyboard.press("Enter"));
    const name = "blk.3.attn_q.weight";
    const rows = json("log", "--tensor", name, recorded("moe")).ops;
    await at.locator(".details .card", { hasText: name }).waitFor();
    await at.getByText(new RegExp(`Touched by ${rows.length} ops`)).waitFor();
    await at.locator("[data-uses]").waitFor();
    await finish(at);
});

test("8 what changed", { skip }, async () => {
    const { at, view } = await walk();
    await view("compare");
    await at.getByText(/the threads differ: \d and \d/).waitFor();
    await finish(at);
});

test("9 the slow request, and why", { skip }, async () => {
    const directory = scratch("slots");
    output(ggscope, ["record", "-q", "-o", directory, "--", join(build, "tests", "server-host"), "slots", model("tiny")]);
    const other = await serve(directory);
    const { at, act } = await walk("view=timeline", other.url);
    const { requests } = await get(at, "requests");
    const slow = requests.filter((one) => one.kind === "completion").reduce((one, other) => (other.duration_ns > one.duration_ns ? other : one));
    // Bars are in rows of slots below the times.
    const slots = [...new Set(requests.filter((one) => one.kind !== "warmup" && one.kind !== "draft").map((one) => one.sequence))].sort((a, b) => a - b);
    const { x } = await pointOf(at, slow), { y } = await at.locator(".timeline canvas").boundingBox();
    await act(at.mouse.click(x, y + 46 + slots.indexOf(slow.sequence) * 17 + 8));
    await at.locator(".chip", { hasText: new RegExp(`^request ${slow.request}\\b`) }).waitFor();
    await at.locator(".details .card", { hasText: /waited/ }).waitFor();
    await finish(at);
    await other.stop();
});

test("10 how close to the limit", { skip }, async () => {
    const { at, act, view } = await walk();
    await view("statistics");
    await act(at.getByText("Efficiency", { exact: true }).first().click());
    await at.locator('[data-picture="roofline"] svg.chart').waitFor();
    await finish(at);
});

test("11 a link for a colleague", { skip }, async () => {
    const { at, act } = await walk("view=log&layer=2");
    await act(at.getByRole("button", { name: "Share", exact: true }).click());
    const link = await becomes(() => at.getByLabel("Link", { exact: true }).inputValue(), /layer=2/);
    assert.equal((await fetch(link.split("#")[0])).status, 200);
    await finish(at);
});

test("12 a figure for a paper", { skip }, async () => {
    const { at, act } = await walk("view=timeline");
    await act(at.getByRole("button", { name: "Share", exact: true }).click());
    const [file] = await Promise.all([at.waitForEvent("download"), act(at.getByRole("button", { name: "Timeline as PNG, 4×" }).click())]);
    assert.ok(readFileSync(await file.path()).readUInt32BE(16) > 4 * 1000);
    await finish(at);
});

test("13 play", { skip }, async () => {
    const { at, act } = await walk("view=memory");
    await act(at.getByRole("button", { name: /^Play/ }).click());
    await at.locator(".chip", { hasText: /^token/ }).waitFor();
    await finish(at);
});

test("14 follow an op through all views", { skip }, async () => {
    const op = json("log", "--layer", "20", "--tensor", "*blk.20.attn_q.weight", "--token", "2", recorded("moe")).ops[0];
    const { at, view } = await walk(`view=timeline&tokens=2..2&op=${op.run}.${op.node}`); // far down in the token's log
    await at.locator(".details .card", { hasText: op.name }).waitFor();
    await view("graph");
    await at.locator(".node.selected").waitFor();
    await view("log");
    await at.locator('.log [aria-selected="true"], tr[aria-selected="true"], .row.selected').first().waitFor();
    await view("memory");
    await at.locator(".details .card", { hasText: op.name }).waitFor();
    await finish(at);
});

test("15 the first wrong op", { skip }, async () => {
    const dense = model("tiny", "--layers", "4");
    const [good, wrong] = [plants.recorded(dense), plants.recorded(dense, { plant: "flip,17,^MUL_MAT:ffn_out-1$" })];
    const other = await serve(wrong, good);
    const { at, act, view } = await walk("", other.url);
    const [first] = plants.compared(good, wrong).wrong;
    await view("values");
    await act(at.getByLabel("Recording that is right").selectOption({ index: 1 }));
    await at.getByText(`The first wrong op: ${first.op} ${first.name}`).waitFor();
    await at.locator("[data-lines] canvas").waitFor();
    await finish(at);
    await other.stop();
});
