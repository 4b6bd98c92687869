import { expect, test } from "vitest";
import type { Theme } from "../../colours";
import { opFamily } from "../../colours";
import type { Steps } from "../../shell/Scrubber";
import { phases } from "../../api";
import { drawAxis, drawRuler, type Frame, nameOf } from "./draw";
import type { Answered } from "./strips";

interface Drawn {
    fill: string;
    text?: string;
    x: number;
}

// A frame that writes down what is drawn; every letter is 6 pixels wide.
function frameOf(drawn: Drawn[]): Frame {
    const context = {
        fillStyle: "",
        measureText: (text: string) => ({ width: 6 * text.length }),
        fillText: (text: string, x: number) => drawn.push({ fill: context.fillStyle, text, x }),
        fillRect: (x: number) => drawn.push({ fill: context.fillStyle, x }),
    };
    const colours = { accent: "accent", empty: "empty", chosen: "chosen", ink: "ink", line: "line", faint: "faint" } as unknown as Theme;
    return { context: context as unknown as CanvasRenderingContext2D, colours, span: { begin: 0, end: 1_000_000 }, left: 100, width: 1000, ratio: 1 };
}

test("no time of the axis is cut at its end", () => {
    const drawn: Drawn[] = [];
    drawAxis(frameOf(drawn), 200);
    const texts = drawn.filter((one) => one.text !== undefined);
    expect(texts.length).toBeGreaterThan(3);
    for (const { text, x } of texts) expect(x + 6 * text!.length).toBeLessThanOrEqual(1100);
});

test("steps have the colours of the strip of tokens", () => {
    const drawn: Drawn[] = [];
    const asked = ["PROMPT", "MIXED", "GENERATE"] as const;
    const steps: Steps = { rows: 3, first: [0, 1, 2], last: [0, 1, 2], begin: [0, 3e5, 6e5], end: [3e5, 6e5, 9e5], phase: asked.map((phase) => phases.indexOf(phase)), texts: [null, null, null], base: 0 };
    drawRuler(frameOf(drawn), steps, null, -1);
    const family = (op: string) => opFamily(op).colour;
    expect(drawn.filter((one) => one.fill.startsWith("#")).map((one) => one.fill)).toEqual([family("ROPE"), family("ARGSORT"), family("ADD")]);
});

test("an op run has the name of its matrix and layer; what has no op is a graph run", () => {
    const data = { ops: ["MUL_MAT"], labels: ["ffn_up"], of: { layer: [18, -1], label: [0, 65535], op: [0, 65535], run: [4, 7] } } as unknown as Answered;
    expect(nameOf(data, 0)).toBe("ffn_up 18");
    expect(nameOf(data, 1)).toBe("graph run 7");
});
