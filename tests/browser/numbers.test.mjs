// Numbers in pictures of long ops, stalls, faults and pages, copied weights, experts and split
// models, compared with the verbs.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { becomes, cleanUp, columns, finish, ggscope, hashed, json, model, open, opsOfFirstLane, pointOf, recorded, run, scratch, serve, settled, skip, stats, tableRows } from "./browser.mjs";
import { engine } from "../lib.mjs";

const sum = (list) => list.reduce((total, value) => total + value, 0);
const servers = new Map();
async function page(directory, fragment, options) {
    if (!servers.has(directory)) servers.set(directory, await serve(directory));
    return open(servers.get(directory).url, { fragment, viewport: { width: 1280, height: 800 }, ...options });
}
after(cleanUp);

// Experts, in a third of the layers: for recordings that take long.
const small = () => model("moe", "--layers", "8");

// Less memory than the model has makes its pages come and go: only root may set that.
let refused = null;
function cold() {
    try {
        return recorded("moe", { as: "little-memory", tokens: 4, options: ["--memory", "70M"] });
    } catch (cause) {
        refused ??= `memory cannot be limited here: ${cause.message.split("\n")[0]}`;
        return recorded("moe", { as: "cold", tokens: 4, options: ["--cold"] });
    }
}
// A recording without page faults of the model cannot show them: the test prints the reason.
function withoutFaults(t) {
    const { faults } = stats(cold()).machine;
    if (faults && faults.in_ops.stalled_ns > 0) return false;
    t.skip(faults ? (refused ?? "no op faulted") : "page faults cannot be recorded here");
    return true;
}

const cells = async (at) => {
    await at.waitForFunction(() => window.__ggscope?.memoryCells().some((cell) => cell.place === "disk" && cell.row.startsWith("layer")));
    await settled(at);
    return at.evaluate(() => window.__ggscope.memoryCells());
};

// ---- the timeline

test("every bin that is busy says its op, and stalls add up to those of ggscope stats", { skip }, async (t) => {
    if (withoutFaults(t)) return;
    const at = await page(cold(), "view=timeline");
    const known = stats(cold()).machine.faults.in_ops.stalled_ns;
    for (const pixels of [40, 300, 4096]) {
        const answer = await columns(at, `/api/x/0/timeline?pixels=${pixels}`);
        assert.ok(Math.abs(sum(answer.stalled_ns) - known) <= 1 + known * 1e-6, `${sum(answer.stalled_ns)} of ${known} at ${pixels} pixels`);
        if (answer.header.level < 0) continue;
        assert.ok(answer.busy_ns.every((busy, i) => busy <= 0 || answer.longest_run[i] > 0), "a busy bin without an op");
        assert.ok(answer.longest_op.every((op, i) => answer.longest_run[i] === 0 || answer.header.ops[op] !== undefined));
        // No steps: a bin is at most two requested pixels wide.
        const width = Math.max(...answer.begin_ns) / pixels;
        assert.ok(answer.header.bin_ns <= Math.max(4 * width, 1024) || sum(answer.count) > 400_000, `${answer.header.bin_ns} ns for ${width} ns`);
    }
    await finish(at);
});

// More graph runs than a wide window examines one by one.
function streamed() {
    const directory = scratch("streamed");
    const command = [engine, "run", "-m", small(), "-p", "Once upon a time", "-n", "70", "-t", "2", "--ignore-eos", "--no-repack"];
    const result = run(ggscope, ["stream", "--record", "-q", "-o", directory, "--budget", "32M", "--", ...command]);
    assert.equal(result.status, 0, result.stderr);
    return directory;
}

