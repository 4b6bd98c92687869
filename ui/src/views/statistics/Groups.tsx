// Time and bytes summed up by op, layer, component and so on.
import { useMemo } from "preact/hooks";
import { groupings, type ModelMap, type Stats } from "../../api";
import { opFamily } from "../../colours";
import { bytes, count, share, threeDigits, time } from "../../format";
import { stepTabs } from "../../shell/SubTabs";
import { asText, kept, select, selection, summary } from "../../state";
import { by, groupsOf, patternOf, rate, type By, type Group, type TimesAndBytes } from "./answers";
import { Table, type TableColumn } from "./Table";

const shown = kept<By>("by", "op", asText(by));

function columnsOf(kind: By, rows: readonly Group[]): TableColumn<Group>[] {
    const whole = (value: (g: Group) => number) =>
        Math.max(
            1,
            rows.reduce((sum, g) => sum + value(g), 0),
        );
    const most = (value: (g: Group) => number) => Math.max(1, ...rows.map(value));
    const [wall, longest] = [whole((g) => g.wall_ns ?? 0), most((g) => g.wall_ns ?? 0)];
    const seen = (ns: number | null, text: (ns: number) => string) => (ns === null ? "not seen" : text(ns));
    const times: TableColumn<Group>[] = [
        {
            key: kind,
            title: kind,
            value: (g) => ((kind === "layer" || kind === "thread") && !g.name.includes(",") ? (g.name === "none" ? -1 : Number(g.name)) : g.name),
            show: (g) => <Name kind={kind} name={g.name} />,
            ascending: true,
        },
        { key: "ops", title: "ops", value: (g) => g.ops, show: (g) => count(g.ops), numeric: true },
        {
            key: "wall_ns",
            title: "wall time",
            value: (g) => g.wall_ns,
            show: (g) => seen(g.wall_ns, time),
            numeric: true,
            bar: (g) => (g.wall_ns ?? 0) / longest,
            hint:
                kind === "thread"
                    ? "time of this thread between begin and end of its ops"
                    : "from the first thread's begin to the last thread's end, summed over ops",
        },
        { key: "share", title: "share", value: (g) => g.wall_ns && g.wall_ns / wall, show: (g) => (g.wall_ns === null ? "–" : share(g.wall_ns, wall)), numeric: true },
        {
            key: "busy_ns",
            title: "self time",
            value: (g) => g.busy_ns,
            show: (g) => seen(g.busy_ns, time),
            numeric: true,
            hint: "in ops, summed over threads, stalls included: with N threads up to N times the wall time",
        },
        ...(rows.some((g) => g.stalled_ns !== undefined)
            ? [
                  {
                      key: "stalled_ns",
                      title: "stalled",
                      value: (g: Group) => g.stalled_ns ?? null,
                      show: (g: Group) => (g.stalled_ns === undefined ? "–" : g.stalled_ns === 0 ? "0" : `${time(g.stalled_ns)} (${share(g.stalled_ns, g.busy_ns ?? 0)})`),
                      numeric: true,
                      hint: "of the self time, held up by page faults",
                  } satisfies TableColumn<Group>,
              ]
            : []),
        {
            key: "wait_ns",
            title: "waiting",
            value: (g) => g.wait_ns,
            show: (g) => (g.wait_ns === null ? "not seen" : `${time(g.wait_ns)} (${share(g.wait_ns, (g.busy_ns ?? 0) + g.wait_ns)})`),
            numeric: true,
            bar: (g) => (g.wait_ns ?? 0) / Math.max(1, (g.busy_ns ?? 0) + (g.wait_ns ?? 0)),
            barClass: "bar-wait",
            hint: "at barriers for other threads, summed over threads",
        },
    ];
    return rows[0]?.bytes_read === undefined ? times : [...times, ...(byteColumns(rows as readonly TimesAndBytes[]) as TableColumn<Group>[])];
}

function byteColumns(rows: readonly TimesAndBytes[]): TableColumn<TimesAndBytes>[] {
    const most = Math.max(1, ...rows.map((g) => g.bytes_read));
    return [
        { key: "bytes_read", title: "read", value: (g) => g.bytes_read, show: (g) => bytes(g.bytes_read), numeric: true, bar: (g) => g.bytes_read / most },
        { key: "bytes_written", title: "written", value: (g) => g.bytes_written, show: (g) => bytes(g.bytes_written), numeric: true },
        { key: "bytes_disk", title: "of files", value: (g) => g.bytes_disk, show: (g) => bytes(g.bytes_disk), numeric: true, hint: "bytes of mapped files" },
        {
            key: "gb_per_s",
            title: "GB/s",
            value: (g) => rate(g),
            show: (g) => ((one) => (one === null ? "–" : threeDigits(one)))(rate(g)),
            numeric: true,
            hint: "bytes read and written over wall time",
        },
    ];
}

