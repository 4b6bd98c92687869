// Where the time of a streamed token goes, against the same tokens in memory.
//     node tests/bench/stream-account.mjs IN-MEMORY STREAMED
// IN-MEMORY is a recording of `ggscope record`, STREAMED one of `ggscope stream --record`, of the
// same command.
//
// Prints milliseconds per generated token, by kind of op: an op lasts from its first thread's begin
// to its last thread's end, and includes what the library does at its begin. "waits" are for reads.
// "more" is what is left of the difference: slower computing, and the library's own work. The
// columns add up to the token.
import { ggscope, output } from "../lib.mjs";

const ask = (recording, sql) => JSON.parse(output(ggscope, ["sql", "--json", recording, sql], { maxBuffer: 1 << 30 })).rows;
const has = (recording, table) => ask(recording, `select count(*) from sqlite_master where name = '${table}'`)[0][0] > 0;

// Milliseconds per token: { kind: [ops, duration, wait] }, the time between ops and outside of
// graph
// runs, the token.
function account(recording, streamed) {
    const wait = streamed ? "(select sum(s.wait_ns) from streamed s where s.run = o.run and s.node = o.node)" : "0";
    const rows = ask(recording, `select o.run, o.op, o.name, o.begin_ns, o.duration_ns, ${wait} from ops o where o.phase = 'GENERATE' and o.fused_into is null and o.duration_ns is not null order by o.begin_ns`);
    const runs = ask(recording, "select run, begin_ns, end_ns from runs where phase = 'GENERATE' order by begin_ns");
    const n = runs.length - 1, kinds = new Map(), last = runs.at(-1)[0];
    let inside = 0, spent = 0, waited = 0;
    for (const [run, op, name, , duration, wait] of rows) {
        if (run === last) continue; // what follows it is not a token
        const kind = `${op} ${name.replace(/-\d+( .*)?$/, "").replace(/^(result_output|cache_[kv]).*/, "$1")}`.slice(0, 40), sum = kinds.get(kind) ?? [0, 0, 0];
        kinds.set(kind, [sum[0] + 1 / n, sum[1] + duration / 1e6 / n, sum[2] + (wait ?? 0) / 1e6 / n]);
        spent += duration / 1e6 / n;
        waited += (wait ?? 0) / 1e6 / n;
    }
    for (const [run, begin, end] of runs) inside += run === last ? 0 : (end - begin) / 1e6 / n;
    const token = (runs.at(-1)[1] - runs[0][1]) / 1e6 / n;
    return { kinds, waited, token, outside: token - inside, between: inside - spent };
}

const [memory, stream] = process.argv.slice(2);
if (stream === undefined || !has(stream, "streamed")) {
    console.log("usage: stream-account.mjs IN-MEMORY STREAMED (a recording of ggscope stream --record)");
    process.exit(2);
}
const a = account(memory, false), b = account(stream, true);
const cell = (value) => value.toFixed(2).padStart(9);
const row = (what, from, to, waits) => console.log(`  ${what.padEnd(42)} ${cell(from)} ${cell(to)} ${cell(waits)} ${cell(to - from - waits)}`);
console.log(`  ${"ms per generated token".padEnd(42)} in memory  streamed     waits      more`);
const kinds = [...new Set([...a.kinds.keys(), ...b.kinds.keys()])].map((kind) => [kind, a.kinds.get(kind)?.[1] ?? 0, b.kinds.get(kind)?.[1] ?? 0, b.kinds.get(kind)?.[2] ?? 0]);
kinds.sort((x, y) => y[2] - y[1] - (x[2] - x[1]));
const rest = ["other ops", 0, 0, 0];
for (const kind of kinds) {
    if (Math.max(kind[1], kind[2]) > 0.005 * b.token) row(...kind);
    else for (let i = 1; i < 4; i++) rest[i] += kind[i];
}
row(...rest);
row("between ops", a.between, b.between, 0);
row("outside of graph runs", a.outside, b.outside, 0);
row("the token", a.token, b.token, b.waited);

const mean = (sql) => ask(stream, sql)[0][0];
const tokens = mean("select count(*) from runs where phase = 'GENERATE'");
const of = "from streamed s join runs r on r.run = s.run where r.phase = 'GENERATE'";
const sum = (column) => (mean(`select sum(s.${column}) ${of}`) ?? 0) / tokens;
console.log(`  experts per token: ${["hits", "misses", "predicted", "predicted_used"].map((c) => `${(mean(`select sum(${c}) from (select s.run, max(s.${c}) as ${c} ${of} and s.place = 'slots' group by s.run, (select layer from ops o where o.run = s.run and o.node = s.node))`) / tokens).toFixed(1)} ${c}`).join(", ")}`);
console.log(`  MiB per token: ${(sum("bytes_read") / 2 ** 20).toFixed(0)} read for ops, ${(sum("bytes_early") / 2 ** 20).toFixed(0)} early`);
const lengths = ask(stream, `select s.wait_ns ${of} and s.place = 'slots' and s.wait_ns > 0 order by 1`).map(([ns]) => ns / 1e6);
const quantile = (share) => lengths[Math.floor(share * (lengths.length - 1))] ?? 0;
console.log(`  waits for experts per token: ${(lengths.length / tokens).toFixed(1)}, ms each: median ${quantile(0.5).toFixed(2)}, 0.9 ${quantile(0.9).toFixed(2)}, most ${quantile(1).toFixed(2)}`);
