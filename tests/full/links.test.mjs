// A copied address restores the screen: zoom, order, opened parts and selection. Screens are
// compared pixel by pixel; a few pixels may differ at the edges of letters.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { becomes, cleanUp, finish, hashOf, open, recorded, screenshots, serve, settled, skip } from "../browser/browser.mjs";

after(cleanUp);
let server;
const started = async () => (server ??= await serve(recorded("moe"), recorded("moe", { as: "moe-one-thread", threads: 1 })));
const key = (page, ...codes) => codes.reduce((before, code) => before.then(() => page.keyboard.press(code)), page.locator("#view").focus());

// Actions in each view before copying the address.
const deeds = {
    "memory, zoomed to true scale": ["view=memory", ".memory canvas", (page) => key(page, "KeyL", "KeyW", "KeyW", "KeyD")],
    "timeline, zoomed and marked": ["view=timeline&layer=3", ".timeline canvas", (page) => key(page, "KeyW", "KeyW", "KeyD", "KeyM")],
    "graph, a layer open, a search": [
        "view=graph&tokens=1..1",
        ".block",
        async (page) => {
            await page.locator(".block-name").nth(2).click();
            await page.locator(".node").first().waitFor();
            await page.getByRole("searchbox").fill("ffn");
        },
    ],
    "log, sorted and scrolled": [
        "view=log&type=MUL_MAT",
        ".log-row:not(.loading)",
        async (page) => {
            await page.getByRole("columnheader", { name: "duration" }).getByRole("button").click();
            await page.locator("#log-row-0:not(.loading)").waitFor();
            await page.locator(".log-scroll").focus();
            for (let i = 0; i < 3; i++) await page.keyboard.press("PageDown");
        },
    ],
    "statistics, ordered": [
        "view=statistics",
        ".experts",
        async (page) => {
            await page.locator("#by-layer").click();
            await page.locator(".table-part thead button", { hasText: /^wait/ }).first().click();
        },
    ],
    "timeline as a table": ["view=timeline&tokens=2..2", ".timeline canvas, .data-table", (page) => page.getByRole("button", { name: "View as table" }).click()],
    "compare, a token, zoomed": [
        "view=compare",
        ".compare-lane canvas",
        async (page) => {
            await page.getByLabel("layer by layer").check();
            await page.locator(".linked input[type=number]").fill("3");
            await page.locator(".compare-lane canvas").first().focus();
            for (const code of ["KeyW", "KeyW", "KeyD"]) await page.keyboard.press(code);
        },
    ],
    "experts, one selected": ["view=experts&layer=5&expert=3", "[data-choices] canvas", () => {}],
};

// The idle screen: no pointer, no focus, every answer complete.
async function still(page, ready) {
    await page.locator(ready).first().waitFor();
    await page.locator("#sentence", { hasText: "touched" }).waitFor();
    await page.mouse.move(1, 799);
    await page.evaluate(() => (document.activeElement?.blur(), document.querySelector("main").scrollTo(0, 0)));
    await settled(page);
    return page.screenshot({ animations: "disabled", caret: "hide" });
}

// The share of pixels that differ noticeably.
const difference = (page, a, b) =>
    page.evaluate(
        async (images) => {
            const [p, q] = await Promise.all(
                images.map(async (data) => {
                    const image = new Image();
                    image.src = `data:image/png;base64,${data}`;
                    await image.decode();
                    const canvas = new OffscreenCanvas(image.width, image.height);
                    const pen = canvas.getContext("2d");
                    pen.drawImage(image, 0, 0);
                    return pen.getImageData(0, 0, image.width, image.height).data;
                }),
            );
            let differ = 0;
            for (let i = 0; i < p.length; i += 4) differ += Math.abs(p[i] - q[i]) + Math.abs(p[i + 1] - q[i + 1]) + Math.abs(p[i + 2] - q[i + 2]) > 48 ? 1 : 0;
            return p.length === q.length ? (4 * differ) / p.length : 1;
        },
        [a, b].map((image) => image.toString("base64")),
    );

for (const [name, [fragment, ready, act]] of Object.entries(deeds))
    test(name, { skip }, async () => {
        const { url, origin } = await started();
        const options = { viewport: { width: 1280, height: 800 } };
        const page = await open(url, { fragment, ...options });
        await page.locator(ready).first().waitFor();
        await page.locator("#sentence", { hasText: "touched" }).waitFor();
        await settled(page);
        await act(page);
        const wanted = await still(page, ready);
        const copied = await hashOf(page);
        const other = await page.context().newPage();
        await other.setViewportSize(options.viewport);
        await other.goto(`${origin}/${copied}`);
        const got = await still(other, ready);
        const differs = await difference(other, wanted, got);
        if (differs > 0.002) {
            mkdirSync(screenshots, { recursive: true });
            for (const [which, image] of [["wanted", wanted], ["got", got]]) writeFileSync(join(screenshots, `link-${name.replaceAll(/\W+/g, "-")}-${which}.png`), image);
        }
        assert.ok(differs <= 0.002, `${copied} shows another screen (${(100 * differs).toFixed(2)} % of its pixels): see build/screenshots/link-*`);
        await becomes(() => hashOf(other), copied);
        await finish(page);
    });
