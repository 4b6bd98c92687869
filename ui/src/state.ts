// The state of the page: the experiment, the view, and one selection for all views. It is stored in
// the URL's fragment, so a copied address shows the same:
//     #x=ID&view=memory&tokens=3..5&layer=2&tensor=blk.2.attn_q.weight&expert=7&type=MUL_MAT
//     &op=RUN.NODE&region=FILE:BEGIN..END&buffer=4&lane=1&time=BEGIN..END&request=3
// and what each view adds with kept(): zoom, order, switches. #view=library is the list of all
// experiments.
import { batch, computed, effect, type Signal, signal } from "@preact/signals";
import type { Experiment, Summary } from "./api";
import { Later } from "./under-way";

export const views = ["memory", "timeline", "graph", "log", "statistics", "compare", "storage", "experts", "values"] as const;
export type View = (typeof views)[number];

export interface Selection {
    tokens: [number, number] | null; // token steps, inclusive
    layer: number | null; // -1: outside of layers
    tensor: string | null;
    opType: string | null;
    op: { run: number; node: number } | null;
    region: { file: number; begin: number; end: number } | null; // bytes of a model file, end exclusive
    buffer: number | null;
    expert: number | null; // of the layer, or of every layer
    lane: number | null; // number of the lane in the summary
    time: [number, number] | null; // ns
    request: number | null; // of a server
}

export const nothing: Readonly<Selection> = Object.freeze({
    tokens: null,
    layer: null,
    tensor: null,
    opType: null,
    op: null,
    region: null,
    buffer: null,
    expert: null,
    lane: null,
    time: null,
    request: null,
});

export const experiments = signal<Experiment[]>([]);
export const current = signal(0);
export const summary = signal<Summary | null>(null);
export const view = signal<View>("timeline");
export const selection = signal<Selection>({ ...nothing });
// True if the list of all experiments is shown.
export const library = signal(false);

// The experiment that the fragment names and the page does not have, or null.
export const missing = signal<string | null>(null);

// True while playback steps through ops: the address is written when it stops.
export const moving = signal(false);

export const experiment = computed<Experiment | null>(() => experiments.value[current.value] ?? null);

export function select(partial: Partial<Selection>): void {
    selection.value = { ...selection.value, ...partial };
}

export function clearSelection(): void {
    selection.value = { ...nothing };
}

export function isSelected(): boolean {
    return Object.values(selection.value).some((part) => part !== null);
}

// Shows another experiment and clears the selection, which has no meaning there.
export function show(index: number): void {
    batch(() => {
        library.value = false;
        if (index === current.value && missing.value === null) return;
        current.value = index;
        summary.value = null;
        missing.value = null;
        clearSelection();
        forgetKept();
    });
}

// The path of a request about the shown experiment: here("heat", { tokens: "3..5" }). Parameters
// that are null are omitted.
export function here(route: string, parameters: Parameters = {}): string {
    return there(current.value, route, parameters);
}

export function there(index: number, route: string, parameters: Parameters = {}): string {
    return asked(`/api/x/${index}/${route}`, parameters);
}

export function asked(path: string, parameters: Parameters): string {
    const query = Object.entries(parameters)
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
        .join("&");
    return `${path}${query ? `?${query}` : ""}`;
}

// "3..5" for the `tokens` parameter; null for all tokens.
export function tokensParameter(tokens: [number, number] | null = selection.value.tokens): string | null {
    return tokens && `${tokens[0]}..${tokens[1]}`;
}

// The selected steps, by number and by request, as parameters.
export function chosenSteps(): { tokens: string | null; request: number | null } {
    return { tokens: tokensParameter(), request: selection.value.request };
}

export type Parameters = Record<string, string | number | null | undefined>;

// The same, and everything else that limits answers to some ops: layer, op, tensor, expert, bytes,
// lane and time.
export function chosenOps(): Parameters {
    const { layer, opType, tensor, expert, region, buffer, lane, time } = selection.value;
    return {
        ...chosenSteps(),
        layer: layer !== null && layer < 0 ? "none" : layer,
        op: opType,
        tensor,
        expert,
        region: region && `${region.file}:${Math.floor(region.begin)}..${Math.ceil(region.end)}`,
        buffer,
        lane,
        since: time && Math.floor(time[0]),
        until: time && Math.ceil(time[1]),
    };
}

// Describes this limit in a caption, after the tokens.
export function narrowedText(): string {
    const { layer, opType, tensor, region, buffer, expert, lane, time } = selection.value;
    const narrows = [layer, opType, tensor, region, buffer, expert, lane, time].some((part) => part !== null);
    return narrows ? ", and of that the ops that the selection leaves" : "";
}

// For pictures that mark bytes, tensors, buffers or times in place: these do not limit the answer.
export function chosenOpsBut(...marked: ("tensor" | "region" | "buffer" | "time" | "lane")[]): Parameters {
    const { since, until, ...rest } = chosenOps();
    return Object.fromEntries(Object.entries({ ...rest, ...(marked.includes("time") ? {} : { since, until }) }).filter(([name]) => !(marked as string[]).includes(name)));
}

