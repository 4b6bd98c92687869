// The two bars that are always there: DISK (the model file by offset) and BUFFER (live allocations), heat of the selected tokens on top.
import { useMemo } from "preact/hooks";
import { bytes, share } from "../format";
import { select, selection, view } from "../state";
import { useMemory } from "../views/memory/data";
import type { Unit } from "../views/memory/layout";
import type { Painted } from "../views/memory/model";
import { type RowPlan, Tracks } from "../views/memory/Tracks";
import { announce } from "./Announce";
import { useWidth } from "./Canvas";
import { marked } from "./playback";

const height = 50;

export function pick(row: RowPlan, unit: Unit): void {
    const entry = row.entries[unit.entry]!;
    if (entry.buffer !== null) select({ buffer: entry.buffer, tensor: null, op: null });
    else if (entry.kind === "tensor") select({ tensor: entry.name, op: null, buffer: null });
}

// A stretch of the common axis as bytes of one file: what reaches into the next file is cut.
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

function Side({ title, line, more }: { title: string; line: string; more: string }) {
    return (
        <div class="side">
            <b>{title}</b>
            <span>{line}</span>
            <span class="quiet more">{more}</span>
        </div>
    );
}

export function MemoryBars() {
    const memory = useMemory("addressed");
    const [box, width] = useWidth();
    const { disk, live, diskPaint, livePaint, heat, map } = memory;
    const diskRows = useMemo<RowPlan[]>(
        () => (disk && diskPaint ? [{ track: disk.whole, entries: disk.entries, painted: diskPaint, top: 0, height }] : []),
        [disk, diskPaint],
    );
    const liveRows = useMemo<RowPlan[]>(
        () => (live && livePaint ? [live.host, ...live.devices].map((track) => ({ track, entries: live.entries, painted: livePaint, top: 0, height })) : []),
        [live, livePaint],
    );
    const enter = () => (view.value = "memory");
    const common = { width, height, gutter: 0, zoom: 1, pan: 0, trueScale: false, marked: marked.value, onPick: pick, onEnter: enter, ruler: true };
    const modelBytes = map?.files.reduce((sum, file) => sum + file.bytes, 0) ?? 0;
    const size = (row: RowPlan) => row.track.units.reduce((sum, unit) => sum + unit.end - unit.begin, 0);
    const isPart = selection.value.tokens !== null;
    return (
        <section class="tracks" aria-label="Memory">
            <div class="track">
                <Side title="DISK" line={modelBytes ? bytes(modelBytes) : "no model file"} more={heat ? `${share(heat.model.bytes_touched, heat.model.bytes)} read${isPart ? " here" : ""}` : memory.progress !== null ? "counting…" : ""} />
                <div class="picture" ref={box}>
                    {memory.problem && <p class="problem">{memory.problem}</p>}
                    {width > 0 && diskRows.length > 0 && (
                        <Tracks
                            {...common}
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
                    <Side title="BUFFER" line="nothing allocated" more="live allocations" />
                </div>
            )}
            {liveRows.map((row, i) => (
                <div class="track" key={row.track.key}>
                    <Side title={i === 0 ? "BUFFER" : "VRAM"} line={size(row) ? bytes(size(row)) : "nothing allocated"} more={i === 0 ? "live allocations" : row.track.title} />
                    <div class="picture">
                        {width > 0 && size(row) > 0 && (
                            <Tracks
                                {...common}
                                label={`Live buffers${i === 0 ? "" : ` in the memory of ${row.track.title}`}. Arrow keys step from one to the next, Enter opens the memory view.`}
                                rows={[row]}
                                lastOp={() => null}
                                onRegion={(at, begin, end) => selectRegion(at, new Map(), begin, end)}
                            />
                        )}
                    </div>
                </div>
            ))}
            <div class="track">
                <div class="side" />
                <BarLegend disk={diskPaint} live={livePaint} isCopied={disk?.entries.some((entry) => entry.copied) ?? false} />
            </div>
        </section>
    );
}

function BarLegend({ disk, live, isCopied }: { disk: Painted | null; live: Painted | null; isCopied: boolean }) {
    return (
        <div class="legend picture">
            <span>
                touches per byte: 1×
                <i class="heat-scale" />
                {[disk && `DISK ${disk.most}`, live && `BUFFER ${live.most}`].filter(Boolean).join(", ")}
            </span>
            <span>
                <i class="swatch pattern-hatch" />
                untouched
            </span>
            {isCopied && (
                <span>
                    <i class="swatch copied" />
                    copied at load
                </span>
            )}
        </div>
    );
}
