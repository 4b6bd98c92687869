// Requests of a server as rows of the timeline: a row per slot, a bar per request, divided into its
// phases.
import type { Slots } from "../../api";
import { count, plural, time } from "../../format";

export interface Piece {
    begin: number; // ns
    end: number;
    kind: "prompt" | "tokens" | "waited"; // waited: none of its tokens is in the decode that runs, or none runs
    others: number; // requests in the same decode
}

export type SlotRequest = { [Key in keyof Slots["requests"]]: Slots["requests"][Key][number] };

export interface RequestBar {
    request: SlotRequest | null; // null: several requests that share a pixel
    requests: number;
    begin: number; // of the bar, which may begin before the window and end behind it
    end: number;
    pieces: Piece[]; // those in the window
}

export interface RequestLane {
    label: string;
    bars: RequestBar[]; // in order of time
}

// Decodes that share a pixel are one piece: prompt first, then tokens, then waiting.
function divided(pieces: Slots["pieces"], i: number): Piece[] {
    const [begin, end, others] = [pieces.begin_ns[i]!, pieces.end_ns[i]!, pieces.others[i]!];
    const prompt = Math.min(end, begin + pieces.prompt_ns[i]!);
    const tokens = Math.min(end, prompt + pieces.tokens_ns[i]!);
    const all: Piece[] = [
        { begin, end: prompt, kind: "prompt", others },
        { begin: prompt, end: tokens, kind: "tokens", others },
        { begin: tokens, end, kind: "waited", others: 0 },
    ];
    return all.filter((piece) => piece.end > piece.begin);
}

function add(lane: RequestLane, open: Map<number, RequestBar>, answer: Slots, request: SlotRequest | undefined, i: number): void {
    const { pieces } = answer;
    const [begin, end] = [pieces.begin_ns[i]!, pieces.end_ns[i]!];
    const before = request && open.get(request.request);
    if (before) {
        const last = before.pieces.at(-1)!.end;
        if (begin > last) before.pieces.push({ begin: last, end: begin, kind: "waited", others: 0 });
        before.pieces.push(...divided(pieces, i));
        return;
    }
    const bar: RequestBar = { request: request ?? null, requests: pieces.requests[i]!, begin: request?.begin_ns ?? begin, end: request?.end_ns ?? end, pieces: divided(pieces, i) };
    lane.bars.push(bar);
    if (request) open.set(request.request, bar);
}

const rowOf = (requests: Slots["requests"], i: number) => Object.fromEntries(Object.entries(requests).map(([key, column]) => [key, column[i]])) as unknown as SlotRequest;

export function requestLanes(answer: Slots | null): { lanes: RequestLane[]; left: number } {
    if (!answer) return { lanes: [], left: 0 };
    const several = new Set(answer.slots.map((slot) => slot.context)).size > 1;
    const lanes: RequestLane[] = answer.slots.map((slot) => ({ label: several ? `slot ${slot.sequence} of ${slot.context}` : `slot ${slot.sequence}`, bars: [] }));
    const known = new Map(answer.requests.request.map((number, i) => [number, rowOf(answer.requests, i)]));
    const open = new Map<number, RequestBar>();
    answer.pieces.slot.forEach((slot, i) => {
        const isOne = answer.pieces.requests[i] === 1;
        add(lanes[slot]!, open, answer, isOne ? known.get(answer.pieces.request[i]!) : undefined, i);
    });
    return { lanes, left: answer.more };
}

const sum = (pieces: readonly Piece[], kind: Piece["kind"]) => pieces.filter((piece) => piece.kind === kind).reduce((all, piece) => all + piece.end - piece.begin, 0);

// "request 3: waited 12 ms, prompt of 5 in 30 ms, first token after 42 ms, 8 tokens in 200 ms, in
// decodes shared with up to 2 others"
export function describeBar({ request, requests, pieces }: RequestBar): string {
    if (!request) return `${plural(requests, "request")}: prompts ${time(sum(pieces, "prompt"))}, tokens ${time(sum(pieces, "tokens"))}; zoom in to see each`;
    const parts = [
        request.wait_ns > 0 ? `waited ${time(request.wait_ns)}` : "",
        request.prompt_tokens === null ? "prompt not seen" : `prompt of ${count(request.prompt_tokens)} in ${time(request.prompt_ns)}`,
        request.time_to_first_ns === null ? request.generated_tokens === 0 && "no output" : `first token after ${time(request.time_to_first_ns)}`,
        request.generated_tokens > 0 ? `${plural(request.generated_tokens, "token")} in ${time(request.tokens_ns)}` : "",
        request.others > 0 ? `in decodes shared with up to ${plural(request.others, "other")}` : "alone in its decodes",
    ];
    return `request ${request.request}: ${parts.filter(Boolean).join(", ")}`;
}
