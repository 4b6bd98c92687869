// A lake of 300 recordings, queried ten times by two engines that people run on clusters: DuckDB
// and ClickHouse (chdb). Each is a separate process, whose time and memory are printed.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as lib from "../lib.mjs";
import { folder as readers } from "../export/install.mjs";

const { ggscope, model, output, run, scratch } = lib;
const here = join(dirname(fileURLToPath(import.meta.url)), "lake");
const RECORDINGS = Number(process.env.GGSCOPE_LAKE ?? 300), lake = scratch("lake");
const prompts = ["Hello", "Once upon a time", "int main(void)"], models = [model("tiny", "--layers", "2"), model("moe")];
const recordings = []; // { group, tokens, bytes_read }, as ggscope itself sees them

// `{name}` is the table of that name in all recordings; both engines have a column `experiment`
// from the folders' names.
const questions = {
    "how many recordings of which models": "SELECT replaceRegexp(model, '^.*/', '') AS file, count(*) AS n FROM {experiment} GROUP BY 1 ORDER BY 1",
    "steps by group and phase": "SELECT e.run_group AS g, t.phase AS p, count(*) AS n, sum(t.inputs) AS fed FROM {tokens} t JOIN {experiment} e ON t.experiment = e.experiment GROUP BY 1, 2 ORDER BY 1, 2",
    "bytes read for a generated token": "SELECT e.run_group AS g, sum(o.bytes_read) AS all_bytes, sum(o.bytes_disk) AS mapped FROM {ops} o JOIN {experiment} e ON o.experiment = e.experiment WHERE o.phase = 'GENERATE' GROUP BY 1 ORDER BY 1",
    "ops that read most": "SELECT op, count(*) AS n, sum(bytes_read) AS all_bytes FROM {ops} GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT 10",
    "bytes by where they lie": "SELECT source AS s, write AS w, count(*) AS n, sum(bytes) AS all_bytes FROM {accesses} GROUP BY 1, 2 ORDER BY 1, 2",
    "favourite experts of a layer": "SELECT layer AS l, expert AS x, count(*) AS n FROM {experts} WHERE layer = 1 GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT 8",
    "experts that are used at all": "SELECT layer AS l, count(DISTINCT expert) AS n FROM {experts} GROUP BY 1 ORDER BY 1",
    "largest weights": "SELECT name, max(bytes) AS b, count(*) AS n FROM {tensors} WHERE category <> 'other' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "buffers by class": "SELECT class AS c, count(*) AS n, max(bytes) AS most FROM {buffers} GROUP BY 1 ORDER BY 1",
    "coverage of graph runs": "SELECT phase AS p, count(*) AS n, sum(nodes) AS every, sum(executed + absorbed + empty + skipped + opaque + unseen + cut) AS told, sum(unseen) AS missing FROM {runs} GROUP BY 1 ORDER BY 1",
};

test(`${RECORDINGS} recordings are put into a lake`, () => {
    for (let i = 0; i < RECORDINGS; i++) {
        const directory = scratch("one"), n = 2 + (i % 3), file = models[i % 10 === 0 ? 1 : 0], group = `${i % 10 === 0 ? "moe" : "dense"}-${n}`;
        output(ggscope, ["run", "-q", "--no-faults", "--ignore-eos", "-m", file, "-p", prompts[i % 3], "-n", String(n), "-t", "1", "--group", group, "-o", directory]);
        output(ggscope, ["export", "-q", "--format", "parquet", "--lake", directory, "-o", lake]);
        const { tokens, bytes_read, ops } = JSON.parse(output(ggscope, ["stats", "--json", directory]));
        recordings.push({ group, tokens, bytes_read, ops });
        rmSync(directory, { recursive: true });
    }
    assert.equal(readdirSync(lake).length, RECORDINGS);
});

