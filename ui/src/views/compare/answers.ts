// Two recordings: which differences are shown, and in which words.
import type { Diff, DiffSide, DiffSteps, Entry } from "../../api";
import { times } from "../../format";

export type Item = Diff["changes"][number];
export type Verdict = Item["verdict"];

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

// True if the verdict is about the mean (some op runs are delayed), not about the typical value.
export const byMean = (verdict: Verdict) => verdict === "stalls" || verdict === "fewer stalls";
const isClear = (verdict: Verdict) => verdict === "slower" || verdict === "faster" || byMean(verdict);
export const opTime = (side: DiffSide, verdict: Verdict) => (byMean(verdict) && side.ops > 0 ? side.wall_ns / side.ops : side.median_ns);
export const stepTime = (side: DiffSteps["a"], verdict: Verdict) => (byMean(verdict) && side.tokens > 0 ? side.wall_ns / side.tokens : side.median_ns);

// Relative change from A to B: 0.25 is a quarter more; null if A has no time.
export const change = (a: number, b: number) => (a > 0 ? b / a - 1 : null);

// As ggscope diff writes it.
export function changeText(a: number, b: number): string {
    if (a === b) return "-";
    if (a === 0) return "new";
    if (b >= 2 * a) return times(b / a);
    return `${b > a ? "+" : ""}${((100 * (b - a)) / a).toFixed(1)} %`;
}

// Change of the total time caused by an item.
export const effect = (item: Item) => item.b.wall_ns - item.a.wall_ns;

export interface Threshold {
    least: number; // smallest relative change that is shown
    noise: boolean; // also changes within the noise
    layers: boolean; // layer by layer instead of all together
}

// Items of both recordings that differ.
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

// The default partner of a recording: the newest other one of the same model, else any other.
export function partnerOf(a: number, usable: readonly number[], entries: readonly Pick<Entry, "index" | "model" | "start_utc">[]): number {
    const model = entries.find((entry) => entry.index === a)?.model;
    const alike = entries
        .filter((entry) => entry.index !== a && usable.includes(entry.index) && model && entry.model?.name === model.name && entry.model.bytes === model.bytes)
        .sort((x, y) => (y.start_utc ?? "").localeCompare(x.start_utc ?? ""));
    return alike[0]?.index ?? usable.find((index) => index !== a) ?? a;
}
