// Memory tracks on one canvas: rows of cells, a lens at the pointer, tensors by arrow keys, regions
// by dragging.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Theme } from "../../colours";
import { bytes, count, plural } from "../../format";
import { announce } from "../../shell/Announce";
import { Canvas } from "../../shell/Canvas";
import { drawBand, drawHeader, drawMarks, drawName, drawOutline, drawRuler, headerHeight, rulerHeight } from "./around";
import { drawRow } from "./draw";
import { byteAt, type Cell, cellAt, layout, pixelOf, type Unit, unitAt } from "./layout";
import { Lens, type Spot } from "./Lens";
import { axisOf, type Mark } from "./marks";
import type { Entry, Painted, Track } from "./model";

export interface RowPlan {
    track: Track;
    entries: Entry[];
    painted: Painted;
    top: number;
    height: number;
}

export interface Row extends RowPlan {
    cells: Cell[];
    toScale: boolean;
    folded: number;
}

export interface TracksProperties {
    label: string;
    width: number;
    height: number;
    gutter: number; // pixels at the left for the rows' names; 0: none
    rows: RowPlan[];
    zoom: number;
    pan: number; // pixels of the zoomed row that lie left of the window
    trueScale: boolean;
    marks: readonly Mark[]; // the bytes of the selected op
    pins?: ReadonlySet<string>; // weights that a budget would keep: "name" or "name expert"
    lastOp(row: RowPlan, unit: Unit): string | null;
      onPick(row: RowPlan, unit: Unit): void;
    onRegion(row: RowPlan, begin: number, end: number): void;
    onName?(row: RowPlan): void; // its name in the gutter was pressed
    onZoom?(factor: number, at: number): void; // at: pixels from the window's left edge
    onPan?(pixels: number): void;
    onEnter?(): void;
    ruler?: boolean; // the layers' numbers below the row
    header?: boolean; // above the rows, in headerHeight pixels: which stretches are experts
    onLayout?(rows: Row[]): void;
}

const lensDelay = 120;

// What the lens is over.
interface Aim {
    key: string; // of the row
    byte: number;
    canvas: HTMLElement;
}

interface Drag {
    row: Row;
    from: number;
    to: number;
    pans: boolean;
}

export function useRows(plans: RowPlan[], width: number, trueScale: boolean): Row[] {
    return useMemo(
        () => plans.map((plan) => ({ ...plan, ...layout(plan.track.units, width, { trueScale }) })),
        [plans, width, trueScale],
    );
}

// The offset of a unit in its file or buffer. The experts of a tensor are contiguous.
export function offsetOf(row: RowPlan, unit: Unit): number {
    return row.entries[unit.entry]!.offset + unit.begin - axisOf(row.track.units, unit);
}

export function describe(row: RowPlan, unit: Unit): string {
    const entry = row.entries[unit.entry]!;
    const touched = row.painted.reads(unit);
    const parts = [
        `${entry.name}${unit.expert < 0 ? "" : ` expert ${unit.expert}`}`,
        entry.type,
        entry.layer >= 0 ? `layer ${entry.layer}` : "",
        bytes(unit.end - unit.begin),
        `offset ${count(offsetOf(row, unit))}`,
        touched.bytes > 0 ? plural(touched.reads, "touch", "touches") : "not touched",
        entry.copied ? "copied at load" : "",
    ];
    return parts.filter(Boolean).join(", ");
}

