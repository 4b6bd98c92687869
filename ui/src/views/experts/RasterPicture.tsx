// One layer: a column per token that passed it, a row per expert, coloured by the routing weight.
import { useMemo } from "preact/hooks";
import { type Columns, useAsk } from "../../ask";
import { heat, type Theme } from "../../colours";
import { count, plural } from "../../format";
import { announce } from "../../shell/Announce";
import { canvasFont, hatch } from "../../shell/Canvas";
import { Cells, type Place } from "../../shell/Cells";
import { HeatScale } from "../../shell/HeatScale";
import { Picture } from "../../shell/Picture";
import { here, select, selection, tokensParameter } from "../../state";
import { Waiting } from "../statistics/Waiting";
import { type Raster, rasterOf } from "./raster";

const gutter = 60;
const below = 20;

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
    if (at) context.strokeRect(gutter + at.column * each, at.line * rowHeight, Math.max(3, each), rowHeight);
}

const names = ["token", "input", "rank", "expert", "weight", "run", "node"];

export function RasterPicture({ layer, experts }: { layer: number; experts: number }) {
    const answer = useAsk<Columns>(here("choices", { layer, tokens: tokensParameter() }), { keep: true });
    const raster = useMemo<Raster | null>(() => (answer.data ? rasterOf(answer.data, experts) : null), [answer.data, experts]);
    const rowHeight = Math.max(3, Math.min(14, Math.floor(420 / Math.max(1, experts))));
    const columns = raster?.columns.length ?? 0;
    const take = ({ line: expert }: Place) => {
        select({ layer, expert: selection.value.expert === expert ? null : expert, tensor: null, op: null });
        announce(selection.value.expert === null ? "no expert selected" : `layer ${layer}, expert ${expert} selected`);
    };
    // Pointing at a row's name describes the row.
    const describe = (place: Place): string[] => {
        const column = raster?.columns[place.column];
        const one = column?.chosen.find((each) => each.expert === place.line);
        return [
            `expert ${place.line}`,
            ...(column ? [`token ${column.token}${column.inputs > 1 ? `, input ${column.input}` : ""}`, one ? `rank ${one.rank + 1}, weight ${one.weight === null ? "not seen" : one.weight.toFixed(4)}` : "not chosen"] : []),
            `chosen ${plural(raster?.times[place.line] ?? 0, "time")} by these tokens`,
        ];
    };
    const total = Number(answer.data?.header["total"] ?? 0);
    return (
        <Picture
            title={`Layer ${layer}: which experts each token chose`}
            file={`experts-layer-${layer}`}
            figure={() => ({ kind: "choices", layer, tokens: tokensParameter() })}
            command={`ggscope sql DIR 'SELECT * FROM experts WHERE layer = ${layer}'`}
            computed="One column per token, one row per expert; the colour is the routing weight. Lines part token steps."
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
            <Cells
                label={`Raster of ${columns} tokens and ${experts} experts of layer ${layer}. Arrow keys move from cell to cell, Enter selects the expert.`}
                lines={raster ? experts : 0}
                columns={columns}
                high={rowHeight}
                below={below}
                shape={(width) => ({ gutter, each: (width - gutter) / Math.max(1, columns) })}
                draw={(context, width, at, _, colours) => raster && draw(context, raster, width, rowHeight, experts, at, colours)}
                describe={describe}
                take={take}
                data={{ "data-choices": answer.data?.rows ?? 0 }}
            />
        </Picture>
    );
}
