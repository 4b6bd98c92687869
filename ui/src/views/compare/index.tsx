// View 6: what changed between two recordings, or how up to twelve differ.
import { batch } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Diff, DiffSteps, Entry, Experiment } from "../../api";
import { useApplied } from "../../applied";
import { useAsk } from "../../ask";
import { bytes, count, plural, time, times } from "../../format";
import { current, experiments, kept, select, selection, show, view } from "../../state";
import { Table, type TableColumn } from "../statistics/Table";
import { Waiting } from "../statistics/Waiting";
import {
    byMean,
    change,
    changeText,
    effect,
    initially,
    opTime,
    partnerOf,
    shownItems,
    shownUnmatched,
    stepTime,
    words,
    type Item,
    type Threshold,
} from "./answers";
import { ExpertsOfAll, mostRecordings } from "./Domains";
import { labelOf } from "./figures";
import { LinkedLanes } from "./LinkedLanes";
import { SeveralResult } from "./SeveralResult";
import { Totals } from "./Totals";
import { ValuesLink } from "../values/Link";
import "./compare.css";

// The compared recordings by id, in the address: A, B and up to ten more. null: the shown one, and
// a default partner.
const isId = (text: string) => /^[\w-]{1,64}$/.test(text);
const asId = { write: (id: string | null) => id ?? "", read: (text: string) => (isId(text) ? text : undefined) };
const asIds = { write: (ids: readonly string[]) => ids.join(), read: (text: string) => text.split(",").filter(isId).slice(0, mostRecordings - 2) };
const sideA = kept<string | null>("a", null, asId, { stays: true });
const sideB = kept<string | null>("b", null, asId, { stays: true });
const others = kept<readonly string[]>("more", [], asIds, { stays: true });

function take(recordings: readonly Experiment[]): void {
    const [a, b, ...more] = recordings.map((one) => one.experiment_id);
    batch(() => {
        [sideA.value, sideB.value] = [a ?? null, b ?? null];
        others.value = more.flatMap((id) => id ?? []);
    });
}

// Shows what differs between them.
export function compareThese(recordings: readonly Experiment[]): void {
    batch(() => {
        show(recordings[0]!.index);
        take(recordings);
        view.value = "compare";
    });
}

const threshold = kept<Threshold>("changes", initially, {
    write: ({ least, noise, layers }) => `${Math.round(least * 100)}${noise ? "n" : ""}${layers ? "l" : ""}`,
    read: (text) => {
        const match = /^(\d{1,4})(n?)(l?)$/.exec(text);
        return match ? { least: Number(match[1]) / 100, noise: match[2] !== "", layers: match[3] !== "" } : undefined;
    },
});

export default function Compare() {
    useApplied();
    const usable = experiments.value.filter((x) => x.error === null);
    const entries = useAsk<Entry[]>(usable.length > 2 ? "/api/library" : null, { keep: true });
    if (usable.length < 2) return <Alone />;
    const find = (id: string | null) => (id === null ? undefined : usable.find((x) => x.experiment_id === id));
    const partner = (a: Experiment, of: readonly Experiment[]) => of.find((x) => x.index === partnerOf(a.index, of.map((one) => one.index), entries.data ?? [])) ?? of[0]!;
    const a = find(sideA.value) ?? usable.find((x) => x.index === current.value) ?? usable[0]!;
    const wanted = find(sideB.value);
    if (usable.length > 2 && !wanted && !entries.data && !entries.error) return <Waiting answer={entries} what="Looking for a recording of the same model" />;
    const chosen = [a, wanted ?? partner(a, usable), ...others.value.flatMap((id) => find(id) ?? [])];
    const unused = usable.filter((x) => !chosen.includes(x));
    return (
        <div class="compare">
            <h2 class="unseen">Compare</h2>
            <Picks chosen={chosen} usable={usable} next={unused.length > 0 && chosen.length < mostRecordings ? partner(a, unused) : null} />
            {chosen.length > 2 ? (
                <SeveralResult recordings={chosen} />
            ) : a === chosen[1] ? (
                <p class="quiet">A and B are the same experiment: choose another one to compare.</p>
            ) : (
                <Result a={a.index} b={chosen[1]!.index} />
            )}
            {(chosen.length > 2 || a !== chosen[1]) && <ExpertsOfAll recordings={chosen} />}
        </div>
    );
}