test("waits for the disk of a streamed run are those of the table, in lanes, curves, cards, first line and storage", { skip }, async (t) => {
    const directory = streamed();
    const known = stats(directory).streamed;
    assert.ok(known.runs > 64, JSON.stringify(known));
    if (known.wait_ns === 0) return t.skip("the disk is faster here than the processor: no op waited for it");
    const at = await page(directory, "view=timeline");
    await becomes(() => at.locator("#sentence").innerText(), /waiting for the disk/);
    await becomes(() => at.locator(".legend").first().innerText(), /waiting for the disk/);
    const lanes = await at.evaluate(async () => (await (await fetch("./api/x/0/summary")).json()).lanes.filter((one) => one.thread === 0).map((one) => one.lane));
    const near = (value, wanted, what, off = 1e-6) => assert.ok(Math.abs(value - wanted) <= 1 + wanted * off, `${value} of ${wanted} ${what}`);
    const inLane = (answer) => sum(answer.disk_wait_ns.filter((_, i) => lanes.includes(answer.lane[i])));
    // Spread evenly over each graph run, also where no op of it ran; such bins are skipped.
    for (const pixels of [40, 4096]) near(inLane(await columns(at, `/api/x/0/timeline?pixels=${pixels}`)), known.wait_ns, `at ${pixels} pixels`, 0.1);
    near(sum((await columns(at, "/api/x/0/curves?pixels=100")).disk_wait_ns), 2 * known.wait_ns, "in the curve of two threads");
    // The prompt alone: op by op. Each op run has its own wait, at its begin.
    const { rows } = json("sql", directory, "SELECT begin_ns, end_ns, (SELECT sum(s.wait_ns) FROM streamed s JOIN runs r ON r.run = s.run WHERE r.token = 0) FROM tokens WHERE token = 0");
    const [begin, end, waited] = rows[0];
    const prompt = await columns(at, `/api/x/0/timeline?begin=${begin}&end=${end}&pixels=4096`);
    assert.equal(prompt.header.level, -1);
    near(inLane(prompt), waited, "in the prompt");
    assert.ok(prompt.disk_wait_ns.every((wait, i) => wait <= prompt.duration_ns[i]));
    // The card of the op with the longest wait has the numbers of its lanes.
    const most = prompt.disk_wait_ns.indexOf(Math.max(...prompt.disk_wait_ns)), op = { run: prompt.run[most], node: prompt.node[most] };
    const card = await at.evaluate(async ({ run, node }) => (await fetch(`./api/x/0/op?run=${run}&node=${node}`)).json(), op);
    assert.equal(card.disk_wait_ns, sum(prompt.disk_wait_ns.filter((_, i) => prompt.run[i] === op.run && prompt.node[i] === op.node)));
    assert.equal(sum(card.threads.map((thread) => thread.disk_wait_ns)), card.disk_wait_ns);
    await at.goto(`${at.url().split("#")[0]}#view=log&op=${op.run}.${op.node}`);
    await at.locator(".details .card", { hasText: card.disk_wait_ns > 0 ? "waiting for weights" : card.name }).waitFor(); // another step may have waited
    await finish(at);
    const storage = await page(directory, "view=storage");
    await becomes(() => storage.locator('[data-tile="storage-waited"]').innerText(), /waited for the disk[^]*of graph runs/);
    await storage.locator('[data-tile="storage-streamed"]').waitFor();
    await storage.locator('[data-tile="storage-experts"]').waitFor();
    await finish(storage);
});

test("a click into the middle of the longest op opens its card, with what of it was stalled", { skip }, async (t) => {
    if (withoutFaults(t)) return;
    const directory = cold();
    const faults = json("log", "--faults", directory).faults;
    const stalledOf = (op) => sum(faults.filter((one) => one.run === op.run && one.node === op.node).map((one) => one.duration_ns));
    const ops = json("log", "--thread", "0", directory).ops.filter((op) => op.fused_with === null && op.token !== null);
    const longest = ops.reduce((best, op) => (op.duration_ns > best.duration_ns ? op : best));
    const at = await page(directory, "view=timeline");
    // Zoomed so that the op covers most of the window, with hundreds of bins inside it.
    const fragment = `view=timeline&zoom=${longest.begin_ns}..${longest.begin_ns + Math.max(1000, longest.duration_ns)}`;
    const inside = await page(directory, fragment);
    await inside.locator(".timeline canvas").waitFor();
    await settled(inside);
    const frame = await inside.locator(".timeline canvas").boundingBox();
    await inside.mouse.click(frame.x + frame.width * 0.55, frame.y + 70);
    await inside.locator(".details .card", { hasText: longest.name }).waitFor();
    await hashed(inside, new RegExp(`op=${longest.run}\\.${longest.node}`));
    const answer = await inside.evaluate(async ({ run, node }) => (await fetch(`./api/x/0/op?run=${run}&node=${node}`)).json(), longest);
    assert.equal(answer.stalled_ns, stalledOf(longest));
    assert.equal(sum(answer.threads.map((thread) => thread.stalled_ns)), answer.stalled_ns);
    await finish(inside);
    // An op with stalls says so.
    const held = ops.reduce((best, op) => (stalledOf(op) > stalledOf(best) ? op : best));
    await at.goto(`${at.url().split("#")[0]}#view=log&op=${held.run}.${held.node}`);
    await at.locator(".details .card", { hasText: "by page faults" }).waitFor();
    await finish(at);
});

