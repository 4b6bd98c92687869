// The pictures of a terminal and of the page in docs can be made: scripts/session and
// scripts/animate succeed.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root, run, scratch } from "../lib.mjs";
import { skip } from "../browser/browser.mjs";

const asciicast = (path) => readFileSync(path, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const commands = [...readFileSync(join(root, "scripts/session"), "utf8").matchAll(/^    "(ggscope.*)",$/gm)].map((m) => m[1]);
const lines = (svg) => [...readFileSync(svg, "utf8").matchAll(/<text [^>]*>(.*)<\/text>/g)].map((m) => m[1].replaceAll(/<[^>]*>/g, "").replaceAll("&gt;", ">").replaceAll("&lt;", "<").replaceAll("&amp;", "&"));
const words = (line) => line.replaceAll(/[\d.,▏▎▍▌▋▊▉█]+|\b(us|ms|ns|s|B|KiB|MiB|GiB|K|M)\b/g, " ").replaceAll(/\s+/g, " ").trim();

function assertCast(path) {
    const [header, ...events] = asciicast(path);
    assert.equal(header.version, 2);
    let last = 0;
    for (const [when, kind, text] of events) {
        assert.ok(when >= last && kind === "o" && typeof text === "string");
        last = when;
    }
    assert.ok(last > 20 && last < 120, `${last} s`);
}

test("the session of the docs is what the programs say today", { timeout: 600_000 }, () => {
    const made = scratch("session");
    mkdirSync(made, { recursive: true });
    const result = run(join(root, "scripts/session"), [made]);
    assert.equal(result.status, 0, result.stderr);
    assertCast(join(made, "session.cast"));
    const kept = join(root, "docs/pictures");
    assertCast(join(kept, "session.cast"));
    assert.ok(commands.length >= 8);
    const now = new Set(lines(join(made, "session.svg")).map(words)), then = lines(join(kept, "session.svg"));
    for (const command of commands) assert.ok(then.some((line) => line.startsWith(`$ ${command.slice(0, 60)}`)), command);
    const gone = then.map(words).filter((line) => line !== "" && !line.includes("session-") && !now.has(line)); // order depends on times, and the folder's name varies
    assert.ok(gone.length <= then.length / 6, gone.join("\n"));
});

test("the page in 30 seconds", { timeout: 1_800_000, skip }, (t) => {
    if (run("sh", ["-c", "command -v img2webp"]).status !== 0) return t.skip("img2webp is not installed (Debian: webp)");
    const out = scratch("page.webp"), result = run(process.execPath, [join(root, "scripts/animate"), out], { timeout: 1_800_000 });
    assert.equal(result.status, 0, result.stderr);
    for (const path of [out, join(root, "docs/pictures/page.webp")]) {
        const bytes = readFileSync(path);
        assert.equal(bytes.toString("latin1", 0, 4) + bytes.toString("latin1", 8, 12), "RIFFWEBP");
        assert.ok(bytes.includes("ANIM") && bytes.length < 1.5e6, `${bytes.length} bytes`);
    }
});