// The compared recordings. The focus moves to an added one and stays when one is removed.
function Picks({ chosen, usable, next }: { chosen: readonly Experiment[]; usable: readonly Experiment[]; next: Experiment | null }) {
    const box = useRef<HTMLDivElement>(null);
    const focus = useRef<"last" | "add" | null>(null);
    useEffect(() => {
        const selects = box.current?.querySelectorAll("select");
        if (focus.current === "last") selects?.[selects.length - 1]?.focus();
        if (focus.current === "add") box.current?.querySelector<HTMLElement>(".pick-add")?.focus();
        focus.current = null;
    }, [chosen.length]);
    return (
        <div class="compare-pick" ref={box}>
            {chosen.map((one, i) => (
                <span class="pick-one" key={i}>
                    {i === 1 && chosen.length === 2 && (
                        <button type="button" onClick={() => take([chosen[1]!, chosen[0]!])} aria-label="Swap A and B">
                            ⇄
                        </button>
                    )}
                    <Pick name={labelOf(i)} value={one} usable={usable} change={(other) => take(chosen.map((was, k) => (k === i ? other : was)))} />
                    {chosen.length > 2 && (
                        <button type="button" class="quiet" aria-label={`Remove ${labelOf(i)}, ${one.name}`} onClick={() => ((focus.current = "add"), take(chosen.filter((_, k) => k !== i)))}>
                            ×
                        </button>
                    )}
                </span>
            ))}
            {next && (
                <button type="button" class="pick-add" onClick={() => ((focus.current = "last"), take([...chosen, next]))} title={`Up to ${mostRecordings} are compared side by side`}>
                    + another recording
                </button>
            )}
        </div>
    );
}

declare const REPORT: boolean; // set by build.mjs

