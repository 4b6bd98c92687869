// View 2. Tokens, lanes per backend and thread, buffer occupancy and disk reads over time.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogAnswer, OpAnswer, Slots, Summary } from "../../api";
import { useApplied } from "../../applied";
import { type Columns, useAsk } from "../../ask";
import { theme } from "../../colours";
import { count, plural, time } from "../../format";
import { registerKeys } from "../../keys";
import { useWidth } from "../../shell/Canvas";
import { isSmall } from "../../shell/details/dock";
import { Progress } from "../../shell/Progress";
import { type Steps, stepsOf } from "../../shell/Scrubber";
import { TableView, useAsTable } from "../../shell/TableView";
import { asNumbers, here, kept, moving, selection, summary } from "../../state";
import { Later } from "../../under-way";
import { zoom } from "../../zoom";
import { filterQuery } from "../log/filter";
import { spanOf } from "../memory/data";
import { closerPath, countHeight, curvesOf, fitFor, heightsFor, csvOf, tableOf, useTile } from "./data";
import { busyCurves, transferCurves } from "./devices";
import { axisHeight, levelHeight, requestHeight, rulerHeight } from "./draw";
import { fit, handlersOf, keysOf } from "./moves";
import { paint } from "./paint";
import { Legend, measure, Shown, Tip } from "./pieces";
import { groupsOf } from "./processes";
import { requestLanes } from "./requests";
import { timed, type Hover, type Scene, type Stage } from "./stage";
import { pausesOf, around, clamp, panned, type Span, type Tile, tileFor } from "./window";
import "./timeline.css";

const keptMarks = kept<number[]>("marks", [], asNumbers);
const emptyScene = { held: null, ruler: null, curves: [], lanes: [], levels: [], requests: [], groups: [], bounds: null, fit: null, op: null, tokens: null, pauses: [], notes: [], uses: [], moreUses: 0 } satisfies Partial<Scene>;
const noSize = { width: 0, height: 0, left: 0, inner: 0, top: 0, laneHeight: 0, laneStep: 1, lanesBottom: 0, curveHeight: 0 };

function useStage(): Stage {
    const span = useSignal<Span | null>(null);
    const hover = useSignal<Hover | null>(null);
    const drag = useSignal<Stage["drag"]["value"]>(null);
    const marks = keptMarks;
    return useMemo(() => ({ scene: { ...emptyScene, ...noSize }, canvas: null, span, hover, drag, marks, strips: new Map(), layers: [], cursor: null }), []);
}

// The first window fits the tokens, because loading can take far longer. A window that shows
// everything grows with a live recording.
function follow({ span }: Stage, before: Span | null, now: Span, bounds: Span): void {
    const shown = span.peek();
    const { time } = selection.peek();
    const asked = zoom.peek();
    if (before === null && shown === null && asked) {
        span.value = clamp({ begin: asked[0], end: asked[1] }, bounds);
        return;
    }
    const isFitted = shown !== null && before !== null && shown.begin === before.begin && shown.end === before.end;
    if (before === null && time) span.value = around(time[0], time[1], bounds);
    else if ((shown === null || isFitted) && (shown?.begin !== now.begin || shown.end !== now.end)) span.value = now;
}

// The window is written to the address when it stops moving, because browsers limit the rate.
function keepZoom(stage: Stage): () => void {
    const later = new Later();
    return () =>
        later.set(250, () => {
            const [shown, fitted] = [stage.span.peek(), stage.scene.fit];
            if (!shown || !fitted) return;
            const [begin, end] = [Math.floor(shown.begin), Math.ceil(shown.end)];
            zoom.value = shown.begin === fitted.begin && shown.end === fitted.end ? null : [begin, end];
            // The address rounds the window; the shown window follows it exactly.
            if (zoom.value && (shown.begin !== begin || shown.end !== end)) stage.span.value = { begin, end };
        });
}

function sizesFor(width: number, room: number, lanes: number, curves: number, above: number) {
    const left = width < 600 ? 92 : 124;
    const { lane: laneHeight, curve: curveHeight } = heightsFor(room - above, lanes, curves);
    const laneStep = laneHeight + countHeight + 3;
    const top = rulerHeight + axisHeight + 2 + above;
    const lanesBottom = top + lanes * laneStep;
    return { width, left, inner: Math.max(1, width - left), top, laneHeight, laneStep, lanesBottom, curveHeight, height: lanesBottom + 4 + curves * (curveHeight + 5) };
}

const isSame = (a: Tile | null, b: Tile) => a !== null && a.begin === b.begin && a.end === b.end && a.pixels === b.pixels;

