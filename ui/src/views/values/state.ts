// What the picture of values is about: of one recording its ranges, of two the error against one that is trusted.
import type { Experiment } from "../../api";
import { asked, asRange, asText, chosenOps, current, experiments, here, kept, type Parameters } from "../../state";

export const measure = kept("of", "rms", asText(["rms", "largest"]));
export const by = kept("lines", "op", asText(["op", "layer"]));
// Tokens that are shown, of those that are selected; null: all.
export const window_ = kept<[number, number] | null>("inputs", null, asRange, { isZoom: true });
// The recording that is trusted, by its id; null: none.
export const against = kept<string | null>("against", null, { write: (id) => id ?? "", read: (text) => (/^[\w-]{1,64}$/.test(text) ? text : undefined) }, { stays: true });

declare const REPORT: boolean; // set by build.mjs: a report does not compare values

export const trusted = (): Experiment | null => (REPORT ? null : others().find((one) => one.experiment_id === against.value) ?? null);
export const others = (): Experiment[] => experiments.value.filter((one) => one.error === null && one.index !== current.value);

// What of the selection narrows values.
export function chosen(): Parameters {
    const { tokens, layer, op, tensor } = chosenOps();
    return { tokens, layer, op, tensor };
}

export function mapPath(parameters: Parameters): string {
    const a = trusted();
    const all = { of: measure.value, ...parameters };
    return a ? asked("/api/values-diff-map", { a: a.index, b: current.value, ...all }) : here("values-map", all);
}
