// Habits of users: -h, help, a directory without a verb, no directory, typos, llama.cpp's options,
// a pager, a config file.
import { test } from "node:test";
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { ggscope, model, output, root, run, scratch } from "../lib.mjs";
import { generate } from "./traces.mjs";

const tiny = model("tiny");
const recording = generate(tiny, "-n", "3", "-t", "1").directory;
const verbs = [...output(ggscope, ["--help"]).matchAll(/^  ([a-z]+) +\S/gm)].map((m) => m[1]).filter((name) => name !== "ggscope");
const home = scratch("home");
mkdirSync(home, { recursive: true });
const environment = { ...process.env, HOME: home, XDG_CONFIG_HOME: "", NO_COLOR: "", COLUMNS: "", LC_ALL: "C.UTF-8", TERM: "xterm", PYTHONCOERCECLOCALE: "0" };

delete environment.PAGER, delete environment.GGSCOPE_PAGER, delete environment.LESS, delete environment.COLUMNS;

// Runs on a terminal of 24 rows and 100 columns: { text, status }. `keys` are typed once it is
// quiet.
function onTerminal(args, env = {}, keys = "") {
    const { stdout } = run("python3", [join(root, "tests/engine/on-terminal.py"), "24", "100", keys, ggscope, ...args], { env: { ...environment, ...env } });
    const [, text, status] = /^([^]*)\nexit (-?\d+)\n$/.exec(stdout);
    return { text, status: +status };
}

test("-h, --help and help VERB say the same, for every verb", () => {
    assert.ok(verbs.length >= 18);
    for (const verb of verbs) {
        const help = output(ggscope, [verb, "--help"]);
        assert.match(help, new RegExp(`^Usage: ggscope ${verb} `));
        assert.equal(output(ggscope, [verb, "-h"]), help, verb);
        assert.equal(output(ggscope, ["help", verb]), help, verb);
    }
    assert.equal(output(ggscope, ["-h"]), output(ggscope, ["--help"]));
    assert.equal(output(ggscope, ["help"]), output(ggscope, ["--help"]));
    assert.equal(output(ggscope, ["log", recording, "-h"]), output(ggscope, ["log", "--help"]));
    assert.match(run(ggscope, ["help", "stast"]).stderr, /did you mean 'stats'\?/);
});

test("version says what a bug report needs", () => {
    const text = output(ggscope, ["version"]);
    assert.equal(output(ggscope, ["--version"]), text);
    assert.match(text, /^ggscope \d+\.\d+\.\d+( \([0-9a-f]+(-dirty)?\))?\nbuilt +\S.*\ntrace +format \d+\nlibraries zstd .*sqlite .*\ncapture +\/.*\nengine +\/.*\n$/);
});

test("a directory without a verb is summed up, a model is shown", () => {
    const text = output(ggscope, [recording]);
    assert.match(text, /^tokens +3 steps: prompt of /m);
    assert.match(text, /^lost +nothing$/m);
    assert.equal(output(ggscope, [join(recording, "trace.ggs")]).split("\n")[0], text.split("\n")[0]);
    assert.equal(output(ggscope, [tiny]), output(ggscope, ["gguf", tiny]));
    for (const path of ["gone.gguf", "sub/gone"]) {
        const gone = run(ggscope, [path], { cwd: home });
        assert.deepEqual([gone.status, gone.stderr], [1, `ggscope: there is no ${join(home, path)}\n`]);
    }
    assert.equal(run(ggscope, ["--verison"]).stderr, "ggscope: there is no option '--verison' (did you mean '--version'?); ggscope --help lists them\n");
    const empty = scratch("nothing-here");
    mkdirSync(empty);
    const refused = run(ggscope, [empty]);
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /^ggscope: [^\n]+\n$/);
});

