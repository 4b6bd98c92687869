// The findings of a recording as sentences with links to their evidence. They are derived from the
// answers stats and heat.
import { batch } from "@preact/signals";
import type { Heat, ModelMap, Stats, Summary } from "../api";
import { useAsk } from "../ask";
import { bytes, count, plural, share, time } from "../format";
import { here, select, statsPath, view, type View } from "../state";
import { stepsWord, stepWord } from "../step";
import { copiedOf } from "../views/memory/data";

export interface Finding {
    text: string;
    title?: string; // the full text, if `text` is short
    isWarning?: boolean;
    go?(): void; // shows the evidence
}

const speedOf = ({ tokens_per_second: rate }: Summary): string | null => (rate === null ? null : `${rate < 9.95 ? rate.toFixed(1) : count(rate)} tok/s`);

// "606 of 670 MiB": the unit is omitted once if both have the same.
const ofBoth = (a: string, b: string) => {
    const unit = ` ${b.split(" ")[1]!}`;
    return `${a.endsWith(unit) ? a.slice(0, -unit.length) : a} of ${b}`;
};
export const ofBytes = (part: number, whole: number): string => ofBoth(bytes(part), bytes(whole));
const ofTime = (part: number, whole: number): string => ofBoth(time(part), time(whole));

const to = (shown: View, more?: () => void) => () =>
    batch(() => {
        view.value = shown;
        more?.();
    });

// Where the time goes. Waiting for a disk or a network comes before the longest op.
function ofTimes(stats: Stats): Finding[] {
    const { machine, streamed, processes, by_op: rows } = stats;
    const busy = rows.reduce((sum, row) => sum + (row.busy_ns ?? 0), 0);
    const wall = rows.reduce((sum, row) => sum + row.wall_ns, 0);
    const waited = rows.reduce((sum, row) => sum + (row.wait_ns ?? 0), 0);
    const stalled = machine.faults?.in_ops.stalled_ns ?? 0;
    const generated = machine.block_requests?.by_phase.find((row) => row.phase === "generate");
    const steps = stats.tokens - 1;
    const storage = to("storage");
    const found: Finding[] = [];
    if (processes?.links.length) found.push({ text: `${share(processes.time.wire_ns, processes.time.wall_ns)} of the time on the wire`, go: to("statistics") });
    if (streamed) found.push({ text: `${ofTime(streamed.wait_ns, streamed.run_ns)} waiting for the disk`, go: storage });
    if (busy > 0 && stalled > 0.05 * busy) found.push({ text: `${ofTime(stalled, busy)} stalled by page faults`, go: storage });
    if (waited > busy && found.length === 0) found.push({ text: `threads waited ${share(waited, busy + waited)} of their time`, go: to("timeline") });
    if (generated && steps > 0 && generated.bytes > 0) found.push({ text: `${bytes(generated.bytes / steps)} per token from the disk`, go: storage });
    const top = rows.reduce<Stats["by_op"][number] | null>((best, row) => (best && best.wall_ns >= row.wall_ns ? best : row), null);
    const of = processes ? "of computing" : "of time";
    if (top && wall > 0 && found.length < 2) found.push({ text: `${share(top.wall_ns, wall)} ${of} in ${top.op ?? top.backend}`, go: to("statistics", () => top.op !== null && select({ opType: top.op })) });
    return found;
}

// A step of a server is not one token: it holds tokens of several requests, or a piece of a prompt.
function stepsOf(about: Summary, requests: number): string {
    const steps = `${count(about.tokens)} ${requests > 1 ? "steps" : about.tokens === 1 ? stepWord() : stepsWord()}`;
    return requests > 1 ? `${count(requests)} requests in ${steps}` : steps;
}

// CPU time lost to other programs: measured by context switches, if they were recorded.
function lost(offCpu: Stats["machine"]["off_cpu"]): string {
    if (!offCpu || offCpu.run_ns === 0) return "times say little";
    return `${(100 * offCpu.foreign_ns / offCpu.run_ns).toFixed(1)} % of the time of graph runs was lost to them`;
}

export function useFindings(about: Summary | null): Finding[] {
    const heat = useAsk<Heat>(about?.model ? here("heat") : null, { keep: true }).data;
    const map = useAsk<ModelMap>(about?.model ? here("map") : null, { keep: true }).data;
    const stats = useAsk<Stats>(about && about.ops > 0 ? statsPath() : null, { keep: true }).data;
    if (!about) return [];
    const copies = map && copiedOf(map);
    const others = stats?.machine.busy ? stats.machine.others_cpu_share : null;
    const busy = `other programs used ${(100 * (others ?? 0)).toFixed(0)} % of the CPUs`;
    const steal = stats?.machine.steal_share ?? 0;
    const speed = speedOf(about);
    return [
        ...(others !== null ? [{ text: `busy machine: ${busy}`, title: `${steal >= 0.005 ? `the hypervisor gave ${(100 * steal).toFixed(0)} % of the CPUs to other machines, ` : ""}${busy}: ${lost(stats?.machine.off_cpu ?? null)}`, isWarning: true }] : []),
        ...(stats ? ofTimes(stats) : []),
        { text: stepsOf(about, stats?.requests ?? 0), go: to("timeline") },
        ...(speed ? [{ text: speed, go: to("timeline") }] : []),
        ...(heat ? [{ text: `${ofBytes(heat.model.bytes_touched, heat.model.bytes)} touched`, go: to("memory") }] : []),
        ...(stats && stats.model.stray_weights > 0 ? [{ text: `origin of ${plural(stats.model.stray_weights, "weight")} (${bytes(stats.model.stray_bytes)}) not seen`, isWarning: true }] : []),
        ...(copies && copies.copied > 0 ? [{ text: `${share(copies.copied, copies.bytes)} copied at load`, go: to("memory") }] : []),
    ];
}
