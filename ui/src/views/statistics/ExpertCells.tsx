// Rows of experts, by layer, or by layer and recording. Drawn on a canvas, because a large model
// has thousands of cells.
import { useState } from "preact/hooks";
import { heat, heatInk, type Theme } from "../../colours";
import { plural } from "../../format";
import { announce } from "../../shell/Announce";
import { Canvas, canvasFont, hatch, useWidth } from "../../shell/Canvas";
import { HeatScale } from "../../shell/HeatScale";
import { Picture, type PictureProps } from "../../shell/Picture";
import { DataTable, type Table, TableSwitch, useAsTable } from "../../shell/TableView";
import { selection } from "../../state";
import "./statistics.css";

export interface CellRow {
    name: string;
    layer: number;
    cells: readonly number[]; // by expert; 0 is hatched
}

type Place = readonly [row: number, expert: number];

export interface ExpertCellsProps extends Omit<PictureProps, "children"> {
    rows: readonly CellRow[];
    heatOf(value: number): number; // 0..1
    text(value: number): string; // in a cell that is wide enough
    describe(row: number, expert: number): string;
    press?: (row: number, expert: number) => void;
    table(): Table;
}

const above = 14; // the experts' numbers

function sizesFor(room: number, rows: readonly CellRow[], experts: number) {
    const gutter = 20 + 7 * rows.reduce((most, row) => Math.max(most, row.name.length), 2);
    const wide = Math.max(4, Math.min(40, Math.floor((room - gutter) / Math.max(1, experts))));
    const high = rows.length > 32 ? 14 : 18;
    return { gutter, wide, high, width: gutter + experts * wide, height: above + rows.length * high };
}

function draw(pen: CanvasRenderingContext2D, colours: Theme, { rows, heatOf, text }: ExpertCellsProps, { gutter, wide, high, width, height }: ReturnType<typeof sizesFor>, cursor: Place | null): void {
    const { layer: chosenLayer, expert: chosenExpert } = selection.value;
    pen.fillStyle = hatch(pen, colours.hatch, colours.empty, 4);
    pen.fillRect(gutter, above, width - gutter, height - above);
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    pen.font = canvasFont(9);
    const gap = wide > 5 ? 1 : 0;
    rows.forEach((row, y) => {
        row.cells.forEach((value, expert) => {
            if (value === 0) return;
            const v = heatOf(value);
            const [left, top] = [gutter + expert * wide, above + y * high];
            pen.fillStyle = heat(v);
            pen.fillRect(left, top, wide - gap, high - 1);
            if (wide < 16) return;
            pen.fillStyle = heatInk(v);
            pen.fillText(text(value), left + wide / 2, top + high / 2, wide - 2);
        });
    });
    pen.fillStyle = colours.faint;
    pen.font = canvasFont(10);
    const experts = Math.round((width - gutter) / wide);
    const step = [1, 2, 4, 8, 16, 32, 64].find((by) => by * wide >= 22) ?? 128;
    for (let expert = 0; expert < experts; expert += step) pen.fillText(String(expert), gutter + (expert + 0.5) * wide, above / 2);
    pen.textAlign = "right";
    rows.forEach((row, y) => pen.fillText(row.name, gutter - 6, above + (y + 0.5) * high));
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2;
    rows.forEach((row, y) => {
        if (chosenLayer === row.layer) pen.strokeRect(gutter - 1, above + y * high - 1, width - gutter, high + 1);
        if (chosenExpert !== null && chosenExpert < row.cells.length && (chosenLayer === null || chosenLayer === row.layer)) pen.strokeRect(gutter + chosenExpert * wide - 1, above + y * high - 1, wide + 1, high + 1);
    });
    if (!cursor) return;
    pen.strokeStyle = colours.focus;
    pen.strokeRect(gutter + cursor[1] * wide - 1, above + cursor[0] * high - 1, wide + 1, high + 1);
}

export function ExpertCells(properties: ExpertCellsProps) {
    const { rows, describe, press, table, tools, ...picture } = properties;
    const experts = rows.reduce((top, row) => Math.max(top, row.cells.length), 0);
    const [box, room] = useWidth();
    const [at, setAt] = useState<Place>([0, 0]); // where the keyboard is
    const [isFocused, setFocused] = useState(false);
    const [hover, setHover] = useState<Place | null>(null);
    const [asTable, toggle] = useAsTable(picture.file);
    const sizes = sizesFor(room, rows, experts);
    const { gutter, wide, high, width, height } = sizes;

    const placeOf = (event: PointerEvent | MouseEvent): Place | null => {
        const frame = (event.currentTarget as HTMLElement).getBoundingClientRect();
        const [row, expert] = [Math.floor((event.clientY - frame.top - above) / high), Math.floor((event.clientX - frame.left - gutter) / wide)];
        return expert >= 0 && expert < (rows[row]?.cells.length ?? 0) ? [row, expert] : null;
    };
    const key = (event: KeyboardEvent) => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!step && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        const row = Math.min(rows.length - 1, Math.max(0, at[0] + (step?.[0] ?? 0)));
        const next: Place = [row, Math.min(rows[row]!.cells.length - 1, Math.max(0, at[1] + (step?.[1] ?? 0)))];
        if (!step) return press?.(...next);
        setAt(next);
        announce(describe(...next));
    };
    const pointed = hover ?? (isFocused ? at : null);
    return (
        <Picture
            {...picture}
            tools={
                <>
                    {tools}
                    <TableSwitch asTable={asTable} toggle={toggle} />
                </>
            }
        >
            {asTable ? (
                <DataTable {...table()} />
            ) : (
                <div class="experts table-scroll" ref={box}>
                    <div class="experts-cells" style={{ width: `${width}px` }}>
                        <Canvas
                            width={width}
                            height={height}
                            draw={(pen, _w, _h, colours) => draw(pen, colours, properties, sizes, isFocused ? at : null)}
                            role="application"
                            aria-roledescription="matrix"
                            label={`${picture.title}: ${plural(rows.length, "row")}, ${plural(experts, "expert")}. Arrow keys step from cell to cell${press ? ", Enter selects" : ""}.`}
                            onKeyDown={key}
                            onFocus={() => setFocused(true)}
                            onBlur={() => setFocused(false)}
                            onPointerMove={(event) => setHover(placeOf(event))}
                            onPointerLeave={() => setHover(null)}
                            onClick={(event) => {
                                const place = placeOf(event);
                                if (place) (setAt(place), press?.(...place));
                            }}
                        />
                        {pointed && rows[pointed[0]] && (
                            <div class="chart-tip" role="tooltip" style={{ ...(pointed[1] > experts / 2 ? { right: `${width - gutter - pointed[1] * wide + 8}px` } : { left: `${gutter + (pointed[1] + 1) * wide + 8}px` }), top: `${Math.max(0, Math.min(height - 30, above + pointed[0] * high - 4))}px` }}>
                                {describe(...pointed)}
                            </div>
                        )}
                    </div>
                </div>
            )}
        </Picture>
    );
}

// What the colours say.
export function CellLegend({ none, some }: { none: string; some: string }) {
    return (
        <span class="legend">
            <span>
                <i class="swatch pattern-hatch" />
                {none}
            </span>
            <span>
                <HeatScale />
                {some}
            </span>
        </span>
    );
}
