// View 2. Tokens, lanes per backend and thread, buffer occupancy and disk reads over time.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { OpAnswer } from "../../api";
import { ask, type Columns, revision, useAsk } from "../../ask";
import { families, opFamily, theme } from "../../colours";
import { count, plural, share, time } from "../../format";
import { registerKeys } from "../../keys";
import { announce } from "../../shell/Announce";
import { paintOn, useWidth } from "../../shell/Canvas";
import { stepsOf, type Steps } from "../../shell/Scrubber";
import { Progress } from "../../shell/Progress";
import { type Table, TableView } from "../../shell/TableView";
import { here, select, selection, summary } from "../../state";
import { spanOf } from "../memory/data";
import { type Curve, axisHeight, drawAxis, drawBand, drawCurve, drawLoss, drawMark, drawRuler, type Frame, inksOf, labelStrip, countStrip, paintStrip, rulerHeight } from "./draw";
import { type Answered, answered, opAt, type Strip, stripOf } from "./strips";
import { around, clamp, panned, type Span, type Tile, tileFor, zoomed } from "./window";
import "./timeline.css";

const countHeight = 13;
const bufferClasses = [
    ["weights", "weights"],
    ["kv", "KV cache"],
    ["compute", "compute"],
    ["io", "input and output"],
    ["other", "other"],
] as const;

// Lanes and curves share what room the window has; many lanes get what they need, and the page scrolls.
function heightsFor(room: number, lanes: number, curves: number): { lane: number; curve: number } {
    const [leastLane, mostLane, leastCurve, mostCurve] = [lanes > 24 ? 16 : lanes > 8 ? 22 : 34, 96, 40, 90];
    const fixed = rulerHeight + axisHeight + 10 + lanes * (countHeight + 3) + curves * 5;
    const left = room - fixed - lanes * leastLane - curves * leastCurve;
    if (left <= 0 || lanes + curves === 0) return { lane: leastLane, curve: leastCurve };
    const each = left / (lanes + curves);
    return { lane: Math.floor(Math.min(mostLane, leastLane + each)), curve: Math.floor(Math.min(mostCurve, leastCurve + each)) };
}

interface Held {
    tile: Tile;
    data: Answered;
}

interface Hover {
    x: number; // client
    y: number;
    lane: number;
    row: number;
    time: number;
}

// The tile that covers the window, asked for anew when the window leaves it. What is shown stays until the answer is there.
function useTile(tile: Tile | null): { held: Held | null; problem: string | null } {
    const [held, hold] = useState<Held | null>(null);
    const [problem, setProblem] = useState<string | null>(null);
    const path = tile && here("timeline", { begin: tile.begin, end: tile.end, pixels: tile.pixels });
    const now = revision.value;
    useEffect(() => {
        if (!path || !tile) return;
        const abort = new AbortController();
        ask<Columns>(path, abort.signal).then(
            (columns) => {
                if (abort.signal.aborted) return;
                hold({ tile, data: answered(columns) });
                setProblem(null);
            },
            (error: Error) => !abort.signal.aborted && setProblem(error.message),
        );
        return () => abort.abort();
    }, [path, now]);
    return { held, problem };
}

function curvesOf(occupancy: Columns | null, curves: Columns | null): Curve[] {
    const list: Curve[] = [];
    const colours = theme();
    if (occupancy && occupancy.rows > 0) {
        const [begin, end] = [Number(occupancy.header["begin"] ?? 0), Number(occupancy.header["end"] ?? 0)];
        const layers = bufferClasses.filter(([name]) => occupancy.has(name)).map(([name]) => ({ values: occupancy.column(name), colour: colours[name] }));
        list.push({ name: "buffers", most: "bytes", layers, begin, step: (end - begin) / occupancy.rows, isBars: false });
    }
    if (curves && curves.rows > 0) {
        const step = Number(curves.header["bin_ns"] ?? (Number(curves.header["end"]) - Number(curves.header["begin"])) / curves.rows);
        const one = (column: string, name: string, most: Curve["most"], colour: string) => {
            if (curves.has(column)) list.push({ name, most, layers: [{ values: curves.column(column), colour }], begin: curves.base_ns, step, isBars: true });
        };
        one("disk", "file reads", "rate", opFamily("GET_ROWS").colour);
        one("requests", "disk requests", "rate", opFamily("ARGSORT").colour);
        one("faults", "page faults", "count", opFamily("RMS_NORM").colour);
        one("stalled", "stalled", "ns", colours.warn);
    }
    return list;
}

