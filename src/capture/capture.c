#include "capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secrets.h"
#include "base/system/lock.h"
#include "base/system/ticks.h"
#include "capture/attached.h"
#include "capture/cpu/ops.h"
#include "capture/describe.h"
#include "capture/device/backends.h"
#include "capture/device/device.h"
#include "capture/existing.h"
#include "capture/graph-run.h"
#include "capture/graphs.h"
#include "capture/inside/inside.h"
#include "capture/journal.h"
#include "capture/losses.h"
#include "capture/memory/buffers.h"
#include "capture/memory/mapped-files.h"
#include "capture/memory/reads.h"
#include "capture/memory/residency.h"
#include "capture/memory/touched-pages.h"
#include "capture/sandbox.h"
#include "capture/segment.h"
#include "capture/slots.h"
#include "capture/values/values.h"
#include "capture/window.h"
#include "preload/environment.h"
#include "preload/ggml-abi.h"
#include "preload/message.h"
#include "preload/objects.h"
#include "preload/resolve.h"
#include "trace/spool.h"

GGS_WITH_EVERY_OP int       ggs_capture_state = GGS_CAPTURE_OFF; // the constructor changes it
struct ggs_capture_settings ggs_capture;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char            output[GGS_CAPTURE_PATH], spool[GGS_CAPTURE_PATH]; // of this process
static bool            spool_is_set;
static bool            forked;  // since the recording began: memory holds the parent's
static bool            counted; // counted as a child that is not recorded
static bool            waiting; // the recording has ended, but threads may still be in it
static char            problem[512];

static void set_state(int state) {
    __atomic_store_n(&ggs_capture_state, state, __ATOMIC_RELEASE);
}

static void print_message(const char * format, va_list arguments) {
    if (!ggs_sandboxed()) ggs_message(format, arguments);
}

const char * ggs_capture_problem(void) {
    return problem;
}

bool ggs_capture_is_own_file(const char * path) {
    return strncmp(path, spool, strlen(spool)) == 0 || strncmp(path, ggs_capture.spool, strlen(ggs_capture.spool)) == 0;
}

bool ggs_capture_has_own_spool(void) {
    return strcmp(spool, ggs_capture.spool) != 0;
}

void ggs_capture_disable(const char * format, ...) {
    int before = __atomic_exchange_n(&ggs_capture_state, GGS_CAPTURE_OFF, __ATOMIC_ACQ_REL);
    if (before == GGS_CAPTURE_OFF) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof(problem), format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
}

void ggs_capture_warn(const char * format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
}

