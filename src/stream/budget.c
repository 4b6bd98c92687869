#include "stream/budget.h"

#include <string.h>

#include "base/stream-plan.h"
#include "base/system/clock.h"
#include "stream/core.h"
#include "stream/weights/history.h"
#include "stream/weights/routers.h"

static const uint64_t PATIENCE = 50000000, SETTLED = 1000000000; // ns
static const uint64_t STALL_PATIENCE = 10000000000u, LITTLE_PATIENCE = 10000000000u;
static const uint64_t DEAR      = 5000;       // a check of memory may take a 5000th of the time
static const double   STALLED   = 10;         // percent of the time: above it, others need the memory more
static const uint64_t SLOW_DISK = 1000000000; // bytes per second: a slower disk may have no time for predictions

static uint64_t limit_now(struct ggs_stream * s) {
    uint64_t limit = s->world.memory->limit(s->world.memory), given = s->settings.budget;
    return given != 0 && given < limit ? given : limit;
}

static uint64_t reserve_of(const struct ggs_stream * s, uint64_t limit) {
    return s->settings.reserve != 0 ? s->settings.reserve : ggs_stream_reserve(limit);
}

static uint64_t left_now(struct ggs_stream * s) {
    return s->world.memory->left(s->world.memory);
}

bool ggs_budget_fits_early(struct ggs_stream * s, uint32_t more) {
    uint64_t limit = limit_now(s), model = ggs_files_total(&s->files);
    model += model / 64 * more;
    return model == 0 || model + s->world.memory->held(s->world.memory) + reserve_of(s, limit) / 2 <= limit;
}

// ---- when to decide ----

// True if the process, this graph or other processes bring memory so near to the limit that weights
// must go.
static bool is_short(struct ggs_stream * s) {
    uint64_t limit = limit_now(s), soon = ggs_engine_buffers_untouched(&s->buffers) + reserve_of(s, limit) / 2;
    return s->world.memory->held(s->world.memory) + soon > limit || left_now(s) < soon;
}

// True if all processes wait for memory. An eighth of the rest is then given back, at most once per
// update of the kernel's average.
static bool is_stalled(struct ggs_stream * s, uint64_t now) {
    struct ggs_budget * b = &s->budget;
    if (b->stalled_checked == 0) b->stalled_checked = now;
    if (now - b->stalled_checked < STALL_PATIENCE) return false;
    b->stalled_checked = now;
    if (b->given_up > 0.75 || s->world.memory->stalled(s->world.memory) < STALLED) return false;
    b->given_up += (1 - b->given_up) / 8;
    return true;
}

// True if much memory was given back and the demand has ended, so that the rest is divided evenly
// again; or if memory taken by others came back.
static bool is_settled(struct ggs_stream * s, uint64_t now) {
    struct ggs_budget * b = &s->budget;
    if (now - s->watch.gave_at < SETTLED || now - b->settled_checked < SETTLED) return false;
    b->settled_checked = now;
    if (s->given > b->divided / 8) return true;
    if (b->divided > b->most_divided - b->most_divided / 8) return false;
    uint64_t empty = s->world.memory->empty(s->world.memory);
    uint64_t reserve =
        reserve_of(s, limit_now(s)) + ggs_stream_promised(s, empty) + ggs_engine_buffers_untouched(&s->buffers);
    uint64_t left = left_now(s);
    return left != UINT64_MAX && left > reserve + b->most_divided / 8;
}

// With a device between the layers, each layer's experts come in a run of their own. When all of
// them are known, their routers are looked up and the decision is reported.
static bool is_complete(struct ggs_stream * s) {
    s->budget.more_come = false;
    s->budget.pieces    = true;
    if (ggs_routers_find(s)) return true;
    if (s->budget.unreported) ggs_messages_begin(s, true);
    s->budget.unreported = false;
    return false;
}

