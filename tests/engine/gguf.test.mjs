// ggscope gguf: every byte of every file, compared with the engine's reader; and invalid files.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, openSync, closeSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { build, engine, ggscope, model, output, run, scratch, vocabularies } from "../lib.mjs";
import { gguf } from "../gguf-builder.mjs";

scratch(); // made outside of tests, so it exists until all have ended
const oracle = join(build, "tests", "gguf-oracle");
const header = "tensor_name,file_offset,size_bytes,layer_id,component_type";
const show = (...args) => output(ggscope, ["gguf", ...args]);
const json = (...args) => JSON.parse(show("--json", ...args));
const csv = (...args) => show("--csv", ...args).trimEnd().split("\n").map((line) => line.split(","));

function made(name, description) {
    const path = scratch(name);
    writeFileSync(path, Buffer.isBuffer(description) ? description : gguf(description));
    return path;
}

// The library's view of a file: { name: [offset, size, type] }.
function facts(path) {
    const lines = output(oracle, [path]).split("\n").filter(Boolean).map((line) => line.match(/^(\d+) (\d+) (\S+) (.*)$/));
    return Object.fromEntries(lines.map(([, offset, size, type, name]) => [name, [Number(offset), Number(size), type]]));
}

// The promise of the map: regions in order, no gap, no overlap, and the whole file.
function checkRegions(map) {
    for (const { file, size_bytes } of map.files) {
        let end = 0;
        for (const region of map.regions.filter((r) => r.file === file)) {
            assert.equal(region.offset_start, end, `${file}: ${region.kind} ${region.name}`);
            assert.ok(region.offset_end >= region.offset_start);
            end = region.offset_end;
        }
        assert.equal(end, size_bytes, file);
    }
}

function checkAgainstLibrary(files) {
    const map = json(files[0]);
    checkRegions(map);
    assert.equal(map.total_size_bytes, files.reduce((sum, file) => sum + statSync(file).size, 0));
    const rows = csv(files[0]);
    assert.equal(rows.shift().join(","), header);
    const listed = rows.map(([name, offset, size]) => [name, [Number(offset), Number(size)]]);
    const expected = files.flatMap((file) => Object.entries(facts(file)));
    assert.deepEqual(Object.fromEntries(listed), Object.fromEntries(expected.map(([name, [offset, size]]) => [name, [offset, size]])));
    assert.equal(listed.length, expected.length);
    assert.equal(map.metadata.n_tensors, expected.length);
    assert.equal(map.num_tensors, map.tensors.length);
    const types = Object.fromEntries(expected.map(([name, [, , type]]) => [name, type]));
    for (const tensor of map.tensors) assert.equal(tensor.dtype, types[tensor.name.replace(/\[\d+\]$/, "")], tensor.name);
    return map;
}

test("every vocabulary file of the engine's source is mapped to the last byte", () => {
    const files = readdirSync(vocabularies).filter((name) => name.endsWith(".gguf"));
    assert.ok(files.length > 10);
    for (const file of files) {
        const map = checkAgainstLibrary([join(vocabularies, file)]);
        assert.ok(map.metadata.n_vocab > 1000, file);
        assert.match(show(join(vocabularies, file)), /every byte accounted for/);
        assert.match(show("--kv", join(vocabularies, file)), /tokenizer\.ggml\.tokens +string\[\] /);
    }
});

test("metadata in full as JSON", () => {
    const path = join(vocabularies, "ggml-vocab-llama-spm.gguf");
    const entries = json("--kv", path).key_values[0].entries;
    const value = (key) => entries.find((entry) => entry.key === key).value;
    assert.equal(value("llama.attention.layer_norm_rms_epsilon"), 1e-5);
    assert.equal(value("tokenizer.ggml.tokens").length, 32000);
    assert.equal(value("tokenizer.ggml.tokens")[1], "<s>");
    assert.equal(value("tokenizer.ggml.add_bos_token"), true);
});

for (const [preset, ...options] of [["tiny"], ["tinyllama-1.1b"], ["moe"], ...["gpt2", "gemma3", "qwen3moe", "deepseek2"].map((arch) => ["tiny", "--arch", arch])]) {
    test(`synthetic model ${[preset, ...options].join(" ")}: as the library sees it`, () => {
        const map = checkAgainstLibrary([model(preset, ...options)]);
        assert.ok(map.tensors.every((tensor) => tensor.component_type !== "Other"));
        assert.ok(map.metadata.n_layers > 0 && map.metadata.n_embd > 0 && map.metadata.n_heads > 0);
        const layers = new Set(map.tensors.map((tensor) => tensor.layer_id).filter((layer) => layer !== null));
        assert.equal(layers.size, map.metadata.n_layers);
    });
}

