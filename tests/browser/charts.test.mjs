// Pictures of storage, efficiency and experts: they draw their numbers, and keys reach all of it.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { becomes, cleanUp, finish, hashed, hashOf, json, model, open, recorded, scratch, ggscope, output, serve, settled, skip } from "./browser.mjs";

let server;
const page = async (fragment, options) => open((server ??= await serve(recorded("moe", { tokens: 12 }))).url, { fragment, viewport: { width: 1280, height: 800 }, ...options });
after(cleanUp);
const said = (at) => at.locator("#announcer").innerText();

// The height of a path of horizontal and vertical lines at x, in its own coordinates.
function heightAt(path, x) {
    let [at, y] = [0, 0];
    for (const [, kind, a, b] of path.matchAll(/([MHV])([\d.]+)(?: ([\d.]+))?/g)) {
        if (kind === "M") [at, y] = [Number(a), Number(b)];
        else if (kind === "V") y = Number(a);
        else if (Number(a) > x + 0.06) return y;
        else at = Number(a);
    }
    return y;
}

test("less memory: the curve of least recently used has steps, and says at each budget what the tile says", { skip }, async () => {
    const at = await page("view=storage&part=less");
    await at.locator("[data-tile=paging-lru]").waitFor();
    await settled(at);
    const known = await at.evaluate(async () => {
        for (;;) {
            const answer = await fetch("./api/x/0/paging");
            if (answer.status !== 202) return answer.json();
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
    });
    const path = await at.locator('[data-picture="less-memory"] path[data-series="least recently used"]').getAttribute("d");
    assert.doesNotMatch(path, /L/, "points are joined by slanted lines");
    // Two lines of the grid give the scale.
    const grid = await at.locator('[data-picture="less-memory"] svg g:has(line.grid)').evaluateAll((all) => all.map((one) => [Number(one.querySelector("line").getAttribute("y1")), one.querySelector("text").textContent]));
    const inBytes = (text) => Number.parseFloat(text) * { B: 1, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30 }[text.split(" ")[1]];
    const [[zero], [y, text]] = [grid.find((one) => inBytes(one[1]) === 0), grid.at(-1)];
    const perPixel = inBytes(text) / (zero - y);
    const slider = at.getByLabel("Memory for weights");
    for (const [i, budget] of known.budgets.entries()) {
        await slider.fill(String(i));
        await settled(at);
        const x = Number(await at.locator('[data-picture="less-memory"] line.at').first().getAttribute("x1"));
        const drawn = (zero - heightAt(path, x)) * perPixel;
        const wanted = budget.policies.lru.bytes_per_token;
        assert.ok(Math.abs(drawn - wanted) <= 1.5 * perPixel, `at ${budget.memory_bytes} bytes ${drawn} is drawn, the tile says ${wanted}`);
    }
    await finish(at);
});

test("less memory: a limit above all that is read has its line and its words in sight; one far above has none", { skip }, async () => {
    for (const [times, lines] of [[0.5, 1], [1.4, 1], [3, 0]]) {
        const at = await page("view=storage");
        await at.route(/\/paging\b/, async (route) => {
            const response = await route.fetch();
            if (response.status() !== 200) return route.fulfill({ response });
            const answer = await response.json();
            await route.fulfill({ response, json: { ...answer, memory_limit: Math.round(times * answer.touched_bytes) } });
        });
        await at.getByText("Less memory", { exact: true }).first().click();
        const chart = at.locator('[data-picture="less-memory"] svg.chart');
        await chart.waitFor();
        await settled(at);
        const words = chart.locator("text", { hasText: "limit of this recording" });
        assert.equal(await words.count(), lines, `${times}`);
        if (lines > 0) {
            const [box, around] = [await words.boundingBox(), await chart.boundingBox()];
            assert.ok(box.x >= around.x && box.x + box.width <= around.x + around.width, `${times}: from ${box.x} on, ${box.width} wide`);
        }
        await finish(at);
    }
});

test("less memory on a phone: no words lie over others, and no axis says the same twice", { skip }, async () => {
    const at = await page("view=storage", { viewport: { width: 360, height: 640 } });
    await at.route(/\/paging\b/, async (route) => {
        const response = await route.fetch();
        if (response.status() !== 200) return route.fulfill({ response });
        const answer = await response.json();
        // A disk so fast that tokens/s hardly depend on it.
        await route.fulfill({ response, json: { ...answer, memory_limit: Math.round(0.9 * answer.touched_bytes), disk_bytes_per_second: 1e13, compute_ns_per_token: 1e9 } });
    });
    await at.getByText("Less memory", { exact: true }).first().click();
    await at.locator(".readahead select").selectOption({ label: "8.00 MiB" });
    await settled(at);
    const texts = await at.locator('[data-picture="less-memory"] svg.chart text').evaluateAll((all) =>
        all.map((one) => {
            const { left, right, top, bottom } = one.getBoundingClientRect();
            return { text: one.textContent, left, right, top: top + 3, bottom: bottom - 3, also: one.classList.contains("also") };
        }),
    );
    assert.ok(texts.filter(({ text }) => text.includes("▲")).length > 2, "nothing stands above the axis");
    const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    assert.deepEqual(texts.flatMap((a, i) => texts.slice(i + 1).flatMap((b) => (over(a, b) ? [`"${a.text}" and "${b.text}"`] : []))), []);
    assert.deepEqual(texts.filter(({ also }) => also).map(({ text }) => text), ["1.0 tok/s"]);
    await finish(at);
});

test("a chart of nothing has no steps", { skip }, async () => {
    const at = await page("view=log");
    await at.route(/\/stats\b/, async (route) => {
        const response = await route.fetch();
        if (response.status() !== 200) return route.fulfill({ response });
        const answer = await response.json();
        for (const row of answer.by_token ?? []) Object.assign(row, { bytes_disk: 0 });
        await route.fulfill({ response, json: answer });
    });
    await at.locator("#tab-storage").click();
    const chart = at.locator('[data-picture="storage-by-token"] svg.chart');
    await chart.waitFor();
    await settled(at);
    assert.deepEqual(await chart.locator("text").evaluateAll((all) => all.map((one) => one.textContent).filter((text) => /\d B$/.test(text))), ["0 B"]);
    await finish(at);
});

test("access order has a byte axis, and lines of tokens only as long as they leave room for the picture", { skip }, async () => {
    const few = await page("view=storage&part=access");
    await few.locator(".access-picture canvas").waitFor();
    await settled(few);
    const axis = async (at) => {
        const { lines, bytes } = await at.locator(".access-picture").evaluate((box) => ({ ...box.dataset }));
        return { lines: Number(lines), bytes: bytes.split(", ") };
    };
    const { lines, bytes } = await axis(few);
    assert.equal(lines, json("stats", recorded("moe", { tokens: 12 })).tokens);
    assert.equal(bytes[0], "0 B");
    assert.ok(bytes.length >= 3 && new Set(bytes).size === bytes.length, bytes.join());
    await finish(few);
    const long = scratch("long");
    output(ggscope, ["run", "-q", "-m", model("tiny", "--layers", "2"), "-p", "Once", "-n", "300", "-t", "1", "--no-repack", "--ignore-eos", "-o", long]);
    const other = await serve(long);
    const many = await open(other.url, { fragment: "view=storage&part=access", viewport: { width: 1280, height: 800 } });
    await many.locator(".access-picture canvas").waitFor();
    await settled(many);
    assert.equal((await axis(many)).lines, 0);
    await finish(many);
    await other.stop();
});

for (const [name, fragment, picture, choice] of [
    ["working sets", "view=experts", '[data-picture="working-sets"] svg', null],
    ["the roofline", "view=statistics&statistics=efficiency", '[data-picture="roofline"] svg', /type=[A-Z_]+/],
    ["bytes per token", "view=storage", '[data-picture="storage-by-token"] svg', /tokens=\d/],
    ["the boxes of a token", "view=statistics", '[data-picture="icicle"] canvas', null],
    ["access order", "view=storage&part=access", ".access-picture canvas", /tensor=/],
    ["the experts' raster", "view=experts", "[data-choices] canvas", /expert=\d/],
]) {
    test(`${name}: takes the focus, arrow keys say what is there, and leave the tokens alone`, { skip }, async () => {
        const at = await page(fragment);
        const box = at.locator(picture).first();
        await box.waitFor();
        await settled(at);
        await box.focus();
        assert.ok(await box.evaluate((element) => element === document.activeElement), "it takes no focus");
        const heard = new Set();
        for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight"]) {
            await at.keyboard.press(key);
            await settled(at);
            heard.add(await said(at));
        }
        assert.ok(heard.size >= 2 && ![...heard].some((text) => /^token \d+$/.test(text)), [...heard].join("; "));
        assert.ok(await at.locator("[role=tooltip]").first().isVisible());
        assert.doesNotMatch(await hashOf(at), /tokens=/);
        if (choice) {
            await at.keyboard.press("Enter");
            await hashed(at, choice);
        }
        await finish(at);
    });
}

