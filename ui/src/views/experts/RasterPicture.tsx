// One layer: a column per token that went through it, a row per expert, coloured by the routing weight.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Columns, useAsk } from "../../ask";
import { heat, theme, type Theme } from "../../colours";
import { count, plural } from "../../format";
import { announce } from "../../shell/Announce";
import { canvasFont, hatch, paintOn, useWidth } from "../../shell/Canvas";
import { HeatScale } from "../../shell/HeatScale";
import { Picture } from "../../shell/Picture";
import { here, select, selection, tokensParameter } from "../../state";
import { Waiting } from "../statistics/Waiting";
import { type Raster, rasterOf } from "./raster";

const gutter = 60;
const below = 20;

interface Place {
    column: number;
    expert: number;
}

function draw(context: CanvasRenderingContext2D, raster: Raster, width: number, rowHeight: number, experts: number, at: Place | null, colours: Theme): void {
    const each = (width - gutter) / Math.max(1, raster.columns.length);
    const bottom = experts * rowHeight;
    context.fillStyle = hatch(context, colours.hatch, colours.empty);
    context.fillRect(gutter, 0, width - gutter, bottom);
    raster.columns.forEach((column, i) => {
        for (const one of column.chosen) {
            context.fillStyle = heat(one.weight === null ? 1 : Math.min(1, one.weight / raster.most));
            context.fillRect(gutter + i * each, one.expert * rowHeight, Math.max(1, each - (each > 4 ? 1 : 0)), rowHeight - (rowHeight > 4 ? 1 : 0));
        }
        if (i === 0 || column.token === raster.columns[i - 1]!.token) return;
        context.fillStyle = colours.ink;
        context.globalAlpha = 0.5;
        if (each > 3) context.fillRect(gutter + i * each - 0.5, 0, 1, bottom);
        context.globalAlpha = 1;
    });
    const chosen = selection.value.expert;
    context.font = canvasFont(10);
    context.textBaseline = "middle";
    for (let expert = 0, step = Math.ceil(12 / rowHeight); expert < experts; expert += step) {
        context.fillStyle = expert === chosen ? colours.accent : colours.faint;
        context.fillText(`expert ${expert}`, 0, (expert + 0.5) * rowHeight, gutter - 4);
    }
    context.fillStyle = colours.faint;
    let free = 0;
    raster.columns.forEach((column, i) => {
        const x = gutter + i * each;
        if (x < free || (i > 0 && column.token === raster.columns[i - 1]!.token)) return;
        const label = column.token === 0 ? "prompt" : free === 0 ? `token ${column.token}` : String(column.token);
        if (x + context.measureText(label).width > width) return;
        context.fillText(label, x + 1, bottom + below / 2);
        free = x + context.measureText(label).width + 6;
    });
    context.lineWidth = 2;
    context.strokeStyle = colours.accent;
    if (chosen !== null && chosen < experts) context.strokeRect(gutter, chosen * rowHeight, width - gutter, rowHeight);
    context.strokeStyle = colours.focus;
    if (at) context.strokeRect(gutter + at.column * each, at.expert * rowHeight, Math.max(3, each), rowHeight);
}

const names = ["token", "input", "rank", "expert", "weight", "run", "node"];