test("the newest recording is one with data, and a failed one leaves nothing that counts", () => {
    const here = scratch("here"), experiments = join(here, "experiments");
    mkdirSync(experiments, { recursive: true });
    cpSync(recording, join(experiments, "good"), { recursive: true });
    utimesSync(join(experiments, "good"), 1e9, 1e9);
    assert.notEqual(run(ggscope, ["record", "true"], { cwd: here }).status, 0); // no ggml in it
    assert.notEqual(run(ggscope, ["run", "-m", join(root, "README.md"), "-p", "x"], { cwd: here }).status, 0);
    assert.notEqual(run(ggscope, ["run", "-m", tiny, "-p", "x", "-n", "2", "--device", "Nowhere7"], { cwd: here }).status, 0);
    mkdirSync(join(experiments, "half"));
    writeFileSync(join(experiments, "half", "experiment.json"), '{"state": "recording"}');
    const result = run(ggscope, ["stats"], { cwd: here });
    assert.equal(result.status, 0, result.stderr);
    assert.equal(result.stderr, "ggscope: experiments/good, the newest recording here\n");
    assert.equal(run(ggscope, ["stats", "-q"], { cwd: here }).stderr, "");
    rmSync(join(experiments, "good"), { recursive: true });
    assert.match(run(ggscope, ["stats"], { cwd: here }).stderr, /^ggscope: there is no recording with data in \.\/experiments; .*\n$/);
});

test("options that are mistyped get the nearest name", () => {
    for (const [args, meant] of [[["log", "--tokne", "3"], "--token"], [["stats", "--jsn"], "--json"], [["serve", "--prot=80"], "--port"], [["gguf", "--ful"], null], [["export", "--fromat", "csv"], "--format"]]) {
        const result = run(ggscope, args);
        if (meant === null) continue; // an abbreviation
        assert.equal(result.status, 2, args.join(" "));
        assert.match(result.stderr, new RegExp(`^ggscope ${args[0]}: there is no option ${args[1].split("=")[0]} \\(did you mean ${meant}\\?\\); [^\\n]+\\n$`));
    }
    assert.match(run(ggscope, ["log", "--qqqqqqqq"]).stderr, /^ggscope log: there is no option --qqqqqqqq; ggscope log --help lists them\n$/);
    // A value that looks like an option is a value, and the program's options are its own.
    assert.match(run(ggscope, ["log", recording, "--op", "--tokne"]).stderr, /^(?!.*there is no option)/);
    assert.doesNotMatch(run(ggscope, ["doctor", "true", "--tokne"]).stderr, /there is no option/);
});

test("llama.cpp's spellings work in run, or are named with what to type instead", () => {
    const directory = scratch("spelled");
    const result = run(ggscope, ["run", "-m", tiny, "-p", "-c", "-n", "2", "-t", "1", "-c", "64", "-b", "8", "-ub", "4", "-s", "7", "--temperature", "0.5", "-ngl", "3", "-no-cnv", "--no-warmup", "-st", "-q", "-o", directory], { env: environment });
    assert.equal(result.status, 0, result.stderr);
    assert.match(result.stderr, /^ggscope-engine: -ngl changes nothing: this engine has no device but the CPU/m);
    const { command } = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));
    assert.deepEqual(command.slice(2), ["-m", tiny, "-p", "-c", "-n", "2", "-t", "1", "--ctx", "64", "--batch", "8", "--ubatch", "4", "--seed", "7", "--temp", "0.5", "--gpu-layers", "3"]);
    for (const [option, words] of [["--mlock", /record -- llama-cli/], ["--top-k", /--temp and --seed/], ["-cnv", /no conversation/], ["-hf", /name a file with -m/], ["-e", /taken as it is/]]) {
        const refused = run(ggscope, ["run", "-m", tiny, "-p", "x", option]);
        assert.equal(refused.status, 2);
        assert.match(refused.stderr, new RegExp(`^ggscope run: ${option}: [^\\n]+\\n$`));
        assert.match(refused.stderr, words);
    }
});

