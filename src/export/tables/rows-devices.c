// Tables of processes, devices, lanes, kernels, submits and windows.
#include "analyze/walk/words.h"
#include "export/tables/tables.h"
#include "trace/schema.h"

// ---- processes ----

#define PROCESS(member) GGS_MEMBER(0, struct ggs_process, member)
static const struct ggs_table_field processes[] = {
    {"process", GGS_CELL_INTEGER, PROCESS(process), "process, from 1"},
    {"pid", GGS_CELL_INTEGER, PROCESS(pid), "the operating system's number"},
    {"executable", GGS_CELL_TEXT, GGS_MEMBER_STRING(0, struct ggs_process, executable), "path of the program"},
    {"begin_ns", GGS_CELL_INTEGER, PROCESS(begin_ns), "begin"},
    {"end_ns", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_process, end_ns), "time of the last event"},
    {"begin_utc", GGS_CELL_TIME, GGS_MEMBER_OR_0(0, struct ggs_process, realtime_ns), "begin, UTC"},
    {"page_size", GGS_CELL_INTEGER, PROCESS(page_size), "bytes of a page"},
    {"ended", GGS_CELL_BOOLEAN, GGS_MEMBER_TEST(0, struct ggs_process, ended, UINT64_MAX),
     "it left main or called exit; false: it was killed"},
    {"host", GGS_CELL_TEXT, GGS_MEMBER_STRING_OR_NONE(0, struct ggs_process, host),
     "the machine it ran on; null if there is only one"},
    {"recording", GGS_CELL_TEXT, GGS_MEMBER_STRING_OR_NONE(0, struct ggs_process, recording),
     "id of the recording that it was joined from; null if none was"},
    {"clock", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_process, clock, ggs_clock_source_name),
     "how its times were converted to the common clock: own, same boot, graph runs or wall clock"},
    {"offset_ns", GGS_CELL_INTEGER, PROCESS(offset_ns),
     "what was added to its times, at the first graph run that both sides have"},
    {"drift_ppb", GGS_CELL_INTEGER, PROCESS(drift_ppb), "how many ns more are added per second from there on"},
    {"error_ns", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_process, error_ns),
     "largest error of its times, as long as there are such runs; null if not known"},
    {"pairs", GGS_CELL_INTEGER, PROCESS(pairs), "number of such runs, from which the conversion follows"},
};

const struct ggs_flat_table ggs_table_processes = {
    .name        = "processes",
    .description = "One row per process.",
    .keys        = 1,
    GGS_FIELDS(processes),
    .rows = GGS_TABLE_PROCESSES,
};

// ---- devices ----

#define DEVICE(member) GGS_MEMBER(0, struct ggs_device, member)
static const struct ggs_table_field devices[] = {
    {"device", GGS_CELL_INTEGER, DEVICE(device), "device, from 1"},
    {"process", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_device, process), "processes.process"},
    {"name", GGS_CELL_TEXT, GGS_MEMBER_STRING(0, struct ggs_device, name), "as the engine names it: CPU, CUDA0"},
    {"description", GGS_CELL_TEXT, GGS_MEMBER_STRING_OR_NONE(0, struct ggs_device, description),
     "the hardware; null if not known"},
    {"type", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_device, type, ggs_word_device),
     "cpu, gpu, accelerator or unknown"},
    {"memory_bytes", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_device, memory), "its memory"},
    {"backend", GGS_CELL_TEXT, GGS_MEMBER_STRING(0, struct ggs_device, backend), "as the engine names the backend"},
    {"seen", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_device, seen, ggs_word_seen),
     "how closely it was watched: nothing, graphs, ops or kernels"},
};

const struct ggs_flat_table ggs_table_devices = {
    .name        = "devices",
    .description = "One row per device that computed or holds buffers: the CPU, or one of another backend.",
    .keys        = 1,
    GGS_FIELDS(devices),
    .rows    = GGS_TABLE_DEVICES,
    .foreign = {{"process", "processes", NULL}},
};

// ---- lanes ----

static const char * word_of_lane(uint64_t kind) {
    static const char * const words[GGS_LANE_COUNT] = {
        "unknown", [GGS_LANE_THREAD] = "thread", [GGS_LANE_QUEUE] = "queue", [GGS_LANE_GRAPHS] = "graphs"};
    return words[kind < GGS_LANE_COUNT ? kind : 0];
}

#define LANE(member) GGS_MEMBER(0, struct ggs_lane, member)
static const struct ggs_table_field lanes[] = {
    {"lane", GGS_CELL_INTEGER, LANE(lane), "lane, from 1"},
    {"process", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_lane, process), "processes.process"},
    {"device", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_lane, device), "devices.device"},
    {"slot", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_lane, slot), "number among concurrent graph runs"},
    {"queue", GGS_CELL_INTEGER, LANE(queue), "op_runs.thread: the thread's index in its pool, or the device's queue"},
    {"kind", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_lane, kind, word_of_lane),
     "thread: of the CPU; queue: of a device; graphs: whole graph runs of a device"},
    {"name", GGS_CELL_TEXT, GGS_MEMBER_STRING(0, struct ggs_lane, name), "unique"},
};

