// The log's query parameters for the selection and the filter bar.

export interface Filter {
    tokens: [number, number] | null;
    layer: number | null; // -1: ops of no layer
    opType: string | null;
    tensor: string | null; // pattern
    region: { file: number; begin: number; end: number } | null;
    buffer: number | null;
    time: [number, number] | null;
    source: string | null; // DISK or BUFFER
    thread: number | null;
    expert: number | null;
    request: number | null;
}

export interface Sort {
    column: string;
    descending: boolean;
}

// Fixed order of parameters, so that equal filters have equal addresses and cache keys.
export function filterQuery(filter: Filter): string {
    const parts: [string, string | number][] = [];
    if (filter.tokens) parts.push(["tokens", `${filter.tokens[0]}..${filter.tokens[1]}`]);
    if (filter.layer !== null) parts.push(["layer", filter.layer < 0 ? "none" : filter.layer]);
    if (filter.opType) parts.push(["op", filter.opType]);
    if (filter.tensor) parts.push(["tensor", filter.tensor]);
    if (filter.source) parts.push(["source", filter.source]);
    if (filter.region) parts.push(["region", `${filter.region.file}:${Math.floor(filter.region.begin)}..${Math.ceil(filter.region.end)}`]);
    if (filter.buffer !== null) parts.push(["buffer", filter.buffer]);
    if (filter.thread !== null) parts.push(["thread", filter.thread]);
    if (filter.expert !== null) parts.push(["expert", filter.expert]);
    if (filter.request !== null) parts.push(["request", filter.request]);
    if (filter.time) parts.push(["since", Math.floor(filter.time[0])], ["until", Math.ceil(filter.time[1])]);
    return parts.map(([key, value]) => `&${key}=${encodeURIComponent(value)}`).join("");
}

export const sortQuery = (sort: Sort | null) => (sort ? `&sort=${sort.column}${sort.descending ? "&desc=1" : ""}` : "");

// Parses "3", "3..7", "3.." or "..7"; null for an empty text, undefined for an invalid one.
export function parseRange(text: string, most: number): [number, number] | null | undefined {
    const trimmed = text.trim();
    if (trimmed === "") return null;
    const single = /^\d+$/.exec(trimmed);
    if (single) return [Number(trimmed), Number(trimmed)];
    const range = /^(\d*)\s*(?:\.\.|-|–)\s*(\d*)$/.exec(trimmed);
    if (!range || (range[1] === "" && range[2] === "")) return undefined;
    const begin = range[1] === "" ? 0 : Number(range[1]);
    const end = range[2] === "" ? most : Number(range[2]);
    return begin <= end ? [begin, end] : undefined;
}

export const rangeText = (range: [number, number] | null) =>
    range === null ? "" : range[0] === range[1] ? String(range[0]) : `${range[0]}..${range[1]}`;

// Each click: the column's first direction, the other direction, the order of execution.
export function nextSort(sort: Sort | null, column: string, descendingFirst: boolean): Sort | null {
    if (sort?.column !== column) return { column, descending: descendingFirst };
    return sort.descending === descendingFirst ? { column, descending: !descendingFirst } : null;
}
