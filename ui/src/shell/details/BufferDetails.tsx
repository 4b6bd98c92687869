// Details of a buffer.
import type { Buffers, Heat } from "../../api";
import { useAsk } from "../../ask";
import { bytes, count, plural, time } from "../../format";
import { chosenSteps, here } from "../../state";
import { Row } from "./Row";

export function BufferDetails({ buffer }: { buffer: number }) {
    const buffers = useAsk<Buffers>(here("buffers"));
    const heat = useAsk<Heat>(here("heat", { ...chosenSteps() }), { keep: true });
    const one = buffers.data?.buffers.find((candidate) => candidate.buffer === buffer);
    if (!one) return buffers.data ? <p class="problem">There is no buffer {buffer}.</p> : null;
    const i = heat.data?.buffers.buffer.indexOf(buffer) ?? -1;
    return (
        <article class="card" aria-label={`buffer ${buffer}`}>
            <section>
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
            </section>
        </article>
    );
}
