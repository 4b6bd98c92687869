// File offset over time: sequential reading is a slope that repeats with every token, random reading is noise.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ModelMap } from "../../api";
import { type Columns, useAsk } from "../../ask";
import { heatRgb, theme, type Theme } from "../../colours";
import { bytes, count, instant, share, time } from "../../format";
import { registerKeys } from "../../keys";
import { announce } from "../../shell/Announce";
import { canvasFont, paintOn, textWithin, useWidth } from "../../shell/Canvas";
import { Picture } from "../../shell/Picture";
import { type Steps, stepsOf } from "../../shell/Scrubber";
import { asRange, asText, here, kept, select, selection, statsPath, summary } from "../../state";
import { zoom } from "../../zoom";
import { spanOf } from "../memory/data";
import { shortName } from "../memory/draw";
import { unitAt } from "../memory/layout";
import { diskOf, type Disk } from "../memory/model";
import type { Pattern } from "../statistics/answers";
import { fitFor } from "../timeline/data";
import { tickStep } from "../timeline/window";
import { type AccessLayer, accessLayers, type Grid, gridOf, least, strength, zoomRange } from "./access";

const shownBytes = kept<[number, number] | null>("bytes", null, asRange);
const shownAccess = kept<AccessLayer>("access", "mapped", asText(accessLayers.map(([key]) => key)));

const gutter = 130;
const axisHeight = 20;

interface Window {
    time: [number, number];
    bytes: [number, number];
}

function drawGrid(context: CanvasRenderingContext2D, grid: Grid, layer: number, shown: Window, width: number, height: number): void {
    const image = context.createImageData(grid.columns, grid.rows);
    const [cells, most] = [grid.cells[layer]!, grid.most[layer]!];
    for (let i = 0; i < cells.length; i++) {
        const v = strength(cells[i]!, most);
        if (v <= 0) continue;
        const [r, g, b] = heatRgb(v);
        image.data.set([r, g, b, 255], i * 4);
    }
    const tile = document.createElement("canvas");
    [tile.width, tile.height] = [grid.columns, grid.rows];
    tile.getContext("2d")!.putImageData(image, 0, 0);
    // While the answer for another window is on its way, the one before it lies where it belongs.
    const x = (ns: number) => gutter + ((ns - shown.time[0]) / (shown.time[1] - shown.time[0])) * (width - gutter);
    const y = (byte: number) => ((byte - shown.bytes[0]) / (shown.bytes[1] - shown.bytes[0])) * (height - axisHeight);
    context.save();
    context.beginPath();
    context.rect(gutter, 0, width - gutter, height - axisHeight);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(tile, x(grid.begin), y(grid.first), x(grid.end) - x(grid.begin), y(grid.last) - y(grid.first));
    context.restore();
}

// Names at the left: layers, or tensors where there is room for them.
function drawOffsets(context: CanvasRenderingContext2D, disk: Disk, shown: Window, width: number, height: number, colours: Theme): void {
    const y = (byte: number) => ((byte - shown.bytes[0]) / (shown.bytes[1] - shown.bytes[0])) * (height - axisHeight);
    const groups: { name: string; begin: number; end: number }[] = [];
    const isClose = shown.bytes[1] - shown.bytes[0] < disk.whole.units.reduce((sum, unit) => sum + unit.end - unit.begin, 0) / 12;
    for (const unit of disk.whole.units) {
        if (unit.end <= shown.bytes[0] || unit.begin >= shown.bytes[1]) continue;
        const entry = disk.entries[unit.entry]!;
        const name = isClose || entry.layer < 0 ? (entry.kind === "tensor" ? shortName(entry.name) : entry.kind) : `layer ${entry.layer}`;
        const last = groups[groups.length - 1];
        if (last && last.name === name) last.end = unit.end;
        else groups.push({ name, begin: unit.begin, end: unit.end });
    }
    context.font = canvasFont(10.5);
    context.textBaseline = "middle";
    let free = 0;
    for (const group of groups) {
        const [a, b] = [Math.max(0, y(group.begin)), Math.min(height - axisHeight, y(group.end))];
        context.fillStyle = colours.line;
        if (b - a > 2) context.fillRect(gutter - 6, a, width, 0.5);
        const middle = (a + b) / 2;
        if (b - a < 5 || middle - 6 < free) continue;
        context.fillStyle = colours.faint;
        textWithin(context, group.name, 2, middle, gutter - 10);
        free = middle + 6;
    }
}

