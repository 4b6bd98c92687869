// The timeline's legend, and what is written beside and over it.
import type { Signal } from "@preact/signals";
import type { Columns } from "../../ask";
import { families, opFamily } from "../../colours";
import { plural, share, time } from "../../format";
import { bufferClasses } from "./data";
import type { Hover } from "./stage";
import { type Answered, opAt } from "./strips";
import type { Span } from "./window";

export function Legend({ data, occupancy }: { data: Answered | null; occupancy: Columns | null }) {
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

export function Tip({ at, data }: { at: Signal<Hover | null>; data: Answered }) {
    const hover = at.value;
    if (!hover || hover.row < 0) return null;
    const op = opAt(data, hover.row);
    const isRight = hover.x > window.innerWidth - 260;
    return (
        <div class="float" role="tooltip" style={{ left: `${isRight ? hover.x - 250 : hover.x + 14}px`, top: `${Math.min(hover.y + 16, window.innerHeight - 130)}px` }}>
            <b>{op.op}</b>
            {op.layer !== null && op.layer >= 0 ? ` layer ${op.layer}` : ""}
            <div>
                {time(op.duration)}
                {data.isRaw && op.wait > 0 ? `, then waiting ${time(op.wait)}` : ""}
            </div>
            {op.count > 1 && <div class="quiet">the longest of {plural(op.count, "op run")} here</div>}
            <div class="quiet">at {time(op.begin)}; click for its card</div>
        </div>
    );
}

// "A to B 1.20 ms" for each pair of neighbours.
export function measure(marks: number[]): string {
    return marks
        .slice(1)
        .map((at, i) => `${String.fromCharCode(65 + i)} to ${String.fromCharCode(66 + i)} ${time(Math.abs(at - marks[i]!))}`)
        .join(", ");
}

