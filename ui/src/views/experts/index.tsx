// View 8: which experts each token took. One layer as a raster of tokens and experts; reuse, working sets and pairs of all of them.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Columns, useAsk } from "../../ask";
import { heat, theme } from "../../colours";
import { bytes, count, plural, share, time } from "../../format";
import { announce } from "../../shell/Announce";
import { canvasFont, hatch, paintOn, useWidth } from "../../shell/Canvas";
import { Chart } from "../../shell/Chart";
import { Picture } from "../../shell/Picture";
import { here, select, selection, summary, tokensParameter } from "../../state";
import { OfAllRequests } from "../statistics/Experts";
import { Table } from "../statistics/Table";
import { Waiting } from "../statistics/Waiting";
import { type Raster, rasterOf } from "./raster";
import "../statistics/statistics.css";

interface ExpertsAnswer {
    has_experts: boolean;
    tokens: number;
    experts: number;
    chosen_per_token: number;
    bytes: number;
    distinct: number;
    distinct_bytes: number;
    activations: number;
    reuse: { share: number | null; by_chance: number | null };
    prefetch: { count: number; least_ns: number; mean_ns: number; most_ns: number } | null;
    by_layer: { layer: number; experts: number; distinct: number; bytes: number; reuse_share: number | null; imbalance: number | null; counts: number[] }[];
    working_sets: { window: number; samples: number; mean_experts: number; most_experts: number; mean_bytes: number; most_bytes: number }[];
    pairs: { layer: number; a: number; b: number; times: number; expected: number }[];
}

const gutter = 60;
const below = 20;

