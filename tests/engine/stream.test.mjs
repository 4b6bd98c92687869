// ggscope stream: a model that does not fit gives the same output as one that does, under all
// conditions.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, engine, ggscope, model, output, run, sanitized, scratch } from "../lib.mjs";
import { check, fresh, host, rows } from "./traces.mjs";
import { machine, noLimit, ownModel } from "./pressure.mjs";
import { MiB, budget, cache, computed, report, same, sameProgram, sizes, stock, stream, words } from "./streaming.mjs";

const moe = model("moe"), dense = model("tiny", "--embd", "512", "--ff", "1024");
const half = model("moe", "--types", "f16", "--embd", "96", "--ff", "136", "--heads", "6", "--kv-heads", "2"); // expert sizes are not a multiple of a block; repacked only with AMX
const mapped = model("tiny", "--types", "bf16", "--embd", "384", "--ff", "768"); // no engine repacks these weights
const sentence = "Once upon a time, in a land far away, there was a small village by the sea. ";
const short = ["-p", "Once upon a time", "-n", "4", "-t", "1"];

test("a dense model gives the same logits, whatever is kept", () => {
    const kept = [[], ["--keep", "first"], ["--keep", "none"]].map((options) => {
        const { counts } = same(dense, 0.5, short, { options });
        assert.ok(counts.bytes_streamed > 0 && counts.mapped_uses === 0, JSON.stringify(counts));
        return counts.kept;
    });
    assert.ok(kept[2] < kept[0] && kept[2] < kept[1], kept.join()); // weights too large for the ring are always kept
});

test("a mixture of experts gives the same logits, with and without prediction", () => {
    const { counts } = same(moe, 0.4, short);
    assert.ok(counts.hits > 0 && counts.predicted_used > 0, JSON.stringify(counts));
    const without = same(moe, 0.4, short, { options: ["--predict", "0"] }).counts;
    assert.ok(without.misses > 0 && without.predicted === 0, JSON.stringify(without));
});

test("prompts of several batch sizes, several threads", () => {
    for (const [path, ...options] of [
        [moe, "-p", sentence.slice(0, 40), "-n", "2", "-t", "2", "--batch", "5", "--ubatch", "3"],
        [dense, "-p", "Once", "-n", "1", "-t", "3"],
        [dense, "-p", "Once", "-n", "3", "-t", "1", "--eval-callback"], // graphs run in pieces
    ]) same(path, 0.4, options);
});

test("other architectures, other types, experts that are no multiple of a disk's block", () => {
    for (const path of [model("moe", "--arch", "deepseek2"), half])
        same(path, 0.5, ["-p", "Once upon a time", "-n", "3", "-t", "1"], { options: ["--verify"] });
});

test("little memory: experts go through spare memory, and a weight that is larger than it is left to the mapping", () => {
    for (const [path, share, ...options] of [
        [moe, 0.12, "-p", sentence, "-n", "4", "-t", "1"],
        [moe, 0.12, "-p", sentence.slice(0, 40), "-n", "2", "-t", "2", "--batch", "5", "--ubatch", "3"],
        [moe, 0.12, "-p", "Once", "-n", "3", "-t", "1", "--eval-callback"],
        [half, 0.16, "-p", sentence, "-n", "4", "-t", "1"],
    ]) {
        const { counts } = same(path, share, options, { options: ["--verify"] });
        assert.ok(counts.slots === 0 && counts.spare > 0, JSON.stringify(counts));
        assert.ok(counts.misses > 0 && (options.includes("--eval-callback") || (counts.predicted_used > 0 && counts.mapped_uses === 0)), JSON.stringify(counts));
    }
    const { counts } = same(model("tiny", "--embd", "768", "--ff", "3072"), 0.15, short);
    assert.ok(counts.mapped > 0 && counts.bytes_streamed > 3 * counts.mapped, JSON.stringify(counts));
});

