// ggscope log --faults: page faults, one per line.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "cli/log/cmd-log.h"
#include "cli/scaffold/verb.h"

struct entry {
    struct ggs_fault       fault;
    struct ggs_whereabouts where;
};

struct writer {
    const struct ggs_fault_log * log;
    FILE *                       file;
    struct ggs_json              json;
    unsigned                     offset, name; // widths of columns
};

// ---- filters ----

static bool fits(const struct ggs_log_filter * filter, const struct ggs_fault * f,
                 const struct ggs_whereabouts * where) {
    bool                   tokens = filter->first_token != INT64_MIN || filter->last_token != INT64_MAX;
    struct ggs_where_event event  = {f->begin_ns, f->duration_ns, f->file, f->file_offset};
    if (tokens && (f->step < filter->first_token || f->step > filter->last_token)) return false;
    return ggs_where_fits(where, &event, &filter->ops);
}

// ---- text ----

static void begin_text(struct writer * writer, const struct ggs_trace * trace) {
    enum { FIXED = 45, LEAST_NAME = 14 };
    unsigned width = ggs_terminal_limit(writer->file);
    uint64_t size  = 0;
    for (uint64_t i = 0; i < trace->n_files; i++)
        if (trace->files[i].size > size) size = trace->files[i].size;
    char digits[32];
    writer->offset = (unsigned) snprintf(digits, sizeof(digits), "D%" PRIu64, size);
    if (writer->offset < 6) writer->offset = 6;
    writer->name = width > FIXED + writer->offset + LEAST_NAME ? width - FIXED - writer->offset : LEAST_NAME;
    bool colour  = ggs_terminal_colour(writer->file);
    fprintf(writer->file, "%s%8s %5s %5s %6s %-*s %-10s %2s %s%s\n", colour ? "\x1b[1m" : "", "time",
            trace->tokenless ? "step" : "token", "fault", "stall", (int) writer->offset, "source", "op", "L", "tensor",
            colour ? "\x1b[0m" : "");
}

static void write_text(struct writer * writer, const struct entry * e) {
    char         stall[GGS_NUMBER_LENGTH], source[GGS_NUMBER_LENGTH], token[24] = "-", layer[16] = "-";
    char         op[64], name[512];
    double       seconds = (double) e->fault.begin_ns / 1e9;
    const char * what    = e->where.weight != NULL ? e->where.weight : e->where.op != NULL ? e->where.result : "-";
    ggs_format_nanoseconds(stall, e->fault.duration_ns);
    char * blank = strchr(stall, ' ');
    if (blank != NULL) memmove(blank, blank + 1, strlen(blank));
    if (e->fault.kind == GGS_FAULT_OPEN) snprintf(stall, sizeof(stall), "-");
    if (e->fault.step >= 0) snprintf(token, sizeof(token), "%" PRId64, e->fault.step);
    if (e->where.op != NULL && e->where.layer >= 0) snprintf(layer, sizeof(layer), "%d", e->where.layer);
    snprintf(source, sizeof(source), "memory");
    if (e->fault.file != 0) snprintf(source, sizeof(source), "D%" PRIu64, e->fault.file_offset);
    fprintf(writer->file, "%8.*f %5s %5s %6s %-*s %-10s %2s %s\n",
            seconds < 10     ? 6
            : seconds < 100  ? 5
            : seconds < 1000 ? 4
                             : 3,
            seconds, token, ggs_fault_kind_name(e->fault.kind), stall, (int) writer->offset, source,
            e->where.op == NULL ? ggs_stage_name(e->where.stage) : ggs_verb_fit(op, sizeof(op), e->where.op, 10), layer,
            ggs_verb_fit(name, sizeof(name), what, writer->name));
}

// ---- CSV and JSON ----

static void write_csv(struct writer * writer, const struct entry * e) {
    FILE * file  = writer->file;
    bool   in_op = e->where.op != NULL, ran = e->fault.run != 0, disk = e->fault.file != 0;
    fprintf(file, "%" PRId64 ",%" PRIu64 ",%s,", e->fault.begin_ns, e->fault.duration_ns,
            ggs_fault_kind_name(e->fault.kind));
    ggs_csv_natural(file, e->fault.step, ",");
    fprintf(file, "%s,", ggs_stage_name(e->where.stage));
    ggs_csv_natural(file, ran ? (int64_t) e->fault.run : -1, ",");
    ggs_csv_natural(file, ran ? (int64_t) e->fault.node : -1, ",");
    ggs_csv_field(file, in_op ? e->where.op : "", ",");
    ggs_csv_field(file, in_op ? e->where.result : "", ",");
    ggs_csv_natural(file, in_op ? e->where.layer : -1, ",");
    fprintf(file, "%" PRIu64 ",%" PRIu64 ",", e->fault.os_thread, e->fault.address);
    ggs_csv_natural(file, disk ? (int64_t) e->fault.file : -1, ",");
    ggs_csv_natural(file, disk ? (int64_t) e->fault.file_offset : -1, ",");
    ggs_csv_field(file, e->where.weight == NULL ? "" : e->where.weight, ",");
    ggs_csv_natural(file, e->where.expert, "\r\n");
}

