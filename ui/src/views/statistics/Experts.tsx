// Which experts were chosen how often: one row per layer, one cell per expert.
import { useMemo, useRef, useState } from "preact/hooks";
import { useAsk } from "../../ask";
import { heat, heatInk, heatOf } from "../../colours";
import { bytes, count, plural, share } from "../../format";
import { here, select, selection, summary, tokensParameter } from "../../state";
import { announce } from "../../shell/Announce";
import { Picture } from "../../shell/Picture";
import type { Experts, ExpertLayer } from "./answers";
import { Table, type TableColumn } from "./Table";
import { Waiting } from "./Waiting";

const layerColumns: TableColumn<ExpertLayer>[] = [
    { key: "layer", title: "layer", value: (l) => l.layer, numeric: true, ascending: true },
    {
        key: "used",
        title: "experts used",
        value: (l) => l.distinct,
        show: (l) => `${l.distinct} of ${l.experts}`,
        numeric: true,
        bar: (l) => l.distinct / l.experts,
    },
    { key: "most", title: "most used", value: (l) => mostUsed(l), show: (l) => `expert ${mostUsed(l)}`, numeric: true },
    { key: "times", title: "times", value: (l) => Math.max(...l.counts), numeric: true },
    {
        key: "imbalance",
        title: "imbalance",
        value: (l) => l.imbalance,
        show: (l) => (l.imbalance === null ? "-" : `${l.imbalance.toFixed(1)} ×`),
        numeric: true,
        hint: "the busiest expert's share over an even share: 1 × is perfectly even",
    },
    {
        key: "reuse_share",
        title: "chosen again",
        value: (l) => l.reuse_share,
        show: (l) => (l.reuse_share === null ? "-" : share(l.reuse_share, 1)),
        numeric: true,
        hint: "of a token's experts, how many the token before had chosen too",
    },
    { key: "bytes", title: "one expert", value: (l) => l.bytes, show: (l) => bytes(l.bytes), numeric: true },
];

const mostUsed = (layer: ExpertLayer) => layer.counts.indexOf(Math.max(...layer.counts));

export function ExpertsPart() {
    const dense = summary.value?.has.experts === false;
    const answer = useAsk<Experts>(dense ? null : here("experts", { tokens: tokensParameter() }), { keep: true });
    const layers = answer.data?.by_layer ?? [];
    if (dense || (answer.data && !answer.data.has_experts))
        return (
            <section class="table-part">
                <div class="table-head">
                    <h3>Experts</h3>
                </div>
                <p class="empty">No experts: this model is dense, every token uses all of its weights.</p>
            </section>
        );
    if (!answer.data)
        return (
            <section class="table-part">
                <h3>Experts</h3>
                <Waiting answer={answer} what="Counting experts" />
            </section>
        );
    return (
        <>
            <Matrix layers={layers} />
            <Table
                caption="Experts by layer"
                file="experts-by-layer"
                rows={layers}
                columns={layerColumns}
                order={{ key: "layer", descending: false }}
                rowKey={(l) => String(l.layer)}
                press={(l) => select({ layer: selection.value.layer === l.layer ? null : l.layer })}
                isSelected={(l) => selection.value.layer === l.layer}
                most={100}
            />
        </>
    );
}

function Matrix({ layers }: { layers: ExpertLayer[] }) {
    const most = useMemo(() => Math.max(1, ...layers.flatMap((l) => l.counts)), [layers]);
    const width = Math.max(0, ...layers.map((l) => l.experts));
    const [at, setAt] = useState<[number, number]>([0, 0]); // cell that the keyboard is at
    const grid = useRef<HTMLDivElement>(null);
    const chosen = selection.value;
    const press = (layer: ExpertLayer, expert: number) => select({ layer: layer.layer, expert: chosen.layer === layer.layer && chosen.expert === expert ? null : expert, tensor: null, op: null });
    const move = (event: KeyboardEvent) => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        const next: [number, number] = [
            Math.min(layers.length - 1, Math.max(0, at[0] + step[0]!)),
            Math.min(width - 1, Math.max(0, at[1] + step[1]!)),
        ];
        setAt(next);
        const layer = layers[next[0]]!;
        announce(`layer ${layer.layer}, expert ${next[1]}: chosen ${plural(layer.counts[next[1]] ?? 0, "time")}`);
        grid.current?.querySelector<HTMLElement>(`[data-cell="${next[0]} ${next[1]}"]`)?.focus();
    };
    return (
        <Picture
            title="Expert matrix"
            file="expert-matrix"
            command="ggscope experts --json"
            computed="How often the router of each layer chose each expert, over all tokens of the steps that are selected."
            csv={() => ({ columns: ["layer", "expert", "times"], rows: layers.flatMap((layer) => layer.counts.map((n, expert) => [layer.layer, expert, n])) })}
            tools={
                <>
                    <span class="quiet">how often each was chosen; a click selects the expert in every view</span>
                    <Legend most={most} />
                </>
            }
        >
            <div class="table-scroll">
                <div class="experts" role="grid" aria-label="Expert matrix" ref={grid} onKeyDown={move} style={{ "--experts": String(width) }}>
                    {layers.map((layer, i) => (
                        <div role="row" class={`experts-row${selection.value.layer === layer.layer ? " selected" : ""}`} key={layer.layer}>
                            <span role="rowheader" class="experts-name">
                                {layer.layer}
                            </span>
                            {layer.counts.map((n, expert) => {
                                const v = heatOf(n, most);
                                const text = `layer ${layer.layer}, expert ${expert}: chosen ${plural(n, "time")} (${share(
                                    n,
                                    layer.counts.reduce((a, b) => a + b, 0),
                                )})`;
                                return (
                                    <span
                                        role="gridcell"
                                        key={expert}
                                        data-cell={`${i} ${expert}`}
                                        data-count={n}
                                        tabIndex={at[0] === i && at[1] === expert ? 0 : -1}
                                        title={text}
                                        aria-label={text}
                                        class={`expert${n === 0 ? " never" : ""}${chosen.expert === expert && (chosen.layer === null || chosen.layer === layer.layer) ? " chosen" : ""}`}
                                        style={n === 0 ? undefined : { background: heat(v), color: heatInk(v) }}
                                        onClick={() => press(layer, expert)}
                                        onKeyDown={(event) => {
                                            if (event.key === "Enter" || event.key === " ") (event.preventDefault(), press(layer, expert));
                                        }}
                                    >
                                        {width <= 64 && n > 0 ? count(n) : ""}
                                    </span>
                                );
                            })}
                        </div>
                    ))}
                </div>
            </div>
        </Picture>
    );
}

function Legend({ most }: { most: number }) {
    return (
        <span class="expert-legend">
            <span class="expert never" aria-hidden="true" /> never
            {[0, 0.25, 0.5, 0.75, 1].map((v) => (
                <span class="expert" aria-hidden="true" style={{ background: heat(v) }} key={v} />
            ))}{" "}
            1 to {count(most)} times, log scale
        </span>
    );
}
