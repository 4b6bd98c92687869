// Measures the page in a real browser, with a control in the same run: panning a long trace, and
// laying out graphs.
//     node tests/bench/page.mjs [OP-RUNS] [--tasks]     (default 10000000; --tasks: long tasks alone)
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cleanUp, launch, open, serve, settled, skip } from "../browser/browser.mjs";
import { build, engine, ggscope, model, output, preloadable, root } from "../lib.mjs";

if (skip) {
    console.log(`page: skipped, ${skip}`);
    process.exit(0);
}
const { values: given, positionals } = parseArgs({ options: { tasks: { type: "boolean", default: false } }, allowPositionals: true });
const wanted = Number(positionals[0] ?? 1e7);
const work = mkdtempSync("/dev/shm/ggscope-bench-");
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

// ---- panning

const short = join(work, "short");
output(engine, ["run", "-m", model("tiny"), "-p", "Once upon a time", "-n", "10", "-t", "2", "--ignore-eos"], {
    env: { ...process.env, LD_PRELOAD: preloadable(join(build, "lib", "libggscope-capture.so")), GGSCOPE_OUTPUT: short },
});
function grown(opRuns) {
    const directory = join(work, String(opRuns));
    output("node", [join(root, "tests", "bench", "grow-spool.mjs"), join(short, "spool"), join(directory, "spool"), String(opRuns)]);
    output(ggscope, ["seal", "-q", directory]);
    return directory;
}

const moves = { timeline: { focus: "#view", there: "KeyD", back: "KeyA" }, log: { focus: ".log-scroll", there: "PageDown", back: "PageUp" } };

