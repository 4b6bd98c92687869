// How well ggscope explain names planted problems: a table of scores, and healthy runs that must have no finding.
import { test } from "node:test";
import assert from "node:assert/strict";
import { scratch } from "../lib.mjs";
import { explain, judge } from "./plant.mjs";
import { first } from "./first.mjs";
import { rest } from "./middle.mjs";
import { healthy, last } from "./last.mjs";

const sets = { "first ten": first, "the rest": rest, "last ten": last };
const rows = [];

for (const [set, plants] of Object.entries(sets)) {
    for (const plant of plants) {
        test(`${set}: ${plant.name}`, (t) => {
            const result = judge(plant);
            rows.push({ set, plant, ...result });
            if (result.skip) return t.skip(result.skip);
            assert.ok(!result.failed, `${plant.name}: ${result.why}`);
            assert.ok(result.points >= 0, `${plant.name}: ${result.why}\n${JSON.stringify(result.answer, null, 1)}`);
        });
    }
}

// The page cache belongs to the machine: what it dropped meanwhile is a cold start that is true.
healthy.forEach((make, i) => {
    test(`healthy run ${i + 1} has no finding above 5 %`, () => {
        const directory = scratch(`healthy-${i}`);
        make(directory);
        const found = explain(directory).findings.filter((finding) => !finding.condition && finding.gain > 0.05 && finding.name !== "cold-cache");
        assert.deepEqual(found.map(({ name, gain, evidence }) => ({ name, gain, evidence })), []);
    });
});

const sum = (list) => `${list.reduce((total, row) => total + row.points, 0)} of ${2 * list.length}`;

test("the score", () => {
    const scored = rows.filter((row) => !row.skip), known = scored.filter((row) => row.plant.number !== null);
    for (const row of rows) console.log(`# score: ${row.skip ? " -" : String(row.points).padStart(2)}  ${row.plant.name.padEnd(26)} ${row.skip ?? row.why}`);
    for (const set of Object.keys(sets)) console.log(`# score: ${set}: ${sum(scored.filter((row) => row.set === set))}`);
    console.log(`# score: of the 28 problems: ${sum(known)}; all: ${sum(scored)}; ${rows.length - scored.length} cannot be made here`);
});
