// The page by keyboard alone, by the token strip, by playback, and from a shared address.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { becomes, cleanUp, finish, hashed, hashOf, json, open, recorded, serve, settled, show, skip, stats } from "./browser.mjs";

let server;
const page = async (fragment, options) => open((server ??= await serve(recorded("tiny"), recorded("moe"))).url, { fragment, ...options });
after(cleanUp);
const views = ["memory", "timeline", "graph", "log", "statistics", "compare"];

test("the keyboard reaches every view, and everything in it that can be reached shows where it is", { skip }, async () => {
    const at = await page("view=memory");
    await at.locator("#tab-memory").waitFor();
    for (const [i, view] of views.entries()) {
        await at.keyboard.press(`Digit${i + 1}`);
        await at.locator(`#tab-${view}[aria-selected="true"]`).waitFor();
        await settled(at);
        await at.locator("#view").focus();
        const reached = new Set();
        for (let n = 0; n < 12; n++) {
            await at.keyboard.press("Tab");
            const where = await at.evaluate(() => {
                const element = document.activeElement;
                if (!element || element === document.body) return null;
                const style = getComputedStyle(element),
                    box = element.getBoundingClientRect();
                const marked =
                    (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) ||
                    element.matches("[role=grid], summary") ||
                    style.boxShadow !== "none";
                return {
                    name: element.getAttribute("aria-label") ?? element.textContent?.slice(0, 40) ?? element.tagName,
                    inside: element.closest("#view") !== null,
                    marked,
                    size: box.width * box.height,
                };
            });
            if (!where?.inside) break;
            reached.add(where.name);
            assert.ok(where.size > 0, `${view}: ${where.name} has the focus but no size`);
            assert.ok(where.marked, `${view}: ${where.name} has the focus and does not show it`);
        }
        assert.ok(reached.size >= 1, `${view}: nothing can be reached with Tab`);
    }
    await finish(at);
});

test("keys: search, help, op by op, deselect; none of them inside an input", { skip }, async () => {
    const at = await page("view=log"),
        { ops } = json("log", recorded("tiny"));
    await at.locator("#log-row-0:not(.loading)").click();
    await at.locator(".details .card").waitFor();
    await at.keyboard.press("Period");
    await at.waitForFunction((want) => location.hash.includes(want), `op=${ops[1].run}.${ops[1].node}`);
    await at.keyboard.press("Comma");
    await at.waitForFunction((want) => location.hash.includes(want), `op=${ops[0].run}.${ops[0].node}`);
    await at.keyboard.press("Escape");
    await at.waitForFunction(() => !location.hash.includes("op="));
    await at.keyboard.press("Slash");
    await at.locator("dialog.search[open] input").waitFor();
    await at.keyboard.type("1 3 ?");
    await becomes(() => at.evaluate(() => document.activeElement.value), "1 3 ?");
    assert.equal(await at.locator("#tab-log").getAttribute("aria-selected"), "true");
    // What is typed at once goes into the search, not to the page, also right after it was closed.
    await Promise.all(["Escape", "Slash", ..."ffn 3"].map((key) => at.keyboard.press(key)));
    await becomes(() => at.evaluate(() => document.activeElement.value), "ffn 3");
    assert.equal(await at.locator("#tab-log").getAttribute("aria-selected"), "true");
    await at.keyboard.press("Escape");
    await at.waitForFunction(() => !document.querySelector("dialog[open]"));
    await at.keyboard.press("Shift+Slash");
    const help = at.locator("dialog[open]", { hasText: "the keys" });
    await help.waitFor();
    // It begins at its top, also where it is higher than the window.
    await at.setViewportSize({ width: 1280, height: 400 });
    assert.equal(await help.evaluate((dialog) => dialog.scrollTop), 0);
    for (const key of ["Ctrl+Z", "I"]) await help.locator("kbd").getByText(key, { exact: true }).waitFor();
    await at.keyboard.press("Escape");
    await at.waitForFunction(() => !document.querySelector("dialog[open]"));
    await finish(at);
});

