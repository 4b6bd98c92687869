#include "analyze/machine/off-cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/times.h"
#include "analyze/walk/walk.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/search.h"

const char * ggs_off_cpu_kind_name(uint64_t kind) {
    return kind == GGS_OFF_CPU_PREEMPTED ? "preempted" : kind == GGS_OFF_CPU_BLOCKED ? "blocked" : "unknown";
}

const char * ggs_off_cpu_other_name(uint64_t other) {
    static const char * const names[GGS_OTHER_COUNT] = {"not seen", "idle", "own", "program"};
    return other < GGS_OTHER_COUNT ? names[other] : names[GGS_OTHER_UNSEEN];
}

// ---- spans ----

static int by_thread(const void * a, const void * b) {
    const struct ggs_off_cpu_span *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->os_thread != y->os_thread) return x->os_thread < y->os_thread ? -1 : 1;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

int ggs_off_cpu_spans_read(struct ggs_off_cpu_spans * spans, struct ggs_trace * trace, int64_t begin_ns, int64_t end_ns,
                           struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_off_cpu  row;
    *spans     = (struct ggs_off_cpu_spans){0};
    int status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_OFF_CPU, error);
    if (status == 0) ggs_cursor_times(cursor, begin_ns, end_ns);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct ggs_off_cpu_span span = {.process   = row.process,
                                        .os_thread = row.os_thread,
                                        .begin_ns  = row.begin_ns,
                                        .end_ns    = ggs_time_after(row.begin_ns, row.duration_ns),
                                        .kind      = (uint32_t) row.kind,
                                        .other     = (uint32_t) row.other,
                                        .name      = row.name};
        if (!ggs_array_push(spans->span, spans->n, spans->capacity, span)) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    if (spans->n > 1) qsort(spans->span, spans->n, sizeof(*spans->span), by_thread);
    if (status < 0) ggs_off_cpu_spans_release(spans);
    return status;
}

void ggs_off_cpu_spans_release(struct ggs_off_cpu_spans * spans) {
    free(spans->span);
    *spans = (struct ggs_off_cpu_spans){0};
}

// Returns the thread's first span that ends after `ns`. Spans of one thread do not overlap, so
// their ends ascend like their begins.
static uint64_t first_behind(const struct ggs_off_cpu_spans * spans, uint64_t process, uint64_t os_thread, int64_t ns) {
    const struct ggs_off_cpu_span * list = spans->span;
    return ggs_search(spans->n, at,
                      list[at].process < process || (list[at].process == process &&
                                                     (list[at].os_thread < os_thread ||
                                                      (list[at].os_thread == os_thread && list[at].end_ns <= ns))));
}

// Clips the i-th span to [begin_ns, end_ns). NULL if it is another thread's, or begins later.
static const struct ggs_off_cpu_span * part_of(const struct ggs_off_cpu_spans * spans, uint64_t i, uint64_t process,
                                               uint64_t os_thread, int64_t begin_ns, int64_t end_ns, int64_t part[2]) {
    const struct ggs_off_cpu_span * span = i < spans->n ? &spans->span[i] : NULL;
    if (span == NULL || span->process != process || span->os_thread != os_thread || span->begin_ns >= end_ns)
        return NULL;
    part[0] = span->begin_ns > begin_ns ? span->begin_ns : begin_ns;
    part[1] = span->end_ns < end_ns ? span->end_ns : end_ns;
    return span;
}

uint64_t ggs_off_cpu_spans_within(const struct ggs_off_cpu_spans * spans, uint64_t process, uint64_t os_thread,
                                  int64_t begin_ns, int64_t end_ns) {
    uint64_t sum = 0;
    int64_t  part[2];
    for (uint64_t i = first_behind(spans, process, os_thread, begin_ns);
         part_of(spans, i, process, os_thread, begin_ns, end_ns, part) != NULL; i++)
        if (part[1] > part[0]) sum += (uint64_t) (part[1] - part[0]);
    return sum;
}

// ---- sums ----

// The part of a span in which its thread had work.
struct piece {
    int64_t begin_ns, end_ns;
    bool    preempted, foreign;
};

struct pass {
    struct ggs_off_cpu_totals * totals;
    struct ggs_trace *          trace;
    struct ggs_off_cpu_spans    spans;
    struct ggs_walk *           walk;
    struct piece *              pieces; // of one op
    size_t                      n, capacity;
    bool                        filtered; // the walk skips ops
};

