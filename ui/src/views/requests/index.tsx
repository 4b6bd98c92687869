// The requests of a server, as lanes of slots and as a table; a part of the statistics view.
import { useState } from "preact/hooks";
import type { Request, Requests } from "../../api";
import { ask, useAsk } from "../../ask";
import { count, moment, plural, time } from "../../format";
import { asOrder, here, kept, select, selection } from "../../state";
import { Picture } from "../../shell/Picture";
import { type Order, Table, type TableColumn } from "../statistics/Table";
import { Waiting } from "../statistics/Waiting";
import { CellsPictures } from "./CellsPicture";
import { columnsOf, lanesOf, parts, servedBy } from "./lanes";
import "./requests.css";

const bars = 400;
const page = 100; // rows
const nameWidth = () => 9 * parseFloat(getComputedStyle(document.documentElement).fontSize); // as the style sheet has it
const maybe = (ns: number | null) => (ns === null ? "–" : time(ns));

const columns: TableColumn<Request>[] = [
    { key: "request", title: "request", value: (r) => r.request, numeric: true, ascending: true },
    { key: "context", title: "context", value: (r) => r.context, numeric: true, ascending: true },
    { key: "sequence", title: "slot", value: (r) => r.sequence, numeric: true, ascending: true, hint: "sequence of the context" },
    { key: "kind", title: "kind", value: (r) => r.kind, ascending: true },
    { key: "begin_ns", title: "begin", value: (r) => r.begin_ns, show: (r) => moment(r.begin_ns, 1e5), numeric: true, ascending: true },
    { key: "duration_ns", title: "time", value: (r) => r.duration_ns, show: (r) => time(r.duration_ns), numeric: true },
    { key: "prompt_tokens", title: "prompt", value: (r) => r.prompt_tokens, show: (r) => count(r.prompt_tokens), numeric: true, hint: "prompt tokens that were computed" },
    { key: "cached_tokens", title: "cached", value: (r) => r.cached_tokens, show: (r) => count(r.cached_tokens), numeric: true, hint: "tokens that were in the memory already" },
    { key: "generated_tokens", title: "tokens", value: (r) => r.generated_tokens, numeric: true, hint: "generated: sampled from outputs" },
    { key: "decoded_tokens", title: "decoded", value: (r) => r.decoded_tokens, show: (r) => (r.decoded_tokens === null ? "-" : count(r.decoded_tokens)), numeric: true, hint: "generated tokens that were fed back: mostly one less" },
    { key: "unused_tokens", title: "unused", value: (r) => r.unused_tokens, show: (r) => (r.unused_tokens === null ? "-" : count(r.unused_tokens)), numeric: true, hint: "decoded tokens whose output the program never read" },
    { key: "time_to_first_ns", title: "first", value: (r) => r.time_to_first_ns, show: (r) => maybe(r.time_to_first_ns), numeric: true, hint: "begin to first output" },
    { key: "ns_per_token", title: "each", value: (r) => r.ns_per_token, show: (r) => maybe(r.ns_per_token), numeric: true, hint: "per token after the first" },
    { key: "wait_ns", title: "waited", value: (r) => r.wait_ns, show: (r) => time(r.wait_ns), numeric: true, hint: "between the decodes that it took part in" },
    { key: "steps", title: "steps", value: (r) => r.steps, numeric: true },
    { key: "accepted_tokens", title: "accepted", value: (r) => r.accepted_tokens, numeric: true, hint: "drafted tokens that stayed" },
    { key: "rejected_tokens", title: "rejected", value: (r) => r.rejected_tokens, numeric: true, hint: "drafted tokens that were taken back" },
];

const isChosen = (r: Request) => selection.value.request === r.request;
// Selects the request's steps in every view, and its time in the timeline.
const press = (r: Request) => select(isChosen(r) ? { request: null, time: null } : { request: r.request, time: [r.begin_ns, r.end_ns] });
const describe = (r: Request) =>
    `request ${r.request}, ${r.kind}: prompt ${count(r.prompt_tokens)}, cached ${count(r.cached_tokens)}, ${plural(r.generated_tokens, "token")} in ${time(r.duration_ns)}` +
    (r.time_to_first_ns === null ? "" : `, the first after ${time(r.time_to_first_ns)}`);

const order = kept<Order | null>("requests-order", null, asOrder);

