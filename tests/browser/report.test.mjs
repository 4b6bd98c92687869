// ggscope report: one file, opened from the disk, with the same views and no request at all.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { becomes, cleanUp, finish, ggscope, json, model, open, output, recorded, reopen, run, scratch, show, skip, stats } from "./browser.mjs";

after(cleanUp);

const nasty = 'She said </script><script>window.broken = 1</script><!-- & "so"';
let written;
function report() {
    if (!written) {
        scratch();
        const directory = scratch("nasty");
        output(ggscope, ["run", "-q", "-m", model("tiny"), "-p", nasty, "-n", "4", "-t", "2", "--no-repack", "--ignore-eos", "-o", directory]);
        const file = scratch("report.html");
        output(ggscope, ["report", directory, "-o", file]);
        written = { directory, file, url: pathToFileURL(file).href };
    }
    return written;
}
const page = async (fragment = "") => open(report().url, { fragment });

test("the file asks for nothing: no address in it leads elsewhere", { skip }, async () => {
    const text = readFileSync(report().file, "utf8");
    assert.doesNotMatch(text, /<(script|link|img|iframe)[^>]+(src|href)="(?!data:)/);
    const at = await page();
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    assert.deepEqual(at.problems, []);
    await finish(at);
});

test("texts of tokens are texts", { skip }, async () => {
    const at = await page();
    await at.locator("#sentence").waitFor();
    await becomes(() => at.locator(".page-header").innerText(), (text) => text.includes("</script>"));
    assert.equal(await at.evaluate(() => window.broken), undefined);
    await finish(at);
});

test("every view, with the numbers of the command line", { skip }, async () => {
    const at = await page(),
        { directory } = report(),
        all = stats(directory);
    await at.locator("#sentence", { hasText: `${all.tokens} tokens` }).waitFor();
    await show(at, "memory");
    await at.waitForFunction(() => window.__ggscope?.memoryCells().length > 0);
    await show(at, "timeline");
    await at.locator(".timeline canvas").first().waitFor();
    await show(at, "graph");
    await at.locator(".block-name", { hasText: "layer 4" }).click();
    await at.locator(".node", { hasText: "ffn_up-4" }).waitFor();
    await show(at, "statistics");
    await at.locator("[data-tile=ops]", { hasText: all.ops.toLocaleString("en") }).waitFor();
    await show(at, "log");
    await at.locator(`[data-total="${json("log", directory).ops.length}"]`).waitFor();
    await at.getByRole("form", { name: "Filter the log" }).getByLabel("layer").selectOption("3");
    await at.locator(`[data-total="${json("log", "--layer", "3", directory).ops.length}"]`).waitFor();
    await at.getByRole("columnheader", { name: "duration" }).getByRole("button").click();
    const longest = json("log", "--layer", "3", "--sort", "duration", "-n", "1", directory).ops[0];
    await at.locator("#log-row-0", { hasText: longest.name }).click();
    await at.locator(".details .card", { hasText: longest.name }).waitFor();
    await show(at, "compare");
    await at.getByText("ggscope serve").waitFor();
    await finish(at);
});

const filter = (at, name) => at.getByRole("form", { name: "Filter the log" }).getByLabel(name);

test("filters, selections and any token's graph, as on the server", { skip }, async () => {
    const { directory } = report(),
        at = await page("view=log");
    for (const source of ["BUFFER", "DISK"]) {
        await filter(at, "source").selectOption(source);
        await at.locator(`[data-total="${json("log", "--source", source, directory).ops.length}"]`).waitFor();
    }
    await filter(at, "source").selectOption("");
    await reopen(at, `${report().url}#view=statistics&tokens=2..3`);
    await at.locator("[data-tile=ops]", { hasText: stats(directory, "--token", "2..3").ops.toLocaleString("en") }).waitFor();
    await reopen(at, `${report().url}#view=graph&tokens=3..3`);
    await at.locator(".block-name", { hasText: "layer 4" }).waitFor();
    await finish(at);
});

test("dark, and light", { skip }, async () => {
    const colours = [];
    for (const dark of [false, true]) {
        const at = await open(report().url, { dark, fragment: "view=timeline" });
        await at.locator("#sentence", { hasText: "touched" }).waitFor();
        await at.locator(".timeline canvas").first().waitFor();
        colours.push(await at.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0)));
        await finish(at);
    }
    assert.ok(colours[0] > 600 && colours[1] < 150, `${colours}`);
});

// Drops bytes on the page as a file of this name.
const drop = (at, name, bytes) =>
    at.evaluate(
        ([called, base64]) => {
            const data = new DataTransfer();
            data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], called));
            window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
        },
        [name, bytes.toString("base64")],
    );

test("a trace that is dropped on it is shown, and compared; what is no trace is refused with a sentence", { skip }, async () => {
    const other = recorded("tiny", { as: "other", tokens: 3 }),
        at = await page("view=statistics");
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    await drop(at, "trace.ggs", readFileSync(join(other, "trace.ggs")));
    await at.locator("#sentence", { hasText: "3 tokens" }).waitFor();
    await at.locator("[data-tile=ops]", { hasText: stats(other).ops.toLocaleString("en") }).waitFor();
    await show(at, "compare");
    await at.getByLabel("Recording A").waitFor();
    await at.locator(".compare .tile").first().waitFor();
    await drop(at, "notes.txt", Buffer.from("no trace ".repeat(100)));
    await at.getByText("notes.txt is no trace").waitFor();
    await at.getByLabel("Experiment").selectOption({ index: 0 });
    await at.locator("#sentence", { hasText: "4 tokens" }).waitFor();
    await finish(at);
});

test("wrong input: one sentence, exit 1, and no file", () => {
    const file = scratch("no.html");
    for (const directory of ["/nonexistent", scratch("")]) {
        const result = run(ggscope, ["report", directory, "-o", file]);
        assert.equal(result.status, 1, directory);
        assert.match(result.stderr, /^ggscope: [^\n]+\n$/);
        assert.ok(!existsSync(file));
    }
});
