// What the server says of two recordings.

export type Verdict = "same" | "noise" | "uncertain" | "slower" | "faster";

export interface Side {
    ops: number;
    wall_ns: number;
    median_ns: number;
    read: number;
}

export interface Item {
    prompt: boolean;
    layer: number | null; // null: none; -2: all layers together
    op: string;
    tensor: string;
    a: Side;
    b: Side;
    verdict: Verdict;
    bytes_differ: number;
}

export interface Step {
    a: { median_ns: number };
    b: { median_ns: number };
    verdict: Verdict;
}

export interface Unmatched {
    side: "a" | "b";
    prompt: boolean;
    layer: number | null;
    op: string;
    tensor: string;
    ops: number;
}

export interface Comparison {
    warnings: string[];
    identical: boolean;
    tokens: number;
    only_a: number;
    only_b: number;
    shift: number;
    prompt: Step | null;
    generate: Step | null;
    items: Item[];
    unmatched: Unmatched[];
}

export const ALL_LAYERS = -2;

export const words: Record<Verdict, string> = {
    same: "the same",
    noise: "within the noise",
    uncertain: "too few values to tell",
    slower: "slower in B",
    faster: "faster in B",
};

// B against A: 0.25 is a quarter more; null where A has no time.
export const change = (a: number, b: number) => (a > 0 ? b / a - 1 : null);

export function changeText(a: number, b: number): string {
    const ratio = change(a, b);
    if (ratio === null) return "-";
    const percent = ratio * 100;
    return `${percent > 0 ? "+" : percent < 0 ? "−" : "±"}${Math.abs(percent).toFixed(1)} %`;
}

// How much of the whole time a difference is: what one would win or lose by it.
export const effect = (item: Item) => item.b.wall_ns - item.a.wall_ns;

export interface Threshold {
    least: number; // share that a change must have
    noise: boolean; // also what lies within the noise
    layers: boolean; // layer by layer instead of all together
}

export function shownItems(items: readonly Item[], threshold: Threshold): Item[] {
    return items.filter((item) => {
        if ((item.layer === ALL_LAYERS) === threshold.layers) return false;
        const clear = item.verdict === "slower" || item.verdict === "faster" || item.bytes_differ > 0;
        if (!clear && !threshold.noise) return false;
        return item.bytes_differ > 0 || Math.abs(change(item.a.median_ns, item.b.median_ns) ?? 0) >= threshold.least;
    });
}

// Ops without a counterpart are told of all layers together and layer by layer, too.
export const shownUnmatched = (rows: readonly Unmatched[], threshold: Threshold) =>
    rows.filter((row) => (row.layer === ALL_LAYERS) !== threshold.layers);
