import { expect, test } from "vitest";
import type { Buffers, Heat, ModelMap } from "../../api";
import { spansOf } from "./marks";
import { diskOf, liveOf, paintDisk, paintLive } from "./model";

const map: ModelMap = {
    experiment_id: "",
    from_trace: 0,
    files: [
        { file: 1, bytes: 1000, path: "a-00001-of-00002.gguf" },
        { file: 2, bytes: 500, path: "a-00002-of-00002.gguf" },
    ],
    tensors: {
        name: [null, "token_embd.weight", "blk.0.attn_q.weight", "blk.0.ffn_up_exps.weight", "output.weight"],
        type: [null, "q4_K", "q4_K", "q4_K", "q6_K"],
        shape: [[], [8, 8], [8, 8], [8, 8, 4], [8, 8]],
        file: [1, 1, 1, 1, 2],
        file_offset: [0, 100, 300, 400, 0],
        bytes: [100, 200, 100, 600, 500],
        layer: [null, null, 0, 0, null],
        component: ["", "Token Embeddings", "Attention Q", "FFN Up Experts", "Output Projection"],
        category: ["", "input", "attention", "ffn", "output"],
        experts: [0, 0, 0, 4, 0],
        copied: [false, false, true, false, false],
        kind: ["header", "tensor", "tensor", "tensor", "tensor"],
    },
};

const heat: Heat = {
    experiment_id: "",
    tensors: {
        reads: [0, 3, 8, 12, 8],
        bytes_read: [0, 6, 800, 1200, 4000],
        bytes_disk: [0, 6, 0, 1200, 4000], // the second was copied
        last_op: [null, "GET_ROWS", "MUL_MAT", "MUL_MAT_ID", "MUL_MAT"],
        last_run: [null, 4, 4, 4, 4],
        last_node: [null, 0, 3, 7, 9],
    },
    experts: [{ place: 3, reads: [8, 0, 0, 0], bytes_read: [1200, 0, 0, 0] }],
    model: { bytes: 1500, bytes_touched: 756, bytes_unknown: 0 },
    // Two faults on the first expert, and pages that two tensors share.
    faults: {
        minor: [0, 0, 0, 1, 0],
        major: [0, 0, 0, 1, 0],
        stalled_ns: [0, 0, 0, 500, 0],
        experts: [{ place: 3, minor: [1, 0, 0, 0], major: [1, 0, 0, 0], stalled_ns: [500, 0, 0, 0] }],
        ranges: { bytes: 100, page_bytes: 100, file: [1], file_offset: [400], minor: [1], major: [1], stalled_ns: [500] },
    },
    pages: {
        bytes_touched: [0, 50, 100, 150, 500],
        experts: [{ place: 3, bytes_touched: [150, 0, 0, 0] }],
        ranges: { bytes: 100, page_bytes: 100, file: [1, 1, 1], file_offset: [200, 400, 500], bytes_touched: [50, 100, 50] },
    },
    buffers: { buffer: [4], reads: [10], writes: [5], bytes: [2000], bytes_touched: [600] },
    buffer_ranges: { range_bytes: 500, buffer: [4, 4], buffer_offset: [0, 500], bytes: [1500, 500], bytes_touched: [500, 100] },
};

test("the disk has rows for embeddings, each layer, output and the rest, and every byte of all files in the whole", () => {
    const disk = diskOf(map);
    expect(disk.rows.map((row) => row.key)).toEqual(["embeddings", "layer 0", "output", "rest"]);
    expect(disk.whole.units.reduce((sum, unit) => sum + unit.end - unit.begin, 0)).toBe(1500);
    expect(disk.bases.get(2)).toBe(1000);
    expect(disk.whole.units.find((unit) => unit.entry === 4)).toMatchObject({ begin: 1000, end: 1500 });
    expect(disk.rows[1]!.units.map((unit) => unit.expert)).toEqual([-1, 0, 1, 2, 3]);
});

const plain = { layer: "addressed", side: "lie", whole: null } as const;