// The maximum of rows by token. In a long recording a row sums several tokens and has the number of
// the first.
const rowsByToken = 256;
export function tokensPerRow(tokens: [number, number] | null = selection.value.tokens): number {
    const all = summary.value?.tokens ?? 0;
    return Math.max(1, Math.ceil((tokens ? Math.min(tokens[1], all) - tokens[0] + 1 : all) / rowsByToken));
}
// The path for sums, shared by all parts of the page: of the whole recording, or of `chosen`,
// grouped by `by`.
export function statsPath(by: string | null = null, chosen: Parameters = {}): string {
    const fold = tokensPerRow(chosen.tokens ? selection.value.tokens : null);
    return here("stats", { by, ...chosen, fold: fold > 1 ? fold : null });
}

// ---- the fragment

const range = (pair: readonly [number, number]) => `${pair[0]}..${pair[1]}`;

export function write(id: string, shown: View, chosen: Selection): string {
    const parts: [string, string | null][] = [
        ["x", id || null],
        ["view", shown],
        ["tokens", chosen.tokens && range(chosen.tokens)],
        ["layer", chosen.layer === null ? null : String(chosen.layer)],
        ["tensor", chosen.tensor],
        ["type", chosen.opType],
        ["op", chosen.op && `${chosen.op.run}.${chosen.op.node}`],
        ["region", chosen.region && `${chosen.region.file}:${range([chosen.region.begin, chosen.region.end])}`],
        ["buffer", chosen.buffer === null ? null : String(chosen.buffer)],
        ["expert", chosen.expert === null ? null : String(chosen.expert)],
        ["lane", chosen.lane === null ? null : String(chosen.lane)],
        ["time", chosen.time && range(chosen.time)],
        ["request", chosen.request === null ? null : String(chosen.request)],
    ];
    return parts
        .filter((part): part is [string, string] => part[1] !== null)
        .map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%3A/g, ":")}`)
        .join("&");
}

function numbers(text: string | null, pattern: RegExp): number[] | null {
    const match = text === null ? null : pattern.exec(text);
    if (!match) return null;
    const found = match.slice(1).map(Number);
    return found.every(Number.isSafeInteger) ? found : null;
}

// Parses what write() wrote. Ignores invalid parts: a fragment is untrusted.
export function read(fragment: string): { id: string | null; view: View | null; isLibrary: boolean; selection: Selection } {
    const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
    const ordered = (pair: number[] | null): [number, number] | null =>
        pair && pair[0]! <= pair[1]! ? [pair[0]!, pair[1]!] : null;
    const op = numbers(parameters.get("op"), /^(\d+)\.(\d+)$/);
    const region = numbers(parameters.get("region"), /^(\d+):(\d+)\.\.(\d+)$/);
    const shown = parameters.get("view");
    return {
        id: parameters.get("x"),
        view: views.find((name) => name === shown) ?? null,
        isLibrary: shown === "library",
        selection: {
            tokens: ordered(numbers(parameters.get("tokens"), /^(\d+)\.\.(\d+)$/)),
            layer: numbers(parameters.get("layer"), /^(-1|\d+)$/)?.[0] ?? null,
            tensor: parameters.get("tensor") || null,
            opType: parameters.get("type") || null,
            op: op && { run: op[0]!, node: op[1]! },
            region: region && region[1]! < region[2]! ? { file: region[0]!, begin: region[1]!, end: region[2]! } : null,
            buffer: numbers(parameters.get("buffer"), /^(\d+)$/)?.[0] ?? null,
            expert: numbers(parameters.get("expert"), /^(\d+)$/)?.[0] ?? null,
            lane: numbers(parameters.get("lane"), /^(\d+)$/)?.[0] ?? null,
            time: ordered(numbers(parameters.get("time"), /^(\d+)\.\.(\d+)$/)),
            request: numbers(parameters.get("request"), /^(\d+)$/)?.[0] ?? null,
        },
    };
}

// ---- state of views in the address

interface Kept {
    signal: Signal<unknown>;
    initial: unknown;
    write(value: unknown): string;
    read(text: string): unknown; // undefined: invalid
    stays: boolean; // kept when another experiment is shown
    isZoom: boolean; // undo restores it
}
const everything = new Map<string, Kept>();

// A signal that is stored in the address under `key` while it differs from its initial value. Call
// it once, at module level.
export function kept<T>(key: string, initial: T, codec: { write(value: T): string; read(text: string): T | undefined }, options: Partial<Pick<Kept, "stays" | "isZoom">> = {}): Signal<T> {
    const made = signal(initial);
    everything.set(key, { signal: made as Signal<unknown>, initial, stays: false, isZoom: false, ...options, ...(codec as unknown as Pick<Kept, "write" | "read">) });
    return made;
}

// The zooms of all pictures by key, and a function that restores them.
export const zooms = (): Map<string, unknown> => new Map([...everything].flatMap(([key, one]) => (one.isZoom ? [[key, one.signal.value]] : [])));
export function putZooms(values: ReadonlyMap<string, unknown>): void {
    for (const [key, value] of values) everything.get(key)!.signal.value = value;
}

export const asText = <T extends string>(allowed: readonly T[]) => ({ write: (value: T) => value as string, read: (text: string) => allowed.find((one) => one === text) });
export const asFlag = { write: (value: boolean) => (value ? "1" : "0"), read: (text: string) => (text === "1" ? true : text === "0" ? false : undefined) };
export const asNumber = { write: (value: number | null) => String(value), read: (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined) };
export const asRange = {
    write: (value: [number, number] | null) => (value ? `${Math.floor(value[0])}..${Math.ceil(value[1])}` : ""),
    read: (text: string): [number, number] | undefined => {
        const pair = numbers(text, /^(\d+)\.\.(\d+)$/);
        return pair && pair[0]! < pair[1]! ? [pair[0]!, pair[1]!] : undefined;
    },
};

// The order of a table: "wall_ns" ascending, "-wall_ns" descending.
export const asOrder = {
    write: (value: { key: string; descending: boolean } | null) => (value ? `${value.descending ? "-" : ""}${value.key}` : ""),
    read: (text: string) => (/^-?\w{1,40}$/.test(text) ? { key: text.replace("-", ""), descending: text.startsWith("-") } : undefined),
};
export const asSet = { write: (value: ReadonlySet<string>) => [...value].join(","), read: (text: string): ReadonlySet<string> => new Set(text.split(",").filter(Boolean).slice(0, 500)) };
export const asNumbers = {
    write: (value: readonly number[]) => value.map(Math.round).join(","),
    read: (text: string): number[] | undefined => (/^\d{1,15}(,\d{1,15})*$/.test(text) ? text.split(",").map(Number) : undefined),
};
export const asAnyText = { write: (value: string) => value, read: (text: string) => text.slice(0, 200) };

export function writeKept(): string {
    return [...everything]
        .map(([key, one]) => [key, one.write(one.signal.value), one.write(one.initial)] as const)
        .filter(([, value, initial]) => value !== initial)
        .map(([key, value]) => `&${key}=${encodeURIComponent(value).replace(/%3A|%2C/g, decodeURIComponent)}`)
        .join("");
}

export function readKept(fragment: string): void {
    const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
    for (const [key, one] of everything) {
        const text = parameters.get(key);
        const value = text === null ? one.initial : one.read(text);
        one.signal.value = value === undefined ? one.initial : value;
    }
}

function forgetKept(): void {
    for (const one of everything.values()) if (!one.stays) one.signal.value = one.initial;
}

// The address as last read or written. Another one comes from the reader; its event is pending, and
// it must not be overwritten.
let knownAddress = "";
const isReaders = () => location.hash !== knownAddress;

function restore(): void {
    later.cancel();
    knownAddress = location.hash;
    const wanted = read(knownAddress);
    batch(() => {
        const index = experiments.value.findIndex((candidate) => candidate.experiment_id === wanted.id);
        missing.value = wanted.id !== null && index < 0 ? wanted.id : null;
        // For a served folder, an address that names neither an experiment nor a view shows the
        // list.
        library.value = wanted.isLibrary || (wanted.id === null && wanted.view === null && experiments.value.some((one) => one.found));
        if (index >= 0 && index !== current.value) show(index);
        if (wanted.view) view.value = wanted.view;
        if (missing.value !== null) return;
        selection.value = wanted.selection;
        readKept(knownAddress);
    });
}

// Minimum milliseconds between writes, because browsers limit the rate. Zooming changes the state
// with every frame.
const pause = 100;
const later = new Later();
let written = 0;

function replaceSoon(fragment: string): void {
    if (fragment === location.hash) return;
    const put = () => {
        if (isReaders()) return;
        written = performance.now();
        history.replaceState(null, "", fragment);
        knownAddress = location.hash;
    };
    const wait = written + pause - performance.now();
    if (wait <= 0) put();
    else later.set(wait, put);
}

// Call once, after the experiments are loaded. A change of the view or experiment is a step in the
// browser's history; a change of the selection is not.
export function mirrorInAddress(): void {
    restore();
    window.addEventListener("hashchange", restore);
    window.addEventListener("popstate", restore);
    const placeNow = () => (library.value ? "library" : `${current.value} ${view.value}`);
    let step = placeNow();
    effect(() => {
        if (moving.value) return;
        if (missing.value !== null) return; // keeps the address that names it
        const place = library.value ? "view=library" : write(experiment.value?.experiment_id ?? "", view.value, selection.value);
        const fragment = `#${place}${writeKept()}`;
        const here = placeNow();
        later.cancel();
        if (isReaders()) return;
        if (here !== step) {
            if (fragment !== location.hash) history.pushState(null, "", fragment);
            knownAddress = location.hash;
        } else replaceSoon(fragment);
        step = here;
    });
}
