// View 5: where the time and the bytes go.
import type { ModelMap, Stats } from "../../api";
import { useApplied } from "../../applied";
import { useAsk } from "../../ask";
import { bytes, count, plural, share, time } from "../../format";
import { RequestsPart } from "../requests";
import { SubTabs } from "../../shell/SubTabs";
import { Terms } from "../../shell/Terms";
import { asText, here, kept, narrowedText, selection, chosenOps, statsPath } from "../../state";
import { by, deviceNote } from "./answers";
import { Efficiency } from "./Efficiency";
import { Estimate } from "./Estimate";
import { ExpertsPart } from "./Experts";
import { Groups } from "./Groups";
import { Icicle } from "./Icicle";
import { Order } from "./Order";
import { ProcessesPart } from "./Processes";
import { Waiting } from "./Waiting";
import { Cold, Hot } from "./Weights";
import "./statistics.css";
import { stepRange, stepsWord, stepWord } from "../../step";

const halves = [
    ["sums", "Sums"],
    ["efficiency", "Efficiency"],
] as const;
type Half = (typeof halves)[number][0];
const shown = kept<Half>("statistics", "sums", asText(halves.map(([key]) => key)));

export default function Statistics() {
    return (
        <div class="statistics">
            <h2 class="unseen">Statistics</h2>
            <SubTabs label="Parts of statistics" of={halves} shown={shown} />
            {shown.value === "sums" ? <Sums /> : <Efficiency />}
        </div>
    );
}

function Sums() {
    useApplied("tokens", "layer", "tensor", "opType", "region", "buffer", "expert", "lane", "time", "request");
    const answer = useAsk<Stats>(statsPath(by.join(","), chosenOps()), { keep: true });
    const map = useAsk<ModelMap>(here("map"));
    const { tokens, request } = selection.value;
    return (
        <div>
            <Waiting answer={answer} what="Counting ops and bytes" />
            {answer.data && (
                <>
                    <p class="quiet statistics-scope">
                        {(tokens ? stepRange(tokens) : request !== null ? `Steps of request ${request}` : `All ${stepsWord()}${stepWord() === "token" ? ", warm-up left out" : ""}`).replace(/^./, (letter) => letter.toUpperCase())}
                        {tokens && request !== null ? ` that request ${request} took part in` : ""}
                        {narrowedText()}. A click on a row filters every view; another click lets go.
                    </p>
                    <Parts isServer={answer.data.requests > 1} />
                    <Tiles totals={answer.data} />
                    {answer.data.processes && <ProcessesPart processes={answer.data.processes} />}
                    <div id="part-time">
                        <Groups stats={answer.data} map={map.data} />
                    </div>
                    <Estimate estimated={answer.data.estimated} />
                    <div id="part-icicle">
                        <Icicle />
                    </div>
                    <div class="statistics-columns" id="part-weights">
                        <Hot stats={answer.data} />
                        <Cold stats={answer.data} />
                    </div>
                    <div id="part-order">
                        <Order pattern={answer.data.pattern} />
                    </div>
                    <div id="part-experts">
                        <ExpertsPart />
                    </div>
                    <div id="part-requests">
                        <RequestsPart />
                    </div>
                </>
            )}
        </div>
    );
}

const parts = [
    ["time", "time and bytes"],
    ["icicle", "one token"],
    ["weights", "hot and cold weights"],
    ["order", "order of reads"],
    ["experts", "experts"],
] as const;

function Parts({ isServer }: { isServer: boolean }) {
    return (
        <nav class="statistics-parts" aria-label="Parts of this page">
            {[...parts, ...(isServer ? [["requests", "requests, keys and values"] as const] : [])].map(([key, name]) => (
                <button type="button" class="link" key={key} onClick={() => document.getElementById(`part-${key}`)?.scrollIntoView()}>
                    {name}
                </button>
            ))}
        </nav>
    );
}

function Tiles({ totals }: { totals: Stats }) {
    const moved = totals.bytes_read + totals.bytes_written;
    const queues = totals.devices.reduce((sum, device) => sum + device.queues, 0);
    const unknown = totals.model.bytes_unknown > 0 ? `; of ${bytes(totals.model.bytes_unknown)} it was not seen which rows or experts` : "";
    const stray = totals.model.stray_weights > 0 ? `; of ${plural(totals.model.stray_weights, "weight")} more (${bytes(totals.model.stray_bytes)}) the origin was not seen` : "";
    const tiles: [string, string, string, string][] = [
        stepWord() === "token"
            ? [totals.requests > 1 ? "steps" : "tokens", count(totals.tokens), `${totals.requests > 1 ? `${plural(totals.requests, "request")}, ` : ""}${plural(totals.prompt_tokens, "prompt token")}, ${count(totals.generated_tokens)} generated`, "tokens"]
            : [stepsWord(), count(totals.tokens), totals.tokens > 0 ? `${time(totals.run_ns / totals.tokens)} each` : "", "tokens"],
        ["ops", count(totals.ops), `${plural(totals.op_runs, "op run")} on ${plural(totals.threads, "thread")}${queues > 0 ? ` and in ${plural(queues, "queue")}` : ""}`, "ops"],
        [
            "speed",
            totals.tokens_per_second === null ? "–" : `${totals.tokens_per_second.toFixed(1)} tok/s`,
            `${totals.tokens_per_second_of_decodes === null ? "" : `${totals.tokens_per_second_of_decodes.toFixed(1)} inside decodes; `}wall time ${time(totals.wall_ns)}`,
            "speed",
        ],
        ["bytes moved", bytes(moved), `${bytes(totals.bytes_read)} read, ${bytes(totals.bytes_written)} written`, "moved"],
        ["from mapped files", bytes(totals.bytes_disk), `${bytes(totals.bytes_buffer)} in buffers${totals.bytes_vram > 0 ? `, ${bytes(totals.bytes_vram)} in device memory` : ""}`, "disk"],
        ...(totals.model.bytes > 0
            ? [["model touched", bytes(totals.model.bytes_touched), `${share(totals.model.bytes_touched, totals.model.bytes)} of ${bytes(totals.model.bytes)}, header and padding included${unknown}${stray}`, "touched"] satisfies [string, string, string, string]]
            : []),
        ...totals.devices.filter((device) => device.type !== "cpu").map((device): [string, string, string, string] => [device.name, ...deviceNote(device), `device-${device.name}`]),
    ];
    return (
        <dl class="tiles">
            {tiles.map(([name, value, note, key]) => (
                <div class="tile" key={key} data-tile={key}>
                    <dt>
                        <Terms text={name} />
                    </dt>
                    <dd class="tile-value">{value}</dd>
                    <dd class="quiet">
                        <Terms text={note} />
                    </dd>
                </div>
            ))}
        </dl>
    );
}
