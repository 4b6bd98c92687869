import { expect, test, vi } from "vitest";
import { asFlag, asNumber, asRange, asText, clearSelection, here, isSelected, kept, mirrorInAddress, nothing, read, readKept, select, selection, tokensParameter, view, write, writeKept } from "./state";

test("what is written into the address is read back", () => {
    const chosen = {
        tokens: [3, 5] as [number, number],
        layer: 0,
        tensor: "blk.0.attn_q.weight & more=#",
        opType: "MUL_MAT",
        op: { run: 12, node: 0 },
        region: { file: 1, begin: 0, end: 4096 },
        buffer: 4,
        expert: 7,
        lane: 1,
        time: [1_000_000_000_000, 1_000_000_000_001] as [number, number],
        request: 3,
    };
    expect(read(`#${write("an id", "graph", chosen)}`)).toEqual({ id: "an id", view: "graph", isLibrary: false, selection: chosen });
    expect(read(`#${write("x", "log", { ...nothing })}`)).toEqual({ id: "x", view: "log", isLibrary: false, selection: nothing });
    expect(read(write("x", "log", { ...nothing, layer: -1 })).selection.layer).toBe(-1);
    expect(read("#view=library")).toEqual({ id: null, view: null, isLibrary: true, selection: nothing });
});

test("an address from anywhere does no harm", () => {
    for (const odd of ["", "#", "#view=nothing&tokens=5..3&layer=x&op=1&region=1:9..3&buffer=-2&time=..", "#tokens=99999999999999999999..99999999999999999999", "#%E0%A4%A"])
        expect(read(odd)).toEqual({ id: null, view: null, isLibrary: false, selection: nothing });
});

test("a selection is changed part by part", () => {
    select({ layer: 3 });
    select({ tokens: [1, 1] });
    expect(selection.value).toEqual({ ...nothing, layer: 3, tokens: [1, 1] });
    expect(tokensParameter()).toBe("1..1");
    expect(here("heat", { tokens: tokensParameter(), other: null })).toBe("/api/x/0/heat?tokens=1..1");
    clearSelection();
    expect(isSelected()).toBe(false);
});

test("what a view keeps stands in the address while it is not what it was at first", () => {
    const scale = kept("test-scale", "all", asText(["all", "true"]));
    const zoom = kept<[number, number] | null>("test-zoom", null, asRange);
    const flag = kept("test-flag", false, asFlag);
    const number = kept<number | null>("test-number", null, asNumber);
    expect(writeKept()).toBe("");
    scale.value = "true";
    zoom.value = [12.5, 99.5];
    flag.value = true;
    number.value = 3;
    const written = writeKept();
    expect(written).toBe("&test-scale=true&test-zoom=12..100&test-flag=1&test-number=3");
    readKept("#x=1");
    expect([scale.value, zoom.value, flag.value, number.value]).toEqual(["all", null, false, null]);
    readKept(`#x=1${written}`);
    expect([scale.value, zoom.value, flag.value, number.value]).toEqual(["true", [12, 100], true, 3]);
    readKept("#test-scale=odd&test-zoom=9..3&test-flag=x&test-number=-4");
    expect(writeKept()).toBe("");
});

test("an address that the reader has just set is not written over", () => {
    const place = { hash: "#view=log" };
    const put = (_state: unknown, _title: string, to: string) => (place.hash = to);
    vi.stubGlobal("location", place);
    vi.stubGlobal("history", { replaceState: put, pushState: put });
    vi.stubGlobal("window", { addEventListener: () => {}, setTimeout: (act: () => void, ms: number) => setTimeout(act, ms) });
    vi.useFakeTimers();
    mirrorInAddress();
    select({ layer: 2 });
    vi.runAllTimers();
    expect(place.hash).toBe("#view=log&layer=2");
    select({ layer: 3 }); // written after a delay
    place.hash = "#view=graph&layer=5"; // its event has not arrived yet
    vi.runAllTimers();
    view.value = "memory";
    expect(place.hash).toBe("#view=graph&layer=5");
    vi.useRealTimers();
    vi.unstubAllGlobals();
});
