// ggscope stats and check, against each other and against what the model's file says; and the library for others.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, root, run, scratch, terminal } from "../lib.mjs";

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
    for (const key of ["experiment_id", "tokens", "prompt_tokens", "generated_tokens", "threads", "runs", "nodes", "executed", "absorbed", "empty",
        "skipped", "opaque", "unseen", "lost", "ops", "op_runs", "wall_ns", "bytes_read", "buffers", "model", "by_op"]) assert.ok(key in all, key);
    assert.equal(all.bytes_disk + all.bytes_buffer, all.bytes_read + all.bytes_written);
    assert.equal(all.nodes, all.executed + all.absorbed + all.empty + all.skipped + all.opaque + all.unseen);
    assert.equal(all.tokens, tokens);
    assert.equal(all.ops, all.executed);
    assert.equal(all.op_runs, 2 * all.ops);
    assert.ok(all.model.bytes_touched > 0 && all.model.bytes_touched < all.model.bytes);
    assert.equal(sum(all.by_op, "ops"), all.ops);
    assert.equal(sum(all.by_op, "bytes_read"), all.bytes_read);
});

for (const by of ["op", "layer", "component", "tensor", "thread", "token", "device"]) {
    test(`--by ${by} adds up to the whole`, () => {
        const all = stats(recorded("moe"), "--by", by), groups = all[`by_${by}`];
        assert.equal(sum(groups, "op_runs"), all.op_runs);
        // Bytes belong to ops, not to threads.
        for (const bytes of ["bytes_read", "bytes_written", "bytes_disk"]) {
            if (by === "thread") assert.ok(groups.every((g) => !(bytes in g)));
            else assert.equal(sum(groups, bytes), all[bytes]);
        }
        if (by === "layer") assert.equal(groups.length, 25); // 24 and what has none
        if (by === "token") assert.deepEqual(groups.map((g) => g.token), [...Array(tokens).keys()]);
        if (by === "thread") assert.deepEqual(groups.map((g) => g.thread), [0, 1]);
    });
}

test("ranges of tokens add up, and a layer is a part of its token", () => {
    const directory = recorded("moe"), all = stats(directory);
    const [first, rest] = [stats(directory, "--token", "0"), stats(directory, "--token", "1..")];
    for (const key of ["ops", "op_runs", "runs", "tokens"]) assert.equal(first[key] + rest[key], all[key], key);
    assert.equal(first.bytes_read + rest.bytes_read, all.bytes_read);
    const layers = Array.from({ length: 24 }, (_, i) => stats(directory, "--token", "2", "--layer", String(i)).ops);
    const outside = stats(directory, "--token", "2", "--by", "layer").by_layer.find((g) => g.layer === null).ops;
    assert.equal(layers.reduce((a, b) => a + b) + outside, stats(directory, "--token", "2").ops);
});

test("weights: what is read and what never, against the file", () => {
    const { weights, model: bytes, pattern } = stats(recorded("moe", "--no-repack"));
    const map = JSON.parse(output(ggscope, ["gguf", "--json", model("moe")]));
    assert.equal(weights.length, map.metadata.n_tensors);
    assert.equal(sum(weights, "bytes"), sum(map.tensors, "size_bytes"));
    assert.equal(sum(weights, "bytes_touched"), bytes.bytes_touched);
    assert.equal(sum(weights, "bytes_read"), pattern.bytes);
    const rows = weights.find((w) => w.name === "token_embd.weight");
    assert.ok(rows.bytes_touched > 0 && rows.bytes_touched <= (4 + tokens) * (rows.bytes / 32000)); // one row per token
    const experts = weights.find((w) => w.name === "blk.3.ffn_up_exps.weight");
    assert.equal(experts.bytes_touched % (experts.bytes / 32), 0); // whole experts
    assert.ok(experts.bytes_touched < experts.bytes);
});

test("a dense model is read whole for every token: each weight again after all the others", () => {
    const { pattern, weights } = stats(recorded("tiny", "--no-repack"));
    const pass = sum(weights.filter((w) => w.name !== "token_embd.weight"), "bytes"); // what one token reads, a row of the embedding apart
    assert.ok(Math.abs(pattern.bytes / tokens - pass) < 0.001 * pass);
    assert.ok(Math.abs(pattern.bytes_first - pass) < 0.001 * pass);
    assert.ok(pattern.reuse_median >= pass / 2 && pattern.reuse_median <= 2 * pass); // a power of two
    assert.ok(pattern.bytes_sequential > 0 && pattern.bytes_sequential < pattern.bytes);
});

test("text fits a terminal of 80 columns; threads have no bytes", () => {
    for (const by of ["op", "layer", "component", "tensor", "thread", "token", "device"]) {
        const text = terminal(80, ggscope, ["stats", "--by", by, recorded("moe")]);
        for (const line of text.split("\n")) assert.ok([...line].length <= 80, line);
        assert.equal(/^(op|layer|component|tensor|thread|token|device) +ops +wall +share +wait +read +GB\/s$/m.test(text), by !== "thread", by);
    }
});

