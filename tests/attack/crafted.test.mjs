// Traces with wrong values and valid checksums: no command crashes, hangs or exhausts memory.
//
// 30 traces and a few commands each; with GGSCOPE_ATTACK=full 500 traces and every command.
// GGSCOPE_BUILD=build/asan detects more.
import { test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, ggscope, output, run, scratch } from "../lib.mjs";
import { commands, look } from "./commands.mjs";

const full = process.env.GGSCOPE_ATTACK === "full";
const traces = full ? 500 : 30;
const golden = join(dirname(fileURLToPath(import.meta.url)), "..", "golden");
const newest = readdirSync(golden).filter((name) => /^v\d+$/.test(name)).sort().at(-1);
const source = join(golden, newest, "trace.ggs");
const limited = ["-c", 'ulimit -v 8000000; exec "$0" "$@"']; // KiB: ten times what these commands need
const sanitized = process.env.GGSCOPE_BUILD?.includes("asan"); // ASan reserves terabytes of addresses

test(`${traces} traces with wrong values: an answer or an error from every command`, (t) => {
    const directory = scratch("crafted/experiment"), out = scratch("crafted/out");
    cpSync(join(golden, newest), directory, { recursive: true });
    const count = { answered: 0, refused: 0 };
    for (let seed = 1; seed <= traces; seed++) {
        output(join(build, "tests", "mutate-trace"), [source, join(directory, "trace.ggs"), String(seed), String([1, 3, 30][seed % 3])]);
        const some = full ? commands.keys() : [0, 1, 2, 3].map((i) => (seed * 4 + i) % commands.length);
        for (const c of some) {
            const where = `mutate-trace seed ${seed}: ggscope ${commands[c].join(" ")}`;
            let answer;
            try {
                answer = sanitized ? look(commands[c], directory, out) : look([...limited, ggscope, ...commands[c]], directory, out, { program: "sh" });
            } catch (error) {
                assert.fail(`${where}: ${error.message}`); // a time-out: name the command
            }
            assert.equal(answer.signal, null, `${where}: ${answer.signal}\n${answer.stderr.slice(0, 2000)}`);
            assert.ok([0, 1].includes(answer.status), `${where}: exit ${answer.status}\n${answer.stderr.slice(0, 2000)}`);
            assert.doesNotMatch(answer.stderr, /AddressSanitizer|runtime error/, where);
            if (answer.status !== 0 && !(commands[c][0] === "prove" && answer.stdout)) assert.match(answer.stderr, /^ggscope: .+/m, `${where}: no sentence`); // prove may answer no
            count[answer.status === 0 ? "answered" : "refused"]++;
        }
        const check = run(ggscope, ["check", directory], { timeout: 60_000 });
        assert.ok([0, 1].includes(check.status), `seed ${seed}: check ${check.status ?? check.signal}\n${check.stderr}`);
    }
    t.diagnostic(`${traces} traces: ${count.answered} answers, ${count.refused} refusals, no crash`);
});

test("a view whose rows lie in each other: the model is not read a thousand times over", () => {
    const directory = scratch("overlapping/experiment"), out = scratch("overlapping/out");
    cpSync(join(golden, newest), directory, { recursive: true });
    output(join(build, "tests", "mutate-trace"), [source, join(directory, "trace.ggs"), "77", "30"]);
    const answer = look(["paging", "--json", "--readahead", "128K", "{dir}"], directory, out);
    assert.equal(answer.status, 0, answer.stderr || answer.signal);
    const paging = JSON.parse(answer.stdout);
    assert.ok(paging.demand_bytes_per_token < 100 * paging.model_bytes, `${paging.demand_bytes_per_token} bytes per token`);
});
