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

#include "base/error.h"

enum { LEAST_BYTES = 128 << 10, RECORD_MOST = 1 << 16 };

static size_t page_size(void) {
    return (size_t) sysconf(_SC_PAGESIZE);
}

// ---- opening ----

static int open_event(const struct perf_event_attr * attributes, pid_t process, int cpu) {
    return (int) syscall(SYS_perf_event_open, attributes, process, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

// Machines with many CPUs need more files than a shell grants; the program has its own limits already.
static void allow_files(unsigned n) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= (rlim_t) n + 64) return;
    limit.rlim_cur = limit.rlim_max < (rlim_t) n + 64 ? limit.rlim_max : (rlim_t) n + 64;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static bool open_ring(struct ggs_ring * ring, const struct perf_event_attr * attributes, unsigned n, pid_t process,
                      int cpu) {
    for (unsigned i = 0; i < GGS_RING_EVENTS; i++) ring->fds[i] = -1;
    for (unsigned i = 0; i < n; i++) {
        ring->fds[i] = open_event(&attributes[i], process, cpu);
        if (ring->fds[i] < 0 || ioctl(ring->fds[i], PERF_EVENT_IOC_ID, &ring->ids[i]) != 0) return false;
    }
    return true;
}

static void close_ring(struct ggs_ring * ring) {
    for (unsigned i = 0; i < GGS_RING_EVENTS; i++) {
        if (ring->fds[i] >= 0) close(ring->fds[i]);
        ring->fds[i] = -1;
    }
}

static void unmap(struct ggs_rings * rings) {
    for (unsigned i = 0; i < rings->n_rings; i++) {
        if (rings->rings[i].base != NULL) munmap(rings->rings[i].base, page_size() + rings->bytes);
        rings->rings[i].base = NULL;
    }
}

// All rings have the same size: the CPU whose ring is the smallest would lose samples first.
static bool map(struct ggs_rings * rings, size_t bytes) {
    rings->bytes = bytes;
    for (unsigned i = 0; i < rings->n_rings; i++) {
        struct ggs_ring * ring = &rings->rings[i];
        void *            base = mmap(NULL, page_size() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fds[0], 0);
        if (base == MAP_FAILED) {
            int reason = errno;
            unmap(rings);
            errno = reason;
            return false;
        }
        ring->base = base;
    }
    for (unsigned i = 0; i < rings->n_rings; i++) {
        for (unsigned k = 1; k < rings->n_events; k++) {
            if (ioctl(rings->rings[i].fds[k], PERF_EVENT_IOC_SET_OUTPUT, rings->rings[i].fds[0]) != 0) return false;
        }
    }
    return true;
}

// One ring for each CPU that is there.
static bool open_all(struct ggs_rings * rings, const struct perf_event_attr * attributes, pid_t process, int cpus) {
    for (int cpu = 0; cpu < cpus; cpu++) {
        struct ggs_ring * ring = &rings->rings[rings->n_rings];
        if (open_ring(ring, attributes, rings->n_events, process, cpu)) {
            rings->n_rings++;
            continue;
        }
        int reason = errno;
        close_ring(ring);
        errno = reason;
        if (reason != ENODEV) return false; // else it is switched off
    }
    return rings->n_rings > 0;
}

static bool map_largest(struct ggs_rings * rings, size_t most) {
    size_t bytes = LEAST_BYTES;
    // Machines with many CPUs get smaller ones.
    while (2 * bytes <= most && 2 * bytes * rings->n_rings <= 16 * most) bytes *= 2;
    while (!map(rings, bytes)) {
        if (bytes == LEAST_BYTES || (errno != EPERM && errno != ENOMEM)) return false;
        bytes /= 2; // it was more than we may lock
    }
    return true;
}

int ggs_rings_open(struct ggs_rings * rings, const struct perf_event_attr * attributes, unsigned n, pid_t process,
                   size_t most, struct ggs_error * error) {
    int cpus       = (int) sysconf(_SC_NPROCESSORS_CONF);
    *rings         = (struct ggs_rings){.n_events = n};
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
    if (open_all(rings, attributes, process, cpus) && map_largest(rings, most)) return 0;
    int reason = errno;
    ggs_rings_close(rings);
    errno = reason;
    return ggs_fail_errno(error, "the kernel refuses perf events");
}

void ggs_rings_close(struct ggs_rings * rings) {
    unmap(rings);
    for (unsigned i = 0; i < rings->n_rings; i++) close_ring(&rings->rings[i]);
    free(rings->rings);
    free(rings->scratch);
    *rings = (struct ggs_rings){0};
}

// ---- reading ----

void ggs_rings_poll(const struct ggs_rings * rings, struct pollfd * fds) {
    for (unsigned i = 0; i < rings->n_rings; i++)
        fds[i] = (struct pollfd){.fd = rings->rings[i].fds[0], .events = POLLIN};
}

// The record at `tail`, in one piece.
static const struct perf_event_header * record_at(struct ggs_rings * rings, const uint8_t * data, uint64_t tail,
                                                  size_t bytes) {
    size_t at = (size_t) (tail & (rings->bytes - 1)), room = rings->bytes - at;
    if (bytes <= room) return (const void *) (data + at);
    memcpy(rings->scratch, data + at, room);
    memcpy(rings->scratch + room, data, bytes - room);
    return (const void *) rings->scratch;
}

static void hand_over(struct ggs_rings * rings, const struct ggs_ring * ring, const struct perf_event_header * record,
                      ggs_rings_see see, void * context) {
    uint64_t id;
    if (record->type != PERF_RECORD_SAMPLE || record->size < sizeof(*record) + sizeof(id)) return;
    memcpy(&id, record + 1, sizeof(id));
    for (unsigned i = 0; i < rings->n_events; i++) {
        if (ring->ids[i] != id) continue;
        rings->samples[i]++;
        see(context, i, (const uint8_t *) (record + 1) + sizeof(id), record->size - sizeof(*record) - sizeof(id));
        return;
    }
}

void ggs_rings_drain(struct ggs_rings * rings, ggs_rings_see see, void * context) {
    for (unsigned i = 0; i < rings->n_rings; i++) {
        struct perf_event_mmap_page * page = rings->rings[i].base;
        const uint8_t *               data = (const uint8_t *) page + page_size();
        uint64_t                      head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        uint64_t                      tail = page->data_tail; // ours alone
        while (tail + sizeof(struct perf_event_header) <= head) {
            // Headers are aligned to 8, so they never go around the end.
            const struct perf_event_header * header = (const void *) (data + (tail & (rings->bytes - 1)));
            if (header->size < sizeof(*header)) break;
            size_t bytes = header->size;
            hand_over(rings, &rings->rings[i], record_at(rings, data, tail, bytes), see, context);
            tail += bytes;
        }
        __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
    }
}

static void switch_all(const struct ggs_rings * rings, unsigned long request) {
    for (unsigned i = 0; i < rings->n_rings; i++) {
        for (unsigned k = 0; k < rings->n_events; k++) ioctl(rings->rings[i].fds[k], request, 0);
    }
}

void ggs_rings_start(const struct ggs_rings * rings) {
    switch_all(rings, PERF_EVENT_IOC_ENABLE);
}

void ggs_rings_stop(const struct ggs_rings * rings) {
    switch_all(rings, PERF_EVENT_IOC_DISABLE);
}

uint64_t ggs_rings_lost(const struct ggs_rings * rings, unsigned event) {
    uint64_t happened = 0;
    for (unsigned i = 0; i < rings->n_rings; i++) {
        uint64_t count;
        if (read(rings->rings[i].fds[event], &count, sizeof(count)) == sizeof(count)) happened += count;
    }
    return happened > rings->samples[event] ? happened - rings->samples[event] : 0;
}
