import { expect, test } from "vitest";
import type { OpAnswer } from "../../api";
import { clientText, valuesText, verdictOf, waitsText } from "./culprits";

const thread = (number: number, begin: number, duration: number, wait: number | null, more = {}) => ({ thread: number, os_thread: 0, begin_ns: begin, duration_ns: duration, submit_ns: null, inner_wait_ns: 0, wait_ns: wait, stalled_ns: 0, disk_wait_ns: null, off_cpu_ns: null, cut: false, ...more });
const op = (duration: number, threads: ReturnType<typeof thread>[], offCpu: number | null = null) => ({ duration_ns: duration, threads, off_cpu_ns: offCpu }) as unknown as OpAnswer;

test("the thread that comes last is the one that the others waited for", () => {
    expect(waitsText(op(14e6, [thread(0, 0, 2e6, 12e6), thread(1, 0, 14e6, 0)]))).toBe("thread 1 computed 14.0 ms, thread 0 waited 12.0 ms for it");
    expect(waitsText(op(14e6, [thread(0, 0, 2e6, 12e6), thread(1, 0, 14e6, 0), thread(2, 0, 4e6, 10e6)]))).toBe("thread 1 computed 14.0 ms, 2 threads waited up to 12.0 ms for it");
    expect(waitsText(op(14e6, [thread(0, 0, 2e6, 12e6), thread(1, 0, 14e6, 0, { stalled_ns: 13e6 })]))).toBe("thread 1 was held up 13.0 ms by page faults, thread 0 waited 12.0 ms for it");
    expect(waitsText(op(14e6, [thread(0, 0, 2e6, 12e6), thread(1, 0, 14e6, 0, { inner_wait_ns: 13e6 })]))).toBe("thread 1 stood 13.0 ms at a barrier inside the op, thread 0 waited 12.0 ms for it");
});

test("who waited at the other end of a wire, and how much of it the wire took", () => {
    expect(clientText({ run: 3, process: 1, waited_ns: 20e6, computed_ns: 14e6 }, "llama-cli 77")).toBe("llama-cli 77 waited 20.0 ms for this graph run: 14.0 ms here, 6.00 ms on the wire");
});

test("nobody is blamed for moments, for one thread, or where waits are not seen", () => {
    expect(waitsText(op(14e6, [thread(0, 0, 13.9e6, 0.1e6), thread(1, 0, 14e6, 0)]))).toBeNull();
    expect(waitsText(op(14e6, [thread(0, 0, 14e6, 0)]))).toBeNull();
    expect(waitsText(op(14e6, [thread(0, 0, 2e6, null), thread(1, 0, 14e6, null)]))).toBeNull();
});

test("what is unusual is told with its cause", () => {
    const slow = op(59e6, [thread(0, 0, 59e6, 0, { stalled_ns: 51e6 })]);
    expect(verdictOf(slow, { median_ns: 12e6, count: 9 })).toBe("59.0 ms, median 12.0 ms, 4.9 times: 51.0 ms of it page faults");
    expect(verdictOf(op(12e6, []), { median_ns: 12e6, count: 2 })).toBe("12.0 ms, median 12.0 ms of 2: too few to tell");
    expect(verdictOf(op(12.1e6, []), { median_ns: 12e6, count: 9 })).toBe("Yes: 12.1 ms, median 12.0 ms of 9");
    expect(verdictOf(op(59e6, [thread(0, 0, 59e6, 0)]), { median_ns: 12e6, count: 9 })).toBe("59.0 ms, median 12.0 ms, 4.9 times: it computed longer, or was interrupted");
    expect(verdictOf(op(59e6, [thread(0, 0, 59e6, 0, { off_cpu_ns: 40e6 })], 40e6), { median_ns: 12e6, count: 9 })).toBe("59.0 ms, median 12.0 ms, 4.9 times: 40.0 ms of it without a CPU");
    expect(verdictOf(op(59e6, [thread(0, 0, 59e6, 0, { off_cpu_ns: 0 })], 0), { median_ns: 12e6, count: 9 })).toBe("59.0 ms, median 12.0 ms, 4.9 times: it computed longer");
    expect(verdictOf(op(6e6, []), { median_ns: 12e6, count: 9 })).toBe("Faster than usual: 6.00 ms, median 12.0 ms, 0.5 times");
});

test("what an op computed", () => {
    expect(valuesText({ rows: 2, elements: 512, nan: 0, inf: 0, min: -3.25, max: 4, rms: 1.00005 })).toBe("-3.250 to 4.000, rms 1.000");
    expect(valuesText({ rows: 2, elements: 512, nan: 3, inf: 1, min: 0, max: 0, rms: 0 })).toBe("3 NaN, 1 infinite of 512; 0.000 to 0.000, rms 0.000");
});
