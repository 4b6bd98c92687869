// Data shared by threads, under ThreadSanitizer: the server's experiments, the slots of the capture
// library, the parts of paging.
import { test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { leaveEngineAlone, output, root, run } from "../lib.mjs";

leaveEngineAlone();

const programs = ["test-experiments", "test-slots", "test-paging"];

test("the preset tsan builds", () => {
    output("nice", ["cmake", "--preset", "tsan"], { cwd: root });
    output("nice", ["cmake", "--build", join(root, "build", "tsan"), "--target", ...programs], { timeout: 3_600_000 });
});

for (const program of programs) {
    test(`${program}: nothing is read while another thread writes it`, () => {
        const { status, stdout, stderr } = run(join(root, "build", "tsan", "tests", program), [], { timeout: 600_000, env: { ...process.env, TSAN_OPTIONS: "halt_on_error=0 exitcode=66" } });
        assert.equal(status, 0, stdout + stderr);
        assert.doesNotMatch(stderr, /WARNING: ThreadSanitizer/);
    });
}
