// Requests as bars in lanes, one lane for each slot of each context.
export interface Request {
    request: number;
    context: number;
    sequence: number;
    kind: "completion" | "prompt" | "embedding" | "scoring" | "draft" | "warmup";
    begin_ns: number;
    end_ns: number;
    first_output_ns: number | null;
    duration_ns: number;
    time_to_first_ns: number | null;
    ns_per_token: number | null;
    compute_ns: number;
    wait_ns: number;
    prompt_tokens: number;
    cached_tokens: number;
    generated_tokens: number;
    decoded_tokens: number;
    unused_tokens: number | null;
    accepted_tokens: number;
    rejected_tokens: number;
    unsettled_tokens: number;
    steps: number;
}

export interface RequestContext {
    context: number;
    target: number | null;
    requests: number;
    generated_tokens: number;
    accepted_tokens: number;
    rejected_tokens: number;
    changes_seen: boolean;
    cells_peak: number;
}

// What decodes were made of; a row may stand for several neighbours.
export interface Batch {
    begin_ns: number;
    end_ns: number;
    context: number;
    decodes: number;
    prompt_tokens: number;
    generate_tokens: number;
    verify_tokens: number;
    requests: number;
}

export interface Requests {
    requests: Request[];
    contexts: RequestContext[];
    batches: Batch[];
}

export const parts = ["prompt_tokens", "generate_tokens", "verify_tokens"] as const;

// Columns of stacked tokens per decode, as shares of the largest; those of contexts that draft are left out.
export function columnsOf(answer: Pick<Requests, "batches" | "contexts">, begin: number, end: number) {
    const drafts = new Set(answer.contexts.filter((context) => context.target !== null).map((context) => context.context));
    const shown = answer.batches.filter((batch) => !drafts.has(batch.context) && batch.end_ns > begin && batch.begin_ns < end);
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

// From the first begin to the last end; warm-ups are left out, and drafts, whose lanes would repeat those of their targets.
export function lanesOf(requests: readonly Request[], most: number): { lanes: Lane[]; begin: number; end: number; left: number } {
    const wanted = requests.filter((r) => r.kind !== "warmup" && r.kind !== "draft");
    const shown = wanted.slice(0, most);
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
    return { lanes: inOrder, begin, end, left: wanted.length - shown.length };
}
