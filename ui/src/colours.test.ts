import { expect, test } from "vitest";
import { heatFor, heatInk, heatRgb } from "./colours";

const luminance = (rgb: readonly number[]) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
};

const contrast = (a: number, b: number) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

test("what is written on heat can be read, all along both scales", () => {
    for (const scheme of ["dark", "light"] as const) {
        heatFor(scheme);
        for (let i = 0; i <= 255; i++) {
            const ink = heatInk(i / 255) === "#ffffff" ? 1 : 0;
            expect(contrast(luminance(heatRgb(i / 255)), ink), `${scheme}, at ${i} of 255`).toBeGreaterThanOrEqual(4.5);
        }
    }
});

test("on a dark page, what was touched once stands out from what was not touched", () => {
    heatFor("dark");
    expect(contrast(luminance(heatRgb(0)), luminance([0x1b, 0x21, 0x28]))).toBeGreaterThanOrEqual(3);
    heatFor("light");
});
