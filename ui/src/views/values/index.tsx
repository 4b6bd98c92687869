// View 9: computed values. Of one recording ranges, NaN and findings; of two the errors, and the
// first wrong op.
import type { Values, ValuesDiff } from "../../api";
import { useApplied } from "../../applied";
import { useAsk } from "../../ask";
import { count, plural } from "../../format";
import { Chart } from "../../shell/Chart";
import { quoted, recordedCommand } from "../../shell/Computed";
import { Picture } from "../../shell/Picture";
import { asked, current, experiment, here, select, selection, summary } from "../../state";
import { Table } from "../statistics/Table";
import { Waiting } from "../statistics/Waiting";
import { findingsOf, type Found, whyText, wrongOps } from "./findings";
import { short } from "./grid";
import { HeatMap } from "./HeatMap";
import { against, chosen, others, trusted } from "./state";
import "../statistics/statistics.css";
import "./values.css";

declare const REPORT: boolean; // set by build.mjs

export default function ValuesView() {
    useApplied("tokens", "layer", "opType", "tensor", "op");
    const about = summary.value;
    if (!about) return null;
    if (!about.has.values) return <NotRecorded />;
    const a = trusted();
    return (
        <div class="storage values">
            <h2 class="unseen">Values</h2>
            <Against />
            {a ? <Two a={a.index} /> : <One />}
        </div>
    );
}

function NotRecorded() {
    const to = `${experiment.value?.directory || experiment.value?.name || "DIR"}-values`;
    return (
        <div class="storage values-none">
            <h2>Values: not recorded</h2>
            <p>This recording does not hold what the ops computed. Record it again with --values:</p>
            <pre class="command">{`ggscope record --values -o ${quoted(to)} -- ${recordedCommand()}`}</pre>
        </div>
    );
}

// Chooses the trusted recording, or none.
function Against() {
    const all = others();
    if (all.length === 0) return null;
    if (REPORT) return <p class="quiet">A report holds no comparison of values: ggscope diff --values A B has it.</p>;
    return (
        <p class="tools">
            <label>
                compare with a recording that is right{" "}
                <select aria-label="Recording that is right" value={trusted()?.experiment_id ?? ""} onChange={(event) => (against.value = event.currentTarget.value || null)}>
                    <option value="">none</option>
                    {all.map((one) => (
                        <option value={one.experiment_id ?? ""}>{one.name}</option>
                    ))}
                </select>
            </label>
        </p>
    );
}

function FoundTable({ caption, file, rows, empty }: { caption: string; file: string; rows: Found[]; empty: string }) {
    return (
        <Table
            caption={caption}
            file={file}
            rows={rows}
            rowKey={(row) => `${row.what} ${row.op} ${row.name} ${row.position}`}
            most={20}
            empty={empty}
            columns={[
                { key: "what", title: "what", value: (row) => row.what, show: (row) => <b>{row.what}</b> },
                { key: "op", title: "op", value: (row) => row.op },
                { key: "tensor", title: "tensor", value: (row) => row.name },
                { key: "layer", title: "layer", value: (row) => row.layer, numeric: true, ascending: true },
                { key: "position", title: "position", value: (row) => row.position, numeric: true, ascending: true, hint: "of the token that shows it first" },
                { key: "text", title: "how", value: (row) => row.text },
            ]}
            press={(row) => row.at && select({ op: row.at })}
            pressHint="Details of the op"
            isSelected={(row) => row.at !== null && row.at.run === selection.value.op?.run && row.at.node === selection.value.op.node}
        />
    );
}

function One() {
    const answer = useAsk<Values>(here("values", chosen()), { keep: true });
    const data = answer.data;
    return (
        <>
            <Waiting answer={answer} what="Looking for what is remarkable" />
            {data && (
                <p class={data.nan_origins > 0 ? "values-first" : "values-first right"} data-nan={data.nan_origins}>
                    {data.nan_origins > 0 ? (
                        <>
                            <b>
                                The first NaN: {data.nan[0]!.op} {data.nan[0]!.name}
                            </b>
                            {`, position ${data.nan[0]!.position ?? "not known"}${data.nan_origins > 1 ? `, and ${count(data.nan_origins - 1)} more` : ""}`}
                        </>
                    ) : (
                        `No NaN in ${count(data.rows)} outputs of ${plural(data.runs, "graph run")}.`
                    )}
                </p>
            )}
            <HeatMap />
            {data && <FoundTable caption="Remarkable" file="values-findings" rows={findingsOf(data)} empty="Nothing: no NaN, no infinity, nothing near the limit of F16, nothing constant." />}
            {data && data.by_layer.length > 1 && <Layers layers={data.by_layer.filter((one) => one.model === 1)} />}
        </>
    );
}

