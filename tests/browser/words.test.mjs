// The page's words: as precise as its pictures, the same thing always the same way, and complete.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { becomes, cleanUp, columns, finish, ggscope, json, model, open, output, recorded, scratch, serve, settled, show, skip, stats } from "./browser.mjs";

let server;
const page = async (fragment, options) =>
    open((server ??= await serve(recorded("moe", { tokens: 12 }), recorded("moe", { as: "moe-one-thread", tokens: 12, threads: 1 }))).url, { fragment, viewport: { width: 1280, height: 800 }, ...options });
after(cleanUp);

test("times are said to the precision of what is selected", { skip }, async () => {
    const about = await (await page("view=timeline")).evaluate(async () => (await fetch("./api/x/0/summary")).json());
    const begin = Math.floor((about.begin_ns + about.end_ns) / 2);
    const at = await page(`view=timeline&time=${begin}..${begin + 33_000}`);
    await settled(at);
    const [, digits, unit] = /33\.0 us from ([\d.,]+) (ms|s|us)/.exec(await at.locator(".chip", { hasText: "from" }).innerText());
    const said = Number(digits.replaceAll(",", "")) * { us: 1e3, ms: 1e6, s: 1e9 }[unit];
    assert.ok(Math.abs(said - begin) <= 3_300, `${digits} ${unit} for ${begin} ns`);
    await finish(at);
});

test("the order of reads has no row below nothing", { skip }, async () => {
    const at = await page("view=statistics");
    const rows = at.locator("#part-order tbody th");
    await rows.first().waitFor();
    const names = await rows.allInnerTexts();
    assert.ok(names.length > 2);
    for (const name of names) assert.match(name, /^(nothing|below [\d.]+ ([KMG]iB|B))$/);
    assert.ok(!names.includes("below 0 B"));
    await finish(at);
});

test("changes are percent below two times, times from there on", { skip }, async () => {
    const at = await page("view=compare&changes=0nl");
    await at.locator(".compare .tile").first().waitFor();
    await settled(at);
    const texts = await at.locator('.table-part:has(h3:text-is("What changed, most time first")) tbody td:nth-child(7)').allInnerTexts();
    assert.ok(texts.length > 10);
    for (const text of texts) {
        const percent = /^\+([\d.]+) %$/.exec(text);
        assert.match(text, /^(-|new|[+-][\d.]+ %|[\d.]+ ×)$/);
        if (percent) assert.ok(Number(percent[1]) < 100.05, text);
    }
    await finish(at);
});

test("waits inside an op are said where one points at it", { skip }, async () => {
    const at = await page("view=timeline");
    await at.locator(".timeline canvas").waitFor();
    await settled(at);
    // The op run with the longest inner wait, and a window within it: among many short ones it
    // would be folded.
    const about = await at.evaluate(async () => (await fetch("./api/x/0/summary")).json());
    let found = null;
    for (let k = 0; k < 64; k++) {
        const [from, to] = [k, k + 1].map((n) => Math.floor(about.begin_ns + ((about.end_ns - about.begin_ns) * n) / 64));
        const runs = await columns(at, `/api/x/0/timeline?begin=${from}&end=${to}&pixels=4096`);
        if (!runs.inner_wait_ns) continue;
        runs.inner_wait_ns.forEach((inner, i) => {
            if (inner > (found?.inner ?? 0)) found = { inner, lane: runs.lane[i], begin: runs.header.base_ns + runs.begin_ns[i], duration: runs.duration_ns[i] };
        });
    }
    assert.ok(found, "no op run waits inside itself");
    await at.evaluate(([a, b]) => (location.hash += `&zoom=${a}..${b}`), [Math.floor(found.begin + 0.25 * found.duration), Math.ceil(found.begin + 0.75 * found.duration)]);
    await settled(at);
    const lane = about.lanes.findIndex((one) => one.lane === found.lane);
    const box = await at.locator(".timeline canvas").boundingBox();
    const tip = at.locator(".float[role=tooltip]");
    // The height of lanes depends on the window: the pointer moves down until it is over this one.
    await becomes(async () => {
        for (let y = 60; y < box.height && y < 500; y += 12) {
            await at.mouse.move(box.x + 124 + (box.width - 124) * 0.5, box.y + y);
            await settled(at);
            const text = (await tip.isVisible()) ? await tip.innerText() : "";
            if (/waiting for other threads/.test(text)) return text;
        }
        return "";
    }, /of which waiting for other threads [\d.]+ (ns|us|ms|s) \([\d.]+ %\)/, `lane ${lane}:`);
    await finish(at);
});

