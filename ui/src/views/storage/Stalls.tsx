// How long threads waited for the disk, for which bytes, and the block requests.
import type { BlockRequests, Faults, FaultSum, Machine, Stats } from "../../api";
import { useApplied } from "../../applied";
import { useAsk } from "../../ask";
import { bytes, count, moment, plural, share, time } from "../../format";
import { Chart, type Series } from "../../shell/Chart";
import { Picture } from "../../shell/Picture";
import { Terms } from "../../shell/Terms";
import { asText, here, kept, narrowedText, select, selection, statsPath, summary, chosenOps, tokensParameter, tokensPerRow } from "../../state";
import { stepColumn, stepsWord, stepWord } from "../../step";
import { Table } from "../statistics/Table";
import { Waiting } from "../statistics/Waiting";
import { pageOf } from "./access";

const kinds = ["tensor", "op", "layer", "phase", "token"] as const;
type Kind = (typeof kinds)[number];
const shown = kept<Kind>("stalls", "tensor", asText(kinds));

type StallRow = FaultSum & { name: string };

// The tokens of a row by token: one or several, limited to the selected ones.
const rowOf = (token: number): [number, number] => {
    const [first, last] = selection.value.tokens ?? [0, (summary.value?.tokens ?? 1) - 1];
    return [Math.max(first, token), Math.min(Math.max(last, token), token + tokensPerRow() - 1)];
};
const rowText = (token: number): string => {
    const [first, last] = rowOf(token);
    return first < last ? `${first}..${last}` : String(first);
};

function rowsOf(faults: NonNullable<Machine["faults"]>, kind: Kind): StallRow[] {
    const named = <T extends FaultSum>(rows: T[], name: (row: T) => string | number | null) => rows.map((row) => ({ ...row, name: String(name(row) ?? "none") }));
    switch (kind) {
        case "tensor":
            return named(faults.by_weight, (row) => row.name);
        case "op":
            return named(faults.by_op, (row) => row.op);
        case "layer":
            return named(faults.by_layer, (row) => row.layer);
        case "phase":
            return named(faults.by_phase, (row) => row.phase).filter((row) => row.minor + row.major + row.open > 0);
        case "token":
            return named(faults.by_token, (row) => row.token);
    }
}

function pressRow(kind: Kind, row: StallRow): void {
    if (kind === "tensor" && row.name !== "none") select({ tensor: selection.value.tensor === row.name ? null : row.name, expert: null });
    else if (kind === "op" && row.name !== "none") select({ opType: selection.value.opType === row.name ? null : row.name });
    else if (kind === "layer" && row.name !== "none") select({ layer: selection.value.layer === Number(row.name) ? null : Number(row.name) });
    else if (kind === "token" && row.name !== "none") select({ tokens: rowOf(Number(row.name)) });
}

function isChosen(kind: Kind, row: StallRow): boolean {
    const { tensor, opType, layer, tokens } = selection.value;
    return (kind === "tensor" && row.name === tensor) || (kind === "op" && row.name === opType) || (kind === "layer" && Number(row.name) === layer) || (kind === "token" && tokens !== null && Number(row.name) >= tokens[0] && Number(row.name) <= tokens[1]);
}

