// Beside the view: the card of what is selected.
import { useRef } from "preact/hooks";
import type { Buffers, Heat } from "../api";
import { useAsk } from "../ask";
import { bytes, count, plural, time } from "../format";
import { here, moving, select, selection, chosenSteps, view } from "../state";
import { OpCard, Row, TensorCard } from "./Card";
import { RangeCard } from "./RangeCard";

function BufferCard({ buffer }: { buffer: number }) {
    const buffers = useAsk<Buffers>(here("buffers"));
    const heat = useAsk<Heat>(here("heat", { ...chosenSteps() }), { keep: true });
    const one = buffers.data?.buffers.find((candidate) => candidate.buffer === buffer);
    if (!one) return buffers.data ? <p class="problem">There is no buffer {buffer}.</p> : null;
    const i = heat.data?.buffers.buffer.indexOf(buffer) ?? -1;
    return (
        <article class="card" aria-label={`buffer ${buffer}`}>
            <h2>Buffer {buffer}</h2>
            <dl>
                <Row name="holds">{one.class}</Row>
                <Row name="type">{one.type}</Row>
                <Row name="bytes">
                    {bytes(one.bytes)} <span class="quiet">({count(one.bytes)})</span>
                </Row>
                <Row name="lives">
                    {time(one.begin_ns)} to {one.end_ns === null ? "the end" : time(one.end_ns)}
                </Row>
                {heat.data && (
                    <Row name="touches">
                        {i < 0 ? "none" : `${plural(heat.data.buffers.reads[i]!, "read")}, ${plural(heat.data.buffers.writes[i]!, "write")}, ${bytes(heat.data.buffers.bytes[i]!)}`}
                    </Row>
                )}
            </dl>
        </article>
    );
}

// Where the pointer went down last: the card opens on the other side.
let pressedAt = 0;
window.addEventListener("pointerdown", (event) => (pressedAt = event.clientX), true);

export function Drawer() {
    const { op, tensor, buffer, time: range } = selection.value;
    const wasOpen = useRef(false);
    const side = useRef("");
    const isOpen = !moving.value && (op !== null || tensor !== null || buffer !== null || range !== null);
    if (isOpen && !wasOpen.current) side.current = pressedAt > window.innerWidth - 380 ? " left" : "";
    wasOpen.current = isOpen;
    if (!isOpen) return null;
    const isTable = view.value === "log" || view.value === "statistics" || view.value === "compare";
    return (
        <aside class={`drawer${isTable ? " beside" : side.current}`} aria-label="Details">
            <button type="button" class="close" aria-label="Close details" onClick={() => select(op ? { op: null } : tensor !== null ? { tensor: null } : buffer !== null ? { buffer: null } : { time: null })}>
                ×
            </button>
            {op ? <OpCard run={op.run} node={op.node} /> : tensor !== null ? <TensorCard name={tensor} /> : buffer !== null ? <BufferCard buffer={buffer} /> : <RangeCard range={range!} />}
        </aside>
    );
}
