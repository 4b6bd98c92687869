#include "analyze/check/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/check/check-context.h"
#include "analyze/ops/totals.h"
#include "analyze/walk/recent-runs.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/system/file.h"
#include "base/uuid.h"
#include "gguf/gguf-map.h"
#include "gguf/gguf.h"

void ggs_checks_add(struct ggs_checks * checks, const char * name, enum ggs_check_status status, const char * format,
                    ...) {
    struct ggs_check check = {.name = name, .status = status};
    va_list          arguments;
    va_start(arguments, format);
    vsnprintf(check.text, sizeof(check.text), format, arguments);
    va_end(arguments);
    bool kept = ggs_array_push(checks->check, checks->n, checks->capacity, check);
    if (status == GGS_CHECK_FAIL || !kept) checks->failed = true;
}

void ggs_checks_release(struct ggs_checks * checks) {
    free(checks->check);
    *checks = (struct ggs_checks){0};
}

const char * ggs_check_word(uint64_t status) {
    static const char * const words[GGS_CHECK_STATUSES] = {[GGS_CHECK_OK]          = "ok",
                                                           [GGS_CHECK_INTERRUPTED] = "interrupted",
                                                           [GGS_CHECK_WARNING]     = "warning",
                                                           [GGS_CHECK_FAIL]        = "FAIL",
                                                           [GGS_CHECK_SKIPPED]     = "skipped"};
    return status < GGS_CHECK_STATUSES ? words[status] : "";
}

// Calls `visit` for every row of a table. Negative if the table cannot be read.
static int each(struct context * c, enum ggs_trace_table table, void * row,
                void (*visit)(void * state, const void * row), void * state, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    int                 status = ggs_cursor_open(&cursor, c->trace->reader, table, error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, row, error)) > 0) visit(state, row);
    ggs_cursor_close(cursor);
    return status;
}

// ---- the file itself ----

static void check_bytes(struct context * c) {
    struct ggs_error error   = {0};
    const char *     warning = ggs_trace_missing(c->trace);
    if (ggs_reader_verify(c->trace->reader, NULL, NULL, &error) < 0) {
        ggs_checks_add(c->checks, "checksums", GGS_CHECK_FAIL, "%s", error.text);
    } else if (warning != NULL) {
        // Sealing writes a trace under another name until it is complete, so one without an end is
        // a truncated copy.
        ggs_checks_add(c->checks, "checksums", GGS_CHECK_FAIL, "%s", warning);
    } else {
        ggs_checks_add(c->checks, "checksums", GGS_CHECK_OK, "all chunks, %" PRIu64 " bytes",
                       ggs_reader_size(c->trace->reader));
    }
}

static void check_identity(struct context * c) {
    char id[GGS_UUID_LENGTH], path[4096];
    ggs_uuid_format(id, ggs_reader_uuid(c->trace->reader));
    snprintf(path, sizeof(path), "%s/experiment.json", c->directory);
    char    text[4096];
    int     fd = ggs_file_open(path);
    ssize_t n  = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0) close(fd);
    if (n < 0) {
        ggs_checks_add(c->checks, "one experiment", GGS_CHECK_SKIPPED, "no experiment.json beside the trace %s", id);
        return;
    }
    text[n]         = '\0';
    const char * at = strstr(text, "\"experiment_id\"");
    bool         ok = at != NULL && strstr(at, id) != NULL && strstr(at, id) < at + 64;
    ggs_checks_add(c->checks, "one experiment", ok ? GGS_CHECK_OK : GGS_CHECK_FAIL,
                   ok ? "%s in the trace and in experiment.json"
                      : "the trace is of experiment %s, experiment.json of another",
                   id);
}

// ---- coverage, losses ----

struct coverage {
    uint64_t runs, interrupted, nodes, unseen, opaque, cut, wrong, no_waits, first_thread, no_results;
};

static void check_run(void * state, const void * row) {
    struct coverage *      s   = state;
    const struct ggs_run * run = row;
    uint64_t sum = run->executed + run->absorbed + run->empty + run->skipped + run->opaque + run->unseen + run->cut;
    s->runs++;
    s->interrupted += (run->flags & GGS_RUN_INTERRUPTED) != 0;
    s->first_thread += (run->flags & GGS_RUN_FIRST_THREAD) != 0;
    s->no_waits += (run->flags & (GGS_RUN_NO_WAITS | GGS_RUN_FIRST_THREAD)) == GGS_RUN_NO_WAITS;
    s->no_results += (run->flags & (GGS_RUN_RESULTS_UNSEEN | GGS_RUN_INTERRUPTED)) == GGS_RUN_RESULTS_UNSEEN;
    s->nodes += run->nodes;
    s->unseen += run->unseen;
    s->opaque += run->opaque;
    s->cut += run->cut;
    s->wrong += sum != run->nodes;
}

