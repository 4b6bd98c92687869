import { expect, test } from "vitest";
import { filterQuery, nextSort, parseRange, rangeText, sortQuery, type Filter } from "./filter";

const nothing: Filter = { tokens: null, layer: null, opType: null, tensor: null, region: null, buffer: null, time: null, source: null, thread: null, expert: null, request: null };

test("no filter asks for nothing, so that any depth is answered at once", () => {
    expect(filterQuery(nothing)).toBe("");
    expect(sortQuery(null)).toBe("");
});

test("every part of a filter arrives, escaped, and zero is a value", () => {
    expect(
        filterQuery({
            tokens: [0, 3],
            layer: 0,
            opType: "MUL_MAT",
            tensor: "blk.*&x",
            region: { file: 1, begin: 10.7, end: 20.2 },
            buffer: 0,
            time: [1.9, 7.1],
            source: "DISK",
            thread: 0,
            expert: 0,
            request: 0,
        }),
    ).toBe("&tokens=0..3&layer=0&op=MUL_MAT&tensor=blk.*%26x&source=DISK&region=1%3A10..21&buffer=0&thread=0&expert=0&request=0&since=1&until=8");
    expect(filterQuery({ ...nothing, layer: -1 })).toBe("&layer=none");
});

test("ranges as people type them", () => {
    expect(parseRange("3", 9)).toEqual([3, 3]);
    expect(parseRange(" 3..7 ", 9)).toEqual([3, 7]);
    expect(parseRange("3-7", 9)).toEqual([3, 7]);
    expect(parseRange("3..", 9)).toEqual([3, 9]);
    expect(parseRange("..4", 9)).toEqual([0, 4]);
    expect(parseRange("", 9)).toBe(null);
    for (const wrong of ["x", "7..3", "..", "-", "1.5"]) expect(parseRange(wrong, 9), wrong).toBe(undefined);
    expect(rangeText([3, 3])).toBe("3");
    expect(rangeText([3, 7])).toBe("3..7");
});

test("a column's header goes through both orders and back", () => {
    const first = nextSort(null, "duration_ns", true);
    expect(sortQuery(first)).toBe("&sort=duration_ns&desc=1");
    const second = nextSort(first, "duration_ns", true);
    expect(sortQuery(second)).toBe("&sort=duration_ns");
    expect(nextSort(second, "duration_ns", true)).toBe(null);
    expect(nextSort(second, "op", false)).toEqual({ column: "op", descending: false });
});
