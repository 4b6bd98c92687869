// What the server says of the machine's part of a recording.
export interface FaultSum {
    minor: number;
    major: number;
    open: number;
    stalled_ns: number;
}

export interface Resident {
    token: number | null;
    begin_ns: number;
    bytes: number;
    bytes_untouched: number;
}

interface Quartiles {
    quarter: number;
    median: number;
    three_quarters: number;
}

export interface Machine {
    faults:
        | (FaultSum & {
              lost: number;
              model: FaultSum;
              in_ops: FaultSum;
              by_phase: ({ phase: string } & FaultSum)[];
              by_op: ({ op: string | null } & FaultSum)[];
              by_layer: ({ layer: number | null } & FaultSum)[];
              by_token: ({ token: number | null } & FaultSum)[];
              by_weight: ({ name: string | null } & FaultSum)[];
          })
        | null;
    block_requests: {
        model: { count: number; bytes: number };
        other: { count: number; bytes: number };
        writes: { count: number; bytes: number };
        lost: number;
        bytes_sequential: number;
        bytes: Quartiles;
        duration_ns: Quartiles;
        by_phase: { phase: string; count: number; bytes: number }[];
        by_token: { token: number | null; count: number; bytes: number }[];
        by_weight: { name: string | null; count: number; bytes: number }[];
        over_time: { begin_ns: number; bin_ns: number; bytes: number[] };
    } | null;
    memory: { limit: number; mechanism: string; peak: number; limit_hits: number; oom_kills: number } | null;
    cold: { bytes: number; resident_before: number | null; resident_after: number | null } | null;
    bytes_read: number | null;
    load: { models: number; wall_ns: number; bytes: number; duration_ns: number; by_kind: { kind: string; reads: number; bytes: number; duration_ns: number }[] } | null;
    residency: { method: string | null; bytes: number; load: Resident | null; by_token: Resident[]; end: Resident | null } | null;
}

export interface StorageStats {
    tokens: number;
    machine: Machine;
    streamed?: { runs: number; run_ns: number; bytes_read: number; bytes_early: number; hits: number; misses: number; predicted: number; predicted_used: number; waits: number; wait_ns: number }; // absent: nothing was
    by_op: { op: string | null; busy_ns: number | null }[];
    by_token: { token: number | null; wall_ns: number; busy_ns: number | null; bytes_disk: number }[];
}


export interface Proof {
    page_bytes: number;
    runs: number;
    ops: number;
    pages_predicted: number;
    pages_touched: number;
    pages_both: number;
    recall: number;
    precision: number;
    incomplete_ops: number;
    lost_ops: number;
    by_op: { op: string; ops: number; pages_predicted: number; pages_touched: number; pages_both: number; recall: number; precision: number }[];
    unpredicted_pages: number;
    unpredicted_areas: number;
    unpredicted: { token: number | null; run: number; node: number; op: string | null; name: string | null; file: number; page: number; pages: number }[];
    ops_not_looked_at: number;
    not_looked_at: { op: string; buffer_type: string | null; ops: number; bytes: number }[];
}
