#include "stream/budget.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/stream-plan.h"
#include "stream/disk/files.h"
#include "stream/experts.h"
#include "stream/memory/limits.h"
#include "stream/memory/memory.h"
#include "stream/memory/watch.h"
#include "stream/queue.h"
#include "stream/routers.h"
#include "stream/stream.h"
#include "stream/weights.h"

enum { MIB = 1 << 20 };

static const uint64_t PATIENCE = 50000000, STALL_PATIENCE = 10000000000u, SETTLED = 1000000000; // ns
static const uint64_t DEAR    = 5000; // a look at memory takes less than a 5000th of the time
static const double   STALLED = 10;   // percent of the time: others need memory more than we do

static double   given_up;              // share of the memory for weights, because of that
static uint64_t divided, most_divided; // memory for weights, now and at most

static uint64_t limit_now(void) {
    uint64_t limit = ggs_memory_limit("/proc", "/sys/fs/cgroup");
    uint64_t given = ggs_stream_settings.budget;
    return given != 0 && given < limit ? given : limit;
}

bool ggs_budget_fits_early(uint64_t model_bytes) {
    uint64_t limit = limit_now();
    return model_bytes + ggs_memory_anonymous() + ggs_stream_reserve(limit) / 2 <= limit;
}

// Has the process come, or will this graph bring it, so near to the limit that weights have to go? Or have others in its group?
static bool is_short(void) {
    uint64_t limit = limit_now(), soon = ggs_memory_untouched() + ggs_stream_reserve(limit) / 2;
    return ggs_memory_anonymous() + soon > limit || ggs_memory_left("/proc", "/sys/fs/cgroup") < soon;
}

// Does everybody wait for memory? Then an eighth of what is left goes back, not more often than the kernel's average is new.
static bool is_stalled(void) {
    static uint64_t looked;
    uint64_t        now = ggs_stream_clock();
    if (looked == 0) looked = now;
    if (now - looked < STALL_PATIENCE) return false;
    looked = now;
    if (given_up > 0.75 || ggs_memory_stalled("/proc", "/sys/fs/cgroup") < STALLED) return false;
    given_up += (1 - given_up) / 8;
    return true;
}

// Was a good part of the memory given back, and nothing more is asked for since? Then what is left is divided evenly again. Or has memory come back
// that others had?
static bool is_settled(uint64_t now) {
    static uint64_t looked;
    if (now - ggs_watch_gave() < SETTLED || now - looked < SETTLED) return false;
    looked = now;
    if (ggs_weights_given() > divided / 8) return true;
    uint64_t reserve = ggs_stream_reserve(limit_now()) + ggs_weights_promised() + ggs_memory_untouched();
    uint64_t left    = divided > most_divided - most_divided / 8 ? 0 : ggs_memory_left("/proc", "/sys/fs/cgroup");
    return left != UINT64_MAX && left > reserve + most_divided / 8;
}

static bool more_come;   // the last run had weights that were not seen before, and was a small part of the model
static char untold[512]; // what was decided meanwhile

static void tell(void) {
    if (untold[0] != '\0' && !ggs_stream_settings.quiet) ggs_stream_say("%s", untold);
    untold[0] = '\0';
}

// Between layers that a device computes, each layer's experts come in a run of their own. When all of them are known, their routers are looked for, and what was decided is told.
static bool is_complete(void) {
    more_come = false;
    if (ggs_routers_find()) return true;
    tell();
    return false;
}

bool ggs_budget_due(bool grown, bool piece, uint64_t used) {
    static uint64_t seen, looked;
    uint64_t        total = ggs_weights_total();
    bool            more = total != seen, came = more_come;
    seen      = total;
    more_come = more && used < ggs_files_total() / 2;
    if (ggs_weights_new() > 0 && !(piece && more)) return true;
    if (came && !more && is_complete()) return true;
    uint64_t now = ggs_stream_clock();
    if (!grown && now - looked < PATIENCE) return false;
    looked = now;
    return is_short() || is_stalled() || is_settled(now);
}

static uint64_t next_look; // whether a model that fits still does

static uint64_t coarse_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

bool ggs_budget_is_time(void) {
    return coarse_clock() >= __atomic_load_n(&next_look, __ATOMIC_RELAXED);
}

// The next look comes in a second, or later where this one took so long that it would be felt.
static void plan_look(uint64_t took) {
    uint64_t patience = took * DEAR < SETTLED ? SETTLED : took * DEAR;
    __atomic_store_n(&next_look, ggs_stream_sizes.too_little ? UINT64_MAX : coarse_clock() + patience,
                     __ATOMIC_RELAXED);
}

