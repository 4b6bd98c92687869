// One block: a line with its name and its times, and its nodes if it is expanded.
import { opFamily, families } from "../../colours";
import { bytes, count, plural, share, time } from "../../format";
import { kinds, type Block, type Blocks, type Graph } from "./blocks";
import type { Layout } from "./layout";
import type { Shade, Shades } from "./shades";
import { NODE_WIDTH } from "./layout-size";
import { edgePath } from "./place";
import { stepWord } from "../../step";

export interface BlockProps {
    graph: Graph;
    made: Blocks;
    shades: Shades | null; // nodes are coloured by values instead of time
    block: Block;
    index: number;
    layout: Layout | undefined;
    expanded: boolean;
    filtered: boolean; // the selection is this layer
    longest: number; // time of the longest block
    longestNode: number;
    inset: number;
    matches: number;
    matching: ReadonlySet<number>;
    fits: ((row: number) => boolean) | null; // nodes that match the selection
    selected: number; // row; -1: none, or a row of another block that is connected with this one
    toggle(): void;
    filter(): void;
    press(row: number): void;
}

const strongest = (shades: Shades, graph: Graph, block: Block) =>
    block.rows.reduce<Shade | null>((best, row) => {
        const shade = shades.of.get(graph.node[row]!);
        return shade && (!best || shade.weight > best.weight) ? shade : best;
    }, null);

function BlockHeader(props: BlockProps) {
    const { graph, block, made, expanded, longest, matches, toggle, filter } = props;
    const seen = block.executed > 0 || !block.rows.some((row) => kinds[graph.kind[row]!] === "opaque");
    const shade = props.shades && strongest(props.shades, graph, block);
    const text = `${block.title}: ${shade ? `${shade.label}, ` : ""}${plural(block.rows.length, "node")}, ${seen ? `${time(block.time)}, ${share(block.time, made.time)} of the ${stepWord()}'s time` : "time not seen"}`;
    return (
        <div class="block-header">
            <button
                type="button"
                class="block-name"
                aria-expanded={expanded}
                onClick={toggle}
                title={text}
                data-block={block.key}
                data-time={block.time}
            >
                <span aria-hidden="true" class="block-arrow">
                    {expanded ? "▾" : "▸"}
                </span>
                <span class="block-title">{block.title}</span>
                <span class="block-bar" aria-hidden="true">
                    {shade ? <i style={{ width: "100%", "--swatch": shade.colour }} /> : <Families {...props} scale={longest} />}
                </span>
                <span class="block-time">{shade ? shade.text : seen ? time(block.time) : "not seen"}</span>
                <span class="block-share">{!shade && seen && share(block.time, made.time)}</span>
                <span class="block-count quiet">{plural(block.rows.length, "node")}</span>
                {matches > 0 && <span class="block-matches">{plural(matches, "match", "matches")}</span>}
            </button>
            {block.layer < 0 ? (
                <span class="block-filter" />
            ) : (
                <button
                    type="button"
                    class="quiet block-filter"
                    aria-pressed={props.filtered}
                    onClick={filter}
                    aria-label={`Filter every view by ${block.title}`}
                    title="Filter every view by this layer"
                >
                    filter
                </button>
            )}
        </div>
    );
}

function Families({ graph, block, scale }: { graph: Graph; block: Block; scale: number }) {
    const sums = new Map<string, number>();
    for (const row of block.rows) {
        const family = opFamily(graph.ops[graph.op[row]!] ?? "");
        sums.set(family.name, (sums.get(family.name) ?? 0) + graph.time[row]!);
    }
    return (
        <>
            {families
                .filter((family) => sums.has(family.name))
                .map((family) => (
                    <i
                        key={family.name}
                        class={`pattern-${family.pattern}`}
                        style={{ width: `${(sums.get(family.name)! / Math.max(1, scale)) * 100}%`, "--swatch": family.colour }}
                    />
                ))}
        </>
    );
}

export function BlockView(props: BlockProps) {
    const { expanded, layout, inset } = props;
    return (
        <>
            <BlockHeader {...props} />
            {expanded &&
                (layout ? (
                    <div class="block-inside" style={{ left: `${inset}px`, width: `${layout.width}px`, height: `${layout.height}px` }}>
                        <Edges {...props} layout={layout} />
                        <Nodes {...props} layout={layout} />
                    </div>
                ) : (
                    <p class="quiet block-pending" role="status">
                        Laying out…
                    </p>
                ))}
        </>
    );
}

