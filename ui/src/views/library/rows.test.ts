import { expect, test } from "vitest";
import type { Entry, Experiment } from "../../api";
import { machineOf, matches, rowsOf, settingsOf, when } from "./rows";

const experiment = (index: number, name: string): Experiment => ({ index, experiment_id: null, name, directory: `/x/${name}`, state: "complete", live: false, error: null, found: true });
const entry = (index: number, more: Partial<Entry> = {}): Entry => ({
    index,
    warning: null,
    command: ["run", "-m", "tiny.gguf"],
    engine: { ggml_version: "0.25", llama_version: "0.5.0", ggml_commit: null, cpu_library: null },
    host: { cpu: "EPYC", cores: 2, usable_cores: null, memory_bytes: 2 ** 34, kernel: null },
    prompt: "Once upon",
    begin_ns: 0,
    warmup_steps: 0,
    runs: 1,
    ops: 1,
    op_runs: 1,
    unseen: 0,
    interrupted_runs: 0,
    runs_without_waits: 0,
    runs_of_first_thread: 0,
    slowest_token: null,
    end_ns: 1,
    step_kind: "token",
    threads: 1,
    tokens: 3,
    prompt_tokens: 2,
    generated_tokens: 3,
    tokens_per_second: 5,
    lost: 0,
    times_distorted: false,
    memory_limit: null,
    read_bytes: null,
    cold: false,
    start_utc: "2026-11-15T20:42:31.188Z",
    model: { name: "tiny.gguf", bytes: 5 },
    has: { faults: false, block_requests: false, residency: false, pages: false, reads: true, values: false },
    trace_bytes: 9,
    notes: [],
    ...more,
});

test("rows are experiments in their order, with what is known of each", () => {
    const rows = rowsOf([experiment(0, "a"), experiment(1, "b")], [entry(1)]);
    expect(rows.map((row) => row.entry?.index ?? null)).toEqual([null, 1]);
});

test("settings and machine are told in words, what was not set is not", () => {
    expect(settingsOf(entry(0))).toBe("1 thread, llama.cpp 0.5.0");
    expect(settingsOf(entry(0, { threads: 4, memory_limit: 2 ** 20, cold: true }))).toBe("4 threads, in 1.00 MiB, cold, llama.cpp 0.5.0");
    expect(machineOf(entry(0))).toBe("EPYC, 2 cores, 16.0 GiB");
    expect(when(null)).toBe("–");
    expect(when("2026-11-15T20:42:31.188Z")).toMatch(/^2026-11-1[56] \d\d:\d\d$/);
});

test("a filter finds all of its words, in notes and prompts too", () => {
    const [row] = rowsOf([experiment(0, "first")], [entry(0, { notes: [{ time_utc: null, text: "Warm cache" }] })]);
    for (const filter of ["", "first", "once WARM", "tiny.gguf epyc", "2 cores"]) expect(matches(row!, filter), filter).toBe(true);
    for (const filter of ["second", "warm second"]) expect(matches(row!, filter), filter).toBe(false);
});
