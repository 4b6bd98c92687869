// The spool: what the capture library writes while the engine runs, and what seal reads.
//
// A spool is a folder of segment files, each a header followed by records. Segments are mapped
// MAP_SHARED and filled front to back, so their contents survive the death of the writer. A file is
// allocated at full size and zero after its last record. A record's type is stored last, and type 0
// is never valid: the first zero type ends a segment.
//
//     SPOOL/journal-0000.seg journal-0001.seg ...   one stream, in order: everything but op runs
//     SPOOL/lane-000-0000.seg ...                   one stream per lane: op runs and their index
//                                                   data, or values; sealed segments are removed
//     SPOOL/machine-0000.seg                        one stream, written by ggscope: kernel events
//     SPOOL/free-000000.seg ...                     GGS_SPOOL_SEGMENT zeros each, made by ggscope
//     SPOOL/spare-0000.seg ...                      the same, made by the writer for a sandbox
//
// The writer uses the next free or spare segment by writing its header, which is blank until then
// and says what the segment is. It renames the first segment of the journal instead: of several
// processes with one spool, one succeeds.
//
// One thread at a time writes a lane. A lane belongs to (slot, thread index), and a slot to one
// graph run at a time. So there are (concurrent graph runs) x (threads) lanes, however many OS
// threads come and go.
//
//     segment            journal record                     lane units (16 bytes): AT, and OP
//     +--------------+   +------------------------------+   +-------------------------------------+
//     | header  64 B |   | u32 type   u32 bytes (all)   |   | u8 type  u24 node  u32 run          |
//     +--------------+   | u64 ticks                    |   | u64 begin                           |
//     | record       |   | body, padded to 8            |   +-------------------------------------+
//     | record ...   |   +------------------------------+   | u8 type  u8 flags  u8 shift u8 step |
//     | 0 0 0 0 ...  |                                      | u32 duration  u32 wait              |
//     +--------------+                                      | u32 inner_wait                      |
//                                                           +-------------------------------------+
//
// A thread begins an op when it leaves the barrier after the previous one. So an OP unit has only
// the number of nodes since the previous op, and its times: it belongs to the run of the previous
// op in its lane, and begins where that op's wait ended. Elsewhere, as at the first op of a run, an
// AT unit before it has run, node and begin. Every segment of a lane begins with a run.
//
// Everything is little endian, as the machine writes it. A spool is read on the machine that wrote
// it, or one like it.
//
// Times are ticks: the time stamp counter if it is invariant, else CLOCK_MONOTONIC nanoseconds.
// Anchors pair ticks with CLOCK_MONOTONIC; every graph run begins and ends with one. Records of the
// machine stream always have CLOCK_MONOTONIC.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h" // flags and kinds mean the same in the spool and in the trace

#define GGS_SPOOL_MAGIC "GGSPOOL1"
#define GGS_SPOOL_FREE  "free-%06u"  // printf form of the names of free segments, without suffix
#define GGS_SPOOL_SPARE "spare-%04u" // of segments for a sandbox

enum {
    GGS_SPOOL_VERSION = 6,
    GGS_SPOOL_UNIT    = 16,      // bytes of a lane unit
    GGS_SPOOL_SEGMENT = 1 << 20, // typical size of a segment file
    GGS_SPOOL_JOURNAL = 0xffff,  // `lane` of a journal segment
    GGS_SPOOL_MACHINE = 0xfffe,  // `lane` of a machine segment; its `pid` is 0
    GGS_SPOOL_VALUES  = 0xfffd,  // `thread` of a slot's lane of values
};

struct ggs_spool_header {
    char     magic[8];
    uint32_t version;
    uint32_t lane;     // GGS_SPOOL_JOURNAL, or the lane's number
    uint32_t sequence; // of this segment in its stream, from 0
    uint32_t pid;
    uint64_t size; // of the file, header included
    uint32_t slot; // lanes: which slot and which thread index in it
    uint32_t thread;
    uint8_t  reserved[24];
};
_Static_assert(sizeof(struct ggs_spool_header) == 64, "layout");

