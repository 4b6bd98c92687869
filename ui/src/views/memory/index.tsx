// View 1: DISK with one row per layer, BUFFER with one row per class; below them the log of the
// selection, if there is room.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useApplied } from "../../applied";
import { bytes, count } from "../../format";
import { registerKeys } from "../../keys";
import { announce } from "../../shell/Announce";
import { useHeight, useWidth } from "../../shell/Canvas";
import { pick, selectRegion } from "../../shell/MemoryBars";
import { Progress } from "../../shell/Progress";
import { type Table, TableView } from "../../shell/TableView";
import { asFlag, chosenOpsBut, kept, select, selection, summary, tokensParameter } from "../../state";
import { LogTable } from "../log";
import { headerHeight } from "./around";
import { csvOf } from "./csv";
import { type Memory as Data, shownLayer, useMemory } from "./data";
import { pixelOf, type Unit } from "./layout";
import { Legend } from "./Legend";
import { type Mark, spansOf, useMarks } from "./marks";
import { usePins } from "./pins";
import type { Entry } from "./model";
import { offsetOf, type Row, type RowPlan, Tracks } from "./Tracks";
import "./memory.css";

const gutter = 150;
const deviceGutter = 200; // with the names of devices
const narrowGutter = 78;
const gap = 8; // between DISK and BUFFER
const leastRow = 15; // in which a name can be read
const mostZoom = 4096;

const fullScreen = kept("full", false, asFlag);
// Whether the log is shown below the map; null: if there is room for both.
const withLog = kept<boolean | null>("with-log", null, { write: (value) => (value === null ? "" : asFlag.write(value)), read: asFlag.read });
const roomForBoth = 640;
const trueScaled = kept("true-scale", false, asFlag);

declare global {
    interface Window {
        // The drawn cells as data, for tests.
        __ggscope?: { memoryCells(): MemoryCell[]; memoryMarks(): string[] };
    }
}
export interface MemoryCell {
    row: string;
    place: string;
    x: number;
    y: number;
    width: number;
    height: number;
    names: string[];
    begin: number;
    end: number;
    touched: boolean;
    level: number | null;
    copied: boolean;
    stretches: number; // that are drawn in it
}

function fillOf(row: Row, first: number, last: number) {
    const paint = row.painted.paint(row.track.units, first, last);
    const units = row.track.units.slice(first, last + 1).filter((unit) => !row.painted.isStill?.(unit));
    const stretches = (row.painted.stretches ?? []).filter((one) => units.some((unit) => one.begin < unit.end && one.end > unit.begin)).length;
    return { touched: paint.level !== null || stretches > 0, level: paint.level, copied: paint.copied, stretches };
}

function cellsOf(rows: Row[]): MemoryCell[] {
    return rows.flatMap((row) =>
        row.cells.map((cell) => ({
            row: row.track.key,
            place: row.track.place,
            x: cell.x,
            y: row.top,
            width: cell.width,
            height: row.height,
            names: row.track.units.slice(cell.first, cell.last + 1).map((unit) => `${row.entries[unit.entry]!.name}${unit.expert < 0 ? "" : `[${unit.expert}]`}`),
            begin: cell.begin,
            end: cell.end,
            ...fillOf(row, cell.first, cell.last),
        })),
    );
}

// The units below the outlines of the selected op.
function markedOf(rows: Row[], marks: readonly Mark[]): string[] {
    return rows.flatMap((row) =>
        spansOf(marks, row.track.place, row.track.units, row.entries).flatMap((span) =>
            row.track.units.filter((unit) => unit.begin < span.end && unit.end > span.begin).map((unit) => `${row.track.place} ${row.entries[unit.entry]!.name}${unit.expert < 0 ? "" : `[${unit.expert}]`}`),
        ),
    );
}

// Stacks the rows in `room` pixels. Rows shrink to a minimum that can still be clicked; then the
// picture scrolls.
function plan(data: Data, room: number): { rows: RowPlan[]; height: number; hasExperts: boolean } {
    const { disk, live, diskPaint, livePaint } = data;
    const above = disk && diskPaint ? disk.rows : [];
    const below = live && livePaint ? live.rows : [];
    const total = above.length + below.length;
    const each = Math.max(leastRow, Math.min(30, Math.floor((room - gap - headerHeight) / Math.max(1, total))));
    const size = (units: readonly Unit[]) => units.reduce((sum, unit) => sum + unit.end - unit.begin, 0);
    const hasExperts = above.some((track) => track.units.some((unit) => unit.expert >= 0));
    let top = hasExperts ? headerHeight : 0;
    const rows: RowPlan[] = [];
    for (const track of above) {
        rows.push({ track: { ...track, note: bytes(size(track.units)) }, entries: disk!.entries, painted: diskPaint!, top, height: each });
        top += each;
    }
    top += above.length ? gap : 0;
    for (const track of below) {
        rows.push({ track: { ...track, note: bytes(size(track.units)) }, entries: live!.entries, painted: livePaint!, top, height: each });
        top += each;
    }
    return { rows, height: Math.max(40, top), hasExperts };
}

