// Makes a long recording from a short one: repeats its last tokens, with advanced numbers and
// times.
//     node tests/bench/grow-spool.mjs SHORT-SPOOL LONG-SPOOL OP-RUNS
// The result equals what the capture library would write if the program continued that way.
import { readdirSync, readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";

const [from, to, wanted] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const HEADER = 64, UNIT = 16;
const [OP, INDEX, , AT] = [1, 2, 3, 4];
const unitBytes = (data, at) => data[at] === INDEX ? 2 * UNIT + Math.ceil(data.readUInt32LE(at + 12) / UNIT) * UNIT : UNIT;
const segments = (prefix) => readdirSync(from).filter((name) => name.startsWith(prefix)).sort().map((name) => readFileSync(join(from, name)));

// ---- the journal, as a list of records ----
const journal = segments("journal-").flatMap((data) => {
    const records = [];
    for (let at = HEADER; at + 16 <= data.length && data.readUInt32LE(at) !== 0; at += data.readUInt32LE(at + 4))
        records.push(data.subarray(at, at + data.readUInt32LE(at + 4)));
    return records;
});
const type = (record) => record.readUInt32LE(0);
const u64 = (record, at) => record.readBigUInt64LE(16 + at);
const [RUN, RUN_THREADS, RUN_END, DECODE, DECODE_END, TRANSFER, SCHEDULE, SCHEDULE_END] = [12, 13, 14, 15, 16, 19, 23, 24];
const decodes = journal.map((record, i) => [record, i]).filter(([record]) => type(record) === DECODE).map(([, i]) => i);
const first = decodes[2], last = journal.findLastIndex((record) => type(record) === DECODE_END);
const block = journal.slice(first, last + 1);
const runs = block.filter((record) => type(record) === RUN), ends = block.filter((record) => type(record) === RUN_END);
const firstRun = u64(runs[0], 0), moved = {
    run: BigInt(runs.length),
    decode: BigInt(block.filter((record) => type(record) === DECODE).length),
    schedule: BigInt(block.filter((record) => type(record) === SCHEDULE).length),
    ticks: block.at(-1).readBigUInt64LE(8) - block[0].readBigUInt64LE(8) + 3000n,
    ns: u64(ends.at(-1), 16) - u64(runs[0], 40) + 40000n,
};
const fields = { // type -> [offset in the body, kind of its increment]
    [RUN]: [[0, "run"], [16, "schedule"], [24, "decode"], [32, "ticks"], [40, "ns"]],
    [RUN_THREADS]: [[0, "run"]],
    [RUN_END]: [[0, "run"], [8, "ticks"], [16, "ns"]],
    [DECODE]: [[0, "decode"]],
    [DECODE_END]: [[0, "decode"]],
    [TRANSFER]: [[48, "ticks"], [56, "ticks"]],
    [SCHEDULE]: [[0, "schedule"], [16, "decode"]],
    [SCHEDULE_END]: [[0, "schedule"]],
};
function shifted(record, k) {
    const copy = Buffer.from(record), add = (at, by) => copy.writeBigUInt64LE(copy.readBigUInt64LE(at) + by * BigInt(k), at);
    add(8, moved.ticks);
    for (const [at, by] of fields[type(record)] ?? []) add(16 + at, moved[by]);
    return copy;
}

// ---- the lanes ----
function split(data) { // units of the repeated runs, and those before; a thread unit goes with what follows it
    let at = HEADER, begin = -1;
    while (at + UNIT <= data.length && data[at] !== 0) {
        if (begin < 0 && data[at] === AT && data.readUInt32LE(at + 4) >= firstRun) begin = at;
        at += unitBytes(data, at);
    }
    return begin < 0 ? [data.subarray(HEADER, at), null] : [data.subarray(HEADER, begin), data.subarray(begin, at)];
}
const lanes = new Map();
for (const data of segments("lane-")) {
    const lane = data.readUInt32LE(12), [before, repeated] = split(data), old = lanes.get(lane);
    lanes.set(lane, { header: old?.header ?? data.subarray(0, HEADER), before: Buffer.concat([old?.before ?? Buffer.alloc(0), before]),
        repeated: Buffer.concat([old?.repeated ?? Buffer.alloc(0), repeated ?? Buffer.alloc(0)]) });
}
const countOps = (data) => { let n = 0; for (let at = 0; at < data.length;) { n += data[at] === OP; at += unitBytes(data, at); } return n; };
const perCopy = [...lanes.values()].reduce((sum, lane) => sum + countOps(lane.repeated), 0);
const copies = Math.max(1, Math.ceil(wanted / perCopy));

function segment(header, pieces, sequence = 0) {
    const size = HEADER + pieces.reduce((sum, piece) => sum + piece.length, 0) + 64, data = Buffer.alloc(Math.ceil(size / 4096) * 4096);
    header.copy(data);
    data.writeUInt32LE(sequence, 16);
    data.writeBigUInt64LE(BigInt(data.length), 24);
    let at = HEADER;
    for (const piece of pieces) at += piece.copy(data, at);
    return data;
}
mkdirSync(to, { recursive: true });
const told = [...journal.slice(0, first)];
for (let k = 0; k < copies; k++) for (const record of block) told.push(shifted(record, k));
for (const record of journal.slice(last + 1)) told.push(shifted(record, copies));
writeFileSync(join(to, "journal-0000.seg"), segment(segments("journal-")[0], told));
for (const [number, lane] of lanes) {
    const pieces = [lane.before];
    let sequence = 0;
    for (let k = 0; k < copies; k++) {
        const copy = Buffer.from(lane.repeated);
        for (let at = 0; at < copy.length;) {
            const unit = copy[at];
            if (unit !== OP) copy.writeUInt32LE(copy.readUInt32LE(at + 4) + Number(moved.run) * k, at + 4);
            if (unit === AT) copy.writeBigUInt64LE(copy.readBigUInt64LE(at + 8) + moved.ticks * BigInt(k), at + 8);
            at += unitBytes(copy, at);
        }
        pieces.push(copy);
        if (pieces.reduce((sum, piece) => sum + piece.length, 0) > 1 << 20 || k === copies - 1) { // segments of the usual size
            writeFileSync(join(to, `lane-${String(number).padStart(3, "0")}-${String(sequence).padStart(4, "0")}.seg`), segment(lane.header, pieces, sequence++));
            pieces.length = 0;
        }
    }
}
console.log(`${copies * perCopy} op runs and what was before`);