function Tiles({ stats }: { stats: Stats }) {
    const { machine, streamed } = stats;
    const busy = stats.by_op.reduce((sum, row) => sum + (row.busy_ns ?? 0), 0);
    const { faults, block_requests: requests, memory, load, cold } = machine;
    const tiles: [string, string, string, string][] = [];
    if (faults) tiles.push(["stalled", "stalled by page faults", time(faults.in_ops.stalled_ns), `${share(faults.in_ops.stalled_ns, busy)} of ${time(busy)} computing, over all threads`]);
    if (faults) tiles.push(["faults", "page faults", count(faults.minor + faults.major), `${count(faults.major)} major, ${count(faults.model.minor + faults.model.major)} in model files${faults.lost ? `, ${count(faults.lost)} lost` : ""}`]);
    if (streamed) tiles.push(["streamed", "streamed", bytes(streamed.bytes_read + streamed.bytes_early), `${plural(streamed.runs, "graph run")}, ${bytes(streamed.bytes_early)} of it early by prediction`]);
    if (streamed) tiles.push(["waited", "waited for the disk", time(streamed.wait_ns), `${share(streamed.wait_ns, streamed.run_ns)} of ${time(streamed.run_ns)} of graph runs, ${plural(streamed.waits, "time")}`]);
    if (streamed && streamed.hits + streamed.misses > 0) tiles.push(["experts", "experts there when chosen", share(streamed.hits, streamed.hits + streamed.misses), `${share(streamed.predicted_used, Math.max(1, streamed.predicted))} of those read early were used`]);
    if (requests) tiles.push(["read", "read from the disk", bytes(requests.model.bytes), `${plural(requests.model.count, "request")}, ${share(requests.bytes_sequential, requests.model.bytes)} sequential`]);
    if (requests) tiles.push(["size", "request size, median", bytes(requests.bytes.median), `half are ${bytes(requests.bytes.quarter)} to ${bytes(requests.bytes.three_quarters)}`]);
    if (requests) tiles.push(["latency", "latency, median", time(requests.duration_ns.median), `half are ${time(requests.duration_ns.quarter)} to ${time(requests.duration_ns.three_quarters)}`]);
    if (memory) tiles.push(["limit", "memory limit", bytes(memory.limit), `hit ${plural(memory.limit_hits, "time")}, peak ${bytes(memory.peak)}${memory.oom_kills ? `, ${plural(memory.oom_kills, "kill")}` : ""}`]);
    if (load) tiles.push(["load", "loading", load.models > 0 ? time(load.wall_ns) : "not seen", `${bytes(load.bytes)} of files, ${time(load.duration_ns)} in ${load.by_kind.map((kind) => `${kind.kind} (${bytes(kind.bytes)})`).join(", ")}`]);
    if (cold) tiles.push(["cold", "cold start", bytes(cold.bytes), cold.resident_after === null ? "dropped from the page cache" : `${bytes(cold.resident_after)} left in the page cache`]);
    return (
        <dl class="tiles">
            {tiles.map(([key, name, value, note]) => (
                <div class="tile" data-tile={`storage-${key}`}>
                    <dt>
                        <Terms text={name} />
                    </dt>
                    <dd class="tile-value">{value}</dd>
                    <dd class="quiet">
                        <Terms text={note} />
                    </dd>
                </div>
            ))}
        </dl>
    );
}