// What the model needs in memory: the weights that graphs use, where that is nearly all of it, without the rows of its embedding table. Else all of it: parts of it may not have been seen.
static uint64_t needed(void) {
    uint64_t files = ggs_files_total(), used = ggs_weights_total();
    return used > files - files / 8 && used < files ? used : files;
}

bool ggs_budget_outgrown(void) {
    uint64_t began = ggs_stream_clock(), limit = limit_now(), left = ggs_memory_left("/proc", "/sys/fs/cgroup");
    bool     outgrown = left < limit && needed() > left;
    ggs_stream_counts.looks++;
    plan_look(ggs_stream_clock() - began);
    return outgrown;
}

// Nothing is streamed, until memory becomes short or another model is mapped.
static void leave_alone(void) {
    plan_look(0);
    __atomic_store_n(&ggs_stream_state, GGS_STREAM_PASSIVE, __ATOMIC_RELAXED);
}

static void size_text(char * text, size_t size, uint64_t bytes) {
    if (bytes >= 10 * 1024 * (uint64_t) MIB) {
        snprintf(text, size, "%.1f GiB", (double) bytes / (1024.0 * MIB));
    } else {
        snprintf(text, size, "%.0f MiB", (double) bytes / MIB);
    }
}

// What reading from this disk is like, once: how much at a time, and whether it has time for guesses.
static void look_at_disk(uint64_t room) {
    static bool                    looked;
    const struct ggs_stream_file * file = ggs_files_largest();
    if (looked || file == NULL || room < 2 * GGS_DISK_MEMORY) return;
    looked = true;
    if (!ggs_disk_know(file->direct, file->size, &ggs_stream_disk)) return;
    ggs_reader_set_piece(ggs_stream_disk.piece);
    ggs_experts_note_disk(ggs_stream_disk.random);
}

bool ggs_budget_decide(void) {
    ggs_weights_drop();
    ggs_queue_resize(0);
    uint64_t limit = limit_now(), engine = ggs_memory_anonymous();
    uint64_t model = ggs_files_total(), left = ggs_memory_left("/proc", "/sys/fs/cgroup"), ring = 0;
    if (left < limit && limit - left > engine) engine = limit - left; // others in the group, and the kernel for it
    engine += ggs_memory_untouched();
    char a[32], b[32], c[32], d[96] = "not measured";
    ggs_stream_sizes        = (struct ggs_weights_sizes){0};
    ggs_stream_sizes.limit  = limit;
    ggs_stream_sizes.engine = engine;
    size_text(a, sizeof(a), model);
    size_text(b, sizeof(b), limit);
    size_text(c, sizeof(c), engine);
    if (needed() + engine + ggs_stream_reserve(limit) / 4 <= limit) {
        leave_alone();
        if (ggs_files_catch_up()) ggs_weights_populate();
        if (!ggs_stream_settings.quiet)
            ggs_stream_say("the model (%s) fits into memory (%s, %s of it the engine's): nothing is streamed", a, b, c);
        return false;
    }
    uint64_t taken   = engine + ggs_stream_reserve(limit);
    uint64_t weights = limit <= taken ? 0 : (uint64_t) ((double) (limit - taken) * (1 - given_up));
    if (weights > 0 && !ggs_stream_start_reader()) return false;
    look_at_disk(weights);
    if (weights == 0 || !ggs_weights_arrange(weights, &ring) || !ggs_queue_resize(ring)) {
        ggs_stream_sizes.too_little = true;
        ggs_weights_drop();
        leave_alone();
        ggs_stream_say(
            "%s of memory, %s of it the engine's, are too little to stream this model (%s): nothing is streamed", b, c,
            a);
        return false;
    }
    divided = weights;
    if (most_divided < divided) most_divided = divided;
    ggs_watch_start(ggs_stream_reserve(limit));
    ggs_files_drop_cache();
    struct ggs_weights_sizes sizes = ggs_weights_sizes();
    ggs_stream_sizes               = sizes;
    ggs_stream_sizes.ring          = ring;
    ggs_stream_sizes.limit         = limit;
    ggs_stream_sizes.engine        = engine;
    if (ggs_stream_disk.random > 0)
        snprintf(d, sizeof(d), "%.1f GB/s (%.1f in order) with %u reads of %u KiB at a time",
                 (double) ggs_stream_disk.random / 1e9, (double) ggs_stream_disk.sequential / 1e9,
                 ggs_stream_disk.depth, ggs_stream_disk.piece >> 10);
    snprintf(untold, sizeof(untold),
             "streaming %s of weights within %s of memory: engine %s, kept %.0f MiB, slots %.0f MiB, ring %.0f MiB, "
             "left to the mapping %.0f MiB; disk %s",
             a, b, c, (double) sizes.kept / MIB, (double) sizes.slots / MIB, (double) ring / MIB,
             (double) sizes.mapped / MIB, d);
    if (!more_come) tell();
    return true;
}
