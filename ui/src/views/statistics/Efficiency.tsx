// How close ops come to the machine's limits, their durations, waits of threads, use of the KV
// cache, and transfers.
import { useState } from "preact/hooks";
import type { Buffers, Roofline, RooflineRow } from "../../api";
import { useApplied } from "../../applied";
import { useAsk } from "../../ask";
import { phaseColour } from "../../colours";
import { bytes, count, plural, share, threeDigits, time } from "../../format";
import { announce } from "../../shell/Announce";
import { useWidth } from "../../shell/Canvas";
import { Chart } from "../../shell/Chart";
import { Picture } from "../../shell/Picture";
import { asOrder, here, kept, select, selection, summary, chosenOps, tokensParameter } from "../../state";
import { decades, durationsOf, gbytesOf, gflopsOf, intensityOf, type Point, pointsOf, type Rates, roofAt } from "./roofline";
import { CellsPictures } from "../requests/CellsPicture";
import { type Order, Table } from "./Table";
import { Waiting } from "./Waiting";

const order = kept<Order | null>("rates-by", null, asOrder);
const power = (exponent: number) => (exponent >= 0 && exponent <= 4 ? String(10 ** exponent) : exponent < 0 && exponent >= -3 ? String(10 ** exponent) : `1e${exponent}`);
const command = () => `ggscope stats --roofline${selection.value.tokens ? ` --token ${tokensParameter()}` : ""} --json`;

const [left, right, top, bottom, height] = [58, 16, 12, 34, 300];

const describe = ({ row, gflops, gbytes, intensity }: Point, limits: Rates | null): string[] => [
    `${row.op}, ${row.component}, ${row.phase.toLowerCase()}`,
    `${threeDigits(gflops)} Gflop/s${limits && limits.flops_per_second > 0 ? `, ${share(gflops * 1e9, limits.flops_per_second)} of the peak` : ""}`,
    `${threeDigits(gbytes)} GB/s${limits ? `, ${share(gbytes * 1e9, limits.memory_bytes_per_second)} of the memory's` : ""}`,
    `${threeDigits(intensity)} flop per byte`,
    `${time(row.wall_ns)} in ${plural(row.ops, "op")}`,
];

