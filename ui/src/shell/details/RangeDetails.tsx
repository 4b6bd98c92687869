// Details of the selected time range: ops by time, bytes by tensor, faults, activity of each lane.
import type { Aggregate } from "../../api";
import { useAsk } from "../../ask";
import { bytes, count, moment, plural, share, time } from "../../format";
import { here, select, selection, summary } from "../../state";
import { download, toCsv } from "../../views/statistics/csv";
import { Computed } from "../Computed";
import { Progress } from "../Progress";
import { OpName, Row } from "./Row";

const most = 12;
const seconds = (ns: number) => `${(ns / 1e9).toFixed(6)}s`;

function Bar({ part, children }: { part: number; children: preact.ComponentChildren }) {
    return (
        <span class="bar">
            <span class="bar-fill" style={{ width: `${Math.min(1, Math.max(0, part)) * 100}%` }} />
            <span class="bar-text">{children}</span>
        </span>
    );
}

function save(data: Aggregate): void {
    const rows = [
        ...data.by_op.map((row) => [row.op === null ? "backend" : "op", row.op ?? row.backend, row.ops, row.wall_ns, row.busy_ns, row.wait_ns, null, row.bytes_read, row.bytes_written]),
        ...data.by_tensor.map((row) => ["tensor", row.name, row.reads, null, null, null, null, row.bytes_read, null]),
        ...data.by_lane.map((row) => ["lane", row.lane, null, null, row.busy_ns, row.wait_ns, row.stalled_ns, null, null]),
    ];
    download("range.csv", toCsv(["of", "name", "count", "wall_ns", "busy_ns", "wait_ns", "stalled_ns", "bytes_read", "bytes_written"], rows));
}

export function RangeDetails({ range }: { range: [number, number] }) {
    const [begin, end] = [Math.floor(range[0]), Math.max(Math.floor(range[0]) + 1, Math.ceil(range[1]))];
    const { data, error, progress } = useAsk<Aggregate>(here("aggregate", { begin, end }), { keep: true });
    if (error) return <p class="problem">{error.message}</p>;
    if (!data) return <Progress what="the range" progress={progress} />;
    const longest = data.by_op[0]?.wall_ns ?? 1;
    const largest = data.by_tensor[0]?.bytes_read ?? 1;
    const labels = new Map((summary.value?.lanes ?? []).map((lane) => [lane.lane, lane.label]));
    return (
        <article class="card range-card" aria-label="Range of time">
            <section>
            <h2>{time(end - begin)}</h2>
            <p class="quiet">
                from {moment(begin, end - begin)}
                {data.first_token !== null && `, ${data.first_token === data.last_token ? `token ${data.first_token}` : `tokens ${data.first_token} to ${data.last_token}`}`}
            </p>
            <dl>
                <Row name="ops">
                    {count(data.ops)} {data.ops_untimed > 0 && <span class="quiet">times of {count(data.ops_untimed)} not seen</span>}
                </Row>
                <Row name="read">
                    {bytes(data.bytes_read)} <span class="quiet">{bytes(data.bytes_disk)} of mapped files</span>
                </Row>
                {data.faults && (
                    <Row name="faults">
                        {plural(data.faults.minor + data.faults.major, "fault")}, threads stalled {time(data.faults.stalled_ns)}
                    </Row>
                )}
                {data.block_requests && (
                    <Row name="disk">
                        {plural(data.block_requests.count, "request")}, {bytes(data.block_requests.bytes)} <span class="quiet">{bytes((data.block_requests.bytes / (end - begin)) * 1e9)}/s</span>
                    </Row>
                )}
            </dl>
            <p class="buttons">
                <button type="button" onClick={() => save(data)}>
                    CSV
                </button>
            </p>
            <Computed command={`ggscope log --since ${seconds(begin)} --until ${seconds(end)}`}>
                Ops that touch the range, with all of their bytes; times as far as they lie within, a lane's waits inside an op at its end.
            </Computed>
            </section>
            <section>
            <h3>Ops by time</h3>
            <table>
                <tbody>
                    {data.by_op.slice(0, most).map((row) => (
                        <tr class={row.op !== null && selection.value.opType === row.op ? "selected" : ""}>
                            <th scope="row">
                                {row.op === null ? (
                                    `${row.backend}, as a whole`
                                ) : (
                                    <button type="button" class="link" onClick={() => select({ opType: selection.value.opType === row.op ? null : row.op })}>
                                        <OpName op={row.op} />
                                    </button>
                                )}
                            </th>
                            <td class="number">{count(row.ops)}×</td>
                            <td class="number">
                                <Bar part={row.wall_ns / longest}>{time(row.wall_ns)}</Bar>
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {data.by_op.length > most && <p class="quiet">and {data.by_op.length - most} more in the CSV</p>}
            </section>
            <section>
            <h3>Lanes</h3>
            <table>
                <tbody>
                    {data.by_lane.map((row) => (
                        <tr class={selection.value.lane === row.lane ? "selected" : ""}>
                            <th scope="row">
                                <button type="button" class="link" onClick={() => select({ lane: selection.value.lane === row.lane ? null : row.lane })}>
                                    {labels.get(row.lane) ?? row.lane}
                                </button>
                            </th>
                            <td>
                                {row.busy_ns === null ? "computing not seen" : `computing ${share(Math.max(0, row.busy_ns - (row.stalled_ns ?? 0)), end - begin)}`}
                                {row.stalled_ns !== null && `, stalled ${share(row.stalled_ns, end - begin)}`}, {row.wait_ns === null ? "waiting not seen" : `waiting ${share(row.wait_ns, end - begin)}`}
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
            </section>
            <section>
            <h3>Bytes by tensor</h3>
            <table>
                <tbody>
                    {data.by_tensor.slice(0, most).map((row) => (
                        <tr>
                            <th scope="row">
                                <button type="button" class="link name" onClick={() => select({ tensor: row.name, expert: null })}>
                                    {row.name}
                                </button>
                            </th>
                            <td class="number">
                                <Bar part={row.bytes_read / largest}>{bytes(row.bytes_read)}</Bar>
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
            {data.tensors > most && <p class="quiet">and {count(data.tensors - most)} more</p>}
            </section>
        </article>
    );
}
