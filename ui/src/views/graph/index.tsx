// View 3: the graph of a token step, collapsed to its layers; a layer opens where it stands.
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAsk, type Columns } from "../../ask";
import { families, opFamily } from "../../colours";
import { plural, time } from "../../format";
import { registerKeys } from "../../keys";
import { announce } from "../../shell/Announce";
import { here, select, selection, summary } from "../../state";
import { Waiting } from "../statistics/Waiting";
import { BlockView, describe } from "./BlockView";
import { kinds, makeBlocks, search, type Block, type Blocks, type Graph, type Leaf } from "./blocks";
import { NODE_WIDTH } from "./layout-size";
import { arrived, failure, layoutOf, nodesLaidOut, pending, stopLayouts, wantLayouts } from "./layouts";
import { between, HEADER, place, type Placed } from "./place";
import "./graph.css";

declare const REPORT: boolean; // set by build.mjs

const expanded = signal<ReadonlySet<string>>(new Set());
const withViews = signal(false);
const scale = signal(1);
const text = signal("");
// A node that was not computed by itself has no card; it is shown as selected together with the op that stands for it.
const standsFor = signal<{ run: number; row: number; node: number } | null>(null);

interface Told extends Graph {
    token: number;
    run: number;
    runs: { run: number; backend?: string }[]; // of the token step
}

function told(answer: Columns): Told {
    const header = answer.header as { ops: string[]; names: string[]; leaves: Leaf[]; token?: number; run?: number; runs?: Told["runs"] };
    return {
        rows: answer.rows,
        node: answer.column("node"),
        op: answer.column("op"),
        layer: answer.column("layer"),
        kind: answer.column("kind"),
        time: answer.column("time"),
        source: answer.column("source"),
        target: answer.column("target"),
        ops: header.ops,
        names: header.names,
        leaves: header.leaves,
        token: header.token ?? 0,
        run: header.run ?? 0,
        runs: header.runs ?? [],
    };
}

// Which graph to ask for: that of the op or that of the tokens, whichever was selected last. A report holds those of the first two
// tokens only.
let before = selection.peek();
let byOp = before.op !== null;

function pathOf(): string {
    const { op, tokens } = selection.value;
    if (op !== before.op) byOp = op !== null;
    else if (tokens !== before.tokens) byOp = op !== null && tokens === null;
    before = selection.value;
    if (op && byOp && !REPORT) return here("graph", { run: op.run });
    const usual = Math.min(1, Math.max(0, (summary.value?.tokens ?? 1) - 1));
    return here("graph", { token: tokens?.[0] ?? usual });
}

export default function GraphView() {
    const answer = useAsk<Columns>(pathOf(), { keep: true });
    const graph = useMemo(() => (answer.data ? told(answer.data) : null), [answer.data]);
    const made = useMemo(() => (graph ? makeBlocks(graph, withViews.value) : null), [graph, withViews.value]);
    useEffect(() => stopLayouts, []);
    return (
        <div class="graph">
            <h2 class="unseen">Graph</h2>
            <Waiting answer={answer} what="Reading the graph" />
            {graph && made && <Picture graph={graph} made={made} />}
        </div>
    );
}

