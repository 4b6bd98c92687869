// ggscope stats and check, compared with each other and with the model's file; and the public
// library.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
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

// The user may have measured the machine's limits: tables show shares of them.
process.env.XDG_CACHE_HOME = scratch("without-limits");
// The cache of doctor --bandwidth, which was run once.
const cacheFile = (env) => join(env.XDG_CACHE_HOME, "ggscope", readdirSync(join(env.XDG_CACHE_HOME, "ggscope")).find((name) => name.startsWith("limits-")));
const keep = (env, limits) => writeFileSync(cacheFile(env), JSON.stringify({ limits }));

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
        if (by === "layer") assert.equal(groups.length, 25); // 24 layers, and ops without one
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
    const pass = sum(weights.filter((w) => w.name !== "token_embd.weight"), "bytes"); // what one token reads, except for a row of the embedding
    assert.ok(Math.abs(pattern.bytes / tokens - pass) < 0.001 * pass);
    assert.ok(Math.abs(pattern.bytes_first - pass) < 0.001 * pass);
    assert.ok(Math.abs(pattern.reuse_median - pass) < 0.001 * pass); // all of it, except for rows of the embedding
    assert.ok(pattern.bytes_sequential > 0 && pattern.bytes_sequential < pattern.bytes);
});

// Each read of the model in the order of ops, from the table of accesses.
const reads = (directory) => JSON.parse(output(ggscope, ["sql", "--json", directory,
    "SELECT a.file, a.file_offset AS begin, a.bytes AS length FROM accesses a WHERE a.file IS NOT NULL AND NOT a.write AND a.token IS NOT NULL"])).rows;

// Splits files wherever a read begins or ends, and keeps the last read of each piece.
function plainPattern(rows, gap) {
    const cuts = new Map(), last = new Map();
    for (const [file, begin, length] of rows) for (const at of [begin, begin + length]) cuts.set(file, (cuts.get(file) ?? new Set()).add(at));
    for (const [file, places] of cuts) cuts.set(file, [...places].sort((a, b) => a - b));
    const found = { bytes: 0, first: 0, sequential: 0, distances: [], jumps: [] };
    let before = null;
    for (const [file, begin, length] of rows) {
        const ahead = before?.[0] === file ? begin - before[1] : null;
        if (ahead !== null && ahead >= 0 && ahead <= gap) found.sequential += length;
        else if (ahead !== null) found.jumps.push([Math.abs(ahead), 1]);
        const places = cuts.get(file);
        for (let i = places.indexOf(begin); places[i] < begin + length; i++) {
            const piece = `${file} ${places[i]}`, bytes = places[i + 1] - places[i], now = found.bytes + places[i] - begin;
            if (last.has(piece)) found.distances.push([now - last.get(piece), bytes]);
            else found.first += bytes;
            last.set(piece, now);
        }
        found.bytes += length;
        before = [file, begin + length];
    }
    return found;
}
function quantile(pairs, percent) {
    const all = pairs.reduce((total, [, weight]) => total + weight, 0);
    let below = 0;
    for (const [value, weight] of pairs.sort((a, b) => a[0] - b[0])) if ((below += weight) * 100 >= all * percent) return value;
    return 0;
}

for (const name of ["tiny", "moe"]) {
    test(`reuse and sequential share are those of the bytes in accesses (${name})`, () => {
        const directory = recorded(name, "--no-repack"), rows = reads(directory);
        for (const gap of [0, 4096, 1 << 20]) {
            const { pattern, model: bytes } = stats(directory, "--gap", String(gap)), plain = plainPattern(rows, gap);
            assert.equal(pattern.gap_bytes, gap);
            assert.equal(pattern.bytes, plain.bytes);
            assert.equal(pattern.bytes_first, plain.first);
            assert.equal(pattern.bytes_first, bytes.bytes_touched);
            assert.equal(pattern.bytes_sequential, plain.sequential);
            assert.equal(pattern.jumps, plain.jumps.length);
            assert.deepEqual([pattern.jump_median, pattern.jump_90], [quantile(plain.jumps, 50), quantile(plain.jumps, 90)]);
            assert.deepEqual([pattern.reuse_median, pattern.reuse_90], [quantile(plain.distances, 50), quantile(plain.distances, 90)]);
            if (gap === 0) assert.equal(pattern.bytes_sequential, pattern.bytes_sequential_strict);
        }
        assert.equal(stats(directory).pattern.gap_bytes, 4096);
    });
}

