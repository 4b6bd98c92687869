#include "record/observe/rings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"

enum { LEAST_BYTES = 128 << 10, RECORD_MOST = 1 << 16 };

static size_t page_size(void) {
    return (size_t) sysconf(_SC_PAGESIZE);
}

// ---- opening ----

static int open_event(const struct perf_event_attr * attributes, pid_t process, int cpu) {
    return (int) syscall(SYS_perf_event_open, attributes, process, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

// Machines with many CPUs need more files than a shell grants; the program has its own limits
// already.
static void allow_files(unsigned n) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= (rlim_t) n + 64) return;
    limit.rlim_cur = limit.rlim_max < (rlim_t) n + 64 ? limit.rlim_max : (rlim_t) n + 64;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// Makes room in the list first: an open event is always in it.
static bool open_events(struct ggs_rings * rings, const struct perf_event_attr * attributes, pid_t process,
                        unsigned ring) {
    if (!ggs_array_reserve(rings->events, rings->capacity, rings->n_events + rings->n_kinds)) {
        errno = ENOMEM;
        return false;
    }
    for (unsigned i = 0; i < rings->n_kinds; i++) {
        struct ggs_ring_event event = {.ring = ring, .kind = i, .source = rings->n_sources};
        event.fd                    = open_event(&attributes[i], process, rings->rings[ring].cpu);
        if (event.fd < 0) return false;
        rings->events[rings->n_events++] = event;
        if (ioctl(event.fd, PERF_EVENT_IOC_ID, &rings->events[rings->n_events - 1].id) != 0) return false;
        if (i == 0 && rings->rings[ring].fd < 0) rings->rings[ring].fd = event.fd;
    }
    return true;
}

// Closes all events after the first `n`.
static void close_events(struct ggs_rings * rings, size_t n) {
    int reason = errno;
    while (rings->n_events > n) close(rings->events[--rings->n_events].fd);
    errno = reason;
}

// Directs the events after the first `n` to the rings.
static bool lead_to_rings(struct ggs_rings * rings, size_t n) {
    for (size_t i = n; i < rings->n_events; i++) {
        const struct ggs_ring_event * event = &rings->events[i];
        int                           ring  = rings->rings[event->ring].fd;
        if (event->fd != ring && ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT, ring) != 0) return false;
    }
    return true;
}