function Picture({ graph, made }: { graph: Told; made: Blocks }) {
    const box = useRef<HTMLDivElement>(null);
    const [seen, setSeen] = useState<[number, number]>([0, 900]);
    const found = useMemo(() => search(graph, made, text.value), [graph, made, text.value]);
    const matching = useMemo(() => new Set(found.rows), [found]);
    const { op, layer } = selection.value;
    const row =
        !op || op.run !== graph.run
            ? -1
            : standsFor.value?.run === op.run && standsFor.value.node === op.node
              ? standsFor.value.row
              : rowOf(graph, op.node);
    const isOpen = (block: Block) => expanded.value.has(block.key);
    const version = arrived.value;
    const placed = useMemo(() => place(made.blocks, isOpen, layoutOf), [made, expanded.value, version]);
    const longest = useMemo(() => Math.max(1, ...made.blocks.map((b) => b.time)), [made]);
    const longestNode = useMemo(() => Math.max(1, ...made.blocks.flatMap((b) => b.rows.map((r) => graph.time[r]!))), [graph, made]);
    useEffect(() => wantLayouts(made.blocks.filter(isOpen).map((b) => b.shape)), [made, expanded.value]);

    const look = () => {
        const at = box.current;
        if (at) setSeen([at.scrollTop / scale.value, (at.scrollTop + at.clientHeight) / scale.value]);
    };
    useEffect(() => {
        const observer = new ResizeObserver(look);
        observer.observe(box.current!);
        return () => observer.disconnect();
    }, []);
    useEffect(look, [scale.value, placed]);

    const press = (target: number) => {
        const node = graph.node[computedWith(graph, target)]!;
        standsFor.value = { run: graph.run, row: target, node };
        select({ op: { run: graph.run, node } });
        announce(
            `${graph.ops[graph.op[target]!]} ${graph.names[target]}, ${graph.kind[target] === 0 ? time(graph.time[target]!) : kinds[graph.kind[target]!]}`,
        );
    };
    useReveal(box, made, placed, row, version);
    useGraphKeys(box, graph, made, placed, row, press);

    const [first, last] = between(placed, seen[0] - 200, seen[1] + 200);
    const width = placed.width * scale.value;
    return (
        <>
            <Bar graph={graph} made={made} found={found} row={row} press={press} fit={() => fit(box.current, placed)} />
            <div
                class="graph-scroll"
                ref={box}
                tabIndex={0}
                role="group"
                aria-label={`Graph of token ${graph.token}: ${describe(graph, made)}`}
                onScroll={look}
                onWheel={zoomWheel}
                data-nodes={graph.rows}
                data-shapes={made.shapes.size}
                data-laid-out={nodesLaidOut.value}
                data-pending={pending.value}
            >
                <div class="graph-size" style={{ width: `${width}px`, height: `${placed.total * scale.value}px` }}>
                    <div
                        class="graph-content"
                        style={{ width: `${placed.width}px`, height: `${placed.total}px`, transform: `scale(${scale.value})` }}
                    >
                        <Links made={made} placed={placed} first={first} last={last} isOpen={isOpen} />
                        {made.blocks.slice(first, last).map((block, k) => (
                            <div
                                class={`block${isOpen(block) ? " open" : ""}`}
                                key={block.key}
                                style={{ top: `${placed.top[first + k]}px`, height: `${placed.height[first + k]}px`, width: `${placed.width}px` }}
                            >
                                <BlockView
                                    graph={graph}
                                    made={made}
                                    block={block}
                                    index={first + k}
                                    layout={layoutOf(block.shape)}
                                    expanded={isOpen(block)}
                                    filtered={layer === block.layer}
                                    longest={longest}
                                    longestNode={longestNode}
                                    inset={placed.inset[first + k]!}
                                    matches={found.perBlock[first + k]!}
                                    matching={matching}
                                    selected={row}
                                    toggle={() => setOpen([block.key], !isOpen(block))}
                                    filter={() => select({ layer: layer === block.layer ? null : block.layer })}
                                    press={press}
                                />
                            </div>
                        ))}
                    </div>
                </div>
            </div>
        </>
    );
}

function rowOf(graph: Graph, node: number): number {
    if (graph.node[node] === node) return node;
    for (let row = 0; row < graph.rows; row++) if (graph.node[row] === node) return row;
    return -1;
}

// The row that was computed in a row's place: itself, or for one that was fused or is a view, the last one before it.
function computedWith(graph: Graph, row: number): number {
    for (let at = row; at >= 0; at--) if (graph.kind[at] === 0) return at;
    for (let at = row; at < graph.rows; at++) if (graph.kind[at] === 0) return at;
    return row;
}

function setOpen(keys: Iterable<string>, open: boolean) {
    const next = new Set(expanded.value);
    for (const key of keys) open ? next.add(key) : next.delete(key);
    expanded.value = next;
}

// ---- the line above

