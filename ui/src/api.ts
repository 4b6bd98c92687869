// The shapes of the server's JSON answers (docs/server.md).

export interface Experiment {
    index: number;
    experiment_id: string | null;
    name: string;
    directory: string;
    state: string;
    live: boolean;
    error: string | null;
    found: boolean; // below a folder: nobody named it
}

// An entry of the list of experiments.
export interface Entry
    extends Pick<
        Summary,
        | "command"
        | "engine"
        | "host"
        | "prompt"
        | "begin_ns"
        | "end_ns"
        | "step_kind"
        | "threads"
        | "tokens"
        | "prompt_tokens"
        | "generated_tokens"
        | "tokens_per_second"
        | "lost"
        | "times_distorted"
        | "memory_limit"
        | "cold"
    > {
    index: number;
    start_utc: string | null;
    model: { name: string; bytes: number } | null;
    has: Record<"faults" | "block_requests" | "residency" | "pages" | "reads", boolean>;
    trace_bytes: number;
    notes: { time_utc: string | null; text: string }[];
}

export interface Summary {
    experiment_id: string;
    name: string;
    directory: string;
    state: string;
    live: boolean;
    warning: string | null;
    command: string[];
    model: {
        name: string;
        architecture: string;
        quantization: string;
        layers: number;
        experts: number;
        experts_used: number;
        bytes: number;
        files: ModelFile[];
    } | null;
    engine: { ggml_version: string | null; llama_version: string | null; ggml_commit: string | null };
    host: { cpu: string | null; cores: number | null; memory_bytes: number | null; kernel: string | null };
    threads: number;
    prompt: string | null;
    begin_ns: number;
    end_ns: number;
    page_bytes: number;
    step_kind: "token" | "graph run"; // what a step is
    tokens: number; // steps
    prompt_tokens: number;
    generated_tokens: number;
    tokens_per_second: number | null;
    slowest_token: { token: number; duration_ns: number } | null;
    runs: number;
    ops: number;
    op_runs: number;
    // null: it was never paused and nothing was marked
    windows: { recorded_ns: number; whole_ns: number; list: { window: number; kind: string; begin_ns: number; end_ns: number; text: string | null }[] } | null;
    lost: number;
    unseen: number;
    interrupted_runs: number;
    runs_without_waits: number; // the engine's barrier was not seen
    lanes: { lane: number; slot: number; thread: number; process: number; label: string; device: string | null }[]; // of a device waits are not known
    processes: { process: number; name: string; host: string; clock: string; error_ns: number | null }[]; // of a joined experiment, else none
    part: { first_token: number; last_token: number } | null; // of a report that holds only some tokens
    level_ns: number[];
    has: Record<"experts" | "faults" | "block_requests" | "residency" | "pages" | "reads", boolean>;
    times_distorted: boolean;
    memory_limit: number | null;
    cold: boolean;
}

export interface ModelFile {
    file: number;
    bytes: number;
    path: string;
}

// All arrays have one entry per place; the rows are sorted by file and offset and leave no byte out.
export interface ModelMap {
    files: ModelFile[];
    tensors: {
        name: (string | null)[]; // null for what is no tensor: see kind
        type: (string | null)[];
        shape: number[][];
        file: number[];
        file_offset: number[];
        bytes: number[];
        layer: (number | null)[];
        component: string[];
        category: string[];
        experts: number[];
        copied: boolean[];
        kind: string[];
    };
}

interface Faults {
    minor: number[];
    major: number[];
    stalled_ns: number[];
}
interface Touched {
    bytes_touched: number[];
}
// The same by expert, and by byte range: those in which something happened.
interface ByExpert<T> {
    experts: ({ place: number } & T)[];
    ranges: { bytes: number; page_bytes: number; file: number[]; file_offset: number[] } & T;
}

export interface Heat {
    model: { bytes: number; bytes_touched: number };
    tensors: { reads: number[]; bytes_read: number[]; bytes_disk: number[]; last_op: (string | null)[]; last_run: (number | null)[]; last_node: (number | null)[] };
    experts: { place: number; reads: number[]; bytes_read: number[] }[];
    faults: (Faults & ByExpert<Faults>) | null;
    pages: (Touched & ByExpert<Touched>) | null;
    buffers: { buffer: number[]; reads: number[]; writes: number[]; bytes: number[] };
}

