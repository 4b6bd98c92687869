import { expect, test } from "vitest";
import { type DeviceTotals, type Stats } from "../../api";
import { bins, by, coldNote, deviceNote, groupsOf, patternOf, rate } from "./answers";

test("the tensors of a component as one pattern", () => {
    expect(patternOf(["blk.0.attn_q.weight", "blk.1.attn_q.weight"])).toBe("*.attn_q.weight");
    expect(patternOf(["blk.0.attn_q.weight", "blk.0.attn_q.bias"])).toBe("*.attn_q.*");
    expect(patternOf(["output.weight"])).toBe("output.weight");
    expect(patternOf(["a", "b"])).toBe(null);
    expect(patternOf([])).toBe(null);
});

test("bins of powers of two, without the empty ends", () => {
    expect(bins([0, 0, 3, 0, 1, 0])).toEqual([
        { from: 2, to: 4, value: 3 },
        { from: 4, to: 8, value: 0 },
        { from: 8, to: 16, value: 1 },
    ]);
    expect(bins([5])).toEqual([{ from: 0, to: 1, value: 5 }]);
    expect(bins([0, 0])).toEqual([]);
});

test("a rate needs time", () => {
    const moved = { bytes_read: 3, bytes_written: 1, ops: 2, ops_untimed: 0 };
    expect(rate({ ...moved, wall_ns: 2 })).toBe(2);
    expect(rate({ ...moved, wall_ns: 0 })).toBe(null);
    expect(rate({ ...moved, wall_ns: null, ops_untimed: 2 })).toBe(null);
    expect(rate({ ...moved, wall_ns: 2, ops_untimed: 1 })).toBe(null); // a tensor: the time of the other op is missing
    expect(rate({ ...moved, wall_ns: 2, ops_untimed: 2, backend: "Vulkan0" })).toBe(2); // as a whole
});

test("groupings of ops have a table; those of steps and runs are shown elsewhere", () => {
    expect(by.slice(0, 2)).toEqual(["op", "layer"]);
    expect(by).toContain("kernel");
    for (const elsewhere of ["token", "context", "process", "host", "request", "sequence"]) expect(by).not.toContain(elsewhere);
});

test("rows are known by what they are summed up by, and a thread has no bytes", () => {
    const times = { ops: 1, ops_untimed: 0, op_runs: 2, wall_ns: 3, busy_ns: 4, wait_ns: 5 };
    const bytes = { ...times, bytes_read: 6, bytes_written: 7, bytes_disk: 8 };
    const stats = {
        machine: { faults: null },
        by_op: [
            { op: "ADD", backend: null, ...bytes },
            { op: null, backend: "Vulkan0", ...bytes },
        ],
        by_layer: [
            { layer: null, backend: null, ...bytes },
            { layer: 0, backend: null, ...bytes },
        ],
        by_thread: [{ thread: 1, backend: null, ...times }],
        by_device: [{ device: "CPU", backend: null, ...bytes }],
        by_kernel: [{ kernel: "mul_mat_q", backend: null, ...times }],
    } as object as Stats;
    expect(groupsOf(stats, "op").map((g) => g.name)).toEqual(["ADD", "Vulkan0, as a whole"]);
    expect(groupsOf(stats, "layer").map((g) => g.name)).toEqual(["none", "0"]);
    expect(groupsOf(stats, "device").map((g) => g.name)).toEqual(["CPU"]);
    expect(groupsOf(stats, "kernel").map((g) => g.name)).toEqual(["mul_mat_q"]);
    expect(groupsOf(stats, "tensor")).toEqual([]);
    expect(groupsOf(stats, "thread")).toEqual([{ name: "1", thread: 1, backend: null, ...times }]);
});

test("a tensor of which rows were read is touched in part, not never", () => {
    const weight = (bytes: number, bytes_touched: number) => ({ name: "w", path: "model.gguf", bytes, bytes_touched, bytes_unknown: 0, reads: 0, bytes_read: 0 });
    expect(coldNote([weight(4096, 1024)])).toBe("0 B in 0 tensors never touched, 3.00 KiB of 1 tensor touched in part");
    expect(coldNote([weight(2048, 0), weight(2048, 0)])).toBe("4.00 KiB in 2 tensors never touched");
});

test("a device without op times of all graph runs does not say how busy it was", () => {
    const device = { name: "CUDA0", description: null, type: "gpu", runs: 9, runs_with_op_times: 9, queues: 1, busy: 0.5, to_device: { bytes: 2048, bytes_timed: 2048, duration_ns: 1024 }, from_device: { bytes: 1024 } } as DeviceTotals;
    expect(deviceNote(device)).toEqual(["50.0 % busy", "op times of all graph runs; 2.00 KiB to it at 2.00 GB/s, 1.00 KiB from it"]);
    expect(deviceNote({ ...device, busy: null, runs_with_op_times: 2 })[0]).toBe("not seen");
    expect(deviceNote({ ...device, busy: null, runs_with_op_times: 2 })[1]).toContain("op times of 2 of 9 graph runs");
});