test("a split model", () => {
    const path = scratch("split.gguf");
    output(engine, ["synth", "moe", "--split", "3", "-o", path]);
    const parts = [1, 2, 3].map((i) => scratch(`split-0000${i}-of-00003.gguf`));
    same(parts[0], 0.5, short, { size: parts.reduce((sum, part) => sum + sizes(part), 0) });
});

test("--verify compares everything that was read", () => {
    const { counts } = same(dense, 0.5, short, { options: ["--verify"] });
    // Data read ahead for a token that never comes is not verified.
    assert.ok(counts.verified > 0.7 * (counts.bytes_streamed + counts.bytes_kept), JSON.stringify(counts));
});

test("a model that fits is left alone; too little memory too; both are said in one line", () => {
    const command = words(dense, ...short), wanted = stock(command);
    for (const [bytes, state, line] of [[1 << 30, "fits", /^ggscope: the model \(.*\) fits into memory \(.*\): nothing is streamed\n$/], [16 * MiB, "too little", /^ggscope: .* are too little to stream this model \(.*\): nothing is streamed\n$/]]) {
        const result = stream(command, bytes);
        assert.match(result.stderr, line);
        assert.equal(result.counts.uses, 0);
        assert.equal(result.counts.state, state);
        assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
    }
});

// Counts the expensive operations instead of measuring time.
test("a model that fits is loaded, repacked and computed as without us: no thread, and one look at memory a second", async () => {
    const began = Date.now(), child = spawn(ggscope, ["stream", "-q", "--report", report, "--", engine, "run", "-m", dense, "-p", "Once upon a time", "-n", "2000", "-t", "1", "--ignore-eos"], { stdio: ["ignore", "pipe", "ignore"] });
    const closed = once(child, "close");
    await Promise.race([once(child.stdout, "data"), closed]); // the first token
    const threads = readdirSync(`/proc/${child.pid}/task`).length, maps = readFileSync(`/proc/${child.pid}/smaps`, "utf8");
    child.stdout.resume();
    await Promise.race([once(child.stdout, "data"), closed]); // some more
    child.kill("SIGINT");
    assert.deepEqual(await closed, [130, null]);
    const counts = JSON.parse(readFileSync(report, "utf8")), seconds = (Date.now() - began) / 1000;
    if (!sanitized) assert.equal(threads, 1);
    assert.equal(counts.state, "fits");
    assert.ok(counts.looks <= seconds, `${counts.looks} looks in ${seconds} s`);
    // The pages that the program populates when it maps the file were read.
    const mapped = [...maps.matchAll(/^\S+ r--\S* .*\.gguf\nSize: +(\d+) kB\n(?:.*\n)*?Rss: +(\d+) kB$/gm)];
    assert.ok(mapped.length > 0 && mapped.every(([, size, rss]) => Number(rss) > 0.95 * Number(size)), maps);
    const plain = ["run", "-m", dense, "--json", "--logits-hash", ...short];
    assert.equal(JSON.parse(stream([engine, ...plain], 1 << 30).stdout).logits_hash, stock([engine, ...plain]).logits_hash);
});

