import { expect, test } from "vitest";
import { view } from "../state";
import { asPlaces } from "./scrolls";

test("places of the view that is shown are written, and read back", () => {
    view.value = "graph";
    const text = asPlaces.write({ graph: [0, 120.4], "graph-blocks": [30, 0], statistics: [0, 900], "graph-page": [0, 0] });
    expect(text).toBe("graph-blocks:30.0,graph:0.120");
    expect(asPlaces.read(text)).toEqual({ graph: [0, 120], "graph-blocks": [30, 0] });
    expect(asPlaces.read("graph:1.2,<x>:1.2")).toBeUndefined();
});
