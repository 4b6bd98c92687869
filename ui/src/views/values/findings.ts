// Findings about values as rows that link to ops: of one recording those of `ggscope values`, of
// two the wrong ops of `ggscope diff --values`.
import type { Values, ValuesCompared, ValuesOp, ValuesOrigin } from "../../api";
import { count, plural } from "../../format";
import { short, two } from "./grid";

export interface Found {
    what: string;
    op: string;
    name: string;
    layer: number | null;
    position: number | null;
    text: string;
    at: { run: number; node: number } | null;
}

const about = ({ op, name, layer, position, run, node }: ValuesOp | ValuesOrigin) => ({ op, name, layer, position, at: { run, node } });

const origin = (what: string) => (one: ValuesOrigin): Found => ({
    what,
    ...about(one),
    text: `${count(one.count)} of ${plural(one.elements, "element")}, in ${count(one.rows)} of ${plural(one.of_rows, "token")}; from ${one.inputs.map((input) => `${input.name} (${input.values})`).join(", ") || "nothing that was seen"}`,
});

export function findingsOf(values: Values): Found[] {
    return [
        ...values.nan.map(origin("NaN")),
        ...values.inf.map(origin("infinite")),
        ...values.near_f16.map((one) => ({ what: "overflow", ...about(one), text: `reaches ${short(one.largest)}; F16 holds 65504` })),
        ...values.constant.map((one) => ({ what: "constant", ...about(one), text: `every element of each of ${plural(one.rows, "output")} is the same; ${short(one.min)} to ${short(one.max)}` })),
        ...values.channels.map((one) => ({ what: "channel", ...about(one), text: `channel ${one.channel} has ${short(one.peak)} times the rms, in ${Math.round(100 * one.share)} % of the tokens or more` })),
        ...values.tokens.map((one) => ({ what: "token", op: "", name: "", layer: null, position: one.position, text: `unlike the others in ${count(one.outputs)} of ${plural(one.of_outputs, "output")}: ${short(one.times)} times the median`, at: null })),
    ];
}

// The numbers behind a wrong op, as in the terminal.
export function whyText(one: ValuesCompared): string {
    const first = one.first!;
    if (one.rule === "nan" || one.rule === "inf") return `${count(first.not_finite)} elements that are finite in A`;
    if (one.rule === "choice") return "";
    return [
        first.allowed === null ? "" : `error ${two(first.error)}, inputs ${two(first.inputs)}; these and rounding explain ${two(first.allowed)}`,
        one.rule === "bias" ? `length ${one.bias > 0 ? "+" : ""}${short(100 * one.bias)} %; rounding explains ${two(100 * one.bias_allowed)} %` : "",
        one.rule === "peers" ? `error over inputs is ${one.sigmas.toFixed(1)} standard deviations above the other layers; 6 are usual` : "",
    ]
        .filter(Boolean)
        .join("; ");
}

export const wrongOps = (wrong: readonly ValuesCompared[]): Found[] =>
    wrong.map((one) => ({
        what: one.rule!,
        op: one.op,
        name: one.alias ? `${one.name} (${one.alias})` : one.name,
        layer: one.layer,
        position: one.first!.position,
        text: [one.why, whyText(one), `in ${count(one.wrong_tokens!)} of ${plural(one.tokens, "token")}`].filter(Boolean).join("; "),
        at: { run: one.first!.run, node: one.first!.node },
    }));
