// ggscope relayout: the same model with its tensors in order of use, as the engine itself sees it, and what it refuses.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, readFileSync, readSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { gguf } from "../gguf-builder.mjs";

scratch(); // made here, outside any test, it lives until all of them have ended
let number = 0;
const fresh = () => scratch(`new-${++number}.gguf`);
const json = (...args) => JSON.parse(output(ggscope, args));

function recorded(path, ...options) {
    const directory = scratch(`recording-${++number}`);
    output(ggscope, ["run", "-q", "-m", path, "-p", "Hello there", "-n", "2", "-t", "1", "--ignore-eos", "-o", directory, ...options]);
    return directory;
}
const relayout = (...args) => run(ggscope, ["relayout", ...args]);
const hash = (path) => JSON.parse(output(engine, ["run", "-m", path, "-p", "Once upon a time", "-n", "4", "-t", "1", "--ignore-eos", "--json", "--logits-hash"])).logits_hash;
const tensors = (path) => json("gguf", "--json", path).regions.filter((region) => region.kind === "tensor");

function bytes(path, { offset_start, offset_end }) {
    const fd = openSync(path), buffer = Buffer.alloc(offset_end - offset_start);
    assert.equal(readSync(fd, buffer, 0, buffer.length, offset_start), buffer.length);
    closeSync(fd);
    return buffer;
}

// Names in the order in which ops of the last token read more than rows of them, by the tables of the recording.
function used(directory) {
    const { rows } = json("sql", "--json", directory, `SELECT t.name FROM accesses a JOIN ops o ON o.run = a.run AND o.node = a.node JOIN tensors t ON t.tensor = a.tensor
        WHERE a.token = 1 AND a.file IS NOT NULL AND NOT a.write AND o.op <> 'GET_ROWS' ORDER BY a.run, a.node, a.slot`);
    return [...new Set(rows.map(([name]) => name))];
}

for (const [what, path, options] of [
    ["a dense model", model("tiny", "--layers", "3"), []],
    ["one without repacked weights", model("tiny", "--layers", "3"), ["--no-repack"]],
    ["a mixture of experts", model("tiny", "--layers", "3", "--experts", "4", "--experts-used", "2"), []],
    ["one whose output is its embeddings", model("tiny", "--arch", "gemma3", "--layers", "3"), []],
]) {
    test(`${what}: tensors in order of use, the same bytes, metadata and logits`, () => {
        const directory = recorded(path, ...options), copy = fresh();
        const result = relayout(path, "--from", directory, "-o", copy);
        assert.deepEqual([result.status, result.stderr], [0, ""]);
        assert.match(result.stdout, /^\S+new-\d+\.gguf: [\d.]+ MiB, \d+ tensors in order of use(, and \d+ that no op read)?\n(its disk reads .* ahead; with less than 1 MiB nothing is gained, and a token may take longer than before\n)?$/);
        const { stdout } = run("sh", ["-c", 'cat "/sys/class/bdi/$(stat -c %Hd:%Ld "$1")/read_ahead_kb"', "sh", copy]); // nothing where the device does not tell
        assert.equal(/its disk reads/.test(result.stdout), stdout !== "" && Number(stdout) < 1024);

        const before = tensors(path), after = tensors(copy), names = after.map(({ name }) => name), order = used(directory);
        assert.ok(order.length > 20 && before.length >= order.length);
        assert.deepEqual(names.filter((name) => order.includes(name)), order);
        assert.notDeepEqual(names, before.map(({ name }) => name));
        assert.deepEqual(names.toSorted(), before.map(({ name }) => name).toSorted());
        for (const tensor of after) {
            assert.equal(tensor.offset_start % 4096, 0, tensor.name);
            assert.ok(bytes(copy, tensor).equals(bytes(path, before.find(({ name }) => name === tensor.name))), tensor.name);
        }
        const metadata = (file) => json("gguf", "--kv", "--json", file).key_values[0].entries.map(({ offset, ...entry }) => entry);
        assert.deepEqual(metadata(copy), [...metadata(path), { key: "general.alignment", type: "u32", array: false, count: 1, value: 4096 }]);
        assert.equal(hash(copy), hash(path));
    });
}

test("written again from a recording of itself it is the same file", () => {
    const path = model("tiny", "--layers", "3"), first = fresh(), second = fresh();
    assert.equal(relayout(path, "-q", "--from", recorded(path), "-o", first).status, 0);
    const result = relayout(first, "-q", "--from", recorded(first), "-o", second);
    assert.deepEqual([result.status, result.stdout, result.stderr], [0, "", ""]);
    assert.ok(readFileSync(first).equals(readFileSync(second)));
});

