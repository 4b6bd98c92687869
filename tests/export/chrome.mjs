// Reads Chrome's trace events by the rules of their format, into the same form as perfetto.mjs.
import assert from "node:assert/strict";

export function readChrome(text) {
    const { traceEvents } = JSON.parse(text);
    const tracks = new Map(), slices = [], counters = [], stacks = new Map(), ends = new Map();
    for (const e of traceEvents) {
        assert.ok(["M", "X", "B", "E", "C"].includes(e.ph), `phase ${e.ph}`);
        assert.equal(e.pid, 1);
        assert.ok(Number.isInteger(e.tid));
        if (e.ph === "M") {
            if (e.name === "thread_name") tracks.set(e.tid, e.args.name);
            continue;
        }
        assert.ok(Number.isFinite(e.ts) && e.ts >= 0);
        if (e.ph === "C") {
            assert.ok(Object.values(e.args).every(Number.isFinite));
            counters.push({ track: e.name, ts: e.ts, value: e.args.bytes });
            continue;
        }
        assert.ok(tracks.has(e.tid), `track ${e.tid} has a name`);
        const stack = stacks.get(e.tid) ?? stacks.set(e.tid, []).get(e.tid);
        if (e.ph === "E") {
            const slice = stack.pop();
            assert.ok(slice, "an end has a begin");
            assert.deepEqual([e.name, e.args], [slice.name, slice.args], "an end says which");
            assert.ok(e.ts >= slice.ts && e.ts >= ends.get(e.tid), "it ends behind what it holds");
            slice.dur = e.ts - slice.ts;
            ends.set(e.tid, e.ts);
            continue;
        }
        assert.equal(typeof e.name, "string");
        assert.ok(e.ts >= (ends.get(e.tid) ?? 0), "slices of a track do not overlap");
        const slice = { track: e.tid, name: e.name, category: e.cat, ts: e.ts, dur: e.dur, depth: stack.length, parent: stack.at(-1), args: e.args };
        slices.push(slice);
        if (e.ph === "B") stack.push(slice), ends.set(e.tid, e.ts);
        else {
            assert.ok(e.dur >= 0);
            ends.set(e.tid, e.ts + e.dur);
        }
    }
    for (const stack of stacks.values()) assert.equal(stack.length, 0, "every begin has an end");
    return { tracks, slices, counters };
}