test("paths in errors are shown from the root on", () => {
    const here = scratch("paths");
    mkdirSync(join(here, "sub"), { recursive: true });
    for (const args of [["stats", "./gone"], ["stats", "gone"], ["log", "sub/gone"], ["gguf", "gone.gguf"], ["run", "-m", "gone.gguf", "-p", "x"]]) {
        const path = args.find((word) => word.includes("gone")), result = run(ggscope, args, { cwd: here });
        assert.equal(result.status, 1, args.join(" "));
        assert.ok(result.stderr.includes(join(here, path)), `${args.join(" ")}: ${result.stderr}`);
    }
    // A name that occurs in other words of the sentence.
    mkdirSync(join(here, "a"));
    assert.equal(run(ggscope, ["control", "a", "start"], { cwd: here }).stderr, `ggscope: nothing is being recorded into ${join(here, "a")}\n`);
});

// ---- on a terminal ----

test("long output goes through a pager on a terminal only, and leaving it early is no error", () => {
    const direct = onTerminal(["--no-pager", "log", recording]);
    assert.equal(direct.status, 0);
    const left = onTerminal(["log", recording], {}, "q"); // less shows the first screen
    assert.equal(left.status, 0);
    assert.ok(left.text.split("\n").length < 60, `${left.text.length} bytes`);
    assert.ok(direct.text.split("\n").length > 500);
    const whole = onTerminal(["log", recording], { GGSCOPE_PAGER: "sed s/^/+/" });
    assert.equal(whole.text.trimEnd(), direct.text.trimEnd().replace(/^/gm, "+"));
    assert.equal(onTerminal(["log", recording], { PAGER: "sed s/^/-/", GGSCOPE_PAGER: "sed s/^/+/" }).text, whole.text);
    assert.equal(onTerminal(["log", recording], { PAGER: "sed s/^/+/" }).text, whole.text);
    assert.equal(onTerminal(["log", "--no-pager", recording], { PAGER: "false" }).text, direct.text);
    assert.equal(onTerminal(["log", recording], { PAGER: "cat" }).text, direct.text);
    assert.equal(onTerminal(["log", recording], { TERM: "dumb", PAGER: "false" }).status, 0);
    assert.match(output(ggscope, ["log", recording], { env: { ...environment, PAGER: "false" } }), /ffn_/, "no pager in a pipe");
    const short = onTerminal(["check", recording]); // output that fits on the screen ends by itself
    assert.equal(short.status, 0);
    assert.match(short.text, /ok/);
    assert.equal(onTerminal(["check", scratch("nothing-at-all")]).status, 1);
    assert.equal(onTerminal(["stats", "--wrogn"]).status, 2);
});