function RasterPicture({ layer, experts }: { layer: number; experts: number }) {
    const answer = useAsk<Columns>(here("choices", { layer, tokens: tokensParameter() }), { keep: true });
    const raster = useMemo<Raster | null>(() => (answer.data ? rasterOf(answer.data, experts) : null), [answer.data, experts]);
    const [box, width] = useWidth();
    const canvas = useRef<HTMLCanvasElement>(null);
    const [hover, setHover] = useState<{ column: number; expert: number; x: number; y: number } | null>(null);
    const rowHeight = Math.max(3, Math.min(14, Math.floor(420 / Math.max(1, experts))));
    const height = experts * rowHeight + below;
    const colours = theme();
    const chosen = selection.value.expert;
    useEffect(() => {
        if (!canvas.current || !raster || width <= gutter) return;
        canvas.current.style.height = `${height}px`;
        paintOn(canvas.current, width, height, (context, w) => {
            const each = (w - gutter) / Math.max(1, raster.columns.length);
            context.fillStyle = hatch(context, colours.hatch, colours.empty);
            context.fillRect(gutter, 0, w - gutter, experts * rowHeight);
            raster.columns.forEach((column, i) => {
                for (const one of column.chosen) {
                    context.fillStyle = heat(one.weight === null ? 1 : Math.min(1, one.weight / raster.most));
                    context.fillRect(gutter + i * each, one.expert * rowHeight, Math.max(1, each - (each > 4 ? 1 : 0)), rowHeight - (rowHeight > 4 ? 1 : 0));
                }
                if (i > 0 && column.token !== raster.columns[i - 1]!.token) {
                    context.fillStyle = colours.ink;
                    context.globalAlpha = 0.5;
                    context.fillRect(gutter + i * each - 0.5, 0, 1, experts * rowHeight);
                    context.globalAlpha = 1;
                }
            });
            context.font = canvasFont(10);
            context.textBaseline = "middle";
            context.fillStyle = colours.faint;
            const step = Math.ceil(12 / rowHeight);
            for (let expert = 0; expert < experts; expert += step) context.fillText(`expert ${expert}`, 0, (expert + 0.5) * rowHeight, gutter - 4);
            let free = 0;
            raster.columns.forEach((column, i) => {
                if (i > 0 && column.token === raster.columns[i - 1]!.token) return;
                const x = gutter + i * each;
                if (x < free) return;
                const label = column.token === 0 ? "prompt" : String(column.token);
                context.fillText(label, x + 1, height - below / 2);
                free = x + context.measureText(label).width + 6;
            });
            if (chosen !== null && chosen < experts) {
                context.strokeStyle = colours.accent;
                context.lineWidth = 2;
                context.strokeRect(gutter, chosen * rowHeight, w - gutter, rowHeight);
            }
        });
    });
    const at = (event: PointerEvent | MouseEvent) => {
        const frame = canvas.current!.getBoundingClientRect();
        const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
        if (!raster || x < gutter || y >= experts * rowHeight) return null;
        return { x, y, column: Math.min(raster.columns.length - 1, Math.floor(((x - gutter) / (width - gutter)) * raster.columns.length)), expert: Math.floor(y / rowHeight) };
    };
    const column = hover && raster ? raster.columns[hover.column] : undefined;
    const here_ = column?.chosen.find((one) => one.expert === hover!.expert);
    return (
        <Picture
            title={`Layer ${layer}: which experts each token took`}
            file={`experts-layer-${layer}`}
            command={`ggscope sql DIR 'SELECT * FROM experts WHERE layer = ${layer}'`}
            computed="One column per token that went through the layer (a prompt has many), one row per expert; the colour is the routing weight, hatched is not taken. Lines part token steps."
            csv={() => ({
                columns: ["token", "input", "rank", "expert", "weight", "run", "node"],
                rows: answer.data ? Array.from({ length: answer.data.rows }, (_, i) => ["token", "input", "rank", "expert", "weight", "run", "node"].map((name) => answer.data!.column(name)[i])) : [],
            })}
            tools={raster && answer.data && Number(answer.data.header["total"]) > answer.data.rows ? <span class="quiet">the first {count(answer.data.rows)} of {count(Number(answer.data.header["total"]))} choices: select tokens to see others</span> : null}
        >
            <Waiting answer={answer} what="Reading the choices" />
            <div class="access-picture" ref={box} data-choices={answer.data?.rows ?? 0} data-columns={raster?.columns.length ?? 0}>
                <canvas
                    ref={canvas}
                    tabIndex={0}
                    role="img"
                    aria-label={`Raster of ${raster?.columns.length ?? 0} tokens and ${experts} experts of layer ${layer}`}
                    onPointerMove={(event) => setHover(at(event))}
                    onPointerLeave={() => setHover(null)}
                    onClick={(event) => {
                        const p = at(event);
                        if (!p || !raster) return;
                        const token = raster.columns[p.column]!.token;
                        select({ layer, expert: selection.value.expert === p.expert ? null : p.expert, tensor: null, op: null });
                        announce(`layer ${layer}, expert ${p.expert}, token ${token}`);
                    }}
                    onKeyDown={(event) => {
                        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
                        if (!by) return;
                        event.preventDefault();
                        const next = Math.max(0, Math.min(experts - 1, (selection.value.expert ?? -1) + by));
                        select({ layer, expert: next, tensor: null, op: null });
                        announce(`layer ${layer}, expert ${next}`);
                    }}
                />
                {hover && column && (
                    <div class="chart-tip" role="tooltip" style={{ ...(hover.x > width / 2 ? { right: `${width - hover.x + 12}px` } : { left: `${hover.x + 12}px` }), top: `${Math.min(hover.y, height - 60)}px` }}>
                        <b>
                            expert {hover.expert}, token {column.token}
                            {column.inputs > 1 ? `, input ${column.input}` : ""}
                        </b>
                        <div>{here_ ? `rank ${here_.rank + 1}, weight ${here_.weight === null ? "not seen" : here_.weight.toFixed(4)}` : "not taken"}</div>
                        {raster && <div class="quiet">{plural(raster.times[hover.expert] ?? 0, "time")} in these tokens</div>}
                    </div>
                )}
            </div>
        </Picture>
    );
}

