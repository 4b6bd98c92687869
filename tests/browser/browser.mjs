// Shared by the tests in a real browser: the server on real recordings, Debian's Chromium, and a
// page that must report no problems.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { afterEach } from "node:test";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { build, engine, ggscope, installed, model, output, root, run, scratch } from "../lib.mjs";
import { variant } from "../variant.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const packages = createRequire(join(installed(here, "browser"), "package.json"));
export const axeSource = () => packages.resolve("axe-core/axe.min.js");

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env.GGSCOPE_BROWSER ?? places.find((path) => existsSync(path));
// For test(name, { skip }, ...): a reason, or false.
export const skip = executablePath ? false : "no Chromium here: scripts/bootstrap test installs it";

// ---- recordings

export const prompt = "Once upon a time there was";
scratch();

// Recordings are shared by the test files as long as the build stays the same. Tests only read
// them, and write to copies. The name is that of the directory, so the names on the page are known.
// Recordings with options of their own depend on the machine and are made once per file.
const recordings = new Map();
const hashOfAll = (...parts) => createHash("sha256").update(parts.join()).digest("hex").slice(0, 12);
const shared = () => join(build, "recordings", hashOfAll(variant, ...[ggscope, engine, join(build, "lib", "libggscope-capture.so")].map((path) => statSync(path).mtimeMs)));
export function recorded(name, { as = name, tokens = 6, threads = 2, options = [], repack = false } = {}) {
    if (!recordings.has(as)) {
        const file = name.includes("/") ? name : model(name);
        const isShared = options.length === 0 && file !== name;
        const directory = isShared ? join(shared(), hashOfAll(file, statSync(file).mtimeMs, tokens, threads, repack), as) : scratch(as);
        if (!existsSync(directory)) {
            const words = ["-m", file, "-p", prompt, "-n", String(tokens), "-t", String(threads), ...(repack ? [] : ["--no-repack"]), "--ignore-eos", ...options];
            const fresh = isShared ? scratch(`new-${as}`) : directory;
            output(ggscope, ["run", "-q", ...words, "-o", fresh]);
            if (isShared) keepShared(fresh, directory);
        }
        recordings.set(as, directory);
    }
    return recordings.get(as);
}

// Moves it there atomically, and removes recordings of other builds.
function keepShared(fresh, directory) {
    const beside = `${directory}.${process.pid}`, all = dirname(shared());
    mkdirSync(dirname(directory), { recursive: true });
    for (const other of readdirSync(all)) if (join(all, other) !== shared()) rmSync(join(all, other), { recursive: true, force: true });
    cpSync(fresh, beside, { recursive: true });
    try {
        renameSync(beside, directory);
    } catch (error) {
        if (!existsSync(directory)) throw error;
        rmSync(beside, { recursive: true }); // another test file was faster
    }
}

export const json = (verb, ...args) => {
    const result = spawnSync(ggscope, [verb, "--json", ...args], { encoding: "utf8", maxBuffer: 1 << 30 });
    assert.notEqual(result.stdout, "", result.stderr);
    return JSON.parse(result.stdout);
};
export const stats = (directory, ...options) => json("stats", ...options, directory);

// ---- the server

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

// Starts `ggscope serve` and returns the printed address; everything is below it.
export async function serve(...args) {
    const child = spawn(ggscope, ["serve", "--port", "0", ...args], { stdio: ["ignore", "pipe", "pipe"] });
    running.add(child);
    const said = [];
    const url = await new Promise((resolve, reject) => {
        const listen = (chunk) => {
            said.push(chunk);
            const match = /http:\/\/\S+\/(?=\s)/.exec(said.join(""));
            if (match) resolve(match[0]);
        };
        child.stdout.setEncoding("utf8").on("data", listen);
        child.stderr.setEncoding("utf8").on("data", listen);
        child.on("exit", (code, signal) => reject(new Error(`ggscope serve ended with ${code ?? signal}: ${said.join("")}`)));
    });
    return {
        url,
        origin: new URL(url).origin,
        async stop() {
            running.delete(child);
            if (child.exitCode !== null || child.signalCode !== null) return;
            const ended = new Promise((resolve) => child.on("exit", resolve));
            child.kill("SIGTERM");
            await ended;
        },
    };
}

// ---- the browser

// Tests wait for conditions, which may take long on a busy machine.
const patience = 90_000;