test("stalls and disk reads are spread over their time, and curves say their unit and the width of their bins", { skip }, async (t) => {
    if (withoutFaults(t)) return;
    const at = await page(cold(), "view=timeline");
    const faults = json("log", "--faults", cold()).faults;
    const longest = faults.reduce((best, one) => (one.duration_ns > best.duration_ns ? one : best));
    const [begin, end] = [longest.begin_ns, longest.begin_ns + longest.duration_ns];
    const { stalled_ns } = await columns(at, `/api/x/0/curves?begin=${begin}&end=${end}&pixels=10`);
    const width = longest.duration_ns / 10;
    assert.ok(stalled_ns.every((value) => value >= width * 0.999), `inside the stall: ${stalled_ns}`);
    await settled(at);
    const frame = await at.locator(".timeline canvas").boundingBox();
    await at.mouse.move(frame.x + frame.width / 2, frame.y + frame.height - 30);
    await becomes(() => at.locator(".timeline .float").innerText(), /stalled [\d.]+ threads?[^]*in bins of [\d.]+ (ns|us|ms|s)/);
    await finish(at);
});

test("the longest stalls say when they began, each to the microsecond", { skip }, async (t) => {
    if (withoutFaults(t)) return;
    const at = await page(cold(), "view=storage");
    const rows = at.locator('.table-part:has(h3:text-is("The longest stalls")) tbody tr');
    await rows.first().waitFor();
    await settled(at);
    const said = await rows.locator("td:last-child").allInnerTexts();
    const faults = json("log", "--faults", cold()).faults;
    for (const text of said) {
        const [, digits, unit] = /^([\d.,]+) (us|ms|s)$/.exec(text);
        const ns = Number(digits.replaceAll(",", "")) * { us: 1e3, ms: 1e6, s: 1e9 }[unit];
        assert.ok(faults.some((one) => Math.abs(one.begin_ns - ns) <= 1000), `${text} is the begin of no fault`);
    }
    await finish(at);
});

// ---- memory

test("faults lie on the experts that they happened in, per page", { skip }, async (t) => {
    if (withoutFaults(t)) return;
    const directory = cold();
    const at = await page(directory, "view=memory&layer-shown=faults");
    const all = await cells(at);
    const { tensors } = json("gguf", model("moe")); // experts one by one: name[expert]
    const faults = json("log", "--faults", directory).faults.filter((fault) => fault.file !== null && fault.token !== null);
    if (faults.length === 0) return t.skip(refused ?? "no page of the model faulted");
    const hit = new Set(faults.map((fault) => tensors.find((one) => fault.file_offset >= one.offset_start && fault.file_offset < one.offset_start + one.size_bytes)?.name));
    const single = all.filter((cell) => cell.place === "disk" && cell.names.length === 1 && cell.names[0].includes("["));
    assert.ok(single.length > 100);
    for (const cell of single) assert.equal(cell.stretches > 0, hit.has(cell.names[0]), cell.names[0]);
    const legend = await at.locator(".legend").first().innerText();
    const [, most] = /(\d[\d,]*) per page/.exec(legend);
    const perPage = new Map();
    for (const fault of faults) {
        const key = `${fault.file} ${Math.floor(fault.file_offset / 4096)}`;
        perPage.set(key, (perPage.get(key) ?? 0) + 1);
    }
    assert.ok(Number(most.replace(/,/g, "")) <= Math.max(...perPage.values()), `${most} of at most ${Math.max(...perPage.values())}`);
    await finish(at);
});

