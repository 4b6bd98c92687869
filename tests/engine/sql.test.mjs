// ggscope sql: the trace's tables give the answers of an exported database.
import { test } from "node:test";
import assert from "node:assert/strict";
import { ggscope, model, output, run, scratch } from "../lib.mjs";
import { generate } from "./traces.mjs";

const moe = generate(model("moe"), "-n", "4", "-t", "2", "--ubatch", "4").directory;
const database = scratch("moe.sqlite");
output(ggscope, ["export", moe, "--format", "sqlite", "-o", database, "-q"]);
const exported = (sql) => output("sqlite3", ["-json", database, sql]);
const rows = (text) => (text.trim() === "" ? [] : JSON.parse(text));
const asked = (sql) => JSON.parse(output(ggscope, ["sql", moe, sql, "--json"]));

function same(sql) {
    const { columns, rows: got } = asked(sql), wanted = rows(exported(sql));
    assert.deepEqual(got.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]]))), wanted, sql);
    return wanted.length;
}

const tables = rows(exported("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")).map((row) => row.name);

test("every table has the rows of an export, in the same order", () => {
    assert.ok(tables.length >= 20, tables.join(" "));
    let total = 0;
    for (const table of tables) total += same(`SELECT * FROM ${table}${table === "accesses" || table === "op_runs" ? " LIMIT 9000" : ""}`);
    assert.ok(total > 10_000, `${total} rows`);
    for (const table of tables) same(`SELECT count(*) AS n FROM ${table}`);
});

test("views, filters, groups and joins give the same", () => {
    for (const view of ["op_totals", "layer_totals", "token_totals", "weight_reads"]) assert.ok(same(`SELECT * FROM ${view} ORDER BY 1`) > 0, view);
    for (const where of ["token = 2", "token >= 1 AND token < 3", "token > 1", "token <= 1", "token BETWEEN 1 AND 2", "token = 99", "token IS NULL", "token = '2'", "token IN (0, 3)", "run = 2", "run = 2 AND node = 40", "run = 2 AND token = 1", "op = 'MUL_MAT' AND layer = 3"])
        for (const table of ["ops", "op_runs", "accesses"].filter((name) => !/op =/.test(where) || name === "ops"))
            if (!/token/.test(where) || asked(`SELECT * FROM ${table} LIMIT 1`).columns.includes("token")) same(`SELECT * FROM ${table} WHERE ${where}`);
    for (const sql of [
        "SELECT layer, sum(bytes) AS bytes FROM ops JOIN accesses USING (run, node) WHERE NOT write GROUP BY layer ORDER BY layer",
        "SELECT t.name, count(*) AS n FROM accesses a JOIN tensors t USING (tensor) GROUP BY t.name ORDER BY n DESC, t.name LIMIT 20",
        "SELECT o.op, r.token, count(*) AS n FROM ops o JOIN runs r USING (run) GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT a.op, b.op AS other, count(*) AS n FROM ops a JOIN ops b ON b.run = a.run AND b.node = a.node + 1 GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
        "SELECT count(*) AS n FROM tokens t LEFT JOIN runs r ON r.token = t.token",
        "SELECT max(duration_ns) AS most FROM ops WHERE (run, node) IN (SELECT run, node FROM accesses WHERE bytes > 100000)",
        "WITH x AS (SELECT run, min(begin_ns) AS first FROM ops GROUP BY run) SELECT o.run, o.node FROM ops o JOIN x ON x.run = o.run AND x.first = o.begin_ns ORDER BY 1, 2",
    ])
        assert.ok(same(sql) > 0, sql);
});

test("what would change a table is refused in one sentence; temporary tables may be made, changed and dropped", () => {
    for (const sql of [
        "DROP TABLE ops", "DROP VIEW op_totals", "INSERT INTO tokens (token) VALUES (1)", "UPDATE ops SET layer = 1", "DELETE FROM ops", "ALTER TABLE ops RENAME TO x",
        "CREATE TABLE x (a)", "CREATE VIEW x AS SELECT 1", "CREATE INDEX i ON ops (op)", "SELECT 1; DROP TABLE ops",
    ]) {
        const refused = run(ggscope, ["sql", moe, sql, "--csv"]);
        assert.equal(refused.status, 1, sql);
        // SQLite's own sentence if it refuses by itself.
        assert.match(refused.stderr, /^ggscope: (the tables of a recording are read-only; CREATE TEMP TABLE makes one for the statements that follow|table ops may not be modified|virtual tables may not be (altered|indexed))\n$/, sql);
    }
    const own = "CREATE TEMP TABLE x AS SELECT run FROM runs; INSERT INTO x VALUES (-1); UPDATE x SET run = -2 WHERE run = -1; DELETE FROM x WHERE run > 0; CREATE TEMP VIEW y AS SELECT * FROM x; CREATE INDEX temp.i ON x (run); SELECT * FROM y; DROP TABLE x";
    assert.equal(output(ggscope, ["sql", moe, own, "--csv"]), "run\r\n-2\r\n");
});

test("box, csv, several statements, standard input and mistakes", () => {
    const box = output(ggscope, ["sql", moe, "SELECT op, count(*) AS n, NULL AS none FROM ops GROUP BY op ORDER BY op LIMIT 1"]);
    assert.match(box, /^┌─+┬─+┬─+┐\n│ op +│ n +│ none │\n├─+┼─+┼─+┤\n│ ADD +│ +\d+ │ +│\n└─+┴─+┴─+┘\n$/);
    assert.equal(output(ggscope, ["sql", "--csv", moe, "SELECT 1 AS a, 'x,\"y\"' AS b"]), 'a,b\r\n1,"x,""y"""\r\n');
    const two = run(ggscope, ["sql", moe, "-", "--csv"], { input: "CREATE TEMP TABLE x AS SELECT * FROM runs; -- kept\nSELECT count(*) > 0 AS some FROM x;" });
    assert.equal(two.stdout, "some\r\n1\r\n");
    const wrong = run(ggscope, ["sql", moe, "SELECT wrong FROM ops"]);
    assert.equal(wrong.status, 1);
    assert.equal(wrong.stderr, "ggscope: no such column: wrong\n");
    assert.equal(wrong.stdout, "");
    assert.equal(run(ggscope, ["sql"]).status, 2);
    assert.match(run(ggscope, ["sql", scratch("nowhere"), "SELECT 1"]).stderr, /^ggscope: [^\n]*nowhere[^\n]*\n$/);
    // A reader that closes the pipe ends the scan.
    assert.equal(run("sh", ["-c", `"${ggscope}" sql "${moe}" 'SELECT * FROM accesses' --csv | head -n 3`]).stdout.trimEnd().split("\r\n").length, 3);
});
