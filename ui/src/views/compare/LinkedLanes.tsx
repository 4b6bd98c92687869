// The same token of two recordings, on one time scale. The op under the pointer is marked in both.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAsk, type Columns } from "../../ask";
import { density, opFamily, theme } from "../../colours";
import { instant, time } from "../../format";
import { announce } from "../../shell/Announce";
import { steps } from "../../shell/Chart";
import { Families } from "../../shell/Families";
import { Picture } from "../../shell/Picture";
import { TableView } from "../../shell/TableView";
import { asNumber, asRange, experiments, kept, select, selection, there } from "../../state";
import { changeText } from "./answers";
import { keysOf, opsOf, rowAt, within, type Op, type Runs } from "./lanes";


const LANE = 18,
    GAP = 3;

// The shown part of the token, in ns after its begin; null: all of it.
const chosenToken = kept<number | null>("lanes-token", null, asNumber);
const zoomed = kept<[number, number] | null>("lanes", null, asRange, { isZoom: true });

interface Span {
    begin: number;
    end: number;
}

function spanOf(answer: Columns | null, token: number): Span | null {
    if (!answer) return null;
    const [first, last, begin, end] = ["first_token", "last_token", "begin_ns", "end_ns"].map((name) => answer.column(name));
    for (let row = 0; row < answer.rows; row++)
        if (first![row]! <= token && token <= last![row]!) return { begin: answer.base_ns + begin![row]!, end: answer.base_ns + end![row]! };
    return null;
}

function runsOf(answer: Columns | null, span: Span | null): Runs | null {
    if (!answer || !span || !answer.has("duration_ns")) return null;
    const header = answer.header as { ops?: string[] };
    const lane = answer.column("lane");
    const shift = answer.base_ns - span.begin;
    return {
        begin: span.begin,
        ops: header.ops ?? [],
        lanes: [...new Set(lane)].sort((x, y) => x - y),
        lane,
        op: answer.column("op"),
        layer: answer.column("layer"),
        start: Array.from(answer.column("begin_ns"), (v) => v + shift),
        duration: answer.column("duration_ns"),
        wait: answer.column("wait_ns"),
        run: answer.column("run"),
        node: answer.column("node"),
        rows: answer.rows,
    };
}

function useRuns(index: number, token: number): { runs: Runs | null; span: Span | null; folded: boolean } {
    const tokens = useAsk<Columns>(there(index, "tokens", { bins: 64, from: token, to: token }));
    const span = useMemo(() => spanOf(tokens.data, token), [tokens.data, token]);
    const answer = useAsk<Columns>(span && there(index, "timeline", { begin: Math.floor(span.begin), end: Math.ceil(span.end), pixels: 4096 }));
    const runs = useMemo(() => runsOf(answer.data, span), [answer.data, span]);
    return { runs, span, folded: answer.data !== null && runs === null };
}