// ---- control ----
//
// SPOOL/control, made by ggscope before the program starts: whether graph runs are recorded, and
// when they were. The program maps the first part and writes to it only if `steps_left` ends a
// window; the list after it belongs to ggscope.

#define GGS_SPOOL_CONTROL "control"
#define GGS_CONTROL_MAGIC "GGSCTRL1"

struct ggs_control_entry {
    uint32_t kind; // enum ggs_window_kind; 0 for none
    uint32_t reserved;
    uint64_t begin_ns, end_ns; // CLOCK_MONOTONIC; the end is 0 while the window is open
    union {
        char text[104]; // of a mark; NUL-terminated
        // For a window whose end was noticed late: if `cut` is not 0, decodes (last, newest] are
        // not part of the recording. A newest of 0 is open.
        struct {
            uint64_t cut, last, newest;
        } late;
    };
};

struct ggs_spool_control {
    char     magic[8];
    uint32_t recording; // calls that begin while it is 0 are not recorded
    uint32_t reserved;
    int64_t  steps_left; // steps until the window ends; 0 or less: no limit
    uint64_t ended_ns;   // CLOCK_MONOTONIC, when the window ended so
    uint32_t entries;    // of the list that follows
    uint32_t reserved_2;
    uint64_t freed;    // bytes of sealed and removed segments, which no longer use the limit
    uint32_t children; // forked ones that compute without being recorded; counted by the program
    uint8_t  padding[12];
};
_Static_assert(sizeof(struct ggs_spool_control) == 64, "layout");

enum { GGS_CONTROL_ENTRIES = 4096 };

// ---- attaching ----
//
// SPOOL/attach, made by ggscope attach before it loads the library: its request and the outcome.

#define GGS_SPOOL_ATTACH "attach"
#define GGS_ATTACH_MAGIC "GGSATCH1"

enum ggs_attach_wanted { GGS_ATTACH_RECORD = 1, GGS_ATTACH_DETACH = 2 };

enum ggs_attach_state {
    GGS_ATTACH_STARTING = 0,
    GGS_ATTACH_ATTACHED = 1, // calls lead to the library
    GGS_ATTACH_ENDING   = 2, // it waits for graph runs in progress
    GGS_ATTACH_DETACHED = 3, // the process is restored
    GGS_ATTACH_FAILED   = 4, // the process is restored, and `text` says why
};

enum ggs_attach_change { GGS_ATTACH_NO_CHANGE = 0, GGS_ATTACH_CODE = 1, GGS_ATTACH_CODE_BACK = 2 };

struct ggs_spool_attach {
    char     magic[8];
    uint32_t wanted;                      // set by ggscope
    uint32_t state;                       // set by the library
    uint32_t slots, lazy, locked, failed; // numbers of redirected calls
    // The library asks ggscope to change code while all threads are stopped (base/code/entry.h),
    // and waits for the answer.
    uint64_t places; // address of `n_places` struct ggs_code_place in the process
    uint32_t n_places;
    uint32_t asked;   // set by the library: enum ggs_attach_change
    uint32_t done;    // set by ggscope: the last request
    uint32_t stopped; // 1 if ggscope failed
    uint8_t  reserved[200];
    char     text[768];
};
_Static_assert(sizeof(struct ggs_spool_attach) == 1024, "layout");

// Results of ggscope_attach.
enum ggs_attach_answer { GGS_ATTACH_STARTED = 0, GGS_ATTACH_BUSY = 1, GGS_ATTACH_REFUSED = 2 };

// ---- lane units ----

enum ggs_unit_type {
    GGS_UNIT_OP        = 1, // an op run: written at its begin, completed in place at its end
    GGS_UNIT_INDEX     = 2, // index data: struct ggs_spool_index, payload in further units
    GGS_UNIT_THREAD    = 3, // struct ggs_spool_at: the lane's next OS thread has the id `begin`
    GGS_UNIT_AT        = 4, // struct ggs_spool_at: run, node and begin of the next op
    GGS_UNIT_VALUES    = 5, // lanes of values: struct ggs_spool_values, rows in further units
    GGS_UNIT_POSITIONS = 6, // lanes of values: i32 positions of the scheduler call's tokens
    GGS_UNIT_DUMP      = 7, // lanes of values: struct ggs_spool_dump and its bytes
    GGS_UNIT_WEIGHT    = 8, // lanes of values: struct ggs_spool_weight and _weight_file, path
};

