// Requests as bars in lanes, one lane for each slot of each context.
import type { Context, Request, Requests } from "../../api";

type Batch = NonNullable<Requests["batches"]>[number];

export const parts = ["prompt_tokens", "generate_tokens", "verify_tokens"] as const;

// Columns of stacked tokens per decode, as shares of the largest. Contexts of draft models are
// omitted.
export function columnsOf(answer: Pick<Requests, "batches" | "contexts">, begin: number, end: number) {
    const drafts = new Set(answer.contexts.filter((context) => context.target !== null).map((context) => context.context));
    const shown = (answer.batches ?? []).filter((batch) => !drafts.has(batch.context) && batch.end_ns > begin && batch.begin_ns < end);
    const height = (batch: Batch) => (batch.prompt_tokens + batch.generate_tokens + batch.verify_tokens) / batch.decodes;
    const most = Math.max(1, ...shown.map(height));
    const whole = Math.max(1, end - begin);
    return {
        most,
        columns: shown.map((batch) => ({
            batch,
            left: (batch.begin_ns - begin) / whole,
            width: (batch.end_ns - batch.begin_ns) / whole,
            heights: parts.map((part) => batch[part] / batch.decodes / most),
        })),
    };
}

export interface Lane {
    context: number;
    sequence: number;
    bars: { request: Request; left: number; width: number; first: number | null }[]; // shares of the whole time; first: of the bar
}

// Requests without warm-ups and drafts.
export const servedBy = (contexts: readonly Context[]) => contexts.reduce((sum, one) => sum + (one.target === null ? one.requests : 0), 0);

// From the first begin to the last end, without warm-ups and without drafts, whose lanes repeat
// their targets'.
export function lanesOf({ requests, contexts }: Pick<Requests, "requests" | "contexts">): { lanes: Lane[]; begin: number; end: number; left: number } {
    const shown = requests.filter((r) => r.kind !== "warmup" && r.kind !== "draft");
    let begin = Infinity;
    let end = -Infinity;
    for (const r of shown) {
        begin = Math.min(begin, r.begin_ns);
        end = Math.max(end, r.end_ns);
    }
    const whole = Math.max(1, end - begin);
    const lanes = new Map<string, Lane>();
    for (const r of shown) {
        const key = `${r.context} ${r.sequence}`;
        if (!lanes.has(key)) lanes.set(key, { context: r.context, sequence: r.sequence, bars: [] });
        lanes.get(key)!.bars.push({
            request: r,
            left: (r.begin_ns - begin) / whole,
            width: (r.end_ns - r.begin_ns) / whole,
            first: r.first_output_ns === null ? null : Math.min(1, (r.first_output_ns - r.begin_ns) / Math.max(1, r.end_ns - r.begin_ns)),
        });
    }
    const inOrder = [...lanes.values()].sort((a, b) => a.context - b.context || a.sequence - b.sequence);
    return { lanes: inOrder, begin, end, left: Math.max(0, servedBy(contexts) - shown.length) };
}
