// ggscope run: by command line and by a settings file, in both of its forms.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, truncateSync, copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";

const tiny = model("tiny");
scratch();
let counter = 0;
const fresh = () => scratch(`e${counter++}`);
const json = (directory) => JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));

function settings(content, directory = fresh()) {
    if (!existsSync(directory)) mkdirSync(directory);
    const path = join(directory, "settings.json");
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content, null, 2));
    return path;
}

// Must fail with one sentence and exit status 1, and make nothing.
function refused(args, ...patterns) {
    const cwd = fresh();
    mkdirSync(cwd);
    const result = run(ggscope, ["run", ...args], { cwd });
    assert.equal(result.status, 1, result.stderr);
    assert.equal(result.stdout, "");
    assert.match(result.stderr, /^ggscope[a-z-]*: [^\n]+\n$/);
    for (const pattern of patterns) assert.match(result.stderr, pattern);
    assert.deepEqual(readdirSync(cwd), [], "nothing was made");
}

const basic = ["-m", tiny, "-p", "Hello world", "-t", "1"];

// ---- the command line ----

test("run records the built-in runner", () => {
    const directory = fresh();
    const result = run(ggscope, ["run", ...basic, "-n", "3", "-o", directory]);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(result.stdout, output(engine, ["run", ...basic, "-n", "3"]));
    const data = json(directory);
    assert.equal(data.state, "complete");
    assert.deepEqual(data.command, [engine, "run", "-m", tiny, "-p", "Hello world", "-n", "3", "-t", "1"]);
    assert.ok(existsSync(join(directory, "trace.ggs")));
});

test("options of the runner reach it, and its output stays its own", () => {
    const args = [...basic, "-n", "4", "--seed", "7", "--temp", "0.5", "--ctx", "64", "--batch", "2", "--ubatch", "2", "--no-mmap", "--no-repack", "--ignore-eos", "--json", "--logits-hash"];
    const result = run(ggscope, ["run", ...args, "-q", "-o", fresh()]);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(JSON.parse(result.stdout).logits_hash, JSON.parse(output(engine, ["run", ...args])).logits_hash);
});

test("placement is spelled as llama.cpp spells it, and a prompt is left as it is", () => {
    const directory = fresh();
    const result = run(ggscope, ["run", "-m", tiny, "-t", "1", "-p", "-ngl", "-n", "1", "-q", "-ngl", "3", "-dev", "none", "-sm", "layer", "-mg", "0", "-ot", "attn=CPU", "-fa", "off", "-o", directory]);
    assert.equal(result.status, 0, result.stderr);
    assert.deepEqual(json(directory).command.slice(2), ["-m", tiny, "-p", "-ngl", "-n", "1", "-t", "1", "--gpu-layers", "3", "--device", "none", "--flash-attn", "off", "--split-mode", "layer", "--main-gpu", "0", "--override-tensor", "attn=CPU"]);
    const ops = JSON.parse(output(ggscope, ["stats", "--json", directory])).by_op.map((g) => g.op);
    assert.ok(ops.includes("SOFT_MAX") && !ops.includes("FLASH_ATTN_EXT"), ops.join());
    const bad = run(ggscope, ["run", ...basic, "-n", "1", "--device", "Nowhere7", "-o", fresh()]);
    assert.notEqual(bad.status, 0);
    assert.match(bad.stderr, /--device: this engine has no 'Nowhere7'; it has CPU/);
});

test("--gpu-ops is a window, everything or nothing", () => {
    for (const value of ["first:0", "first:", "first:x", "some", ""]) {
        const result = run(ggscope, ["run", ...basic, "--gpu-ops", value, "-o", fresh()]);
        assert.equal(result.status, 2);
        assert.match(result.stderr, /--gpu-ops takes first:N with N of at least 1, all or none/);
    }
    assert.equal(run(ggscope, ["run", ...basic, "-n", "1", "--gpu-ops", "first:8", "-q", "-o", fresh()]).status, 0);
});

