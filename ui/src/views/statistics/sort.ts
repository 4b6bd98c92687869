// The order of table rows: numbers by value, texts in natural order ("blk.2" before "blk.10"),
// missing values last.

export type Value = string | number | null | undefined;

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

export function compareValues(a: Value, b: Value): number {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return collator.compare(String(a), String(b));
}

// Stable, and does not change `rows`.
export function sorted<T>(rows: readonly T[], value: (row: T) => Value, descending: boolean): T[] {
    const missing = (v: Value) => v === null || v === undefined || Number.isNaN(v);
    return rows
        .map((row, i) => ({ row, i, v: value(row) }))
        .sort((a, b) => {
            if (missing(a.v) || missing(b.v)) return Number(missing(a.v)) - Number(missing(b.v)) || a.i - b.i;
            const order = compareValues(a.v, b.v);
            return (descending ? -order : order) || a.i - b.i;
        })
        .map((entry) => entry.row);
}
