// View 3: the graph of a token step, collapsed to layers that open in place.
import { useEffect, useMemo } from "preact/hooks";
import type { GraphAnswer } from "../../api";
import { useApplied } from "../../applied";
import { type Columns, useAsk } from "../../ask";
import { here, selection, summary } from "../../state";
import { Waiting } from "../statistics/Waiting";
import { makeBlocks } from "./blocks";
import { stopLayouts } from "./layouts";
import { Picture } from "./Picture";
import { gridOf } from "../values/grid";
import { mapPath } from "../values/state";
import { shadesOf } from "./shades";
import { colouring, firstGraph, withViews } from "./state";
import "./graph.css";

// The requested graph: that of the selected op or of the selected tokens, whichever was selected
// last.
let before = selection.peek();
let byOp = before.op !== null;

function pathOf(): string {
    const { op, tokens } = selection.value;
    if (op !== before.op) byOp = op !== null;
    else if (tokens !== before.tokens) byOp = op !== null && tokens === null;
    before = selection.value;
    if (op && byOp) return here("graph", { run: op.run });
    const usual = Math.min(1, Math.max(0, (summary.value?.tokens ?? 1) - 1));
    return here("graph", { token: tokens?.[0] ?? usual });
}

export default function GraphView() {
    useApplied("tokens", "layer", "opType", "tensor", "op");
    const answer = useAsk<GraphAnswer>(pathOf(), { keep: true });
    const graph = useMemo(() => (answer.data ? firstGraph(answer.data) : null), [answer.data]);
    const made = useMemo(() => (graph ? makeBlocks(graph, withViews.value) : null), [graph, withViews.value]);
    const isOfValues = colouring.value === "values" && summary.value?.has.values;
    const values = useAsk<Columns>(graph && isOfValues ? mapPath({ run: graph.run, tokens: `${graph.token}..${graph.token}`, columns: 1 }) : null);
    const shades = useMemo(() => (values.data ? shadesOf(gridOf(values.data)) : null), [values.data]);
    useEffect(() => stopLayouts, []);
    return (
        <div class="graph">
            <h2 class="unseen">Graph</h2>
            <Waiting answer={answer} what="Reading the graph" />
            {isOfValues && <Waiting answer={values} what="Reading what the ops computed" />}
            {graph && made && <Picture graph={graph} made={made} shades={shades} />}
        </div>
    );
}
