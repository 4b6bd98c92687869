#include "trace/values/weight-file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "trace/values/block-floats.h"
#include "trace/values/row-summary.h"

enum {
    CHUNK        = 16, // pieces that are read at once, at most 256 KiB
    MOST_THREADS = 16,
    THREAD_WORTH = 64, // pieces: fewer are not worth a thread
};

// A row that is being read by several threads.
struct work {
    int                           fd;
    uint64_t                      offset, elements;
    const struct ggs_block_type * type;
    struct ggs_values_sum *       sums; // of pieces
    uint32_t                      pieces;
    uint32_t                      next;   // first piece that no thread has taken
    bool                          failed; // a read was short, or no memory
};

static uint64_t bytes_of(const struct ggs_block_type * type, uint64_t elements) {
    return elements / type->block * type->bytes;
}

static bool read_bytes(int fd, uint8_t * to, uint64_t bytes, uint64_t offset) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, to + done, bytes - done, (off_t) (offset + done));
        if (n <= 0) return false;
        done += (uint64_t) n;
    }
    return true;
}

static bool read_chunk(struct work * work, uint8_t * bytes, uint32_t first) {
    uint64_t at = (uint64_t) first * GGS_VALUES_PIECE, n = work->elements - at;
    float    floats[GGS_VALUES_PIECE];
    if (n > (uint64_t) CHUNK * GGS_VALUES_PIECE) n = (uint64_t) CHUNK * GGS_VALUES_PIECE;
    if (!read_bytes(work->fd, bytes, bytes_of(work->type, n), work->offset + bytes_of(work->type, at))) return false;
    for (uint64_t done = 0; done < n; done += GGS_VALUES_PIECE) {
        uint32_t size = n - done < GGS_VALUES_PIECE ? (uint32_t) (n - done) : GGS_VALUES_PIECE;
        work->type->to_float(bytes + bytes_of(work->type, done), floats, size);
        ggs_values_sum(&work->sums[first + done / GGS_VALUES_PIECE], floats, size, at + done);
    }
    return true;
}

static void * read_chunks(void * context) {
    struct work * work  = context;
    uint8_t *     bytes = malloc(bytes_of(work->type, (uint64_t) CHUNK * GGS_VALUES_PIECE));
    bool          good  = bytes != NULL;
    uint32_t      first;
    while (good && (first = __atomic_fetch_add(&work->next, CHUNK, __ATOMIC_RELAXED)) < work->pieces)
        good = read_chunk(work, bytes, first);
    if (!good) __atomic_store_n(&work->failed, true, __ATOMIC_RELAXED);
    free(bytes);
    return NULL;
}

static unsigned count_threads(uint32_t pieces) {
    cpu_set_t cores;
    unsigned  n     = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? (unsigned) CPU_COUNT(&cores) : 1;
    unsigned  worth = pieces / THREAD_WORTH + 1;
    n               = n < worth ? n : worth;
    return n < MOST_THREADS ? n : MOST_THREADS;
}

static bool read_row(struct work * work, struct ggs_spool_value * out, uint32_t token) {
    pthread_t threads[MOST_THREADS];
    unsigned  n = 0, wanted = count_threads(work->pieces) - 1;
    work->next = 0;
    while (n < wanted && pthread_create(&threads[n], NULL, read_chunks, work) == 0) n++;
    read_chunks(work);
    for (unsigned i = 0; i < n; i++) pthread_join(threads[i], NULL);
    if (work->failed) return false;
    for (uint32_t i = 1; i < work->pieces; i++) ggs_values_join(&work->sums[0], &work->sums[i]);
    ggs_values_finish(&work->sums[0], token, out);
    return true;
}

static bool is_same_file(int fd, const struct ggs_spool_weight_file * file) {
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_dev == file->device &&
           info.st_ino == file->inode && (uint64_t) info.st_size == file->size &&
           info.st_mtim.tv_sec * INT64_C(1000000000) + info.st_mtim.tv_nsec == file->mtime_ns;
}

// False if the rows are not within the file. The elements are numbered in 32 bits.
static bool is_within(const struct ggs_spool_weight * unit, const struct ggs_spool_weight_file * file,
                      const struct ggs_block_type * type) {
    uint64_t bytes, end;
    return unit->elements > 0 && unit->elements <= UINT32_MAX && unit->elements % type->block == 0 &&
           ggs_mul(bytes_of(type, unit->elements), unit->rows, &bytes) && ggs_add(file->offset, bytes, &end) &&
           end <= file->size;
}

static bool read_rows(struct work * work, const struct ggs_spool_weight * unit, struct ggs_spool_value * out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ggs_values_kernel_begin);
    work->elements = unit->elements;
    work->pieces   = (uint32_t) ((unit->elements + GGS_VALUES_PIECE - 1) / GGS_VALUES_PIECE);
    work->sums     = calloc(work->pieces, sizeof(*work->sums));
    bool good      = work->sums != NULL;
    for (uint32_t row = 0; good && row < unit->rows; row++) {
        good = read_row(work, &out[row], unit->rows > 1 ? row : GGS_VALUE_NO_TOKEN);
        work->offset += bytes_of(work->type, unit->elements);
    }
    free(work->sums);
    return good;
}

bool ggs_weight_file_read(const struct ggs_spool_weight * unit, const void * payload, struct ggs_spool_value * out) {
    struct ggs_spool_weight_file file;
    const char *                 path = (const char *) payload + sizeof(file);
    struct work                  work = {.type = ggs_block_type(unit->format)};
    if (unit->bytes <= sizeof(file) || path[unit->bytes - sizeof(file) - 1] != '\0' || work.type == NULL) return false;
    memcpy(&file, payload, sizeof(file));
    work.offset = file.offset;
    work.fd     = is_within(unit, &file, work.type) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (work.fd < 0) return false;
    // Compared again at the end: it may be changed meanwhile.
    bool good = is_same_file(work.fd, &file) && read_rows(&work, unit, out) && is_same_file(work.fd, &file);
    close(work.fd);
    return good;
}
