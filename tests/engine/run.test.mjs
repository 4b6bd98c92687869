// ggscope-engine run: text, timings, hashes, and one sentence for every possible error. One thread
// if the number does not matter: the engine's threads spin, which is slow on a busy machine.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, truncateSync, copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engine, model, output, preloadable, run, scratch, vocabularies } from "../lib.mjs";

const tiny = model("tiny");
const greet = ["-p", "Hello world, how are you?", "-t", "1"];
scratch(); // creates the directory

function generate(...options) {
    const stdout = output(engine, ["run", "-m", tiny, ...greet, "--json", ...options]);
    assert.match(stdout, /^\{.*\}\n$/, "stdout is one line of JSON");
    return JSON.parse(stdout);
}

// Must fail with exactly one sentence on stderr and nothing on stdout.
function refused(args, pattern, options = {}) {
    const result = run(engine, ["run", ...args], options);
    assert.equal(result.status, 1, result.stderr);
    assert.equal(result.stdout, "");
    assert.match(result.stderr, /^ggscope-engine: [^\n]+\n$/);
    assert.match(result.stderr, pattern);
}

// ---- results ----

test("prints the text to stdout and the timings to stderr", () => {
    const result = run(engine, ["run", "-m", tiny, ...greet, "-n", "8"]);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(result.stdout.trimEnd(), generate("-n", "8").text.trimEnd());
    assert.match(result.stderr, /^prompt +\d+ tokens +[\d.]+ ms +[\d.]+ tokens\/s$/m);
    assert.match(result.stderr, /^generate +8 tokens +[\d.]+ ms per token +[\d.]+ tokens\/s$/m);
});

test("without -t, LLAMA_ARG_THREADS says how many threads, as for the programs of llama.cpp", () => {
    const threads = (value, ...options) => JSON.parse(output(engine, ["run", "-m", tiny, "-p", "Hello", "-n", "1", "--json", ...options], { env: { ...process.env, LLAMA_ARG_THREADS: value } })).threads;
    assert.equal(threads("2"), 2);
    assert.equal(threads("2", "-t", "1"), 1, "-t has the last word");
    for (const [value, pattern] of [["many", /LLAMA_ARG_THREADS takes a whole number, not 'many'/], ["0", /LLAMA_ARG_THREADS 0 is out of range/]])
        refused(["-m", tiny, "-p", "Hello"], pattern, { env: { ...process.env, LLAMA_ARG_THREADS: value } });
});

test("two runs give the same text and the same logits", () => {
    const a = generate("-n", "8", "--logits-hash");
    const b = generate("-n", "8", "--logits-hash");
    assert.equal(a.text, b.text);
    assert.deepEqual(a.ids, b.ids);
    assert.equal(a.logits_hash, b.logits_hash);
    assert.match(a.logits_hash, /^[0-9a-f]{16}$/);
});

test("another prompt gives another hash", () => {
    const a = generate("-n", "2", "--logits-hash");
    const b = JSON.parse(output(engine, ["run", "-m", tiny, "-p", "Goodbye", "-t", "1", "-n", "2", "--json", "--logits-hash"]));
    assert.notEqual(a.logits_hash, b.logits_hash);
});