export function LinkedLanes({ a, b, last }: { a: number; b: number; last: number }) {
    const token = Math.min(last, selection.value.tokens?.[0] ?? chosenToken.value ?? 1);
    const setToken = (next: number) => {
        chosenToken.value = next;
        if (selection.value.tokens) select({ tokens: [next, next] });
    };
    const [left, right] = [useRuns(a, token), useRuns(b, token)];
    const [marked, setMarked] = useState<string | null>(null);
    const keys = useMemo(() => [left.runs ? keysOf(left.runs) : [], right.runs ? keysOf(right.runs) : []] as const, [left.runs, right.runs]);
    const whole = Math.max(1, ...[left.span, right.span].map((span) => (span ? span.end - span.begin : 0)));
    const shown: [number, number] = zoomed.value && zoomed.value[0] < whole ? [zoomed.value[0], Math.min(whole, zoomed.value[1])] : [0, whole];
    const show = (next: [number, number]) => (zoomed.value = within(next, whole));
    const directory = (index: number) => experiments.value.find((one) => one.index === index)?.directory ?? "DIR";
    const ops = useMemo(() => [tokenOps(left.runs, keys[0]), tokenOps(right.runs, keys[1])] as const, [keys]);
    const say = (key: string | null) => {
        setMarked(key);
        if (key !== null) announce(sentence(ops[0], ops[1], key));
    };
    return (
        <section class="linked" aria-labelledby="linked-title">
            <div class="table-head">
                <h3 id="linked-title">The same token in both</h3>
                <label>
                    token{" "}
                    <input
                        type="number"
                        min={0}
                        max={last}
                        value={token}
                        onInput={(event) => {
                            const n = event.currentTarget.valueAsNumber;
                            if (Number.isInteger(n) && n >= 0 && n <= last) setToken(n);
                        }}
                    />
                </label>
                <span class="quiet" role="status">
                    {marked !== null
                        ? sentence(ops[0], ops[1], marked)
                        : "one scale for both; point at an op to find it in the other"}
                </span>
            </div>
            {left.folded || right.folded ? <p class="quiet">This token has more op runs than fit here: the timeline shows them.</p> : null}
            <Picture
                title="Lanes of both"
                file="compare-lanes"
                figure={() => ({ kind: "timeline", of: `${a},${b}`, tokens: `${token}..${token}` })}
                command={`ggscope log --token ${token} --json`}
                of={directory(a)}
                computed="Op runs of this token in both recordings, from the begin of the token, on one scale. The command with the other directory gives those of B."
                csv={() => csvOf(ops[0], ops[1])}
                tools={
                    <span class="quiet">
                        Ctrl+wheel or <kbd>W</kbd> <kbd>S</kbd> zoom, drag or <kbd>A</kbd> <kbd>D</kbd> pan, <kbd>0</kbd> fits
                    </span>
                }
            >
                <TableView
                    label="Lanes of both recordings"
                    file="compare-lanes"
                    table={() => tableOf(ops[0], ops[1])}
                    tools={
                        <div class="legend">
                            <Families of={[left.runs, right.runs].flatMap((runs) => (runs ? Array.from(runs.op, (op) => runs.ops[op] ?? "") : []))} />
                        </div>
                    }
                >
                    <Lane name="A" runs={left.runs} keys={keys[0]} shown={shown} show={show} marked={marked} mark={say} />
                    <Lane name="B" runs={right.runs} keys={keys[1]} shown={shown} show={show} marked={marked} mark={say} />
                    <Axis shown={shown} />
                </TableView>
            </Picture>
        </section>
    );
}

// The ops of one recording's token.
interface TokenOps {
    runs: Runs;
    ops: Map<string, Op>;
}

const tokenOps = (runs: Runs | null, keys: readonly string[]): TokenOps | null => runs && { runs, ops: opsOf(runs, keys) };

function sentence(a: TokenOps | null, b: TokenOps | null, key: string): string {
    const side = a?.ops.has(key) ? a : b;
    const op = side?.ops.get(key);
    if (!side || !op) return "";
    const { runs } = side;
    const layer = runs.layer[op.row]! < 0 ? "no layer" : `layer ${runs.layer[op.row]}`;
    const [inA, inB] = [a?.ops.get(key), b?.ops.get(key)];
    const took = (one: Op | undefined) => (one ? `${time(one.duration)}${one.lanes > 1 ? ` on ${one.lanes} lanes` : ""}` : "not there");
    const changed = inA && inB ? ` (${changeText(inA.duration, inB.duration)})` : "";
    return `${runs.ops[runs.op[op.row]!]}, ${layer}: A ${took(inA)}, B ${took(inB)}${changed}`;
}

