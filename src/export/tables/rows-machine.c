// Tables of faults, off_cpu, block_requests, reads and residency.
#include <inttypes.h>
#include <stdio.h>

#include "analyze/machine/faults.h"
#include "analyze/machine/loading.h"
#include "analyze/machine/off-cpu.h"
#include "analyze/walk/words.h"
#include "export/tables/tables.h"

#define NUMBER \
    { .from = GGS_FROM_U64, .part = 1 } // of the row

// ---- faults ----

#define FAULT(member) GGS_MEMBER(0, struct ggs_fault, member)
static const struct ggs_table_field faults[] = {
    {"fault", GGS_CELL_INTEGER, NUMBER, "number, from 0, in order of time"},
    {"begin_ns", GGS_CELL_INTEGER, FAULT(begin_ns), "begin"},
    {"duration_ns", GGS_CELL_INTEGER, FAULT(duration_ns), "how long the thread was held up; 0 if the end was not seen"},
    {"kind", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_fault, kind, ggs_fault_kind_name),
     "minor: the page was in memory, or read ahead; major: it had to be read; open: its end was not seen"},
    {"os_thread", GGS_CELL_INTEGER, FAULT(os_thread), "the operating system's number of the thread"},
    {"address", GGS_CELL_INTEGER, FAULT(address), "in the program's memory"},
    {"file", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_fault, file),
     "files.file that is mapped there; null for other memory"},
    {"file_offset", GGS_CELL_INTEGER, GGS_MEMBER_WITH(0, struct ggs_fault, file_offset, file), "where in that file"},
    {"run", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_fault, run),
     "the op that the thread was computing, ops.(run, node); null for none"},
    {"node", GGS_CELL_INTEGER, GGS_MEMBER_WITH(0, struct ggs_fault, node, run), "with run: the op"},
    {"token", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_fault, step), "token step: tokens.token"},
};

static bool fault_wanted(const struct ggs_export * export, const void * row) {
    return ggs_export_has_step(export, ((const struct ggs_fault *) row)->step);
}

const struct ggs_flat_table ggs_table_faults = {
    .name        = "faults",
    .description = "One row per page fault of the program. Empty if they were not recorded.",
    .keys        = 1,
    GGS_FIELDS(faults),
    .rows    = GGS_TABLE_FAULTS,
    .wanted  = fault_wanted,
    .foreign = {{"file", "files", NULL}, {"run", "runs", NULL}, {"token", "tokens", NULL}},
};

// ---- threads without a CPU ----

#define OFF_CPU(member) GGS_MEMBER(0, struct ggs_off_cpu, member)
static const struct ggs_table_field off_cpu[] = {
    {"off_cpu", GGS_CELL_INTEGER, NUMBER, "number, from 0, by when threads ran again"},
    {"begin_ns", GGS_CELL_INTEGER, OFF_CPU(begin_ns), "the thread left the CPU"},
    {"duration_ns", GGS_CELL_INTEGER, OFF_CPU(duration_ns), "until it ran again"},
    {"kind", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_off_cpu, kind, ggs_off_cpu_kind_name),
     "blocked: it waited for something; preempted: it could have run on"},
    {"os_thread", GGS_CELL_INTEGER, OFF_CPU(os_thread), "the operating system's number of the thread"},
    {"cpu", GGS_CELL_INTEGER, OFF_CPU(cpu), "that it left"},
    {"other", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_off_cpu, other, ggs_off_cpu_other_name),
     "who ran there next. idle: nobody; own: a thread of the same process; program: another one, or the kernel; "
     "not seen: the kernel tells root only"},
    {"other_name", GGS_CELL_TEXT, GGS_MEMBER_STRING_OR_NONE(0, struct ggs_off_cpu, name),
     "of that thread; null if not seen, or nobody ran"},
    {"run", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_off_cpu, run),
     "the op that the thread was computing, ops.(run, node); null for none: it waited for others, or for work"},
    {"node", GGS_CELL_INTEGER, GGS_MEMBER_WITH(0, struct ggs_off_cpu, node, run), "with run: the op"},
    {"token", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_off_cpu, step), "token step: tokens.token"},
};