// Pans by keyboard for three seconds: frames per second, and tasks of 50 ms and more.
async function pan(directory, view) {
    const server = await serve(directory);
    const page = await open(server.url, { fragment: `view=${view}` });
    await page.locator("#sentence", { hasText: "touched" }).waitFor({ timeout: 120_000 });
    await page.locator(`#tab-${view}[aria-selected=true]`).waitFor();
    await settled(page, 240_000); // requests at opening are not part of panning
    const { focus, there, back } = moves[view];
    await page.locator(focus).focus();
    for (let i = 0; i < 5; i++) await page.keyboard.press("KeyW");
    await page.evaluate(() => {
        window.measured = { frames: 0, tasks: [], begin: performance.now() };
        new PerformanceObserver((list) => window.measured.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
        const frame = () => (window.measured.frames++, requestAnimationFrame(frame));
        requestAnimationFrame(frame);
    });
    for (const begin = Date.now(); Date.now() - begin < 3000;) await page.keyboard.press(Math.floor((Date.now() - begin) / 750) % 2 ? back : there);
    const { rate, tasks } = await page.evaluate(() => ({
        rate: (1000 * window.measured.frames) / (performance.now() - window.measured.begin),
        tasks: window.measured.tasks,
    }));
    await page.context().close();
    await server.stop();
    return { rate, tasks: tasks.length, longest: Math.max(0, ...tasks) };
}

const [control, long] = [grown(1000), grown(wanted)];
for (const view of given.tasks ? [] : Object.keys(moves)) {
    const [base, measured] = [await pan(control, view), await pan(long, view)];
    const told = (m) => `${m.rate.toFixed(0)} frames/s, ${m.tasks} long tasks${m.tasks ? ` up to ${m.longest.toFixed(0)} ms` : ""}`;
    console.log(
        `moving in the ${view.padEnd(8)} of ${wanted} op runs / of 1000   ${(measured.rate / base.rate).toFixed(2)}   (${told(measured)}; control ${told(base)})`,
    );
}

// ---- long tasks: opening every view and stepping from token to token

const addresses = {
    memory: "view=memory",
    timeline: "view=timeline",
    graph: "view=graph",
    log: "view=log",
    statistics: "view=statistics",
    efficiency: "view=statistics&statistics=efficiency",
    storage: "view=storage",
    access: "view=storage&part=access",
    less: "view=storage&part=less",
    experts: "view=experts",
};

const now = () => Number(process.hrtime.bigint() / 1000n); // us, the clock of Chromium's traces

// The longest task of the page's main thread between two times, in ms of CPU time, which excludes
// other programs.
function longestTask(traceEvents, begin, end) {
    const key = (event) => `${event.pid} ${event.tid}`;
    const mains = new Set(traceEvents.filter((event) => event.name === "EvaluateScript" && event.args.data?.url?.endsWith("/app.js")).map(key)); // Chromium has internal pages
    const tasks = traceEvents.filter((event) => event.ph === "X" && event.name === "RunTask" && mains.has(key(event)) && event.tdur !== undefined && event.ts >= begin && event.ts <= end);
    if (tasks.length === 0) throw new Error("the trace of Chromium has no tasks of the page");
    return Math.max(...tasks.map((event) => event.tdur)) / 1000;
}

// In each view, from its opening on and while stepping through tokens.
async function tasksOf(directory, name) {
    const server = await serve(directory);
    const shown = [];
    const browser = await launch();
    await browser.startTracing(undefined, { categories: ["devtools.timeline", "disabled-by-default-devtools.timeline"] });
    for (const [view, fragment] of Object.entries(addresses)) {
        const begin = now();
        const page = await open(server.url, { fragment });
        await page.locator("#sentence", { hasText: "touched" }).waitFor({ timeout: 120_000 });
        await settled(page, 240_000);
        const rests = now() - begin;
        await page.locator("#view").focus();
        for (let i = 0; i < 5; i++) {
            await page.keyboard.press("ArrowRight");
            await settled(page, 240_000);
        }
        await page.context().close();
        shown.push({ view, begin, end: now(), rests });
    }
    const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
    await server.stop();
    const found = shown.map(({ view, begin, end, rests }) => ({ view, rests, ms: longestTask(traceEvents, begin, end) }));
    const longest = Math.max(...found.map(({ ms }) => ms));
    const told = found.map(({ view, ms, rests }) => `${view} ${ms.toFixed(0)} ms, at rest after ${(rests / 1e6).toFixed(1)} s`).join("; ");
    console.log(`longest task in any view of ${name} / 100 ms   ${(longest / 100).toFixed(2)}   (processor time; ${told})`);
}

const experts = join(work, "experts.ggs");
output(join(build, "tests", "make-experts-trace"), [experts]);
await tasksOf(long, `${wanted} op runs`);
await tasksOf(experts, "48 x 128 experts");
if (given.tasks) {
    await cleanUp();
    process.exit(0);
}

// ---- layout of graphs

async function layOut(name) {
    const directory = join(work, name);
    output(ggscope, ["run", "-q", "-m", model(name), "-p", "Once", "-n", "2", "--no-repack", "--ignore-eos", "-o", directory]);
    const server = await serve(directory);
    const page = await open(server.url, { fragment: "view=graph" });
    await page.locator(".graph-scroll").waitFor();
    const told = await page.evaluate(async () => {
        const box = document.querySelector(".graph-scroll"),
            begin = performance.now();
        [...document.querySelectorAll(".graph-bar button")].find((button) => button.textContent === "expand all").click();
        while (box.dataset.laidOut === "0" || box.dataset.pending !== "0") await new Promise((resolve) => requestAnimationFrame(resolve));
        return { ms: performance.now() - begin, nodes: Number(box.dataset.nodes), laidOut: Number(box.dataset.laidOut), shapes: Number(box.dataset.shapes) };
    });
    await page.context().close();
    await server.stop();
    console.log(
        `graph of ${name.padEnd(16)} nodes laid out / nodes   ${(told.laidOut / told.nodes).toFixed(2)}   (${told.laidOut} in ${told.shapes} shapes, ${told.nodes}; ${told.ms.toFixed(0)} ms with the worker's start)`,
    );
}
await layOut("tinyllama-1.1b");
await layOut("moe");
await cleanUp();
