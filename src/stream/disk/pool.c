#include "stream/disk/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream/turns.h"

enum { MOST_PARTS = 16, MOST_INTERRUPTIONS = 100, HUGE_PAGE = 2 << 20 };

struct ggs_pool {
    struct ggs_disk         disk; // must be first: a pool is cast to its disk
    struct ggs_pool_options options;
    pthread_mutex_t         lock; // protects everything below, and the disk's members of reads
    pthread_cond_t          asked;
    struct {
        struct ggs_disk_read *first, *last;
    } queues[GGS_URGENCIES]; // reads with a piece left to begin, in order of submission
    size_t    piece;
    char *    buffers; // GGS_READ_PIECE bytes for each thread, once a read needs one; NULL: none
    size_t    buffers_bytes;
    uint32_t  n_threads, most_threads;
    uint32_t  n_working; // threads that have begun
    bool      ending;
    pthread_t threads[];
};

// ---- queues ----

static void enqueue(struct ggs_pool * pool, struct ggs_disk_read * read, enum ggs_urgency urgency) {
    read->urgency = urgency;
    read->next    = NULL;
    read->before  = pool->queues[urgency].last;
    if (read->before == NULL) {
        pool->queues[urgency].first = read;
    } else {
        read->before->next = read;
    }
    pool->queues[urgency].last = read;
}

static void dequeue(struct ggs_pool * pool, struct ggs_disk_read * read) {
    if (read->before == NULL) {
        pool->queues[read->urgency].first = read->next;
    } else {
        read->before->next = read->next;
    }
    if (read->next == NULL) {
        pool->queues[read->urgency].last = read->before;
    } else {
        read->next->before = read->before;
    }
}

static bool is_queued(const struct ggs_disk_read * read) {
    return read->begun < read->bytes;
}

static void submit(struct ggs_disk * disk, struct ggs_disk_read * read, enum ggs_urgency urgency) {
    struct ggs_pool * pool = (struct ggs_pool *) disk;
    pthread_mutex_lock(&pool->lock);
    read->begun     = 0;
    read->under_way = 0;
    read->failed    = false;
    size_t pieces   = (read->bytes + pool->piece - 1) / pool->piece;
    enqueue(pool, read, urgency);
    for (size_t i = 0; i < pieces && i < pool->n_threads; i++) pthread_cond_signal(&pool->asked);
    pthread_mutex_unlock(&pool->lock);
}

static void hurry(struct ggs_disk * disk, struct ggs_disk_read * read, enum ggs_urgency urgency) {
    struct ggs_pool * pool = (struct ggs_pool *) disk;
    pthread_mutex_lock(&pool->lock);
    if (is_queued(read) && read->urgency < urgency) {
        dequeue(pool, read);
        enqueue(pool, read, urgency);
    }
    pthread_mutex_unlock(&pool->lock);
}

static bool cancel(struct ggs_disk * disk, struct ggs_disk_read * read) {
    struct ggs_pool * pool = (struct ggs_pool *) disk;
    pthread_mutex_lock(&pool->lock);
    bool gone = false;
    if (is_queued(read)) {
        dequeue(pool, read);
        read->begun  = read->bytes;
        read->failed = true;
        gone         = read->under_way == 0;
    }
    pthread_mutex_unlock(&pool->lock);
    return gone;
}

// ---- requests ----

// What a thread reads at a time: a piece of a read, or several reads that are adjacent in the file.
struct request {
    struct ggs_disk_read * reads[MOST_PARTS];
    struct iovec           parts[MOST_PARTS];
    size_t                 shared[MOST_PARTS]; // bytes that a part shares with the end of the previous one
    size_t                 needed;             // over all parts
    int                    n, fd;
    uint64_t               offset;
    char *                 buffer; // where it is read first, NULL: in place
};

// Adds the next piece of a read, whose first `shared` bytes are already in the request.
static size_t add_piece(struct ggs_pool * pool, struct request * r, struct ggs_disk_read * read, size_t shared,
                        size_t most) {
    size_t at = read->begun, size = read->bytes - at < most ? read->bytes - at : most;
    if (read->begun + size == read->bytes) dequeue(pool, read);
    read->begun += size;
    read->under_way++;
    r->reads[r->n]  = read;
    r->shared[r->n] = shared;
    r->parts[r->n]  = (struct iovec){read->to + at + shared, size - shared};
    r->n++;
    size_t end = read->offset + at + size - r->offset, must = read->offset + read->needed - r->offset;
    r->needed = must < end ? must : end;
    return size;
}