function Edges({ block, layout, made, selected }: BlockProps & { layout: Layout }) {
    const { shape, rows } = block;
    const at = selected < 0 ? -1 : rows.indexOf(selected);
    const near = new Set(selected < 0 ? [] : [...made.sources[selected]!, ...made.consumers[selected]!]);
    const touches = (a: number, b: number) => at >= 0 && (a === at || b === at);
    let n = 0;
    return (
        <svg class="edges" width={layout.width} height={layout.height} aria-hidden="true">
            {layout.entry && <path class="edge across" d={`M${layout.entry.x} 0V${layout.entry.y}`} />}
            {layout.exit && <path class="edge across" d={`M${layout.exit.x} ${layout.exit.y}V${layout.height}`} />}
            {shape.edges.map(([from, to]) => (
                <Edge key={n} points={layout.edges[n++]!} on={touches(from, to)} />
            ))}
            {shape.memory.map(([from, to]) => (
                <Edge key={n} points={layout.edges[n++]!} on={touches(from, to)} kind="memory" />
            ))}
            {shape.into.map((to) => (
                <Edge key={n} points={layout.edges[n++]!} on={at === to || (at < 0 && near.has(rows[to]!))} kind="across" />
            ))}
            {shape.outof.map((from) => (
                <Edge key={n} points={layout.edges[n++]!} on={at === from || (at < 0 && near.has(rows[from]!))} kind="across out" />
            ))}
        </svg>
    );
}

function Edge({ points, on, kind }: { points: number[]; on: boolean; kind?: string }) {
    return (
        <path
            d={edgePath(points)}
            class={`edge ${kind ?? ""}${on ? " on" : ""}`}
            marker-end={kind?.endsWith("out") ? undefined : on ? "url(#arrow-on)" : "url(#arrow)"}
        />
    );
}

function Nodes(props: BlockProps & { layout: Layout }) {
    return (
        <>
            {props.block.rows.map((row, i) => (
                <Node key={row} {...props} row={row} i={i} />
            ))}
        </>
    );
}

const chipWords = { weight: "weight", kv: "cache", port: "shared input", input: "input" } as const;

function Node({ graph, made, shades, layout, row, i, selected, matching, fits, longestNode, press }: BlockProps & { layout: Layout; row: number; i: number }) {
    const op = graph.ops[graph.op[row]!] ?? "?";
    const family = opFamily(op);
    const kind = kinds[graph.kind[row]!] ?? "unseen";
    const took = graph.time[row]!;
    const shade = shades?.of.get(graph.node[row]!);
    const says = shade ? shade.text : kind === "executed" ? (shades ? "no values" : time(took)) : kind;
    const chips = made.chips[row]!;
    const near = selected >= 0 && selected !== row && (made.sources[selected]!.includes(row) || made.consumers[selected]!.includes(row));
    const classes = [
        "node",
        shade ? "node-shaded" : "",
        kind === "executed" ? "" : `node-${kind}`,
        row === selected ? "selected" : "",
        near ? "near" : "",
        matching.has(row) ? "match" : "",
        fits && !fits(row) && row !== selected ? "beside" : "",
    ]
        .filter(Boolean)
        .join(" ");
    const label = `${op} ${graph.names[row] ?? ""}, ${shade ? `${shade.label}, ` : ""}${kind === "executed" ? time(took) : kind}${graph.shapes?.[row] ? `, ${graph.shapes[row]}` : ""}${chips.map((chip) => `, ${chipWords[chip.kind]} ${chip.name}`).join("")}`;
    return (
        <button
            type="button"
            class={classes}
            id={`node-${row}`}
            data-row={row}
            tabIndex={row === selected || (selected < 0 && i === 0) ? 0 : -1}
            aria-pressed={row === selected}
            title={label}
            style={{
                left: `${layout.x[i]}px`,
                top: `${layout.y[i]}px`,
                width: `${NODE_WIDTH}px`,
                height: `${layout.h[i]}px`,
                "--swatch": family.colour,
                ...(shade ? { "--shade": shade.colour, "--shade-ink": shade.ink } : shades ? {} : { "--cost": `${Math.round((took / Math.max(1, longestNode)) * 45)}%` }),
            }}
            onClick={() => press(row)}
        >
            <span class={`node-stripe pattern-${family.pattern}`} style={{ "--swatch": family.colour }} />
            <span class="node-op">
                {op}
                <span class="node-time">{says}</span>
            </span>
            <span class="node-name">
                {graph.names[row]}
                <span class="node-shape">{graph.shapes?.[row]}</span>
            </span>
            {chips.map((chip, k) => (
                <span class={`node-chip chip-${chip.kind}`} key={k}>
                    <i aria-hidden="true" />
                    <span class="unseen">{chipWords[chip.kind]} </span>
                    {chip.name}
                    {chip.bytes > 0 && chip.kind === "weight" ? <span class="quiet"> {bytes(chip.bytes)}</span> : null}
                </span>
            ))}
        </button>
    );
}

export const describe = (graph: Graph, made: Blocks) =>
    `${plural(graph.rows, "node")} in ${plural(made.blocks.length, "block")}, ${count(made.shapes.size)} different`;
