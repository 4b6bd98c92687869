// The data of the memory tracks: units from the map and the buffers, and the heat of each. Draws
// nothing.
import type { Buffers, Heat, ModelMap } from "../../api";
import { heatOf } from "../../colours";
import { count, middleCut, plural, share, time } from "../../format";
import type { Unit } from "./layout";

export interface Track {
    key: string;
    title: string;
    note: string;
    units: Unit[];
    place: "disk" | "buffer";
}

// The thing that a unit represents, on either track.
export interface Entry {
    name: string;
    type: string;
    shape: number[];
    layer: number; // -1: none
    component: string;
    bytes: number;
    offset: number; // in its file or buffer
    file: number | null;
    buffer: number | null;
    device?: string | null; // in whose memory the buffer is; null for the host's
    copied: boolean;
    kind: string; // tensor, header, padding, ... or a buffer's class
}

export const layers = ["addressed", "order", "pages", "faults"] as const;
export type Layer = (typeof layers)[number];
// Where weights that the engine copied count: in the copy that ops read, or in their file.
export const sides = ["lie", "from"] as const;
export type Side = (typeof sides)[number];

// How a cell is to be filled.
export interface Paint {
    level: number | null; // 0 to 1 on the log scale; null: untouched
    part: number; // of the cell's bytes, at most 1, that was touched at all
    copied: boolean;
}
export type Painter = (units: readonly Unit[], first: number, last: number) => Paint;

// ---- DISK

export interface Disk {
    entries: Entry[];
    whole: Track;
    rows: Track[];
    bases: Map<number, number>; // of each file on the common axis
}

function entryOf(map: ModelMap, i: number): Entry {
    const tensors = map.tensors;
    return {
        name: tensors.name[i] ?? tensors.kind[i]!,
        type: tensors.type[i] ?? "",
        shape: tensors.shape[i] ?? [],
        layer: tensors.layer[i] ?? -1,
        component: tensors.component[i]!,
        bytes: tensors.bytes[i]!,
        offset: tensors.file_offset[i]!,
        file: tensors.file[i]!,
        buffer: null,
        copied: tensors.copied[i]!,
        kind: tensors.kind[i]!,
    };
}

function unitsOf(entry: number, begin: number, bytes: number, experts: number): Unit[] {
    if (experts < 2) return [{ begin, end: begin + bytes, entry, expert: -1 }];
    return Array.from({ length: experts }, (_, expert) => ({
        begin: begin + Math.floor((bytes * expert) / experts),
        end: begin + Math.floor((bytes * (expert + 1)) / experts),
        entry,
        expert,
    }));
}

function rowKey(entry: Entry, category: string): string {
    if (entry.layer >= 0) return `layer ${entry.layer}`;
    if (entry.kind !== "tensor") return "rest";
    return category === "input" ? "embeddings" : "output";
}

export function diskOf(map: ModelMap): Disk {
    const bases = new Map<number, number>();
    let base = 0;
    for (const file of map.files) {
        bases.set(file.file, base);
        base += file.bytes;
    }
    const entries = map.tensors.name.map((_, i) => entryOf(map, i));
    const whole: Unit[] = [];
    const rows = new Map<string, Unit[]>();
    entries.forEach((entry, i) => {
        if (entry.bytes <= 0) return;
        const units = unitsOf(i, bases.get(entry.file!)! + entry.offset, entry.bytes, map.tensors.experts[i]!);
        whole.push(...units);
        const key = rowKey(entry, map.tensors.category[i]!);
        if (!rows.has(key)) rows.set(key, []);
        rows.get(key)!.push(...units);
    });
    const layers = [...rows.keys()].filter((key) => key.startsWith("layer ")).sort((a, b) => Number(a.slice(6)) - Number(b.slice(6)));
    const title = (key: string) => (key === "output" && layers.length === 0 ? "weights" : key); // without numbered layers "output" says nothing
    const track = (key: string, units: Unit[]): Track => ({ key, title: title(key), note: "", units, place: "disk" });
    return {
        entries,
        bases,
        whole: track("DISK", whole),
        rows: ["embeddings", ...layers, "output", "rest"].filter((key) => rows.has(key)).map((key) => track(key, rows.get(key)!)),
    };
}

