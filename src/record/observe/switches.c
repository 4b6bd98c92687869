#include "record/observe/switches.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

bool ggs_switches_init(struct ggs_switches * switches) {
    struct ggs_trace_format format;
    struct ggs_error        error;
    *switches         = (struct ggs_switches){0};
    switches->threads = calloc(GGS_SWITCH_THREADS, sizeof(*switches->threads));
    switches->own     = calloc(GGS_SWITCH_THREADS, sizeof(*switches->own));
    if (switches->threads == NULL || switches->own == NULL) {
        ggs_switches_release(switches);
        return false;
    }
    int folder = ggs_trace_points_folder();
    if (folder < 0) return true;
    if (ggs_trace_format_read(&format, folder, "sched", "sched_switch", &error) == 0) {
        switches->previous = ggs_trace_format_field(&format, "prev_pid");
        switches->next     = ggs_trace_format_field(&format, "next_pid");
        switches->name     = ggs_trace_format_field(&format, "next_comm");
        bool known         = switches->previous.size == 4 && switches->next.size == 4 && switches->name.size > 0;
        switches->point    = known ? format.id : 0;
    }
    close(folder);
    return true;
}

void ggs_switches_release(struct ggs_switches * switches) {
    free(switches->threads);
    free(switches->own);
    *switches = (struct ggs_switches){0};
}

void ggs_switches_describe(const struct ggs_switches * switches, const struct perf_event_attr * base,
                           struct perf_event_attr attributes[2]) {
    attributes[0]                = *base;
    attributes[0].config         = PERF_COUNT_SW_DUMMY;
    attributes[0].sample_period  = 0;
    attributes[0].sample_type    = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    attributes[0].sample_id_all  = 1;
    attributes[0].context_switch = 1;
    attributes[1]                = *base;
    attributes[1].type           = PERF_TYPE_TRACEPOINT;
    attributes[1].config         = switches->point;
    attributes[1].sample_type    = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
    attributes[1].exclude_kernel = 0; // the trace point is in the kernel
}

// ---- records ----

// The kernel's sample_id; the identifier follows.
struct side {
    uint32_t pid, os_thread;
    uint64_t ns;
    uint32_t cpu, reserved;
};

void ggs_switches_decode(struct ggs_events * events, uint32_t misc, uint32_t source, const void * body, size_t bytes) {
    struct side side;
    if (bytes < sizeof(side)) return;
    memcpy(&side, body, sizeof(side));
    bool             out   = (misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
    struct ggs_event found = {.ns        = side.ns,
                              .kind      = out ? GGS_EVENT_LEAVE : GGS_EVENT_RETURN,
                              .pid       = side.pid,
                              .os_thread = side.os_thread,
                              .source    = source,
                              .cpu       = side.cpu,
                              .preempted = out && (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0};
    ggs_events_add(events, &found);
}

// `size` bytes of the trace point's own data follow.
struct point_sample {
    uint32_t pid, os_thread;
    uint64_t ns;
    uint32_t size;
} __attribute__((packed));

static bool copy_field(void * out, size_t size, const struct ggs_trace_field * field, const uint8_t * data,
                       size_t bytes) {
    if (field->offset > bytes || field->size > bytes - field->offset) return false;
    memcpy(out, data + field->offset, field->size < size ? field->size : size);
    return true;
}

void ggs_switches_decode_point(const struct ggs_switches * switches, struct ggs_events * events, uint32_t source,
                               const void * body, size_t bytes) {
    struct point_sample sample;
    if (bytes < sizeof(sample)) return;
    memcpy(&sample, body, sizeof(sample));
    const uint8_t *  data  = (const uint8_t *) body + sizeof(sample);
    size_t           room  = bytes - sizeof(sample) < sample.size ? bytes - sizeof(sample) : sample.size;
    struct ggs_event found = {
        .ns = sample.ns, .kind = GGS_EVENT_NEXT, .pid = sample.pid, .os_thread = sample.os_thread, .source = source};
    if (copy_field(&found.previous, sizeof(found.previous), &switches->previous, data, room) &&
        copy_field(&found.next, sizeof(found.next), &switches->next, data, room) &&
        copy_field(found.name, sizeof(found.name) - 1, &switches->name, data, room))
        ggs_events_add(events, &found);
}

// ---- pairing ----

static struct ggs_switch_thread * thread_of(struct ggs_switches * switches, const struct ggs_event * event) {
    struct ggs_switch_thread * thread = &switches->threads[event->os_thread & (GGS_SWITCH_THREADS - 1)];
    if (thread->os_thread != event->os_thread || thread->pid != event->pid)
        *thread = (struct ggs_switch_thread){.os_thread = event->os_thread, .pid = event->pid};
    return thread;
}

static uint32_t other_of(const struct ggs_switches * switches, const struct ggs_switch_thread * thread) {
    const struct ggs_switch_own * own = &switches->own[thread->next & (GGS_SWITCH_THREADS - 1)];
    if (!thread->next_seen) return GGS_OTHER_UNSEEN;
    if (thread->next == 0) return GGS_OTHER_IDLE;
    return own->kernel_thread == thread->next && own->pid == thread->pid ? GGS_OTHER_OWN : GGS_OTHER_PROGRAM;
}

// The sample of the trace point precedes the switch.
static void on_next(struct ggs_switches * switches, struct ggs_switch_thread * thread, const struct ggs_event * event) {
    if (thread->left_ns != 0) return; // another source reported it
    struct ggs_switch_own * own = &switches->own[event->previous & (GGS_SWITCH_THREADS - 1)];
    *own                        = (struct ggs_switch_own){event->previous, event->pid};
    thread->next                = event->next;
    thread->next_seen           = true;
    memcpy(thread->next_name, event->name, sizeof(thread->next_name));
}

static void on_leave(struct ggs_switches * switches, struct ggs_switch_thread * thread,
                     const struct ggs_event * event) {
    // A thread may have events of its own and inherited ones: both report its switches.
    if (thread->left_ns != 0 && thread->source != event->source) return;
    if (thread->left_ns != 0) switches->lost++;
    thread->left_ns   = event->ns;
    thread->source    = event->source;
    thread->cpu       = event->cpu;
    thread->preempted = event->preempted;
}

static void on_return(const struct ggs_switches * switches, struct ggs_switch_thread * thread,
                      const struct ggs_event * event, struct ggs_outbox * outbox) {
    if (thread->left_ns == 0) return; // new, or another source reported it
    struct ggs_journal_off_cpu row = {.begin_ns  = thread->left_ns,
                                      .end_ns    = event->ns,
                                      .pid       = event->pid,
                                      .os_thread = event->os_thread,
                                      .kind      = thread->preempted ? GGS_OFF_CPU_PREEMPTED : GGS_OFF_CPU_BLOCKED,
                                      .other     = other_of(switches, thread),
                                      .cpu       = thread->cpu};
    if (row.other != GGS_OTHER_IDLE) memcpy(row.name, thread->next_name, sizeof(row.name));
    ggs_outbox_off_cpu(outbox, &row);
    *thread = (struct ggs_switch_thread){.os_thread = event->os_thread, .pid = event->pid};
}

void ggs_switches_add(struct ggs_switches * switches, const struct ggs_event * event, struct ggs_outbox * outbox) {
    if (switches->threads == NULL) return;
    struct ggs_switch_thread * thread = thread_of(switches, event);
    if (event->kind == GGS_EVENT_NEXT) on_next(switches, thread, event);
    if (event->kind == GGS_EVENT_LEAVE) on_leave(switches, thread, event);
    if (event->kind == GGS_EVENT_RETURN) on_return(switches, thread, event, outbox);
}