static void begin(struct writer * writer, const struct ggs_trace * trace) {
    switch (writer->log->form) {
        case GGS_LOG_TEXT:
            begin_text(writer, trace);
            return;
        case GGS_LOG_CSV:
            fputs("begin_ns,duration_ns,kind,token,phase,run,node,op,name,layer,os_thread,address,file,file_offset,"
                  "weight,expert\r\n",
                  writer->file);
            return;
        case GGS_LOG_JSON:
            ggs_json_init(&writer->json, ggs_json_to_file, writer->file, true);
            ggs_object_begin(&writer->json, &ggs_faults_object, trace, trace);
            return;
    }
}

static void write_entry(struct writer * writer, const struct entry * entry) {
    switch (writer->log->form) {
        case GGS_LOG_TEXT:
            write_text(writer, entry);
            return;
        case GGS_LOG_CSV:
            write_csv(writer, entry);
            return;
        case GGS_LOG_JSON:
            ggs_fault_write_row(&writer->json, &entry->fault, &entry->where);
            return;
    }
}

static int finish(struct writer * writer) {
    bool good = true;
    if (writer->log->form == GGS_LOG_JSON) {
        ggs_object_end(&writer->json, &ggs_faults_object, NULL, NULL);
        good = ggs_json_finish(&writer->json) == 0;
    }
    good = fflush(writer->file) == 0 && !ferror(writer->file) && good;
    return good ? 0 : -1; // all writers have the same error sentence
}

// ---- longest first ----

// Keeps at most twice the requested number.
struct longest {
    struct entry * entries;
    uint64_t       n, capacity, limit;
};

static int by_stall(const void * a, const void * b) {
    const struct entry *x = a, *y = b;
    if (x->fault.duration_ns != y->fault.duration_ns) return x->fault.duration_ns > y->fault.duration_ns ? -1 : 1;
    return x->fault.begin_ns < y->fault.begin_ns ? -1 : x->fault.begin_ns > y->fault.begin_ns;
}

static void settle(struct longest * longest) {
    if (longest->n > 1) qsort(longest->entries, longest->n, sizeof(*longest->entries), by_stall);
    if (longest->n > longest->limit) longest->n = longest->limit;
}

static int keep(struct longest * longest, const struct entry * entry, struct ggs_error * error) {
    enum { FEW = 1024 };
    if (longest->limit < UINT64_MAX / 4 && longest->n >= 2 * longest->limit + FEW) settle(longest);
    return ggs_array_push(longest->entries, longest->n, longest->capacity, *entry) ? 0 : ggs_fail_memory(error);
}

int ggs_fault_log_print(const struct ggs_fault_log * log, struct ggs_trace * trace, FILE * file,
                        struct ggs_error * error) {
    struct ggs_fault_walk walk;
    struct writer         writer  = {.log = log, .file = file};
    struct longest        longest = {.limit = log->limit};
    uint64_t              n       = 0;
    int                   status  = ggs_fault_walk_open(&walk, trace, error);
    if (status < 0) return status;
    begin(&writer, trace);
    while ((log->longest || n < log->limit) && !ferror(file) && (status = ggs_fault_walk_next(&walk, error)) > 0) {
        struct entry entry = {walk.fault, walk.where};
        if (!ggs_trace_has_step(trace, walk.fault.step)) continue;
        if (!fits(log->filter, &entry.fault, &entry.where)) continue;
        n++;
        if (!log->longest) {
            write_entry(&writer, &entry);
        } else if ((status = keep(&longest, &entry, error)) < 0) {
            break;
        }
    }
    ggs_fault_walk_close(&walk);
    settle(&longest);
    for (uint64_t i = 0; status >= 0 && i < longest.n; i++) write_entry(&writer, &longest.entries[i]);
    free(longest.entries);
    int written = finish(&writer);
    return status < 0 ? status : written;
}
