// KV cells in use over time, stacked by sequence, with the operations on them.
import { useState } from "preact/hooks";
import type { CellUse, Requests } from "../../api";
import { useAsk } from "../../ask";
import { count, instant, plural, time } from "../../format";
import { announce } from "../../shell/Announce";
import { useWidth } from "../../shell/Canvas";
import { steps } from "../../shell/Chart";
import { Picture } from "../../shell/Picture";
import { Term } from "../../shell/Terms";
import { here, select, selection } from "../../state";
import { Waiting } from "../statistics/Waiting";
import { tickStep } from "../timeline/window";
import { type CellChange, drawnSequences, type Memory, marksOf, stacked } from "./cells";

const colours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"];
const top = 8;
const plot = 150;
const marksAt = top + plot + 12;
const height = top + plot + 46;

const signs: Record<CellChange["kind"], [sign: string, what: string]> = {
    clear: ["×", "everything dropped"],
    remove: ["−", "cells dropped"],
    copy: ["+", "cells shared with another sequence"],
    keep: ["○", "all other sequences dropped"],
    add: ["→", "positions shifted"],
    divide: ["÷", "positions divided"],
    load: ["↓", "a state loaded"],
};

const between = (change: CellChange) => (change.sequence === null ? "" : change.other === null ? ` of sequence ${change.sequence}` : ` of sequence ${change.sequence} for ${change.other}`);
const describe = (changes: readonly CellChange[]) => {
    const [calls, cells] = [changes.reduce((sum, one) => sum + one.calls, 0), changes.reduce((sum, one) => sum + one.cells, 0)];
    const first = changes[0]!;
    return `${first.kind}${changes.length === 1 ? between(first) : ""}: ${plural(cells, "cell")} ${calls === 1 ? `at ${time(first.begin_ns)}` : `in ${plural(calls, "call")} from ${time(first.begin_ns)} on`}`;
};

const seen = (value: number | null) => (value === null ? "not seen" : count(value));

interface Shown {
    memory: Memory;
    uses: CellUse[];
    changes: CellChange[];
    title: string;
    file: string;
    span: [number, number] | null; // of time; null: that of the memory itself
    left: number; // of the plot
}

