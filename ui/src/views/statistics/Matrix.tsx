// Which experts were chosen how often: one row per layer, one cell per expert, painted (a large model has thousands of cells).
import { useMemo, useState } from "preact/hooks";
import { heat, heatInk, heatOf, type Theme } from "../../colours";
import { count, plural, share } from "../../format";
import { announce } from "../../shell/Announce";
import { Canvas, canvasFont, hatch, useWidth } from "../../shell/Canvas";
import { Picture } from "../../shell/Picture";
import { DataTable, type Table, TableSwitch, useAsTable } from "../../shell/TableView";
import { select, selection } from "../../state";
import type { ExpertLayer } from "./answers";

const gutter = 34;
const above = 14; // the experts' numbers

type Place = readonly [row: number, expert: number];

function sizesFor(room: number, rows: number, experts: number) {
    const wide = Math.max(4, Math.min(40, Math.floor((room - gutter) / Math.max(1, experts))));
    const high = rows > 32 ? 14 : 18;
    return { wide, high, width: gutter + experts * wide, height: above + rows * high };
}

const sumOf = (layer: ExpertLayer) => layer.counts.reduce((a, b) => a + b, 0);
const told = (layer: ExpertLayer, expert: number) => `layer ${layer.layer}, expert ${expert}: chosen ${plural(layer.counts[expert] ?? 0, "time")} (${share(layer.counts[expert] ?? 0, sumOf(layer))})`;

function tableOf(layers: ExpertLayer[]): Table {
    const most = 500;
    const all = layers.flatMap((layer) => layer.counts.flatMap((n, expert) => (n > 0 ? [[layer.layer, expert, n, share(n, sumOf(layer))] as [number, number, number, string]] : []))).sort((a, b) => b[2] - a[2]);
    return { caption: "Experts that were chosen, the most chosen first", columns: ["layer", "expert", "times", "of its layer"], rows: all.slice(0, most), more: Math.max(0, all.length - most) };
}

function draw(pen: CanvasRenderingContext2D, colours: Theme, layers: ExpertLayer[], most: number, { wide, high, width, height }: ReturnType<typeof sizesFor>, cursor: Place | null): void {
    const { layer: chosenLayer, expert: chosenExpert } = selection.value;
    pen.fillStyle = hatch(pen, colours.hatch, colours.empty, 4);
    pen.fillRect(gutter, above, width - gutter, height - above);
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    pen.font = canvasFont(9);
    const gap = wide > 5 ? 1 : 0;
    layers.forEach((layer, row) => {
        layer.counts.forEach((n, expert) => {
            if (n === 0) return;
            const v = heatOf(n, most);
            const [x, y] = [gutter + expert * wide, above + row * high];
            pen.fillStyle = heat(v);
            pen.fillRect(x, y, wide - gap, high - 1);
            if (wide < 16) return;
            pen.fillStyle = heatInk(v);
            pen.fillText(count(n), x + wide / 2, y + high / 2, wide - 2);
        });
    });
    pen.fillStyle = colours.faint;
    pen.font = canvasFont(10);
    const experts = Math.round((width - gutter) / wide);
    const step = [1, 2, 4, 8, 16, 32, 64].find((by) => by * wide >= 22) ?? 128;
    for (let expert = 0; expert < experts; expert += step) pen.fillText(String(expert), gutter + (expert + 0.5) * wide, above / 2);
    pen.textAlign = "right";
    layers.forEach((layer, row) => pen.fillText(String(layer.layer), gutter - 6, above + (row + 0.5) * high));
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2;
    layers.forEach((layer, row) => {
        if (chosenLayer === layer.layer) pen.strokeRect(gutter - 1, above + row * high - 1, width - gutter, high + 1);
        if (chosenExpert !== null && chosenExpert < layer.experts && (chosenLayer === null || chosenLayer === layer.layer)) pen.strokeRect(gutter + chosenExpert * wide - 1, above + row * high - 1, wide + 1, high + 1);
    });
    if (!cursor) return;
    pen.strokeStyle = colours.focus;
    pen.strokeRect(gutter + cursor[1] * wide - 1, above + cursor[0] * high - 1, wide + 1, high + 1);
}

