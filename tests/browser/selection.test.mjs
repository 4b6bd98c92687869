// One selection for every view, and the details of an op: who waited for whom, and whether its time
// is normal.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { becomes, cleanUp, columns, finish, hashed, hashOf, json, open, recorded, serve, settled, show, skip, stats } from "./browser.mjs";

let server;
const page = async (fragment, options) => open((server ??= await serve(recorded("moe"), recorded("tiny"))).url, { fragment, viewport: { width: 1280, height: 900 }, ...options });
after(cleanUp);

const get = (at, path) => at.evaluate(async (asked) => {
    for (;;) {
        const answer = await fetch(`./api/x/0/${asked}`);
        if (answer.status !== 202) return answer.json();
    }
}, path);
const tile = (at, name) => at.locator(`[data-tile=${name}] .tile-value`).innerText();

// The number of pixels of the timeline's lanes in the full colour of matrix products.
const bright = (at) =>
    at.locator(".timeline canvas").evaluate((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let n = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i] === 0 && data[i + 1] === 114 && data[i + 2] === 178) n++;
        return n;
    });

test("a layer and an op reach statistics: every sum is that of ggscope stats with the same filters", { skip }, async () => {
    const at = await page("view=statistics&layer=3&type=MUL_MAT");
    const wanted = stats(recorded("moe"), "--layer", "3", "--op", "MUL_MAT", "--by", "op,tensor");
    await becomes(async () => Number((await tile(at, "ops")).replaceAll(",", "")), wanted.ops);
    const table = at.getByRole("table", { name: /^Time and bytes by/ }).or(at.locator("#part-time table")).first();
    assert.deepEqual(await table.locator("tbody th").allInnerTexts(), wanted.by_op.map((row) => row.op));
    await at.goto(at.url().replace("&type=MUL_MAT", ""));
    await becomes(async () => Number((await tile(at, "ops")).replaceAll(",", "")), stats(recorded("moe"), "--layer", "3").ops);
    // The same for a lane: ops without it do not count.
    await at.goto(`${at.url().replace("layer=3", "lane=1")}&statistics=efficiency`);
    await settled(at);
    assert.equal(await at.locator(".chip.unused").count(), 0);
    await finish(at);
});

test("a layer reaches the timeline, the graph, the memory map and storage", { skip }, async () => {
    const at = await page("view=timeline");
    await settled(at);
    const all = await becomes(() => bright(at), (n) => n > 0, "pixels of matrix products:");
    await at.evaluate(() => (location.hash += "&layer=3"));
    await settled(at);
    await becomes(() => bright(at), (n) => n < all / 3, `of ${all} pixels of matrix products stay bright:`);

    await show(at, "graph");
    await at.locator(".block.beside").first().waitFor();
    const beside = await at.locator(".block:not(.beside) .block-title").allInnerTexts();
    assert.deepEqual(beside, ["layer 3"]);

    const heat = await get(at, "heat?layer=3"), map = await get(at, "map");
    const read = heat.tensors.bytes_read.map((bytes, i) => (bytes > 0 ? map.tensors.layer[i] : 3));
    assert.deepEqual([...new Set(read)], [3]);
    await show(at, "memory");
    await settled(at);
    await becomes(() => at.evaluate(() => performance.getEntriesByType("resource").some(({ name }) => /\/heat\?.*layer=3/.test(name))), true);

    await show(at, "storage");
    await at.getByText("and of that the ops that the selection leaves").waitFor();
    assert.equal(await at.locator(".chip.unused").count(), 0);
    await at.getByRole("tab", { name: "Less memory" }).or(at.getByRole("button", { name: "Less memory" })).first().click();
    await at.locator(".chip.unused", { hasText: "layer 3" }).waitFor(); // whole tokens are replayed
    await finish(at);
});

test("buffers are painted where accesses lie", { skip }, async () => {
    const at = await page("view=memory");
    await settled(at);
    const [heat, buffers] = [await get(at, "heat"), await get(at, "buffers")];
    const compute = buffers.buffers.find((one) => one.class === "compute");
    const touched = heat.buffers.bytes_touched[heat.buffers.buffer.indexOf(compute.buffer)];
    assert.ok(touched > 0 && touched < compute.bytes / 2, `${touched} of ${compute.bytes}`);
    const ranges = heat.buffer_ranges;
    assert.equal(ranges.bytes_touched.filter((_, i) => ranges.buffer[i] === compute.buffer).reduce((sum, one) => sum + one, 0), touched);
    // The cell of the compute buffer in the last row is painted as far as it is touched, give or
    // take the width of a range.
    const painted = await at.locator(".tracks canvas, .memory canvas").last().evaluate((canvas) => {
        const ratio = window.devicePixelRatio || 1;
        const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const hot = (i) => Math.abs(data[i] - data[i + 2]) > 25; // hatches and empty cells are grey
        let columns = 0;
        for (let x = Math.round(140 * ratio); x < width; x++) {
            let any = 0;
            for (let y = height - Math.round(14 * ratio); y < height - 2; y++) any += hot((y * width + x) * 4) ? 1 : 0;
            columns += any > 0 ? 1 : 0;
        }
        return columns / (width - 140 * ratio);
    });
    assert.ok(painted < 0.6, `${painted} of the buffer's width is painted, ${touched / compute.bytes} of its bytes are touched`);
    await finish(at);
});

