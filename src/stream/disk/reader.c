#include "stream/disk/reader.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stream/memory/memory.h"

enum { ENTRIES = 256, PIECES = 4096, THREADS = 8, MOST_RETRIES = 8, TURN_NS = 500000 };

// One read. Free ones and those that wait for room in the kernel's queue are linked by `next`.
struct piece {
    struct ggs_arrival * load;
    int                  fd;
    uint32_t             retries;
    uint64_t             offset;
    size_t               bytes, needed;
    char *               to;
    struct piece *       next;
};

static struct piece         pieces[PIECES];
static struct piece *       unused;
static struct piece *       waiting, **waiting_end = &waiting; // in the order of asking
static struct piece **      urgent_end = &waiting;             // behind those that somebody waits for
static uint32_t             in_flight;
static enum ggs_reader_kind kind;
static size_t               most = GGS_READ_PIECE; // bytes of one read

static void finish(struct piece * piece, bool ok) {
    struct ggs_arrival * load = piece->load;
    if (!ok) load->failed = true;
    __atomic_sub_fetch(&load->pending, 1, __ATOMIC_RELEASE);
    piece->next = unused;
    unused      = piece;
}

static void append_waiting(struct piece * piece) {
    piece->next  = NULL;
    *waiting_end = piece;
    waiting_end  = &piece->next;
}

// Behind those that are as urgent, before all others.
static void insert_urgent(struct piece * piece) {
    piece->next = *urgent_end;
    *urgent_end = piece;
    if (waiting_end == urgent_end) waiting_end = &piece->next;
    urgent_end = &piece->next;
}

// Takes the piece at *link out of the list.
static struct piece * take_out(struct piece ** link) {
    struct piece * piece = *link;
    *link                = piece->next;
    if (waiting_end == &piece->next) waiting_end = link;
    if (urgent_end == &piece->next) urgent_end = link;
    return piece;
}

static struct piece * take_waiting(void) {
    return waiting == NULL ? NULL : take_out(&waiting);
}

// Somebody waits for it now: what was not handed on yet comes before all others.
static void hurry(const struct ggs_arrival * load) {
    for (struct piece ** link = urgent_end; *link != NULL;) {
        if ((*link)->load != load) {
            link = &(*link)->next;
            continue;
        }
        bool next_to_it = link == urgent_end;
        insert_urgent(take_out(link));
        if (next_to_it) link = urgent_end;
    }
}

// What a read gave: true if the piece is finished, false if its rest has to be read.
static bool take_result(struct piece * piece, int result) {
    bool again = result == -EAGAIN || result == -EINTR;
    if (result > 0 && (size_t) result < piece->needed && result % 512 == 0) {
        piece->offset += (uint64_t) result;
        piece->to += result;
        piece->bytes -= (size_t) result;
        piece->needed -= (size_t) result;
        again = true;
    }
    if (again && piece->retries++ < MOST_RETRIES) return false;
    finish(piece, result >= 0 && (size_t) result >= piece->needed);
    return true;
}

// ---- io_uring ----

static struct {
    int                   fd;
    uint32_t *            sq_head, *sq_tail, *sq_mask, *sq_array, *sq_flags;
    uint32_t *            cq_head, *cq_tail, *cq_mask;
    struct io_uring_sqe * sqes;
    struct io_uring_cqe * cqes;
    uint32_t              unsubmitted;
} ring = {.fd = -1};

static int enter(uint32_t submit, uint32_t wait, uint32_t flags) {
    return (int) syscall(SYS_io_uring_enter, ring.fd, submit, wait, flags, NULL, 0);
}

