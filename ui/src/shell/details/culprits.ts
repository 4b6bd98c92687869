// Which thread the others of an op waited for, and why the op took longer than usual, in words.
import type { OpAnswer, SameOps } from "../../api";
import { count, time } from "../../format";

type Thread = OpAnswer["threads"][number];

export const endOf = (thread: Thread) => thread.begin_ns + thread.duration_ns;
export const waitOf = (thread: Thread) => (thread.wait_ns ?? 0) + (thread.inner_wait_ns ?? 0);
export const heldOf = (thread: Thread) => (thread.stalled_ns ?? 0) + (thread.disk_wait_ns ?? 0);
export const computedOf = (thread: Thread) => Math.max(0, thread.duration_ns - (thread.inner_wait_ns ?? 0) - heldOf(thread));

// False if the wait lasts long after the last thread arrived: the waiting thread was not scheduled.
const isFor = (thread: Thread, last: Thread) => endOf(last) - endOf(thread) > (thread.wait_ns ?? 0) / 2;

// The thread that arrived last, which the others waited for. Null if no wait is significant.
export function lastOf(op: OpAnswer): Thread | null {
    if (op.threads.length < 2 || op.threads.some((thread) => thread.wait_ns === null)) return null;
    const last = op.threads.reduce((one, other) => (endOf(other) > endOf(one) ? other : one));
    const waiting = op.threads.filter((thread) => thread !== last && isFor(thread, last));
    return Math.max(0, ...waiting.map((thread) => thread.wait_ns!)) * 20 > (op.duration_ns ?? 0) ? last : null;
}

// "thread 1 computed 14 ms, thread 0 waited 12 ms for it"
export function waitsText(op: OpAnswer): string | null {
    const last = lastOf(op);
    if (!last) return null;
    const waiting = op.threads.filter((thread) => thread !== last && (thread.wait_ns ?? 0) > 0 && isFor(thread, last)).sort((a, b) => b.wait_ns! - a.wait_ns!);
    const most = waiting[0]!;
    const held = heldOf(last);
    const inner = last.inner_wait_ns ?? 0;
    const why = inner * 2 > last.duration_ns ? `thread ${last.thread} stood ${time(inner)} at a barrier inside the op` : held * 2 > last.duration_ns ? `thread ${last.thread} was held up ${time(held)} ${(last.stalled_ns ?? 0) >= (last.disk_wait_ns ?? 0) ? "by page faults" : "waiting for the disk"}` : `thread ${last.thread} computed ${time(computedOf(last))}`;
    return `${why}, ${waiting.length > 1 ? `${waiting.length} threads waited up to` : `thread ${most.thread} waited`} ${time(most.wait_ns!)} for it`;
}

// The range of an op's output, and its values that are not finite.
export function valuesText(values: Omit<NonNullable<OpAnswer["values"]>, "histogram">): string {
    const foul = [values.nan > 0 ? `${count(values.nan)} NaN` : "", values.inf > 0 ? `${count(values.inf)} infinite` : ""].filter(Boolean).join(", ");
    const range = `${values.min.toPrecision(4)} to ${values.max.toPrecision(4)}, rms ${values.rms.toPrecision(4)}`;
    return foul ? `${foul} of ${count(values.elements)}; ${range}` : range;
}

export function clientText(client: NonNullable<OpAnswer["client"]>, name: string): string {
    const wire = Math.max(0, client.waited_ns - client.computed_ns);
    return `${name} waited ${time(client.waited_ns)} for this graph run: ${time(client.computed_ns)} here, ${time(wire)} on the wire`;
}

const largest = (op: OpAnswer, of: (thread: Thread) => number) => Math.max(0, ...op.threads.map(of));

// "59 ms, median 12 ms, 4.9 times: 51 ms of it page faults"
export function verdictOf(op: OpAnswer, same: Pick<SameOps, "median_ns" | "count">): string {
    const took = op.duration_ns ?? 0;
    const ratio = took / Math.max(1, same.median_ns);
    const plain = `${time(took)}, median ${time(same.median_ns)} of ${same.count}`;
    if (same.count < 3) return `${plain}: too few to tell`;
    if (ratio <= 1.25 && ratio >= 0.8) return `Yes: ${plain}`;
    const times = `${time(took)}, median ${time(same.median_ns)}, ${ratio < 9.95 ? ratio.toFixed(1) : count(Math.round(ratio))} times`;
    if (ratio < 1) return `Faster than usual: ${times}`;
    const more = took - same.median_ns;
    const causes: [number, string][] = [
        [largest(op, (thread) => thread.stalled_ns ?? 0), "page faults"],
        [largest(op, (thread) => thread.disk_wait_ns ?? 0), "waiting for the disk"],
        [largest(op, (thread) => thread.inner_wait_ns ?? 0), "waiting for other threads in its middle"],
        [largest(op, (thread) => thread.off_cpu_ns ?? 0), "without a CPU"],
    ];
    const [ns, cause] = causes.reduce((best, one) => (one[0] > best[0] ? one : best));
    return ns * 4 > more ? `${times}: ${time(ns)} of it ${cause}` : `${times}: it computed longer${op.off_cpu_ns === null ? ", or was interrupted" : ""}`;
}
