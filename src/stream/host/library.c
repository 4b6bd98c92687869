#include "stream/host/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "preload/environment.h"
#include "preload/message.h"
#include "preload/resolve.h"
#include "stream/disk/pool.h"
#include "stream/host/cut.h"
#include "stream/memory/machine-memory.h"

enum { ASLEEP, WAKING, AWAKE, UNFIT };

struct ggs_stream_library * ggs_stream_library;

// ---- the environment of the stream ----

__attribute__((format(printf, 1, 2))) static void message(const char * format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ggs_message(format, arguments);
    va_end(arguments);
}

static void print_line(const char * line) {
    message("%s", line);
}

static bool start_thread(pthread_t * thread, void * (*work)(void *), void * argument) {
    sigset_t all, before; // this thread must not handle the host's signals
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(thread, NULL, work, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

static bool measure(struct ggs_stream_world * world, int fd, uint64_t size, uint64_t room, struct ggs_speed * speed) {
    struct ggs_memory *    m      = world->memory;
    size_t                 bytes  = room < GGS_SPEED_PLACES ? GGS_SPEED_MEMORY : GGS_SPEED_PLACES;
    char *                 memory = m->reserve(m, bytes);
    struct ggs_speed_bench bench  = {world->disk, world->clock, fd, size, memory, bytes};
    bool                   ok = memory != NULL && m->commit(m, memory, bytes, true) && ggs_speed_know(speed, &bench);
    if (memory != NULL) m->release(m, memory, bytes);
    if (ok) ggs_pool_set_piece(ggs_stream_library_now()->pool, speed->piece);
    return ok;
}

// ---- start and end ----

static struct ggs_stream_settings settings_of_environment(void) {
    const char *               keep = getenv("GGSCOPE_STREAM_KEEP");
    struct ggs_stream_settings s    = {.budget  = ggs_environment_number("GGSCOPE_STREAM_BUDGET", 0),
                                       .predict = (int) ggs_environment_number("GGSCOPE_STREAM_PREDICT", UINT64_MAX),
                                       .verify  = getenv("GGSCOPE_STREAM_VERIFY") != NULL,
                                       .quiet   = getenv("GGSCOPE_STREAM_QUIET") != NULL,
                                       .verbose = getenv("GGSCOPE_STREAM_VERBOSE") != NULL,
                                       .history = getenv("GGSCOPE_STREAM_NO_HISTORY") == NULL};
    if (keep != NULL && strcmp(keep, "first") == 0) s.keep = GGS_KEEP_FIRST;
    if (keep != NULL && strcmp(keep, "none") == 0) s.keep = GGS_KEEP_NONE;
    return s;
}

static void forget_environment(void) {
    static const char * const ours[] = {
        "GGSCOPE_STREAM",         "GGSCOPE_STREAM_BUDGET",  "GGSCOPE_STREAM_KEEP",
        "GGSCOPE_STREAM_PREDICT", "GGSCOPE_STREAM_VERIFY",  "GGSCOPE_STREAM_QUIET",
        "GGSCOPE_STREAM_REPORT",  "GGSCOPE_STREAM_VERBOSE", "GGSCOPE_STREAM_NO_HISTORY"};
    ggs_environment_leave("libggscope-stream", ours, sizeof(ours) / sizeof(ours[0]));
}

static struct ggs_stream_library * create(void) {
    struct ggs_stream_settings  settings = settings_of_environment();
    const char *                report   = getenv("GGSCOPE_STREAM_REPORT");
    struct ggs_stream_library * l        = calloc(1, sizeof(*l));
    if (l == NULL) return NULL;
    l->machine = ggs_kernel_memory_create();
    l->pool    = l->machine == NULL ? NULL
                                    : ggs_pool_create(&(struct ggs_pool_options){.touch         = ggs_kernel_memory_touch,
                                                                                 .touch_context = l->machine});
    if (l->pool == NULL) return NULL; // such a process has no memory for a model either
    struct ggs_stream_world world = {.disk         = ggs_pool_disk(l->pool),
                                     .memory       = ggs_kernel_memory_face(l->machine),
                                     .clock        = ggs_clock_now,
                                     .start_thread = start_thread,
                                     .print        = print_line,
                                     .measure      = measure};
    // Exported by the capture library, if loaded.
    *(void **) &world.record_uses = dlsym(RTLD_DEFAULT, "ggscope_note_streamed");
    l->stream                     = ggs_stream_create(&settings, &world);
    l->process                    = getpid();
    l->quiet                      = settings.quiet;
    snprintf(l->report, sizeof(l->report), "%s", report == NULL ? "" : report);
    return l->stream == NULL ? NULL : l;
}

static void before_fork(void) {
    if (ggs_stream_library != NULL) ggs_stream_before_fork(ggs_stream_library->stream);
}

static void after_fork(void) {
    if (ggs_stream_library != NULL) ggs_stream_after_fork(ggs_stream_library->stream);
}

static void in_child(void) {
    struct ggs_stream_library * l = ggs_stream_library;
    if (l == NULL) return;
    l->process = getpid();
    if (!ggs_stream_in_child(l->stream)) __atomic_store_n(&ggs_stream_library, NULL, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void constructor(void) {
    if (getenv("GGSCOPE_STREAM") == NULL) return;
    __atomic_store_n(&ggs_stream_library, create(), __ATOMIC_RELEASE);
    pthread_atfork(before_fork, after_fork, in_child);
}

// Nothing is unmapped, because workers may still run.
__attribute__((destructor)) static void destructor(void) {
    struct ggs_stream_library * l = ggs_stream_library_now();
    char                        text[512];
    if (l == NULL || getpid() != l->process) return;
    if (ggs_stream_sum_up(l->stream, text, sizeof(text)) && !l->quiet) message("streamed %s", text);
    ggs_stream_library_report(l);
    ggs_stream_remember(l->stream);
}

// ---- first graph ----

bool ggs_stream_library_wake(const void * caller) {
    struct ggs_stream_library * l      = ggs_stream_library_now();
    int                         asleep = ASLEEP;
    if (l == NULL) return false;
    if (__builtin_expect(__atomic_load_n(&l->awake, __ATOMIC_ACQUIRE) == AWAKE, 1)) return true;
    // Concurrent threads, and calls made by the check, are not streamed.
    if (!__atomic_compare_exchange_n(&l->awake, &asleep, WAKING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    const char * problem = ggs_abi_open(caller);
    if (problem != NULL) {
        ggs_stream_give_up(l->stream, "this ggml (%s) is not laid out as expected (%s): nothing is streamed",
                           ggs_abi_version(), problem);
    } else {
        // Children of a program that computes are not streamed. A wrapper script passes the library
        // on, and so does a server that starts one of its kind for each model.
        forget_environment();
        ggs_cut_watch();
        ggs_stream_set_engine(l->stream, &ggs_engine);
    }
    __atomic_store_n(&l->awake, problem != NULL ? UNFIT : AWAKE, __ATOMIC_RELEASE);
    return problem == NULL;
}
