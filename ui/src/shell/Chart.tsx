// A chart over one axis: bars and lines, with the values of what is pointed at. An SVG, so that it leaves as one.
import { useState } from "preact/hooks";
import { bytes } from "../format";
import { useWidth } from "./Canvas";

export interface Series {
    name: string;
    colour: string; // any CSS colour
    kind: "bar" | "line" | "point";
    points: { x: number; y: number | null; low?: number; high?: number }[]; // null: not seen; low and high: its range
    text(y: number): string; // with its unit
    scale?: "left" | "right";
}

export interface ChartProps {
    label: string;
    height?: number;
    series: Series[];
    x: { from: number; to: number; ticks: number[]; text(x: number): string; name: string; tip?(x: number): string; step?: number }; // tip: where one points; step: from one bar to the next, 1 unless told
    at?: number | null; // what is chosen: a line
    onPick?(x: number): void;
}

const left = 64;
const top = 8;
const bottom = 30;

// Round steps up to `most`.
// Of bytes they are round in their own unit.
export function steps(most: number, about = 4, isBytes = false): number[] {
    if (!(most > 0)) return [0, 1];
    const unit = isBytes ? 1024 ** Math.max(0, Math.floor(Math.log(most) / Math.log(1024))) : 1;
    if (unit > 1) return steps(most / unit, about).map((step) => step * unit);
    const rough = most / about;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = (power >= 10 ? [1, 2, 2.5, 5, 10] : [1, 2, 5, 10]).map((n) => n * power).find((one) => one >= rough)!;
    return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
}

export function Chart({ label, height = 200, series, x, at, onPick }: ChartProps) {
    const [box, width] = useWidth();
    const [hover, setHover] = useState<number | null>(null);
    const right = series.some((one) => one.scale === "right") ? 64 : 16;
    const inner = Math.max(10, width - left - right);
    const plot = height - top - bottom;
    const most = (scale: "left" | "right") => Math.max(0, ...series.filter((one) => (one.scale ?? "left") === scale).flatMap((one) => one.points.map((p) => Math.max(p.y ?? 0, p.high ?? 0))));
    const tops = { left: most("left") || 1, right: most("right") || 1 };
    const px = (value: number) => left + ((value - x.from) / (x.to - x.from || 1)) * inner;
    const py = (value: number, scale: "left" | "right" = "left") => top + plot - (value / tops[scale]) * plot;
    const bars = series.filter((one) => one.kind === "bar");
    const slots = Math.max(1, ...bars.map((one) => one.points.length));
    const slot = (inner / Math.max(1, x.to - x.from)) * (x.step ?? 1);
    const barWidth = Math.max(1, Math.min(40, (slot * 0.8) / Math.max(1, bars.length)));
    const places = [...new Set(series.flatMap((one) => one.points.map((p) => p.x)))].sort((a, b) => a - b);
    const nearest = (value: number) => places.reduce((best, one) => (Math.abs(one - value) < Math.abs(best - value) ? one : best), places[0] ?? 0);
    const valueAt = (event: PointerEvent | MouseEvent) => {
        const frame = (event.currentTarget as Element).getBoundingClientRect();
        return x.from + ((event.clientX - frame.left) / frame.width) * (x.to - x.from);
    };
    const text = (scale: "left" | "right") => series.find((one) => (one.scale ?? "left") === scale);
    const axis = (scale: "left" | "right") =>
        text(scale) &&
        steps(tops[scale], 4, text(scale)!.text === bytes).map((y) => (
            <g>
                {scale === "left" && <line class="grid" x1={left} x2={left + inner} y1={py(y)} y2={py(y)} />}
                <text x={scale === "left" ? left - 6 : left + inner + 6} y={py(y, scale) + 4} text-anchor={scale === "left" ? "end" : "start"}>
                    {text(scale)!.text(y)}
                </text>
            </g>
        ));
    return (
        <div class="chart-box" ref={box}>
            {width > 0 && (
                <svg class="chart" viewBox={`0 0 ${width} ${height}`} height={height} role="img" aria-label={label} data-slots={slots}>
                    {axis("left")}
                    {axis("right")}
                    {x.ticks.map((tick) => (
                        <text x={px(tick)} y={height - bottom + 14} text-anchor="middle">
                            {x.text(tick)}
                        </text>
                    ))}
                    <text x={left + inner / 2} y={height - 3} text-anchor="middle">
                        {x.name}
                    </text>
                    {bars.map((one, k) => (
                        <path
                            fill={one.colour}
                            d={one.points
                                .filter((p) => p.y !== null)
                                .map((p) => `M${(px(p.x) - (barWidth * bars.length) / 2 + k * barWidth).toFixed(1)} ${top + plot}V${py(p.y!, one.scale).toFixed(1)}h${barWidth.toFixed(1)}V${top + plot}z`)
                                .join("")}
                        />
                    ))}
                    {series
                        .filter((one) => one.kind === "line")
                        .map((one) => (
                            <polyline
                                fill="none"
                                stroke={one.colour}
                                stroke-width={2}
                                points={one.points
                                    .filter((p) => p.y !== null)
                                    .map((p) => `${px(p.x).toFixed(1)},${py(p.y!, one.scale).toFixed(1)}`)
                                    .join(" ")}
                            />
                        ))}
                    {series
                        .filter((one) => one.kind !== "bar" && one.points.length <= 80)
                        .map((one) =>
                            one.points.map(
                                (p) =>
                                    p.y !== null && (
                                        <g>
                                            {p.low !== undefined && p.high !== undefined && (
                                                <line x1={px(p.x)} x2={px(p.x)} y1={py(p.low, one.scale)} y2={py(p.high, one.scale)} stroke={one.colour} stroke-width={5} opacity={0.35} />
                                            )}
                                            <circle cx={px(p.x)} cy={py(p.y, one.scale)} r={3} fill={one.colour} />
                                        </g>
                                    ),
                            ),
                        )}
                    {[at, hover].map((where) => where !== null && where !== undefined && <line class="at" x1={px(where)} x2={px(where)} y1={top} y2={top + plot} />)}
                    <rect
                        class="plot"
                        x={left}
                        y={top}
                        width={inner}
                        height={plot}
                        onPointerMove={(event) => setHover(nearest(valueAt(event)))}
                        onPointerLeave={() => setHover(null)}
                        onClick={(event) => onPick?.(nearest(valueAt(event)))}
                    />
                </svg>
            )}
            {hover !== null && (
                <div class="chart-tip" role="tooltip" style={px(hover) > width / 2 ? { right: `${width - px(hover) + 8}px` } : { left: `${px(hover) + 8}px` }}>
                    <b>
                        {x.name} {(x.tip ?? x.text)(hover)}
                    </b>
                    {series.map((one) => {
                        const p = one.points.find((candidate) => candidate.x === hover);
                        return (
                            p && (
                                <div>
                                    {one.name}: {p.y === null ? "not seen" : one.text(p.y)}
                                    {p.low !== undefined && p.high !== undefined ? ` (${one.text(p.low)} to ${one.text(p.high)})` : ""}
                                </div>
                            )
                        );
                    })}
                </div>
            )}
            <div class="chart-legend">
                {series.map((one) => (
                    <span>
                        <i class="swatch" style={{ "--swatch": one.colour }} />
                        {one.name}
                    </span>
                ))}
            </div>
        </div>
    );
}
