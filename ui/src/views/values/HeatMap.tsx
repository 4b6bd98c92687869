// Values by op and token: magnitude, or error against a trusted recording. NaN, infinities and
// wrong values have marks.
import { useMemo } from "preact/hooks";
import { type Columns, useAsk } from "../../ask";
import { heat, type Theme } from "../../colours";
import { count } from "../../format";
import { announce } from "../../shell/Announce";
import { canvasFont, endsWithin, hatch } from "../../shell/Canvas";
import { Cells, type Place } from "../../shell/Cells";
import { TableView } from "../../shell/TableView";
import { current, select, selection } from "../../state";
import { stepWord } from "../../step";
import { Waiting } from "../statistics/Waiting";
import { type Cell, cellText, type Grid, gridOf, kindOf, levelOf, lineText, placeText, tokensOf } from "./grid";
import { Scale } from "./Scale";
import { by, chosen, mapPath, measure, trusted, window_ } from "./state";

const below = 18;
const rightOf = 46;

// Marks have a visible minimum size, however small the cells are.
function mark(context: CanvasRenderingContext2D, kind: "nan" | "inf" | "wrong", x: number, y: number, w: number, h: number, colours: Theme): void {
    const [wide, high] = [Math.max(7, w), Math.max(7, h)];
    const [left, top, inner] = [x + (w - wide) / 2, y + (h - high) / 2, Math.max(1.5, Math.min(wide, high) / 2 - 1.5)];
    const [cx, cy] = [left + wide / 2, top + high / 2];
    context.fillStyle = kind === "wrong" ? colours.slower : colours.ink;
    context.fillRect(left, top, wide, high);
    context.strokeStyle = colours.surface;
    context.lineWidth = 1.2;
    context.beginPath();
    if (kind === "inf") context.arc(cx, cy, inner, 0, 7);
    else if (kind === "wrong") [context.moveTo(cx, cy - inner), context.lineTo(cx, cy + inner)];
    else for (const lean of [1, -1]) [context.moveTo(cx - inner, cy - inner * lean), context.lineTo(cx + inner, cy + inner * lean)];
    context.stroke();
}

interface Shape {
    gutter: number;
    each: number;
    high: number; // of a line
}

function drawNames(context: CanvasRenderingContext2D, grid: Grid, { gutter, high }: Shape, width: number, colours: Theme): void {
    let [free, before]: [number, number | null | undefined] = [0, undefined];
    grid.lines.forEach((line, i) => {
        const y = i * high;
        const isFirst = line.layer !== before;
        before = line.layer;
        context.fillStyle = colours.surface;
        if (isFirst && grid.by === "op") context.fillRect(gutter, y, width, 1);
        context.fillStyle = line.verdict === "wrong" ? colours.slower : colours.faint;
        if ((high < 10 && (!isFirst || line.layer === null)) || y < free) return;
        const text = high < 10 ? `layer ${line.layer}` : grid.by === "layer" ? lineText(grid, line) : line.name;
        endsWithin(context, text, 0, y + Math.max(high / 2, 6), gutter - 6);
        free = y + 10;
    });
}

// At the right: lines with NaN, infinities or wrong values; the first of each kind has a label.
function drawSigns(context: CanvasRenderingContext2D, { high }: Shape, width: number, signs: ReadonlyMap<number, string>, colours: Theme): void {
    const labelled = new Set<string>();
    let free = 0;
    for (const [line, sign] of signs) {
        const y = (line + 0.5) * high;
        context.fillStyle = sign === "wrong" ? colours.slower : colours.ink;
        context.fillRect(width - rightOf + 2, y - Math.max(1, high / 2 - 1), 4, Math.max(2, high - 2));
        if (labelled.has(sign) || y < free) continue;
        labelled.add(sign);
        free = y + 12;
        context.fillText(`◂ ${sign}`, width - rightOf + 7, Math.max(6, y));
    }
}

function drawTokens(context: CanvasRenderingContext2D, grid: Grid, { gutter, each }: Shape, width: number, y: number, colours: Theme): void {
    context.fillStyle = colours.faint;
    let free = 0;
    grid.places.forEach((place, i) => {
        const x = gutter + i * each;
        const label = place.token === 0 ? `${stepWord()} 0` : String(place.token);
        const wide = context.measureText(label).width;
        if (x < free || grid.places[i - 1]?.last_token === place.token || x + wide > width - rightOf) return;
        context.fillText(label, x, y + below / 2);
        free = x + wide + 8;
    });
}

function draw(context: CanvasRenderingContext2D, grid: Grid, shape: Shape, width: number, at: Place | null, drag: [number, number] | null, colours: Theme): void {
    const { gutter, each, high } = shape;
    const bottom = grid.lines.length * high;
    const signs = new Map<number, string>();
    const marks: (() => void)[] = [];
    const { op } = selection.value;
    context.fillStyle = hatch(context, colours.hatch, colours.empty);
    context.fillRect(gutter, 0, each * grid.places.length, bottom);
    const gap = each > 5 && high > 5 ? 1 : 0;
    grid.lines.forEach((_line, i) =>
        grid.places.forEach((_, k) => {
            const cell = grid.cell(i, k);
            const kind = kindOf(cell);
            if (kind === "none") return;
            const box = [gutter + k * each, i * high, each - gap, high - gap] as const;
            if (op && cell.run === op.run && cell.node === op.node)
                marks.push(() => {
                    [context.strokeStyle, context.lineWidth] = [colours.accent, 2];
                    context.strokeRect(box[0] - 1, box[1] - 1, Math.max(4, each) + 1, Math.max(4, high) + 1);
                });
            if (kind === "nan" || kind === "inf" || kind === "wrong") {
                marks.unshift(() => mark(context, kind, ...box, colours));
                if (signs.get(i) !== "NaN") signs.set(i, kind === "nan" ? "NaN" : kind);
            }
            context.fillStyle = kind === "zero" ? colours.sunken : heat(levelOf(grid, cell));
            // neighbours meet without a seam
            context.fillRect(box[0], box[1], box[2] + (gap ? 0 : 0.5), box[3]);
        }),
    );
    grid.lines.forEach((line, i) => line.verdict === "wrong" && !signs.has(i) && signs.set(i, "wrong"));
    marks.forEach((paint) => paint());
    context.font = canvasFont(10);
    context.textBaseline = "middle";
    drawNames(context, grid, shape, width, colours);
    drawSigns(context, shape, width, new Map([...signs].sort(([a], [b]) => a - b)), colours);
    drawTokens(context, grid, shape, width, bottom, colours);
    [context.strokeStyle, context.lineWidth] = [colours.focus, 2];
    if (at) context.strokeRect(gutter + at.column * each - 1, at.line * high - 1, Math.max(4, each) + 1, Math.max(4, high) + 1);
    if (drag) context.strokeRect(gutter + Math.min(...drag) * each, 1, (Math.abs(drag[1] - drag[0]) + 1) * each, bottom - 2);
}

