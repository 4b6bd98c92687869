#include "stream/arrival.h"

#include <string.h>

#include "stream/core.h"

struct ggs_span ggs_span_of(uint64_t offset, uint64_t bytes, uint32_t block) {
    uint64_t begin = offset / block * block, end = (offset + bytes + block - 1) / block * block;
    return (struct ggs_span){begin, end - begin, offset + bytes - begin, (uint32_t) (offset - begin)};
}

// Called by a thread of the disk.
static void arrive(struct ggs_disk_read * read, bool ok) {
    struct ggs_arrival * arrival = (struct ggs_arrival *) read; // its first member
    struct ggs_stream *  s       = arrival->stream;
    if (ok && arrival->shift > 0) memmove(read->to, read->to + arrival->shift, read->needed - arrival->shift);
    ggs_stream_lock(s);
    assert(arrival->state == GGS_ARRIVAL_READING && s->reading > 0);
    arrival->state = ok ? GGS_ARRIVAL_READY : arrival->dropped ? GGS_ARRIVAL_EMPTY : GGS_ARRIVAL_FAILED;
    s->reading--;
    if (arrival->idle) s->filling--;
    if (s->awaited == arrival || s->awaits_any > 0) pthread_cond_broadcast(&s->arrived);
    ggs_predict_read(s);
    ggs_fill_idle(s);
    ggs_stream_unlock(s);
}

void ggs_arrival_read(struct ggs_stream * s, struct ggs_arrival * arrival, int fd, const struct ggs_span * span,
                      char * to, bool shift, enum ggs_urgency urgency) {
    ggs_stream_assert_locked(s);
    assert(arrival->state != GGS_ARRIVAL_READING);
    arrival->stream = s;
    arrival->state  = GGS_ARRIVAL_READING;
    arrival->shift  = shift ? span->delta : 0;
    arrival->read   = (struct ggs_disk_read){.fd       = fd,
                                             .offset   = span->offset,
                                             .bytes    = span->bytes,
                                             .needed   = span->needed,
                                             .to       = to,
                                             .buffered = s->buffered,
                                             .done     = arrive};
    s->reading++;
    arrival->dropped = false;
    arrival->idle    = urgency == GGS_READ_IDLE;
    if (arrival->idle) s->filling++;
    s->world.disk->submit(s->world.disk, &arrival->read, urgency);
}

void ggs_arrival_hurry(struct ggs_arrival * arrival, enum ggs_urgency urgency) {
    if (arrival->state != GGS_ARRIVAL_READING) return;
    struct ggs_stream * s = arrival->stream;
    ggs_stream_assert_locked(s);
    s->world.disk->hurry(s->world.disk, &arrival->read, urgency);
}

bool ggs_arrival_wait(struct ggs_arrival * arrival) {
    struct ggs_stream * s = arrival->stream;
    if (arrival->state == GGS_ARRIVAL_READING) ggs_arrival_hurry(arrival, GGS_READ_NOW);
    while (arrival->state == GGS_ARRIVAL_READING) {
        s->awaited = arrival;
        ggs_stream_wait(s);
    }
    if (s != NULL) s->awaited = NULL;
    return arrival->state == GGS_ARRIVAL_READY;
}

bool ggs_arrival_cancel(struct ggs_arrival * arrival) {
    if (arrival->state != GGS_ARRIVAL_READING) return false;
    struct ggs_stream * s = arrival->stream;
    ggs_stream_assert_locked(s);
    arrival->dropped = true;
    if (!s->world.disk->cancel(s->world.disk, &arrival->read)) return false;
    if (arrival->idle) s->filling--;
    arrival->state = GGS_ARRIVAL_EMPTY;
    s->reading--;
    return true;
}

void ggs_arrival_clear(struct ggs_arrival * arrival) {
    assert(arrival->state != GGS_ARRIVAL_READING);
    arrival->state = GGS_ARRIVAL_EMPTY;
}