// Everything that the server is asked for, put on the stage.
function useScene(stage: Stage, about: Summary | null, width: number, room: number) {
    const [tile, setTile] = useState<Tile | null>(null);
    const { held, problem } = useTile(tile);
    const stepsAnswer = useAsk<Columns>(here("tokens", { bins: 1000 }), { keep: true });
    const occupancy = useAsk<Columns>(here("occupancy", { bins: 1000 }), { keep: true });
    const curvesAnswer = useAsk<Columns>(tile && here("curves", { begin: tile.begin, end: tile.end, pixels: Math.min(2048, tile.pixels) }), { keep: true });
    const { op, tokens } = selection.value;
    const chosenOp = useAsk<OpAnswer>(op && here("op", op), { keep: true });
    const steps = useMemo<Steps | null>(() => (stepsAnswer.data ? stepsOf(stepsAnswer.data) : null), [stepsAnswer.data]);
    const closer = useAsk<Columns>(closerPath(steps, tile), { keep: true });
    const ruler = useMemo<Steps | null>(() => (closer.data && closerPath(steps, tile) ? stepsOf(closer.data) : steps), [closer.data, steps, tile]);
    const { tensor, expert, layer, region } = selection.value;
    const wanted = tensor !== null || expert !== null || region !== null;
    const query = filterQuery({ tokens: null, layer, opType: null, tensor, region, buffer: null, time: tile ? [tile.begin, tile.end] : null, source: null, thread: null, expert, request: null });
    const uses = useAsk<LogAnswer>(wanted && tile ? `${here("log")}?from=0&count=500${query}` : null, { keep: true });
    const lanes = about?.lanes ?? [];
    const requests = useAsk<Slots>(about && about.tokens > 1 && tile ? here("slots", { begin: tile.begin, end: tile.end, pixels: Math.min(512, tile.pixels) }) : null, { keep: true }).data;
    const slots = useMemo(() => requestLanes(requests), [requests]);
    const curvesData = curvesAnswer.error ? null : curvesAnswer.data;
    const busy = useMemo(() => busyCurves(held, lanes), [held, lanes]);
    const curves = [...busy, ...transferCurves(curvesData), ...curvesOf(occupancy.data, curvesData)];
    const bounds = about && about.end_ns > about.begin_ns ? { begin: about.begin_ns, end: about.end_ns } : null;
    const fitted = bounds && steps ? fitFor(steps, bounds) : null;
    // With one graph run per token, a row of graph runs would repeat the tokens.
    const levels: Scene["levels"] = about ? [...(about.runs > about.tokens + about.warmup_steps ? (["run"] as const) : []), ...((about.model?.layers ?? 0) > 0 ? (["layer"] as const) : [])] : [];
    if (bounds && fitted) follow(stage, stage.scene.fit, fitted, bounds);
    stage.scene = {
        ...sizesFor(width, room, lanes.length, curves.length, levels.length * levelHeight + slots.lanes.length * requestHeight),
        levels,
        requests: slots.lanes,
        held,
        ruler,
        curves,
        lanes,
        groups: groupsOf(lanes, about?.processes ?? []),
        bounds,
        fit: fitted,
        op: op ? timed(chosenOp.data) : null,
        tokens: spanOf(tokens, stepsAnswer.data),
        uses: wanted && uses.data ? uses.data.ops.flatMap((op) => (op.begin_ns === null || op.fused_with !== null ? [] : [[op.begin_ns, op.begin_ns + (op.duration_ns ?? 0)] as const])) : [],
        pauses: bounds && about?.windows ? pausesOf(about.windows.list, bounds) : [],
        notes: (about?.windows?.list ?? []).flatMap((one) => (one.kind === "mark" ? [{ at: one.begin_ns, text: one.text ?? "" }] : [])),
        moreUses: wanted ? Math.max(0, (uses.data?.total ?? 0) - (uses.data?.ops.length ?? 0)) : 0,
    };
    // The window follows playback.
    useEffect(() => {
        const [shown, played] = [stage.span.peek(), op ? timed(chosenOp.data) : null];
        if (!moving.peek() || !shown || !played || !bounds) return;
        const middle = (shown.begin + shown.end) / 2;
        if (played.begin_ns < shown.begin || played.begin_ns > shown.end) stage.span.value = panned(shown, played.begin_ns - middle, bounds);
    }, [chosenOp.data]);
    const aim = () => {
        const shown = stage.span.peek();
        if (!shown || !stage.scene.bounds || stage.scene.width <= 0) return;
        const next = tileFor(shown, stage.scene.bounds, stage.scene.inner);
        setTile((old) => (isSame(old, next) ? old : next));
    };
    useEffect(() => {
        stage.hover.value = null; // its row belongs to the previous answer
    }, [held]);
    return { held, problem, occupancy: occupancy.data, slotsLeft: slots.left, aim };
}

const inSeconds = (ns: number | undefined) => ((ns ?? 0) / 1e9).toFixed(6);

