// Which experts were chosen how often: as a matrix, and by layer.
import type { Experts, ExpertsLayer } from "../../api";
import { useAsk } from "../../ask";
import { bytes, share, times } from "../../format";
import { here, select, selection, summary, tokensParameter } from "../../state";
import { Matrix } from "./Matrix";
import { Table, type TableColumn } from "./Table";
import { Waiting } from "./Waiting";

const layerColumns: TableColumn<ExpertsLayer>[] = [
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
        show: (l) => (l.imbalance === null ? "–" : times(l.imbalance)),
        numeric: true,
        hint: "the busiest expert's share over an even share: 1 × is perfectly even",
    },
    {
        key: "reuse_share",
        title: "chosen again",
        value: (l) => l.reuse_share,
        show: (l) => (l.reuse_share === null ? "–" : share(l.reuse_share, 1)),
        numeric: true,
        hint: "of a token's experts, how many the token before had chosen too",
    },
    { key: "bytes", title: "one expert", value: (l) => l.bytes, show: (l) => bytes(l.bytes), numeric: true },
];

const mostUsed = (layer: ExpertsLayer) => layer.counts.indexOf(Math.max(...layer.counts));

export function OfAllRequests() {
    return selection.value.request === null ? null : <p class="quiet of-all-requests">These are the experts of all requests: choices are counted by token step, which requests share.</p>;
}

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
            <OfAllRequests />
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