function Name({ kind, name }: { kind: By; name: string }) {
    if (kind === "op")
        return (
            <>
                <i class={`swatch pattern-${opFamily(name).pattern}`} style={{ "--swatch": opFamily(name).colour }} />
                {name}
            </>
        );
    if (kind === "layer") return <>{name === "none" ? "no layer" : name}</>;
    return <>{name}</>;
}

// A single device repeats the totals, and kernels exist on CUDA only, so these are hidden. The
// others are shown even if no op is left.
const least = (name: By) => ({ device: 1, kernel: 0 })[name as string] ?? -1;

export function Groups({ stats, map }: { stats: Stats; map: ModelMap | null }) {
    const kind = shown.value;
    const rows = useMemo(() => groupsOf(stats, kind), [stats, kind]);
    const columns = useMemo(() => columnsOf(kind, rows), [kind, rows]);
    const patterns = useMemo(() => componentPatterns(map), [map]);
    const filter = filterOf(kind, patterns);
    return (
        <div class="statistics-groups">
            <div class="tabs small" role="tablist" aria-label="Sum up by" onKeyDown={stepTabs}>
                {by.filter((name) => (stats[`by_${name}`]?.length ?? 0) > least(name)).map((name) => (
                    <button
                        type="button"
                        role="tab"
                        key={name}
                        id={`by-${name}`}
                        aria-selected={name === kind}
                        aria-controls="by-panel"
                        title={groupings[name].text}
                        tabIndex={name === kind ? 0 : -1}
                        onClick={() => (shown.value = name)}
                    >
                        by {name}
                    </button>
                ))}
            </div>
            <div id="by-panel" role="tabpanel" aria-labelledby={`by-${kind}`}>
                <Table
                    key={kind}
                    caption={`Time ${columns.some(({ key }) => key === "bytes_read") ? "and bytes " : ""}by ${kind}`}
                    file={`by-${kind}`}
                    rows={rows}
                    columns={columns}
                    rowKey={(g) => g.name}
                    order={kind === "layer" || kind === "thread" ? { key: kind, descending: false } : { key: "wall_ns", descending: true }}
                    {...filter}
                    most={kind === "layer" ? 200 : 40}
                    empty="No op ran in this selection."
                >
                    <span class="quiet">wall = first begin to last end; self = in ops, over all threads, stalls included; waiting = at barriers</span>
                </Table>
            </div>
        </div>
    );
}

function componentPatterns(map: ModelMap | null): Map<string, string> {
    const names = new Map<string, string[]>();
    map?.tensors.component.forEach((component, i) => {
        const name = map.tensors.name[i];
        if (component && name) names.set(component, [...(names.get(component) ?? []), name]);
    });
    const patterns = new Map<string, string>();
    for (const [component, list] of names) {
        const pattern = patternOf(list);
        if (pattern) patterns.set(component, pattern);
    }
    return patterns;
}

function filterOf(kind: By, patterns: Map<string, string>) {
    const chosen = selection.value;
    const layerOf = (g: Group) => (g.name === "none" ? -1 : Number(g.name));
    const laneOf = (g: Group) => summary.value?.lanes.find((lane) => lane.slot >= 0 && lane.thread === Number(g.name))?.lane;
    const toggled = <V,>(old: V | null, value: V) => (old === value ? null : value);
    switch (kind) {
        case "op":
            return {
                press: (g: Group) => select({ opType: toggled(chosen.opType, g.name) }),
                isSelected: (g: Group) => chosen.opType === g.name,
                pressHint: "Filter every view by this op",
            };
        case "layer":
            return {
                press: (g: Group) => select({ layer: toggled(chosen.layer, layerOf(g)) }),
                isSelected: (g: Group) => chosen.layer === layerOf(g),
                pressHint: "Filter every view by this layer",
            };
        case "component":
            return {
                press: (g: Group) => {
                    const pattern = patterns.get(g.name);
                    if (pattern) select({ tensor: toggled(chosen.tensor, pattern) });
                },
                isSelected: (g: Group) => chosen.tensor !== null && patterns.get(g.name) === chosen.tensor,
                pressHint: "Filter every view by these tensors",
            };
        case "tensor":
            return {
                press: (g: Group) => select({ tensor: toggled(chosen.tensor, g.name) }),
                isSelected: (g: Group) => chosen.tensor === g.name,
                pressHint: "Filter every view by this tensor",
            };
        case "thread":
            return {
                press: (g: Group) => select({ lane: toggled(chosen.lane, laneOf(g) ?? -1) }),
                isSelected: (g: Group) => chosen.lane !== null && chosen.lane === laneOf(g),
                pressHint: "Filter every view by this thread",
            };
        default:
            return {};
    }
}
