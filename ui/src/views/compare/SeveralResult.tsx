// Three to twelve recordings side by side: settings that differ, then figures with the noise among
// repeats.
import { useMemo } from "preact/hooks";
import type { Experiment, Several } from "../../api";
import { useAsk } from "../../ask";
import { count } from "../../format";
import { Computed } from "../../shell/Computed";
import { Table, type TableColumn } from "../statistics/Table";
import { Waiting } from "../statistics/Waiting";
import { isShown, labelOf, nameOf, noiseText, type SeveralFigure, textsOf, verdictOf } from "./figures";

interface Condition {
    condition: string;
    values: readonly string[];
}

// A column for each recording, under its letter.
const perRecording = <T,>(recordings: readonly Experiment[], column: (i: number) => Omit<TableColumn<T>, "key" | "title" | "hint">): TableColumn<T>[] =>
    recordings.map((one, i) => ({ key: labelOf(i).toLowerCase(), title: labelOf(i), hint: one.name, ...column(i) }));

function Conditions({ result, recordings }: { result: Several; recordings: readonly Experiment[] }) {
    const rows = useMemo<Condition[]>(() => {
        const repeats = result.recordings.map((one) => (one.repeats === one.label ? "–" : one.repeats));
        return [
            { condition: "recording", values: recordings.map((one) => one.name) },
            ...(repeats.some((text) => text !== "–") ? [{ condition: "repeats", values: repeats }] : []),
            ...result.conditions,
        ];
    }, [result, recordings]);
    return (
        <Table
            caption={result.conditions.length === 0 ? "The conditions are the same" : "The conditions that differ"}
            file="compare-conditions"
            rows={rows}
            columns={[{ key: "condition", title: "condition", value: (row) => row.condition }, ...perRecording<Condition>(recordings, (i) => ({ value: (row) => row.values[i], show: (row) => <span class="condition">{row.values[i]}</span> }))]}
            rowKey={(row) => row.condition}
        />
    );
}

function Figures({ result, recordings }: { result: Several; recordings: readonly Experiment[] }) {
    const groups = result.recordings.filter((one) => one.repeats === one.label).length;
    const rows = useMemo(() => result.figures.filter(isShown), [result]);
    const columns = useMemo<TableColumn<SeveralFigure>[]>(
        () => [
            { key: "figure", title: "figure", value: (row) => row.figure, show: nameOf },
            ...perRecording<SeveralFigure>(recordings, (i) => ({
                value: (row) => row.values[i],
                show: (row) => textsOf(row)[i],
                numeric: true,
                bar: (row) => (row.values[i] ?? 0) / Math.max(1e-9, ...row.values.map((value) => value ?? 0)),
            })),
            { key: "noise", title: "noise", value: (row) => row.noise, show: (row) => noiseText(row.noise), numeric: true, hint: "the largest difference between recordings with the same conditions, by their mean" },
            { key: "verdict", title: "verdict", value: (row) => verdictOf(row, groups), hint: "whether recordings differ by more than that" },
        ],
        [recordings, groups],
    );
    const same = result.figures.length - rows.length;
    return (
        <Table caption="In numbers" file="compare-figures" rows={rows} columns={columns} rowKey={(row) => row.figure} empty="Nothing was seen in any of them.">
            {same > 0 && <span class="quiet">{count(same)} more are the same in all, or not seen</span>}
        </Table>
    );
}

export function SeveralResult({ recordings }: { recordings: readonly Experiment[] }) {
    const answer = useAsk<Several>(`/api/several?of=${recordings.map((one) => one.index).join()}`);
    if (!answer.data) return <Waiting answer={answer} what={`Comparing ${recordings.length} recordings`} />;
    const repeated = answer.data.recordings.some((one) => one.repeats !== one.label);
    return (
        <>
            <Conditions result={answer.data} recordings={recordings} />
            <Figures result={answer.data} recordings={recordings} />
            {!repeated && <p class="quiet">No two of them have the same conditions: how much times differ by chance is not known. Record some twice.</p>}
            <Computed command={`ggscope diff DIR ${recordings.slice(1).map((one) => one.directory).join(" ")}`} of={recordings[0]!.directory}>
                Each recording has a column. Repeats are recordings with the same conditions; recordings differ if the means of their groups are further apart than repeats are.
            </Computed>
        </>
    );
}