bool ggs_budget_due(struct ggs_stream * s, bool piece) {
    struct ggs_budget * b     = &s->budget;
    uint64_t            total = ggs_weight_table_total(&s->weights);
    bool                more = total != b->seen, came = b->more_come;
    b->seen      = total;
    b->more_come = more && s->uses.bytes < ggs_files_total(&s->files) / 2;
    if (ggs_weight_table_undivided(&s->weights) > 0 && !(piece && more)) return true;
    if (came && !more && is_complete(s)) return true;
    uint64_t now = s->world.clock();
    if (!s->uses.grown && now - b->checked < PATIENCE) return false;
    b->checked = now;
    return is_short(s) || is_stalled(s, now) || is_settled(s, now);
}

// ---- models that fit ----

bool ggs_budget_is_time(struct ggs_stream * s) {
    return s->world.clock() >= __atomic_load_n(&s->budget.next_check, __ATOMIC_RELAXED);
}

// Schedules the next check in a second, or later if this one took noticeable time or found too
// little.
static void schedule_check(struct ggs_stream * s, uint64_t took) {
    uint64_t patience = took * DEAR < SETTLED ? SETTLED : took * DEAR;
    if (s->sizes.too_little && patience < LITTLE_PATIENCE) patience = LITTLE_PATIENCE;
    __atomic_store_n(&s->budget.next_check, s->world.clock() + patience, __ATOMIC_RELAXED);
}

// Memory that the model needs besides the engine's own copies of weights (repacked, AMX, on a
// device). If graphs used nearly all of the model, it is what they used, which excludes an
// embedding table. Otherwise it is the whole model, because parts may not have been seen.
static uint64_t needed(struct ggs_stream * s) {
    uint64_t files = ggs_files_total(&s->files), copied = ggs_files_copied(&s->files);
    uint64_t used = ggs_weight_table_total(&s->weights);
    files -= copied < files ? copied : files;
    return used > files - files / 8 && used < files ? used : files;
}

bool ggs_budget_outgrown(struct ggs_stream * s) {
    uint64_t began = ggs_clock_read(CLOCK_THREAD_CPUTIME_ID), limit = limit_now(s), left = left_now(s);
    bool     outgrown = s->sizes.too_little || (left < limit && needed(s) > left);
    s->counts.looks++;
    schedule_check(s, ggs_clock_read(CLOCK_THREAD_CPUTIME_ID) - began);
    return outgrown;
}

// Streams nothing until memory becomes short or another model is mapped.
static void leave_alone(struct ggs_stream * s) {
    schedule_check(s, 0);
    ggs_stream_set_state(s, GGS_STREAM_PASSIVE);
}

// ---- deciding ----

// Measures the disk once: its best read size, whether it has time for predictions, and whether
// reads go through buffers. If memory is small, it stays in the processor's caches anyway.
static void check_disk(struct ggs_stream * s, uint64_t room) {
    const struct ggs_stream_file * file = ggs_files_largest(&s->files);
    if (s->budget.disk_checked || file == NULL || room < 2 * GGS_SPEED_MEMORY || s->world.measure == NULL) return;
    s->budget.disk_checked = true;
    if (!s->world.measure(&s->world, file->direct, file->size, room / 2, &s->speed)) return;
    s->buffered = room / 2 >= GGS_SPEED_PLACES && ggs_speed_wants_buffer(&s->speed);
    if (s->speed.random < SLOW_DISK) s->load.busy = 1;
}

static double mib(uint64_t bytes) {
    return (double) bytes / (1 << 20);
}

// Memory without streamed weights: the process's own, that of others in its group, and what graphs
// are about to touch.
static uint64_t engine_bytes(struct ggs_stream * s, uint64_t limit) {
    uint64_t engine = s->world.memory->held(s->world.memory), left = left_now(s);
    if (left < limit && limit - left > engine) engine = limit - left;
    return engine + ggs_engine_buffers_untouched(&s->buffers);
}