test("a prompt from stdin", () => {
    const directory = fresh();
    const result = run(ggscope, ["run", "-m", tiny, "-t", "1", "-f", "-", "-n", "1", "-q", "-o", directory], { input: "Once upon a time" });
    assert.equal(result.status, 0, result.stderr);
    assert.equal(result.stdout, output(engine, ["run", "-m", tiny, "-t", "1", "-p", "Once upon a time", "-n", "1"]));
});

test("bad input is caught before a directory is made", () => {
    refused(["-m", "/nowhere.gguf", "-p", "x", "-n", "1"], /nowhere.gguf/);
    writeFileSync(scratch("text.gguf"), "this is no model, whatever its name says");
    refused(["-m", scratch("text.gguf"), "-p", "x", "-n", "1"], /text.gguf/);
    copyFileSync(tiny, scratch("cut.gguf"));
    truncateSync(scratch("cut.gguf"), 100_000);
    refused(["-m", scratch("cut.gguf"), "-p", "x", "-n", "1"], /cut.gguf.*(truncated|damaged)/);
    refused([...basic, "-n", "0"], /-n 0 is out of range/);
    refused([...basic, "-n", "-3"], /-n -3 is out of range/);
    refused([...basic, "-n", "1", "-t", "0"], /-t 0 is out of range/);
    refused(["-m", tiny, "-f", "/nowhere.txt", "-n", "1"], /nowhere.txt/);
    refused([...basic, "-n", "1", "--engine", "/nowhere"], /nowhere/);
    refused([...basic, "-n", "1", "--ctx", "1"], /./); // only the runner can know this: it says so, and nothing stays behind
    for (const args of [["-p", "x"], ["-m", tiny], [...basic, "-n", "few"], [...basic, "-f", "x"], [...basic, "stray"], [...basic, "--temp", "hot"]])
        assert.equal(run(ggscope, ["run", ...args]).status, 2, args.join(" "));
});

// ---- settings ----

test("a settings file holds the whole experiment; relative paths start at the file", () => {
    const directory = fresh();
    mkdirSync(directory);
    symlinkSync(tiny, join(directory, "model.gguf"));
    const file = settings({ experiment: { model_path: "model.gguf", prompt: "Hello world", tokens_to_generate: 2, threads: 1, seed: 3, no_mmap: true, no_repack: false, ctx: 32, temperature: 0.25 }, paths: { output_dir: "results/one" } }, directory);
    const result = run(ggscope, ["run", "--settings", file]);
    assert.equal(result.status, 0, result.stderr);
    const data = json(join(directory, "results", "one"));
    assert.deepEqual(data.command, [engine, "run", "-m", join(directory, "model.gguf"), "-p", "Hello world", "-n", "2", "-t", "1", "--ctx", "32", "--seed", "3", "--temp", "0.25", "--no-mmap"]);
});

test("the command line wins", () => {
    const file = settings({ experiment: { model_path: "/nowhere.gguf", prompt: "no", tokens_to_generate: 500, threads: 2 }, paths: { output_dir: "unwanted" } });
    const directory = fresh();
    const result = run(ggscope, ["run", "--settings", file, ...basic, "-n", "1", "-o", directory]);
    assert.equal(result.status, 0, result.stderr);
    assert.deepEqual(json(directory).command, [engine, "run", "-m", tiny, "-p", "Hello world", "-n", "1", "-t", "1"]);
    assert.ok(!existsSync(join(file, "..", "unwanted")));
});

