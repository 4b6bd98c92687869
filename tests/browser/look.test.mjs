// How it looks: light and dark, enlarged to 400 %, and what axe-core finds. The pictures are in build/screenshots.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { axeSource, cleanUp, finish, open, recorded, screenshots, serve, skip } from "./browser.mjs";

let server;
const page = async (fragment, options) =>
    open((server ??= await serve(recorded("moe", { tokens: 12 }), recorded("moe", { as: "moe-one-thread", tokens: 12, threads: 1 }))).url, {
        fragment,
        ...options,
    });
after(cleanUp);

const views = {
    memory: ".memory canvas",
    timeline: ".timeline canvas",
    graph: ".block",
    log: ".log-row:not(.loading)",
    statistics: ".experts",
    compare: ".compare .tile",
    storage: ".picture-part svg",
    experts: "[data-choices] canvas",
};
const ready = async (at, view) => {
    await at.locator(views[view]).first().waitFor();
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    if (view === "graph") {
        await at.locator(".block-name").nth(3).click();
        await at.locator(".node").first().waitFor();
    }
    await at.waitForLoadState("networkidle").catch(() => {});
};

for (const dark of [false, true]) {
    for (const view of Object.keys(views)) {
        test(`${view}, ${dark ? "dark" : "light"}: nothing serious for axe-core`, { skip }, async () => {
            const at = await page(`view=${view}`, { dark, bypassCSP: true });
            await ready(at, view);
            mkdirSync(screenshots, { recursive: true });
            await at.screenshot({ path: join(screenshots, `${view}-${dark ? "dark" : "light"}.png`) });
            const background = await at.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number));
            assert.equal(background.reduce((a, b) => a + b) < 384, dark);
            await at.evaluate(readFileSync(axeSource(), "utf8"));
            const { violations } = await at.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
            const serious = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
            assert.deepEqual(
                serious.map(
                    (v) =>
                        `${v.id}: ${v.nodes
                            .slice(0, 5)
                            .map((n) => `${n.target} (${n.any[0]?.message ?? n.failureSummary})`)
                            .join("; ")}`,
                ),
                [],
            );
            await finish(at);
        });
    }
}

// 400 % of a window that is 1280 wide is a window of 320 CSS pixels.
for (const view of Object.keys(views)) {
    test(`${view} at 400 %: all of it can be reached by scrolling one way`, { skip }, async () => {
        const at = await page(`view=${view}`, { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4 });
        await at.locator(views[view]).first().waitFor();
        const { wide, lost } = await at.evaluate(() => ({
            wide: document.documentElement.scrollWidth,
            lost: [...document.querySelectorAll("button, input, select, [role=tab]")]
                .filter((element) => {
                    const box = element.getBoundingClientRect();
                    const scrolls = element.closest(".log-scroll, .graph-scroll, .table-scroll, .data-table, .memory-scroll, dialog");
                    return box.width > 0 && !scrolls && (box.left < -1 || box.right > 321);
                })
                .map((element) => element.textContent || element.getAttribute("aria-label")),
        }));
        assert.ok(wide <= 320, `the page is ${wide} px wide`);
        assert.deepEqual(lost, []);
        await finish(at);
    });
}

test("forced colours: what is selected can still be told", { skip }, async () => {
    const at = await page("view=log", { forcedColors: "active" });
    await at.locator("#log-row-2:not(.loading)").click();
    const outline = await at.locator("#log-row-2.selected").evaluate((row) => getComputedStyle(row).outlineStyle);
    assert.equal(outline, "solid");
    await finish(at);
});
