import { expect, test } from "vitest";
import { build } from "../../columns";
import { answered, type Answered, culpritOf, opAt, servedOf, sharesOf, stripOf } from "./strips";
import { around, clamp, panned, tickStep, tileFor, zoomed } from "./window";

const raw = answered(
    build(
        {
            lane: Uint16Array.of(0, 0, 0, 1),
            run: Uint32Array.of(1, 1, 1, 1),
            node: Uint32Array.of(0, 1, 2, 0),
            op: Uint16Array.of(0, 1, 0, 0),
            layer: Int16Array.of(-1, 0, 0, -1),
            begin_ns: Float64Array.of(0, 500, 505, 0),
            duration_ns: Float64Array.of(400, 2, 3, 1000),
            wait_ns: Float64Array.of(100, 3, 0, 0),
            token: Int32Array.of(0, 0, 0, 0),
            flags: Uint8Array.of(0, 0, 0, 0),
        },
        { level: -1, base_ns: 1000, ops: ["MUL_MAT", "ADD"] },
    ),
);

test("wide op runs fill their pixels, waits follow, the small ones fold with a count", () => {
    const strip = stripOf(raw, 0, { begin: 1000, end: 2000 }, 100);
    expect(strip.busy[0]).toBe(1);
    expect(strip.busy[39]).toBe(1);
    expect(strip.busy[40]).toBe(0);
    expect(strip.wait[45]).toBeCloseTo(1);
    expect(strip.wide).toEqual([{ row: 0, x0: 0, x1: 40 }]);
    expect(strip.folded[50]).toBe(2);
    expect(strip.busy[50]).toBeCloseTo(0.5);
    expect(strip.op[50]).toBe(0); // 3 ns of MUL_MAT against 2 ns of ADD
    expect(strip.busy[70]).toBe(0);
    expect(opAt(raw, 1)).toMatchObject({ run: 1, node: 1, op: "ADD", begin: 1500, duration: 2 });
});

test("a wait within the op is no wait after it, and no wait reaches over the next op", () => {
    const data = answered(
        build(
            {
                lane: Uint16Array.of(0, 0),
                run: Uint32Array.of(1, 1),
                node: Uint32Array.of(0, 1),
                op: Uint16Array.of(0, 1),
                layer: Int16Array.of(0, 0),
                begin_ns: Float64Array.of(0, 500),
                duration_ns: Float64Array.of(400, 100),
                wait_ns: Float64Array.of(100, 0),
                inner_wait_ns: Float64Array.of(200, 50),
                token: Int32Array.of(0, 0),
                flags: Uint8Array.of(0, 0),
            },
            { level: -1, ops: ["MUL_MAT", "ADD"] },
        ),
    );
    const strip = stripOf(data, 0, { begin: 0, end: 1000 }, 100);
    expect(strip.busy[20]).toBeCloseTo(0.5);
    expect(strip.wait[20]).toBeCloseTo(0.5);
    expect(strip.wait[45]).toBeCloseTo(1);
    expect(strip.wait[55]).toBeCloseTo(0.5);
    expect(strip.wait[70]).toBe(0);
});

test("an op waits for the disk before it computes", () => {
    const data = answered(
        build(
            {
                lane: Uint16Array.of(0),
                run: Uint32Array.of(1),
                node: Uint32Array.of(0),
                op: Uint16Array.of(0),
                layer: Int16Array.of(0),
                begin_ns: Float64Array.of(100),
                duration_ns: Float64Array.of(400),
                wait_ns: Float64Array.of(0),
                disk_wait_ns: Float64Array.of(300),
                token: Int32Array.of(0),
                flags: Uint8Array.of(0),
            },
            { level: -1, ops: ["MUL_MAT"] },
        ),
    );
    const strip = stripOf(data, 0, { begin: 0, end: 1000 }, 100);
    expect([strip.diskWait[9], strip.diskWait[10], strip.diskWait[39], strip.diskWait[40]]).toEqual([0, 1, 1, 0]);
    expect(opAt(data, 0).diskWait).toBe(300);
});

