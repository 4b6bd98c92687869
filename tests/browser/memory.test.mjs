// The memory view: it draws the file, nothing overlaps, the lens finds the smallest tensor, a
// region filters the log.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { becomes, cleanUp, finish, hashed, json, model, open, recorded, serve, settled, show, skip, tableRows } from "./browser.mjs";

let server;
const page = async (fragment, options) => open((server ??= await serve(recorded("tiny"), recorded("moe"))).url, { fragment, ...options });
after(cleanUp);
const cells = async (at) => {
    await at.locator(".memory canvas").first().waitFor();
    await at.waitForFunction(() => window.__ggscope?.memoryCells().length > 0);
    await settled(at);
    return at.evaluate(() => window.__ggscope.memoryCells());
};
const choose = async (at, name) => at.locator(".page-header select").first().selectOption({ label: name });

// No two cells share a pixel, and every tensor of the file is in exactly one.
function checkCells(all, tensors) {
    for (const row of new Set(all.map((cell) => `${cell.place} ${cell.row}`))) {
        const line = all.filter((cell) => `${cell.place} ${cell.row}` === row).sort((a, b) => a.x - b.x);
        line.forEach((cell, i) => {
            assert.ok(cell.width > 0, `${row}: a cell without width`);
            if (i > 0) assert.ok(cell.x >= line[i - 1].x + line[i - 1].width, `${row}: ${cell.names[0]} overlaps ${line[i - 1].names.at(-1)}`);
        });
    }
    const rows = [...new Map(all.map((cell) => [cell.row, cell.y])).values()].sort((a, b) => a - b);
    assert.equal(new Set(rows).size, rows.length, "rows lie on top of each other");
    const drawn = all.filter((cell) => cell.place === "disk").flatMap((cell) => cell.names);
    assert.equal(
        new Set(drawn).size + drawn.filter((name) => name === "padding").length - (drawn.includes("padding") ? 1 : 0),
        drawn.length,
        "a tensor is drawn twice",
    );
    for (const tensor of tensors) assert.ok(drawn.includes(tensor.name), tensor.name);
}

for (const name of ["tiny", "moe"]) {
    for (const width of [1400, 500]) {
        test(`${name} at ${width} px: every tensor is there once and none overlaps another`, { skip }, async () => {
            const at = await page("view=memory", { viewport: { width, height: 900 } });
            if (name !== "tiny") await choose(at, name);
            await at.waitForFunction(
                (wanted) => window.__ggscope?.memoryCells().some((cell) => cell.names.some((n) => n.startsWith(wanted))),
                name === "moe" ? "blk.3.ffn_up_exps.weight[" : "blk.3.ffn_up.weight",
            );
            const { tensors } = json("gguf", model(name));
            checkCells(await cells(at), tensors);
            await at.keyboard.press("KeyL"); // true scale
            await hashed(at, /true-scale=1/);
            checkCells(await cells(at), tensors);
            await finish(at);
        });
    }
}

test("the lens on the smallest tensor of the file, by mouse and by keyboard", { skip }, async () => {
    const at = await page("view=memory");
    const { tensors } = json("gguf", model("tiny"));
    const smallest = tensors.reduce((least, tensor) => (tensor.size_bytes < least.size_bytes ? tensor : least));
    const cell = (await cells(at)).find((one) => one.names.includes(smallest.name));
    const canvas = at.locator(".memory canvas").first();
    const frame = await canvas.boundingBox();
    const inner = await cells(at).then((all) => Math.max(...all.map((one) => one.x + one.width)));
    const gutter = frame.width - inner;
    // A folded cell contains several tensors: the lens unfolds them, and the card names the one
    // under the pointer.
    await canvas.hover({ position: { x: gutter + cell.x + cell.width / 2, y: cell.y + cell.height / 2 } });
    const lens = at.locator(".lens");
    await lens.waitFor();
    const name = await becomes(async () => (await lens.locator(".name").innerText()).replace(/ \[\d+\]$/, ""), (said) => cell.names.includes(said), "the lens names another:");
    const shown = tensors.find((tensor) => tensor.name === name);
    // The lens covers neither the cell under the pointer nor those above and below it.
    const [pointer, glass] = [frame.x + gutter + cell.x + cell.width / 2, await lens.boundingBox()];
    assert.ok(glass.x > pointer + 40 || glass.x + glass.width < pointer - 40, `the pointer is at ${pointer}, the lens at ${glass.x} to ${glass.x + glass.width}`);
    const text = await lens.innerText();
    assert.ok(text.includes(`(${shown.size_bytes.toLocaleString("en")})`), text);
    assert.match(text, /offset/);

    await at.mouse.move(5, 5);
    await lens.waitFor({ state: "detached" });
    await canvas.focus();
    await at.keyboard.press("Home");
    // The spoken line changes with each key.
    const said = () => at.locator("#announcer").innerText();
    for (let i = 0; i < 400 && !(await said()).startsWith(`${smallest.name},`); i++) {
        await at.keyboard.press(i % 12 === 11 ? "ArrowDown" : "ArrowRight");
        if (i % 12 === 11) await at.keyboard.press("Home");
    }
    assert.match(await said(), new RegExp(`^${smallest.name.replaceAll(".", "\\.")},`));
    await becomes(() => lens.innerText(), (text) => text.includes(smallest.name));
    await finish(at);
});