function drawTimes(context: CanvasRenderingContext2D, steps: Steps | null, shown: Window, width: number, height: number, colours: Theme): void {
    const x = (ns: number) => gutter + ((ns - shown.time[0]) / (shown.time[1] - shown.time[0])) * (width - gutter);
    const step = tickStep({ begin: shown.time[0], end: shown.time[1] }, width - gutter, 110);
    context.font = canvasFont(10.5);
    context.textBaseline = "middle";
    context.fillStyle = colours.faint;
    for (let at = Math.ceil(shown.time[0] / step) * step; at < shown.time[1]; at += step) {
        context.fillRect(x(at), height - axisHeight, 1, 4);
        context.fillText(instant(at, step), x(at) + 3, height - axisHeight / 2 + 1);
    }
    for (let i = 0; steps && i < steps.rows; i++) {
        const at = x(steps.base + steps.begin[i]!);
        if (at < gutter || at > width) continue;
        context.globalAlpha = 0.35;
        context.fillStyle = colours.ink;
        context.fillRect(at, 0, 1, height - axisHeight);
        context.globalAlpha = 1;
    }
}

function drawSelection(context: CanvasRenderingContext2D, disk: Disk, steps: Columns | null, shown: Window, width: number, height: number, colours: Theme): void {
    const { time: range, tokens, region, tensor, expert } = selection.value;
    const x = (ns: number) => Math.max(gutter, Math.min(width, gutter + ((ns - shown.time[0]) / (shown.time[1] - shown.time[0])) * (width - gutter)));
    const y = (byte: number) => Math.max(0, Math.min(height - axisHeight, ((byte - shown.bytes[0]) / (shown.bytes[1] - shown.bytes[0])) * (height - axisHeight)));
    const box = (a: number, b: number, c: number, d: number) => {
        context.strokeStyle = colours.accent;
        context.lineWidth = 1.5;
        context.strokeRect(a, b, Math.max(1, c - a), Math.max(1, d - b));
        context.fillStyle = colours.accent;
        context.globalAlpha = 0.1;
        context.fillRect(a, b, Math.max(1, c - a), Math.max(1, d - b));
        context.globalAlpha = 1;
    };
    const span = range ?? spanOf(tokens, steps);
    const [left, right] = span ? [x(span[0]), x(span[1])] : [gutter, width];
    if (region) {
        const base = disk.bases.get(region.file) ?? 0;
        box(left, y(base + region.begin), right, y(base + region.end));
    } else if (tensor !== null) {
        for (const unit of disk.whole.units) {
            if (disk.entries[unit.entry]!.name !== tensor || (expert !== null && unit.expert >= 0 && unit.expert !== expert)) continue;
            if (unit.end > shown.bytes[0] && unit.begin < shown.bytes[1]) box(left, y(unit.begin), right, y(unit.end));
        }
    } else if (span) box(left, 0, right, height - axisHeight);
}

// What the colours mean: how much of the layer lies in a cell of the grid.
function Legend({ grid, layer, amount }: { grid: Grid; layer: number; amount(value: number): string }) {
    const most = grid.most[layer]!;
    const whole = (value: number) => amount(value).replace(" ", "\u00a0"); // in one line
    const cell = `${time((grid.end - grid.begin) / grid.columns)} × ${bytes((grid.last - grid.first) / grid.rows)}`;
    return (
        <div class="legend" id="access-legend">
            {most > 0 && (
                <span>
                    {least(most) < 1 ? "" : "≤\u00a0"}
                    {whole(Math.max(1, least(most)))}
                    <i class="heat-scale" />
                    {whole(most)} <span class="quiet">&nbsp;in {cell}</span>
                </span>
            )}
            <span>
                <i class="swatch" style={{ "--swatch": "var(--empty)" }} /> nothing
            </span>
        </div>
    );
}

