// View 3: the graph of a token step, collapsed to its layers; a layer opens where it stands.
import { useEffect, useMemo } from "preact/hooks";
import { useAsk, type Columns } from "../../ask";
import { here, selection, summary } from "../../state";
import { Waiting } from "../statistics/Waiting";
import { makeBlocks, type Leaf } from "./blocks";
import { stopLayouts } from "./layouts";
import { Picture } from "./Picture";
import { withViews, type Told } from "./state";
import "./graph.css";

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