test("weights that the engine has copied do not count twice, and where nothing else is left that is said", (t) => {
    const path = model("tiny", "--types", "q4_0", "--embd", "512", "--ff", "1024"), command = [engine, "run", "-m", path, "--json", "--logits-hash", ...short], wanted = stock(command);
    const { counts: { state, engine: copies } } = stream(command, 1 << 30);
    assert.equal(state, "fits");
    if (copies < sizes(path)) return t.skip("this CPU variant copies no weights of type q4_0");
    const fitting = stream(command, copies + 0.5 * sizes(path));
    assert.deepEqual([fitting.counts.state, JSON.parse(fitting.stdout).logits_hash], ["fits", wanted.logits_hash], fitting.stderr);
    const context = [...command, "--ctx", "8192"], crowded = stream(context, copies + 0.5 * sizes(path));
    assert.deepEqual([crowded.counts.state, crowded.counts.uses], ["too little", 0], crowded.stderr);
    assert.match(crowded.stderr, /^ggscope: the engine has copied the model's weights into memory of its own \(.*\): nothing is left to stream; --no-repack leaves them in the file\n$/);
});

test("the disk is measured once and kept; a file that was damaged is made anew", () => {
    const command = words(dense, ...short), bytes = budget(command, dense, 0.5), folder = join(cache, "ggscope");
    const known = () => { const [name, ...others] = readdirSync(folder); return assert.deepEqual(others, []), { path: join(folder, name), text: readFileSync(join(folder, name), "utf8") }; };
    rmSync(folder, { recursive: true, force: true });
    const first = stream(command, bytes), { path, text } = known(), disk = JSON.parse(text);
    assert.match(first.stderr, /, disk [\d.]+ GB\/s; faster with/);
    assert.ok(disk.random > 1e6 && disk.sequential > 1e6 && / \S/.test(disk.device), text);
    const told = ({ counts }) => ["sequential", "random", "depth", "piece"].map((key) => counts[`disk_${key}`]), kept = ["sequential", "random", "depth", "piece"].map((key) => disk[key]);
    assert.deepEqual(told(first), kept);
    writeFileSync(path, text.replace(/"random":\d+/, '"random":123456789'));
    assert.equal(told(stream(command, bytes))[1], 123456789); // not measured again
    writeFileSync(path, text.slice(0, 40));
    const again = stream(command, bytes);
    assert.deepEqual(told(again), ["sequential", "random", "depth", "piece"].map((key) => JSON.parse(known().text)[key]));
    assert.equal(JSON.parse(again.stdout).logits_hash, stock(command).logits_hash);
    // Streams also without a place for the cache.
    assert.equal(stream(command, bytes, { env: { ...process.env, XDG_CACHE_HOME: "/proc/no-such-folder" } }).counts.state, "streamed");
});

test("weights are not repacked where the model does not fit", () => {
    const command = words(moe, ...short).filter((word) => word !== "--no-repack"), wanted = stock(words(moe, ...short));
    const result = stream(command, budget(command, moe, 0.4));
    assert.equal(result.counts.state, "streamed", result.stderr);
    assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
});

test("several contexts and models, a fork, a library that is opened anew", () => {
    for (const [mode, ...models] of [["contexts", half], ["models", half, dense], ["fork", half], ["reopen", mapped]]) sameProgram([host, mode, "-t", "1", ...models], models);
});

test("a program that loads the model and lets forked children compute", () => {
    const { stderr } = sameProgram([host, "workers", "-t", "1", half], [half]);
    assert.equal(stderr.match(/^ggscope: streaming /gm).length, 2, stderr); // each of them
});

test("a program that changes its mapping of the model computes with what it has put there", () => {
    for (const mode of ["patched-over", "patched-written"]) {
        const command = [host, mode, "-t", "1", half], wanted = computed(run(command[0], command.slice(1)));
        assert.ok(new Set(wanted).size > wanted.length / 2, mode); // other weights, other results
        assert.deepEqual(computed(sameProgram(command, [half])), wanted, mode);
    }
});

test("a server with several slots", () => {
    sameProgram([join(build, "tests", "server-host"), "slots", half], [half], { env: { ...process.env, SERVER_HOST_LOGITS: "1" } });
});

test("recorded too: the recording names the same experts and the same places in the file", () => {
    const directory = fresh(), command = words(moe, ...short), wanted = stock(command), plain = fresh();
    const bytes = Math.round(budget(command, moe, 0.4));
    const result = run(ggscope, ["stream", "-q", "--record", "-o", directory, "--budget", String(bytes), "--report", report, "--", ...command]);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
    const counts = JSON.parse(readFileSync(report, "utf8"));
    assert.ok(counts.uses > 0);
    output(ggscope, ["record", "-q", "-o", plain, "--", ...command]);
    check(directory);
    const timeless = (key, value) => (/_ns$|^experiment/.test(key) ? undefined : value);
    const experts = (folder) => JSON.parse(output(ggscope, ["experts", "--json", folder]), timeless);
    assert.deepEqual(experts(directory), experts(plain));
    // The result of each use: as many as counted, three weights per choice of experts.
    const uses = rows(directory, "streamed").streamed, sum = (key) => uses.reduce((all, row) => all + row[key], 0), { streamed } = JSON.parse(output(ggscope, ["stats", "--json", directory]));
    assert.equal(uses.length, counts.uses);
    assert.deepEqual([sum("hits"), sum("misses"), sum("predicted_used")], [3 * counts.hits, 3 * counts.misses, 3 * counts.predicted_used]);
    assert.ok(sum("misses") > 0 && sum("wait_ns") > 0 && sum("wait_ns") <= counts.wait_ns);
    assert.equal(sum("bytes_early"), counts.bytes_predicted);
    const slots = uses.filter((use) => use.place === 4);
    assert.ok(slots.length > 0 && slots.every((use) => (use.bytes_read > 0) === (use.misses > 0)));
    for (const key of ["bytes_read", "bytes_early", "hits", "misses", "predicted", "predicted_used", "wait_ns"]) assert.equal(streamed[key], sum(key), key);
    assert.match(output(ggscope, ["stats", directory]), /^streamed .* in \d+ runs, .* by prediction$/m);
    // The op that waited is the op that multiplies by the weight.
    const ops = JSON.parse(output(ggscope, ["sql", "--json", directory, "SELECT DISTINCT o.op FROM streamed s JOIN ops o USING (run, node) WHERE s.place = 'slots'"]));
    assert.deepEqual(ops.rows, [["MUL_MAT_ID"]]);
    // What is in use already is not advised.
    const { findings } = JSON.parse(output(ggscope, ["explain", "--json", directory]));
    for (const { remedy, evidence } of findings) assert.doesNotMatch(`${remedy}\n${evidence}`, /under ggscope stream|ggscope stream reads ahead|streamed nothing/);
    assert.deepEqual([directory, plain].map((folder) => JSON.parse(readFileSync(join(folder, "experiment.json"), "utf8")).settings.stream), [true, false]);
    const touched = (folder) => JSON.parse(output(ggscope, ["stats", "--json", folder])).model;
    assert.deepEqual(touched(directory), touched(plain));
});

test("at the limit of a control group the program lives, and stays within it", { skip: sanitized ? "AddressSanitizer takes more than the limit" : noLimit() }, () => {
    const path = ownModel("moe"), directory = fresh(), command = words(path, "-p", sentence.repeat(16), "-n", "4", "-t", "1");
    const wanted = stock(command);
    const result = run(ggscope, ["stream", "-q", "--record", "--memory", "150M", "-o", directory, "--report", report, "--", ...command]);
    assert.equal(result.status, 0, result.stderr);
    assert.equal(JSON.parse(readFileSync(report, "utf8")).state, "streamed", result.stderr);
    assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
    assert.ok(machine(directory).memory_peak <= 150 * MiB);
});

// Starts a run without end, and waits for its first token.
async function start(path, bytes) {
    const child = spawn(ggscope, ["stream", "--budget", String(bytes), "--", engine, "run", "-m", path, "-p", "Once upon a time", "-n", "2000", "-t", "1", "--ignore-eos", "--no-repack"],
        { stdio: ["ignore", "pipe", "pipe"] });
    child.text = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (child.text += text));
    const closed = once(child, "close");
    await Promise.race([once(child.stdout, "data"), closed]);
    child.stdout.resume();
    return { child, closed };
}
const some = (() => { let bytes; return () => (bytes ??= Math.round(budget(words(moe, ...short), moe, 0.4))); })();

