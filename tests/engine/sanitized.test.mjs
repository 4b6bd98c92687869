// Both preload libraries with AddressSanitizer and UndefinedBehaviorSanitizer, in programs without
// them: covers what unit tests cannot reach. (TSan cannot be preloaded; tests of parts of the
// libraries are built with it.)
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, preloadable, run, scratch, sanitized } from "../lib.mjs";
import { check, fresh, host, rows } from "./traces.mjs";

const library = (name) => preloadable(join(build, "tests", "asan", `libggscope-${name}.so`));
const runtime = run("gcc", ["-print-file-name=libasan.so"]).stdout.trim();
const engineFolder = JSON.parse(output(engine, ["run", "-m", model("tiny", "--layers", "2"), "-p", "x", "-n", "1", "-t", "1", "--json"])).engine.directory;
const missing = sanitized ? "this build is sanitized as a whole" : !existsSync(runtime) ? "gcc has no libasan" : undefined;
const skip = missing === undefined ? {} : { skip: missing };
const environment = (names, more) => ({ ...process.env, LD_PRELOAD: [runtime, ...names.map(library)].join(":"), ASAN_OPTIONS: "detect_leaks=0", UBSAN_OPTIONS: "print_stacktrace=1", ...more });

function clean(command, names, more = {}) {
    const result = run(command[0], command.slice(1), { env: environment(names, more) });
    assert.equal(result.status, 0, `${command.join(" ")}: ${result.status ?? result.signal}\n${result.stderr}`);
    assert.doesNotMatch(result.stderr, /Sanitizer|runtime error/);
    return result.stdout;
}

// Records a program with the sanitized library; its output must not change.
function record(command, more) {
    const directory = fresh();
    const lines = (text) => text.split("\n").filter((line) => !line.startsWith(`{"child":`)).sort(); // the order of threads and process ids vary
    assert.deepEqual(lines(clean(command, ["capture"], { GGSCOPE_OUTPUT: directory, ...more })), lines(output(command[0], command.slice(1))));
    output(ggscope, ["seal", directory]);
    check(directory);
    return directory;
}

const tiny = model("tiny"), moe = model("moe");

test("the sanitizer is there: a library that reads beyond its memory is caught", skip, () => {
    const result = run(engine, ["--version"], { env: environment(["fault"]) });
    assert.match(result.stderr, /AddressSanitizer: heap-buffer-overflow|runtime error: load of address/);
});

test("recording: batches, several contexts, forks, threads, a mixture of experts, residency and page truth", skip, () => {
    record([host, "generate", tiny]);
    record([host, "contexts", tiny]);
    record([host, "fork", tiny]);
    const directory = record([host, "generate", moe], { GGSCOPE_RESIDENCY: "1" });
    assert.ok(rows(directory, "index").index.length > 0);
    record([host, "generate", tiny], { GGSCOPE_PROVE: "1" });
});

test("recording values: several contexts at once, a fork, a mixture of experts", skip, () => {
    for (const [mode, path] of [["contexts", tiny], ["fork", tiny], ["generate", moe]]) {
        const { op_values, losses } = rows(record([host, mode, path], { GGSCOPE_VALUES: "" }), "op_values", "losses");
        assert.ok(op_values.length > 1000 && losses.length === 0, mode);
    }
});

test("libraries that come and go while it records", skip, () => {
    record([host, "reopen", tiny]);
});

test("streaming, also while it is recorded: the logits are those of the engine alone", skip, () => {
    const report = scratch("report.json");
    const command = [engine, "run", "-m", moe, "-p", "Once", "-n", "6", "--json", "--logits-hash", "--ignore-eos", "--no-repack"];
    const hash = (text) => JSON.parse(text).logits_hash, wanted = hash(output(command[0], command.slice(1)));
    const small = { GGSCOPE_STREAM: "1", GGSCOPE_STREAM_REPORT: report, GGSCOPE_STREAM_BUDGET: String(16 << 20), XDG_CACHE_HOME: scratch("cache") };
    clean(command, ["stream"], small);
    const { engine: own } = JSON.parse(readFileSync(report, "utf8"));
    const budget = { ...small, GGSCOPE_STREAM_BUDGET: String(Math.round(((own + (8 << 20) + 0.5 * readFileSync(moe).length) * 32) / 31)) };
    assert.equal(hash(clean(command, ["stream"], budget)), wanted);
    assert.equal(JSON.parse(readFileSync(report, "utf8")).state, "streamed");
    const directory = fresh();
    assert.equal(hash(clean(command, ["capture", "stream"], { ...budget, GGSCOPE_OUTPUT: directory })), wanted);
    output(ggscope, ["seal", directory]);
    check(directory);
});

// A program that loads an engine at run time, built with a sanitizer of its own, whose runtime
// wants to be the first library.
for (const kind of ["address", "thread", "undefined"]) {
    const probe = scratch(`probe-${kind}`);
    const possible = run("sh", ["-c", `echo 'int main(void) { return 0; }' | gcc -fsanitize=${kind} -xc - -o ${probe} && ${probe}`]).status === 0;
    test(`a program with its own sanitizer: ${kind}`, missing === undefined && !possible ? { skip: "gcc has no such sanitizer here" } : skip, () => {
        const program = scratch(`sanitized-${kind}`), libraries = engineFolder;
        writeFileSync(`${program}.c`, `
            #include <dlfcn.h>
            #include <stdio.h>
            #include <stdlib.h>
            int main(int argc, char ** argv) {
                void * base = dlopen(argv[argc - 1], RTLD_NOW | RTLD_GLOBAL);
                char * bytes = malloc(10);
                printf("%d %d\\n", base != NULL, bytes != NULL);
                free(bytes);
                return 0;
            }`);
        output("gcc", [`-fsanitize=${kind}`, "-o", program, `${program}.c`, "-ldl"]);
        for (const verb of [["record", "-o", fresh()], ["stream"]]) {
            const result = run(ggscope, [...verb, "--", program, join(libraries, "libggml-base.so")]);
            assert.equal(result.stdout, "1 1\n", result.stderr);
            assert.doesNotMatch(result.stderr, /Sanitizer|ASan|runtime error/);
        }
    });
}
