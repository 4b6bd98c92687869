// Values on the page: ranges, NaN and errors are those of ggscope values and ggscope diff --values,
// and link to the ops.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { ggscope, run, scratch } from "../lib.mjs";
import { compared, recorded } from "../engine/plants.mjs";
import { axeSource, becomes, cleanUp, finish, json, model, open, serve, settled, show, skip } from "./browser.mjs";

after(cleanUp);

const dense = model("tiny", "--layers", "4");
const good = () => recorded(dense), nan = () => recorded(dense, { plant: "nan,5,^FLASH_ATTN_EXT:.Qcur-2" }), flip = () => recorded(dense, { plant: "flip,17,^MUL_MAT:ffn_out-1$" });
let bare;
const without = () => {
    if (bare) return bare;
    const { status, stderr } = run(ggscope, ["run", "-q", "-o", scratch("without-values"), "-m", dense, "-p", "Hello", "-n", "2"]);
    assert.equal(status, 0, stderr);
    return (bare = scratch("without-values"));
};
const idOf = (directory) => JSON.parse(readFileSync(`${directory}/experiment.json`, "utf8")).experiment_id;

let server;
const page = async (directory, fragment = "", options) => {
    server ??= await serve(good(), nan(), flip(), without());
    return open(server.url, { fragment: `x=${idOf(directory)}&view=values${fragment}`, ...options });
};
after(() => server?.stop());

const map = (at) => at.locator("[data-lines] canvas");
// The cells of the picture, from its table.
const cellsOf = async (at) => {
    const rows = at.locator(".data-table tbody tr");
    await rows.first().waitFor();
    const all = Number(await at.locator(".data-table").getAttribute("data-rows"));
    for (let shown = await rows.count(); shown < all; shown = await rows.count()) {
        await at.locator(".data-table").evaluate((box) => (box.scrollTop = box.scrollHeight));
        await becomes(() => rows.count(), (n) => n > shown, "rows:");
    }
    return rows.evaluateAll((list) => list.map((row) => [...row.cells].map((cell) => cell.textContent)));
};
const answerTo = (at, path) => at.evaluate(async (asked) => {
    for (;;) {
        const reply = await fetch(`.${asked}`);
        if (reply.status !== 202) return reply.json();
        await new Promise((done) => setTimeout(done, 50));
    }
}, path);

test("one recording: every cell is an output of the table op_values, findings are those of ggscope values", { skip }, async () => {
    const at = await page(nan(), "&of=largest&tables=values-map");
    const values = json("values", nan());
    const cells = await cellsOf(at);
    const known = values.by_op.filter((op) => !op.choice);
    const byName = new Map();
    for (const row of cells) byName.set(`${row[0]} ${row[1]}`, [...(byName.get(`${row[0]} ${row[1]}`) ?? []), row]);
    for (const op of known) {
        const mine = byName.get(`${op.op} ${op.name}`);
        assert.ok(mine, `${op.op} ${op.name} has no line`);
        if (known.filter((other) => other.op === op.op && other.name === op.name).length > 1 || mine.length !== op.rows) continue;
        assert.equal(Math.max(...mine.map((row) => Number(row[5]))), op.largest, op.name);
        assert.equal(mine.some((row) => row[7].includes("NaN")), op.nan > 0, op.name);
    }
    assert.equal(byName.size, new Set(known.map((op) => `${op.op} ${op.name}`)).size);
    const [first] = values.nan;
    await becomes(() => at.locator(".values-first").innerText(), (text) => text.startsWith(`The first NaN: ${first.op} ${first.name}, position ${first.position}`));
    const { by_op, ...brief } = values;
    assert.ok(by_op.length > 0);
    assert.deepEqual(await answerTo(at, "/api/x/1/values"), brief);
    await at.locator("td", { hasText: `${first.count} of ${first.elements} elements` }).first().click();
    await becomes(() => at.url(), (url) => url.includes(`op=${first.run}.${first.node}`));
    await at.locator("[data-values]", { hasText: "NaN of" }).waitFor();
    await finish(at);
});