function tableOf(rows: RowPlan[]): Table {
    const lines = rows.flatMap((row) =>
        row.track.units.map((unit) => {
            const entry = row.entries[unit.entry]!;
            const touched = row.painted.reads(unit);
            return [
                row.track.place === "disk" ? "DISK" : `${entry.device ? `VRAM of ${entry.device},` : "BUFFER"} ${entry.buffer}`,
                `${entry.name}${unit.expert < 0 ? "" : `[${unit.expert}]`}`,
                entry.type,
                entry.layer < 0 ? "" : entry.layer,
                count(offsetOf(row, unit)),
                bytes(unit.end - unit.begin),
                touched.reads,
                bytes(touched.bytes),
                [row.painted.machine?.(unit), touched.touched !== undefined && entry.buffer !== null && touched.bytes > 0 ? `${bytes(touched.touched)} of it touched` : "", entry.copied ? "copied at load" : ""].filter(Boolean).join("; "),
            ];
        }),
    );
    const most = 3000;
    return {
        caption: "Tensors and live buffers, with the touches of the selected tokens",
        columns: ["place", "name", "type", "layer", "offset", "bytes", "touches", "bytes touched", "note"],
        rows: lines.slice(0, most),
        more: Math.max(0, lines.length - most),
    };
}

// The visible part of the rows: they are `zoom` times as wide as the window, and `pan` pixels are
// left of it.
interface Part {
    zoom: number;
    pan: number;
}
// In the address: the zoom, and the offset in widths of the window.
const wholeRows = { zoom: 1, from: 0 };
const memoryPart = kept("rows", wholeRows, {
    write: ({ zoom, from }) => `${Number(zoom.toFixed(3))}x${Number(from.toFixed(4))}`,
    read: (text) => {
        const match = /^([\d.]{1,12})x([\d.]{1,12})$/.exec(text);
        return match && Number(match[1]) >= 1 && Number(match[1]) <= mostZoom ? { zoom: Number(match[1]), from: Number(match[2]) } : undefined;
    },
}, { isZoom: true });

function usePart(inner: number) {
    const part = { zoom: memoryPart.value.zoom, pan: memoryPart.value.from * inner };
    const setPart = (next: Part | ((old: Part) => Part)) => {
        const { zoom, pan } = typeof next === "function" ? next(part) : next;
        memoryPart.value = zoom === 1 ? wholeRows : { zoom, from: pan / inner };
    };
    const within = (zoom: number, pan: number) => ({ zoom, pan: Math.max(0, Math.min(inner * zoom - inner, pan)) });
    const limited = (zoom: number) => Math.max(1, Math.min(mostZoom, zoom));
    return {
        ...part,
        zoomBy: (factor: number, at = inner / 2) =>
            setPart((old) => {
                const zoom = limited(old.zoom * factor);
                return within(zoom, ((old.pan + at) * zoom) / old.zoom - at);
            }),
        panBy: (pixels: number) => setPart((old) => within(old.zoom, old.pan + pixels)),
        // Shows pixels a to b of the rows at the current zoom.
        show: (a: number, b: number) =>
            setPart((old) => {
                const zoom = limited((old.zoom * inner * 0.6) / Math.max(1, b - a));
                return within(zoom, (((a + b) / 2) * zoom) / old.zoom - inner / 2);
            }),
        fit: () => setPart({ zoom: 1, pan: 0 }),
    };
}

function selectLayer(row: RowPlan): void {
    const match = /^layer (\d+)$/.exec(row.track.key);
    const layer = match ? Number(match[1]) : null;
    select({ layer: layer === selection.value.layer ? null : layer });
    announce(layer === null ? "no layer selected" : `layer ${layer}`);
}

function isChosen(entry: Entry): boolean {
    const { tensor, region } = selection.value;
    return entry.name === tensor || (region !== null && entry.file === region.file && entry.offset < region.end && entry.offset + entry.bytes > region.begin);
}

