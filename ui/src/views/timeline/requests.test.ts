import { expect, test } from "vitest";
import type { Slots } from "../../api";
import { requestLanes, describeBar, type SlotRequest } from "./requests";

const request = (number: number, begin: number, end: number) => ({ request: number, begin_ns: begin, end_ns: end, first_output_ns: begin + 200, time_to_first_ns: 200, wait_ns: 50, prompt_tokens: 5, generated_tokens: 3, prompt_ns: 200, tokens_ns: 150, others: 2 });
// [slot, begin, end, prompt, tokens, request, requests, others]
function answer(sequences: number[], rows: number[][], requests: SlotRequest[]): Slots {
    const column = (i: number) => rows.map((row) => row[i]!);
    const pieces = { slot: column(0), begin_ns: column(1), end_ns: column(2), prompt_ns: column(3), tokens_ns: column(4), request: column(5), requests: column(6), others: column(7) };
    const columns = Object.fromEntries(Object.keys(request(0, 0, 0)).map((key) => [key, requests.map((one) => one[key as keyof SlotRequest])]));
    return { slots: sequences.map((sequence) => ({ context: 1, sequence })), more: 0, pieces, requests: columns as unknown as Slots["requests"] };
}

test("a request is divided into its prompt, its tokens and what it waited", () => {
    const rows = [
        [0, 100, 300, 200, 0, 1, 1, 0],
        [0, 350, 500, 0, 150, 1, 1, 2],
    ];
    const { lanes } = requestLanes(answer([0], rows, [request(1, 100, 500)]));
    expect(lanes[0]!.bars).toHaveLength(1);
    expect(lanes[0]!.bars[0]!.pieces).toEqual([
        { begin: 100, end: 300, kind: "prompt", others: 0 },
        { begin: 300, end: 350, kind: "waited", others: 0 },
        { begin: 350, end: 500, kind: "tokens", others: 2 },
    ]);
    expect(describeBar(lanes[0]!.bars[0]!)).toBe("request 1: waited 50 ns, prompt of 5 in 200 ns, first token after 200 ns, 3 tokens in 150 ns, in decodes shared with up to 2 others");
});

test("one prompt is no server; slots are rows", () => {
    expect(requestLanes(answer([], [], [])).lanes).toEqual([]);
    const rows = [
        [0, 0, 1, 1, 0, 1, 1, 0],
        [1, 0, 1, 1, 0, 2, 1, 0],
        [0, 5, 6, 1, 0, 3, 1, 0],
    ];
    const { lanes } = requestLanes(answer([0, 1], rows, [request(1, 0, 1), request(2, 0, 1), request(3, 5, 6)]));
    expect(lanes.map((lane) => [lane.label, lane.bars.length])).toEqual([
        ["slot 0", 2],
        ["slot 1", 1],
    ]);
});

test("requests that share a pixel are one bar that says how many", () => {
    const { lanes } = requestLanes(answer([0], [[0, 10, 20, 3, 6, 7, 4, 0]], []));
    expect(lanes[0]!.bars).toEqual([{ request: null, requests: 4, begin: 10, end: 20, pieces: [{ begin: 10, end: 13, kind: "prompt", others: 0 }, { begin: 13, end: 19, kind: "tokens", others: 0 }, { begin: 19, end: 20, kind: "waited", others: 0 }] }]);
    expect(describeBar(lanes[0]!.bars[0]!)).toBe("4 requests: prompts 3 ns, tokens 6 ns; zoom in to see each");
});