struct ggs_spool_op {
    uint8_t  type;
    uint8_t  flags;      // enum ggs_op_run_flags; with GGS_OP_RUN_FUSED one node is absorbed
    uint8_t  shift;      // duration, wait and inner_wait are in units of 2^shift ticks
    uint8_t  step;       // nodes since the previous op; after an AT it is the AT's node
    uint32_t duration;   // begin to end on this thread
    uint32_t wait;       // in the barrier after the end
    uint32_t inner_wait; // in barriers inside the op
};
_Static_assert(sizeof(struct ggs_spool_op) == GGS_SPOOL_UNIT, "layout");

struct ggs_spool_at {
    uint32_t type : 8, node : 24; // index in the graph
    uint32_t run;                 // graph run, from 1
    uint64_t begin;               // ticks
};
_Static_assert(sizeof(struct ggs_spool_at) == GGS_SPOOL_UNIT, "layout");
enum { GGS_SPOOL_MOST_NODES = 1 << 24, GGS_SPOOL_MOST_STEP = UINT8_MAX };

struct ggs_spool_index {
    uint8_t  type;
    uint8_t  source; // number of the node's source: 0..9
    uint8_t  width;  // bytes of an element
    uint8_t  flags;  // GGS_INDEX_CUT: only the first `bytes` were recorded
    uint32_t run;
    uint32_t node;
    uint32_t bytes; // of payload, dense, first dimension fastest
    uint32_t ne[4];
};
_Static_assert(sizeof(struct ggs_spool_index) == 2 * GGS_SPOOL_UNIT, "layout");

// The values of an op's output (record --values). A slot has one lane for these, beside those of
// its threads; its units do not depend on earlier ones.
struct ggs_spool_values {
    uint8_t  type;
    uint8_t  source; // 0: the node's output; else its source `source` - 1, a leaf
    uint8_t  input;  // of a leaf: 1 an input of the graph, 0 a weight
    uint8_t  reserved;
    uint32_t run;
    uint32_t node;
    uint32_t bytes;    // of the rows
    uint64_t elements; // of each row
    uint32_t rows;     // struct ggs_spool_value; 0 if nothing was read
    uint32_t reserved_2;
};
_Static_assert(sizeof(struct ggs_spool_values) == sizeof(struct ggs_spool_index) &&
                   offsetof(struct ggs_spool_values, run) == offsetof(struct ggs_spool_index, run) &&
                   offsetof(struct ggs_spool_values, node) == offsetof(struct ggs_spool_index, node) &&
                   offsetof(struct ggs_spool_values, bytes) == offsetof(struct ggs_spool_index, bytes),
               "both are read by one function");

enum { GGS_VALUE_SKETCH = 16, GGS_VALUE_NO_TOKEN = 0xffffffff };

// One token's part of an op's output.
struct ggs_spool_value {
    uint32_t token;               // index in the batch; or GGS_VALUE_NO_TOKEN
    uint32_t nan, inf;            // numbers of such elements
    float    min, max, mean, rms; // of the others; all 0 if there are none
    uint32_t largest;             // index of the element with the largest absolute value
    uint64_t hash;                // of the elements' bits as F32
    float    sketch[GGS_VALUE_SKETCH];
};
_Static_assert(sizeof(struct ggs_spool_value) == 104, "layout");

// A piece of a tensor that an op reads or writes (record --values-dump), in lanes of values.
enum { GGS_DUMP_OUTPUT = 0xff };
struct ggs_spool_dump {
    uint8_t  type;
    uint8_t  source; // of the node; GGS_DUMP_OUTPUT for its output
    uint8_t  reserved[2];
    uint32_t run;
    uint32_t node;
    uint32_t bytes;         // of this piece
    uint64_t offset, total; // in the tensor; its bytes in memory, strides included
};
_Static_assert(sizeof(struct ggs_spool_dump) == sizeof(struct ggs_spool_values) &&
                   offsetof(struct ggs_spool_dump, bytes) == offsetof(struct ggs_spool_values, bytes),
               "both are read by one function");