static void check_coverage(struct context * c) {
    struct coverage  s = {0};
    struct ggs_run   run;
    struct ggs_error error  = {0};
    int              status = each(c, GGS_TABLE_RUNS, &run, check_run, &s, &error);
    c->cut |= s.interrupted > 0 || s.cut > 0;
    if (status < 0) {
        ggs_checks_add(c->checks, "op coverage", GGS_CHECK_FAIL, "%s", error.text);
    } else if (s.wrong > 0) {
        ggs_checks_add(c->checks, "op coverage", GGS_CHECK_FAIL,
                       "in %" PRIu64 " of %" PRIu64 " graph runs the parts do not add up to the nodes", s.wrong,
                       s.runs);
    } else if (s.unseen > 0) {
        ggs_checks_add(c->checks, "op coverage", GGS_CHECK_FAIL,
                       "%" PRIu64 " of %" PRIu64 " nodes were seen by no hook", s.unseen, s.nodes);
    } else if (s.interrupted > 0 || s.cut > 0) {
        ggs_checks_add(c->checks, "op coverage", GGS_CHECK_INTERRUPTED,
                       "%" PRIu64 " of %" PRIu64 " graph runs had no end, %" PRIu64 " of %" PRIu64
                       " nodes were not reached or not kept",
                       s.interrupted, s.runs, s.cut, s.nodes);
    } else {
        ggs_checks_add(c->checks, "op coverage", GGS_CHECK_OK, "all %" PRIu64 " nodes of %" PRIu64 " graph runs%s",
                       s.nodes, s.runs, s.opaque > 0 ? " (some on backends seen as a whole only)" : "");
    }
    if (s.no_waits > 0)
        ggs_checks_add(c->checks, "waits", GGS_CHECK_WARNING,
                       "in %" PRIu64 " of %" PRIu64
                       " graph runs the engine's barrier was not seen: waits are not known, "
                       "and ops end before or when the next one begins",
                       s.no_waits, s.runs);
    if (s.first_thread > 0)
        ggs_checks_add(c->checks, "threads", GGS_CHECK_WARNING,
                       "in %" PRIu64 " of %" PRIu64
                       " graph runs only the first thread was seen: ops last from the end of the one before, and "
                       "waits are not known",
                       s.first_thread, s.runs);
    if (s.no_results > 0)
        ggs_checks_add(c->checks, "results", GGS_CHECK_WARNING,
                       "the end of %" PRIu64 " of %" PRIu64
                       " graph runs was not seen: only the times of their submission are known",
                       s.no_results, s.runs);
}

// What was lost, by reason: "3 records lost (2 without room, 1 damaged)".
static void write_losses(char * text, size_t size, const uint64_t * lost) {
    static const char * const reasons[GGS_LOSS_COUNT] = {
        [GGS_LOSS_SPACE]     = "without room",
        [GGS_LOSS_SLOTS]     = "of more graph runs or threads at once than lanes",
        [GGS_LOSS_UNMATCHED] = "of unknown graph runs",
        [GGS_LOSS_RING]      = "overwritten by newer ones",
        [GGS_LOSS_DAMAGED]   = "damaged",
        [GGS_LOSS_WEIGHTS]   = "of weights whose file was gone or changed",
    };
    uint64_t all = 0;
    for (unsigned reason = 0; reason < GGS_LOSS_COUNT; reason++)
        if (!ggs_loss_is_of_machine(reason)) all += lost[reason];
    int n = snprintf(text, size, "%" PRIu64 " record%s lost", all, all == 1 ? "" : "s");
    for (unsigned reason = 1, first = 1; reason < GGS_LOSS_COUNT; reason++) {
        if (lost[reason] == 0 || reasons[reason] == NULL || (size_t) n >= size) continue;
        n += snprintf(text + n, size - (size_t) n, "%s%" PRIu64 " %s", first ? " (" : ", ", lost[reason],
                      reasons[reason]);
        first = 0;
    }
    if (strchr(text, '(') != NULL && (size_t) n < size) snprintf(text + n, size - (size_t) n, ")");
}

