// Details of an op: its times, its stalls, and the bytes that it reads and writes.
import type { OpAnswer, Operand } from "../../api";
import { useAsk } from "../../ask";
import { bytes, count, moment, plural, shape, share, time } from "../../format";
import { here, select, summary } from "../../state";
import { stepWord } from "../../step";
import { Chart } from "../Chart";
import { Progress } from "../Progress";
import { clientText, valuesText } from "./culprits";
import { DeviceWait } from "./DeviceWait";
import { Normal } from "./Normal";
import { OpName, Row } from "./Row";
import { Threads } from "./Threads";

const nameOfProcess = (process: number) => summary.value?.processes?.find((one) => one.process === process)?.name ?? `process ${process}`;

function where(operand: Operand): string {
    if (operand.source === "DISK" && operand.file_offset !== null) return `DISK, file ${operand.file ?? 0} at ${count(operand.file_offset)}`;
    const buffer = operand.buffer === null ? "memory" : `BUFFER ${operand.buffer}${operand.buffer_offset === null ? "" : ` at ${count(operand.buffer_offset)}`}`;
    return operand.origin_offset === null ? buffer : `${buffer}, copied at load from ${count(operand.origin_offset)}`;
}

function OperandItem({ operand }: { operand: Operand }) {
    const isWeight = operand.file_offset !== null || operand.origin_offset !== null;
    return (
        <li>
            <b>{operand.write ? "writes" : "reads"}</b>{" "}
            {isWeight ? (
                <button type="button" class="link" onClick={() => select({ tensor: operand.name, expert: null, op: null })}>
                    {operand.name}
                </button>
            ) : (
                <span>{operand.name}</span>
            )}
            <div class="quiet">
                {operand.type} {shape(operand.shape)}, {bytes(operand.bytes)}
                {operand.exact && operand.n_ranges > 1 ? ` in ${plural(operand.n_ranges, "range")}` : ""}
            </div>
            <div class="quiet">{where(operand)}</div>
        </li>
    );
}

// An op of an opaque backend has no times.
function Times({ of: op }: { of: OpAnswer }) {
    if (op.begin_ns === null || op.busy_ns === null)
        return (
            <>
                <Row name="took">
                    time not seen <span class="quiet">{op.backend} is seen as a whole</span>
                </Row>
                {op.submit_ns !== null && (
                    <Row name="handed over">
                        at {moment(op.submit_ns, op.host_ns ?? 1e3)}
                        {op.host_ns !== null && `, which took the host ${time(op.host_ns)}`}
                    </Row>
                )}
            </>
        );
    return (
        <>
            <Row name="took">
                {time(op.duration_ns ?? 0)} <span class="quiet">from {moment(op.begin_ns, op.duration_ns ?? 0)}</span>
            </Row>
            <Row name={op.submit_ns === null ? "threads" : "queues"}>
                {op.threads.length}, computing {time(Math.max(0, op.busy_ns - (op.stalled_ns ?? 0) - (op.disk_wait_ns ?? 0)))},{" "}
                {op.wait_ns === null ? (
                    "waiting not seen"
                ) : (
                    <>
                        waiting {time(op.wait_ns)} <span class="quiet">({share(op.wait_ns, op.busy_ns + op.wait_ns)})</span>
                    </>
                )}
            </Row>
            {op.submit_ns !== null && (
                <Row name="handed over">
                    {time(op.begin_ns - op.submit_ns)} before it began, on {op.backend}
                    <DeviceWait op={op} />
                </Row>
            )}
        </>
    );
}

function HeldUp({ name, ns, by, of: op }: { name: string; ns: number | null; by: string; of: OpAnswer }) {
    if (!ns) return null;
    return (
        <Row name={name}>
            {time(ns)} {by} <span class="quiet">({share(ns, (op.busy_ns ?? 0) + (op.wait_ns ?? 0))})</span>
        </Row>
    );
}

