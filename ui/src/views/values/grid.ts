// The server's grid of ops and tokens: the contents, text and colour of a cell.
import type { ValuesColumn, ValuesLine, ValuesMap } from "../../api";
import type { Column, Columns } from "../../columns";

export interface Cell {
    value: number;
    allowed: number; // error that inputs and rounding explain; Infinity: unknown
    run: number;
    node: number;
    marks: number;
}

export type Kind = "none" | "nan" | "inf" | "wrong" | "zero" | "heat";

export interface Grid {
    of: ValuesMap["of"];
    by: ValuesMap["by"];
    tokens: number;
    lines: ValuesLine[];
    places: ValuesColumn[];
    ends: [number, number]; // of the scale
    cell(line: number, column: number): Cell;
}

export const kindOf = ({ marks, value }: Cell): Kind => (!(marks & 1) ? "none" : marks & 2 ? "nan" : marks & 4 ? "inf" : marks & 8 ? "wrong" : value === 0 ? "zero" : "heat");
// The ratio of error to allowed error.
const ratioOf = (cell: Cell) => (cell.allowed > 0 ? cell.value / cell.allowed : cell.value > 0 ? Infinity : 0);

export function gridOf(answer: Columns): Grid {
    const { of, by, tokens, lines, places } = answer.header as unknown as ValuesMap;
    const [value, allowed, run, node, marks] = (["value", "allowed", "run", "node", "marks"] as const).map((name) => answer.column(name)) as [Column, Column, Column, Column, Column];
    let [least, most] = [Infinity, 0];
    for (let i = 0; of !== "error" && i < answer.rows; i++) if (value[i]! > 0) [least, most] = [Math.min(least, value[i]!), Math.max(most, value[i]!)];
    return {
        ...{ of, by, tokens, lines, places },
        ends: of === "error" ? [1e-4, 1] : most > 0 ? [least, most] : [1, 1],
        cell: (line, column) => {
            const i = line * places.length + column;
            return { value: value[i]!, allowed: allowed[i]!, run: run[i]!, node: node[i]!, marks: marks[i]! };
        },
    };
}

// On the log scale, from 0 to 1.
export function levelOf({ of, ends: [least, most] }: Grid, cell: Cell): number {
    const value = of === "error" ? ratioOf(cell) : cell.value;
    return value <= least ? 0 : Math.min(1, Math.log(value / least) / Math.log(most / least || 1));
}

// Three significant digits, without trailing zeros.
export const short = (value: number): string => String(Number(value.toPrecision(3)));
export const two = (value: number): string => String(Number(value.toPrecision(2)));

// "NaN, rms 0.53", "error 0.12; inputs and rounding explain 0.036"
export function cellText({ of }: Grid, cell: Cell): string {
    const kind = kindOf(cell);
    if (kind === "none") return "not recorded";
    const words = [cell.marks & 2 ? "NaN" : "", cell.marks & 4 ? "infinite" : "", cell.marks & 8 ? "wrong" : ""].filter(Boolean);
    if (of !== "error") words.push(`${of === "rms" ? "rms" : "largest"} ${short(cell.value)}`);
    else if (cell.value === 0) words.push("equal bit by bit");
    else words.push(`error ${two(cell.value)}; inputs and rounding explain ${cell.allowed === Infinity ? "it: it reads other rows or experts" : two(cell.allowed)}`);
    return words.join(", ");
}

const range = (first: number | null, last: number | null): string => (first === null ? "" : first === last ? String(first) : `${first} to ${last}`);
export const placeText = (at: ValuesColumn, word: string): string => [`${word} ${range(at.token, at.last_token)}`, at.position === null ? "" : `position ${range(at.position, at.last_position)}`].filter((text) => text.trim()).join(", ");
export const lineText = ({ by }: Grid, line: ValuesLine): string => (by === "layer" && line.layer !== null ? `layer ${line.layer}` : `${line.op} ${line.name}`);

// The tokens of columns `from` to `to`, inclusive, relative to the first shown one.
export function tokensOf({ places }: Grid, from: number, to: number, first: number): [number, number] {
    const before = (column: number) => places.slice(0, column).reduce((sum, place) => sum + place.tokens, first);
    return [before(from), before(to + 1)];
}