function Bar({
    graph,
    made,
    found,
    row,
    press,
    fit,
}: {
    graph: Told;
    made: Blocks;
    found: { rows: number[]; perBlock: number[] };
    row: number;
    press(row: number): void;
    fit(): void;
}) {
    const blocks = found.perBlock.filter((n) => n > 0).length;
    const step = (by: number) => {
        if (found.rows.length === 0) return;
        const at = found.rows.findIndex((r) => r >= row);
        const next = row < 0 ? 0 : at < 0 ? (by > 0 ? 0 : found.rows.length - 1) : found.rows[at] === row ? at + by : by > 0 ? at : at - 1;
        press(found.rows[(next + found.rows.length) % found.rows.length]!);
    };
    return (
        <div class="graph-bar">
            <strong>token {graph.token}</strong>
            {graph.runs.length > 1 && (
                <label>
                    graph run{" "}
                    <select value={String(graph.run)} onChange={(event) => select({ op: { run: Number(event.currentTarget.value), node: 0 } })}>
                        {graph.runs.map(({ run, backend }, i) => (
                            <option value={String(run)} key={run}>
                                {i + 1} of {graph.runs.length}
                                {backend ? `, ${backend}` : ""}
                            </option>
                        ))}
                    </select>
                </label>
            )}
            <label>
                search{" "}
                <input
                    type="search"
                    placeholder="op, tensor or weight"
                    value={text.value}
                    onInput={(event) => (text.value = event.currentTarget.value)}
                    onKeyDown={(event) => {
                        if (event.key === "Enter") (event.preventDefault(), step(event.shiftKey ? -1 : 1));
                    }}
                />
            </label>
            {text.value.trim() !== "" && (
                <span role="status" class="graph-found" data-matches={found.rows.length}>
                    {found.rows.length === 0
                        ? "nothing found"
                        : `${plural(found.rows.length, "match", "matches")} in ${plural(blocks, "block")}; Enter for the next`}
                </span>
            )}
            <label>
                <input type="checkbox" checked={withViews.value} onChange={(event) => (withViews.value = event.currentTarget.checked)} /> views and
                reshapes
            </label>
            <span class="buttons">
                <button
                    type="button"
                    onClick={() =>
                        setOpen(
                            made.blocks.map((b) => b.key),
                            true,
                        )
                    }
                >
                    expand all
                </button>
                <button type="button" onClick={() => (expanded.value = new Set())}>
                    collapse all
                </button>
                <button type="button" onClick={() => zoomBy(1 / 1.25)} aria-label="Zoom out">
                    −
                </button>
                <button type="button" onClick={() => zoomBy(1.25)} aria-label="Zoom in">
                    +
                </button>
                <button type="button" onClick={fit}>
                    fit
                </button>
            </span>
            {pending.value > 0 && (
                <span role="status">
                    laying out…{" "}
                    <button type="button" onClick={() => (stopLayouts(), (expanded.value = new Set()))}>
                        stop
                    </button>
                </span>
            )}
            {failure.value && (
                <span class="failed" role="alert">
                    {failure.value}
                </span>
            )}
            <span class="graph-legend">
                {families
                    .filter((f) => made.blocks.some((b) => b.rows.some((r) => opFamily(graph.ops[graph.op[r]!] ?? "") === f)))
                    .map((f) => (
                        <span key={f.name}>
                            <i class={`swatch pattern-${f.pattern}`} style={{ "--swatch": f.colour }} />
                            {f.name}
                        </span>
                    ))}
            </span>
        </div>
    );
}

// ---- edges between blocks

function Links({ made, placed, first, last, isOpen }: { made: Blocks; placed: Placed; first: number; last: number; isOpen(block: Block): boolean }) {
    const x = (i: number, end: "entry" | "exit") => {
        const layout = isOpen(made.blocks[i]!) ? layoutOf(made.blocks[i]!.shape) : undefined;
        const point = layout?.[end];
        return point ? placed.inset[i]! + point.x : placed.width / 2;
    };
    const bottom = (i: number) => placed.top[i]! + placed.height[i]!;
    const inSight = made.links.filter(({ from, to }) => Math.min(from, to) < last && Math.max(from, to) >= first).slice(0, 400);
    return (
        <svg class="edges" width={placed.width} height={placed.total} aria-hidden="true">
            <defs>
                {["arrow", "arrow-on"].map((id) => (
                    <marker id={id} key={id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">
                        <path d="M0 0L8 4L0 8Z" class={id} />
                    </marker>
                ))}
            </defs>
            {inSight.map(({ from, to }) => {
                if (to !== from + 1) {
                    const [y0, y1] = [bottom(from), placed.top[to]!];
                    return (
                        <path key={`${from} ${to}`} class="edge far" d={`M24 ${y0}C4 ${y0 + 30} 4 ${y1 - 30} 24 ${y1}`} marker-end="url(#arrow)" />
                    );
                }
                // Inside an open block the header hides the way from its top edge to where its insides begin.
                const [x0, x1] = [x(from, "exit"), x(to, "entry")];
                return <path key={`${from} ${to}`} class="edge" d={`M${x0} ${bottom(from)}L${x1} ${placed.top[to]!}`} marker-end="url(#arrow)" />;
            })}
        </svg>
    );
}

// ---- moving

function zoomBy(factor: number) {
    scale.value = Math.min(3, Math.max(0.1, scale.value * factor));
}

function zoomWheel(event: WheelEvent) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 300));
}

