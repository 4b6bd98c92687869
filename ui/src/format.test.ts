import { expect, test } from "vitest";
import { bytes, count, instant, middleCut, plural, roughly, shape, share, threeDigits, time, times, tokenText } from "./format";

// The page formats numbers like ggs_format_bytes and the other functions of base/number.h.
test("numbers read as on the command line", () => {
    expect([0, 1023, 1024, 1536, 102_400, 1_047_552, 1_048_064, 702_545_920].map(bytes)).toEqual(["0 B", "1023 B", "1.00 KiB", "1.50 KiB", "100 KiB", "1023 KiB", "1.00 MiB", "670 MiB"]);
    expect([0, 999, 1000, 34_500, 999_500, 1_200_000_000, 61e9, 3_661e9].map(time)).toEqual(["0 ns", "999 ns", "1.00 us", "34.5 us", "1.00 ms", "1.20 s", "61.0 s", "61 min 01 s"]);
    expect(count(1_234_567)).toBe("1,234,567");
    expect(share(1, 8)).toBe("12.5 %");
    expect(share(0, 0)).toBe("-");
});

test("ticks have the digits that tell them apart", () => {
    expect(instant(1_500_000, 500_000)).toBe("1.5 ms");
    expect(instant(120_000_000, 5_000_000)).toBe("120 ms");
    expect(instant(1_234_567, 100)).toBe("1,234.6 us");
    expect(instant(2_000_000_000, 1_000_000_000)).toBe("2 s");
});

test("words", () => {
    expect(roughly(18_204)).toBe("18,204");
    expect(roughly(3_100_000)).toBe("3.1 M");
    expect([2, 18.64, 2440.2, 1_234_567].map((ratio) => times(ratio))).toEqual(["2.0 ×", "18.6 ×", "2,440.2 ×", "1,234,567.0 ×"]);
    expect([0, 0.0024, 0.034, 0.0999, 1.434, 12.34, 1024].map(threeDigits)).toEqual(["0.00", "0.0024", "0.034", "0.10", "1.43", "12.3", "1,024"]);
    expect(times(1.256, 2)).toBe("1.26 ×");
    expect(plural(1, "read")).toBe("1 read");
    expect(plural(2, "touch", "touches")).toBe("2 touches");
    expect(shape([2048, 32000, 1, 1])).toBe("2048 × 32000");
    expect(shape([1, 1])).toBe("1");
    expect(tokenText(" a\n")).toBe("␣a\\n");
});

test("a name that is too long keeps its begin and its end", () => {
    expect(middleCut("RPC0[10.0.0.1:50071]", 14)).toBe("RPC0[…1:50071]");
    expect(middleCut("CUDA0", 14)).toBe("CUDA0");
});
