import { expect, test } from "vitest";
import type { Heat, LogAnswer, LogRow, ModelMap } from "./api";
import { build } from "./columns";
import { cardFromLog, cutLog, cutTimeline, cutTokens, sumHeat } from "./report-cut";

const map: ModelMap = {
    files: [{ file: 1, bytes: 1000, path: "m.gguf" }],
    tensors: {
        name: [null, "blk.0.attn_q.weight", "blk.0.ffn_up_exps.weight"],
        type: [null, "q4_K", "q4_K"],
        shape: [[], [16, 16], [16, 16, 4]],
        file: [1, 1, 1],
        file_offset: [0, 100, 200],
        bytes: [100, 100, 800],
        layer: [null, 0, 0],
        component: ["", "Attention Q", "FFN Up Experts"],
        category: ["", "attention", "ffn"],
        experts: [0, 0, 4],
        copied: [false, false, false],
        kind: ["header", "tensor", "tensor"],
    },
};

const row = (i: number, token: number, op: string, name: string, source: string, where: number, duration: number): LogRow => ({
    row: i, begin_ns: i * 100, token, phase: token ? "GENERATE" : "PROMPT", op, name, layer: 0, absorbed: 0, threads: 2, bytes_read: 64, bytes_written: 32, bytes_disk: 0, cut: false,
    source, source_name: null, file: null, file_offset: source === "DISK" ? where : null, buffer: source === "DISK" ? null : where, buffer_offset: null, origin_file: null, origin_offset: null,
    duration_ns: duration, busy_ns: duration, wait_ns: 5, run: token + 1, node: i,
});
const all: LogAnswer = {
    total: 4,
    of: 4,
    from: 0,
    ops: [row(0, 0, "MUL_MAT", "Qcur-0", "DISK", 100, 30), row(1, 0, "ADD", "ffn_inp-0", "BUFFER", 4, 10), row(2, 1, "MUL_MAT", "Qcur-0", "DISK", 100, 20), row(3, 1, "MUL_MAT_ID", "ffn_up-0", "DISK", 400, 50)],
};

function timeline(rows: number) {
    const each = Array.from({ length: rows }, (_, i) => i);
    return build(
        {
            lane: Uint16Array.from(each, (i) => i % 2),
            run: Uint32Array.from(each, () => 1),
            node: Uint32Array.from(each),
            op: Uint16Array.from(each, (i) => i % 3),
            layer: Int16Array.from(each, () => 0),
            begin_ns: Float64Array.from(each, (i) => i * 10),
            duration_ns: Float64Array.from(each, () => 8),
            wait_ns: Float64Array.from(each, () => 2),
            token: Int32Array.from(each, () => 0),
            flags: Uint8Array.from(each, () => 0),
        },
        { base_ns: 1000, ops: ["A", "B", "C"], losses: [] },
    );
}

test("a window of the timeline holds what reaches into it", () => {
    const cut = cutTimeline(timeline(100), 1100, 1200, 1000);
    expect(cut.header["level"]).toBe(-1);
    expect(cut.rows).toBe(10);
    expect(cut.column("node")[0]).toBe(10);
    expect(cut.base_ns + cut.column("begin_ns")[0]!).toBe(1100);
});

test("too many op runs are folded, and none is lost from the counts", () => {
    const cut = cutTimeline(timeline(1000), 1000, 11_000, 20);
    expect(cut.header["bin_ns"]).toBe(512);
    const sum = (name: string) => Array.from(cut.column(name)).reduce((a, b) => a + b, 0);
    expect(sum("count")).toBe(1000);
    expect(sum("busy_ns")).toBeCloseTo(8000);
    expect(sum("wait_ns")).toBeCloseTo(2000);
});

test("the log is filtered and sorted as the server does", () => {
    const ask = (query: string) => cutLog(all, new URLSearchParams(query), map).ops.map((one) => one.row);
    expect(ask("tokens=1..1")).toEqual([2, 3]);
    expect(ask("op=MUL_MAT")).toEqual([0, 2]);
    expect(ask("tensor=blk.0.ffn*")).toEqual([3]);
    expect(ask("tensor=Qcur-?")).toEqual([0, 2]);
    expect(ask("region=1:150..180")).toEqual([0, 2]);
    expect(ask("buffer=4")).toEqual([1]);
    expect(ask("since=150&until=250")).toEqual([2]);
    expect(ask("sort=duration_ns&desc=1")).toEqual([3, 0, 2, 1]);
    expect(cutLog(all, new URLSearchParams("from=1&count=2"), map)).toMatchObject({ total: 4, of: 4, from: 1 });
    expect(ask("from=1&count=2")).toEqual([1, 2]);
});

test("an op's card comes from its row", () => {
    const card = cardFromLog(all, map, 1, 0)!;
    expect(card).toMatchObject({ op: "MUL_MAT", token: 0, duration_ns: 30, previous: null, next: { run: 1, node: 1 } });
    expect(card.operands[0]).toMatchObject({ name: "blk.0.attn_q.weight", file_offset: 100 });
    expect(cardFromLog(all, map, 9, 9)).toBeNull();
});

test("the heat of several tokens is their sum", () => {
    const heat = (expert: number): Heat => ({
        tensors: { reads: [0, 1, 1], bytes_read: [0, 100, 200], last_op: [null, "MUL_MAT", null] },
        experts: [{ place: 2, reads: [0, 1, 2, 3].map((i) => (i === expert ? 1 : 0)), bytes_read: [0, 1, 2, 3].map((i) => (i === expert ? 200 : 0)) }],
        model: { bytes: 1000, bytes_touched: 300 },
        faults: null,
        pages: null,
        buffers: { buffer: [4], reads: [2], writes: [1], bytes: [64] },
    });
    const sum = sumHeat([heat(1), heat(3)], map);
    expect(sum.tensors.reads).toEqual([0, 2, 2]);
    expect(sum.experts[0]!.reads).toEqual([0, 1, 0, 1]);
    expect(sum.model.bytes_touched).toBe(100 + 400);
    expect(sum.buffers).toEqual({ buffer: [4], reads: [4], writes: [2], bytes: [128] });
});

test("tokens are cut by step", () => {
    const steps = build(
        { first_token: Uint32Array.of(0, 1, 2), last_token: Uint32Array.of(0, 1, 2), begin_ns: Float64Array.of(0, 5, 9), end_ns: Float64Array.of(5, 9, 12), phase: Uint8Array.of(1, 2, 2), count: Uint32Array.of(1, 1, 1) },
        { base_ns: 0, texts: ["a", null, "c"] },
    );
    const cut = cutTokens(steps, 1, 2);
    expect([...cut.column("first_token")]).toEqual([1, 2]);
    expect(cut.header["texts"]).toEqual([null, "c"]);
});
