// Every view on real recordings: the numbers on the screen are those of the command line.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { becomes, cleanUp, finish, hashed, json, open, recorded, savedCsv, serve, settled, show, skip, stats, tableRows } from "./browser.mjs";

const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
let server;
const started = async () => (server ??= await serve(recorded("tiny"), recorded("moe"), recorded("tiny", { as: "tiny-one-thread", threads: 1 })));
const page = async (fragment = "", options = {}) => open((await started()).url, { fragment, ...options });
const choose = async (at, name) => at.locator("header select, .page-header select").first().selectOption({ label: name });
after(cleanUp);

test("the first line says what the recording is", { skip }, async () => {
    const at = await page(),
        all = stats(recorded("tiny"));
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    await at.locator("#sentence", { hasText: "of time in" }).waitFor();
    await settled(at);
    const sentence = await at.locator("#sentence").innerText();
    assert.match(sentence, new RegExp(`\\b${all.tokens} tokens\\b`));
    const top = all.by_op[0];
    assert.match(sentence, new RegExp(`${((100 * top.wall_ns) / sum(all.by_op, "wall_ns")).toFixed(1)} % of time in ${top.op}`));
    assert.match(sentence, new RegExp(`${(all.model.bytes_touched / 2 ** 20).toFixed(1)} of ${(all.model.bytes / 2 ** 20).toFixed(1)} MiB touched`));
    await finish(at);
});