// Bytes read per unit, from the answer to "heat".
function readsOf(heat: Heat, map: ModelMap): (unit: Unit) => { reads: number; bytes: number } {
    const experts = new Map(heat.experts.map((part) => [part.place, part]));
    return (unit) => {
        const part = unit.expert >= 0 ? experts.get(unit.entry) : undefined;
        if (part) return { reads: part.reads[unit.expert]!, bytes: part.bytes_read[unit.expert]! };
        const parts = Math.max(1, unit.expert >= 0 ? map.tensors.experts[unit.entry]! : 1);
        return { reads: heat.tensors.reads[unit.entry] ?? 0, bytes: (heat.tensors.bytes_read[unit.entry] ?? 0) / parts };
    };
}

// A range of the common axis with its own fill: machine data is known by page, not by tensor.
export interface Stretch {
    begin: number;
    end: number;
    level: number;
    part: number;
}

export interface Painted {
    paint: Painter;
    stretches?: Stretch[]; // ascending; then cells have no fill of their own
    isStill?(unit: Unit): boolean; // true if nothing happened there: a stretch that extends into it from a neighbour is not drawn
    reads(unit: Unit): { reads: number; bytes: number; touched?: number }; // touched: bytes of it, at all
    machine?(unit: Unit): string | null; // pages and faults in words
    least: string; // labels of the two ends of the scale
    most: string;
    meaning: string;
}

// The two ends of the log scale; below one touch per byte there is nothing to distinguish.
const ends = (most: number) => (most <= 1.05 ? { least: "", most: "1×" } : { least: "1×", most: times(most) });
const times = (n: number) => `${n < 9.95 ? Number(n.toFixed(1)) : count(n)}×`;

const largest = (units: readonly Unit[], amount: (unit: Unit) => number) => units.reduce((most, unit) => Math.max(most, amount(unit) / (unit.end - unit.begin)), 0);

// `amount`: bytes touched, repeated touches counted again. The level of a cell is the mean over its
// touched bytes, on a scale that ends at `most`.
function painter(most: number, amount: (unit: Unit) => number, copied: (unit: Unit) => boolean): Painter {
    return (list, first, last) => {
        let size = 0;
        let sum = 0;
        let touched = 0;
        let isCopied = false;
        for (let i = first; i <= last; i++) {
            const unit = list[i]!;
            const bytes = unit.end - unit.begin;
            const got = amount(unit);
            size += bytes;
            sum += got;
            touched += Math.min(bytes, got);
            isCopied ||= copied(unit);
        }
        return { level: sum > 0 ? heatOf(sum / Math.max(1, touched), most) : null, part: touched / size, copied: isCopied };
    };
}

export interface DiskOptions {
    layer: Layer;
    side: Side;
    whole: Heat | null; // of all tokens: the scale's end, so that colours mean the same whatever is selected
    until?: { run: number; node: number } | null; // in the layer "order": later touches are not shown
}

// The share of an entry's reads that counts on this track.
const shareOf = (heat: Heat, side: Side) => (unit: Unit) => {
    const [all, disk] = [heat.tensors.bytes_read[unit.entry] ?? 0, heat.tensors.bytes_disk[unit.entry] ?? 0];
    return side === "from" ? 1 : all > 0 ? disk / all : 0;
};

