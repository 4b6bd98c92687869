// Which experts were chosen how often: one row per layer, one cell per expert.
import { useMemo } from "preact/hooks";
import type { ExpertsLayer } from "../../api";
import { heatOf } from "../../colours";
import { count, plural, share } from "../../format";
import type { Table } from "../../shell/TableView";
import { select, selection, tokensParameter } from "../../state";
import { CellLegend, ExpertCells } from "./ExpertCells";

const sumOf = (layer: ExpertsLayer) => layer.counts.reduce((a, b) => a + b, 0);
const describe = (layer: ExpertsLayer, expert: number) => `layer ${layer.layer}, expert ${expert}: chosen ${plural(layer.counts[expert] ?? 0, "time")} (${share(layer.counts[expert] ?? 0, sumOf(layer))})`;

function tableOf(layers: ExpertsLayer[]): Table {
    const most = 500;
    const all = layers.flatMap((layer) => layer.counts.flatMap((n, expert) => (n > 0 ? [[layer.layer, expert, n, share(n, sumOf(layer))] as [number, number, number, string]] : []))).sort((a, b) => b[2] - a[2]);
    return { caption: "Experts that were chosen, the most chosen first", columns: ["layer", "expert", "times", "of its layer"], rows: all.slice(0, most), more: Math.max(0, all.length - most) };
}

function press(layer: number, expert: number): void {
    const chosen = selection.value;
    select({ layer, expert: chosen.layer === layer && chosen.expert === expert ? null : expert, tensor: null, op: null });
}

export function Matrix({ layers }: { layers: ExpertsLayer[] }) {
    const most = useMemo(() => layers.reduce((top, layer) => layer.counts.reduce((a, b) => Math.max(a, b), top), 1), [layers]);
    const rows = useMemo(() => layers.map(({ layer, counts }) => ({ name: String(layer), layer, cells: counts })), [layers]);
    return (
        <ExpertCells
            title="Expert matrix"
            file="expert-matrix"
            figure={() => ({ kind: "expert-matrix", tokens: tokensParameter() })}
            command="ggscope experts --json"
            computed="How often the router of each layer chose each expert, over all tokens of the selected steps."
            csv={() => ({ columns: ["layer", "expert", "times"], rows: layers.flatMap((layer) => layer.counts.map((n, expert) => [layer.layer, expert, n])) })}
            tools={
                <>
                    <span class="quiet">layers down, experts across: how often each was chosen; a click selects the expert in every view</span>
                    <CellLegend none="never" some={`1 to ${count(most)} times, log scale`} />
                </>
            }
            rows={rows}
            heatOf={(n) => heatOf(n, most)}
            text={count}
            describe={(row, expert) => describe(layers[row]!, expert)}
            press={(row, expert) => press(layers[row]!.layer, expert)}
            table={() => tableOf(layers)}
        />
    );
}
