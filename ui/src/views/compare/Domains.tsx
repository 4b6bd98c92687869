// The experts that several recordings choose: prompts of several domains, each a recording.
import { useMemo } from "preact/hooks";
import type { Domains, Experiment, Summary } from "../../api";
import { useAsk } from "../../ask";
import { count, share } from "../../format";
import { Computed } from "../../shell/Computed";
import { asNumber, kept, there } from "../../state";
import { CellLegend, ExpertCells } from "../statistics/ExpertCells";
import { Table, type TableColumn } from "../statistics/Table";
import { Waiting } from "../statistics/Waiting";
import { labelOf } from "./figures";


export const mostRecordings = 12; // of GGS_SEVERAL_MOST

const isOpen = kept("domains", false, { write: (value) => (value ? "1" : ""), read: (text) => text === "1" }, { stays: true });
const shownLayer = kept<number | null>("domains-layer", null, asNumber, { stays: true });

const percent = (value: number | null) => (value === null ? "–" : share(value, 1));
const bits = (value: number | null) => (value === null ? "–" : value.toFixed(2));

type Domain = Domains["domains"][number] & { i: number };
type Layer = Domains["by_layer"][number];

function Each({ data, recordings }: { data: Domains; recordings: readonly Experiment[] }) {
    const overlap = (a: number, b: number) => (a === b ? 1 : (data.pairs.find((pair) => pair.a === Math.min(a, b) && pair.b === Math.max(a, b))?.overlap ?? null));
    const rows = useMemo<Domain[]>(() => data.domains.map((one, i) => ({ ...one, i })), [data]);
    return (
        <Table
            caption="Experts of each recording"
            file="expert-domains"
            rows={rows}
            rowKey={(row) => String(row.i)}
            columns={[
                { key: "recording", title: "recording", value: (row) => recordings[row.i]?.name, show: (row) => `${labelOf(row.i)} ${recordings[row.i]?.name}` },
                { key: "tokens", title: "tokens", value: (row) => row.tokens, show: (row) => count(row.tokens), numeric: true },
                { key: "entropy", title: "entropy", value: (row) => row.entropy, show: (row) => bits(row.entropy), numeric: true, hint: "in bits, mean over layers: the larger, the more evenly experts are chosen" },
                { key: "specialists", title: "specialists", value: (row) => row.specialists, show: (row) => count(row.specialists), numeric: true, hint: "experts with at least twice the share here that they have in any other recording" },
                ...recordings.map<TableColumn<Domain>>((other, i) => ({ key: `with_${labelOf(i).toLowerCase()}`, title: `with ${labelOf(i)}`, value: (row) => overlap(row.i, i), show: (row) => percent(overlap(row.i, i)), numeric: true, hint: `overlap with ${other.name}: the part of choices in common, mean over layers` })),
            ]}
        />
    );
}

function DomainMatrix({ layers, recordings }: { layers: readonly Layer[]; recordings: readonly Experiment[] }) {
    const rows = useMemo(
        () => layers.flatMap((layer) => layer.domains.map(({ shares }, i) => ({ name: layers.length === 1 ? labelOf(i) : `${layer.layer} ${labelOf(i)}`, layer: layer.layer, cells: shares, i }))),
        [layers],
    );
    const most = rows.reduce((top, row) => row.cells.reduce((a, b) => Math.max(a, b), top), 0) || 1;
    const cells = () => rows.flatMap((row) => row.cells.map((value, expert) => [row.layer, recordings[row.i]?.name ?? "", expert, value] as const));
    return (
        <ExpertCells
            title="Experts by recording"
            file="expert-domain-matrix"
            figure={() => ({ kind: "expert-domains", of: recordings.map((one) => one.index).join(), layer: layers.length === 1 ? layers[0]!.layer : null })}
            command={`ggscope experts DIR ${recordings.slice(1).map((one) => one.directory).join(" ")}`}
            of={recordings[0]!.directory}
            computed="The part of a layer's choices that falls on each expert, for each recording."
            csv={() => ({ columns: ["layer", "recording", "expert", "share"], rows: cells().map((row) => [...row]) })}
            tools={<CellLegend none="never" some={`up to ${percent(most)} of a layer's choices`} />}
            rows={rows}
            heatOf={(value) => value / most}
            text={(value) => String(Math.round(100 * value))}
            describe={(at, expert) => `layer ${rows[at]!.layer}, ${labelOf(rows[at]!.i)} ${recordings[rows[at]!.i]?.name}, expert ${expert}: ${percent(rows[at]!.cells[expert] ?? 0)} of the choices`}
            table={() => {
                const all = cells().filter((row) => row[3] > 0).sort((a, b) => b[3] - a[3]);
                return { caption: "Experts that were chosen, the largest share first", columns: ["layer", "recording", "expert", "share"], rows: all.slice(0, 500).map(([layer, name, expert, value]) => [layer, name, expert, percent(value)]), more: Math.max(0, all.length - 500) };
            }}
        />
    );
}

