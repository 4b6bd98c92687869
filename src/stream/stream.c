#include "stream/stream.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/core.h"
#include "stream/weights/history.h"

// ---- creation and release ----

struct ggs_stream * ggs_stream_create(const struct ggs_stream_settings * settings,
                                      const struct ggs_stream_world *    world) {
    struct ggs_stream * s = calloc(1, sizeof(*s));
    if (s == NULL) return NULL;
    s->settings = *settings;
    s->world    = *world;
    s->state    = GGS_STREAM_ASLEEP;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->arrived, NULL);
    pthread_mutex_init(&s->files.lock, NULL);
    pthread_mutex_init(&s->buffers.lock, NULL);
    return s;
}

void ggs_stream_destroy(struct ggs_stream * s) {
    ggs_memory_watch_end(s);
    ggs_predict_end(s);
    ggs_stream_lock(s);
    assert(!s->run.active);
    ggs_stream_set_state(s, GGS_STREAM_OFF);
    ggs_stream_forget(s);
    ggs_stream_unlock(s);
    ggs_uses_release(&s->uses);
    ggs_stream_run_release(&s->run);
    ggs_files_release(&s->files);
    ggs_engine_buffers_release(&s->buffers);
    free(s->spares.wanted);
    free(s->ring.entries);
    free(s->scratch.experts);
    free(s->scratch.count);
    free(s->scratch.score);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->arrived);
    pthread_mutex_destroy(&s->files.lock);
    pthread_mutex_destroy(&s->buffers.lock);
    free(s);
}

void ggs_stream_set_engine(struct ggs_stream * s, const struct abi_functions * engine) {
    ggs_stream_lock(s);
    s->engine = engine;
    if (s->state == GGS_STREAM_ASLEEP) ggs_stream_set_state(s, GGS_STREAM_ON);
    ggs_stream_unlock(s);
}

enum ggs_stream_state ggs_stream_now(const struct ggs_stream * s) {
    return (enum ggs_stream_state) __atomic_load_n(&s->state, __ATOMIC_RELAXED);
}

void ggs_stream_set_state(struct ggs_stream * s, enum ggs_stream_state state) {
    ggs_stream_assert_locked(s);
    if (s->state != GGS_STREAM_OFF) __atomic_store_n(&s->state, state, __ATOMIC_RELAXED);
}

struct ggs_stream_facts ggs_stream_facts(struct ggs_stream * s) {
    bool                    locked = pthread_mutex_trylock(&s->lock) == 0;
    struct ggs_stream_facts facts  = {s->counts, s->sizes, s->speed};
    if (locked) pthread_mutex_unlock(&s->lock);
    return facts;
}

// ---- messages ----

static void print_line(struct ggs_stream * s, const char * format, va_list arguments) {
    char line[1024];
    vsnprintf(line, sizeof(line), format, arguments);
    s->world.print(line);
}

void ggs_stream_print(struct ggs_stream * s, const char * format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line(s, format, arguments);
    va_end(arguments);
}

void ggs_stream_stop(struct ggs_stream * s, const char * format, ...) {
    if (s->state == GGS_STREAM_OFF) return;
    ggs_stream_set_state(s, GGS_STREAM_OFF);
    va_list arguments;
    va_start(arguments, format);
    print_line(s, format, arguments);
    va_end(arguments);
}

void ggs_stream_give_up(struct ggs_stream * s, const char * format, ...) {
    va_list arguments;
    ggs_stream_lock(s);
    bool first = s->state != GGS_STREAM_OFF;
    ggs_stream_set_state(s, GGS_STREAM_OFF);
    ggs_stream_unlock(s);
    va_start(arguments, format);
    if (first) print_line(s, format, arguments);
    va_end(arguments);
}

void ggs_stream_count_failure(struct ggs_stream * s) {
    uint64_t                       size;
    const struct ggs_stream_file * file = ggs_files_changed(&s->files, &size);
    s->counts.failed++;
    if (file == NULL) return;
    if (size < file->size) {
        s->cut_reported = true;
        ggs_stream_stop(s,
                        "the model file was truncated to %llu bytes while in use: nothing more is streamed, and an op "
                        "that needs bytes that are gone ends the program",
                        (unsigned long long) size);
    } else {
        ggs_stream_stop(s, "the model file was changed while in use: nothing more is streamed, weights come from the "
                           "mapping");
    }
}

bool ggs_stream_cut_reported(struct ggs_stream * s) {
    return __atomic_exchange_n(&s->cut_reported, true, __ATOMIC_RELAXED);
}

// ---- waiting ----

void ggs_stream_wait_any(struct ggs_stream * s) {
    s->awaits_any++;
    ggs_stream_wait(s);
    s->awaits_any--;
}

void ggs_stream_drain(struct ggs_stream * s) {
    s->draining++;
    s->predictor.wanted.n = 0;
    s->predictor.n_likely = s->predictor.likely_at = 0;
    while (s->reading > 0 || s->predictor.busy) ggs_stream_wait_any(s);
    s->draining--;
}

bool ggs_stream_await(struct ggs_stream * s, struct ggs_arrival * arrival) {
    if (ggs_arrival_is_reading(arrival)) {
        uint64_t begin = s->world.clock();
        ggs_arrival_wait(arrival);
        s->counts.waits++;
        s->counts.wait_ns += s->world.clock() - begin;
    }
    if (arrival->state == GGS_ARRIVAL_FAILED) ggs_stream_count_failure(s);
    return arrival->state == GGS_ARRIVAL_READY;
}