static void check_losses(struct context * c) {
    uint64_t         all = 0, lost[GGS_LOSS_COUNT] = {0};
    struct ggs_error error  = {0};
    int              status = ggs_trace_lost(c->trace, 0, &all, &error);
    for (unsigned reason = 1; status == 0 && reason < GGS_LOSS_COUNT; reason++)
        status = ggs_trace_lost(c->trace, reason, &lost[reason], &error);
    c->cut |= all > 0;
    char text[256];
    write_losses(text, sizeof(text), lost);
    if (status < 0)
        ggs_checks_add(c->checks, "no losses", GGS_CHECK_FAIL, "%s", error.text);
    else if (all > 0 && all == lost[GGS_LOSS_RING])
        ggs_checks_add(c->checks, "no losses", GGS_CHECK_INTERRUPTED,
                       "%" PRIu64 " record%s overwritten by newer ones, as asked for", all,
                       all == 1 ? " was" : "s were");
    else if (all == 0 && ggs_trace_missing(c->trace) != NULL)
        ggs_checks_add(c->checks, "no losses", GGS_CHECK_FAIL, "unknown: the trace is incomplete");
    else
        ggs_checks_add(c->checks, "no losses", all == 0 ? GGS_CHECK_OK : GGS_CHECK_FAIL, "%s", text);
}

// ---- times ----

struct times {
    uint64_t rows, backwards, beyond, cut;
    uint64_t run, thread;
    int64_t  last_end;
};

// Device times are calibrated to the host clock: this close to the run's end they count as inside.
enum { CLOCKS_APART_NS = 1000000 };

static void check_op_run(struct times * s, const struct ggs_op_run * op, const struct ggs_run * run) {
    int64_t end = ggs_time_after(op->begin_ns, op->duration_ns);
    s->rows++;
    if (op->run != s->run || op->thread != s->thread) s->last_end = INT64_MIN;
    s->run = op->run, s->thread = op->thread;
    if (op->begin_ns < s->last_end) s->backwards++;
    s->last_end = end;
    s->cut += (op->flags & GGS_OP_RUN_ENDED) == 0;
    if (run == NULL || (run->flags & GGS_RUN_INTERRUPTED) != 0) return;
    s->beyond += end > ggs_time_after(run->end_ns, CLOCKS_APART_NS);
}

static int check_op_runs(struct context * c, struct times * s, struct ggs_error * error) {
    struct ggs_recent_runs runs   = {0};
    struct ggs_cursor *    cursor = NULL;
    struct ggs_op_run      op;
    const struct ggs_run * run;
    int                    status = ggs_recent_runs_open(&runs, c->trace, error);
    if (status == 0) status = ggs_cursor_open(&cursor, c->trace->reader, GGS_TABLE_OP_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &op, error)) > 0) {
        status = ggs_recent_runs_find(&runs, op.run, &run, error);
        if (status == 0) check_op_run(s, &op, run);
    }
    ggs_cursor_close(cursor);
    ggs_recent_runs_close(&runs);
    return status;
}

static void check_times(struct context * c) {
    struct times     s     = {0};
    struct ggs_error error = {0};
    if (check_op_runs(c, &s, &error) < 0) {
        ggs_checks_add(c->checks, "times", GGS_CHECK_FAIL, "%s", error.text);
    } else if (s.backwards + s.beyond > 0) {
        ggs_checks_add(c->checks, "times", GGS_CHECK_FAIL,
                       "%" PRIu64 " op runs begin before the one before them on their thread ended, %" PRIu64
                       " end after their graph run",
                       s.backwards, s.beyond);
    } else {
        ggs_checks_add(c->checks, "times", s.cut == 0 ? GGS_CHECK_OK : GGS_CHECK_INTERRUPTED,
                       "%" PRIu64 " op runs in order on every thread, %" PRIu64 " cut off", s.rows, s.cut);
    }
}

