// Completion, typed into real shells.
import { test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { generate } from "./traces.mjs";

const recording = generate(model("tiny"), "-n", "2", "-t", "1").directory;
const here = scratch("here"), home = scratch("home");
mkdirSync(join(here, "experiments"), { recursive: true });
mkdirSync(home, { recursive: true });
cpSync(recording, join(here, "experiments", "quick-brown"), { recursive: true });
const env = { HOME: home, PATH: `${dirname(ggscope)}:${process.env.PATH}`, TERM: "xterm", LC_ALL: "C.UTF-8", PS1: "> " };
const complete = (...words) => output(ggscope, ["__complete", ...words], { cwd: here, env }).trimEnd().split("\n").filter(Boolean).map((line) => line.split("\t")[0]);

test("verbs, options, recordings, values and names are offered", () => {
    const verbs = [...output(ggscope, ["--help"]).matchAll(/^  ([a-z]+) +\S/gm)].map((m) => m[1]).filter((name) => name !== "ggscope");
    for (const verb of verbs) {
        assert.ok(complete(verb.slice(0, 3)).includes(verb), verb);
        const options = [...output(ggscope, [verb, "--help"]).matchAll(/^ +(?:-., )? *--([a-z-]+)/gm)].map((m) => `--${m[1]}`);
        assert.ok(options.includes("--help"), verb);
        assert.deepEqual(complete(verb, "--").sort(), options.sort(), verb);
    }
    assert.deepEqual(complete("stats", "exp"), ["experiments/quick-brown"]);
    assert.deepEqual(complete("log", "--op", "MUL_"), ["MUL_MAT"]);
    assert.deepEqual(complete("log", "experiments/quick-brown", "--tensor", "blk.3.attn_q"), ["blk.3.attn_q.weight"]);
    assert.deepEqual(complete("export", "--format", "pa"), ["parquet"]);
    assert.deepEqual(complete("stats", "--by", "lay"), ["layer"]);
    assert.deepEqual(complete("stats", "--by", "op,seq"), ["op,sequence"]);
    assert.deepEqual(complete("log", "--sort", "d"), ["duration"]);
    assert.deepEqual(complete("log", "--source", ""), ["disk", "buffer", "vram"]);
    assert.deepEqual(complete("paging", "--policy", "lru,o"), ["lru,opt"]);
    assert.deepEqual(complete("export", "--table", "op_r"), ["op_runs"]);
    assert.deepEqual(complete("run", "--flash-attn", "a"), ["auto"]);
    assert.deepEqual(complete("stats", "--layer", ""), []);
    assert.deepEqual(complete("help", "expe"), ["experts"]);
    assert.deepEqual(complete("record", "-o", ""), [":files"]);
    assert.deepEqual(complete("record", "--", "ls", "-"), [":files"]);
});

const shells = {
    bash: [["bash", "--norc", "--noprofile", "-i"], `. '${root}/completions/ggscope.bash'\r`],
    zsh: [["zsh", "-f", "-i"], `fpath=('${root}/completions' $fpath); autoload -U compinit; compinit -u -D\r`],
    fish: [["fish", "--no-config", "-i"], `source '${root}/completions/ggscope.fish'\r`],
};
for (const [name, [command, load]] of Object.entries(shells))
    test(`${name} completes what is typed`, (t) => {
        if (run("sh", ["-c", `command -v ${name}`]).status !== 0) return t.skip(`${name} is not installed`);
        const keys = [load, "ggscope buf\t-h\r", "ggscope check exp\t--no-pag\t\r", "exit\r"].join("\x1e");
        const { stdout } = run("python3", [join(root, "tests/engine/on-terminal.py"), "50", "120", keys, ...command], { env, cwd: here });
        const text = stdout.replaceAll(/\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()>=][AB0]?/g, "");
        assert.match(text, /Usage: ggscope buffers /, text);
        assert.match(text, /^ok +/m, text); // check ran on the recording
    });