// Per token: bytes addressed by ops, bytes requested from the disk, time in stalls.
function Tokens({ stats }: { stats: Stats }) {
    const { faults, block_requests: requests } = stats.machine;
    const of = new Map(stats.by_token?.map((row) => [row.token, row]));
    const read = new Map(requests?.by_token.map((row) => [row.token, row.bytes]));
    const stalled = new Map(faults?.by_token.map((row) => [row.token, row.stalled_ns]));
    const tokens = [...of.keys()].filter((token): token is number => token !== null).sort((a, b) => a - b);
    const points = (value: (token: number) => number) => tokens.map((token) => ({ x: token, y: value(token) }));
    const series: Series[] = [
        { name: "addressed in mapped files", colour: "var(--weights)", kind: "bar", points: points((token) => of.get(token)?.bytes_disk ?? 0), text: bytes },
        ...(requests ? [{ name: "read from the disk", colour: "#cc79a7", kind: "bar" as const, points: points((token) => read.get(token) ?? 0), text: bytes }] : []),
        ...(faults ? [{ name: "threads stalled", colour: "var(--stall)", kind: "line" as const, points: points((token) => stalled.get(token) ?? 0), text: time, scale: "right" as const }] : []),
    ];
    if (!requests && !faults && series[0]!.points.every(({ y }) => y === 0)) return <p class="quiet">No op reads a mapped file.</p>;
    const [first, last] = [tokens[0] ?? 0, tokens[tokens.length - 1] ?? 0];
    const step = tokensPerRow();
    const ticks = tokens.filter((_, i) => i % Math.ceil(tokens.length / 16) === 0);
    return (
        <Picture
            title={`Bytes and stalls per ${step > 1 ? `${step} ${stepsWord()}` : stepWord()}`}
            file="storage-by-token"
            figure={() => ({ kind: "storage", ...chosenOps() })}
            command="ggscope stats --by token --json"
            computed={`Bytes that ops read from mapped files, bytes of block requests that began meanwhile, and the stalls of page faults, summed over threads.${step > 1 ? ` Each bar is of ${step} ${stepsWord()}.` : ""}`}
            csv={() => ({ columns: [step > 1 ? "first_token" : "token", "bytes_disk", "bytes_requested", "stalled_ns"], rows: tokens.map((token) => [token, of.get(token)?.bytes_disk, requests ? (read.get(token) ?? 0) : null, faults ? (stalled.get(token) ?? 0) : null]) })}
        >
            <Chart
                label={`Bytes and stalls of ${plural(stats.tokens, stepWord())}`}
                series={series}
                x={{ from: first - 0.6 * step, to: last + 0.6 * step, ticks, text: String, tip: rowText, name: stepWord(), step }}
                y={{ left: "bytes", right: "time" }}
                at={selection.value.tokens && selection.value.tokens[0] === selection.value.tokens[1] ? selection.value.tokens[0] : null}
                onPick={(token) => select({ tokens: rowOf(token) })}
            />
        </Picture>
    );
}

function Residency({ machine }: { machine: Machine }) {
    const residency = machine.residency;
    if (!residency || residency.by_token.length === 0) return null;
    const tokens = residency.by_token.filter((row): row is typeof row & { token: number } => row.token !== null);
    const points = (value: (row: (typeof tokens)[number]) => number) => tokens.map((row) => ({ x: row.token, y: value(row) }));
    return (
        <Picture
            title={`In memory after each ${stepWord()}`}
            file="residency"
            figure={() => ({ kind: "residency", tokens: tokensParameter() })}
            command="ggscope stats --json"
            computed={`Pages of the model's files (${bytes(residency.bytes)}) in memory when the ${stepWord()}'s last graph ended, by ${residency.method ?? "the kernel"}; untouched: no op reads them.`}
            csv={() => ({ columns: ["token", "bytes", "bytes_untouched"], rows: tokens.map((row) => [row.token, row.bytes, row.bytes_untouched]) })}
        >
            <Chart
                label={`Bytes of the model in memory, per ${stepWord()}`}
                height={160}
                series={[
                    { name: "in memory", colour: "var(--kv)", kind: "line", points: points((row) => row.bytes), text: bytes },
                    { name: "of these, never read by an op", colour: "var(--wait)", kind: "line", points: points((row) => row.bytes_untouched), text: bytes },
                ]}
                x={{ from: (tokens[0]?.token ?? 0) - 0.6, to: (tokens[tokens.length - 1]?.token ?? 0) + 0.6, ticks: tokens.map((row) => row.token).filter((_, i) => i % Math.ceil(tokens.length / 16) === 0), text: String, tip: rowText, name: stepWord() }}
                y={{ left: "bytes in memory" }}
            />
        </Picture>
    );
}

const listed = 200;