// A program that runs the queries in one engine and writes { answers, seconds }. Integers of 64
// bits are texts.
const ask = (kind) => `
import { readFileSync, writeFileSync } from "node:fs";
const { lake, questions } = JSON.parse(readFileSync(process.argv[2], "utf8")), started = process.hrtime.bigint(), answers = {};
const plain = (value) => (value === null ? null : typeof value === "boolean" ? String(value) : String(value));
${kind === "duckdb"
        ? `import { createRequire } from "node:module";
const { DuckDBInstance } = createRequire(${JSON.stringify(join(readers(), "package.json"))})("@duckdb/node-api");
const connection = await (await DuckDBInstance.create(":memory:")).connect();
for (const [name, sql] of Object.entries(questions)) {
    const text = sql.replaceAll(/\\{(\\w+)\\}/g, (_, table) => \`read_parquet('\${lake}/*/table=\${table}/*.parquet', hive_partitioning = true)\`).replaceAll("replaceRegexp", "regexp_replace");
    answers[name] = (await connection.runAndReadAll(text)).getRows().map((row) => row.map(plain));
}`
        : `import { createRequire } from "node:module";
const { query } = createRequire(${JSON.stringify(join(lib.installed(here, "lake-readers"), "package.json"))})("chdb");
for (const [name, sql] of Object.entries(questions)) {
    const text = sql.replaceAll(/\\{(\\w+)\\}/g, (_, table) => \`file('\${lake}/experiment=*/table=\${table}/*.parquet', Parquet)\`).replaceAll("replaceRegexp", "replaceRegexpOne");
    answers[name] = JSON.parse(query(\`\${text} SETTINGS use_hive_partitioning = 1\`, "JSONCompact").toString()).data.map((row) => row.map(plain));
}`}
writeFileSync(process.argv[3], JSON.stringify({ answers, seconds: Number(process.hrtime.bigint() - started) / 1e9 }));
process.exit(0);
`;

function asked(kind) {
    const program = scratch(`${kind}.mjs`), plan = scratch("plan.json"), result = scratch(`${kind}.json`);
    writeFileSync(program, ask(kind));
    writeFileSync(plan, JSON.stringify({ lake, questions }));
    const { status, stderr } = run("/usr/bin/env", ["time", "-f", "%M", process.execPath, program, plan, result]);
    assert.equal(status, 0, stderr);
    const { answers, seconds } = JSON.parse(readFileSync(result, "utf8"));
    return { answers, seconds, mib: Math.round(Number(stderr.trim().split("\n").at(-1)) / 1024) };
}

test("ten questions have the same answers in both", () => {
    const duck = asked("duckdb"), click = asked("chdb"), size = readdirSync(lake, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size, 0);
    assert.equal(Object.keys(duck.answers).length, 10);
    for (const name of Object.keys(questions)) {
        assert.ok(duck.answers[name].length > 0, name);
        assert.deepEqual(click.answers[name], duck.answers[name], name);
    }
    console.log(`# lake: ${RECORDINGS} recordings, ${(size / 2 ** 20).toFixed(1)} MiB; DuckDB ${duck.seconds.toFixed(2)} s, ${duck.mib} MiB; chdb ${click.seconds.toFixed(2)} s, ${click.mib} MiB`);
    // The answers are those of ggscope.
    const sum = (list, key) => list.reduce((all, item) => all + item[key], 0);
    assert.equal(sum(duck.answers["how many recordings of which models"].map(([, n]) => ({ n: Number(n) })), "n"), RECORDINGS);
    assert.equal(sum(duck.answers["steps by group and phase"].map((row) => ({ n: Number(row[2]) })), "n"), sum(recordings, "tokens"));
    for (const [, , every, told, missing] of duck.answers["coverage of graph runs"]) assert.deepEqual([every, missing], [told, "0"]);
    assert.ok(sum(duck.answers["ops that read most"].map((row) => ({ n: Number(row[2]) })), "n") <= sum(recordings, "bytes_read"));
});