// The shown ops as a table, in ns.
function csvOf(a: TokenOps | null, b: TokenOps | null) {
    const keys = new Set([...(a?.ops.keys() ?? []), ...(b?.ops.keys() ?? [])]);
    const rows = [...keys].map((key) => {
        const side = a?.ops.has(key) ? a : b!;
        const row = side.ops.get(key)!.row;
        const start = (one: TokenOps | null) => (one?.ops.has(key) ? one.runs.start[one.ops.get(key)!.row]! : null);
        return [side.runs.ops[side.runs.op[row]!] ?? "", side.runs.layer[row]! < 0 ? null : side.runs.layer[row]!, start(a), a?.ops.get(key)?.duration ?? null, start(b), b?.ops.get(key)?.duration ?? null];
    });
    return { columns: ["op", "layer", "a_begin_ns", "a_ns", "b_begin_ns", "b_ns"], rows };
}

function Axis({ shown: [from, to] }: { shown: [number, number] }) {
    const ticks = steps(to - from, 6);
    const step = ticks[1]! - ticks[0]!;
    const first = Math.ceil(from / step) * step;
    // A label near the right edge would be cut.
    const last = to - (to - from) / 10;
    const places = Array.from({ length: Math.max(1, Math.floor((last - first) / step) + 1) }, (_, i) => first + i * step);
    return (
        <div class="compare-lane compare-axis" aria-hidden="true">
            <span />
            <div>
                {places.map((at) => (
                    <span style={{ left: `${(100 * (at - from)) / (to - from)}%` }}>{instant(at, step)}</span>
                ))}
            </div>
        </div>
    );
}

function tableOf(a: TokenOps | null, b: TokenOps | null) {
    const keys = a ? [...a.ops.keys()] : [];
    const rows = keys.slice(0, 500).map((key) => {
        const { runs, ops } = a!;
        const op = ops.get(key)!,
            other = b?.ops.get(key);
        return [
            runs.ops[runs.op[op.row]!] ?? "",
            runs.layer[op.row]! < 0 ? "none" : String(runs.layer[op.row]),
            String(op.lanes),
            time(op.duration),
            other ? time(other.duration) : "not there",
            other ? changeText(op.duration, other.duration) : "",
        ];
    });
    return {
        caption: "Ops of the token in both recordings",
        columns: ["op", "layer", "lanes of A", "A", "B", "change"],
        rows,
        more: Math.max(0, keys.length - 500),
    };
}

interface LaneProps {
    name: string;
    runs: Runs | null;
    keys: readonly string[];
    shown: [number, number]; // ns after the token's begin
    show(next: [number, number]): void;
    marked: string | null;
    mark(key: string | null): void;
}