function RoofPicture({ points, limits }: { points: Point[]; limits: Rates | null }) {
    const [box, width] = useWidth();
    const [hover, setHover] = useState<Point | null>(null);
    const [x0, x1] = decades([...points.map((p) => p.intensity), ...(limits && limits.flops_per_second > 0 ? [limits.flops_per_second / limits.memory_bytes_per_second] : [])]);
    const roofs = limits ? [roofAt(limits, 10 ** x1)] : [];
    const [y0, y1] = decades([...points.map((p) => p.gflops), ...roofs]);
    const inner = Math.max(10, width - left - right);
    const plot = height - top - bottom;
    const px = (value: number) => left + ((Math.log10(value) - x0) / (x1 - x0)) * inner;
    const py = (value: number) => top + plot - ((Math.log10(value) - y0) / (y1 - y0)) * plot;
    const most = Math.max(1, ...points.map((p) => p.row.wall_ns));
    const size = (p: Point) => 3 + 9 * Math.sqrt(p.row.wall_ns / most);
    const roof = limits && Array.from({ length: 65 }, (_, i) => 10 ** (x0 + ((x1 - x0) * i) / 64)).map((x) => [x, roofAt(limits, x)] as const).filter(([, y]) => y >= 10 ** y0);
    const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
    // Picks the nearest point, because many points are small.
    const point = (event: PointerEvent) => {
        const frame = (event.currentTarget as Element).getBoundingClientRect();
        const [x, y] = [((event.clientX - frame.left) / frame.width) * width, event.clientY - frame.top];
        const away = (p: Point) => Math.hypot(px(p.intensity) - x, py(p.gflops) - y);
        setHover(points.reduce((best, p) => (away(p) < away(best) ? p : best), points[0]!));
    };
    const isChosen = (p: Point) => selection.value.opType === p.row.op;
    const take = (p: Point) => select({ opType: isChosen(p) ? null : p.row.op });
    const inOrder = [...points].sort((a, b) => a.intensity - b.intensity || a.gflops - b.gflops);
    const keys = (event: KeyboardEvent) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by && !(event.key === "Enter" && hover)) return;
        event.preventDefault();
        if (!by) return take(hover!);
        const now = hover ? inOrder.indexOf(hover) : by > 0 ? -1 : inOrder.length;
        const next = inOrder[Math.max(0, Math.min(inOrder.length - 1, now + by))]!;
        setHover(next);
        announce(describe(next, limits).join(", "));
    };
    return (
        <div class="chart-box" ref={box}>
            {width > 0 && (
                <svg class="chart" viewBox={`0 0 ${width} ${height}`} height={height} role="img" aria-label={`Roofline of ${plural(points.length, "group")} of ops. Arrow keys step from one to the next, Enter selects the op.`} tabIndex={0} onKeyDown={keys} onBlur={() => setHover(null)} onPointerMove={point} onPointerLeave={() => setHover(null)}>
                    {range(y0, y1).map((e) => (
                        <g>
                            <line class="grid" x1={left} x2={left + inner} y1={py(10 ** e)} y2={py(10 ** e)} />
                            <text x={left - 6} y={py(10 ** e) + 4} text-anchor="end">
                                {power(e)}
                            </text>
                        </g>
                    ))}
                    {range(x0, x1).map((e) => (
                        <g>
                            <line class="grid" x1={px(10 ** e)} x2={px(10 ** e)} y1={top} y2={top + plot} />
                            <text x={px(10 ** e)} y={height - bottom + 14} text-anchor="middle">
                                {power(e)}
                            </text>
                        </g>
                    ))}
                    <text x={left + inner / 2} y={height - 4} text-anchor="middle">
                        flop per byte
                    </text>
                    <text x={left + 4} y={top + 12} text-anchor="start">
                        Gflop/s
                    </text>
                    {roof && <polyline fill="none" stroke="var(--ink)" stroke-width={2} points={roof.map(([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`).join(" ")} />}
                    {points.map((p) => (
                        <rect
                            x={px(p.intensity) - size(p)}
                            y={py(p.gflops) - size(p)}
                            width={2 * size(p)}
                            height={2 * size(p)}
                            rx={p.row.phase === "PROMPT" ? 0 : size(p)} // a prompt is square: colours alone say nothing
                            fill={phaseColour(p.row.phase)}
                            fill-opacity={0.55}
                            stroke="var(--ink)"
                            stroke-width={isChosen(p) ? 2.5 : 1}
                            onClick={() => take(p)}
                        />
                    ))}
                    {hover && <circle class="pointed" cx={px(hover.intensity)} cy={py(hover.gflops)} r={size(hover) + 4} />}
                </svg>
            )}
            {hover && (
                <div class="chart-tip" role="tooltip" style={px(hover.intensity) > width / 2 ? { right: `${width - px(hover.intensity) + 14}px` } : { left: `${px(hover.intensity) + 14}px` }}>
                    {describe(hover, limits).map((line, i) => (
                        <div>{i === 0 ? <b>{line}</b> : line}</div>
                    ))}
                </div>
            )}
            <div class="chart-legend">
                {[...new Set(points.map((p) => p.row.phase))].map((phase) => (
                    <span>
                        <i class="swatch" style={{ "--swatch": phaseColour(phase) }} />
                        {phase.toLowerCase()}
                    </span>
                ))}
                <span>the larger, the more time{points.some((p) => p.row.phase === "PROMPT") && "; prompt squares"}</span>
            </div>
        </div>
    );
}

function Limits({ limits }: { limits: Rates | null }) {
    if (!limits)
        return (
            <p class="quiet">
                No roof: the machine was not measured. <code>ggscope doctor --bandwidth</code> measures it for later recordings, <code>ggscope stats --probe DIR</code> for this one.
            </p>
        );
    return (
        <p class="quiet" data-limits={`${limits.memory_bytes_per_second} ${limits.flops_per_second}`}>
            With {plural(limits.threads, "thread")} this machine reads {threeDigits(limits.memory_bytes_per_second / 1e9)} GB/s from memory
            {limits.flops_per_second > 0 ? ` and computes ${threeDigits(limits.flops_per_second / 1e9)} Gflop/s with 32-bit numbers; products of 8-bit numbers, and what fits into caches, can lie above.` : "."}
        </p>
    );
}

function Rows({ data }: { data: Roofline }) {
    const limits = data.limits;
    const most = Math.max(1, ...data.by_op.map((row) => row.wall_ns));
    const waits = (row: RooflineRow) => row.shared && row.shared.busy_ns + row.shared.uneven_ns + row.shared.barrier_ns;
    const of = (row: RooflineRow, part: "uneven_ns" | "barrier_ns") => (row.shared && waits(row)! > 0 ? row.shared[part] / waits(row)! : null);
    const percent = (value: number | null) => (value === null ? "–" : `${(100 * value).toFixed(1)} %`);
    const optional = (value: number | null) => (value === null ? "–" : threeDigits(value));
    const limited = (row: RooflineRow, value: number | null, limit: number | undefined) => (value === null || !limit || row.on_device ? null : (value * 1e9) / limit);
    return (
        <Table
            caption="Rates and waits by op"
            file="rates-by-op"
            rows={data.by_op}
            order={{ key: "wall_ns", descending: true }}
            orderIn={order}
            columns={[
                { key: "op", title: "op", value: (row) => (row.on_device ? `${row.op}, on a device` : row.op) },
                { key: "component", title: "component", value: (row) => row.component },
                { key: "phase", title: "phase", value: (row) => row.phase, show: (row) => row.phase.toLowerCase() },
                { key: "ops", title: "ops", numeric: true, value: (row) => row.ops, show: (row) => count(row.ops) },
                { key: "wall_ns", title: "wall", numeric: true, value: (row) => row.wall_ns, show: (row) => time(row.wall_ns), bar: (row) => row.wall_ns / most },
                { key: "gbytes_per_second", title: "GB/s", numeric: true, value: gbytesOf, show: (row) => threeDigits(gbytesOf(row)) },
                ...(limits ? [{ key: "of_memory", title: "of memory", numeric: true, value: (row: RooflineRow) => limited(row, gbytesOf(row), limits.memory_bytes_per_second), show: (row: RooflineRow) => percent(limited(row, gbytesOf(row), limits.memory_bytes_per_second)), hint: "of what the memory delivers" }] : []),
                { key: "gflops_per_second", title: "Gflop/s", numeric: true, value: gflopsOf, show: (row) => optional(gflopsOf(row)) },
                ...(limits && limits.flops_per_second > 0 ? [{ key: "of_peak", title: "of peak", numeric: true, value: (row: RooflineRow) => limited(row, gflopsOf(row), limits.flops_per_second), show: (row: RooflineRow) => percent(limited(row, gflopsOf(row), limits.flops_per_second)), hint: "of the peak for 32-bit numbers" }] : []),
                { key: "flops_per_byte", title: "flop/byte", numeric: true, value: intensityOf, show: (row) => optional(intensityOf(row)) },
                { key: "uneven", title: "uneven", numeric: true, value: (row) => of(row, "uneven_ns"), show: (row) => percent(of(row, "uneven_ns")), hint: "of the threads' time: waiting because another thread had more to do" },
                { key: "barrier", title: "barrier", numeric: true, value: (row) => of(row, "barrier_ns"), show: (row) => percent(of(row, "barrier_ns")), hint: "of the threads' time: what meeting costs, beyond waiting for the last one" },
            ]}
            rowKey={(row) => `${row.phase} ${row.op} ${row.component} ${row.on_device}`}
            press={(row) => select({ opType: selection.value.opType === row.op ? null : row.op })}
            isSelected={(row) => selection.value.opType === row.op}
        />
    );
}

function Durations({ data }: { data: Roofline }) {
    const chosen = selection.value.opType;
    const rows = data.by_op.filter((row) => chosen === null || row.op === chosen);
    const bins = durationsOf(rows);
    if (bins.length === 0) return null;
    const at = (bin: { from_ns: number }) => Math.log2(bin.from_ns) + 0.5;
    const edge = (x: number) => time(2 ** Math.round(x - 0.5));
    return (
        <Picture
            title={`Durations of ops${chosen ? `: ${chosen}` : ""}`}
            file="durations"
            figure={() => ({ kind: "durations", ...chosenOps() })}
            command={command()}
            computed="Ops by duration, from the first thread's begin to the last thread's end; each bar is from one power of two to the next."
            csv={() => ({ columns: ["from_ns", "to_ns", "ops"], rows: bins.map((bin) => [bin.from_ns, bin.to_ns, bin.ops]) })}
        >
            <Chart
                label={`Durations of ${plural(rows.reduce((sum, row) => sum + row.ops, 0), "op")}`}
                height={180}
                series={[{ name: "ops", colour: "var(--accent)", kind: "bar", points: bins.map((bin) => ({ x: at(bin), y: bin.ops })), text: count }]}
                x={{ from: at(bins[0]!) - 0.5, to: at(bins[bins.length - 1]!) + 0.5, ticks: bins.map(at).filter((_, i) => i % Math.ceil(bins.length / 10) === 0), text: (x) => `${edge(x)} to ${edge(x + 1)}`, name: "duration" }}
                y={{ left: "ops" }}
            />
        </Picture>
    );
}

type Transfer = NonNullable<Buffers["transfers"]>[number];

function Transfers() {
    const answer = useAsk<Buffers>(here("buffers", { transfers: 1 }), { keep: true });
    if (!answer.data) return <Waiting answer={answer} what="Adding up transfers" />;
    const buffers = new Map(answer.data.buffers.map((one) => [one.buffer, one]));
    const side = (row: Transfer, number: number | null) => {
        const one = number === null ? undefined : buffers.get(number);
        return one ? `${one.device ?? "host"}, buffer ${number} (${one.class})` : row.file !== null ? `file ${row.file}` : "host";
    };
    return (
        <Table
            caption="Transfers"
            file="transfers"
            rows={answer.data.transfers ?? []}
            order={{ key: "bytes", descending: true }}
            columns={[
                { key: "kind", title: "transfer", value: (row) => row.kind },
                { key: "from", title: "from", value: (row) => side(row, row.from_buffer) },
                { key: "to", title: "to", value: (row) => side(row, row.to_buffer) },
                { key: "count", title: "times", numeric: true, value: (row) => row.count, show: (row) => count(row.count) },
                { key: "bytes", title: "bytes", numeric: true, value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
                { key: "duration_ns", title: "time", numeric: true, value: (row) => row.duration_ns, show: (row) => time(row.duration_ns) },
                { key: "gbytes_per_second", title: "GB/s", numeric: true, value: (row) => (row.duration_ns > 0 ? row.bytes / row.duration_ns : null), show: (row) => (row.duration_ns > 0 ? threeDigits(row.bytes / row.duration_ns) : "–") },
            ]}
            rowKey={(row) => `${row.kind} ${row.from_buffer} ${row.to_buffer} ${row.file}`}
            empty="Nothing was copied between buffers and devices."
        />
    );
}

export function Efficiency() {
    useApplied("tokens", "layer", "tensor", "opType", "region", "buffer", "expert", "lane", "time", "request");
    const answer = useAsk<Roofline>(here("roofline", chosenOps()), { keep: true });
    if (!answer.data) return <Waiting answer={answer} what="Comparing ops with the machine" />;
    const data = answer.data;
    const points = pointsOf(data.by_op);
    return (
        <>
            <Limits limits={data.limits} />
            <Picture
                title="Roofline"
                file="roofline"
                figure={() => ({ kind: "roofline", ...chosenOps() })}
                command={command()}
                computed="Flop of matrix products and attention by their shapes, and bytes of their operands, over the ops' wall time; the line is the measured machine. Other ops have no point."
                csv={() => ({ columns: ["phase", "op", "component", "ops", "wall_ns", "bytes", "flops", "gbytes_per_second", "gflops_per_second", "flops_per_byte"], rows: points.map((p) => [p.row.phase, p.row.op, p.row.component, p.row.ops, p.row.wall_ns, p.row.bytes_read + p.row.bytes_written, p.row.flops, p.gbytes, p.gflops, p.intensity]) })}
            >
                {points.length > 0 ? <RoofPicture points={points} limits={data.limits} /> : <p class="quiet">No product of matrices and no attention among these ops{summary.value && summary.value.ops === 0 ? ": no op was recorded" : data.by_op.some((row) => row.on_device) ? ", those of devices left out" : ""}.</p>}
            </Picture>
            <Rows data={data} />
            <Durations data={data} />
            <CellsPictures />
            <Transfers />
        </>
    );
}