export function Matrix({ layers }: { layers: ExpertLayer[] }) {
    const most = useMemo(() => layers.reduce((top, layer) => layer.counts.reduce((a, b) => Math.max(a, b), top), 1), [layers]);
    const experts = layers.reduce((top, layer) => Math.max(top, layer.experts), 0);
    const [box, room] = useWidth();
    const [at, setAt] = useState<Place>([0, 0]); // where the keyboard is
    const [isFocused, setFocused] = useState(false);
    const [hover, setHover] = useState<Place | null>(null);
    const [asTable, toggle] = useAsTable("expert-matrix");
    const sizes = sizesFor(room, layers.length, experts);
    const { wide, high, width, height } = sizes;

    const press = ([row, expert]: Place) => {
        const [layer, chosen] = [layers[row]!, selection.value];
        select({ layer: layer.layer, expert: chosen.layer === layer.layer && chosen.expert === expert ? null : expert, tensor: null, op: null });
    };
    const placeOf = (event: PointerEvent | MouseEvent): Place | null => {
        const frame = (event.currentTarget as HTMLElement).getBoundingClientRect();
        const [row, expert] = [Math.floor((event.clientY - frame.top - above) / high), Math.floor((event.clientX - frame.left - gutter) / wide)];
        return expert >= 0 && expert < (layers[row]?.experts ?? 0) ? [row, expert] : null;
    };
    const key = (event: KeyboardEvent) => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!step && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        if (!step) return press(at);
        const row = Math.min(layers.length - 1, Math.max(0, at[0] + step[0]!));
        const next: Place = [row, Math.min(layers[row]!.experts - 1, Math.max(0, at[1] + step[1]!))];
        setAt(next);
        announce(told(layers[next[0]]!, next[1]));
    };
    const pointed = hover ?? (isFocused ? at : null);
    return (
        <Picture
            title="Expert matrix"
            file="expert-matrix"
            command="ggscope experts --json"
            computed="How often the router of each layer chose each expert, over all tokens of the steps that are selected."
            csv={() => ({ columns: ["layer", "expert", "times"], rows: layers.flatMap((layer) => layer.counts.map((n, expert) => [layer.layer, expert, n])) })}
            tools={
                <>
                    <span class="quiet">layers down, experts across: how often each was chosen; a click selects the expert in every view</span>
                    <Legend most={most} />
                    <TableSwitch asTable={asTable} toggle={toggle} />
                </>
            }
        >
            {asTable ? (
                <DataTable {...tableOf(layers)} />
            ) : (
                <div class="experts table-scroll" ref={box}>
                    <div class="experts-cells" style={{ width: `${width}px` }}>
                        <Canvas
                            width={width}
                            height={height}
                            draw={(pen, _w, _h, colours) => draw(pen, colours, layers, most, sizes, isFocused ? at : null)}
                            role="application"
                            aria-roledescription="matrix"
                            label={`Expert matrix: ${plural(layers.length, "layer")}, ${plural(experts, "expert")}. Arrow keys step from cell to cell, Enter selects.`}
                            onKeyDown={key}
                            onFocus={() => setFocused(true)}
                            onBlur={() => setFocused(false)}
                            onPointerMove={(event) => setHover(placeOf(event))}
                            onPointerLeave={() => setHover(null)}
                            onClick={(event) => {
                                const place = placeOf(event);
                                if (place) (setAt(place), press(place));
                            }}
                        />
                        {pointed && layers[pointed[0]] && (
                            <div class="chart-tip" role="tooltip" style={{ ...(pointed[1] > experts / 2 ? { right: `${width - gutter - pointed[1] * wide + 8}px` } : { left: `${gutter + (pointed[1] + 1) * wide + 8}px` }), top: `${Math.max(0, Math.min(height - 30, above + pointed[0] * high - 4))}px` }}>
                                {told(layers[pointed[0]]!, pointed[1])}
                            </div>
                        )}
                    </div>
                </div>
            )}
        </Picture>
    );
}

function Legend({ most }: { most: number }) {
    return (
        <span class="expert-legend">
            <span class="expert never" aria-hidden="true" /> never
            {[0, 0.25, 0.5, 0.75, 1].map((v) => (
                <span class="expert" aria-hidden="true" style={{ background: heat(v) }} key={v} />
            ))}{" "}
            1 to {count(most)} times, log scale
        </span>
    );
}