test("experts one by one", () => {
    const path = model("moe");
    const whole = Object.fromEntries(csv(path).slice(1).map(([name, offset, size]) => [name, [Number(offset), Number(size)]]));
    const rows = csv("--experts", path).slice(1);
    const slices = rows.filter(([name]) => name.startsWith("blk.0.ffn_down_exps.weight["));
    const [offset, size] = whole["blk.0.ffn_down_exps.weight"];
    assert.equal(slices.length, 32);
    slices.forEach(([name, at, bytes, layer, component], i) => {
        assert.equal(name, `blk.0.ffn_down_exps.weight[${i}]`);
        assert.equal(Number(bytes), size / 32);
        assert.equal(Number(at), offset + (i * size) / 32);
        assert.equal(layer, "0");
        assert.equal(component, `FFN Down Expert ${i}`);
    });
    const total = (list) => list.reduce((sum, row) => sum + Number(row[2]), 0);
    assert.equal(total(rows), total(csv(path).slice(1)));
    const expert = json(path).tensors.find((tensor) => tensor.name === "blk.0.ffn_down_exps.weight[7]");
    assert.equal(expert.expert_id, 7);
    assert.equal(expert.shape.length, 2);
    assert.match(show("--experts", path), /FFN Down Expert 31 +blk\.0\.ffn_down_exps\.weight\[31\]/);
});

test("a split model is followed from any of its files", () => {
    const folder = scratch("split");
    mkdirSync(folder);
    output(engine, ["synth", "tiny", "--split", "3", "-o", join(folder, "tiny.gguf")]);
    const files = readdirSync(folder).filter((name) => /-0000\d-of-00003\.gguf$/.test(name)).sort().map((name) => join(folder, name));
    assert.equal(files.length, 3);
    const map = checkAgainstLibrary(files);
    assert.equal(map.files.length, 3);
    assert.equal(show(files[2]), show(files[0]));
    const apart = (tensor) => `${tensor.component_type} ${tensor.name} ${tensor.size_bytes}`;
    assert.deepEqual(map.tensors.map(apart).sort(), json(model("tiny")).tensors.map(apart).sort());
});

test("split models that are not whole", () => {
    const shard = (no, name, count = 2, total = 2) => gguf({
        kv: [["split.no", "u16", no], ["split.count", "u16", count], ["split.tensors.count", "i32", total]],
        tensors: [{ name, type: 0, shape: [8], bytes: 32 }],
    });
    const first = made("s-00001-of-00002.gguf", shard(0, "a"));
    refused([first], /s-00002-of-00002\.gguf: cannot open: No such file/);
    made("s-00002-of-00002.gguf", shard(0, "b"));
    refused([first], /by its name file 2 of 2, but its key-values \(offset \d+\) say 1 of 2/);
    made("s-00002-of-00002.gguf", shard(1, "a"));
    refused([first], /tensor "a" is in two files of the model/);
    made("s-00002-of-00002.gguf", shard(1, "b"));
    assert.match(show(first), /s-00002-of-00002\.gguf/);
    refused([made("odd.gguf", shard(0, "a"))], /its name does not end in "-00001-of-00002\.gguf"/);
});

function refused(args, sentence) {
    const result = run(ggscope, ["gguf", ...args], { timeout: 120_000 });
    assert.equal(result.status, 1, result.stderr);
    assert.equal(result.stdout, "");
    assert.match(result.stderr, /^ggscope: [^\n]+\n$/);
    assert.match(result.stderr, sentence);
}

test("what is no GGUF file is refused with one sentence", () => {
    refused([scratch("absent.gguf")], /No such file or directory/);
    refused([dirname(scratch("x"))], /this is a directory/);
    refused([made("empty.gguf", Buffer.alloc(0))], /an empty file.*offset 0/);
    refused([made("text.gguf", Buffer.from("just a text of some length"))], /not a GGUF file \(bytes 6a 75 73 74 at offset 0\)/);
    refused(["/dev/null"], /this is a device/);
    output("mkfifo", [scratch("pipe.gguf")]);
    refused([scratch("pipe.gguf")], /this is a pipe/);
    const big = gguf();
    big.writeUInt32BE(3, 4);
    refused([made("big.gguf", big)], /big-endian GGUF file.*offset 4/);
    refused([made("old.gguf", gguf({ version: 1 }))], /GGUF version 1 \(at offset 4\)/);
    const many = gguf();
    many.writeBigUInt64LE(1n << 60n, 8);
    refused([made("many.gguf", many)], /the number of tensors at offset 8 is 1152921504606846976/);
    const tensors = [{ name: "a", type: 0, shape: [8], bytes: 32 }, { name: "b", type: 0, shape: [8], bytes: 32 }];
    const whole = gguf({ tensors });
    refused([made("cut.gguf", whole.subarray(0, whole.length - 1))], /tensor "b" takes 32 bytes from offset \d+, but the file ends/);
    refused([made("twice.gguf", { tensors: [tensors[0], { ...tensors[1], name: "a" }] })], /"a" occurs twice/);
    refused([made("zero.gguf", { kv: [["general.alignment", "u32", 0]], tensors })], /general\.alignment at offset 24 is 0/);
});