const verdict = (pattern: Pattern) => {
    const again = pattern.bytes - pattern.bytes_first;
    return `${share(pattern.bytes_sequential, pattern.bytes)} of the bytes follow the ones read before, ${count(pattern.jumps)} jumps in ${count(pattern.reads)} reads, ${share(again, pattern.bytes)} were read before`;
};

export function AccessOrder() {
    const about = summary.value;
    const [box, width] = useWidth();
    const canvas = useRef<HTMLCanvasElement>(null);
    const [hover, setHover] = useState<{ x: number; y: number } | null>(null);
    const [drag, setDrag] = useState<{ x0: number; y0: number; x1: number; y1: number } | null>(null);
    const map = useAsk<ModelMap>(here("map"));
    const stepsAnswer = useAsk<Columns>(here("tokens", { bins: 1000 }), { keep: true });
    const stats = useAsk<{ pattern: Pattern }>(statsPath(), { keep: true });
    const disk = useMemo(() => (map.data ? diskOf(map.data) : null), [map.data]);
    const steps = useMemo(() => (stepsAnswer.data ? stepsOf(stepsAnswer.data) : null), [stepsAnswer.data]);
    const axis = map.data?.files.reduce((sum, file) => sum + file.bytes, 0) ?? 0;
    const bounds = about && about.end_ns > about.begin_ns ? { begin: about.begin_ns, end: about.end_ns } : null;
    const fitted = bounds && steps ? fitFor(steps, bounds) : null;
    const height = Math.max(240, Math.min(640, window.innerHeight - 300));
    const shown: Window | null = fitted && axis > 0 ? { time: zoom.value ?? [fitted.begin, fitted.end], bytes: shownBytes.value ?? [0, axis] } : null;
    const columns = Math.min(1024, Math.max(64, Math.floor((width - gutter) / 64) * 64));
    const path =
        shown && width > gutter
            ? here("access", { begin: Math.floor(shown.time[0]), end: Math.max(Math.floor(shown.time[0]) + 1, Math.ceil(shown.time[1])), first: Math.floor(shown.bytes[0]), last: Math.ceil(shown.bytes[1]), columns, rows: Math.min(512, height - axisHeight) })
            : null;
    const answer = useAsk<Columns>(path, { keep: true });
    const grid = useMemo(() => (answer.data ? gridOf(answer.data) : null), [answer.data]);
    const layer = Math.max(0, accessLayers.findIndex(([key]) => key === shownAccess.value));
    const colours = theme();

    useEffect(() => {
        if (!canvas.current || !shown || !disk || width <= 0) return;
        canvas.current.style.height = `${height}px`;
        paintOn(canvas.current, width, height, (context, w, h) => {
            context.fillStyle = colours.empty;
            context.fillRect(gutter, 0, w - gutter, h - axisHeight);
            if (grid) drawGrid(context, grid, layer, shown, w, h);
            drawOffsets(context, disk, shown, w, h, colours);
            drawTimes(context, steps, shown, w, h, colours);
            drawSelection(context, disk, stepsAnswer.data, shown, w, h, colours);
            if (drag) {
                context.strokeStyle = colours.accent;
                context.strokeRect(Math.min(drag.x0, drag.x1), Math.min(drag.y0, drag.y1), Math.abs(drag.x1 - drag.x0), Math.abs(drag.y1 - drag.y0));
            }
        });
    });

    const timeAt = (x: number) => shown!.time[0] + ((x - gutter) / (width - gutter)) * (shown!.time[1] - shown!.time[0]);
    const byteAt = (y: number) => shown!.bytes[0] + (y / (height - axisHeight)) * (shown!.bytes[1] - shown!.bytes[0]);
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
    const middle = () => hover ?? { x: (width + gutter) / 2, y: height / 2 };
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
        const frame = canvas.current!.getBoundingClientRect();
        return { x: event.clientX - frame.left, y: event.clientY - frame.top };
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
    const at = hover && shown && hover.x >= gutter && hover.y < height - axisHeight ? hover : null;
    const unit = at && disk ? disk.whole.units[unitAt(disk.whole.units, byteAt(at.y))] : undefined;
    const cell = at && grid && grid.columns > 0 ? grid.cells[layer]![Math.min(grid.rows - 1, Math.max(0, Math.floor(((byteAt(at.y) - grid.first) / (grid.last - grid.first)) * grid.rows))) * grid.columns + Math.min(grid.columns - 1, Math.max(0, Math.floor(((timeAt(at.x) - grid.begin) / (grid.end - grid.begin)) * grid.columns)))] : undefined;
    const amount = (value: number) => (shownAccess.value === "faults" ? count(value) : bytes(value));
    const has = { mapped: true, copied: (grid?.sums[1] ?? 0) > 0, faults: about?.has.faults ?? false, disk: about?.has.block_requests ?? false };
    return (
        <Picture
            title="Access order"
            file="access-order"
            command="ggscope stats"
            computed="Each op's bytes in the model's files, spread over the time that it ran; files lie one behind the other. Colours are bytes (or faults) per cell on a log scale over four decades. Faults and disk reads are at the addresses that were recorded. The sentence is that of stats."
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
                                <input type="radio" name="access" checked={shownAccess.value === key} onChange={() => (shownAccess.value = key)} /> {name}
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
                    aria-label={`File offset over time. ${stats.data?.pattern ? verdict(stats.data.pattern) : ""}`}
                    onPointerMove={(event) => {
                        const p = place(event);
                        setHover(p);
                        if (drag) setDrag({ ...drag, x1: p.x, y1: p.y });
                    }}
                    onPointerLeave={() => setHover(null)}
                    onPointerDown={(event) => {
                        const p = place(event);
                        if (event.button !== 0 || p.x < gutter || p.y > height - axisHeight) return;
                        event.currentTarget.setPointerCapture(event.pointerId);
                        setDrag({ x0: p.x, y0: p.y, x1: p.x, y1: p.y });
                    }}
                    onPointerUp={() => {
                        if (!drag) return;
                        setDrag(null);
                        if (Math.abs(drag.x1 - drag.x0) > 3 || Math.abs(drag.y1 - drag.y0) > 3) take({ x: drag.x0, y: drag.y0 }, { x: drag.x1, y: drag.y1 });
                        else if (disk && shown) {
                            const picked = disk.whole.units[unitAt(disk.whole.units, byteAt(drag.y0))];
                            const entry = picked && disk.entries[picked.entry]!;
                            if (entry?.kind === "tensor") select({ tensor: entry.name, expert: picked!.expert < 0 ? null : picked!.expert, op: null });
                        }
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
                        <b class="name">{unit && disk ? `${disk.entries[unit.entry]!.name}${unit.expert >= 0 ? ` [${unit.expert}]` : ""}` : ""}</b>
                        <div>
                            {cell === undefined || cell <= 0 ? "nothing here" : `${amount(cell)} ${accessLayers[layer]![1]}`}
                            {grid && cell !== undefined && cell > 0 && <span class="quiet"> in {time((grid.end - grid.begin) / grid.columns)} × {bytes((grid.last - grid.first) / grid.rows)}</span>}
                        </div>
                        <div class="quiet">
                            at {time(timeAt(at.x))}, byte {count(byteAt(at.y))}
                        </div>
                    </div>
                )}
            </div>
        </Picture>
    );
}
