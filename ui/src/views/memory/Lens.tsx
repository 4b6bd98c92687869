// The lens: twenty pixels to each side of the pointer, magnified eight times and laid out
// separately, so that folded units unfold. An arrow marks the exact byte; the text below describes
// it.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { bytes, count, plural, shape } from "../../format";
import { Canvas, canvasFont } from "../../shell/Canvas";
import { drawRow } from "./draw";
import { byteAt, layout, pixelOf, type Unit, unitAt } from "./layout";
import { axisOf } from "./marks";
import type { Row } from "./Tracks";

const reach = 20;
const power = 8;
const width = 2 * reach * power;
const height = 46;
const apart = 56; // from the pointer

// The units between two bytes, those at the ends cut.
function between(units: readonly Unit[], begin: number, end: number): Unit[] {
    const found: Unit[] = [];
    for (let i = unitAt(units, begin); i >= 0 && i < units.length && units[i]!.begin < end; i++) {
        const unit = units[i]!;
        found.push({ ...unit, begin: Math.max(begin, unit.begin), end: Math.min(end, unit.end) });
    }
    return found;
}

export interface Spot {
    row: Row;
    x: number; // pixels from the row's begin, pan included
    byte: number;
    unit: number;
    clientX: number;
    clientY: number; // of the row's lower edge
    above: number; // of its upper edge
}

export function Lens({ spot, lastOp, note }: { spot: Spot; lastOp: string | null; note: string | null }) {
    const box = useRef<HTMLDivElement>(null);
    const [place, setPlace] = useState({ left: -9999, top: 0 });
    useLayoutEffect(() => {
        const size = box.current!.getBoundingClientRect();
        // Beside the pointer, so that the rows above and below stay visible; on narrow pages above
        // or below it.
        const aside = spot.clientX + apart + size.width <= window.innerWidth - 4 ? spot.clientX + apart : spot.clientX - apart - size.width;
        const middle = Math.max(4, Math.min((spot.above + spot.clientY - size.height) / 2, window.innerHeight - size.height - 4));
        const below = spot.clientY + 28;
        if (aside >= 4) setPlace({ left: aside, top: middle });
        else setPlace({ left: Math.max(4, (window.innerWidth - size.width) / 2), top: below + size.height > window.innerHeight ? Math.max(4, spot.above - size.height - 28) : below });
    }, [spot.clientX, spot.clientY, spot.unit]);

    const { row } = spot;
    const unit = row.track.units[spot.unit]!;
    const entry = row.entries[unit.entry]!;
    const near = between(row.track.units, byteAt(row.track.units, row.cells, spot.x - reach), byteAt(row.track.units, row.cells, spot.x + reach) + 1);
    const { cells } = layout(near, width);
    const touched = row.painted.reads(unit);
    const offset = spot.byte - axisOf(row.track.units, unit) + entry.offset;
    return (
        <div class="float lens" ref={box} style={{ left: `${place.left}px`, top: `${place.top}px` }} role="tooltip">
            <Canvas
                width={width}
                height={height}
                label="magnified eight times"
                tabIndex={-1}
                draw={(context, _w, _h, colours) => {
                    drawRow(context, { units: near, cells, entries: row.entries, painted: row.painted }, { x: 0, y: 10, width, height: height - 10 }, 0, colours);
                    const x = pixelOf(near, cells, spot.byte);
                    context.fillStyle = colours.ink;
                    context.beginPath();
                    context.moveTo(x, 11);
                    context.lineTo(x - 6, 1);
                    context.lineTo(x + 6, 1);
                    context.fill();
                    context.fillRect(x - 0.5, 10, 1, height - 10);
                    context.font = canvasFont(10);
                    context.fillStyle = colours.faint;
                    context.textBaseline = "top";
                    context.fillText(`${power}×`, x > width - 60 ? 2 : width - 18, 0);
                }}
            />
            <p class="name">
                {entry.name}
                {unit.expert >= 0 ? ` [${unit.expert}]` : ""}
            </p>
            <dl>
                {entry.type && <Line name="type">{`${entry.type}${entry.shape.length ? `  ${shape(entry.shape)}` : ""}`}</Line>}
                {entry.kind === "tensor" && <Line name="layer">{entry.layer < 0 ? "none" : `${entry.layer}`}</Line>}
                {entry.component && <Line name="part">{entry.component}</Line>}
                <Line name="bytes">{`${bytes(unit.end - unit.begin)} (${count(unit.end - unit.begin)})`}</Line>
                <Line name="offset">{`${count(offset)} of ${entry.buffer === null ? `file ${entry.file}` : `buffer ${entry.buffer}`}`}</Line>
                <Line name="touches">{touched.bytes === 0 ? "none" : touched.touched === undefined ? `${plural(touched.reads, "read")}, ${bytes(touched.bytes)}` : `${bytes(touched.touched)} of it, ${bytes(touched.bytes)} read and written`}</Line>
                {lastOp && <Line name="last op">{lastOp}</Line>}
                {note && <Line name="pages">{note}</Line>}
                {entry.copied && <Line name="place">copied into memory at load, ops read the copy</Line>}
            </dl>
        </div>
    );
}

function Line({ name, children }: { name: string; children: string }) {
    return (
        <div class="row">
            <dt>{name}</dt>
            <dd>{children}</dd>
        </div>
    );
}
