// The shared state of the timeline: the scene, set by each render, and values that change faster
// than renders.
import type { Signal } from "@preact/signals";
import type { OpAnswer, Summary } from "../../api";
import type { Steps } from "../../shell/Scrubber";
import type { Held } from "./data";
import { type Curve, levelHeight, requestHeight } from "./draw";
import type { RequestBar, RequestLane } from "./requests";
import type { Segment } from "./levels";
import type { LaneGroup } from "./processes";
import type { Strip } from "./strips";
import type { Span } from "./window";

export type TimedOp = OpAnswer & { begin_ns: number; duration_ns: number };
export const timed = (op: OpAnswer | null | undefined): TimedOp | null => (op && op.begin_ns !== null && op.duration_ns !== null ? (op as TimedOp) : null);

export interface Scene {
    held: Held | null;
    ruler: Steps | null;
    curves: Curve[];
    lanes: Summary["lanes"];
    levels: ("run" | "layer")[]; // rows above the lanes
    requests: RequestLane[]; // rows above those
    groups: LaneGroup[]; // processes, if there are several
    bounds: Span | null;
    fit: Span | null; // what "fit" shows
    op: TimedOp | null; // the selected one, if it has times
    tokens: [number, number] | null; // when the selected ones ran
    pauses: Span[]; // when nothing was recorded
    notes: { at: number; text: string }[]; // moments that were marked in the recording
    uses: (readonly [number, number])[]; // when ops touched the selected tensor, expert or bytes
    moreUses: number; // number of omitted uses
    width: number; // pixels
    height: number;
    left: number; // of the lanes
    inner: number; // their width
    top: number;
    laneHeight: number;
    laneStep: number;
    lanesBottom: number;
    curveHeight: number;
}

export interface Hover {
    x: number; // in the page
    y: number;
    lane: number;
    row: number; // of the current answer; -1: none
    curve: number; // -1: none
    bar: RequestBar | null; // of a request
    time: number;
}

export interface Stage {
    scene: Scene;
    canvas: HTMLCanvasElement | null;
    span: Signal<Span | null>;
    hover: Signal<Hover | null>;
    drag: Signal<{ from: number; to: number; y: number; pans: boolean } | null>;
    marks: Signal<number[]>;
    layers: Segment[]; // as they are drawn
    strips: Map<number, Strip>; // by lane, as drawn last
    cursor: { lane: number; time: number } | null; // position of the arrow keys
}

export function timeAt({ scene, span }: Stage, x: number): number {
    const shown = span.peek()!;
    return shown.begin + ((x - scene.left) / scene.inner) * (shown.end - shown.begin);
}

// The upper edge of a row of requests.
export const requestTop = ({ top, levels, requests }: Scene, row: number): number => top - levels.length * levelHeight - (requests.length - row) * requestHeight;
