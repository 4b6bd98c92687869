// What the server says of two recordings.
import type { Entry } from "../../api";

export type Verdict = "same" | "noise" | "uncertain" | "slower" | "faster" | "stalls" | "fewer stalls";

export interface Side {
    ops: number;
    ops_only: number; // that the other one does not have
    wall_ns: number; // of those that were compared
    median_ns: number;
    bytes_read: number;
}

export interface Item {
    phase: string;
    all_layers: boolean;
    layer: number | null;
    op: string;
    name: string;
    a: Side;
    b: Side;
    verdict: Verdict;
    ops_bytes_differ: number;
}

export interface StepSide {
    tokens: number;
    wall_ns: number;
    median_ns: number;
}

export interface Step {
    a: StepSide;
    b: StepSide;
    verdict: Verdict;
}

export interface Comparison {
    warnings: string[];
    identical: boolean;
    tokens: number;
    ops_only_a: number;
    ops_only_b: number;
    ops_fused: number; // compared as parts of ops of the other, which computes them together
    shift: number;
    prompt: Step | null;
    generate: Step | null;
    changes: Item[];
    expert_ops: number;
    expert_ops_differ: number;
    totals: Record<
        | "tokens"
        | "threads"
        | "ops"
        | "op_runs"
        | "bytes_read"
        | "bytes_written"
        | "bytes_disk"
        | "bytes_touched"
        | "nodes"
        | "executed"
        | "absorbed"
        | "opaque"
        | "unseen"
        | "cut"
        | "lost"
        | "buffers"
        | "peak_bytes",
        { a: number; b: number }
    >;
}

// The words of ggscope diff.
export const words: Record<Verdict, string> = {
    same: "same",
    noise: "within the noise",
    uncertain: "too few values to tell",
    slower: "slower",
    faster: "faster",
    stalls: "stalls, by mean",
    "fewer stalls": "fewer stalls, by mean",
};

// What the verdict is about: the typical value, or where some that were held up make the difference, the mean. Numbers and words agree.
export const byMean = (verdict: Verdict) => verdict === "stalls" || verdict === "fewer stalls";
const isClear = (verdict: Verdict) => verdict === "slower" || verdict === "faster" || byMean(verdict);
export const opTime = (side: Side, verdict: Verdict) => (byMean(verdict) && side.ops > 0 ? side.wall_ns / side.ops : side.median_ns);
export const stepTime = (side: StepSide, verdict: Verdict) => (byMean(verdict) && side.tokens > 0 ? side.wall_ns / side.tokens : side.median_ns);

// B against A: 0.25 is a quarter more; null where A has no time.
export const change = (a: number, b: number) => (a > 0 ? b / a - 1 : null);

// As ggscope diff writes it.
export function changeText(a: number, b: number): string {
    if (a === b) return "-";
    if (a === 0) return "new";
    if (b >= 2 * a) return `${(b / a).toFixed(1)} ×`;
    return `${b > a ? "+" : ""}${((100 * (b - a)) / a).toFixed(1)} %`;
}

// How much of the whole time a difference is: what one would win or lose by it.
export const effect = (item: Item) => item.b.wall_ns - item.a.wall_ns;

export interface Threshold {
    least: number; // share that a change must have
    noise: boolean; // also what lies within the noise
    layers: boolean; // layer by layer instead of all together
}

// What both have, and differs.
export function shownItems(items: readonly Item[], threshold: Threshold): Item[] {
    return items.filter((item) => {
        if (item.a.ops === 0 || item.b.ops === 0 || item.all_layers === threshold.layers) return false;
        if (!isClear(item.verdict) && item.ops_bytes_differ === 0 && !threshold.noise) return false;
        const changed = change(opTime(item.a, item.verdict), opTime(item.b, item.verdict));
        return item.ops_bytes_differ > 0 || Math.abs(changed ?? 0) >= threshold.least;
    });
}

export interface Unmatched {
    side: "a" | "b";
    item: Item;
    ops: number;
}

// Ops without a counterpart.
export const shownUnmatched = (items: readonly Item[], threshold: Threshold): Unmatched[] =>
    items
        .filter((item) => item.all_layers !== threshold.layers)
        .flatMap((item) => (["a", "b"] as const).map((side) => ({ side, item, ops: item[side].ops_only })))
        .filter((row) => row.ops > 0);

export const initially: Threshold = { least: 0.03, noise: false, layers: false };

// What a recording is compared with if nobody says: another one of the same model, the newest; else any other.
export function partnerOf(a: number, usable: readonly number[], entries: readonly Pick<Entry, "index" | "model" | "start_utc">[]): number {
    const model = entries.find((entry) => entry.index === a)?.model;
    const alike = entries
        .filter((entry) => entry.index !== a && usable.includes(entry.index) && model && entry.model?.name === model.name && entry.model.bytes === model.bytes)
        .sort((x, y) => (y.start_utc ?? "").localeCompare(x.start_utc ?? ""));
    return alike[0]?.index ?? usable.find((index) => index !== a) ?? a;
}
