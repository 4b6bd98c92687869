// What the page shows if something is missing, growing, truncated, or invalid.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hidingBarrier } from "../engine/traces.mjs";
import { engine, output } from "../lib.mjs";
import { becomes, cleanUp, finish, ggscope, model, open, recorded, scratch, serve, settled, show, skip, stats } from "./browser.mjs";

after(cleanUp);

test("a truncated trace shows what is intact and says from where on it is not", { skip }, async () => {
    const directory = scratch("truncated"),
        trace = join(directory, "trace.ggs");
    cpSync(recorded("tiny"), directory, { recursive: true });
    truncateSync(trace, Math.floor(statSync(trace).size * 0.8));
    const server = await serve(directory);
    const at = await open(server.url);
    await at.locator(".notice", { hasText: /\d/ }).first().waitFor();
    await show(at, "log");
    await at.locator(".log-count[data-total]").waitFor();
    await finish(at);
    await server.stop();
});

test("an engine whose barrier is not seen: the page says that waits are not", { skip }, async () => {
    const directory = scratch("no-waits"), words = ["sh", "-c", 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"', hidingBarrier(), engine, "run", "-m", model("tiny"), "-p", "Once", "-n", "2", "-t", "1"];
    output(ggscope, ["record", "-q", "--no-faults", "-o", directory, "--", ...words]);
    const server = await serve(directory, recorded("tiny"));
    const at = await open(server.url);
    await at.locator(".notice", { hasText: "Waits were not seen" }).waitFor();
    await finish(at);
    await server.stop();
    const other = await serve(recorded("tiny"));
    const seen = await open(other.url);
    await seen.locator("#sentence", { hasText: "touched" }).waitFor();
    await settled(seen);
    assert.equal(await seen.locator(".notice", { hasText: "Waits" }).count(), 0);
    await finish(seen);
    await other.stop();
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
    // More tokens than the test waits for: it ends the program itself.
    const command = ["run", "-m", model("tiny"), "-p", "Once", "-n", "20000", "--ctx", "20016", "-t", "1", "--ignore-eos", "-o", directory];
    const child = spawn(ggscope, command, { stdio: "ignore" });
    const ended = new Promise((resolve) => child.on("exit", resolve));
    try {
        while (!existsSync(join(directory, "experiment.json"))) await new Promise((resolve) => setTimeout(resolve, 20));
        const server = await serve(directory);
        const at = await open(server.url);
        await at.locator(".badge.live").waitFor();
        const tokens = async () => Number(/([\d,]+) tokens?/.exec(await at.locator("#sentence").textContent())?.[1].replaceAll(",", "") ?? NaN);
        const first = await becomes(tokens, (n) => n >= 0, "tokens:");
        await becomes(tokens, (n) => n > first, "tokens:");
        child.kill("SIGINT");
        await ended;
        await at.locator(".badge.live").waitFor({ state: "detached" });
        await becomes(tokens, stats(directory).tokens, "tokens:");
        await finish(at);
        await server.stop();
    } finally {
        child.kill("SIGKILL");
    }
});

test("the server goes away: the view stays, a banner says it", { skip }, async () => {
    const first = await serve(recorded("tiny"));
    const at = await open(first.url, {
        fragment: "view=log",
        expected: /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED/,
    });
    await at.locator("#log-row-0:not(.loading)").waitFor();
    await at.locator("#sentence", { hasText: "of time in" }).waitFor();
    await settled(at);
    const text = await at.locator("#log-row-0").innerText();
    await first.stop();
    await at.locator(".notice", { hasText: "does not answer" }).waitFor();
    assert.equal(await at.locator("#log-row-0").innerText(), text);
    await finish(at);
});

test("the server is started again on its port: the page says so and what to do, without blinking", { skip }, async () => {
    const first = await serve(recorded("tiny"));
    const at = await open(first.url, { fragment: "view=log", expected: /ERR_CONNECTION_|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|status of 40[13]/ });
    await at.locator("#log-row-0:not(.loading)").waitFor();
    await settled(at);
    await first.stop();
    const again = await serve("--port", new URL(first.url).port, recorded("tiny"));
    const notice = at.locator(".notice[role=alert]");
    await becomes(() => notice.innerText().catch(() => ""), /started again.*open the address that it printed/s);
    // The sentence stays over several rounds of polling.
    const texts = await at.evaluate(async () => {
        const seen = new Set();
        for (let asked = performance.getEntriesByType("resource").length; performance.getEntriesByType("resource").length < asked + 4;) {
            seen.add(document.querySelector(".notice[role=alert]")?.textContent ?? "none");
            await new Promise((resolve) => requestAnimationFrame(resolve));
        }
        return [...seen];
    });
    assert.equal(texts.length, 1, texts.join(" / "));
    // Opening the printed address in another tab lets this one continue.
    const other = await at.context().newPage();
    await other.goto(again.url);
    await notice.waitFor({ state: "detached" });
    await finish(at);
    await again.stop();
});

test("one experiment is nothing to compare: the page says what to do", { skip }, async () => {
    const server = await serve(recorded("tiny"));
    const at = await open(server.url, { fragment: "view=compare" });
    await at.getByText("ggscope serve").waitFor();
    await finish(at);
    await server.stop();
});
