// ggscope stats and check, against each other and against what the model's file says; and the library for others.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, root, run, scratch } from "../lib.mjs";

const tokens = 6;
function recorded(name, ...options) {
    const directory = scratch(`${name}${options.join("")}`);
    if (!existsSync(directory))
        output(ggscope, ["record", "-q", "-o", directory, "--", engine, "run", "-m", model(name), "-p", "Once upon a time", "-n", String(tokens), "-t", "2", "--ignore-eos", ...options]);
    return directory;
}
const stats = (directory, ...options) => JSON.parse(output(ggscope, ["stats", "--json", ...options, directory]));
const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);

test("the JSON has the names that scripts rely on", () => {
    const all = stats(recorded("tiny"));
    for (const key of ["experiment_id", "tokens", "prompt_tokens", "generated_tokens", "threads", "graph_runs", "nodes", "executed", "absorbed", "empty",
        "skipped", "opaque", "unseen", "dropped", "ops", "op_runs", "wall_ns", "bytes", "buffers", "model", "by_op"]) assert.ok(key in all, key);
    assert.equal(all.bytes.disk + all.bytes.buffer, all.bytes.read + all.bytes.written);
    assert.equal(all.nodes, all.executed + all.absorbed + all.empty + all.skipped + all.opaque + all.unseen);
    assert.equal(all.tokens, tokens);
    assert.equal(all.ops, all.executed);
    assert.equal(all.op_runs, 2 * all.ops);
    assert.equal(all.model.bytes, all.model.touched + all.model.never_touched);
    assert.equal(sum(all.by_op, "ops"), all.ops);
    assert.equal(sum(all.by_op, "bytes_read"), all.bytes.read);
});

for (const by of ["op", "layer", "component", "tensor", "thread", "token"]) {
    test(`--by ${by} adds up to the whole`, () => {
        const { groups, ...all } = stats(recorded("moe"), "--by", by);
        assert.equal(sum(groups, "op_runs"), all.op_runs);
        const share = by === "thread" ? 0 : 1; // bytes belong to ops, not to threads
        assert.equal(sum(groups, "bytes_read"), share * all.bytes.read);
        assert.equal(sum(groups, "bytes_written"), share * all.bytes.written);
        assert.equal(sum(groups, "bytes_disk"), share * all.bytes.disk);
        if (by === "layer") assert.equal(groups.length, 25); // 24 and what has none
        if (by === "token") assert.deepEqual(groups.map((g) => g.name), [...Array(tokens).keys()].map(String));
        if (by === "thread") assert.deepEqual(groups.map((g) => g.name), ["0", "1"]);
    });
}

test("ranges of tokens add up, and a layer is a part of its token", () => {
    const directory = recorded("moe"), all = stats(directory);
    const [first, rest] = [stats(directory, "--token", "0"), stats(directory, "--token", "1..")];
    for (const key of ["ops", "op_runs", "graph_runs", "tokens"]) assert.equal(first[key] + rest[key], all[key], key);
    assert.equal(first.bytes.read + rest.bytes.read, all.bytes.read);
    const layers = Array.from({ length: 24 }, (_, i) => stats(directory, "--token", "2", "--layer", String(i)).ops);
    const outside = stats(directory, "--token", "2", "--by", "layer").groups.find((g) => g.name === "none").ops;
    assert.equal(layers.reduce((a, b) => a + b) + outside, stats(directory, "--token", "2").ops);
});

test("weights: what is read and what never, against the file", () => {
    const { weights, model: bytes, pattern } = stats(recorded("moe", "--no-repack"));
    const map = JSON.parse(output(ggscope, ["gguf", "--json", model("moe")]));
    assert.equal(weights.length, map.metadata.n_tensors);
    assert.equal(sum(weights, "size"), sum(map.tensors, "size_bytes"));
    assert.equal(sum(weights, "touched"), bytes.touched);
    assert.equal(sum(weights, "bytes_read"), pattern.bytes);
    const rows = weights.find((w) => w.name === "token_embd.weight");
    assert.ok(rows.touched > 0 && rows.touched <= (4 + tokens) * (rows.size / 32000)); // one row per token
    const experts = weights.find((w) => w.name === "blk.3.ffn_up_exps.weight");
    assert.equal(experts.touched % (experts.size / 32), 0); // whole experts
    assert.ok(experts.touched < experts.size);
});

test("a dense model is read whole for every token: each weight again after all the others", () => {
    const { pattern, weights } = stats(recorded("tiny", "--no-repack"));
    const pass = sum(weights.filter((w) => w.name !== "token_embd.weight"), "size"); // what one token reads, a row of the embedding apart
    assert.ok(Math.abs(pattern.bytes / tokens - pass) < 0.001 * pass);
    assert.ok(Math.abs(pattern.first_bytes - pass) < 0.001 * pass);
    assert.ok(pattern.reuse_median >= pass / 2 && pattern.reuse_median <= 2 * pass); // a power of two
    assert.ok(pattern.sequential_bytes > 0 && pattern.sequential_bytes < pattern.bytes);
});

