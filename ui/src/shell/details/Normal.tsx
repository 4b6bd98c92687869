// Whether the duration of an op is normal: one dot for the same op in each token, and the
// difference.
import { useState } from "preact/hooks";
import type { OpAnswer, SameOps } from "../../api";
import { useAsk } from "../../ask";
import { count, time } from "../../format";
import { here, select } from "../../state";
import { stepWord } from "../../step";
import { announce } from "../Announce";
import { useWidth } from "../Canvas";
import { verdictOf } from "./culprits";

const height = 76;
const [left, right, top, bottom] = [46, 8, 8, 14];

export function Normal({ op }: { op: OpAnswer }) {
    const answer = useAsk<SameOps>(op.begin_ns === null ? null : here("same", { run: op.run, node: op.node }), { keep: true });
    const same = answer.data;
    if (!same || same.count < 2 || !same.ops.some((one) => one.run === op.run && one.node === op.node)) return null;
    return (
        <section class="normal">
            <h3>Is this normal?</h3>
            <p data-verdict>{verdictOf(op, same)}</p>
            <Dots op={op} same={same} />
        </section>
    );
}

function Dots({ op, same }: { op: OpAnswer; same: SameOps }) {
    const [box, width] = useWidth();
    const [at, setAt] = useState<number | null>(null);
    const { ops, most_ns: most, median_ns: median } = same;
    const chosen = ops.findIndex((one) => one.run === op.run && one.node === op.node);
    const inner = Math.max(1, width - left - right);
    const x = (i: number) => left + ((i + 0.5) / ops.length) * inner;
    const y = (ns: number) => height - bottom - (ns / Math.max(1, most)) * (height - top - bottom);
    const tipText = (i: number) => `${stepWord()} ${ops[i]!.token ?? "none"}: ${time(ops[i]!.duration_ns)}`;
    const go = (i: number | null) => i !== null && ops[i] && select({ op: { run: ops[i]!.run, node: ops[i]!.node } });
    const under = (event: MouseEvent) => {
        const frame = (event.currentTarget as Element).getBoundingClientRect();
        return Math.max(0, Math.min(ops.length - 1, Math.floor(((event.clientX - frame.left - left) / inner) * ops.length)));
    };
    const keys = (event: KeyboardEvent) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (event.key === "Enter") go(at);
        else if (by) {
            const next = Math.max(0, Math.min(ops.length - 1, (at ?? chosen) + by));
            setAt(next);
            announce(tipText(next));
        } else return;
        event.preventDefault();
        event.stopPropagation();
    };
    return (
        <div class="dots" ref={box}>
            {width > 0 && (
                <svg
                    viewBox={`0 0 ${width} ${height}`}
                    height={height}
                    role="img"
                    tabIndex={0}
                    aria-label={`The same op of ${count(same.count)} ${stepWord()}s. Arrow keys step through them, Enter goes there.`}
                    onKeyDown={keys}
                    onBlur={() => setAt(null)}
                    onPointerMove={(event) => setAt(under(event))}
                    onPointerLeave={() => setAt(null)}
                    onClick={(event) => go(under(event))}
                >
                    <text x={left - 6} y={y(most) + 4} text-anchor="end">
                        {time(most)}
                    </text>
                    <line class="median" x1={left} x2={width - right} y1={y(median)} y2={y(median)} />
                    {y(median) - y(most) > 12 && (
                        <text x={left - 6} y={y(median) + 4} text-anchor="end">
                            {time(median)}
                        </text>
                    )}
                    {ops.map((one, i) => (
                        <circle key={i} class={i === chosen ? "chosen" : ""} cx={x(i)} cy={y(one.duration_ns)} r={i === chosen || i === at ? 4 : ops.length > 200 ? 1.5 : 2.5} data-dot={one.token ?? -1} />
                    ))}
                    <text x={left} y={height - 2}>
                        {stepWord()} {ops[0]!.token ?? ""}
                    </text>
                    <text x={width - right} y={height - 2} text-anchor="end">
                        {ops.at(-1)!.token ?? ""}
                    </text>
                </svg>
            )}
            {at !== null && (
                <div class="chart-tip" role="tooltip" style={x(at) > width / 2 ? { right: `${width - x(at) + 8}px` } : { left: `${x(at) + 8}px` }}>
                    {tipText(at)}
                </div>
            )}
        </div>
    );
}
