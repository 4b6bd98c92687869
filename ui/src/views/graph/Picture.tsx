// The blocks of a graph. Only visible ones are drawn.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { time } from "../../format";
import { announce } from "../../shell/Announce";
import { isSavingAll } from "../../shell/save";
import { select, selection } from "../../state";
import { Bar } from "./Bar";
import { BlockView, describe } from "./BlockView";
import { kinds, search, type Block, type Blocks } from "./blocks";
import { arrived, layoutOf, nodesLaidOut, pending, wantLayouts } from "./layouts";
import { Links } from "./Links";
import { fit, useFitWhenLaidOut, useGraphKeys, useReveal, zoomWheel } from "./moves";
import { between, columnsFor, place, type Placed } from "./place";
import type { Shades } from "./shades";
import { columns, computedWith, expanded, rowOf, scale, setOpen, standsFor, text, type RunGraph } from "./state";
import { stepWord } from "../../step";

const isOpen = (block: Block) => expanded.value.has(block.key);

// The selected row; for a node that was computed with another one, the row of that one. -1: none of
// this graph.
function selectedRow(graph: RunGraph): number {
    const { op } = selection.value;
    if (!op || op.run !== graph.run) return -1;
    const stands = standsFor.value;
    return stands?.run === op.run && stands.node === op.node ? stands.row : rowOf(graph, op.node);
}

function pressNode(graph: RunGraph, row: number): void {
    const node = graph.node[computedWith(graph, row)]!;
    standsFor.value = { run: graph.run, row, node };
    select({ op: { run: graph.run, node } });
    const took = graph.kind[row] === 0 ? time(graph.time[row]!) : kinds[graph.kind[row]!];
    announce(`${graph.ops[graph.op[row]!]} ${graph.names[row]}, ${took}`);
}

// The visible range of the content in pixels.
function useSight(box: { current: HTMLDivElement | null }, placed: Placed, setRoom: (room: [number, number]) => void): [[number, number], () => void] {
    const [seen, setSeen] = useState<[number, number]>([0, 900]);
    const look = () => {
        const at = box.current;
        if (at) setSeen([at.scrollTop / scale.value, (at.scrollTop + at.clientHeight) / scale.value]);
    };
    useEffect(() => {
        const measure = () => {
            look();
            if (box.current) setRoom([box.current.clientWidth - 20, box.current.clientHeight - 32]);
        };
        const observer = new ResizeObserver(measure);
        observer.observe(box.current!);
        measure();
        return () => observer.disconnect();
    }, []);
    useEffect(look, [scale.value, placed]);
    return [seen, look];
}

// Nodes that match the selected layer, op and tensor; null without such a selection.
function fitsOf(graph: RunGraph): ((row: number) => boolean) | null {
    const { layer, opType, tensor } = selection.value;
    if (layer === null && opType === null && tensor === null) return null;
    const reads = new Set<number>();
    for (let i = 0; tensor !== null && i < graph.source.length; i++) {
        const source = graph.source[i]!;
        const name = source < graph.rows ? graph.names[source] : graph.leaves[source - graph.rows]?.name;
        if (name === tensor) reads.add(graph.target[i]!);
    }
    return (row) =>
        (layer === null || graph.layer[row] === layer) &&
        (opType === null || graph.ops[graph.op[row]!] === opType) &&
        (tensor === null || graph.names[row] === tensor || reads.has(row));
}

