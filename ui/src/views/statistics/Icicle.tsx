// The time of a token: token, layer, component and op in rows, as wide as their time or bytes.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogAnswer } from "../../api";
import { useAsk } from "../../ask";
import { opFamily, theme } from "../../colours";
import { bytes, plural, share, time } from "../../format";
import { announce } from "../../shell/Announce";
import { canvasFont, paintOn, textWithin, useWidth } from "../../shell/Canvas";
import { Picture } from "../../shell/Picture";
import { asText, here, kept, select, selection, summary } from "../../state";
import { type Box, boxesOf, type Leaf, leavesOf } from "./token-boxes";
import { Waiting } from "./Waiting";

const weights = ["time", "bytes"] as const;
const shown = kept<(typeof weights)[number]>("icicle", "time", asText(weights));
const rowHeight = 30;
const most = 5000;
const pages = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

// The rows of one token, a page at a time.
function useLeaves(token: number): { leaves: Leaf[]; total: number; waiting: ReturnType<typeof useAsk<LogAnswer>> } {
    const first = useAsk<LogAnswer>(here("log", { from: 0, count: 500, tokens: `${token}..${token}` }), { keep: true });
    const total = Math.min(most, first.data?.total ?? 0);
    // Hooks need a fixed number of calls per render: pages beyond the end ask nothing.
    const rest = pages.slice(1).map((page) => useAsk<LogAnswer>(page * 500 < total ? here("log", { from: page * 500, count: 500, tokens: `${token}..${token}` }) : null).data);
    const leaves = useMemo(() => leavesOf([first.data, ...rest].flatMap((answer) => answer?.ops ?? [])), [first.data, ...rest]);
    return { leaves, total: first.data?.total ?? 0, waiting: first };
}

const allBoxes = { from: 0, to: 1 };
const boxed = kept("boxes", allBoxes, {
    write: ({ from, to }) => `${from.toFixed(6)}..${to.toFixed(6)}`,
    read: (text) => {
        const match = /^(0\.\d{1,9}|0)\.\.([01]\.\d{1,9}|1)$/.exec(text);
        return match && Number(match[1]) < Number(match[2]) ? { from: Number(match[1]), to: Number(match[2]) } : undefined;
    },
}, { isZoom: true });