// A weight whose bytes lie in a file: sealing reads it there (trace/values/weight-file.h).
struct ggs_spool_weight {
    uint8_t  type;
    uint8_t  source; // as in struct ggs_spool_values
    uint8_t  reserved[2];
    uint32_t run;
    uint32_t node;
    uint32_t bytes;    // of what follows: struct ggs_spool_weight_file, and the path with its NUL
    uint64_t elements; // of each row
    uint32_t rows;     // 1, or one per expert
    int32_t  format;   // number of the type in the GGUF format
};
_Static_assert(sizeof(struct ggs_spool_weight) == sizeof(struct ggs_spool_values) &&
                   offsetof(struct ggs_spool_weight, bytes) == offsetof(struct ggs_spool_values, bytes),
               "both are read by one function");

struct ggs_spool_weight_file {
    uint64_t offset;              // of the first row
    uint64_t device, inode, size; // as stat returned them: another file is not read
    int64_t  mtime_ns;
};

// ---- journal records ----
//
// A record is a struct, followed by what the list says. A text is at the end of a record and ends
// at its first NUL. OPS and TYPES may be repeated with more lines; the newest is valid. "number" is
// a ggs_journal_number with these values. KERNELS come before their DEVICE_RUN, STREAMED before its
// RUN_END. A file may have several RESIDENT. A line of TYPES is empty for a number without a type.

enum ggs_journal_type {
    GGS_JOURNAL_PROCESS      = 1,  // ggs_journal_process; text: path of the executable
    GGS_JOURNAL_ENGINE       = 2,  // text: "key=value\n" lines: library paths, build ids, versions
    GGS_JOURNAL_OPS          = 3,  // text: op names by number, "\n" between
    GGS_JOURNAL_TYPES        = 4,  // text: "name block_elements block_bytes\n" by type number
    GGS_JOURNAL_FILE         = 5,  // text: path of an opened GGUF file, absolute if possible
    GGS_JOURNAL_MAPS         = 6,  // text: "start end offset path\n" (hex), mapped files
    GGS_JOURNAL_BUFFER       = 7,  // ggs_journal_buffer; text: buffer type, "\n", device
    GGS_JOURNAL_BUFFER_FREE  = 8,  // number: buffer id
    GGS_JOURNAL_BUFFER_USAGE = 9,  // number: buffer id, usage
    GGS_JOURNAL_GRAPH        = 10, // ggs_journal_graph; its tensors; names
    GGS_JOURNAL_GRAPH_DELTA  = 11, // ggs_journal_delta; `count` ggs_journal_move: other addresses
    GGS_JOURNAL_RUN          = 12, // ggs_journal_run; text: name of the backend
    // number: run, threads, slot, flags (GGS_RUN_NO_WAITS, GGS_RUN_FIRST_THREAD). The CPU computes
    // the run op by op; with 0 threads a device does, and the slot's lane of values has its values.
    GGS_JOURNAL_RUN_THREADS = 13,
    GGS_JOURNAL_RUN_END     = 14, // ggs_journal_run_end
    // ggs_journal_decode; i32 token[n], i32 position[n], i32 sequence[n], u8 output[n]; {i32 index,
    // i32 sequence}[more]
    GGS_JOURNAL_DECODE = 15,
    // number: decode, status, and if it failed the number of tokens that are in the memory all the
    // same, if it had computed
    GGS_JOURNAL_DECODE_END = 16,
    GGS_JOURNAL_WARMUP     = 17, // number: context, on or off
    GGS_JOURNAL_CLEAR      = 18, // number: memory object, whose contents were dropped
    GGS_JOURNAL_TRANSFER   = 19, // ggs_journal_transfer; text: name of the tensor
    GGS_JOURNAL_LOAD       = 20, // number: load number; text: path. Begins a model load
    GGS_JOURNAL_LOAD_END   = 21, // number: load number, model
    // number: context, model, memory object, 1 if it existed before the recording
    GGS_JOURNAL_CONTEXT = 22,
    // number: scheduler call, scheduler, decode (0 if unknown), nodes of the graph
    GGS_JOURNAL_SCHEDULE     = 23,
    GGS_JOURNAL_SCHEDULE_END = 24, // number: scheduler call, status
    GGS_JOURNAL_LOSS         = 25, // ggs_journal_loss
    GGS_JOURNAL_END          = 26, // number: 0. The process left main or called exit
    GGS_JOURNAL_PAGES        = 27, // ggs_journal_pages; `count` ggs_journal_area that an op touched
    GGS_JOURNAL_READ         = 28, // ggs_journal_read; text: path
    GGS_JOURNAL_RESIDENT     = 29, // ggs_journal_resident; `count` ggs_journal_area; text: path
    GGS_JOURNAL_FAULT        = 30, // machine: ggs_journal_fault
    GGS_JOURNAL_REQUEST      = 31, // machine: ggs_journal_request
    GGS_JOURNAL_DEVICE_RUN   = 32, // ggs_journal_device_run; `ops` ggs_journal_device_op
    GGS_JOURNAL_KERNELS      = 33, // ggs_journal_kernels; `count` ggs_journal_kernel; names
    GGS_JOURNAL_DEVICE       = 34, // ggs_journal_device; text: backend, "\n", description
    GGS_JOURNAL_MEMORY       = 35, // ggs_journal_memory: cells were removed, copied or moved
    GGS_JOURNAL_EMBEDDINGS   = 36, // number: context, whose embeddings were read
    GGS_JOURNAL_FILLED       = 37, // ggs_journal_filled; text: path of a file read into a buffer
    GGS_JOURNAL_STREAMED     = 38, // ggs_journal_streamed; `count` ggs_journal_streamed_use
    GGS_JOURNAL_OUTPUT_READ  = 39, // ggs_journal_output_read
    GGS_JOURNAL_SAMPLE       = 40, // ggs_journal_sample; bytes of a tensor when it was used or set
    GGS_JOURNAL_OFF_CPU      = 41, // machine: ggs_journal_off_cpu; its time is that of the end
    GGS_JOURNAL_COUNT        = 42,
};