export function RasterPicture({ layer, experts }: { layer: number; experts: number }) {
    const answer = useAsk<Columns>(here("choices", { layer, tokens: tokensParameter() }), { keep: true });
    const raster = useMemo<Raster | null>(() => (answer.data ? rasterOf(answer.data, experts) : null), [answer.data, experts]);
    const [box, width] = useWidth();
    const canvas = useRef<HTMLCanvasElement>(null);
    const [hover, setHover] = useState<Place | null>(null); // pointed at, or where the arrow keys are
    const [isByKeys, setByKeys] = useState(false);
    const rowHeight = Math.max(3, Math.min(14, Math.floor(420 / Math.max(1, experts))));
    const height = experts * rowHeight + below;
    const colours = theme();
    useEffect(() => {
        if (!canvas.current || !raster || width <= gutter) return;
        canvas.current.style.height = `${height}px`;
        paintOn(canvas.current, width, height, (context, w) => draw(context, raster, w, rowHeight, experts, isByKeys ? hover : null, colours));
    });
    const columns = raster?.columns.length ?? 0;
    const at = (event: PointerEvent | MouseEvent): Place | null => {
        const frame = canvas.current!.getBoundingClientRect();
        const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
        if (columns === 0 || y >= experts * rowHeight) return null;
        // The names at the left stand for their rows.
        return { column: x < gutter ? -1 : Math.min(columns - 1, Math.floor(((x - gutter) / (width - gutter)) * columns)), expert: Math.floor(y / rowHeight) };
    };
    const take = (expert: number) => {
        select({ layer, expert: selection.value.expert === expert ? null : expert, tensor: null, op: null });
        announce(selection.value.expert === null ? "no expert selected" : `layer ${layer}, expert ${expert} selected`);
    };
    const said = (place: Place): string[] => {
        const column = raster?.columns[place.column];
        const one = column?.chosen.find((each) => each.expert === place.expert);
        return [
            ...(column ? [`token ${column.token}${column.inputs > 1 ? `, input ${column.input}` : ""}`, one ? `rank ${one.rank + 1}, weight ${one.weight === null ? "not seen" : one.weight.toFixed(4)}` : "not chosen"] : []),
            `chosen ${plural(raster?.times[place.expert] ?? 0, "time")} by these tokens`,
        ];
    };
    const keys = (event: KeyboardEvent) => {
        const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
        if (event.ctrlKey || event.altKey || event.metaKey || columns === 0 || (!by && event.key !== "Enter")) return;
        event.preventDefault();
        const from = hover ?? { column: 0, expert: selection.value.expert ?? 0 };
        if (!by) return take(from.expert);
        const within = (value: number, most: number) => Math.max(0, Math.min(most - 1, value));
        const next = hover ? { column: within(from.column + by[0]!, columns), expert: within(from.expert + by[1]!, experts) } : from;
        setByKeys(true);
        setHover(next);
        announce([`expert ${next.expert}`, ...said(next)].join(", "));
    };
    const x = hover ? gutter + ((Math.max(0, hover.column) + 0.5) / Math.max(1, columns)) * (width - gutter) : 0;
    const total = Number(answer.data?.header["total"] ?? 0);
    return (
        <Picture
            title={`Layer ${layer}: which experts each token chose`}
            file={`experts-layer-${layer}`}
            command={`ggscope sql DIR 'SELECT * FROM experts WHERE layer = ${layer}'`}
            computed="One column per token that went through the layer (a prompt has many), one row per expert; the colour is the routing weight, hatched is not chosen. Lines part token steps."
            csv={() => ({ columns: names, rows: answer.data ? Array.from({ length: answer.data.rows }, (_, i) => names.map((name) => answer.data!.column(name)[i])) : [] })}
            tools={
                <>
                    {raster && (
                        <span class="legend" id="raster-legend">
                            <span>
                                routing weight 0
                                <HeatScale />
                                {raster.most.toFixed(2)}
                            </span>
                            <span>
                                <i class="swatch pattern-hatch" /> not chosen
                            </span>
                        </span>
                    )}
                    {answer.data && total > answer.data.rows && (
                        <span class="quiet">
                            the first {count(answer.data.rows)} of {count(total)} choices: select tokens to see others
                        </span>
                    )}
                </>
            }
        >
            <Waiting answer={answer} what="Reading the choices" />
            <div class="access-picture" ref={box} data-choices={answer.data?.rows ?? 0} data-columns={columns}>
                <canvas
                    ref={canvas}
                    tabIndex={0}
                    role="img"
                    aria-label={`Raster of ${columns} tokens and ${experts} experts of layer ${layer}. Arrow keys move from cell to cell, Enter selects the expert.`}
                    onPointerMove={(event) => (setByKeys(false), setHover(at(event)))}
                    onPointerLeave={() => setHover(null)}
                    onBlur={() => setHover(null)}
                    onClick={(event) => {
                        const place = at(event);
                        if (place) take(place.expert);
                    }}
                    onKeyDown={keys}
                />
                {hover && (
                    <div class="chart-tip" role="tooltip" style={{ ...(x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` }), top: `${Math.min(hover.expert * rowHeight, height - 60)}px` }}>
                        <b>expert {hover.expert}</b>
                        {said(hover).map((line) => (
                            <div>{line}</div>
                        ))}
                    </div>
                )}
            </div>
        </Picture>
    );
}