test("heat is reads per byte; experts have their own, parts of a tensor show as parts, nothing is hidden by copying", () => {
    const disk = diskOf(map);
    const painted = paintDisk(disk, map, heat, { ...plain, side: "from" });
    const { units } = disk.whole;
    const of = (entry: number, expert = -1) => {
        const i = units.findIndex((unit) => unit.entry === entry && unit.expert === expert);
        return painted.paint(units, i, i);
    };
    expect(painted.most).toBe("8×");
    expect(of(0)).toEqual({ level: null, part: 0, copied: false });
    expect(of(1)).toMatchObject({ level: 0, part: 0.03 });
    expect(of(2)).toMatchObject({ level: 1, part: 1, copied: true });
    expect(of(3, 0)).toMatchObject({ level: 1, part: 1 });
    expect(of(3, 1).level).toBeNull();
    // Folded: one expert of four.
    const first = units.findIndex((unit) => unit.entry === 3);
    expect(painted.paint(units, first, first + 3).part).toBeCloseTo(0.25);
});

test("one access, one place: copied weights count in the file only where they came from is asked for", () => {
    const disk = diskOf(map);
    const { units } = disk.whole;
    const lie = paintDisk(disk, map, heat, plain);
    expect(lie.paint(units, 2, 2)).toEqual({ level: null, part: 0, copied: true });
    expect(lie.reads(units[2]!)).toEqual({ reads: 0, bytes: 0 });
    const from = paintDisk(disk, map, heat, { ...plain, side: "from" });
    expect(from.paint(units, 2, 2)).toMatchObject({ level: 1, copied: true });
    expect(from.reads(units[2]!)).toEqual({ reads: 8, bytes: 800 });
});

test("the scale is that of all tokens: what a token reads once is not painted as the most", () => {
    const disk = diskOf(map);
    const { units } = disk.whole;
    const one: Heat = { ...heat, tensors: { ...heat.tensors, bytes_read: [0, 6, 100, 150, 500], bytes_disk: [0, 6, 0, 150, 500] }, experts: [] };
    const last = units.length - 1;
    expect(paintDisk(disk, map, one, { ...plain, whole: heat }).paint(units, last, last)).toMatchObject({ level: 0, part: 1 });
    expect(paintDisk(disk, map, one, { ...plain, whole: heat }).most).toBe("8×");
});

test("order: a wave through the file, as far as playback has come", () => {
    const disk = diskOf(map);
    const { units } = disk.whole;
    const last = units.length - 1;
    const all = paintDisk(disk, map, heat, { ...plain, layer: "order" });
    expect(all.paint(units, 1, 1).level).toBe(0);
    expect(all.paint(units, 3, 3).level).toBeCloseTo(2 / 3);
    expect(all.paint(units, 4, 4).level).toBeNull(); // an expert that was not taken
    expect(all.paint(units, last, last).level).toBe(1);
    const now = paintDisk(disk, map, heat, { ...plain, layer: "order", until: { run: 4, node: 7 } });
    expect(now.paint(units, 3, 3).level).toBeCloseTo(2 / 3);
    expect(now.paint(units, last, last).level).toBeNull();
});

test("pages and faults are where they happened, not averages of tensors", () => {
    const disk = diskOf(map);
    const { units } = disk.whole;
    const pages = paintDisk(disk, map, heat, { ...plain, layer: "pages" });
    expect(pages.meaning).toBe("pages really touched");
    expect(pages.paint(units, 3, 3).level).toBeNull();
    expect(pages.stretches).toEqual([
        { begin: 200, end: 300, level: 1, part: 0.5 },
        { begin: 400, end: 500, level: 1, part: 1 },
        { begin: 500, end: 600, level: 1, part: 0.5 },
    ]);
    // The second expert begins within the last stretch, and was not touched.
    expect([3, 4].map((i) => pages.isStill!(units[i]!))).toEqual([false, true]);
    expect(pages.machine!(units[3]!)).toContain("100.0 % really touched");
    expect(pages.machine!(units[4]!)).toContain("0.0 % really touched");
    const faults = paintDisk(disk, map, heat, { ...plain, layer: "faults" });
    expect(faults.most).toBe("2 per page");
    expect(faults.stretches).toEqual([{ begin: 400, end: 500, level: 1, part: 1 }]);
    expect(faults.isStill!(units[4]!)).toBe(true);
    // Where they were not recorded, what was addressed is shown, and the legend says so.
    expect(paintDisk(disk, map, { ...heat, pages: null }, { ...plain, layer: "pages" }).meaning).toContain("addressed");
});