void ggs_capture_stop_full(void) {
    int reason = errno, recording = GGS_CAPTURE_RECORDING;
    if (!__atomic_compare_exchange_n(&ggs_capture_state, &recording, GGS_CAPTURE_FULL, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    if (reason == GGS_SEGMENT_LIMIT) {
        ggs_capture_warn("recording ends here, the program runs on: the recording has reached the %llu MiB that it may "
                         "take (allow more with --max-size, or keep the newest part with --policy ring)",
                         (unsigned long long) ggs_segment_most() >> 20);
    } else {
        ggs_capture_warn("recording ends here, the program runs on: %s", strerror(reason));
    }
}

// ---- start and end ----

static void forget_environment(void) {
    if (ggs_capture.follow || ggs_capture.attached) return;
    static const char * const ours[] = {
        "GGSCOPE_OUTPUT",         "GGSCOPE_SPOOL",       "GGSCOPE_MAX_SIZE",         "GGSCOPE_POLICY",
        "GGSCOPE_PROVE",          "GGSCOPE_RESIDENCY",   "GGSCOPE_VALUES",           "GGSCOPE_VALUES_EVERY",
        "GGSCOPE_VALUES_UNFUSED", "GGSCOPE_VALUES_DUMP", "GGSCOPE_VALUES_NO_WEIGHTS"};
    ggs_environment_leave("libggscope-capture", ours, sizeof(ours) / sizeof(ours[0]));
}

// The spool folder is locked (base/system/lock.h) for as long as this process lives. A high
// descriptor number stays clear of the host's files.
enum { OUT_OF_THE_WAY = 700 };
static int         held_spool = -1;
static struct stat held_info;

// The host may have closed our descriptor and opened a file of its own under the same number.
static bool is_held(void) {
    struct stat info;
    return held_spool >= 0 && fstat(held_spool, &info) == 0 && info.st_dev == held_info.st_dev &&
           info.st_ino == held_info.st_ino;
}

static bool open_spool(void) {
    int fd = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &held_info) != 0) {
        if (fd >= 0) close(fd);
        return false;
    }
    held_spool = fcntl(fd, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    if (held_spool < 0) {
        held_spool = fd;
    } else {
        close(fd);
    }
    return true;
}

// Closes the descriptor. The lock stays while another process has the descriptor.
static void close_spool(void) {
    if (is_held()) close(held_spool);
    held_spool = -1;
}

// A child keeps the descriptor, and so the lock, from its fork until it first runs. Unlocking
// removes the lock for both.
static void release_spool(void) {
    if (is_held()) ggs_lock_unmark(held_spool);
    close_spool();
}

// Locks at the start: a program whose ggscope is killed must not look like one that ended before it
// computed anything.
static void hold_spool(bool records) {
    if (!is_held() && !open_spool()) return;
    if (!(records ? ggs_lock_mark(held_spool) : ggs_lock_expect(held_spool))) release_spool();
}

bool ggs_capture_is_watched(void) {
    if (!is_held()) hold_spool(ggs_capture_recording() || ggs_capture_full());
    return held_spool >= 0 && ggs_lock_is_written(held_spool);
}

// Forgets the recording. No other thread may be in it.
static void reset(void) {
    ggs_journal_reset();
    ggs_losses_reset();
    ggs_slots_reset(forked);
    ggs_segments_reset(forked);
    ggs_graphs_reset(forked);
    ggs_buffers_reset(forked);
    ggs_backends_reset(forked);
    ggs_device_reset();
    ggs_mapped_files_reset();
    ggs_residency_reset();
    ggs_graph_run_reset();
    ggs_window_reset(ggs_capture.attached);
    forked = waiting = false;
}

// The child shares our mappings and must not write there, not even the end of what this thread was
// doing. It takes no lock, because a thread that it does not have may hold it; while the state is
// off, only ggs_resolve locks. A followed child that runs on without exec begins a recording of its
// own when it computes.
static void child_of_fork(void) {
    if (!ggs_sandboxed()) close_spool(); // the lock is the parent's
    bool follows = ggs_capture.follow && __atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) != GGS_CAPTURE_OFF;
    lock         = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    forked       = true;
    counted      = false;
    set_state(follows && !ggs_sandboxed() ? GGS_CAPTURE_ASLEEP : GGS_CAPTURE_OFF);
    ggs_in.run = ggs_in.schedule = ggs_in.decode = 0;
    ggs_window_forget();
    ggs_attached_forked();
    ggs_op_set_opened(NULL);
    ggs_ops_forget_threads();
    ggs_touched_pages_forget();
    ggs_reads_forget();
    ggs_losses_forget();
    ggs_resolve_unlock();
    ggs_objects_in_child();
}

void ggs_capture_count_unrecorded(void) {
    if (!forked || ggs_capture.follow || __atomic_exchange_n(&counted, true, __ATOMIC_RELAXED)) return;
    ggs_window_count_child();
}

static void configure_segments(void) {
    struct ggs_segment_settings settings = {.most_bytes = ggs_capture.most_bytes, .ring = ggs_capture.ring};
    snprintf(settings.directory, sizeof(settings.directory), "%s", spool);
    ggs_segment_configure(&settings);
}

