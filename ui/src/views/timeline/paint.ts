// Puts the scene on the canvas.
import { density } from "../../colours";
import { selection, summary } from "../../state";
import { canvasFont, endsWithin, paintOn } from "../../shell/Canvas";
import { axisHeight, countStrip, drawArrow, drawAxis, drawBand, drawCurve, drawLoss, drawMark, drawNote, drawPause, drawLevel, drawRequests, drawRuler, drawVeil, levelHeight, drawUse, type Frame, inksOf, labelStrip, paintStrip, rulerHeight } from "./draw";
import { shortLabel } from "./processes";
import { requestTop, type Stage, timeAt } from "./stage";
import { segmentsOf } from "./levels";
import { culpritOf, opAt, servedOf, sharesOf, stripOf } from "./strips";

export function paint(stage: Stage): void {
    const { scene, canvas } = stage;
    const span = stage.span.peek();
    if (!canvas || !span || scene.width <= 0) return;
    canvas.style.height = `${scene.height}px`;
    paintOn(canvas, scene.width, scene.height, (context, _w, _h, colours) => {
        const frame: Frame = { context, colours, span, left: scene.left, width: scene.inner, ratio: density() };
        drawAxis(frame, scene.height);
        paintLanes(stage, frame);
        paintLevels(stage, frame);
        scene.requests.forEach((lane, i) => drawRequests(frame, lane, selection.peek().request, requestTop(scene, i)));
        if (scene.ruler) drawRuler(frame, scene.ruler, selection.peek().tokens, summary.peek()?.slowest_token?.token ?? -1);
        scene.curves.forEach((curve, i) => drawCurve(frame, curve, scene.lanesBottom + 4 + i * (scene.curveHeight + 5), scene.curveHeight));
        for (const one of scene.pauses) drawPause(frame, one.begin, one.end, rulerHeight + axisHeight, scene.height);
        for (const one of scene.notes) drawNote(frame, one.text, one.at, scene.height);
        paintSelection(stage, frame);
        paintCulprit(stage, frame);
        stage.marks.peek().forEach((at, i) => drawMark(frame, String.fromCharCode(65 + i), at, scene.height));
    });
}

function paintLanes({ scene, strips }: Stage, frame: Frame): void {
    const { context, colours } = frame;
    const { opType } = selection.peek();
    const data = scene.held?.data;
    const inks = data && inksOf(data.ops, colours);
    const chosen = data && opType !== null ? data.ops.indexOf(opType) : -1;
    strips.clear();
    scene.lanes.forEach((one, i) => {
        const y = scene.top + i * scene.laneStep;
        if (data && inks) {
            const strip = stripOf(data, one.lane, frame.span, Math.round(scene.inner * frame.ratio));
            strips.set(one.lane, strip);
            paintStrip(frame, strip, y, scene.laneHeight, inks, chosen);
            if (data.isRaw) labelStrip(frame, strip, data, y, scene.laneHeight);
            countStrip(frame, strip, y + scene.laneHeight);
            for (const loss of data.losses) if (loss.lane === one.lane) drawLoss(frame, loss.begin_ns, loss.end_ns, loss.count, y, scene.laneHeight);
        }
        const isChosen = selection.peek().lane === one.lane;
        if (isChosen) {
            context.fillStyle = colours.accent;
            context.fillRect(frame.left - 4, y, 3, scene.laneHeight);
        } else if (selection.peek().lane !== null) {
            context.fillStyle = colours.surface;
            context.globalAlpha = 0.6;
            context.fillRect(frame.left, y, frame.width, scene.laneHeight);
            context.globalAlpha = 1;
        }
        context.font = canvasFont(scene.width < 600 ? 11 : 12, isChosen ? 700 : 400);
        context.textBaseline = "middle";
        context.fillStyle = isChosen ? colours.accent : colours.ink;
        const group = scene.groups.find((each) => each.first === i);
        if (group) {
            context.fillStyle = colours.ink;
            context.fillRect(0, y - 2, scene.width, 1);
            context.font = canvasFont(10, 700);
            context.textBaseline = "top";
            endsWithin(context, `${group.host === null ? "" : `${group.host} · `}${group.name}`, 2, y + 1, scene.left - 6);
            context.textBaseline = "middle";
            context.font = canvasFont(scene.width < 600 ? 11 : 12, isChosen ? 700 : 400);
            context.fillStyle = isChosen ? colours.accent : colours.ink;
        }
        endsWithin(context, shortLabel(one.label, scene.groups.length > 0), 2, y + scene.laneHeight / 2 + (group ? 6 : 0), scene.left - 6);
    });
}

