// The line above the graph: its token, the search, and switches.
import { plural } from "../../format";
import { select, selection, summary } from "../../state";
import { Families } from "../../shell/Families";
import { Saves } from "../../shell/Saves";
import { kinds, type Blocks } from "./blocks";
import { failure, pending, stopLayouts } from "./layouts";
import { Scale } from "../values/Scale";
import { trusted } from "../values/state";
import type { Shades } from "./shades";
import { colouring, expanded, setOpen, text, withViews, zoomBy, type RunGraph } from "./state";
import { stepWord } from "../../step";

export interface BarProps {
    graph: RunGraph;
    made: Blocks;
    shades: Shades | null;
    found: { rows: number[]; perBlock: number[] };
    row: number;
    press(row: number): void;
    fit(): void;
    fitSoon(): void; // fits when all open blocks have their layout
    root(): Element | null; // the drawn element
}

// The layer that is open, if it is the only one: a figure shows one layer or all.
function only(made: Blocks): number | null {
    const [first, ...others] = made.blocks.filter((block) => block.layer >= 0 && expanded.value.has(block.key));
    return first && others.length === 0 ? first.layer : null;
}

export function Bar(props: BarProps) {
    const { graph, made, shades } = props;
    return (
        <div class="graph-bar" data-picture="graph">
            <strong>
                {stepWord()} {graph.token}
            </strong>
            {graph.runs.length > 1 && <Runs graph={graph} />}
            <Search {...props} />
            <label>
                <input type="checkbox" checked={withViews.value} onChange={(event) => (withViews.value = event.currentTarget.checked)} /> views and
                reshapes
            </label>
            {summary.value?.has.values && (
                <label>
                    colour{" "}
                    <select value={colouring.value} onChange={(event) => (colouring.value = event.currentTarget.value as "time")}>
                        <option value="time">time</option>
                        <option value="values">{trusted() ? "error of values" : "values"}</option>
                    </select>
                </label>
            )}
            <Buttons made={made} fit={props.fit} fitSoon={props.fitSoon} />
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
            <Legend {...props} />
            <Saves
                title="Graph"
                file="graph"
                root={props.root}
                figure={shades ? undefined : () => ({ kind: "graph", run: graph.run, layer: selection.value.layer ?? only(made) })}
                command={`ggscope graph --token ${graph.token} --json`}
                computed="The nodes of one graph run in the order of execution, by layer; the time of a block is the sum of its nodes' wall times."
                csv={() => ({
                    columns: ["block", "node", "op", "name", "layer", "state", "duration_ns"],
                    rows: made.blocks.flatMap((block) => block.rows.map((r) => [block.title, graph.node[r]!, graph.ops[graph.op[r]!] ?? "", graph.names[r]!, graph.layer[r]! < 0 ? null : graph.layer[r]!, kinds[graph.kind[r]!]!, graph.kind[r] === 0 ? graph.time[r]! : null])),
                })}
            />
        </div>
    );
}

// A token step with several graphs: ubatches, backends.
function Runs({ graph }: { graph: RunGraph }) {
    return (
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
    );
}

// The next (or previous) match after a row; wraps around at the ends.
function nextMatch(rows: readonly number[], row: number, by: number): number | undefined {
    const after = rows.findIndex((r) => r > row),
        before = rows.findLastIndex((r) => r < row);
    return by > 0 ? (rows[after] ?? rows[0]) : (rows[before] ?? rows.at(-1));
}

function Search({ found, row, press }: BarProps) {
    const blocks = found.perBlock.filter((n) => n > 0).length;
    const onKeyDown = (event: KeyboardEvent) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        const next = nextMatch(found.rows, row, event.shiftKey ? -1 : 1);
        if (next !== undefined) press(next);
    };
    return (
        <>
            <label>
                search{" "}
                <input
                    type="search"
                    placeholder="op, tensor or weight"
                    value={text.value}
                    onInput={(event) => (text.value = event.currentTarget.value)}
                    onKeyDown={onKeyDown}
                />
            </label>
            {text.value.trim() !== "" && (
                <span role="status" class="graph-found" data-matches={found.rows.length}>
                    {found.rows.length === 0
                        ? "nothing found"
                        : `${plural(found.rows.length, "match", "matches")} in ${plural(blocks, "block")}; Enter for the next`}
                </span>
            )}
        </>
    );
}

function Buttons({ made, fit, fitSoon }: Pick<BarProps, "made" | "fit" | "fitSoon">) {
    const all = () => made.blocks.map((block) => block.key);
    return (
        <span class="buttons">
            <button type="button" onClick={() => (fitSoon(), setOpen(all(), true))}>
                expand all
            </button>
            <button type="button" onClick={() => (fitSoon(), (expanded.value = new Set()))}>
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
    );
}

function Legend({ graph, made, shades }: Pick<BarProps, "graph" | "made" | "shades">) {
    return (
        <span class="graph-legend">
            {shades ? (
                <Scale grid={shades.grid} />
            ) : (
                <span title="A node is darker the more of the longest node's time it takes">
                    no time
                    <i class="cost-scale" />
                    most
                </span>
            )}
            <Families of={made.blocks.flatMap((block) => block.rows.map((row) => graph.ops[graph.op[row]!] ?? ""))} />
        </span>
    );
}
