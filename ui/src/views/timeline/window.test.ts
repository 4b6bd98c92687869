import { expect, test } from "vitest";
import { pausesOf } from "./window";

test("what lies between the windows of a recording is a pause, marks are none", () => {
    const window = (kind: string, begin_ns: number, end_ns: number) => ({ kind, begin_ns, end_ns });
    const bounds = { begin: 0, end: 100 };
    expect(pausesOf([window("recorded", 10, 30), window("mark", 40, 40), window("recorded", 50, 70)], bounds)).toEqual([
        { begin: 0, end: 10 },
        { begin: 30, end: 50 },
        { begin: 70, end: 100 },
    ]);
    expect(pausesOf([window("recorded", 0, 100)], bounds)).toEqual([]);
    expect(pausesOf([window("mark", 5, 5)], bounds)).toEqual([]);
    expect(pausesOf([window("recorded", 20, 60), window("recorded", 10, 90)], bounds)).toEqual([
        { begin: 0, end: 10 },
        { begin: 90, end: 100 },
    ]);
});
