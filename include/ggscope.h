// ggscope.h: open a trace that ggscope recorded, and walk it.
//
// A trace is a set of tables with named columns. A row is a struct below, whose members are all 64
// bits wide and in the order of the columns. One loop reads any table:
//
//     struct ggs_error    error;
//     struct ggs_reader * reader;
//     struct ggs_cursor * cursor;
//     struct ggs_op_run   row;
//     if (ggs_reader_open(&reader, "experiment/trace.ggs", &error) < 0) fail(error.text);
//     if (ggs_cursor_open(&cursor, reader, GGS_TABLE_OP_RUNS, &error) < 0) fail(error.text);
//     int more;
//     while ((more = ggs_cursor_next(cursor, &row, &error)) > 0) use(row.node, row.duration_ns);
//     if (more < 0) fail(error.text);
//     ggs_cursor_close(cursor);
//     ggs_reader_close(reader);
//
// How the tables are related (-> means "names a row of"):
//
//     op_runs.run -> runs      runs.graph -> graphs      nodes.graph -> graphs
//     index.(run, node)        runs.step -> steps        nodes.tensor -> tensors
//     tokens.step -> steps     runs.decode -> decodes    edges.(graph, node) -> nodes
//     runs.device -> devices   lanes.device -> devices   edges.tensor -> tensors
//     lod.lane -> lanes        tensors.file -> files     tensors.buffer -> buffers
//
// A column `process` names the process that a row belongs to: a row of processes. An op run's lane
// is the one with the run's process, device and slot whose queue is the op run's thread.
//
// Opening reads a few hundred bytes, however long the trace; a cursor holds one chunk of rows at a
// time. A trace is untrusted input: every length, offset and checksum is verified before it is
// used, and damage is an error that says where. A truncated trace opens with a warning and has all
// intact chunks.
//
// Times are nanoseconds since the experiment's start. Columns of type GGS_COLUMN_STRING hold a
// number for ggs_reader_string. Functions return 0 (or what they say), or a negative ggs_status
// with one sentence in `error`, which may be NULL. Several threads may use one reader at once, but
// only one thread at a time may use a cursor.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// ---- errors ----

#ifndef GGS_ERROR_DEFINED
#define GGS_ERROR_DEFINED
enum ggs_status {
    GGS_OK          = 0,
    GGS_IO          = -1, // a system call failed
    GGS_FORMAT      = -2, // the input is damaged
    GGS_MEMORY      = -3, // out of memory
    GGS_USAGE       = -4, // an invalid request
    GGS_UNSUPPORTED = -5, // valid input that this version cannot read
    GGS_ABSENT      = -6, // it does not exist
};

struct ggs_error {
    int  status;
    char text[768]; // a complete sentence
};
#endif

// ---- tables ----

// Numbers are part of the file format.
enum ggs_trace_table {
    GGS_TABLE_EXPERIMENT     = 1,  // struct ggs_experiment, one row
    GGS_TABLE_PROCESSES      = 2,  // struct ggs_process; row number = process - 1
    GGS_TABLE_STRINGS        = 3,  // struct ggs_string; row number = string number
    GGS_TABLE_FILES          = 4,  // struct ggs_file; row number = file - 1
    GGS_TABLE_MAPPINGS       = 5,  // struct ggs_file_mapping
    GGS_TABLE_BUFFERS        = 6,  // struct ggs_buffer, by number
    GGS_TABLE_TYPES          = 7,  // struct ggs_type, by number
    GGS_TABLE_OPS            = 8,  // struct ggs_op, by number
    GGS_TABLE_TENSORS        = 9,  // struct ggs_tensor; row number = tensor - 1
    GGS_TABLE_GRAPHS         = 10, // struct ggs_graph_row
    GGS_TABLE_NODES          = 11, // struct ggs_node; use ggs_reader_graph
    GGS_TABLE_EDGES          = 12, // struct ggs_edge; use ggs_reader_graph
    GGS_TABLE_RUNS           = 13, // struct ggs_run, by run
    GGS_TABLE_DECODES        = 14, // struct ggs_decode
    GGS_TABLE_STEPS          = 15, // struct ggs_step, in order of time
    GGS_TABLE_TOKENS         = 16, // struct ggs_token, grouped by step
    GGS_TABLE_OP_RUNS        = 17, // struct ggs_op_run, by (run, thread, begin)
    GGS_TABLE_INDEX          = 18, // struct ggs_index, by run
    GGS_TABLE_TRANSFERS      = 19, // struct ggs_transfer
    GGS_TABLE_LOADS          = 20, // struct ggs_load
    GGS_TABLE_CONTEXTS       = 21, // struct ggs_context; row number = context
    GGS_TABLE_SCHEDULES      = 22, // struct ggs_schedule
    GGS_TABLE_LOSSES         = 23, // struct ggs_loss
    GGS_TABLE_LOD            = 24, // struct ggs_lod: levels of detail for timelines
    GGS_TABLE_FAULTS         = 25, // struct ggs_fault, in order of time
    GGS_TABLE_READS          = 26, // struct ggs_read, in order of time
    GGS_TABLE_RESIDENCY      = 27, // struct ggs_residency, by snapshot
    GGS_TABLE_BLOCK_REQUESTS = 28, // struct ggs_block_request, in order of time
    GGS_TABLE_PAGES          = 29, // struct ggs_pages, by run
    GGS_TABLE_DEVICES        = 30, // struct ggs_device; row number = device - 1
    GGS_TABLE_LANES          = 31, // struct ggs_lane; row number = lane - 1
    GGS_TABLE_KERNELS        = 32, // struct ggs_kernel, by run
    GGS_TABLE_MEMORY_CHANGES = 33, // struct ggs_memory_change, in order of time
    GGS_TABLE_WINDOWS        = 34, // struct ggs_window, in order of time
    GGS_TABLE_STREAMED       = 35, // struct ggs_streamed, by run
    GGS_TABLE_SUBMITS        = 36, // struct ggs_submit, by run
    GGS_TABLE_OP_VALUES      = 37, // struct ggs_op_value, by run
    GGS_TABLE_OP_DUMPS       = 38, // struct ggs_op_dump, by run
    GGS_TABLE_OFF_CPU        = 39, // struct ggs_off_cpu, by end
    GGS_TABLE_COUNT          = 40,
};