function Longest() {
    const answer = useAsk<Faults>(here("faults", { ...chosenOps(), count: listed }), { keep: true });
    if (!answer.data) return <Waiting answer={answer} what="Looking for the longest stalls" />;
    const { faults } = answer.data;
    const longest = Math.max(1, ...faults.map((fault) => fault.duration_ns));
    return (
        <Table
            caption="The longest stalls"
            file="longest-stalls"
            rows={faults}
            order={{ key: "duration_ns", descending: true }}
            columns={[
                { key: "op", title: "op", value: (row) => row.op ?? row.phase },
                { key: "duration_ns", title: "stalled", value: (row) => row.duration_ns, show: (row) => time(row.duration_ns), numeric: true, bar: (row) => row.duration_ns / longest },
                { key: "token", title: stepColumn(), value: (row) => row.token, show: (row) => row.token ?? "none", numeric: true },
                { key: "weight", title: "tensor", value: (row) => row.weight ?? (row.file === null ? "memory" : "(no tensor)") },
                { key: "file_offset", title: "offset", value: (row) => row.file_offset, show: (row) => (row.file_offset === null ? "" : count(row.file_offset)), numeric: true },
                { key: "kind", title: "fault", value: (row) => row.kind },
                { key: "begin_ns", title: "at", value: (row) => row.begin_ns, show: (row) => moment(row.begin_ns, 1e5), numeric: true },
            ]}
            rowKey={(row) => `${row.begin_ns} ${row.duration_ns} ${row.file_offset}`}
            press={(row) =>
                select({
                    op: row.run !== null && row.node !== null && row.op !== null ? { run: row.run, node: row.node } : null,
                    region: row.file !== null && row.file_offset !== null ? pageOf(row.file, row.file_offset, summary.value?.page_bytes ?? 4096) : null,
                })
            }
            pressHint="Select the op and the page"
            most={12}
        >
            <span class="quiet">of page faults; at most {listed} are listed, ggscope log --faults has all</span>
        </Table>
    );
}

function Requests() {
    const answer = useAsk<BlockRequests>(here("disk", { ...chosenOps(), count: listed }), { keep: true });
    if (!answer.data) return <Waiting answer={answer} what="Looking for the longest disk requests" />;
    const rows = answer.data.block_requests;
    const longest = Math.max(1, ...rows.map((row) => row.duration_ns ?? 0));
    return (
        <Table
            caption="The longest disk requests"
            file="disk-requests"
            rows={rows}
            order={{ key: "duration_ns", descending: true }}
            columns={[
                { key: "weight", title: "tensor", value: (row) => row.weight ?? (row.file === null ? "another file" : "(no tensor)") },
                { key: "duration_ns", title: "took", value: (row) => row.duration_ns, show: (row) => (row.duration_ns === null ? "not seen" : time(row.duration_ns)), numeric: true, bar: (row) => (row.duration_ns ?? 0) / longest },
                { key: "bytes", title: "bytes", value: (row) => row.bytes, show: (row) => bytes(row.bytes), numeric: true },
                { key: "write", title: "what", value: (row) => (row.write ? "write" : "read") },
                { key: "file_offset", title: "offset", value: (row) => row.file_offset, show: (row) => (row.file_offset === null ? "" : count(row.file_offset)), numeric: true },
                { key: "sector", title: "sector", value: (row) => row.sector, show: (row) => count(row.sector), numeric: true },
                { key: "token", title: stepColumn(), value: (row) => row.token, show: (row) => row.token ?? "none", numeric: true },
                { key: "op", title: "op", value: (row) => row.op ?? row.phase },
                { key: "begin_ns", title: "at", value: (row) => row.begin_ns, show: (row) => moment(row.begin_ns, 1e5), numeric: true },
            ]}
            rowKey={(row) => `${row.begin_ns} ${row.sector} ${row.file_offset}`}
            press={(row) =>
                select({
                    op: row.run !== null && row.node !== null && row.op !== null ? { run: row.run, node: row.node } : null,
                    region: row.file !== null && row.file_offset !== null ? { file: row.file, begin: row.file_offset, end: row.file_offset + row.bytes } : null,
                })
            }
            pressHint="Select the op and the bytes"
            most={12}
        >
            <span class="quiet">at most {listed} are listed; ggscope sql DIR "SELECT * FROM block_requests" has all</span>
        </Table>
    );
}

