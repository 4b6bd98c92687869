// Details of a tensor, and the ops that touch it.
import type { Heat, LogAnswer, ModelMap } from "../../api";
import { useAsk } from "../../ask";
import { bytes, count, moment, plural, shape, time } from "../../format";
import { chosenSteps, here, select, selection } from "../../state";
import { stepsWord, stepWord } from "../../step";
import { Progress } from "../Progress";
import { OpName, Row } from "./Row";

const listed = 12;

// The first ops that touch it; the log has all of them.
function Readers({ name }: { name: string }) {
    const answer = useAsk<LogAnswer>(here("log", { from: 0, count: listed, tensor: name, ...chosenSteps() }), { keep: true });
    if (!answer.data) return <Progress what="who touches it" progress={answer.progress} />;
    const { ops, total } = answer.data;
    return (
        <section>
            <h3>{ops.length === 0 ? "No op touches it" : (total ?? 0) > ops.length ? `Touched by ${count(total!)} ops, the first ${ops.length}` : `Touched by ${plural(ops.length, "op")}`}</h3>
            <table class="readers">
                <tbody>
                    {ops.map((op) => (
                        <tr>
                            <th scope="row">
                                <button type="button" class="link" onClick={() => select({ op: { run: op.run, node: op.fused_with ?? op.node } })}>
                                    <OpName op={op.op} /> {op.name}
                                </button>
                            </th>
                            <td class="number">
                                {stepWord()} {op.token ?? "none"}
                            </td>
                            <td class="number">{op.begin_ns === null ? "not seen" : moment(op.begin_ns, 1e5)}</td>
                            <td class="number">{op.duration_ns === null || op.fused_with !== null ? "–" : time(op.duration_ns)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </section>
    );
}

export function TensorDetails({ name }: { name: string }) {
    const map = useAsk<ModelMap>(here("map"));
    const heat = useAsk<Heat>(here("heat", { ...chosenSteps() }), { keep: true });
    if (map.error) return <p class="problem">{map.error.message}</p>;
    if (!map.data) return <Progress what="the model map" progress={map.progress} />;
    const tensors = map.data.tensors;
    const i = tensors.name.indexOf(name);
    if (i < 0)
        return (
            <article class="card" aria-label={`tensor ${name}`}>
                <section>
                    <h2>
                        Tensor <span class="name">{name}</span>
                    </h2>
                    <p class="quiet">{/[*?[]/.test(name) ? "A pattern: all tensors whose names match it." : "This tensor is not part of the model file: the engine makes it while it computes."}</p>
                </section>
                <Readers name={name} />
            </article>
        );
    const reads = heat.data?.tensors.reads[i];
    const { expert } = selection.value;
    const part = expert === null ? undefined : heat.data?.experts.find((one) => one.place === i);
    return (
        <article class="card" aria-label={`tensor ${name}`}>
            <section>
            <h2>
                Tensor <span class="name">{name}</span>
            </h2>
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
            </section>
            <Readers name={name} />
        </article>
    );
}
