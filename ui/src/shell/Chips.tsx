// The selection, in words that can be taken back one by one.
import { bytes, count, time } from "../format";
import { clearSelection, select, selection, type Selection, summary } from "../state";
import { stepRange } from "../step";

function words(chosen: Selection): [keyof Selection, string][] {
    const chips: [keyof Selection, string | null][] = [
        ["tokens", chosen.tokens && stepRange(chosen.tokens)],
        ["layer", chosen.layer === null ? null : chosen.layer < 0 ? "no layer" : `layer ${chosen.layer}`],
        ["tensor", chosen.tensor && `tensor ${chosen.tensor}`],
        ["opType", chosen.opType],
        ["op", chosen.op && `op ${chosen.op.node} of graph run ${chosen.op.run}`],
        ["region", chosen.region && `${bytes(chosen.region.end - chosen.region.begin)} from ${count(chosen.region.begin)}`],
        ["buffer", chosen.buffer === null ? null : `buffer ${chosen.buffer}`],
        ["expert", chosen.expert === null ? null : `expert ${chosen.expert}`],
        ["lane", chosen.lane === null ? null : (summary.value?.lanes.find((one) => one.lane === chosen.lane)?.label ?? `lane ${chosen.lane}`)],
        ["request", chosen.request === null ? null : `request ${chosen.request}`],
        ["time", chosen.time && `${time(chosen.time[1] - chosen.time[0])} from ${time(chosen.time[0])}`],
    ];
    return chips.filter((chip): chip is [keyof Selection, string] => chip[1] !== null);
}

export function Chips() {
    const chips = words(selection.value);
    if (chips.length === 0) return null;
    return (
        <div class="chips" role="region" aria-label="Selection">
            {chips.map(([part, text]) => (
                <span class="chip" key={part} title={text}>
                    <span>{text}</span>
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