// Where several tokens share an entry, those of the tile are asked for by themselves, one by one if they are few enough.
function closerPath(steps: Steps | null, tile: Tile | null): string | null {
    if (!steps || !tile) return null;
    let from = Infinity;
    let to = -1;
    let isFolded = false;
    for (let i = 0; i < steps.rows; i++) {
        if (steps.base + steps.end[i]! < tile.begin || steps.base + steps.begin[i]! > tile.end) continue;
        from = Math.min(from, steps.first[i]!);
        to = Math.max(to, steps.last[i]!);
        isFolded ||= steps.first[i] !== steps.last[i];
    }
    return isFolded && to - from < steps.last[steps.rows - 1]! ? here("tokens", { bins: 1000, from, to }) : null;
}

// From the first token to the last, with a little air.
function fitFor(steps: Steps, bounds: Span): Span {
    if (steps.rows === 0) return bounds;
    const [begin, end] = [steps.base + steps.begin[0]!, steps.base + steps.end[steps.rows - 1]!];
    const air = (end - begin) * 0.01;
    return clamp({ begin: begin - air, end: end + air }, bounds);
}

function tableOf(held: Held | null, span: Span, lanes: { lane: number; label: string }[]): Table {
    const rows: (string | number)[][] = [];
    const most = 500;
    let more = 0;
    for (const { lane, label } of lanes) {
        for (const row of held?.data.lanes.get(lane) ?? []) {
            const op = opAt(held!.data, row);
            if (op.begin >= span.end || op.begin + held!.data.length(row) <= span.begin) continue;
            if (rows.length < most) rows.push([label, time(op.begin), op.op, op.layer === null || op.layer < 0 ? "" : op.layer, time(op.duration), time(op.wait), op.count]);
            else more++;
        }
    }
    return { caption: held?.data.isRaw === false ? "Folded: the longest op of each stretch, and how many ops it stands for" : "Op runs in the window", columns: ["lane", "begin", "op", "layer", "duration", "wait", "op runs"], rows, more };
}