test("what cannot be is refused in one sentence, and nothing is left behind", (t) => {
    const path = model("tiny", "--layers", "3"), directory = recorded(path), place = scratch("place");
    mkdirSync(place);
    const target = join(place, "new.gguf"), says = (text, ...args) => {
        const result = relayout(...args);
        assert.deepEqual([result.status, result.stdout], [1, ""], args.join(" "));
        assert.match(result.stderr, text);
        assert.equal(result.stderr.split("\n").length, 2, "one sentence");
        assert.deepEqual(readdirSync(place), []);
    };
    says(/^ggscope: \S*absent.gguf: cannot open: No such file/, scratch("absent.gguf"), "--from", directory, "-o", target);
    writeFileSync(scratch("text.gguf"), "This is no model, but it is long enough to be one.");
    says(/^ggscope: \S*text.gguf: not a GGUF file/, scratch("text.gguf"), "--from", directory, "-o", target);
    says(/^ggscope: .*no-recording/, path, "--from", scratch("no-recording"), "-o", target);
    says(/^ggscope: this is not a recording of \S*: no op in it reads a model of \d+ bytes/, model("tiny", "--layers", "2"), "--from", directory, "-o", target);
    says(/^ggscope: cannot create \S*: No such file/, path, "--from", directory, "-o", join(place, "absent/new.gguf"));
    says(/^ggscope: \S* is one of 3 files of a model/, splits()[0], "--from", directory, "-o", target);
    writeFileSync(scratch("unknown.gguf"), gguf({ tensors: [{ name: "strange.weight", type: 200, shape: [8, 4], bytes: 128 }] }));
    says(/^ggscope: \S*: how large strange.weight is cannot be told: its type 200 is not known/, scratch("unknown.gguf"), "--from", directory, "-o", target);

    // As large as the model that was recorded, but another.
    const other = readFileSync(path), at = other.indexOf("blk.1.attn_q.weight");
    other.write("blk.1.attn_Q.weight", at);
    writeFileSync(scratch("other.gguf"), other);
    says(/^ggscope: this is not a recording of \S*: it has blk.1.attn_q.weight at offset \d+/, scratch("other.gguf"), "--from", directory, "-o", target);

    output("mkfifo", [scratch("pipe")]);
    for (const output of ["/dev/stdout", "/dev/null", "-", place, scratch("pipe")])
        for (const options of [[], ["--force"]]) says(/^ggscope: \S+ is not a regular file: give the new model a name of its own/, path, "--from", directory, "-o", output, ...options);

    const script = `mount -t tmpfs -o size=64k none '${place}' && '${ggscope}' relayout -q '${path}' --from '${directory}' -o '${target}'; echo "status $?"; ls -A '${place}'`;
    if (run("unshare", ["-rm", "mount", "-t", "tmpfs", "none", place]).status !== 0) return t.diagnostic("a full disk was not tried: a file system cannot be mounted here");
    const full = run("unshare", ["-rm", "sh", "-c", script]);
    assert.equal(full.stdout, "status 1\n");
    assert.match(full.stderr, /^ggscope: cannot write \S*, which needs [\d.]+ MiB: No space left on device\n$/);
});

// Stands still when the new file is there and the first byte is about to be written. Without /proc that file has a temporary name.
test("a signal that ends it leaves nothing behind, and ends it as ever", async (t) => {
    const path = model("tiny", "--layers", "3"), directory = recorded(path), place = scratch("interrupted");
    mkdirSync(place);
    writeFileSync(scratch("hold.c"), `
        #include <errno.h>
        #include <signal.h>
        int fstatfs(int fd, void * facts) { raise(SIGSTOP); errno = ENOSYS; return -1; }
        int fstatfs64(int fd, void * facts) { return fstatfs(fd, facts); }`);
    output("gcc", ["-shared", "-fPIC", "-o", scratch("hold.so"), scratch("hold.c")]);
    const hidden = run("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/proc"]).status === 0;
    if (!hidden) t.diagnostic("a file with a temporary name was not tried: /proc cannot be hidden here");
    for (const [signal, without] of [["SIGINT", hidden], ["SIGTERM", false], ["SIGHUP", hidden]]) {
        const hide = without ? ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /proc; exec "$@"', "sh"] : [];
        const [program, ...words] = [...hide, "env", `LD_PRELOAD=${scratch("hold.so")}`, ggscope, "relayout", path, "--from", directory, "-o", join(place, "new.gguf")];
        const child = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] }), said = [];
        for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => said.push(text));
        const closed = once(child, "close");
        while (!/^State:\s+T/m.test(readFileSync(`/proc/${child.pid}/status`, "utf8"))) await new Promise((resolve) => setTimeout(resolve, 5));
        assert.equal(readdirSync(place).length, without ? 1 : 0);
        child.kill(signal);
        child.kill("SIGCONT");
        assert.deepEqual([...await closed, said.join("")], [null, signal, ""]);
        assert.deepEqual(readdirSync(place), []);
    }
});

function splits() {
    const folder = scratch("split");
    if (!existsSync(folder)) {
        mkdirSync(folder);
        output(engine, ["synth", "tiny", "--layers", "3", "--split", "3", "-o", join(folder, "split.gguf")]);
    }
    return readdirSync(folder).sort().map((name) => join(folder, name));
}

test("a file that is there stays, unless --force is given; the model itself can be replaced", () => {
    const path = scratch("own.gguf");
    copyFileSync(model("tiny", "--layers", "3"), path);
    const directory = recorded(path), size = statSync(path).size, before = hash(path);
    const refused = relayout(path, "--from", directory, "-o", path);
    assert.deepEqual([refused.status, refused.stderr], [1, `ggscope: ${path} is there already; give another name, or --force to replace it\n`]);
    assert.equal(statSync(path).size, size);
    assert.equal(relayout(path, "-q", "--force", "--from", directory, "-o", path).status, 0);
    assert.ok(statSync(path).size > size);
    assert.equal(hash(path), before);
    assert.deepEqual(readdirSync(dirname(path)).filter((name) => name.includes(".tmp-")), []);
});

test("a command line that lacks something says what", () => {
    for (const [args, text] of [
        [[], /too few arguments|MODEL/i],
        [["model.gguf", "-o", "new.gguf"], /name a recording of the model with --from DIR/],
        [["model.gguf", "--from", "recording"], /name the new file with -o FILE/],
    ]) {
        const result = relayout(...args);
        assert.equal(result.status, 2, args.join(" "));
        assert.match(result.stderr, text);
    }
});
