// speedscope's own importer, extracted from the page in its package: everything except drawing runs
// unchanged.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";
import { folder } from "./install.mjs";

// Imports a file; returns { profiles, complaints }: its contents, and messages on the console.
export async function importSpeedscope(name, text) {
    const release = join(folder(), "node_modules", "speedscope", "dist", "release");
    const page = readFileSync(join(release, readdirSync(release).find((f) => /^speedscope-.*\.js$/.test(f))), "utf8");
    const found = /async function (\w+)\(\w+,\w+\)\{return\(await \w+\)\.importProfileGroupFromText/.exec(page);
    const start = page.lastIndexOf("console.log(`speedscope v"); // drawing starts here
    assert.ok(found && start > 0, "speedscope's page is built as it was");
    const complaints = [];
    const say = (...words) => void complaints.push(words.join(" "));
    const nothing = new Proxy(function () {}, { get: (_, key) => (key === Symbol.toPrimitive ? () => "" : nothing), apply: () => nothing, construct: () => nothing, set: () => true });
    const context = vm.createContext({
        console: { log() {}, warn: say, error: say, assert: (ok, ...words) => ok || say(...words) },
        self: nothing, document: nothing, window: { location: { hash: "", protocol: "file:" }, addEventListener() {}, devicePixelRatio: 1, matchMedia: () => nothing },
        location: { hash: "", protocol: "file:" }, navigator: { userAgent: "" }, localStorage: nothing, matchMedia: () => nothing, performance,
        TextDecoder, TextEncoder, setTimeout, clearTimeout, requestAnimationFrame() {}, atob, btoa, URL, fetch() {},
    });
    vm.runInContext(`${page.slice(0, start)};globalThis.importProfile=${found[1]};})();`, context);
    const group = await context.importProfile(name, text);
    assert.ok(group, "speedscope knows the format");
    const profiles = group.profiles.map((p) => {
        let opened = 0, depth = 0, deepest = 0;
        p.forEachCall(() => { opened++; depth++; deepest = Math.max(deepest, depth); }, () => { depth--; });
        return { name: p.getName(), calls: opened, deepest, weight: p.getTotalWeight() };
    });
    return { profiles, complaints };
}
