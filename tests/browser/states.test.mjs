// What the page says when something is missing, growing, cut off, or not what it claims to be.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeBrowser, finish, ggscope, model, open, recorded, scratch, serve, show, skip, stats } from "./browser.mjs";

after(closeBrowser);

test("a truncated trace shows what is intact and says from where on it is not", { skip }, async () => {
    const directory = scratch("truncated"),
        trace = join(directory, "trace.ggs");
    cpSync(recorded("tiny"), directory, { recursive: true });
    truncateSync(trace, Math.floor(statSync(trace).size * 0.8));
    const server = await serve(directory);
    const at = await open(server.url);
    await at.locator(".notice").first().waitFor();
    assert.match(await at.locator(".notice").first().innerText(), /\d/);
    await show(at, "log");
    await at.locator(".log-count[data-total]").waitFor();
    await finish(at);
    await server.stop();
});

test("files of different experiments in one directory are refused, with the reason", { skip }, async () => {
    const directory = scratch("mixed");
    cpSync(recorded("tiny"), directory, { recursive: true });
    const file = join(directory, "experiment.json"),
        text = readFileSync(file, "utf8");
    const id = stats(recorded("tiny")).experiment_id;
    assert.ok(text.includes(id));
    writeFileSync(file, text.replace(id, "00000000-0000-4000-8000-000000000000"));
    const server = await serve(directory, recorded("moe"));
    const at = await open(server.url, { expected: /status of 4\d\d/ });
    await at
        .locator(".page-header select")
        .first()
        .selectOption({ label: "mixed" })
        .catch(() => {});
    await at.getByRole("heading", { name: "This experiment is not shown" }).waitFor();
    assert.match(await at.locator("main").innerText(), /00000000-0000-4000-8000-000000000000|different|another/);
    await at.locator(".page-header select").first().selectOption({ label: "moe" });
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    await finish(at);
    await server.stop();
});

test("a recording that goes on: tokens come while one looks, then it is complete", { skip }, async () => {
    const directory = scratch("live");
    const child = spawn(ggscope, ["run", "-m", model("tiny"), "-p", "Once", "-n", "400", "-t", "1", "--ignore-eos", "-o", directory], { stdio: "ignore" });
    const ended = new Promise((resolve) => child.on("exit", resolve));
    while (!existsSync(join(directory, "experiment.json"))) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGSTOP");
    const server = await serve(directory);
    child.kill("SIGCONT");
    const at = await open(server.url);
    await at.locator(".badge.live").waitFor();
    await at.waitForFunction(() => /\b\d+ tokens?\b/.test(document.querySelector("#sentence")?.textContent ?? ""));
    await ended;
    await at.locator(".badge.live").waitFor({ state: "detached" });
    await at.locator("#sentence", { hasText: "400 tokens" }).waitFor();
    await finish(at);
    await server.stop();
});

test("the server goes away: the view stays, a banner says it", { skip }, async () => {
    const first = await serve(recorded("tiny"));
    const at = await open(first.url, {
        fragment: "view=log",
        expected: /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/,
    });
    await at.locator("#log-row-0:not(.loading)").waitFor();
    const text = await at.locator("#log-row-0").innerText();
    await first.stop();
    await at.locator(".notice", { hasText: "does not answer" }).waitFor();
    assert.equal(await at.locator("#log-row-0").innerText(), text);
    await finish(at);
});

test("one experiment is nothing to compare: the page says what to do", { skip }, async () => {
    const server = await serve(recorded("tiny"));
    const at = await open(server.url, { fragment: "view=compare" });
    await at.getByText("ggscope serve").waitFor();
    await finish(at);
    await server.stop();
});
