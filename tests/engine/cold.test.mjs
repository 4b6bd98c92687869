// --cold: the model is not in the page cache when the program starts, or ggscope says what stayed.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, output, run, scratch } from "../lib.mjs";
import { check, fresh, stats } from "./traces.mjs";
import { machine, nobody, noPython, ownFolder, ownModel, warm } from "./pressure.mjs";

const tiny = ownModel("tiny"), size = statSync(tiny).size;
const generate = (directory, path, ...options) =>
    run(ggscope, ["run", "-q", "-o", directory, "-m", path, "-p", "Once upon a time", "-n", "3", "-t", "2", "--ignore-eos", ...options]);

// Some file systems are in memory, others report nothing.
const first = fresh();
generate(first, tiny, "--cold");
const keeps = machine(first).cold.resident_after > 0 && "the build's file system keeps files in memory";

test("the model is read from the disk again, whole, and the text is the same", { skip: keeps }, () => {
    const [cold, hot] = [fresh(), fresh()];
    warm(tiny);
    const without = generate(hot, tiny), result = generate(cold, tiny, "--cold");
    assert.equal(result.status, 0, result.stderr);
    assert.doesNotMatch(result.stderr, /^ggscope: /m);
    assert.equal(result.stdout, without.stdout);
    const { cold: dropped, read_bytes: bytes } = machine(cold);
    assert.deepEqual({ ...dropped, resident_before: 0 }, { files: 1, bytes: size, resident_before: 0, resident_after: 0 });
    assert.ok(dropped.resident_before > 0.9 * size); // the kernel may drop pages itself
    assert.ok(bytes >= 0.9 * size, `${bytes} bytes were read`); // the engine requests all of it at once
    assert.equal(machine(hot).cold, undefined);
    assert.ok(machine(hot).read_bytes < 0.1 * size);
    check(cold);
    assert.deepEqual(stats(cold).machine.cold, { bytes: size, resident_before: dropped.resident_before, resident_after: 0 });
    assert.match(output(ggscope, ["stats", cold]), /^cold +19\.0 MiB dropped from the page cache first$/m);
});

test("every file of a split model", { skip: keeps }, () => {
    const path = join(ownFolder(), "part.gguf");
    output(engine, ["synth", "tiny", "--layers", "6", "--split", "3", "-o", path]);
    const parts = [1, 2, 3].map((i) => join(ownFolder(), `part-0000${i}-of-00003.gguf`));
    parts.forEach(warm);
    const directory = fresh(), result = generate(directory, parts[0], "--cold");
    assert.equal(result.status, 0, result.stderr);
    const sum = parts.reduce((total, part) => total + statSync(part).size, 0);
    const { resident_before: before, ...dropped } = machine(directory).cold;
    assert.deepEqual(dropped, { files: 3, bytes: sum, resident_after: 0 });
    assert.ok(before > 0.9 * sum);
});

test("a model that another process has mapped stays, which is said with its name", { skip: keeps || noPython }, async () => {
    const holder = spawn("python3", ["-c", "import mmap,sys;f=open(sys.argv[1],'rb');m=mmap.mmap(f.fileno(),0,access=mmap.ACCESS_READ);print(sum(m[::4096]),flush=True);sys.stdin.read()", tiny],
        { stdio: ["pipe", "pipe", "inherit"] });
    await once(holder.stdout, "data");
    const directory = fresh(), result = generate(directory, tiny, "--cold");
    holder.stdin.end();
    await once(holder, "close");
    assert.equal(result.status, 0);
    assert.match(result.stderr, new RegExp(`^ggscope: .* of the model stayed in the page cache: process ${holder.pid} \\(python3.*\\) has it mapped$`, "m"));
    assert.ok(machine(directory).cold.resident_after > 0.9 * size);
});

test("record finds the model in the command, or is told", () => {
    const [named, told] = [fresh(), fresh()], command = [engine, "run", "-m", tiny, "-p", "Hi", "-n", "1"];
    output(ggscope, ["record", "-q", "--cold", "-o", named, "--", ...command]);
    assert.equal(machine(named).cold.bytes, size);
    output(ggscope, ["record", "-q", `--cold=${tiny}`, "-o", told, "--", "sh", "-c", command.map((word) => `'${word}'`).join(" ")]);
    assert.equal(machine(told).cold.bytes, size);
});

test("wrong input: one sentence, exit 2, nothing left", () => {
    const directory = scratch("never");
    for (const [options, sentence] of [
        [["--cold", "--", "true"], /^ggscope: --cold needs to know the model, .*: name it with --cold=FILE\n$/],
        [["--cold=/nonexistent", "--", "true"], /^ggscope: --cold needs the model: \/nonexistent: .*\n$/],
        [["--cold", "--", "true", "-m", "/dev/null"], /^ggscope: --cold needs the model: \/dev\/null: .*\n$/],
    ]) {
        const result = run(ggscope, ["record", "-o", directory, ...options]);
        assert.equal(result.status, 2, options.join(" "));
        assert.match(result.stderr, sentence);
        assert.ok(!existsSync(directory));
    }
});

test("somebody else's model: dropped, and said that nobody knows how much", { skip: !nobody && "needs root, to become somebody else" }, () => {
    const directory = join(ownFolder(), "nobody");
    output("install", ["-d", "-m", "777", ownFolder()]);
    const result = nobody([ggscope, "run", "-q", "-o", directory, "--cold", "-m", tiny, "-p", "Hi", "-n", "1"]);
    assert.equal(result.status, 0, result.stderr);
    assert.match(result.stderr, /^ggscope: the model is neither yours nor writable: /m);
    assert.deepEqual(machine(directory).cold, { files: 1, bytes: size, resident_before: null, resident_after: null });
    assert.equal(stats(directory).machine.cold.resident_after, null);
});