test("a gap of 0 is said in words, one that is none is refused", () => {
    const text = (gap) => output(ggscope, ["stats", "--gap", gap, recorded("tiny", "--no-repack")]).replace(/\s+/g, " ");
    assert.match(text("0"), /continue where the read before ended, without any gap; \d+ jumps/);
    assert.match(text("4K"), /continue where the read before ended, gaps of at most 4\.00 KiB passed over \([\d.]+ % without\); \d+ jumps/);
    const { status, stderr } = run(ggscope, ["stats", "--gap", "wide", recorded("tiny", "--no-repack")]);
    assert.equal(status, 2);
    assert.match(stderr, /--gap.*a size such as 4K/);
});

test("text fits a terminal of 80 columns; threads have no bytes", () => {
    for (const by of ["op", "layer", "component", "tensor", "thread", "token", "device"]) {
        const text = terminal(80, ggscope, ["stats", "--by", by, recorded("moe")]);
        for (const line of text.split("\n")) assert.ok([...line].length <= 80, line);
        assert.equal(/^(op|layer|component|tensor|thread|token|device) +ops +wall +share +wait +read +GB\/s$/m.test(text), by !== "thread", by);
    }
});

test("on a narrow terminal the table leaves columns out, and sentences are broken between words; names, times and bytes stay", () => {
    const sentences = (text) => text.slice(0, text.search(/^op +(ops|wall) /m)).trim().split(/\s+/); // before the table
    for (const [columns, heading, ...before] of [[80, "op +ops +wall +share +wait +read +GB/s"], [40, "op +wall +share +read"], [80, "op +wall +share +read", "env", "COLUMNS=40"]]) {
        const width = before.length ? 40 : columns, [program, ...words] = [...before, ggscope, "stats", recorded("moe")], text = terminal(columns, program, words);
        assert.match(text, new RegExp(`^${heading}$`, "m"));
        for (const line of text.split("\n")) assert.ok([...line].length <= width, line);
        assert.deepEqual(sentences(text), sentences(output(ggscope, ["stats", recorded("moe")])));
    }
    assert.equal(output(ggscope, ["stats", recorded("moe")], { env: { ...process.env, COLUMNS: "40" } }), output(ggscope, ["stats", recorded("moe")])); // programs read this output
});

test("some tokens: no word of a prompt that is not among them", () => {
    const first = (...options) => output(ggscope, ["stats", ...options, recorded("moe")]).split("\n").find((line) => line.startsWith("tokens"));
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
    const refused = /^warn +limits +.*(others used \d+ % of the CPUs|threads were slower than)/m;
    if (!refused.test(measured)) assert.match(measured, /limits +1 thread: \d+\.\d GB\/s of memory, \d+\.\d Gflop\/s \(\d{4}-\d\d-\d\d \d\d:\d\d UTC, others used \d+ % of the CPUs\)/);
    keep(env, [{ threads: 1, memory_bytes_per_second: 8e9, flops_per_second: 9e10, measured_at: 1e9, others_percent: 3 }, { threads: 2, memory_bytes_per_second: 9e9, flops_per_second: 1e11, measured_at: 1e9, others_percent: 4 }]);
    assert.match(run(ggscope, ["doctor"], { env }).stdout, /limits +1 thread: 8\.0 GB\/s of memory, 90\.0 Gflop\/s \(2001-09-09 01:46 UTC, others used 3 % of the CPUs\)/);
    const directory = scratch("with-limits");
    const recording = run(ggscope, ["record", "-q", "-o", directory, "--", engine, "run", "-m", model("tiny"), "-p", "Hi", "-n", "2", "-t", "1"], { env });
    assert.equal(recording.status, 0, recording.stderr);
    const { host } = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));
    assert.ok(host.limits.length > 0 && host.limits[0].threads === 1);
    const { limits } = stats(directory, "--roofline");
    assert.deepEqual(limits, host.limits[0]);
    assert.equal(stats(directory).memory_bytes_per_second, host.limits[0].memory_bytes_per_second);
    assert.match(output(ggscope, ["stats", "--roofline", directory]), /^limits +\d+\.\d GB\/s and \d+\.\d Gflop\/s with 1 thread\n/);
    assert.match(output(ggscope, ["stats", directory]), /^memory +can be read at .* a second by 1 thread$/m);
});