// Powers of ten as heights: a chart with a log scale.
function Layers({ layers }: { layers: Values["by_layer"] }) {
    const largest = (one: (typeof layers)[number]) => Math.max(one.max, -one.min);
    const lowest = Math.floor(Math.log10(Math.min(...layers.flatMap((one) => [one.rms, largest(one)]).filter((value) => value > 0)) || 1));
    const height = (value: number) => (value > 0 ? Math.log10(value) - lowest : null);
    const text = (y: number) => short(10 ** (y + lowest));
    const series = (name: string, colour: string, value: (one: (typeof layers)[number]) => number) => ({ name, colour, kind: "line" as const, text, points: layers.map((one) => ({ x: one.layer, y: height(value(one)) })) });
    const step = Math.ceil(layers.length / 16);
    return (
        <Picture
            title="Ranges by layer"
            file="values-layers"
            figure={() => ({ kind: "value-ranges", ...chosen() })}
            command="ggscope values --json"
            computed="The rms of each layer's last named op, and the largest absolute value of all its ops, on a log scale."
            csv={() => ({ columns: ["layer", "ops", "min", "max", "largest_in", "output", "rms"], rows: layers.map((one) => [one.layer, one.ops, one.min, one.max, one.largest_in, one.output, one.rms]) })}
        >
            <Chart
                label="Ranges by layer"
                height={200}
                series={[series("rms of the layer's output", "#0072b2", (one) => one.rms), series("largest absolute value of its ops", "#d55e00", largest)]}
                x={{ from: layers[0]!.layer - 0.5, to: layers.at(-1)!.layer + 0.5, ticks: layers.filter((_, i) => i % step === 0).map((one) => one.layer), text: String, name: "layer" }}
                y={{ left: "value, log scale" }}
                at={selection.value.layer !== null && selection.value.layer >= 0 ? selection.value.layer : null}
                onPick={(layer) => select({ layer: selection.value.layer === layer ? null : layer })}
            />
        </Picture>
    );
}

function Two({ a }: { a: number }) {
    const answer = useAsk<ValuesDiff>(asked("/api/values-diff", { a, b: current.value }));
    if (!answer.data) return <Waiting answer={answer} what="Comparing op by op" />;
    const data = answer.data;
    const first = data.wrong[0];
    return (
        <>
            <div class={first ? "values-first" : "values-first right"} data-wrong={data.wrong_ops}>
                {first ? (
                    <>
                        <p>
                            <b>
                                The first wrong op: {first.op} {first.name}
                            </b>
                            {first.alias ? ` (${first.alias})` : ""}, position {first.first!.position}, in {count(first.wrong_tokens!)} of {plural(first.tokens, "token")}
                        </p>
                        <p>
                            {first.why}
                            <br />
                            {whyText(first)}
                        </p>
                        <p>{data.common.join("; ")}</p>
                        <pre class="command">{`ggscope extract ${quoted(experiment.value?.directory || "DIR")} '${first.key}' -o op.gguf`}</pre>
                    </>
                ) : (
                    <p>
                        <b>No op is wrong:</b> none differs by more than rounding explains.
                    </p>
                )}
                <p class="quiet">
                    {plural(data.tokens, "token")}, {plural(data.ops, "op")}: {count(data.outputs_equal)} of {count(data.outputs)} outputs are equal bit by bit
                    {data.tokens_other_experts > 0 && `; ${plural(data.tokens_other_experts, "token")} to other experts`}
                    {data.ops_other_meaning > 0 && `; ${plural(data.ops_other_meaning, "op")} with another meaning`}
                    {data.parted_position !== null && `; texts part at position ${data.parted_position}: what follows is not compared`}
                </p>
            </div>
            <HeatMap />
            {data.wrong_ops > 0 && <FoundTable caption="Wrong ops" file="values-wrong" rows={wrongOps(data.wrong)} empty="" />}
        </>
    );
}