test("two recordings: the first wrong op as ggscope diff --values names it, with its rule and numbers", { skip }, async () => {
    const at = await page(flip(), `&against=${idOf(good())}&tables=values-map`);
    const { status, ...told } = compared(good(), flip());
    const [first] = told.wrong;
    assert.equal(status, 1);
    await becomes(() => at.locator(".values-first").innerText(), (text) => text.includes(`The first wrong op: ${first.op} ${first.name}`) && text.includes(first.why) && text.includes(`in ${first.wrong_tokens} of ${first.tokens} tokens`));
    const text = await at.locator(".values-first").innerText();
    assert.ok(text.includes(`error ${Number(first.first.error.toPrecision(2))}, inputs ${Number(first.first.inputs.toPrecision(2))}; these and rounding explain ${Number(first.first.allowed.toPrecision(2))}`), text);
    assert.ok(text.includes(`ggscope extract ${flip()} '${first.key}' -o op.gguf`), text);
    const { by_op, conditions, ...brief } = told, { conditions: none, ...served } = await answerTo(at, "/api/values-diff?a=0&b=2");
    assert.ok(by_op.length > 0 && conditions && none);
    assert.deepEqual(served, brief);
    const cells = await cellsOf(at);
    for (const op of told.by_op.filter((one) => one.tokens > 0 && one.ratio > 0)) {
        const mine = cells.filter(([kind, name]) => kind === op.op && name === op.name);
        if (mine.length !== op.tokens) continue; // two ops of one name, or several tokens per column
        const close = (a, b) => Math.abs(a - b) <= 1e-6 * Math.max(a, b);
        assert.ok(close(Math.max(...mine.map((row) => Number(row[5]))), op.worst), `${op.key} ${op.worst}`);
    }
    assert.ok(cells.some((row) => row[1] === first.name && row[7].startsWith("wrong")));
    await at.locator("button", { hasText: "View as picture" }).click();
    await map(at).waitFor();
    await at.locator("td", { hasText: first.why }).first().click();
    await becomes(() => at.url(), (url) => url.includes(`op=${first.first.run}.${first.first.node}`));
    await finish(at);
});

test("at 400 % the picture is on the first screen, of one recording and of two", { skip }, async () => {
    for (const fragment of ["", `&against=${idOf(good())}`]) {
        const at = await page(flip(), fragment, { viewport: { width: 320, height: 200 } });
        await map(at).waitFor();
        await settled(at);
        const { y } = await map(at).boundingBox();
        assert.ok(y < 130, `it begins at ${y} of 200`);
        await finish(at);
    }
});

test("keys, pointer and window: a cell leads to its op, the address restores what is shown", { skip }, async () => {
    const at = await page(good());
    await map(at).focus();
    await at.keyboard.press("ArrowDown");
    await at.keyboard.press("ArrowDown");
    await at.keyboard.press("ArrowRight");
    await becomes(() => at.locator("[aria-live]").allInnerTexts(), (texts) => texts.join().includes("position 1, rms"));
    await at.keyboard.press("Enter");
    await becomes(() => at.url(), /op=\d+\.\d+/);
    await at.locator("[data-values]").waitFor();
    await settled(at);
    const columns = Number(await at.locator("[data-columns]").getAttribute("data-columns"));
    const box = await map(at).boundingBox();
    const y = box.y + 10;
    await at.mouse.move(box.x + box.width * 0.4, y);
    await at.mouse.down();
    await at.mouse.move(box.x + box.width * 0.6, y, { steps: 4 });
    await at.mouse.up();
    await becomes(() => at.url(), /inputs=\d+\.\.\d+/);
    await becomes(() => at.locator("[data-columns]").getAttribute("data-columns"), (n) => Number(n) > 1 && Number(n) < columns);
    const again = await page(good(), `&layer=2&lines=layer&${/inputs=[\d.]+/.exec(at.url())[0]}`);
    await becomes(() => again.locator("[data-lines]").getAttribute("data-lines"), "1");
    await becomes(async () => (await again.locator("[data-columns]").getAttribute("data-columns")) === (await at.locator("[data-columns]").getAttribute("data-columns")), true);
    await finish(again);
    await finish(at);
});