export default function Timeline() {
    useApplied("tokens", "layer", "tensor", "opType", "op", "region", "buffer", "expert", "lane", "time", "request");
    const about = summary.value;
    const [box, width] = useWidth();
    const [room, setRoom] = useState(0);
    const stage = useStage();
    // As a table there is no picture to measure; the window's width is close enough.
    const [asTable] = useAsTable("timeline");
    const { held, problem, occupancy, slotsLeft, aim } = useScene(stage, about, width === 0 && asTable ? window.innerWidth - 32 : width, room);
    const handlers = useMemo(() => handlersOf(stage), []);

    const asked = useRef(0);
    const schedule = () => {
        asked.current ||= requestAnimationFrame(() => {
            asked.current = 0;
            paint(stage);
        });
    };
    const pointed = useComputed(() => stage.hover.value?.row ?? -1);
    useSignalEffect(() => {
        for (const changed of [stage.span, stage.drag, stage.marks, pointed, selection]) void changed.value;
        theme();
        aim();
        schedule();
    });
    useLayoutEffect(() => {
        aim();
        schedule();
    });
    const resting = useMemo(() => keepZoom(stage), []);
    useSignalEffect(() => {
        void stage.span.value;
        resting();
    });
    // Another address: another window.
    useSignalEffect(() => {
        const [wanted, bounds, shown] = [zoom.value, stage.scene.bounds, stage.span.peek()];
        if (!bounds || !shown) return;
        const to = wanted ? clamp({ begin: wanted[0], end: wanted[1] }, bounds) : stage.scene.fit;
        if (to && (Math.abs(to.begin - shown.begin) > 1 || Math.abs(to.end - shown.end) > 1)) stage.span.value = to;
    });
    useEffect(() => () => cancelAnimationFrame(asked.current), []);
    useEffect(() => registerKeys("timeline", keysOf(stage)), []);
    useEffect(() => {
        // If the page scrolls as a whole, the box is as high as its contents.
        const measureRoom = () => box.current && setRoom(isSmall.value ? Math.round(window.innerHeight * 0.6) : box.current.clientHeight);
        const observer = new ResizeObserver(measureRoom);
        if (box.current) observer.observe(box.current);
        measureRoom();
        return () => observer.disconnect();
    }, [width > 0]);

    if (!about) return <Progress what="the recording" progress={null} />;
    const { lanes, bounds } = stage.scene;
    const tools = (
        <>
            <Legend data={held?.data ?? null} occupancy={occupancy} hasRequests={stage.scene.requests.length > 0} steps={stage.scene.ruler} />
            {bounds && <Shown span={stage.span} bounds={bounds} fitted={stage.scene.fit} onFit={() => fit(stage)} />}
            {stage.marks.value.length > 1 && <span class="badge">{measure(stage.marks.value)}</span>}
            {stage.scene.uses.length > 0 && (
                <span class="badge" data-uses={stage.scene.uses.length}>
                    ▾ {plural(stage.scene.uses.length, "op")} {stage.scene.uses.length === 1 ? "touches" : "touch"} what is selected{stage.scene.moreUses > 0 ? `, ${count(stage.scene.moreUses)} more are not marked` : ""}
                </span>
            )}
            {stage.scene.pauses.length > 0 && about.windows && (
                <span class="badge" data-pauses={stage.scene.pauses.length} title="Nothing is known of what the program did outside of the recording's windows">
                    recorded {time(about.windows.recorded_ns)} of {time(about.windows.whole_ns)}
                </span>
            )}
            {slotsLeft > 0 && <span class="badge">{plural(slotsLeft, "slot")} more in Statistics</span>}
            {problem && <span class="problem">{problem}</span>}
        </>
    );
    return (
        <TableView
            label="Timeline"
            file="timeline"
            tools={tools}
            table={() => tableOf(held, stage.span.peek() ?? { begin: 0, end: 0 }, lanes)}
            saved={{
                title: "Timeline",
                file: "timeline",
                figure: () => ({ kind: "timeline", since: Math.floor(stage.span.peek()?.begin ?? 0), until: Math.ceil(stage.span.peek()?.end ?? 0) }),
                command: () => `ggscope log --since ${inSeconds(stage.span.peek()?.begin)} --until ${inSeconds(stage.span.peek()?.end)} --json`,
                computed: "Op runs of each thread or queue, their stalls by page faults, waits for streamed weights, and the waits after them. What is too small for a pixel is folded: the longest op stands for it, with their number.",
                csv: () => csvOf(held, stage.span.peek() ?? { begin: 0, end: 0 }, lanes),
            }}
        >
            <div class="timeline" data-scroll="lanes" ref={box}>
                <canvas
                    ref={(element) => {
                        stage.canvas = element;
                    }}
                    tabIndex={0}
                    role="application"
                    aria-roledescription="timeline"
                    aria-label={`Timeline: ${plural(lanes.length, "lane")}, ${count(about.op_runs)} op runs. Arrow keys step from op to op and from lane to lane, W and S zoom, A and D pan.`}
                    {...handlers}
                />
                {stage.scene.groups.length > 0 && <p class="timeline-processes">{stage.scene.groups.map((group) => group.title).join("; ")}</p>}
                {!held && !problem && <Progress what="the timeline" progress={null} />}
                <Tip at={stage.hover} data={held?.data ?? null} curves={stage.scene.curves} lanes={lanes} />
            </div>
        </TableView>
    );
}