const struct ggs_flat_table ggs_table_lanes = {
    .name        = "lanes",
    .description = "One row per lane: where op runs follow each other.",
    .keys        = 1,
    GGS_FIELDS(lanes),
    .rows    = GGS_TABLE_LANES,
    .foreign = {{"process", "processes", NULL}, {"device", "devices", NULL}},
};

// ---- kernels ----

#define KERNEL(member)   GGS_MEMBER(0, struct ggs_kernel, member)
#define KERNEL_0(member) GGS_MEMBER_OR_0(0, struct ggs_kernel, member)
static const struct ggs_table_field kernels[] = {
    {"kernel", GGS_CELL_INTEGER, {.from = GGS_FROM_U64, .part = 1}, "number, from 0"},
    {"run", GGS_CELL_INTEGER, KERNEL(run), "graph run: runs.run"},
    {"node", GGS_CELL_INTEGER, GGS_MEMBER_WITH(0, struct ggs_kernel, node, nodes),
     "the first node that it computes; null if that is not known"},
    {"nodes", GGS_CELL_INTEGER, KERNEL(nodes), "how many, that one included"},
    {"lane", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_kernel, lane), "lanes.lane"},
    {"name", GGS_CELL_TEXT, GGS_MEMBER_STRING(0, struct ggs_kernel, name), "name"},
    {"submit_ns", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_kernel, submit_ns), "handed to the device"},
    {"begin_ns", GGS_CELL_INTEGER, KERNEL(begin_ns), "begin"},
    {"duration_ns", GGS_CELL_INTEGER, KERNEL(duration_ns), "to its end"},
    {"bytes", GGS_CELL_INTEGER, KERNEL_0(bytes), "of a copy or set; null for a kernel"},
    {"grid_x", GGS_CELL_INTEGER, KERNEL_0(grid_x), "blocks of a kernel; null for a copy or set, as the next five"},
    {"grid_y", GGS_CELL_INTEGER, KERNEL_0(grid_y), "second dimension"},
    {"grid_z", GGS_CELL_INTEGER, KERNEL_0(grid_z), "third dimension"},
    {"block_x", GGS_CELL_INTEGER, KERNEL_0(block_x), "threads of a block"},
    {"block_y", GGS_CELL_INTEGER, KERNEL_0(block_y), "second dimension"},
    {"block_z", GGS_CELL_INTEGER, KERNEL_0(block_z), "third dimension"},
};

const struct ggs_flat_table ggs_table_kernels = {
    .name        = "kernels",
    .description = "One row per kernel of a device, if it was watched that closely.",
    .keys        = 1,
    GGS_FIELDS(kernels),
    .rows    = GGS_TABLE_KERNELS,
    .foreign = {{"run", "runs", NULL}, {"lane", "lanes", NULL}},
};

// ---- submits ----

#define SUBMIT(member) GGS_MEMBER(0, struct ggs_submit, member)
static const struct ggs_table_field submits[] = {
    {"submit", GGS_CELL_INTEGER, {.from = GGS_FROM_U64, .part = 1}, "number, from 0"},
    {"run", GGS_CELL_INTEGER, SUBMIT(run), "graph run: runs.run"},
    {"node", GGS_CELL_INTEGER, SUBMIT(node), "node; those up to the next row's were handed over with it"},
    {"submit_ns", GGS_CELL_INTEGER, SUBMIT(submit_ns), "when the host came to it"},
    {"host_ns", GGS_CELL_INTEGER, SUBMIT(host_ns), "how long it took the host to hand it over"},
};

const struct ggs_flat_table ggs_table_submits = {
    .name = "submits",
    .description =
        "One row per node that was handed to a device whose op times were not seen, if the backend's loop was.",
    .keys = 1,
    GGS_FIELDS(submits),
    .rows    = GGS_TABLE_SUBMITS,
    .foreign = {{"run", "runs", NULL}},
};

// ---- windows ----

#define WINDOW(member) GGS_MEMBER(0, struct ggs_window, member)
static const struct ggs_table_field windows[] = {
    {"window", GGS_CELL_INTEGER, WINDOW(window), "number, from 1"},
    {"kind", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_window, kind, ggs_word_window),
     "recorded: graph runs that began in it are there; mark: a moment with a name"},
    {"begin_ns", GGS_CELL_INTEGER, WINDOW(begin_ns), "begin"},
    {"end_ns", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_window, end_ns),
     "end; null if it was open to the end"},
    {"text", GGS_CELL_TEXT, GGS_MEMBER_STRING(0, struct ggs_window, text), "of a mark"},
};

const struct ggs_flat_table ggs_table_windows = {
    .name = "windows",
    .description =
        "One row per window in which graph runs were recorded, and per mark. None if recording was never paused.",
    .keys = 1,
    GGS_FIELDS(windows),
    .rows = GGS_TABLE_WINDOWS,
};