static int by_id(const void * a, const void * b) {
    const struct ggs_ring_event *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void unmap(struct ggs_rings * rings) {
    for (unsigned i = 0; i < rings->n_rings; i++) {
        if (rings->rings[i].base != NULL) munmap(rings->rings[i].base, page_size() + rings->bytes);
        rings->rings[i].base = NULL;
    }
}

// All rings have the same size: the CPU with the smallest ring would lose samples first.
static bool map(struct ggs_rings * rings, size_t bytes) {
    rings->bytes = bytes;
    for (unsigned i = 0; i < rings->n_rings; i++) {
        struct ggs_ring * ring = &rings->rings[i];
        void *            base = mmap(NULL, page_size() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (base == MAP_FAILED) {
            int reason = errno;
            unmap(rings);
            errno = reason;
            return false;
        }
        ring->base = base;
    }
    return lead_to_rings(rings, 0);
}

// One ring per existing CPU.
static bool open_all(struct ggs_rings * rings, const struct perf_event_attr * attributes, pid_t process, int cpus) {
    for (int cpu = 0; cpu < cpus; cpu++) {
        rings->rings[rings->n_rings] = (struct ggs_ring){.cpu = cpu, .fd = -1};
        size_t before                = rings->n_events;
        if (open_events(rings, attributes, process, rings->n_rings)) {
            rings->n_rings++;
            continue;
        }
        close_events(rings, before);
        if (errno != ENODEV) return false; // else it is offline
    }
    rings->n_sources = 1;
    return rings->n_rings > 0;
}

static bool map_largest(struct ggs_rings * rings, size_t most) {
    size_t bytes = LEAST_BYTES;
    // Machines with many CPUs get smaller rings.
    while (2 * bytes <= most && 2 * bytes * rings->n_rings <= 16 * most) bytes *= 2;
    while (!map(rings, bytes)) {
        if (bytes == LEAST_BYTES || (errno != EPERM && errno != ENOMEM)) return false;
        bytes /= 2; // more than we may lock
    }
    return true;
}

int ggs_rings_open(struct ggs_rings * rings, const struct perf_event_attr * attributes, unsigned n, pid_t process,
                   size_t most, struct ggs_error * error) {
    int cpus       = (int) sysconf(_SC_NPROCESSORS_CONF);
    *rings         = (struct ggs_rings){.n_kinds = n};
    rings->rings   = calloc(cpus > 0 ? (size_t) cpus : 1, sizeof(*rings->rings));
    rings->scratch = malloc(RECORD_MOST);
    if (rings->rings == NULL || rings->scratch == NULL) {
        free(rings->rings);
        free(rings->scratch);
        *rings = (struct ggs_rings){0};
        errno  = ENOMEM;
        return ggs_fail_memory(error);
    }
    allow_files((unsigned) cpus * n);
    if (open_all(rings, attributes, process, cpus) && map_largest(rings, most)) {
        qsort(rings->events, rings->n_events, sizeof(*rings->events), by_id);
        return 0;
    }
    int reason = errno;
    ggs_rings_close(rings);
    errno = reason;
    return ggs_fail_errno(error, "the kernel refuses perf events");
}

bool ggs_rings_add(struct ggs_rings * rings, const struct perf_event_attr * attributes, pid_t thread) {
    size_t before = rings->n_events;
    bool   good   = true;
    allow_files((unsigned) before + rings->n_rings * rings->n_kinds);
    for (unsigned i = 0; i < rings->n_rings && good; i++) good = open_events(rings, attributes, thread, i);
    if (!good || !lead_to_rings(rings, before)) {
        close_events(rings, before);
        return false;
    }
    rings->n_sources++;
    qsort(rings->events, rings->n_events, sizeof(*rings->events), by_id);
    return true;
}

void ggs_rings_close(struct ggs_rings * rings) {
    unmap(rings);
    close_events(rings, 0);
    free(rings->events);
    free(rings->rings);
    free(rings->scratch);
    *rings = (struct ggs_rings){0};
}

// ---- reading ----

void ggs_rings_poll(const struct ggs_rings * rings, struct pollfd * fds) {
    for (unsigned i = 0; i < rings->n_rings; i++) fds[i] = (struct pollfd){.fd = rings->rings[i].fd, .events = POLLIN};
}

// Returns the record at `tail` in one piece.
static const struct perf_event_header * record_at(struct ggs_rings * rings, const uint8_t * data, uint64_t tail,
                                                  size_t bytes) {
    size_t at = (size_t) (tail & (rings->bytes - 1)), room = rings->bytes - at;
    if (bytes <= room) return (const void *) (data + at);
    memcpy(rings->scratch, data + at, room);
    memcpy(rings->scratch + room, data, bytes - room);
    return (const void *) rings->scratch;
}

static void hand_over(struct ggs_rings * rings, const struct perf_event_header * header, ggs_ring_visitor visit,
                      void * context) {
    struct ggs_ring_event wanted;
    bool                  sample = header->type == PERF_RECORD_SAMPLE;
    if ((!sample && header->type != PERF_RECORD_SWITCH) || header->size < sizeof(*header) + sizeof(wanted.id)) return;
    const uint8_t *        body   = (const uint8_t *) (header + 1);
    size_t                 bytes  = header->size - sizeof(*header) - sizeof(wanted.id);
    struct ggs_ring_record record = {
        .misc = header->misc, .body = body + (sample ? sizeof(wanted.id) : 0), .bytes = bytes};
    memcpy(&wanted.id, sample ? body : body + bytes, sizeof(wanted.id));
    record.event = bsearch(&wanted, rings->events, rings->n_events, sizeof(wanted), by_id);
    if (record.event == NULL) return;
    rings->samples[record.event->kind]++;
    visit(context, &record);
}

void ggs_rings_drain(struct ggs_rings * rings, ggs_ring_visitor visit, void * context) {
    for (unsigned i = 0; i < rings->n_rings; i++) {
        struct perf_event_mmap_page * page = rings->rings[i].base;
        const uint8_t *               data = (const uint8_t *) page + page_size();
        uint64_t                      head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        uint64_t                      tail = page->data_tail; // written by us alone
        while (tail + sizeof(struct perf_event_header) <= head) {
            // Headers are aligned to 8, so they never wrap around.
            const struct perf_event_header * header = (const void *) (data + (tail & (rings->bytes - 1)));
            if (header->size < sizeof(*header)) break;
            size_t bytes = header->size;
            hand_over(rings, record_at(rings, data, tail, bytes), visit, context);
            tail += bytes;
        }
        __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
    }
}

static void switch_all(const struct ggs_rings * rings, unsigned long request) {
    for (size_t i = 0; i < rings->n_events; i++) ioctl(rings->events[i].fd, request, 0);
}

void ggs_rings_start(const struct ggs_rings * rings) {
    switch_all(rings, PERF_EVENT_IOC_ENABLE);
}

void ggs_rings_stop(const struct ggs_rings * rings) {
    switch_all(rings, PERF_EVENT_IOC_DISABLE);
}

uint64_t ggs_rings_lost(const struct ggs_rings * rings, unsigned kind) {
    uint64_t happened = 0, count;
    for (size_t i = 0; i < rings->n_events; i++)
        if (rings->events[i].kind == kind && read(rings->events[i].fd, &count, sizeof(count)) == sizeof(count))
            happened += count;
    return happened > rings->samples[kind] ? happened - rings->samples[kind] : 0;
}
