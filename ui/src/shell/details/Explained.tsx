// Why the recording is slow and what helps: the output of `ggscope explain`. Each sentence links to
// the view with its evidence.
import type { Explanation } from "../../api";
import { useAsk } from "../../ask";
import { bytes } from "../../format";
import { here, summary, type View, view } from "../../state";

type Cause = Explanation["findings"][number];

const shown = 5;
const parts: Record<Cause["part"], string> = { load: "load time", prompt: "prompt time", generation: "generation time", tokens: "token time", graphs: "time of graph runs", memory: "memory" };
// The view with the evidence of a cause; statistics for all others.
const views: Record<string, View> = {
    "page-waits": "storage",
    "cold-cache": "storage",
    "small-readahead": "storage",
    "swapped-out": "memory",
    "small-pages": "memory",
    "no-mmap": "memory",
    "context-unused": "memory",
    "too-few-threads": "timeline",
    "threads-above-cores": "timeline",
    "uneven-work": "timeline",
    "between-decodes": "timeline",
    "decode-overhead": "timeline",
    "device-splits": "graph",
    "prompt-outputs": "graph",
    "one-slot": "timeline",
};

export const gainText = (cause: Pick<Cause, "part" | "gain" | "gain_ns" | "gain_bytes">): string =>
    cause.gain_bytes !== null ? `${bytes(cause.gain_bytes)} of memory` : cause.gain === null ? "gain not known" : `${cause.gain < 0.005 ? "less than 1" : `up to ${(100 * cause.gain).toFixed(0)}`} % of the ${parts[cause.part]}`;

export function Explained() {
    const answer = useAsk<Explanation>(summary.value && summary.value.ops > 0 ? here("explain") : null, { keep: true }).data;
    if (!answer) return null;
    const { findings, rest, distorted } = answer;
    return (
        <section>
            <h2>What slows it down</h2>
            <ol class="explained">
                {findings.slice(0, shown).map((cause) => (
                    <li data-cause={cause.name}>
                        <button type="button" class="link" onClick={() => (view.value = views[cause.name] ?? "statistics")} title={`Seen by: ${cause.query}`}>
                            {cause.title}
                        </button>
                        <div>
                            {gainText(cause)}
                            {cause.estimated && " (estimated)"}
                        </div>
                        <div class="quiet">{cause.evidence}</div>
                        {cause.remedy && <div>Try: {cause.remedy}</div>}
                        {cause.verify && (
                            <details>
                                <summary>Measure it</summary>
                                <pre tabIndex={0}>{cause.verify}</pre>
                            </details>
                        )}
                    </li>
                ))}
            </ol>
            <p class="quiet">
                {rest}.{distorted && " What stands first distorts the times of the others."}
            </p>
        </section>
    );
}
