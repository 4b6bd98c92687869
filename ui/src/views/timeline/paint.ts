// Puts the scene on the canvas.
import { selection, summary } from "../../state";
import { canvasFont, paintOn } from "../../shell/Canvas";
import { axisHeight, countStrip, drawAxis, drawBand, drawCurve, drawLoss, drawMark, drawNote, drawPause, drawRuler, drawUse, type Frame, inksOf, labelStrip, paintStrip, rulerHeight } from "./draw";
import { shortLabel } from "./processes";
import { type Stage, timeAt } from "./stage";
import { type Answered, type Strip, stripOf } from "./strips";

export function paint(stage: Stage): void {
    const { scene, canvas } = stage;
    const span = stage.span.peek();
    if (!canvas || !span || scene.width <= 0) return;
    canvas.style.height = `${scene.height}px`;
    paintOn(canvas, scene.width, scene.height, (context, _w, _h, colours) => {
        const frame: Frame = { context, colours, span, left: scene.left, width: scene.inner, ratio: window.devicePixelRatio || 1 };
        drawAxis(frame, scene.height);
        paintLanes(stage, frame);
        if (scene.ruler) drawRuler(frame, scene.ruler, selection.peek().tokens, summary.peek()?.slowest_token?.token ?? -1);
        scene.curves.forEach((curve, i) => drawCurve(frame, curve, scene.lanesBottom + 4 + i * (scene.curveHeight + 5), scene.curveHeight));
        for (const one of scene.pauses) drawPause(frame, one.begin, one.end, rulerHeight + axisHeight, scene.height);
        for (const one of scene.notes) drawNote(frame, one.text, one.at, scene.height);
        paintSelection(stage, frame);
        stage.marks.peek().forEach((at, i) => drawMark(frame, String.fromCharCode(65 + i), at, scene.height));
    });
}

function paintLanes({ scene, strips }: Stage, frame: Frame): void {
    const { context, colours } = frame;
    const { opType, layer } = selection.peek();
    const data = scene.held?.data;
    const inks = data && inksOf(data.ops, colours, (op) => opType !== null && data.ops[op] !== opType);
    strips.clear();
    scene.lanes.forEach((one, i) => {
        const y = scene.top + i * scene.laneStep;
        if (data && inks) {
            const strip = stripOf(data, one.lane, frame.span, Math.round(scene.inner * frame.ratio));
            strips.set(one.lane, strip);
            paintStrip(frame, strip, y, scene.laneHeight, inks);
            if (layer !== null && data.isRaw) fadeOthers(frame, strip, data, layer, y, scene.laneHeight);
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
        context.font = canvasFont(12, isChosen ? 700 : 400);
        context.textBaseline = "middle";
        context.fillStyle = isChosen ? colours.accent : colours.ink;
        const group = scene.groups.find((each) => each.first === i);
        if (group) {
            context.fillStyle = colours.ink;
            context.fillRect(0, y - 2, scene.width, 1);
            context.font = canvasFont(10, 700);
            context.textBaseline = "top";
            context.fillText(`${group.host === null ? "" : `${group.host} · `}${group.name}`, 2, y + 1, scene.left - 6);
            context.textBaseline = "middle";
            context.font = canvasFont(12, isChosen ? 700 : 400);
            context.fillStyle = isChosen ? colours.accent : colours.ink;
        }
        context.fillText(shortLabel(one.label, scene.groups.length > 0), 2, y + scene.laneHeight / 2 + (group ? 6 : 0), scene.left - 6);
    });
}

// With a layer selected, wide op runs of the others step back.
function fadeOthers(frame: Frame, strip: Strip, data: Answered, layer: number, top: number, height: number): void {
    const { context, colours, ratio } = frame;
    context.fillStyle = colours.empty;
    context.globalAlpha = 0.8;
    for (const { row, x0, x1 } of strip.wide) {
        const [a, b] = [Math.max(0, x0), Math.min(strip.busy.length, x1)];
        if (data.of["layer"]![row] !== layer) context.fillRect(frame.left + a / ratio, top, (b - a) / ratio, height);
    }
    context.globalAlpha = 1;
}

function paintSelection(stage: Stage, frame: Frame): void {
    const { scene } = stage;
    const { time } = selection.peek();
    for (const [begin, end] of scene.uses) drawUse(frame, begin, end, rulerHeight + axisHeight, scene.lanesBottom);
    if (time) drawBand(frame, time[0], time[1], rulerHeight, scene.height);
    if (scene.op) drawBand(frame, scene.op.begin_ns, scene.op.begin_ns + scene.op.duration_ns, rulerHeight + axisHeight, scene.lanesBottom);
    const pulled = stage.drag.peek();
    if (pulled && !pulled.pans && Math.abs(pulled.to - pulled.from) > 3)
        drawBand(frame, timeAt(stage, Math.min(pulled.from, pulled.to)), timeAt(stage, Math.max(pulled.from, pulled.to)), rulerHeight, scene.height);
}
