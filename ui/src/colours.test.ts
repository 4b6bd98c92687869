import { expect, test } from "vitest";
import { heatInk, heatRgb } from "./colours";

const luminance = (rgb: readonly number[]) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
};

test("what is written on heat can be read, all along the scale", () => {
    for (let i = 0; i <= 255; i++) {
        const back = luminance(heatRgb(i / 255)), ink = heatInk(i / 255) === "#ffffff" ? 1 : 0;
        expect((Math.max(back, ink) + 0.05) / (Math.min(back, ink) + 0.05), `at ${i} of 255`).toBeGreaterThanOrEqual(4.5);
    }
});