bool ggs_stream_verify(struct ggs_stream * s, const struct ggs_stream_file * file, uint64_t offset, const char * data,
                       uint64_t bytes) {
    char buffer[65536];
    if (!s->settings.verify) return true;
    for (uint64_t at = 0; at < bytes;) {
        size_t  want = bytes - at < sizeof(buffer) ? (size_t) (bytes - at) : sizeof(buffer);
        ssize_t got  = pread(file->plain, buffer, want, (off_t) (offset + at));
        if (got <= 0 || memcmp(buffer, data + at, (size_t) got) != 0) {
            ggs_stream_stop(s,
                            "what was read at byte %llu of the model differs from the file: weights come from the "
                            "mapping from here on",
                            (unsigned long long) (offset + at));
            return false;
        }
        at += (uint64_t) got;
    }
    s->counts.verified += bytes;
    return true;
}

// ---- memory ----

char * ggs_stream_acquire(struct ggs_stream * s, uint64_t bytes, bool huge) {
    struct ggs_memory * m  = s->world.memory;
    char *              at = m->reserve(m, bytes);
    if (at == NULL || m->commit(m, at, bytes, huge)) return at;
    m->release(m, at, bytes);
    return NULL;
}

void ggs_stream_free(struct ggs_stream * s, char * at, uint64_t bytes) {
    s->world.memory->release(s->world.memory, at, bytes);
}

void ggs_stream_forget(struct ggs_stream * s) {
    assert(!s->run.active);
    ggs_stream_drain(s);
    ggs_divide_undo(s);
    ggs_weight_table_release(&s->weights);
    s->budget.seen = 0;
}

void ggs_stream_remember(struct ggs_stream * s) {
    if (pthread_mutex_trylock(&s->lock) != 0) return;
    ggs_history_save(s);
    pthread_mutex_unlock(&s->lock);
}

void ggs_stream_buffer(struct ggs_stream * s, const void * buffer, const void * address, uint64_t bytes) {
    ggs_engine_buffers_add(&s->buffers, buffer, address, bytes);
}

void ggs_stream_buffer_gone(struct ggs_stream * s, const void * buffer) {
    ggs_engine_buffers_remove(&s->buffers, buffer);
}

// ---- model files ----

bool ggs_stream_is_model(int fd) {
    return ggs_files_is_model(fd);
}

bool ggs_stream_map(struct ggs_stream * s, int fd, const void * address, size_t length, uint64_t offset) {
    ggs_stream_lock(s);
    bool ok = ggs_files_add_mapping(&s->files, fd, address, length, offset);
    if (s->state == GGS_STREAM_PASSIVE) ggs_stream_set_state(s, GGS_STREAM_ON); // another model: decide again
    ggs_stream_unlock(s);
    return ok;
}

bool ggs_stream_touches(struct ggs_stream * s, const void * address, size_t length) {
    return ggs_files_touches(&s->files, address, length);
}

bool ggs_stream_may_touch(struct ggs_stream * s, const void * address) {
    return ggs_files_may_touch(&s->files, address);
}

static bool has_weights_in(struct ggs_stream * s, const void * address, size_t length) {
    const char *low = address, *high = low + length;
    for (size_t i = 0; i < s->weights.n; i++) {
        const struct ggs_weight * w = s->weights.weights[i];
        if (w->address == NULL || (w->address < high && low < w->address + w->bytes)) return true;
    }
    return false;
}

// While a model loads, the parts without weights are unmapped. If weights are known in the range,
// the model is being unloaded.
void ggs_stream_unmap(struct ggs_stream * s, const void * address, size_t length) {
    if (!ggs_files_touches(&s->files, address, length)) return;
    ggs_stream_lock(s);
    bool forget = has_weights_in(s, address, length), mine = s->run.active && ggs_stream_run_is_mine(&s->run);
    while (forget && s->run.active && !mine) ggs_stream_wait_any(s);
    if (forget) ggs_history_save(s);
    if (forget && mine) {
        s->run.forget = true; // after the graph has ended
    } else if (forget) {
        ggs_stream_forget(s);
    }
    if (forget && mine) ggs_stream_drain(s);
    ggs_files_unmapped(&s->files, address, length);
    ggs_stream_unlock(s);
}

bool ggs_stream_fits_early(struct ggs_stream * s, uint32_t more) {
    return ggs_budget_fits_early(s, more);
}

void ggs_stream_copied(struct ggs_stream * s, const void * from, uint64_t bytes) {
    ggs_files_add_copy(&s->files, from, bytes);
}

void ggs_stream_leave_out(struct ggs_stream * s) {
    __atomic_store_n(&s->files.left_out, true, __ATOMIC_RELAXED);
}

// ---- forks ----

void ggs_stream_before_fork(struct ggs_stream * s) {
    ggs_stream_lock(s);
    pthread_mutex_lock(&s->files.lock);
    pthread_mutex_lock(&s->buffers.lock);
}

static void unlock_all(struct ggs_stream * s) {
    pthread_mutex_unlock(&s->buffers.lock);
    pthread_mutex_unlock(&s->files.lock);
    s->holder = pthread_self();
    ggs_stream_unlock(s);
}

void ggs_stream_after_fork(struct ggs_stream * s) {
    unlock_all(s);
}

bool ggs_stream_in_child(struct ggs_stream * s) {
    bool usable = s->state == GGS_STREAM_ASLEEP; // no thread, no memory
    if (!usable) {
        ggs_stream_run_put_back(s);
        s->running = false;
        s->state   = GGS_STREAM_OFF;
    }
    unlock_all(s);
    return usable;
}
