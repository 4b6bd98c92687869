// State of the log in addition to the shared selection. Both are in the address.
import { kept, selection, summary } from "../../state";
import type { Sort } from "./filter";

const sources = ["DISK", "BUFFER", "VRAM"] as const;
export const logSource = kept<string | null>("source", null, { write: String, read: (text) => sources.find((one) => one === text) });

// "duration_ns", or "-duration_ns" for the largest first.
export const logSort = kept<Sort | null>("sort", null, {
    write: (sort) => (sort ? `${sort.descending ? "-" : ""}${sort.column}` : ""),
    read: (text) => (/^-?[a-z_]+$/.test(text) ? { column: text.replace("-", ""), descending: text.startsWith("-") } : undefined),
});

// The thread of the selected lane.
export function threadOfLane(): number | null {
    const { lane } = selection.value;
    return lane === null ? null : (summary.value?.lanes.find((one) => one.lane === lane)?.thread ?? null);
}

// The first row in sight.
export const logTop = kept("top", 0, { write: String, read: (text) => (/^\d{1,12}(\.\d{1,2})?$/.test(text) ? Number(text) : undefined) });