enum ggs_column_type {
    GGS_COLUMN_U64    = 1,
    GGS_COLUMN_I64    = 2,
    GGS_COLUMN_TIME   = 3, // int64_t: ns since the experiment's start, -1 for never
    GGS_COLUMN_SPAN   = 4, // uint64_t: ns
    GGS_COLUMN_STRING = 5, // uint64_t: for ggs_reader_string, 0 is the empty string
    GGS_COLUMN_BYTES  = 6, // a pointer and a length (two members); always last
    GGS_COLUMN_REAL   = 7, // double
};

struct ggs_column {
    const char *         name;
    enum ggs_column_type type;
    uint8_t              encoding; // how it is stored: ggscope-trace(5)
    uint8_t              role;
};

struct ggs_schema {
    const char *              name;
    const struct ggs_column * columns;
    uint32_t                  n_columns;
    uint32_t                  n_words; // members of the row struct; bytes have two
    int32_t                   key;     // the column of ggs_cursor_keys, -1 for none
    uint8_t                   sorted;  // rows ascend by key
};

// NULL for an invalid number.
const struct ggs_schema * ggs_trace_schema(enum ggs_trace_table table);

// ---- rows ----

struct ggs_experiment {
    const char * text; // experiment.json at the time of sealing
    uint64_t     length;
};

struct ggs_process {
    uint64_t process; // from 1
    uint64_t pid;
    uint64_t executable; // string
    uint64_t engine;     // string: "key=value" lines: libraries, build ids, versions
    int64_t  begin_ns;
    int64_t  end_ns;      // of its last record
    uint64_t realtime_ns; // UTC at begin_ns
    uint64_t page_size;
    uint64_t ended; // 1 if it left main or called exit; 0 if killed or alive
    uint64_t host;  // string: its machine; empty if there is only one
    // For joined experiments (ggscope join): where it comes from, and how its times were related to
    // the common clock.
    uint64_t recording; // string: id of the experiment; empty if not joined
    uint64_t boot;      // string: id of the machine's boot; empty if unknown
    uint64_t clock;     // enum ggs_clock_source
    int64_t  offset_ns; // added to its times at its first shared graph run
    int64_t  drift_ppb; // further offset per second after that, in ns
    int64_t  error_ns;  // bound of the error during shared runs; -1 if unknown
    uint64_t pairs;     // shared graph runs that determine this
};

enum ggs_clock_source {
    GGS_CLOCK_OWN   = 0, // not joined, or the common clock itself
    GGS_CLOCK_BOOT  = 1, // the same clock of the same machine: exact
    GGS_CLOCK_RUNS  = 2, // from graph runs that a client sent and a server computed
    GGS_CLOCK_WALL  = 3, // from the wall clocks of both machines
    GGS_CLOCK_COUNT = 4,
};

struct ggs_string {
    const char * text; // NUL-terminated; may contain any bytes
    uint64_t     length;
};

struct ggs_file {
    uint64_t file;     // from 1
    uint64_t path;     // string
    uint64_t size;     // at sealing, 0 if it was gone
    int64_t  mtime_ns; // since 1970, at sealing
    uint64_t load;     // model load that opened it, 0 for none
    uint64_t gguf;     // 1 if the engine opened it as GGUF
};

// A part of a file in the process's memory, when first found.
struct ggs_file_mapping {
    int64_t  begin_ns;
    uint64_t start;
    uint64_t end;
    uint64_t offset;
    uint64_t path; // string
    uint64_t process;
};