// Finds the read that begins where the request ends or shares its last block: experts are not
// aligned to blocks.
static struct ggs_disk_read * find_neighbour(struct ggs_pool * pool, const struct request * r, uint64_t end,
                                             enum ggs_urgency urgency, size_t room) {
    struct ggs_disk_read * next = pool->queues[urgency].first;
    if (next == NULL || next->fd != r->fd || next->begun > 0 || next->bytes > room || next->offset > end) return NULL;
    uint64_t shared = end - next->offset;
    bool     near   = shared <= GGS_READ_ALIGNMENT && shared < next->bytes && shared <= r->parts[r->n - 1].iov_len;
    return near ? next : NULL;
}

// Returns the buffer of a thread; NULL if memory is out.
static char * buffer_of(struct ggs_pool * pool, uint32_t thread) {
    if (pool->buffers == NULL) {
        size_t bytes = (size_t) pool->most_threads * GGS_READ_PIECE + HUGE_PAGE;
        void * at    = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) return NULL;
        madvise(at, bytes, MADV_HUGEPAGE);
        madvise(at, bytes, MADV_DONTFORK);
        pool->buffers       = at;
        pool->buffers_bytes = bytes;
    }
    uintptr_t first = ((uintptr_t) pool->buffers + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    return (char *) first + (size_t) thread * GGS_READ_PIECE;
}

static bool take_request(struct ggs_pool * pool, struct request * r, uint32_t thread) {
    int urgency = GGS_URGENCIES - 1;
    while (urgency >= 0 && pool->queues[urgency].first == NULL) urgency--;
    if (urgency < 0) return false;
    struct ggs_disk_read * read = pool->queues[urgency].first;
    *r                          = (struct request){.fd = read->fd, .offset = read->offset + read->begun};
    size_t size                 = add_piece(pool, r, read, 0, pool->piece);
    while (r->n < MOST_PARTS && size < pool->piece && !is_queued(r->reads[r->n - 1])) {
        uint64_t               end  = r->offset + size;
        struct ggs_disk_read * next = find_neighbour(pool, r, end, (enum ggs_urgency) urgency, pool->piece - size);
        if (next == NULL) break;
        size_t shared = (size_t) (end - next->offset);
        size += add_piece(pool, r, next, shared, next->bytes) - shared;
    }
    if (read->buffered) r->buffer = buffer_of(pool, thread);
    return true;
}

static size_t bytes_of(const struct request * r) {
    size_t bytes = 0;
    for (int i = 0; i < r->n; i++) bytes += r->parts[i].iov_len;
    return bytes;
}

// Lists where to read what is behind the first `bytes` of the request.
static int rest_of(const struct request * r, size_t bytes, struct iovec * rest) {
    int n = 0;
    if (r->buffer != NULL) {
        rest[0] = (struct iovec){r->buffer + bytes, bytes_of(r) - bytes};
        return 1;
    }
    for (int i = 0; i < r->n; i++) {
        size_t skip = bytes < r->parts[i].iov_len ? bytes : r->parts[i].iov_len;
        bytes -= skip;
        if (skip == r->parts[i].iov_len) continue;
        rest[n++] = (struct iovec){(char *) r->parts[i].iov_base + skip, r->parts[i].iov_len - skip};
    }
    return n;
}

// Copies the first `bytes` of the request from the buffer to their places.
static void unload(const struct request * r, size_t bytes) {
    const char * from = r->buffer;
    for (int i = 0; i < r->n && bytes > 0; i++) {
        size_t some = bytes < r->parts[i].iov_len ? bytes : r->parts[i].iov_len;
        memcpy(r->parts[i].iov_base, from, some);
        from += some;
        bytes -= some;
    }
}