struct ggs_journal_record {
    uint32_t type;
    uint32_t bytes; // whole record, a multiple of 8
    uint64_t ticks;
};

struct ggs_journal_process {
    uint32_t pid;
    uint32_t tick_is_ns; // 1: ticks are CLOCK_MONOTONIC nanoseconds
    uint64_t ticks;      // an anchor
    uint64_t monotonic_ns;
    uint64_t realtime_ns; // UTC, at the anchor
    uint32_t page_size;
    uint32_t reserved;
};

struct ggs_journal_number {
    uint64_t value[4]; // as listed with each type
};

struct ggs_journal_loss {
    uint64_t reason; // enum ggs_loss_reason
    uint64_t lane;   // thread index
    uint64_t count;
    uint64_t run;        // 0 if unknown or several
    uint64_t begin, end; // ticks: bounds; 0 if unknown
};

struct ggs_journal_buffer {
    uint64_t id; // from 1, never reused
    uint64_t address;
    uint64_t size;
    uint32_t usage; // ggml's enum: 0 any, 1 weights, 2 compute
    uint32_t host;  // 1: the address can be read by the CPU
};

// A graph: `tensors` tensors. The first `nodes` of them are the nodes in order; the others are what
// these read: leaves, and view parents that are neither.
struct ggs_journal_graph {
    uint64_t id; // from 1
    uint32_t nodes;
    uint32_t tensors;
    uint64_t hash;
    uint64_t text_bytes; // the names, NUL after each, follow the tensors
};

enum { GGS_GRAPH_SOURCES = 10, GGS_GRAPH_PARAMS = 16 };

struct ggs_journal_tensor {
    uint64_t address; // of its data
    uint64_t buffer;  // id of its buffer, 0 if unknown
    uint64_t pointer; // of the ggml_tensor itself
    int64_t  ne[4];
    uint64_t nb[4];
    int32_t  type;
    int32_t  op;
    int32_t  flags;
    int32_t  view; // index of the view's parent, -1 for none
    uint64_t view_offset;
    int32_t  source[GGS_GRAPH_SOURCES]; // indices, -1 for none
    int32_t  parameters[GGS_GRAPH_PARAMS];
    uint64_t packed_bytes; // as in the trace
};