function OneMemory({ memory, uses, changes, title, file, span, left }: Shown) {
    const [box, width] = useWidth();
    const [hover, setHover] = useState<number | null>(null); // of uses
    const { drawn, rest } = drawnSequences(uses, colours.length);
    const layers = stacked(uses, drawn);
    const sums = layers.map((one) => one[one.length - 1]!);
    const inner = Math.max(10, width - left - 2);
    const begin = span?.[0] ?? Math.min(uses[0]!.time_ns, ...changes.map((one) => one.begin_ns));
    const end = span?.[1] ?? Math.max(uses[uses.length - 1]!.time_ns, ...changes.map((one) => one.end_ns));
    const last = span ? end : begin + Math.max(1, end - begin) * 1.02; // so that the last moment has a width
    const held = Math.max(1, ...sums, ...uses.map((use) => Math.max(use.cells, use.up_to ?? 0)));
    // If attention covers many more cells than there are, drawing it would flatten the rest: a text
    // states it instead.
    const attended = Math.max(0, ...uses.map((use) => use.attended ?? 0));
    const drawsAttended = attended > 0 && attended <= 2 * held;
    const most = drawsAttended ? Math.max(held, attended) : held;
    const px = (ns: number) => left + (Math.max(0, Math.min(last, ns) - begin) / Math.max(1, last - begin)) * inner;
    const py = (cells: number) => top + plot - (cells / most) * plot;
    // A value holds until the next moment.
    const outline = (value: (i: number) => number | null) => {
        let path = "";
        uses.forEach((use, i) => {
            const y = value(i);
            if (y === null) return;
            const before = i > 0 ? value(i - 1) : null;
            path += `${before === null ? "M" : "L"}${px(use.time_ns).toFixed(1)} ${py(y).toFixed(1)}H${px(uses[i + 1]?.time_ns ?? last).toFixed(1)}`;
        });
        return path;
    };
    const area = (upper: (i: number) => number, lower: (i: number) => number) =>
        uses
            .map((use, i) => [upper(i), lower(i), px(use.time_ns), px(uses[i + 1]?.time_ns ?? last)] as const)
            .filter(([a, b]) => a > b)
            .map(([a, b, x0, x1]) => `M${x0.toFixed(1)} ${py(b).toFixed(1)}V${py(a).toFixed(1)}H${x1.toFixed(1)}V${py(b).toFixed(1)}z`)
            .join("");
    const marks = marksOf(changes, px, 12);
    const nearest = (x: number) => uses.reduce((best, use, i) => (px(use.time_ns) <= x ? i : best), 0);
    const shown = hover === null ? null : uses[hover]!;
    const at = (event: PointerEvent | MouseEvent) => nearest(event.clientX - (event.currentTarget as SVGElement).ownerSVGElement!.getBoundingClientRect().left);
    const move = (to: number) => {
        const next = Math.max(0, Math.min(uses.length - 1, to));
        setHover(next);
        announce(`${time(uses[next]!.time_ns)}: ${plural(uses[next]!.cells, "cell")} in use`);
    };
    const pick = (i: number) => {
        const { token } = uses[i]!;
        if (token !== null) select({ tokens: [token, token] });
    };
    const chosen = selection.value.tokens;
    const step = tickStep({ begin, end: last }, inner, 90);
    const kinds = [...new Set(changes.map((one) => one.kind))];
    const names = [...drawn.map((sequence) => `sequence ${sequence}`), ...(rest > 0 ? [`${plural(rest, "other sequence")}`] : [])];
    return (
        <Picture
            title={title}
            file={file}
            figure={() => ({ kind: "cells", context: memory.context })}
            command="ggscope requests --cells --json"
            computed="Cells in use after each decode, by sequence; the line counts shared cells once. Holes are free cells below the last one in use. Marks are calls that drop, share or shift cells."
            csv={() => ({
                columns: ["time_ns", "token", "context", "cells", "up_to", "holes", "attended", "sequence", "sequence_cells", "pieces"],
                rows: uses.flatMap((use) => use.by_sequence.map((one) => [use.time_ns, use.token, use.context, use.cells, use.up_to, use.holes, use.attended, one.sequence, one.cells, one.pieces])),
            })}
            tools={
                <span class="quiet" data-memory={memory.context}>
                    at most {count(memory.cells_peak)} in use{memory.capacity ? ` of ${count(memory.capacity)}` : ""}
                    {memory.holes_peak === null ? "; which ones was not seen" : `; holes: ${memory.holes_peak > 0 ? `at most ${count(memory.holes_peak)}, at ${time(memory.holes_peak_ns ?? 0)}` : "none"}`}
                    {drawsAttended ? "" : attended > 0 ? `; attention goes over ${count(attended)}` : ""}
                </span>
            }
        >
            <div class="chart-box" ref={box}>
                {width > 0 && (
                    <svg
                        class="chart cells-chart"
                        viewBox={`0 0 ${width} ${height}`}
                        height={height}
                        role="img"
                        tabIndex={0}
                        aria-label={`${title}: at most ${plural(memory.cells_peak, "cell")} in use, of ${plural(drawn.length + rest, "sequence")}; arrow keys step through ${plural(uses.length, "moment")}`}
                        data-moments={uses.length}
                        onBlur={() => setHover(null)}
                        onKeyDown={(event) => {
                            const by = event.code === "ArrowRight" ? 1 : event.code === "ArrowLeft" ? -1 : 0;
                            if (by !== 0) move(hover === null ? (by > 0 ? 0 : uses.length - 1) : hover + by);
                            else if (event.code === "Enter" && hover !== null) pick(hover);
                            else return;
                            event.preventDefault();
                        }}
                    >
                        <defs>
                            <pattern id={`holes-${memory.context}`} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                                <rect width="1.5" height="5" fill="var(--faint)" />
                            </pattern>
                        </defs>
                        {steps(most, 4).map((cells) => (
                            <g>
                                <line class="grid" x1={left} x2={left + inner} y1={py(cells)} y2={py(cells)} />
                                <text x={left - 6} y={py(cells) + 4} text-anchor="end">
                                    {count(cells)}
                                </text>
                            </g>
                        ))}
                        {names.map((name, k) => (
                            <path class="cells-layer" data-sequence={drawn[k]} fill={colours[k]} opacity={0.75} d={area((i) => layers[i]![k]!, (i) => (k > 0 ? layers[i]![k - 1]! : 0))}>
                                <title>{name}</title>
                            </path>
                        ))}
                        <path class="cells-holes" fill={`url(#holes-${memory.context})`} d={area((i) => uses[i]!.up_to ?? 0, (i) => Math.max(sums[i]!, uses[i]!.cells))} />
                        {drawsAttended && <path fill="none" stroke="var(--wait)" stroke-width={1.5} stroke-dasharray="2 3" d={outline((i) => uses[i]!.attended)} />}
                        <path class="cells-used" fill="none" stroke="var(--ink)" stroke-width={1.5} d={outline((i) => uses[i]!.cells)} />
                        {chosen && uses.some((use) => use.token !== null && use.token >= chosen[0] && use.token <= chosen[1]) && <line class="at" x1={px(uses.find((use) => use.token !== null && use.token >= chosen[0])!.time_ns)} x2={px(uses.find((use) => use.token !== null && use.token >= chosen[0])!.time_ns)} y1={top} y2={top + plot} />}
                        {shown && <line class="at" x1={px(shown.time_ns)} x2={px(shown.time_ns)} y1={top} y2={top + plot} />}
                        <rect class="plot" x={left} y={top} width={inner} height={plot} onPointerMove={(event) => setHover(at(event))} onPointerLeave={() => setHover(null)} onClick={(event) => pick(at(event))} />
                        <text x={left - 12} y={marksAt + 4} text-anchor="end">
                            {marks.length > 0 ? "calls" : ""}
                        </text>
                        {marks.map((mark) => (
                            <text class="cells-mark" data-kind={mark.changes[0]!.kind} data-calls={mark.calls} x={mark.x} y={marksAt + 5} text-anchor="middle">
                                {signs[mark.changes[0]!.kind][0]}
                                <title>{describe(mark.changes)}</title>
                            </text>
                        ))}
                        {Array.from({ length: Math.max(0, Math.floor(last / step) - Math.ceil(begin / step) + 1) }, (_, i) => (Math.ceil(begin / step) + i) * step).filter((ns) => px(ns) < left + inner - 20).map((ns) => (
                            <text x={px(ns)} y={height - 8} text-anchor="middle">
                                {instant(ns, step)}
                            </text>
                        ))}
                    </svg>
                )}
                {shown && (
                    <div class="chart-tip" role="tooltip" style={px(shown.time_ns) > width / 2 ? { right: `${width - px(shown.time_ns) + 8}px` } : { left: `${px(shown.time_ns) + 8}px` }}>
                        <b>
                            {time(shown.time_ns)}
                            {shown.token === null ? ", warm-up" : `, token ${shown.token}`}
                        </b>
                        <div>in use: {count(shown.cells)}</div>
                        {shown.by_sequence.slice(0, 10).map((one) => (
                            <div>
                                sequence {one.sequence}: {count(one.cells)}
                                {one.pieces !== null && one.pieces > 1 ? ` in ${plural(one.pieces, "piece")}` : ""}
                            </div>
                        ))}
                        {shown.by_sequence.length > 10 && <div>and {plural(shown.by_sequence.length - 10, "other sequence")}</div>}
                        <div>holes: {seen(shown.holes)}</div>
                        <div>attention goes over: {seen(shown.attended)}</div>
                    </div>
                )}
                <div class="chart-legend">
                    {names.map((name, k) => (
                        <span>
                            <i class="swatch" style={{ "--swatch": colours[k]! }} />
                            {name}
                        </span>
                    ))}
                    <span>— in use, shared ones once</span>
                    {drawsAttended && <span>┄ attention goes over</span>}
                    {(memory.holes_peak ?? 0) > 0 && <span>▨ <Term word="holes" /></span>}
                    {kinds.map((kind) => (
                        <span>
                            {signs[kind][0]} {signs[kind][1]}
                        </span>
                    ))}
                </div>
            </div>
        </Picture>
    );
}

// `span` and `left`: the axis of a picture above it.
export function CellsPictures({ span = null, left = 64 }: { span?: [number, number] | null; left?: number }) {
    const answer = useAsk<Requests>(here("requests", { cells: 1, count: 1 }), { keep: true });
    if (!answer.data) return <Waiting answer={answer} what="Counting cells" />;
    const { memories = [], cells = [], changes = [], contexts } = answer.data;
    const shown = memories
        .map((memory) => ({ memory, uses: cells.filter((use) => use.context === memory.context), changes: changes.filter((change) => change.context === memory.context) }))
        .filter(({ uses }) => uses.some((use) => use.cells > 0));
    return (
        <>
            {shown.map(({ memory, uses, changes: own }) => {
                const target = contexts.find((one) => one.context === memory.context)?.target ?? null;
                const of = shown.length < 2 ? "" : target === null ? ` of context ${memory.context}` : ` of context ${memory.context}, which drafts for ${target}`;
                return <OneMemory key={memory.context} title={`Keys and values: cells in use${of}`} file={shown.length < 2 ? "kv-cells" : `kv-cells-${memory.context}`} memory={memory} uses={uses} changes={own} span={span} left={left} />;
            })}
        </>
    );
}
