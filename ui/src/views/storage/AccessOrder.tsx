// File offset over time: sequential reads form a slope that repeats with every token, random reads
// form noise.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ModelMap, Stats } from "../../api";
import { useApplied } from "../../applied";
import { type Columns, useAsk } from "../../ask";
import { theme } from "../../colours";
import { bytes, count, moment, share, time } from "../../format";
import { registerKeys } from "../../keys";
import { announce } from "../../shell/Announce";
import { paintOn, useWidth } from "../../shell/Canvas";
import { HeatScale } from "../../shell/HeatScale";
import { Picture } from "../../shell/Picture";
import { stepsOf } from "../../shell/Scrubber";
import { asRange, chosenOpsBut, asText, here, kept, select, selection, statsPath, summary } from "../../state";
import { zoom } from "../../zoom";
import { spanOf } from "../memory/data";
import { unitAt } from "../memory/layout";
import { diskOf } from "../memory/model";
import { closerPath, fitFor } from "../timeline/data";
import { type AccessLayer, accessLayers, type Grid, cellOf, gridOf, least, usualLayer, zoomRange } from "./access";
import { drawGrid, drawOffsets, drawSelection, drawTimes, frameFor, isInside, scalesOf, type Window } from "./access-draw";

const shownBytes = kept<[number, number] | null>("bytes", null, asRange, { isZoom: true });
// null: the usual one.
const shownAccess = kept<AccessLayer | null>("access", null, asText(accessLayers.map(([key]) => key)));

const cellText = (grid: Grid) => `${time((grid.end - grid.begin) / grid.columns)} × ${bytes((grid.last - grid.first) / grid.rows)}`;

// The legend: the amount per cell of the grid.
function Legend({ grid, layer, amount }: { grid: Grid; layer: number; amount(value: number): string }) {
    const most = grid.most[layer]!;
    const whole = (value: number) => amount(value).replace(" ", "\u00a0"); // in one line
    return (
        <div class="legend" id="access-legend">
            {most > 0 && (
                <span>
                    {least(most) < 1 ? "" : "≤\u00a0"}
                    {whole(Math.max(1, least(most)))}
                    <HeatScale />
                    {whole(most)} <span class="quiet">&nbsp;in {cellText(grid)}</span>
                </span>
            )}
            <span>
                <i class="swatch" style={{ "--swatch": "var(--empty)" }} /> nothing
            </span>
        </div>
    );
}

const verdict = (pattern: Stats["pattern"]) => {
    const again = pattern.bytes - pattern.bytes_first;
    return `${share(pattern.bytes_sequential, pattern.bytes)} of the bytes continue where the read before ended, ${count(pattern.jumps)} jumps in ${count(pattern.reads)} reads, ${share(again, pattern.bytes)} are read again`;
};