test("rows of the order before are dimmed while a new one is worked out", { skip }, async () => {
    const at = await page("view=log");
    await at.locator("#log-row-3:not(.loading)").waitFor();
    await settled(at);
    // Delays the answer in the new order.
    let letGo;
    const held = new Promise((resolve) => (letGo = resolve));
    await at.route(/\/log\?.*sort=/, async (route) => (await held, route.continue()));
    await at.getByRole("columnheader", { name: "duration" }).getByRole("button").click();
    await at.locator('[role=columnheader][aria-sort="descending"]').waitFor();
    await becomes(() => at.locator(".log-rows").evaluate((rows) => Number(getComputedStyle(rows).opacity)), (opacity) => opacity < 0.6, "opacity");
    assert.match(await at.locator(".log-count").innerText(), /^sorting/);
    letGo();
    await becomes(() => at.locator(".log-rows").evaluate((rows) => Number(getComputedStyle(rows).opacity)), 1, "opacity");
    await finish(at);
});

test("a machine that other programs kept busy: the page says what the terminal says", { skip }, async () => {
    const directory = scratch("busy"), spin = "console.log(0); const end = Date.now() + 60000; while (Date.now() < end);";
    const others = Array.from({ length: 2 * availableParallelism() }, () => spawn(process.execPath, ["-e", spin], { stdio: ["ignore", "pipe", "ignore"] }));
    try {
        await Promise.all(others.map((one) => once(one.stdout, "data"))); // each one spins
        output(ggscope, ["run", "-q", "-m", model("tiny"), "-p", "Once upon a time", "-n", "64", "-t", "1", "--ignore-eos", "-o", directory]);
    } finally {
        for (const one of others) one.kill("SIGKILL");
    }
    const { machine } = stats(directory);
    assert.ok(machine.busy, `other programs used ${machine.others_cpu_share} of the CPUs`);
    const used = `other programs used ${Math.round(100 * machine.others_cpu_share)} % of the CPUs`;
    const sentence = new RegExp(`${used}: ${machine.off_cpu ? "[\\d.]+ % of the time of graph runs was lost to them" : "times say little"}$`);
    assert.match(output(ggscope, ["stats", directory]), /other\s+programs used \d+ %/);
    const other = await serve(directory);
    const at = await open(other.url, { fragment: "view=timeline", viewport: { width: 1280, height: 800 } });
    const warning = at.locator("#sentence .warning");
    await becomes(() => warning.innerText(), `busy machine: ${used}`);
    assert.match(await warning.getAttribute("title"), sentence);
    // It needs no additional line: all findings are in one.
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    await settled(at);
    const tops = await at.locator("#sentence li").evaluateAll((list) => list.map((one) => Math.round(one.getBoundingClientRect().top)));
    assert.ok(tops.length > 3 && new Set(tops).size === 1, `${tops}`);
    await finish(at);
    await other.stop();
});

test("words of the field have a dotted underline and one sentence, also by keyboard", { skip }, async () => {
    const at = await page("view=statistics"), said = new Map();
    for (const view of ["statistics", "memory", "storage"]) {
        await at.locator(`#tab-${view}`).click();
        await settled(at);
        const terms = await at.locator("#view abbr.term").evaluateAll((all) => all.map((one) => ({ word: one.textContent, text: one.title, line: getComputedStyle(one).textDecorationStyle, tab: one.tabIndex })));
        for (const { word, text, line, tab } of terms) {
            assert.match(text, /^[A-Z].*\.$/, word);
            assert.deepEqual([line, tab], ["dotted", 0], word);
            said.set(word, text);
        }
    }
    for (const word of ["op runs", "mapped files", "addressed"]) assert.ok(said.has(word), `${word}: ${[...said.keys()].join(", ")}`);
    await finish(at);
});