test("limits that a busy machine gave: refused, and kept out of recordings", () => {
    const env = { ...process.env, XDG_CACHE_HOME: scratch("busy-cache") };
    const hogs = Array.from({ length: availableParallelism() }, () => spawn("sh", ["-c", "while :; do :; done"]));
    let measured, probed;
    const directory = scratch("probed");
    cpSync(recorded("tiny"), directory, { recursive: true });
    try {
        measured = run(ggscope, ["doctor", "--bandwidth"], { env }).stdout;
        probed = run(ggscope, ["stats", "--probe", directory]);
    } finally {
        hogs.forEach((hog) => hog.kill("SIGKILL"));
    }
    assert.match(measured, /^warn +limits +others used [1-9]\d+ % of the CPUs while memory was measured: nothing is kept; measure again .* \(the next recording, or ggscope doctor, does that by itself\)$/m);
    assert.doesNotMatch(measured, /GB\/s|not measured/);
    assert.equal(probed.status, 1);
    assert.match(probed.stderr, /^ggscope: others used [1-9]\d+ % of the CPUs .*: nothing is kept/);
    assert.deepEqual(JSON.parse(readFileSync(cacheFile(env), "utf8")), { limits: [], wanted: 1 });

    // Two threads slower than one: not used for recordings.
    keep(env, [{ threads: 1, memory_bytes_per_second: 8e9, flops_per_second: 9e10 }, { threads: 2, memory_bytes_per_second: 4e9, flops_per_second: 9e10 }]);
    const implausible = scratch("implausible");
    run(ggscope, ["record", "-q", "-o", implausible, "--", engine, "run", "-m", model("tiny"), "-p", "Hi", "-n", "1", "-t", "1"], { env });
    assert.equal(JSON.parse(readFileSync(join(implausible, "experiment.json"), "utf8")).host.limits, undefined);
});

test("rates above the limit are explained", () => {
    const directory = scratch("above");
    cpSync(recorded("tiny"), directory, { recursive: true });
    writeFileSync(join(directory, "probe.json"), JSON.stringify({ threads: 1, memory_bytes_per_second: 1000, flops_per_second: 1000 }));
    for (const options of [[], ["--roofline"]]) assert.match(output(ggscope, ["stats", ...options, directory]), /^above 100 %: these bytes came from the CPU's caches/m);
});

test("--probe is kept in the experiment", () => {
    const directory = recorded("tiny", "--no-mmap");
    const probed = run(ggscope, ["stats", "--json", "--probe", directory]);
    if (probed.status !== 0) { // a busy machine
        assert.match(probed.stderr, /^ggscope: others used \d+ % of the CPUs/);
        writeFileSync(join(directory, "probe.json"), JSON.stringify({ threads: 2, memory_bytes_per_second: 1e10, flops_per_second: 1e11 }));
    } else {
        assert.equal(stats(directory).memory_bytes_per_second, JSON.parse(probed.stdout).memory_bytes_per_second);
    }
    assert.ok(stats(directory).memory_bytes_per_second > 1e8);
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
        `add_executable(example "${source}")\ntarget_link_libraries(example ggscope::ggscope)\n`);
    output("cmake", ["-S", project, "-B", join(project, "build"), `-DCMAKE_PREFIX_PATH=${prefix}`]);
    output("cmake", ["--build", join(project, "build")]);
    assert.equal(output(join(project, "build", "example"), [recorded("tiny")], { env }).trim().split("\n").length, 10);
});
