// Inputs of the wrong kind wherever a file is read, and outputs that cannot be written: each
// command answers or prints one sentence in time, and replaces no file that is not its own.
//
// A sample of all combinations; with GGSCOPE_ATTACK=full every one.
import { test } from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, engine, ggscope, model, output, preloadable, run, scratch } from "../lib.mjs";
import { commands } from "./commands.mjs";

const full = process.env.GGSCOPE_ATTACK === "full";
const golden = join(dirname(fileURLToPath(import.meta.url)), "..", "golden");
const newest = readdirSync(golden).filter((name) => /^v\d+$/.test(name)).sort().at(-1);
const tiny = model("tiny");
scratch();
const good = scratch("good");
mkdirSync(good);
for (const name of ["experiment.json", "trace.ggs"]) cpSync(join(golden, newest, name), join(good, name));

let seed = 11;
const random = (below) => Math.floor(((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32) * below);

// Must end by itself, with an answer or a sentence.
function ends(where, args, options = {}) {
    const { status, signal, error, stdout, stderr } = spawnSync(ggscope, args, { encoding: "utf8", input: "", timeout: 200_000, maxBuffer: 1 << 28, ...options });
    assert.equal(error?.code ?? signal, null, where);
    assert.ok([0, 1, 2].includes(status), `${where}: exit ${status}\n${stderr}`);
    if (status === 1 && !["check", "doctor"].includes(args[0])) assert.match(stderr, /^ggscope: .+/m, `${where}: no sentence`);
    else if (status === 1) assert.match(stdout + stderr, /\S/, `${where}: no word`); // the answer is no
    return status;
}

const strange = {
    pipe: (path) => output("mkfifo", [path]),
    folder: (path) => mkdirSync(path),
    null: (path) => symlinkSync("/dev/null", path),
    endless: (path) => symlinkSync("/dev/zero", path),
    loop: (path) => symlinkSync(path, path),
    nowhere: (path) => symlinkSync("/nowhere/at/all", path),
    empty: (path) => writeFileSync(path, ""),
    garbage: (path) => writeFileSync(path, "\0\xff{[\"GGUF".repeat(500)),
    deep: (path) => writeFileSync(path, "[".repeat(100_000)),
    socket: (path) => output("python3", ["-c", "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])", path]),
};
if (run("sh", ["-c", "command -v python3"]).status !== 0) delete strange.socket;

test("experiments whose files are pipes, folders, devices, links and nonsense", (t) => {
    const directory = scratch("experiment"), out = scratch("out");
    const all = [...commands, ["check", "{dir}"], ["seal", "{dir}"], ["top", "-1", "{dir}"], ["control", "{dir}", "status"], ["sql", "{dir}", "select count(*) from ops"], ["record", "-o", "{dir}", "--", "true"]];
    let count = 0;
    for (const where of ["experiment.json", "trace.ggs", "spool", "control", "trace.ggs.tmp", "stdout.txt", ""]) {
        for (const kind of Object.keys(strange)) {
            for (const command of full ? all : [all[random(all.length)], all[random(all.length)]]) {
                rmSync(directory, { recursive: true, force: true });
                if (where !== "") cpSync(good, directory, { recursive: true });
                const path = join(directory, where).replace(/\/$/, "");
                rmSync(path, { recursive: true, force: true });
                strange[kind](path);
                const before = lstatSync(path), words = command.map((word) => word.replace("{dir}", directory).replace("{out}", out));
                rmSync(out, { recursive: true, force: true });
                ends(`${where || "the directory"} is ${kind}: ggscope ${words.join(" ")}`, words);
                count++;
                // Leftovers of a killed recording or seal are cleaned up; everything else stays.
                const left = where === "trace.ggs.tmp" || (where === "spool" && (kind === "folder" || kind === "nowhere"));
                if (!left) assert.equal(lstatSync(path, { throwIfNoEntry: false })?.mode, before.mode, `${where} is ${kind}: ${words.join(" ")}`);
            }
        }
    }
    t.diagnostic(`${count} files: no crash, nobody waits`);
});

test("models, settings, programs and folders of libraries that are none of it", () => {
    const path = scratch("thing"), out = scratch("recording");
    const all = [["gguf", path], ["gguf", "--kv", "--json", path], ["gguf", "--extents", path], ["doctor", path], ["doctor", "--engine", path], ["run", "--settings", path, "-o", out], ["run", "-m", path, "-p", "x", "-n", "1", "-o", out],
        ["record", "-o", out, "--", path], ["record", `--cold=${path}`, "-o", out, "--", "true"], ["record", "--spool", path, "-o", out, "--", "true"], ["record", "--engine", path, "-o", out, "--", "true"], ["record", "-o", path, "--", "true"],
        ["bench", "-r", "2", "-o", path, "--", "true"], ["bench", "-r", "2", "-b", path, "--", "true"], ["export", "-q", "-f", "csv", "-o", path, good], ["export", "-q", "-f", "sqlite", "-o", path, good], ["check", path], [path]];
    for (const kind of Object.keys(strange)) {
        for (const args of full ? all : [all[random(all.length)], all[random(all.length)], all[random(all.length)]]) {
            for (const one of [path, out]) rmSync(one, { recursive: true, force: true });
            strange[kind](path);
            ends(`${kind}: ggscope ${args.join(" ")}`, args);
            if (["pipe", "null", "endless", "socket"].includes(kind)) assert.equal(lstatSync(path).isFile(), false, `${kind} was replaced: ${args.join(" ")}`);
        }
    }
});

// ---- outputs ----

test("standard output that cannot be written: the reason, and exit 1, from everything that writes", () => {
    const all = [...commands.filter((command) => !command.includes("{out}") && command[0] !== "prove" && !(command[0] === "diff")), ["check", "{dir}"], ["check", "--json", "{dir}"], ["diff", "--json", "{dir}", "{dir}"],
        ["sql", "{dir}", "select * from ops"], ["sql", "--json", "{dir}", "select * from ops"], ["gguf", tiny], ["gguf", "--json", tiny], ["gguf", "--csv", tiny], ["doctor"], ["doctor", "--json"],
        ["--help"], ["--version"], ["help", "stats"], ["export", "--help"], ["export", "--tables"], ["serve", "{dir}"],
        ...["chrome", "perfetto", "fio", "ggmlviz", "buffers"].map((format) => ["export", "-q", "-f", format, "-o", "-", "{dir}"])];
    for (const command of all) {
        const words = command.map((word) => word.replace("{dir}", good));
        const { status, stderr } = run("sh", ["-c", 'exec "$0" "$@" > /dev/full', ggscope, ...words], { timeout: 60_000 });
        assert.equal(status, 1, `${words.join(" ")}\n${stderr}`);
        assert.match(stderr, /^ggscope: cannot write [^\n]*: No space left on device\n$/, words.join(" "));
    }
    for (const words of [["--help"], ["version"], ["synth", "--help"], ["run", "-m", tiny, "-p", "x", "-n", "1", "-t", "1"]]) {
        const { status, stderr } = run("sh", ["-c", 'exec "$0" "$@" > /dev/full', engine, ...words]);
        assert.equal(status, 1, words.join(" "));
        assert.equal(stderr.match(/^ggscope-engine: cannot write .*: No space left on device$/gm)?.length, 1, stderr);
    }
});

test("a recorded program whose output cannot be written goes on, and its output is said to be missing", () => {
    const directory = scratch("unwritten");
    const { status, stderr } = run("sh", ["-c", 'exec "$0" "$@" > /dev/full', ggscope, "record", "-q", "-o", directory, "--", "sh", "-c", `seq 200000; exec "$0" "$@"`, engine, "run", "-m", tiny, "-p", "x", "-n", "2", "-t", "1"]);
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^ggscope: not all of the program's output could be written: No space left on device$/m);
    assert.equal(run(ggscope, ["check", directory]).status, 0);
    assert.match(readFileSync(join(directory, "stdout.txt"), "utf8"), /^1\n[^]*\n200000\n/, "the copy is whole");
});

test("files that cannot be written: every export, report and list of results", () => {
    const junit = ["diff", "--junit", "/dev/full", "--fail-if", "bytes_read > 1 %", good, good];
    for (const words of [junit, ["report", "-q", "-o", "/dev/full", good], ["control", good, "snapshot", "-o", "/dev/full"], ["record", "-o", "/dev/full", "--", "true"]])
        assert.equal(ends(words.join(" "), words), 1);
    assert.match(run(ggscope, junit).stderr, /^ggscope: cannot write \/dev\/full: No space left on device$/m);
    assert.ok(statSync("/dev/full").isCharacterDevice());
    // An existing file is replaced as a whole, or stays.
    const file = scratch("results.xml");
    output(ggscope, ["diff", "--junit", file, "--fail-if", "bytes_read > 1 %", good, good]);
    assert.match(readFileSync(file, "utf8"), /<\/testsuites>\n$/);
    const streamed = run(ggscope, ["stream", "--report", "/dev/full", "--", engine, "run", "-m", tiny, "-p", "x", "-n", "1", "-t", "1"]);
    assert.match(streamed.stderr, /^ggscope: cannot write the report to \/dev\/full: No space left on device$/m);
});

// ---- spools ----

// Spools that were never sealed, and those of a recording in progress.
test(`${full ? 200 : 8} spools with wrong bytes: seal, check, top, control and a snapshot take them or refuse them`, (t) => {
    const whole = scratch("whole"), directory = scratch("spooled");
    output(engine, ["run", "-m", tiny, "-p", "Hello", "-n", "2", "-t", "1"], { env: { ...process.env, LD_PRELOAD: preloadable(join(build, "lib", "libggscope-capture.so")), GGSCOPE_OUTPUT: whole } });
    const segments = readdirSync(join(whole, "spool")).filter((name) => name.endsWith(".seg"));
    const count = { sealed: 0, refused: 0 };
    for (let i = 0; i < (full ? 200 : 8); i++) {
        rmSync(directory, { recursive: true, force: true });
        cpSync(whole, directory, { recursive: true });
        const name = segments[random(segments.length)], path = join(directory, "spool", name), bytes = readFileSync(path);
        // Near the beginning, where the data is: headers, lengths, counts, names.
        for (let k = 0; k < [1, 4, 64][i % 3]; k++) bytes.writeUInt32LE([0, 1, 0xffffffff, 0x7fffffff, random(2 ** 32)][random(5)], 4 * random(i % 2 === 0 ? 64 : Math.min(bytes.length, 1 << 20) / 4));
        writeFileSync(path, bytes.subarray(0, i % 7 === 6 ? random(bytes.length) : bytes.length));
        if (i % 5 === 4) rmSync(path), strange[Object.keys(strange)[random(7)]](path);
        for (const words of [["top", "-1", directory], ["control", directory, "status"], ["control", directory, "start"], ["seal", directory], ["check", directory], ["stats", directory], ["log", "--json", directory]]) {
            const status = ends(`spool ${i}, ${name}: ggscope ${words.join(" ")}`, words);
            if (words[0] === "seal") count[status === 0 ? "sealed" : "refused"]++;
        }
    }
    t.diagnostic(`${full ? 200 : 8} spools: ${count.sealed} sealed, ${count.refused} refused`);
    assert.ok(existsSync(join(whole, "spool")), "the one that all were copied from is as it was");
});
