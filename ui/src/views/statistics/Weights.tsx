// Which weights are read most, and which bytes of them never.
import { useMemo } from "preact/hooks";
import type { ModelMap } from "../../api";
import { bytes, count } from "../../format";
import { select, selection } from "../../state";
import type { Stats } from "./answers";
import { Table } from "./Table";

interface Heated {
    name: string;
    bytes: number;
    read: number;
    reads: number | null;
}

export function Hot({ stats, map }: { stats: Stats; map: ModelMap | null }) {
    const rows = useMemo<Heated[]>(() => {
        if (stats.totals.weights)
            return stats.totals.weights
                .filter((w) => w.bytes_read > 0)
                .map((w) => ({ name: w.name, bytes: w.size, read: w.bytes_read, reads: w.reads }));
        const sizes = new Map(map?.tensors.name.map((name, i) => [name, map.tensors.bytes[i]!]));
        return stats.by_tensor.filter((g) => sizes.has(g.name)).map((g) => ({ name: g.name, bytes: sizes.get(g.name)!, read: g.read, reads: g.ops }));
    }, [stats, map]);
    const most = Math.max(1, ...rows.map((r) => r.read));
    return (
        <Table
            caption="Hot weights"
            file="hot-tensors"
            rows={rows}
            rowKey={(r) => r.name}
            most={12}
            order={{ key: "read", descending: true }}
            empty="No weight was read."
            press={(r) => select({ tensor: selection.value.tensor === r.name ? null : r.name })}
            isSelected={(r) => selection.value.tensor === r.name}
            columns={[
                { key: "tensor", title: "tensor", value: (r) => r.name },
                { key: "read", title: "read", value: (r) => r.read, show: (r) => bytes(r.read), numeric: true, bar: (r) => r.read / most },
                {
                    key: "times",
                    title: "times its size",
                    value: (r) => (r.bytes > 0 ? r.read / r.bytes : null),
                    show: (r) => (r.bytes > 0 ? `${(r.read / r.bytes).toFixed(1)} ×` : "-"),
                    numeric: true,
                },
                { key: "reads", title: "reads", value: (r) => r.reads, show: (r) => (r.reads === null ? "-" : count(r.reads)), numeric: true },
            ]}
        />
    );
}

export function Cold({ stats }: { stats: Stats }) {
    const never = stats.totals.model.never_touched;
    return (
        <Table
            caption="Cold weights: bytes never touched"
            file="cold-tensors"
            rows={stats.cold}
            rowKey={(r) => r.name}
            most={12}
            order={{ key: "never", descending: true }}
            empty="Every byte of the weights was touched."
            press={(r) => select({ tensor: selection.value.tensor === r.name ? null : r.name })}
            isSelected={(r) => selection.value.tensor === r.name}
            columns={[
                { key: "tensor", title: "tensor", value: (r) => r.name },
                {
                    key: "never",
                    title: "never touched",
                    value: (r) => r.bytes - r.touched,
                    show: (r) => bytes(r.bytes - r.touched),
                    numeric: true,
                    bar: (r) => (r.bytes - r.touched) / Math.max(1, r.bytes),
                    barClass: "bar-cold",
                },
                { key: "bytes", title: "of", value: (r) => r.bytes, show: (r) => bytes(r.bytes), numeric: true },
            ]}
        >
            <span class="quiet">{bytes(never)} in all</span>
        </Table>
    );
}
