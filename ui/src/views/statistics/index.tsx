// View 5: where the time and the bytes go.
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { ModelMap } from "../../api";
import { useAsk } from "../../ask";
import { opFamily } from "../../colours";
import { bytes, count, plural, share, time } from "../../format";
import { here, select, selection, tokensParameter, view } from "../../state";
import { logExtras } from "../log/extras";
import { bins, patternOf, rate, type Group, type Pattern, type Stats, type Totals } from "./answers";
import { ExpertsPart } from "./Experts";
import { Table, type TableColumn } from "./Table";
import { Waiting } from "./Waiting";
import "./statistics.css";

const by = ["op", "layer", "component", "tensor", "thread"] as const;
type By = (typeof by)[number];
const shown = signal<By>("op");

export default function Statistics() {
    const answer = useAsk<Stats>(here("stats", { tokens: tokensParameter() }), { keep: true });
    const map = useAsk<ModelMap>(here("map"));
    const tokens = selection.value.tokens;
    return (
        <div class="statistics" aria-busy={answer.progress !== null}>
            <h2 class="unseen">Statistics</h2>
            <Waiting answer={answer} what="Counting ops and bytes" />
            {answer.data && (
                <>
                    <p class="quiet statistics-scope">
                        {tokens
                            ? tokens[0] === tokens[1]
                                ? `Token ${tokens[0]}`
                                : `Tokens ${tokens[0]} to ${tokens[1]}`
                            : "All tokens, warm-up left out"}
                        . A click on a row filters every view; another click lets go.
                    </p>
                    <Parts />
                    <Tiles totals={answer.data.totals} />
                    <div id="part-time">
                        <Groups stats={answer.data} map={map.data} />
                    </div>
                    <div class="statistics-columns" id="part-weights">
                        <Hot stats={answer.data} map={map.data} />
                        <Cold stats={answer.data} />
                    </div>
                    <div id="part-order">
                        <Order pattern={answer.data.pattern} />
                    </div>
                    <div id="part-experts">
                        <ExpertsPart />
                    </div>
                </>
            )}
        </div>
    );
}

const parts = [
    ["time", "time and bytes"],
    ["weights", "hot and cold weights"],
    ["order", "order of reads"],
    ["experts", "experts"],
] as const;

function Parts() {
    return (
        <nav class="statistics-parts" aria-label="Parts of this page">
            {parts.map(([key, name]) => (
                <button type="button" class="link" key={key} onClick={() => document.getElementById(`part-${key}`)?.scrollIntoView()}>
                    {name}
                </button>
            ))}
        </nav>
    );
}

function Tiles({ totals }: { totals: Totals }) {
    const moved = totals.bytes.read + totals.bytes.written;
    const tiles: [string, string, string, string][] = [
        ["tokens", count(totals.tokens), `${plural(totals.prompt_tokens, "prompt token")}, ${count(totals.generated_tokens)} generated`, "tokens"],
        ["ops", count(totals.ops), `${plural(totals.op_runs, "op run")} on ${plural(totals.threads, "thread")}`, "ops"],
        [
            "speed",
            totals.tokens_per_second === null ? "-" : `${totals.tokens_per_second.toFixed(1)} tok/s`,
            `wall time ${time(totals.wall_ns)}`,
            "speed",
        ],
        ["bytes moved", bytes(moved), `${bytes(totals.bytes.read)} read, ${bytes(totals.bytes.written)} written`, "moved"],
        ["from mapped files", bytes(totals.bytes.disk), `${bytes(totals.bytes.buffer)} in buffers`, "disk"],
        [
            "model touched",
            bytes(totals.model.touched),
            `${share(totals.model.touched, totals.model.bytes)} of ${bytes(totals.model.bytes)}; ${bytes(totals.model.never_touched)} never`,
            "touched",
        ],
    ];
    return (
        <dl class="tiles">
            {tiles.map(([name, value, note, key]) => (
                <div class="tile" key={key} data-tile={key}>
                    <dt>{name}</dt>
                    <dd class="tile-value">{value}</dd>
                    <dd class="quiet">{note}</dd>
                </div>
            ))}
        </dl>
    );
}

// ---- by op, layer, component, tensor, thread