test("Ctrl-C and a kill end it as they end the program", async () => {
    for (const [signal, status, by] of [["SIGINT", 130, null], ["SIGKILL", null, "SIGKILL"]]) {
        const { child, closed } = await start(moe, some());
        child.kill(signal);
        assert.deepEqual(await closed, [status, by], child.text);
    }
});

test("a file that is changed while it is in use is told of in one sentence, and its mapping goes on", async () => {
    const changed = /^ggscope: the model file was changed while in use: [^\n]*\n/m, path = ownModel("moe"), { child, closed } = await start(path, some());
    utimesSync(path, new Date(), new Date(Date.now() - 1e6));
    while (!changed.test(child.text)) await once(child.stderr, "data");
    child.stdout.pause();
    child.stdout.resume();
    await once(child.stdout, "data"); // wait for more output
    child.kill("SIGKILL");
    await closed;
});

// The program ends as without ggscope: by the kernel's signal for missing bytes.
test("a file that is cut ends the program with one sentence, whether it is streamed or fits", async () => {
    const path = ownModel("moe"), left = sizes(path) - 65536; // within the last weight
    for (const bytes of [some(), 1 << 30]) {
        const { child, closed } = await start(path, bytes);
        truncateSync(path, left);
        assert.deepEqual((await closed)[1], "SIGBUS", child.text);
        const said = child.text.split("\n").filter((line) => /the model file was truncated/.test(line));
        assert.equal(said.length, 1, child.text);
        assert.match(said[0], /^ggscope: the model file was truncated .* ends (the program|here)$/);
        truncateSync(path, left + 65536); // zeros are a valid model too
    }
});

