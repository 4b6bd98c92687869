import { expect, test } from "vitest";
import { build } from "../../columns";
import { cellText, gridOf, kindOf, levelOf, lineText, placeText, tokensOf } from "./grid";

const line = (name: string, layer: number | null) => ({ op: "MUL_MAT", name, key: `MUL_MAT:${name}`, layer, ops: 1 });
const place = (token: number, position: number, tokens = 1) => ({ token, last_token: token, position, last_position: position + tokens - 1, tokens });

const grid = (of: string, value: number[], allowed: number[], marks: number[]) =>
    gridOf(
        build(
            { value: Float64Array.from(value), allowed: Float64Array.from(allowed), run: Uint32Array.from(value.map((_, i) => i + 1)), node: Uint32Array.from(value.map(() => 7)), marks: Uint8Array.from(marks) },
            { of, by: "op", tokens: 9, lines: [line("Qcur-0", 0), line("result", null)], places: [place(0, 0, 4), place(1, 4)] },
        ),
    );

test("ranges: a log scale over what is there; NaN, infinities and zeros are apart from it", () => {
    const made = grid("rms", [0.01, 1, 100, 0], [0, 0, 0, 0], [1, 3, 5, 1]);
    expect(made.ends).toEqual([0.01, 100]);
    expect([0, 1].flatMap((i) => [0, 1].map((k) => kindOf(made.cell(i, k))))).toEqual(["heat", "nan", "inf", "zero"]);
    expect(levelOf(made, made.cell(0, 0))).toBe(0);
    expect(levelOf(made, made.cell(0, 1))).toBeCloseTo(0.5);
    expect(levelOf(made, made.cell(1, 0))).toBe(1);
    expect(cellText(made, made.cell(0, 1))).toBe("NaN, rms 1");
    expect(made.cell(1, 0)).toMatchObject({ run: 3, node: 7 });
});

test("errors: in terms of what is allowed, up to all of it", () => {
    const made = grid("error", [0.00012, 0.36, 0, 1], [0.012, 0.036, 0.012, Infinity], [1, 9, 1, 1]);
    expect([0, 1].flatMap((i) => [0, 1].map((k) => kindOf(made.cell(i, k))))).toEqual(["heat", "wrong", "zero", "heat"]);
    expect(levelOf(made, made.cell(0, 0))).toBeCloseTo(0.5);
    expect(levelOf(made, made.cell(0, 1))).toBe(1);
    expect(levelOf(made, made.cell(1, 1))).toBe(0);
    expect(cellText(made, made.cell(0, 1))).toBe("wrong, error 0.36; inputs and rounding explain 0.036");
    expect(cellText(made, made.cell(1, 0))).toBe("equal bit by bit");
});

test("lines, columns and the tokens of a window are said as people count them", () => {
    const made = grid("rms", [1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 0]);
    expect(lineText(made, made.lines[0]!)).toBe("MUL_MAT Qcur-0");
    expect(lineText({ ...made, by: "layer" }, made.lines[0]!)).toBe("layer 0");
    expect(made.places.map((one) => placeText(one, "token"))).toEqual(["token 0, position 0 to 3", "token 1, position 4"]);
    expect(tokensOf(made, 1, 1, 10)).toEqual([14, 15]);
    expect(cellText(made, made.cell(1, 1))).toBe("not recorded");
});
