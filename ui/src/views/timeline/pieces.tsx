// The timeline's legend, labels and tooltips.
import type { Signal } from "@preact/signals";
import { phases, type Summary } from "../../api";
import type { Columns } from "../../ask";
import { phaseColour } from "../../colours";
import { moment, plural, share, time } from "../../format";
import { Families } from "../../shell/Families";
import type { Steps } from "../../shell/Scrubber";
import { summary } from "../../state";
import { bufferClasses } from "./data";
import type { Hover } from "./stage";
import { amount, type Curve, valueAt } from "./draw";
import { describeBar } from "./requests";
import { type Answered, type OpAt, opAt, culpritOf, servedOf, sharesOf } from "./strips";
import type { Span } from "./window";

// Steps of servers whose colours are none of prompt and tokens.
const serverSteps = [["MIXED", "tokens beside a prompt"], ["VERIFY", "drafted tokens checked"]] as const;

export function Legend({ data, occupancy, hasRequests, steps }: { data: Answered | null; occupancy: Columns | null; hasRequests: boolean; steps: Steps | null }) {
    const seen = new Set<string | undefined>(Array.from(steps?.phase ?? [], (one) => phases[one]));
    const isThere = (name: string) => occupancy!.has(name) && occupancy!.column(name).some((bytes) => bytes > 0);
    return (
        <div class="legend">
            <Families of={data?.used ?? []} />
            <span>
                <i class="swatch pattern-hatch" />
                waiting
            </span>
            {summary.value?.has.faults && (
                <span>
                    <i class="swatch pattern-stall" />
                    stalled by page faults
                </span>
            )}
            {data?.of["disk_wait_ns"]?.some((ns) => ns > 0) && (
                <span>
                    <i class="swatch pattern-diskwait" />
                    waiting for the disk
                </span>
            )}
            {hasRequests && (
                <span class="buffers">
                    requests:
                    <span>
                        <i class="swatch" style={{ "--swatch": "var(--prompt)" }} />
                        prompt
                    </span>
                    <span>
                        <i class="swatch" style={{ "--swatch": "var(--generate)" }} />
                        tokens
                    </span>
                    {serverSteps
                        .filter(([phase]) => seen.has(phase))
                        .map(([phase, words]) => (
                            <span key={phase}>
                                <i class="swatch" style={{ "--swatch": phaseColour(phase) }} />
                                {words}
                            </span>
                        ))}
                    <span>| first token</span>
                    <span>▁ shared decodes</span>
                </span>
            )}
            {occupancy && (
                <span class="buffers">
                    buffers:
                    {bufferClasses
                        .filter(([name]) => isThere(name))
                        .map(([name, words]) => (
                            <span>
                                <i class="swatch" style={{ "--swatch": `var(--${name})` }} />
                                {words}
                            </span>
                        ))}
                </span>
            )}
        </div>
    );
}

// These components read values that change with every frame, so that the view does not render with
// every frame.
export function Shown({ span, bounds, fitted, onFit }: { span: Signal<Span | null>; bounds: Span; fitted: Span | null; onFit(): void }) {
    const shown = span.value;
    if (!shown) return null;
    const whole = bounds.end - bounds.begin;
    const isFit = fitted !== null && shown.begin === fitted.begin && shown.end === fitted.end;
    return (
        <>
            <span class="quiet">
                {time(shown.end - shown.begin)} shown{shown.end - shown.begin < whole * 0.999 ? ` (${share(shown.end - shown.begin, whole)})` : ""}
            </span>
            {!isFit && (
                <button type="button" title="0" onClick={onFit}>
                    Fit
                </button>
            )}
        </>
    );
}

export function Tip({ at, data, curves, lanes }: { at: Signal<Hover | null>; data: Answered | null; curves: Curve[]; lanes: Summary["lanes"] }) {
    const hover = at.value;
    const curve = hover ? curves[hover.curve] : undefined;
    if (!hover || (hover.row < 0 && !curve && !hover.bar)) return null;
    const isRight = hover.x > window.innerWidth - 260;
    return (
        <div class="float" role="tooltip" style={{ left: `${isRight ? hover.x - 250 : hover.x + 14}px`, top: `${Math.min(hover.y + 16, window.innerHeight - 150)}px` }}>
            {hover.bar ? <b>{describeBar(hover.bar)}</b> : curve ? <CurveTip curve={curve} ns={hover.time} /> : data && <OpTip op={opAt(data, hover.row)} served={servedText(data, hover.row, lanes)} waitedFor={waitedFor(data, hover, lanes)} waits={!lanes.some((one) => one.lane === hover.lane && one.device !== null)} />}
        </div>
    );
}

