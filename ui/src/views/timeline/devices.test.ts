import { expect, test } from "vitest";
import type { Columns } from "../../ask";
import { busyCurves, transferCurves } from "./devices";
import { answered } from "./strips";

function columns(of: Record<string, ArrayLike<number>>, header: Record<string, unknown> = {}): Columns {
    const rows = Object.values(of)[0]!.length;
    return { rows, base_ns: 0, header, has: (name: string) => name in of, column: (name: string) => of[name]! } as unknown as Columns;
}

test("a device is busy while its ops run, and what was seen as a whole is apart", () => {
    const answer = columns({
        lane: [1, 2, 3], begin_ns: [0, 100, 300], run: [1, 2, 3], node: [0, 0, 0], op: [0, 0, 0], layer: [0, 0, 0],
        duration_ns: [400, 100, 100], wait_ns: [0, 0, 0], inner_wait_ns: [0, 0, 0], token: [0, 0, 0], flags: [1, 1, 1],
    }, { level: -1, ops: ["ADD"] });
    const lanes = [
        { lane: 1, slot: 0, thread: 0, process: 1, label: "CPU thread 0", device: null },
        { lane: 2, slot: 1026, thread: 0, process: 1, label: "CUDA0", device: "CUDA0" },
        { lane: 3, slot: -1, thread: 0, process: 1, label: "CUDA0", device: "CUDA0" },
    ];
    const [curve, ...others] = busyCurves({ tile: { begin: 0, end: 400, pixels: 4 }, data: answered(answer), revision: 0, filter: "" }, lanes);
    expect(others).toEqual([]);
    expect(curve!.name).toBe("CUDA0 busy");
    expect(curve!.layers.map((layer) => Array.from(layer.values))).toEqual([[0, 1, 0, 0], [0, 0, 0, 1]]);
    expect(curve!.step).toBe(100);
});

test("transfers are there where the server tells them", () => {
    expect(transferCurves(columns({ bytes_disk: [1] }))).toEqual([]);
    const [curve] = transferCurves(columns({ bytes_to_devices: [5, 0], bytes_from_devices: [0, 7] }, { bin_ns: 10 }));
    expect(curve!.layers.map((layer) => Array.from(layer.values))).toEqual([[5, 0], [0, 7]]);
});