enum ggs_buffer_class {
    GGS_CLASS_OTHER   = 0,
    GGS_CLASS_WEIGHTS = 1,
    GGS_CLASS_KV      = 2, // KV cache or recurrent state
    GGS_CLASS_COMPUTE = 3,
    GGS_CLASS_IO      = 4, // the engine's inputs and outputs
    GGS_CLASS_COUNT   = 5,
};

struct ggs_buffer {
    uint64_t buffer; // from 1, never reused
    uint64_t address;
    uint64_t size;
    uint64_t type;  // string: the buffer type's name
    uint64_t usage; // ggml's: 0 any, 1 weights, 2 compute
    uint64_t class_;
    uint64_t host;     // 1 if readable by the CPU
    uint64_t load;     // model load that made it, 0 for none
    uint64_t file;     // contains it in a mapping, 0 for none
    int64_t  begin_ns; // allocated
    int64_t  end_ns;   // freed, -1 for never
    uint64_t process;
    uint64_t device; // that has the memory, 0 for the host
};

struct ggs_type {
    uint64_t type;
    uint64_t name; // string
    uint64_t block_elements;
    uint64_t block_bytes;
};

struct ggs_op {
    uint64_t op;
    uint64_t name; // string
};

enum ggs_memory_source {
    GGS_SOURCE_NONE   = 0,
    GGS_SOURCE_DISK   = 1, // in a mapping of a file
    GGS_SOURCE_BUFFER = 2, // elsewhere in host memory
    GGS_SOURCE_VRAM   = 3, // in a buffer of device memory
    GGS_SOURCE_COUNT  = 4,
};

// A tensor of a graph; the same tensor in several graphs is one row.
struct ggs_tensor {
    uint64_t tensor; // from 1
    uint64_t name;   // string
    uint64_t type;
    uint64_t flags; // ggml's: 1 input, 2 output, 4 parameter, 8 loss, 16 compute
    int64_t  ne[4];
    uint64_t nb[4];
    uint64_t address;
    uint64_t source; // enum ggs_memory_source
    uint64_t file;   // DISK: the mapped file
    uint64_t file_offset;
    uint64_t buffer; // 0 for none; a DISK tensor may have one too
    uint64_t buffer_offset;
    uint64_t origin_file; // BUFFER: the file it was copied from, 0 if unknown
    uint64_t origin_offset;
    uint64_t view; // tensor that it is a view of, 0 for none
    uint64_t view_offset;
    uint64_t process;
    uint64_t packed_bytes; // BUFFER: size of a repacked weight (AMX); 0: by type and shape
};

struct ggs_graph_row {
    uint64_t graph;
    uint64_t base; // shares nodes and edges with it, except for own rows; or 0
    uint64_t hash;
    uint64_t nodes;
    uint64_t tensors;
    int64_t  begin_ns;
    uint64_t process;
};

struct ggs_node {
    uint64_t graph;
    uint64_t node;
    uint64_t tensor; // its output
    uint64_t op;
    uint64_t flags;
    uint64_t parameters; // string of 64 bytes: int32_t[16], ggml's op_params
};

struct ggs_edge {
    uint64_t graph;
    uint64_t node;
    uint64_t slot; // index of the node's source: 0..9
    uint64_t tensor;
};

enum ggs_phase {
    GGS_PHASE_NONE     = 0,
    GGS_PHASE_PROMPT   = 1,
    GGS_PHASE_GENERATE = 2,
    GGS_PHASE_MIXED    = 3,
    GGS_PHASE_WARMUP   = 4,
    GGS_PHASE_VERIFY   = 5, // a batch that checks drafted tokens
    GGS_PHASE_GRAPH    = 6, // no tokens: the step is a graph run
    GGS_PHASE_COUNT    = 7,
};

enum ggs_run_flags {
    GGS_RUN_INTERRUPTED = 1, // it has no end
    GGS_RUN_OPAQUE      = 2, // no op runs
    GGS_RUN_PARTIAL     = 4, // some op runs were lost
    // The engine's barrier was not hooked: no waits, and ends of op runs are bounds.
    GGS_RUN_NO_WAITS = 8,
    // On a device, the arrival of its results is unknown: end_ns is when it was submitted.
    GGS_RUN_RESULTS_UNSEEN = 16,
    // Only its first thread was recorded.
    GGS_RUN_FIRST_THREAD = 32,
};

