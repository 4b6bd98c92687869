// Appearance: light and dark, enlarged to 400 %, and findings of axe-core. Pictures go to
// build/screenshots.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { axeSource, becomes, cleanUp, columns, finish, hashed, hashOf, open, recorded, screenshots, serve, settled, skip } from "./browser.mjs";

let server;
const page = async (fragment, options) =>
    open((server ??= await serve(recorded("moe", { tokens: 12 }), recorded("moe", { as: "moe-one-thread", tokens: 12, threads: 1 }))).url, {
        fragment,
        ...options,
    });
after(cleanUp);

// Each view, and each part that looks different: its address, and what is visible when it is ready.
const views = {
    library: ["view=library", '.library[data-loaded="true"] tbody tr'],
    memory: ["view=memory", ".memory canvas"],
    timeline: ["view=timeline", ".timeline canvas"],
    graph: ["view=graph", ".block"],
    log: ["view=log", ".log-row:not(.loading)"],
    statistics: ["view=statistics", ".experts"],
    efficiency: ["view=statistics&statistics=efficiency", '[data-picture="kv-cells"] svg'],
    compare: ["view=compare", ".compare .tile"],
    storage: ["view=storage", ".picture-part svg"],
    access: ["view=storage&part=access", ".access-picture canvas"],
    less: ["view=storage&part=less", ".paste"],
    experts: ["view=experts", "[data-choices] canvas"],
};
const ready = async (at, view) => {
    await at.locator(views[view][1]).first().waitFor();
    if (view !== "library") await at.locator("#sentence", { hasText: "touched" }).waitFor();
    if (view === "graph") {
        await at.locator(".block-name").nth(3).click();
        await at.locator(".node").first().waitFor();
    }
    await settled(at);
};

const parts = ["access", "less"]; // parts of views: checked once, in the light
async function lookAt(at, name, dark) {
    await settled(at);
    mkdirSync(screenshots, { recursive: true });
    await at.screenshot({ path: join(screenshots, `${name}-${dark ? "dark" : "light"}.png`) });
    const brightness = () => at.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b));
    await becomes(brightness, (sum) => sum < 384 === dark, "the background's brightness:");
    const { violations } = await at.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    const told = (v) =>
        `${v.id}: ${v.nodes
            .slice(0, 5)
            .map((n) => `${n.target} (${n.any[0]?.message ?? n.failureSummary})`)
            .join("; ")}`;
    assert.deepEqual(violations.map(told), [], dark ? "dark" : "light");
}

for (const view of Object.keys(views)) {
    test(`${view}, light${parts.includes(view) ? "" : " and dark"}: nothing for axe-core`, { skip }, async () => {
        const at = await page(views[view][0], { bypassCSP: true });
        await ready(at, view);
        await at.evaluate(readFileSync(axeSource(), "utf8"));
        await lookAt(at, view, false);
        if (!parts.includes(view)) {
            await at.emulateMedia({ colorScheme: "dark" });
            await lookAt(at, view, true);
        }
        await finish(at);
    });
}

// A window of 1280 pixels at 400 % has 320 CSS pixels.
for (const view of Object.keys(views).filter((name) => !parts.includes(name))) {
    test(`${view} at 400 %: all of it can be reached by scrolling one way`, { skip }, async () => {
        const at = await page(views[view][0], { viewport: { width: 320, height: 256 }, deviceScaleFactor: 4 });
        await at.locator(views[view][1]).first().waitFor();
        await settled(at);
        const { wide, lost } = await at.evaluate(() => ({
            wide: document.documentElement.scrollWidth,
            lost: [...document.querySelectorAll("button, input, select, [role=tab]")]
                .filter((element) => {
                    const box = element.getBoundingClientRect();
                    const scrolls = element.closest(".log-scroll, .table-scroll, .data-table, .memory-scroll, .saves-card, dialog");
                    return box.width > 0 && !scrolls && (box.left < -1 || box.right > 321);
                })
                .map((element) => element.textContent || element.getAttribute("aria-label")),
        }));
        assert.ok(wide <= 320, `the page is ${wide} px wide`);
        assert.deepEqual(lost, []);
        await finish(at);
    });
}

// The picture itself, not its explanation.
for (const [view, drawn] of [["timeline", ".timeline canvas"], ["memory", ".memory canvas"]]) {
    test(`${view} at 400 % and on a phone: the picture begins on the first screen`, { skip }, async () => {
        for (const viewport of [{ width: 320, height: 256 }, { width: 390, height: 844 }]) {
            const at = await page(`view=${view}`, { viewport, deviceScaleFactor: 2 });
            await at.locator(drawn).first().waitFor();
            await settled(at);
            const { y } = await at.locator(drawn).first().boundingBox();
            assert.ok(y < viewport.height * 0.5, `${view} begins at ${y} of ${viewport.height}`);
            await at.getByText("Colours and switches").click();
            await at.getByText(view === "timeline" ? "waiting" : "untouched", { exact: true }).first().waitFor();
            await finish(at);
        }
    });
}

const windows = [{ width: 1280, height: 800 }, { width: 390, height: 844 }, { width: 320, height: 256 }];