test("the graph is coloured by values and by errors, with a legend", { skip }, async () => {
    const at = await page(flip(), `&against=${idOf(good())}`);
    await map(at).waitFor();
    await show(at, "graph");
    await at.locator(".graph-bar select").last().selectOption("values");
    await at.locator(".graph-legend", { hasText: "more: wrong" }).waitFor();
    await at.locator(".block-name", { hasText: "layer 1" }).click();
    await at.locator(".node-shaded", { hasText: "wrong" }).first().waitFor();
    assert.match(await at.locator(".node-shaded", { hasText: "wrong" }).first().innerText(), /ffn_out-1/);
    await at.goto(at.url().replace(/x=[^&]*/, `x=${idOf(nan())}`).replace(/&(against|open)=[^&]*/g, ""));
    await at.locator(".block-name", { hasText: "layer 2" }).click();
    await at.locator(".node-shaded", { hasText: "NaN" }).first().waitFor();
    await finish(at);
});

test("without values: the command that records them; from compare a link leads to them", { skip }, async () => {
    const at = await page(without());
    await becomes(() => at.locator(".values-none pre").innerText(), (text) => text.startsWith(`ggscope record --values -o ${without()}-values -- `) && text.includes(" run -m ") && text.includes("-p Hello"));
    await at.goto(`${at.url().split("#")[0]}#x=${idOf(good())}&view=compare&a=${idOf(good())}&b=${idOf(flip())}`);
    await at.locator("button", { hasText: "compute the same values" }).click();
    await becomes(() => at.locator(".values-first").innerText(), /The first wrong op: MUL_MAT ffn_out-1/);
    await finish(at);
});

test("a report has the view of its recording, and the details of an op a histogram of what was kept", { skip }, async () => {
    const directory = scratch("dumped"), file = scratch("values.html");
    for (const words of [["run", "-q", "-m", dense, "-p", "Hello", "-n", "2", "--values-dump", "MUL_MAT:ffn_out-1", "-o", directory], ["report", directory, "-o", file]]) {
        const { status, stderr } = run(ggscope, words);
        assert.equal(status, 0, stderr);
    }
    const [op] = json("values", directory).by_op;
    const at = await open(pathToFileURL(file).href, { fragment: `view=values&op=${op.run}.${op.node}` });
    await map(at).waitFor();
    await becomes(() => at.locator(".values-first").innerText(), /No NaN in \d+ outputs/);
    const bars = at.locator('.details svg[aria-label^="Histogram"]');
    await bars.focus();
    await at.keyboard.press("ArrowRight");
    await becomes(() => at.locator("[aria-live]").allInnerTexts(), (texts) => /value -?[\d.e-]+, elements: [\d,]+/.test(texts.join()));
    await finish(at);
});

for (const dark of [false, true])
    test(`${dark ? "dark" : "light"}: nothing for axe-core, wide and small`, { skip }, async () => {
        for (const [directory, more] of [[nan(), ""], [flip(), `&against=${idOf(good())}`]]) {
            const at = await page(directory, more, { dark, bypassCSP: true });
            await at.addScriptTag({ path: axeSource() });
            await map(at).waitFor();
            for (const viewport of [{ width: 1920, height: 1080 }, { width: 320, height: 640 }]) {
                await at.setViewportSize(viewport);
                await settled(at);
                const { violations } = await at.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
                assert.deepEqual(violations.filter((one) => one.impact !== "moderate" && one.impact !== "minor").map((one) => `${one.id}: ${one.nodes[0]?.target}`), []);
                assert.equal(await at.evaluate(() => document.documentElement.scrollWidth), viewport.width);
            }
            await finish(at);
        }
    });