let browser;
export async function launch() {
    const { chromium } = packages("playwright-core");
    const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync", "--no-first-run"];
    return (browser ??= await chromium.launch({ executablePath, args: [...quiet, ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])] }));
}

// For after(): ends what the tests of a file have started, also if they failed.
export async function cleanUp() {
    await browser?.close();
    browser = undefined;
    idle.clear();
    for (const child of running) child.kill("SIGKILL");
    running.clear();
}

// Pages that no test uses, by what cannot be changed later. To load one again takes a third of what
// a new one does: its process, the program and the compiled code are there.
const idle = new Map();
async function pageFor(address, options) {
    const key = JSON.stringify([address, options]), page = idle.get(key)?.pop() ?? (await (await (await launch()).newContext(options)).newPage());
    page.key = key;
    return page;
}

// A page as if it were new: nothing that the browser remembers of another, cookies apart. What it
// complains about, and every request that leaves `origin`, is kept in page.problems.
export async function open(address, { viewport = { width: 1400, height: 900 }, dark = false, fragment = "", expected = null, ...options } = {}) {
    const page = await pageFor(address, { reducedMotion: "reduce", ...options }), isUsed = page.problems !== undefined;
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
    page.setDefaultTimeout(patience);
    page.problems = [];
    const origin = new URL(address).origin;
    page.on("console", (message) => {
        if (message.type() === "error" && !expected?.test(message.text())) page.problems.push(`${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => page.problems.push(error.stack ?? error.message));
    page.on("request", (request) => {
        if (!request.url().startsWith("data:") && !request.url().startsWith("blob:") && new URL(request.url()).origin !== origin)
            page.problems.push(`request to ${request.url()}`);
    });
    const whole = address + (fragment ? `#${fragment}` : "");
    if (isUsed) await reopen(page, whole);
    else await page.goto(whole);
    return page;
}

// Reloads the page at another fragment. The page itself does it: page.goto() returns at any change
// of the address, and the page makes some; page.reload() then loads what the browser's process
// takes for the address.
export async function reopen(page, address) {
    const loaded = page.waitForEvent("load");
    await page.evaluate((url) => {
        history.replaceState(null, "", url);
        setTimeout(() => location.reload());
    }, address);
    await loaded;
}

// What a failed test's pages show.
afterEach(async (test) => {
    if (test.passed !== false) return;
    const used = browser?.contexts().flatMap((context) => context.pages()).filter((page) => ![...idle.values()].flat().includes(page)) ?? [];
    for (const page of used) {
        const text = await page.evaluate(() => document.body.innerText).catch((error) => error.message);
        test.diagnostic(`${page.url()} ${JSON.stringify(page.problems ?? [])} ${JSON.stringify(text.slice(0, 2000))}`);
    }
});

// The end of a test's page, which must not have complained; { close: true } where it cannot be as
// if it were new.
export async function finish(page, { close = false } = {}) {
    assert.deepEqual(page.problems, []);
    const context = page.context();
    if (close || context.pages().length > 1 || !page.url().startsWith(JSON.parse(page.key)[0]) || !page.url().startsWith("http")) return context.close();
    page.removeAllListeners();
    await page.unrouteAll();
    await page.evaluate(() => localStorage.clear());
    await page.mouse.move(-1, -1);
    idle.set(page.key, [...(idle.get(page.key) ?? []), page]);
}

export async function show(page, view) {
    await page.locator(`#tab-${view}`).click();
    await page.locator(`#tab-${view}[aria-selected="true"]`).waitFor();
}

// ---- waiting for conditions, never for a time


// Waits until the page is idle: every answer has arrived, the address is updated, and everything is
// drawn. An answer may lead to another request, and effects run after a frame, so nothing must
// happen for several frames.
export async function settled(page, limit = 2 * patience) {
    const rests = await page.evaluate(async (most) => {
        const end = performance.now() + most;
        for (let frames = 0; frames < 4;) {
            await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
            const view = document.querySelector("#view, .library");
            frames = view && view.getAttribute("aria-busy") !== "true" ? frames + 1 : 0;
            if (performance.now() > end) return false;
        }
        return true;
    }, limit);
    assert.ok(rests, "the page does not come to rest");
}

// Reads until the value is as wanted: equal, matched, or accepted. Returns it.
export async function becomes(read, wanted, about = "") {
    const [isPattern, isTest] = [wanted instanceof RegExp, typeof wanted === "function"];
    const holds = (value) => (isPattern ? wanted.test(value) : isTest ? wanted(value) : isDeepStrictEqual(value, wanted));
    for (const end = Date.now() + patience; ;) {
        const value = await read();
        if (holds(value)) return value;
        if (Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
        else if (isPattern) assert.match(value, wanted, about);
        else if (isTest) assert.fail(`${about} it stays ${JSON.stringify(value)}`);
        else assert.deepEqual(value, wanted, about);
    }
}

// The fragment of the address; and its match in plain text, once there is one.
export const hashOf = (page) => page.evaluate(() => location.hash);
export const hashed = async (page, pattern) => pattern.exec(await becomes(async () => decodeURIComponent(await hashOf(page)), pattern, "the address:"));

// All rows of a table that loads rows while scrolling, as texts of their cells.
export async function tableRows(page) {
    const box = page.locator(".data-table");
    const isWhole = () => box.evaluate((one) => ((one.scrollTop = one.scrollHeight), one.querySelectorAll("tbody tr").length === Number(one.dataset.rows)));
    await becomes(isWhole, true, "rows are missing");
    return box.locator("tbody tr").evaluateAll((list) => list.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

// The rows of a CSV that a button saves, as objects; numbers are numbers.
export async function savedCsv(page, button) {
    const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
    const { readFileSync } = await import("node:fs");
    return parseCsv(readFileSync(await file.path(), "utf8"));
}

export function parseCsv(text) {
    const rows = [[]];
    for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
        rows.at(-1).push(quoted !== undefined ? quoted.replaceAll('""', '"') : plain !== "" && !Number.isNaN(Number(plain)) ? Number(plain) : plain);
        if (end === "\r\n") rows.push([]);
        if (end === "") break;
    }
    const [header, ...body] = rows.filter((row) => row.length > 1);
    return body.map((row) => Object.fromEntries(header.map((name, i) => [name, row[i]])));
}

// An answer in columns, as the page receives it.
export async function columns(page, path) {
    const { status, body } = await page.evaluate(async (from) => {
        for (;;) {
            const answer = await fetch(`.${from}`);
            if (answer.status === 202) await new Promise((resolve) => setTimeout(resolve, 100));
            else return { status: answer.status, body: btoa(Array.from(new Uint8Array(await answer.arrayBuffer()), (byte) => String.fromCharCode(byte)).join("")) };
        }
    }, path);
    assert.equal(status, 200, path);
    const bytes = Uint8Array.from(Buffer.from(body, "base64")); // a list of numbers takes seconds
    const length = new DataView(bytes.buffer).getUint32(8, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(16, 16 + length)));
    const base = Math.ceil((16 + length) / 8) * 8;
    const kinds = { u8: Uint8Array, u16: Uint16Array, i16: Int16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array };
    const of = ({ type, offset, rows }) => [...new kinds[type](bytes.buffer.slice(base + offset, base + offset + rows * kinds[type].BYTES_PER_ELEMENT))];
    return { header, ...Object.fromEntries(header.columns.map((column) => [column.name, of(column)])) };
}

// ---- the timeline

// Ops of the first lane, in order: their places in the picture are known.
export const opsOfFirstLane = (directory) => json("log", "--thread", "0", directory).ops.filter((op) => op.fused_with === null && op.token !== null);

// The middle of such an op, or of a request, in the first lane, while the timeline fits the tokens.
export async function pointOf(page, { begin_ns: from, duration_ns: took }) {
    const { header, begin_ns, end_ns } = await columns(page, "/api/x/0/tokens?bins=1000");
    const about = await page.evaluate(async () => (await fetch("./api/x/0/summary")).json());
    const [first, last] = [header.base_ns + begin_ns[0], header.base_ns + end_ns.at(-1)], air = (last - first) * 0.01;
    const begin = Math.max(about.begin_ns, first - air), end = Math.min(about.end_ns, last + air);
    const box = await page.locator(".timeline canvas").boundingBox(), left = 124; // of lanes' names
    return { x: box.x + left + ((from + took / 2 - begin) / (end - begin)) * (box.width - left), y: box.y + 84 };
}
export const longest = (ops) => ops.reduce((one, other) => (other.duration_ns > one.duration_ns ? other : one));

export const screenshots = join(build, "screenshots");
export { build, ggscope, model, output, root, run, scratch };
