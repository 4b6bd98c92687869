// Shared by the tests of AArch64 in an emulator. The libraries and the engine are in
// build/aarch64-root (scripts/cross-root).
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { leaveEngineAlone, root, run } from "./lib.mjs";

leaveEngineAlone();

export const cross = join(root, "build", "aarch64-root");

// Fetches missing parts. Returns the reason if testing is impossible here, else "".
export function prepare() {
    if (process.arch !== "x64") return `this machine is ${process.arch}, and the emulator is for x64`;
    const made = run(join(root, "scripts", "cross-root"));
    return made.status === 0 ? "" : made.stderr.trim().split("\n").at(-1);
}

// Compiles into a separate folder.
export function compile(folder, targets, ...options) {
    const configured = run("cmake", ["-G", "Ninja", "-S", root, "-B", folder, "--toolchain", join(root, "cmake", "aarch64.cmake"), ...options]);
    assert.equal(configured.status, 0, configured.stdout + configured.stderr);
    const built = run("cmake", ["--build", folder, "--target", ...targets], { timeout: 3_600_000 });
    assert.equal(built.status, 0, built.stdout + built.stderr);
}

// The built unit tests by name. Each reports as TAP and marks skipped tests with "# SKIP".
export const unitTests = (folder) => readdirSync(join(folder, "tests")).filter((name) => /^test-[a-z-]+$/.test(name) && existsSync(join(folder, "tests", name)));
export function runUnitTest(folder, name) {
    const result = run(join(cross, "run"), [join(folder, "tests", name)], { env: { ...process.env, CMOCKA_MESSAGE_OUTPUT: "TAP" } });
    assert.equal(result.status, 0, result.stdout + result.stderr);
    return result.stdout;
}

// For programs that start others: runs a process tree in which the kernel passes AArch64 programs
// to the emulator.
export const tree = (command, options = {}) => run(join(cross, "tree"), command, options);
export const treeWorks = () => tree(["true"]).status === 0;