function Alone() {
    const directory = experiments.value[0]?.directory ?? "DIR";
    return (
        <div class="compare">
            <h2>One experiment is nothing to compare</h2>
            <p>Record another one and open both:</p>
            <pre class="command">ggscope serve {directory} OTHER</pre>
            {REPORT && <p>Or drop the other one's trace.ggs on this page.</p>}
        </div>
    );
}

function Pick({ name, value, usable, change: changed }: { name: string; value: Experiment; usable: readonly Experiment[]; change(value: Experiment): void }) {
    return (
        <label class="pick">
            {name}{" "}
            <select aria-label={`Recording ${name}`} value={String(value.index)} onChange={(event) => changed(usable.find((x) => String(x.index) === event.currentTarget.value)!)}>
                {usable.map((x) => (
                    <option value={String(x.index)} key={x.index}>
                        {x.name}
                    </option>
                ))}
            </select>
        </label>
    );
}

function Result({ a, b }: { a: number; b: number }) {
    const answer = useAsk<Diff>(`/api/compare?a=${a}&b=${b}`);
    if (!answer.data) return <Waiting answer={answer} what="Comparing op by op" />;
    const result = answer.data;
    return (
        <>
            {result.warnings.length > 0 && (
                <ul class="compare-warnings" aria-label="What makes the two hard to compare">
                    {result.warnings.map((w) => (
                        <li key={w}>{w}</li>
                    ))}
                </ul>
            )}
            <Steps result={result} />
            {result.causes.map((cause) => (
                <p class="compare-cause">Cause: {cause}</p>
            ))}
            <ValuesLink a={a} b={b} />
            <Differences items={result.changes} />
            <Totals a={a} b={b} result={result} />
            <LinkedLanes key={`${a} ${b}`} a={a} b={b} last={Math.max(0, result.tokens - 1)} />
            <UnmatchedOps items={result.changes} />
        </>
    );
}

function Steps({ result }: { result: Diff }) {
    const steps: [string, DiffSteps | null][] = [
        ["A prompt step", result.prompt],
        ["A generated token", result.generate],
    ];
    const percent = Math.abs(result.shift - 1) * 100;
    return (
        <>
            <dl class="tiles">
                {steps.map(
                    ([name, step]) =>
                        step && (
                            <div class={`tile verdict-${step.verdict.replace(" ", "-")}`} key={name}>
                                <dt>
                                    {name}, {byMean(step.verdict) ? "mean" : "median"} of {count(step.a.tokens)} and {count(step.b.tokens)}
                                </dt>
                                <dd class="tile-value">
                                    {time(stepTime(step.a, step.verdict))} → {time(stepTime(step.b, step.verdict))}
                                </dd>
                                <dd>
                                    {changeText(stepTime(step.a, step.verdict), stepTime(step.b, step.verdict))}, {words[step.verdict]}
                                </dd>
                            </div>
                        ),
                )}
                <div class="tile">
                    <dt>Aligned</dt>
                    <dd class="tile-value">{plural(result.tokens, "token step")}</dd>
                    <dd>
                        {result.ops_only_a + result.ops_only_b === 0
                            ? "every op has its counterpart"
                            : `${count(result.ops_only_a)} ops only in A, ${count(result.ops_only_b)} only in B`}
                        {result.ops_fused > 0 && `; ${count(result.ops_fused)} are fused with others on one side`}
                    </dd>
                </div>
            </dl>
            <p class="quiet">
                {result.identical
                    ? "The two are identical, times included."
                    : percent <= 3
                      ? "The typical op takes as long in both."
                      : `The typical op ${result.shift >= 2 ? `takes ${times(result.shift)} as long` : `is ${percent.toFixed(0)} % ${result.shift > 1 ? "slower" : "faster"}`} in B; the machine may be why.`}
            </p>
        </>
    );
}

const layerText = (item: Item) => (item.all_layers ? "all" : item.layer === null ? "none" : String(item.layer));
const perText = (item: Item) => (item.phase === "PROMPT" ? "prompt" : "token");
const keyOf = (item: Item) => `${item.phase} ${layerText(item)} ${item.op} ${item.name}`;

const timeColumn = (side: "a" | "b"): TableColumn<Item> => ({
    key: `${side}_ns`,
    title: side.toUpperCase(),
    value: (i) => opTime(i[side], i.verdict),
    show: (i) => time(opTime(i[side], i.verdict)),
    numeric: true,
    hint: "of one op: the median, or the mean where some were held up",
});

function itemColumns(items: readonly Item[]): TableColumn<Item>[] {
    const most = Math.max(1, ...items.map((i) => Math.abs(effect(i))));
    return [
        { key: "tensor", title: "tensor", value: (i) => i.name, show: (i) => i.name || <span class="quiet">(no name)</span> },
        { key: "per", title: "per", value: perText },
        { key: "layer", title: "layer", value: (i) => i.layer, show: layerText, numeric: true, ascending: true },
        { key: "op", title: "op", value: (i) => i.op },
        timeColumn("a"),
        timeColumn("b"),
        {
            key: "change",
            title: "change",
            value: (i) => change(opTime(i.a, i.verdict), opTime(i.b, i.verdict)),
            show: (i) => changeText(opTime(i.a, i.verdict), opTime(i.b, i.verdict)),
            numeric: true,
        },
        {
            key: "effect_ns",
            title: "in all",
            value: effect,
            show: (i) => `${effect(i) > 0 ? "+" : effect(i) < 0 ? "−" : ""}${time(Math.abs(effect(i)))}`,
            numeric: true,
            hint: "wall time of B less that of A, over all these ops",
            bar: (i) => Math.abs(effect(i)) / most,
            barClass: (i) => (effect(i) > 0 ? "bar-slower" : "bar-faster"),
        },
        {
            key: "verdict",
            title: "verdict",
            value: (i) => i.verdict,
            show: (i) => <span class={`verdict verdict-${i.verdict.replace(" ", "-")}`}>{words[i.verdict]}</span>,
        },
        {
            key: "ops_bytes_differ",
            title: "bytes",
            value: (i) => i.ops_bytes_differ,
            show: (i) => (i.ops_bytes_differ > 0 ? `${bytes(i.a.bytes_read)} → ${bytes(i.b.bytes_read)}` : "the same"),
        },
    ];
}

function Differences({ items }: { items: Item[] }) {
    const rows = useMemo(() => shownItems(items, threshold.value), [items, threshold.value]);
    const columns = useMemo(() => itemColumns(rows), [rows]);
    const set = (part: Partial<Threshold>) => (threshold.value = { ...threshold.value, ...part });
    const isSelected = (i: Item) =>
        selection.value.opType === i.op && (i.all_layers ? selection.value.layer === null : selection.value.layer === (i.layer ?? -1));
    return (
        <>
            <div class="compare-threshold" role="group" aria-label="What is shown">
                <label>
                    hide changes below{" "}
                    <input
                        type="number"
                        min={0}
                        max={1000}
                        step={1}
                        value={Math.round(threshold.value.least * 100)}
                        onInput={(event) => {
                            const n = event.currentTarget.valueAsNumber;
                            if (n >= 0) set({ least: n / 100 });
                        }}
                    />{" "}
                    %
                </label>
                <label>
                    <input type="checkbox" checked={threshold.value.noise} onChange={(event) => set({ noise: event.currentTarget.checked })} /> also
                    what is within the noise
                </label>
                <label>
                    <input type="checkbox" checked={threshold.value.layers} onChange={(event) => set({ layers: event.currentTarget.checked })} />{" "}
                    layer by layer
                </label>
            </div>
            <Table
                caption="What changed, most time first"
                file="compare"
                rows={rows}
                columns={columns}
                most={30}
                empty="Nothing changed beyond the threshold."
                rowKey={keyOf}
                press={(i) =>
                    select(isSelected(i) ? { opType: null, layer: null } : { opType: i.op, layer: i.all_layers ? null : (i.layer ?? -1) })
                }
                isSelected={isSelected}
                pressHint="Show these ops in every view"
            >
                <span class="quiet">
                    {plural(rows.length, "row")} of {count(items.length)}
                </span>
            </Table>
        </>
    );
}

function UnmatchedOps({ items }: { items: Item[] }) {
    const rows = useMemo(() => shownUnmatched(items, threshold.value), [items, threshold.value]);
    return (
        <Table
            caption="Ops without a counterpart"
            file="unmatched"
            rows={rows}
            rowKey={(r) => `${r.side} ${keyOf(r.item)}`}
            most={20}
            empty="None: every op of one has its counterpart in the other."
            columns={[
                { key: "tensor", title: "tensor", value: (r) => r.item.name, show: (r) => r.item.name || <span class="quiet">(no name)</span> },
                { key: "only_in", title: "only in", value: (r) => r.side.toUpperCase() },
                { key: "per", title: "per", value: (r) => perText(r.item) },
                { key: "layer", title: "layer", value: (r) => r.item.layer, show: (r) => layerText(r.item), numeric: true, ascending: true },
                { key: "op", title: "op", value: (r) => r.item.op },
                { key: "ops", title: "ops", value: (r) => r.ops, show: (r) => count(r.ops), numeric: true },
            ]}
        />
    );
}
