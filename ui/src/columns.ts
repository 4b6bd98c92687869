// The server's binary answers: a JSON header, then typed columns, which are viewed in place and not
// copied:
//     "GGSC", u32 version, u32 header length, u32 0, header JSON padded with spaces to 8,
//     columns (8-byte aligned)

export type Column = Uint8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | Float64Array;

export interface Columns {
    rows: number;
    base_ns: number;
    header: Record<string, unknown>;
    column(name: string): Column;
    has(name: string): boolean;
}

interface Description {
    name: string;
    type: keyof typeof kinds;
    offset: number;
    rows?: number;
}

const kinds = {
    u8: Uint8Array,
    u16: Uint16Array,
    i16: Int16Array,
    u32: Uint32Array,
    i32: Int32Array,
    f64: Float64Array,
} as const;

const preamble = 16;

// Throws an Error with one sentence if the bytes are not such an answer.
export function parse(buffer: ArrayBuffer): Columns {
    const view = new DataView(buffer);
    if (buffer.byteLength < preamble || view.getUint32(0, false) !== 0x47475343)
        throw new Error("The server's answer is not in the columns format.");
    if (view.getUint32(4, true) !== 1)
        throw new Error(`The server's answer has format ${view.getUint32(4, true)}; this page reads 1. Reload the page.`);
    const length = view.getUint32(8, true);
    if (preamble + length > buffer.byteLength) throw new Error("The server's answer ends within its header.");
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, preamble, length))) as Record<string, unknown>;
    const body = Math.ceil((preamble + length) / 8) * 8;
    const rows = Number(header["rows"] ?? 0);

    const columns = new Map<string, Column>();
    for (const { name, type, offset, rows: own } of (header["columns"] ?? []) as Description[]) {
        const kind = kinds[type];
        const count = own ?? rows;
        if (!kind) throw new Error(`Column ${name} of the server's answer has the unknown type ${String(type)}.`);
        if (body + offset + count * kind.BYTES_PER_ELEMENT > buffer.byteLength)
            throw new Error(`Column ${name} of the server's answer is cut short.`);
        columns.set(name, new kind(buffer, body + offset, count));
    }
    return {
        rows,
        base_ns: Number(header["base_ns"] ?? 0),
        header,
        has: (name) => columns.has(name),
        column(name) {
            const column = columns.get(name);
            if (!column) throw new Error(`The server's answer has no column ${name}.`);
            return column;
        },
    };
}

// The reverse, for tests.
export function build(columns: Record<string, Column>, extra: Record<string, unknown> = {}): Columns {
    const rows = Math.max(0, ...Object.values(columns).map((column) => column.length));
    return {
        rows: Number(extra["rows"] ?? rows),
        base_ns: Number(extra["base_ns"] ?? 0),
        header: extra,
        has: (name) => name in columns,
        column(name) {
            const column = columns[name];
            if (!column) throw new Error(`There is no column ${name}.`);
            return column;
        },
    };
}
