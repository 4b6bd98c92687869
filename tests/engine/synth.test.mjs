// ggscope-engine synth: its models load in the stock engine, have the requested shape, and are
// reproducible.
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, openSync, readSync, closeSync, statSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import assert from "node:assert/strict";
import { build, engine, model, output, run, scratch } from "../lib.mjs";

const oracle = join(build, "tests", "gguf-oracle");
const synth = (...args) => output(engine, ["synth", ...args]);
const generate = (path, n = 3) => JSON.parse(output(engine, ["run", "-m", path, "-p", "Hello", "-n", String(n), "-t", "1", "--no-repack", "--json"]).trim().split("\n").at(-1));
const megabytes = (path) => statSync(path).size / 1e6;

// A private directory for a test.
let directories = 0;
function directory() {
    const path = scratch(`d${directories++}`);
    mkdirSync(path, { recursive: true });
    return path;
}

// The head of a GGUF file: { metadata, tensors: { name: { shape, type, offset } }, data }. Arrays
// become their lengths.
function head(path) {
    const bytes = Buffer.alloc(Math.min(8 << 20, statSync(path).size));
    const file = openSync(path);
    readSync(file, bytes, 0, bytes.length, 0);
    closeSync(file);
    let at = 0;
    const take = (method, size) => ((at += size), bytes[method](at - size));
    const u64 = () => Number(take("readBigUInt64LE", 8));
    const text = () => {
        const length = u64();
        return bytes.toString("utf8", at, (at += length));
    };
    const readers = {
        0: () => take("readUInt8", 1), 1: () => take("readInt8", 1), 2: () => take("readUInt16LE", 2), 3: () => take("readInt16LE", 2),
        4: () => take("readUInt32LE", 4), 5: () => take("readInt32LE", 4), 6: () => take("readFloatLE", 4), 7: () => take("readUInt8", 1) === 1,
        8: text, 10: u64,
        9: () => {
            const type = take("readUInt32LE", 4), count = u64();
            for (let i = 0; i < count; i++) readers[type]();
            return { type, count };
        },
    };
    assert.equal(bytes.toString("latin1", 0, 4), "GGUF");
    at = 4;
    assert.equal(take("readUInt32LE", 4), 3);
    const tensorCount = u64(), pairs = u64();
    const metadata = {}, tensors = {};
    for (let i = 0; i < pairs; i++) {
        const key = text();
        metadata[key] = readers[take("readUInt32LE", 4)]();
    }
    for (let i = 0; i < tensorCount; i++) {
        const name = text(), shape = Array.from({ length: take("readUInt32LE", 4) }, u64);
        tensors[name] = { shape, type: take("readUInt32LE", 4), offset: u64() };
    }
    return { metadata, tensors, data: Math.ceil(at / 32) * 32 };
}
const F32 = 0, F16 = 1, Q8_0 = 8, Q4_K = 12, Q6_K = 14;

test("tiny: 22 layers, 201 tensors, below 40 MB; its text is varied", () => {
    const path = model("tiny");
    const { metadata, tensors } = head(path);
    assert.equal(Object.keys(tensors).length, 201);
    assert.equal(metadata["llama.block_count"], 22);
    assert.equal(metadata["tokenizer.ggml.tokens"].count, 32000);
    assert.match(metadata["general.description"], /synthetic.*random weights/i);
    assert.ok(megabytes(path) < 40);
    const { ids: tokens, generated_tokens } = generate(path, 32);
    assert.equal(generated_tokens, 32);
    assert.ok(new Set(tokens).size >= 16, `only ${new Set(tokens).size} different tokens among 32`);
});

