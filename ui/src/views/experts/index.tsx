// View 8: the experts that tokens chose. A raster of tokens and experts of one layer; reuse,
// working sets and pairs.
import type { Experts, ExpertsLayer, Prefetch } from "../../api";
import { useApplied } from "../../applied";
import { useAsk } from "../../ask";
import { bytes, count, share, time, times } from "../../format";
import { Chart } from "../../shell/Chart";
import { Picture } from "../../shell/Picture";
import { here, select, selection, summary, tokensParameter } from "../../state";
import { OfAllRequests } from "../statistics/Experts";
import { Table } from "../statistics/Table";
import { Waiting } from "../statistics/Waiting";
import { LeadTimes } from "./LeadTimes";
import { RasterPicture } from "./RasterPicture";
import { UseBars } from "./UseBars";
import "../statistics/statistics.css";
import "./experts.css";

type Tile = readonly [key: string, name: string, value: string, note: string];

const leadTile = (lead: Prefetch | null): Tile => [
    "prefetch",
    "lead time",
    lead && lead.count > 0 ? time(lead.mean_ns) : "–",
    lead && lead.count > 0 ? `from the choice to the first use, on average; ${time(lead.least_ns)} to ${time(lead.most_ns)}` : "not seen",
];
const reuseTile = (reuse: number | null, chance: number | null): Tile => [
    "reuse",
    "chosen again",
    reuse === null ? "–" : share(reuse, 1),
    reuse === null || chance === null ? "not known: no token follows another" : `of a token's experts the token before had chosen too; by chance ${share(chance, 1)}`,
];

const tilesOfAll = (data: Experts): Tile[] => [
    ["used", "experts used", `${count(data.distinct)} of ${count(data.experts)}`, `in all layers, ${bytes(data.distinct_bytes)} of ${bytes(data.bytes)}`],
    reuseTile(data.reuse.share, data.reuse.by_chance),
    ["activations", "activations", count(data.activations), `${data.chosen_per_token} per token and layer`],
    leadTile(data.prefetch),
];

const tilesOf = (layer: ExpertsLayer): Tile[] => [
    ["used", "experts used", `${count(layer.distinct)} of ${count(layer.experts)}`, `in layer ${layer.layer}, ${bytes(layer.distinct * layer.bytes)} of ${bytes(layer.experts * layer.bytes)}`],
    reuseTile(layer.reuse_share, layer.chosen_per_token / layer.experts),
    ["activations", "activations", count(layer.activations), `${layer.chosen_per_token} per token; the busiest expert ${layer.imbalance === null ? "–" : times(layer.imbalance)} the mean`],
    leadTile(layer.prefetch),
];

export default function ExpertsView() {
    useApplied("tokens", "layer", "expert");
    const has = summary.value?.has.experts;
    const answer = useAsk<Experts>(has === false ? null : here("experts", { tokens: tokensParameter() }), { keep: true });
    if (has === false || (answer.data && !answer.data.has_experts)) return <p class="empty">No experts: this model is dense, every token uses all of its weights.</p>;
    if (!answer.data) return <Waiting answer={answer} what="Counting experts" />;
    const data = answer.data;
    const layers = data.by_layer;
    const chosen = layers.find((one) => one.layer === selection.value.layer);
    const layer = chosen ?? layers[0];
    return (
        <div class="storage experts-view">
            <h2 class="unseen">Experts</h2>
            <OfAllRequests />
            <p class="tools">
                <label>
                    layer{" "}
                    <select value={chosen ? String(chosen.layer) : ""} onChange={(event) => select({ layer: event.currentTarget.value === "" ? null : Number(event.currentTarget.value) })} aria-label="Layer">
                        <option value="">all, raster of layer {layers[0]?.layer}</option>
                        {layers.map((one) => (
                            <option value={String(one.layer)}>
                                {one.layer}: {one.distinct} of {one.experts} used
                            </option>
                        ))}
                    </select>
                </label>
                <span class="quiet">A press on a row selects the expert in every view.</span>
            </p>
            <dl class="tiles">
                {(chosen ? tilesOf(chosen) : tilesOfAll(data)).map(([key, name, value, note]) => (
                    <div class="tile" data-tile={`experts-${key}`}>
                        <dt>{name}</dt>
                        <dd class="tile-value">{value}</dd>
                        <dd class="quiet">{note}</dd>
                    </div>
                ))}
            </dl>
            {layer && (
                <div class="raster-and-use">
                    <RasterPicture layer={layer.layer} experts={layer.experts} />
                    <UseBars layer={layer.layer} counts={layer.counts} />
                </div>
            )}
            <LeadTimes components={data.by_component} />
            <div class="columns-2">
                <WorkingSets sets={data.working_sets} />
                <Pairs pairs={chosen ? data.pairs.filter((pair) => pair.layer === chosen.layer) : data.pairs} />
            </div>
        </div>
    );
}

function WorkingSets({ sets }: { sets: Experts["working_sets"] }) {
    const at = (one: (typeof sets)[number]) => Math.log2(one.window);
    return (
        <Picture
            title="Working set"
            file="working-sets"
            figure={() => ({ kind: "working-sets", tokens: tokensParameter() })}
            command="ggscope experts --json"
            computed="Different experts that so many tokens in a row choose, over all layers: on average and at most."
            csv={() => ({ columns: ["window", "samples", "mean_experts", "most_experts", "mean_bytes", "most_bytes"], rows: sets.map((one) => [one.window, one.samples, one.mean_experts, one.most_experts, one.mean_bytes, one.most_bytes]) })}
        >
            <Chart
                label="Bytes of the experts that some tokens in a row choose"
                height={180}
                series={[
                    { name: "on average", colour: "#0072b2", kind: "line", points: sets.map((one) => ({ x: at(one), y: one.mean_bytes })), text: bytes },
                    { name: "at most", colour: "#d55e00", kind: "line", points: sets.map((one) => ({ x: at(one), y: one.most_bytes })), text: bytes },
                ]}
                x={{ from: -0.2, to: Math.max(1, ...sets.map(at)) + 0.2, ticks: sets.map(at), text: (x) => String(Math.round(2 ** x)), name: "tokens in a row" }}
                y={{ left: "bytes of their experts" }}
            />
        </Picture>
    );
}

function Pairs({ pairs }: { pairs: Experts["pairs"] }) {
    return (
        <Table
            caption="Pairs that come together"
            file="expert-pairs"
            rows={pairs}
            order={{ key: "times", descending: true }}
            columns={[
                { key: "layer", title: "layer", value: (row) => row.layer, numeric: true },
                { key: "a", title: "expert", value: (row) => row.a, numeric: true },
                { key: "b", title: "and", value: (row) => row.b, numeric: true },
                { key: "times", title: "times", value: (row) => row.times, show: (row) => count(row.times), numeric: true },
                { key: "expected", title: "by chance", value: (row) => row.expected, show: (row) => row.expected.toFixed(2), numeric: true, hint: "if experts were chosen independently of each other" },
                { key: "against", title: "times chance", value: (row) => (row.expected > 0 ? row.times / row.expected : null), show: (row) => (row.expected > 0 ? times(row.times / row.expected, 2) : "–"), numeric: true, hint: "above 1: more often than by chance" },
            ]}
            rowKey={(row) => `${row.layer} ${row.a} ${row.b}`}
            press={(row) => select({ layer: row.layer, expert: row.a, tensor: null, op: null })}
            isSelected={(row) => row.layer === selection.value.layer && row.a === selection.value.expert}
            most={12}
            empty="No pair came together more than once."
        />
    );
}
