// The selection in words; each part can be removed.
import type { OpAnswer } from "../api";
import { applied } from "../applied";
import { useAsk } from "../ask";
import { bytes, count, moment, time } from "../format";
import { clearSelection, here, select, selection, type Selection, summary } from "../state";
import { stepRange } from "../step";

function words(chosen: Selection, opName: string | null): [keyof Selection, string][] {
    const chips: [keyof Selection, string | null][] = [
        ["tokens", chosen.tokens && stepRange(chosen.tokens)],
        ["layer", chosen.layer === null ? null : chosen.layer < 0 ? "no layer" : `layer ${chosen.layer}`],
        ["tensor", chosen.tensor && `tensor ${chosen.tensor}`],
        ["opType", chosen.opType],
        ["op", chosen.op && `op ${opName ?? "…"}`],
        ["region", chosen.region && `${bytes(chosen.region.end - chosen.region.begin)} from ${count(chosen.region.begin)}`],
        ["buffer", chosen.buffer === null ? null : `buffer ${chosen.buffer}`],
        ["expert", chosen.expert === null ? null : `expert ${chosen.expert}`],
        ["lane", chosen.lane === null ? null : (summary.value?.lanes.find((one) => one.lane === chosen.lane)?.label ?? `lane ${chosen.lane}`)],
        ["request", chosen.request === null ? null : `request ${chosen.request}`],
        ["time", chosen.time && `${time(chosen.time[1] - chosen.time[0])} from ${moment(chosen.time[0], chosen.time[1] - chosen.time[0])}`],
    ];
    return chips.filter((chip): chip is [keyof Selection, string] => chip[1] !== null);
}

export function Chips() {
    const { op } = selection.value;
    const answer = useAsk<OpAnswer>(op && here("op", op), { keep: true });
    const chips = words(selection.value, op && answer.data ? answer.data.name || answer.data.op : null);
    if (chips.length === 0) return null;
    const isUsed = (part: keyof Selection) => applied.value.includes(part);
    return (
        <div class="chips" role="region" aria-label="Selection">
            {chips.map(([part, text]) => (
                <span class={`chip${isUsed(part) ? "" : " unused"}${text.length > 14 ? " long" : ""}`} key={part} title={isUsed(part) ? text : `${text}: what is shown here does not depend on it`}>
                    {isUsed(part) ? <span>{text}</span> : <s aria-description="not taken into account here">{text}</s>}
                    <button type="button" aria-label={`Deselect ${text}`} onClick={() => select(part === "request" ? { request: null, time: null } : { [part]: null })}>
                        ×
                    </button>
                </span>
            ))}
            {chips.length > 1 && (
                <button type="button" class="quiet" onClick={clearSelection}>
                    clear
                </button>
            )}
        </div>
    );
}