test("is this normal? one dot per token, the median of ggscope log, and a press leads to another one", { skip }, async () => {
    const rows = json("log", "--op", "MUL_MAT", "--layer", "5", recorded("moe")).ops;
    const name = rows.find((op) => op.phase === "GENERATE").name;
    const same = rows.filter((op) => op.name === name && op.phase === "GENERATE");
    const sorted = same.map((op) => op.duration_ns).sort((a, b) => a - b);
    const at = await page(`view=timeline&op=${same[1].run}.${same[1].node}`);
    const verdict = at.locator("[data-verdict]");
    await verdict.waitFor();
    const answer = await get(at, `same?run=${same[1].run}&node=${same[1].node}`);
    assert.deepEqual(answer.ops.map((op) => [op.token, op.duration_ns]), same.map((op) => [op.token, op.duration_ns]));
    assert.equal(answer.median_ns, sorted[Math.floor(sorted.length / 2)]);
    assert.match(await verdict.innerText(), /median [\d.]+ (ns|us|ms|s)/);
    assert.equal(await at.locator("[data-dot]").count(), same.length);
    const dots = at.locator(".dots svg"), box = await dots.boundingBox();
    await at.mouse.click(box.x + box.width - 14, box.y + 30);
    await hashed(at, new RegExp(`op=${same.at(-1).run}\\.${same.at(-1).node}\\b`));
    await dots.focus();
    await at.keyboard.press("ArrowLeft");
    await at.keyboard.press("Enter");
    await hashed(at, new RegExp(`op=${same.at(-2).run}\\.${same.at(-2).node}\\b`));
    // All norms of a layer have one name; each is compared with itself.
    const norms = json("log", "--op", "RMS_NORM", "--layer", "5", recorded("moe")).ops.filter((op) => op.phase === "GENERATE");
    const [{ run }] = norms, named = norms.filter((op) => op.run === run && op.name === norms[0].name);
    assert.ok(named.length > 1, "one norm in a layer: nothing to see here");
    for (const { node } of named) assert.deepEqual((await get(at, `same?run=${run}&node=${node}`)).ops.map((op) => [op.token, op.node]), norms.filter((op) => op.node === node).map((op) => [op.token, op.node]));
    await finish(at);
});

test("waits have a culprit: in words, as bars, and as an arrow in the timeline", { skip }, async () => {
    const at = await page("view=timeline");
    await settled(at);
    // Among the ops with the longest waits, the first in which a thread waits as long as another
    // computes. If it waits longer, a thread had no CPU.
    const ops = json("log", recorded("moe")).ops.filter((op) => op.fused_with === null && op.duration_ns > 5000 && op.wait_ns <= op.duration_ns).sort((a, b) => b.wait_ns / b.duration_ns - a.wait_ns / a.duration_ns);
    const end = (thread) => thread.begin_ns + thread.duration_ns;
    let found = null;
    for (const op of ops.slice(0, 400)) {
        const card = await get(at, `op?run=${op.run}&node=${op.node}`);
        if (card.threads.length !== 2) continue;
        const [first, last] = [...card.threads].sort((a, b) => end(a) - end(b));
        if (first.wait_ns > card.duration_ns / 5 && end(last) - end(first) > 0.6 * first.wait_ns && !(last.stalled_ns > 0) && !(last.inner_wait_ns > last.duration_ns / 4)) found = { card, first, last };
        if (found) break;
    }
    assert.ok(found, "no op in which a thread waits for another");
    const { card, first, last } = found;
    await at.evaluate(([a, b, op]) => (location.hash += `&op=${op}&zoom=${a}..${b}`), [card.begin_ns - Math.round(card.duration_ns / 4), card.begin_ns + Math.round(card.duration_ns * 1.25), `${card.run}.${card.node}`]);
    await at.locator("[data-waits]", { hasText: new RegExp(`^thread ${last.thread} computed [\\d.]+ .s, thread ${first.thread} waited [\\d.]+ .s for it`) }).waitFor();
    assert.equal(await at.locator(".threads tbody tr").count(), 2);
    await becomes(async () => Number(await at.locator(".timeline canvas").getAttribute("data-arrows")), 1, "arrows:");
    await finish(at);
});

