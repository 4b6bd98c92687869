// What one op or one tensor is, in a card.
import type { ComponentChildren } from "preact";
import type { Heat, ModelMap, OpAnswer, Operand } from "../api";
import { useAsk } from "../ask";
import { opFamily } from "../colours";
import { bytes, count, plural, shape, share, time } from "../format";
import { here, select, selection, chosenSteps } from "../state";
import { Progress } from "./Progress";
import { stepsWord, stepWord } from "../step";

export function Row({ name, children }: { name: string; children: ComponentChildren }) {
    return (
        <div class="row">
            <dt>{name}</dt>
            <dd>{children}</dd>
        </div>
    );
}

export function OpName({ op }: { op: string }) {
    const family = opFamily(op);
    return (
        <span class="op-name" title={family.name}>
            <i class={`swatch pattern-${family.pattern}`} style={{ "--swatch": family.colour }} />
            {op}
        </span>
    );
}

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

// A node of a backend that is seen as a whole has no times of its own.
function Times({ of: op }: { of: OpAnswer }) {
    if (op.begin_ns === null || op.busy_ns === null)
        return (
            <>
                <Row name="took">
                    time not seen <span class="quiet">{op.backend} is seen as a whole</span>
                </Row>
                {op.submit_ns !== null && (
                    <Row name="handed over">
                        at {time(op.submit_ns)}
                        {op.host_ns !== null && `, which took the host ${time(op.host_ns)}`}
                    </Row>
                )}
            </>
        );
    return (
        <>
            <Row name="took">
                {time(op.duration_ns ?? 0)} <span class="quiet">from {time(op.begin_ns)}</span>
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

export function OpCard({ run, node }: { run: number; node: number }) {
    const { data, error, progress } = useAsk<OpAnswer>(here("op", { run, node }));
    if (error) return <p class="problem">{error.message}</p>;
    if (!data) return <Progress what="the op" progress={progress} />;
    const go = (to: { run: number; node: number } | null) => to && select({ op: to });
    return (
        <article class="card" aria-label={`op ${data.op} ${data.name}`}>
            <h2>
                <OpName op={data.op} />
            </h2>
            <p class="name">{data.name}</p>
            <dl>
                <Row name={stepWord()}>
                    {data.token === null ? "none" : data.token} {data.phase && <span class="quiet">{data.phase}</span>}
                </Row>
                <Row name="layer">{data.layer === null || data.layer < 0 ? "none" : data.layer}</Row>
                <Times of={data} />
                <HeldUp name="stalled" ns={data.stalled_ns} by="by page faults" of={data} />
                <HeldUp name="disk" ns={data.disk_wait_ns} by="waiting for weights" of={data} />
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
            {data.operands.length > 0 && (
                <ul class="operands">
                    {data.operands.map((operand) => (
                        <OperandItem operand={operand} />
                    ))}
                </ul>
            )}
            <p class="buttons">
                <button type="button" disabled={!data.previous} onClick={() => go(data.previous)} title="Previous op (,)">
                    ◂ previous
                </button>
                <button type="button" disabled={!data.next} onClick={() => go(data.next)} title="Next op (.)">
                    next ▸
                </button>
                <button type="button" disabled={data.producers.length === 0} onClick={() => go({ run, node: data.producers[0]! })} title="Producer ([)">
                    producer
                </button>
                <button type="button" disabled={data.consumers.length === 0} onClick={() => go({ run, node: data.consumers[0]! })} title="Consumer (])">
                    consumer
                </button>
            </p>
        </article>
    );
}

export function TensorCard({ name }: { name: string }) {
    const map = useAsk<ModelMap>(here("map"));
    const heat = useAsk<Heat>(here("heat", { ...chosenSteps() }), { keep: true });
    if (map.error) return <p class="problem">{map.error.message}</p>;
    if (!map.data) return <Progress what="the model map" progress={map.progress} />;
    const tensors = map.data.tensors;
    const i = tensors.name.indexOf(name);
    if (i < 0)
        return (
            <article class="card">
                <p class="name">{name}</p>
                <p class="quiet">This tensor is not part of the model file: the engine makes it while it computes.</p>
            </article>
        );
    const reads = heat.data?.tensors.reads[i];
    const { expert } = selection.value;
    const part = expert === null ? undefined : heat.data?.experts.find((one) => one.place === i);
    return (
        <article class="card" aria-label={`tensor ${name}`}>
            <h2>Tensor</h2>
            <p class="name">{name}</p>
            <dl>
                <Row name="type">{tensors.type[i]}</Row>
                <Row name="shape">{shape(tensors.shape[i] ?? [])}</Row>
                <Row name="layer">{tensors.layer[i] ?? "none"}</Row>
                <Row name="part">{tensors.component[i]}</Row>
                <Row name="bytes">
                    {bytes(tensors.bytes[i]!)} <span class="quiet">({count(tensors.bytes[i]!)})</span>
                </Row>
                <Row name="offset">
                    {count(tensors.file_offset[i]!)} <span class="quiet">of file {tensors.file[i]}</span>
                </Row>
                {tensors.experts[i]! > 0 && <Row name="experts">{tensors.experts[i]}</Row>}
                {part && expert !== null && expert < tensors.experts[i]! && (
                    <Row name={`expert ${expert}`}>
                        {part.reads[expert] ? `${plural(part.reads[expert]!, "read")}, ${bytes(part.bytes_read[expert]!)}` : "never touched"}
                        <span class="quiet"> at {count(tensors.file_offset[i]! + Math.floor((tensors.bytes[i]! * expert) / tensors.experts[i]!))}</span>
                    </Row>
                )}
                {tensors.copied[i] ? <Row name="place">copied into memory at load, ops read the copy</Row> : null}
                {heat.data && (
                    <Row name="touches">
                        {reads ? `${plural(reads, "read")}, ${bytes(heat.data.tensors.bytes_read[i]!)} in all` : "never touched"}
                        {selection.value.tokens ? <span class="quiet"> in the selected {stepsWord()}</span> : null}
                    </Row>
                )}
                {heat.data?.tensors.last_op[i] && <Row name="last op">{heat.data.tensors.last_op[i]}</Row>}
            </dl>
        </article>
    );
}