bool ggs_capture_watch_forks(void) {
    static bool watches;
    if (watches) return false;
    watches = pthread_atfork(ggs_objects_before_fork, ggs_objects_in_parent, child_of_fork) == 0;
    return watches;
}

void ggs_capture_begin(void) {
    if (waiting || forked) reset();
    memcpy(output, ggs_capture.output, sizeof(output));
    memcpy(spool, ggs_capture.spool, sizeof(spool));
    spool_is_set             = ggs_capture.spool_is_set;
    ggs_touched_pages_wanted = ggs_capture.prove;
    ggs_residency_wanted     = ggs_capture.residency;
    problem[0]               = '\0';
    configure_segments();
    ggs_window_reset(ggs_capture.attached);
    ggs_window_begin(ggs_capture.spool);
    hold_spool(false);
    ggs_capture_watch_forks();
    set_state(GGS_CAPTURE_ASLEEP);
    ggs_window_open();
}

static bool read_environment(struct ggs_capture_settings * settings) {
    const char *directory = getenv("GGSCOPE_OUTPUT"), *place = getenv("GGSCOPE_SPOOL"),
               *policy          = getenv("GGSCOPE_POLICY");
    const char * gpu_ops        = getenv("GGSCOPE_GPU_OPS");
    char         here[PATH_MAX] = "";
    if (directory == NULL || directory[0] == '\0') return false;
    if (directory[0] != '/' && getcwd(here, sizeof(here)) == NULL) return false;
    if (snprintf(settings->output, sizeof(settings->output), "%s%s%s", here, here[0] == '\0' ? "" : "/", directory) >=
        (int) sizeof(settings->output))
        return false;
    settings->spool_is_set = place != NULL && place[0] == '/';
    if (snprintf(settings->spool, sizeof(settings->spool), "%s%s", settings->spool_is_set ? place : settings->output,
                 settings->spool_is_set ? "" : "/spool") >= (int) sizeof(settings->spool))
        return false;
    settings->follow     = getenv("GGSCOPE_FOLLOW") != NULL;
    settings->prove      = getenv("GGSCOPE_PROVE") != NULL;
    settings->residency  = getenv("GGSCOPE_RESIDENCY") != NULL;
    settings->ring       = policy != NULL && strcmp(policy, "ring") == 0;
    settings->most_bytes = ggs_environment_number("GGSCOPE_MAX_SIZE", 1ull << 40);
    snprintf(settings->gpu_ops, sizeof(settings->gpu_ops), "%s", gpu_ops == NULL ? "" : gpu_ops);
    return true;
}

__attribute__((constructor)) static void constructor(void) {
    if (!read_environment(&ggs_capture)) return;
    ggs_values_configure();
    ggs_capture_begin();
    ggs_inside_begin();
    // A program that links the engine is recorded, and its children are not. A wrapper script
    // passes the environment on.
    if (ggs_resolve_has_engine() || ggs_inside_found()) forget_environment();
}

static void finish(void) {
    int state = __atomic_load_n(&ggs_capture_state, __ATOMIC_ACQUIRE);
    if (state != GGS_CAPTURE_RECORDING && state != GGS_CAPTURE_FULL) return;
    ggs_device_finish();
    ggs_residency_emit(GGS_MOMENT_END);
    ggs_journal_numbers(GGS_JOURNAL_END, 0, 0, 0, 0, NULL);
}

// Unmaps nothing: workers may still run.
__attribute__((destructor)) static void destructor(void) {
    finish();
}

// Waits for graph runs in progress, including those of devices.
static void wait_for_runs(void) {
    enum { NAP_US = 500, DEVICE_NAPS = 4000 };
    ggs_window_end();
    while (!ggs_window_is_left() || atomic_load(&ggs_slots_open) > 0) usleep(NAP_US);
    for (int i = 0; i < DEVICE_NAPS && !ggs_device_is_idle(); i++) usleep(NAP_US);
}