test("pages really touched: experts that no op addressed are not touched", { skip }, async () => {
    const directory = recorded(small(), { as: "proved", tokens: 2, options: ["--prove"] });
    const at = await page(directory, "view=memory&layer-shown=pages");
    const all = await cells(at);
    const { by_layer } = json("experts", directory);
    let never = 0;
    for (const cell of all) {
        const match = cell.names.length === 1 && /^blk\.(\d+)\.ffn_(?:up|gate|down)_exps\.weight\[(\d+)\]$/.exec(cell.names[0]);
        if (!match) continue;
        const times = by_layer.find((layer) => layer.layer === Number(match[1])).counts[Number(match[2])];
        // Pages at the edge belong to two experts.
        if (times > 0) assert.ok(cell.stretches > 0, `${cell.names[0]} was taken`);
        else never += cell.stretches <= 2 ? 0 : 1;
    }
    assert.equal(never, 0, "an expert that no op addressed looks touched");
    await at.goto(`${at.url().split("#")[0]}#view=storage&part=proof`);
    const proof = json("prove", directory);
    await at.locator("[data-tile=proof-missed]", { hasText: (proof.pages_touched - proof.pages_both).toLocaleString("en") }).waitFor();
    await at.locator("[data-tile=proof-predicted]", { hasText: proof.pages_predicted.toLocaleString("en") }).waitFor();
    await finish(at);
});

test("one token of a dense model: what is read once is the low end of a fixed scale, and the order is a wave", { skip }, async () => {
    const at = await page(recorded("tiny"), "view=memory&tokens=2..2");
    const weights = (all) => all.filter((cell) => cell.place === "disk" && cell.row.startsWith("layer") && cell.touched);
    const once = weights(await cells(at));
    assert.ok(once.length > 50);
    assert.ok(once.every((cell) => cell.level === 0), "1× is painted as the most");
    await at.goto(`${at.url().split("#")[0]}#view=memory&tokens=2..2&layer-shown=order`);
    await at.waitForFunction(() => window.__ggscope?.memoryCells().some((cell) => cell.row === "layer 5" && cell.level > 0));
    const ordered = weights(await cells(at));
    const of = (layer) => ordered.filter((cell) => cell.row === `layer ${layer}`).map((cell) => cell.level);
    for (let layer = 1; layer < 20; layer++) assert.ok(Math.min(...of(layer)) > Math.max(...of(layer - 1)), `layer ${layer} comes after ${layer - 1}`);
    await finish(at);
});

test("every expert has its own offset, and an op outlines the experts that it took", { skip }, async () => {
    const at = await page(recorded("moe"), "view=memory");
    await cells(at);
    await at.getByRole("button", { name: "View as table" }).first().click();
    const rows = await tableRows(at);
    const experts = json("gguf", model("moe")).tensors.filter((one) => /^blk\.0\.ffn_up_exps\.weight\[\d+\]$/.test(one.name));
    assert.ok(experts.length > 8);
    for (const expert of experts) assert.equal(rows.find((one) => one[1] === expert.name)[4], expert.offset_start.toLocaleString("en"), expert.name);
    const op = json("log", "--op", "MUL_MAT_ID", "--token", "2", recorded("moe")).ops[0];
    await at.goto(`${at.url().split("#")[0]}#view=memory&op=${op.run}.${op.node}`);
    await at.waitForFunction(() => window.__ggscope?.memoryMarks().length > 0);
    await settled(at);
    const answer = await at.evaluate(async ({ run, node }) => (await fetch(`./api/x/0/op?run=${run}&node=${node}`)).json(), op);
    const marked = (await at.evaluate(() => window.__ggscope.memoryMarks())).filter((name) => name.startsWith("disk "));
    const source = answer.operands.find((one) => one.slot === 0).name;
    assert.deepEqual(marked.sort(), [...new Set(answer.experts.map((one) => `disk ${source}[${one.expert}]`))].sort());
    await finish(at);
});

test("a split model: the outlines lie in the right file", { skip }, async () => {
    run(engine, ["synth", "tiny", "--split", "3", "-o", scratch("split.gguf")]);
    const directory = recorded(scratch("split-00001-of-00003.gguf"), { as: "split", tokens: 2 });
    const ops = json("log", "--op", "MUL_MAT", "--token", "1", directory).ops;
    const at = await page(directory, "view=memory");
    await cells(at);
    for (const op of [ops.find((one) => one.file === 2), ops.findLast((one) => one.file === 3)]) {
        assert.ok(op, "no op reads from that file");
        await at.goto(`${at.url().split("#")[0]}#view=memory&op=${op.run}.${op.node}`);
        await becomes(async () => (await at.evaluate(() => window.__ggscope.memoryMarks())).filter((name) => name.startsWith("disk ")), [`disk ${op.source_name}`]);
    }
    await finish(at);
});