// Shares of time are meaningful only if they cover all of the time.
static void check_shares(struct context * c) {
    static const char name[] = "time in ops";
    struct ggs_totals t;
    struct ggs_error  error = {0};
    if (ggs_totals_compute(&t, c->trace, &ggs_totals_all, &error) < 0) {
        ggs_checks_add(c->checks, name, GGS_CHECK_FAIL, "%s", error.text);
        return;
    }
    double share = t.run_ns == 0 ? 0 : 100 * (double) t.op_ns / (double) t.run_ns;
    if (t.proved || t.run_ns == 0) {
        ggs_checks_add(c->checks, name, GGS_CHECK_SKIPPED,
                       t.proved ? "times mean nothing in a recording with --prove" : "no graph run took time");
    } else if (t.opaque > 0) {
        ggs_checks_add(
            c->checks, name, GGS_CHECK_WARNING,
            "%.1f %% of the time of graph runs, which is %.1f %% of the time between the first and the last; "
            "%" PRIu64 " nodes ran on backends without op times",
            share, t.wall_ns == 0 ? 0 : 100 * (double) t.run_ns / (double) t.wall_ns, t.opaque);
    } else {
        bool little = share < 25;
        ggs_checks_add(
            c->checks, name, little ? GGS_CHECK_WARNING : GGS_CHECK_OK, "%.1f %% of the time of graph runs%s", share,
            little ? "; the rest lies before, between and after ops, as where a device is used for the first "
                     "time or waits for the host"
                   : "");
    }
    ggs_totals_release(&t);
}

// ---- places of data ----

static void check_places(struct context * c) {
    const struct ggs_trace * trace = c->trace;
    uint64_t                 disk = 0, buffer = 0, nowhere = 0, outside = 0, gone = 0;
    const char *             example = "";
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t      = &trace->tensors[i];
        uint64_t                  extent = t->packed_bytes > 0 ? t->packed_bytes : ggs_trace_extent(trace, t);
        bool                      in     = true;
        if (t->source == GGS_SOURCE_DISK) {
            disk++;
            bool unknown =
                t->file >= 1 && trace->files[t->file - 1].size == 0; // the file was missing when the trace was sealed
            if (unknown) gone++;
            in = unknown || (t->file >= 1 && ggs_inside(t->file_offset, extent, trace->files[t->file - 1].size));
        } else if (t->buffer != 0) {
            const struct ggs_buffer * b = ggs_trace_buffer(trace, t->buffer);
            buffer++;
            in = b != NULL && ggs_inside(t->buffer_offset, extent, b->size);
        } else if (extent > 0) {
            nowhere++;
        }
        if (!in) outside++, example = ggs_reader_string(trace->reader, t->name);
    }
    if (outside > 0) {
        ggs_checks_add(c->checks, "operands inside", GGS_CHECK_FAIL,
                       "%" PRIu64 " operands reach out of their file or buffer, such as %s", outside, example);
    } else if (gone > 0) {
        ggs_checks_add(c->checks, "operands inside", GGS_CHECK_SKIPPED,
                       "%" PRIu64 " are in files that were missing when the trace was sealed; all others are inside",
                       gone);
    } else {
        ggs_checks_add(c->checks, "operands inside", GGS_CHECK_OK,
                       "%" PRIu64 " in files, %" PRIu64 " in buffers, %" PRIu64 " in memory that no buffer owns", disk,
                       buffer, nowhere);
    }
}

static const struct ggs_gguf_tensor * find_weight(const struct ggs_gguf * gguf, const char * name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        if (gguf->tensors[i].name_length == length && memcmp(gguf->tensors[i].name, name, length) == 0)
            return &gguf->tensors[i];
    }
    return NULL;
}

// The reason for having no GGUF file to compare with.
static const char * no_gguf(const struct context * c) {
    bool opened = false;
    for (uint64_t i = 0; i < c->trace->n_files; i++) opened |= c->trace->files[i].gguf != 0;
    return opened ? "the model's files are gone" : "the program opened no GGUF file";
}

static void check_map(struct context * c) {
    const struct ggs_trace * trace = c->trace;
    uint64_t                 equal = 0, different = 0, files = 0;
    const char *             example = "";
    for (uint64_t i = 0; i < trace->n_files; i++) files += c->gguf[i] != NULL;
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t = &trace->tensors[i];
        uint64_t                  file, offset;
        if (!ggs_trace_origin(t, &file, &offset) || c->gguf[file - 1] == NULL || t->view != 0) continue;
        const char *                   name   = ggs_reader_string(trace->reader, t->name);
        const struct ggs_gguf_tensor * weight = find_weight(c->gguf[file - 1], name);
        if (weight == NULL) continue;
        if (weight->offset == offset) {
            equal++;
        } else {
            different++, example = name;
        }
    }
    if (files == 0) {
        ggs_checks_add(c->checks, "model map", GGS_CHECK_SKIPPED, "%s", no_gguf(c));
    } else if (different > 0) {
        ggs_checks_add(c->checks, "model map", GGS_CHECK_FAIL,
                       "%" PRIu64 " weights lie elsewhere in their file than the GGUF says, such as %s", different,
                       example);
    } else {
        ggs_checks_add(c->checks, "model map", GGS_CHECK_OK, "%" PRIu64 " weights lie where the GGUF says", equal);
    }
}

