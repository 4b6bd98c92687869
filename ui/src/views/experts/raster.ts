// Choices as columns of a raster: one per token that went through the layer.
import type { Columns } from "../../columns";

export interface Chosen {
    expert: number;
    rank: number;
    weight: number | null; // null: not seen
}

export interface Raster {
    columns: { token: number; input: number; inputs: number; chosen: Chosen[] }[];
    times: number[]; // by expert
    most: number; // the largest weight
}

export function rasterOf(answer: Columns, experts: number): Raster {
    const of = (name: string): ArrayLike<number> => answer.column(name);
    const [token, input, rank, expert, weight] = [of("token"), of("input"), of("rank"), of("expert"), of("weight")];
    const raster: Raster = { columns: [], times: new Array<number>(experts).fill(0), most: 0 };
    const inputs = new Map<number, number>();
    for (let i = 0; i < answer.rows; i++) {
        let last = raster.columns[raster.columns.length - 1];
        if (!last || last.token !== token[i] || last.input !== input[i]) {
            last = { token: token[i]!, input: input[i]!, inputs: 1, chosen: [] };
            raster.columns.push(last);
            inputs.set(token[i]!, (inputs.get(token[i]!) ?? 0) + 1);
        }
        const value = Number.isNaN(weight[i]!) ? null : weight[i]!;
        last.chosen.push({ expert: expert[i]!, rank: rank[i]!, weight: value });
        if (expert[i]! >= 0 && expert[i]! < experts) raster.times[expert[i]!]!++;
        raster.most = Math.max(raster.most, value ?? 0);
    }
    for (const column of raster.columns) column.inputs = inputs.get(column.token)!;
    raster.most ||= 1;
    return raster;
}
