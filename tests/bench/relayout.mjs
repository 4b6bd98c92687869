// Is a model larger than memory faster if its file has the tensors in order of use? The same tensors in several orders, stock and streamed, in turns, from a cold page cache.
//     node tests/bench/relayout.mjs [--tokens N] [--rounds N] [--shares 25,50,75] [--readahead KIB] [--disk 500M] [--kinds stock,streamed] [--from RECORDING] [--layouts own,names,layers,use] [--seconds N] [--raw FILE] [MODEL...]
//
// Layouts: own     as the file is
//          names   by name, as older converters wrote it: blk.0, blk.1, blk.10, ..., within a layer attn_k, attn_norm, ..., ffn_down, ...
//          layers  by layer, then by name, as llama-quantize writes it
//          use     as ggscope relayout writes it, from a recording that is made here if none is given
// All are written anew, the first one twice: its two files against each other (A/A) are this machine's scatter, places on the disk included. Every tensor is compared with the
// model's, and so are logits.
// Prints medians of ms per token, and ratios (each layout / the last one; above 1 the last is faster) per token, for the prompt and of the whole command, with 95 % intervals.
// --seconds: no round is begun after so many. --raw: adds a line of JSON for each run to this file.
import { appendFileSync, closeSync, fdatasyncSync, ftruncateSync, mkdirSync, openSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { build, ggscope, model, output } from "../lib.mjs";
import { command, drop, file, measure, readahead, reason, setDisk, setReadahead } from "./limited.mjs";
import { median, random, ratioOfMedians } from "./statistics.mjs";

const MiB = 1 << 20;
let tokens = 8, rounds = 5, shares = [25, 50, 75], disk = "0", ahead = 0, kinds = ["stock", "streamed"], from, layouts = ["own", "names", "layers", "use"], seconds = Infinity, raw;
const models = [];
for (const args = process.argv.slice(2); args.length > 0;) {
    const word = args.shift();
    if (word === "--tokens") tokens = Number(args.shift());
    else if (word === "--rounds") rounds = Number(args.shift());
    else if (word === "--shares") shares = args.shift().split(",").map(Number);
    else if (word === "--readahead") ahead = Number(args.shift());
    else if (word === "--disk") disk = args.shift();
    else if (word === "--kinds") kinds = args.shift().split(",");
    else if (word === "--from") from = args.shift();
    else if (word === "--layouts") layouts = args.shift().split(",");
    else if (word === "--seconds") seconds = Number(args.shift());
    else if (word === "--raw") raw = args.shift();
    else models.push(word);
}
const began = Date.now();
if (reason) {
    console.log(`tensors in order of use: skipped: ${reason}`);
    process.exit(0);
}
if (models.length === 0) models.push(model("tinyllama-1.1b"), model("moe", "--embd", "512", "--ff", "1024"));

// ---- files ----

function read(fd, offset, bytes, into = Buffer.alloc(bytes)) {
    for (let done = 0; done < bytes;) {
        const n = readSync(fd, into, done, bytes - done, offset + done);
        if (n === 0) throw new Error(`the model ends at ${offset + done}`);
        done += n;
    }
    return into;
}
const write = (fd, bytes, offset) => { for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done, bytes.length - done, offset + done); };
const u64 = (value) => { const bytes = Buffer.alloc(8); bytes.writeBigUInt64LE(BigInt(value)); return bytes; };
const padded = (at, alignment) => Math.ceil(at / alignment) * alignment;

// A model: its header and key-values as bytes; of each tensor its name, its place, and its info as bytes without the offset.
function opened(path) {
    const answer = JSON.parse(output(ggscope, ["gguf", "--json", path]));
    if (answer.files.length !== 1) throw new Error(`${path} is one of several files of a model: this is for models of one file`);
    const fd = openSync(path), place = new Map(answer.regions.filter((part) => part.kind === "tensor").map((part) => [part.name, part]));
    const region = (kind) => answer.regions.find((part) => part.kind === kind), part = (kind) => read(fd, region(kind).offset_start, region(kind).offset_end - region(kind).offset_start);
    const infos = part("tensor infos"), tensors = [];
    for (let at = 0; at < infos.length;) {
        const begin = at, length = Number(infos.readBigUInt64LE(at)), name = infos.toString("utf8", at + 8, at + 8 + length);
        at += 8 + length;
        at += 4 + 8 * infos.readUInt32LE(at) + 4; // dimensions and type
        tensors.push({ name, info: infos.subarray(begin, at), offset: place.get(name).offset_start, bytes: place.get(name).offset_end - place.get(name).offset_start });
        at += 8;
    }
    return { path, fd, header: part("header"), keyValues: part("key-values"), alignment: answer.files[0].alignment, tensors };
}

// Writes the tensors in this order, one after the other, with the alignment that the model has.
function written({ fd, header, keyValues, alignment }, tensors, path) {
    const infos = [], buffer = Buffer.alloc(4 * MiB);
    let end = 0;
    for (const tensor of tensors) {
        infos.push(tensor.info, u64(end));
        end = padded(end + tensor.bytes, alignment);
    }
    const metadata = Buffer.concat([header, keyValues, ...infos]), to = openSync(path, "w");
    try {
        write(to, metadata, 0);
        let offset = padded(metadata.length, alignment);
        for (const tensor of tensors) {
            for (let done = 0; done < tensor.bytes;) {
                const bytes = Math.min(buffer.length, tensor.bytes - done);
                write(to, read(fd, tensor.offset + done, bytes, buffer).subarray(0, bytes), offset + done);
                done += bytes;
            }
            offset = padded(offset + tensor.bytes, alignment);
        }
        ftruncateSync(to, offset); // padding behind the last tensor too
    } finally { closeSync(to); }
}

