// Keyboard and pointer input of the timeline.
import { density } from "../../colours";
import { time, plural } from "../../format";
import type { KeyMap } from "../../keys";
import { announce } from "../../shell/Announce";
import type { Steps } from "../../shell/Scrubber";
import { select, selection } from "../../state";
import { levelHeight, requestHeight, rulerHeight } from "./draw";
import { type RequestBar, describeBar } from "./requests";
import { type Hover, requestTop, type Stage, timeAt } from "./stage";
import { type Answered, opAt, type Strip } from "./strips";
import { around, panned, zoomed } from "./window";
import { stepRange } from "../../step";

// ---- the window

function zoomBy({ scene, span }: Stage, factor: number, part: number): void {
    const shown = span.peek();
    if (shown && scene.bounds) span.value = zoomed(shown, factor, part, scene.bounds);
}

function panBy({ scene, span }: Stage, part: number): void {
    const shown = span.peek();
    if (shown && scene.bounds) span.value = panned(shown, (shown.end - shown.begin) * part, scene.bounds);
}

export function fit({ scene, span }: Stage): void {
    if (scene.fit) span.value = scene.fit;
}

function show({ scene, span }: Stage, begin: number, end: number): void {
    if (scene.bounds) span.value = around(begin, end, scene.bounds);
}

function focus(stage: Stage): void {
    const { op, tokens } = stage.scene;
    const to = op ? ([op.begin_ns, op.begin_ns + op.duration_ns] as const) : (selection.peek().time ?? tokens);
    if (to) show(stage, to[0], to[1]);
    else announce("Select tokens, an op or a stretch of time first.");
}

// Sets a mark at the pointer, else at the selection, else in the middle; removes a mark that is
// already there.
function mark(stage: Stage): void {
    const { scene, span, hover, marks } = stage;
    const shown = span.peek();
    if (!shown) return;
    const at = hover.peek()?.time ?? selection.peek().time?.[0] ?? scene.op?.begin_ns ?? (shown.begin + shown.end) / 2;
    const near = marks.peek().find((one) => Math.abs(one - at) < ((shown.end - shown.begin) / scene.inner) * 4);
    marks.value = near === undefined ? [...marks.peek().slice(-7), at] : marks.peek().filter((one) => one !== near);
    announce(near === undefined ? `mark at ${time(at)}` : "mark removed");
}

// The pointer's position between the window's edges; the middle if it is outside.
function pointed({ hover, span }: Stage): number {
    const [at, shown] = [hover.peek(), span.peek()];
    return at && shown ? (at.time - shown.begin) / (shown.end - shown.begin) : 0.5;
}

export function keysOf(stage: Stage): KeyMap {
    return {
        KeyW: () => zoomBy(stage, 1.6, pointed(stage)),
        KeyS: () => zoomBy(stage, 1 / 1.6, pointed(stage)),
        KeyA: () => panBy(stage, -0.2),
        KeyD: () => panBy(stage, 0.2),
        KeyF: () => focus(stage),
        Digit0: () => fit(stage),
        KeyM: () => mark(stage),
    };
}

// ---- the pointer

function place({ canvas }: Stage, event: MouseEvent): [number, number] {
    const frame = canvas!.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
}

// The op at a column of pixels, or within two pixels of it.
function nearRow(strip: Strip, column: number): number {
    for (const by of [0, -1, 1, -2, 2]) if ((strip.row[column + by] ?? -1) >= 0) return strip.row[column + by]!;
    return -1;
}

// The request at a point of the canvas.
function barAt(stage: Stage, x: number, y: number): RequestBar | null {
    const { scene } = stage;
    const row = Math.floor((y - requestTop(scene, 0)) / requestHeight);
    const ns = timeAt(stage, x);
    return scene.requests[row]?.bars.find(({ begin, end }) => ns >= begin && ns <= end) ?? null;
}

function hoverAt(stage: Stage, event: MouseEvent): Hover | null {
    const { scene, span, strips } = stage;
    const [x, y] = place(stage, event);
    if (!span.peek() || x < scene.left) return null;
    const lane = scene.lanes[Math.floor((y - scene.top) / scene.laneStep)];
    const strip = lane && (y - scene.top) % scene.laneStep < scene.laneHeight ? strips.get(lane.lane) : undefined;
    const row = strip ? nearRow(strip, Math.floor((x - scene.left) * density())) : -1;
    const below = y - scene.lanesBottom - 4;
    const curve = below >= 0 && Math.floor(below / (scene.curveHeight + 5)) < scene.curves.length ? Math.floor(below / (scene.curveHeight + 5)) : -1;
    return { x: event.clientX, y: event.clientY, lane: y >= scene.top && y < scene.lanesBottom ? (lane?.lane ?? -1) : -1, row, curve, bar: barAt(stage, x, y), time: timeAt(stage, x) };
}