// "rpc-server, whose ops took 2.19 ms (longest: output, 610 us)": what a client's graph run waited
// for; null for other rows. The op's details state how much of the rest is the wire's: the server's
// graph run begins before its first op.
function servedText(data: Answered, row: number, lanes: Summary["lanes"]): string | null {
    const { run } = opAt(data, row);
    if (!data.servers.has(run)) return null;
    const served = servedOf(data, run);
    if (!served) return "its server, which is out of sight";
    const longest = opAt(data, served.longest);
    const name = lanes.find((one) => one.lane === served.lane)?.label.replace(/:.*/, "");
    return `${name ?? "its server"}, whose ops took ${time(served.end - served.begin)} (longest: ${longest.label ?? longest.op}, ${time(longest.duration)})`;
}

// "CPU thread 1, which took 14 ms": what the op run under the pointer waited for; null: nothing.
function waitedFor(data: Answered, hover: Hover, lanes: Summary["lanes"]): string | null {
    const op = opAt(data, hover.row);
    const last = culpritOf(sharesOf(data, op.run, op.node, op.begin));
    if (!last || last.lane === hover.lane) return null;
    const label = lanes.find((one) => one.lane === last.lane)?.label;
    return label ? `${label}, which took ${time(opAt(data, last.row).duration)}` : null;
}

function CurveTip({ curve, ns }: { curve: Curve; ns: number }) {
    const value = valueAt(curve, ns);
    return (
        <>
            <b>{curve.name}</b> {value === null ? "not seen" : amount(curve, value)}
            <div class="quiet">{curve.meaning}</div>
            <div class="quiet">
                at {moment(ns, curve.step)}, in bins of {time(curve.step)}
            </div>
        </>
    );
}

function OpTip({ op, served, waitedFor, waits }: { op: OpAt; served: string | null; waitedFor: string | null; waits: boolean }) {
    const { bin } = op;
    return (
        <>
            <b>{op.label ?? op.op}</b>
            {op.layer !== null && op.layer >= 0 ? ` layer ${op.layer}` : ""}
            {op.label ? <span class="quiet"> {op.op}</span> : ""}
            {op.run !== 0 && (
                <div>
                    {time(op.duration)}
                    {served !== null && `, waiting for ${served}`}
                    {!bin && op.stalled > 0 ? `, of which stalled by page faults ${time(op.stalled)} (${share(op.stalled, op.duration)})` : ""}
                    {!bin && op.diskWait > 0 ? `, of which waiting for the disk ${time(op.diskWait)} (${share(op.diskWait, op.duration)})` : ""}
                    {!bin && op.inner > 0 ? `, of which waiting for other threads ${time(op.inner)} (${share(op.inner, op.duration)})` : ""}
                    {!bin && op.wait > 0 ? `, then waiting ${time(op.wait)}${waitedFor ? ` for ${waitedFor}` : ""}` : ""}
                </div>
            )}
            {bin && (
                <div>
                    these {time(bin.ns)}: computing {share(Math.max(0, bin.busy - op.stalled - op.diskWait), bin.ns)}
                    {op.stalled > 0 ? `, stalled by page faults ${share(Math.min(op.stalled, bin.busy), bin.ns)}` : ""}
                    {op.diskWait > 0 ? `, waiting for the disk ${share(Math.min(op.diskWait, bin.busy), bin.ns)}` : ""}
                    {waits && `, waiting ${share(op.wait, bin.ns)}`}
                </div>
            )}
            {bin && op.run !== 0 && <div class="quiet">{op.count > 1 ? `the longest of ${plural(op.count, "op run")} here` : op.count === 0 ? "began before" : ""}</div>}
            <div class="quiet">
                at {moment(op.begin, bin ? bin.ns : op.duration)}
                {op.run !== 0 ? "; click for its details" : ""}
            </div>
        </>
    );
}

// "A to B 1.20 ms" for each pair of neighbours.
export function measure(marks: number[]): string {
    return marks
        .slice(1)
        .map((at, i) => `${String.fromCharCode(65 + i)} to ${String.fromCharCode(66 + i)} ${time(Math.abs(at - marks[i]!))}`)
        .join(", ");
}