function columnsOf(kind: By, rows: readonly Group[]): TableColumn<Group>[] {
    const whole = (value: (g: Group) => number) =>
        Math.max(
            1,
            rows.reduce((sum, g) => sum + value(g), 0),
        );
    const most = (value: (g: Group) => number) => Math.max(1, ...rows.map(value));
    const [wall, longest, read] = [whole((g) => g.wall_ns), most((g) => g.wall_ns), most((g) => g.read)];
    return [
        {
            key: kind,
            title: kind,
            value: (g) => (kind === "layer" || kind === "thread" ? (g.name === "none" ? -1 : Number(g.name)) : g.name),
            show: (g) => <Name kind={kind} name={g.name} />,
            ascending: true,
        },
        { key: "ops", title: "ops", value: (g) => g.ops, show: (g) => count(g.ops), numeric: true },
        {
            key: "wall_ns",
            title: "wall time",
            value: (g) => g.wall_ns,
            show: (g) => time(g.wall_ns),
            numeric: true,
            bar: (g) => g.wall_ns / longest,
            hint:
                kind === "thread"
                    ? "time of this thread between begin and end of its ops"
                    : "from the first thread's begin to the last thread's end, summed over ops",
        },
        { key: "share", title: "share", value: (g) => g.wall_ns / wall, show: (g) => share(g.wall_ns, wall), numeric: true },
        {
            key: "busy_ns",
            title: "self time",
            value: (g) => g.busy_ns,
            show: (g) => time(g.busy_ns),
            numeric: true,
            hint: "computing, summed over threads: with N threads up to N times the wall time",
        },
        {
            key: "wait_ns",
            title: "waiting",
            value: (g) => g.wait_ns,
            show: (g) => `${time(g.wait_ns)} (${share(g.wait_ns, g.busy_ns + g.wait_ns)})`,
            numeric: true,
            bar: (g) => g.wait_ns / Math.max(1, g.busy_ns + g.wait_ns),
            barClass: "bar-wait",
            hint: "at barriers for other threads, summed over threads",
        },
        { key: "read", title: "read", value: (g) => g.read, show: (g) => bytes(g.read), numeric: true, bar: (g) => g.read / read },
        { key: "written", title: "written", value: (g) => g.written, show: (g) => bytes(g.written), numeric: true },
        { key: "disk", title: "of files", value: (g) => g.disk, show: (g) => bytes(g.disk), numeric: true, hint: "bytes of mapped files" },
        {
            key: "gb_per_s",
            title: "GB/s",
            value: (g) => rate(g),
            show: (g) => (rate(g) === null ? "-" : rate(g)!.toFixed(2)),
            numeric: true,
            hint: "bytes read and written over wall time",
        },
    ];
}

function Name({ kind, name }: { kind: By; name: string }) {
    if (kind === "op")
        return (
            <>
                <i class={`swatch pattern-${opFamily(name).pattern}`} style={{ "--swatch": opFamily(name).colour }} />
                {name}
            </>
        );
    if (kind === "layer") return <>{name === "none" ? "no layer" : name}</>;
    return <>{name}</>;
}

function Groups({ stats, map }: { stats: Stats; map: ModelMap | null }) {
    const kind = shown.value;
    const rows = stats[`by_${kind}`];
    const columns = useMemo(() => columnsOf(kind, rows), [kind, rows]);
    const patterns = useMemo(() => componentPatterns(map), [map]);
    const { press, isSelected, hint } = filterOf(kind, patterns);
    return (
        <div class="statistics-groups">
            <div class="tabs small" role="tablist" aria-label="Sum up by" onKeyDown={stepTabs}>
                {by.map((name) => (
                    <button
                        type="button"
                        role="tab"
                        key={name}
                        id={`by-${name}`}
                        aria-selected={name === kind}
                        aria-controls="by-panel"
                        tabIndex={name === kind ? 0 : -1}
                        onClick={() => (shown.value = name)}
                    >
                        by {name}
                    </button>
                ))}
            </div>
            <div id="by-panel" role="tabpanel" aria-labelledby={`by-${kind}`}>
                <Table
                    key={kind}
                    caption={`Time and bytes by ${kind}`}
                    file={`by-${kind}`}
                    rows={rows}
                    columns={columns}
                    rowKey={(g) => g.name}
                    order={kind === "layer" || kind === "thread" ? { key: kind, descending: false } : { key: "wall_ns", descending: true }}
                    press={press}
                    isSelected={isSelected}
                    pressHint={hint}
                    most={kind === "layer" ? 200 : 40}
                    empty="No op ran in this selection."
                >
                    <span class="quiet">wall = first begin to last end; self = computing, over all threads; waiting = at barriers</span>
                </Table>
            </div>
        </div>
    );
}

