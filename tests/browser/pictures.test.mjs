// Every picture of every view: shows values with units under the pointer, can be saved as PNG, SVG,
// PDF and CSV, and explains how it was computed, with a command that runs.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { becomes, cleanUp, finish, ggscope, json, open, parseCsv, recorded, serve, settled, skip, stats } from "./browser.mjs";

after(cleanUp);

// Everything that can be recorded here, of a model with experts.
const all = () => recorded("moe", { as: "all-of-moe", options: ["--faults", "--residency", "--values"] });
let server;
const started = async () => (server ??= await serve(all(), recorded("moe", { as: "other-moe", threads: 1 })));

// The places of all pictures.
const places = [
    ["view=memory", ["memory", "tokens"]],
    ["view=timeline", ["memory-bars", "tokens", "timeline"]],
    ["view=graph&tokens=1..1", ["memory-bars", "tokens", "graph"]],
    ["view=log", ["memory-bars", "tokens"]],
    ["view=statistics", ["icicle", "expert-matrix"]],
    ["view=statistics&statistics=efficiency", ["roofline", "durations", "kv-cells"]],
    ["view=compare", ["compare-lanes"]],
    ["view=storage", ["storage-by-token", "residency"]],
    ["view=storage&part=access", ["access-order"]],
    ["view=storage&part=less", ["less-memory"]],
    ["view=experts", ["experts-layer-0", "experts-by-use-0", "working-sets"]],
    ["view=values", ["values-map", "values-layers"]],
];