// One graph run. nodes = executed + absorbed + empty + skipped + opaque + unseen + cut.
struct ggs_run {
    uint64_t run; // from 1
    uint64_t graph;
    uint64_t schedule;
    uint64_t decode;
    int64_t  step;    // -1 for none, or a warm-up
    uint64_t phase;   // enum ggs_phase
    uint64_t backend; // string
    uint64_t host;
    int64_t  begin_ns;
    int64_t  end_ns;
    uint64_t threads;
    int64_t  slot; // index among concurrent runs, -1 if opaque
    uint64_t os_thread;
    int64_t  status;
    uint64_t flags;
    uint64_t nodes;
    uint64_t executed;
    uint64_t absorbed;
    uint64_t empty;
    uint64_t skipped;
    uint64_t opaque;
    uint64_t unseen;
    uint64_t cut; // unknown: the run was interrupted, or records were lost
    uint64_t first_op_run;
    uint64_t op_runs;
    uint64_t lost; // op runs that were lost
    uint64_t process;
    uint64_t device;  // that computed it
    int64_t  context; // -1 if unknown
    uint64_t peer;    // the same run of the server or client; 0 for none
};

struct ggs_decode {
    uint64_t decode;
    uint64_t context;
    int64_t  step;
    uint64_t encode; // 1 for llama_encode
    uint64_t tokens;
    int64_t  begin_ns;
    int64_t  end_ns; // -1 if unknown
    int64_t  status;
    uint64_t process;
    uint64_t embeddings; // 1 if the program read embeddings from it
    uint64_t verify;     // 1 if it checks drafted tokens with the last token of a prompt
};

struct ggs_step {
    int64_t  step; // from 0 (the prompt); -1 for a warm-up
    uint64_t phase;
    uint64_t context;
    int64_t  begin_ns;
    int64_t  end_ns;
    uint64_t first_run;
    uint64_t last_run; // may be interleaved with other contexts: see runs.step
    uint64_t runs;
    uint64_t first_token; // row in tokens
    uint64_t tokens;
    uint64_t decodes;
    uint64_t process;
};

struct ggs_token {
    int64_t  step;
    uint64_t index; // in the step
    int64_t  token; // -1 if the input was no token (embeddings)
    int64_t  position;
    int64_t  sequence;
    uint64_t output; // 1 if its output was requested
    uint64_t decode; // 0 if the call was not recorded
    uint64_t text;   // string: its text, perhaps part of a character; 0 if unknown
    uint64_t read;   // enum ggs_output_read of its output
};

enum ggs_output_read {
    GGS_READ_NOT_KNOWN  = 0, // unknown, or no output
    GGS_READ_NEVER      = 1,
    GGS_READ_BY_PROGRAM = 2, // logits, or a token sampled by the engine
};

enum ggs_op_run_flags {
    GGS_OP_RUN_ENDED        = 1,  // else the op was interrupted, and its times are 0
    GGS_OP_RUN_FUSED        = 2,  // computed together with the next `absorbed` nodes
    GGS_OP_RUN_EXTRA        = 4,  // computed by an extra buffer type (repack, AMX)
    GGS_OP_RUN_WAIT_UNSEEN  = 8,  // the wait is unknown: wait_ns is 0
    GGS_OP_RUN_END_BOUND    = 16, // the end is at begin_ns + duration_ns or before
    GGS_OP_RUN_INNER_UNSEEN = 32, // its parts are unknown: inner_wait_ns is 0
};

struct ggs_op_run {
    uint64_t run;
    uint64_t node;
    uint64_t thread; // index in the engine's pool
    uint64_t os_thread;
    int64_t  begin_ns;
    uint64_t duration_ns;
    uint64_t wait_ns;       // in the barrier after the end
    uint64_t inner_wait_ns; // in inner barriers, or between kernels; part of duration
    uint64_t flags;
    uint64_t absorbed;
    int64_t  submit_ns; // when the host submitted it to a device; -1 on the CPU
};

enum { GGS_INDEX_CUT = 1 }; // only the first `length` bytes were recorded

// The contents of a small tensor that selects the rows or experts of a node.
struct ggs_index {
    uint64_t     run;
    uint64_t     node;
    uint64_t     slot;  // index of the source
    uint64_t     width; // bytes of an element
    uint64_t     flags;
    uint64_t     ne[4];
    const void * data; // dense, first dimension fastest
    uint64_t     length;
};

enum ggs_transfer_kind {
    GGS_TRANSFER_SET   = 1, // host memory to tensor
    GGS_TRANSFER_GET   = 2, // tensor to host memory
    GGS_TRANSFER_COPY  = 3, // tensor to tensor
    GGS_TRANSFER_COUNT = 4,
};

struct ggs_transfer {
    uint64_t kind; // enum ggs_transfer_kind
    uint64_t async;
    uint64_t from;
    uint64_t to;
    uint64_t from_buffer; // 0 for host memory
    uint64_t to_buffer;
    uint64_t bytes;
    int64_t  begin_ns;
    uint64_t duration_ns;
    uint64_t name; // string: the tensor
    uint64_t file; // the mapped file that the bytes came from, 0 for none
    uint64_t file_offset;
    uint64_t process;
    uint64_t peer; // the process at the other end, 0 for none
};