test("the JSON says what was done, and with what", () => {
    const result = generate("-n", "5", "--ignore-eos");
    assert.equal(typeof result.text, "string");
    assert.ok(result.prompt_tokens >= 5);
    assert.equal(result.generated_tokens, 5);
    assert.equal(result.ids.length, 5);
    assert.equal(result.stopped, "length");
    assert.ok(result.prompt_ns > 0);
    assert.ok(result.generate_ns > 0 && result.generate_median_ns > 0 && result.generate_cpu_ns > 0);
    assert.equal(result.token_ns.length, 4); // the first token is the prompt's
    assert.equal(result.token_ns.reduce((sum, ns) => sum + ns, 0), result.generate_ns);
    assert.equal([...result.token_ns].sort((a, b) => a - b)[2], result.generate_median_ns);
    assert.ok(Math.abs((result.tokens_per_second * result.generate_ns) / 1e9 - 4) < 1e-6);
    assert.equal(result.threads, 1);
    assert.equal(result.model, tiny);
    assert.match(result.engine.llama_version, /./);
    assert.match(result.engine.ggml_commit, /./);
    assert.match(result.engine.directory, /^\//);
    assert.equal(result.logits_hash, undefined);
});

test("-n N gives N tokens", () => {
    for (const n of [1, 2, 17]) assert.equal(generate("-n", `${n}`, "--ignore-eos").ids.length, n);
    assert.equal(generate("-n", "1").generate_median_ns, null); // the first token is the prompt's
});

test("a longer run begins like a shorter one", () => {
    const short = generate("-n", "4", "--ignore-eos").ids;
    assert.deepEqual(generate("-n", "9", "--ignore-eos").ids.slice(0, 4), short);
});

test("two threads", () => {
    const result = generate("-n", "3", "--ignore-eos", "-t", "2");
    assert.equal(result.threads, 2);
    assert.equal(result.generated_tokens, 3);
});

test("reading instead of mapping changes no logits", () => {
    assert.equal(generate("-n", "4", "--logits-hash", "--no-mmap").logits_hash, generate("-n", "4", "--logits-hash").logits_hash);
});

test("--no-repack and --eval-callback give as many tokens", () => {
    for (const option of ["--no-repack", "--eval-callback"])
        assert.equal(generate("-n", "3", "--ignore-eos", option).generated_tokens, 3, option);
});

test("a prompt in small batches", () => {
    const whole = generate("-n", "3", "--ignore-eos");
    const parts = generate("-n", "3", "--ignore-eos", "--batch", "2", "--ubatch", "1", "--logits-hash");
    assert.equal(parts.prompt_tokens, whole.prompt_tokens);
    assert.equal(parts.generated_tokens, 3);
});

test("a seed samples, and does so again", () => {
    const a = generate("-n", "12", "--seed", "7");
    assert.deepEqual(generate("-n", "12", "--seed", "7").ids, a.ids);
    assert.notDeepEqual(generate("-n", "12", "--seed", "8").ids, a.ids);
    assert.deepEqual(generate("-n", "12", "--seed", "7", "--temp", "0").ids, generate("-n", "12").ids);
});

test("the text is whole UTF-8, whatever the tokens are", () => {
    for (const seed of ["1", "2", "3"]) {
        const args = ["run", "-m", tiny, ...greet, "-n", "150", "--ignore-eos", "--seed", seed, "--temp", "3"];
        const { stdout } = run(engine, args, { encoding: "buffer" });
        const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(stdout);
        assert.equal(text.replace(/\n$/, ""), JSON.parse(output(engine, [...args, "--json"])).text.replace(/\n$/, ""));
    }
});

test("the prompt from a file or from stdin", () => {
    const file = scratch("prompt.txt");
    writeFileSync(file, greet[1]);
    const expected = generate("-n", "3").ids;
    for (const name of [file, "-"]) {
        const args = ["run", "-m", tiny, "-f", name, "-t", "1", "-n", "3", "--json"];
        assert.deepEqual(JSON.parse(output(engine, args, { input: greet[1] })).ids, expected);
    }
});

// A copy of the tiny model with `bytes` written `skip` bytes after the key `key`.
function patched(name, key, skip, bytes) {
    const data = readFileSync(tiny);
    const at = data.indexOf(key);
    assert.ok(at > 0, `${key} is in the model`);
    bytes.copy(data, at + key.length + skip);
    writeFileSync(scratch(name), data);
    return scratch(name);
}

test("stops where the model ends its text, unless told to go on", () => {
    const first = Buffer.alloc(4);
    first.writeInt32LE(generate("-n", "1").ids[0]);
    const file = patched("eos.gguf", "tokenizer.ggml.eos_token_id", 4, first);
    const args = ["run", "-m", file, ...greet, "-n", "6", "--json"];
    const ended = JSON.parse(output(engine, args));
    assert.equal(ended.stopped, "end");
    assert.equal(ended.generated_tokens, 1);
    const all = JSON.parse(output(engine, [...args, "--ignore-eos"]));
    assert.equal(all.stopped, "length");
    assert.equal(all.generated_tokens, 6);
});

test("--verbose shows the engine's log, which is silent otherwise", () => {
    const args = ["run", "-m", tiny, ...greet, "-n", "1"];
    assert.doesNotMatch(run(engine, args).stderr, /llama_model_loader/);
    assert.match(run(engine, [...args, "--verbose"]).stderr, /llama_model_loader/);
});

// ---- how it is linked ----

const directory = generate("-n", "1").engine.directory;

test("nothing but the engine's functions is left undefined, and the engine has them all", () => {
    const symbols = (options, file) => output("nm", ["-D", ...options, file]).split("\n").map((line) => line.trim().split(/\s+/));
    const defined = new Set();
    for (const name of readdirSync(directory).filter((file) => /^lib(llama|ggml|ggml-base)\.(.*\.)?so/.test(file)))
        for (const symbol of symbols(["--defined-only"], join(directory, name))) defined.add(symbol[2]);
    const wanted = symbols(["--undefined-only"], engine).filter((symbol) => symbol[0] === "U").map((symbol) => symbol[1]);
    const engines = wanted.filter((name) => /^(llama|ggml|gguf)_/.test(name));
    assert.ok(engines.includes("llama_decode"));
    assert.deepEqual(engines.filter((name) => !defined.has(name)), []);
    // Undefined functions of our own would not fail the link.
    assert.deepEqual(wanted.filter((name) => /^ggs_/.test(name)), []);
    // Bound at start they would be missing, because main opens the engine.
    assert.doesNotMatch(output("readelf", ["-d", "-W", engine]), /BIND_NOW|Flags:.*NOW/);
});

test("a preloaded library sees N decodes for N tokens", () => {
    const source = scratch("count.c");
    writeFileSync(source, `
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdint.h>
        #include <stdio.h>
        struct batch { int32_t n_tokens; void * arrays[6]; };
        int32_t llama_decode(void * context, struct batch batch) {
            int32_t (*real)(void *, struct batch) = (int32_t (*)(void *, struct batch)) dlsym(RTLD_NEXT, "llama_decode");
            fprintf(stderr, "decode %d\\n", batch.n_tokens);
            return real(context, batch);
        }`);
    output("cc", ["-shared", "-fPIC", "-o", scratch("count.so"), source]);
    const env = { ...process.env, LD_PRELOAD: preloadable(scratch("count.so")), ASAN_OPTIONS: "verify_asan_link_order=0" };
    const result = run(engine, ["run", "-m", tiny, ...greet, "-n", "3", "--ignore-eos", "--json"], { env });
    assert.equal(result.status, 0, result.stderr);
    const prompt = JSON.parse(result.stdout).prompt_tokens;
    assert.deepEqual(result.stderr.match(/^decode .*$/gm), [`decode ${prompt}`, "decode 1", "decode 1"]);
});

test("--engine and GGSCOPE_ENGINE name another folder of libraries", () => {
    const folder = mkdtempSync(scratch("engine-"));
    mkdirSync(join(folder, "lib"));
    for (const name of readdirSync(directory)) symlinkSync(join(directory, name), join(folder, "lib", name));
    assert.equal(generate("-n", "1", "--engine", folder).engine.directory, join(folder, "lib"));
    const env = { ...process.env, GGSCOPE_ENGINE: join(folder, "lib") };
    const args = ["run", "-m", tiny, ...greet, "-n", "1", "--json"];
    assert.equal(JSON.parse(output(engine, args, { env })).engine.directory, join(folder, "lib"));
    // The command line is checked first.
    const wrong = { ...process.env, GGSCOPE_ENGINE: scratch("nowhere") };
    assert.equal(JSON.parse(output(engine, [...args, "--engine", folder], { env: wrong })).engine.directory, join(folder, "lib"));
    refused(args.slice(1), /GGSCOPE_ENGINE/, { env: wrong });
});

test("a directory without an engine, or with something else in its place", () => {
    const empty = mkdtempSync(scratch("empty-"));
    refused(["-m", tiny, ...greet, "--engine", empty], /no libllama\.so in .*empty-/);
    refused(["-m", tiny, ...greet, "--engine", tiny], /not a directory/);
    writeFileSync(join(empty, "libllama.so"), "not a library");
    refused(["-m", tiny, ...greet, "--engine", empty], /libllama\.so cannot be opened/);
});

test("version tells the engine's version, directory and CPU library", () => {
    const lines = output(engine, ["version"]).split("\n");
    assert.match(lines[0], /^ggscope-engine \d+\.\d+\.\d+$/);
    assert.match(lines[1], /^llama\.cpp .+, ggml .+, commit .+$/);
    assert.equal(lines[2], directory);
    const [, library, features] = /^computes with (libggml-cpu.*\.so[^:]*):((?: [A-Z0-9_]+)*)$/.exec(lines[3]);
    assert.ok(readdirSync(directory).includes(library), library);
    if (library.endsWith("-haswell.so")) assert.match(`${features} `, / AVX2 /);
    const absent = run(engine, ["version", "--engine", scratch("nowhere")]);
    assert.equal(absent.status, 1);
    assert.match(absent.stdout, /^ggscope-engine \d/);
    assert.match(absent.stderr, /nowhere/);
});

// ---- errors ----

test("models that are none", () => {
    const cut = (name, bytes) => {
        copyFileSync(tiny, scratch(name));
        truncateSync(scratch(name), bytes);
        return scratch(name);
    };
    writeFileSync(scratch("text.gguf"), "Once upon a time there was a model.\n");
    writeFileSync(scratch("empty.gguf"), "");
    output("mkfifo", [scratch("pipe.gguf")]);
    refused(["-m", scratch("absent.gguf"), ...greet], /absent\.gguf: No such file/);
    refused(["-m", scratch("text.gguf"), ...greet], /text\.gguf is not a GGUF file/);
    refused(["-m", scratch("empty.gguf"), ...greet], /empty\.gguf is empty/);
    refused(["-m", scratch(), ...greet], /is a directory/);
    refused(["-m", scratch("pipe.gguf"), ...greet], /not a regular file/);
    refused(["-m", cut("head.gguf", 10), ...greet], /truncated GGUF/);
    refused(["-m", cut("keys.gguf", 200), ...greet], /truncated or damaged GGUF/);
    refused(["-m", cut("infos.gguf", 300_000), ...greet], /truncated or damaged GGUF/);
    refused(["-m", cut("tensors.gguf", 15_000_000), ...greet], /truncated or damaged GGUF.*tensor '/);
    refused(["-m", join(vocabularies, "ggml-vocab-llama-spm.gguf"), ...greet], /no tensors, only metadata such as a vocabulary/);
});

test("an architecture that the engine does not know", () => {
    // The value is a string: 4 bytes of type, 8 of length, then "llama".
    const file = patched("strange.gguf", "general.architecture", 12, Buffer.from("lamma"));
    refused(["-m", file, ...greet], /unknown model architecture.*lamma/);
});

test("prompts that cannot be", () => {
    const long = "word ".repeat(300);
    refused(["-m", tiny, "-p", "", "-n", "1"], /prompt is empty/);
    refused(["-m", tiny, "-f", "/dev/null", "-n", "1"], /prompt is empty/);
    refused(["-m", tiny, "-f", scratch("absent.txt")], /absent\.txt: No such file/);
    refused(["-m", tiny, "-p", long, "-n", "1", "--ctx", "64"], /longer than the context of 64/);
    refused(["-m", tiny, "-p", long.repeat(40), "-n", "1"], /longer than the context/);
    refused(["-m", tiny, "-p", "Hello", "-n", "100", "--ctx", "64"], /need a context of 1\d\d, but it holds 64/);
});

test("a context that is just large enough", () => {
    const tokens = generate("-n", "1").prompt_tokens;
    assert.equal(generate("-n", "4", "--ignore-eos", "--ctx", `${tokens + 3}`).generated_tokens, 4);
    refused(["-m", tiny, ...greet, "-n", "4", "--ctx", `${tokens + 2}`], /need a context/);
});

test("numbers out of range", () => {
    for (const [option, ...values] of [["-n", "0", "-1", "99999999999"], ["-t", "0", "-2", "100000"], ["--ctx", "0", "2000000000"], ["--batch", "0"], ["--ubatch", "0"], ["--seed", "-1", "4294967295"]])
        for (const value of values) refused(["-m", tiny, "-p", "Hello", option, value], new RegExp(`${option} ${value} is out of range`));
});

test("wrong command lines exit with 2", () => {
    const wrong = [
        ["-p", "Hello"],
        ["-m", tiny],
        ["-m", tiny, "-p", "Hello", "-f", "file"],
        ["-m", tiny, "-p", "Hello", "--frobnicate"],
        ["-m", tiny, "-p", "Hello", "-n", "many"],
        ["-m", tiny, "-p", "Hello", "-n", "3x"],
        ["-m", tiny, "-p", "Hello", "--temp", "hot"],
        ["-m", tiny, "-p", "Hello", "--temp", "nan"],
        ["-m", tiny, "-p", "Hello", "surplus"],
    ];
    for (const args of wrong) {
        const result = run(engine, ["run", ...args]);
        assert.equal(result.status, 2, args.join(" "));
        assert.equal(result.stdout, "");
        assert.match(result.stderr, /^ggscope-engine run: /);
    }
});

// ---- how it ends: signals ----

test("SIGINT ends it after the current token, with what it has", async () => {
    const child = spawn(engine, ["run", "-m", tiny, ...greet, "-n", "1500", "--ignore-eos"]);
    let stdout = "";
    let stderr = "";
    child.stderr.on("data", (data) => (stderr += data));
    child.stdout.on("data", (data) => {
        if (stdout === "") child.kill("SIGINT");
        stdout += data;
    });
    const status = await new Promise((resolve) => child.on("close", resolve));
    assert.equal(status, 130, stderr);
    assert.match(stdout, /\n$/);
    const generated = Number(stderr.match(/^generate +(\d+) tokens/m)?.[1]);
    assert.ok(generated >= 1 && generated < 1500, stderr);
});

test("a closed pipe is no news", () => {
    const result = run("sh", ["-c", '"$0" run -m "$1" -p Hello -t 1 -n 1000 --ignore-eos | head -c 1', engine, tiny]);
    assert.equal(result.stdout.length, 1);
    assert.equal(result.stderr, "");
});

test("a full disk is told", () => {
    for (const json of ["", "--json"]) {
        const result = run("sh", ["-c", `"$0" run -m "$1" -p Hello -t 1 -n 2 ${json} > /dev/full`, engine, tiny]);
        assert.equal(result.status, 1);
        assert.match(result.stderr, /^ggscope-engine: cannot write .*No space left/m);
    }
});
