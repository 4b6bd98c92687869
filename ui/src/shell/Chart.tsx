// A chart with one x axis: bars, lines, steps and points, and a tooltip with values. An SVG, so
// that it can be saved as one.
import { useState } from "preact/hooks";
import { bytes } from "../format";
import { announce } from "./Announce";
import { useWidth } from "./Canvas";
import { Terms } from "./Terms";

type Scale = "left" | "right";

export interface Series {
    name: string;
    colour: string; // any CSS colour
    kind: "bar" | "line" | "step" | "point"; // step: a value holds until the next one
    points: { x: number; y: number | null; low?: number; high?: number }[]; // null: not recorded; low and high: the range
    text(y: number): string; // with its unit
    scale?: Scale;
}

export interface ChartProps {
    label: string;
    height?: number;
    series: Series[];
    // tip: text of the tooltip; step: distance between bars, 1 by default.
    x: { from: number; to: number; ticks: number[]; text(x: number): string; name: string; tip?(x: number): string; step?: number };
    // Titles of the axes. also: the meaning of a left value, written at the right; most: end of the
    // left axis; points above it are drawn at the top with their value.
    y: { left: string; right?: string; also?(left: number): string; most?: number };
    lines?: { x: number; text: string; short: string }[]; // markers; short: for narrow charts
    at?: number | null; // selected x, drawn as a line
    onPick?(x: number): void;
}

const left = 64;
const bottom = 34;

// Round ticks up to `most`; ticks of bytes are round in their unit.
export function steps(most: number, about = 4, isBytes = false): number[] {
    if (!(most > 0)) return [0, 1];
    const unit = isBytes ? 1024 ** Math.max(0, Math.floor(Math.log(most) / Math.log(1024))) : 1;
    if (unit > 1) return steps(most / unit, about).map((step) => step * unit);
    const rough = most / about;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = (power >= 10 ? [1, 2, 2.5, 5, 10] : [1, 2, 5, 10]).map((n) => n * power).find((one) => one >= rough)!;
    return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
}

// The entries whose texts, centred at pixel `at`, do not overlap.
export function apart<T>(all: readonly T[], at: (one: T) => number, text: (one: T) => string): T[] {
    let end = -Infinity;
    return all.filter((one) => {
        const half = 3.3 * text(one).length + 3;
        const fits = at(one) - half >= end;
        if (fits) end = at(one) + half;
        return fits;
    });
}

// The point of a series at x; for steps the last one at or before x.
export function valueAt(series: Series, x: number): Series["points"][number] | undefined {
    if (series.kind !== "step") return series.points.find((point) => point.x === x);
    return series.points.findLast((point) => point.x <= x);
}

// The path of a line, or of steps up to `end`.
function pathOf(series: Series, px: (x: number) => number, py: (y: number, scale?: Scale) => number, end: number): string {
    const points = series.points.filter((p): p is typeof p & { y: number } => p.y !== null);
    const isStep = series.kind === "step";
    const drawn = points.map((p, i) => {
        const [x, y] = [px(p.x).toFixed(1), py(p.y, series.scale).toFixed(1)];
        return i === 0 ? `M${x} ${y}` : isStep ? `H${x}V${y}` : `L${x} ${y}`;
    });
    return drawn.join("") + (isStep && points.length > 0 ? `H${px(end).toFixed(1)}` : "");
}

