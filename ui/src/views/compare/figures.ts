// Figures of several recordings as text, and which of them are shown.
import { figureTexts, type Several } from "../../api";
import { bytes, count, time } from "../../format";

export type SeveralFigure = Several["figures"][number];

export const labelOf = (i: number): string => String.fromCharCode(65 + i);

export const nameOf = ({ figure }: SeveralFigure): string => figureTexts[figure] ?? figure;

export function valueText({ unit }: SeveralFigure, value: number | null): string {
    if (value === null) return "not seen";
    if (unit === "ns") return time(value);
    if (unit === "bytes") return bytes(value);
    return unit === "/s" ? value.toFixed(value < 9.95 ? 2 : 1) : count(value);
}

// One text per recording; bytes that would round to the same text are written in full.
export function textsOf(figure: SeveralFigure): string[] {
    const texts = figure.values.map((value) => valueText(figure, value));
    const isSame = figure.differs && figure.unit === "bytes" && new Set(texts).size < new Set(figure.values).size;
    return isSame ? figure.values.map((value) => (value === null ? "not seen" : `${count(value)} B`)) : texts;
}

// Equal counts and bytes are hidden; times are always shown, as in `ggscope diff`.
export const isShown = ({ unit, values, differs }: SeveralFigure): boolean => values.some((value) => value !== null) && (differs || unit === "ns" || unit === "/s");

export const noiseText = (noise: number | null): string => (noise === null ? "no repeats" : `${(100 * noise).toFixed(1)} %`);

export const verdictOf = ({ differs, noise }: SeveralFigure, groups: number): string => (differs ? "differs" : groups === 1 || noise === null ? "" : "within the noise");