static bool off_cpu_wanted(const struct ggs_export * export, const void * row) {
    return ggs_export_has_step(export, ((const struct ggs_off_cpu *) row)->step);
}

const struct ggs_flat_table ggs_table_off_cpu = {
    .name        = "off_cpu",
    .description = "One row per time in which a thread of the program had no CPU and then ran again. Empty if context "
                   "switches were not recorded.",
    .keys        = 1,
    GGS_FIELDS(off_cpu),
    .rows    = GGS_TABLE_OFF_CPU,
    .wanted  = off_cpu_wanted,
    .foreign = {{"run", "runs", NULL}, {"token", "tokens", NULL}},
};

// ---- requests ----

#define REQUEST(member) GGS_MEMBER(0, struct ggs_block_request, member)
static const struct ggs_table_field block_requests[] = {
    {"block_request", GGS_CELL_INTEGER, NUMBER, "number, from 0, in order of time"},
    {"begin_ns", GGS_CELL_INTEGER, REQUEST(begin_ns), "issued to the disk"},
    {"duration_ns", GGS_CELL_INTEGER, REQUEST(duration_ns), "until completion; 0 if that was not seen"},
    {"device", GGS_CELL_TEXT, {.from = GGS_FROM_CHARS, .part = 2}, "the disk, as major:minor"},
    {"sector", GGS_CELL_INTEGER, REQUEST(sector), "on the disk, of 512 bytes"},
    {"bytes", GGS_CELL_INTEGER, REQUEST(bytes), "asked for; a request over several pieces of files has a row for each"},
    {"write", GGS_CELL_BOOLEAN, GGS_MEMBER_TEST(0, struct ggs_block_request, write, UINT64_MAX), "written, not read"},
    {"os_thread", GGS_CELL_INTEGER, REQUEST(os_thread), "the thread that issued it"},
    {"file", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_block_request, file),
     "files.file that lies there; null for anything else on the disk"},
    {"file_offset", GGS_CELL_INTEGER, GGS_MEMBER_WITH(0, struct ggs_block_request, file_offset, file),
     "where in that file"},
    {"run", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_block_request, run),
     "the op under way, ops.(run, node): of that thread, else of any; null for none"},
    {"node", GGS_CELL_INTEGER, GGS_MEMBER_WITH(0, struct ggs_block_request, node, run), "with run: the op"},
    {"token", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_block_request, step), "token step: tokens.token"},
};

static int produce_block_requests(const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_cursor *      cursor = NULL;
    struct ggs_block_request r;
    char                     device[32];
    int status = ggs_cursor_open(&cursor, sink->export->trace.reader, GGS_TABLE_BLOCK_REQUESTS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &r, error)) > 0) {
        if (!ggs_export_has_step(sink->export, r.step)) continue;
        uint64_t number = ggs_cursor_row(cursor);
        snprintf(device, sizeof(device), "%" PRIu64 ":%" PRIu64, r.device >> 20, r.device & 0xfffff);
        status = ggs_sink_put(sink, (const void *[]){&r, &number, device}, error);
    }
    ggs_cursor_close(cursor);
    return status;
}

const struct ggs_flat_table ggs_table_block_requests = {
    .name        = "block_requests",
    .description = "One row per request to the disks under the model. Empty without --io.",
    .keys        = 1,
    GGS_FIELDS(block_requests),
    .produce = produce_block_requests,
    .foreign = {{"file", "files", NULL}, {"run", "runs", NULL}, {"token", "tokens", NULL}},
};

// ---- reads ----

#define READ(member) GGS_MEMBER(0, struct ggs_read, member)
static const struct ggs_table_field reads[] = {
    {"read", GGS_CELL_INTEGER, NUMBER, "number, from 0"},
    {"kind", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_read, kind, ggs_loading_name),
     "read, populate (mmap that reads ahead), advice (madvise that does), lock (mlock)"},
    {"file", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_read, file), "files.file"},
    {"file_offset", GGS_CELL_INTEGER, READ(file_offset), "where in it"},
    {"bytes", GGS_CELL_INTEGER, READ(bytes), "how many"},
    {"begin_ns", GGS_CELL_INTEGER, READ(begin_ns), "begin of the first call"},
    {"duration_ns", GGS_CELL_INTEGER, READ(duration_ns), "spent in the calls"},
    {"os_thread", GGS_CELL_INTEGER, READ(os_thread), "thread"},
    {"load", GGS_CELL_INTEGER, GGS_MEMBER_OR_0(0, struct ggs_read, load),
     "number of the model load; null if its begin was not seen"},
};