function stepTabs(event: KeyboardEvent) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    shown.value = by[(by.indexOf(shown.value) + step + by.length) % by.length]!;
    document.getElementById(`by-${shown.value}`)?.focus();
}

function componentPatterns(map: ModelMap | null): Map<string, string> {
    const names = new Map<string, string[]>();
    map?.tensors.component.forEach((component, i) => {
        if (!component) return;
        names.set(component, [...(names.get(component) ?? []), map.tensors.name[i]!]);
    });
    const patterns = new Map<string, string>();
    for (const [component, list] of names) {
        const pattern = patternOf(list);
        if (pattern) patterns.set(component, pattern);
    }
    return patterns;
}

function filterOf(kind: By, patterns: Map<string, string>) {
    const chosen = selection.value;
    const layerOf = (g: Group) => (g.name === "none" ? -1 : Number(g.name));
    const toggled = <V,>(old: V | null, value: V) => (old === value ? null : value);
    switch (kind) {
        case "op":
            return {
                press: (g: Group) => select({ opType: toggled(chosen.opType, g.name) }),
                isSelected: (g: Group) => chosen.opType === g.name,
                hint: "Filter every view by this op",
            };
        case "layer":
            return {
                press: (g: Group) => select({ layer: toggled(chosen.layer, layerOf(g)) }),
                isSelected: (g: Group) => chosen.layer === layerOf(g),
                hint: "Filter every view by this layer",
            };
        case "component":
            return {
                press: (g: Group) => {
                    const pattern = patterns.get(g.name);
                    if (pattern) select({ tensor: toggled(chosen.tensor, pattern) });
                },
                isSelected: (g: Group) => chosen.tensor !== null && patterns.get(g.name) === chosen.tensor,
                hint: "Filter every view by these tensors",
            };
        case "tensor":
            return {
                press: (g: Group) => select({ tensor: toggled(chosen.tensor, g.name) }),
                isSelected: (g: Group) => chosen.tensor === g.name,
                hint: "Filter every view by this tensor",
            };
        case "thread":
            return {
                press: (g: Group) => {
                    logExtras.value = { ...logExtras.value, thread: toggled(logExtras.value.thread, Number(g.name)) };
                    if (logExtras.value.thread !== null) view.value = "log";
                },
                isSelected: (g: Group) => logExtras.value.thread === Number(g.name),
                hint: "Show this thread's op runs in the log",
            };
    }
}

// ---- hot and cold

interface Heated {
    name: string;
    bytes: number;
    read: number;
    reads: number | null;
}

function Hot({ stats, map }: { stats: Stats; map: ModelMap | null }) {
    const rows = useMemo<Heated[]>(() => {
        if (stats.totals.weights)
            return stats.totals.weights
                .filter((w) => w.bytes_read > 0)
                .map((w) => ({ name: w.name, bytes: w.size, read: w.bytes_read, reads: w.reads }));
        const sizes = new Map(map?.tensors.name.map((name, i) => [name, map.tensors.bytes[i]!]));
        return stats.by_tensor.filter((g) => sizes.has(g.name)).map((g) => ({ name: g.name, bytes: sizes.get(g.name)!, read: g.read, reads: g.ops }));
    }, [stats, map]);
    const most = Math.max(1, ...rows.map((r) => r.read));
    return (
        <Table
            caption="Hot weights"
            file="hot-tensors"
            rows={rows}
            rowKey={(r) => r.name}
            most={12}
            order={{ key: "read", descending: true }}
            empty="No weight was read."
            press={(r) => select({ tensor: selection.value.tensor === r.name ? null : r.name })}
            isSelected={(r) => selection.value.tensor === r.name}
            columns={[
                { key: "tensor", title: "tensor", value: (r) => r.name },
                { key: "read", title: "read", value: (r) => r.read, show: (r) => bytes(r.read), numeric: true, bar: (r) => r.read / most },
                {
                    key: "times",
                    title: "times its size",
                    value: (r) => (r.bytes > 0 ? r.read / r.bytes : null),
                    show: (r) => (r.bytes > 0 ? `${(r.read / r.bytes).toFixed(1)} ×` : "-"),
                    numeric: true,
                },
                { key: "reads", title: "reads", value: (r) => r.reads, show: (r) => (r.reads === null ? "-" : count(r.reads)), numeric: true },
            ]}
        />
    );
}