export function Tracks(properties: TracksProperties) {
    const { width, gutter, zoom, pan, trueScale } = properties;
    const inner = Math.max(1, width - gutter);
    const rows = useRows(properties.rows, Math.round(inner * zoom), trueScale);
    const aim = useSignal<Aim | null>(null); // read by the lens only, so that the tracks do not redraw when it moves
    const [cursor, setCursor] = useState<{ row: number; unit: number } | null>(null);
    const [drag, setDrag] = useState<Drag | null>(null);
    const timer = useRef(0);
    const shown = useRef(false);
    properties.onLayout?.(rows);
    useEffect(() => () => clearTimeout(timer.current), []);

    const rowAt = (y: number) => rows.find((row) => y >= row.top && y < row.top + row.height) ?? null;
    const inRow = (clientX: number, canvas: HTMLElement) => clientX - canvas.getBoundingClientRect().left - gutter + pan;
    const aimAt = (row: Row, x: number, canvas: HTMLElement): Aim => ({ key: row.track.key, byte: byteAt(row.track.units, row.cells, x), canvas });
    // The current position of the byte: zooming and panning move it while the lens stays open.
    const spotOf = (aimed: Aim): Spot | null => {
        const row = rows.find((candidate) => candidate.track.key === aimed.key);
        if (!row || row.cells.length === 0) return null;
        const x = pixelOf(row.track.units, row.cells, aimed.byte);
        if (x < pan - 1 || x > pan + inner + 1) return null;
        const frame = aimed.canvas.getBoundingClientRect();
        return { row, x, byte: aimed.byte, unit: unitAt(row.track.units, aimed.byte), clientX: frame.left + gutter + x - pan, clientY: frame.top + row.top + row.height, above: frame.top + row.top };
    };
    const hide = () => {
        clearTimeout(timer.current);
        shown.current = false;
        aim.value = null;
    };

    const move = (event: PointerEvent) => {
        const canvas = event.currentTarget as HTMLCanvasElement;
        const x = inRow(event.clientX, canvas);
        if (drag) {
            if (drag.pans) properties.onPan?.(drag.to - (event.clientX - canvas.getBoundingClientRect().left));
            setDrag({ ...drag, to: drag.pans ? event.clientX - canvas.getBoundingClientRect().left : x });
            return;
        }
        const row = rowAt(event.clientY - canvas.getBoundingClientRect().top);
        clearTimeout(timer.current);
        if (!row || x < pan || row.cells.length === 0 || event.pointerType === "touch") return hide();
        const next = aimAt(row, x, canvas);
        if (shown.current) aim.value = next;
        else
            timer.current = window.setTimeout(() => {
                shown.current = true;
                aim.value = next;
            }, lensDelay);
    };
    const down = (event: PointerEvent) => {
        if (event.button !== 0) return;
        const canvas = event.currentTarget as HTMLCanvasElement;
        const row = rowAt(event.clientY - canvas.getBoundingClientRect().top);
        const x = inRow(event.clientX, canvas);
        if (row && x < pan) properties.onName?.(row);
        if (!row || x < pan) return;
        canvas.setPointerCapture(event.pointerId);
        const pans = event.shiftKey && properties.onPan !== undefined;
        const from = pans ? event.clientX - canvas.getBoundingClientRect().left : x;
        setDrag({ row, from, to: from, pans });
    };
    const up = () => {
        if (!drag) return;
        setDrag(null);
        if (drag.pans) return;
        const { row } = drag;
        const [a, b] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
        if (b - a < 4) {
            const unit = unitAt(row.track.units, byteAt(row.track.units, row.cells, a));
            setCursor({ row: rows.indexOf(row), unit });
            properties.onPick(row, row.track.units[unit]!);
        } else {
            hide();
            properties.onRegion(row, byteAt(row.track.units, row.cells, a), byteAt(row.track.units, row.cells, b) + 1);
        }
    };
    const wheel = (event: WheelEvent) => {
        if (event.ctrlKey && properties.onZoom) {
            event.preventDefault();
            hide();
            properties.onZoom(Math.exp(-event.deltaY / 300), inRow(event.clientX, event.currentTarget as HTMLElement) - pan);
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && properties.onPan) {
            event.preventDefault();
            properties.onPan(event.deltaX);
        }
    };

    const go = (rowIndex: number, unitIndex: number, canvas: HTMLElement) => {
        const row = rows[rowIndex];
        if (!row) return;
        const unit = Math.max(0, Math.min(row.track.units.length - 1, unitIndex));
        setCursor({ row: rowIndex, unit });
        const middle = row.track.units[unit]!;
        const x = pixelOf(row.track.units, row.cells, (middle.begin + middle.end) / 2);
        if (x < pan || x > pan + inner) properties.onPan?.(x - pan - inner / 2);
        shown.current = true;
        aim.value = { key: row.track.key, byte: Math.floor((middle.begin + middle.end) / 2), canvas };
        announce(describe(row, middle));
    };
    // Continues in the next row at the end of a row.
    const stepBy = (at: { row: number; unit: number }, by: number, canvas: HTMLElement) => {
        const length = rows[at.row]?.track.units.length ?? 0;
        const to = at.unit + by;
        if (to >= length && at.row + 1 < rows.length) go(at.row + 1, 0, canvas);
        else if (to < 0 && at.row > 0) go(at.row - 1, Infinity, canvas);
        else go(at.row, to, canvas);
    };
    const key = (event: KeyboardEvent) => {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        const canvas = event.currentTarget as HTMLElement;
        const at = cursor ?? { row: 0, unit: -1 };
        const sideways = { ArrowRight: 1, ArrowLeft: -1 }[event.code];
        const vertically = { ArrowDown: 1, ArrowUp: -1 }[event.code];
        if (sideways) stepBy(at, sideways, canvas);
        else if (vertically && rows.length > 1) go(Math.max(0, Math.min(rows.length - 1, at.row + vertically)), cursor ? nearest(rows, at, vertically) : 0, canvas);
        else if (event.code === "Home") go(at.row, 0, canvas);
        else if (event.code === "End") go(at.row, Infinity, canvas);
        else if (event.code === "Enter" && !properties.onEnter && cursor) properties.onPick(rows[cursor.row]!, rows[cursor.row]!.track.units[cursor.unit]!);
        else if (event.code === "Enter" && properties.onEnter) properties.onEnter();
        else {
            if (event.code === "Escape") hide(); // the same press also clears the selection
            return;
        }
        event.preventDefault();
    };

    const draw = (context: CanvasRenderingContext2D, w: number, _h: number, colours: Theme) => {
        if (properties.header) drawHeader(context, rows, { x: gutter, y: 0, width: w - gutter, height: headerHeight }, pan, colours);
        for (const row of rows) {
            const height = row.height - (properties.ruler ? rulerHeight : 0) - (rows.length > 1 ? 2 : 0);
            const box = { x: gutter, y: row.top, width: w - gutter, height };
            if (gutter > 0) drawName(context, row, gutter, colours);
            drawRow(context, { units: row.track.units, cells: row.cells, entries: row.entries, painted: row.painted }, box, pan, colours);
            drawMarks(context, row, box, pan, colours, properties.marks, properties.pins);
            if (properties.ruler) drawRuler(context, row, { ...box, y: row.top + height, height: rulerHeight }, pan, colours);
            if (drag && !drag.pans && drag.row.track.key === row.track.key && Math.abs(drag.from - drag.to) >= 4)
                drawBand(context, { x: gutter - pan + Math.min(drag.from, drag.to), y: row.top, width: Math.abs(drag.from - drag.to), height }, colours);
        }
        const at = cursor && rows[cursor.row];
        if (at && aim.peek()) {
            const unit = at.track.units[cursor.unit];
            if (unit) drawOutline(context, at, unit, pan, gutter, colours.focus, colours.surface);
        }
    };

    return (
        <>
            <Canvas
                width={width}
                height={properties.height}
                label={properties.label}
                role="application"
                aria-roledescription="memory track"
                draw={draw}
                onPointerMove={move}
                onPointerLeave={hide}
                onPointerDown={down}
                onPointerUp={up}
                onWheel={wheel}
                onKeyDown={key}
                onBlur={hide}
            />
            {!drag && <LensOver aim={aim} spotOf={spotOf} lastOp={properties.lastOp} />}
        </>
    );
}

function LensOver({ aim, spotOf, lastOp }: { aim: Signal<Aim | null>; spotOf(aim: Aim): Spot | null } & Pick<TracksProperties, "lastOp">) {
    const spot = aim.value && spotOf(aim.value);
    if (!spot) return null;
    const unit = spot.row.track.units[spot.unit]!;
    return <Lens spot={spot} lastOp={lastOp(spot.row, unit)} note={spot.row.painted.machine?.(unit) ?? null} />;
}

// The unit of the next row below a unit of this row.
function nearest(rows: Row[], at: { row: number; unit: number }, step: number): number {
    const from = rows[at.row]!;
    const to = rows[at.row + step];
    if (!to) return at.unit;
    const unit = from.track.units[at.unit]!;
    const x = pixelOf(from.track.units, from.cells, (unit.begin + unit.end) / 2);
    const cell = to.cells[cellAt(to.cells, Math.round(x))] ?? to.cells[to.cells.length - 1];
    return cell ? cell.first : 0;
}

