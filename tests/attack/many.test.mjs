// Lists more experiments than anybody has.
import { test } from "node:test";
import assert from "node:assert/strict";
import { linkSync, mkdirSync, copyFileSync } from "node:fs";
import { join } from "node:path";
import { root, scratch } from "../lib.mjs";
import { browse } from "../server.mjs";

test("1,100 experiments below a folder, and one more that comes while they are served", async () => {
    const folder = scratch("many"), trace = scratch("trace.ggs"), count = 1100;
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(root, "tests", "golden", "v2", "trace.ggs"), trace);
    const add = (number) => {
        const directory = join(folder, String(number).padStart(5, "0"));
        mkdirSync(directory);
        linkSync(trace, join(directory, "trace.ggs"));
    };
    for (let i = 0; i < count; i++) add(i);
    await browse([folder], async (get) => {
        const names = async () => (await get("/api/experiments")).map(({ name }) => name);
        assert.deepEqual((await names()).sort(), Array.from({ length: count }, (_, i) => String(i).padStart(5, "0")));
        add(count);
        for (;;) if ((await names()).includes(String(count).padStart(5, "0"))) break; else await new Promise((done) => setTimeout(done, 100));
        const { runs } = await get(`/api/x/${count}/stats`); // the newest can be opened
        assert.ok(runs > 0);
    });
});