static void check_gguf(struct context * c) {
    struct ggs_error error = {0};
    uint64_t         files = 0;
    for (uint64_t i = 0; i < c->trace->n_files; i++) {
        if (c->gguf[i] == NULL) continue;
        struct ggs_gguf_map map;
        if (ggs_gguf_map_init(&map, c->gguf[i], &error) < 0) {
            ggs_checks_add(c->checks, "no overlap in the map", GGS_CHECK_FAIL, "%s", error.text);
            return;
        }
        ggs_gguf_map_release(&map);
        files++;
    }
    if (files == 0) {
        ggs_checks_add(c->checks, "no overlap in the map", GGS_CHECK_SKIPPED, "%s", no_gguf(c));
    } else {
        ggs_checks_add(c->checks, "no overlap in the map", GGS_CHECK_OK,
                       "every byte of %" PRIu64 " file%s has one owner", files, files == 1 ? "" : "s");
    }
}

static void check_buffers(struct context * c) {
    uint64_t freed = 0, alive = 0, wrong = 0;
    for (uint64_t i = 0; i < c->trace->n_buffers; i++) {
        const struct ggs_buffer * b = &c->trace->buffers[i];
        if (b->end_ns < 0) {
            alive++;
        } else {
            freed++;
            wrong += b->end_ns < b->begin_ns;
        }
        if (i > 0 && b->buffer <= c->trace->buffers[i - 1].buffer) wrong++;
    }
    if (wrong > 0) {
        ggs_checks_add(c->checks, "buffer events", GGS_CHECK_FAIL,
                       "%" PRIu64 " buffers are freed before they are made, or share a number", wrong);
    } else {
        ggs_checks_add(c->checks, "buffer events", GGS_CHECK_OK,
                       "%" PRIu64 " made and freed, %" PRIu64 " alive at the end", freed, alive);
    }
}

// ---- all checks ----

static void open_models(struct context * c) {
    for (uint64_t i = 0; i < c->trace->n_files; i++) {
        const char * path = ggs_reader_string(c->trace->reader, c->trace->files[i].path);
        if (c->trace->files[i].gguf == 1 && ggs_gguf_open(&c->gguf[i], path, NULL) < 0) c->gguf[i] = NULL;
    }
}

// A trace that opens but cannot be analyzed: the problem is the only result.
static int check_unusable(struct ggs_checks * checks, const char * directory, int status, struct ggs_error * error) {
    struct ggs_reader * reader;
    struct ggs_error    why = *error;
    if (ggs_reader_open(&reader, directory, error) < 0) return status;
    ggs_reader_close(reader);
    ggs_checks_add(checks, "checksums", GGS_CHECK_FAIL, "%s", why.text);
    return 0;
}

int ggs_checks_run(struct ggs_checks * checks, const char * directory, struct ggs_error * error) {
    *checks = (struct ggs_checks){0};
    struct ggs_trace trace;
    int              status = ggs_trace_open(&trace, directory, error);
    if (status < 0) return check_unusable(checks, directory, status, error);
    struct context c = {.checks = checks, .trace = &trace, .directory = directory};
    c.gguf           = calloc(trace.n_files + 1, sizeof(*c.gguf));
    if (c.gguf == NULL) {
        ggs_trace_close(&trace);
        return ggs_fail_memory(error);
    }
    open_models(&c);
    check_bytes(&c);
    check_identity(&c);
    check_coverage(&c);
    check_losses(&c);
    check_times(&c);
    check_shares(&c);
    check_places(&c);
    check_map(&c);
    check_gguf(&c);
    check_buffers(&c);
    ggs_check_layers(&c);
    ggs_check_tokens(&c);
    ggs_check_faults(checks, &trace);
    ggs_check_requests(checks, &trace);
    ggs_check_pages(checks, &trace);
    ggs_check_mappings(checks, &trace);
    for (uint64_t i = 0; i < trace.n_files; i++) ggs_gguf_free(c.gguf[i]);
    free(c.gguf);
    ggs_trace_close(&trace);
    return 0;
}
