// The list of experiments, which `ggscope serve FOLDER` opens. New experiments and notes appear
// without a reload.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Entry, Experiment } from "../../api";
import { askJob, revision } from "../../ask";
import { bytes, count, plural } from "../../format";
import { Logo } from "../../shell/Header";
import { listNews } from "../../shell/live";
import { asAnyText, asOrder, experiments, kept, show } from "../../state";
import { isBusy } from "../../under-way";
import { compareThese } from "../compare";
import { mostRecordings } from "../compare/Domains";
import { type Order, Table, type TableColumn } from "../statistics/Table";
import { machineOf, matches, notesOf, type Row, rowsOf, settingsOf, when } from "./rows";
import "./library.css";

const filter = kept("list-find", "", asAnyText, { stays: true });
const order = kept<Order | null>("list-by", null, asOrder, { stays: true });
const picked = signal<readonly number[]>([]); // by index, in the order in which they were ticked

function useEntries(): Entry[] | null {
    const [entries, setEntries] = useState<Entry[] | null>(null);
    const news = listNews.value;
    const now = revision.value;
    useEffect(() => {
        const abort = new AbortController();
        // On failure the list stays as it is; a notice reports that the server is gone.
        askJob<Entry[]>("/api/library", undefined, abort.signal).then(setEntries, () => undefined);
        return () => abort.abort();
    }, [news, now, experiments.value.length]);
    return entries;
}

function pick(index: number): void {
    const others = picked.value.filter((one) => one !== index);
    picked.value = others.length < picked.value.length ? others : [...others, index];
}

const speed = (entry: Entry) => entry.tokens_per_second;

const columns: TableColumn<Row>[] = [
    { key: "name", title: "recording", value: (row) => row.experiment.name, show: (row) => <Name row={row} /> },
    { key: "model", title: "model", value: (row) => row.entry?.model?.name, show: (row) => row.entry?.model?.name ?? "–" },
    { key: "start_utc", title: "when", value: (row) => row.entry?.start_utc, show: (row) => <span class="whole">{when(row.entry?.start_utc ?? null)}</span>, ascending: false },
    { key: "prompt", title: "prompt", value: (row) => row.entry?.prompt, show: (row) => <Cut text={row.entry?.prompt ?? "–"} /> },
    { key: "tokens", title: "tokens", numeric: true, value: (row) => row.entry?.tokens, show: (row) => (row.entry ? count(row.entry.tokens) : "–"), hint: "token steps; graph runs of a program without tokens" },
    {
        key: "tokens_per_second",
        title: "tokens/s",
        numeric: true,
        value: (row) => row.entry && speed(row.entry),
        show: (row) => (row.entry && speed(row.entry) !== null ? speed(row.entry)!.toFixed(speed(row.entry)! < 9.95 ? 2 : 1) : "–"),
        hint: "generated tokens by the time of their steps, as ggscope stats tells it",
    },
    { key: "machine", title: "machine", value: (row) => row.entry && machineOf(row.entry), show: (row) => <Cut text={row.entry ? machineOf(row.entry) : "–"} /> },
    { key: "settings", title: "settings", value: (row) => row.entry && settingsOf(row.entry), show: (row) => <Cut text={row.entry ? settingsOf(row.entry) : "–"} more={row.entry?.command.join(" ")} /> },
    { key: "trace_bytes", title: "size", numeric: true, value: (row) => row.entry?.trace_bytes, show: (row) => <span class="whole">{row.entry ? bytes(row.entry.trace_bytes) : "–"}</span>, hint: "of the trace" },
    { key: "notes", title: "notes", value: (row) => row.entry && notesOf(row.entry), show: (row) => <Notes row={row} /> },
];

// One line; the full text is a tooltip.
const Cut = ({ text, more }: { text: string; more?: string | undefined }) => (
    <span class="cut" title={more ? `${text}\n${more}` : text}>
        {text}
    </span>
);

