// The cost of less memory: bytes from the disk per token over the memory size, by policy; and which
// weights to keep.
import { useMemo, useState } from "preact/hooks";
import { useApplied } from "../../applied";
import { useAsk } from "../../ask";
import { bytes, count, plural, share, time } from "../../format";
import { Chart, type Series, steps } from "../../shell/Chart";
import { Picture } from "../../shell/Picture";
import { asNumber, experiment, kept, select, selection, summary, tokensParameter } from "../../state";
import { stepWord } from "../../step";
import { Table } from "../statistics/Table";
import { Waiting } from "../statistics/Waiting";
import type { Paging, PagingCost } from "../../api";
import { pagingPath, pinned, readahead, replayedTokens, replaysAll } from "./paging";

const chosen = kept<number | null>("budget", null, asNumber);

const policies = [
    ["linux", "Linux's page cache", "#d55e00"],
    ["lru", "least recently used", "#0072b2"],
    ["pin-hot", "the best weights pinned", "#009e73"],
    ["stream", "ggscope stream", "#cc79a7"],
    ["opt", "optimum", "#999999"],
] as const;

// Converts bytes per token to tokens per second; null if the disk's speed or the compute time of a
// token is unknown.
function speedOf({ disk_bytes_per_second: disk, compute_ns_per_token: compute }: Paging): ((perToken: number) => number) | null {
    return disk === null || compute === null ? null : (perToken) => 1 / (compute / 1e9 + perToken / disk);
}
const perSecond = (tokens: number) => `${tokens < 9.95 ? tokens.toFixed(tokens < 0.995 ? 2 : 1) : count(Math.round(tokens))} tok/s`;

const sizesOfReadahead = [0, 128 << 10, 512 << 10, 2 << 20, 8 << 20];
const sources = { given: "as chosen here", disk: "as the model's disk is set", usual: "the usual setting: the model's disk is not here" } as const;

function Readahead({ data }: { data: Paging }) {
    return (
        <label class="readahead">
            readahead{" "}
            <select value={readahead.value === null ? "" : String(readahead.value)} onChange={(event) => (readahead.value = event.currentTarget.value === "" ? null : Number(event.currentTarget.value))}>
                <option value="">{readahead.value === null ? bytes(data.readahead_bytes) : "default"}</option>
                {sizesOfReadahead.map((size) => (
                    <option value={String(size)}>{size === 0 ? "none" : bytes(size)}</option>
                ))}
            </select>{" "}
            <span class="quiet">{sources[data.readahead_from]}</span>
        </label>
    );
}

function SpeedNote({ data }: { data: Paging }) {
    const { disk_bytes_per_second: disk, compute_ns_per_token: compute } = data;
    if (disk !== null && compute !== null) return <span class="quiet">tokens/s: {time(compute)} of computing, and {bytes(disk)}/s, which the disk delivered in this recording</span>;
    return <span class="quiet">tokens/s are not known: {disk === null ? "the disk's speed was not recorded (record with --io)" : "page faults were not recorded"}</span>;
}

type Cost = PagingCost & { least_bytes_per_token?: number; most_bytes_per_token?: number; known?: boolean };

// The streaming policy has a cost only for budgets at which it streams.
const isKnown = (budget: Paging["budgets"][number], key: (typeof policies)[number][0]) => {
    const cost: Cost | undefined = budget.policies[key];
    return cost !== undefined && cost.known !== false && (key !== "stream" || budget.policies.stream!.streams);
};

// The end of the x axis: includes the memory limit unless it is far above everything that is read.
const mostOf = (data: Paging) => {
    const most = Math.max(data.touched_bytes, ...data.budgets.map((one) => one.memory_bytes));
    return Math.max(most, (data.memory_limit ?? 0) > 2 * most ? 0 : (data.memory_limit ?? 0)) * 1.03;
};

// The end of the y axis: with little memory and much readahead Linux reads many times what ops use,
// which would flatten the rest.
const topOf = (series: readonly Series[]) => 4 * Math.max(0, ...series.filter((one) => one.kind !== "point").flatMap((one) => one.points.map((p) => p.y ?? 0))) || Infinity;