const struct ggs_flat_table ggs_table_reads = {
    .name        = "reads",
    .description = "One row per part of a model file that the engine asked for by a call, not by touching it, while it "
                   "loaded. Adjacent calls may be one row.",
    .keys        = 1,
    GGS_FIELDS(reads),
    .rows    = GGS_TABLE_READS,
    .foreign = {{"file", "files", NULL}},
};

// ---- residency ----

static const char * word_of_moment(uint64_t moment) {
    static const char * const words[] = {"unknown", "load", "graph", "end"};
    return words[moment < sizeof(words) / sizeof(words[0]) ? moment : 0];
}

#define AREA(member) GGS_MEMBER(0, struct ggs_residency, member)
static const struct ggs_table_field residency[] = {
    {"snapshot", GGS_CELL_INTEGER, AREA(snapshot), "number, from 1"},
    {"file", GGS_CELL_INTEGER, AREA(file), "files.file"},
    {"page", GGS_CELL_INTEGER, AREA(page), "first page of the area, in units of the machine's page size"},
    {"pages", GGS_CELL_INTEGER, AREA(pages), "how many; 0 in the one row of a file of which none is in memory"},
    {"moment", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_residency, moment, word_of_moment),
     "load, graph, end: after a model was loaded, after graphs were computed, at the program's end"},
    {"begin_ns", GGS_CELL_INTEGER, AREA(begin_ns), "when"},
    {"token", GGS_CELL_INTEGER, GGS_MEMBER_OR_NONE(0, struct ggs_residency, step),
     "tokens.token that was computed; null for none"},
};

const struct ggs_flat_table ggs_table_residency = {
    .name        = "residency",
    .description = "One row per area of a mapped model file that is in memory in a snapshot; only with --residency.",
    GGS_FIELDS(residency),
    .rows = GGS_TABLE_RESIDENCY,
};

// ---- streamed ----

#define STREAMED(member) GGS_MEMBER(0, struct ggs_streamed, member)
static const struct ggs_table_field streamed[] = {
    {"run", GGS_CELL_INTEGER, STREAMED(run), "graph run: runs.run"},
    {"node", GGS_CELL_INTEGER, STREAMED(node), "with run: the op, ops.(run, node)"},
    {"source", GGS_CELL_INTEGER, STREAMED(source), "which of the node's sources the weight is"},
    {"place", GGS_CELL_TEXT, GGS_MEMBER_WORD(0, struct ggs_streamed, place, ggs_word_streamed),
     "ring: read for this use; kept: read once, then in memory; slots: experts; mapping: left to the kernel's paging"},
    {"bytes_read", GGS_CELL_INTEGER, STREAMED(bytes_read), "from the disk, for this use"},
    {"bytes_early", GGS_CELL_INTEGER, STREAMED(bytes_early),
     "from the disk, for experts that were predicted for this use, needed or not"},
    {"hits", GGS_CELL_INTEGER, STREAMED(hits), "experts that were in memory when they were chosen"},
    {"misses", GGS_CELL_INTEGER, STREAMED(misses), "experts that were not"},
    {"predicted", GGS_CELL_INTEGER, STREAMED(predicted), "experts that were read early"},
    {"predicted_used", GGS_CELL_INTEGER, STREAMED(predicted_used), "hits among these"},
    {"wait_ns", GGS_CELL_INTEGER, STREAMED(wait_ns), "how long the op waited for the disk"},
};

const struct ggs_flat_table ggs_table_streamed = {
    .name = "streamed",
    .description =
        "One row per weight that an op used in a run of `ggscope stream --record`: where it was and what was read for it.",
    .keys = 3,
    GGS_FIELDS(streamed),
    .rows    = GGS_TABLE_STREAMED,
    .foreign = {{"run", "runs", NULL}},
};