test("the form of tensor-tracing users: llama_binary is the program, with -no-cnv", () => {
    const directory = fresh();
    mkdirSync(join(directory, "llama.cpp", "models"), { recursive: true });
    mkdirSync(join(directory, "llama.cpp", "build", "bin"), { recursive: true });
    symlinkSync(tiny, join(directory, "llama.cpp", "models", "tiny.gguf"));
    // A stand-in for llama-cli: takes its options, drops the one that the built-in runner does not
    // know.
    const program = join(directory, "llama.cpp", "build", "bin", "llama-cli");
    writeFileSync(program, `#!/bin/bash\nargs=()\nfor a; do [ "$a" = -no-cnv ] || args+=("$a"); done\nexec '${engine}' run "\${args[@]}"\n`, { mode: 0o755 });
    const content = (binary) => ({
        paths: { llama_cpp_dir: "llama.cpp", llama_binary: binary, webui_data_dir: "webui/data" },
        temp_files: { trace: "trace.bin", anything: [1, 2, { at: "all" }] },
        experiment: { model_path: "models/tiny.gguf", prompt: "Hello world", tokens_to_generate: 2, n_gpu_layers: 3, override_tensor: "attn=CPU" },
    });
    for (const binary of ["llama.cpp/build/bin/llama-cli", "build/bin/llama-cli"]) { // from the file, or from llama_cpp_dir
        const out = fresh();
        const result = run(ggscope, ["run", "--settings", settings(content(binary), directory), "-o", out]);
        assert.equal(result.status, 0, result.stderr);
        assert.deepEqual(json(out).command, [program, "-m", join(directory, "llama.cpp", "models", "tiny.gguf"), "-p", "Hello world", "-n", "2", "-ngl", "3", "-ot", "attn=CPU", "-no-cnv"]);
        assert.equal(json(out).model_files[0].path, tiny);
        const web = join(directory, "webui", "data"); // the JSON export, one trace and one graph per token step
        for (const folder of ["traces", "graphs"]) assert.deepEqual(readdirSync(join(web, folder)).sort(), ["token-00000.json", "token-00001.json"]);
        assert.equal(JSON.parse(readFileSync(join(web, "experiment_metadata.json"), "utf8")).experiment_id, json(out).experiment_id);
    }
});

test("unknown keys are errors that name the key and the nearest known one", () => {
    const ask = (content, ...patterns) => refused(["--settings", settings(content)], ...patterns);
    ask({ experiment: { model_pth: "x" } }, /"experiment\.model_pth"/, /"model_path"/);
    ask({ experiment: { tokens_to_generat: 1 } }, /"tokens_to_generate"/);
    ask({ experimnt: {} }, /"experimnt"/, /"experiment"/);
    ask({ paths: { llama_bin: "x" } }, /"paths\.llama_bin"/, /"llama_binary"/);
    ask({ paths: { prompt: "x" } }, /"paths\.prompt"/); // a key of another section
});

test("wrong types are errors that name the key and what it should be", () => {
    const ask = (content, ...patterns) => refused(["--settings", settings(content)], ...patterns);
    ask({ experiment: { tokens_to_generate: "5" } }, /experiment\.tokens_to_generate must be a whole number, not a string/);
    ask({ experiment: { tokens_to_generate: 1.5 } }, /must be a whole number, not a number/);
    ask({ experiment: { prompt: 7 } }, /experiment\.prompt must be a string, not a whole number/);
    ask({ experiment: { no_mmap: "yes" } }, /experiment\.no_mmap must be true or false, not a string/);
    ask({ experiment: { model_path: null } }, /experiment\.model_path must be a string \(a path\), not null/);
    ask({ experiment: [] }, /experiment must be an object, not a list/);
    ask([], /must hold an object, not a list/);
    ask({ experiment: { tokens_to_generate: 0 } }, /tokens_to_generate 0 is out of range/);
    ask({ experiment: { seed: -1 } }, /seed -1 is out of range/);
    ask({ experiment: { prompt: "a\u0000b" } }, /NUL/);
});

test("what is missing is named", () => {
    refused(["--settings", settings({})], /has no model/);
    refused(["--settings", settings({ experiment: { model_path: tiny } })], /has no prompt/);
    refused(["--settings", settings({ experiment: { model_path: tiny, prompt: "a", prompt_file: "b" } })], /exclude each other/);
});

test("JSON that is none: the line and the offset", () => {
    refused(["--settings", settings('{\n  "experiment": {\n    "prompt": oops\n  }\n}')], /not valid JSON at line 3, column \d+ \(offset \d+\)/);
    refused(["--settings", settings('{"experiment": {}')], /ends too early/);
    refused(["--settings", settings("{} {}")], /not valid JSON at line 1/);
    refused(["--settings", settings("")], /empty/);
    refused(["--settings", settings("[".repeat(100_000))], /not valid JSON/);
    refused(["--settings", scratch("not-there.json")], /not-there.json/);
    refused(["--settings", scratch()], /directory/);
});
