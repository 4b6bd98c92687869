// Layouts of shapes, computed once and cached: by a worker, or in the page if there is none (a
// report).
import { signal } from "@preact/signals";
import { beginWork } from "../../under-way";
import type { Shape } from "./blocks";
import type { Layout } from "./layout";

declare const REPORT: boolean; // set by build.mjs

const made = new Map<string, Layout>();
let worker: Worker | null = null;
const waiting = new Map<string, () => void>(); // what ends it

// Incremented with every finished layout; `pending` counts unfinished ones.
export const arrived = signal(0);
export const pending = signal(0);
export const failure = signal<string | null>(null);
// Number of nodes laid out since the page was opened. Layers with the same shape count once.
export const nodesLaidOut = signal(0);

export const layoutOf = (shape: Shape): Layout | undefined => made.get(shape.signature);

export function wantLayouts(shapes: Iterable<Shape>): void {
    const missing = [...new Map([...shapes].map((shape) => [shape.signature, shape])).values()].filter(
        (shape) => !made.has(shape.signature) && !waiting.has(shape.signature),
    );
    if (missing.length === 0) return;
    failure.value = null;
    for (const shape of missing) waiting.set(shape.signature, beginWork());
    pending.value = waiting.size;
    if (REPORT) void layOutHere(missing);
    else theWorker().postMessage(missing);
}

// Cancels pending layouts. Finished ones stay.
export function stopLayouts(): void {
    if (waiting.size === 0) return;
    worker?.terminate();
    worker = null;
    waiting.forEach((over) => over());
    waiting.clear();
    pending.value = 0;
}

function keep(signature: string, layout: Layout): void {
    const over = waiting.get(signature);
    if (!over) return;
    waiting.delete(signature);
    made.set(signature, layout);
    nodesLaidOut.value += layout.x.length;
    pending.value = waiting.size;
    arrived.value++;
    over();
}

function fail(message: string): void {
    stopLayouts();
    failure.value = `The graph could not be laid out: ${message}`;
}

function theWorker(): Worker {
    if (worker === null) {
        worker = new Worker("./worker.js");
        worker.onmessage = ({ data }: MessageEvent<{ signature: string; layout: Layout }>) => keep(data.signature, data.layout);
        worker.onerror = (event) => fail(event.message || "its worker did not start");
    }
    return worker;
}

// One shape at a time, so that the page stays responsive.
async function layOutHere(shapes: Shape[]): Promise<void> {
    const { layoutShape } = await import("./layout");
    for (const shape of shapes) {
        await new Promise((resolve) => setTimeout(resolve));
        if (waiting.has(shape.signature)) keep(shape.signature, layoutShape(shape));
    }
}
