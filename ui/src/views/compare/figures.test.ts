import { expect, test } from "vitest";
import { isShown, labelOf, nameOf, noiseText, type SeveralFigure, textsOf, valueText, verdictOf } from "./figures";

const figure = (name: string, unit: string, values: (number | null)[], differs = false, noise: number | null = null): SeveralFigure => ({ figure: name, unit, values, differs, noise });

test("recordings have letters", () => expect([0, 1, 11].map(labelOf)).toEqual(["A", "B", "L"]));

test("what is the same in all is left out, times never, what nobody saw always", () => {
    expect(isShown(figure("ops", "", [5, 5, 5]))).toBe(false);
    expect(isShown(figure("ops", "", [5, 6, 5], true))).toBe(true);
    expect(isShown(figure("token_ns", "ns", [5, 5, 5]))).toBe(true);
    expect(isShown(figure("tokens_per_s", "/s", [null, null]))).toBe(false);
});

test("values in their units, and what was not seen as such", () => {
    expect(valueText(figure("token_ns", "ns", []), 1_500_000)).toBe("1.50 ms");
    expect(valueText(figure("bytes_read", "bytes", []), 1 << 20)).toBe("1.00 MiB");
    expect(valueText(figure("tokens_per_s", "/s", []), 7.256)).toBe("7.26");
    expect(valueText(figure("tokens_per_s", "/s", []), null)).toBe("not seen");
    expect(nameOf(figure("token_quiet_ns", "ns", []))).toBe("time per token, fastest tenth");
    expect(nameOf(figure("load_ns", "ns", []))).toBe("time to load");
    expect(nameOf(figure("ops", "", []))).toBe("ops");
});

test("without repeats nothing is called noise", () => {
    expect(noiseText(null)).toBe("no repeats");
    expect(noiseText(0.0312)).toBe("3.1 %");
    expect(verdictOf(figure("token_ns", "ns", [1, 2], false, null), 2)).toBe("");
    expect(verdictOf(figure("token_ns", "ns", [1, 2], false, 0.5), 2)).toBe("within the noise");
    expect(verdictOf(figure("token_ns", "ns", [1, 2], false, 0.5), 1)).toBe("");
    expect(verdictOf(figure("token_ns", "ns", [1, 9], true, 0.5), 2)).toBe("differs");
});

test("what differs looks different", () => {
    expect(textsOf(figure("bytes_read", "bytes", [356515840, 356515968], true))).toEqual(["356,515,840 B", "356,515,968 B"]);
    expect(textsOf(figure("bytes_read", "bytes", [1 << 20, 2 << 20, 1 << 20], true))).toEqual(["1.00 MiB", "2.00 MiB", "1.00 MiB"]);
});
