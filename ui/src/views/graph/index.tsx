// View 3: the graph of a token step, collapsed to its layers; a layer opens where it stands.
import { useEffect, useMemo } from "preact/hooks";
import type { GraphAnswer } from "../../api";
import { useApplied } from "../../applied";
import { useAsk } from "../../ask";
import { here, selection, summary } from "../../state";
import { Waiting } from "../statistics/Waiting";
import { makeBlocks } from "./blocks";
import { stopLayouts } from "./layouts";
import { Picture } from "./Picture";
import { told, withViews } from "./state";
import "./graph.css";

// Which graph to ask for: that of the op or that of the tokens, whichever was selected last.
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