// Chromium drops a page's eleventh download within a second.
const downloads = new WeakMap(); // of each page: when they began
async function save(page, button) {
    const begun = downloads.get(page) ?? [];
    downloads.set(page, begun);
    await page.waitForFunction((tenth) => Date.now() - tenth > 1000, begun.at(-10) ?? 0);
    const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
    begun.push(Date.now());
    return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

// Every object is where the table at the end says.
function checkPdf(text, file) {
    const [, start] = /^%PDF-1\.4\n[^]*\nstartxref\n(\d+)\n%%EOF\n$/.exec(text) ?? assert.fail(`${file}: no PDF`);
    const [, ...places] = [...text.slice(Number(start)).matchAll(/^(\d{10}) \d{5} [nf] $/gm)];
    assert.ok(text.startsWith("xref\n", Number(start)) && places.length > 3, file);
    for (const stream of text.matchAll(/\/Length (\d+)\s*>>\s*stream\n/g)) assert.match(text.slice(stream.index + stream[0].length + Number(stream[1])).slice(0, 24), /^\s*endstream\s+endobj\n/, file);
    places.forEach(([, at], i) => assert.match(text.slice(Number(at), Number(at) + 20), new RegExp(`^${i + 1} 0 obj`), file));
}

// The text about a point of the picture: a tooltip, a card, or a title.
function saidAt(page, x, y) {
    return page.evaluate(
        ([left, top]) => {
            const tips = [...document.querySelectorAll("[role=tooltip], .tip, .lens, .linked [role=status]")].filter((one) => one.getClientRects().length > 0).map((one) => one.textContent);
            let titled = document.elementFromPoint(left, top);
            while (titled && !titled.getAttribute("title")) titled = titled.parentElement;
            return [...tips, titled?.getAttribute("title") ?? ""].join(" ").trim();
        },
        [x, y],
    );
}
const withUnit = /\d[\d.,]*\s*(ns|us|ms|s|B|KiB|MiB|GiB|%|tokens?|times?|ops?|×|x|flop|GB|Gflop)\b|\d+\s*%|\b(token|layer|expert|cells|weight|offset)\b[^]*\d/;

test("every picture says values, leaves as files and tells how it was computed", { skip }, async (t) => {
    const { url } = await started();
    const seen = new Set();
    for (const [fragment, wanted] of places) {
        const page = await open(url, { fragment, viewport: { width: 1280, height: 900 } });
        for (const file of wanted) await page.locator(`[data-picture="${file}"]`).first().waitFor();
        await settled(page);
        const files = await page.locator("[data-picture]").evaluateAll((list) => list.map((one) => one.dataset.picture));
        // Every large drawing is a picture or part of one.
        const stray = await page.evaluate(() =>
            [...document.querySelectorAll("#view canvas, #view svg, .tracks canvas, .scrubber canvas")]
                .filter((one) => one.getBoundingClientRect().width > 40 && !one.closest("[data-picture], [data-picture-of], .lens, button"))
                .map((one) => one.outerHTML.slice(0, 200)),
        );
        assert.deepEqual(stray, [], fragment);
        for (const file of files) {
            if (seen.has(file)) continue;
            seen.add(file);
            const picture = page.locator(`[data-picture="${file}"]`).first();
            const menu = picture.locator(".saves > button");
            if ((await menu.count()) > 0) await menu.click();
            const button = (kind) => picture.getByRole("button", { name: new RegExp(`^Save ".*" as ${kind}$`) });

            const png = await save(page, button("PNG"));
            assert.match(png.name, /\.png$/);
            assert.equal(png.bytes.subarray(1, 4).toString(), "PNG", file);
            assert.ok(png.bytes.readUInt32BE(16) > 60 && png.bytes.readUInt32BE(20) > 10, `${file}: ${png.bytes.readUInt32BE(16)} x ${png.bytes.readUInt32BE(20)}`);
            const svg = (await save(page, button("SVG"))).bytes.toString();
            assert.match(svg, /^<svg [^]*<\/svg>\n?$/, file);
            assert.ok((svg.match(/<(rect|circle|path|polyline|line|text|image)\b/g) ?? []).length > 3, `${file}: an SVG with next to nothing in it`);
            assert.match(svg.replace(/<[^>]*>/g, " "), /ggscope-engine\S* run[^]*· ggscope/, `${file}: no caption`);
            checkPdf((await save(page, button("PDF"))).bytes.toString("latin1"), file);
            const csv = (await save(page, button("CSV"))).bytes.toString();
            const rows = parseCsv(csv);
            assert.ok(rows.length > 0, `${file}: a CSV without rows`);

            const details = picture.locator("details.computed").first();
            if (!(await details.evaluate((one) => one.open))) await details.locator("summary").click();
            assert.ok((await details.locator("p").innerText()).length > 40, file);
            const command = (await details.locator("pre").innerText()).trim();
            const ran = spawnSync("sh", ["-c", command.replace(/^ggscope/, `'${ggscope}'`)], { encoding: "utf8", maxBuffer: 1 << 28 });
            assert.equal(ran.status, 0, `${file}: ${command}: ${ran.stderr}`);
            assert.ok(ran.stdout.length > 20, command);
            if ((await menu.count()) > 0) await menu.click();
            else await details.locator("summary").click();

            // Some point of it shows a value with its unit.
            const drawn = file === "graph" ? page.locator(".graph-scroll [title], .graph-scroll .block").first() : picture.locator("canvas, svg.chart, .slots, ol").first();
            await drawn.scrollIntoViewIfNeeded();
            const box = await drawn.boundingBox();
            // A lens appears after a moment, so the pointer rests at each place for a while.
            let look = 0;
            const said = async () => {
                const i = Math.floor(look / 8);
                const [x, y] = [box.x + box.width * ((i * 0.37 + 0.31) % 1), Math.min(890, box.y + Math.min(box.height, 900 - box.y) * ((i * 0.61 + 0.5) % 1))];
                if (look++ % 8 === 0) await page.mouse.move(x - 1, y).then(() => page.mouse.move(x, y));
                return saidAt(page, x, y);
            };
            await becomes(said, withUnit, `${file}: nothing is said where one points`);
        }
        await finish(page);
    }
    for (const [, wanted] of places) for (const file of wanted) assert.ok(seen.has(file), file);
    t.diagnostic(`${seen.size} pictures: ${[...seen].join(", ")}`);
});

test("texts of a saved graph end within their nodes, as on the page", { skip }, async () => {
    const { url } = await started();
    // With values as colours the SVG is the page's own; it has styles.
    const page = await open(url, { fragment: "view=graph&tokens=1..1&colour=values", viewport: { width: 1280, height: 900 }, bypassCSP: true });
    await page.locator(".block-name").nth(2).click();
    await page.locator(".node").first().waitFor();
    await settled(page);
    await page.locator('[data-picture="graph"] .saves > button').click();
    const svg = (await save(page, page.getByRole("button", { name: 'Save "Graph" as SVG' }))).bytes.toString();
    const boxes = await page.evaluate((text) => {
        const holder = document.body.appendChild(document.createElement("div"));
        holder.append(document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true));
        const of = (name) => [...holder.querySelectorAll(name)].map((one) => [one.textContent, one.getBoundingClientRect().toJSON()]);
        return { texts: of("text"), nodes: of('rect[rx="5"]') };
    }, svg);
    assert.ok(boxes.nodes.length > 20);
    const over = boxes.nodes.flatMap(([, node]) => boxes.texts.filter(([, { left, right, top, bottom }]) => left > node.left && left < node.right && top > node.top && bottom < node.bottom && right > node.right + 2));
    assert.deepEqual(over.map(([text]) => text), []);
    await finish(page, { close: true });
});