test("dragging a region filters the log to the ops that touch these bytes", { skip }, async () => {
    const at = await page("view=memory");
    const all = await cells(at);
    const line = all.filter((cell) => cell.row === "layer 5");
    const canvas = at.locator(".memory canvas").first();
    const frame = await canvas.boundingBox();
    const gutter = frame.width - Math.max(...all.map((one) => one.x + one.width));
    const y = frame.y + line[0].y + line[0].height / 2;
    const middle = line[Math.floor(line.length / 2)];
    await at.mouse.move(frame.x + gutter + line[0].x + 8, y);
    await at.mouse.down();
    await at.mouse.move(frame.x + gutter + middle.x + middle.width / 2, y, { steps: 4 });
    await at.mouse.up();
    const [, begin, end] = await hashed(at, /region=\d+:(\d+)\.\.(\d+)/);
    const { ops } = json("log", "--range", `${begin}..${end}`, recorded("tiny"));
    assert.ok(ops.length > 0);
    await at.locator(`.log-count[data-total="${ops.length}"]`).waitFor();
    await show(at, "log");
    await at.locator(`.log-count[data-total="${ops.length}"]`).waitFor();
    await becomes(() => at.locator("#log-row-0 [role=gridcell]").nth(5).innerText(), ops[0].name);
    await at.locator("button.log-count").click();
    await at.waitForFunction(() => !location.hash.includes("region="));
    await finish(at);
});

test("full screen shows the log below, and Escape leads back", { skip }, async () => {
    const at = await page("view=memory");
    await cells(at);
    await at.locator("#view").focus();
    await at.keyboard.press("Enter");
    await at.locator("html.memory-full").waitFor();
    await becomes(async () => (await at.locator(".memory-log").boundingBox()).y, (y) => Math.abs(y / 900 - 0.7) < 0.1, "the log's begin, of 900:");
    await at.keyboard.press("Escape");
    await at.locator("html:not(.memory-full)").waitFor();
    await finish(at);
});

test("view as table: every tensor with its offset and its touches", { skip }, async () => {
    const at = await page("view=memory");
    await cells(at);
    await at.getByRole("button", { name: "View as table" }).first().click();
    const rows = await tableRows(at);
    for (const tensor of json("gguf", model("tiny")).tensors) {
        const row = rows.find((one) => one[1] === tensor.name);
        assert.ok(row, tensor.name);
        assert.equal(row[4], tensor.offset_start.toLocaleString("en"));
    }
    await finish(at);
});

test("small windows: the key 1 shows the map, as the address does", { skip }, async () => {
    for (const viewport of [{ width: 390, height: 844 }, { width: 853, height: 533 }]) {
        const at = await page("view=log", { viewport });
        await at.locator("#log-row-0:not(.loading)").waitFor();
        await settled(at);
        await at.locator("#view").focus();
        await at.keyboard.press("Digit1");
        const drawn = await cells(at);
        assert.ok(drawn.length > 20, `${drawn.length} cells`);
        const box = await at.locator(".memory-scroll").boundingBox();
        assert.ok(box.height > 100 && box.width > 200, JSON.stringify(box));
        await finish(at);
    }
});

// The mean colour of some pixels of the map, as its luminance.
const luminance = ([r, g, b]) => [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

test("dark, one token: what it touched stands out from what it did not", { skip }, async () => {
    const at = await page("view=memory&tokens=2..2", { dark: true });
    await choose(at, "moe");
    await at.locator("#sentence", { hasText: "moe" }).waitFor();
    await at.evaluate(() => (location.hash += "&tokens=2..2"));
    const all = (await cells(at)).filter((cell) => cell.row === "layer 3" && cell.width >= 6 && /exps/.test(cell.names[0]));
    const left = await at.evaluate(() => document.querySelector(".memory canvas").clientWidth - Math.max(...window.__ggscope.memoryCells().map((cell) => cell.x + cell.width)));
    const mean = (cell) =>
        at.evaluate(([{ x, y, width, height }, gutter]) => {
            const canvas = document.querySelector(".memory canvas");
            const ratio = canvas.width / canvas.clientWidth;
            const { data } = canvas.getContext("2d").getImageData(Math.round((gutter + x + 1) * ratio), Math.round((y + 2) * ratio), Math.round((width - 3) * ratio), Math.round((height - 6) * ratio));
            const sum = [0, 0, 0];
            for (let i = 0; i < data.length; i += 4) for (let c = 0; c < 3; c++) sum[c] += data[i + c];
            return sum.map((value) => (4 * value) / data.length);
        }, [cell, left]);
    const [touched, untouched] = [all.find((cell) => cell.touched), all.find((cell) => !cell.touched)];
    assert.ok(touched && untouched, "the token takes some experts of the layer");
    const ratio = contrast(luminance(await mean(touched)), luminance(await mean(untouched)));
    assert.ok(ratio >= 3, `contrast ${ratio.toFixed(2)}`);
    await finish(at);
});