export default function Timeline() {
    const about = summary.value;
    const [box, width] = useWidth();
    const [room, setRoom] = useState(0);
    const canvas = useRef<HTMLCanvasElement>(null);
    const bounds: Span | null = about && about.end_ns > about.begin_ns ? { begin: about.begin_ns, end: about.end_ns } : null;
    const span = useSignal<Span | null>(null);
    const hover = useSignal<Hover | null>(null);
    const drag = useSignal<{ from: number; to: number; pans: boolean; y: number } | null>(null);
    const marks = useSignal<number[]>([]);
    const cursor = useRef<{ lane: number; row: number } | null>(null);
    const [tile, setTile] = useState<Tile | null>(null);
    const { held, problem } = useTile(tile);
    const stepsAnswer = useAsk<Columns>(here("tokens", { bins: 1000 }), { keep: true });
    const occupancy = useAsk<Columns>(here("occupancy", { bins: 1000 }), { keep: true });
    const curvesAnswer = useAsk<Columns>(tile && here("curves", { begin: tile.begin, end: tile.end, pixels: Math.min(2048, tile.pixels) }), { keep: true });
    const chosenOp = useAsk<OpAnswer>(selection.value.op && here("op", selection.value.op), { keep: true });
    const steps = useMemo<Steps | null>(() => (stepsAnswer.data ? stepsOf(stepsAnswer.data) : null), [stepsAnswer.data]);
    const closer = useAsk<Columns>(closerPath(steps, tile), { keep: true });
    const ruler = useMemo<Steps | null>(() => (closer.data && closerPath(steps, tile) ? stepsOf(closer.data) : steps), [closer.data, steps, tile]);
    const curves = curvesOf(occupancy.data, curvesAnswer.error ? null : curvesAnswer.data);
    const lanes = about?.lanes ?? [];
    const left = width < 600 ? 84 : 124;
    const inner = Math.max(1, width - left);
    const { lane: laneHeight, curve: curveHeight } = heightsFor(room, lanes.length, curves.length);
    const laneStep = laneHeight + countHeight + 3;
    const top = rulerHeight + axisHeight + 2;
    const lanesBottom = top + lanes.length * laneStep;
    const height = lanesBottom + 4 + curves.length * (curveHeight + 5);
    const strips = useRef(new Map<number, Strip>());

    // The first look fits the tokens: loading the model can take far longer. A live recording grows under a window that shows all of it.
    const shownBounds = useRef<Span | null>(null);
    const fitted = useRef<Span | null>(null);
    shownBounds.current = bounds;
    if (bounds && steps) {
        const fit = fitFor(steps, bounds);
        const now = span.peek();
        const isFirst = fitted.current === null;
        if (isFirst || (now && now.begin === fitted.current!.begin && now.end === fitted.current!.end))
            if (isFirst && selection.peek().time) span.value = around(...selection.peek().time!, bounds);
            else if (!now || now.begin !== fit.begin || now.end !== fit.end) span.value = fit;
        fitted.current = fit;
    }
    const fit = () => fitted.current && change(fitted.current);
    const scene = useRef({ held, ruler, curves, lanes, left, inner, laneHeight, laneStep, top, lanesBottom, curveHeight, height, width, op: chosenOp.data });
    scene.current = { held, ruler, curves, lanes, left, inner, laneHeight, laneStep, top, lanesBottom, curveHeight, height, width, op: selection.value.op ? chosenOp.data : null };

    const frameAsked = useRef(0);
    const schedule = () => {
        if (frameAsked.current) return;
        frameAsked.current = requestAnimationFrame(() => {
            frameAsked.current = 0;
            paint();
        });
    };

    const paint = () => {
        const now = scene.current;
        const shown = span.peek();
        if (!canvas.current || !shown || now.width <= 0) return;
        canvas.current.style.height = `${now.height}px`;
        paintOn(canvas.current, now.width, now.height, (context, _w, _h, colours) => {
            const frame: Frame = { context, colours, span: shown, left: now.left, width: now.inner, ratio: window.devicePixelRatio || 1 };
            const chosen = selection.peek();
            drawAxis(frame, now.height);
            paintLanes(frame, now);
            if (now.ruler) drawRuler(frame, now.ruler, chosen.tokens, summary.peek()?.slowest_token?.token ?? -1);
            now.curves.forEach((curve, i) => drawCurve(frame, curve, now.lanesBottom + 4 + i * (now.curveHeight + 5), now.curveHeight));
            if (chosen.time) drawBand(frame, chosen.time[0], chosen.time[1], rulerHeight, now.height);
            if (now.op) drawBand(frame, now.op.begin_ns, now.op.end_ns, rulerHeight + axisHeight, now.lanesBottom);
            const pulled = drag.peek();
            if (pulled && !pulled.pans && Math.abs(pulled.to - pulled.from) > 3) drawBand(frame, timeAt(Math.min(pulled.from, pulled.to)), timeAt(Math.max(pulled.from, pulled.to)), rulerHeight, now.height);
            marks.peek().forEach((at, i) => drawMark(frame, String.fromCharCode(65 + i), at, now.height));
        });
    };

    const paintLanes = (frame: Frame, now: typeof scene.current) => {
        const { context, colours } = frame;
        const { opType, layer } = selection.peek();
        strips.current.clear();
        const data = now.held?.data;
        const inks = data && inksOf(data.ops, colours, (op) => opType !== null && data.ops[op] !== opType);
        now.lanes.forEach((one, i) => {
            const y = now.top + i * now.laneStep;
            if (data && inks) {
                const strip = stripOf(data, one.lane, frame.span, Math.round(now.inner * frame.ratio));
                strips.current.set(one.lane, strip);
                paintStrip(frame, strip, y, now.laneHeight, inks);
                if (layer !== null && data.isRaw) fadeOthers(frame, strip, data, layer, y, now.laneHeight);
                if (data.isRaw) labelStrip(frame, strip, data, y, now.laneHeight);
                countStrip(frame, strip, y + now.laneHeight);
                for (const loss of data.losses) if (loss.lane === one.lane) drawLoss(frame, loss.begin, loss.end, loss.count, y, now.laneHeight);
            }
            context.font = "12px system-ui, sans-serif";
            context.textBaseline = "middle";
            context.fillStyle = colours.ink;
            context.fillText(one.label, 2, y + now.laneHeight / 2, now.left - 6);
        });
    };

    const timeAt = (x: number) => {
        const shown = span.peek()!;
        return shown.begin + ((x - scene.current.left) / scene.current.inner) * (shown.end - shown.begin);
    };
    const change = (next: Span) => (span.value = next);

    useSignalEffect(() => {
        const shown = span.value;
        void hover.value;
        void drag.value;
        void marks.value;
        void selection.value;
        void theme();
        if (shown && shownBounds.current && scene.current.inner > 1) {
            const next = tileFor(shown, shownBounds.current, scene.current.inner);
            setTile((old) => (old && old.begin === next.begin && old.end === next.end && old.pixels === next.pixels ? old : next));
        }
        schedule();
    });
    useLayoutEffect(() => {
        if (span.peek() && bounds && width > 0) {
            const next = tileFor(span.peek()!, bounds, inner);
            setTile((old) => (old && old.begin === next.begin && old.end === next.end && old.pixels === next.pixels ? old : next));
        }
        paint();
    });
    useEffect(() => () => cancelAnimationFrame(frameAsked.current), []);
    useEffect(() => {
        const measure = () => box.current && setRoom(box.current.clientHeight);
        const observer = new ResizeObserver(measure);
        if (box.current) observer.observe(box.current);
        measure();
        return () => observer.disconnect();
    }, [width > 0]);

    const zoomBy = (factor: number, part = 0.5) => bounds && span.peek() && change(zoomed(span.peek()!, factor, part, bounds));
    const panBy = (part: number) => bounds && span.peek() && change(panned(span.peek()!, (span.peek()!.end - span.peek()!.begin) * part, bounds));
    const focus = () => {
        const chosen = selection.peek();
        const tokens = spanOf(chosen.tokens, stepsAnswer.data);
        const to = chosen.op && chosenOp.data ? ([chosenOp.data.begin_ns, chosenOp.data.end_ns] as const) : (chosen.time ?? tokens);
        if (to && bounds) change(around(to[0], to[1], bounds));
        else announce("Select tokens, an op or a stretch of time first.");
    };
    const mark = () => {
        const shown = span.peek();
        if (!shown) return;
        const at = hover.peek()?.time ?? selection.peek().time?.[0] ?? chosenOp.data?.begin_ns ?? (shown.begin + shown.end) / 2;
        const near = marks.peek().find((one) => Math.abs(one - at) < ((shown.end - shown.begin) / inner) * 4);
        marks.value = near === undefined ? [...marks.peek().slice(-7), at] : marks.peek().filter((one) => one !== near);
        announce(near === undefined ? `mark at ${time(at)}` : "mark removed");
    };
    useEffect(() =>
        registerKeys("timeline", {
            KeyW: () => zoomBy(1.6, partOf(hover.peek())),
            KeyS: () => zoomBy(1 / 1.6, partOf(hover.peek())),
            KeyA: () => panBy(-0.2),
            KeyD: () => panBy(0.2),
            KeyF: focus,
            Digit0: fit,
            KeyM: mark,
        }),
    );
    const partOf = (at: Hover | null) => (at && span.peek() ? (at.time - span.peek()!.begin) / (span.peek()!.end - span.peek()!.begin) : 0.5);

    // ---- pointer
    const hoverAt = (event: PointerEvent | MouseEvent): Hover | null => {
        const frame = canvas.current!.getBoundingClientRect();
        const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
        if (!span.peek() || x < left) return null;
        const i = Math.floor((y - top) / laneStep);
        const one = lanes[i];
        const strip = one && (y - top) % laneStep < laneHeight ? strips.current.get(one.lane) : undefined;
        const column = Math.floor((x - left) * (window.devicePixelRatio || 1));
        const row = strip ? nearRow(strip, column) : -1;
        return { x: event.clientX, y: event.clientY, lane: one?.lane ?? -1, row, time: timeAt(x) };
    };
    const inCanvas = (event: MouseEvent) => event.clientX - canvas.current!.getBoundingClientRect().left;
    const yInCanvas = (event: MouseEvent) => event.clientY - canvas.current!.getBoundingClientRect().top;
    const onPointerMove = (event: PointerEvent) => {
        const pulled = drag.peek();
        if (pulled) {
            const x = inCanvas(event);
            if (pulled.pans && bounds && span.peek()) change(panned(span.peek()!, ((pulled.to - x) / inner) * (span.peek()!.end - span.peek()!.begin), bounds));
            drag.value = { ...pulled, to: x };
            hover.value = null;
        } else hover.value = hoverAt(event);
    };
    const onPointerDown = (event: PointerEvent) => {
        if (event.button !== 0 || inCanvas(event) < left) return;
        canvas.current!.setPointerCapture(event.pointerId);
        drag.value = { from: inCanvas(event), to: inCanvas(event), pans: event.shiftKey, y: yInCanvas(event) };
    };
    const onPointerUp = (event: PointerEvent) => {
        const pulled = drag.peek();
        drag.value = null;
        if (!pulled || pulled.pans) return;
        if (Math.abs(pulled.to - pulled.from) > 3) {
            const chosen = [timeAt(Math.min(pulled.from, pulled.to)), timeAt(Math.max(pulled.from, pulled.to))].map(Math.round) as [number, number];
            select({ time: chosen });
            announce(`${time(chosen[1] - chosen[0])} selected`);
            return;
        }
        if (pulled.y < rulerHeight) return takeToken(ruler, timeAt(pulled.from));
        const at = hoverAt(event);
        if (at && at.row >= 0 && held) {
            const op = opAt(held.data, at.row);
            cursor.current = { lane: at.lane, row: at.row };
            select({ op: { run: op.run, node: op.node } });
        } else select({ op: null, time: null });
    };
    const onDblClick = (event: MouseEvent) => {
        if (!bounds) return;
        if (yInCanvas(event) < rulerHeight) {
            const i = ruler ? stepAt(ruler, timeAt(inCanvas(event))) : -1;
            if (ruler && i >= 0) change(around(ruler.base + ruler.begin[i]!, ruler.base + ruler.end[i]!, bounds));
            return;
        }
        const at = hoverAt(event);
        if (!at || at.row < 0 || !held) return zoomBy(4, at ? partOf(at) : 0.5);
        const op = opAt(held.data, at.row);
        const length = held.data.isRaw ? op.duration : held.data.binNs;
        change(around(op.begin, op.begin + length, bounds));
    };
    const onWheel = (event: WheelEvent) => {
        if (event.ctrlKey) {
            event.preventDefault();
            zoomBy(Math.exp(-event.deltaY / 250), Math.max(0, Math.min(1, (inCanvas(event) - left) / inner)));
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
            event.preventDefault();
            panBy((event.deltaX || event.deltaY) / inner);
        }
    };

    // ---- keys of the picture: from op to op, from lane to lane
    const onKeyDown = (event: KeyboardEvent) => {
        if (event.ctrlKey || event.altKey || event.metaKey || !held || lanes.length === 0 || !span.peek()) return;
        const at = cursor.current ?? { lane: lanes[0]!.lane, row: -1 };
        const list = held.data.lanes.get(at.lane) ?? new Uint32Array();
        const place = list.indexOf(at.row);
        const middle = span.peek()!.begin;
        let next: { lane: number; row: number } | null = null;
        if (event.code === "ArrowRight" || event.code === "ArrowLeft") {
            const i = place < 0 ? firstFrom(list, held.data, middle) : place + (event.code === "ArrowRight" ? 1 : -1);
            if (i >= 0 && i < list.length) next = { lane: at.lane, row: list[i]! };
        } else if (event.code === "ArrowDown" || event.code === "ArrowUp") {
            const i = lanes.findIndex((one) => one.lane === at.lane) + (event.code === "ArrowDown" ? 1 : -1);
            const other = lanes[i] && held.data.lanes.get(lanes[i]!.lane);
            const from = at.row >= 0 ? held.data.base + held.data.begin[at.row]! : middle;
            if (other && other.length) next = { lane: lanes[i]!.lane, row: other[Math.min(other.length - 1, firstFrom(other, held.data, from))]! };
        } else return;
        event.preventDefault();
        if (!next) return announce("There is none.");
        cursor.current = next;
        const op = opAt(held.data, next.row);
        if (bounds && (op.begin < span.peek()!.begin || op.begin > span.peek()!.end)) change(panned(span.peek()!, op.begin - (span.peek()!.begin + span.peek()!.end) / 2, bounds));
        select({ op: { run: op.run, node: op.node } });
        const label = lanes.find((one) => one.lane === next.lane)?.label ?? "";
        announce(`${label}, ${op.op}${op.layer !== null && op.layer >= 0 ? `, layer ${op.layer}` : ""}, ${time(op.duration)}${op.count > 1 ? `, longest of ${plural(op.count, "op run")}` : ""}`);
    };

    if (!about) return <Progress what="the recording" progress={null} />;
    const shown = span.value;
    const present = new Set([...(held?.data.used ?? [])].map((op) => opFamily(op).name));
    const tools = (
        <>
            <div class="legend">
                {families
                    .filter((family) => present.has(family.name))
                    .map((family) => (
                        <span>
                            <i class={`swatch pattern-${family.pattern}`} style={{ "--swatch": family.colour }} />
                            {family.name}
                        </span>
                    ))}
                <span>
                    <i class="swatch pattern-hatch" />
                    waiting
                </span>
                {occupancy.data && (
                    <span class="buffers">
                        buffers:
                        {bufferClasses
                            .filter(([name]) => occupancy.data!.has(name) && Math.max(...occupancy.data!.column(name)) > 0)
                            .map(([name, words]) => (
                                <span>
                                    <i class="swatch" style={{ "--swatch": `var(--${name})` }} />
                                    {words}
                                </span>
                            ))}
                    </span>
                )}
            </div>
            {shown && bounds && <span class="quiet">{time(shown.end - shown.begin)} shown{shown.end - shown.begin < (bounds.end - bounds.begin) * 0.999 ? ` (${share(shown.end - shown.begin, bounds.end - bounds.begin)})` : ""}</span>}
            {shown && fitted.current && (shown.begin !== fitted.current.begin || shown.end !== fitted.current.end) && (
                <button type="button" title="0" onClick={fit}>
                    Fit
                </button>
            )}
            {marks.value.length > 1 && <span class="badge">{measure(marks.value)}</span>}
            {problem && <span class="problem">{problem}</span>}
        </>
    );
    return (
        <TableView label="Timeline" tools={tools} table={() => tableOf(held, span.peek() ?? { begin: 0, end: 0 }, lanes)}>
            <div class="timeline" ref={box}>
                <canvas
                    ref={canvas}
                    tabIndex={0}
                    role="application"
                    aria-roledescription="timeline"
                    aria-label={`Timeline: ${plural(lanes.length, "lane")}, ${count(about.op_runs)} op runs. Arrow keys step from op to op and from lane to lane, W and S zoom, A and D pan.`}
                    onPointerMove={onPointerMove}
                    onPointerLeave={() => (hover.value = null)}
                    onPointerDown={onPointerDown}
                    onPointerUp={onPointerUp}
                    onDblClick={onDblClick}
                    onWheel={onWheel}
                    onKeyDown={onKeyDown}
                />
                {!held && !problem && <Progress what="the timeline" progress={null} />}
                {hover.value && held && hover.value.row >= 0 && <Tip hover={hover.value} data={held.data} />}
            </div>
        </TableView>
    );
}