export function Stalls() {
    useApplied("tokens", "layer", "tensor", "opType", "region", "buffer", "expert", "lane", "time", "request");
    const answer = useAsk<Stats>(statsPath("token", chosenOps()), { keep: true });
    if (!answer.data) return <Waiting answer={answer} what="Adding up stalls and requests" />;
    const { machine } = answer.data;
    const { faults, block_requests: requests } = machine;
    const kind = shown.value;
    const rows = faults ? rowsOf(faults, kind) : [];
    const longest = Math.max(1, ...rows.map((row) => row.stalled_ns));
    return (
        <>
            <p class="quiet">
                {selection.value.tokens ? "The selected tokens" : selection.value.request !== null ? `Steps of request ${selection.value.request}` : "All of the recording"}
                {narrowedText()}.{" "}
                {!faults && "Page faults were not recorded: that needs perf events (ggscope doctor says more). "}
                {!requests && "Disk requests were not recorded: record with --io. "}
                {!machine.residency && "What was in memory was not recorded: record with --residency."}
            </p>
            <Tiles stats={answer.data} />
            <Tokens stats={answer.data} />
            {faults && (
                <Table
                    key={kind}
                    caption={`Stalls by ${kind}`}
                    file={`stalls-by-${kind}`}
                    rows={rows}
                    order={kind === "layer" || kind === "token" ? { key: kind, descending: false } : { key: "stalled_ns", descending: true }}
                    columns={[
                        { key: kind, title: kind === "token" ? stepColumn() : kind, value: (row) => (kind === "layer" || kind === "token" ? (row.name === "none" ? -1 : Number(row.name)) : row.name), show: (row) => (kind === "token" && row.name !== "none" ? rowText(Number(row.name)) : row.name), ascending: true },
                        { key: "stalled_ns", title: "stalled", value: (row) => row.stalled_ns, show: (row) => time(row.stalled_ns), numeric: true, bar: (row) => row.stalled_ns / longest, hint: "summed over threads" },
                        { key: "share", title: "share", value: (row) => row.stalled_ns / Math.max(1, faults.stalled_ns), show: (row) => share(row.stalled_ns, faults.stalled_ns), numeric: true },
                        { key: "minor", title: "minor", value: (row) => row.minor, show: (row) => count(row.minor), numeric: true },
                        { key: "major", title: "major", value: (row) => row.major, show: (row) => count(row.major), numeric: true },
                    ]}
                    rowKey={(row) => row.name}
                    {...(kind === "phase" ? {} : { press: (row: StallRow) => pressRow(kind, row), isSelected: (row: StallRow) => isChosen(kind, row), pressHint: "Select it everywhere" })}
                    most={15}
                >
                    <label>
                        by{" "}
                        <select value={kind} aria-label="Stalls by" onChange={(event) => (shown.value = event.currentTarget.value as Kind)}>
                            {kinds.map((name) => (
                                <option>{name}</option>
                            ))}
                        </select>
                    </label>
                </Table>
            )}
            {faults && <Longest />}
            {requests && <Requests />}
            <div class="columns-2">
                <Residency machine={machine} />
                {requests && requests.by_weight.length > 0 && (
                    <Table
                        caption="Read from the disk, by tensor"
                        file="requests-by-tensor"
                        rows={requests.by_weight}
                        order={{ key: "bytes", descending: true }}
                        columns={[
                            { key: "name", title: "tensor", value: (row) => row.name ?? "none" },
                            { key: "bytes", title: "bytes", value: (row) => row.bytes, show: (row) => bytes(row.bytes), numeric: true, bar: (row) => row.bytes / Math.max(1, ...requests.by_weight.map((one) => one.bytes)) },
                            { key: "count", title: "requests", value: (row) => row.count, show: (row) => count(row.count), numeric: true },
                        ]}
                        rowKey={(row) => row.name ?? "none"}
                        press={(row) => select({ tensor: row.name, expert: null })}
                        isSelected={(row) => row.name !== null && row.name === selection.value.tensor}
                        most={15}
                    />
                )}
            </div>
            {summary.value?.times_distorted && <p class="quiet">Recorded with --prove: times are distorted.</p>}
        </>
    );
}
