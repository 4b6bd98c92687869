// Three or more recordings side by side on the page, with the numbers of ggscope diff and ggscope
// experts.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { axeSource, becomes, cleanUp, finish, hashed, json, open, recorded, savedCsv, serve, settled, skip, stats } from "./browser.mjs";

after(cleanUp);

// Other threads, other numbers of tokens, and a dense model.
const moes = () => [recorded("moe"), recorded("moe", { as: "other-moe", threads: 1 }), recorded("moe", { as: "third-moe", tokens: 5 })];
let server;
const started = async () => (server ??= await serve(...moes(), recorded("tiny")));

const letters = ["a", "b", "c"];

test("the times above the lanes of both are whole, in windows of every size", { skip }, async () => {
    // The time of 100 us is 10 pixels from the edge.
    const at = await open((await started()).url, { fragment: "view=compare&lanes=0..105000" });
    await at.locator(".compare-axis span").nth(1).waitFor();
    for (const [width, height] of [[320, 640], [1280, 800]]) {
        await at.setViewportSize({ width, height });
        await settled(at);
        const cut = await at.locator(".compare-axis > div").evaluateAll((all) => all.flatMap((axis) => [...axis.children].filter((one) => one.getBoundingClientRect().right > axis.getBoundingClientRect().right + 0.5).map((one) => one.textContent)));
        assert.deepEqual(cut, [], `${width} px`);
        assert.ok((await at.locator(".compare-axis > div > span").count()) > 1);
    }
    await finish(at);
});

test("a third recording is added by keyboard; conditions, figures and noise are those of ggscope diff", { skip }, async () => {
    const { url } = await started();
    const page = await open(url, { fragment: "view=compare" });
    await page.getByLabel("Recording B").selectOption({ label: "other-moe" });
    await page.locator(".compare .tile").first().waitFor();
    await page.getByRole("button", { name: "+ another recording" }).focus();
    await page.keyboard.press("Enter");
    // The focus is on the list of the added recording; keys choose from it.
    await becomes(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Recording C");
    const third = () => page.getByLabel("Recording C").evaluate((one) => one.selectedOptions[0].textContent);
    await page.keyboard.press("End");
    await becomes(third, "tiny");
    await page.keyboard.press("ArrowUp");
    await becomes(third, "third-moe");
    await page.locator('table:has-text("tokens per second")').waitFor();

    const told = json("diff", ...moes());
    const conditions = await savedCsv(page, page.getByRole("button", { name: /Save "The conditions that differ" as CSV/ }));
    assert.deepEqual(letters.map((letter) => conditions[0][letter]), ["moe", "other-moe", "third-moe"]);
    for (const { condition, values } of told.conditions) {
        const row = conditions.find((one) => one.condition === condition);
        assert.deepEqual(letters.map((letter) => String(row[letter])), values, condition);
    }
    const figures = await savedCsv(page, page.getByRole("button", { name: /Save "In numbers" as CSV/ }));
    for (const row of figures) {
        const figure = told.figures.find((one) => one.figure === row.figure);
        letters.forEach((letter, i) => assert.ok(figure.values[i] === null ? row[letter] === "" : Math.abs(row[letter] - figure.values[i]) <= 1e-9 * Math.abs(figure.values[i]), row.figure));
        assert.equal(row.verdict === "differs", figure.differs, row.figure);
    }
    assert.ok(figures.some((row) => row.figure === "tokens_per_s"));

    // The address has the choice: opened elsewhere, it shows the same.
    const ids = moes().map((directory) => stats(directory).experiment_id);
    await hashed(page, new RegExp(`a=${ids[0]}.*b=${ids[1]}.*more=${ids[2]}`));
    const again = await open(page.url());
    await becomes(() => again.getByLabel("Recording C").evaluate((one) => one.selectedOptions[0].textContent), "third-moe");
    await finish(again);

    // Two are left: the comparison of two, op by op.
    await page.getByRole("button", { name: "Remove C, third-moe" }).focus();
    await page.keyboard.press("Enter");
    await page.locator(".compare .tile").first().waitFor();
    await becomes(() => page.evaluate(() => document.activeElement?.textContent), "+ another recording");
    await finish(page);
});

test("experts of several recordings are those of ggscope experts; a dense one among them is named", { skip }, async () => {
    const { url } = await started();
    const ids = moes().map((directory) => stats(directory).experiment_id);
    const page = await open(url, { fragment: `view=compare&a=${ids[0]}&b=${ids[1]}&more=${ids[2]}` });
    await page.getByText("Experts over these recordings").click();
    await page.locator('[data-picture="expert-domain-matrix"] canvas').waitFor();
    const told = json("experts", ...moes());
    const each = await savedCsv(page, page.getByRole("button", { name: /Save "Experts of each recording" as CSV/ }));
    told.domains.forEach((domain, i) => {
        assert.equal(each[i].tokens, domain.tokens);
        assert.ok(Math.abs(each[i].entropy - domain.entropy) < 1e-9);
        assert.equal(each[i].specialists, domain.specialists);
    });
    for (const { a, b, overlap } of told.pairs) assert.ok(Math.abs(each[a][`with_${letters[b]}`] - overlap) < 1e-9);
    const matrix = page.locator('[data-picture="expert-domain-matrix"]');
    const cells = await savedCsv(page, matrix.getByRole("button", { name: /as CSV$/ }));
    const layer = told.by_layer[1];
    layer.domains.forEach(({ shares }, i) =>
        shares.forEach((share, expert) => {
            const cell = cells.find((one) => one.layer === layer.layer && one.recording === each[i].recording && one.expert === expert);
            assert.ok(Math.abs(cell.share - share) < 1e-9);
        }),
    );
    // One layer alone, and the spoken text of a cell.
    await page.getByLabel("Layer of the matrix").selectOption(String(layer.layer));
    await hashed(page, new RegExp(`domains-layer=${layer.layer}`));
    await matrix.locator("canvas").focus();
    await page.keyboard.press("ArrowRight");
    await becomes(() => page.locator("[aria-live]").allInnerTexts().then((all) => all.join(" ")), new RegExp(`layer ${layer.layer}, A moe, expert 1: .* of the choices`));
    await matrix.getByRole("button", { name: "View as table" }).click();
    await matrix.locator(".data-table").waitFor();
    const dense = stats(recorded("tiny")).experiment_id;
    const mixed = await open(url, { fragment: `view=compare&a=${ids[0]}&b=${ids[1]}&more=${dense}&domains=1` });
    await mixed.getByText("No experts: C.").waitFor();
    await finish(mixed);
    await finish(page);
});

test("several: nothing for axe-core, light and dark; 320 pixels are enough", { skip }, async () => {
    const { url } = await started();
    const ids = [...moes(), recorded("tiny")].map((directory) => stats(directory).experiment_id);
    for (const [dark, viewport] of [[false, { width: 1280, height: 800 }], [true, { width: 1280, height: 800 }], [false, { width: 320, height: 640 }]]) {
        const page = await open(url, { fragment: `view=compare&a=${ids[0]}&b=${ids[1]}&more=${ids[2]}&domains=1`, dark, viewport });
        await page.locator('[data-picture="expert-domain-matrix"] canvas').waitFor();
        await settled(page);
        await page.evaluate(readFileSync(axeSource(), "utf8"));
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target.join(" ")).join(", ")}`), []);
        const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(wide <= room, `the page is ${wide} pixels wide in ${room}`);
        await finish(page);
    }
});
