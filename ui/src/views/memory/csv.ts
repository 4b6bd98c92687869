// The data of the memory pictures as a table.
import { offsetOf, type RowPlan } from "./Tracks";

export function csvOf(rows: readonly RowPlan[]) {
    const lines = rows.flatMap((row) =>
        row.track.units.map((unit) => {
            const entry = row.entries[unit.entry]!;
            const touched = row.painted.reads(unit);
            const place = row.track.place === "disk" ? ["DISK", entry.file] : [entry.device ? "VRAM" : "BUFFER", entry.buffer];
            return [...place, entry.name, unit.expert < 0 ? null : unit.expert, entry.type, entry.layer < 0 ? null : entry.layer, offsetOf(row, unit), unit.end - unit.begin, touched.reads, touched.bytes, entry.copied];
        }),
    );
    return { columns: ["place", "number", "name", "expert", "type", "layer", "offset", "bytes", "touches", "bytes_touched", "copied"], rows: lines };
}