export function paintDisk(disk: Disk, map: ModelMap, heat: Heat | null, options: DiskOptions): Painted {
    const copied = (unit: Unit) => disk.entries[unit.entry]!.copied;
    const none = { reads: 0, bytes: 0 };
    const part = heat ? shareOf(heat, options.side) : () => 0;
    const all = heat ? readsOf(heat, map) : () => none;
    const reads = (unit: Unit) => {
        const [got, counts] = [all(unit), part(unit)];
        return counts > 0 ? { reads: got.reads, bytes: got.bytes * counts } : none;
    };
    const machine = heat ? machineOf(heat, disk) : null;
    const common = { reads, ...(machine ? { machine: machine.words } : {}) };
    const blank: Painter = (list, first, last) => ({ level: null, part: 0, copied: list.slice(first, last + 1).some(copied) });
    if (options.layer === "pages" && heat?.pages) {
        const { ranges } = heat.pages;
        const stretches = stretchesOf(disk, ranges, (i) => ({ level: 1, part: Math.min(1, ranges.bytes_touched[i]! / ranges.bytes) }));
        return { ...common, paint: blank, stretches, isStill: (unit) => machine!.touched(unit) === 0, least: "", most: "touched", meaning: "pages really touched" };
    }
    if (options.layer === "faults" && heat?.faults) {
        const { ranges } = heat.faults;
        const pages = ranges.bytes / ranges.page_bytes;
        const perPage = (i: number) => (ranges.minor[i]! + ranges.major[i]!) / pages;
        const most = ranges.file.reduce((least, _, i) => Math.max(least, perPage(i)), 0);
        const stretches = stretchesOf(disk, ranges, (i) => ({ level: heatOf(perPage(i), most), part: Math.min(1, perPage(i)) }));
        return { ...common, paint: blank, stretches, isStill: (unit) => machine!.faults(unit) === 0, least: "1", most: `${count(Math.max(1, most))} per page`, meaning: "faults per page" };
    }
    if (options.layer === "order" && heat) {
        const rank = ranksOf(heat, options.until ?? null);
        const paint: Painter = (list, first, last) => {
            let [level, size, got] = [-1, 0, 0];
            for (let i = first; i <= last; i++) {
                const unit = list[i]!;
                const at = reads(unit).bytes > 0 ? (rank.get(unit.entry) ?? -1) : -1;
                size += unit.end - unit.begin;
                if (at >= 0) got += Math.min(unit.end - unit.begin, reads(unit).bytes);
                level = Math.max(level, at);
            }
            return { level: level < 0 ? null : level, part: got / size, copied: copied(list[first]!) };
        };
        return { ...common, paint, least: "first", most: "last", meaning: "order in which ops touched it last" };
    }
    const scale = options.whole ?? heat;
    const whole = scale ? readsOf(scale, map) : all;
    const wholePart = scale ? shareOf(scale, options.side) : part;
    const most = largest(disk.whole.units, (unit) => whole(unit).bytes * wholePart(unit));
    return { ...common, paint: painter(most, (unit) => reads(unit).bytes, copied), ...ends(most), meaning: "reads per byte, addressed by ops" };
}

function stretchesOf(disk: Disk, ranges: { bytes: number; file: number[]; file_offset: number[] }, fill: (i: number) => { level: number; part: number }): Stretch[] {
    return ranges.file.flatMap((file, i) => {
        const base = disk.bases.get(file);
        const begin = (base ?? 0) + ranges.file_offset[i]!;
        return base === undefined ? [] : [{ begin, end: begin + ranges.bytes, ...fill(i) }];
    });
}

// Entries by when they were touched last, from 0 to 1.
function ranksOf(heat: Heat, until: { run: number; node: number } | null): Map<number, number> {
    const { last_run, last_node } = heat.tensors;
    const order = last_run.flatMap((run, i) => (run === null ? [] : [i])).sort((a, b) => last_run[a]! - last_run[b]! || last_node[a]! - last_node[b]!);
    const isLater = (i: number) => until !== null && (last_run[i]! > until.run || (last_run[i] === until.run && last_node[i]! > until.node));
    return new Map(order.flatMap((i, at) => (isLater(i) ? [] : [[i, order.length > 1 ? at / (order.length - 1) : 1] as const])));
}

// Machine data of a unit, exact for tensors and experts.
function machineOf(heat: Heat, disk: Disk) {
    const touchedOf = new Map(heat.pages?.experts.map((one) => [one.place, one]));
    const faultsOf = new Map(heat.faults?.experts.map((one) => [one.place, one]));
    const touched = (unit: Unit) => (unit.expert >= 0 ? touchedOf.get(unit.entry)?.bytes_touched[unit.expert] : heat.pages?.bytes_touched[unit.entry]) ?? 0;
    const of = (unit: Unit, key: "minor" | "major" | "stalled_ns") => (unit.expert >= 0 ? faultsOf.get(unit.entry)?.[key][unit.expert] : heat.faults?.[key][unit.entry]) ?? 0;
    const faults = (unit: Unit) => of(unit, "minor") + of(unit, "major");
    const words = (unit: Unit) => {
        const parts = [
            heat.pages && disk.entries[unit.entry]!.bytes > 0 && `${share(touched(unit), unit.end - unit.begin)} really touched`,
            heat.faults && `${plural(faults(unit), "fault")}${faults(unit) > 0 ? `, stalled ${time(of(unit, "stalled_ns"))}` : ""}`,
        ].filter(Boolean);
        return parts.length ? parts.join("; ") : null;
    };
    return { touched, faults, words };
}

