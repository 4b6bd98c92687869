#include "record/observe/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void ggs_events_release(struct ggs_events * events) {
    free(events->list);
    *events = (struct ggs_events){0};
}

void ggs_events_add(struct ggs_events * events, const struct ggs_event * event) {
    struct ggs_event ours = *event;
    ours.ns += (uint64_t) events->ahead_ns;
    if (!ggs_array_push(events->list, events->n, events->capacity, ours)) events->dropped++;
}

static int by_time(const void * a, const void * b) {
    const struct ggs_event *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind; // begins come first
}

void ggs_events_drain(struct ggs_events * events, uint64_t                                  ns,
                      void (*visit)(void * context, const struct ggs_event * event), void * context) {
    size_t n = 0;
    if (events->n == 0) return;
    qsort(events->list, events->n, sizeof(*events->list), by_time);
    while (n < events->n && events->list[n].ns < ns) visit(context, &events->list[n++]);
    memmove(events->list, events->list + n, (events->n - n) * sizeof(*events->list));
    events->n -= n;
}