function Cold({ stats }: { stats: Stats }) {
    const never = stats.totals.model.never_touched;
    return (
        <Table
            caption="Cold weights: bytes never touched"
            file="cold-tensors"
            rows={stats.cold}
            rowKey={(r) => r.name}
            most={12}
            order={{ key: "never", descending: true }}
            empty="Every byte of the weights was touched."
            press={(r) => select({ tensor: selection.value.tensor === r.name ? null : r.name })}
            isSelected={(r) => selection.value.tensor === r.name}
            columns={[
                { key: "tensor", title: "tensor", value: (r) => r.name },
                {
                    key: "never",
                    title: "never touched",
                    value: (r) => r.bytes - r.touched,
                    show: (r) => bytes(r.bytes - r.touched),
                    numeric: true,
                    bar: (r) => (r.bytes - r.touched) / Math.max(1, r.bytes),
                    barClass: "bar-cold",
                },
                { key: "bytes", title: "of", value: (r) => r.bytes, show: (r) => bytes(r.bytes), numeric: true },
            ]}
        >
            <span class="quiet">{bytes(never)} in all</span>
        </Table>
    );
}

// ---- the order of reads

function Order({ pattern }: { pattern: Pattern }) {
    const sequential = pattern.sequential_share;
    const again = pattern.bytes ? 1 - (pattern.first_bytes ?? 0) / pattern.bytes : null;
    return (
        <section class="table-part">
            <div class="table-head">
                <h3>Order of reads from the model</h3>
            </div>
            <p>
                {sequential === null || pattern.reads === 0 ? (
                    "The model was not read."
                ) : (
                    <>
                        <strong data-sequential={sequential}>{share(sequential, 1)}</strong> of the bytes continue where the read before ended;{" "}
                        {plural(pattern.jumps, "jump")} in {plural(pattern.reads, "read")}.
                        {again !== null && (
                            <>
                                {" "}
                                <strong>{share(again, 1)}</strong> are read again later.
                            </>
                        )}
                    </>
                )}
            </p>
            <div class="statistics-columns">
                <Histogram title="How far a jump goes" file="jumps" unit="jumps" counts={pattern.jump_bins} show={count} />
                <Histogram
                    title="What is read between two reads of the same tensor"
                    file="reuse"
                    unit="bytes"
                    counts={pattern.reuse_bins}
                    show={bytes}
                />
            </div>
        </section>
    );
}

function Histogram({ title, file, unit, counts, show }: { title: string; file: string; unit: string; counts: number[]; show(n: number): string }) {
    const rows = useMemo(() => bins(counts), [counts]);
    const most = Math.max(1, ...rows.map((r) => r.value));
    const whole = rows.reduce((sum, r) => sum + r.value, 0);
    return (
        <Table
            caption={title}
            file={file}
            rows={rows}
            rowKey={(r) => String(r.from)}
            most={64}
            empty="Nothing to count."
            columns={[
                {
                    key: "below",
                    title: "below",
                    value: (r) => r.to,
                    show: (r) => (r.from === 0 ? "0 B" : bytes(r.to)),
                    numeric: true,
                    ascending: true,
                },
                { key: unit, title: unit, value: (r) => r.value, show: (r) => show(r.value), numeric: true, bar: (r) => r.value / most },
                { key: "share", title: "share", value: (r) => r.value / Math.max(1, whole), show: (r) => share(r.value, whole), numeric: true },
            ]}
        />
    );
}