static bool uring_start(void) {
    // Completions are taken note of when the thread that asked enters the kernel anyway, instead of interrupting it.
    static const uint32_t  flags[] = {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, 0};
    struct io_uring_params params  = {0};
    for (size_t i = 0; i < 2 && ring.fd < 0; i++) {
        params  = (struct io_uring_params){.flags = flags[i] | IORING_SETUP_CQSIZE, .cq_entries = 2 * ENTRIES};
        ring.fd = (int) syscall(SYS_io_uring_setup, ENTRIES, &params);
    }
    if (ring.fd < 0) return false;
    size_t sq_bytes = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
    size_t cq_bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    int    how      = MAP_SHARED | MAP_POPULATE;
    char * sq       = mmap(NULL, sq_bytes, PROT_READ | PROT_WRITE, how, ring.fd, IORING_OFF_SQ_RING);
    char * cq       = mmap(NULL, cq_bytes, PROT_READ | PROT_WRITE, how, ring.fd, IORING_OFF_CQ_RING);
    char * sqes     = mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, how, ring.fd,
                           IORING_OFF_SQES);
    if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED) {
        close(ring.fd);
        ring.fd = -1;
        return false;
    }
    ring.sq_head  = (uint32_t *) (sq + params.sq_off.head);
    ring.sq_tail  = (uint32_t *) (sq + params.sq_off.tail);
    ring.sq_mask  = (uint32_t *) (sq + params.sq_off.ring_mask);
    ring.sq_array = (uint32_t *) (sq + params.sq_off.array);
    ring.sq_flags = (uint32_t *) (sq + params.sq_off.flags);
    ring.cq_head  = (uint32_t *) (cq + params.cq_off.head);
    ring.cq_tail  = (uint32_t *) (cq + params.cq_off.tail);
    ring.cq_mask  = (uint32_t *) (cq + params.cq_off.ring_mask);
    ring.cqes     = (struct io_uring_cqe *) (cq + params.cq_off.cqes);
    ring.sqes     = (struct io_uring_sqe *) sqes;
    return true;
}

static void uring_push(struct piece * piece) {
    uint32_t              tail = *ring.sq_tail, at = tail & *ring.sq_mask;
    struct io_uring_sqe * sqe = &ring.sqes[at];
    memset(sqe, 0, sizeof(*sqe));
    sqe->opcode       = IORING_OP_READ;
    sqe->fd           = piece->fd;
    sqe->off          = piece->offset;
    sqe->addr         = (uint64_t) piece->to;
    sqe->len          = (uint32_t) piece->bytes;
    sqe->user_data    = (uint64_t) piece;
    ring.sq_array[at] = at;
    __atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
    ring.unsubmitted++;
    in_flight++;
}

static void uring_submit(void) {
    while (waiting != NULL && ring.unsubmitted < ENTRIES && in_flight < ENTRIES) uring_push(take_waiting());
    for (int i = 0; i < 3 && ring.unsubmitted > 0; i++) {
        int n = enter(ring.unsubmitted, 0, 0);
        if (n > 0) ring.unsubmitted -= (uint32_t) n;
        if (n < 0 && errno != EINTR) break; // busy: the next call tries again
    }
}

static void uring_reap(void) {
    uint32_t head = *ring.cq_head;
    uint32_t tail = __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE);
    for (; head != tail; head++) {
        struct io_uring_cqe * cqe   = &ring.cqes[head & *ring.cq_mask];
        struct piece *        piece = (struct piece *) cqe->user_data;
        in_flight--;
        if (!take_result(piece, cqe->res)) append_waiting(piece);
    }
    __atomic_store_n(ring.cq_head, head, __ATOMIC_RELEASE);
}

static void uring_poll(void) {
    uint32_t flags = __atomic_load_n(ring.sq_flags, __ATOMIC_RELAXED);
    if (flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) enter(0, 0, IORING_ENTER_GETEVENTS);
    uring_reap();
    if (waiting != NULL || ring.unsubmitted > 0) uring_submit();
}

static void uring_sleep(void) {
    uring_submit();
    if (*ring.cq_head == __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) && in_flight > 0)
        enter(0, 1, IORING_ENTER_GETEVENTS);
    uring_reap();
}

// ---- threads ----

static struct {
    pthread_mutex_t lock;
    pthread_cond_t  asked, done;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};

// A thread that reads works for some microseconds at a time, beside threads that compute without a pause. One that asks for short turns gets them sooner: a kernel since 6.12 does so, others
// let it be. Measured where the processors are busy and the disk nearly is (640 MiB in 627, two cores): 30 instead of 39 ms per token.
static void take_short_turns(void) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t  nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } turns = {.size = 0};
    if (syscall(SYS_sched_getattr, 0, &turns, sizeof(turns), 0) != 0 || turns.policy != SCHED_OTHER) return;
    turns.runtime = TURN_NS;
    syscall(SYS_sched_setattr, 0, &turns, 0);
}

static void * work(void * unused_argument) {
    (void) unused_argument;
    take_short_turns();
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        struct piece * piece = take_waiting();
        if (piece == NULL) {
            pthread_cond_wait(&pool.asked, &pool.lock);
            continue;
        }
        bool finished = false;
        while (!finished) {
            pthread_mutex_unlock(&pool.lock);
            ggs_memory_touch(piece->to, piece->bytes);
            ssize_t n      = pread(piece->fd, piece->to, piece->bytes, (off_t) piece->offset);
            int     result = n < 0 ? -errno : (int) n;
            pthread_mutex_lock(&pool.lock);
            finished = take_result(piece, result);
        }
        in_flight--;
        pthread_cond_signal(&pool.done);
    }
    return NULL;
}