export function AccessOrder() {
    useApplied("tokens", "time", "region", "tensor", "expert", "layer", "opType", "buffer", "lane", "request");
    const about = summary.value;
    const [box, width] = useWidth();
    const canvas = useRef<HTMLCanvasElement>(null);
    const [hover, setHover] = useState<{ x: number; y: number } | null>(null);
    const [drag, setDrag] = useState<{ x0: number; y0: number; x1: number; y1: number } | null>(null);
    const map = useAsk<ModelMap>(here("map"));
    const stepsAnswer = useAsk<Columns>(here("tokens", { bins: 1000 }), { keep: true });
    const stats = useAsk<Stats>(statsPath(), { keep: true });
    const disk = useMemo(() => (map.data ? diskOf(map.data) : null), [map.data]);
    const steps = useMemo(() => (stepsAnswer.data ? stepsOf(stepsAnswer.data) : null), [stepsAnswer.data]);
    const axis = map.data?.files.reduce((sum, file) => sum + file.bytes, 0) ?? 0;
    const bounds = about && about.end_ns > about.begin_ns ? { begin: about.begin_ns, end: about.end_ns } : null;
    const fitted = bounds && steps ? fitFor(steps, bounds) : null;
    const height = Math.max(240, Math.min(640, window.innerHeight - 300));
    const shown: Window | null = fitted && axis > 0 ? { time: zoom.value ?? [fitted.begin, fitted.end], bytes: shownBytes.value ?? [0, axis] } : null;
    const frame = frameFor(width, height);
    const scales = shown && scalesOf(frame, shown);
    const columns = Math.min(1024, Math.max(64, Math.floor((width - frame.left) / 64) * 64));
    // Tokens, times and bytes are marked in the picture and do not limit the answer.
    const { tokens: _tokens, request: _request, ...narrowed } = chosenOpsBut("region", "time", "tensor");
    const path =
        shown && width > frame.left
            ? here("access", { begin: Math.floor(shown.time[0]), end: Math.max(Math.floor(shown.time[0]) + 1, Math.ceil(shown.time[1])), first: Math.floor(shown.bytes[0]), last: Math.ceil(shown.bytes[1]), columns, rows: Math.min(512, height - frame.top - frame.bottom), ...narrowed })
            : null;
    const answer = useAsk<Columns>(path, { keep: true });
    const grid = useMemo(() => (answer.data ? gridOf(answer.data) : null), [answer.data]);
    const usual = useMemo(() => usualLayer(grid?.sums ?? []), [grid === null]); // zooming does not change it
    const access = shownAccess.value ?? usual;
    const layer = accessLayers.findIndex(([key]) => key === access);
    const colours = theme();
    const closerAt = closerPath(steps, shown && { begin: shown.time[0], end: shown.time[1], pixels: columns });
    const closer = useAsk<Columns>(closerAt, { keep: true });
    const ruler = useMemo(() => (closerAt && closer.data ? stepsOf(closer.data) : steps), [closerAt, closer.data, steps]);

    useEffect(() => {
        if (!canvas.current || !shown || !scales || !disk || width <= 0) return;
        canvas.current.style.height = `${height}px`;
        paintOn(canvas.current, width, height, (context, w, h) => {
            context.fillStyle = colours.empty;
            context.fillRect(frame.left, frame.top, w - frame.left, h - frame.top - frame.bottom);
            if (grid) drawGrid(context, grid, layer, frame, scales);
            const labels = drawOffsets(context, disk, shown, frame, scales, colours);
            const lines = drawTimes(context, ruler, shown, frame, scales, colours);
            Object.assign(box.current!.dataset, { lines, bytes: labels.join(", ") });
            drawSelection(context, disk, spanOf(selection.value.tokens, stepsAnswer.data), shown, frame, scales, colours);
            if (drag) {
                context.strokeStyle = colours.accent;
                context.strokeRect(Math.min(drag.x0, drag.x1), Math.min(drag.y0, drag.y1), Math.abs(drag.x1 - drag.x0), Math.abs(drag.y1 - drag.y0));
            }
        });
    });

    const timeAt = (x: number) => scales!.timeAt(x);
    const byteAt = (y: number) => scales!.byteAt(y);
    const set = (next: Partial<Window>) => {
        if (next.time) zoom.value = next.time;
        if (next.bytes) shownBytes.value = next.bytes[0] <= 0 && next.bytes[1] >= axis ? null : next.bytes;
    };
    const zoomAt = (factor: number, x: number, y: number) => {
        if (!shown || !bounds) return;
        set({ time: zoomRange(shown.time, factor, timeAt(x), [bounds.begin, bounds.end], 1000), bytes: zoomRange(shown.bytes, factor, byteAt(y), [0, axis], 4096) });
    };
    const fit = () => {
        zoom.value = null;
        shownBytes.value = null;
    };
    const pan = (by: number) => shown && bounds && set({ time: zoomRange([shown.time[0] + by * (shown.time[1] - shown.time[0]), shown.time[1] + by * (shown.time[1] - shown.time[0])], 1, 0, [bounds.begin, bounds.end], 1000) });
    const middle = () => hover ?? { x: (width + frame.left) / 2, y: height / 2 };
    useEffect(() =>
        registerKeys("storage", {
            KeyW: () => zoomAt(1.6, middle().x, middle().y),
            KeyS: () => zoomAt(1 / 1.6, middle().x, middle().y),
            KeyA: () => pan(-0.2),
            KeyD: () => pan(0.2),
            Digit0: fit,
        }),
    );
    const place = (event: PointerEvent | WheelEvent) => {
        const box = canvas.current!.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const take = (a: { x: number; y: number }, b: { x: number; y: number }) => {
        if (!disk) return;
        const [begin, end] = [Math.min(byteAt(a.y), byteAt(b.y)), Math.max(byteAt(a.y), byteAt(b.y))];
        let [file, base] = [0, 0];
        for (const [candidate, at] of disk.bases) if (at <= begin) [file, base] = [candidate, at];
        const size = map.data!.files.find((one) => one.file === file)?.bytes ?? Infinity;
        const region = { file, begin: Math.floor(begin - base), end: Math.min(size, Math.ceil(end - base)) };
        select({ time: [Math.round(timeAt(Math.min(a.x, b.x))), Math.round(timeAt(Math.max(a.x, b.x)))], region, op: null, tensor: null, buffer: null });
        announce(`${bytes(region.end - region.begin)} from ${count(region.begin)} selected`);
    };

    if (map.data && axis === 0) return <p class="empty">The program opened no model file: there are no offsets to show.</p>;
    const at = hover && shown && isInside(frame, hover) ? hover : null;
    const unitUnder = (y: number) => (disk ? disk.whole.units[unitAt(disk.whole.units, byteAt(y))] : undefined);
    const amount = (value: number) => (access === "faults" ? count(value) : bytes(value));
    const nameOf = (y: number) => {
        const unit = unitUnder(y);
        return unit && disk ? `${disk.entries[unit.entry]!.name}${unit.expert >= 0 ? ` [${unit.expert}]` : ""}` : "";
    };
    const amountAt = (p: { x: number; y: number }) => {
        const value = grid && cellOf(grid, layer, timeAt(p.x), byteAt(p.y));
        return value ? `${amount(value)} ${accessLayers[layer]![1]}` : "nothing here";
    };
    const pickAt = (y: number) => {
        const unit = unitUnder(y);
        const entry = unit && disk!.entries[unit.entry]!;
        if (entry?.kind === "tensor") select({ tensor: entry.name, expert: unit!.expert < 0 ? null : unit!.expert, op: null });
    };
    // The arrow keys move a cursor that acts like the pointer.
    const keys = (event: KeyboardEvent) => {
        const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
        if (event.ctrlKey || event.altKey || event.metaKey || !shown || (!by && !(event.key === "Enter" && at))) return;
        event.preventDefault();
        if (!by) return pickAt(at!.y);
        const from = at ?? { x: frame.left, y: frame.top };
        const within = (value: number, low: number, high: number) => Math.max(low, Math.min(high, value));
        const next = { x: within(from.x + by[0]! * ((width - frame.left) / 64), frame.left, width - 1), y: within(from.y + by[1]! * ((height - frame.top - frame.bottom) / 48), frame.top, height - frame.bottom - 1) };
        setHover(next);
        announce(`${nameOf(next.y)}, ${moment(timeAt(next.x), (shown.time[1] - shown.time[0]) / 64)}: ${amountAt(next)}`);
    };
    const has = { mapped: true, copied: (grid?.sums[1] ?? 0) > 0, faults: about?.has.faults ?? false, disk: about?.has.block_requests ?? false };
    return (
        <Picture
            title="Access order"
            file="access-order"
            figure={() => ({ kind: "access-order", ...chosenOpsBut("region", "tensor", "time"), ...(access === "faults" || access === "disk" ? { marks: access } : {}) })}
            command="ggscope stats"
            computed="Bytes that each op reads from the model's files, spread over its time. Colours are bytes (or faults) per cell, on a log scale over four decades."
            csv={() => ({
                columns: ["begin_ns", "end_ns", "first_byte", "end_byte", "layer", "amount"],
                rows: grid
                    ? accessLayers.flatMap(([key], k) =>
                          [...grid.cells[k]!].flatMap((value, i) => {
                              const [c, r] = [i % grid.columns, Math.floor(i / grid.columns)];
                              const [dt, db] = [(grid.end - grid.begin) / grid.columns, (grid.last - grid.first) / grid.rows];
                              return value > 0 ? [[Math.round(grid.begin + c * dt), Math.round(grid.begin + (c + 1) * dt), Math.round(grid.first + r * db), Math.round(grid.first + (r + 1) * db), key, value]] : [];
                          }),
                      )
                    : [],
            })}
            tools={
                <>
                    {accessLayers
                        .filter(([key]) => has[key])
                        .map(([key, name]) => (
                            <label>
                                <input type="radio" name="access" checked={access === key} onChange={() => (shownAccess.value = key)} /> {name}
                            </label>
                        ))}
                    {grid && <Legend grid={grid} layer={layer} amount={amount} />}
                    {(zoom.value || shownBytes.value) && (
                        <button type="button" onClick={fit} title="0">
                            Fit
                        </button>
                    )}
                    {selection.value.time && (
                        <button
                            type="button"
                            onClick={() => {
                                const { time: range, region } = selection.value;
                                const base = region ? (disk?.bases.get(region.file) ?? 0) : 0;
                                set({ ...(range ? { time: range } : {}), ...(region ? { bytes: [base + region.begin, base + region.end] } : {}) });
                            }}
                        >
                            Zoom to the selection
                        </button>
                    )}
                </>
            }
        >
            <p class="quiet" id="access-verdict">
                {stats.data?.pattern ? verdict(stats.data.pattern) : ""}
                {answer.error && <span class="problem"> {answer.error.message}</span>}
                {answer.progress !== null && ` reading… ${Math.round(answer.progress * 100)} %`}
            </p>
            <div class="access-picture" ref={box} data-cells={grid ? grid.cells[layer]!.reduce((n, value) => n + (value > 0 ? 1 : 0), 0) : 0} data-sum={grid?.sums[layer] ?? 0}>
                <canvas
                    ref={canvas}
                    tabIndex={0}
                    role="img"
                    aria-label={`File offset over time. ${stats.data?.pattern ? verdict(stats.data.pattern) : ""} Arrow keys move the cursor, Enter selects the tensor.`}
                    onKeyDown={keys}
                    onBlur={() => setHover(null)}
                    onPointerMove={(event) => {
                        const p = place(event);
                        setHover(p);
                        if (drag) setDrag({ ...drag, x1: p.x, y1: p.y });
                    }}
                    onPointerLeave={() => setHover(null)}
                    onPointerDown={(event) => {
                        const p = place(event);
                        if (event.button !== 0 || !isInside(frame, p)) return;
                        event.currentTarget.setPointerCapture(event.pointerId);
                        setDrag({ x0: p.x, y0: p.y, x1: p.x, y1: p.y });
                    }}
                    onPointerUp={() => {
                        if (!drag) return;
                        setDrag(null);
                        if (Math.abs(drag.x1 - drag.x0) > 3 || Math.abs(drag.y1 - drag.y0) > 3) take({ x: drag.x0, y: drag.y0 }, { x: drag.x1, y: drag.y1 });
                        else if (shown) pickAt(drag.y0);
                    }}
                    onWheel={(event) => {
                        if (!event.ctrlKey) return;
                        event.preventDefault();
                        const p = place(event);
                        zoomAt(Math.exp(-event.deltaY / 250), p.x, p.y);
                    }}
                    onDblClick={(event) => zoomAt(3, place(event as unknown as PointerEvent).x, place(event as unknown as PointerEvent).y)}
                />
                {at && shown && (
                    <div class="chart-tip" role="tooltip" style={{ ...(at.x > width / 2 ? { right: `${width - at.x + 12}px` } : { left: `${at.x + 12}px` }), top: `${Math.min(at.y, height - 90)}px` }}>
                        <b class="name">{nameOf(at.y)}</b>
                        <div>
                            {amountAt(at)}
                            {grid && <span class="quiet"> in {cellText(grid)}</span>}
                        </div>
                        <div class="quiet">
                            at {moment(timeAt(at.x), (shown.time[1] - shown.time[0]) / columns)}, byte {count(byteAt(at.y))}
                        </div>
                    </div>
                )}
            </div>
        </Picture>
    );
}
