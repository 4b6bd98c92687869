// Writes the seeds of fuzz-gguf into a folder: node tests/fuzz/make-gguf-seeds.mjs
// tests/fuzz/seeds/gguf
// Small files that reach each part of the reader once, so that the fuzzer starts there.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gguf } from "../gguf-builder.mjs";

const folder = process.argv[2];
mkdirSync(folder, { recursive: true });

const everyType = [["u8", 1], ["i8", -1], ["u16", 2], ["i16", -2], ["u32", 3], ["i32", -3], ["f32", 0.5], ["bool", true],
    ["string", "text"], ["u64", 4], ["i64", -4], ["f64", 0.25]];

const seeds = {
    "empty-model": gguf(),
    "values": gguf({ kv: everyType.map(([type, v]) => [`one.${type}`, type, v]) }),
    "arrays": gguf({ kv: everyType.map(([type, v]) => [`many.${type}`, [type], [v, v, v]]) }),
    "version-2": gguf({ version: 2, kv: [["general.architecture", "string", "llama"], ["llama.block_count", "u32", 1]],
        tensors: [{ name: "token_embd.weight", type: 0, shape: [8, 2], bytes: 64 }] }),
    "alignment-8": gguf({ alignment: 8, kv: [["general.alignment", "u32", 8]],
        tensors: [{ name: "blk.0.attn_q.weight", type: 1, shape: [5], bytes: 10 },
            { name: "blk.0.attn_q.bias", type: 0, shape: [1], bytes: 4 }] }),
    "experts": gguf({ tensors: [{ name: "blk.1.ffn_down_exps.weight", type: 8, shape: [32, 2, 3], bytes: 204 },
        { name: "blk.1.ffn_down_exps.bias", type: 0, shape: [2, 3], bytes: 24 },
        { name: "blk.1.ffn_up_exps.scale", type: 0, shape: [3], bytes: 12 },
        { name: "blk.2.ffn_gate.7.weight", type: 2, shape: [32, 1], bytes: 18 }] }),
    "unknown-type": gguf({ tensors: [{ name: "a", type: 99, shape: [3, 3], bytes: 32 }, { name: "b", type: 12, shape: [256], bytes: 144 }] }),
    "split": gguf({ kv: [["split.no", "u16", 0], ["split.count", "u16", 2], ["split.tensors.count", "i32", 1]],
        tensors: [{ name: "output.weight", type: 30, shape: [4, 4, 1, 1], bytes: 32 }], trailing: 7 }),
    "empty-tensor": gguf({ tensors: [{ name: "nothing", type: 0, shape: [0, 5], bytes: 0 }, { name: "x", type: 0, shape: [], bytes: 4 }] }),
    "unordered": gguf({ tensors: [{ name: "second", type: 0, shape: [8], bytes: 32, offset: 32 }, { name: "first", type: 0, shape: [8], bytes: 32, offset: 0 }] }),
};
for (const [name, bytes] of Object.entries(seeds)) writeFileSync(join(folder, name), bytes);
