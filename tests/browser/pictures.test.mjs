// Every picture of every view: values with units where one points, it leaves as PNG, SVG, PDF and CSV, and it says
// how it was computed, with a command that runs.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { becomes, cleanUp, finish, ggscope, json, open, parseCsv, recorded, serve, settled, skip, stats } from "./browser.mjs";

after(cleanUp);

// All that can be recorded here, of a model with experts.
const all = () => recorded("moe", { as: "all-of-moe", options: ["--faults", "--residency", "--values"] });
let server;
const started = async () => (server ??= await serve(all(), recorded("moe", { as: "other-moe", threads: 1 })));

// Where pictures are, and which.
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

// docs/ui.md says why.
const withoutPdf = new Set(["graph"]);

async function save(page, button) {
    const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
    return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

// What is said about a point of the picture: a tooltip, a card, or the title of what lies there.
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
        // What is drawn and large enough to be a picture is one of them, or part of one.
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
            assert.match(svg.replace(/<[^>]*>/g, " "), /ggscope-engine run[^]*· ggscope/, `${file}: no caption`);
            if (withoutPdf.has(file)) assert.equal(await button("PDF").count(), 0, file);
            else assert.match((await save(page, button("PDF"))).bytes.toString("latin1"), /^%PDF-1\.4\n[^]*%%EOF\n$/, file);
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

            // Somewhere on it a value is said, with its unit.
            const drawn = file === "graph" ? page.locator(".graph-scroll [title], .graph-scroll .block").first() : picture.locator("canvas, svg.chart, .slots, ol").first();
            await drawn.scrollIntoViewIfNeeded();
            const box = await drawn.boundingBox();
            // A lens comes after a moment: the pointer rests on a place for some looks before it tries another.
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
    assert.deepEqual([shown.a, shown.b], faults.map((one) => one.minor + one.major));
    // Words and changes stand in the terminal's text as they stand here.
    const text = spawnSync(ggscope, ["diff", a, b], { encoding: "utf8" }).stdout;
    const tile = await page.locator(".tile", { hasText: "A generated token" }).innerText();
    const [, change, word] = /\n([^\n,]+), ([^\n]+)$/.exec(tile.trim());
    const line = text.split("\n").find((one) => one.startsWith("a generated token"));
    assert.ok(line.includes(change) && line.includes(word), `${tile} is not in ${line}`);
    // A zoom of the lanes is in the address.
    await page.locator(".compare-lane canvas").first().focus();
    await page.keyboard.press("KeyW");
    await page.waitForFunction(() => /lanes=\d+\.\.\d+/.test(location.hash));
    await page.keyboard.press("Digit0");
    await page.waitForFunction(() => !/lanes=/.test(location.hash));
    await finish(page);
});