test("names where the eye is: matrix and layer of an op run, and a row of layers that can be pressed", { skip }, async () => {
    const op = json("log", "--layer", "4", "--tensor", "*blk.4.attn_q.weight", "--token", "2", recorded("moe")).ops[0];
    const at = await page(`view=timeline&zoom=${op.begin_ns - op.duration_ns}..${op.begin_ns + 2 * op.duration_ns}`);
    await settled(at);
    const box = await at.locator(".timeline canvas").boundingBox();
    const tip = at.locator(".float[role=tooltip]");
    await becomes(async () => {
        for (let y = 60; y < 300; y += 10) {
            await at.mouse.move(box.x + 124 + (box.width - 124) * 0.5, box.y + y);
            await settled(at);
            if (await tip.isVisible()) return tip.innerText();
        }
        return "";
    }, /^attn_q layer 4 MUL_MAT/);
    const span = json("log", "--layer", "4", "--token", "2", recorded("moe")).ops.filter((one) => one.begin_ns !== null);
    const { header } = await columns(at, `/api/x/0/timeline?begin=${span[0].begin_ns}&end=${span.at(-1).begin_ns}&pixels=4096`);
    assert.ok(header.labels.includes("cache_k"), header.labels.join());
    assert.ok(!header.labels.some((label) => /[-_]l?\d+$/.test(label)), "a layer is named twice");
    // The row is between the times and the lanes.
    await becomes(async () => {
        if (!(await hashOf(at)).includes("layer=4")) await at.mouse.click(box.x + 124 + (box.width - 124) * 0.5, box.y + 52);
        await settled(at);
        return (await hashOf(at)).includes("layer=4");
    }, true);
    await at.locator(".chip", { hasText: "layer 4" }).waitFor();
    await finish(at);
});

test("search ranks by the words that were typed", { skip }, async () => {
    const at = await page("view=timeline");
    await settled(at);
    await at.keyboard.press("Control+k");
    await at.getByRole("combobox", { name: /^Search/ }).fill("ffn down 3");
    await becomes(() => at.locator("#found li .name").first().innerText(), /^blk\.3\.ffn_down/);
    await finish(at);
});

test("the graph: fit leaves layers open, and everything that is open stands in columns", { skip }, async () => {
    const at = await page("view=graph");
    await at.locator(".block").first().waitFor();
    await at.locator(".block-name").nth(3).click();
    await at.locator(".node").first().waitFor();
    await at.getByRole("button", { name: "fit", exact: true }).click();
    await settled(at);
    assert.ok((await at.locator(".node").count()) > 0, "fit closed what was open");
    await at.getByRole("button", { name: "expand all" }).click();
    await at.locator('.graph-scroll[data-pending="0"]').waitFor();
    const frame = await at.locator(".graph-scroll").boundingBox();
    const boxes = () => at.locator(".block.open").evaluateAll((list) => list.map((one) => one.getBoundingClientRect().toJSON()));
    const all = await becomes(boxes, (list) => list.length >= 24 && list.every((one) => one.bottom <= frame.y + frame.height + 2 && one.right <= frame.x + frame.width + 2), "blocks:");
    assert.ok(new Set(all.map((one) => Math.round(one.left))).size > 3, "one column");
    await finish(at);
});

test("less memory: readahead as ggscope paging has it, settable, and tokens per second where the disk is known", { skip }, async () => {
    const at = await page("view=storage&part=less");
    const known = json("paging", recorded("moe"));
    const size = (bytes) => (bytes >= 1 << 20 ? `${(bytes / (1 << 20)).toFixed(2)} MiB` : `${(bytes / 1024).toFixed(0)} KiB`);
    await at.locator(".readahead", { hasText: known.readahead_from === "disk" ? "as the model's disk is set" : "the usual setting" }).waitFor();
    assert.match(await at.locator(".readahead option").first().innerText(), new RegExp(`^${size(known.readahead_bytes).split(" ")[0].replace(/0+$/, "").replace(".", "\\.")}`));
    await at.locator(".readahead select").selectOption("0");
    const without = json("paging", "--readahead", "0", recorded("moe"));
    const middle = without.budgets[Math.floor(without.budgets.length / 2)];
    const text = (bytes) => (bytes < 1024 ? `${bytes} B` : null);
    await at.locator(".readahead", { hasText: "as chosen here" }).waitFor();
    await settled(at);
    const shown = await at.locator("[data-tile=paging-linux] .tile-value").innerText();
    const number = Number.parseFloat(shown) * { B: 1, KiB: 1024, MiB: 1 << 20, GiB: 1 << 30 }[shown.split(" ")[1]];
    assert.ok(Math.abs(number - middle.policies.linux.bytes_per_token) <= middle.policies.linux.bytes_per_token * 0.01 + 1, `${shown}, ${text(middle.policies.linux.bytes_per_token) ?? middle.policies.linux.bytes_per_token}`);
    await hashed(at, /readahead=0/);
    if (known.disk_bytes_per_second === null) await at.getByText("tokens/s are not known: the disk's speed was not recorded (record with --io)").waitFor();
    else await at.locator("svg.chart .also").first().waitFor();
    await finish(at);
});
