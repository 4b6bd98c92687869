// Figures of several recordings in the words of the page, and which of them say something.
import type { Several } from "../../api";
import { bytes, count, time } from "../../format";

export type SeveralFigure = Several["figures"][number];

export const labelOf = (i: number): string => String.fromCharCode(65 + i);

const names: Record<string, string> = {
    tokens_per_s: "tokens/s",
    prompt_tokens_per_s: "prompt tokens/s",
    token_ns: "time per token",
    token_quiet_ns: "time per token, fastest tenth",
    prompt_ns: "time of the prompt",
    wall_ns: "time in all",
    tokens: "token steps",
    op_runs: "op runs",
    bytes_read: "bytes read",
    bytes_written: "bytes written",
    bytes_disk: "in mapped files",
    bytes_touched: "model touched",
    peak_bytes: "peak of buffers",
};
export const nameOf = ({ figure }: SeveralFigure): string => names[figure] ?? figure;

export function valueText({ unit }: SeveralFigure, value: number | null): string {
    if (value === null) return "not seen";
    if (unit === "ns") return time(value);
    if (unit === "bytes") return bytes(value);
    return unit === "/s" ? value.toFixed(value < 9.95 ? 2 : 1) : count(value);
}

// One text for each recording; bytes that differ by less than shown digits are written out.
export function textsOf(figure: SeveralFigure): string[] {
    const texts = figure.values.map((value) => valueText(figure, value));
    const isSame = figure.differs && figure.unit === "bytes" && new Set(texts).size < new Set(figure.values).size;
    return isSame ? figure.values.map((value) => (value === null ? "not seen" : `${count(value)} B`)) : texts;
}

// Counts and bytes that are the same say nothing; times are always shown, as `ggscope diff` does.
export const isTold = ({ unit, values, differs }: SeveralFigure): boolean => values.some((value) => value !== null) && (differs || unit === "ns" || unit === "/s");

export const noiseText = (noise: number | null): string => (noise === null ? "no repeats" : `${(100 * noise).toFixed(1)} %`);

export const verdictOf = ({ differs, noise }: SeveralFigure, groups: number): string => (differs ? "differs" : groups === 1 || noise === null ? "" : "within the noise");