test("scrubbing: arrow keys and the strip choose tokens, and every number follows", { skip }, async () => {
    const at = await page("view=statistics");
    await at.locator("[data-tile=ops]").waitFor();
    const strip = at.getByRole("slider");
    await settled(at);
    const frame = await strip.boundingBox();
    const steps = stats(recorded("tiny")).tokens;
    const middle = (token) => frame.x + (frame.width * (token + 0.5)) / steps;
    await at.mouse.move(middle(2), frame.y + 10);
    await at.mouse.down();
    await at.mouse.move(middle(4), frame.y + 10, { steps: 5 });
    await at.mouse.up();
    await at.waitForFunction(() => location.hash.includes("tokens=2..4"));
    const expectOps = async (range) => at.locator("[data-tile=ops]", { hasText: stats(recorded("tiny"), "--token", range).ops.toLocaleString("en") }).waitFor();
    await at.locator(".statistics-scope", { hasText: "Tokens 2 to 4" }).waitFor();
    await expectOps("2..4");
    await at.locator("#view").focus();
    await at.keyboard.press("ArrowRight");
    await at.locator(".statistics-scope", { hasText: "Token 5" }).waitFor();
    await expectOps("5");
    await at.keyboard.press("ArrowLeft");
    await at.waitForFunction(() => location.hash.includes("tokens=4..4"));
    await finish(at);
});

test("playback goes through the tokens, then through the ops of one, and stops", { skip }, async () => {
    const at = await page("view=timeline");
    await at.locator(".scrubber [role=slider]").waitFor();
    // Records what is visible only for a moment: each token, each op and each name of the button,
    // once per change.
    await at.evaluate(() => {
        window.tokens = [];
        window.ops = [];
        window.buttons = [];
        const keep = (list, value) => value !== list.at(-1) && list.push(value);
        const look = () => {
            keep(window.tokens, Number(document.querySelector(".scrubber [role=slider]").ariaValueNow));
            keep(window.ops, document.querySelector(".playing")?.textContent ?? "");
            keep(window.buttons, document.querySelector(".scrubber .play").ariaLabel);
        };
        look();
        new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true, attributeFilter: ["aria-label", "aria-valuenow"] });
    });
    await at.getByLabel("What playback steps through").selectOption("tokens 4");
    await at.locator("#view").focus();
    await at.keyboard.press("Space");
    await at.waitForFunction(() => window.buttons.join() === "Play,Pause,Play");
    assert.deepEqual(await at.evaluate(() => window.tokens), [...Array(stats(recorded("tiny")).tokens).keys()]);
    await at.getByLabel("What playback steps through").selectOption("ops 1");
    await at.locator("#view").focus();
    await at.keyboard.press("ArrowLeft"); // away from the last token: playback starts at the selection
    await at.keyboard.press("Space");
    await at.waitForFunction(() => ["GET_ROWS", "MUL_MAT", "FLASH_ATTN_EXT"].every((op) => window.ops.some((text) => text.startsWith(op))));
    // Playback is stopped before its next op, so it cannot end during the following steps.
    let letGo;
    const held = new Promise((resolve) => (letGo = resolve));
    await at.route(/\/op\?/, async (route) => (await held, route.continue()));
    // Every view follows: the log is at the shown op.
    await show(at, "log");
    await at.locator(".log-row.selected").waitFor();
    await at.locator("#view").focus();
    await at.keyboard.press("Space");
    await at.locator(".playing").waitFor({ state: "detached" });
    letGo();
    await at.getByRole("button", { name: "Play" }).waitFor();
    await finish(at);
});

test("an address brings another reader to the same place; one of another experiment says so", { skip }, async () => {
    const at = await page("view=memory");
    await at.locator(".page-header select").first().selectOption({ label: "moe" });
    await show(at, "log");
    const filter = at.getByRole("form", { name: "Filter the log" });
    await filter.getByLabel("layer").selectOption("7");
    await filter.getByLabel("op").fill("MUL_MAT_ID");
    await filter.getByLabel("op").press("Enter");
    const { ops } = json("log", "--layer", "7", "--op", "MUL_MAT_ID", recorded("moe"));
    await at.locator(`[data-total="${ops.length}"]`).waitFor();
    await at.locator("#log-row-1:not(.loading)").click();
    await at.locator(".details .card").waitFor();
    await hashed(at, /op=\d/);
    await settled(at);
    const fragment = (await hashOf(at)).slice(1);

    const other = await page(fragment);
    await other.locator(`[data-total="${ops.length}"]`).waitFor();
    await other.locator("#tab-log[aria-selected=true]").waitFor();
    await other.locator(".details .card", { hasText: ops[1].name }).waitFor();
    const shown = other.locator(".page-header select").first();
    await becomes(() => shown.evaluate((select) => select.selectedOptions[0].textContent), "moe");
    await other.goBack();
    await finish(other);
    await at.goBack();
    await at.locator("#tab-memory[aria-selected=true]").waitFor();
    await finish(at);

    const lost = await page("x=00000000-0000-4000-8000-000000000000&view=log");
    await lost.getByRole("alert").filter({ hasText: "00000000-0000-4000-8000-000000000000" }).waitFor();
    await finish(lost);
});
