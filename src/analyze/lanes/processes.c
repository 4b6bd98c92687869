#include "analyze/lanes/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

void ggs_process_list_release(struct ggs_process_list * list) {
    free(list->process);
    free(list->link);
    *list = (struct ggs_process_list){0};
}

const struct ggs_process_totals * ggs_process_find(const struct ggs_process_list * list, uint64_t process) {
    return process == 0 || process > list->n ? NULL : &list->process[process - 1];
}

int ggs_process_list_names(struct ggs_process_list * list, struct ggs_trace * trace, struct ggs_error * error) {
    enum { MOST = 65536 };
    struct ggs_cursor * cursor;
    struct ggs_process  row;
    uint64_t            capacity = 0;
    *list                        = (struct ggs_process_list){0};
    int status                   = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_PROCESSES, error);
    while (status >= 0 && list->n < MOST && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct ggs_process_totals process = {.row = row, .host = ggs_reader_string(trace->reader, row.host)};
        const char *              path    = ggs_reader_string(trace->reader, row.executable);
        const char *              slash   = strrchr(path, '/');
        snprintf(process.name, sizeof(process.name), "%.64s %llu", slash == NULL ? path : slash + 1,
                 (unsigned long long) row.pid);
        if (process.host[0] == '\0') process.host = "host 1";
        bool known = false;
        for (uint64_t i = 0; i < list->n && !known; i++) known = strcmp(list->process[i].host, process.host) == 0;
        list->hosts += !known;
        if (!ggs_array_push(list->process, list->n, capacity, process)) status = ggs_fail_memory(error);
    }
    ggs_cursor_close(cursor);
    if (status < 0) ggs_process_list_release(list);
    return status < 0 ? status : 0;
}

// ---- events in time ----

enum what { CLIENT, SERVER, WIRE, WHATS };

struct event {
    int64_t  ns;
    uint16_t what;
    int16_t  change; // 1: begins, -1: ends
};

struct reading {
    struct ggs_process_list * list;
    struct ggs_trace *        trace;
    struct event *            events;
    uint64_t                  n_events, capacity;
    struct ggs_run *          remote; // runs sent to servers, by run
    uint64_t                  n_remote, remote_capacity;
    bool *                    is_client; // by process
};

static int add_event(struct reading * r, enum what what, int64_t begin, int64_t end, struct ggs_error * error) {
    const struct ggs_process_list * list = r->list;
    if (begin < list->begin_ns) begin = list->begin_ns;
    if (end > list->end_ns) end = list->end_ns;
    if (begin >= end) return 0;
    struct event from = {begin, (uint16_t) what, 1}, to = {end, (uint16_t) what, -1};
    if (!ggs_array_push(r->events, r->n_events, r->capacity, from) ||
        !ggs_array_push(r->events, r->n_events, r->capacity, to))
        return ggs_fail_memory(error);
    return 0;
}

static int by_time(const void * a, const void * b) {
    const struct event *x = a, *y = b;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static void add_up(struct reading * r) {
    struct ggs_process_list * list        = r->list;
    int64_t                   at          = list->begin_ns;
    uint64_t                  open[WHATS] = {0};
    uint64_t *                sums[WHATS] = {&list->client_compute_ns, &list->server_compute_ns, &list->wire_ns};
    if (r->n_events > 0) qsort(r->events, r->n_events, sizeof(*r->events), by_time);
    for (uint64_t i = 0; i <= r->n_events; i++) {
        int64_t  next = i < r->n_events ? r->events[i].ns : list->end_ns;
        unsigned what = 0;
        while (what < WHATS && open[what] == 0) what++;
        *(what < WHATS ? sums[what] : &list->idle_ns) += ggs_time_between(at, next);
        at = next;
        if (i < r->n_events) open[r->events[i].what] += (uint64_t) (int64_t) r->events[i].change;
    }
    list->wall_ns = ggs_time_between(list->begin_ns, list->end_ns);
}

// ---- reading ----

static int read_steps(struct reading * r, struct ggs_error * error) {
    struct ggs_process_list * list = r->list;
    struct ggs_cursor *       cursor;
    struct ggs_step           step;
    bool                      any    = false;
    int                       status = ggs_cursor_open(&cursor, r->trace->reader, GGS_TABLE_STEPS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &step, error)) > 0) {
        if (step.step < 0) continue;
        if (!any || step.begin_ns < list->begin_ns) list->begin_ns = step.begin_ns;
        if (!any || step.end_ns > list->end_ns) list->end_ns = step.end_ns;
        any = true;
    }
    ggs_cursor_close(cursor);
    if (list->end_ns < list->begin_ns) list->end_ns = list->begin_ns;
    return status < 0 ? status : 0;
}

static bool is_remote(const struct reading * r, const struct ggs_run * run) {
    return (run->flags & GGS_RUN_OPAQUE) != 0 && (run->peer != 0 || ggs_reader_run_is_remote(r->trace->reader, run));
}