test("zooming in unfolds", () => {
    const strip = stripOf(raw, 0, { begin: 1495, end: 1515 }, 200);
    expect(strip.wide.length).toBe(2);
    expect(strip.folded.reduce((a, b) => a + b)).toBe(0);
});

test("bins keep their busy share and their counts", () => {
    const data = answered(
        build(
            {
                lane: Uint16Array.of(0, 0),
                begin_ns: Float64Array.of(0, 64),
                busy_ns: Float64Array.of(32, 64),
                wait_ns: Float64Array.of(16, 0),
                count: Uint32Array.of(7, 5),
                longest_ns: Float64Array.of(9, 20),
                longest_op: Uint16Array.of(1, 0),
                longest_run: Uint32Array.of(1, 1),
                longest_node: Uint32Array.of(3, 4),
                stalled_ns: Float64Array.of(16, 0),
                disk_wait_ns: Float64Array.of(0, 48),
            },
            { level: 6, bin_ns: 64, ops: ["MUL_MAT", "ADD"] },
        ),
    );
    expect(opAt(data, 0)).toMatchObject({ run: 1, node: 3, op: "ADD", duration: 9, stalled: 16, bin: { ns: 64, busy: 32 } });
    const strip = stripOf(data, 0, { begin: 0, end: 128 }, 2);
    expect([...strip.busy]).toEqual([0.5, 1]);
    expect([...strip.wait]).toEqual([0.25, 0]);
    expect([...strip.stalled]).toEqual([0.25, 0]);
    expect([...strip.diskWait]).toEqual([0, 0.75]);
    expect([...strip.folded]).toEqual([7, 5]);
    expect([...strip.op]).toEqual([1, 0]);
});

test("the window stays within its bounds and keeps the point under the pointer", () => {
    const bounds = { begin: 1000, end: 101_000 };
    expect(clamp({ begin: -5, end: 10_000 }, bounds)).toEqual({ begin: 1000, end: 11_005 });
    const span = zoomed(bounds, 4, 0.25, bounds);
    expect(span.begin + 0.25 * (span.end - span.begin)).toBeCloseTo(1000 + 25_000);
    expect(zoomed(span, 1e-9, 0.5, bounds)).toEqual(bounds);
    expect(panned(bounds, 500, bounds)).toEqual(bounds);
    const near = around(5000, 6000, bounds);
    expect(near.begin).toBeLessThan(5000);
    expect(near.end).toBeGreaterThan(6000);
});

test("tiles hold their window, and small moves ask nothing new", () => {
    const bounds = { begin: 0, end: 1e9 };
    for (let k = 0; k < 400; k++) {
        const begin = k * 2_345_678;
        const span = clamp({ begin, end: begin + 1e6 * (1 + (k % 13)) }, bounds);
        const tile = tileFor(span, bounds, 1200);
        expect(tile.begin).toBeLessThanOrEqual(span.begin);
        expect(tile.end).toBeGreaterThanOrEqual(span.end);
        expect(tile.pixels).toBeLessThanOrEqual(4096);
    }
    const span = { begin: 5e8, end: 5e8 + 1e6 };
    expect(tileFor({ begin: span.begin + 1000, end: span.end + 1000 }, bounds, 1200)).toEqual(tileFor(span, bounds, 1200));
});

test("a narrow tile has as many pixels as a wide one, so it is answered as finely", () => {
    const bounds = { begin: 0, end: 1e9 };
    const pixels = (length: number, width: number) => tileFor({ begin: 3e8, end: 3e8 + length }, bounds, width).pixels;
    for (const width of [200, 320, 1024, 1244, 3000]) for (let length = 1e9; length > 1e4; length /= 3) expect(pixels(length, width)).toBe(pixels(1e9, width));
});

