// Reads GGMLVIZ1 by the description of the format.
export const types = ["graph begin", "graph end", "op begin", "op end", "tensor alloc", "tensor free", "barrier", "thread begin", "thread end"];

export function readGgmlviz(bytes) {
    let at = 0;
    const take = (n) => {
        if (at + n > bytes.length) throw new Error(`cut off at ${at}`);
        return bytes.subarray(at, (at += n));
    };
    if (take(8).toString("latin1") !== "GGMLVIZ1") throw new Error("wrong magic");
    if (take(4).readUInt32LE() !== 1) throw new Error("wrong version");
    const events = [];
    while (at < bytes.length) {
        const type = types[take(1)[0]];
        if (type === undefined) throw new Error(`wrong type before ${at}`);
        const event = { type, ns: Number(take(8).readBigUInt64LE()), thread: take(4).readUInt32LE() };
        const body = take(32);
        if (type.startsWith("op")) {
            Object.assign(event, { tensor: body.readBigUInt64LE(0), op: body.readUInt32LE(8), size: Number(body.readBigUInt64LE(16)), backend: Number(body.readBigUInt64LE(24)) });
            if (body.readUInt32LE(12) !== 0) throw new Error("the second word of an op's body is not 0");
        } else if (type.startsWith("graph")) {
            Object.assign(event, { graph: Number(body.readBigUInt64LE(0)), nodes: body.readUInt32LE(8), threads: body.readUInt32LE(12), backend: Number(body.readBigUInt64LE(16)) });
            if (body.subarray(24).some((b) => b !== 0)) throw new Error("the rest of a graph's body is not 0");
        } else if (type.startsWith("tensor")) {
            Object.assign(event, { address: body.readBigUInt64LE(0), size: Number(body.readBigUInt64LE(8)) });
            if (body.subarray(16).some((b) => b !== 0)) throw new Error("the rest of a buffer's body is not 0");
        } else if (body.some((b) => b !== 0)) throw new Error("a body that should be 0 is not");
        const hasLabel = take(1)[0];
        if (hasLabel > 1) throw new Error("has_label is neither 0 nor 1");
        if (hasLabel) event.label = take(take(4).readUInt32LE()).toString("utf8");
        events.push(event);
    }
    return events;
}
