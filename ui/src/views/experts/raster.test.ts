import { expect, test } from "vitest";
import { build } from "../../columns";
import { rasterOf } from "./raster";

test("one column per token that went through the layer, weights that were not seen are none", () => {
    const raster = rasterOf(
        build({
            token: Int32Array.of(0, 0, 0, 0, 1, 1),
            input: Uint32Array.of(0, 0, 1, 1, 0, 0),
            rank: Uint16Array.of(0, 1, 0, 1, 0, 1),
            expert: Int16Array.of(3, 1, 3, 2, 0, 3),
            weight: Float64Array.of(0.7, 0.3, 0.6, 0.4, Number.NaN, Number.NaN),
        }),
        4,
    );
    expect(raster.columns.map((column) => [column.token, column.input, column.inputs, column.chosen.map((one) => one.expert)])).toEqual([
        [0, 0, 2, [3, 1]],
        [0, 1, 2, [3, 2]],
        [1, 0, 1, [0, 3]],
    ]);
    expect(raster.times).toEqual([1, 1, 1, 3]);
    expect(raster.most).toBeCloseTo(0.7);
    expect(raster.columns[2]!.chosen[0]!.weight).toBeNull();
});