test("on a narrow terminal the table leaves columns out, and sentences are broken between words; names, times and bytes stay", () => {
    const sentences = (text) => text.slice(0, text.search(/^op /m)).trim().split(/\s+/); // before the table
    for (const [columns, heading, ...before] of [[80, "op +ops +wall +share +wait +read +GB/s"], [40, "op +wall +share +read"], [80, "op +wall +share +read", "env", "COLUMNS=40"]]) {
        const width = before.length ? 40 : columns, [program, ...words] = [...before, ggscope, "stats", recorded("moe")], text = terminal(columns, program, words);
        assert.match(text, new RegExp(`^${heading}$`, "m"));
        for (const line of text.split("\n")) assert.ok([...line].length <= width, line);
        assert.deepEqual(sentences(text), sentences(output(ggscope, ["stats", recorded("moe")])));
    }
    assert.equal(output(ggscope, ["stats", recorded("moe")], { env: { ...process.env, COLUMNS: "40" } }), output(ggscope, ["stats", recorded("moe")])); // programs read it
});

test("some tokens: no word of a prompt that is not among them", () => {
    const first = (...options) => output(ggscope, ["stats", ...options, recorded("moe")]).split("\n")[0];
    assert.match(first(), /^tokens +6 steps: prompt of 5 in \S+ \S+, then \S+ \S+ each \(\S+ tokens\/s\)$/);
    assert.match(first("--token", "0"), /^tokens +1 step: prompt of 5 in \S+ \S+$/);
    assert.match(first("--token", "3"), /^tokens +1 step: \S+ \S+ \(\S+ tokens\/s\)$/);
    assert.match(first("--token", "3.."), /^tokens +3 steps: \S+ \S+ each \(\S+ tokens\/s\)$/);
});

test("--roofline adds up to the whole, and its flops are those of the shapes", () => {
    for (const name of ["tiny", "moe"]) {
        const directory = recorded(name), all = stats(directory), { by_op: rows } = stats(directory, "--roofline");
        for (const key of ["ops", "op_runs", "wall_ns", "busy_ns", "bytes_read", "bytes_written"]) assert.equal(sum(rows, key), sum(all.by_op, key), key);
        assert.equal(rows.reduce((total, row) => total + sum(row.duration_bins.map((n) => ({ n })), "n"), 0), all.ops);
        for (const row of rows) assert.equal(row.flops !== null, /^(MUL_MAT|MUL_MAT_ID|FLASH_ATTN_EXT|OUT_PROD)$/.test(row.op), row.op);
        const [{ nodes }] = JSON.parse(output(ggscope, ["graph", "--json", "--token", "1", directory])).graphs;
        const weights = new Map(JSON.parse(output(ggscope, ["gguf", "--json", model(name)])).tensors.map((tensor) => [tensor.name, tensor]));
        const query = nodes.find((node) => node.op === "MUL_MAT" && node.name === "Qcur-0");
        const inner = (weights.get("blk.0.attn_q.weight").shape ?? weights.get("blk.0.attn_q.weight").dimensions)[0];
        const layers = nodes.filter((node) => node.op === "MUL_MAT" && /^Qcur-\d+$/.test(node.name)).length;
        const wanted = 2 * inner * query.shape.reduce((a, b) => a * b, 1) * layers;
        const told = stats(directory, "--roofline", "--token", "1").by_op.find((row) => row.op === "MUL_MAT" && row.component === "Attention Q");
        assert.equal(told.flops, wanted);
    }
});

test("what doctor --bandwidth measured is in later recordings, and stats compares with it", () => {
    const env = { ...process.env, XDG_CACHE_HOME: scratch("cache") };
    const plain = run(ggscope, ["doctor"], { env }).stdout;
    assert.match(plain, /limits +not measured: ggscope doctor --bandwidth/);
    const measured = run(ggscope, ["doctor", "--bandwidth"], { env }).stdout;
    assert.match(measured, /limits +1 thread: \d+\.\d GB\/s of memory, \d+\.\d Gflop\/s/);
    const directory = scratch("with-limits");
    const recording = run(ggscope, ["record", "-q", "-o", directory, "--", engine, "run", "-m", model("tiny"), "-p", "Hi", "-n", "2", "-t", "1"], { env });
    assert.equal(recording.status, 0, recording.stderr);
    const { host } = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));
    assert.ok(host.limits.length > 0 && host.limits[0].threads === 1);
    const { limits } = stats(directory, "--roofline");
    assert.deepEqual(limits, host.limits[0]);
    assert.equal(stats(directory).memory_bytes_per_second, host.limits[0].memory_bytes_per_second);
    assert.match(output(ggscope, ["stats", "--roofline", directory]), /^limits +\d+\.\d GB\/s and \d+\.\d Gflop\/s with 1 threads\n/);
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
    assert.match(lines[0], /^ *[\d.]+ us  thread [01]  token \d+ +[A-Z_]+ +\S+$/);
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
