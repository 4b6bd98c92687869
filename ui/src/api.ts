// The shapes of the server's JSON answers (docs/server.md).

export interface Experiment {
    index: number;
    id: string;
    name: string;
    directory: string;
    state: string;
    live: boolean;
    error: string | null;
}

export interface Summary {
    id: string;
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
        files: { file: number; name: string; path: string; bytes: number }[];
    } | null;
    engine: { ggml_version: string | null; llama_version: string | null; commit: string | null };
    host: { cpu: string | null; cores: number | null; memory_bytes: number | null; kernel: string | null };
    threads: number;
    prompt: string | null;
    begin_ns: number;
    end_ns: number;
    tokens: number;
    prompt_tokens: number;
    generated_tokens: number;
    tokens_per_second: number | null;
    slowest_token: { token: number; duration_ns: number } | null;
    runs: number;
    ops: number;
    op_runs: number;
    lost: number;
    unseen: number;
    interrupted_runs: number;
    lanes: { lane: number; slot: number; thread: number; label: string }[];
    level_ns: number[];
    has: Record<"experts" | "faults" | "block_requests" | "residency" | "pages" | "reads", boolean>;
    proved: boolean;
    memory_limit: number | null;
    cold: boolean;
}

// All arrays have one entry per row; the rows are sorted by file and offset and leave no byte out.
export interface ModelMap {
    files: { file: number; bytes: number; path: string }[];
    tensors: {
        name: string[];
        type: string[];
        shape: number[][];
        file: number[];
        offset: number[];
        bytes: number[];
        layer: number[];
        component: string[];
        category: string[];
        experts: number[];
        copied: number[];
        kind: string[];
    };
}

export interface Heat {
    tensors: { reads: number[]; bytes: number[]; last_op: (string | null)[] };
    experts: { tensor: number; reads: number[]; bytes: number[] }[];
    touched_bytes: number;
    model_bytes: number;
    faults: { minor: number[]; major: number[]; stalled_ns: number[] } | null;
    pages: { touched: number[] } | null;
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
        mapped: boolean;
        layer: number | null;
    }[];
    peak_bytes: number;
    tensors: { name: string[]; buffer: number[]; offset: number[]; bytes: number[]; layer: number[]; component: string[] };
}

export interface Operand {
    slot: number;
    write: boolean;
    name: string;
    type: string;
    shape: number[];
    bytes: number;
    exact: boolean;
    ranges: [number, number][];
    n_ranges: number;
    source: string;
    file: number | null;
    file_offset: number | null;
    origin_offset: number | null;
    buffer: number | null;
    buffer_offset: number | null;
}

export interface OpAnswer {
    run: number;
    node: number;
    token: number | null;
    phase: string;
    op: string;
    name: string;
    layer: number | null;
    begin_ns: number;
    end_ns: number;
    duration_ns: number;
    busy_ns: number;
    wait_ns: number;
    threads: { thread: number; begin_ns: number; duration_ns: number; wait_ns: number }[];
    absorbed: string[];
    operands: Operand[];
    experts: { expert: number; rank: number; weight: number | null }[] | null;
    producers: number[];
    consumers: number[];
    previous: { run: number; node: number } | null;
    next: { run: number; node: number } | null;
    row: number | null;
}

export interface LogAnswer {
    total: number;
    of: number;
    from: number;
    rows: LogRow[];
}

// row, begin_ns, token, phase, op, name, layer, threads, read, written, source, where, duration_ns, wait_ns, run, node
export type LogRow = [
    number, number, number | null, string, string, string, number | null, number,
    number, number, string, number | null, number, number, number, number,
];
export const logColumns = [
    "row", "begin_ns", "token", "phase", "op", "name", "layer", "threads",
    "read", "written", "source", "where", "duration_ns", "wait_ns", "run", "node",
] as const;

export const phases = ["", "PROMPT", "GENERATE", "MIXED", "WARMUP", "VERIFY"] as const;
