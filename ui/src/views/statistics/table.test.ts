import { expect, test } from "vitest";
import { toCsv } from "./csv";
import { sorted } from "./sort";

test("CSV quotes what needs it and nothing else", () => {
    expect(
        toCsv(
            ["name", "bytes"],
            [
                ["a", 1],
                ['say "hi", you', null],
                ["two\nlines", 0.5],
            ],
        ),
    ).toBe('name,bytes\r\na,1\r\n"say ""hi"", you",\r\n"two\nlines",0.5\r\n');
});

test("numbers by value, names the way people count, missing last both ways, equal ones in place", () => {
    const rows = [
        { n: "blk.10", v: 2 },
        { n: "blk.2", v: null },
        { n: "blk.1", v: 2 },
        { n: "output", v: 10 },
    ];
    expect(sorted(rows, (r) => r.n, false).map((r) => r.n)).toEqual(["blk.1", "blk.2", "blk.10", "output"]);
    expect(sorted(rows, (r) => r.v, false).map((r) => r.n)).toEqual(["blk.10", "blk.1", "output", "blk.2"]);
    expect(sorted(rows, (r) => r.v, true).map((r) => r.n)).toEqual(["output", "blk.10", "blk.1", "blk.2"]);
    expect(rows[0]!.n).toBe("blk.10");
});
