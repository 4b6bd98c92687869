// The timeline's legend, and what is written beside and over it.
import type { Signal } from "@preact/signals";
import type { Summary } from "../../api";
import type { Columns } from "../../ask";
import { families, opFamily } from "../../colours";
import { moment, plural, share, time } from "../../format";
import { summary } from "../../state";
import { bufferClasses } from "./data";
import type { Hover } from "./stage";
import { amount, type Curve, valueAt } from "./draw";
import { saidOf } from "./requests";
import { type Answered, type OpAt, opAt, culpritOf, servedOf, sharesOf } from "./strips";
import type { Span } from "./window";

export function Legend({ data, occupancy, hasRequests }: { data: Answered | null; occupancy: Columns | null; hasRequests: boolean }) {
    const present = new Set([...(data?.used ?? [])].map((op) => opFamily(op).name));
    const isThere = (name: string) => occupancy!.has(name) && occupancy!.column(name).some((bytes) => bytes > 0);
    return (
        <div class="legend">
            {families
                .filter((family) => present.has(family.name))
                .map((family) => (
                    <span>
                        <i class={`swatch pattern-${family.pattern}`} style={{ "--swatch": family.colour }} />
                        {family.name}
                    </span>
                ))}
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
                        <i class="swatch" style={{ "--swatch": "color-mix(in srgb, var(--kv) 50%, var(--surface))" }} />
                        prompt
                    </span>
                    <span>
                        <i class="swatch" style={{ "--swatch": "var(--kv)" }} />
                        tokens
                    </span>
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

// These read what changes with every frame, so that the view around them need not.
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
            {hover.bar ? <b>{saidOf(hover.bar)}</b> : curve ? <CurveTip curve={curve} ns={hover.time} /> : data && <OpTip op={opAt(data, hover.row)} served={servedText(data, hover.row, lanes)} waitedFor={waitedFor(data, hover, lanes)} waits={!lanes.some((one) => one.lane === hover.lane && one.device !== null)} />}
        </div>
    );
}

// "rpc-server: 2.19 ms there (output 610 us), 6.41 ms on the wire": what a client's graph run waited for; null if it is none.
function servedText(data: Answered, row: number, lanes: Summary["lanes"]): string | null {
    const { run, duration } = opAt(data, row);
    if (!data.servers.has(run)) return null;
    const served = servedOf(data, run);
    if (!served) return "its server, which is out of sight";
    const [longest, there] = [opAt(data, served.longest), served.end - served.begin];
    const name = lanes.find((one) => one.lane === served.lane)?.label.replace(/:.*/, "");
    return `${name ?? "its server"}: ${time(there)} there (longest: ${longest.label ?? longest.op}, ${time(longest.duration)}), ${time(Math.max(0, duration - there))} on the wire`;
}

// "CPU thread 1, which took 14 ms": whom the op run that is pointed at waited for; null if for nobody.
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