function stepAt(steps: Steps, ns: number): number {
    for (let i = 0; i < steps.rows; i++) if (ns >= steps.base + steps.begin[i]! && ns <= steps.base + steps.end[i]!) return i;
    return -1;
}

function takeToken(steps: Steps | null, ns: number): void {
    const i = steps ? stepAt(steps, ns) : -1;
    if (!steps || i < 0) return;
    select({ tokens: [steps.first[i]!, steps.last[i]!] });
    announce(stepRange([steps.first[i]!, steps.first[i]!]));
}

function takeOp(stage: Stage, at: Hover | null): void {
    const { held } = stage.scene;
    if (!at || at.row < 0 || !held) return select({ op: null, time: null });
    const op = opAt(held.data, at.row);
    if (op.run === 0) return select({ op: null, time: null });
    stage.cursor = { lane: at.lane, time: op.begin };
    select({ op: { run: op.run, node: op.node } });
}

// A press on a lane's name.
function takeLane({ scene }: Stage, y: number): void {
    const lane = y >= scene.top ? scene.lanes[Math.floor((y - scene.top) / scene.laneStep)] : undefined;
    if (!lane) return;
    select({ lane: selection.peek().lane === lane.lane ? null : lane.lane });
    announce(selection.peek().lane === null ? "all lanes" : lane.label);
}

function takeRequest(bar: RequestBar): void {
    const request = bar.request?.request ?? null;
    const isChosen = request !== null && selection.peek().request === request;
    select(isChosen ? { request: null, time: null } : { request, time: [bar.begin, bar.end] });
    announce(describeBar(bar));
}

// A press on the row of layers.
function takeLayer({ scene, layers }: Stage, x: number): void {
    const at = (x - scene.left) * density();
    const found = layers.find((one) => one.value >= 0 && at >= one.x0 && at < one.x1);
    if (!found) return;
    select({ layer: selection.peek().layer === found.value ? null : found.value });
    announce(selection.peek().layer === null ? "all layers" : `layer ${found.value}`);
}

function takeTime(stage: Stage, a: number, b: number): void {
    const chosen: [number, number] = [Math.round(timeAt(stage, Math.min(a, b))), Math.round(timeAt(stage, Math.max(a, b)))];
    select({ time: chosen, op: null, tensor: null, buffer: null });
    announce(`${time(chosen[1] - chosen[0])} selected`);
}

function zoomTo(stage: Stage, event: MouseEvent): void {
    const { ruler, held } = stage.scene;
    const [x, y] = place(stage, event);
    if (y < rulerHeight) {
        const i = ruler ? stepAt(ruler, timeAt(stage, x)) : -1;
        if (ruler && i >= 0) show(stage, ruler.base + ruler.begin[i]!, ruler.base + ruler.end[i]!);
        return;
    }
    const at = hoverAt(stage, event);
    if (!at || at.row < 0 || !held) return zoomBy(stage, 4, pointed(stage));
    const op = opAt(held.data, at.row);
    show(stage, op.begin, op.begin + (held.data.isRaw ? op.duration : held.data.binNs));
}

// Two fingers: keeps the times below them.
function pinch(stage: Stage, touches: Map<number, number>, id: number, x: number): void {
    const [a, b] = [...touches.values()] as [number, number];
    const other = [...touches].find(([key]) => key !== id)![1];
    touches.set(id, x);
    const [before, now] = [Math.abs(a - b), Math.abs(x - other)];
    const { left, inner } = stage.scene;
    if (before > 4 && now > 4) zoomBy(stage, now / before, Math.max(0, Math.min(1, ((x + other) / 2 - left) / inner)));
    const moved = (x + other - a - b) / 2;
    if (moved !== 0) panBy(stage, -moved / inner);
}

