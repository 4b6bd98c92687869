// Engines whose ggml_barrier cannot be hooked, because the compiler inlined it into the loop over
// the nodes. A library in front of ours passes the calls directly to the engine;
// tests/full/clang.test.mjs has an engine built that way.
import { test } from "node:test";
import assert from "node:assert/strict";
import { engine, ggscope, model, output, run } from "../lib.mjs";
import { fresh, hidingBarrier, host, jsonLines, rows } from "./traces.mjs";

const NO_WAITS = 8, ENDED = 1, WAIT_UNSEEN = 8, END_BOUND = 16;
const hide = hidingBarrier();

// The program alone and recorded, both with hidden calls.
function twin(command) {
    const hidden = (words) => ["sh", "-c", 'LD_PRELOAD="$0${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"', hide, ...words];
    const [program, ...args] = hidden(command);
    const plain = run(program, args);
    const directory = fresh();
    const recorded = run(ggscope, ["record", "--no-faults", "-o", directory, "--", program, ...args]);
    assert.equal(recorded.status, plain.status, recorded.stderr);
    return { directory, plain, recorded, ...rows(directory, "runs", "op_runs", "losses") };
}

for (const threads of [1, 2]) {
    test(`the engine's own callback gives the ends, on ${threads} thread${threads > 1 ? "s" : ""}`, () => {
        const { directory, plain, recorded, runs, op_runs, losses } = twin([engine, "run", "-m", model("tiny"), "-p", "Once upon a time", "-n", "4", "-t", String(threads), "--ignore-eos", "--json", "--logits-hash"]);
        assert.equal(JSON.parse(recorded.stdout).logits_hash, JSON.parse(plain.stdout).logits_hash);
        assert.deepEqual(losses, []);
        assert.equal(runs.length, 4);
        // The recorder and every verb say so.
        assert.match(recorded.stderr, /^waits +not seen in 4 of 4 graph runs/m);
        assert.match(output(ggscope, ["stats", directory]), /^waits +not seen in 4 of 4 graph runs/m);
        const all = JSON.parse(output(ggscope, ["stats", "--json", directory]));
        assert.equal(all.runs_without_waits, 4);
        assert.ok(all.by_op.every((o) => o.wait_ns === null), "a sum of which parts were not seen");
        assert.match(output(ggscope, ["check", directory]), /^\S+ +waits +/m);
        for (const r of runs) {
            assert.deepEqual([r.flags, r.unseen, r.cut, r.opaque], [NO_WAITS, 0, 0, 0]);
            const mine = op_runs.filter((o) => o.run === r.run), nodes = [...new Set(mine.map((o) => o.node))].sort((a, b) => a - b);
            const begins = new Map(nodes.map((node) => [node, Math.min(...mine.filter((o) => o.node === node).map((o) => o.begin_ns))]));
            assert.equal(mine.length, threads * r.executed);
            for (const o of mine) {
                const end = o.begin_ns + o.duration_ns, next = begins.get(nodes[nodes.indexOf(o.node) + 1]) ?? r.end_ns;
                assert.equal(o.wait_ns, 0);
                if (o.thread === 0) {
                    assert.equal(o.flags & (ENDED | WAIT_UNSEEN | END_BOUND), ENDED | WAIT_UNSEEN);
                    assert.ok(end <= next, `node ${o.node} ends ${end - next} ns after the next one begins (duration ${o.duration_ns})`);
                } else if (o.flags & END_BOUND) {
                    assert.equal(end, Math.max(next, o.begin_ns));
                } else {
                    assert.equal(o.flags & (ENDED | WAIT_UNSEEN | 4), ENDED | WAIT_UNSEEN | 4); // computed by an extra buffer type, whose return is seen
                }
                assert.ok(o.duration_ns > 0 || next <= o.begin_ns);
            }
        }
    });
}

test("a program's own abort callback is asked as often, and stops the same run", () => {
    const { plain, recorded, runs } = twin([host, "stop", "-t", "1", "-n", "700", model("tiny")]);
    assert.deepEqual(jsonLines(recorded.stdout), jsonLines(plain.stdout));
    assert.ok(runs.some((r) => r.status !== 0), "one was stopped");
});

test("--prove says that it cannot, but with one thread", () => {
    for (const threads of [1, 2]) {
        const directory = fresh();
        const result = run("sh", ["-c", `exec "$0" record -q --no-faults --prove -o "$1" -- sh -c 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"' "$2" "$3" run -m "$4" -p Hello -n 2 -t ${threads} --no-repack`,
            ggscope, directory, hide, engine, model("tiny")]);
        assert.equal(result.status, 0, result.stderr);
        assert.equal(/ggscope: this engine's ggml_barrier is not called where it could be seen, so pages can be proved only with one thread/.test(result.stderr), threads > 1, result.stderr);
        if (threads === 1) assert.equal(run(ggscope, ["prove", directory]).status, 0);
    }
});

test("an engine whose barrier is seen is not asked twice, and its ends and waits are exact", () => {
    const directory = fresh();
    output(ggscope, ["record", "-q", "--no-faults", "-o", directory, "--", engine, "run", "-m", model("tiny"), "-p", "Hello", "-n", "2", "-t", "1", "--ignore-eos"]);
    const { runs, op_runs } = rows(directory, "runs", "op_runs");
    for (const r of runs) assert.equal(r.flags, 0);
    for (const o of op_runs) assert.equal(o.flags & (ENDED | WAIT_UNSEEN | END_BOUND), ENDED);
});
