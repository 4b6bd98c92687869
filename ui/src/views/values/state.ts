// The state of the values view: the ranges of one recording, or the errors against a trusted one.
import type { Experiment } from "../../api";
import { asked, asRange, asText, chosenOps, current, experiments, here, kept, type Parameters } from "../../state";

export const measure = kept("of", "rms", asText(["rms", "largest"]));
export const by = kept("lines", "op", asText(["op", "layer"]));
// The shown tokens among the selected ones; null: all.
export const window_ = kept<[number, number] | null>("inputs", null, asRange, { isZoom: true });
// The recording that is trusted, by its id; null: none.
export const against = kept<string | null>("against", null, { write: (id) => id ?? "", read: (text) => (/^[\w-]{1,64}$/.test(text) ? text : undefined) }, { stays: true });

declare const REPORT: boolean; // set by build.mjs: a report does not compare values

export const trusted = (): Experiment | null => (REPORT ? null : others().find((one) => one.experiment_id === against.value) ?? null);
export const others = (): Experiment[] => experiments.value.filter((one) => one.error === null && one.index !== current.value);

// The parts of the selection that limit values.
export function chosen(): Parameters {
    const { tokens, layer, op, tensor } = chosenOps();
    return { tokens, layer, op, tensor };
}

export function mapPath(parameters: Parameters): string {
    const a = trusted();
    const all = { of: measure.value, ...parameters };
    return a ? asked("/api/values-diff-map", { a: a.index, b: current.value, ...all }) : here("values-map", all);
}
