// What is selected, in full: one panel beside or below the view, never over it.
import { computed, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { moving, selection, type Selection } from "../../state";
import { announce } from "../Announce";
import { stepTabs } from "../SubTabs";
import { BufferDetails } from "./BufferDetails";
import { isOpen, isSmall, limits, resize, set, side, size } from "./dock";
import { OpDetails } from "./OpDetails";
import { RangeDetails } from "./RangeDetails";
import { RecordingDetails } from "./RecordingDetails";
import { RequestDetails } from "./RequestDetails";
import { TensorDetails } from "./TensorDetails";
import { TokenDetails } from "./TokenDetails";
import "./details.css";

// The parts of a selection that have details, the narrowest first.
const parts = ["op", "tensor", "buffer", "request", "time", "tokens"] as const satisfies (keyof Selection)[];
type Shown = (typeof parts)[number] | "recording";
const names: Record<Shown, string> = { op: "Op", tensor: "Tensor", buffer: "Buffer", time: "Range", request: "Request", tokens: "Token", recording: "Recording" };

const wanted = signal<Shown | null>(null);

// Shows the part that was selected last; if it is deselected, the narrowest remaining one.
function useShown(): { shown: Shown; there: Shown[] } {
    const chosen = selection.value;
    const before = useRef(chosen);
    const changed = parts.find((part) => chosen[part] !== null && JSON.stringify(chosen[part]) !== JSON.stringify(before.current[part]));
    before.current = chosen;
    if (changed && wanted.peek() !== changed) wanted.value = changed;
    const there: Shown[] = [...parts.filter((part) => chosen[part] !== null), "recording"];
    const asked = wanted.value;
    return { shown: asked && there.includes(asked) ? asked : there[0]!, there };
}

function bodyOf(shown: Shown): ComponentChildren {
    const { op, tensor, buffer, time, request, tokens } = selection.value;
    switch (shown) {
        case "op":
            return <OpDetails run={op!.run} node={op!.node} />;
        case "tensor":
            return <TensorDetails name={tensor!} />;
        case "buffer":
            return <BufferDetails buffer={buffer!} />;
        case "time":
            return <RangeDetails range={time!} />;
        case "request":
            return <RequestDetails request={request!} />;
        case "tokens":
            return <TokenDetails tokens={tokens!} />;
        case "recording":
            return <RecordingDetails />;
    }
}

function Tabs({ shown, there }: { shown: Shown; there: Shown[] }) {
    return (
        <div role="tablist" aria-label="Details" onKeyDown={stepTabs}>
            {there.map((one) => (
                <button type="button" role="tab" id={`details-${one}`} aria-selected={one === shown} aria-controls="details-body" tabIndex={one === shown ? 0 : -1} onClick={() => (wanted.value = one)}>
                    {names[one]}
                </button>
            ))}
        </div>
    );
}

// The edge between view and details; dragged, or moved by arrow keys.
function Splitter() {
    const isRight = side.value === "right";
    const from = useRef<{ at: number; size: number } | null>(null);
    const { least, most } = limits();
    const place = (event: PointerEvent) => (isRight ? event.clientX : event.clientY);
    return (
        <div
            class="splitter"
            role="separator"
            tabIndex={0}
            aria-label="Size of the details"
            aria-orientation={isRight ? "vertical" : "horizontal"}
            aria-valuemin={least}
            aria-valuemax={most}
            aria-valuenow={Math.min(most, size.value)}
            onPointerDown={(event) => {
                event.currentTarget.setPointerCapture(event.pointerId);
                from.current = { at: place(event), size: Math.min(most, size.value) };
            }}
            onPointerMove={(event) => from.current && resize(from.current.size + from.current.at - place(event))}
            onPointerUp={() => (from.current = null)}
            onPointerCancel={() => (from.current = null)}
            onKeyDown={(event) => {
                const by = { ArrowUp: 1, ArrowLeft: 1, ArrowDown: -1, ArrowRight: -1 }[event.key];
                if (!by) return;
                event.preventDefault();
                resize(size.value + by * 24);
                announce(`details ${size.value} pixels`);
            }}
        />
    );
}

// In a small window there is room only for what was asked for.
export const areShown = computed(() => isOpen.value && !(isSmall.value && (moving.value || (wanted.value !== "recording" && parts.every((part) => selection.value[part] === null)))));

export function toggleDetails(): void {
    const shows = !areShown.value;
    set({ isOpen: shows });
    if (shows !== areShown.value) wanted.value = "recording";
    else if (!shows && wanted.value === "recording") wanted.value = null;
    announce(shows ? "details open" : "details closed");
}

export function Details() {
    const { shown, there } = useShown();
    const body = useRef<HTMLDivElement>(null);
    const where = side.value;
    useEffect(() => body.current?.scrollTo(0, 0), [shown, selection.value.op, selection.value.tensor]);
    if (!areShown.value) return null;
    const most = limits().most;
    const other = where === "right" ? "below" : "right";
    return (
        <aside class="details-landmark" aria-label="Details">
            <Splitter />
            <div class={`details ${where}`} style={{ [where === "right" ? "width" : "height"]: `${Math.min(most, size.value)}px` }}>
                <div class="details-head">
                    <Tabs shown={shown} there={there} />
                    {!isSmall.value && (
                        <button type="button" class="quiet" onClick={() => set({ side: other })} title={`Dock ${other === "right" ? "at the right" : "below"}`} aria-label={`Dock the details ${other === "right" ? "at the right" : "below"}`}>
                            <svg viewBox="0 0 14 14" aria-hidden="true">
                                <path d={other === "right" ? "M1 1h12v12H1zM9 1v12" : "M1 1h12v12H1zM1 9h12"} />
                            </svg>
                        </button>
                    )}
                    <button type="button" class="quiet" aria-label="Close details" title="Close (I)" onClick={toggleDetails}>
                        ×
                    </button>
                </div>
                <div class="details-body" id="details-body" role="tabpanel" aria-labelledby={`details-${shown}`} tabIndex={0} ref={body}>
                    {bodyOf(shown)}
                </div>
            </div>
        </aside>
    );
}