test("tinyllama-1.1b: the true shapes and the usual mix of types", (context) => {
    const started = process.hrtime.bigint();
    const path = model("tinyllama-1.1b");
    context.diagnostic(`there after ${Number((process.hrtime.bigint() - started) / 1_000_000n)} ms`);
    const { metadata, tensors } = head(path);
    assert.equal(Object.keys(tensors).length, 201);
    assert.deepEqual(
        ["block_count", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv", "context_length"].map((key) => metadata[`llama.${key}`]),
        [22, 2048, 5632, 32, 4, 2048],
    );
    assert.deepEqual(tensors["token_embd.weight"].shape, [2048, 32000]);
    assert.deepEqual(tensors["blk.21.ffn_down.weight"].shape, [5632, 2048]);
    assert.deepEqual(tensors["blk.0.attn_k.weight"].shape, [2048, 256]);
    assert.equal(tensors["output.weight"].type, Q6_K);
    assert.equal(tensors["token_embd.weight"].type, Q4_K);
    for (const component of ["attn_v", "ffn_down"]) {
        const types = Array.from({ length: 22 }, (_, layer) => tensors[`blk.${layer}.${component}.weight`].type);
        assert.equal(types.filter((type) => type === Q6_K).length, 11);
        assert.equal(types.filter((type) => type === Q4_K).length, 11);
    }
    assert.ok(megabytes(path) > 640 && megabytes(path) < 700, `${megabytes(path)} MB`);
    assert.equal(generate(path, 2).generated_tokens, 2);
});

test("moe: 24 layers of 32 different experts, 4 used, below 200 MB", () => {
    const path = model("moe");
    const { metadata, tensors, data } = head(path);
    const arch = metadata["general.architecture"];
    assert.deepEqual(["block_count", "expert_count", "expert_used_count"].map((key) => metadata[`${arch}.${key}`]), [24, 32, 4]);
    assert.ok(megabytes(path) < 200);
    assert.equal(tensors["blk.23.ffn_gate_inp.weight"].type, F32);
    const { shape, offset } = tensors["blk.5.ffn_gate_exps.weight"];
    assert.equal(shape[2], 32);
    const size = shape[0] * shape[1] / 256 * 144, bytes = readFileSync(path);
    const experts = Array.from({ length: 32 }, (_, i) => bytes.toString("latin1", data + offset + i * size, data + offset + (i + 1) * size));
    assert.equal(new Set(experts).size, 32);
    assert.ok(new Set(generate(path, 16).ids).size >= 8);
});

const architectures = {
    llama: ["blk.0.attn_q.weight", "blk.0.ffn_gate.weight", "output.weight"],
    gpt2: ["blk.0.attn_qkv.weight", "blk.0.attn_qkv.bias", "blk.0.ffn_up.bias", "position_embd.weight"],
    gemma3: ["blk.0.attn_q_norm.weight", "blk.0.post_attention_norm.weight", "!output.weight"],
    qwen3moe: ["blk.0.ffn_gate_inp.weight", "blk.0.ffn_down_exps.weight", "blk.0.attn_k_norm.weight"],
    deepseek2: ["blk.1.ffn_up_shexp.weight", "blk.1.ffn_gate_exps.weight", "blk.0.ffn_gate.weight", "blk.0.attn_kv_a_mqa.weight"],
};
for (const [arch, names] of Object.entries(architectures)) {
    test(`tiny --arch ${arch} loads and generates`, () => {
        const path = arch === "llama" ? model("tiny") : model("tiny", "--arch", arch);
        const { metadata, tensors } = head(path);
        assert.equal(metadata["general.architecture"], arch);
        for (const name of names) assert.equal(name.replace("!", "") in tensors, !name.startsWith("!"), name);
        const { generated_tokens, ids: tokens } = generate(path, 12);
        assert.equal(generated_tokens, 12);
        assert.ok(new Set(tokens).size >= 6, `always the same: ${tokens}`);
    });
}
test("gemma3 has a sliding window", () => assert.ok(head(model("tiny", "--arch", "gemma3")).metadata["gemma3.attention.sliding_window"] > 0));

for (const options of [
    ["tiny", "--layers", "4", "--embd", "128"],
    ["tiny", "--layers", "2", "--embd", "100", "--heads", "2", "--ff", "77"],
    ["tiny", "--layers", "3", "--heads", "8", "--kv-heads", "1"],
    ["tiny", "--layers", "2", "--experts", "6", "--experts-used", "3"],
    ["tiny", "--layers", "2", "--arch", "gpt2", "--kv-heads", "2"],
    ["tiny", "--layers", "7", "--arch", "gemma3", "--embd", "64"],
    ["tiny", "--layers", "27", "--arch", "deepseek2", "--embd", "64", "--ff", "32"],
    ["moe", "--layers", "2", "--arch", "llama", "--experts", "5", "--experts-used", "5"],
]) {
    test(`${options.join(" ")} loads and generates`, () => {
        const path = join(directory(), "m.gguf");
        synth(...options, "-o", path);
        assert.equal(generate(path).generated_tokens, 3);
    });
}

test("the same seed gives the same bytes, another seed others", () => {
    const here = directory();
    const write = (name, ...args) => (synth("tiny", "--layers", "3", "-o", join(here, name), ...args), readFileSync(join(here, name)));
    const one = write("one.gguf");
    assert.ok(one.equals(write("two.gguf")));
    assert.ok(one.equals(write("three.gguf", "--seed", "1")));
    const other = write("four.gguf", "--seed", "2");
    assert.equal(one.length, other.length);
    assert.ok(!one.equals(other));
});

test("the report is one line: path, tensors, size", () => {
    const path = join(directory(), "m.gguf");
    assert.match(synth("tiny", "--layers", "1", "-o", path), /^.*m\.gguf: 12 tensors, [\d.]+ MiB\n$/);
});

test("--split writes the official names and keys and generates the same text", () => {
    const here = directory();
    synth("tiny", "--layers", "6", "-o", join(here, "whole.gguf"));
    synth("tiny", "--layers", "6", "--split", "3", "-o", join(here, "part.gguf"));
    const names = [1, 2, 3].map((i) => `part-0000${i}-of-00003.gguf`);
    assert.deepEqual(readdirSync(here).sort(), [...names, "whole.gguf"]);
    const parts = names.map((name) => head(join(here, name)));
    assert.deepEqual(parts.map(({ metadata }) => [metadata["split.no"], metadata["split.count"], metadata["split.tensors.count"]]), [[0, 3, 57], [1, 3, 57], [2, 3, 57]]);
    const whole = head(join(here, "whole.gguf"));
    assert.deepEqual(parts.flatMap(({ tensors }) => Object.keys(tensors)), Object.keys(whole.tensors));
    assert.ok("tokenizer.ggml.tokens" in parts[0].metadata && !("tokenizer.ggml.tokens" in parts[1].metadata));
    assert.ok(names.every((name) => megabytes(join(here, name)) > 1), "no file is a mere crumb");
    assert.equal(generate(join(here, names[0]), 8).text, generate(join(here, "whole.gguf"), 8).text);
});

test("--types: a type for everything, or by component, in any case", () => {
    const here = directory();
    synth("tiny", "--layers", "2", "--types", "Q8_0", "-o", join(here, "all.gguf"));
    const all = Object.entries(head(join(here, "all.gguf")).tensors);
    for (const [name, { shape, type }] of all) assert.equal(type, shape.length === 1 ? F32 : Q8_0, name);
    assert.equal(generate(join(here, "all.gguf")).generated_tokens, 3);

    synth("tiny", "--layers", "2", "--types", "output=f16,default=q4_K,attn_v=q6_k", "-o", join(here, "some.gguf"));
    const { tensors } = head(join(here, "some.gguf"));
    assert.deepEqual(["output", "blk.1.attn_v", "blk.0.ffn_down", "token_embd"].map((name) => tensors[`${name}.weight`].type), [F16, Q6_K, Q4_K, Q4_K]);
    assert.equal(generate(join(here, "some.gguf")).generated_tokens, 3);
});

test("--types: odd types load and generate", () => {
    const path = join(directory(), "m.gguf");
    synth("tiny", "--layers", "2", "-o", path, "--types",
          "token_embd=q5_1,output=iq4_xs,attn_q=tq1_0,attn_k=mxfp4,attn_v=bf16,attn_output=iq2_xxs,ffn_gate=q2_k,ffn_up=nvfp4,ffn_down=iq4_nl");
    assert.deepEqual(["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate"].map((c) => head(path).tensors[`blk.1.${c}.weight`].type), [34, 39, 30, 16, 10]);
    assert.equal(generate(path).generated_tokens, 3);
});

test("--types: the values of every type are around zero, and as far from it as was planned", () => {
    const types = run(engine, ["synth", "tiny", "--types", "q9", "-o", scratch("none.gguf")]).stderr.match(/there are (.*)/)[1].split(", ");
    assert.ok(types.length >= 28);
    for (const type of types) {
        const path = scratch("values.gguf");
        // Rows of 256 values: a deviation of 1/16, and less if a layer's result is added.
        synth("tiny", "--layers", "1", "--force", "--types", `f16,ffn_up=${type}`, "-o", path);
        const line = output(oracle, ["--values", path]).split("\n").find((l) => l.endsWith(" blk.0.ffn_up.weight"));
        const [mean, square] = line.split(" ").map(Number), deviation = Math.sqrt(square);
        const off = type === "nvfp4" ? 0.3 : 0.05; // its scales have three bits
        assert.ok(Math.abs(deviation * 16 - 1) < off, `${type}: ${deviation}`);
        assert.ok(Math.abs(mean) < 0.03 * deviation, `${type}: mean ${mean}`);
    }
});

test("--types reaches the architectures' odd components, and `default` fits all of them", () => {
    for (const [arch, types] of [["deepseek2", "q4_k"], ["deepseek2", "attn_k_b=f32,ffn_down_shexp=q5_0"], ["gpt2", "default=q3_k,position_embd=f16"]]) {
        const path = join(directory(), "m.gguf");
        synth("tiny", "--layers", "2", "--arch", arch, "--types", types, "-o", path);
        assert.equal(generate(path).generated_tokens, 3, `${arch} ${types}`);
    }
});

for (const [status, pattern, ...options] of [
    [2, /--layers takes a number from 1/, "tiny", "--layers", "0"],
    [2, /--layers takes a number from 1/, "tiny", "--layers", "many"],
    [2, /256 values cannot be divided among 3 heads/, "tiny", "--heads", "3"],
    [2, /even/, "tiny", "--embd", "12", "--heads", "4"],
    [2, /4 heads cannot share 3 KV heads/, "tiny", "--kv-heads", "3"],
    [2, /5 experts .* the model has 4/, "tiny", "--experts", "4", "--experts-used", "5"],
    [2, /--experts-used must be at least 1/, "tiny", "--experts", "4", "--experts-used", "0"],
    [2, /needs a model with experts/, "tiny", "--experts-used", "2"],
    [2, /need experts/, "moe", "--experts", "0"],
    [2, /no experts/, "moe", "--arch", "gpt2"],
    [2, /one latent head/, "tiny", "--arch", "deepseek2", "--kv-heads", "2"],
    [2, /attn_q.weight cannot be q4_K: its rows of 128/, "tiny", "--embd", "128", "--types", "attn_q=q4_k"],
    [2, /token_embd.weight cannot be q6_K: its rows of 128/, "tiny", "--embd", "128", "--types", "q6_k"],
    [2, /no component 'attn_x'.*there are default, token_embd, .*ffn_down/, "tiny", "--types", "attn_x=q4_k"],
    [2, /no component 'attn_norm' whose type can be chosen/, "tiny", "--types", "attn_norm=q4_k"],
    [2, /type 'q9'; there are f32, .*mxfp4/, "tiny", "--types", "default=q9"],
    [2, /type ''/, "tiny", "--types", "q4_k,"],
    [2, /201 tensors cannot be divided among 202 files/, "tiny", "--split", "202"],
    [2, /--split takes a number from 1/, "tiny", "--split", "0"],
    [2, /no architecture is called 'bert'; there are llama/, "tiny", "--arch", "bert"],
    [2, /no preset is called 'huge'; there are tiny/, "huge"],
    [2, /one PRESET/, "tiny", "moe"],
    [2, /needs a PRESET/],
    [1, /nowhere\.gguf: cannot read this vocabulary/, "tiny", "--vocab", "nowhere.gguf"],
    [1, /not a GGUF file/, "tiny", "--vocab", import.meta.filename ?? process.argv[1]],
]) {
    test(`refused: synth ${options.join(" ")}`, () => {
        const here = directory();
        const result = run(engine, ["synth", ...options, "-o", join(here, "m.gguf")]);
        assert.equal(result.status, status, result.stderr);
        assert.equal(result.stdout, "");
        assert.match(result.stderr, /^ggscope-engine: [^\n]+\n$/);
        assert.match(result.stderr, pattern);
        assert.deepEqual(readdirSync(here), []);
    });
}

test("no -o is a usage error", () => {
    const result = run(engine, ["synth", "tiny"]);
    assert.equal(result.status, 2);
    assert.match(result.stderr, /^ggscope-engine: synth needs -o FILE[^\n]*\n$/);
});

test("a missing vocabulary says where it was looked for", () => {
    const here = directory();
    const result = run(engine, ["synth", "tiny", "-o", join(here, "m.gguf")], { env: { ...process.env, GGSCOPE_VOCAB_DIR: here } });
    assert.equal(result.status, 1);
    assert.match(result.stderr, /^ggscope-engine: ggml-vocab-llama-spm\.gguf is not in .*GGSCOPE_VOCAB_DIR[^\n]*\n$/);
    assert.ok(result.stderr.includes(here));
});

test("an existing file is kept, and replaced with --force", () => {
    const here = directory(), path = join(here, "m-00002-of-00002.gguf");
    writeFileSync(path, "precious");
    const result = run(engine, ["synth", "tiny", "--layers", "1", "--split", "2", "-o", join(here, "m.gguf")]);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /m-00002-of-00002\.gguf exists already; use --force/);
    assert.equal(readFileSync(path, "utf8"), "precious");
    assert.deepEqual(readdirSync(here), ["m-00002-of-00002.gguf"]);
    synth("tiny", "--layers", "1", "--split", "2", "-o", join(here, "m.gguf"), "--force");
    assert.equal(generate(join(here, "m-00001-of-00002.gguf")).generated_tokens, 3);
});

