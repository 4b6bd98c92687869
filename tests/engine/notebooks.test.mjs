// ggscope.py, and the recipes of docs/notebooks.md.
import { test } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build, ggscope, installed, model, output, root, run, scratch } from "../lib.mjs";
import { generate, rows } from "./traces.mjs";

const { directory } = generate(model("tiny"), "-n", "5", "-t", "2");
// Debian's packages belong to Debian's Python.
const interpreter = "/usr/bin/python3";
const here = scratch("notebook");
mkdirSync(here, { recursive: true });
const env = { ...process.env, PATH: `${dirname(ggscope)}:${process.env.PATH}`, PYTHONPATH: join(root, "python"), PYTHONDONTWRITEBYTECODE: "1", GGSCOPE_LIBRARY: join(build, "lib", "libggscope.so.0"), MPLBACKEND: "Agg", MPLCONFIGDIR: here };
const python = (script) => run(interpreter, ["-c", script], { env, cwd: here });
const has = (...names) => python(`import ${names.join(", ")}`).status === 0;

test("ggscope.py reads what the trace has, without a package", () => {
    const result = run(interpreter, ["-S", "-c", `
import ggscope, json
with ggscope.open(${JSON.stringify(directory)}) as r:
    t = r.table("op_runs")
    part = r.table("op_runs", columns=["node"], first=7, rows=5)
    try: r.table("nothing")
    except ggscope.Error as error: wrong = str(error)
    print(json.dumps({"tables": r.tables(), "columns": {k: list(c) for k, c in t.items()}, "part": list(part["node"]), "ops": r.table("ops")["name"].texts()[:3],
        "id": r.experiment["experiment_id"], "wrong": wrong, "same": bytes(memoryview(t["run"].data)[:1]) == t["run"][0].to_bytes(8, "little"), "warning": r.warning}))
try: ggscope.open("/nowhere")
except ggscope.Error as error: print(error)`], { env });
    assert.equal(result.status, 0, result.stderr);
    const [answer, refused] = result.stdout.trimEnd().split("\n"), got = JSON.parse(answer), expected = rows(directory, "op_runs").op_runs;
    assert.equal(got.tables.op_runs, expected.length);
    for (const key of ["run", "node", "thread", "begin_ns", "duration_ns", "wait_ns"]) assert.deepEqual(got.columns[key], expected.map((row) => row[key]), key);
    assert.deepEqual(got.part, got.columns.node.slice(7, 12));
    assert.equal(got.ops[0], "NONE");
    assert.equal(got.id, JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).experiment_id);
    assert.match(got.wrong, /^there is no table nothing; there are /);
    assert.ok(got.same && got.warning === null);
    assert.match(refused, /nowhere/);
});

test("ggscope.py warns of a recording that is cut off", () => {
    const cut = join(here, "cut.ggs"), whole = readFileSync(join(directory, "trace.ggs"));
    writeFileSync(cut, whole.subarray(0, whole.length / 2));
    const open = `import ggscope; r = ggscope.open(${JSON.stringify(cut)}); print(r.warning)`;
    const result = python(open);
    assert.deepEqual([result.status, /cut off/.test(result.stdout)], [0, true]);
    assert.match(result.stderr, /Incomplete: .*cut\.ggs .*cut off/);
    assert.notEqual(python(open.replace(";", "; import warnings; warnings.simplefilter('error', ggscope.Incomplete);")).status, 0);
});

test("NumPy shares the memory of a column", (t) => {
    if (!has("numpy")) return t.skip("python3-numpy is not installed");
    const result = python(`
import ggscope, numpy as np
r = ggscope.open(${JSON.stringify(directory)}); c = r.table("op_runs")["duration_ns"]; a = np.asarray(c)
assert a.dtype == np.uint64 and len(a) == len(c) and a.sum() == sum(c)
assert a.__array_interface__["data"][0] == c.data.buffer_info()[0], "no copy"
assert np.asarray(r.table("op_runs")["begin_ns"]).dtype == np.int64`);
    assert.equal(result.status, 0, result.stderr);
});

for (const [, title, recipe] of readFileSync(join(root, "docs/notebooks.md"), "utf8").matchAll(/^## (.*)\n[^]*?```python\n([^]*?)```/gm))
    test(`recipe: ${title}`, (t) => {
        const needs = [...recipe.matchAll(/\b(numpy|pandas)\b/g)].map((m) => m[1]).concat(/plot/.test(recipe) ? ["matplotlib"] : []);
        if (!has(...needs)) return t.skip(`python3-${needs.join(", python3-")} is not installed`);
        const result = python(`DIR = ${JSON.stringify(directory)}\n${recipe}`);
        assert.equal(result.status, 0, result.stderr);
        for (const [, picture] of recipe.matchAll(/savefig\("([^"]+)"\)/g)) assert.ok(statSync(join(here, picture)).size > 1000, picture);
        if (/print/.test(recipe)) assert.match(result.stdout, /\d/);
    });

test("recipe: DuckDB on Parquet", () => {
    const [, recipe] = /^## DuckDB on Parquet\n[^]*?```js\n([^]*?)```/m.exec(readFileSync(join(root, "docs/notebooks.md"), "utf8"));
    output(ggscope, ["export", directory, "--format", "parquet", "-q", "-o", join(here, "tables")]);
    symlinkSync(join(installed(join(root, "tests/export"), "export-readers"), "node_modules"), join(here, "node_modules"));
    writeFileSync(join(here, "recipe.mjs"), recipe);
    const said = output(process.execPath, ["recipe.mjs"], { cwd: here });
    const expected = JSON.parse(output(ggscope, ["sql", directory, "SELECT layer, sum(duration_ns) / 1e6 FROM ops WHERE layer IS NOT NULL GROUP BY layer", "--json"])).rows;
    const bars = [...readFileSync(join(here, "layers.svg"), "utf8").matchAll(/<title>layer (\d+): ([\d.]+) ms<\/title>/g)].map(([, layer, ms]) => [+layer, +ms]);
    assert.deepEqual(bars, expected.map(([layer, ms]) => [layer, +ms.toFixed(2)]));
    assert.equal(said.trimEnd().split("\n").length, expected.length + 4);
});