for (const name of ["tiny", "moe"]) {
    test(`statistics of ${name} are those of ggscope stats`, { skip }, async () => {
        const at = await page(),
            directory = recorded(name);
        if (name !== "tiny") await choose(at, name);
        await show(at, "statistics");
        await at.locator("[data-tile=ops]").waitFor();
        await settled(at);
        const all = stats(directory);
        const tile = async (key) => at.locator(`[data-tile=${key}]`).innerText();
        assert.match(
            await tile("tokens"),
            new RegExp(`\\n${all.tokens}\\n${grouped(all.prompt_tokens)} prompt tokens, ${grouped(all.generated_tokens)} generated`),
        );
        assert.match(await tile("ops"), new RegExp(`\\n${grouped(all.ops)}\\n${grouped(all.op_runs)} op runs on ${all.threads} threads`));
        for (const by of ["op", "layer", "component", "tensor", "thread"]) {
            await at.locator(`#by-${by}`).click();
            const rows = await savedCsv(at, at.getByRole("button", { name: `Save "${by === "thread" ? "Time" : "Time and bytes"} by ${by}" as CSV` }));
            const groups = stats(directory, "--by", by)[`by_${by}`];
            assert.equal(rows.length, groups.length, by);
            const shown = new Map(rows.map((row) => [String(row[by]), row]));
            for (const group of groups) {
                const name = by === "tensor" ? group.name : String(group[by] ?? -1);
                const row = shown.get(name);
                assert.ok(row, `${by} ${name}`);
                for (const key of ["ops", "wall_ns", "busy_ns", "wait_ns", "bytes_read", "bytes_written", "bytes_disk"])
                    assert.equal(row[key], group[key], `${by} ${name} ${key}`);
            }
        }
        const cold = await savedCsv(at, at.getByRole("button", { name: /Save "Cold weights/ }));
        assert.deepEqual(
            cold.map((row) => [row.tensor, row.untouched]).sort(),
            all.weights
                .filter((w) => w.bytes_touched < w.bytes)
                .map((w) => [w.name, w.bytes - w.bytes_touched])
                .sort(),
        );
        const sequential = Number(await at.locator("[data-sequential]").getAttribute("data-sequential"));
        assert.ok(Math.abs(sequential - all.pattern.bytes_sequential / all.pattern.bytes) < 1e-6);
        await finish(at);
    });
}

test("statistics of some tokens, and a click that filters every view", { skip }, async () => {
    const at = await page("view=statistics&tokens=2..3");
    await at.locator(".statistics-scope", { hasText: "Tokens 2 to 3" }).waitFor();
    const some = stats(recorded("tiny"), "--token", "2..3", "--by", "op");
    const row = at.locator(".table-part tr", { hasText: "MUL_MAT" }).first();
    await becomes(() => row.locator("td").first().innerText(), grouped(some.by_op.find((g) => g.op === "MUL_MAT").ops));
    await row.getByRole("button").click();
    await hashed(at, /type=MUL_MAT/);
    await show(at, "log");
    await at.locator(`[data-total="${some.by_op.find((g) => g.op === "MUL_MAT").ops}"]`).waitFor();
    await finish(at);
});

test("the expert matrix counts what ggscope experts counts; a dense model has none", { skip }, async () => {
    const at = await page("view=statistics");
    await at.getByText("No experts: this model is dense").waitFor();
    await choose(at, "moe");
    const canvas = at.getByRole("application", { name: "Expert matrix" });
    await canvas.waitFor();
    await settled(at);
    const { by_layer: layers } = json("experts", recorded("moe"));
    const rows = await savedCsv(at, at.getByRole("button", { name: 'Save "Expert matrix" as CSV' }));
    assert.deepEqual(
        rows.map((row) => [row.layer, row.expert, row.times]),
        layers.flatMap((layer) => layer.counts.map((n, expert) => [layer.layer, expert, n])),
    );
    // By keyboard: the spoken line, the shown value, the selected cell.
    await canvas.focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await at.keyboard.press(key);
    const words = new RegExp(`^layer 2, expert 1: chosen ${layers[2].counts[1]} times? `);
    await becomes(() => at.locator("#announcer").innerText(), words);
    await becomes(() => at.locator(".experts [role=tooltip]").innerText(), words);
    await at.keyboard.press("Enter");
    await hashed(at, /layer=2&expert=1/);
    // The same as a table, which the address keeps.
    const part = at.locator('[data-picture="expert-matrix"]');
    await part.getByRole("button", { name: "View as table" }).click();
    await hashed(at, /tables=expert-matrix/);
    const [first] = await tableRows(at);
    assert.equal(Number(first[2].replaceAll(",", "")), Math.max(...layers.flatMap((layer) => layer.counts)));
    await finish(at);
});

// Times as the page writes them: three digits.
const scaled = (value, unit) => `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
const time = (ns) =>
    ns < 1000 ? `${Math.round(ns)} ns` : ns / 1e3 < 999.5 ? scaled(ns / 1e3, "us") : ns / 1e6 < 999.5 ? scaled(ns / 1e6, "ms") : scaled(ns / 1e9, "s");

test("the timeline: all op runs, one op with the times of each thread, a stretch that filters the log", { skip }, async () => {
    const directory = recorded("tiny");
    // The shortest of its kind: it has few neighbours.
    const products = json("log", "--token", "2", "--op", "MUL_MAT", directory).ops;
    const chosen = products.reduce((least, op) => (op.duration_ns < least.duration_ns ? op : least));
    const at = await page(`view=timeline&op=${chosen.run}.${chosen.node}`);
    const canvas = at.locator(".timeline canvas").first();
    await canvas.waitFor();
    await becomes(() => canvas.getAttribute("aria-label"), new RegExp(`2 lanes, ${grouped(stats(directory).op_runs)} op runs`));
    await at.locator(".details .card", { hasText: chosen.name }).waitFor();
    const wanted = [0, 1].map((thread) => json("log", "--token", "2", "--thread", String(thread), directory).ops.find((op) => op.node === chosen.node));
    const hasAll = (rows) =>
        wanted.every((op, thread) =>
            rows.some((row) => row[0] === `CPU thread ${thread}` && row[2] === op.op && row[3] === String(op.layer ?? "") && row[4] === time(op.duration_ns)),
        );
    // Op runs replace folded ones once they fit into the window.
    await settled(at);
    await at.locator("#view").focus();
    await at.keyboard.press("KeyF");
    await hashed(at, /zoom=/);
    await settled(at);
    await at.getByRole("button", { name: "View as table" }).last().click();
    await becomes(() => tableRows(at), hasAll, `${wanted.map((op) => time(op.duration_ns))} is not in the table:`);
    await at.getByRole("button", { name: "View as picture" }).last().click();
    await settled(at);

    await canvas.focus();
    await at.keyboard.press("ArrowRight");
    await at.keyboard.press("ArrowRight");
    await becomes(() => at.locator("#announcer").innerText(), /^CPU thread 0, [A-Z_]+/);
    await at.locator(".details .card").waitFor();
    await settled(at);

    const frame = await canvas.boundingBox();
    await at.mouse.move(frame.x + frame.width * 0.4, frame.y + 100);
    await at.mouse.down();
    await at.mouse.move(frame.x + frame.width * 0.6, frame.y + 100, { steps: 4 });
    await at.mouse.up();
    const [, begin, end] = (await hashed(at, /time=(\d+)\.\.(\d+)/)).map(Number);
    const inside = json("log", directory).ops.filter((op) => op.begin_ns < end && (op.begin_ns + op.duration_ns > begin || op.begin_ns >= begin));
    await show(at, "log");
    await at.locator(`[data-total="${inside.length}"]`).waitFor();
    await finish(at);
});

test("the log has every op, in order, sorts and scrolls to its end", { skip }, async () => {
    const at = await page("view=log"),
        { ops } = json("log", recorded("tiny"));
    await at.locator(`[data-total="${ops.length}"]`).waitFor();
    const cells = async (row) => at.locator(`#log-row-${row} [role=gridcell]`).allInnerTexts();
    await at.locator("#log-row-0:not(.loading)").waitFor();
    const first = await cells(0);
    assert.deepEqual([first[2], first[4], first[5], first[6], first[7]], [String(ops[0].token), ops[0].op, ops[0].name, "–", String(ops[0].threads)]);
    assert.equal(first[10], `DISK ${grouped(ops[0].file_offset)}`);
    await at.locator(".log-scroll").focus();
    await at.keyboard.press("End");
    const last = ops.length - 1;
    await at.locator(`#log-row-${last}:not(.loading)`).waitFor();
    assert.deepEqual((await cells(last)).slice(4, 6), [ops[last].op, ops[last].name]);
    await at.keyboard.press("Enter");
    await at.locator(".details .card", { hasText: ops[last].name }).waitFor();
    await hashed(at, new RegExp(`op=${ops[last].run}\\.${ops[last].node}`));
    await at.getByRole("columnheader", { name: "duration" }).getByRole("button").click();
    const longest = Math.max(...ops.map((op) => op.duration_ns));
    const slowest = ops.find((op) => op.duration_ns === longest);
    await at.locator("#log-row-0", { hasText: slowest.name }).waitFor();
    await settled(at);
    const rows = await savedCsv(at, at.getByRole("button", { name: "CSV: Save these rows" }));
    assert.deepEqual(
        rows.map((row) => row.duration_ns),
        ops.map((op) => op.duration_ns).sort((a, b) => b - a),
    );
    assert.equal(sum(rows, "bytes_read"), sum(ops, "bytes_read"));
    await finish(at);
});

test("the log's filters", { skip }, async () => {
    const at = await page("view=log"),
        { ops } = json("log", recorded("tiny"));
    const filter = at.getByRole("form", { name: "Filter the log" });
    const expectTotal = async (n) => at.locator(`[data-total="${n}"]`).waitFor();
    await expectTotal(ops.length);
    await filter.getByLabel("layer").selectOption("3");
    await expectTotal(ops.filter((op) => op.layer === 3).length);
    await filter.getByLabel("token").fill("1..2");
    await filter.getByLabel("token").press("Enter");
    await expectTotal(ops.filter((op) => op.layer === 3 && op.token >= 1 && op.token <= 2).length);
    await filter.getByLabel("tensor").fill("*attn_q*");
    await filter.getByLabel("tensor").press("Enter");
    await expectTotal(json("log", "--token", "1..2", "--layer", "3", "--tensor", "*attn_q*", recorded("tiny")).ops.length);
    await filter.getByLabel("token").fill("seven");
    await filter.getByLabel("token").press("Enter");
    await filter.getByRole("alert").waitFor();
    await at.locator("button.log-count").click();
    await expectTotal(ops.length);
    await filter.getByLabel("source").selectOption("DISK");
    await expectTotal(json("log", "--source", "disk", recorded("tiny")).ops.length);
    await finish(at);
});

test("the graph: collapsed to layers with their time, opened in place, searched, walked", { skip }, async () => {
    const at = await page("view=graph&tokens=1..1"),
        [{ nodes }] = json("graph", "--token", "1", recorded("tiny")).graphs;
    const box = at.locator(".graph-scroll");
    await box.waitFor();
    await becomes(async () => Number(await box.getAttribute("data-nodes")), nodes.length);
    await settled(at);
    const blocks = await at.locator(".graph-scroll").evaluate(async (scroller) => {
        const seen = new Map();
        for (let y = 0; y <= scroller.scrollHeight; y += scroller.clientHeight / 2) {
            scroller.scrollTop = y;
            await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
            for (const block of scroller.querySelectorAll("[data-block]")) seen.set(block.dataset.block, Number(block.dataset.time));
        }
        scroller.scrollTop = 0;
        return [...seen];
    });
    assert.deepEqual(
        blocks.map(([key]) => key).filter((key) => key.startsWith("layer")),
        Array.from({ length: 22 }, (_, i) => `layer ${i}`),
    );
    for (const [key, time] of blocks.filter(([name]) => name.startsWith("layer"))) {
        const inside = nodes.filter((node) => `layer ${node.layer}` === key);
        assert.equal(
            time,
            inside.reduce((total, node) => total + (node.duration_ns ?? 0), 0),
            key,
        );
    }
    assert.equal(await at.locator(".node").count(), 0);

    await at.getByRole("searchbox").fill("ffn_up-7");
    await at.locator(".graph-found", { hasText: "1 match in 1 block" }).waitFor();
    await at.getByRole("searchbox").press("Enter");
    await at.locator(".node.selected", { hasText: "ffn_up-7" }).waitFor();
    await at.locator(".details .card", { hasText: "ffn_up-7" }).waitFor();
    await at.getByRole("searchbox").press("Escape");
    await at.keyboard.press("]");
    await at.locator(".node.selected", { hasText: "ffn_swiglu-7" }).waitFor();
    await at.keyboard.press("[");
    await at.keyboard.press("[");
    await at.locator(".node.selected", { hasText: /ffn_norm-7|ffn_gate-7|ffn_up-7/ }).waitFor();

    await at.getByRole("button", { name: "expand all" }).click();
    await becomes(async () => Number(await box.getAttribute("data-laid-out")), (n) => n > 0, "laid out:");
    await settled(at);
    await at.locator('.graph-scroll[data-pending="0"]').waitFor();
    const laidOut = Number(await box.getAttribute("data-laid-out")),
        shapes = Number(await box.getAttribute("data-shapes"));
    assert.ok(shapes < 8, `${shapes} shapes`);
    assert.ok(laidOut > 0 && laidOut < nodes.length / 4, `${laidOut} of ${nodes.length} nodes were laid out`);
    await finish(at);
});

test("compare: two runs with other threads, the warning, the verdicts, the lanes", { skip }, async () => {
    const at = await page("view=compare");
    await at.getByLabel("Recording B").selectOption({ label: "tiny-one-thread" });
    const told = json("diff", recorded("tiny"), recorded("tiny-one-thread"));
    await becomes(() => at.locator(".compare-warnings li").allInnerTexts(), told.warnings);
    await at.getByLabel("also what is within the noise").check();
    await at.getByLabel("hide changes below").fill("0");
    await settled(at);
    const rows = await savedCsv(at, at.getByRole("button", { name: /Save "What changed/ }));
    const wanted = told.changes.filter((change) => change.all_layers && change.a.ops > 0);
    assert.equal(rows.length, wanted.length);
    for (const change of wanted) {
        const row = rows.find((r) => r.op === change.op && r.tensor === change.name && (r.per === "prompt") === (change.phase === "PROMPT"));
        assert.ok(row, `${change.op} ${change.name}`);
        assert.equal(Math.round(row.a_ns), Math.round(/stalls/.test(change.verdict) ? change.a.wall_ns / change.a.ops : change.a.median_ns));
    }
    await at.locator(".compare-lane canvas").first().focus();
    await at.keyboard.press("ArrowRight");
    await at.locator(".linked [role=status]", { hasText: /: A .*, B / }).waitFor();
    for (let i = 0; i < 12; i++) { // A ran on two lanes, B on one: every op of A has a counterpart in B on some lane
        await at.keyboard.press("ArrowRight");
        await settled(at);
        assert.doesNotMatch(await at.locator(".linked [role=status]").innerText(), /not there/);
    }
    await at.getByLabel("Recording B").selectOption({ label: "tiny" });
    await at.getByText("A and B are the same experiment").waitFor();
    await finish(at);
});
