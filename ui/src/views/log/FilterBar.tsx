// The filter of the log: the shared selection as editable fields.
import { useEffect, useState } from "preact/hooks";
import { bytes, moment } from "../../format";
import { select, selection, summary } from "../../state";
import { stepColumn, stepsWord } from "../../step";
import { logSource } from "./extras";
import { parseRange, rangeText } from "./filter";

export function FilterBar({ ops }: { ops: string[] }) {
    const chosen = selection.value;
    const last = Math.max(0, (summary.value?.tokens ?? 1) - 1);
    const layers = summary.value?.model?.layers ?? 0;
    return (
        <form class="log-filter" aria-label="Filter the log" onSubmit={(event) => event.preventDefault()}>
            <Field
                label={stepColumn()}
                value={rangeText(chosen.tokens)}
                placeholder="3 or 3..7"
                size={7}
                change={(text) => {
                    const range = parseRange(text, last);
                    if (range === undefined) return `"${text}" is no range of ${stepsWord()}: write 3 or 3..7`;
                    select({ tokens: range });
                    return null;
                }}
            />
            <label>
                layer{" "}
                <select
                    value={chosen.layer === null ? "" : String(chosen.layer)}
                    onChange={(event) => select({ layer: event.currentTarget.value === "" ? null : Number(event.currentTarget.value) })}
                >
                    <option value="">all</option>
                    <option value="-1">none</option>
                    {Array.from({ length: layers }, (_, i) => (
                        <option value={String(i)} key={i}>
                            {i}
                        </option>
                    ))}
                </select>
            </label>
            <Field
                label="op"
                value={chosen.opType ?? ""}
                placeholder="MUL_MAT"
                size={12}
                list="log-ops"
                change={(text) => (select({ opType: text.trim().toUpperCase() || null }), null)}
            />
            <datalist id="log-ops">
                {ops.map((op) => (
                    <option value={op} key={op} />
                ))}
            </datalist>
            <Field
                label="tensor"
                value={chosen.tensor ?? ""}
                placeholder="blk.*.attn_q*"
                size={18}
                search
                change={(text) => (select({ tensor: text.trim() || null }), null)}
            />
            <label>
                source{" "}
                <select
                    value={logSource.value ?? ""}
                    onChange={(event) => (logSource.value = event.currentTarget.value || null)}
                >
                    <option value="">any</option>
                    <option>DISK</option>
                    <option>BUFFER</option>
                    {summary.value?.lanes.some((one) => one.device !== null) && <option>VRAM</option>}
                </select>
            </label>
            <label>
                lane{" "}
                <select
                    value={chosen.lane === null ? "" : String(chosen.lane)}
                    onChange={(event) => select({ lane: event.currentTarget.value === "" ? null : Number(event.currentTarget.value) })}
                >
                    <option value="">all</option>
                    {(summary.value?.lanes ?? []).map((one) => (
                        <option value={String(one.lane)} key={one.lane}>
                            {one.label}
                        </option>
                    ))}
                </select>
            </label>
        </form>
    );
}

// The parts of the selection that have no field, for windows where the page's list of the selection
// is out of sight.
export function Chips() {
    const { region, buffer, time: span } = selection.value;
    return (
        <>
            {region && <Chip text={`file ${region.file}: ${bytes(region.begin)} to ${bytes(region.end)}`} remove={() => select({ region: null })} />}
            {buffer !== null && <Chip text={`buffer ${buffer}`} remove={() => select({ buffer: null })} />}
            {span && <Chip text={`${moment(span[0], span[1] - span[0])} to ${moment(span[1], span[1] - span[0])}`} remove={() => select({ time: null })} />}
        </>
    );
}

function Chip({ text, remove }: { text: string; remove(): void }) {
    return (
        <button type="button" class="log-chip" onClick={remove} aria-label={`${text}: take this filter back`}>
            {text} <span aria-hidden="true">×</span>
        </button>
    );
}

interface FieldProps {
    label: string;
    value: string;
    placeholder: string;
    size: number;
    list?: string;
    search?: boolean;
    change(text: string): string | null; // returns the error, or null
}

// Applied on Enter or when it loses the focus, because every change asks the server.
function Field({ label, value, placeholder, size, list, search, change }: FieldProps) {
    const [text, setText] = useState(value);
    const [wrong, setWrong] = useState<string | null>(null);
    useEffect(() => (setText(value), setWrong(null)), [value]);
    const commit = () => {
        if (text !== value || wrong) setWrong(change(text));
    };
    return (
        <label>
            {label}{" "}
            <input
                type={search ? "search" : "text"}
                value={text}
                placeholder={placeholder}
                size={size}
                list={list}
                autocomplete="off"
                spellcheck={false}
                aria-invalid={wrong !== null}
                title={wrong ?? undefined}
                onInput={(event) => setText(event.currentTarget.value)}
                onChange={commit}
                onBlur={commit}
                onKeyDown={(event) => {
                    if (event.key === "Enter") commit();
                    else if (event.key === "Escape") (setText(value), setWrong(null));
                }}
            />
            {wrong && (
                <span class="wrong" role="alert">
                    {wrong}
                </span>
            )}
        </label>
    );
}