// The distribution of values of an output that was recorded in full.
function Histogram({ of: { least, most, counts } }: { of: NonNullable<NonNullable<OpAnswer["values"]>["histogram"]> }) {
    const at = (i: number) => least + ((i + 0.5) / counts.length) * (most - least);
    return (
        <Chart
            label="Histogram of the output"
            height={120}
            series={[{ name: "elements", colour: "#0072b2", kind: "bar", text: count, points: counts.map((y, i) => ({ x: i, y })) }]}
            x={{ from: -0.5, to: counts.length - 0.5, ticks: [0, counts.length - 1], text: (i) => at(i).toPrecision(3), name: "value" }}
            y={{ left: "elements" }}
        />
    );
}

export function OpDetails({ run, node }: { run: number; node: number }) {
    const { data, error, progress } = useAsk<OpAnswer>(here("op", { run, node }), { keep: true });
    if (error) return <p class="problem">{error.message}</p>;
    if (!data) return <Progress what="the op" progress={progress} />;
    const go = (to: { run: number; node: number } | null) => to && select({ op: to });
    return (
        <article class="card" aria-label={`op ${data.op} ${data.name}`}>
            <section>
                <h2>
                    <OpName op={data.op} /> <span class="name">{data.name}</span>
                </h2>
                <p class="buttons">
                    <button type="button" disabled={!data.previous} onClick={() => go(data.previous)} title="Previous op (,)">
                        ◂ previous
                    </button>
                    <button type="button" disabled={!data.next} onClick={() => go(data.next)} title="Next op (.)">
                        next ▸
                    </button>
                    <button type="button" disabled={data.producers.length === 0} onClick={() => go({ run: data.run, node: data.producers[0]! })} title="Producer ([)">
                        producer
                    </button>
                    <button type="button" disabled={data.consumers.length === 0} onClick={() => go({ run: data.run, node: data.consumers[0]! })} title="Consumer (])">
                        consumer
                    </button>
                </p>
                <dl>
                    <Row name={stepWord()}>
                        {data.token === null ? "none" : data.token} {data.phase && <span class="quiet">{data.phase.toLowerCase()}</span>}
                    </Row>
                    <Row name="layer">{data.layer === null || data.layer < 0 ? "none" : data.layer}</Row>
                    <Times of={data} />
                    <HeldUp name="stalled" ns={data.stalled_ns} by="by page faults" of={data} />
                    <HeldUp name="disk" ns={data.disk_wait_ns} by="waiting for weights" of={data} />
                    <HeldUp name="off CPU" ns={data.off_cpu_ns} by="without a CPU" of={data} />
                    {data.values && (
                        <Row name="values">
                            <span data-values>{valuesText(data.values)}</span>
                            {data.values.histogram && <Histogram of={data.values.histogram} />}
                        </Row>
                    )}
                    {data.client && (
                        <Row name="client">
                            <span data-client-wait>{clientText(data.client, nameOfProcess(data.client.process))}</span>
                        </Row>
                    )}
                    {data.absorbed.length > 0 && <Row name="fused with">{data.absorbed.map((node) => `${node.op} ${node.name}`).join(", ")}</Row>}
                    {data.experts && (
                        <Row name="experts">
                            {data.experts.map((chosen) => (
                                <button type="button" class="link" onClick={() => select({ expert: chosen.expert, layer: data.layer, op: null })}>
                                    {chosen.expert}
                                    {chosen.weight === null ? "" : ` (${chosen.weight.toFixed(3)})`}&ensp;
                                </button>
                            ))}
                        </Row>
                    )}
                </dl>
            </section>
            <Normal op={data} />
            <Threads op={data} />
            {data.operands.length > 0 && (
                <section>
                    <h3>Operands</h3>
                    <ul class="operands">
                        {data.operands.map((operand) => (
                            <OperandItem operand={operand} />
                        ))}
                    </ul>
                </section>
            )}
        </article>
    );
}