void ggs_capture_end(void (*restore)(void)) {
    const uint64_t patience_ns = 2000000000;
    pthread_mutex_lock(&lock);
    if (__atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) == GGS_CAPTURE_ASLEEP) set_state(GGS_CAPTURE_OFF);
    pthread_mutex_unlock(&lock);
    wait_for_runs();
    restore();
    finish();
    set_state(GGS_CAPTURE_OFF);
    waiting = !ggs_ops_release_threads(patience_ns);
    if (!waiting) reset();
    release_spool();
}

// ---- start of a recording ----

// ggscope has made both if it started the program. If it named the spool, the directory may have
// been renamed since.
static int make_directories(void) {
    if (!spool_is_set && mkdir(output, 0700) != 0 && errno != EEXIST) return -1;
    if (mkdir(spool, 0700) != 0 && errno != EEXIST) return -1;
    return 0;
}

// A followed process that is not the first one records into a directory of its own inside the
// experiment.
static int move_to_own_directory(void) {
    if (snprintf(output, sizeof(output), "%s/process-%d", ggs_capture.output, (int) getpid()) >=
        (int) sizeof(output) - 8)
        return -1;
    snprintf(spool, sizeof(spool), "%.*s/spool", (int) sizeof(spool) - 8, output);
    configure_segments();
    release_spool();
    spool_is_set = false;
    return make_directories();
}

void ggs_capture_emit_libraries(void) {
    pthread_mutex_lock(&lock);
    if (ggs_capture_recording() && !ggs_describe_is_current()) ggs_describe_engine();
    pthread_mutex_unlock(&lock);
}

// Opens the journal in the spool, or in a folder of its own if another process records there.
static bool open_journal(void) {
    if (make_directories() != 0) {
        ggs_capture_disable("cannot create %s: %s: the program runs on, nothing is recorded", spool, strerror(errno));
        return false;
    }
    if (ggs_journal_begin() == 0) return true;
    if (errno == EEXIST && ggs_capture.follow && move_to_own_directory() == 0 && ggs_journal_begin() == 0) return true;
    if (errno == EEXIST) {
        set_state(GGS_CAPTURE_OFF); // another process of the same program records
    } else {
        int reason = errno == GGS_SEGMENT_LIMIT ? ENOSPC : errno;
        ggs_capture_disable("cannot write to %s: %s: the program runs on, nothing is recorded", spool,
                            strerror(reason));
    }
    release_spool();
    return false;
}

static void start(const void * caller) {
    const char * unlike = ggs_abi_open(caller);
    if (unlike != NULL) {
        ggs_capture_disable("this ggml (%s) is not laid out as expected (%s): the program runs on, nothing is recorded",
                            ggs_abi_version(), unlike);
        return;
    }
    if (forked && ggs_capture.attached && !ggs_attached_is_wanted()) {
        set_state(GGS_CAPTURE_OFF);
        return;
    }
    if (forked) {
        reset();
        ggs_existing_begin();
        ggs_window_begin(ggs_capture.spool);
        ggs_window_open();
    }
    ggs_ticks_choose();
    if (!open_journal()) return;
    hold_spool(true);
    if (!ggs_capture_has_own_spool()) ggs_segment_free(ggs_window_freed());
    forget_environment();
    ggs_describe_process();
    ggs_describe_engine();
    set_state(GGS_CAPTURE_RECORDING);
    ggs_attached_records();
}

bool ggs_capture_wake(const void * caller) {
    int state = __atomic_load_n(&ggs_capture_state, __ATOMIC_ACQUIRE);
    if (state != GGS_CAPTURE_ASLEEP) return state == GGS_CAPTURE_RECORDING;
    static _Thread_local bool inside; // the layout check calls the engine, which may call hooks
    if (inside) return false;
    inside = true;
    pthread_mutex_lock(&lock);
    if (__atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) == GGS_CAPTURE_ASLEEP) start(caller);
    pthread_mutex_unlock(&lock);
    inside = false;
    return ggs_capture_recording();
}