static struct ggs_process_link * link_of(struct reading * r, uint64_t process, uint64_t device, uint64_t backend) {
    struct ggs_process_list * list = r->list;
    for (uint64_t i = 0; i < list->n_links; i++)
        if (list->link[i].client == process && list->link[i].device == device) return &list->link[i];
    struct ggs_process_link link = {
        .client = process, .device = device, .backend = ggs_reader_string(r->trace->reader, backend)};
    if (!ggs_array_push(list->link, list->n_links, list->links_capacity, link)) return NULL;
    return &list->link[list->n_links - 1];
}

// Reads the sent runs first, to know the clients.
static int read_remote(struct reading * r, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&cursor, r->trace->reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        if (!is_remote(r, &run)) continue;
        struct ggs_process_link * link = link_of(r, run.process, run.device, run.backend);
        if (link == NULL || !ggs_array_push(r->remote, r->n_remote, r->remote_capacity, run)) {
            status = ggs_fail_memory(error);
            break;
        }
        link->runs++;
        if (run.process > 0 && run.process <= r->list->n) r->is_client[run.process - 1] = true;
        status = add_event(r, WIRE, run.begin_ns, run.end_ns, error);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static const struct ggs_run * sent_as(const struct reading * r, uint64_t run) {
    for (uint64_t low = 0, high = r->n_remote; low < high;) {
        uint64_t middle = low + (high - low) / 2;
        if (r->remote[middle].run == run) return &r->remote[middle];
        if (r->remote[middle].run < run)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int read_computed(struct reading * r, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_run      run;
    int                 status = ggs_cursor_open(&cursor, r->trace->reader, GGS_TABLE_RUNS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &run, error)) > 0) {
        bool     known = run.process > 0 && run.process <= r->list->n;
        uint64_t ns    = ggs_time_between(run.begin_ns, run.end_ns);
        if (known) r->list->process[run.process - 1].runs++;
        if (known && run.peer != 0) r->list->process[run.process - 1].matched_runs++;
        if (is_remote(r, &run)) continue;
        if (known) r->list->process[run.process - 1].compute_ns += ns;
        const struct ggs_run * sent = run.peer == 0 ? NULL : sent_as(r, run.peer);
        if (sent != NULL) {
            struct ggs_process_link * link = link_of(r, sent->process, sent->device, sent->backend);
            if (link != NULL) {
                link->server = run.process;
                link->matched_runs++;
                link->server_ns += ns;
                link->round_trip_ns += ggs_time_between(sent->begin_ns, sent->end_ns);
            }
        }
        status =
            add_event(r, known && r->is_client[run.process - 1] ? CLIENT : SERVER, run.begin_ns, run.end_ns, error);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static void count_transfer(struct ggs_process_list * list, struct ggs_process_link * link,
                           const struct ggs_transfer * t, bool sent) {
    if (link == NULL) return;
    *(sent ? &link->bytes_sent : &link->bytes_received) += t->bytes;
    if (sent && t->begin_ns < list->begin_ns) link->bytes_loaded += t->bytes;
    link->transfers++;
    link->transfer_ns += t->duration_ns;
}

static struct ggs_process_link * link_to(struct reading * r, uint64_t process, uint64_t buffer) {
    const struct ggs_buffer * b = ggs_trace_buffer(r->trace, buffer);
    for (uint64_t i = 0; b != NULL && b->device != 0 && i < r->list->n_links; i++)
        if (r->list->link[i].client == process && r->list->link[i].device == b->device) return &r->list->link[i];
    return NULL;
}

static int read_transfers(struct reading * r, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_transfer row;
    int                 status = ggs_cursor_open(&cursor, r->trace->reader, GGS_TABLE_TRANSFERS, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        struct ggs_process_link *to   = link_to(r, row.process, row.to_buffer),
                                *from = link_to(r, row.process, row.from_buffer);
        count_transfer(r->list, to, &row, true);
        count_transfer(r->list, from, &row, false);
        if (to != NULL || from != NULL)
            status = add_event(r, WIRE, row.begin_ns, ggs_time_after(row.begin_ns, row.duration_ns), error);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

int ggs_process_list_read(struct ggs_process_list * list, struct ggs_trace * trace, struct ggs_error * error) {
    struct reading r      = {.list = list, .trace = trace};
    int            status = ggs_process_list_names(list, trace, error);
    if (status < 0 || list->n < 2) return status;
    r.is_client = calloc(list->n, sizeof(*r.is_client));
    if (r.is_client == NULL) status = ggs_fail_memory(error);
    if (status == 0) status = read_steps(&r, error);
    if (status == 0) status = read_remote(&r, error);
    if (status == 0) status = read_computed(&r, error);
    if (status == 0) status = read_transfers(&r, error);
    if (status == 0) add_up(&r);
    free(r.events);
    free(r.remote);
    free(r.is_client);
    if (status < 0) ggs_process_list_release(list);
    return status;
}
