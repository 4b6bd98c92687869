import { expect, test } from "vitest";
import { gainText } from "./Explained";

test("a gain is said as far as it is known", () => {
    const cause = { part: "tokens", gain: 0.714, gain_ns: 714, gain_bytes: null } as const;
    expect(gainText(cause)).toBe("up to 71 % of the token time");
    expect(gainText({ ...cause, gain: 0.004, gain_ns: 4 })).toBe("less than 1 % of the token time");
    expect(gainText({ ...cause, gain: null, gain_ns: null })).toBe("gain not known");
    expect(gainText({ ...cause, gain: null, gain_ns: null, gain_bytes: 1 << 20 })).toBe("1.00 MiB of memory");
});
