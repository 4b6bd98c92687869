// What the page shows: the experiment, the view, and one selection that drives every view. All of it lives in the URL's fragment, so that
// an address copied from the browser brings another reader to the same place:
//     #x=ID&view=memory&tokens=3..5&layer=2&tensor=blk.2.attn_q.weight&type=MUL_MAT&op=RUN.NODE&region=FILE:BEGIN..END&buffer=4&time=BEGIN..END
import { batch, computed, effect, signal } from "@preact/signals";
import type { Experiment, Summary } from "./api";

export const views = ["memory", "timeline", "graph", "log", "statistics", "compare"] as const;
export type View = (typeof views)[number];

export interface Selection {
    tokens: [number, number] | null; // token steps, inclusive
    layer: number | null; // -1: what belongs to no layer
    tensor: string | null;
    opType: string | null;
    op: { run: number; node: number } | null;
    region: { file: number; begin: number; end: number } | null; // bytes of a model file, end exclusive
    buffer: number | null;
    time: [number, number] | null; // ns
}

export const nothing: Readonly<Selection> = Object.freeze({
    tokens: null,
    layer: null,
    tensor: null,
    opType: null,
    op: null,
    region: null,
    buffer: null,
    time: null,
});

export const experiments = signal<Experiment[]>([]);
export const current = signal(0);
export const summary = signal<Summary | null>(null);
export const view = signal<View>("timeline");
export const selection = signal<Selection>({ ...nothing });

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

// Another experiment: what was selected means nothing there.
export function show(index: number): void {
    if (index === current.value) return;
    batch(() => {
        current.value = index;
        summary.value = null;
        clearSelection();
    });
}

// The path of a request about the experiment that is shown: here("heat", { tokens: "3..5" }). Parameters that are null are left out.
export function here(route: string, parameters: Record<string, string | number | null | undefined> = {}): string {
    return there(current.value, route, parameters);
}

export function there(index: number, route: string, parameters: Record<string, string | number | null | undefined> = {}): string {
    const query = Object.entries(parameters)
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
        .join("&");
    return `/api/x/${index}/${route}${query ? `?${query}` : ""}`;
}

// "3..5" for the `tokens` parameter; null where all are meant.
export function tokensParameter(tokens: [number, number] | null = selection.value.tokens): string | null {
    return tokens && `${tokens[0]}..${tokens[1]}`;
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
        ["time", chosen.time && range(chosen.time)],
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

// Reads what write() wrote. What is not understood is left out: a fragment comes from anywhere.
export function read(fragment: string): { id: string | null; view: View | null; selection: Selection } {
    const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
    const ordered = (pair: number[] | null): [number, number] | null =>
        pair && pair[0]! <= pair[1]! ? [pair[0]!, pair[1]!] : null;
    const op = numbers(parameters.get("op"), /^(\d+)\.(\d+)$/);
    const region = numbers(parameters.get("region"), /^(\d+):(\d+)\.\.(\d+)$/);
    const shown = parameters.get("view");
    return {
        id: parameters.get("x"),
        view: views.find((name) => name === shown) ?? null,
        selection: {
            tokens: ordered(numbers(parameters.get("tokens"), /^(\d+)\.\.(\d+)$/)),
            layer: numbers(parameters.get("layer"), /^(-1|\d+)$/)?.[0] ?? null,
            tensor: parameters.get("tensor") || null,
            opType: parameters.get("type") || null,
            op: op && { run: op[0]!, node: op[1]! },
            region: region && region[1]! < region[2]! ? { file: region[0]!, begin: region[1]!, end: region[2]! } : null,
            buffer: numbers(parameters.get("buffer"), /^(\d+)$/)?.[0] ?? null,
            time: ordered(numbers(parameters.get("time"), /^(\d+)\.\.(\d+)$/)),
        },
    };
}

// The experiment that a fragment asks for and the page does not have, or null.
export const missing = signal<string | null>(null);

function restore(): void {
    const wanted = read(location.hash);
    batch(() => {
        const index = experiments.value.findIndex((candidate) => candidate.experiment_id === wanted.id);
        missing.value = wanted.id !== null && index < 0 ? wanted.id : null;
        if (index >= 0 && index !== current.value) show(index);
        if (wanted.view) view.value = wanted.view;
        if (missing.value === null) selection.value = wanted.selection;
    });
}

// Call once, when the experiments are known. A change of the view or the experiment is a step of the browser's history, a change of the
// selection is not: "back" leads to where the reader came from, not through every click.
export function mirrorInAddress(): void {
    restore();
    window.addEventListener("hashchange", restore);
    window.addEventListener("popstate", restore);
    let step = `${current.value} ${view.value}`;
    effect(() => {
        const fragment = `#${write(experiment.value?.experiment_id ?? "", view.value, selection.value)}`;
        const here = `${current.value} ${view.value}`;
        if (fragment === location.hash) return;
        if (here !== step) history.pushState(null, "", fragment);
        else history.replaceState(null, "", fragment);
        step = here;
    });
}
