// Behaviour of the page: space, keys, the pointer, the address, search, and the pictures of storage
// and experts.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { becomes, cleanUp, finish, ggscope, hashed, hashOf, json, longest, model, open, opsOfFirstLane, output, pointOf, recorded, savedCsv, scratch, serve, settled, show, skip, stats } from "./browser.mjs";
import { pathToFileURL } from "node:url";

const sum = (list) => list.reduce((total, value) => total + value, 0);
let server;
const names = ["moe", "tiny"];
const page = async (fragment, options) => open((server ??= await serve(...names.map((name) => recorded(name)))).url, { fragment, viewport: { width: 1280, height: 800 }, ...options });
const choose = async (at, name) => at.locator(".page-header select").first().selectOption({ label: name });
after(cleanUp);

// ---- room

test("the view begins near the top: on a laptop, a large screen, a phone and at 400 %, whatever is selected", { skip }, async () => {
    const at = await page("view=timeline&tokens=2..2&layer=3");
    // The page is told that the machine is busy: on a laptop that takes no additional line.
    await at.route(/\/stats\b/, async (route) => {
        const response = await route.fetch(), answer = await response.json();
        Object.assign(answer.machine ?? {}, { busy: true, others_cpu_share: 0.74, steal_share: 0.12 });
        await route.fulfill({ response, json: answer });
    });
    await at.reload();
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    await at.locator("#sentence", { hasText: "busy machine: other programs used 74 % of the CPUs" }).waitFor();
    for (const [width, height, most] of [[1280, 800, 180], [1920, 1080, 180], [390, 844, 330], [320, 200, 67]]) {
        await at.setViewportSize({ width, height });
        for (const view of ["Timeline", "Log", "Storage"]) {
            if (width >= 760) await show(at, view.toLowerCase());
            else await at.getByLabel("View", { exact: true }).selectOption(view.toLowerCase());
            await settled(at);
            const { y } = await at.locator("#view").boundingBox();
            assert.ok(y <= most, `${view} begins at ${y} of ${height}`);
        }
    }
    await finish(at);
});

test("full screen is the view and nothing else", { skip }, async () => {
    const at = await page("view=memory");
    await at.locator(".memory canvas").first().waitFor();
    await settled(at);
    const before = await at.locator(".memory").boundingBox();
    await at.locator("#view").focus();
    await at.keyboard.press("Enter");
    await at.locator("html.memory-full").waitFor();
    await becomes(async () => (await at.locator(".memory").boundingBox()).height, (full) => full >= 780 && full - before.height > 90, `from ${before.height}`);
    await at.keyboard.press("Escape");
    await at.locator("html:not(.memory-full)").waitFor();
    await finish(at);
});

test("fit shows all layers of the graph", { skip }, async () => {
    const at = await page("view=graph");
    await at.locator(".block").first().waitFor();
    await at.locator(".block-name").nth(3).click();
    await at.locator(".node").first().waitFor();
    await at.locator("#view").focus();
    await at.keyboard.press("Digit0");
    const layers = (await at.evaluate(async () => (await fetch("./api/x/0/summary")).json())).model.layers;
    await at.waitForFunction((wanted) => document.querySelectorAll(".block").length >= wanted, layers);
    const box = await at.locator(".graph-scroll").boundingBox();
    const lastEnd = () => at.locator(".block").evaluateAll((blocks) => Math.max(...blocks.map((block) => block.getBoundingClientRect().bottom)));
    await becomes(lastEnd, (end) => end <= box.y + box.height + 1, `the last block's end, of ${box.y + box.height}:`);
    await finish(at);
});

test("the log's last column is in sight at 1280 pixels", { skip }, async () => {
    const at = await page("view=log");
    await at.locator("#log-row-0:not(.loading)").waitFor();
    await settled(at);
    const head = await at.getByRole("columnheader", { name: "wait" }).boundingBox();
    assert.ok(head.x + head.width <= 1280, `it ends at ${head.x + head.width}`);
    await finish(at);
});

// ---- keys and pointer