struct ggs_load {
    uint64_t load;
    uint64_t path; // string
    int64_t  begin_ns;
    int64_t  end_ns; // -1 if unknown
    uint64_t model;
    uint64_t process;
};

struct ggs_context {
    uint64_t context; // from 0
    uint64_t address;
    uint64_t model;
    uint64_t memory;
    int64_t  begin_ns;
    uint64_t process;
    uint64_t target; // context it drafts for, + 1; 0 for none
    uint64_t read;   // enum ggs_output_read of all its outputs
};

enum ggs_memory_change_kind {
    GGS_MEMORY_CLEAR  = 1, // everything was dropped
    GGS_MEMORY_REMOVE = 2, // cells of `sequence` (all of them, if negative) at positions [from, to)
    GGS_MEMORY_COPY   = 3, // `other` has them too
    GGS_MEMORY_KEEP   = 4, // all but `sequence` were dropped
    GGS_MEMORY_ADD    = 5, // `delta` was added to their positions
    GGS_MEMORY_DIVIDE = 6, // their positions were divided by `delta`
    // No cells changed: the sampler of `sequence` was set, as at the begin and the end of a
    // request.
    GGS_MEMORY_SAMPLER = 7,
    // A state was loaded: `sequence` has cells at [from, to) and no others; negative if unknown.
    GGS_MEMORY_LOAD  = 8,
    GGS_MEMORY_COUNT = 9,
};

// A change to the sequences in a context's memory. Negative `from` and `to` are open.
struct ggs_memory_change {
    uint64_t decode; // the newest one at that time, 0 for none
    uint64_t context;
    uint64_t kind; // enum ggs_memory_change_kind
    int64_t  sequence;
    int64_t  other; // -1 for none
    int64_t  from;
    int64_t  to;
    int64_t  delta;
    int64_t  begin_ns;
    int64_t  step; // the newest one at that time, -1 for none
    uint64_t process;
};

struct ggs_schedule {
    uint64_t schedule;
    uint64_t scheduler;
    uint64_t decode;
    uint64_t nodes;
    int64_t  begin_ns;
    int64_t  end_ns; // -1 if unknown
    int64_t  status;
    uint64_t process;
};

enum ggs_loss_reason {
    GGS_LOSS_SPACE          = 1, // no room for it
    GGS_LOSS_SLOTS          = 2, // more graph runs or threads at once than lanes
    GGS_LOSS_UNMATCHED      = 3, // an op of an unknown graph run
    GGS_LOSS_RING           = 4, // removed by the ring policy
    GGS_LOSS_DAMAGED        = 5, // the spool was damaged
    GGS_LOSS_FAULTS         = 6, // page faults: the kernel's ring was full
    GGS_LOSS_BLOCK_REQUESTS = 7, // block requests: the same
    GGS_LOSS_PAGES          = 8, // ops whose touched pages are incomplete
    GGS_LOSS_SWITCHES       = 9, // context switches: the kernel's ring was full
    GGS_LOSS_WEIGHTS        = 10, // weights whose file was gone or changed when they were to be read
    GGS_LOSS_COUNT          = 11,
};

struct ggs_loss {
    uint64_t reason;
    uint64_t lane;
    uint64_t count;
    uint64_t run;      // 0 if unknown, or several
    int64_t  begin_ns; // bounds
    int64_t  end_ns;
    uint64_t process;
};

// What a lane did between begin_ns and begin_ns + 2^level. Levels are two apart; empty bins have no
// row.
struct ggs_lod {
    uint64_t level;
    int64_t  slot; // -1 for opaque graph runs
    uint64_t thread;
    int64_t  begin_ns;
    uint64_t busy_ns;
    uint64_t wait_ns;
    uint64_t count; // op runs that begin here
    uint64_t longest_ns;
    uint64_t longest_run;
    uint64_t longest_node;
    uint64_t lane;
};

// ---- devices ----

enum ggs_device_type {
    GGS_DEVICE_UNKNOWN     = 0,
    GGS_DEVICE_CPU         = 1,
    GGS_DEVICE_GPU         = 2,
    GGS_DEVICE_ACCELERATOR = 3, // works beside the CPU on its memory (BLAS, AMX)
    GGS_DEVICE_COUNT       = 4,
};

enum ggs_seen {
    GGS_SEEN_NOTHING = 0,
    GGS_SEEN_GRAPHS  = 1, // whole graph runs
    GGS_SEEN_OPS     = 2, // every op
    GGS_SEEN_KERNELS = 3, // every op and its kernels
    GGS_SEEN_COUNT   = 4,
};

// A device that computes graphs: the CPU, or one of another backend.
struct ggs_device {
    uint64_t device; // from 1
    uint64_t process;
    uint64_t name;        // string: the engine's name: "CPU", "CUDA0"
    uint64_t description; // string: the hardware; empty if unknown
    uint64_t type;        // enum ggs_device_type
    uint64_t memory;      // bytes, 0 if unknown
    uint64_t backend;     // string: the engine's name of the backend
    uint64_t seen;        // enum ggs_seen: how closely it is observed
};