// ---- BUFFER and VRAM

export interface Live {
    entries: Entry[];
    whole: Track; // all of them
    host: Track;
    devices: Track[]; // one per device with its own memory
    rows: Track[]; // by class, the host's first
}

const classNames: Record<string, string> = { kv: "KV cache", compute: "compute", weights: "weights", io: "other" };
const classOrder = ["KV cache", "compute", "weights", "other"];

export function className(of: string): string {
    return classNames[of] ?? "other";
}

// The buffers that live in the span. Mapped ones are the file itself and are shown on the DISK
// track.
export function liveOf(answer: Buffers, span: [number, number] | null): Live {
    const live = answer.buffers.filter((one) => one.file === null && one.bytes > 0 && (!span || (one.begin_ns <= span[1] && (one.end_ns ?? Infinity) >= span[0])));
    const inside = new Map<number, number[]>();
    answer.tensors.name.forEach((_, i) => {
        const buffer = answer.tensors.buffer[i]!;
        if (!inside.has(buffer)) inside.set(buffer, []);
        inside.get(buffer)!.push(i);
    });
    const entries: Entry[] = [];
    const devices: (string | null)[] = [null, ...new Set(live.flatMap((one) => one.device ?? []))];
    const rowOf = (device: string | null, name: string) => (device === null ? name : `${device} ${name}`);
    const rows = new Map<string, Unit[]>(devices.flatMap((device) => classOrder.map((name) => [rowOf(device, name), []])));
    let base = 0;
    const ordered = [...live].sort((a, b) => devices.indexOf(a.device ?? null) - devices.indexOf(b.device ?? null) || classOrder.indexOf(className(a.class)) - classOrder.indexOf(className(b.class)) || a.buffer - b.buffer);
    for (const one of ordered) {
        const units = rows.get(rowOf(one.device ?? null, className(one.class)))!;
        const add = (name: string, offset: number, bytes: number, layer: number, component: string) => {
            if (bytes <= 0) return;
            units.push({ begin: base + offset, end: base + offset + bytes, entry: entries.length, expert: -1 });
            entries.push({ name, type: one.type, shape: [], layer, component, bytes, offset, file: null, buffer: one.buffer, device: one.device ?? null, copied: false, kind: className(one.class) });
        };
        let at = 0;
        const tensors = (inside.get(one.buffer) ?? []).sort((a, b) => answer.tensors.buffer_offset[a]! - answer.tensors.buffer_offset[b]!);
        for (const i of tensors) {
            const offset = answer.tensors.buffer_offset[i]!;
            const end = Math.min(one.bytes, offset + answer.tensors.bytes[i]!);
            if (offset < at || end <= offset) continue; // views of tensors that are already listed
            if (offset - at >= 4096) add(`buffer ${one.buffer}, free`, at, offset - at, -1, "");
            const from = offset - at >= 4096 ? offset : at;
            add(answer.tensors.name[i]!, from, end - from, answer.tensors.layer[i] ?? -1, answer.tensors.component[i]!);
            at = end;
        }
        add(tensors.length ? `buffer ${one.buffer}, rest` : `buffer ${one.buffer}`, at, one.bytes - at, one.layer ?? -1, "");
        base += one.bytes;
    }
    const track = (key: string, units: Unit[]): Track => ({ key, title: key, note: "", units, place: "buffer" });
    const all = (device: string | null) => classOrder.flatMap((name) => rows.get(rowOf(device, name))!);
    return {
        entries,
        whole: track("BUFFER", [...rows.values()].flat()),
        host: track("BUFFER", all(null)),
        devices: devices.flatMap((device) => (device === null ? [] : [track(device, all(device))])),
        rows: devices
            .flatMap((device) => classOrder.map((name) => ({ ...track(rowOf(device, name), rows.get(rowOf(device, name))!), title: rowOf(device && middleCut(device, 12), name) })))
            .filter(({ units }) => units.length > 0),
    };
}