test("ticks are round and far enough apart", () => {
    expect(tickStep({ begin: 0, end: 1e9 }, 1000, 90)).toBe(1e8);
    expect(tickStep({ begin: 0, end: 1e9 }, 1000, 110)).toBe(2e8);
});

test("a bin of waiting alone has no op, and one inside a long op has it", () => {
    const data = answered(
        build(
            {
                lane: Uint16Array.of(0, 0),
                begin_ns: Float64Array.of(0, 64),
                busy_ns: Float64Array.of(64, 0),
                wait_ns: Float64Array.of(0, 64),
                stalled_ns: Float64Array.of(60, 0),
                count: Uint32Array.of(0, 0),
                longest_ns: Float64Array.of(9000, 0),
                longest_op: Uint16Array.of(0, 65535),
                longest_run: Uint32Array.of(5, 0),
                longest_node: Uint32Array.of(3, 0),
            },
            { level: 6, bin_ns: 64, ops: ["MUL_MAT", "ADD"] },
        ),
    );
    const strip = stripOf(data, 0, { begin: 0, end: 128 }, 2);
    expect([...strip.op]).toEqual([0, -1]);
    expect(opAt(data, strip.row[0]!)).toMatchObject({ op: "MUL_MAT", run: 5, duration: 9000, count: 0 });
    expect(opAt(data, strip.row[1]!)).toMatchObject({ op: "waiting", run: 0, wait: 64 });
});

test("the thread that comes last is the one that others waited for", () => {
    const rows = [
        { lane: 0, begin: 0, duration: 20, wait: 80, run: 1, node: 3 },
        { lane: 1, begin: 0, duration: 100, wait: 0, run: 1, node: 3 },
        { lane: 0, begin: 100, duration: 50, wait: 1, run: 1, node: 4 },
        { lane: 1, begin: 100, duration: 51, wait: 0, run: 1, node: 4 },
    ];
    const column = (name: "duration" | "wait" | "run" | "node") => Float64Array.from(rows.map((row) => row[name]));
    const data = {
        isRaw: true,
        base: 1000,
        begin: rows.map((row) => row.begin),
        length: (row: number) => rows[row]!.duration + rows[row]!.wait,
        lanes: new Map([0, 1].map((lane) => [lane, Uint32Array.from(rows.flatMap((row, i) => (row.lane === lane ? [i] : [])))])),
        of: { duration_ns: column("duration"), wait_ns: column("wait"), run: column("run"), node: column("node") },
    } as unknown as Answered;
    const shares = sharesOf(data, 1, 3, 1000);
    expect(shares.map((one) => [one.lane, one.end, one.wait])).toEqual([[0, 1020, 80], [1, 1100, 0]]);
    expect(culpritOf(shares)!.lane).toBe(1);
    expect(sharesOf({ ...data, isRaw: false }, 1, 3, 1000)).toEqual([]);
});

test("what a server did for a graph run of its client: all of its threads, the last end, the longest op", () => {
    const data = answered(
        build(
            {
                lane: Uint16Array.of(0, 1, 2, 1, 1),
                run: Uint32Array.of(5, 6, 6, 6, 7),
                node: Uint32Array.of(0, 1, 1, 2, 0),
                op: Uint16Array.of(65535, 0, 0, 1, 0),
                layer: Int16Array.of(-1, 0, 0, 0, 0),
                begin_ns: Float64Array.of(0, 100, 110, 200, 900),
                duration_ns: Float64Array.of(500, 60, 190, 50, 400),
                wait_ns: new Float64Array(5),
            },
            { level: -1, ops: ["MUL_MAT", "ADD"], sent: [{ run: 5, server_run: 6 }, { run: 8, server_run: 9 }] },
        ),
    );
    expect(servedOf(data, 5)).toEqual({ lane: 2, begin: 100, end: 300, longest: 2 });
    expect(opAt(data, 0).op).toBe("graph run");
    expect(servedOf(data, 8)).toBeNull(); // out of sight
    expect(servedOf(data, 7)).toBeNull(); // no client's
});