function Lane({ name, runs, keys, shown, show, marked, mark }: LaneProps) {
    const [from, to] = shown;
    const longest = to - from;
    const held = useRef<{ x: number; shown: [number, number] } | null>(null);
    const canvas = useRef<HTMLCanvasElement>(null);
    const [width, setWidth] = useState(600);
    const lanes = Math.max(1, runs?.lanes.length ?? 1);
    const height = lanes * (LANE + GAP);
    const colours = theme();
    useEffect(() => {
        const observer = new ResizeObserver(() => canvas.current && setWidth(canvas.current.clientWidth));
        observer.observe(canvas.current!);
        return () => observer.disconnect();
    }, []);
    useEffect(() => {
        const at = canvas.current!;
        const fine = density();
        at.width = width * fine;
        at.height = height * fine;
        const g = at.getContext("2d")!;
        g.scale(fine, fine);
        g.clearRect(0, 0, width, height);
        if (runs) draw(g, runs, keys, from, width / longest, marked, colours);
    }, [runs, keys, width, height, from, longest, marked, colours]);
    // Not through Preact: a passive listener could not keep the page from zooming.
    useEffect(() => {
        const at = canvas.current!;
        const wheel = (event: WheelEvent) => {
            if (!event.ctrlKey) return;
            event.preventDefault();
            const box = at.getBoundingClientRect();
            zoomAt((event.clientX - box.left) / box.width, event.deltaY > 0 ? 1.25 : 0.8);
        };
        at.addEventListener("wheel", wheel, { passive: false });
        return () => at.removeEventListener("wheel", wheel);
    });
    const zoomAt = (share: number, by: number) => {
        const pivot = from + share * longest;
        show([pivot - share * longest * by, pivot + (1 - share) * longest * by]);
    };

    const point = (event: PointerEvent) => {
        const box = canvas.current!.getBoundingClientRect();
        if (held.current) {
            const by = ((held.current.x - event.clientX) / box.width) * longest;
            show([held.current.shown[0] + by, held.current.shown[1] + by]);
            return;
        }
        if (!runs) return;
        const row = rowAt(
            runs,
            Math.floor((event.clientY - box.top) / (LANE + GAP)),
            from + ((event.clientX - box.left) / width) * longest,
            (3 / width) * longest,
        );
        mark(row < 0 ? null : keys[row]!);
    };
    const step = (event: KeyboardEvent) => {
        const moves: Record<string, () => void> = {
            KeyW: () => zoomAt(0.5, 0.8),
            KeyS: () => zoomAt(0.5, 1.25),
            KeyA: () => show([from - longest / 8, to - longest / 8]),
            KeyD: () => show([from + longest / 8, to + longest / 8]),
            Digit0: () => show([0, Infinity]),
        };
        const move = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.code];
        if (move) {
            event.preventDefault();
            event.stopPropagation();
            return move();
        }
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by || !runs || runs.rows === 0) return;
        event.preventDefault();
        event.stopPropagation();
        const order = orderOf(runs);
        const now = marked === null ? -1 : order.findIndex((row) => keys[row] === marked);
        mark(keys[order[Math.min(order.length - 1, Math.max(0, now + by))]!]!);
    };
    return (
        <div class="compare-lane">
            <span class={"compare-lane-name"}>{name}</span>
            <canvas
                ref={canvas}
                tabIndex={0}
                role="img"
                aria-label={`Op runs of ${name}; the arrow keys go from one to the next, W and S zoom`}
                style={{ height: `${height}px` }}
                onPointerDown={(event) => {
                    held.current = { x: event.clientX, shown };
                    canvas.current!.setPointerCapture(event.pointerId);
                }}
                onPointerUp={() => (held.current = null)}
                onPointerCancel={() => (held.current = null)}
                onPointerMove={point}
                onPointerLeave={() => mark(null)}
                onKeyDown={step}
            />
        </div>
    );
}

const orders = new WeakMap<Runs, number[]>();
function orderOf(runs: Runs): number[] {
    let order = orders.get(runs);
    if (!order) orders.set(runs, (order = Array.from({ length: runs.rows }, (_, i) => i).sort((x, y) => runs.start[x]! - runs.start[y]!)));
    return order;
}

function draw(
    g: CanvasRenderingContext2D,
    runs: Runs,
    keys: readonly string[],
    from: number,
    scale: number,
    marked: string | null,
    colours: ReturnType<typeof theme>,
) {
    const { layer, opType } = selection.value;
    for (let row = 0; row < runs.rows; row++) {
        const op = runs.ops[runs.op[row]!] ?? "";
        const x = (runs.start[row]! - from) * scale,
            w = Math.max(0.75, runs.duration[row]! * scale);
        const y = runs.lanes.indexOf(runs.lane[row]!) * (LANE + GAP);
        const wanted = (layer === null || runs.layer[row] === layer) && (opType === null || op === opType);
        g.globalAlpha = wanted ? 1 : 0.2;
        g.fillStyle = opFamily(op).colour;
        g.fillRect(x, y, w, LANE);
        g.globalAlpha = 1;
        if (keys[row] === marked) {
            g.strokeStyle = colours.ink;
            g.lineWidth = 2;
            g.strokeRect(x - 1, y + 1, Math.max(4, w + 2), LANE - 2);
        }
    }
}