test("NO_COLOR, COLUMNS and LANG=C are honoured", () => {
    const text = (args, env) => onTerminal(["--no-pager", ...args], env).text;
    const escapes = /\x1b\[/;
    assert.match(text(["log", recording, "--limit", "20"]), escapes);
    assert.doesNotMatch(text(["log", recording, "--limit", "20"], { NO_COLOR: "1" }), escapes);
    assert.match(onTerminal(["log", recording, "--limit", "5"]).text, escapes, "less shows colours");
    const width = (t) => Math.max(...t.replaceAll(/\x1b\[[0-9;]*m/g, "").split("\n").map((line) => [...line].length));
    assert.ok(width(text(["log", recording], { NO_COLOR: "1", COLUMNS: "82" })) <= 82);
    const wide = width(text(["log", recording], { NO_COLOR: "1" }));
    assert.ok(wide > 82 && wide <= 100, `${wide}`);
    for (const variable of ["LC_ALL", "LANG"]) {
        const env = { NO_COLOR: "1", LC_ALL: "", LANG: "", [variable]: "C" };
        for (const args of [["stats", recording], ["buffers", recording], ["graph", recording], ["gguf", tiny]]) assert.doesNotMatch(text(args, env), /[^\x00-\x7f]/, args[0]);
        assert.match(text(["stats", recording], env), /#/, "bars");
    }
    assert.match(text(["stats", recording], { NO_COLOR: "1", LC_ALL: "", LANG: "en_US.UTF-8" }), /█/);
    assert.match(output(ggscope, ["stats", recording], { env: { ...environment, LC_ALL: "C" } }), /█/, "what is piped is whole");
});

// ---- config ----

test("a config file has defaults: settings and command line win", () => {
    const config = scratch("config"), env = { ...environment, XDG_CONFIG_HOME: config };
    const here = scratch("config-here");
    mkdirSync(join(config, "ggscope"), { recursive: true });
    mkdirSync(here);
    const write = (content) => writeFileSync(join(config, "ggscope", "config"), typeof content === "string" ? content : JSON.stringify(content));
    write({ experiment: { model_path: tiny, prompt: "Hello world", tokens_to_generate: 2, threads: 1 }, paths: { output_dir: "kept" } });
    const first = run(ggscope, ["run"], { cwd: here, env });
    assert.equal(first.status, 0, first.stderr);
    const folder = join(config, "ggscope", "kept"), [name] = readdirSync(folder);
    assert.deepEqual(readdirSync(here), []);
    const command = JSON.parse(readFileSync(join(folder, name, "experiment.json"), "utf8")).command;
    assert.deepEqual(command.slice(2), ["-m", tiny, "-p", "Hello world", "-n", "2", "-t", "1"]);
    assert.match(run(ggscope, ["stats"], { cwd: here, env }).stderr, new RegExp(`${name}, the newest recording here`));
    const settings = scratch("settings.json"), directory = scratch("won");
    writeFileSync(settings, JSON.stringify({ experiment: { tokens_to_generate: 3 } }));
    assert.equal(run(ggscope, ["run", "--settings", settings, "-p", "-n", "-q", "-o", directory], { cwd: here, env }).status, 0);
    assert.deepEqual(JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).command.slice(4, 8), ["-p", "-n", "-n", "3"]);
    write('{"experiment": {"tokens": 2}}');
    const bad = run(ggscope, ["run", "-m", tiny, "-p", "x"], { cwd: here, env });
    assert.equal(bad.status, 1);
    assert.match(bad.stderr, /config: unknown key "experiment.tokens"; the nearest known one is /);
    const missing = run(ggscope, ["run"], { cwd: here, env: environment });
    assert.equal(missing.status, 2);
    assert.match(missing.stderr, /^ggscope run: missing option: give a model with -m FILE, or as experiment.model_path in ~\/.config\/ggscope\/config\n$/);
});

// ---- a busy machine ----

test("stats says where the machine was busy", async () => {
    const spin = Array.from({ length: (await import("node:os")).cpus().length }, () => spawn("nice", ["-n", "19", process.execPath, "-e", "for (;;);"])); // other tests have priority
    try {
        const { directory } = generate(tiny, "-n", "900", "-t", "1", "--ignore-eos"); // shorter runs have no such line
        assert.match(output(ggscope, ["stats", directory]), /^busy +(other programs used \d+ % of the CPUs meanwhile|the hypervisor gave \d+ % of the CPUs to other machines \(steal\), other\n +programs used \d+ %):(?: times say little|\n +a thread that was waited for had no CPU because of them in \S+ \S+ of \S+ \S+ \([\d.]+ %\))$/m);
        const { machine } = JSON.parse(output(ggscope, ["stats", "--json", directory]));
        assert.ok(machine.others_cpu_share > 0.15 && machine.others_cpu_share <= 1, `${machine.others_cpu_share}`);
        assert.ok(machine.steal_share >= 0 && machine.steal_share < 1, "apart from what programs use");
    } finally {
        for (const child of spin) child.kill("SIGKILL");
    }
});