// Weights that were copied at load count by tensor, everything else where its bytes are.
export function paintLive(live: Live, answer: Buffers, heat: Heat | null, options: { side: Side; whole: Heat | null; map: ModelMap | null }): Painted {
    const none = { reads: 0, bytes: 0, touched: 0 };
    const sizes = new Map(answer.buffers.map((one) => [one.buffer, one.bytes]));
    const bases = new Map(live.whole.units.map((unit) => [live.entries[unit.entry]!.buffer!, unit.begin - live.entries[unit.entry]!.offset]));
    const places = new Map((options.map?.tensors.name ?? []).flatMap((name, i) => (name !== null && options.map!.tensors.copied[i] ? [[name, i] as const] : [])));
    const placeOf = (unit: Unit) => (live.entries[unit.entry]!.kind === "weights" ? places.get(live.entries[unit.entry]!.name) : undefined);
    const isLeftOut = (unit: Unit) => live.entries[unit.entry]!.kind === "weights" && options.side === "from";
    const copiesIn = (of: Heat | null, unit: Unit) => {
        const place = placeOf(unit);
        const bytes = !of || place === undefined || isLeftOut(unit) ? 0 : of.tensors.bytes_read[place]! - of.tensors.bytes_disk[place]!;
        return bytes > 0 ? { reads: of!.tensors.reads[place!]!, bytes, touched: Math.min(bytes, unit.end - unit.begin) } : none;
    };
    const ranges = heat ? rangesOf(heat, bases, sizes) : [];
    const reads = (unit: Unit) => {
        if (!heat || isLeftOut(unit)) return none;
        if (placeOf(unit) !== undefined) return copiesIn(heat, unit);
        const i = heat.buffers.buffer.indexOf(live.entries[unit.entry]!.buffer!);
        let [bytes, touched] = [0, 0];
        for (let k = firstRange(ranges, unit.begin); k < ranges.length && ranges[k]!.begin < unit.end; k++) {
            const range = ranges[k]!;
            const part = (Math.min(range.end, unit.end) - Math.max(range.begin, unit.begin)) / (range.end - range.begin);
            bytes += range.bytes * part;
            touched += range.touched * part;
        }
        return i < 0 || bytes === 0 ? none : { reads: heat.buffers.reads[i]! + heat.buffers.writes[i]!, bytes, touched };
    };
    const scale = options.whole ?? heat;
    const perByte = (range: { bytes: number; touched: number }) => range.bytes / Math.max(1, range.touched);
    const mostCopied = largest(live.whole.units, (unit) => copiesIn(scale, unit).bytes);
    const most = (scale ? rangesOf(scale, bases, sizes) : []).reduce((top, range) => Math.max(top, perByte(range)), mostCopied);
    const stretches = ranges.map((range) => ({ begin: range.begin, end: range.end, level: heatOf(perByte(range), most), part: Math.min(1, range.touched / (range.end - range.begin)) }));
    const isStill = (unit: Unit) => isLeftOut(unit) || placeOf(unit) !== undefined;
    return { paint: painter(most, (unit) => copiesIn(heat, unit).bytes, () => false), stretches, isStill, reads, ...ends(most), meaning: "reads and writes per byte" };
}

// The first range that ends behind a byte.
function firstRange(ranges: readonly { end: number }[], byte: number): number {
    let [low, high] = [0, ranges.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (ranges[middle]!.end <= byte) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Bytes of buffers that ops touch, on the axis of all shown buffers.
function rangesOf({ buffer_ranges: of }: Heat, bases: ReadonlyMap<number, number>, sizes: ReadonlyMap<number, number>) {
    return of.buffer
        .flatMap((buffer, i) => {
            const base = bases.get(buffer);
            const [from, to] = [of.buffer_offset[i]!, Math.min(sizes.get(buffer) ?? 0, of.buffer_offset[i]! + of.range_bytes)];
            return base === undefined || to <= from ? [] : [{ begin: base + from, end: base + to, bytes: of.bytes[i]!, touched: of.bytes_touched[i]! }];
        })
        .sort((a, b) => a.begin - b.begin);
}