export function Picture({ graph, made, shades }: { graph: RunGraph; made: Blocks; shades: Shades | null }) {
    const box = useRef<HTMLDivElement>(null);
    const found = useMemo(() => search(graph, made, text.value), [graph, made, text.value]);
    const row = selectedRow(graph);
    const version = arrived.value;
    const [room, setRoom] = useState<[number, number]>([0, 0]);
    const inColumns = columns.value ?? columnsFor(made.blocks.length, room[0] / scale.value, room[1] / scale.value);
    const placed = useMemo(() => place(made.blocks, isOpen, layoutOf, inColumns, room[0]), [made, expanded.value, version, inColumns, room[0]]);
    const [seen, look] = useSight(box, placed, setRoom);
    const fitSoon = useFitWhenLaidOut(box, made);
    const fits = useMemo(() => fitsOf(graph), [graph, selection.value]);
    const press = (target: number) => pressNode(graph, target);
    useEffect(() => wantLayouts(made.blocks.filter(isOpen).map((block) => block.shape)), [made, expanded.value]);
    useReveal(box, made, placed, row, version);
    useGraphKeys(box, graph, made, placed, row, press);

    const all = isSavingAll.value;
    const inSight = useMemo(() => new Set(all ? placed.top.keys() : between(placed, seen[0] - 200, seen[1] + 200)), [placed, seen, all]);
    const { width, total } = placed;
    return (
        <>
            <Bar graph={graph} made={made} shades={shades} found={found} row={row} press={press} fit={() => fit(box.current, made)} fitSoon={fitSoon} root={() => box.current} />
            <div
                class="graph-scroll"
                data-scroll="blocks"
                ref={box}
                tabIndex={0}
                role="group"
                aria-label={`Graph of ${stepWord()} ${graph.token}: ${describe(graph, made)}`}
                onScroll={look}
                onWheel={zoomWheel}
                data-picture-of="graph"
                data-nodes={graph.rows}
                data-shapes={made.shapes.size}
                data-laid-out={nodesLaidOut.value}
                data-pending={pending.value}
            >
                <div class="graph-size" style={{ width: `${width * scale.value}px`, height: `${total * scale.value}px` }}>
                    <div class="graph-content" style={{ width: `${width}px`, height: `${total}px`, transform: `scale(${scale.value})` }}>
                        <Links made={made} placed={placed} inSight={inSight} isOpen={isOpen} />
                        <InSight graph={graph} made={made} shades={shades} placed={placed} inSight={inSight} found={found} row={row} fits={fits} press={press} />
                    </div>
                </div>
            </div>
        </>
    );
}

interface InSightProps {
    graph: RunGraph;
    made: Blocks;
    shades: Shades | null;
    placed: Placed;
    inSight: ReadonlySet<number>;
    fits: ((row: number) => boolean) | null; // null: nothing is asked for
    found: { rows: number[]; perBlock: number[] };
    row: number;
    press(row: number): void;
}

function InSight({ graph, made, shades, placed, inSight, found, row, fits, press }: InSightProps) {
    const { layer } = selection.value;
    const longest = useMemo(() => Math.max(1, ...made.blocks.map((block) => block.time)), [made]);
    const longestNode = useMemo(() => made.blocks.reduce((most, block) => block.rows.reduce((m, r) => Math.max(m, graph.time[r]!), most), 1), [made]);
    const matching = useMemo(() => new Set(found.rows), [found]);
    return (
        <>
            {made.blocks.map((block, index) => {
                if (!inSight.has(index)) return null;
                const open = isOpen(block);
                const box = { left: `${placed.left[index]}px`, top: `${placed.top[index]}px`, height: `${placed.height[index]}px`, width: `${placed.wide[index]}px` };
                const isBeside = fits !== null && !block.rows.some(fits);
                return (
                    <div class={`block${open ? " open" : ""}${isBeside ? " beside" : ""}`} key={block.key} style={box}>
                        <BlockView
                            {...{ graph, made, shades, block, index, longest, longestNode, matching, fits, press }}
                            layout={layoutOf(block.shape)}
                            expanded={open}
                            filtered={layer === block.layer}
                            inset={placed.inset[index]! - placed.left[index]!}
                            matches={found.perBlock[index]!}
                            selected={row}
                            toggle={() => setOpen([block.key], !open)}
                            filter={() => select({ layer: layer === block.layer ? null : block.layer })}
                        />
                    </div>
                );
            })}
        </>
    );
}