test("keys from op to op say where they have come; Space plays also from a switch", { skip }, async () => {
    const at = await page("view=log");
    await at.locator("#log-row-3:not(.loading)").click();
    await settled(at);
    await at.locator("#view").focus();
    for (const key of ["Period", "BracketRight", "BracketLeft", "Comma"]) {
        await at.keyboard.press(key);
        await settled(at);
        const [, run, node] = await hashed(at, /op=(\d+)\.(\d+)/);
        const op = await at.evaluate(async (path) => (await fetch(path)).json(), `./api/x/0/op?run=${run}&node=${node}`);
        await becomes(() => said(at), (text) => text.startsWith(`${op.op} ${op.name}, `), `${key} said`);
    }
    await at.keyboard.press("Digit1");
    const chosen = at.getByLabel("addressed by ops");
    await chosen.focus();
    await at.keyboard.press("Space");
    await at.getByRole("button", { name: "Pause" }).waitFor();
    await at.keyboard.press("Space");
    await at.getByRole("button", { name: "Play", exact: true }).waitFor();
    await finish(at);
});

test("experts: a legend of weights, tiles of the chosen layer, and names that are rows", { skip }, async () => {
    const at = await page("view=experts&layer=3");
    const { by_layer } = json("experts", recorded("moe", { tokens: 12 }));
    const layer = by_layer.find((one) => one.layer === 3);
    await at.locator("[data-choices] canvas").waitFor();
    await settled(at);
    assert.match(await at.locator("[data-tile=experts-used]").innerText(), new RegExp(`${layer.distinct} of ${layer.experts}\\n`));
    assert.match(await at.locator("[data-tile=experts-activations]").innerText(), new RegExp(`\\n${layer.counts.reduce((a, b) => a + b)}\\n`));
    assert.match(await at.locator("#raster-legend").innerText(), /^routing weight 0\s*[\d.]+\s+not chosen$/);
    const box = await at.locator("[data-choices] canvas").boundingBox();
    await at.mouse.click(box.x + 20, box.y + 5);
    await hashed(at, /expert=0/);
    await finish(at);
});