test("a directory is no place for a model, --force or not", () => {
    const here = directory();
    const result = run(engine, ["synth", "tiny", "-o", here, "--force"]);
    assert.equal(result.status, 1);
    assert.match(result.stderr, /is not a regular file/);
});

test("where there is no room nothing is left behind", () => {
    const here = directory();
    const script = 'ulimit -f 2000; exec "$0" synth tiny --layers 1 --split 2 -o "$1"'; // a limit on file size acts like a full disk
    const result = run("bash", ["-c", script, engine, join(here, "m.gguf")]);
    assert.equal(result.status, 1, result.stderr);
    assert.match(result.stderr, /^ggscope-engine: cannot write [^\n]*File too large \(ulimit -f limits the size of files here\)\n$/);
    assert.deepEqual(readdirSync(here), []);
});

test("an interrupted run leaves nothing behind", async () => {
    const here = directory();
    const appeared = new Promise((resolve) => {
        const watcher = watch(here, () => (watcher.close(), resolve()));
    });
    const child = spawn(engine, ["synth", "tinyllama-1.1b", "--split", "3", "-o", join(here, "m.gguf")], { stdio: "ignore" });
    const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
    await appeared;
    child.kill("SIGINT");
    assert.equal(await ended, "SIGINT");
    assert.deepEqual(readdirSync(here), []);
});