function Tip({ hover, data }: { hover: Hover; data: Answered }) {
    const op = opAt(data, hover.row);
    const isRight = hover.x > window.innerWidth - 260;
    return (
        <div class="float" role="tooltip" style={{ left: `${isRight ? hover.x - 250 : hover.x + 14}px`, top: `${Math.min(hover.y + 16, window.innerHeight - 130)}px` }}>
            <b>{op.op}</b>
            {op.layer !== null && op.layer >= 0 ? ` layer ${op.layer}` : ""}
            <div>
                {time(op.duration)}
                {data.isRaw && op.wait > 0 ? `, then waiting ${time(op.wait)}` : ""}
            </div>
            {op.count > 1 && <div class="quiet">the longest of {plural(op.count, "op run")} here</div>}
            <div class="quiet">at {time(op.begin)}; click for its card</div>
        </div>
    );
}

// "A to B 1.20 ms" for each pair of neighbours.
function measure(marks: number[]): string {
    return marks
        .slice(1)
        .map((at, i) => `${String.fromCharCode(65 + i)} to ${String.fromCharCode(66 + i)} ${time(Math.abs(at - marks[i]!))}`)
        .join(", ");
}

// The op at a column, or one a pixel or two beside it.
function nearRow(strip: Strip, column: number): number {
    for (const by of [0, -1, 1, -2, 2]) if ((strip.row[column + by] ?? -1) >= 0) return strip.row[column + by]!;
    return -1;
}

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

function stepAt(steps: Steps, ns: number): number {
    for (let i = 0; i < steps.rows; i++) if (ns >= steps.base + steps.begin[i]! && ns <= steps.base + steps.end[i]!) return i;
    return -1;
}

function takeToken(steps: Steps | null, ns: number): void {
    const i = steps ? stepAt(steps, ns) : -1;
    if (!steps || i < 0) return;
    select({ tokens: [steps.first[i]!, steps.last[i]!] });
    announce(`token ${steps.first[i]}`);
}

// With a layer selected, wide op runs of the others step back.
function fadeOthers(frame: Frame, strip: Strip, data: Answered, layer: number, top: number, height: number): void {
    const { context, colours, ratio } = frame;
    context.fillStyle = colours.empty;
    context.globalAlpha = 0.8;
    for (const { row, x0, x1 } of strip.wide) if (data.of["layer"]![row] !== layer) context.fillRect(frame.left + Math.max(0, x0) / ratio, top, (Math.min(strip.busy.length, x1) - Math.max(0, x0)) / ratio, height);
    context.globalAlpha = 1;
}