export interface Buffers {
    buffers: {
        buffer: number;
        type: string;
        class: string;
        usage: string;
        bytes: number;
        begin_ns: number;
        end_ns: number | null;
        file: number | null; // it lies in a mapping of this file
        device: string | null; // whose own memory it is; null for the host's
        layer: number | null;
    }[];
    peak_bytes: number;
    tensors: { name: string[]; buffer: number[]; buffer_offset: number[]; bytes: number[]; layer: (number | null)[]; component: string[] };
}

// Where the first byte lies that is touched: source DISK with file and file_offset, BUFFER or (in a device's memory) VRAM with buffer; copied weights have an origin.
export interface Place {
    source: string | null;
    file: number | null;
    file_offset: number | null;
    buffer: number | null;
    buffer_offset: number | null;
    origin_file: number | null;
    origin_offset: number | null;
}

export interface Operand extends Place {
    slot: number | null; // null: the result
    write: boolean;
    tensor: number;
    name: string;
    type: string | null;
    shape: number[];
    bytes: number;
    offset: number;
    exact: boolean;
    n_ranges: number;
    ranges?: [number, number][];
}

export interface OpAnswer {
    run: number;
    node: number;
    token: number | null;
    phase: string;
    backend: string;
    op: string;
    name: string;
    layer: number | null;
    begin_ns: number | null; // null: not seen, as the next two, on a backend that is seen as a whole
    duration_ns: number | null;
    busy_ns: number | null;
    wait_ns: number | null; // not seen: on a device
    submit_ns: number | null; // when the host handed it to a device, and how long that took
    host_ns: number | null;
    stalled_ns: number | null; // by page faults, part of busy_ns; null: not recorded
    disk_wait_ns: number | null; // for weights that were streamed, likewise
    threads: { thread: number; begin_ns: number; duration_ns: number; wait_ns: number | null; inner_wait_ns: number | null; submit_ns: number | null; stalled_ns: number | null; disk_wait_ns: number | null }[];
    absorbed: { node: number; op: string; name: string }[];
    operands: Operand[];
    experts: { expert: number; rank: number; weight: number | null }[] | null;
    producers: number[];
    consumers: number[];
    previous: { run: number; node: number } | null;
    next: { run: number; node: number } | null;
    row: number | null;
}

export interface LogAnswer {
    total: number | null; // rows that the filter leaves
    of: number; // rows without it
    from: number;
    ops: LogRow[];
}

// An op; its place is that of the operand named source_name.
export interface LogRow extends Place {
    row: number;
    run: number;
    node: number;
    token: number | null;
    phase: string;
    op: string;
    name: string;
    layer: number | null;
    absorbed: number;
    fused_with: number | null; // the node that has the time of both
    threads: number;
    begin_ns: number | null; // null: not seen, as the next three
    duration_ns: number | null;
    busy_ns: number | null;
    wait_ns: number | null;
    submit_ns: number | null; // on a device: when the host handed it over, and how long that took
    host_ns: number | null;
    bytes_read: number;
    bytes_written: number;
    bytes_disk: number;
    cut: boolean;
    source_name: string | null;
}
export const logColumns = [
    "row", "begin_ns", "token", "phase", "op", "name", "layer", "absorbed", "fused_with", "threads", "bytes_read", "bytes_written", "bytes_disk", "source", "source_name",
    "file", "file_offset", "buffer", "origin_file", "origin_offset", "duration_ns", "busy_ns", "wait_ns", "run", "node",
] as const satisfies (keyof LogRow)[];

export interface GraphNode extends Place {
    node: number;
    op: string;
    name: string;
    layer: number | null;
    type: string | null;
    shape: number[];
    state: string;
    fused_with: number | null; // the node that it was computed with
    begin_ns: number | null;
    duration_ns: number | null;
}

export interface GraphAnswer {
    token: number | null;
    runs: { run: number; graph: number; backend: string }[]; // of the token step
    graphs: {
        run: number;
        graph: number;
        backend: string;
        nodes: GraphNode[];
        leaves: { name: string; kind: string; bytes: number }[];
        edges: { node: number; slot: number; source_node: number | null; leaf: number | null }[];
    }[];
}

export const phases = ["", "PROMPT", "GENERATE", "MIXED", "WARMUP", "VERIFY", "GRAPH"] as const;
