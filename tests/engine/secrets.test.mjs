// Secrets of a command line are in no file of a recording, and in no export, report or answer.
import { test } from "node:test";
import assert from "node:assert/strict";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { browse } from "../server.mjs";
import { fresh, library, rows } from "./traces.mjs";

const words = ["run", "-m", model("tiny", "--layers", "2"), "-p", "Hello", "-n", "1", "-t", "1"];
const secrets = ["TopSecret1", "TopSecret2", "TopSecret3", "TopSecret4", "TopSecret5"];
const named = "https://me:TopSecret5@host/"; // the name of the engine
const script = `exec -a ${named} "$@" # --api-key TopSecret2 https://me:TopSecret3@host/`;
const command = ["env", "MY_API_KEY=TopSecret1", "bash", "-c", script, "bash", engine, ...words];

const hasSecret = (text) => secrets.filter((secret) => text.includes(secret));
function filesOf(path) {
    if (lstatSync(path).isDirectory()) return readdirSync(path).flatMap((name) => filesOf(join(path, name)));
    return lstatSync(path).isFile() ? [path] : [];
}

// All strings of the trace, from every table.
const strings = (directory) => JSON.stringify(rows(directory, "strings", "processes", "experiment"));

async function holdsNone(directory) {
    for (const path of filesOf(directory).filter((path) => !/std(out|err)\.txt$/.test(path))) assert.deepEqual(hasSecret(readFileSync(path, "latin1")), [], path);
    assert.deepEqual(hasSecret(strings(directory)), []);
    for (const verb of [[directory], ["stats", directory], ["stats", "--json", directory], ["check", directory], ["sql", "--csv", directory, "select * from experiment, processes"]]) {
        const { stdout, stderr } = run(ggscope, verb);
        assert.deepEqual(hasSecret(stdout + stderr), [], verb.join(" "));
    }
    for (const format of ["json", "csv", "sqlite", "chrome", "perfetto"]) {
        const out = fresh();
        output(ggscope, ["export", "-q", "-f", format, directory, "-o", out]);
        for (const path of filesOf(out)) assert.deepEqual(hasSecret(readFileSync(path, "latin1")), [], format);
    }
    const page = scratch("page.html");
    output(ggscope, ["report", "-q", directory, "-o", page]);
    assert.deepEqual(hasSecret(readFileSync(page, "latin1")), []);
    await browse([directory], async (get) => {
        for (const path of ["/api/library", "/api/experiments", "/api/x/0/summary", "/api/x/0/stats"]) assert.deepEqual(hasSecret(JSON.stringify(await get(path))), [], path);
    });
}

test("ggscope record: the values are hidden, and it is said once", async () => {
    const directory = fresh(), recorded = run(ggscope, ["record", "-o", directory, "--", ...command], { env: { ...process.env, LLAMA_API_KEY: "TopSecret4" } });
    assert.equal(recorded.status, 0, recorded.stderr);
    const said = recorded.stderr.match(/^ggscope: .*secret.*$/gm);
    assert.deepEqual(said, ["ggscope: 4 parts of the command line look like a secret: the recording has (hidden) instead"]);
    assert.deepEqual(hasSecret(recorded.stderr), []);
    const { command: kept, environment } = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8"));
    assert.deepEqual(kept, ["env", "MY_API_KEY=(hidden)", "bash", "-c", 'exec -a https://me:(hidden)@host/ "$@" # --api-key (hidden) https://me:(hidden)@host/', "bash", engine, ...words]);
    assert.equal(environment.LLAMA_API_KEY, "(hidden)");
    await holdsNone(directory);
});

test("preloaded by hand: the journal has them not", async () => {
    const directory = fresh(), exec = ["-c", `exec -a ${named} "$@"`, "bash", engine, ...words], plain = run("bash", exec);
    const recorded = run("bash", exec, { env: { ...process.env, LD_PRELOAD: library, GGSCOPE_OUTPUT: directory } });
    assert.deepEqual([recorded.status, recorded.stdout], [0, plain.stdout]);
    for (const path of filesOf(directory)) assert.deepEqual(hasSecret(readFileSync(path, "latin1")), [], path);
    output(ggscope, ["seal", directory]);
    assert.ok(JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).command.includes("https://me:(hidden)@host/"));
    await holdsNone(directory);
});

test("a program without secrets: nothing is said, and its command is kept as it is", () => {
    const directory = fresh(), plain = ["run", "-m", model("tiny", "--layers", "2"), "-p", "a --token 5", "-n", "1", "-t", "1"];
    const recorded = run(ggscope, ["record", "-o", directory, "--", engine, ...plain]);
    assert.doesNotMatch(recorded.stderr, /secret/);
    assert.deepEqual(JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).command, [engine, ...plain]);
});
