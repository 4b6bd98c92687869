// A world for struct ggs_stream: a model file that lies in memory too, graphs over it, an engine
// that runs them and compares every byte that an op is given with the model, a disk that can be
// made bad, memory that can be taken away.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "preload/ggml-abi.h"
#include "stream/disk/pool.h"
#include "stream/stream.h"

enum {
    WORLD_LAYERS  = 12,
    WORLD_EXPERTS = 64,
    WORLD_TOKENS  = 64,
    WORLD_DENSE   = 4,
    WORLD_THREADS = 4,
    WORLD_RESERVE = 256 << 10
};

// ---- random numbers ----

struct random {
    uint64_t state;
};
uint64_t random_next(struct random * random);
uint64_t random_below(struct random * random, uint64_t n);
bool     random_chance(struct random * random, double chance);

// ---- the model ----

struct shape {
    uint32_t layers, dense; // dense weights of each layer
    uint32_t experts, used; // 0 experts: none
    uint32_t inputs, expert_rows;
    bool     uneven;  // experts that are no multiple of a block
    bool     doubled; // experts of a layer are used twice in a row, with choices of their own
    bool     looped;  // graphs go through their layers twice
    bool     mended;  // ids are changed in place after they were made
};

struct layer {
    struct abi_tensor dense[WORLD_DENSE], router, experts[3]; // gate, up, down
};

struct model {
    struct shape      shape;
    char              path[128];
    int               fd;
    uint64_t          size;
    char *            image; // what the file holds
    char *            mapped;
    struct layer      layers[WORLD_LAYERS];
    struct abi_tensor table, output; // embeddings, of which single rows are read
    char              room[16];      // a tensor of the engine has more behind its name
};

// A file below the current folder, filled with what is nowhere else in it. False, with errno, if
// direct reads of it are not possible.
bool model_make(struct model * model, const struct shape * shape, uint64_t seed);
void model_map(struct model * model, struct ggs_stream * stream);
void model_unmap(struct model * model, struct ggs_stream * stream);
void model_remove(struct model * model);

extern const struct abi_functions fake_engine;

// ---- graphs and the engine that runs them ----

// WORLD_CHOICES: of experts, in one graph; those of layer i are number i and, where a layer comes
// twice, i + layers.
enum { WORLD_NODES = WORLD_LAYERS * 24 + 8, WORLD_CHOICES = 2 * WORLD_LAYERS };

struct graph {
    const struct model *      model;
    struct abi_graph          graph;
    struct abi_tensor *       nodes[WORLD_NODES];
    struct abi_tensor         tensors[WORLD_NODES];
    const struct abi_tensor * weights[WORLD_NODES]; // by node, NULL: it reads none as a whole or by experts
    uint32_t                  choices[WORLD_NODES];
    struct abi_tensor         inputs[WORLD_CHOICES]; // what the routers see
    uint32_t                  n, n_tokens;
    float *                   hidden[WORLD_CHOICES];
    int32_t *                 ids[WORLD_CHOICES];    // as the engine knows them
    int32_t *                 chosen[WORLD_CHOICES]; // as they will be
    char                      room[16];
};

// A graph of layers [first, end) with so many tokens; the output behind the last.
void graph_make(struct graph * graph, const struct model * model, uint32_t first, uint32_t end, uint32_t n_tokens);
void graph_release(struct graph * graph);

// Chooses experts anew: some more often than others.
void graph_choose(struct graph * graph, struct random * random);

// Runs it with so many threads, streamed if the stream wants to. Fails the test where a byte is
// wrong or a source is not put back. Returns whether it was streamed.
bool graph_run(struct graph * graph, struct ggs_stream * stream, uint32_t n_threads);

// ---- the disk ----

// What happens to reads, by chance. Of all threads; set while nothing is read.
struct faults {
    uint64_t seed;
    double   fail, shorten, interrupt, delay, hang, corrupt; // chances
    uint32_t delay_us, hang_ms;
    uint64_t fail_begin, fail_end; // bytes of the file whose reads always fail
};
extern struct faults faults;
ssize_t              faulty_read(int fd, const struct iovec * parts, int n, off_t offset);
// The file that faulty_read reads.
void faulty_file(const struct model * model);

// A disk whose reads are done when the test says so.
struct held_disk {
    struct ggs_disk        disk;
    pthread_mutex_t        lock;
    struct ggs_disk_read * reads[4096];
    enum ggs_urgency       urgencies[4096];
    uint32_t               n;
    bool                   refuses; // cancels come too late
};
void held_disk_init(struct held_disk * disk);

// A thread that finishes what is held, until it is told to end: `verdict` says of a read 1 (done),
// 0 (failed), -1 (stays).
struct pump {
    struct held_disk * disk;
    int (*verdict)(const struct ggs_disk_read * read, enum ggs_urgency urgency);
    pthread_t thread;
    bool      ending;
};
void pump_start(struct pump * pump, struct held_disk * disk,
                int (*verdict)(const struct ggs_disk_read * read, enum ggs_urgency urgency));
void pump_end(struct pump * pump);
// The oldest read that touches byte `offset` of the file, or any if it is UINT64_MAX. False if
// there is none.
bool held_disk_finish(struct held_disk * disk, uint64_t offset, bool ok);
// Until nothing is held.
void held_disk_finish_all(struct held_disk * disk);

// ---- memory ----

struct fake_memory {
    struct ggs_memory          memory;
    struct ggs_kernel_memory * kernel;       // for pages
    uint64_t                   limit, taken; // taken: by others
    double                     stalled;
    bool                       refuses_pages, refuses_moves;
    pthread_mutex_t            lock; // of what follows
    struct iovec               parts[1024];
    uint32_t                   n_parts;
    uint64_t                   committed;
};
void fake_memory_init(struct fake_memory * memory, uint64_t limit);
void fake_memory_release(struct fake_memory * memory);

// ---- all of it ----

struct world {
    struct ggs_pool *   pool;
    struct held_disk    held;
    struct fake_memory  memory;
    struct ggs_stream * stream;
    char                said[4096]; // all lines
};

// Nanoseconds; it goes 500 times as fast as others.
uint64_t world_clock(void);

// The limit that leaves `share` of the model to its weights.
uint64_t limit_for(const struct model * model, double share);

// A stream with a pool of threads and faulty reads, or (`held`) with a held disk. Its lines go to
// the last world that was made.
void world_make(struct world * world, const struct ggs_stream_settings * settings, uint64_t limit, bool held);
void world_end(struct world * world);

// True if each expert with a slot is in that one and in no other.
bool slots_are_sound(struct world * world);
