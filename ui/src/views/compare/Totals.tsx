// The totals of two recordings: bytes, buffers, faults, experts, requests, as in `ggscope diff`,
// and the machine of each.
import type { Diff, Requests, Stats } from "../../api";
import { useAsk } from "../../ask";
import { bytes, count, time } from "../../format";
import { Computed } from "../../shell/Computed";
import { experiments, there } from "../../state";
import { Table } from "../statistics/Table";
import { changeText } from "./answers";

interface Row {
    about: string;
    what: string;
    a: number | null; // null: not recorded
    b: number | null;
    text(value: number): string;
}

const totals: [string, string, keyof Diff["totals"], (value: number) => string][] = [
    ["run", "token steps", "tokens", count],
    ["run", "threads", "threads", count],
    ["run", "ops", "ops", count],
    ["run", "op runs", "op_runs", count],
    ["bytes", "bytes read", "bytes_read", bytes],
    ["bytes", "bytes written", "bytes_written", bytes],
    ["bytes", "in mapped files", "bytes_disk", bytes],
    ["bytes", "model touched", "bytes_touched", bytes],
    ["nodes", "nodes", "nodes", count],
    ["nodes", "executed", "executed", count],
    ["nodes", "absorbed", "absorbed", count],
    ["nodes", "opaque", "opaque", count],
    ["nodes", "unseen", "unseen", count],
    ["nodes", "cut off", "cut", count],
    ["nodes", "lost", "lost", count],
    ["buffers", "buffers", "buffers", count],
    ["buffers", "peak of buffers", "peak_bytes", bytes],
];

const machine: [string, string, (stats: Stats) => number | null | undefined, (value: number) => string][] = [
    ["faults", "page faults", ({ machine: m }) => m.faults && m.faults.minor + m.faults.major, count],
    ["faults", "major faults", ({ machine: m }) => m.faults?.major, count],
    ["faults", "stalled in ops", ({ machine: m }) => m.faults?.in_ops.stalled_ns, time],
    ["disk requests", "requests for the model", ({ machine: m }) => m.block_requests?.model.count, count],
    ["disk requests", "read from the disk", ({ machine: m }) => m.block_requests?.model.bytes, bytes],
    ["disk requests", "median size", ({ machine: m }) => m.block_requests?.bytes.median, bytes],
    ["disk requests", "median latency", ({ machine: m }) => m.block_requests?.duration_ns.median, time],
    ["memory", "limit", ({ machine: m }) => m.memory?.limit ?? 0, (value) => (value === 0 ? "none" : bytes(value))],
    ["memory", "hits of the limit", ({ machine: m }) => m.memory?.limit_hits ?? 0, count],
    ["loading", "time to load", ({ machine: m }) => m.load?.wall_ns, time],
];

const middle = (values: readonly number[]) => {
    const sorted = [...values].sort((x, y) => x - y);
    return sorted.length === 0 ? null : sorted[Math.floor((sorted.length - 1) / 2)]!;
};
const requested = (answer: Requests) => answer.requests.filter((one) => one.kind !== "warmup" && one.kind !== "draft");
const requests: [string, (answer: Requests) => number | null, (value: number) => string][] = [
    ["requests", (answer) => requested(answer).length, count],
    ["time to the first output, median", (answer) => middle(requested(answer).flatMap((one) => one.time_to_first_ns ?? [])), time],
    ["waiting between steps, median", (answer) => middle(requested(answer).map((one) => one.wait_ns)), time],
    ["cells in use, most", ({ contexts }) => (contexts.some((one) => one.cells_peak === null) ? null : Math.max(0, ...contexts.map((one) => one.cells_peak!))), count],
];

export function Totals({ a, b, result }: { a: number; b: number; result: Diff }) {
    const stats = [useAsk<Stats>(there(a, "stats", { by: "token" })), useAsk<Stats>(there(b, "stats", { by: "token" }))] as const;
    const servers = [useAsk<Requests>(there(a, "requests")), useAsk<Requests>(there(b, "requests"))] as const;
    const rows: Row[] = totals.map(([about, what, key, text]) => ({ about, what, a: result.totals[key].a, b: result.totals[key].b, text }));
    rows.push({ about: "experts", what: "expert ops that took other experts", a: 0, b: result.expert_ops_differ, text: (value) => (value === 0 ? "–" : `${count(value)} of ${count(result.expert_ops)}`) });
    if (stats[0].data && stats[1].data)
        for (const [about, what, of, text] of machine) rows.push({ about, what, a: of(stats[0].data) ?? null, b: of(stats[1].data) ?? null, text });
    if (servers[0].data && servers[1].data)
        for (const [what, of, text] of requests) rows.push({ about: "requests", what, a: of(servers[0].data), b: of(servers[1].data), text });
    const known = rows.filter((row) => row.a !== null || row.b !== null);
    const changed = known.filter((row) => row.a !== row.b);
    const same = known.length - changed.length;
    const textOf = (row: Row, value: number | null) => (value === null ? "not recorded" : row.text(value));
    const directory = (index: number) => experiments.value.find((one) => one.index === index)?.directory ?? "";
    return (
        <>
            <Table
                caption="In numbers"
                file="compare-totals"
                rows={changed}
                columns={[
                    { key: "what", title: "what", value: (row) => row.what },
                    { key: "about", title: "of", value: (row) => row.about },
                    { key: "a", title: "A", numeric: true, value: (row) => row.a, show: (row) => textOf(row, row.a) },
                    { key: "b", title: "B", numeric: true, value: (row) => row.b, show: (row) => textOf(row, row.b) },
                    { key: "change", title: "change", numeric: true, value: (row) => (row.a && row.b ? row.b / row.a - 1 : null), show: (row) => (row.a === null || row.b === null ? "–" : changeText(row.a, row.b)) },
                ]}
                rowKey={(row) => `${row.about} ${row.what}`}
                most={60}
                empty="Every count and every sum is the same in both."
            >
                {same > 0 && <span class="quiet">{count(same)} more are the same in both</span>}
            </Table>
            <Computed command={`ggscope diff ${directory(a)}`} of={directory(b)}>
                Ops, bytes, nodes and buffers as ggscope diff adds them up; faults, disk requests and loading as ggscope stats tells them of each; requests as ggscope requests does.
            </Computed>
        </>
    );
}