static int by_begin(const void * a, const void * b) {
    const struct piece *x = a, *y = b;
    return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

// Returns the time covered by at least one of them.
static uint64_t covered(const struct pass * pass, bool preempted, bool foreign) {
    int64_t  until = INT64_MIN;
    uint64_t sum   = 0;
    for (size_t i = 0; i < pass->n; i++) {
        const struct piece * p = &pass->pieces[i];
        if ((preempted && !p->preempted) || (foreign && !p->foreign) || p->end_ns <= until) continue;
        sum += (uint64_t) (p->end_ns - (p->begin_ns > until ? p->begin_ns : until));
        until = p->end_ns;
    }
    return sum;
}

static bool add_runner(struct pass * pass, const struct ggs_off_cpu_span * span, uint64_t ns) {
    struct ggs_off_cpu_totals * t     = pass->totals;
    bool                        named = span->other == GGS_OTHER_PROGRAM;
    const char *                name  = named ? ggs_reader_string(pass->trace->reader, span->name) : "";
    char                        key[64];
    snprintf(key, sizeof(key), "%c%s", '0' + (char) (span->other % GGS_OTHER_COUNT), name);
    uint32_t number = ggs_names_number(t->others, key, strlen(key));
    if (number == UINT32_MAX) return false;
    if (number == t->n_by_other) {
        struct ggs_off_cpu_runner fresh = {.name = ggs_names_text(t->others, number) + 1, .other = span->other};
        if (!ggs_array_push(t->by_other, t->n_by_other, t->by_other_capacity, fresh)) return false;
    }
    t->by_other[number].ns += ns;
    return true;
}

static bool add_thread(struct pass * pass, const struct ggs_op_run * run, int64_t owed_ns) {
    uint64_t                        process = pass->walk->run.process;
    int64_t                         end     = ggs_time_after(run->begin_ns, run->duration_ns), part[2];
    int64_t                         begin   = !pass->filtered && owed_ns < run->begin_ns ? owed_ns : run->begin_ns;
    const struct ggs_off_cpu_span * span;
    for (uint64_t i = first_behind(&pass->spans, process, run->os_thread, begin);
         (span = part_of(&pass->spans, i, process, run->os_thread, begin, end, part)) != NULL; i++) {
        if (part[1] <= part[0]) continue;
        bool         preempted = span->kind == GGS_OFF_CPU_PREEMPTED;
        struct piece piece     = {part[0], part[1], preempted,
                                  preempted && (span->other == GGS_OTHER_PROGRAM || span->other == GGS_OTHER_UNSEEN)};
        pass->totals->thread_ns += (uint64_t) (part[1] - part[0]);
        if (!ggs_array_push(pass->pieces, pass->n, pass->capacity, piece)) return false;
        if (!add_runner(pass, span, (uint64_t) (part[1] - part[0]))) return false;
    }
    return true;
}

static bool add_op(struct pass * pass, int64_t owed_ns) {
    struct ggs_off_cpu_totals * t  = pass->totals;
    const struct ggs_op_seen *  op = &pass->walk->op;
    pass->n                        = 0;
    for (uint64_t i = 0; i < op->n_op_runs; i++)
        if (!add_thread(pass, &op->op_runs[i], owed_ns)) return false;
    if (pass->n == 0) return true;
    if (pass->n > 1) qsort(pass->pieces, pass->n, sizeof(*pass->pieces), by_begin);
    uint64_t lost   = covered(pass, false, false);
    uint32_t number = ggs_names_number(t->names, op->name, strlen(op->name));
    if (number == UINT32_MAX) return false;
    struct ggs_off_cpu_op fresh = {.name = ggs_names_text(t->names, number)};
    if (number == t->n_by_op && !ggs_array_push(t->by_op, t->n_by_op, t->by_op_capacity, fresh)) return false;
    t->by_op[number].lost_ns += lost;
    t->lost_ns += lost;
    t->preempted_ns += covered(pass, true, false);
    t->foreign_ns += covered(pass, true, true);
    return true;
}

static int add_run(struct pass * pass, struct ggs_error * error) {
    const struct ggs_run * run  = &pass->walk->run;
    int64_t                owed = run->begin_ns;
    bool                   cpu  = (run->flags & GGS_RUN_OPAQUE) == 0 && !ggs_trace_is_device(pass->trace, run->device);
    if (run->phase == GGS_PHASE_WARMUP || !cpu) return 0;
    if (run->end_ns > run->begin_ns) pass->totals->run_ns += (uint64_t) (run->end_ns - run->begin_ns);
    while (pass->spans.n > 0 && ggs_walk_op(pass->walk)) {
        if (!add_op(pass, owed)) return ggs_fail_memory(error);
        owed = pass->walk->op.end_ns;
    }
    return 0;
}

static bool was_recorded(struct ggs_trace * trace) {
    const char *          text     = ggs_reader_experiment(trace->reader);
    struct ggs_json_value settings = ggs_json_member(ggs_json_read(text, strlen(text)), "settings");
    return ggs_json_is_true(ggs_json_member(settings, "switches")) ||
           ggs_reader_rows(trace->reader, GGS_TABLE_OFF_CPU) > 0;
}

static int by_lost(const void * a, const void * b) {
    const struct ggs_off_cpu_op *x = a, *y = b;
    if (x->lost_ns != y->lost_ns) return x->lost_ns > y->lost_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_runner(const void * a, const void * b) {
    const struct ggs_off_cpu_runner *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    int names = strcmp(x->name, y->name);
    return names != 0 ? names : x->other < y->other ? -1 : x->other > y->other;
}

static void sort_all(struct ggs_off_cpu_totals * t) {
    if (t->n_by_op > 1) qsort(t->by_op, t->n_by_op, sizeof(*t->by_op), by_lost);
    if (t->n_by_other > 1) qsort(t->by_other, t->n_by_other, sizeof(*t->by_other), by_runner);
}

int ggs_off_cpu_totals_compute(struct ggs_off_cpu_totals * totals, struct ggs_trace * trace,
                               const struct ggs_totals_range * range, struct ggs_error * error) {
    struct pass pass = {.totals = totals, .trace = trace, .filtered = trace->filter != NULL};
    *totals          = (struct ggs_off_cpu_totals){.recorded = was_recorded(trace)};
    if (!totals->recorded) return 0;
    totals->names  = ggs_names_new();
    totals->others = ggs_names_new();
    int status     = totals->names == NULL || totals->others == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) status = ggs_trace_lost(trace, GGS_LOSS_SWITCHES, &totals->lost_events, error);
    if (status == 0) status = ggs_off_cpu_spans_read(&pass.spans, trace, 0, INT64_MAX, error);
    totals->spans = pass.spans.n;
    for (uint64_t i = 0; i < pass.spans.n; i++) totals->others_seen |= pass.spans.span[i].other != GGS_OTHER_UNSEEN;
    if (status == 0) status = ggs_walk_open(&pass.walk, trace, range->first_step, range->last_step, error);
    while (status >= 0 && (status = ggs_walk_run(pass.walk, error)) > 0) {
        int added = add_run(&pass, error);
        if (added < 0) status = added;
    }
    ggs_walk_close(pass.walk);
    ggs_off_cpu_spans_release(&pass.spans);
    free(pass.pieces);
    sort_all(totals);
    if (status < 0) ggs_off_cpu_totals_release(totals);
    return status;
}

void ggs_off_cpu_totals_release(struct ggs_off_cpu_totals * totals) {
    free(totals->by_op);
    free(totals->by_other);
    ggs_names_free(totals->names);
    ggs_names_free(totals->others);
    *totals = (struct ggs_off_cpu_totals){0};
}

char * ggs_off_cpu_who(const struct ggs_off_cpu_totals * totals, char * text, size_t size) {
    enum { MOST = 3 };
    size_t used = 0;
    text[0]     = '\0';
    for (uint64_t i = 0; i < totals->n_by_other && i < MOST; i++) {
        const struct ggs_off_cpu_runner * r = &totals->by_other[i];
        double       share = 100 * (double) r->ns / (double) (totals->thread_ns + (totals->thread_ns == 0));
        const char * name  = r->other == GGS_OTHER_OWN    ? "its own threads"
                             : r->other == GGS_OTHER_IDLE ? "nobody"
                                                          : r->name;
        if (r->other == GGS_OTHER_UNSEEN || share < 1) continue;
        int n = snprintf(text + used, size - used, "%s%s %.0f %%", used > 0 ? ", " : "", name, share);
        if (n < 0 || (size_t) n >= size - used) {
            text[used] = '\0';
            break;
        }
        used += (size_t) n;
    }
    for (char * at = text; *at != '\0'; at++) // a program can give itself any name
        if ((unsigned char) *at < ' ' || *at == 127) *at = '?';
    return text;
}
