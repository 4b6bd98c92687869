import { expect, test } from "vitest";
import type { Summary } from "../../api";
import { groupsOf, shortLabel } from "./processes";

const lane = (process: number, thread = 0) => ({ lane: 0, slot: process, thread, process, label: `h p ${process}: CPU thread ${thread}`, device: null });
const process = (number: number, host: string, clock: Summary["processes"][number]["clock"] = "graph runs", error_ns: number | null = 41_500) => ({ process: number, name: `p ${number}`, host, clock, error_ns });

test("a process begins at its first lane, a host at its first process", () => {
    const groups = groupsOf([lane(1), lane(1, 1), lane(2), lane(3)], [process(1, "a", "own", 0), process(2, "b"), process(3, "b", "wall clock", null)]);
    expect(groups.map((group) => [group.first, group.host, group.name])).toEqual([[0, "a", "p 1"], [2, "b", "p 2"], [3, null, "p 3"]]);
    expect(groups.map((group) => group.title)).toEqual(["a, p 1", "b, p 2, times off by 42 µs at most", "b, p 3, times may be off"]);
});

test("one process needs no name", () => {
    expect(groupsOf([lane(1), lane(1, 1)], [])).toEqual([]);
    expect(shortLabel("CPU thread 0", false)).toBe("CPU thread 0");
    expect(shortLabel("h p 1: RPC0[127.0.0.1:50052]", true)).toBe("RPC0[127.0.0.1:50052]");
});
