// Cells on a canvas. The pointer and the arrow keys move between cells, a click or Enter selects
// one, and a tooltip describes it.
import { useEffect, useRef, useState } from "preact/hooks";
import { theme, type Theme } from "../colours";
import { announce } from "./Announce";
import { paintOn, useWidth } from "./Canvas";

export interface Place {
    line: number;
    column: number; // -1: the line's name
}

export interface CellsProps {
    label: string;
    lines: number;
    columns: number;
    high: number; // height of a line
    below: number; // space below the lines
    shape(width: number): { gutter: number; each: number }; // offset of the first column, width of each
    // at: the cell of the arrow keys; drag: the columns of the current drag.
    draw(context: CanvasRenderingContext2D, width: number, at: Place | null, drag: [number, number] | null, colours: Theme): void;
    describe(place: Place): string[]; // the first is the title
    take(place: Place): void;
    onDrag?(from: number, to: number): void; // over columns, both included
    data?: Record<`data-${string}`, number>;
}

const within = (value: number, most: number) => Math.max(0, Math.min(most - 1, value));

export function Cells({ label, lines, columns, high, below, shape, draw, describe, take, onDrag, data }: CellsProps) {
    const [box, width] = useWidth();
    const canvas = useRef<HTMLCanvasElement>(null);
    const [place, setPlace] = useState<Place | null>(null);
    const [isByKeys, setByKeys] = useState(false);
    const [drag, setDrag] = useState<[number, number] | null>(null);
    const { gutter, each } = shape(width);
    const colours = theme();
    useEffect(() => {
        if (!canvas.current || width <= gutter) return;
        const height = lines * high + below;
        canvas.current.style.height = `${height}px`;
        paintOn(canvas.current, width, height, (context, w) => draw(context, w, isByKeys ? place : null, drag, colours));
    });
    const at = (event: PointerEvent | MouseEvent): Place | null => {
        const frame = canvas.current!.getBoundingClientRect();
        const [line, x] = [Math.floor((event.clientY - frame.top) / high), event.clientX - frame.left - gutter];
        const column = x < 0 ? -1 : Math.floor(x / each);
        return line < 0 || line >= lines || column >= columns ? null : { line, column };
    };
    const keys = (event: KeyboardEvent) => {
        const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
        if (event.ctrlKey || event.altKey || event.metaKey || columns === 0 || lines === 0 || (!by && event.key !== "Enter")) return;
        event.preventDefault();
        const next = place && by ? { line: within(place.line + by[0]!, lines), column: within(place.column + by[1]!, columns) } : (place ?? { line: 0, column: 0 });
        setByKeys(true);
        setPlace(next);
        if (by) announce(describe(next).join(", "));
        else take(next);
    };
    const shown = place && place.line < lines && place.column < columns ? place : null;
    const x = gutter + (Math.max(0, shown?.column ?? 0) + 0.5) * each;
    return (
        <div class="access-picture" ref={box} data-lines={lines} data-columns={columns} {...data}>
            <canvas
                ref={canvas}
                tabIndex={0}
                role="img"
                aria-label={label}
                onPointerDown={(event) => {
                    const from = onDrag && event.button === 0 && at(event);
                    if (from && from.column >= 0) setDrag([from.column, from.column]);
                }}
                onPointerMove={(event) => {
                    const to = at(event);
                    setByKeys(false);
                    setPlace(to);
                    if (drag && to && to.column >= 0) setDrag([drag[0], to.column]);
                }}
                onPointerLeave={() => (setPlace(null), setDrag(null))}
                onBlur={() => setPlace(null)}
                onClick={(event) => {
                    const one = at(event);
                    if (drag && drag[0] !== drag[1]) onDrag!(Math.min(...drag), Math.max(...drag));
                    else if (one) take(one);
                    setDrag(null);
                }}
                onKeyDown={keys}
            />
            {shown && (
                <div class="chart-tip" role="tooltip" style={{ ...(x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` }), top: `${Math.max(0, Math.min(shown.line * high, lines * high + below - 60))}px` }}>
                    {describe(shown).map((text, i) => (i === 0 ? <b>{text}</b> : <div>{text}</div>))}
                </div>
            )}
        </div>
    );
}