export function Icicle() {
    const token = selection.value.tokens?.[0] ?? Math.min(1, Math.max(0, (summary.value?.tokens ?? 1) - 1));
    const { leaves, total, waiting } = useLeaves(token);
    const by = shown.value;
    const boxes = useMemo(() => boxesOf(leaves, by), [leaves, by]);
    const [box, width] = useWidth();
    const canvas = useRef<HTMLCanvasElement>(null);
    const zoomed = boxed.value;
    const setZoomed = (next: { from: number; to: number }) => (boxed.value = next.from === 0 && next.to === 1 ? allBoxes : next);
    const shownOf = useRef(`${token} ${by}`);
    const [hover, setHover] = useState<{ x: number; y: number; box: Box } | null>(null);
    const colours = theme();
    const height = 4 * rowHeight;
    useEffect(() => {
        if (shownOf.current !== `${token} ${by}`) setZoomed(allBoxes); // another token: other boxes
        shownOf.current = `${token} ${by}`;
    }, [token, by]);
    const x = (part: number) => ((part - zoomed.from) / (zoomed.to - zoomed.from)) * width;
    useEffect(() => {
        if (!canvas.current || width <= 0) return;
        canvas.current.style.height = `${height}px`;
        paintOn(canvas.current, width, height, (context) => {
            for (const one of boxes) {
                const [a, b] = [Math.max(0, x(one.from)), Math.min(width, x(one.to))];
                if (b - a < 0.3) continue;
                const family = opFamily(one.name);
                const isChosen = one.leaf ? selection.value.op?.run === one.leaf.run && selection.value.op.node === one.leaf.node : one.depth === 1 && one.layer !== null && one.layer === selection.value.layer;
                context.fillStyle = isChosen ? colours.accent : one.depth === 3 ? family.colour : one.depth === 2 ? colours.compute : one.depth === 1 ? colours.sunken : colours.chosen;
                context.fillRect(a, one.depth * rowHeight, Math.max(0.5, b - a - (b - a > 3 ? 1 : 0)), rowHeight - 1);
                if (b - a < 26) continue;
                context.font = canvasFont(11);
                context.textBaseline = "middle";
                context.fillStyle = isChosen ? colours.surface : one.depth === 3 ? family.ink : one.depth === 2 ? (colours.dark ? colours.ink : "#000000") : colours.ink;
                textWithin(context, nameOf(one), a + 3, (one.depth + 0.5) * rowHeight, b - a - 6);
            }
            if (!hover) return;
            context.strokeStyle = colours.focus;
            context.lineWidth = 2;
            context.strokeRect(x(hover.box.from) + 1, hover.box.depth * rowHeight + 1, Math.max(2, x(hover.box.to) - x(hover.box.from) - 2), rowHeight - 3);
        });
    });
    const at = (event: MouseEvent) => {
        const frame = canvas.current!.getBoundingClientRect();
        const [px, py] = [event.clientX - frame.left, event.clientY - frame.top];
        const part = zoomed.from + (px / width) * (zoomed.to - zoomed.from);
        const found = boxes.find((one) => one.depth === Math.floor(py / rowHeight) && part >= one.from && part < one.to);
        return found ? { x: px, y: py, box: found } : null;
    };
    const all = boxes.find((one) => one.depth === 0);
    const take = (found: Box) => {
        if (found.leaf) select({ op: { run: found.leaf.run, node: found.leaf.node } });
        else if (found.depth === 1) select({ layer: found.layer !== null && selection.value.layer !== found.layer ? found.layer : null });
    };
    const nameOf = (one: Box) => (one.leaf ? `${one.name} ${one.leaf.name}` : one.name);
    // Left and right: the next box of the same depth. Up and down: its parent and its first child.
    const keys = (event: KeyboardEvent) => {
        const [aside, deeper] = [{ ArrowRight: 1, ArrowLeft: -1 }[event.key], { ArrowDown: 1, ArrowUp: -1 }[event.key]];
        if (!aside && !deeper && !(event.key === "Enter" && hover)) return;
        event.preventDefault();
        const from = hover?.box;
        if (!aside && !deeper) return take(from!);
        const depth = (from?.depth ?? 0) + (deeper ?? 0);
        const row = boxes.filter((one) => one.depth === depth);
        const next = !from ? all : deeper ? row.find((one) => one.to > from.from) : row[row.indexOf(from) + aside!];
        if (!next || !all) return;
        if (next.to <= zoomed.from || next.from >= zoomed.to) setZoomed(allBoxes);
        setHover({ x: Math.max(0, Math.min(width, x((next.from + next.to) / 2))), y: next.depth * rowHeight, box: next });
        announce(`${nameOf(next)}, ${time(next.ns)}, ${share(next.ns, all.ns)}`);
    };
    return (
        <Picture
            title={`Where token ${token} spends its ${by}`}
            file="icicle"
            figure={() => ({ kind: by === "time" ? "token-ops" : "token-bytes", tokens: `${token}..${token}` })}
            command={`ggscope log --token ${token}`}
            computed={`Ops of the token in the order of execution, by layer and component; as wide as ${by === "time" ? "their wall time" : "the bytes that they read and write"}. Time between ops is left out.`}
            csv={() => ({ columns: ["token", "layer", "component", "op", "name", "duration_ns", "bytes"], rows: leaves.map((leaf) => [leaf.token, leaf.layer, leaf.component, leaf.op, leaf.name, leaf.duration_ns, leaf.bytes]) })}
            tools={
                <>
                    <label>
                        by{" "}
                        <select value={by} aria-label="Width of the boxes" onChange={(event) => (shown.value = event.currentTarget.value as typeof by)}>
                            {weights.map((name) => (
                                <option>{name}</option>
                            ))}
                        </select>
                    </label>
                    {(zoomed.from > 0 || zoomed.to < 1) && (
                        <button type="button" onClick={() => setZoomed({ from: 0, to: 1 })}>
                            Fit
                        </button>
                    )}
                    <span class="quiet">{total > most ? `the first ${most} of ${total} ops; ` : ""}a press selects, a double press zooms</span>
                </>
            }
        >
            <Waiting answer={waiting} what="Reading the token's ops" />
            <div class="access-picture" ref={box} data-boxes={boxes.length} data-ns={all?.ns ?? 0}>
                <canvas
                    ref={canvas}
                    tabIndex={0}
                    role="img"
                    aria-label={`Token ${token}: ${plural(leaves.length, "op")} by layer and component. Arrow keys step from box to box, Enter selects.`}
                    onKeyDown={keys}
                    onBlur={() => setHover(null)}
                    onPointerMove={(event) => setHover(at(event))}
                    onPointerLeave={() => setHover(null)}
                    onClick={(event) => {
                        const found = at(event)?.box;
                        if (found) take(found);
                    }}
                    onDblClick={(event) => {
                        const found = at(event)?.box;
                        if (found) setZoomed({ from: found.from, to: found.to });
                    }}
                />
                {hover && all && (
                    <div class="chart-tip" role="tooltip" style={{ ...(hover.x > width / 2 ? { right: `${width - hover.x + 12}px` } : { left: `${hover.x + 12}px` }), top: `${hover.y + 14}px` }}>
                        <b>{nameOf(hover.box)}</b>
                        <div>
                            {time(hover.box.ns)} ({share(hover.box.ns, all.ns)}), {bytes(hover.box.bytes)} read and written
                        </div>
                    </div>
                )}
            </div>
        </Picture>
    );
}
