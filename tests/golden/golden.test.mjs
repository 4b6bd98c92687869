// Stored traces, one per format version, kept forever: every verb must print its stored output.
// GGSCOPE_UPDATE_GOLDEN=1 stores the current output; check the difference before committing.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ggscope, run } from "../lib.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const verbs = {
    "stats.txt": ["stats"],
    "stats.json": ["stats", "--json"],
    "stats-by-layer.txt": ["stats", "--by", "layer"],
    "stats-by-component.txt": ["stats", "--by", "component"],
    "check.txt": ["check"],
    "check.json": ["check", "--json"],
    "log.txt": ["log", "--token", "1"],
    "log.csv": ["log", "--csv", "--op", "MUL_MAT_ID"],
    "log.json": ["log", "--json", "--limit", "12"],
    "graph.txt": ["graph", "--token", "1"],
    "graph.dot": ["graph", "--token", "2", "--dot"],
    "experts.txt": ["experts"],
    "experts.json": ["experts", "--json"],
    "paging.json": ["paging", "--json", "--readahead", "128K"],
    "buffers.txt": ["buffers"],
    "requests.txt": ["requests", "--cells", "--batches"],
    "requests.json": ["requests", "--json"],
    "buffers.json": ["buffers", "--json"],
    "diff.txt": ["diff", "."], // with itself: no difference
    "chrome.json": ["export", "--quiet", "--format", "chrome", "--token", "1", "-o", "-"],
    "fio.txt": ["export", "--quiet", "--format", "fio", "-o", "-"],
};

for (const version of readdirSync(here).filter((name) => /^v\d+$/.test(name))) {
    const trace = join(here, version);
    for (const [file, [verb, ...options]] of Object.entries(verbs)) {
        test(`format ${version}: ${[verb, ...options].join(" ")}`, () => {
            const result = run(ggscope, [verb, ...options, "."], { cwd: trace, env: { ...process.env, NO_COLOR: "1" } });
            assert.equal(result.stderr, "");
            assert.equal(result.status, 0);
            const expected = join(trace, "expected", file);
            if (process.env.GGSCOPE_UPDATE_GOLDEN) {
                mkdirSync(dirname(expected), { recursive: true });
                writeFileSync(expected, result.stdout);
            }
            assert.ok(existsSync(expected), `${expected} is not there: run with GGSCOPE_UPDATE_GOLDEN=1 and look at it`);
            assert.equal(result.stdout, readFileSync(expected, "utf8"));
        });
    }
}
