// The edges between blocks.
import type { Block, Blocks } from "./blocks";
import { layoutOf } from "./layouts";
import type { Placed } from "./place";

export function Links({
    made,
    placed,
    first,
    last,
    isOpen,
}: {
    made: Blocks;
    placed: Placed;
    first: number;
    last: number;
    isOpen(block: Block): boolean;
}) {
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