test("nothing moves under the pointer when a card opens; a double click zooms to what was clicked", { skip }, async () => {
    const at = await page("view=timeline");
    const canvas = at.locator(".timeline canvas");
    await canvas.waitFor();
    await settled(at);
    const before = await canvas.boundingBox();
    const { x, y } = await pointOf(at, longest(opsOfFirstLane(recorded("moe"))));
    await at.mouse.click(x, y);
    await at.locator('.details [aria-label^="op "]').waitFor();
    await settled(at);
    assert.deepEqual(await canvas.boundingBox(), before);
    const [, op] = await hashed(at, /op=([\d.]+)/);
    await at.mouse.dblclick(x, y);
    await hashed(at, /zoom=/);
    await settled(at);
    assert.equal((await hashed(at, /op=([\d.]+)/))[1], op);
    await finish(at);
});

test("keys live on after a switch was pressed; one Escape deselects; / searches", { skip }, async () => {
    const at = await page("view=memory");
    await at.locator(".memory canvas").first().waitFor();
    await at.getByLabel("order", { exact: true }).check();
    await at.keyboard.press("KeyL");
    await at.waitForFunction(() => location.hash.includes("true-scale=1"));
    await at.keyboard.press("Digit2");
    await at.locator("#tab-timeline[aria-selected=true]").waitFor();
    await at.keyboard.press("Digit1");
    const canvas = at.locator(".memory canvas").first();
    await canvas.waitFor();
    await settled(at);
    await canvas.focus();
    await at.keyboard.press("ArrowRight");
    await at.locator(".lens").waitFor();
    await at.keyboard.press("Enter");
    await at.waitForFunction(() => location.hash.includes("tensor="));
    await at.keyboard.press("Escape");
    await at.waitForFunction(() => !location.hash.includes("tensor="));
    await at.locator(".lens").waitFor({ state: "detached" });
    await at.keyboard.press("Slash");
    await at.locator("dialog.search[open] input").waitFor();
    await finish(at);
});

test("search finds layers, tensors, experts, ops and tokens, and selects them", { skip }, async () => {
    const at = await page("view=timeline");
    await at.locator(".timeline canvas").waitFor();
    const find = async (text, fragment) => {
        await at.keyboard.press("Control+KeyK");
        await at.locator("dialog.search[open] input").fill(text);
        await at.locator("dialog.search [role=option]").first().waitFor();
        await becomes(() => at.locator("dialog.search [role=option]").first().innerText(), (first) => first.toLowerCase().includes(text.toLowerCase()), `found first for ${text}:`);
        await at.keyboard.press("Enter");
        await at.waitForFunction((wanted) => location.hash.includes(wanted), fragment);
        await at.locator("dialog.search[open]").waitFor({ state: "detached" });
    };
    await find("layer 7", "layer=7");
    await find("blk.3.ffn_up_exps", "tensor=blk.3.ffn_up_exps.weight");
    await find("expert 5", "expert=5");
    await find("mul_mat_id", "type=MUL_MAT_ID");
    await find("token 3", "tokens=3..3");
    const op = json("log", "--token", "3", "--op", "SOFT_MAX", recorded("moe")).ops[0] ?? json("log", "--token", "3", recorded("moe")).ops[5];
    await find(op.name, `op=${op.run}.`);
    for (const text of ["layer 7", "expert 5", "MUL_MAT_ID", "token 3"]) await at.locator(".chip", { hasText: text }).waitFor();
    await finish(at);
});

test("an expert selected: the log has the ops that take it", { skip }, async () => {
    const at = await page("view=log&layer=3&expert=5");
    const all = json("log", "--layer", "3", "--op", "MUL_MAT_ID", recorded("moe")).ops;
    let taken = 0;
    for (const op of all) {
        const answer = await at.evaluate(async ({ run, node }) => (await fetch(`./api/x/0/op?run=${run}&node=${node}`)).json(), op);
        if (answer.experts.some((one) => one.expert === 5)) taken++;
    }
    await at.locator(`[data-total="${taken}"]`).waitFor();
    await finish(at);
});

test("the timeline marks the ops that touch what is selected", { skip }, async () => {
    const at = await page("view=timeline&tensor=blk.3.attn_q.weight");
    const ops = json("log", "--tensor", "blk.3.attn_q.weight", recorded("moe")).ops.filter((op) => op.fused_with === null);
    await at.locator(`[data-uses="${ops.length}"]`).waitFor();
    await finish(at);
});