// Leaves a model alone that fits, and reports it. Readahead that was suppressed while it loaded is
// made up for.
static bool leave_if_fits(struct ggs_stream * s) {
    const struct ggs_stream_sizes * z = &s->sizes;
    if (needed(s) + z->engine + reserve_of(s, z->limit) / 4 > z->limit) return false;
    leave_alone(s);
    for (size_t i = 0; __atomic_load_n(&s->files.left_out, __ATOMIC_RELAXED) && i < s->weights.n; i++)
        ggs_files_populate(&s->files, s->weights.weights[i]->address, s->weights.weights[i]->bytes);
    __atomic_store_n(&s->files.left_out, false, __ATOMIC_RELAXED);
    if (!s->settings.quiet && !s->budget.fits_reported)
        ggs_stream_print(s,
                         "the model (%.0f MiB) fits into memory (%.0f MiB, %.0f MiB of it the engine's%s): nothing is "
                         "streamed",
                         mib(z->model), mib(z->limit), mib(z->engine),
                         ggs_files_copied(&s->files) > 0 ? " with its copies of weights" : "");
    s->budget.fits_reported = true;
    return true;
}

static void measure_sizes(struct ggs_stream * s) {
    uint64_t limit = limit_now(s);
    s->sizes       = (struct ggs_stream_sizes){
              .model = ggs_files_total(&s->files), .limit = limit, .engine = engine_bytes(s, limit)};
}

static void leave_too_little(struct ggs_stream * s) {
    const struct ggs_stream_sizes * z = &s->sizes;
    s->sizes.too_little               = true;
    leave_alone(s);
    if (!s->budget.too_little_reported)
        ggs_stream_print(s,
                         "%.0f MiB of memory, %.0f MiB of it the engine's, are too little to stream this model (%.0f "
                         "MiB): nothing is streamed",
                         mib(z->limit), mib(z->engine), mib(z->model));
    s->budget.too_little_reported = true;
}

void ggs_budget_unused(struct ggs_stream * s) {
    uint64_t now = s->world.clock(), files;
    if (now - s->budget.unused_checked < PATIENCE || s->weights.n > 0 || (files = ggs_files_total(&s->files)) == 0)
        return;
    s->budget.unused_checked = now;
    measure_sizes(s);
    bool unreadable = ggs_files_at(&s->files, 0) != NULL && ggs_files_largest(&s->files) == NULL;
    if (leave_if_fits(s) || (ggs_files_copied(&s->files) < files / 2 && !unreadable)) return;
    s->sizes.too_little = true;
    leave_alone(s);
    if (!s->budget.unused_reported && unreadable) {
        ggs_stream_print(s, "the model's file system has no direct reads (O_DIRECT): nothing is streamed");
    } else if (!s->budget.unused_reported) {
        ggs_stream_print(
            s,
            "the engine has copied the model's weights into memory of its own (%.0f of %.0f MiB): nothing is "
            "left to stream; --no-repack leaves them in the file",
            mib(s->sizes.engine), mib(s->sizes.limit));
    }
    s->budget.unused_reported = true;
}

bool ggs_budget_decide(struct ggs_stream * s) {
    struct ggs_budget * b = &s->budget;
    ggs_stream_drain(s);
    ggs_divide_undo(s);
    measure_sizes(s);
    if (leave_if_fits(s)) return false;
    struct ggs_stream_sizes before  = s->sizes;
    uint64_t                taken   = before.engine + reserve_of(s, before.limit);
    uint64_t                weights = before.limit <= taken ? 0 : before.limit - taken;
    weights                         = (uint64_t) ((double) weights * (1 - b->given_up));
    if (weights > 0 && !s->world.disk->start(s->world.disk)) {
        ggs_stream_stop(s, "no thread can be had to read with: nothing is streamed");
        return false;
    }
    check_disk(s, weights);
    ggs_history_load(s);
    bool ok         = weights > 0 && ggs_divide(s, weights);
    s->sizes.model  = before.model;
    s->sizes.limit  = before.limit;
    s->sizes.engine = before.engine;
    if (!ok) {
        leave_too_little(s);
        return false;
    }
    b->divided = weights;
    if (b->most_divided < weights) b->most_divided = weights;
    ggs_memory_watch_start(s, reserve_of(s, before.limit));
    ggs_files_drop_cache(&s->files);
    b->unreported = b->more_come;
    if (!b->more_come) ggs_messages_begin(s, b->pieces);
    return true;
}
