// What the memory tracks show: units out of the map and the buffers, and how hot each is. No drawing here.
import type { Buffers, Heat, ModelMap } from "../../api";
import { heatOf } from "../../colours";
import { count } from "../../format";
import type { Unit } from "./layout";

export interface Track {
    key: string;
    title: string;
    note: string;
    units: Unit[];
    place: "disk" | "buffer";
}

// Something that a unit stands for, whichever track it is on.
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

export type Layer = "addressed" | "pages" | "faults";

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
    const track = (key: string, units: Unit[]): Track => ({ key, title: key, note: "", units, place: "disk" });
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

export interface Painted {
    paint: Painter;
    reads(unit: Unit): { reads: number; bytes: number };
    least: string; // what the two ends of the scale mean
    most: string;
    meaning: string;
}

// The two ends of the log scale; below one touch per byte there is nothing to tell apart.
const ends = (most: number) => (most <= 1.05 ? { least: "", most: "at most once" } : { least: "1×", most: times(most) });
const times = (n: number) => `${n < 9.95 ? Number(n.toFixed(1)) : count(n)}×`;

// `value` is how often (or how long) per unit; the cell's is the mean over its bytes.
function painter(units: readonly Unit[], amount: (unit: Unit) => number, copied: (unit: Unit) => boolean): { paint: Painter; most: number } {
    let most = 0;
    for (const unit of units) most = Math.max(most, amount(unit) / (unit.end - unit.begin));
    return {
        most,
        paint(list, first, last) {
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
        },
    };
}

export function paintDisk(disk: Disk, map: ModelMap, heat: Heat | null, layer: Layer): Painted {
    const copied = (unit: Unit) => disk.entries[unit.entry]!.copied;
    const reads = heat ? readsOf(heat, map) : () => ({ reads: 0, bytes: 0 });
    const perByte = (list: number[]) => (unit: Unit) => ((list[unit.entry] ?? 0) * (unit.end - unit.begin)) / disk.entries[unit.entry]!.bytes;
    if (layer === "pages" && heat?.pages) {
        const { paint } = painter(disk.whole.units, perByte(heat.pages.bytes_touched), copied);
        return { paint, reads, least: "", most: "touched", meaning: "pages really touched" };
    }
    if (layer === "faults" && heat?.faults) {
        const { minor, major } = heat.faults;
        const faults = minor.map((n, i) => n + major[i]!);
        const page = 4096;
        const { paint, most } = painter(disk.whole.units, (unit) => perByte(faults)(unit) * page, copied);
        return { paint, reads, least: "1", most: times(most), meaning: "faults per page" };
    }
    const { paint, most } = painter(disk.whole.units, (unit) => reads(unit).bytes, copied);
    return { paint, reads, ...ends(most), meaning: "reads per byte, addressed by ops" };
}

// ---- BUFFER and VRAM

export interface Live {
    entries: Entry[];
    whole: Track; // all of them
    host: Track;
    devices: Track[]; // one for each device that has memory of its own
    rows: Track[]; // by class, the host's first
}

const classNames: Record<string, string> = { kv: "KV cache", compute: "compute", weights: "weights", io: "other" };
const classOrder = ["KV cache", "compute", "weights", "other"];

export function className(of: string): string {
    return classNames[of] ?? "other";
}

// The buffers that live in the span; mapped ones are the file itself and are shown on the DISK track.
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
            if (offset < at || end <= offset) continue; // views of what is shown already
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
        rows: [...rows].filter(([, units]) => units.length > 0).map(([name, units]) => track(name, units)),
    };
}

export function paintLive(live: Live, answer: Buffers, heat: Heat | null): Painted {
    const sizes = new Map(answer.buffers.map((one) => [one.buffer, one.bytes]));
    const at = new Map((heat?.buffers.buffer ?? []).map((buffer, i) => [buffer, i]));
    const reads = (unit: Unit) => {
        const buffer = live.entries[unit.entry]!.buffer!;
        const i = at.get(buffer);
        if (!heat || i === undefined) return { reads: 0, bytes: 0 };
        const part = (unit.end - unit.begin) / sizes.get(buffer)!;
        return { reads: heat.buffers.reads[i]! + heat.buffers.writes[i]!, bytes: heat.buffers.bytes[i]! * part };
    };
    const { paint, most } = painter(live.whole.units, (unit) => reads(unit).bytes, () => false);
    return { paint, reads, ...ends(most), meaning: "reads and writes per byte" };
}