// Ops of one layer in one step, on average.
const opsPerLayer = (): number => {
    const about = summary.peek();
    return (about?.ops ?? NaN) / ((about?.tokens || 1) * (about?.model?.layers || 1)) || Infinity;
};

// Graph runs and layers, above the lanes.
function paintLevels(stage: Stage, frame: Frame): void {
    const { scene, strips } = stage;
    const data = scene.held?.data;
    const { layer } = selection.peek();
    scene.levels.forEach((kind, i) => {
        const segments = data ? segmentsOf(strips.values(), data, kind, frame.ratio, kind === "layer" ? opsPerLayer() : Infinity) : [];
        const y = scene.top - (scene.levels.length - i) * levelHeight;
        if (kind === "layer") stage.layers = segments;
        drawLevel(frame, segments, kind, kind === "layer" ? layer : null, y);
    });
}

// For the op under the pointer, else the selected one: an arrow from each long wait to the thread
// that it waited for.
function paintCulprit(stage: Stage, frame: Frame): void {
    const { scene } = stage;
    const data = scene.held?.data;
    const hover = stage.hover.peek();
    if (!data) return;
    let arrows = 0;
    const at = hover && hover.row >= 0 ? opAt(data, hover.row) : null;
    const [run, node, begin] = at ? [at.run, at.node, at.begin] : scene.op ? [scene.op.run, scene.op.node, scene.op.begin_ns] : [0, 0, 0];
    const shares = sharesOf(data, run, node, begin);
    const last = culpritOf(shares);
    const middle = (lane: number) => scene.top + scene.lanes.findIndex((one) => one.lane === lane) * scene.laneStep + scene.laneHeight / 2;
    for (const one of last ? shares : []) {
        const wide = (one.wait / (frame.span.end - frame.span.begin)) * frame.width;
        if (one === last || wide < 12) continue;
        const reach = middle(last!.lane) > middle(one.lane) ? -scene.laneHeight / 2 : scene.laneHeight / 2;
        drawArrow(frame, one.end + one.wait / 2, middle(one.lane), last!.end, middle(last!.lane) + reach);
        arrows++;
    }
    arrows += paintServer(stage, frame, at ? at.run : (selection.peek().op?.run ?? 0), middle);
    if (stage.canvas) stage.canvas.dataset["arrows"] = String(arrows);
}

// Draws arrows from a client's graph run to the end of the last op that its server computed for it.
// Returns their number.
function paintServer({ scene }: Stage, frame: Frame, run: number, middle: (lane: number) => number): number {
    const data = scene.held!.data;
    const served = servedOf(data, run);
    const sent = served ? [...data.lanes].flatMap(([lane, rows]) => [...rows].filter((row) => data.of["run"]![row] === run).map((row) => ({ lane, row })))[0] : undefined;
    if (!served || !sent) return 0;
    const [from, to] = [middle(sent.lane), middle(served.lane)];
    const end = data.base + data.begin[sent.row]! + data.of["duration_ns"]![sent.row]!;
    drawArrow(frame, (served.end + end) / 2, from, served.end, to + (to > from ? -scene.laneHeight : scene.laneHeight) / 2);
    return 1;
}

function paintSelection(stage: Stage, frame: Frame): void {
    const { scene } = stage;
    const { time, tokens } = selection.peek();
    if (tokens && scene.tokens) drawVeil(frame, scene.tokens, scene.top, scene.lanesBottom);
    for (const [begin, end] of scene.uses) drawUse(frame, begin, end, rulerHeight + axisHeight, scene.lanesBottom);
    if (time) drawBand(frame, time[0], time[1], rulerHeight, scene.height);
    if (scene.op) drawBand(frame, scene.op.begin_ns, scene.op.begin_ns + scene.op.duration_ns, rulerHeight + axisHeight, scene.lanesBottom);
    const pulled = stage.drag.peek();
    if (pulled && !pulled.pans && Math.abs(pulled.to - pulled.from) > 3)
        drawBand(frame, timeAt(stage, Math.min(pulled.from, pulled.to)), timeAt(stage, Math.max(pulled.from, pulled.to)), rulerHeight, scene.height);
}