export function RequestsPart() {
    const answer = useAsk<Requests>(here("requests", { batches: 1, count: bars }), { keep: true });
    const [rows, setRows] = useState(page);
    const served = servedBy(answer.data?.contexts ?? []);
    const wanted = order.value;
    const { key, descending } = wanted && columns.some((one) => one.key === wanted.key) ? wanted : { key: "request", descending: false };
    const table = useAsk<Requests>(served > 1 ? here("requests", { count: rows, sort: key, desc: Number(descending) }) : null, { keep: true }).data;
    if (!answer.data) return <Waiting answer={answer} what="Looking for requests" />;
    if (served < 2) return null;
    const { begin, end } = lanesOf(answer.data);
    const drafts = answer.data.contexts.some((one) => one.accepted_tokens + one.rejected_tokens > 0);
    const several = answer.data.contexts.filter((one) => one.requests > 0).length > 1;
    return (
        <>
            <Lanes answer={answer.data} several={several} />
            {answer.data.contexts.some((context) => !context.changes_seen) && (
                <p class="quiet">Some changes of sequences were not seen; they are derived from positions.</p>
            )}
            <CellsPictures span={[begin, end]} left={nameWidth()} />
            <Table
                caption="Requests"
                file="requests"
                rows={table?.requests ?? []}
                columns={columns.filter((one) => drafts || !/^(accept|reject)ed/.test(one.key))}
                orderIn={order}
                order={{ key, descending }}
                window={{ total: table?.total ?? 0, more: () => setRows(rows + page), all: async () => (await ask<Requests>(here("requests"))).requests }}
                rowKey={(r) => String(r.request)}
                press={press}
                pressHint="select it in every view"
                isSelected={isChosen}
            />
        </>
    );
}

function Lanes({ answer, several }: { answer: Requests; several: boolean }) {
    const { lanes, begin, end, left } = lanesOf(answer);
    const composed = columnsOf(answer, begin, end);
    const percent = (share: number) => `${(share * 100).toFixed(3)}%`;
    return (
        <Picture
            title="Slots over time"
            file="slots"
            figure={() => ({ kind: "requests" })}
            command="ggscope requests --batches --json"
            computed="Requests from the first prompt token to the last generated one; below, the tokens of each decode by kind."
            csv={() => ({ columns: ["request", "context", "sequence", "kind", "begin_ns", "first_output_ns", "end_ns"], rows: answer.requests.map((r) => [r.request, r.context, r.sequence, r.kind, r.begin_ns, r.first_output_ns, r.end_ns]) })}
            tools={
                <span class="quiet">
                    {moment(begin, end - begin)} to {moment(end, end - begin)}; the first part of a bar ends with the first output
                    {left > 0 ? `; ${plural(left, "later request")} left out` : ""}
                </span>
            }
        >
            <div class="slots">
                {lanes.map((lane) => (
                    <div class="slot" key={`${lane.context} ${lane.sequence}`}>
                        <span class="slot-name">{several ? `${lane.sequence} of context ${lane.context}` : `slot ${lane.sequence}`}</span>
                        <div class="slot-lane">
                            {lane.bars.map(({ request, left: from, width, first }) => (
                                <button
                                    type="button"
                                    key={request.request}
                                    class={`slot-bar ${request.kind}${isChosen(request) ? " selected" : ""}`}
                                    style={{ left: percent(from), width: percent(width) }}
                                    title={describe(request)}
                                    aria-label={describe(request)}
                                    aria-pressed={isChosen(request)}
                                    onClick={() => press(request)}
                                >
                                    {first !== null && <span class="slot-first" style={{ width: percent(first) }} />}
                                </button>
                            ))}
                        </div>
                    </div>
                ))}
                <div class="slot">
                    <span class="slot-name" title="tokens in each decode: of prompts, generated, checked drafts">
                        batches, up to {count(Math.round(composed.most))}
                    </span>
                    <div class="slot-lane batches" role="img" aria-label={`What batches were made of: up to ${count(Math.round(composed.most))} tokens in a decode`}>
                        {composed.columns.map(({ batch, left: from, width, heights }) => (
                            <span
                                key={`${batch.context} ${batch.begin_ns}`}
                                class="batch"
                                style={{ left: percent(from), width: percent(width) }}
                                title={`prompt ${count(batch.prompt_tokens)}, generated ${count(batch.generate_tokens)}, checked ${count(batch.verify_tokens)} tokens in ${plural(batch.decodes, "decode")}`}
                            >
                                {parts.map((part, i) => (
                                    <span key={part} class={`batch-part ${part}`} style={{ height: percent(heights[i]!) }} />
                                ))}
                            </span>
                        ))}
                    </div>
                </div>
                <p class="quiet batch-legend">
                    <span class="batch-part prompt_tokens" /> prompt <span class="batch-part generate_tokens" /> generated <span class="batch-part verify_tokens" /> drafts that are checked
                </p>
            </div>
        </Picture>
    );
}
