// The two bars above every view: DISK (the model file by offset) and BUFFER (live allocations),
// with the heat of the selected tokens.
import { useMemo, useRef } from "preact/hooks";
import { bytes, middleCut, share } from "../format";
import { chosenSteps, select, view } from "../state";
import { csvOf } from "../views/memory/csv";
import { useMemory } from "../views/memory/data";
import type { Unit } from "../views/memory/layout";
import { useMarks } from "../views/memory/marks";
import type { Painted } from "../views/memory/model";
import { type RowPlan, Tracks } from "../views/memory/Tracks";
import { announce } from "./Announce";
import { useWidth } from "./Canvas";
import { HeatScale } from "./HeatScale";
import { Saves } from "./Saves";

const diskHeight = 34;
const liveHeight = 20;

export function pick(row: RowPlan, unit: Unit): void {
    const entry = row.entries[unit.entry]!;
    if (entry.buffer !== null) select({ buffer: entry.buffer, tensor: null, op: null });
    else if (entry.kind === "tensor") select({ tensor: entry.name, expert: unit.expert < 0 ? null : unit.expert, op: null, buffer: null });
}

// Selects a range of the common axis as bytes of one file. The part in the next file is cut off.
export function selectRegion(row: RowPlan, bases: Map<number, number>, begin: number, end: number): void {
    if (row.track.place === "buffer") {
        const unit = row.track.units.find((candidate) => candidate.end > begin);
        if (unit) pick(row, unit);
        return;
    }
    let file = 0;
    let base = 0;
    for (const [candidate, at] of bases) if (at <= begin) [file, base] = [candidate, at];
    const next = Math.min(...[...bases.values()].filter((at) => at > base), Infinity);
    const region = { file, begin: begin - base, end: Math.min(end, next) - base };
    select({ region });
    announce(`Region of ${bytes(region.end - region.begin)} from ${region.begin} selected`);
}

function Side({ title, line, detail = "", paint, more }: { title: string; line: string; detail?: string; paint: Painted | null; more: string }) {
    return (
        <div class="side" title={`${title} ${line}${detail && `, ${detail}`}. ${paint ? `${paint.meaning}: ${paint.least} to ${paint.most}. ` : ""}${more}. Hatched: untouched.`}>
            <span>
                <b>{title}</b> <span class="size">{line}</span>
                {detail && <span class="more">, {detail}</span>}
            </span>
            {more && paint && (
                <span class="quiet more">
                    {paint.least}
                    <HeatScale />
                    {paint.most}
                </span>
            )}
        </div>
    );
}

export function MemoryBars() {
    const memory = useMemory("addressed");
    const [box, width] = useWidth();
    const whole = useRef<HTMLElement>(null);
    const { disk, live, diskPaint, livePaint, heat, map } = memory;
    const diskRows = useMemo<RowPlan[]>(
        () => (disk && diskPaint ? [{ track: disk.whole, entries: disk.entries, painted: diskPaint, top: 0, height: diskHeight }] : []),
        [disk, diskPaint],
    );
    const liveRows = useMemo<RowPlan[]>(
        () => (live && livePaint ? [live.host, ...live.devices].map((track) => ({ track, entries: live.entries, painted: livePaint, top: 0, height: liveHeight })) : []),
        [live, livePaint],
    );
    const enter = () => (view.value = "memory");
    const common = { width, gutter: 0, zoom: 1, pan: 0, trueScale: false, marks: useMarks(), onPick: pick, onEnter: enter };
    const modelBytes = map?.files.reduce((sum, file) => sum + file.bytes, 0) ?? 0;
    const size = (row: RowPlan) => row.track.units.reduce((sum, unit) => sum + unit.end - unit.begin, 0);
    return (
        <section class="tracks painted" aria-label="Memory" data-picture="memory-bars" ref={whole}>
            <div class="track">
                <Saves
                    title="Memory bars"
                    file="memory-bars"
                    root={() => whole.current}
                    figure={() => ({ kind: "memory-map", ...chosenSteps() })}
                    command="ggscope stats --by tensor --json"
                    computed="The model's files by offset and the live buffers, coloured by how often ops of the selected tokens touch each tensor."
                    csv={() => csvOf([...diskRows, ...liveRows])}
                />
                <Side title="DISK" line={modelBytes ? bytes(modelBytes) : "no model file"} detail={heat && modelBytes ? share(heat.model.bytes_touched, heat.model.bytes) : ""} paint={modelBytes ? diskPaint : null} more="Dots: copied at load" />
                <div class="picture" ref={box}>
                    {memory.problem && <p class="problem">{memory.problem}</p>}
                    {width > 0 && diskRows.length > 0 && (
                        <Tracks
                            {...common}
                            height={diskHeight}
                            ruler
                            label="Model file by offset. Arrow keys step from tensor to tensor, Enter opens the memory view."
                            rows={diskRows}
                            lastOp={(_, unit) => heat?.tensors.last_op[unit.entry] ?? null}
                            onRegion={(row, begin, end) => selectRegion(row, disk!.bases, begin, end)}
                        />
                    )}
                </div>
            </div>
            {liveRows.length === 0 && (
                <div class="track">
                    <Side title="BUFFER" line="nothing allocated" paint={null} more="" />
                </div>
            )}
            {liveRows.map((row, i) => (
                <div class="track" key={row.track.key}>
                    <Side title={i === 0 ? "BUFFER" : liveRows.length === 2 ? "VRAM" : middleCut(row.track.title, 8)} line={size(row) ? bytes(size(row)) : "nothing allocated"} paint={livePaint} more="" />
                    <div class="picture">
                        {width > 0 && size(row) > 0 && (
                            <Tracks
                                {...common}
                                height={liveHeight}
                                label={`Live buffers${i === 0 ? "" : ` in the memory of ${row.track.title}`}. Arrow keys step from one to the next, Enter opens the memory view.`}
                                rows={[row]}
                                lastOp={() => null}
                                onRegion={(at, begin, end) => selectRegion(at, new Map(), begin, end)}
                            />
                        )}
                    </div>
                </div>
            ))}
        </section>
    );
}
