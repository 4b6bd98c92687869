// The grid of time and offset as pixels. Pure arithmetic; drawing is in AccessOrder.tsx.
import type { Columns } from "../../columns";

export const accessLayers = [
    ["mapped", "read by ops from mapped files"],
    ["copied", "read by ops from copies"],
    ["faults", "page faults"],
    ["disk", "read from the disk"],
] as const;
export type AccessLayer = (typeof accessLayers)[number][0];

// The page of a file in which a byte lies.
export function pageOf(file: number, offset: number, page: number): { file: number; begin: number; end: number } {
    const begin = Math.floor(offset / page) * page;
    return { file, begin, end: begin + page };
}

export interface Grid {
    columns: number;
    rows: number;
    begin: number; // ns
    end: number;
    first: number; // bytes of the axis
    last: number;
    axis: number; // bytes of all files
    cells: Float32Array[]; // by layer, row by row
    most: number[];
    sums: number[];
}

export function gridOf(answer: Columns): Grid {
    const number = (name: string) => Number(answer.header[name] ?? 0);
    const [columns, rows] = [number("n_columns"), number("n_rows")];
    const cells = accessLayers.map(() => new Float32Array(columns * rows));
    const most = accessLayers.map(() => 0);
    const [layer, column, row, amount] = [answer.column("layer"), answer.column("column"), answer.column("row"), answer.column("amount")];
    for (let i = 0; i < answer.rows; i++) {
        cells[layer[i]!]![row[i]! * columns + column[i]!] = amount[i]!;
        most[layer[i]!] = Math.max(most[layer[i]!]!, amount[i]!);
    }
    const sums = answer.header["sums"] as Record<string, number>;
    return { columns, rows, begin: number("begin_ns"), end: number("end_ns"), first: number("first_byte"), last: number("end_byte"), axis: number("axis_bytes"), cells, most, sums: ["bytes_mapped", "bytes_copied", "faults", "bytes_requested"].map((name) => sums[name] ?? 0) };
}

// What is shown if nothing was chosen: an engine may have copied most of the weights.
export const usualLayer = ([mapped, copied]: readonly number[]): AccessLayer => (copied! > mapped! ? "copied" : "mapped");

// What the grid has at a moment and a byte; 0 outside of it.
export function cellOf(grid: Grid, layer: number, ns: number, byte: number): number {
    const column = Math.floor(((ns - grid.begin) / (grid.end - grid.begin)) * grid.columns);
    const row = Math.floor(((byte - grid.first) / (grid.last - grid.first)) * grid.rows);
    const isThere = column >= 0 && column < grid.columns && row >= 0 && row < grid.rows;
    return isThere ? grid.cells[layer]![row * grid.columns + column]! : 0;
}

// The intensity of a cell from 0 to 1, on a log scale over four decades, so that single reads stay
// visible beside frequent ones.
const decades = 4;
export const least = (most: number) => most / 10 ** decades; // amounts up to this one have the darkest colour
export function strength(amount: number, most: number): number {
    if (!(amount > 0) || !(most > 0)) return 0;
    return Math.min(1, Math.max(0.04, 1 + Math.log10(amount / most) / decades));
}

// A window of the axis around a fixed point, within its bounds.
export function zoomRange([from, to]: [number, number], factor: number, at: number, [least, most]: [number, number], smallest: number): [number, number] {
    const length = Math.min(most - least, Math.max(smallest, (to - from) / factor));
    const share = (at - from) / (to - from || 1);
    const begin = Math.min(Math.max(least, at - share * length), most - length);
    return [Math.round(begin), Math.round(begin + length)];
}