test("the bytes of an op lie where its ranges say: the chosen experts, of the right file", () => {
    const disk = diskOf(map);
    const marks = [
        { place: "disk", number: 1, begin: 550, end: 700, isWritten: false },
        { place: "disk", number: 2, begin: 0, end: 10, isWritten: false },
        { place: "buffer", number: 1, begin: 0, end: 10, isWritten: true },
    ] as const;
    expect(spansOf(marks, "disk", disk.whole.units, disk.entries)).toEqual([
        { begin: 550, end: 700, isWritten: false },
        { begin: 1000, end: 1010, isWritten: false },
    ]);
});

const buffers: Buffers = {
    experiment_id: "",
    count: 3,
    peak_ns: 0,
    bytes_mapped: 0,
    by_class: [],
    timeline: [],
    buffers: [
        { buffer: 1, type: "CPU_Mapped", class: "weights", usage: "weights", bytes: 1500, begin_ns: 0, end_ns: null, file: 1, device: null, layer: null, host: true, load: null },
        { buffer: 3, type: "CPU", class: "kv", usage: "any", bytes: 20_000, begin_ns: 0, end_ns: 100, file: null, device: null, layer: null, host: true, load: null },
        { buffer: 4, type: "CPU", class: "compute", usage: "compute", bytes: 1000, begin_ns: 50, end_ns: null, file: null, device: null, layer: null, host: true, load: null },
    ],
    peak_bytes: 21_000,
    tensors: { name: ["cache_k_l0", "cache_v_l0"], buffer: [3, 3], buffer_offset: [0, 8000], bytes: [8000, 8000], layer: [0, 0], component: ["KV", "KV"] },
};

test("the buffers that live in the span, mapped ones left to the disk", () => {
    const live = liveOf(buffers, null);
    expect(live.rows.map((row) => row.key)).toEqual(["KV cache", "compute"]);
    expect(live.entries.map((entry) => entry.name)).toEqual(["cache_k_l0", "cache_v_l0", "buffer 3, rest", "buffer 4"]);
    expect(live.whole.units.reduce((sum, unit) => sum + unit.end - unit.begin, 0)).toBe(21_000);
    expect(liveOf(buffers, [0, 10]).rows.map((row) => row.key)).toEqual(["KV cache"]);
    expect(liveOf(buffers, [200, 300]).rows.map((row) => row.key)).toEqual(["compute"]);
    const painted = paintLive(live, buffers, heat, { side: "lie", whole: null, map });
    expect(painted.most).toBe("5×");
    expect(painted.stretches!.map(({ begin, end, part }) => [begin, end, part])).toEqual([[20_000, 20_500, 1], [20_500, 21_000, 0.2]]);
    expect(painted.paint(live.whole.units, 0, 0).level).toBeNull();
    expect(painted.reads(live.whole.units[3]!)).toEqual({ reads: 15, bytes: 2000, touched: 600 });
});

test("buffers in a device's memory are tracks of their own", () => {
    const there = { ...buffers, buffers: buffers.buffers.map((one) => (one.class === "kv" ? { ...one, device: "Vulkan0" } : one)) };
    const live = liveOf(there, null);
    expect(live.rows.map((row) => row.key)).toEqual(["compute", "Vulkan0 KV cache"]);
    expect(live.devices.map((track) => track.title)).toEqual(["Vulkan0"]);
    const size = (units: { begin: number; end: number }[]) => units.reduce((sum, unit) => sum + unit.end - unit.begin, 0);
    expect(size(live.host.units) + size(live.devices[0]!.units)).toBe(size(live.whole.units));
    expect(live.devices[0]!.units.every((unit) => live.entries[unit.entry]!.device === "Vulkan0")).toBe(true);
    // A long name keeps its end and leaves room for the class.
    const far = liveOf({ ...there, buffers: there.buffers.map((one) => (one.device ? { ...one, device: "RPC0[127.0.0.1:50071]" } : one)) }, null);
    expect(far.rows.map((row) => row.title)).toEqual(["compute", "RPC0…:50071] KV cache"]);
});