enum ggs_lane_kind {
    GGS_LANE_THREAD = 1, // a thread of the CPU
    GGS_LANE_QUEUE  = 2, // a queue of a device
    GGS_LANE_GRAPHS = 3, // whole graph runs of a device
    GGS_LANE_COUNT  = 4,
};

// A sequence of op runs.
struct ggs_lane {
    uint64_t lane; // from 1
    uint64_t process;
    uint64_t device;
    int64_t  slot;  // as runs.slot
    uint64_t queue; // op_runs.thread: index of the thread, or queue of the device
    uint64_t kind;  // enum ggs_lane_kind
    uint64_t name;  // string, unique in the trace
};

// A kernel, copy or set of a device, for one op or several fused ones.
struct ggs_kernel {
    uint64_t run;
    uint64_t node;  // the first one that it computes
    uint64_t nodes; // number of nodes, this one included
    uint64_t lane;
    uint64_t name; // string
    int64_t  submit_ns;
    int64_t  begin_ns;
    uint64_t duration_ns;
    uint64_t flags;
    uint64_t bytes;                     // of a copy or set, 0 for a kernel
    uint64_t grid_x, grid_y, grid_z;    // blocks of a kernel, 0 for a copy or set
    uint64_t block_x, block_y, block_z; // threads of a block
};

// When the host submitted a node to a device without op times. Nodes between this one and the next
// were submitted with it.
struct ggs_submit {
    uint64_t run;
    uint64_t node;
    int64_t  submit_ns;
    uint64_t host_ns; // until the next one, or the return of the submitting call
};

// ---- windows ----

enum ggs_window_kind {
    GGS_WINDOW_RECORDED = 1, // graph runs that began in it are in the trace
    GGS_WINDOW_MARK     = 2, // a named moment
    GGS_WINDOW_COUNT    = 3,
};

// If there are rows, recording was paused, and the trace has nothing outside of the windows.
// Without rows, it has everything.
struct ggs_window {
    uint64_t window; // from 1, marks included
    uint64_t kind;   // enum ggs_window_kind
    int64_t  begin_ns;
    int64_t  end_ns; // -1 if open to the end
    uint64_t text;   // string, of a mark
    uint64_t process;
};

// ---- weights that were read ahead of use ----

enum ggs_streamed_place {
    GGS_STREAMED_MAPPING = 1, // left to the mapping, as without ggscope stream
    GGS_STREAMED_RING    = 2, // read for this use
    GGS_STREAMED_KEPT    = 3, // read once and kept
    GGS_STREAMED_SLOTS   = 4, // experts in slots
    GGS_STREAMED_COUNT   = 5,
};

// A weight that an op used under `ggscope stream`: where it was, and what was read for it.
struct ggs_streamed {
    uint64_t run;
    uint64_t node;
    uint64_t source;         // index of the node's source
    uint64_t place;          // enum ggs_streamed_place
    uint64_t bytes_read;     // for this use
    uint64_t bytes_early;    // of these, before their use was certain: predicted experts
    uint64_t hits;           // chosen experts that were in memory
    uint64_t misses;         // chosen experts that were not
    uint64_t predicted;      // experts that were read early
    uint64_t predicted_used; // hits because of that
    uint64_t wait_ns;        // time the op waited for the disk
};

// ---- the machine ----

enum ggs_fault_kind {
    GGS_FAULT_OPEN  = 0, // its end is unknown
    GGS_FAULT_MINOR = 1, // the page was in memory
    GGS_FAULT_MAJOR = 2, // the page had to be read
    GGS_FAULT_COUNT = 3,
};

// A page fault of the program.
struct ggs_fault {
    int64_t  begin_ns;
    uint64_t duration_ns; // delay of the thread
    uint64_t kind;        // enum ggs_fault_kind
    uint64_t os_thread;
    uint64_t address;
    uint64_t file; // mapped there, 0 for none
    uint64_t file_offset;
    uint64_t run; // graph run and node of the thread, run 0 for none
    uint64_t node;
    int64_t  step; // -1 for none
    uint64_t process;
};

enum ggs_off_cpu_kind {
    GGS_OFF_CPU_BLOCKED   = 1, // it waited: for a lock, a disk, other threads
    GGS_OFF_CPU_PREEMPTED = 2, // it could have continued
    GGS_OFF_CPU_COUNT     = 3,
};

enum ggs_off_cpu_other {
    GGS_OTHER_UNSEEN  = 0, // unknown
    GGS_OTHER_IDLE    = 1, // the CPU was idle
    GGS_OTHER_OWN     = 2, // another thread of the same process
    GGS_OTHER_PROGRAM = 3, // another program, or the kernel
    GGS_OTHER_COUNT   = 4,
};