export function HeatMap() {
    const [from, to] = window_.value ?? [0, null];
    const a = trusted();
    const answer = useAsk<Columns>(mapPath({ ...chosen(), by: by.value, from: from || null, to }), { keep: true });
    const grid = useMemo(() => (answer.data ? gridOf(answer.data) : null), [answer.data]);
    const lines = grid?.lines.length ?? 0;
    const columns = grid?.places.length ?? 0;
    const high = Math.max(2, Math.min(16, Math.floor(600 / Math.max(1, lines))));
    const shape = (width: number): Shape => {
        const gutter = Math.min(high >= 10 ? 170 : 90, Math.floor(width / 3));
        return { gutter, high, each: Math.max(0.1, (width - gutter - rightOf) / Math.max(1, columns)) };
    };
    const describe = ({ line, column }: Place): string[] => {
        const one = grid!.lines[line]!;
        return [lineText(grid!, one), ...(column < 0 ? [] : [placeText(grid!.places[column]!, stepWord()), cellText(grid!, grid!.cell(line, column))]), ...(one.verdict ? [`the op: ${one.verdict}`] : [])];
    };
    const take = (place: Place) => {
        const { run, node, marks } = grid!.cell(place.line, Math.max(0, place.column));
        if (marks & 1) select({ op: { run, node } });
        announce(describe(place).join(", "));
    };
    const rows = () => (grid ? grid.lines.flatMap((line, i) => grid.places.map((place, k) => [line, place, grid.cell(i, k)] as const)).filter(([, , cell]) => cell.marks & 1) : []);
    const title = a ? "Error against what rounding allows" : measure.value === "rms" ? "Root mean square of each output" : "Largest absolute value of each output";
    const names = ["op", "tensor", "layer", stepWord(), "position", grid?.of ?? "value", "allowed", "marks"];
    const cells = (cell: Cell) => [cell.value, grid!.of === "error" && cell.allowed !== Infinity ? cell.allowed : null] as const;
    return (
        <>
            <Waiting answer={answer} what={a ? "Comparing what the ops computed" : "Reading what the ops computed"} />
            {grid && lines === 0 && <p class="empty">Of these ops no values are recorded.</p>}
            {grid && lines > 0 && (
                <TableView
                    label={title}
                    file="values-map"
                    table={() => ({ caption: title, columns: names, rows: rows().map(([line, place, cell]) => [line.op, line.name, line.layer ?? "", place.token ?? "", place.position ?? "", ...cells(cell).map((one) => one ?? ""), cellText(grid, cell)]) })}
                    tools={
                        <>
                            <h3>{title}</h3>
                            {!a && (
                                <select aria-label="Colour by" value={measure.value} onChange={(event) => (measure.value = event.currentTarget.value as "rms")}>
                                    <option value="rms">rms</option>
                                    <option value="largest">largest absolute value</option>
                                </select>
                            )}
                            <select aria-label="Lines" value={grid.by} onChange={(event) => (by.value = event.currentTarget.value as "op")}>
                                <option value="op">a line for each op</option>
                                <option value="layer">a line for each layer</option>
                            </select>
                            {window_.value && (
                                <button type="button" onClick={() => (window_.value = null)}>
                                    all {count(grid.tokens)} inputs
                                </button>
                            )}
                            <Scale grid={grid} />
                        </>
                    }
                    saved={{
                        title,
                        file: "values-map",
                        figure: () => ({ kind: "values", of: a && `${a.index},${current.value}`, value: measure.value, by: grid.by, ...chosen() }),
                        command: a ? `ggscope diff --values --json ${a.directory}` : "ggscope values --json",
                        computed: a
                            ? "The error of each output, over what its inputs and rounding explain. A cell of several shows the worst."
                            : "Ops in the order of computation, and tokens. A cell of several shows the largest of them.",
                        csv: () => ({ columns: names, rows: rows().map(([line, place, cell]) => [line.op, line.name, line.layer, place.token, place.position, ...cells(cell), kindOf(cell)]) }),
                    }}
                >
                    <Cells
                        label={`${title}: ${lines} lines of ops, ${columns} columns of tokens. Arrow keys move from cell to cell, Enter selects the op.`}
                        {...{ lines, columns, high, below, shape, describe, take }}
                        draw={(context, width, at, drag, colours) => draw(context, grid, shape(width), width, at, drag, colours)}
                        onDrag={(first, last) => (window_.value = tokensOf(grid, first, last, from))}
                    />
                </TableView>
            )}
        </>
    );
}