struct ggs_journal_delta {
    uint64_t id;   // the new graph's
    uint64_t base; // the graph that differs only in addresses
    uint64_t count;
};

struct ggs_journal_move {
    uint32_t tensor;
    uint32_t what; // 0 address, 1 view_offset, 2 buffer, 3 + i: parameter i
    uint64_t value;
};

struct ggs_journal_run {
    uint64_t run; // from 1
    uint64_t graph;
    uint64_t schedule; // the scheduler call it belongs to, 0 for none
    uint64_t decode;   // the llama_decode it belongs to, 0 for none
    uint64_t ticks;    // an anchor
    uint64_t monotonic_ns;
    uint32_t os_thread;
    uint32_t host; // 1: a CPU backend
};

struct ggs_journal_run_end {
    uint64_t run;
    uint64_t ticks; // an anchor
    uint64_t monotonic_ns;
    int64_t  status; // as the engine returned it
    uint64_t flags;  // GGS_RUN_NO_WAITS
    uint64_t graph;  // the graph of RUN may be a guess, this is not; 0 if unknown
};

struct ggs_journal_device {
    uint64_t memory; // bytes, 0 if unknown
    uint32_t type;   // enum ggs_device_type
    uint32_t reserved;
};

// Follows the RUN_END of a device's run, which is only the return of the submitting call.
struct ggs_journal_device_run {
    uint64_t run;
    uint64_t submitted;      // ticks: everything is in the device's queue
    uint64_t results_ns;     // CLOCK_MONOTONIC: the engine has the results
    uint64_t clock_error_ns; // bound of the error of op times
    uint32_t ops;
    uint32_t timed; // enum ggs_device_timed
};

enum ggs_device_timed {
    GGS_DEVICE_UNTIMED = 0, // the run is opaque
    GGS_DEVICE_TIMED   = 1, // ops have device times
    // The same for a captured graph: `ops` names every node, including those fused into others.
    GGS_DEVICE_REPLAYED = 2,
};

struct ggs_journal_kernels {
    uint64_t run;
    uint64_t count;
};

enum { GGS_DEVICE_NO_NODE = 0xfffffffe }; // a kernel that belongs to no node

struct ggs_journal_kernel {
    uint32_t node;
    uint32_t queue;
    uint64_t begin_ns, end_ns; // CLOCK_MONOTONIC
    uint64_t bytes;            // of a copy or set
    uint32_t grid[3], block[3];
    uint64_t name; // offset in the names, each NUL-terminated
};

// A node that the backend's loop reached. Nodes between two of them were computed together with the
// first, or are empty.
struct ggs_journal_device_op {
    uint32_t node;
    uint32_t queue;
    uint64_t submit;           // ticks
    uint64_t begin_ns, end_ns; // CLOCK_MONOTONIC; 0 if no commands were timed
};

// What the stream library did for a run, recorded when all its ops have ended.
struct ggs_journal_streamed {
    uint64_t run;
    uint64_t count;
};

struct ggs_journal_streamed_use {
    uint32_t node;
    uint16_t source, place; // enum ggs_streamed_place
    uint32_t hits, misses, predicted, predicted_used;
    uint64_t bytes_read, bytes_early, wait_ns;
};

struct ggs_journal_decode {
    uint64_t decode; // from 1
    uint64_t context;
    uint32_t tokens; // n
    uint32_t encode; // 1: llama_encode
    uint32_t has;    // enum ggs_decode_has
    uint32_t more;   // pairs of a token's index and a further sequence of it
};

// A read of an output of the context's newest decode.
struct ggs_journal_output_read {
    uint64_t context;
    int32_t  index; // of the token in the batch; negative: from the last output; INT32_MIN: all
    uint32_t reserved;
};

// Arrays that the program set; the others are zero.
enum ggs_decode_has {
    GGS_DECODE_HAS_TOKENS     = 1,
    GGS_DECODE_HAS_POSITIONS  = 2,
    GGS_DECODE_HAS_SEQUENCES  = 4,
    GGS_DECODE_HAS_OUTPUTS    = 8,
    GGS_DECODE_READS_RECORDED = 16, // not an array: reads of outputs are recorded
};

