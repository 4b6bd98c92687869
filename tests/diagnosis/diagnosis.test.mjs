// Scores how well ggscope explain names planted problems, and checks that healthy runs have no
// finding.
import { test } from "node:test";
import assert from "node:assert/strict";
import { scratch } from "../lib.mjs";
import { explain, judge } from "./plant.mjs";
import { measure, verdict } from "./gain.mjs";
import { first } from "./first.mjs";
import { rest } from "./middle.mjs";
import { healthy, last } from "./last.mjs";
import { more } from "./more.mjs";

const sets = { "first ten": first, "the rest": rest, "last ten": last, "with their rules": more };
const rows = [];

for (const [set, plants] of Object.entries(sets)) {
    for (const plant of plants) {
        test(`${set}: ${plant.name}`, async (t) => {
            const result = await judge(plant);
            rows.push({ set, plant, ...result });
            if (result.skip) return t.skip(result.skip);
            assert.ok(!result.failed, `${plant.name}: ${result.why}`);
            assert.ok(result.points >= 0, `${plant.name}: ${result.why}\n${JSON.stringify(result.answer, null, 1)}`);
        });
    }
}

// The page cache belongs to the machine: pages that it dropped meanwhile are a true cold start.
healthy.forEach((make, i) => {
    test(`healthy run ${i + 1} has no finding above 5 %`, () => {
        const directory = scratch(`healthy-${i}`);
        make(directory);
        const found = explain(directory).findings.filter((finding) => !finding.condition && finding.gain > 0.05 && finding.name !== "cold-cache");
        assert.deepEqual(found.map(({ name, gain, evidence }) => ({ name, gain, evidence })), []);
    });
});

// One plant of each finding that was named. A bound that promises more than twice what is gained
// misleads, unless its text says that it is a guess. Where the machine is too busy to tell, the row
// says so.
test("what remedies bring, against their bounds", () => {
    const seen = new Set(), below = [];
    for (const { plant, points, answer, directory, truth } of rows) {
        if (!(points > 0) || seen.has(plant.finding)) continue;
        const result = measure(plant, { answer, directory, truth });
        if (result.late) console.log(`# score: gain  ${plant.finding.padEnd(22)} not measured: ${result.why}`);
        if (result.why) continue;
        seen.add(plant.finding);
        const said = verdict(result), percent = (share) => `${(100 * share).toFixed(0)} %`.padStart(6);
        console.log(`# score: gain  ${plant.finding.padEnd(22)} ${result.part.padEnd(10)} up to ${percent(result.bound)}, measured ${percent(result.gain)}: ${said}`);
        if (said === "BELOW HALF") below.push(plant.finding);
    }
    assert.deepEqual(below, []);
});

const sum = (list) => `${list.reduce((total, row) => total + row.points, 0)} of ${2 * list.length}`;

test("the score", () => {
    const scored = rows.filter((row) => !row.skip), known = scored.filter((row) => row.plant.number !== null);
    for (const row of rows) console.log(`# score: ${row.skip ? " -" : String(row.points).padStart(2)}  ${row.plant.name.padEnd(26)} ${row.skip ?? row.why}`);
    for (const set of Object.keys(sets)) console.log(`# score: ${set}: ${sum(scored.filter((row) => row.set === set))}`);
    console.log(`# score: of the 28 problems: ${sum(known)}; all: ${sum(scored)}; ${rows.length - scored.length} cannot be made here`);
});
