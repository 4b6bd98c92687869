// Sharing: a link to one recording, a report, figures for a paper; and the causes in compare.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { becomes, cleanUp, finish, open, recorded, serve, settled, skip } from "./browser.mjs";

let server;
const started = async () => (server ??= await serve(recorded("moe"), recorded("tiny")));
const page = async (fragment, options) => open((await started()).url, { fragment, viewport: { width: 1280, height: 800 }, ...options });
after(cleanUp);

async function save(at, button) {
    const [file] = await Promise.all([at.waitForEvent("download"), button.click()]);
    return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}
const sizeOf = ({ bytes }) => [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];

test("a link to this place opens this recording alone, at this place, in another browser", { skip }, async () => {
    const at = await page("view=statistics&layer=3");
    await settled(at);
    await at.getByRole("button", { name: "Share", exact: true }).click();
    const link = await becomes(() => at.getByLabel("Link", { exact: true }).inputValue(), /#.*layer=3/);
    assert.ok(!link.includes(new URL((await started()).url).pathname.slice(1, -1)), "the server's own token is in it");
    await at.getByText("The server listens on this machine only").waitFor();
    const guest = await open(link, { viewport: { width: 1280, height: 800 } });
    await guest.locator('#tab-statistics[aria-selected="true"]').waitFor();
    await guest.locator(".chip", { hasText: "layer 3" }).waitFor();
    await settled(guest);
    assert.equal(await guest.getByLabel("Experiment", { exact: true }).count(), 0);
    assert.match(await at.getByLabel("Command", { exact: true }).inputValue(), /^ggscope report (\S*moe|'[^']*moe') -o moe\.html$/);
    assert.match(await at.getByLabel("File and place").inputValue(), /^moe\.html#.*view=statistics.*layer=3/);
    await finish(guest);
    await finish(at);
});

test("figures are light on white whatever the page is, with title, legend, caption, as fine as asked", { skip }, async () => {
    const at = await page("view=timeline", { dark: true });
    await settled(at);
    await at.getByRole("button", { name: "Share", exact: true }).click();
    const two = await save(at, at.getByRole("button", { name: "Timeline as PNG", exact: true }));
    const four = await save(at, at.getByRole("button", { name: "Timeline as PNG, 4×" }));
    const svg = (await save(at, at.getByRole("button", { name: "Timeline as SVG" }))).bytes.toString();
    const [small, large] = [sizeOf(two), sizeOf(four)];
    assert.ok(small[0] > 2 * 1000 && Math.abs(large[0] / small[0] - 2) < 0.02 && Math.abs(large[1] / small[1] - 2) < 0.02, `${small} and ${large}`);
    for (const part of [/Timeline: /, /matrix product/, /waiting/, /ggscope-engine\S* run/, /<path /, /\d{4}-\d\d-\d\d /]) assert.ok(part.test(svg), String(part));
    // White at the edges, and bright on average.
    const [corner, mean] = await at.evaluate(async (data) => {
        const image = new Image();
        image.src = `data:image/png;base64,${data}`;
        await image.decode();
        const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
        const pen = canvas.getContext("2d");
        pen.drawImage(image, 0, 0);
        const { data: pixels } = pen.getImageData(0, 0, canvas.width, canvas.height);
        let sum = 0;
        for (let i = 0; i < pixels.length; i += 4) sum += pixels[i] + pixels[i + 1] + pixels[i + 2];
        return [[...pixels.subarray(0, 3)], sum / (pixels.length / 4) / 3];
    }, two.bytes.toString("base64"));
    assert.deepEqual(corner, [255, 255, 255]);
    assert.ok(mean > 140, `mean ${mean}`);
    // The page is dark again.
    await becomes(() => at.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--scheme").trim()), "dark");
    await finish(at);
});

// The browser paints a PNG from an SVG, which is kept in window.painted.
const keepPainted = (at) =>
    at.evaluate(() => {
        const { set } = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, "src");
        Object.defineProperty(HTMLImageElement.prototype, "src", { set(value) { window.painted = decodeURIComponent(value); set.call(this, value); } });
    });

test("the graph is saved whole, not as much of it as is in sight, and nothing hidden is printed", { skip }, async () => {
    const at = await page("view=graph", { viewport: { width: 900, height: 600 } });
    await keepPainted(at);
    await at.locator(".block").first().waitFor();
    await at.locator(".block-name").nth(2).click();
    await at.locator(".node").first().waitFor();
    await settled(at);
    assert.ok((await at.locator(".block").count()) < 20, "all of it is in sight: nothing to see here");
    await at.getByRole("button", { name: "Share", exact: true }).click();
    await save(at, at.getByRole("button", { name: "Graph as PNG", exact: true }));
    const png = await at.evaluate(() => window.painted);
    for (let layer = 0; layer < 24; layer++) assert.ok(png.includes(`>layer ${layer}<`), `layer ${layer}`);
    assert.ok(!png.includes(">weight <"), "hidden text is printed");
    assert.ok(!png.includes(">filter<"), "buttons are printed");
    assert.ok(png.includes("matrix product"), "no legend");
    // The SVG and the PDF have the layer that is open, else all.
    const opened = (await save(at, at.getByRole("button", { name: "Graph as SVG" }))).bytes.toString();
    assert.ok(opened.includes(">Qcur-1<"));
    await at.keyboard.press("Escape");
    await at.getByRole("button", { name: "collapse all" }).click();
    await settled(at);
    await at.getByRole("button", { name: "Share", exact: true }).click();
    const all = (await save(at, at.getByRole("button", { name: "Graph as SVG" }))).bytes.toString();
    assert.ok([">in<", ">layer<", ">time of a node<"].every((text) => all.includes(text)));
    assert.ok(!all.includes(">Qcur-1<"));
    assert.equal((await save(at, at.getByRole("button", { name: "Graph as PDF" }))).bytes.subarray(0, 5).toString(), "%PDF-");
    await finish(at, { close: true });
});

test("a PNG has what stands beside its canvases, whole lists, and labels that can be read", { skip }, async () => {
    const at = await open((await started()).url, { fragment: "view=experts&layer=3", viewport: { width: 1280, height: 800 }, dark: true });
    await keepPainted(at);
    const paintedFrom = async (title) => {
        await settled(at);
        await at.getByRole("button", { name: "Share", exact: true }).click();
        await save(at, at.getByRole("button", { name: `${title} as PNG`, exact: true }));
        await at.keyboard.press("Escape");
        return at.evaluate(() => window.painted);
    };
    await at.locator(".use-name").first().waitFor();
    const bars = await at.locator(".use-name").count();
    const byUse = await paintedFrom("Experts by use");
    const places = [...byUse.matchAll(/<text [^>]*\by="([\d.]+)"[^>]*>([^<]*)</g)].map(([, y, text]) => ({ y: Number(y), text }));
    assert.ok(places.some(({ text }) => text === "expert") && places.some(({ text }) => text === "times"));
    const last = places.filter(({ text }) => /^\d+$/.test(text)), never = places.find(({ text }) => text.includes("never chosen"));
    assert.equal(last.length, 2 * bars + (never ? 1 : 0));
    if (never) assert.ok(never.y > last.at(-2).y + 10, "the list covers what is below it");
    const both = await paintedFrom("Memory bars");
    for (const text of [">DISK<", ">BUFFER<"]) assert.ok(both.includes(text), text);
    await at.locator("#tab-storage").click();
    await at.getByRole("tab", { name: "Less memory" }).click();
    const less = await paintedFrom("What would less memory cost?");
    assert.match(less, /<svg [^>]*class="chart"[^>]* width="\d/);
    assert.match(less, /paint-order: stroke/);
    assert.match(less, />What would less memory cost\? Synthetic/);
    await finish(at, { close: true });
    // Lanes of two recordings: names, and bars before their background.
    const other = await serve(recorded("moe"), recorded("moe", { as: "moe-one-thread", threads: 1 }));
    const compare = await open(other.url, { fragment: "view=compare", viewport: { width: 1280, height: 800 } });
    await compare.locator(".compare-lane canvas").nth(1).waitFor();
    await settled(compare);
    const png = await save(compare, compare.getByRole("button", { name: 'Save "Lanes of both" as PNG', exact: true }));
    const blue = await compare.evaluate(async (data) => {
        const image = new Image();
        image.src = `data:image/png;base64,${data}`;
        await image.decode();
        const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
        const pen = canvas.getContext("2d");
        pen.drawImage(image, 0, 0);
        const { data: pixels } = pen.getImageData(0, canvas.height / 3, canvas.width, canvas.height / 2);
        let n = 0;
        for (let i = 0; i < pixels.length; i += 4) if (pixels[i] < 20 && pixels[i + 2] > 150 && pixels[i + 2] < 200) n++;
        return n;
    }, png.bytes.toString("base64"));
    assert.ok(blue > 500, `${blue} pixels of matrix products`);
    assert.deepEqual(await compare.locator('[data-picture="compare-lanes"] .legend span').first().innerText(), "matrix product");
    await finish(compare);
    await other.stop();
});

test("charts are saved with their legend and the titles of their axes, as SVG and PDF", { skip }, async () => {
    const at = await page("view=storage&part=less", { dark: true });
    await at.locator("svg.chart").waitFor();
    await settled(at);
    const svg = (await save(at, at.getByRole("button", { name: /^Save "What would less memory cost\?" as SVG$/ }))).bytes.toString();
    for (const part of ["read from the disk per token", "memory for weights (", "least recently used", "What less memory costs", "ggscope-engine"]) assert.ok(svg.includes(part), part);
    const pdf = (await save(at, at.getByRole("button", { name: /^Save "What would less memory cost\?" as PDF$/ }))).bytes;
    assert.match(pdf.toString("latin1"), /^%PDF-1\.4\n[^]*%%EOF\n$/);
    await finish(at);
});

test("figures that no view shows are saved from Share, of the tokens that are selected; a browser draws them", { skip }, async () => {
    const at = await page("view=log&tokens=1..2");
    await settled(at);
    await at.getByRole("button", { name: "Share", exact: true }).click();
    await at.getByText("More figures for a paper").click();
    for (const title of ["Accesses over file offset", "Reads of each token over file offset", "Use of experts"]) {
        const { bytes } = await save(at, at.getByRole("button", { name: `${title} as SVG`, exact: true }));
        const size = await at.evaluate(async (data) => {
            const image = new Image();
            image.src = `data:image/svg+xml;base64,${data}`;
            await image.decode();
            return [image.width, image.height];
        }, bytes.toString("base64"));
        assert.ok(size[0] > 300 && size[1] > 200, `${title}: ${size}`);
    }
    const rows = (await save(at, at.getByRole("button", { name: "Reads of each token over file offset as SVG" }))).bytes.toString();
    assert.match(rows, />1<[^]*>2</);
    assert.doesNotMatch(rows, /text-anchor="end"[^>]*>0</);
    await finish(at);
});

test("compare names what it knows: a cold start; a run without a limit has none", { skip }, async () => {
    const other = await serve(recorded("tiny", { as: "cold-tiny", options: ["--cold"] }), recorded("tiny"));
    const at = await open(other.url, { fragment: "view=compare" });
    await at.getByText("A began cold, with its model dropped from the page cache; B did not").waitFor();
    await settled(at);
    assert.doesNotMatch(await at.locator("#view").innerText(), /limit[^]{0,40}not recorded/);
    await finish(at);
    await other.stop();
});