export default function ExpertsView() {
    const has = summary.value?.has.experts;
    const answer = useAsk<ExpertsAnswer>(has === false ? null : here("experts", { tokens: tokensParameter() }), { keep: true });
    if (has === false || (answer.data && !answer.data.has_experts)) return <p class="empty">No experts: this model is dense, every token uses all of its weights.</p>;
    if (!answer.data) return <Waiting answer={answer} what="Counting experts" />;
    const data = answer.data;
    const layers = data.by_layer;
    const layer = layers.find((one) => one.layer === selection.value.layer) ?? layers[0];
    const { prefetch, reuse } = data;
    return (
        <div class="storage experts-view">
            <h2 class="unseen">Experts</h2>
            <OfAllRequests />
            <dl class="tiles">
                {(
                    [
                        ["used", `${count(data.distinct)} of ${count(data.experts)}`, `experts taken, ${bytes(data.distinct_bytes)} of ${bytes(data.bytes)}`],
                        ["reuse", reuse.share === null ? "-" : share(reuse.share, 1), `of a token's experts the token before had taken too; by chance ${reuse.by_chance === null ? "-" : share(reuse.by_chance, 1)}`],
                        ["activations", count(data.activations), `${data.chosen_per_token} per token and layer`],
                        ["prefetch", prefetch && prefetch.count > 0 ? time(prefetch.mean_ns) : "-", prefetch && prefetch.count > 0 ? `from the choice to the first use, on average; ${time(prefetch.least_ns)} to ${time(prefetch.most_ns)}` : "not seen"],
                    ] as const
                ).map(([key, value, note]) => (
                    <div class="tile" data-tile={`experts-${key}`}>
                        <dt>{{ used: "experts used", reuse: "taken again", activations: "activations", prefetch: "prefetch window" }[key]}</dt>
                        <dd class="tile-value">{value}</dd>
                        <dd class="quiet">{note}</dd>
                    </div>
                ))}
            </dl>
            <p class="tools">
                <label>
                    layer{" "}
                    <select value={String(layer?.layer ?? 0)} onChange={(event) => select({ layer: Number(event.currentTarget.value) })} aria-label="Layer of the raster">
                        {layers.map((one) => (
                            <option value={String(one.layer)}>
                                {one.layer}: {one.distinct} of {one.experts} used
                            </option>
                        ))}
                    </select>
                </label>
                <span class="quiet">A press on a row selects the expert in every view.</span>
            </p>
            {layer && <RasterPicture layer={layer.layer} experts={layer.experts} />}
            <div class="columns-2">
                <Picture
                    title="Working set"
                    file="working-sets"
                    command="ggscope experts --json"
                    computed="How many different experts, over all layers, so many tokens in a row take: on average and at most."
                    csv={() => ({ columns: ["window", "samples", "mean_experts", "most_experts", "mean_bytes", "most_bytes"], rows: data.working_sets.map((one) => [one.window, one.samples, one.mean_experts, one.most_experts, one.mean_bytes, one.most_bytes]) })}
                >
                    <Chart
                        label="Bytes of the experts that some tokens in a row take"
                        height={180}
                        series={[
                            { name: "on average", colour: "#0072b2", kind: "line", points: data.working_sets.map((one) => ({ x: Math.log2(one.window), y: one.mean_bytes })), text: bytes },
                            { name: "at most", colour: "#d55e00", kind: "line", points: data.working_sets.map((one) => ({ x: Math.log2(one.window), y: one.most_bytes })), text: bytes },
                        ]}
                        x={{ from: -0.2, to: Math.max(1, ...data.working_sets.map((one) => Math.log2(one.window))) + 0.2, ticks: data.working_sets.map((one) => Math.log2(one.window)), text: (x) => String(Math.round(2 ** x)), name: "tokens in a row" }}
                    />
                </Picture>
                <Table
                    caption="Pairs that come together"
                    file="expert-pairs"
                    rows={data.pairs}
                    order={{ key: "times", descending: true }}
                    columns={[
                        { key: "layer", title: "layer", value: (row) => row.layer, numeric: true },
                        { key: "a", title: "expert", value: (row) => row.a, numeric: true },
                        { key: "b", title: "and", value: (row) => row.b, numeric: true },
                        { key: "times", title: "times", value: (row) => row.times, show: (row) => count(row.times), numeric: true },
                        { key: "expected", title: "by chance", value: (row) => row.expected, show: (row) => row.expected.toFixed(2), numeric: true, hint: "if experts were taken independently of each other" },
                        { key: "against", title: "times chance", value: (row) => (row.expected > 0 ? row.times / row.expected : null), show: (row) => (row.expected > 0 ? `${(row.times / row.expected).toFixed(2)} ×` : "–"), numeric: true, hint: "above 1: more often than by chance" },
                    ]}
                    rowKey={(row) => `${row.layer} ${row.a} ${row.b}`}
                    press={(row) => select({ layer: row.layer, expert: row.a, tensor: null, op: null })}
                    isSelected={(row) => row.layer === selection.value.layer && row.a === selection.value.expert}
                    most={12}
                />
            </div>
        </div>
    );
}