test("one line when it begins, one at the end, with --verbose how memory is divided, with -q none", () => {
    const command = words(moe, ...short), bytes = budget(command, moe, 0.4);
    const lines = (...options) => stream(command, bytes, { options }).stderr.split("\n").filter((line) => line.startsWith("ggscope: "));
    const begins = /^ggscope: streaming \d+ MiB of weights within \d+ MiB of memory: at most \d+ tokens\/s, \d+ MB per token, \d+ % of it in memory, disk [\d.]+ GB\/s; faster with more memory \(\d+ MiB hold all\)( or a faster disk)?$/;
    const ends = /^ggscope: streamed \d+ tokens one by one at [\d.]+ per second, \d+ tokens in batches at [\d.]+ per second; \d+ % of the time waiting for the disk, which read \d+ MB; \d+ % of the experts were in memory$/;
    for (const options of [[], ["--verbose"]]) {
        const said = lines(...options);
        assert.match(said[0], begins);
        assert.match(said.at(-1), ends);
        assert.equal(said.filter((line) => /^ggscope: engine .* at a time$/.test(line)).length, options.length);
        assert.ok(options.length > 0 || said.length === 2, said.join("\n"));
    }
    assert.deepEqual(lines("-q"), []);
});

test("what experts were chosen is kept for the next run: --no-history leaves it alone, --forget deletes it", () => {
    const command = words(moe, ...short), bytes = budget(command, moe, 0.3), kept = () => readdirSync(join(cache, "ggscope")).filter((name) => name.startsWith("history-"));
    const hits = (...options) => stream(command, bytes, { options: ["--predict", "0", ...options] }).counts.hits, wanted = stock(command).logits_hash;
    hits("--forget", "--no-history");
    assert.deepEqual(kept(), []);
    const first = hits();
    assert.equal(kept().length, 1);
    const before = readFileSync(join(cache, "ggscope", kept()[0]), "utf8");
    assert.ok(before.length < MiB && JSON.parse(before).layers.length === 24, before);
    const second = stream(command, bytes, { options: ["--predict", "0"] });
    assert.equal(JSON.parse(second.stdout).logits_hash, wanted);
    assert.ok(second.counts.hits > first, `${second.counts.hits} after ${first}`); // the same tokens choose the same experts
    const then = readFileSync(join(cache, "ggscope", kept()[0]), "utf8");
    hits("--no-history");
    assert.equal(readFileSync(join(cache, "ggscope", kept()[0]), "utf8"), then);
});

