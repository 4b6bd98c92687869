// Bytes that the page loads, and that a long trace costs no more than a short one. (tests/ui checks
// the page's own size.)
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { becomes, build, cleanUp, finish, ggscope, model, open, output, recorded, root, scratch, serve, settled, show, skip } from "./browser.mjs";
import { preloadable } from "../lib.mjs";

after(cleanUp);

test("at most 200 KB before the first paint, all of it from this server", { skip }, async () => {
    const server = await serve(recorded("moe"));
    const at = await open(server.url);
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    await at.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
    const before = await at.evaluate(() => {
        const paint = performance.getEntriesByName("first-contentful-paint")[0].startTime;
        const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
        return all.filter((entry) => entry.responseEnd > 0 && entry.responseEnd <= paint).reduce((sum, entry) => sum + entry.transferSize, 0);
    });
    assert.ok(before > 0 && before <= 200_000, `${before} bytes`);
    await finish(at); // fails on a request to another host
    await server.stop();
});

// A recording of about this many op runs, grown from a short one.
let short;
const made = new Map();
function grown(opRuns) {
    if (made.has(opRuns)) return made.get(opRuns);
    if (!short) {
        short = scratch("short");
        const env = { ...process.env, LD_PRELOAD: preloadable(join(build, "lib", "libggscope-capture.so")), GGSCOPE_OUTPUT: short };
        output(join(build, "bin", "ggscope-engine"), ["run", "-m", model("tiny"), "-p", "Once upon a time", "-n", "10", "-t", "2", "--ignore-eos"], { env });
    }
    const directory = scratch(`grown-${opRuns}`);
    output("node", [join(root, "tests", "bench", "grow-spool.mjs"), join(short, "spool"), join(directory, "spool"), String(opRuns)]);
    output(ggscope, ["seal", "-q", directory]);
    made.set(opRuns, directory);
    return directory;
}

// Opens the timeline, zooms in tenfold and pans, then opens storage. Returns the bytes of the
// largest answer per path. Their number is not checked: a fast machine requests more of the windows
// that keys pass through, and polls jobs more often.
async function openAndPan(directory) {
    const server = await serve(directory);
    const page = await open(server.url, { fragment: "view=memory" });
    const largest = new Map();
    let under = 0;
    const counted = new Set();
    page.on("request", (request) => {
        if (request.url().includes("/api/events")) return;
        under++;
        counted.add(request);
    });
    const ended = async (request) => {
        if (!counted.delete(request)) return;
        const sizes = await request.sizes().catch(() => null);
        const path = new URL(request.url()).pathname.replace(/^\/[^/]+/, "");
        if (sizes) largest.set(path, Math.max(largest.get(path) ?? 0, sizes.responseBodySize + sizes.responseHeadersSize));
        under--;
    };
    page.on("requestfinished", ended);
    page.on("requestfailed", ended);
    const rests = async () => {
        await settled(page);
        await becomes(() => under, 0, "requests under way:");
    };
    await page.reload();
    await page.locator("#sentence", { hasText: "touched" }).waitFor({ timeout: 120_000 });
    await show(page, "timeline");
    await page.locator(".timeline canvas").first().waitFor();
    await rests();
    await page.locator("#view").focus();
    for (let i = 0; i < 5; i++) await page.keyboard.press("KeyW");
    await rests();
    for (let i = 0; i < 2; i++) await page.keyboard.press("KeyD");
    await rests();
    await show(page, "storage");
    await page.locator(".storage svg.chart").first().waitFor({ timeout: 60_000 });
    await rests();
    await finish(page);
    await server.stop();
    return largest;
}

test("ten million op runs cost the bytes of ten thousand", { skip, timeout: 600_000 }, async (t) => {
    const few = await openAndPan(grown(10_000));
    const many = await openAndPan(grown(10_000_000));
    const [less, more] = [few, many].map((largest) => [...largest.values()].reduce((all, bytes) => all + bytes, 0));
    t.diagnostic(`${less} bytes, and ${more}`);
    assert.ok(less > 20_000 && less <= 2 * more && more <= 2 * less, `${less} bytes, and ${more}`);
    // Small answers grow with the op runs until bins are folded; ten thousand bytes allow for that.
    for (const [path, bytes] of many) assert.ok(bytes <= 2 * Math.max(few.get(path) ?? 0, 10_000), `${path}: ${bytes} bytes instead of ${few.get(path)}`);
});

test("a log of millions of rows: its end, its middle and its neighbours are a moment away", { skip, timeout: 600_000 }, async () => {
    const server = await serve(grown(10_000_000));
    const page = await open(server.url, { fragment: "view=log" });
    const total = Number(await page.locator(".log-count[data-total]").getAttribute("data-total"));
    assert.ok(total >= 4_000_000, `${total} rows`);
    const number = async (row) => Number((await page.locator(`#log-row-${row} [role=gridcell]`).first().innerText()).replaceAll(",", ""));
    const loaded = (row) => page.locator(`#log-row-${row}:not(.loading)`).waitFor();
    const box = page.locator(".log-scroll");
    assert.ok((await box.evaluate((element) => element.scrollHeight)) < 8_100_000);
    await box.focus();
    await page.keyboard.press("End");
    await loaded(total - 1);
    assert.equal(await number(total - 1), total - 1);
    await page.keyboard.press("ArrowUp");
    await page.locator(`#log-row-${total - 2}.active`).waitFor();
    // The thumb moves by share of the rows, the wheel by rows.
    await box.evaluate((element) => (element.scrollTop = (element.scrollHeight - element.clientHeight) / 2));
    const top = () =>
        page
            .locator(".log-row")
            .first()
            .evaluate((row) => Number(row.id.slice(8)));
    await page.waitForFunction((n) => Math.abs(Number(document.querySelector(".log-row")?.id.slice(8)) / n - 0.5) < 0.01, total);
    const middle = await top();
    await loaded(middle + 5);
    assert.equal(await number(middle + 5), middle + 5);
    await box.hover();
    await page.mouse.wheel(0, 240);
    await page.waitForFunction((row) => Number(document.querySelector(".log-row")?.id.slice(8)) === row, middle + 10);
    await loaded(middle + 10);
    await finish(page);
    await server.stop();
});
