// Details of the selected tokens: their times, and their longest ops.
import type { LogAnswer } from "../../api";
import { type Columns, useAsk } from "../../ask";
import { moment, plural, share, time, tokenText } from "../../format";
import { chosenSteps, here, moving, select, summary } from "../../state";
import { stepRange, stepWord } from "../../step";
import { spanOf, stepsPath } from "../../views/memory/data";
import { Progress } from "../Progress";
import { stepsOf } from "../Scrubber";
import { OpName, Row } from "./Row";

const listed = 8;

function Slowest({ whole }: { whole: number }) {
    const answer = useAsk<LogAnswer>(moving.value ? null : here("log", { from: 0, count: listed, sort: "duration_ns", desc: 1, ...chosenSteps() }), { keep: true });
    if (!answer.data) return <Progress what="its slowest ops" progress={answer.progress} />;
    const ops = answer.data.ops.filter((op) => op.duration_ns !== null && op.fused_with === null);
    if (ops.length === 0) return null;
    return (
        <section>
            <h3>Its slowest ops</h3>
            <table class="readers" data-slowest-ops>
                <tbody>
                    {ops.map((op) => (
                        <tr>
                            <th scope="row">
                                <button type="button" class="link" onClick={() => select({ op: { run: op.run, node: op.node } })}>
                                    <OpName op={op.op} /> {op.name}
                                </button>
                            </th>
                            <td class="number">{time(op.duration_ns!)}</td>
                            <td class="number quiet">{share(op.duration_ns!, whole)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </section>
    );
}

export function TokenDetails({ tokens }: { tokens: [number, number] }) {
    const steps = useAsk<Columns>(stepsPath()).data;
    const about = summary.value;
    const span = spanOf(tokens, steps);
    if (!steps || !about || !span) return null;
    const of = stepsOf(steps);
    const texts = Array.from({ length: of.rows }, (_, i) => i).filter((i) => of.first[i]! >= tokens[0] && of.last[i]! <= tokens[1]);
    const whole = span[1] - span[0];
    const slowest = about.slowest_token;
    return (
        <article class="card" aria-label={stepRange(tokens)}>
            <section>
                <h2>{stepRange(tokens).replace(/^./, (letter) => letter.toUpperCase())}</h2>
                <dl>
                    <Row name="took">
                        {time(whole)} <span class="quiet">from {moment(span[0], whole)}</span>
                    </Row>
                    {texts.length > 0 && texts.length <= 40 && (
                        <Row name="text">
                            <span class="mono">{texts.map((i) => tokenText(of.texts[i] ?? "")).join("") || "not known"}</span>
                        </Row>
                    )}
                    {slowest && slowest.token >= tokens[0] && slowest.token <= tokens[1] && (
                        <Row name="slowest">
                            {tokens[0] === tokens[1] ? `of all ${plural(about.tokens, stepWord())}` : `${stepWord()} ${slowest.token}`}, {time(slowest.duration_ns)}
                        </Row>
                    )}
                </dl>
            </section>
            <Slowest whole={whole} />
        </article>
    );
}