export function LessMemory() {
    useApplied("tokens");
    const answer = useAsk<Paging>(pagingPath(), { keep: true });
    const data = answer.data;
    const series = useMemo<Series[]>(() => {
        if (!data) return [];
        return policies
            .filter(([key]) => data.budgets.some((one) => isKnown(one, key)))
            .map(([key, name, colour]) => ({
                name,
                colour,
                // One policy has costs for every size, the others for some sizes.
                kind: key === "linux" ? ("point" as const) : key === "lru" ? ("step" as const) : ("line" as const),
                text: bytes,
                points:
                    key === "lru"
                        ? data.lru_curve.filter((p) => p.memory_bytes <= mostOf(data)).map((p) => ({ x: p.memory_bytes, y: p.bytes_per_token }))
                        : data.budgets.filter((one) => isKnown(one, key)).map((one) => {
                              const cost: Cost = one.policies[key]!;
                              const range = cost.least_bytes_per_token === undefined ? {} : { low: cost.least_bytes_per_token, high: cost.most_bytes_per_token! };
                              return { x: one.memory_bytes, y: cost.bytes_per_token, ...range };
                          }),
            }));
    }, [data]);
    if (!data) return <Waiting answer={answer} what="Replaying the reads with less memory" />;
    if (data.budgets.length === 0) return <p class="empty">No op reads bytes of a model file here: there is nothing to page.</p>;
    const sizes = data.budgets.map((one) => one.memory_bytes);
    const at = Math.max(0, chosen.value === null ? Math.floor(sizes.length / 2) : sizes.indexOf(chosen.value));
    const budget = data.budgets[at]!;
    const most = mostOf(data);
    const take = (i: number) => {
        chosen.value = sizes[i]!;
        if (pinned.value !== null) pinned.value = sizes[i]!;
    };
    const tokens = replayedTokens();
    const option = tokens ? ` --token ${tokens[0]}..${tokens[1]}` : "";
    const nearest = (x: number) => sizes.reduce((best, size, i) => (Math.abs(size - x) < Math.abs(sizes[best]! - x) ? i : best), 0);
    const speed = speedOf(data);
    const pins = budget.pins;
    const largest = Math.max(1, ...(pins?.weights.map((weight) => weight.bytes) ?? []));
    return (
        <>
            <Picture
                title="What would less memory cost?"
                file="less-memory"
                figure={() => ({ kind: "paging", tokens: tokensParameter(replayedTokens()), readahead: readahead.value })}
                command={`ggscope paging --readahead ${data.readahead_bytes / 1024}K${option}`}
                computed={`The reads of ${selection.value.tokens ? "the selected tokens" : tokens ? `tokens ${tokens[0]} to ${tokens[1]}` : "the recording"}, in pages of ${bytes(data.page_bytes)}, served by caches of every size. Linux is simulated with ${bytes(data.readahead_bytes)} of readahead, its bar is the range over small differences; the optimum is Belady's. Copied weights (${bytes(data.copied_bytes)}) count at their origin.`}
                csv={() => ({
                    columns: ["memory_bytes", ...policies.flatMap(([key]) => [`${key}_bytes_per_token`]), "linux_least", "linux_most"],
                    rows: data.budgets.map((one) => [one.memory_bytes, ...policies.map(([key]) => one.policies[key]?.bytes_per_token), one.policies["linux"]?.least_bytes_per_token, one.policies["linux"]?.most_bytes_per_token]),
                })}
            >
                <Chart
                    label={`Bytes from the disk per ${stepWord()} over memory`}
                    height={260}
                    series={series}
                    x={{ from: 0, to: most, ticks: steps(most, 6, true), text: bytes, name: "memory for weights" }}
                    y={{ left: `bytes from the disk per ${stepWord()}`, most: topOf(series), ...(speed ? { right: "tokens/s", also: (perToken: number) => perSecond(speed(perToken)) } : {}) }}
                    lines={data.memory_limit === null || data.memory_limit > most ? [] : [{ x: data.memory_limit, text: `limit of this recording: ${bytes(data.memory_limit)}`, short: `limit ${bytes(data.memory_limit)}` }]}
                    at={budget.memory_bytes}
                    onPick={(x) => take(nearest(x))}
                />
            </Picture>
            <div class="paging-facts">
                <Readahead data={data} />
                <SpeedNote data={data} />
            </div>
            {!selection.value.tokens && (tokens !== null || replaysAll.value) && (
                <label class="quiet">
                    <input type="checkbox" checked={replaysAll.value} onChange={(event) => (replaysAll.value = event.currentTarget.checked)} /> all {count(summary.value!.tokens)} tokens, not the last ones alone (takes longer)
                </label>
            )}
            <div class="budget">
                <label>
                    with <b>{bytes(budget.memory_bytes)}</b>{" "}
                    <input type="range" min={0} max={sizes.length - 1} step={1} value={at} aria-label="Memory for weights" aria-valuetext={bytes(budget.memory_bytes)} onInput={(event) => take(Number(event.currentTarget.value))} />
                </label>
                <span class="quiet">
                    ({share(budget.memory_bytes, data.touched_bytes)} of the {bytes(data.touched_bytes)} that ops read; {bytes(data.demand_bytes_per_token)} per {stepWord()} are read in all)
                </span>
            </div>
            <dl class="tiles">
                {policies
                    .filter(([key]) => isKnown(budget, key))
                    .map(([key, name, colour]) => {
                        const cost: Cost = budget.policies[key]!;
                        return (
                            <div class="tile" data-tile={`paging-${key}`}>
                                <dt>
                                    <i class="swatch" style={{ "--swatch": colour }} />
                                    {name}
                                </dt>
                                <dd class="tile-value">{bytes(cost.bytes_per_token)}</dd>
                                <dd class="quiet">
                                    per {stepWord()} from the disk{speed ? `: ${perSecond(speed(cost.bytes_per_token))}` : ""}
                                    {cost.least_bytes_per_token !== undefined ? `, ${bytes(cost.least_bytes_per_token)} to ${bytes(cost.most_bytes_per_token!)}` : ""}
                                </dd>
                            </div>
                        );
                    })}
            </dl>
            {pins && (
                <Table
                    key={budget.memory_bytes}
                    caption={`What to keep in ${bytes(budget.memory_bytes)}: ${plural(pins.weights.length, "part")}, ${bytes(pins.bytes)}`}
                    file="pins"
                    rows={pins.weights}
                    order={{ key: "bytes", descending: true }}
                    columns={[
                        { key: "name", title: "tensor", value: (row) => row.name },
                        { key: "expert", title: "expert", value: (row) => row.expert, show: (row) => row.expert ?? "", numeric: true },
                        { key: "bytes", title: "bytes", value: (row) => row.bytes, show: (row) => bytes(row.bytes), numeric: true, bar: (row) => row.bytes / largest },
                        { key: "file_offset", title: "offset", value: (row) => row.file_offset, show: (row) => count(row.file_offset), numeric: true },
                        { key: "file", title: "file", value: (row) => row.file, numeric: true },
                        { key: "path", title: "path", value: (row) => row.path },
                    ]}
                    rowKey={(row) => `${row.name} ${row.expert}`}
                    press={(row) => select({ tensor: row.name, expert: row.expert })}
                    isSelected={(row) => row.name === selection.value.tensor && row.expert === selection.value.expert}
                    most={12}
                >
                    <label>
                        <input type="checkbox" checked={pinned.value !== null} onChange={(event) => (pinned.value = event.currentTarget.checked ? budget.memory_bytes : null)} /> mark them in the memory view
                    </label>
                </Table>
            )}
            {budget.suggest && <Paste lines={budget.suggest} />}
            <details class="computed">
                <summary>The same in a terminal</summary>
                <pre>ggscope paging --suggest --memory {budget.memory_bytes} --readahead {data.readahead_bytes / 1024}K{option} {experiment.value?.directory ?? "DIR"}</pre>
            </details>
        </>
    );
}

function Paste({ lines }: { lines: string }) {
    const [copied, setCopied] = useState(false);
    return (
        <section class="paste" aria-label="Lines to paste">
            <div class="picture-head">
                <h3>Lines to paste</h3>
                <button type="button" class="quiet" onClick={() => void navigator.clipboard?.writeText(lines).then(() => setCopied(true), () => undefined)}>
                    {copied ? "copied" : "copy"}
                </button>
            </div>
            <pre tabIndex={0}>{lines}</pre>
        </section>
    );
}
