// The tables of an export, queried with other programs.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { output } from "../lib.mjs";
import { installed } from "./install.mjs";

// A timestamp of DuckDB, or a text of csv and sqlite, as text with microseconds, which all of them
// have.
const moment = (v) => new Date(Number(v.micros / 1000n)).toISOString().replace(/Z$/, `${String(v.micros % 1000n).padStart(3, "0")}Z`);
const isMoment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/;
const cut = (v) => (typeof v === "string" && isMoment.test(v) ? `${v.slice(0, -4)}Z` : v);

// Booleans are 0 and 1, as in SQLite and csv; times are nanoseconds since 1970.
const plain = (v) => (typeof v === "bigint" || typeof v === "boolean" ? Number(v) : v !== null && typeof v === "object" ? moment(v) : v);

// Each opens an export and returns a function that answers SQL with rows of plain numbers, texts
// and nulls.
export async function duckdb(names, from) {
    const { DuckDBInstance } = await installed("@duckdb/node-api");
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    for (const name of names) await connection.run(`CREATE VIEW "${name}" AS SELECT * FROM ${from(name)}`);
    return async (sql) => (await connection.runAndReadAll(sql)).getRows().map((row) => row.map(plain).map(cut));
}
export const overParquet = (directory, names) => duckdb(names, (name) => `read_parquet('${join(directory, `${name}.parquet`)}')`);
export const overCsv = (directory, names) => duckdb(names, (name) => `read_csv('${join(directory, `${name}.csv`)}', header = true, sample_size = -1, auto_type_candidates = ['BIGINT', 'DOUBLE', 'VARCHAR'])`);
// The same through schema.sql and load-duckdb.sql, which have the types.
export async function loadedCsv(directory) {
    const { DuckDBInstance } = await installed("@duckdb/node-api");
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    await connection.run(readFileSync(join(directory, "schema.sql"), "utf8"));
    for (const line of readFileSync(join(directory, "load-duckdb.sql"), "utf8").split("\n").filter((l) => l.startsWith("COPY")))
        await connection.run(line.replace(/FROM '/, `FROM '${directory}/`));
    return async (sql) => (await connection.runAndReadAll(sql)).getRows().map((row) => row.map(plain).map(cut));
}
export const overSqlite = async (file) => async (sql) =>
    JSON.parse(output("sqlite3", ["-json", "-readonly", file, sql]) || "[]").map((row) => Object.values(row).map(cut));

// Ten queries, each with the answer of `ggscope stats --json`.
export const questions = [
    ["How many ops?", "SELECT count(*) AS a FROM ops WHERE fused_into IS NULL", (s) => [[s.ops]]],
    ["How many op runs?", "SELECT count(*) AS a FROM op_runs", (s) => [[s.op_runs]]],
    ["How many token steps?", "SELECT count(*) AS a FROM tokens", (s) => [[s.tokens]]],
    ["How many tokens were in the prompt?", "SELECT count(*) AS a FROM inputs JOIN tokens ON inputs.token = tokens.token WHERE phase = 'PROMPT'", (s) => [[s.prompt_tokens]]],
    ["How many bytes were read and written?", "SELECT sum(bytes_read) AS a, sum(bytes_written) AS b FROM ops", (s) => [[s.bytes_read, s.bytes_written]]],
    ["How many of them from disk?", "SELECT sum(bytes_disk) AS a, sum(bytes_read + bytes_written - bytes_disk) AS b FROM ops", (s) => [[s.bytes_disk, s.bytes_buffer]]],
    ["What became of the nodes?", "SELECT sum(nodes) AS a, sum(executed) AS b, sum(absorbed) AS c, sum(empty) AS d, sum(skipped) AS e, sum(opaque) AS f, sum(unseen) AS g, count(*) AS h FROM runs", (s) => [[s.nodes, s.executed, s.absorbed, s.empty, s.skipped, s.opaque, s.unseen, s.runs]]],
    ["How long did it take?", "SELECT max(end_ns) - min(begin_ns) AS a FROM runs", (s) => [[s.wall_ns]]],
    ["Which ops took longest, and what did they move?", "SELECT coalesce(h.op, o.op) AS op, count(*) - count(o.fused_into) AS a, sum(o.threads) AS b, sum(o.duration_ns) AS c, sum(o.busy_ns) AS d, sum(o.wait_ns) AS e, sum(o.bytes_read) AS f, sum(o.bytes_written) AS g FROM ops o LEFT JOIN ops h ON h.run = o.run AND h.node = o.fused_into GROUP BY coalesce(h.op, o.op) ORDER BY c DESC, 1",
        (s) => s.by_op.map((o) => [o.op, o.ops, o.op_runs, o.wall_ns, o.busy_ns, o.wait_ns, o.bytes_read, o.bytes_written])],
    ["How many buffers, and how much memory at most?",
        `SELECT (SELECT count(*) FROM buffers) AS a, max(total) AS b FROM (SELECT sum(change) OVER (ORDER BY ns, change ROWS UNBOUNDED PRECEDING) AS total FROM
         (SELECT begin_ns AS ns, bytes AS change FROM buffers WHERE file IS NULL UNION ALL SELECT end_ns, -bytes FROM buffers WHERE file IS NULL AND end_ns IS NOT NULL) AS events) AS sums`,
        (s) => [[s.buffers.count, s.buffers.peak_bytes]]],
];
