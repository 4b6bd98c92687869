// The edges between blocks.
import type { Block, Blocks } from "./blocks";
import { layoutOf } from "./layouts";
import { HEADER, type Placed } from "./place";

export function Links({
    made,
    placed,
    inSight,
    isOpen,
}: {
    made: Blocks;
    placed: Placed;
    inSight: ReadonlySet<number>;
    isOpen(block: Block): boolean;
}) {
    const x = (i: number, end: "entry" | "exit") => {
        const layout = isOpen(made.blocks[i]!) ? layoutOf(made.blocks[i]!.shape) : undefined;
        const point = layout?.[end];
        return point ? placed.inset[i]! + point.x : placed.left[i]! + placed.wide[i]! / 2;
    };
    const bottom = (i: number) => placed.top[i]! + placed.height[i]!;
    const middle = (i: number) => placed.top[i]! + HEADER / 2;
    const links = made.links.filter(({ from, to }) => inSight.has(from) || inSight.has(to)).slice(0, 400);
    return (
        <svg class="edges" width={placed.width} height={placed.total} aria-hidden="true">
            <defs>
                {["arrow", "arrow-on"].map((id) => (
                    <marker id={id} key={id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">
                        <path d="M0 0L8 4L0 8Z" class={id} />
                    </marker>
                ))}
            </defs>
            {links.map(({ from, to }) => {
                // From column to column, through the gap between them.
                if (placed.column[from] !== placed.column[to]) {
                    const [x0, x1] = [placed.left[from]! + placed.wide[from]!, placed.left[to]!];
                    return <path key={`${from} ${to}`} class={to === from + 1 ? "edge" : "edge far"} d={`M${x0} ${middle(from)}H${x1 - 16}V${middle(to)}H${x1}`} marker-end="url(#arrow)" />;
                }
                if (to !== from + 1) {
                    const [y0, y1] = [bottom(from), placed.top[to]!];
                    return (
                        <path key={`${from} ${to}`} class="edge far" d={`M${placed.left[from]! + 24} ${y0}C${placed.left[from]! + 4} ${y0 + 30} ${placed.left[from]! + 4} ${y1 - 30} ${placed.left[from]! + 24} ${y1}`} marker-end="url(#arrow)" />
                    );
                }
                // The header of an open block hides the edge between the block's top and its
                // content.
                const [x0, x1] = [x(from, "exit"), x(to, "entry")];
                return <path key={`${from} ${to}`} class="edge" d={`M${x0} ${bottom(from)}L${x1} ${placed.top[to]!}`} marker-end="url(#arrow)" />;
            })}
        </svg>
    );
}