export default function Memory() {
    useApplied("tokens", "layer", "tensor", "opType", "op", "region", "buffer", "expert", "lane", "time", "request");
    const layer = shownLayer.value;
    const data = useMemory(layer);
    const marks = useMarks();
    const pins = usePins();
    const [box, width] = useWidth();
    const trueScale = trueScaled.value;
    const [room, setRoom] = useState(0);
    const [all, allHeight] = useHeight();
    const isFull = fullScreen.value;
    const setFull = (is: boolean) => (fullScreen.value = is);
    const laid = useRef<Row[]>([]);
    const [distorted, setDistorted] = useState(false);
    const planned = useMemo(() => plan(data, room), [data.disk, data.live, data.diskPaint, data.livePaint, room]);
    const left = width < 700 ? narrowGutter : data.live?.devices.length ? deviceGutter : gutter;
    const inner = Math.max(1, width - left);
    const part = usePart(inner);
    const { zoomBy, panBy, show } = part;
    // To the selected tensor or region: wide enough to fill a good part of its row.
    const focus = () => {
        for (const row of laid.current) {
            const chosen = row.track.units.filter((unit) => isChosen(row.entries[unit.entry]!));
            if (chosen.length === 0) continue;
            return show(pixelOf(row.track.units, row.cells, chosen[0]!.begin), pixelOf(row.track.units, row.cells, chosen[chosen.length - 1]!.end));
        }
        announce("Nothing on this track is selected.");
    };

    useEffect(() =>
        registerKeys("memory", {
            KeyW: () => zoomBy(1.5),
            KeyS: () => zoomBy(1 / 1.5),
            KeyA: () => panBy(-inner / 5),
            KeyD: () => panBy(inner / 5),
            KeyF: focus,
            Digit0: part.fit,
            KeyL: () => {
                (trueScaled.value = !trueScale);
                announce(trueScale ? "every tensor at least 5 pixels wide" : "true scale");
            },
            Enter: () => setFull(!isFull),
            ...(isFull ? { Escape: () => setFull(false) } : {}),
        }),
    );
    useEffect(() => {
        document.documentElement.classList.toggle("memory-full", isFull);
        return () => document.documentElement.classList.remove("memory-full");
    }, [isFull]);
    useEffect(() => {
        const scroller = box.current?.parentElement;
        if (!scroller) return;
        const measure = () => setRoom(scroller.clientHeight);
        measure();
        const observer = new ResizeObserver(measure);
        observer.observe(scroller);
        return () => observer.disconnect();
    }, [width > 0]);

    window.__ggscope = { memoryCells: () => cellsOf(laid.current), memoryMarks: () => markedOf(laid.current, marks) };

    const hasLog = withLog.value ?? (isFull || allHeight >= roomForBoth);
    if (data.problem) return <p class="problem">{data.problem}</p>;
    const tools = (
        <Legend
            data={data}
            layer={layer}
            pins={pins}
            isDistorted={distorted}
            trueScale={trueScale}
            onScale={() => (trueScaled.value = !trueScale)}
            zoom={part.zoom}
            onFit={part.fit}
            isFull={isFull}
            onFull={() => setFull(!isFull)}
        />
    );
    return (
        <div class={hasLog ? "memory with-log" : "memory"} ref={all}>
            <TableView
                label="Memory"
                file="memory"
                table={() => tableOf(planned.rows)}
                tools={tools}
                saved={{
                    title: "Memory",
                    file: "memory",
                    command: layer === "faults" ? "ggscope log --faults --json" : layer === "pages" ? "ggscope prove --json" : "ggscope stats --by tensor --json",
                    computed: "Tensors of the model's files where they lie, and live buffers; a touch is an op that reads or writes bytes of it. Rows and experts count one by one.",
                    csv: () => csvOf(planned.rows),
                    // Pages and faults are of tokens alone.
                    figure: () => (layer === "pages" || layer === "faults" ? { kind: `${layer.slice(0, -1)}-map`, tokens: tokensParameter() } : { kind: layer === "order" ? "order-map" : "memory-map", ...chosenOpsBut("tensor", "region", "buffer") }),
                }}
            >
                <div class="memory-scroll" data-scroll="rows">
                    <div ref={box}>
                        {!data.disk && <Progress what="the memory map" progress={data.progress} />}
                        {width > 0 && room > 0 && planned.rows.length > 0 && (
                            <Tracks
                                label={`Memory, ${planned.rows.length} rows. Arrow keys step from tensor to tensor and from row to row, Enter selects.`}
                                width={width}
                                height={planned.height}
                                gutter={left}
                                rows={planned.rows}
                                zoom={part.zoom}
                                pan={part.pan}
                                trueScale={trueScale}
                                marks={marks}
                                {...(pins ? { pins: pins.parts } : {})}
                                header={planned.hasExperts}
                                lastOp={(row, unit) => (row.track.place === "disk" ? (data.heat?.tensors.last_op[unit.entry] ?? null) : null)}
                                onPick={pick}
                                onName={selectLayer}
                                onRegion={(row, begin, end) => selectRegion(row, data.disk!.bases, begin, end)}
                                onZoom={zoomBy}
                                onPan={panBy}
                                onLayout={(rows) => {
                                    laid.current = rows;
                                    const is = rows.some((row) => !row.toScale);
                                    if (is !== distorted) queueMicrotask(() => setDistorted(is));
                                }}
                            />
                        )}
                    </div>
                </div>
            </TableView>
            <section class="memory-log" aria-label="Log of what is selected">
                <button type="button" class="quiet memory-log-switch" aria-expanded={hasLog} onClick={() => (withLog.value = !hasLog)}>
                    {hasLog ? "▾" : "▸"} Ops that touch it
                </button>
                {summary.value && <LogTable compact isClosed={!hasLog} />}
            </section>
        </div>
    );
}