function Name({ row }: { row: Row }) {
    const { experiment } = row;
    return (
        <>
            {experiment.name}
            {experiment.live && <span class="badge live">recording</span>}
            {experiment.error && (
                <span class="badge" title={experiment.error}>
                    {experiment.state}
                </span>
            )}
            {row.entry?.warning && (
                <span class="badge" title={row.entry.warning}>
                    not whole
                </span>
            )}
            {row.entry && row.entry.lost > 0 && <span class="badge">{count(row.entry.lost)} records lost</span>}
        </>
    );
}

function Notes({ row }: { row: Row }) {
    if (!row.entry || row.entry.notes.length === 0) return <span class="quiet">–</span>;
    return (
        <ul>
            {row.entry.notes.map((note) => (
                <li title={note.time_utc ? when(note.time_utc) : undefined}>{note.text}</li>
            ))}
        </ul>
    );
}

function Picks({ usable }: { usable: Experiment[] }) {
    const chosen = picked.value.flatMap((index) => usable.find((one) => one.index === index) ?? []);
    const [a, b] = chosen;
    return (
        <button type="button" disabled={!b} onClick={() => compareThese(chosen)} title={`Tick two to ${mostRecordings} recordings`}>
            {!a || !b ? "Compare" : chosen.length === 2 ? `Compare ${a.name} with ${b.name}` : `Compare ${chosen.length} recordings`}
        </button>
    );
}

export function Library({ onHelp }: { onHelp(): void }) {
    const entries = useEntries();
    const all = rowsOf(experiments.value, entries ?? []);
    const rows = all.filter((row) => matches(row, filter.value.trim()));
    const ticks: TableColumn<Row> = {
        key: "picked",
        title: "pick",
        value: (row) => (picked.value.includes(row.experiment.index) ? 1 : 0),
        show: (row) => (
            <input
                type="checkbox"
                aria-label={`Pick ${row.experiment.name} to compare`}
                disabled={row.experiment.error !== null || (picked.value.length >= mostRecordings && !picked.value.includes(row.experiment.index))}
                checked={picked.value.includes(row.experiment.index)}
                onClick={(event) => event.stopPropagation()}
                onChange={() => pick(row.experiment.index)}
            />
        ),
    };
    return (
        <>
            <header class="page-header">
                <div class="title">
                    <Logo />
                    <h1>{plural(all.length, "recording")}</h1>
                    <p class="prompt">Press one to open it; what is recorded meanwhile appears here.</p>
                    <button type="button" onClick={onHelp} title="Keys and colours (?)" aria-label="Help">
                        ?
                    </button>
                </div>
            </header>
            <main class="library" data-loaded={entries !== null} aria-busy={isBusy}>
                <h2 class="unseen">All recordings</h2>
                <Table
                    caption="Recordings"
                    file="recordings"
                    rows={rows}
                    columns={[columns[0]!, ticks, ...columns.slice(1)]}
                    order={{ key: "start_utc", descending: true }}
                    orderIn={order}
                    rowKey={(row) => String(row.experiment.index)}
                    press={(row) => show(row.experiment.index)}
                    pressHint="Open this recording"
                    most={200}
                    empty={all.length > 0 ? "No recording matches the filter." : "Nothing is recorded yet."}
                >
                    <input
                        id="library-find"
                        type="search"
                        aria-label="Filter the recordings"
                        placeholder="filter: model, prompt, notes, …"
                        value={filter.value}
                        onInput={(event) => (filter.value = event.currentTarget.value)}
                    />
                    {rows.length < all.length && (
                        <span class="quiet" role="status">
                            {rows.length} of {all.length}
                        </span>
                    )}
                    <Picks usable={experiments.value.filter((one) => one.error === null)} />
                </Table>
                <p class="quiet">
                    Notes are written with <code>ggscope note DIR TEXT</code>.
                </p>
            </main>
        </>
    );
}