// Reads everything, even if the kernel returns short reads. A direct read continues at a block
// boundary.
static bool carry_out(const struct ggs_pool * pool, const struct request * r) {
    const struct ggs_pool_options * o             = &pool->options;
    size_t                          done          = 0;
    int                             interruptions = 0;
    for (int i = 0; i < r->n && o->touch != NULL; i++)
        o->touch(o->touch_context, r->parts[i].iov_base, r->parts[i].iov_len);
    while (done < r->needed) {
        struct iovec rest[MOST_PARTS];
        int          n   = rest_of(r, done, rest);
        ssize_t      got = o->read(r->fd, rest, n, (off_t) (r->offset + done));
        if (got < 0 && (errno == EINTR || errno == EAGAIN) && interruptions++ < MOST_INTERRUPTIONS) continue;
        if (got <= 0) return false;
        done += (size_t) got;
        if (done >= r->needed) break;
        size_t aligned = done / GGS_READ_ALIGNMENT * GGS_READ_ALIGNMENT;
        if (aligned > done - (size_t) got) done = aligned;
        if (done % 512 != 0) return false; // the kernel would refuse it
    }
    if (r->buffer != NULL) unload(r, r->needed);
    // Bytes shared by two parts were read once, into the first.
    for (int i = 1; i < r->n; i++) {
        const char * end = (const char *) r->parts[i - 1].iov_base + r->parts[i - 1].iov_len;
        memcpy((char *) r->parts[i].iov_base - r->shared[i], end - r->shared[i], r->shared[i]);
    }
    return true;
}

static void finish(struct ggs_pool * pool, const struct request * r, bool ok) {
    bool done[MOST_PARTS];
    pthread_mutex_lock(&pool->lock);
    for (int i = 0; i < r->n; i++) {
        struct ggs_disk_read * read = r->reads[i];
        if (!ok && is_queued(read)) { // its rest is useless
            dequeue(pool, read);
            read->begun = read->bytes;
        }
        read->failed |= !ok;
        done[i] = --read->under_way == 0 && !is_queued(read);
    }
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < r->n; i++) {
        if (done[i]) r->reads[i]->done(r->reads[i], !r->reads[i]->failed);
    }
}

// ---- threads ----

static void * work(void * argument) {
    struct ggs_pool * pool = argument;
    struct request    request;
    ggs_turns_short();
    pthread_mutex_lock(&pool->lock);
    uint32_t thread = pool->n_working++;
    while (!pool->ending) {
        if (!take_request(pool, &request, thread)) {
            pthread_cond_wait(&pool->asked, &pool->lock);
            continue;
        }
        pthread_mutex_unlock(&pool->lock);
        finish(pool, &request, carry_out(pool, &request));
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static ssize_t read_file(int fd, const struct iovec * parts, int n, off_t offset) {
    return n == 1 ? pread(fd, parts->iov_base, parts->iov_len, offset) : preadv(fd, parts, n, offset);
}

static bool start(struct ggs_disk * disk) {
    struct ggs_pool * pool = (struct ggs_pool *) disk;
    sigset_t          all, before; // these threads must not handle the host's signals
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&pool->lock);
    while (pool->n_threads < pool->most_threads &&
           pthread_create(&pool->threads[pool->n_threads], NULL, work, pool) == 0)
        pool->n_threads++;
    bool ok = pool->n_threads > 0;
    pthread_mutex_unlock(&pool->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

struct ggs_pool * ggs_pool_create(const struct ggs_pool_options * options) {
    uint32_t          n    = options->threads == 0 ? GGS_READ_THREADS : options->threads;
    struct ggs_pool * pool = calloc(1, sizeof(*pool) + n * sizeof(pool->threads[0]));
    if (pool == NULL) return NULL;
    pool->disk         = (struct ggs_disk){start, submit, hurry, cancel};
    pool->options      = *options;
    pool->piece        = GGS_READ_PIECE;
    pool->most_threads = n;
    if (options->read == NULL) pool->options.read = read_file;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->asked, NULL);
    return pool;
}

void ggs_pool_destroy(struct ggs_pool * pool) {
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->asked);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->n_threads; i++) pthread_join(pool->threads[i], NULL);
    for (int i = 0; i < GGS_URGENCIES; i++) {
        while (pool->queues[i].first != NULL) {
            struct ggs_disk_read * read = pool->queues[i].first;
            dequeue(pool, read);
            read->begun = read->bytes;
            read->done(read, false);
        }
    }
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->asked);
    if (pool->buffers != NULL) munmap(pool->buffers, pool->buffers_bytes);
    free(pool);
}

struct ggs_disk * ggs_pool_disk(struct ggs_pool * pool) {
    return &pool->disk;
}

void ggs_pool_set_piece(struct ggs_pool * pool, uint32_t bytes) {
    pthread_mutex_lock(&pool->lock);
    pool->piece = bytes < GGS_READ_PIECE ? bytes : GGS_READ_PIECE;
    pthread_mutex_unlock(&pool->lock);
}