export function handlersOf(stage: Stage) {
    const { drag, hover } = stage;
    const touches = new Map<number, number>(); // fingers: where each is
    return {
        onPointerCancel(event: PointerEvent) {
            touches.delete(event.pointerId);
            drag.value = null;
        },
        onPointerMove(event: PointerEvent) {
            if (touches.size === 2 && touches.has(event.pointerId)) return pinch(stage, touches, event.pointerId, place(stage, event)[0]);
            if (touches.has(event.pointerId)) touches.set(event.pointerId, place(stage, event)[0]);
            const pulled = drag.peek();
            if (!pulled) return void (hover.value = hoverAt(stage, event));
            const [x] = place(stage, event);
            if (pulled.pans) panBy(stage, (pulled.to - x) / stage.scene.inner);
            drag.value = { ...pulled, to: x };
            hover.value = null;
        },
        onPointerLeave() {
            hover.value = null;
        },
        onPointerDown(event: PointerEvent) {
            const [x, y] = place(stage, event);
            if (event.button === 0 && x < stage.scene.left) takeLane(stage, y);
            if (event.button !== 0 || x < stage.scene.left) return;
            stage.canvas!.setPointerCapture(event.pointerId);
            if (event.pointerType === "touch") touches.set(event.pointerId, x);
            drag.value = touches.size > 1 ? null : { from: x, to: x, y, pans: event.shiftKey };
        },
        onPointerUp(event: PointerEvent) {
            const pulled = drag.peek();
            touches.delete(event.pointerId);
            drag.value = null;
            if (!pulled || pulled.pans) return;
            if (Math.abs(pulled.to - pulled.from) > 3) takeTime(stage, pulled.from, pulled.to);
            else if (barAt(stage, pulled.from, pulled.y)) takeRequest(barAt(stage, pulled.from, pulled.y)!);
            else if (pulled.y >= stage.scene.top - levelHeight && pulled.y < stage.scene.top && stage.layers.length > 0) takeLayer(stage, pulled.from);
            else if (pulled.y < rulerHeight) takeToken(stage.scene.ruler, timeAt(stage, pulled.from));
            else takeOp(stage, hoverAt(stage, event));
        },
        onDblClick: (event: MouseEvent) => zoomTo(stage, event),
        onWheel(event: WheelEvent) {
            const { left, inner } = stage.scene;
            if (event.ctrlKey) {
                event.preventDefault();
                zoomBy(stage, Math.exp(-event.deltaY / 250), Math.max(0, Math.min(1, (place(stage, event)[0] - left) / inner)));
            } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
                event.preventDefault();
                panBy(stage, (event.deltaX || event.deltaY) / inner);
            }
        },
        onKeyDown: (event: KeyboardEvent) => walk(stage, event),
    };
}

// ---- arrow keys: from op to op, from lane to lane

function firstFrom(rows: Uint32Array, data: Answered, ns: number): number {
    let low = 0;
    let high = rows.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (data.base + data.begin[rows[middle]!]! < ns) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The target of a key: a lane and its row, null if there is none. Found by time, because row
// numbers differ between answers.
function nextPlace({ scene, span, cursor }: Stage, code: string): { lane: number; row: number } | null {
    const { data } = scene.held!;
    const at = cursor ?? { lane: scene.lanes[0]!.lane, time: span.peek()!.begin };
    const sideways = code === "ArrowRight" ? 1 : code === "ArrowLeft" ? -1 : 0;
    const vertically = code === "ArrowDown" ? 1 : code === "ArrowUp" ? -1 : 0;
    const lane = scene.lanes[scene.lanes.findIndex((one) => one.lane === at.lane) + vertically]?.lane;
    const rows = lane === undefined ? undefined : data.lanes.get(lane);
    if (lane === undefined || !rows || rows.length === 0) return null;
    let i = firstFrom(rows, data, at.time);
    const isThere = i < rows.length && data.base + data.begin[rows[i]!]! === at.time;
    if (sideways < 0 || (sideways > 0 && isThere && cursor)) i += sideways;
    if (vertically) i = Math.min(i, rows.length - 1);
    return i >= 0 && i < rows.length ? { lane, row: rows[i]! } : null;
}

function walk(stage: Stage, event: KeyboardEvent): void {
    const { scene, span } = stage;
    if (event.ctrlKey || event.altKey || event.metaKey || !scene.held || scene.lanes.length === 0 || !span.peek()) return;
    if (!/^Arrow(Left|Right|Up|Down)$/.test(event.code)) return;
    event.preventDefault();
    const next = nextPlace(stage, event.code);
    if (!next) return announce("There is none.");
    const op = opAt(scene.held.data, next.row);
    stage.cursor = { lane: next.lane, time: op.begin };
    const shown = span.peek()!;
    if (op.begin < shown.begin || op.begin > shown.end) panBy(stage, (op.begin - (shown.begin + shown.end) / 2) / (shown.end - shown.begin));
    if (op.run !== 0) select({ op: { run: op.run, node: op.node } });
    const label = scene.lanes.find((one) => one.lane === next.lane)?.label ?? "";
    const layer = op.layer !== null && op.layer >= 0 ? `, layer ${op.layer}` : "";
    announce(`${label}, ${op.op}${layer}, ${time(op.duration)}${op.count > 1 ? `, longest of ${plural(op.count, "op run")}` : ""}${op.inner > 0 ? `, waiting inside it ${time(op.inner)}` : ""}${op.stalled > 0 ? `, stalled ${time(op.stalled)}` : ""}${op.diskWait > 0 ? `, waiting for the disk ${time(op.diskWait)}` : ""}`);
}
