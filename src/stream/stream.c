#include "stream/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/hooks/preload.h"
#include "capture/hooks/resolve.h"
#include "stream/cut.h"
#include "stream/disk/files.h"
#include "stream/disk/reader.h"
#include "stream/run.h"
#include "stream/weights.h"

int                        ggs_stream_state = GGS_STREAM_OFF; // until the constructor has looked at the environment
struct ggs_stream_settings ggs_stream_settings;
struct ggs_stream_counts   ggs_stream_counts;
struct abi_functions       ggs_engine;
struct ggs_disk            ggs_stream_disk;
struct ggs_weights_sizes   ggs_stream_sizes;

static pthread_mutex_t      lock = PTHREAD_MUTEX_INITIALIZER;
static const void *         engine_address;
static char                 report_path[4096];
static enum ggs_reader_kind reader;
static pid_t                process; // that reports

uint64_t ggs_stream_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

static void say(const char * format, va_list arguments) {
    char line[1024];
    int  length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    if (length < 0) return;
    if ((size_t) length > sizeof(line) - 2) length = (int) sizeof(line) - 2;
    line[length] = '\n';
    dprintf(STDERR_FILENO, "ggscope: %.*s", length + 1, line);
}

void ggs_stream_say(const char * format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void ggs_stream_give_up(const char * format, ...) {
    if (__atomic_exchange_n(&ggs_stream_state, GGS_STREAM_OFF, __ATOMIC_ACQ_REL) == GGS_STREAM_OFF) return;
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void ggs_stream_note_failure(void) {
    ggs_stream_counts.failed++;
    uint64_t size;
    int      file = ggs_files_changed(&size);
    if (file < 0) return;
    if (size < ggs_files_get(file)->size) {
        ggs_cut_told();
        ggs_stream_give_up(
            "the model file was cut to %llu bytes while it is in use: nothing more is streamed, and an op that needs "
            "bytes that are gone ends the program",
            (unsigned long long) size);
    } else {
        ggs_stream_give_up(
            "the model file was changed while it is in use: nothing more is streamed, weights come from the mapping");
    }
}

// ---- settings ----

static uint64_t number(const char * name, uint64_t otherwise) {
    const char * text = getenv(name);
    return text == NULL || text[0] < '0' || text[0] > '9' ? otherwise : strtoull(text, NULL, 10);
}

static void settings_of_environment(void) {
    struct ggs_stream_settings * s    = &ggs_stream_settings;
    const char *                 keep = getenv("GGSCOPE_STREAM_KEEP"), *kind = getenv("GGSCOPE_STREAM_READER");
    const char *                 report = getenv("GGSCOPE_STREAM_REPORT");
    s->budget                           = number("GGSCOPE_STREAM_BUDGET", 0);
    s->predict                          = (int) number("GGSCOPE_STREAM_PREDICT", UINT64_MAX);
    s->verify                           = getenv("GGSCOPE_STREAM_VERIFY") != NULL;
    s->quiet                            = getenv("GGSCOPE_STREAM_QUIET") != NULL;
    if (keep != NULL && strcmp(keep, "first") == 0) s->keep = GGS_KEEP_FIRST;
    if (keep != NULL && strcmp(keep, "none") == 0) s->keep = GGS_KEEP_NONE;
    snprintf(s->reader, sizeof(s->reader), "%s", kind == NULL ? "" : kind);
    snprintf(report_path, sizeof(report_path), "%s", report == NULL ? "" : report);
}

static void child_of_fork(void) {
    // The memory that was read into is not the child's.
    __atomic_store_n(&ggs_stream_state, GGS_STREAM_OFF, __ATOMIC_RELAXED);
    ggs_run_child();
}

static void forget_environment(void) {
    static const char * const ours[] = {"GGSCOPE_STREAM",         "GGSCOPE_STREAM_BUDGET", "GGSCOPE_STREAM_KEEP",
                                        "GGSCOPE_STREAM_PREDICT", "GGSCOPE_STREAM_VERIFY", "GGSCOPE_STREAM_QUIET",
                                        "GGSCOPE_STREAM_READER",  "GGSCOPE_STREAM_REPORT"};
    ggs_preload_leave("libggscope-stream");
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) unsetenv(ours[i]);
}

__attribute__((constructor)) static void constructor(void) {
    if (getenv("GGSCOPE_STREAM") == NULL) return;
    settings_of_environment();
    process = getpid();
    pthread_atfork(NULL, NULL, child_of_fork);
    __atomic_store_n(&ggs_stream_state, GGS_STREAM_ASLEEP, __ATOMIC_RELEASE);
    // A program that links the engine is the one that streams: what it starts does not. A wrapper script hands us on.
    if (ggs_preload_sees_engine()) forget_environment();
}

// ---- waking up ----

static void * find_in_engine(const char * name) {
    return ggs_resolve_name(name, engine_address);
}

static void start(void) {
    const char * problem = ggs_abi_check(&ggs_engine, find_in_engine);
    if (problem != NULL) {
        const char * version = ggs_engine.version == NULL ? "an unknown version" : ggs_engine.version();
        ggs_stream_give_up("this ggml (%s) is not laid out as expected (%s): nothing is streamed", version, problem);
        return;
    }
    forget_environment();
    ggs_cut_watch();
    __atomic_store_n(&ggs_stream_state, GGS_STREAM_ON, __ATOMIC_RELEASE);
}

bool ggs_stream_start_reader(void) {
    reader = ggs_reader_start(ggs_stream_settings.reader[0] == '\0' ? NULL : ggs_stream_settings.reader);
    if (reader == GGS_READER_NONE) ggs_stream_give_up("neither io_uring nor threads can be had: nothing is streamed");
    return reader != GGS_READER_NONE;
}

bool ggs_stream_wake(const void * caller) {
    int state = __atomic_load_n(&ggs_stream_state, __ATOMIC_ACQUIRE);
    if (state != GGS_STREAM_ASLEEP) return state != GGS_STREAM_OFF;
    static _Thread_local bool inside;
    if (inside) return false;
    inside = true;
    pthread_mutex_lock(&lock);
    if (ggs_stream_now() == GGS_STREAM_ASLEEP) {
        engine_address = caller;
        start();
    }
    pthread_mutex_unlock(&lock);
    inside = false;
    return ggs_stream_now() == GGS_STREAM_ON;
}

// ---- the report ----

static void write_report(void) {
    const struct ggs_stream_counts * c     = &ggs_stream_counts;
    const struct ggs_weights_sizes * sizes = &ggs_stream_sizes; // models may be gone by now
    FILE *                           file  = fopen(report_path, "we");
    if (file == NULL) {
        ggs_stream_say("cannot write the report to %s: %s", report_path, strerror(errno));
        return;
    }
    static const char * const readers[] = {"none", "io_uring", "threads"};
    static const char * const states[]  = {"off", "unused", "fits", "streamed"};
#define N(name, value) fprintf(file, ",\"" name "\":%llu", (unsigned long long) (value))
    fprintf(file, "{\"state\":\"%s\",\"reader\":\"%s\"", sizes->too_little ? "too little" : states[ggs_stream_now()],
            readers[reader]);
    N("dense", sizes->dense);
    N("experts", sizes->experts);
    N("kept", sizes->kept);
    N("slots", sizes->slots);
    N("ring", sizes->ring);
    N("limit", sizes->limit);
    N("engine", sizes->engine);
    N("mapped", sizes->mapped);
    N("disk_sequential", ggs_stream_disk.sequential);
    N("disk_random", ggs_stream_disk.random);
    N("disk_depth", ggs_stream_disk.depth);
    N("disk_piece", ggs_stream_disk.piece);
    N("runs", c->runs);
    N("uses", c->uses);
    N("bytes_streamed", c->bytes_streamed);
    N("bytes_kept", c->bytes_kept);
    N("bytes_experts", c->bytes_experts);
    N("bytes_predicted", c->bytes_predicted);
    N("hits", c->hits);
    N("misses", c->misses);
    N("predicted", c->predicted);
    N("predicted_used", c->predicted_used);
    N("waits", c->waits);
    N("wait_ns", c->wait_ns);
    N("mapped_uses", c->mapped);
    N("bytes_given", c->bytes_given);
    N("looks", c->looks);
    N("failed", c->failed);
    N("verified", c->verified);
#undef N
    fprintf(file, "}\n");
    if (fclose(file) != 0) ggs_stream_say("cannot write the report to %s: %s", report_path, strerror(errno));
}

// Nothing is unmapped: workers may still run.
__attribute__((destructor)) static void destructor(void) {
    if (report_path[0] != '\0' && getpid() == process) write_report();
}
