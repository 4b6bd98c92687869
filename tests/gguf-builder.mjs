// Builds valid and invalid GGUF files for tests and as seeds of the fuzzer.
//     gguf({ kv: [["general.name", "string", "x"], ["a.b", "u32", 7], ["list", ["i32"], [1, 2]]],
//            tensors: [{ name: "output.weight", type: 0, shape: [8, 4], bytes: 128 }] })
// A tensor without `offset` (from the start of the data) follows the previous one. Returns a
// Buffer.

const types = { u8: 0, i8: 1, u16: 2, i16: 3, u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9, u64: 10, i64: 11, f64: 12 };

const writers = {
    u8: [1, (b, v) => b.writeUInt8(v)], i8: [1, (b, v) => b.writeInt8(v)], bool: [1, (b, v) => b.writeUInt8(v ? 1 : 0)],
    u16: [2, (b, v) => b.writeUInt16LE(v)], i16: [2, (b, v) => b.writeInt16LE(v)],
    u32: [4, (b, v) => b.writeUInt32LE(v)], i32: [4, (b, v) => b.writeInt32LE(v)], f32: [4, (b, v) => b.writeFloatLE(v)],
    u64: [8, (b, v) => b.writeBigUInt64LE(BigInt(v))], i64: [8, (b, v) => b.writeBigInt64LE(BigInt(v))],
    f64: [8, (b, v) => b.writeDoubleLE(v)],
};

function value(type, v) {
    if (type === "string") {
        const text = Buffer.isBuffer(v) ? v : Buffer.from(v);
        return Buffer.concat([value("u64", text.length), text]);
    }
    const [width, write] = writers[type];
    const buffer = Buffer.alloc(width);
    write(buffer, v);
    return buffer;
}

function keyValue([key, type, v]) {
    if (!Array.isArray(type)) return Buffer.concat([value("string", key), value("u32", types[type]), value(type, v)]);
    return Buffer.concat([value("string", key), value("u32", types.array), value("u32", types[type[0]]), value("u64", v.length),
        ...v.map((element) => value(type[0], element))]);
}

const padding = (length, alignment) => Buffer.alloc((alignment - (length % alignment)) % alignment);

export function gguf({ version = 3, kv = [], tensors = [], alignment = 32, trailing = 0, fill = 0 } = {}) {
    const head = [Buffer.from("GGUF"), value("u32", version), value("u64", tensors.length), value("u64", kv.length)];
    const data = [];
    let end = 0;
    for (const entry of kv) head.push(keyValue(entry));
    for (const tensor of tensors) {
        const offset = tensor.offset ?? end;
        head.push(value("string", tensor.name), value("u32", tensor.shape.length), ...tensor.shape.map((n) => value("u64", n)),
            value("u32", tensor.type), value("u64", offset));
        if (offset >= end) {
            data.push(Buffer.alloc(offset - end), Buffer.alloc(tensor.bytes, fill), padding(tensor.bytes, alignment));
            end = offset + tensor.bytes + padding(tensor.bytes, alignment).length;
        }
    }
    const metadata = Buffer.concat(head);
    const gap = tensors.length > 0 ? padding(metadata.length, alignment) : Buffer.alloc(0);
    return Buffer.concat([metadata, gap, ...data, Buffer.alloc(trailing)]);
}
