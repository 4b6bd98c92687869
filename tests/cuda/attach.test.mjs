// ggscope attach to a program on an NVIDIA GPU: tests/run --cuda attach. CUPTI is loaded late.
import assert from "node:assert/strict";
import { attachTo, start, tiny, until } from "../engine/attaching.mjs";
import { check, host, rows, table } from "../engine/traces.mjs";
import { env, maybe, say } from "./cuda.mjs";

for (const graphs of [true, false]) {
    maybe(`attached twice, CUDA graphs ${graphs ? "on" : "off"}: every graph run is there, the output stays the same`, async () => {
        const program = start(host, ["endless", "-g", "3", "-l", "99", tiny], { env: { ...env, ...(graphs ? {} : { GGML_CUDA_DISABLE_GRAPHS: "1" }) } });
        const hashes = () => [...program.said.stdout.matchAll(/"logits":(\d+)/g)].map(([, hash]) => hash);
        await until("its output", () => (assert.equal(program.child.exitCode, null, program.said.stderr), hashes().length > 8));
        for (let i = 0; i < 2; i++) {
            const a = attachTo(String(program.child.pid), "--gpu-ops", "all", "--steps", "40"), { status, stderr } = await a.ended;
            assert.equal(status, 0, stderr);
            check(a.directory);
            assert.equal(rows(a.directory, "steps").steps.length, 40);
            const runs = table(a.directory, "runs").filter((r) => r.backend === "CUDA0"), sum = (key) => runs.reduce((all, r) => all + Number(r[key]), 0);
            assert.ok(runs.length > 0);
            assert.equal(sum("executed") + sum("absorbed") + sum("empty") + sum("skipped") + sum("opaque"), sum("nodes"), "every node is accounted for");
            if (sum("executed") === 0) assert.match(stderr, /^opaque +\d+ nodes ran on a backend that is seen as a whole only$/m);
            say(`attached, CUDA graphs ${graphs ? "on" : "off"}, time ${i + 1}: ${sum("nodes")} nodes of ${runs.length} graph runs: ${sum("executed")} executed, ${sum("opaque")} as a whole; ${stderr.match(/stood for [\d.]+ ms/)}`);
        }
        const n = hashes().length;
        await until("it to go on", () => hashes().length > n + 8);
        hashes().forEach((hash, i) => assert.equal(hash, hashes()[i % 4], `step ${i}`));
    });
}