test("--dry-run says by the model, or by a recording, what streaming then does", () => {
    const directory = fresh("stream-forecast"), tokens = ["-p", "Once upon a time", "-n", "24", "-t", "1", "--ctx", "64"];
    for (const path of [dense, moe]) {
        const command = words(path, ...tokens), bytes = Math.round(budget(command, path, 0.45)), said = stream(command, bytes, { options: ["--no-history"] });
        const held = Number(/(\d+) % of it in memory/.exec(said.stderr)[1]);
        const rows_ = (...operands) => output(ggscope, ["stream", "--dry-run", "--budget", String(bytes), ...operands]).split("\n").map((line) => /^ *([\d.]+ MiB) +(\d+) % +([\d.]+ MiB)/.exec(line)).filter(Boolean);
        for (const operands of [["--", ...command], ["--", path, "-c", "64"]]) {
            const rows = rows_(...operands), mine = rows.find((row) => Math.abs(Number.parseFloat(row[1]) * MiB - bytes) < MiB);
            assert.ok(Math.abs(Number(mine[2]) - held) <= 12, `${path}: ${mine[0]}; ${said.stderr}`);
        }
        const half_of = (...operands) => output(ggscope, ["stream", "--dry-run", ...operands, "--", path]);
        assert.equal(half_of("--budget", "50%"), half_of("--memory", String(Math.floor(sizes(path) / 2))));
        output(ggscope, ["record", "-q", "-o", directory, "--force", "--", ...command]);
        assert.ok(rows_(directory).length >= 2);
    }
    assert.match(run(ggscope, ["stream", "--dry-run", "--", "true"]).stderr, /^ggscope: --dry-run needs a GGUF file, a recording, or a program with -m MODEL: true is none of these\n$/);
});

test("--memory holds the program to so much and streams within, without a recording", { skip: sanitized ? "AddressSanitizer takes more than the limit" : noLimit() }, () => {
    const command = words(moe, ...short), wanted = stock(command), limited = (...rest) => run(ggscope, ["stream", "--memory", "96M", "--report", report, "--", ...rest]);
    const result = limited(...command), counts = JSON.parse(readFileSync(report, "utf8"));
    assert.equal(result.status, 0, result.stderr);
    assert.deepEqual([counts.state, counts.limit], ["streamed", 96 * MiB]);
    assert.equal(JSON.parse(result.stdout).logits_hash, wanted.logits_hash);
    // Input, output and status are the program's own, it has no additional child, and the group is
    // removed at its end.
    const shell = limited("sh", "-c", "cat /proc/self/cgroup; wait; exit 7"), group = /ggscope-\d+-\d+/.exec(shell.stdout)[0];
    assert.equal(shell.status, 7);
    const exists = () => run("find", ["/sys/fs/cgroup", "-name", group]).stdout !== "";
    for (let i = 0; i < 200 && exists(); i++) run("sleep", ["0.05"]);
    assert.ok(!exists(), group);
    const children = limited("python3", "-c", "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')");
    assert.equal(children.stdout, "none\n");
});

test("a wrong command line is told in one sentence", () => {
    for (const [args, words_] of [[["--budget", "x", "--", "true"], /--budget takes a size/], [["--keep", "all", "--", "true"], /--keep takes spread, first or none/], [["--predict", "-1", "--", "true"], /--predict takes a number/],
        [[], /missing argument: \[--\] PROGRAM/], [["-o", "x", "--", "true"], /-o needs --record/]]) {
        const result = run(ggscope, ["stream", ...args]);
        assert.ok(result.status !== 0);
        assert.match(result.stderr, words_);
    }
    assert.match(run(ggscope, ["stream", "--", "no-such-program"]).stderr, /^ggscope: .*no-such-program/);
    const pipe = scratch("stream-pipe"); // the program would wait for a reader when it ends
    output("mkfifo", [pipe]);
    assert.match(run(ggscope, ["stream", "--report", pipe, "--", "true"]).stderr, /^ggscope: --report needs a file, .*: .* is a pipe\n$/);
});
