// The statistics of a recording as rows of tables and sentences.
import { type DeviceTotals, type GroupSums, type GroupTimes, groupings, type Stats } from "../../api";
import { bytes, plural } from "../../format";

type Bytes = Omit<GroupSums, keyof GroupTimes>;
type Times = Omit<GroupTimes, "wall_ns"> & { wall_ns: number | null }; // null: only ops without times read the tensor
export type TimesAndBytes = Times & Bytes;
export type Weight = Stats["weights"][number];

// What tables sum up by.
export type By = keyof typeof groupings;
export const by = Object.keys(groupings) as By[];

// A row of any grouping. Threads and kernels have no bytes, because bytes belong to ops.
export type Group = Times &
    Partial<Bytes> & {
        name: string; // "none" for what has no layer
        stalled_ns?: number; // by page faults, part of busy_ns; absent: not recorded
    };

// Opaque backends have rows of their own. Stalls are known by op and by layer.
export function groupsOf(stats: Stats, kind: By): Group[] {
    const nameOf = (row: object) => String((row as Record<string, unknown>)[groupings[kind].key] ?? "none");
    const { faults } = stats.machine;
    const known = kind === "op" ? faults?.by_op : kind === "layer" ? faults?.by_layer : undefined;
    const stalled = known && new Map<string, number>(known.map((row) => [nameOf(row), row.stalled_ns]));
    return (stats[`by_${kind}`] ?? []).map((row) => {
        const name = row.backend === null ? nameOf(row) : row.backend.startsWith("first use of ") ? row.backend : `${row.backend}, as a whole`;
        return { ...row, name, ...(stalled && { stalled_ns: stalled.get(name) ?? 0 }) };
    });
}

// The texts of a device's tile.
export function deviceNote(device: DeviceTotals): [string, string] {
    const known = device.busy === null ? `op times of ${device.runs_with_op_times} of ${plural(device.runs, "graph run")}` : "op times of all graph runs";
    const rate = device.to_device.duration_ns > 0 ? ` at ${(device.to_device.bytes_timed / device.to_device.duration_ns).toFixed(2)} GB/s` : "";
    const moved = `${bytes(device.to_device.bytes)} to it${rate}, ${bytes(device.from_device.bytes)} from it`;
    return [device.busy === null ? "not seen" : `${(100 * device.busy).toFixed(1)} % busy`, `${known}; ${moved}`];
}

// Bytes read and written per ns of wall time, that is GB/s. Null if some ops have no times, except
// in the row of an opaque backend.
export const rate = (group: Pick<TimesAndBytes, "bytes_read" | "bytes_written" | "wall_ns" | "ops" | "ops_untimed"> & { backend?: string | null }) =>
    group.wall_ns && (group.ops_untimed === 0 || group.backend) ? (group.bytes_read + group.bytes_written) / group.wall_ns : null;

// Describes weights with untouched bytes as the terminal does: those never touched, and those
// touched in part.
export function coldNote(cold: readonly Weight[]): string {
    const sum = (list: readonly Weight[]) => bytes(list.reduce((total, w) => total + w.bytes - w.bytes_touched - w.bytes_unknown, 0));
    const never = cold.filter((w) => w.bytes_touched === 0);
    const partly = cold.filter((w) => w.bytes_touched > 0);
    const parts = [`${sum(never)} in ${plural(never.length, "tensor")} never touched`];
    if (partly.length > 0) parts.push(`${sum(partly)} of ${plural(partly.length, "tensor")} touched in part`);
    return parts.join(", ");
}

// A pattern for the log that matches the tensors of a component, derived from their names:
// "*.attn_q.weight".
export function patternOf(names: readonly string[]): string | null {
    const rests = new Set(names.map((name) => name.replace(/^(.*?)\b(blk|layers?|h)\.\d+\./, "*.")));
    if (rests.size === 0) return null;
    const [first, ...others] = [...rests];
    if (others.length === 0) return first!;
    let common = first!;
    for (const other of others) while (!other.startsWith(common)) common = common.slice(0, -1);
    return common.length > 2 ? `${common}*` : null;
}

// The non-empty range of a histogram over powers of two: bin 0 is zero, bin i is [2^(i-1), 2^i).
export function bins(counts: readonly number[]): { from: number; to: number; value: number }[] {
    const used = counts.map((value, i) => ({ value, i })).filter((bin) => bin.value > 0);
    if (used.length === 0) return [];
    const [first, last] = [used[0]!.i, used.at(-1)!.i];
    return Array.from({ length: last - first + 1 }, (_, k) => {
        const i = first + k;
        return { from: i === 0 ? 0 : 2 ** (i - 1), to: 2 ** i, value: counts[i] ?? 0 };
    });
}