function Layers({ data, recordings }: { data: Domains; recordings: readonly Experiment[] }) {
    return (
        <Table
            caption="By layer"
            file="expert-domain-layers"
            rows={data.by_layer}
            rowKey={(row) => String(row.layer)}
            press={(row) => (shownLayer.value = shownLayer.value === row.layer ? null : row.layer)}
            isSelected={(row) => shownLayer.value === row.layer}
            pressHint="Show the matrix of this layer"
            columns={[
                { key: "layer", title: "layer", value: (row) => row.layer, numeric: true, ascending: true },
                { key: "experts", title: "experts", value: (row) => row.experts, numeric: true },
                ...recordings.map<TableColumn<Layer>>((other, i) => ({ key: `entropy_${labelOf(i).toLowerCase()}`, title: `entropy ${labelOf(i)}`, value: (row) => row.entropy[i], show: (row) => bits(row.entropy[i] ?? null), numeric: true, hint: `${other.name}, in bits` })),
                { key: "overlap", title: "overlap", value: (row) => row.overlap, show: (row) => percent(row.overlap), numeric: true, hint: "the part of choices in common, mean over pairs of recordings" },
                { key: "specialists", title: "specialists", value: (row) => row.specialists, show: (row) => count(row.specialists), numeric: true },
            ]}
        />
    );
}

function Specialists({ data, recordings }: { data: Domains; recordings: readonly Experiment[] }) {
    return (
        <Table
            caption="Specialists"
            file="expert-specialists"
            rows={data.specialists}
            rowKey={(row) => `${row.layer} ${row.expert}`}
            most={10}
            empty="None: no expert has twice the share in one recording that it has in any other."
            columns={[
                { key: "recording", title: "of", value: (row) => recordings[row.domain]?.name, show: (row) => `${labelOf(row.domain)} ${recordings[row.domain]?.name}` },
                { key: "layer", title: "layer", value: (row) => row.layer, numeric: true, ascending: true },
                { key: "expert", title: "expert", value: (row) => row.expert, numeric: true, ascending: true },
                { key: "share", title: "share", value: (row) => row.share, show: (row) => percent(row.share), numeric: true, hint: "of the choices of its layer in that recording" },
                { key: "next", title: "in any other", value: (row) => row.next, show: (row) => percent(row.next), numeric: true, hint: "its largest share in another recording" },
            ]}
        />
    );
}

function Result({ recordings }: { recordings: readonly Experiment[] }) {
    const answer = useAsk<Domains>(`/api/domains?of=${recordings.map((one) => one.index).join()}`);
    if (!answer.data) return <Waiting answer={answer} what="Counting experts" />;
    const data = answer.data;
    const layers = data.by_layer.filter((one) => one.layer === shownLayer.value);
    return (
        <>
            <Each data={data} recordings={recordings} />
            <p class="tools">
                <label>
                    layer{" "}
                    <select aria-label="Layer of the matrix" value={layers.length > 0 ? String(shownLayer.value) : ""} onChange={(event) => (shownLayer.value = event.currentTarget.value === "" ? null : Number(event.currentTarget.value))}>
                        <option value="">all</option>
                        {data.by_layer.map(({ layer }) => (
                            <option value={String(layer)}>{layer}</option>
                        ))}
                    </select>
                </label>
            </p>
            <DomainMatrix layers={layers.length > 0 ? layers : data.by_layer} recordings={recordings} />
            <Specialists data={data} recordings={recordings} />
            <Layers data={data} recordings={recordings} />
            <Computed command={`ggscope experts DIR ${recordings.slice(1).map((one) => one.directory).join(" ")}`} of={recordings[0]!.directory}>
                Layers are compared one by one; over all layers there are means and sums. A specialist has at least twice the share in one recording that it has in any other.
            </Computed>
        </>
    );
}

// Empty if no recording has experts; if only some have, names those without.
export function ExpertsOfAll({ recordings }: { recordings: readonly Experiment[] }) {
    const summaries = Array.from({ length: mostRecordings }, (_, i) => useAsk<Summary>(recordings[i] ? there(recordings[i].index, "summary") : null).data);
    const has = recordings.map((_, i) => summaries[i]?.has.experts);
    if (has.includes(undefined) || !has.includes(true)) return null;
    const without = recordings.flatMap((_, i) => (has[i] ? [] : [labelOf(i)]));
    return (
        <details class="domains" open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
            <summary>
                <h3>Experts over these recordings</h3>
            </summary>
            {isOpen.value && (without.length > 0 ? <p class="quiet">No experts: {without.join(", ")}. Choose recordings of one model with experts.</p> : <Result recordings={recordings} />)}
        </details>
    );
}
