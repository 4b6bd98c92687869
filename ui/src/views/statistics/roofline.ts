// The throughput of ops, relative to the machine's limits.
import type { Roofline, RooflineRow } from "../../api";

export type Rates = NonNullable<Roofline["limits"]>;

export interface Point {
    row: RooflineRow;
    intensity: number; // flop per byte
    gflops: number;
    gbytes: number;
}

// bytes per ns are GB/s, flops per ns Gflop/s
export const gbytesOf = (row: RooflineRow) => (row.wall_ns > 0 ? (row.bytes_read + row.bytes_written) / row.wall_ns : 0);
export const gflopsOf = (row: RooflineRow) => (row.flops !== null && row.wall_ns > 0 ? row.flops / row.wall_ns : null);
export const intensityOf = (row: RooflineRow) => (row.flops !== null && row.bytes_read + row.bytes_written > 0 ? row.flops / (row.bytes_read + row.bytes_written) : null);

export function pointsOf(rows: readonly RooflineRow[]): Point[] {
    return rows.flatMap((row) => {
        if (row.on_device) return []; // the limits are the host's
        const [intensity, gflops] = [intensityOf(row), gflopsOf(row)];
        return intensity !== null && gflops !== null && intensity > 0 && gflops > 0 ? [{ row, intensity, gflops, gbytes: gbytesOf(row) }] : [];
    });
}

// The limit in Gflop/s at this number of flop per byte.
export function roofAt(limits: Rates, intensity: number): number {
    const memory = (limits.memory_bytes_per_second / 1e9) * intensity;
    return limits.flops_per_second > 0 ? Math.min(memory, limits.flops_per_second / 1e9) : memory;
}

// Powers of ten that hold all values, with room.
export function decades(values: readonly number[]): [number, number] {
    const good = values.filter((value) => value > 0);
    if (good.length === 0) return [0, 1];
    const [least, most] = [Math.min(...good), Math.max(...good)];
    const from = Math.floor(Math.log10(least) - 0.05);
    return [from, Math.max(from + 1, Math.ceil(Math.log10(most) + 0.05))];
}

export function durationsOf(rows: readonly RooflineRow[]): { from_ns: number; to_ns: number; ops: number }[] {
    const bins: number[] = [];
    for (const row of rows) row.duration_bins.forEach((n, i) => (bins[i] = (bins[i] ?? 0) + n));
    const first = bins.findIndex((n) => n > 0);
    return bins.slice(Math.max(0, first)).map((ops, i) => ({ from_ns: 2 ** (i + Math.max(0, first)), to_ns: 2 ** (i + Math.max(0, first) + 1), ops: ops ?? 0 }));
}
