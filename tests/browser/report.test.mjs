// ggscope report: one file, opened from the disk, with the same views and no request at all.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { cleanUp, finish, ggscope, json, model, open, output, run, scratch, show, skip, stats } from "./browser.mjs";

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
    assert.equal(await at.evaluate(() => window.broken), undefined);
    assert.ok((await at.locator(".page-header").innerText()).includes("</script>"));
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
    await at.locator(`[data-total="${all.ops + all.absorbed}"]`).waitFor();
    await at.getByRole("form", { name: "Filter the log" }).getByLabel("layer").selectOption("3");
    await at.locator(`[data-total="${json("log", "--layer", "3", directory).ops.length}"]`).waitFor();
    await at.getByRole("columnheader", { name: "duration" }).getByRole("button").click();
    const longest = json("log", "--layer", "3", "--sort", "duration", "-n", "1", directory).ops[0];
    await at.locator("#log-row-0", { hasText: longest.name }).click();
    await at.locator(".drawer .card", { hasText: longest.name }).waitFor();
    await show(at, "compare");
    await at.getByText("ggscope serve").waitFor();
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
