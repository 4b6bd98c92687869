// The page's own tests: types, pure functions, and the size of the build.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { build, root, run, scratch } from "../lib.mjs";

const ui = join(root, "ui");
const tool = (name) => join(ui, "node_modules", ".bin", name);

test("the page's types agree", () => {
    const checked = run(tool("tsc"), ["--noEmit"], { cwd: ui });
    assert.equal(checked.status, 0, checked.stdout);
});

test("the page's unit tests pass", () => {
    const tested = run(tool("vitest"), ["run", "--no-color"], { cwd: ui, env: { ...process.env, CI: "1" } });
    assert.equal(tested.status, 0, tested.stdout + tested.stderr);
    assert.match(tested.stdout, /Tests +\d+ passed/);
});

test("the page is built whole, within 150 KB gzipped, and fetches from nowhere else", () => {
    const out = scratch("ui");
    const built = run("node", ["build.mjs"], { cwd: ui, env: { ...process.env, GGSCOPE_UI_OUT: out, GGSCOPE_WASM: join(build, "wasm", "ggscope.wasm") } });
    assert.equal(built.status, 0, built.stderr);
    const files = readdirSync(out).sort();
    assert.deepEqual(files, ["app.css", "app.js", "icon.svg", "index.html", "report.html", "worker.js"]);
    const size = (name) => gzipSync(readFileSync(join(out, name)), { level: 9 }).length;
    const served = files.filter((name) => name !== "report.html").reduce((sum, name) => sum + size(name), 0);
    assert.ok(served < 150_000, `${served} bytes`);
    assert.ok(size("report.html") < 420_000, `${size("report.html")} bytes`);
    for (const name of files) {
        const text = readFileSync(join(out, name), "utf8").replaceAll("http://www.w3.org/", "");
        assert.doesNotMatch(text, /(src|href)=["']?https?:|@import|url\(["']?https?:/, name);
    }
    // `ggscope report` inserts the experiment at this mark.
    assert.equal(readFileSync(join(out, "report.html"), "utf8").split("<!--ggscope-experiment-->").length, 2);
});
