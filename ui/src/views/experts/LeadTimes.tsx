// Lead time of experts: from the router's choice to the first use of their matrices.
import { useState } from "preact/hooks";
import type { Experts } from "../../api";
import { time } from "../../format";
import { announce } from "../../shell/Announce";
import { useWidth } from "../../shell/Canvas";
import { Picture } from "../../shell/Picture";
import { tokensParameter } from "../../state";

type Row = Experts["by_component"][number] & { prefetch: NonNullable<Experts["by_component"][number]["prefetch"]> };

const [left, right, top, each] = [150, 70, 22, 26];

// Powers of ten between two times.
function ticksOf(least: number, most: number): number[] {
    const ticks: number[] = [];
    for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++) ticks.push(10 ** power);
    return ticks.filter((tick) => tick >= least * 0.99 && tick <= most * 1.01);
}

export function LeadTimes({ components }: { components: Experts["by_component"] }) {
    const [box, width] = useWidth();
    const [at, setAt] = useState<number | null>(null);
    const rows = components.filter((row): row is Row => row.prefetch !== null && row.prefetch.count > 0).sort((a, b) => a.prefetch.mean_ns - b.prefetch.mean_ns);
    if (rows.length === 0) return null;
    const [least, most] = [Math.max(1, Math.min(...rows.map((row) => row.prefetch.least_ns))), Math.max(...rows.map((row) => row.prefetch.most_ns))];
    const [from, to] = [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(Math.max(most, least * 10)))];
    const inner = Math.max(10, width - left - right);
    const x = (ns: number) => left + ((Math.log10(Math.max(ns, from)) - Math.log10(from)) / (Math.log10(to) - Math.log10(from))) * inner;
    const describe = ({ component, prefetch }: Row) => `${component}: ${time(prefetch.mean_ns)} on average, ${time(prefetch.least_ns)} to ${time(prefetch.most_ns)}`;
    const keys = (event: KeyboardEvent) => {
        const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        event.preventDefault();
        const next = at === null ? 0 : Math.max(0, Math.min(rows.length - 1, at + by));
        setAt(next);
        announce(describe(rows[next]!));
    };
    const height = top + rows.length * each + 34;
    return (
        <Picture
            title="How early experts are known"
            file="lead-times"
            figure={() => ({ kind: "lead-times", tokens: tokensParameter() })}
            command="ggscope experts --json"
            computed="From the end of the op that chooses the experts to the first read of each kind of matrix. A read of the expert may take this long without delaying the token."
            csv={() => ({ columns: ["component", "count", "least_ns", "mean_ns", "most_ns"], rows: rows.map(({ component, prefetch }) => [component, prefetch.count, prefetch.least_ns, prefetch.mean_ns, prefetch.most_ns]) })}
        >
            <div class="chart-box" ref={box}>
                {width > 0 && (
                    <svg class="chart" viewBox={`0 0 ${width} ${height}`} height={height} role="img" tabIndex={0} aria-label={`Time from the choice to the first use, by matrix: ${rows.map(describe).join("; ")}`} onKeyDown={keys} onBlur={() => setAt(null)} onPointerLeave={() => setAt(null)}>
                        {ticksOf(from, to).map((tick) => (
                            <g>
                                <line class="grid" x1={x(tick)} x2={x(tick)} y1={top - 6} y2={height - 30} />
                                <text x={x(tick)} y={height - 18} text-anchor="middle">
                                    {time(tick)}
                                </text>
                            </g>
                        ))}
                        <text class="axis-title" x={left + inner / 2} y={height - 3} text-anchor="middle">
                            time after the choice
                        </text>
                        {rows.map(({ component, prefetch }, i) => {
                            const y = top + i * each + each / 2;
                            return (
                                <g data-lead={component} onPointerMove={() => setAt(i)}>
                                    <rect class="plot" x={0} y={y - each / 2} width={width} height={each} />
                                    <text class="axis-title" x={left - 8} y={y + 4} text-anchor="end">
                                        {component}
                                    </text>
                                    <rect x={x(prefetch.least_ns)} y={y - 5} width={Math.max(1, x(prefetch.most_ns) - x(prefetch.least_ns))} height={10} fill="#0072b2" opacity={0.3} />
                                    <circle cx={x(prefetch.mean_ns)} cy={y} r={5} fill="#0072b2" />
                                    <text x={left + inner + 8} y={y + 4}>
                                        {time(prefetch.mean_ns)}
                                    </text>
                                </g>
                            );
                        })}
                    </svg>
                )}
                <div class="chart-legend">
                    <span>
                        <i class="swatch" style={{ "--swatch": "#0072b24d" }} />
                        least to most
                    </span>
                    <span>
                        <i class="swatch" style={{ "--swatch": "#0072b2" }} />
                        mean
                    </span>
                </div>
                {at !== null && (
                    <div class="chart-tip" role="tooltip" style={{ left: `${left}px`, top: `${top + at * each - 4}px` }}>
                        {describe(rows[at]!)}
                    </div>
                )}
            </div>
        </Picture>
    );
}