// A time in which a thread had no CPU. One that never ran again has no row.
struct ggs_off_cpu {
    int64_t  begin_ns;
    uint64_t duration_ns; // until it ran again
    uint64_t kind;        // enum ggs_off_cpu_kind
    uint64_t os_thread;
    uint64_t cpu;   // that it left
    uint64_t other; // enum ggs_off_cpu_other: what ran there next
    uint64_t name;  // string: of that thread
    uint64_t run;   // graph run and node of the thread, run 0 for none
    uint64_t node;
    int64_t  step; // -1 for none
    uint64_t process;
};

enum ggs_read_kind {
    GGS_READ_FILE     = 1, // read, pread, fread
    GGS_READ_POPULATE = 2, // mmap with MAP_POPULATE
    GGS_READ_ADVICE   = 3, // madvise and similar calls that make the kernel read
    GGS_READ_LOCK     = 4, // mlock
    GGS_READ_COUNT    = 5,
};

// Bytes of a file that the engine requested by a call while it loaded a model. Adjacent calls may
// share a row.
struct ggs_read {
    uint64_t kind; // enum ggs_read_kind
    uint64_t file;
    uint64_t file_offset;
    uint64_t bytes;
    int64_t  begin_ns;
    uint64_t duration_ns; // in the calls
    uint64_t os_thread;
    uint64_t load; // model load, 0 for none
    uint64_t process;
};

enum ggs_moment {
    GGS_MOMENT_LOAD  = 1, // a model was loaded
    GGS_MOMENT_GRAPH = 2, // a scheduler call, or a graph run outside of one, ended
    GGS_MOMENT_END   = 3, // the program ends
    GGS_MOMENT_COUNT = 4,
};

// Pages of a file in memory at one moment. A file without any has one row with 0 pages.
struct ggs_residency {
    uint64_t snapshot; // from 1
    uint64_t moment;   // enum ggs_moment
    int64_t  begin_ns;
    int64_t  step; // -1 for none
    uint64_t file;
    uint64_t page; // number of the first one, in pages of the process
    uint64_t pages;
    uint64_t process;
};

// A request to a file's disk.
struct ggs_block_request {
    int64_t  begin_ns;    // issued to the device
    uint64_t duration_ns; // until completion; 0 if that is unknown
    uint64_t device;      // major << 20 | minor
    uint64_t sector;      // of 512 bytes
    uint64_t bytes;
    uint64_t write;
    uint64_t os_thread; // that issued it
    uint64_t file;      // 0 if it is not in the recording
    uint64_t file_offset;
    uint64_t run; // in progress at begin_ns: of that thread, else of any; 0 for none
    uint64_t node;
    int64_t  step;    // -1 for none
    uint64_t process; // that issued it, 0 if not in the recording
};

enum { GGS_PAGES_INCOMPLETE = 1 }; // the op touched more than could be recorded

// Pages of a mapped file that an op touched: only in recordings with --prove, whose times are
// distorted.
struct ggs_pages {
    uint64_t run;
    uint64_t node;
    uint64_t file;
    uint64_t page; // number of the first one, in pages of the process
    uint64_t pages;
    uint64_t flags;
};

// ---- values ----

enum {
    GGS_OP_VALUE_SKETCH = 16,
    // In `flags`: 0 for the node's output, else 1 + the index of a source that no node makes.
    GGS_OP_VALUE_SOURCE = 0xff,
    GGS_OP_VALUE_INPUT  = 0x100, // that source is an input of the graph, else a weight
};

// Values of an op's output for one token: only in recordings with --values. Outputs that do not
// exist (of ops fused with the next one) have no rows. Weights have rows in the first run that
// reads them, inputs of the graph in every run: both have `flags`.
struct ggs_op_value {
    uint64_t     run;
    uint64_t     node;     // whose output it is
    int64_t      row;      // token of the graph run's batch; expert of a weight; or -1
    int64_t      position; // of the token; -1 if unknown
    uint64_t     elements;
    uint64_t     nan; // NaN and infinite elements; the rest is about the others
    uint64_t     inf;
    double       min; // all 0 if no element is finite
    double       max;
    double       mean;
    double       rms;     // root of the mean square
    uint64_t     largest; // index of the element with the largest absolute value
    uint64_t     hash;    // of the bits of all elements as F32
    uint64_t     flags;   // GGS_OP_VALUE_SOURCE, GGS_OP_VALUE_INPUT
    const void * sketch;  // float[GGS_OP_VALUE_SKETCH]: signed sums of elements
    uint64_t     length;  // in bytes
};

// A piece of a tensor that an op read or wrote: only in recordings with --values-dump. Weights are
// left out; the model's file has them. Of rows for the same piece the last one is valid.
struct ggs_op_dump {
    uint64_t     run;
    uint64_t     node;
    int64_t      slot;   // source of the node, as in edges; -1 for its output
    uint64_t     offset; // in the tensor
    uint64_t     total;  // bytes of the tensor in memory, strides included
    const void * data;
    uint64_t     length;
};