static bool threads_start(void) {
    sigset_t all, before; // the host's signals are none of theirs
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int started = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) == 0) {
            pthread_detach(thread);
            started++;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started > 0;
}

// ---- either ----

enum ggs_reader_kind ggs_reader_start(const char * wanted) {
    if (kind != GGS_READER_NONE) return kind;
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i].next = unused;
        unused         = &pieces[i];
    }
    if ((wanted == NULL || strcmp(wanted, "threads") == 0) && threads_start()) kind = GGS_READER_THREADS;
    if (kind == GGS_READER_NONE && (wanted == NULL || strcmp(wanted, "uring") == 0) && uring_start())
        kind = GGS_READER_URING;
    return kind;
}

uint32_t ggs_reader_depth(void) {
    return kind == GGS_READER_URING ? ENTRIES : THREADS;
}

void ggs_reader_set_piece(uint32_t bytes) {
    most = bytes;
}

static struct piece * take_unused(void) {
    if (kind == GGS_READER_THREADS) pthread_mutex_lock(&pool.lock);
    while (unused == NULL) {
        if (kind == GGS_READER_THREADS) {
            pthread_cond_wait(&pool.done, &pool.lock);
        } else {
            uring_sleep();
        }
    }
    struct piece * piece = unused;
    unused               = piece->next;
    if (kind == GGS_READER_THREADS) pthread_mutex_unlock(&pool.lock);
    return piece;
}

void ggs_reader_ask(struct ggs_arrival * load, int fd, uint64_t offset, size_t bytes, size_t needed, void * to,
                    bool urgent) {
    for (size_t at = 0; at < bytes; at += most) {
        size_t         size  = bytes - at < most ? bytes - at : most;
        size_t         must  = needed <= at ? 0 : needed - at < size ? needed - at : size;
        struct piece * piece = take_unused();
        *piece               = (struct piece){
                          .load = load, .fd = fd, .offset = offset + at, .bytes = size, .needed = must, .to = (char *) to + at};
        __atomic_add_fetch(&load->pending, 1, __ATOMIC_RELAXED);
        if (kind == GGS_READER_THREADS) {
            pthread_mutex_lock(&pool.lock);
            (urgent ? insert_urgent : append_waiting)(piece);
            in_flight++;
            pthread_cond_signal(&pool.asked);
            pthread_mutex_unlock(&pool.lock);
        } else {
            (urgent ? insert_urgent : append_waiting)(piece);
        }
    }
}

void ggs_reader_submit(void) {
    if (kind == GGS_READER_URING) uring_submit();
}

void ggs_reader_poll(void) {
    if (kind == GGS_READER_URING) uring_poll();
}

static bool nearly_done(const struct ggs_arrival * load) {
    return __atomic_load_n(&load->pending, __ATOMIC_ACQUIRE) == 1;
}

bool ggs_reader_wait(struct ggs_arrival * load, void (*soon)(void)) {
    ggs_reader_poll();
    if (ggs_arrival_done(load)) return false;
    if (nearly_done(load)) soon = NULL; // they have only just begun to wait
    if (kind == GGS_READER_URING) {
        hurry(load);
        while (!ggs_arrival_done(load)) {
            uring_sleep();
            if (soon != NULL && nearly_done(load)) soon(), soon = NULL;
        }
    } else {
        pthread_mutex_lock(&pool.lock);
        hurry(load);
        while (!ggs_arrival_done(load)) {
            pthread_cond_wait(&pool.done, &pool.lock);
            if (soon != NULL && nearly_done(load)) soon(), soon = NULL;
        }
        pthread_mutex_unlock(&pool.lock);
    }
    return true;
}

void ggs_reader_drain(void) {
    if (kind == GGS_READER_URING) {
        while (in_flight > 0 || waiting != NULL || ring.unsubmitted > 0) uring_sleep();
    } else if (kind == GGS_READER_THREADS) {
        pthread_mutex_lock(&pool.lock);
        while (in_flight > 0) pthread_cond_wait(&pool.done, &pool.lock);
        pthread_mutex_unlock(&pool.lock);
    }
}