test("text fits 80 columns", () => {
    for (const by of ["op", "layer", "component", "tensor", "thread", "token"])
        for (const line of output(ggscope, ["stats", "--by", by, recorded("moe")]).split("\n")) assert.ok([...line].length <= 80, line);
});

test("--probe is kept in the experiment", () => {
    const directory = recorded("tiny", "--no-mmap");
    const probed = stats(directory, "--probe").memory_bytes_per_second;
    assert.ok(probed > 1e8);
    assert.equal(stats(directory).memory_bytes_per_second, probed);
    assert.match(output(ggscope, ["stats", directory]), /of limit/);
});

test("a trace file by itself, without its directory", () => {
    const directory = recorded("tiny"), alone = scratch("alone.ggs");
    output("cp", [join(directory, "trace.ggs"), alone]);
    assert.deepEqual(stats(alone), stats(directory));
    for (const verb of ["log", "graph", "experts", "buffers", "check"]) assert.equal(run(ggscope, [verb, alone]).status, 0, verb);
    assert.equal(output(ggscope, ["diff", alone, directory]), "");
});

test("wrong input: one sentence, exit 1 or 2", () => {
    for (const [args, status] of [[["--by", "nope", "x"], 2], [["x", "y"], 2], [["--token", "x", "y"], 2], [["--layer", "-1", "y"], 2], [["/nonexistent"], 1], [["/dev/null"], 1], [[scratch("")], 1]])
        assert.equal(run(ggscope, ["stats", ...args]).status, status, args.join(" "));
});

test("an exported JSON directory is checked too, and a file of another experiment is named", () => {
    const out = scratch("json");
    output(ggscope, ["export", recorded("moe"), "--format", "json", "-o", out]);
    const good = run(ggscope, ["check", out]);
    assert.equal(good.status, 0, good.stdout);
    assert.doesNotMatch(good.stdout, /FAIL/);
    const file = join(out, "graphs", "token-00002.json"), text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace(/[0-9a-f-]{36}/, "00000000-0000-4000-8000-000000000000"));
    const mixed = run(ggscope, ["check", out]);
    assert.equal(mixed.status, 1);
    assert.match(mixed.stdout, /FAIL +one experiment +graphs\/token-00002\.json/);
    writeFileSync(file, text);
    const trace = join(out, "traces", "token-00001.json");
    writeFileSync(trace, readFileSync(trace, "utf8").replace(/"total_entries": \d+/, '"total_entries": 1'));
    assert.match(run(ggscope, ["check", out]).stdout, /FAIL +entries .*traces\/token-00001\.json/);
});

test("the library for others: installed, found by pkg-config and CMake, and the example runs", () => {
    const prefix = scratch("prefix");
    output("cmake", ["--install", build, "--prefix", prefix]);
    const libraries = output("find", [prefix, "-name", "libggscope.so"]).trim().replace(/\/libggscope\.so$/, "");
    const env = { ...process.env, PKG_CONFIG_PATH: join(libraries, "pkgconfig"), LD_LIBRARY_PATH: libraries };
    const flags = output("pkg-config", ["--cflags", "--libs", "ggscope"], { env }).trim().split(/\s+/);
    const program = scratch("slowest-ops"), source = join(root, "docs", "examples", "slowest-ops.c");
    output("cc", ["-Wall", "-Werror", source, ...flags, "-o", program], { env });
    const lines = output(program, [recorded("tiny")], { env }).trim().split("\n");
    assert.equal(lines.length, 10);
    assert.match(lines[0], /^ *[\d.]+ us  thread [01]  token \d+ +MUL_MAT +\S+$/);
    const times = lines.map((line) => parseFloat(line));
    assert.deepEqual(times, [...times].sort((a, b) => b - a));

    const project = scratch("project");
    output("mkdir", ["-p", project]);
    writeFileSync(join(project, "CMakeLists.txt"), `cmake_minimum_required(VERSION 3.21)\nproject(example C)\nfind_package(ggscope 0.1 REQUIRED)\n` +
        `add_executable(example ${source})\ntarget_link_libraries(example ggscope::ggscope)\n`);
    output("cmake", ["-S", project, "-B", join(project, "build"), `-DCMAKE_PREFIX_PATH=${prefix}`]);
    output("cmake", ["--build", join(project, "build")]);
    assert.equal(output(join(project, "build", "example"), [recorded("tiny")], { env }).trim().split("\n").length, 10);
});