// ---- opening ----

struct ggs_reader;

// `path` is a trace file, or the folder of an experiment with trace.ggs.
int ggs_reader_open(struct ggs_reader ** reader, const char * path, struct ggs_error * error);
// `data` must outlive the reader.
int  ggs_reader_open_memory(struct ggs_reader ** reader, const void * data, size_t size, struct ggs_error * error);
void ggs_reader_close(struct ggs_reader * reader); // NULL is allowed

// NULL if the trace is complete; else a sentence on what is missing.
const char * ggs_reader_warning(const struct ggs_reader * reader);
// The trace's format version. What a version lacks was not recorded: 3 added values of ops,
// conditions and context switches.
uint32_t ggs_reader_version(const struct ggs_reader * reader);
// 16 bytes, the experiment's UUID.
const uint8_t * ggs_reader_uuid(const struct ggs_reader * reader);
uint64_t        ggs_reader_rows(const struct ggs_reader * reader, enum ggs_trace_table table);
uint64_t        ggs_reader_size(const struct ggs_reader * reader); // bytes of the file

// experiment.json's text, "" if it is missing or damaged. Lives as long as the reader.
const char * ggs_reader_experiment(struct ggs_reader * reader);
// The text of a string column; "" for numbers that are unknown or whose chunk is damaged. Lives as
// long as the reader.
const char * ggs_reader_string(struct ggs_reader * reader, uint64_t string);
// The same with its length, for strings of bytes; NULL if unknown or damaged.
const void * ggs_reader_bytes(struct ggs_reader * reader, uint64_t string, uint64_t * length);

// One row by number. `row` points to the table's struct. Each call decodes a chunk: use a cursor to
// walk. Tables with bytes (strings, index, experiment) are refused: their rows live in a cursor's
// chunk.
int ggs_reader_row(struct ggs_reader * reader, enum ggs_trace_table table, uint64_t number, void * row,
                   struct ggs_error * error);

// Reads every chunk of every table and verifies it. `progress` may be NULL.
int ggs_reader_verify(struct ggs_reader * reader, void (*progress)(void * context, uint64_t done, uint64_t total),
                      void * context, struct ggs_error * error);

// ---- cursors ----

struct ggs_cursor;

int  ggs_cursor_open(struct ggs_cursor ** cursor, struct ggs_reader * reader, enum ggs_trace_table table,
                     struct ggs_error * error);
void ggs_cursor_close(struct ggs_cursor * cursor); // NULL is allowed; before the reader is closed

// Limits, each of which also rewinds. All must hold; without any, a cursor walks the whole table.
void ggs_cursor_range(struct ggs_cursor * cursor, uint64_t first_row, uint64_t rows);
// The table's key in [first, last]: its first column; experiment, strings, mappings, transfers,
// losses, faults, reads and block_requests have none.
void ggs_cursor_keys(struct ggs_cursor * cursor, int64_t first, int64_t last);
// Rows that intersect [begin_ns, end_ns). Rows of tables without times all pass.
void ggs_cursor_times(struct ggs_cursor * cursor, int64_t begin_ns, int64_t end_ns);
// Rows of steps first..last; for runs, op_runs, index, tokens, steps and decodes.
int  ggs_cursor_steps(struct ggs_cursor * cursor, int64_t first, int64_t last, struct ggs_error * error);
void ggs_cursor_rewind(struct ggs_cursor * cursor);

// Fills `row`, the table's struct, and returns 1; 0 at the end; negative on failure. Pointers in
// the row live until the next call on this cursor.
int ggs_cursor_next(struct ggs_cursor * cursor, void * row, struct ggs_error * error);
// Number of the row that next returned last.
uint64_t ggs_cursor_row(const struct ggs_cursor * cursor);

// The fast way: the rest of the current chunk, or the next one, column by column. words[i] is the
// array of the i-th member of the row struct, `*rows` long. Returns 1, 0 or negative like next.
// Chunks outside of the limits are skipped, but not rows of a chunk that is partly outside: test
// them.
int ggs_cursor_next_chunk(struct ggs_cursor * cursor, const uint64_t * const ** words, uint64_t * rows,
                          struct ggs_error * error);

// ---- graphs ----

// A graph completed by its base: nodes by number, edges by (node, slot).
struct ggs_graph {
    struct ggs_graph_row row;
    uint64_t             n_nodes;
    struct ggs_node *    nodes;
    uint64_t             n_edges;
    struct ggs_edge *    edges;
    uint64_t *           first_edge; // edges of node i: [first_edge[i], first_edge[i + 1])
};

int  ggs_reader_graph(struct ggs_reader * reader, uint64_t graph, struct ggs_graph ** out, struct ggs_error * error);
void ggs_graph_free(struct ggs_graph * graph); // NULL is allowed

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
