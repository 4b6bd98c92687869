import { expect, test } from "vitest";
import type { Context, Request } from "../../api";
import { columnsOf, lanesOf } from "./lanes";

const context = (requests: number, target: number | null = null) => ({ context: 0, target, requests }) as Context;

const request = (number: number, sequence: number, begin_ns: number, end_ns: number, more: Partial<Request> = {}): Request => ({
    request: number,
    context: 0,
    sequence,
    kind: "completion",
    begin_ns,
    end_ns,
    begun_before: false,
    paused: false,
    first_output_ns: begin_ns + 10,
    duration_ns: end_ns - begin_ns,
    time_to_first_ns: 10,
    ns_per_token: 1,
    compute_ns: 1,
    wait_ns: 0,
    prompt_tokens: 1,
    cached_tokens: 0,
    generated_tokens: 2,
    decoded_tokens: 1,
    unused_tokens: 0,
    accepted_tokens: 0,
    rejected_tokens: 0,
    unsettled_tokens: 0,
    steps: 2,
    decodes: 2,
    cells_peak: 0,
    changes_seen: true,
    ...more,
});

test("a lane for each slot, bars by time, the first output inside its bar", () => {
    const { lanes, begin, end } = lanesOf({ requests: [request(1, 1, 100, 140), request(2, 0, 100, 200), request(3, 1, 150, 200)], contexts: [context(3)] });
    expect([begin, end]).toEqual([100, 200]);
    expect(lanes.map((lane) => [lane.sequence, lane.bars.map((bar) => bar.request.request)])).toEqual([
        [0, [2]],
        [1, [1, 3]],
    ]);
    expect(lanes[1]!.bars[0]).toMatchObject({ left: 0, width: 0.4, first: 0.25 });
});

test("warm-ups and drafts have no lanes; what is too much is counted", () => {
    const list = [request(1, 0, 0, 5, { kind: "warmup" }), request(2, 0, 10, 20), request(3, 0, 20, 30, { kind: "draft", context: 1 }), request(4, 0, 30, 40, { first_output_ns: null })];
    const contexts = [context(2), context(1, 0)];
    const all = lanesOf({ requests: list, contexts });
    expect(all.lanes[0]!.bars.map((bar) => bar.first)).toEqual([1, null]);
    expect(all.left).toBe(0);
    expect(lanesOf({ requests: list.slice(0, 3), contexts })).toMatchObject({ begin: 10, end: 20, left: 1 });
    expect(lanesOf({ requests: [], contexts: [] }).lanes).toEqual([]);
});

test("batches are columns of tokens per decode; contexts that draft are left out", () => {
    const batch = (context: number, begin_ns: number, prompt_tokens: number, generate_tokens: number, decodes = 1) => ({ begin_ns, end_ns: begin_ns + 10, token: 0, context, decodes, prompt_tokens, generate_tokens, verify_tokens: 0, requests: 1 });
    const context = (number: number, target: number | null) => ({ context: number, target }) as Context;
    const { most, columns } = columnsOf({ batches: [batch(0, 0, 8, 0), batch(0, 10, 2, 6, 2), batch(1, 5, 90, 0)], contexts: [context(0, null), context(1, 0)] }, 0, 20);
    expect(most).toBe(8);
    expect(columns.map((column) => [column.left, column.heights])).toEqual([
        [0, [1, 0, 0]],
        [0.5, [0.125, 0.375, 0]],
    ]);
});