test("copied weights: one access, one place, and a switch to where they came from", { skip }, async () => {
    const directory = recorded("tiny", { as: "repacked", tokens: 3, repack: true });
    const copied = json("log", "--op", "MUL_MAT", directory).ops.filter((op) => op.source === "BUFFER" && op.origin_offset !== null);
    if (copied.length === 0) return; // this engine repacks nothing on this processor
    const name = copied[0].source_name;
    const at = await page(directory, "view=memory");
    const find = async (place) => (await at.evaluate(() => window.__ggscope.memoryCells())).find((cell) => cell.place === place && cell.names.length === 1 && cell.names[0] === name);
    await cells(at);
    const lies = await find("disk");
    assert.deepEqual([lies.touched, lies.copied], [false, true]);
    const buffer = (await at.evaluate(() => window.__ggscope.memoryCells())).find((cell) => cell.place === "buffer" && cell.names.includes(name));
    assert.ok(buffer.touched, "the copy is read, and does not look it");
    await at.getByLabel("show copied weights").selectOption("from");
    await at.waitForFunction((wanted) => window.__ggscope.memoryCells().some((cell) => cell.place === "disk" && cell.names.includes(wanted) && cell.touched), name);
    await hashed(at, /weights=from/);
    const map = await at.evaluate(async () => (await fetch("./api/x/0/map")).json());
    const bytes = (wanted) => sum(map.tensors.bytes.filter((_, i) => map.tensors.kind[i] === "tensor" && (!wanted || map.tensors.copied[i])));
    const share = `${((100 * bytes(true)) / bytes(false)).toFixed(1)} %`;
    await at.locator("#sentence", { hasText: `${share} copied at load` }).waitFor();
    await finish(at);
});

// ---- a dragged range

test("dragging over a range opens its aggregate: the numbers of the log between these times", { skip }, async () => {
    const directory = recorded("moe");
    const at = await page(directory, "view=timeline");
    await at.locator(".timeline canvas").waitFor();
    await settled(at);
    // From op to op, because a busy machine leaves long stretches without any.
    const known = opsOfFirstLane(directory), [from, to] = [await pointOf(at, known[Math.floor(known.length * 0.5)]), await pointOf(at, known[Math.floor(known.length * 0.7)])];
    await at.mouse.move(from.x, from.y);
    await at.mouse.down();
    await at.mouse.move(to.x, to.y, { steps: 4 });
    await at.mouse.up();
    const card = at.locator(".range-card");
    await card.waitFor();
    const [, begin, end] = (await hashed(at, /time=(\d+)\.\.(\d+)/)).map(Number);
    const { ops } = json("log", directory), heads = new Map(ops.map((op) => [`${op.run} ${op.node}`, op]));
    const rows = ops.filter((op) => {
        const { begin_ns, duration_ns } = op.fused_with === null ? op : heads.get(`${op.run} ${op.fused_with}`); // a fused node was computed with its head
        return begin_ns < end && (begin_ns + duration_ns > begin || begin_ns >= begin);
    });
    const answer = await at.evaluate(async (path) => {
        for (;;) {
            const got = await fetch(path);
            if (got.status !== 202) return got.json();
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
    }, `./api/x/0/aggregate?begin=${begin}&end=${end}`);
    assert.equal(answer.ops, rows.filter((op) => op.fused_with === null).length);
    for (const key of ["bytes_read", "bytes_written", "bytes_disk"]) assert.equal(answer[key], sum(rows.map((op) => op[key])), key);
    const wall = new Map();
    for (const op of rows) if (op.fused_with === null) wall.set(op.op, (wall.get(op.op) ?? 0) + Math.max(0, Math.min(end, op.begin_ns + op.duration_ns) - Math.max(begin, op.begin_ns)));
    assert.deepEqual(Object.fromEntries(answer.by_op.map((row) => [row.op, row.wall_ns])), Object.fromEntries(wall));
    await becomes(() => card.innerText(), (text) => [answer.by_op[0].op, "CPU thread 0", "How was this computed?"].every((part) => text.includes(part)), "the card:");
    await finish(at);
});