test("one token as boxes: token, layer, component, op; all of its time, all of its bytes", { skip }, async () => {
    const at = await page("view=statistics&tokens=2..2");
    const all = json("log", "--token", "2", recorded("moe")).ops;
    const ops = all.filter((op) => op.fused_with === null);
    await at.locator(`#part-icicle [data-ns="${sum(ops.map((op) => op.duration_ns))}"]`).waitFor();
    await settled(at);
    const rows = await savedCsv(at, at.getByRole("button", { name: /^Save "Where token 2 spends.*CSV$/ }));
    assert.deepEqual(rows.map((row) => [row.op, row.duration_ns]), ops.map((op) => [op.op, op.duration_ns]));
    assert.equal(sum(rows.map((row) => row.bytes)), sum(all.map((op) => op.bytes_read + op.bytes_written)));
    await finish(at);
});

// ---- the address

test("a copied address restores the screen: zoom, order, filters, switches, selection", { skip }, async () => {
    const picture = (at) => at.evaluate(() => document.querySelector("main canvas")?.toDataURL());
    const settle = async (at) => {
        await at.locator("main canvas, .log-row:not(.loading), .table-part").first().waitFor();
        await at.locator("#sentence", { hasText: "touched" }).waitFor();
        await settled(at);
    };
    const cases = {
        timeline: async (at) => {
            await at.locator(".timeline canvas").waitFor();
            await at.locator("#view").focus();
            for (const key of ["KeyW", "KeyW", "KeyD"]) await at.keyboard.press(key);
            await hashed(at, /zoom=/);
        },
        memory: async (at) => {
            await at.locator(".memory canvas").first().waitFor();
            await at.keyboard.press("KeyL");
            await at.getByLabel("order", { exact: true }).check();
            await at.locator("#view").focus();
            await at.keyboard.press("ArrowRight"); // the first token
            await hashed(at, /tokens=0/);
        },
        log: async (at) => {
            await at.locator("#log-row-0:not(.loading)").waitFor();
            await at.getByRole("columnheader", { name: "duration" }).getByRole("button").click();
            await at.getByRole("form", { name: "Filter the log" }).getByLabel("source").selectOption("DISK");
            await at.getByRole("form", { name: "Filter the log" }).getByLabel("lane").selectOption({ index: 2 });
        },
        statistics: async (at) => {
            await at.getByRole("tab", { name: "by layer" }).click();
        },
    };
    for (const [view, change] of Object.entries(cases)) {
        const at = await page(`view=${view}`);
        await settle(at);
        await change(at);
        await at.mouse.move(1, 1);
        await settle(at);
        const hash = await hashOf(at);
        const other = await page(hash.slice(1));
        await settle(other);
        assert.equal(await hashOf(other), hash, view);
        if (view === "log") assert.deepEqual(await other.locator(".log-row").allInnerTexts(), await at.locator(".log-row").allInnerTexts());
        else if (view === "statistics") assert.equal(await other.locator("#by-panel").innerText(), await at.locator("#by-panel").innerText());
        else await becomes(async () => (await picture(other)) === (await picture(at)), true, `${view} looks different`);
        await finish(other);
        await finish(at);
    }
});

test("a copied address restores where a view is scrolled to, and another view begins at its top", { skip }, async () => {
    const places = { statistics: "main", graph: ".graph-scroll", storage: "main" };
    const topOf = (at, box) => at.locator(box).first().evaluate((one) => one.scrollTop);
    for (const [view, box] of Object.entries(places)) {
        const at = await page(`view=${view}`, { viewport: { width: 1000, height: 600 } });
        await at.locator("#sentence", { hasText: "touched" }).waitFor();
        await settled(at);
        await at.locator(box).first().hover();
        await at.mouse.wheel(0, 260);
        await becomes(() => topOf(at, box), 260);
        await hashed(at, /at=\S*:0\.260\b/);
        const other = await page((await hashOf(at)).slice(1), { viewport: { width: 1000, height: 600 } });
        await other.locator("#sentence", { hasText: "touched" }).waitFor();
        await settled(other);
        await becomes(() => topOf(other, box), 260, `${view}:`);
        await show(other, "experts");
        await becomes(() => topOf(other, "main"), 0, "another view:");
        await finish(other);
        await finish(at);
    }
});

test("a link to an experiment that is not here shows no other one", { skip }, async () => {
    const at = await page("x=00000000-0000-4000-8000-000000000000&view=log&tokens=2..2");
    await at.getByRole("heading", { name: "This experiment is not here" }).waitFor();
    assert.equal(await at.locator("#view").count(), 0);
    assert.match(await hashOf(at), /x=00000000/);
    await at.getByRole("button", { name: "Show tiny" }).click();
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    await becomes(() => hashOf(at), (hash) => !hash.includes("00000000-0000"), "the address:");
    await finish(at);
});

// ---- a report

test("a report: a selected token has its statistics, and an op's card its bytes", { skip }, async () => {
    const file = scratch("report.html");
    output(ggscope, ["report", recorded("tiny"), "-o", file]);
    const at = await open(pathToFileURL(file).href, { fragment: "view=statistics&tokens=2..2" });
    const all = stats(recorded("tiny"), "--token", "2");
    await at.locator("[data-tile=ops]", { hasText: all.ops.toLocaleString("en") }).waitFor();
    await at.locator("#by-panel tbody tr").nth(4).waitFor();
    const op = json("log", "--op", "MUL_MAT", recorded("tiny")).ops.find((one) => one.bytes_read > 0);
    await at.goto(`${pathToFileURL(file).href}#view=log&op=${op.run}.${op.node}`);
    const card = at.locator(".details .card");
    const weight = json("gguf", model("tiny")).tensors.find((one) => one.name === op.source_name);
    await becomes(() => card.innerText(), (text) => text.includes(size(weight.size_bytes)), `${size(weight.size_bytes)} is not in the card:`);
    for (const part of ["stalls", "access", "less"]) {
        await at.goto(`${pathToFileURL(file).href}#view=storage&part=${part}`);
        await at.locator(".picture-part").first().waitFor();
    }
    await finish(at);
});

// Bytes as ui/src/format.ts writes them.
function size(n) {
    if (n < 1024) return `${n} B`;
    const units = ["KiB", "MiB", "GiB"];
    let [value, unit] = [n / 1024, 0];
    while (value >= 1023.5) [value, unit] = [value / 1024, unit + 1];
    return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${units[unit]}`;
}

// ---- storage and experts

test("storage: tiles and tables are those of ggscope stats, and leave as files", { skip }, async () => {
    const at = await page("view=storage");
    const { machine, by_token } = stats(recorded("moe"), "--by", "token");
    await at.locator("[data-picture=storage-by-token] svg rect").first().waitFor();
    await settled(at);
    const rows = await savedCsv(at, at.getByRole("button", { name: 'Save "Bytes and stalls per token" as CSV' }));
    assert.deepEqual(
        rows.map((row) => row.bytes_disk),
        by_token.map((row) => row.bytes_disk),
    );
    if (machine.faults) {
        const stalled = new Map(machine.faults.by_token.map((row) => [row.token, row.stalled_ns]));
        assert.deepEqual(
            rows.map((row) => row.stalled_ns),
            rows.map((row) => stalled.get(row.token) ?? 0),
        );
        await at.getByRole("combobox", { name: "Stalls by" }).selectOption("op");
        await settled(at);
        const table = await savedCsv(at, at.getByRole("button", { name: 'Save "Stalls by op" as CSV' }));
        assert.equal(sum(table.map((row) => row.stalled_ns)), machine.faults.in_ops.stalled_ns);
    }
    for (const [kind, magic] of [["SVG", "<svg"], ["PNG", "\x89PNG"]]) {
        const [file] = await Promise.all([at.waitForEvent("download"), at.getByRole("button", { name: `Save "Bytes and stalls per token" as ${kind}`, exact: true }).click()]);
        const bytes = readFileSync(await file.path());
        assert.ok(bytes.length > 500 && bytes.toString("latin1").startsWith(magic), `${kind}: ${bytes.subarray(0, 20)}`);
    }
    assert.match(await at.locator("[data-picture=storage-by-token] .computed").innerText(), /How was this computed/);
    await finish(at);
});

test("access order: every byte that ops read is in the picture, at any zoom", { skip }, async () => {
    const at = await page("view=storage&part=access");
    const known = stats(recorded("moe"));
    await at.waitForFunction((wanted) => Math.abs(Number(document.querySelector(".access-picture")?.dataset.sum) - wanted) < 1, known.bytes_disk);
    await at.locator("#access-verdict", { hasText: `${known.pattern.jumps.toLocaleString("en")} jumps in ${known.pattern.reads.toLocaleString("en")} reads` }).waitFor();
    await settled(at);
    const frame = await at.locator(".access-picture canvas").boundingBox();
    await at.mouse.move(frame.x + frame.width * 0.6, frame.y + frame.height * 0.4);
    await at.keyboard.press("KeyW");
    await at.waitForFunction(() => location.hash.includes("bytes="));
    await at.waitForFunction((all) => Number(document.querySelector(".access-picture").dataset.sum) < all, known.bytes_disk);
    const [, begin, end] = (await hashed(at, /zoom=(\d+)\.\.(\d+)/)).map(Number);
    assert.ok(end > begin);
    await settled(at);
    await at.mouse.down();
    await at.mouse.move(frame.x + frame.width * 0.8, frame.y + frame.height * 0.7, { steps: 4 });
    await at.mouse.up();
    await at.waitForFunction(() => location.hash.includes("region=") && location.hash.includes("time="));
    await at.locator(".range-card").waitFor();
    await finish(at);
});

test("less memory: the costs of ggscope paging, and what to keep lights up in the memory view", { skip }, async () => {
    const at = await page("view=storage&part=less");
    const known = json("paging", recorded("moe"));
    const middle = known.budgets[Math.floor(known.budgets.length / 2)];
    for (const policy of ["linux", "lru", "pin-hot", "opt"]) await at.locator(`[data-tile=paging-${policy}]`, { hasText: size(middle.policies[policy].bytes_per_token) }).waitFor();
    await at.getByLabel("Memory for weights").press("ArrowRight");
    const next = known.budgets[Math.floor(known.budgets.length / 2) + 1];
    await at.locator("[data-tile=paging-opt]", { hasText: size(next.policies.opt.bytes_per_token) }).waitFor();
    await at.getByLabel("mark them in the memory view").check();
    await show(at, "memory");
    await at.locator(".legend", { hasText: `kept with ${size(next.memory_bytes)} (${next.pins.weights.length.toLocaleString("en")} parts)` }).waitFor();
    await finish(at);
});

test("less memory: how far the replay is stands there until it is done", { skip }, async () => {
    const at = await page("view=timeline");
    await at.locator(".timeline canvas").waitFor();
    // The job is stopped until its progress was seen.
    let progress = 0.17;
    await at.route("**/api/x/0/paging*", (route) => (progress < 1 ? route.fulfill({ status: 202, json: { progress } }) : route.continue()));
    await at.goto(`${at.url().split("#")[0]}#view=storage&part=less`);
    const waiting = at.locator(".waiting[role=status]");
    await becomes(() => waiting.innerText(), /Replaying the reads with less memory \(17 %\)/);
    assert.equal(await at.locator("#view").getAttribute("aria-busy"), "true");
    progress = 0.58;
    await becomes(() => waiting.locator("progress").getAttribute("value"), "58");
    progress = 1;
    await at.locator("[data-tile=paging-opt]").waitFor();
    await waiting.waitFor({ state: "detached" });
    await finish(at);
});

test("experts: the raster has every choice of the layer, and a press selects the expert everywhere", { skip }, async () => {
    const at = await page("view=experts&layer=3");
    const known = json("experts", recorded("moe"));
    const layer = known.by_layer.find((one) => one.layer === 3);
    await at.locator(`[data-choices="${layer.activations}"]`).waitFor();
    await becomes(() => at.locator("[data-choices]").getAttribute("data-columns"), String(layer.tokens));
    await at.locator("[data-tile=experts-used]", { hasText: `${layer.distinct} of ${layer.experts}` }).waitFor();
    const rows = await savedCsv(at, at.getByRole("button", { name: /^Save "Layer 3.*" as CSV$/ }));
    const counts = layer.counts.map((_, expert) => rows.filter((row) => row.expert === expert).length);
    assert.deepEqual(counts, layer.counts);
    const canvas = at.locator("[data-choices] canvas");
    await settled(at);
    await canvas.focus();
    await at.keyboard.press("ArrowDown");
    await at.keyboard.press("Enter");
    await at.waitForFunction(() => location.hash.includes("expert=0"));
    await finish(at);
});
