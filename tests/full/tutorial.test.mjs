// All of docs/tutorial.md: its commands, its statements about the page in Chromium, and its server,
// a real llama-server.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { cleanUp, finish, open, skip } from "../browser/browser.mjs";
import { run } from "../lib.mjs";
import { follow } from "../tutorial.mjs";
import { buildServer, unbuildable } from "./llama-server.mjs";

after(cleanUp);
const why = unbuildable() || (run("sh", ["-c", "command -v curl"]).status === 0 ? "" : "curl is not installed");
const program = why ? null : buildServer();

// The numbered list of section 5, in its order.
async function lookAround(url) {
    const page = await open(url);
    await page.locator(".page-header select").first().selectOption({ label: "sparse" });
    await page.locator("#sentence", { hasText: "moe" }).filter({ hasText: "tok/s" }).filter({ hasText: "touched" }).waitFor();
    await page.keyboard.press("Digit1");
    await page.locator(".memory canvas").first().waitFor();
    await page.locator("#view").focus();
    for (const token of [0, 1]) {
        await page.keyboard.press("ArrowRight");
        await page.waitForFunction((n) => location.hash.includes(`tokens=${n}..${n}`), token);
    }
    await page.keyboard.press("Digit2");
    await page.locator(".timeline canvas").first().waitFor();
    await page.keyboard.press("KeyW");
    await page.waitForFunction(() => /zoom=\d+/.test(location.hash));
    await page.keyboard.press("Slash");
    await page.locator("dialog.search[open] input").waitFor();
    await page.keyboard.type("blk.3.ffn_down_exps");
    await page.locator("dialog.search[open] [role=option]", { hasText: "blk.3.ffn_down_exps" }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("tensor=blk.3.ffn_down_exps.weight"));
    await page.keyboard.press("Digit4");
    await page.locator(".log-row:not(.loading)", { hasText: "MUL_MAT_ID" }).first().waitFor();
    assert.deepEqual([...new Set(await page.locator(".log-row:not(.loading)").evaluateAll((rows) => rows.map((row) => /MUL_MAT_ID/.test(row.textContent))))], [true]);
    await page.keyboard.press("Digit8");
    await page.locator("[data-choices] canvas").first().waitFor();
    const computed = page.locator("details.computed").first();
    await computed.locator("summary").click();
    assert.match(await computed.locator("pre").innerText(), /^ggscope sql .* FROM experts /);
    // The address, opened in another browser.
    const other = await open(url, { fragment: new URL(page.url()).hash.slice(1) });
    await other.locator("#tab-experts[aria-selected=true]").waitFor();
    assert.ok((await other.url()).includes("tokens=1..1"));
    await finish(other);
    await finish(page);
}

follow({
    wanted: (title) => !why || !/server/.test(title),
    path: program ? [program] : [],
    async meanwhile(command, said) {
        if (/^ggscope serve/.test(command) && !skip) await lookAround(/http:\/\/\S+/.exec(said)[0]);
    },
});
if (why) test("the server of the tutorial", (t) => t.skip(why));