// Has the new file every tensor of the model, with the same bytes, and nothing else?
function same(source, path) {
    const other = opened(path), places = new Map(other.tensors.map((tensor) => [tensor.name, tensor])), buffers = [Buffer.alloc(4 * MiB), Buffer.alloc(4 * MiB)];
    if (places.size !== source.tensors.length) throw new Error(`${path} has ${places.size} tensors, the model ${source.tensors.length}`);
    for (const tensor of source.tensors) {
        const copy = places.get(tensor.name);
        if (!copy?.info.equals(tensor.info) || copy.bytes !== tensor.bytes) throw new Error(`${path}: ${tensor.name} is another tensor`);
        for (let done = 0; done < tensor.bytes; done += buffers[0].length) {
            const bytes = Math.min(buffers[0].length, tensor.bytes - done);
            const [a, b] = [[source.fd, tensor.offset], [other.fd, copy.offset]].map(([fd, offset], i) => read(fd, offset + done, bytes, buffers[i]).subarray(0, bytes));
            if (!a.equals(b)) throw new Error(`${path}: ${tensor.name} has other bytes`);
        }
    }
    closeSync(other.fd);
}

// ---- orders ----

const byName = (a, b) => (a.name < b.name ? -1 : 1), layerOf = ({ name }) => Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? -1);

const orders = {
    own: (tensors) => tensors,
    names: (tensors) => tensors.toSorted(byName),
    layers: (tensors) => tensors.toSorted((a, b) => layerOf(a) - layerOf(b) || byName(a, b)),
};

// The model in a layout, as a new file. Returns its path.
function arranged(source, layout, recording, path) {
    if (layout === "use") output(ggscope, ["relayout", "-q", source.path, "--from", recording, "-o", path]);
    else if (layout in orders) written(source, orders[layout](source.tensors), path);
    else throw new Error(`${layout}: no such layout`);
    const fd = openSync(path, "r+");
    fdatasyncSync(fd); // else it is not dropped from the page cache
    closeSync(fd);
    same(source, path);
    return path;
}

// ---- measuring ----

const folder = join(build, `relayout-${process.pid}`);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
mkdirSync(folder, { recursive: true });
const usual = readahead(models[0]);
if (ahead > 0) setReadahead(models[0], ahead);
setDisk(models[0], Number.parseFloat(disk) * { M: 1e6, G: 1e9 }[disk.at(-1)] || 0);
const next = random(1), shuffled = (list) => list.map((one) => [next(), one]).sort(([a], [b]) => a - b).map(([, one]) => one);
const last = layouts.at(-1), columns = [...layouts.slice(0, -1).map((layout) => `${layout} / ${last}`), "A/A"];
console.log(`tensors in order of use: ${tokens} tokens, medians of interleaved rounds, readahead ${ahead || usual} KiB, disk ${disk === "0" ? "free" : `held to ${disk}B/s`}`);

for (const path of models) {
    const source = opened(path), size = statSync(path).size, recording = from ?? file("recording");
    const { hash } = await measure(path, tokens, 0, false);
    if (from === undefined) output(ggscope, ["record", "-q", "--force", "-o", recording, "--", ...command(path, 2)]);
    const copies = [...layouts, layouts[0]].map((layout, i) => arranged(source, layout, recording, join(folder, `${i}.gguf`)));
    console.log(`${path.split("/").at(-1)}, ${(size / MiB).toFixed(0)} MiB: every tensor of ${copies.length} files is the model's`);
    for (const share of shares) {
        const found = Object.fromEntries(kinds.map((kind) => [kind, copies.map(() => [])])), turns = kinds.flatMap((kind) => copies.map((copy, i) => [kind, copy, i]));
        let round = 0;
        for (; round < rounds && (Date.now() - began) / 1000 < seconds; round++) {
            for (const [kind, copy, layout] of shuffled(turns)) { // else each would always follow the same one
                drop(...copies);
                const result = await measure(copy, tokens, Math.round((size * share) / 100), kind === "streamed");
                if (result.failed) throw new Error(`${share} % ${kind}, ${layouts[layout] ?? layouts[0]}: ${result.failed}`);
                if (result.hash !== hash) throw new Error(`${share} % ${kind}, ${layouts[layout] ?? layouts[0]}: OTHER LOGITS`);
                found[kind][layout].push(result);
                if (raw) appendFileSync(raw, `${JSON.stringify({ model: path.split("/").at(-1), readahead: ahead || usual, disk, share, kind, round, layout: layouts[layout] ?? "control", ms: result.ms, prompt: result.prompt, wall: result.wall, read: result.read })}\n`);
            }
        }
        if (round < 2) continue;
        console.log(`${share} %, ${round} rounds`);
        for (const kind of kinds) {
            const of = (layout, field) => found[kind][layout].map((run) => run[field]), list = (field, per = 1) => layouts.map((layout, i) => `${layout} ${(median(of(i, field)) / per).toFixed(0)}`).join(", ");
            console.log(`  ${kind.padEnd(8)}  ms per token: ${list("ms")}; prompt: ${list("prompt")}; whole: ${list("wall")}; read MiB/token: ${list("read", MiB)}`);
            for (const [field, what] of [["ms", "token"], ["prompt", "prompt"], ["wall", "whole"]]) {
                const against = (a, b) => { const { ratio, low, high } = ratioOfMedians(of(a, field), of(b, field)); return `${ratio.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`; };
                console.log(`      ${what.padEnd(6)}  ${columns.map((column, i) => `${column}  ${i < layouts.length - 1 ? against(i, layouts.length - 1) : against(0, layouts.length)}`).join("    ")}`);
            }
        }
    }
    closeSync(source.fd);
}
