// Runs every command of docs/tutorial.md, except for its server, which must be built first:
// tests/full/tutorial.test.mjs.
import { test } from "node:test";
import assert from "node:assert/strict";
import { follow, sections } from "../tutorial.mjs";

test("the tutorial has its sections", () => assert.deepEqual(sections.map(({ title }) => title.replace(/\W+/g, " ").trim()), ["Two recordings", "1 Is access sequential", "2 What is never touched", "3 Where does a token s time go",
    "4 Which experts are reused", "5 The same on the page", "6 A server", "7 In CI"]));

follow({
    wanted: (title) => !/server/.test(title),
    async meanwhile(command, said) { // the page is there
        const address = /http:\/\/\S+/.exec(said)[0];
        const answer = await fetch(address);
        assert.equal(answer.status, 200);
        assert.match(await answer.text(), /<!doctype html>/i);
    },
});
