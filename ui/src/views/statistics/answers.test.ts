import { expect, test } from "vitest";
import { bins, patternOf, rate } from "./answers";

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
    expect(rate({ read: 3, written: 1, wall_ns: 2 })).toBe(2);
    expect(rate({ read: 3, written: 1, wall_ns: 0 })).toBe(null);
});