test("gaps and overlaps name their tensors, and --kv still answers", () => {
    const a = { name: "a", type: 0, shape: [8], bytes: 32 };
    const gap = made("gap.gguf", { kv: [["general.name", "string", "Gap"]], tensors: [a, { ...a, name: "b", offset: 96 }] });
    refused([gap], /64 bytes from offset \d+ to offset \d+ between tensor "a" and tensor "b" belong to nothing/);
    refused(["--json", gap], /belong to nothing/);
    assert.match(show("--kv", gap), /general\.name +string +Gap/);
    refused([made("overlap.gguf", { tensors: [a, { ...a, name: "b", offset: 0 }] })], /tensor "a".* and tensor "b".* overlap by 32 bytes/);
});

test("a type that is not known is placed and marked", () => {
    const path = made("unknown.gguf", { tensors: [{ name: "blk.0.ffn_up.weight", type: 99, shape: [3, 3], bytes: 40 }, { name: "b", type: 0, shape: [8], bytes: 32 }] });
    assert.match(show(path), /64 B +type 99\? +3 x 3/);
    const [first, second] = json(path).tensors;
    assert.equal(first.size_known, false);
    assert.equal(first.offset_end, second.offset_start);
});

test("names that need quotes or could drive a terminal", () => {
    const path = made("names.gguf", { tensors: [{ name: 'a,"b"\n', type: 0, shape: [8], bytes: 32 }, { name: "\x1b[31mred", type: 0, shape: [8], bytes: 32 },
        { name: Buffer.from([0x61, 0xff, 0x62]), type: 0, shape: [8], bytes: 32 }] });
    assert.ok(show("--csv", path).includes('\n"a,""b""\n",'));
    assert.ok(!show(path).includes("\x1b"));
    assert.match(show(path), /\?\[31mred/);
    assert.deepEqual(json(path).tensors.map((tensor) => tensor.name), ['a,"b"\n', "\x1b[31mred", "a\ufffdb"]);
});

test("integers above 2^53 and odd floats stay exact", () => {
    const path = made("numbers.gguf", { kv: [["big", "u64", (1n << 64n) - 1n], ["small", "i64", -(1n << 63n)], ["nan", "f32", NaN], ["tenth", "f32", 0.1]] });
    const text = show("--kv", "--json", path);
    assert.match(text, /18446744073709551615/);
    assert.match(text, /-9223372036854775808/);
    const entries = JSON.parse(text).key_values[0].entries;
    assert.equal(entries[2].value, null);
    assert.equal(entries[3].value, 0.1);
});

test("extents: all bytes are in a fragment, or the filesystem has none to tell", (t) => {
    const path = made("extents.gguf", { tensors: [{ name: "a", type: 0, shape: [65536], bytes: 262144 }], fill: 1 });
    const result = run(ggscope, ["gguf", "--extents", "--json", path]);
    if (result.status === 1) {
        assert.match(result.stderr, /^ggscope: .* does not report where a file lies.*\n$/);
        t.diagnostic("this filesystem has no FIEMAP");
        return;
    }
    const [file] = JSON.parse(result.stdout).files;
    assert.ok(file.fragments >= 1 && file.fragments === file.extents.length);
    assert.ok(file.tensors[0].fragments >= 1 && file.tensors[0].fragments <= file.fragments);
    const covered = file.extents.reduce((sum, extent) => sum + extent.length, 0);
    assert.ok(covered >= file.size_bytes);
    assert.match(show("--extents", path), /^extents\.gguf: \S+ KiB in \d+ fragments?\n/);
});

test("a filesystem without FIEMAP is one sentence and exit 1", (t) => {
    if (!existsSync("/dev/shm")) return t.skip("no /dev/shm");
    const type = run("stat", ["-f", "-c", "%T", "/dev/shm"]).stdout.trim();
    if (type !== "tmpfs") return t.skip(`/dev/shm is ${type}, not tmpfs`);
    const path = join("/dev/shm", `ggscope-test-${process.pid}.gguf`);
    writeFileSync(path, gguf());
    t.after(() => run("rm", ["-f", path]));
    refused(["--extents", path], /does not report where a file lies/);
    refused(["--extents", "--json", path], /does not report where a file lies/);
});

test("options that contradict each other are usage errors", () => {
    const path = made("plain.gguf", gguf());
    for (const args of [["--csv", "--json", path], ["--csv", "--kv", path], ["--kv", "--extents", path], ["--experts", "--kv", path],
        ["--regions", "--csv", path], [], [path, path], ["--nonsense", path]]) {
        const result = run(ggscope, ["gguf", ...args]);
        assert.equal(result.status, 2, args.join(" "));
        assert.equal(result.stdout, "");
        assert.match(result.stderr, /^ggscope gguf: /);
    }
    const help = run(ggscope, ["gguf", "--help"]);
    assert.equal(help.status, 0);
    assert.match(help.stdout, /Usage: ggscope gguf/);
});

test("a reader that goes away ends it quietly, a full disk does not pass in silence", () => {
    const path = model("moe");
    const result = run("sh", ["-c", '"$0" gguf --experts --json "$1" | head -1', ggscope, path]);
    assert.equal(result.stdout, "{\n");
    assert.equal(result.stderr, "");
    const full = openSync("/dev/full", "w");
    const lost = run(ggscope, ["gguf", path], { stdio: ["ignore", full, "pipe"] });
    closeSync(full);
    assert.equal(lost.status, 1);
    assert.match(lost.stderr, /^ggscope: cannot write to standard output: No space left on device\n$/);
});

test("regions add up for every file that was made here", () => {
    const path = made("regions.gguf", { alignment: 64, kv: [["general.alignment", "u32", 64]], trailing: 100,
        tensors: [{ name: "a", type: 2, shape: [32], bytes: 18 }, { name: "b", type: 1, shape: [3], bytes: 6 }] });
    checkRegions(json(path));
    const only = json("--regions", path);
    checkRegions(only);
    assert.deepEqual(only.regions.map((region) => region.kind),
        ["header", "key-values", "tensor infos", "padding", "tensor", "padding", "tensor", "padding", "trailing"]);
    assert.match(show(path), /note: the last 100 bytes of regions\.gguf belong to nothing/);
    assert.equal(show("--regions", path).trimEnd().split("\n").length, 10);
    assert.equal(basename(path), only.files[0].file);
    assert.equal(readFileSync(path).length, only.total_size_bytes);
});

test("--summary leaves out the tensors and keeps the totals", () => {
    const text = output(ggscope, ["gguf", model("tiny"), "--summary"]);
    assert.doesNotMatch(text, /blk\.0\./);
    assert.match(text, /^Token Embeddings /m);
    assert.match(text, /^every byte accounted for: /m);
    for (const other of ["--json", "--csv", "--kv", "--experts"]) assert.equal(run(ggscope, ["gguf", "--summary", other, model("tiny")]).status, 2, other);
});

// Metadata is read, not mapped: a file that shrinks causes a short read, never a signal.
test("a file that is cut while it is read: a sentence, at every read", () => {
    const file = scratch("cut.gguf"), library = scratch("cut.so");
    writeFileSync(scratch("cut.c"), `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
ssize_t pread64(int fd, void * to, size_t size, off_t offset) {
    static int n;
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (real == NULL) real = (ssize_t (*)(int, void *, size_t, off_t)) dlsym(RTLD_NEXT, "pread64");
    if (++n == atoi(getenv("CUT_AT")) && truncate(getenv("CUT_FILE"), atoi(getenv("CUT_TO"))) != 0) abort();
    return real(fd, to, size, offset);
}
ssize_t pread(int fd, void * to, size_t size, off_t offset) { return pread64(fd, to, size, offset); }
`);
    output("gcc", ["-shared", "-fPIC", "-o", library, scratch("cut.c")]);
    let cut = 0;
    for (let at = 1; at <= 3; at++) {
        for (const to of [0, 20, 1000]) {
            for (const words of [[], ["--json"], ["--kv"], ["--csv"]]) {
                copyFileSync(model("tiny"), file);
                const { status, signal, stderr } = run(ggscope, ["gguf", ...words, file], { env: { ...process.env, LD_PRELOAD: library, CUT_AT: String(at), CUT_FILE: file, CUT_TO: String(to) } });
                assert.equal(signal, null, `${words} cut to ${to} at read ${at}`);
                if (statSync(file).size !== to) continue; // it had already read everything
                assert.equal(status, 1, `${words} cut to ${to} at read ${at}`);
                assert.match(stderr, /^ggscope: [^\n]+\n$/);
                cut++;
            }
        }
    }
    assert.ok(cut >= 12, `${cut} files were cut`);
});
