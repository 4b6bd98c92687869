// The list of experiments of a folder: numbers of the command line, filter, order, comparing, new
// experiments.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { becomes, cleanUp, finish, ggscope, hashed, hashOf, open, output, prompt, recorded, root, savedCsv, scratch, serve, settled, skip, stats } from "./browser.mjs";

after(cleanUp);
const folder = scratch("library");
function put(name, from) {
    mkdirSync(folder, { recursive: true });
    cpSync(from, join(folder, name), { recursive: true });
    return join(folder, name);
}
let server;
const started = async () => {
    if (!server) {
        put("first", recorded("tiny"));
        put("second", recorded("tiny", { as: "tiny-one-thread", threads: 1 }));
        server = await serve(folder);
    }
    return server;
};
const names = (page) => page.locator(".library tbody th").allInnerTexts();

test("a folder opens on its recordings: what ggscope stats says of each, filtered, in an order that the address holds", { skip }, async () => {
    const { url } = await started();
    const page = await open(url);
    await page.locator('.library[data-loaded="true"]').waitFor();
    const rows = await savedCsv(page, page.getByRole("button", { name: 'Save "Recordings" as CSV' }));
    assert.deepEqual(rows.map((row) => row.name).sort(), ["first", "second"]);
    for (const row of rows) {
        const told = stats(join(folder, row.name));
        assert.equal(row.tokens, told.tokens);
        assert.equal(row.tokens_per_second, told.tokens_per_second);
        assert.equal(row.model, "tiny.gguf");
        assert.equal(row.prompt, prompt);
        assert.match(row.settings, new RegExp(`^${told.threads} thread`));
        assert.match(row.machine, /\d cores/);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    assert.ok(await page.locator(".library .table-scroll").evaluate((box) => box.scrollWidth <= box.clientWidth), "columns are out of sight");
    await page.getByRole("button", { name: "recording", exact: true }).click();
    await becomes(() => names(page), ["first", "second"]);
    await page.getByRole("button", { name: "recording", exact: true }).click();
    await becomes(() => names(page), ["second", "first"]);
    await page.keyboard.press("/");
    await page.keyboard.type("SECOND");
    await page.getByText("1 of 2", { exact: true }).waitFor();
    await becomes(() => names(page), ["second"]);
    await hashed(page, /list-find=SECOND/);
    await settled(page);
    const copied = await hashOf(page);
    const other = await page.context().newPage();
    await other.goto(url + copied);
    await other.getByText("1 of 2", { exact: true }).waitFor();
    await becomes(() => names(other), ["second"]);
    await other.getByRole("searchbox").fill("");
    await becomes(() => names(other), ["second", "first"]);

    // Opens one of them, and goes back.
    await page.locator(".library .row-name").click();
    await page.locator("#sentence", { hasText: "touched" }).waitFor();
    await hashed(page, new RegExp(`x=${stats(join(folder, "second")).experiment_id}`));
    await page.goBack();
    await page.locator(".library").waitFor();
    await becomes(() => names(page), ["second"]);
    await page.goForward();
    await page.locator("#sentence", { hasText: "touched" }).waitFor();
    await page.getByRole("button", { name: "All recordings" }).click();
    await page.locator(".library").waitFor();
    await finish(page);
});

test("two that are ticked are compared", { skip }, async () => {
    const { url } = await started();
    const page = await open(url);
    await page.locator('.library[data-loaded="true"]').waitFor();
    await becomes(() => page.getByRole("button", { name: "Compare", exact: true }).isDisabled(), true);
    await page.getByLabel("Pick second to compare").check();
    await page.getByLabel("Pick first to compare").check();
    await page.getByRole("button", { name: "Compare second with first" }).click();
    await page.locator(".compare-warnings li").first().waitFor();
    const chosen = (which) => page.getByLabel(`Recording ${which}`).evaluate((select) => select.selectedOptions[0].textContent);
    await becomes(() => chosen("A"), "second");
    await becomes(() => chosen("B"), "first");
    await finish(page);
});

test("recordings and notes appear while the list is open", { skip }, async () => {
    const { url } = await started();
    const page = await open(url);
    await page.locator('.library[data-loaded="true"]').waitFor();
    const before = (await names(page)).length;
    output(ggscope, ["note", join(folder, "first"), "page cache warm"]);
    await page.locator("tr", { hasText: "first" }).getByText("page cache warm").waitFor();
    const third = put("third", join(root, "tests", "golden", "v2"));
    await page.locator("tr", { hasText: "third" }).waitFor();
    await page.locator("h1", { hasText: `${before + 1} recordings` }).waitFor();
    const { tokens } = stats(third);
    await page.locator("tr", { hasText: "third" }).locator("td.number", { hasText: new RegExp(`^${tokens}$`) }).waitFor();
    await finish(page);
});