export function Chart({ label, height = 200, series, x, y, lines = [], at, onPick }: ChartProps) {
    const [box, width] = useWidth();
    const [hover, setHover] = useState<number | null>(null);
    const right = y.also || series.some((one) => one.scale === "right") ? 64 : 16;
    const inner = Math.max(10, width - left - right);
    const top = lines.length > 0 ? 38 : 24; // room for marker texts above the plot
    const plot = height - top - bottom;
    const most = (scale: Scale) => Math.max(0, ...series.filter((one) => (one.scale ?? "left") === scale).flatMap((one) => one.points.map((p) => Math.max(p.y ?? 0, p.high ?? 0))));
    const tops = { left: Math.min(most("left"), y.most ?? Infinity) || 1, right: most("right") || 1 };
    const px = (value: number) => left + ((value - x.from) / (x.to - x.from || 1)) * inner;
    const py = (value: number, scale: Scale = "left") => top + plot - Math.min(1, value / tops[scale]) * plot;
    const bars = series.filter((one) => one.kind === "bar");
    const slots = Math.max(1, ...bars.map((one) => one.points.length));
    const slot = (inner / Math.max(1, x.to - x.from)) * (x.step ?? 1);
    const barWidth = Math.max(1, Math.min(40, (slot * 0.8) / Math.max(1, bars.length)));
    const places = [...new Set(series.flatMap((one) => one.points.map((p) => p.x)))].sort((a, b) => a - b);
    const nearest = (value: number) => places.reduce((best, one) => (Math.abs(one - value) < Math.abs(best - value) ? one : best), places[0] ?? 0);
    const valueUnder = (event: PointerEvent | MouseEvent) => {
        const frame = (event.currentTarget as Element).getBoundingClientRect();
        return x.from + ((event.clientX - frame.left) / frame.width) * (x.to - x.from);
    };
    // Points above the left axis are drawn at its top, with their value if there is room.
    const above = series.flatMap((one) => one.points.flatMap((point) => ((one.scale ?? "left") === "left" && (point.y ?? 0) > tops.left ? [{ point, text: one.text(point.y!) }] : [])));
    const named = new Set(apart(above, ({ point }) => px(point.x), ({ text }) => text).map(({ point }) => point));
    const first = (scale: Scale) => series.find((one) => (one.scale ?? "left") === scale);
    const axis = (scale: Scale) =>
        first(scale) &&
        (most(scale) > 0 ? steps(tops[scale], 4, first(scale)!.text === bytes) : [0]).map((value, i, all) => (
            <g>
                {scale === "left" && <line class="grid" x1={left} x2={left + inner} y1={py(value)} y2={py(value)} />}
                {scale === "left" && y.also && (i === 0 || y.also(value) !== y.also(all[i - 1]!)) && (
                    <text class="also" x={left + inner + 6} y={py(value) + 4}>
                        {y.also(value)}
                    </text>
                )}
                <text x={scale === "left" ? left - 6 : left + inner + 6} y={py(value, scale) + 4} text-anchor={scale === "left" ? "end" : "start"}>
                    {first(scale)!.text(value)}
                </text>
            </g>
        ));
    const tipLines = (where: number) =>
        series.flatMap((one) => {
            const p = valueAt(one, where);
            if (!p) return [];
            return `${one.name}: ${p.y === null ? "not seen" : one.text(p.y)}${p.low !== undefined && p.high !== undefined ? ` (${one.text(p.low)} to ${one.text(p.high)})` : ""}`;
        });
    const title = (where: number) => `${x.name} ${(x.tip ?? x.text)(where)}`;
    const keys = (event: KeyboardEvent) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (event.key === "Enter" && hover !== null && onPick) onPick(hover);
        else if (by && places.length > 0) {
            const from = hover ?? at ?? null;
            const now = from === null ? (by > 0 ? -1 : places.length) : places.indexOf(nearest(from));
            const next = places[Math.max(0, Math.min(places.length - 1, now + by))]!;
            setHover(next);
            announce([title(next), ...tipLines(next)].join(", "));
        } else return;
        event.preventDefault();
    };
    return (
        <div class="chart-box" ref={box}>
            {width > 0 && (
                <svg class="chart" viewBox={`0 0 ${width} ${height}`} height={height} role="img" aria-label={`${label}. Arrow keys step through the values.`} tabIndex={0} data-slots={slots} onKeyDown={keys} onBlur={() => setHover(null)}>
                    {axis("left")}
                    {axis("right")}
                    <text class="axis-title" x={2} y={12}>
                        {y.left}
                    </text>
                    {y.right && (first("right") || y.also) && (
                        <text class="axis-title" x={width - 2} y={12} text-anchor="end">
                            {y.right}
                        </text>
                    )}
                    {[at, hover].map((where) => where !== null && where !== undefined && <line class="at" x1={px(where)} x2={px(where)} y1={top} y2={top + plot} />)}
                    {apart(x.ticks, px, x.text).map((tick) => (
                        <text x={px(tick)} y={height - bottom + 14} text-anchor="middle">
                            {x.text(tick)}
                        </text>
                    ))}
                    <text class="axis-title" x={left + inner / 2} y={height - 4} text-anchor="middle">
                        {x.name}
                    </text>
                    {bars.map((one, k) => (
                        <path
                            data-series={one.name}
                            fill={one.colour}
                            d={one.points
                                .filter((p) => p.y !== null)
                                .map((p) => `M${(px(p.x) - (barWidth * bars.length) / 2 + k * barWidth).toFixed(1)} ${top + plot}V${py(p.y!, one.scale).toFixed(1)}h${barWidth.toFixed(1)}V${top + plot}z`)
                                .join("")}
                        />
                    ))}
                    {series
                        .filter((one) => one.kind === "line" || one.kind === "step")
                        .map((one) => (
                            <path data-series={one.name} fill="none" stroke={one.colour} stroke-width={2} d={pathOf(one, px, py, x.to)} />
                        ))}
                    {series
                        .filter((one) => one.kind !== "bar" && one.kind !== "step" && one.points.length <= 80)
                        .map((one) =>
                            one.points.map(
                                (p) =>
                                    p.y !== null && (
                                        <g>
                                            {p.low !== undefined && p.high !== undefined && (
                                                <line x1={px(p.x)} x2={px(p.x)} y1={py(p.low, one.scale)} y2={py(p.high, one.scale)} stroke={one.colour} stroke-width={5} opacity={0.35} />
                                            )}
                                            {p.y > tops[one.scale ?? "left"] ? (
                                                <>
                                                    <text x={px(p.x)} y={top + 9} text-anchor="middle">
                                                        <tspan fill={one.colour}>▲</tspan>
                                                    </text>
                                                    {named.has(p) && (
                                                        <text x={px(p.x)} y={top + 21} text-anchor="middle">
                                                            {one.text(p.y)}
                                                        </text>
                                                    )}
                                                </>
                                            ) : (
                                                <circle cx={px(p.x)} cy={py(p.y, one.scale)} r={3} fill={one.colour} />
                                            )}
                                        </g>
                                    ),
                            ),
                        )}
                    {lines.map(({ x: where, text, short }) => (
                        <g class="chart-line" data-line={text}>
                            <line x1={px(where)} x2={px(where)} y1={top - 3} y2={top + plot} />
                            <text x={px(where) + (px(where) > left + inner * 0.7 ? -5 : 5)} y={top - 5} text-anchor={px(where) > left + inner * 0.7 ? "end" : "start"}>
                                {inner < 300 ? short : text}
                            </text>
                        </g>
                    ))}
                    <rect
                        class="plot"
                        x={left}
                        y={top}
                        width={inner}
                        height={plot}
                        onPointerMove={(event) => setHover(nearest(valueUnder(event)))}
                        onPointerLeave={() => setHover(null)}
                        onClick={(event) => onPick?.(nearest(valueUnder(event)))}
                    />
                </svg>
            )}
            {hover !== null && (
                <div class="chart-tip" role="tooltip" style={px(hover) > width / 2 ? { right: `${width - px(hover) + 8}px` } : { left: `${px(hover) + 8}px` }}>
                    <b>{title(hover)}</b>
                    {tipLines(hover).map((line) => (
                        <div>{line}</div>
                    ))}
                </div>
            )}
            <div class="chart-legend">
                {series.map((one) => (
                    <span>
                        <i class="swatch" style={{ "--swatch": one.colour }} />
                        <span>
                            <Terms text={one.name} />
                        </span>
                    </span>
                ))}
            </div>
        </div>
    );
}