test("what stands beside the bars is whole, in windows of every size", { skip }, async () => {
    const at = await page("view=timeline", { viewport: windows[0] });
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    for (const [colorScheme, viewport] of ["light", "dark"].flatMap((scheme) => windows.map((size) => [scheme, size]))) {
        await at.emulateMedia({ colorScheme });
        await at.setViewportSize(viewport);
        await settled(at);
        const labels = await at.locator(".track .side").evaluateAll((list) =>
            list.map((side) => {
                const words = document.createRange();
                words.selectNodeContents(side.firstElementChild);
                const [box, frame] = [words.getBoundingClientRect(), side.getBoundingClientRect()];
                const shown = [...side.querySelectorAll("b, .size")].map((one) => one.textContent).join(" ");
                return { shown, cut: box.right > frame.right + 0.5 || box.bottom > frame.bottom + 2 || box.top < frame.top - 2 }; // above and below letters is air
            }),
        );
        assert.ok(labels.length >= 2);
        for (const { shown, cut } of labels) {
            assert.match(shown, /^(DISK|BUFFER) [\d.]+ [KMG]iB$/);
            assert.ok(!cut, `"${shown}" is cut at ${viewport.width} x ${viewport.height}`);
        }
    }
    await finish(at);
});

test("access order says what its colours mean, in windows of every size", { skip }, async () => {
    const at = await page("view=storage&part=access", { viewport: windows[0] });
    const legend = at.locator("#access-legend");
    const said = async () => (await legend.innerText()).replaceAll("\u00a0", " ");
    await settled(at);
    // The strongest colour stands for the largest cell.
    const path = await at.evaluate(() => performance.getEntriesByType("resource").map((one) => one.name).filter((name) => name.includes("/access?")).at(-1));
    const { amount, layer } = await columns(at, path.slice(path.indexOf("/api/")));
    const most = Math.max(...amount.filter((_, i) => layer[i] === 0));
    const [, value, unit] = /([\d.]+) ([KMG]iB)\s+in [\d.]+ [mu]?s ×/.exec(await said());
    assert.ok(Math.abs(value * { KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30 }[unit] - most) <= most * 0.006, `${value} ${unit} for ${most}`);
    for (const [colorScheme, viewport] of ["light", "dark"].flatMap((scheme) => windows.map((size) => [scheme, size]))) {
        await at.emulateMedia({ colorScheme });
        await at.setViewportSize(viewport);
        await settled(at);
        await becomes(said, /^\D*[\d.]+ (B|KiB|MiB)\s*[\d.]+ (KiB|MiB|GiB)\s+in [\d.]+ (us|ms|s) × [\d.]+ (KiB|MiB)[^]*nothing$/);
        const [scale, all] = [await legend.locator(".heat-scale").boundingBox(), await legend.boundingBox()];
        assert.ok(scale.width >= 40 && all.x >= 0 && all.x + all.width <= viewport.width, JSON.stringify({ scale, all, viewport }));
    }
    await finish(at);
});

test("two fingers zoom the timeline, one that taps selects an op", { skip }, async () => {
    const at = await page("view=timeline", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    const canvas = at.locator(".timeline canvas").first();
    await canvas.waitFor();
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    // Where the first lane computes most: elsewhere there may be only waits on a busy machine.
    const about = await at.evaluate(async () => (await fetch("./api/x/0/summary")).json());
    const lanes = await columns(at, `/api/x/0/timeline?begin=${about.begin_ns}&end=${about.end_ns}&pixels=300`);
    const bins = lanes.begin_ns.map((begin, i) => ({ begin, busy: lanes.lane[i] === lanes.lane[0] ? lanes.busy_ns[i] : 0 }));
    const [{ begin: busiest }, around] = [bins.reduce((best, bin) => (bin.busy > best.busy ? bin : best)), 8 * 2 ** lanes.header.level];
    const shown = [Math.max(0, Math.floor(lanes.header.base_ns + busiest - around)), Math.ceil(lanes.header.base_ns + busiest + around)];
    await at.evaluate(([from, to]) => (location.hash += `&zoom=${from}..${to}`), shown);
    await hashed(at, new RegExp(`zoom=${shown[0]}\\.\\.`));
    await settled(at);
    const box = await canvas.boundingBox();
    const [x, y] = [box.x + box.width * 0.6, box.y + 90];
    const session = await at.context().newCDPSession(at);
    const touch = (type, ...points) => session.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([px, id]) => ({ x: px, y, id })) });
    await touch("touchStart", [x - 20, 0], [x + 20, 1]);
    for (let by = 30; by <= 100; by += 10) await touch("touchMove", [x - by, 0], [x + by, 1]);
    await touch("touchEnd");
    await becomes(async () => (await hashOf(at)).includes(`zoom=${shown.join("..")}`), false, "the zoom is what it was:");
    await settled(at);
    const [, begin, end] = (await hashed(at, /zoom=(\d+)\.\.(\d+)/)).map(Number);
    assert.ok(end - begin < (shown[1] - shown[0]) / 2, `${end - begin} of ${shown[1] - shown[0]}`);
    for (let i = 0; i < 12 && !/op=/.test(await hashOf(at)); i++) {
        await at.touchscreen.tap(box.x + 100 + ((i * 37) % 250), y);
        await settled(at);
    }
    assert.match(await hashOf(at), /op=\d+\.\d+/);
    await finish(at);
});

test("forced colours: what is selected can still be told", { skip }, async () => {
    const at = await page("view=log", { forcedColors: "active" });
    await at.locator("#log-row-2:not(.loading)").click();
    await becomes(() => at.locator("#log-row-2.selected").evaluate((row) => getComputedStyle(row).outlineStyle), "solid");
    await finish(at);
});