struct ggs_journal_memory {
    uint64_t object;                           // memory object, or context
    uint32_t kind;                             // enum ggs_memory_change_kind
    int32_t  sequence, other, from, to, delta; // as passed to the engine; negative: open
};

struct ggs_journal_transfer {
    uint32_t kind;
    uint32_t async;       // 1 if only queued when the call returned
    uint64_t from, to;    // addresses
    uint64_t from_buffer; // ids, 0 for host memory
    uint64_t to_buffer;
    uint64_t bytes;
    uint64_t begin, end; // ticks
};

struct ggs_journal_area {
    uint64_t start, bytes; // an address in the process, or an offset in a file
};

struct ggs_journal_pages {
    uint64_t run;
    uint32_t node;
    uint32_t flags; // GGS_PAGES_INCOMPLETE
    uint64_t count; // of areas: addresses
};

// Adjacent calls may share one record: end - begin is the time spent in all of them.
struct ggs_journal_read {
    uint32_t kind; // enum ggs_read_kind
    uint32_t os_thread;
    uint64_t load;
    uint64_t offset; // in the file
    uint64_t bytes;
    uint64_t begin, end; // ticks
};

struct ggs_journal_filled {
    uint64_t address, bytes;
    uint64_t offset; // in the file
    uint64_t before; // bytes before `offset` that were read into the program's own memory, from
                     // which they may reach the address
};

// A sample of a tensor's memory that a file was read into, to detect that the program overwrote it.
// At most GGS_SAMPLE_PIECES pieces of GGS_SAMPLE_PIECE bytes, the first at the
// begin and the last at the end; a smaller tensor is one piece.
enum { GGS_SAMPLE_PIECES = 16, GGS_SAMPLE_PIECE = 32 };

struct ggs_journal_sample {
    uint64_t address, bytes; // of the tensor
};

static inline uint64_t ggs_sample_piece(uint64_t bytes) {
    return bytes < GGS_SAMPLE_PIECE ? bytes : GGS_SAMPLE_PIECE;
}

static inline uint64_t ggs_sample_pieces(uint64_t bytes) {
    uint64_t n = bytes / GGS_SAMPLE_PIECE;
    return n > GGS_SAMPLE_PIECES ? GGS_SAMPLE_PIECES : n < 1 ? 1 : n;
}

static inline uint64_t ggs_sample_offset(uint64_t bytes, uint64_t piece) {
    uint64_t steps = ggs_sample_pieces(bytes) - 1, last = bytes - ggs_sample_piece(bytes);
    return steps == 0 ? 0 : last / steps * piece + last % steps * piece / steps;
}

struct ggs_journal_resident {
    uint64_t snapshot; // from 1; records of several files share it
    uint32_t moment;   // enum ggs_moment
    uint32_t method;   // enum ggs_resident_method
    uint64_t count;    // of areas: offsets in the file
};

enum ggs_resident_method {
    GGS_RESIDENT_IN_CACHE = 0, // mincore: pages in the page cache
    // pagemap: pages in the process's page tables. The kernel reveals no more of other users'
    // files.
    GGS_RESIDENT_IN_PROCESS = 1,
};

struct ggs_journal_fault {
    uint64_t begin_ns, end_ns; // CLOCK_MONOTONIC; end 0 if unknown
    uint64_t address;
    uint32_t pid, os_thread;
    uint32_t kind; // enum ggs_fault_kind
    uint32_t reserved;
};

struct ggs_journal_off_cpu {
    uint64_t begin_ns, end_ns; // CLOCK_MONOTONIC
    uint32_t pid, os_thread;
    uint32_t kind;  // enum ggs_off_cpu_kind
    uint32_t other; // enum ggs_off_cpu_other
    uint32_t cpu;
    uint32_t reserved;
    char     name[16]; // of the thread that ran instead, zero-padded
};

struct ggs_journal_request {
    uint64_t begin_ns, end_ns;
    uint64_t sector; // on the whole disk
    uint64_t bytes;
    uint64_t device; // major << 20 | minor, of the whole disk
    uint32_t os_thread;
    uint32_t write;
};