test("efficiency has the numbers of ggscope stats --roofline", { skip }, async () => {
    const { url } = await started();
    const page = await open(url, { fragment: "view=statistics&statistics=efficiency&tokens=1..2" });
    const told = json("stats", "--roofline", "--token", "1..2", all()).by_op;
    await page.locator('[data-picture="roofline"]').waitFor();
    await settled(page);
    const rows = parseCsv((await save(page, page.getByRole("button", { name: 'Save "Rates and waits by op" as CSV' }))).bytes.toString());
    assert.equal(rows.length, told.length);
    for (const row of told) {
        const shown = rows.find((one) => one.op === row.op && one.component === row.component && one.phase === row.phase);
        assert.ok(shown, `${row.op} ${row.component}`);
        assert.equal(shown.wall_ns, row.wall_ns);
        assert.ok(Math.abs(shown.gbytes_per_second - (row.bytes_read + row.bytes_written) / row.wall_ns) < 1e-9);
        if (row.flops !== null) assert.ok(Math.abs(shown.gflops_per_second - row.flops / row.wall_ns) < 1e-9);
        else assert.equal(shown.gflops_per_second, "");
    }
    await finish(page);
});

test("compare has the numbers and the words of ggscope diff", { skip }, async () => {
    const { url } = await started();
    const page = await open(url, { fragment: "view=compare" });
    const [a, b] = [all(), recorded("moe", { as: "other-moe" })];
    const told = json("diff", a, b);
    await page.locator("tr", { hasText: "page faults" }).first().waitFor();
    await settled(page);
    const rows = parseCsv((await save(page, page.getByRole("button", { name: 'Save "In numbers" as CSV' }))).bytes.toString());
    const names = { threads: "threads", op_runs: "op runs", bytes_read: "bytes read", bytes_disk: "in mapped files", buffers: "buffers", peak_bytes: "peak of buffers" };
    for (const [key, name] of Object.entries(names)) {
        const row = rows.find((one) => one.what === name);
        const { a: first, b: second } = told.totals[key];
        if (first === second) assert.equal(row, undefined, name);
        else assert.deepEqual([row.a, row.b], [first, second], name);
    }
    const faults = [a, b].map((directory) => stats(directory).machine.faults);
    const shown = rows.find((one) => one.what === "page faults");
    if (faults.every(Boolean)) assert.deepEqual([shown.a, shown.b], faults.map((one) => one.minor + one.major)); // where the kernel shows them
    // Words and changes are those of the terminal's text.
    const text = spawnSync(ggscope, ["diff", a, b], { encoding: "utf8" }).stdout;
    const tile = await page.locator(".tile", { hasText: "A generated token" }).innerText();
    const [, change, word] = /\n([^\n,]+), ([^\n]+)$/.exec(tile.trim());
    const line = text.split("\n").find((one) => one.startsWith("a generated token"));
    assert.ok(line.includes(change) && line.includes(word), `${tile} is not in ${line}`);
    const said = (await page.locator(".compare").innerText()).toLowerCase();
    for (const [, sentence] of text.matchAll(/^(?:shift|cause:) +(.+)$/gm)) assert.ok(said.includes(sentence.toLowerCase()), sentence);
    // The address has the zoom of the lanes.
    await page.locator(".compare-lane canvas").first().focus();
    await page.keyboard.press("KeyW");
    await page.waitForFunction(() => /lanes=\d+\.\.\d+/.test(location.hash));
    await page.keyboard.press("Digit0");
    await page.waitForFunction(() => !/lanes=/.test(location.hash));
    // A cause that only one of the two has, and a shift that is more than a percentage.
    const cause = "only B: ops wait for pages of the model: a limit of 72.0 MiB (up to 13 % of the token time)";
    await page.route(/\/api\/compare\?/, async (route) => {
        const response = await route.fetch();
        return route.fulfill({ response, ...(response.status() === 200 ? { json: { ...(await response.json()), identical: false, shift: 2.05, causes: [cause] } } : {}) });
    });
    await page.getByRole("button", { name: "Swap A and B" }).click();
    await page.getByText(`Cause: ${cause}`).waitFor();
    await page.getByText("The typical op takes 2.0 × as long in B; the machine may be why.").waitFor();
    await finish(page);
});
