// The processes of a joined experiment: the first lane of each, and short labels for its lanes.
// Lanes are ordered by process.
import type { Summary } from "../../api";

export interface LaneGroup {
    first: number; // place of its first lane
    host: string | null; // null: the same as the one above
    name: string;
    title: string; // includes the uncertainty of its clock
}

const off = (error: number | null, clock: string) =>
    clock === "own" ? "" : error === null ? ", times may be off" : error === 0 ? "" : `, times off by ${error < 1e6 ? `${Math.ceil(error / 1e3)} µs` : `${(error / 1e6).toFixed(1)} ms`} at most`;

export function groupsOf(lanes: Summary["lanes"], processes: Summary["processes"]): LaneGroup[] {
    const groups: LaneGroup[] = [];
    let host: string | null = null;
    if (processes.length < 2) return groups;
    lanes.forEach((lane, first) => {
        const process = processes.find((one) => one.process === lane.process);
        if (!process || (first > 0 && lanes[first - 1]!.process === lane.process)) return;
        groups.push({ first, host: process.host === host ? null : process.host, name: process.name, title: `${process.host}, ${process.name}${off(process.error_ns, process.clock)}` });
        host = process.host;
    });
    return groups;
}

// "alpha rpc-server 17: CPU thread 0" is "CPU thread 0" beneath its process.
export function shortLabel(label: string, grouped: boolean): string {
    const at = grouped ? label.indexOf(": ") : -1;
    return at < 0 ? label : label.slice(at + 2);
}
