// The page's token goes only to its own server, not to other ports of this machine, where other
// users' servers may be.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { cleanUp, finish, open, recorded, serve, settled, skip } from "./browser.mjs";

after(cleanUp);

// Another user's server on another port, which stores its requests.
async function listen() {
    const got = [];
    const server = createServer((request, response) => {
        got.push({ url: request.url, headers: request.headers });
        response.setHeader("Content-Type", "text/html");
        response.end("<!doctype html><title>other</title><p>other");
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    after(() => server.close());
    return { got, address: `http://127.0.0.1:${server.address().port}/` };
}

test("another port of this machine gets neither cookie nor token nor referrer", { skip }, async () => {
    const server = await serve(recorded("tiny"), recorded("moe")), other = await listen();
    const at = await open(server.url, { fragment: "view=timeline", expected: /Content Security Policy|ERR_FAILED/ });
    await at.locator("#sentence", { hasText: "touched" }).waitFor();
    const token = new URL(server.url).pathname.slice(1, -1);
    assert.match(token, /^[0-9a-f]{32}$/);
    assert.deepEqual(await at.context().cookies(), []);
    const visit = await at.context().newPage();
    await visit.goto(other.address);
    // Tries from the page: a link, a new window, navigation.
    const opened = at.context().waitForEvent("page");
    await at.evaluate((address) => window.open(`${address}window`), other.address);
    await (await opened).waitForLoadState();
    await at.evaluate((address) => fetch(`${address}fetched`).catch(() => {}), other.address);
    await at.evaluate((address) => {
        const link = document.body.appendChild(document.createElement("a"));
        link.href = `${address}link`;
        link.click();
    }, other.address);
    await at.waitForURL(`${other.address}link`);
    const pages = other.got.filter(({ url }) => url !== "/favicon.ico");
    assert.deepEqual(pages.map(({ url }) => url).sort(), ["/", "/link", "/window"]); // the policy blocks other requests
    for (const { url, headers } of other.got) {
        assert.deepEqual([headers.cookie, headers.authorization], [undefined, undefined], url);
        assert.ok(headers.referer === undefined || headers.referer.startsWith(other.address), `${url} from ${headers.referer}`); // its own icon
        assert.ok(!JSON.stringify({ url, headers }).includes(token), url);
    }
    await at.context().close();
    await server.stop();
});

test("reloading, another tab and going back work; without the token nothing is shown", { skip }, async () => {
    const server = await serve(recorded("tiny"));
    const at = await open(server.url, { fragment: "view=log", expected: /status of 403/ });
    await at.locator("#log-row-0:not(.loading)").waitFor();
    await at.reload();
    await at.locator("#log-row-0:not(.loading)").waitFor();
    const tab = await at.context().newPage();
    await tab.goto(at.url());
    await tab.locator("#log-row-0:not(.loading)").waitFor();
    await tab.goto(`${server.origin}/`);
    await tab.getByText("Recordings are private").waitFor();
    await tab.goBack();
    await tab.locator("#log-row-0:not(.loading)").waitFor();
    await finish(at);
    await server.stop();
});

test("a link to one experiment shows that one, in a browser that knows no other address", { skip }, async () => {
    const server = await serve(recorded("tiny"), recorded("moe"));
    const { path } = await (await fetch(`${server.url}api/x/1/link`)).json();
    const guest = await open(server.origin + path, { fragment: "view=statistics" });
    await guest.locator("#sentence", { hasText: "touched" }).waitFor();
    await settled(guest);
    assert.match(await guest.locator(".page-header").innerText(), /moe/);
    assert.doesNotMatch(await guest.locator("body").innerText(), /tiny/);
    const listed = await guest.evaluate(async () => (await fetch("./api/experiments")).json());
    assert.deepEqual(listed.map(({ index, name }) => [index, name]), [[0, "moe"]]);
    await finish(guest);
    await server.stop();
});
