// Random tests of the core of ggscope stream, for an hour each: plain, and with AddressSanitizer
// and ThreadSanitizer. GGSCOPE_TEST_SECONDS sets the duration.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { build, run, scratch } from "../lib.mjs";

const SECONDS = Number(process.env.GGSCOPE_TEST_SECONDS ?? 3600), cwd = scratch();

for (const name of ["test-stream-random", "test-stream-random-asan", "test-stream-random-tsan"]) {
    const program = join(build, "tests", name);
    test(`${name}, ${SECONDS} s`, { skip: existsSync(program) ? false : "it was not built", timeout: (SECONDS + 600) * 1000 }, () => {
        const { status, signal, stderr } = run(program, [], { cwd, env: { ...process.env, GGSCOPE_STREAM_SECONDS: String(SECONDS) } });
        assert.equal(status, 0, `${signal}: ${stderr.slice(-3000)}`);
        assert.match(stderr, /# \d+ models, \d+ graph runs, [1-9]\d* of them streamed/);
    });
}
