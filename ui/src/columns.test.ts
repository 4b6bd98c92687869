import { expect, test } from "vitest";
import { parse } from "./columns";

function answer(header: object, body: Uint8Array): ArrayBuffer {
    const text = new TextEncoder().encode(JSON.stringify(header));
    const length = Math.ceil((16 + text.length) / 8) * 8 - 16;
    const bytes = new Uint8Array(16 + length + body.length).fill(32);
    const view = new DataView(bytes.buffer);
    bytes.set(new TextEncoder().encode("GGSC"));
    view.setUint32(4, 1, true);
    view.setUint32(8, length, true);
    view.setUint32(12, 0, true);
    bytes.set(text, 16);
    bytes.set(body, 16 + length);
    return bytes.buffer;
}

const columns = [
    { name: "a", type: "u16", offset: 0, rows: 3 },
    { name: "b", type: "f64", offset: 8, rows: 2 },
];

test("columns are viewed by name and type", () => {
    const body = new Uint8Array(24);
    new Uint16Array(body.buffer, 0, 3).set([1, 2, 65535]);
    new Float64Array(body.buffer, 8, 2).set([0.5, 1e15]);
    const parsed = parse(answer({ rows: 3, base_ns: 7, columns, more: "é" }, body));
    expect(parsed.rows).toBe(3);
    expect(parsed.base_ns).toBe(7);
    expect(parsed.header["more"]).toBe("é");
    expect([...parsed.column("a")]).toEqual([1, 2, 65535]);
    expect([...parsed.column("b")]).toEqual([0.5, 1e15]);
    expect(() => parsed.column("c")).toThrow("no column c");
});

test("what is not whole is refused with a sentence", () => {
    expect(() => parse(new ArrayBuffer(4))).toThrow("not in the columns format");
    expect(() => parse(answer({ rows: 3, columns }, new Uint8Array(16)))).toThrow("cut short");
    expect(() => parse(answer({ rows: 1, columns: [{ name: "a", type: "x9", offset: 0 }] }, new Uint8Array(16)))).toThrow("unknown type");
});
