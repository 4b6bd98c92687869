// Navigation in the graph: by wheel, by keys, and to the selection.
import { useEffect, useRef } from "preact/hooks";
import { registerKeys } from "../../keys";
import { announce } from "../../shell/Announce";
import type { Block, Blocks } from "./blocks";
import { NODE_WIDTH } from "./layout-size";
import { layoutOf, pending } from "./layouts";
import { bestFit, HEADER, place, type Placed } from "./place";
import { columns, expanded, leastScale, scale, setOpen, zoomBy, type RunGraph } from "./state";

export function zoomWheel(event: WheelEvent) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 300));
}

// Shows all blocks at once, open ones too, in the number of columns that makes them largest.
export function fit(box: HTMLElement | null, made: Blocks) {
    if (!box) return;
    const isOpen = (block: Block) => expanded.value.has(block.key);
    const best = bestFit(box.clientWidth - 20, box.clientHeight - 32, made.blocks.length, (n) => place(made.blocks, isOpen, layoutOf, n, box.clientWidth - 20));
    columns.value = best.columns;
    scale.value = Math.min(1, Math.max(leastScale, best.scale));
    box.scrollTo(0, 0);
}

// Fits when all open blocks have their layout.
export function useFitWhenLaidOut(box: { current: HTMLDivElement | null }, made: Blocks): () => void {
    const wanted = useRef(false);
    const isDone = pending.value === 0 && made.blocks.every((block) => !expanded.value.has(block.key) || layoutOf(block.shape));
    useEffect(() => {
        if (!wanted.current || !isDone) return;
        wanted.current = false;
        fit(box.current, made);
    });
    return () => {
        wanted.current = true;
    };
}

// Opens the block of the selected row and brings the node into sight.
export function useReveal(box: { current: HTMLDivElement | null }, made: Blocks, placed: Placed, row: number, version: number) {
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

export function useGraphKeys(
    box: { current: HTMLDivElement | null },
    graph: RunGraph,
    made: Blocks,
    placed: Placed,
    row: number,
    press: (row: number) => void,
) {
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
            Digit0: () => fit(box.current, state.current.made),
        });
    }, []);
}