function fit(box: HTMLElement | null, placed: Placed) {
    if (!box) return;
    scale.value = Math.min(1, Math.max(0.1, Math.min((box.clientWidth - 4) / placed.width, (box.clientHeight - 4) / Math.max(1, placed.total))));
    box.scrollTo(0, 0);
}

// Opens the block of the selected row and brings the node into sight.
function useReveal(box: { current: HTMLDivElement | null }, made: Blocks, placed: Placed, row: number, version: number) {
    const shown = useRef(-1);
    useEffect(() => {
        if (row < 0) shown.current = -1;
        if (row < 0 || shown.current === row) return;
        const index = made.blockOf[row]!;
        const block = made.blocks[index];
        if (!block) return;
        if (!expanded.value.has(block.key)) {
            setOpen([block.key], true);
            return;
        }
        const layout = layoutOf(block.shape);
        if (!layout || !box.current) return;
        shown.current = row;
        const i = block.rows.indexOf(row);
        const [x, y] = [placed.inset[index]! + layout.x[i]!, placed.top[index]! + HEADER + layout.y[i]!].map((v) => v * scale.value) as [
            number,
            number,
        ];
        const { clientWidth, clientHeight, scrollLeft, scrollTop } = box.current;
        const [w, h] = [NODE_WIDTH * scale.value, layout.h[i]! * scale.value];
        const inside = x >= scrollLeft && x + w <= scrollLeft + clientWidth && y >= scrollTop + 8 && y + h <= scrollTop + clientHeight - 8;
        if (!inside) box.current.scrollTo(x - (clientWidth - w) / 2, y - (clientHeight - h) / 2);
    }, [row, made, placed, version, expanded.value]);
}

function useGraphKeys(box: { current: HTMLDivElement | null }, graph: Told, made: Blocks, placed: Placed, row: number, press: (row: number) => void) {
    const state = useRef({ graph, made, placed, row, press });
    state.current = { graph, made, placed, row, press };
    useEffect(() => {
        const walk = (lists: "sources" | "consumers") => {
            const now = state.current;
            const next = now.row < 0 ? now.made.blocks[0]?.rows[0] : now.made[lists][now.row]?.[0];
            if (next === undefined) announce(lists === "sources" ? "This op has no producer in the graph." : "Nothing in the graph reads this.");
            else now.press(next);
        };
        const order = (by: number) => {
            const now = state.current;
            for (let next = now.row + by; next >= 0 && next < now.graph.rows; next += by) if (now.made.blockOf[next]! >= 0) return now.press(next);
        };
        const pan = (by: number) => box.current?.scrollBy({ left: by * 120 });
        return registerKeys("graph", {
            BracketLeft: () => walk("sources"),
            BracketRight: () => walk("consumers"),
            Comma: () => order(-1),
            Period: () => order(1),
            KeyW: () => zoomBy(1.25),
            KeyS: () => zoomBy(1 / 1.25),
            KeyA: () => pan(-1),
            KeyD: () => pan(1),
            KeyF: () => {
                scale.value = 1;
                document.getElementById(`node-${state.current.row}`)?.scrollIntoView({ block: "center", inline: "center" });
            },
            Digit0: () => fit(box.current, state.current.placed),
        });
    }, []);
}
