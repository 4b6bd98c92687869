// The most read weights, and bytes that are never read.
import { useMemo } from "preact/hooks";
import type { Stats } from "../../api";
import { bytes, count, times } from "../../format";
import { select, selection } from "../../state";
import { coldNote, type Weight } from "./answers";
import { Table } from "./Table";

export function Hot({ stats }: { stats: Stats }) {
    const rows = useMemo(() => stats.weights.filter((w) => w.bytes_read > 0), [stats]);
    const most = Math.max(1, ...rows.map((w) => w.bytes_read));
    return (
        <Table
            caption="Hot weights"
            file="hot-tensors"
            rows={rows}
            rowKey={(r) => r.name}
            most={12}
            order={{ key: "bytes_read", descending: true }}
            empty="No weight was read."
            press={(r) => select({ tensor: selection.value.tensor === r.name ? null : r.name })}
            isSelected={(r) => selection.value.tensor === r.name}
            columns={[
                { key: "tensor", title: "tensor", value: (r) => r.name },
                { key: "bytes_read", title: "read", value: (r) => r.bytes_read, show: (r) => bytes(r.bytes_read), numeric: true, bar: (r) => r.bytes_read / most },
                {
                    key: "times",
                    title: "times its size",
                    value: (r) => (r.bytes > 0 ? r.bytes_read / r.bytes : null),
                    show: (r) => (r.bytes > 0 ? times(r.bytes_read / r.bytes) : "–"),
                    numeric: true,
                },
                { key: "reads", title: "reads", value: (r) => r.reads, show: (r) => count(r.reads), numeric: true },
            ]}
        />
    );
}

// Weights that no op touched, or of which ops touched only a part, such as embeddings.
export function Cold({ stats }: { stats: Stats }) {
    const rows = useMemo(() => (stats.from_trace > 0 ? [] : stats.weights.filter((w) => w.bytes_touched + w.bytes_unknown < w.bytes)), [stats]);
    const untouched = (w: Weight) => w.bytes - w.bytes_touched - w.bytes_unknown;
    return (
        <Table
            caption="Cold weights: bytes never touched"
            file="cold-tensors"
            rows={rows}
            rowKey={(w) => w.name}
            most={12}
            order={{ key: "untouched", descending: true }}
            empty={stats.from_trace > 0 ? "Not known: the model's file is not there any more." : "Every byte of the weights was touched."}
            press={(w) => select({ tensor: selection.value.tensor === w.name ? null : w.name })}
            isSelected={(w) => selection.value.tensor === w.name}
            columns={[
                { key: "tensor", title: "tensor", value: (w) => w.name },
                {
                    key: "untouched",
                    title: "never touched",
                    value: untouched,
                    show: (w) => bytes(untouched(w)),
                    numeric: true,
                    bar: (w) => untouched(w) / Math.max(1, w.bytes),
                    barClass: "bar-cold",
                },
                { key: "bytes", title: "of", value: (w) => w.bytes, show: (w) => bytes(w.bytes), numeric: true },
            ]}
        >
            <span class="quiet">{coldNote(rows)}</span>
        </Table>
    );
}
