// The texts of an experiment in the list, for display, filter and CSV.
import type { Entry, Experiment } from "../../api";
import { bytes } from "../../format";

export interface Row {
    experiment: Experiment;
    entry: Entry | null; // null: it cannot be opened, or is not there yet
}

export const rowsOf = (experiments: readonly Experiment[], entries: readonly Entry[]): Row[] => {
    const byIndex = new Map(entries.map((entry) => [entry.index, entry]));
    return experiments.map((experiment) => ({ experiment, entry: byIndex.get(experiment.index) ?? null }));
};

const two = (n: number) => String(n).padStart(2, "0");

// "2026-11-15 20:42", by the reader's clock.
export function when(utc: string | null): string {
    const date = utc === null ? null : new Date(utc);
    if (!date || Number.isNaN(date.getTime())) return "–";
    return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function machineOf(entry: Entry): string {
    const { cpu, cores, memory_bytes: memory } = entry.host;
    return [cpu, cores === null ? null : `${cores} cores`, memory === null ? null : bytes(memory)].filter(Boolean).join(", ");
}

// Threads, memory limit, recorded extras and engine version.
export function settingsOf(entry: Entry): string {
    const { has } = entry;
    return [
        `${entry.threads} ${entry.threads === 1 ? "thread" : "threads"}`,
        entry.memory_limit === null ? null : `in ${bytes(entry.memory_limit)}`,
        entry.cold ? "cold" : null,
        has.faults ? "faults" : null,
        has.block_requests ? "disk requests" : null,
        has.residency ? "residency" : null,
        has.pages ? "--prove" : null,
        entry.engine.llama_version ? `llama.cpp ${entry.engine.llama_version}` : entry.engine.ggml_version ? `ggml ${entry.engine.ggml_version}` : null,
    ]
        .filter(Boolean)
        .join(", ");
}

export const notesOf = (entry: Entry) => entry.notes.map((note) => note.text).join(" · ");

// Every word must be somewhere in the row.
export function matches(row: Row, filter: string): boolean {
    const { experiment, entry } = row;
    const text = [
        experiment.name,
        experiment.directory,
        experiment.state,
        ...(entry ? [entry.model?.name, entry.prompt, machineOf(entry), settingsOf(entry), notesOf(entry), when(entry.start_utc), entry.command.join(" ")] : [experiment.error]),
    ]
        .join(" ")
        .toLowerCase();
    return filter
        .toLowerCase()
        .split(/\s+/)
        .every((word) => text.includes(word));
}
