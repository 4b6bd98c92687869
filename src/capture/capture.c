#include "capture/capture.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/lock.h"
#include "base/system/ticks.h"
#include "capture/cpu/ops.h"
#include "capture/device/device.h"
#include "capture/graph-run.h"
#include "capture/hooks/preload.h"
#include "capture/hooks/resolve.h"
#include "capture/hooks/sandbox.h"
#include "capture/hooks/signals.h"
#include "capture/journal.h"
#include "capture/losses.h"
#include "capture/memory/prove.h"
#include "capture/memory/reads.h"
#include "capture/memory/residency.h"
#include "capture/segment.h"
#include "capture/window.h"
#include "trace/spool.h"

GGS_WITH_EVERY_OP int ggs_capture_state = GGS_CAPTURE_OFF; // until the constructor has looked at the environment
struct abi_functions  ggs_engine;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char            output[PATH_MAX - 64];      // the experiment's directory, absolute
static char            spool[PATH_MAX - 64];       // where segments go
static char            first_spool[PATH_MAX - 64]; // of the first process, if programs are followed
static bool            spool_given;                // by GGSCOPE_SPOOL
static bool            follow;                     // children are traced too
static const void *    engine_address;             // for looking functions up

const char * ggs_capture_spool(void) {
    return spool;
}

static void set_state(int state) {
    __atomic_store_n(&ggs_capture_state, state, __ATOMIC_RELEASE);
}

static void say(const char * format, va_list arguments) {
    char line[1024];
    int  length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    if (length < 0 || ggs_sandboxed()) return;
    if ((size_t) length > sizeof(line) - 2) length = (int) sizeof(line) - 2;
    line[length] = '\n';
    struct ggs_signals signals;
    ggs_signals_hold(&signals);
    dprintf(STDERR_FILENO, "ggscope: %.*s", length + 1, line);
    ggs_signals_release(&signals);
}

void ggs_capture_give_up(const char * format, ...) {
    int before = __atomic_exchange_n(&ggs_capture_state, GGS_CAPTURE_OFF, __ATOMIC_ACQ_REL);
    if (before == GGS_CAPTURE_OFF) return;
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void ggs_capture_note(const char * format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void ggs_capture_stop_full(void) {
    int reason = errno, recording = GGS_CAPTURE_RECORDING;
    if (!__atomic_compare_exchange_n(&ggs_capture_state, &recording, GGS_CAPTURE_FULL, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    ggs_capture_note("recording ends here, the program runs on: %s",
                     reason == EDQUOT ? "the size given by --max-size is reached" : strerror(reason));
}

// ---- start and end of the process ----

static void forget_environment(void) {
    if (follow) return;
    static const char * const ours[] = {"GGSCOPE_OUTPUT", "GGSCOPE_SPOOL", "GGSCOPE_MAX_SIZE",
                                        "GGSCOPE_POLICY", "GGSCOPE_PROVE", "GGSCOPE_RESIDENCY"};
    ggs_preload_leave("libggscope-capture");
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) unsetenv(ours[i]);
}

// The spool folder, marked (base/system/lock.h) for as long as this process lives. Its number is high, out of the way of the host's own files.
enum { OUT_OF_THE_WAY = 700 };
static int         held_spool = -1;
static struct stat held_info;

// A host that closed our file may have one of its own there.
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

static void let_spool_go(void) {
    if (is_held()) close(held_spool);
    held_spool = -1;
}

// From the start, so that a program whose ggscope is killed is not taken for one that ended before it computed anything.
static void hold_spool(bool records) {
    if (!is_held() && !open_spool()) return;
    if (!(records ? ggs_lock_mark(held_spool) : ggs_lock_expect(held_spool))) let_spool_go();
}

static void child_of_fork(void) {
    if (!ggs_sandboxed()) let_spool_go(); // a child that goes on without exec does not record
    // The child shares our mappings: it must not write there, also not the end of what this thread was doing. No lock is taken in it,
    // because a thread that it does not have may hold it: while the state is off, only ggs_resolve takes one.
    set_state(GGS_CAPTURE_OFF);
    ggs_in.run = ggs_in.schedule = ggs_in.decode = 0;
    ggs_op_own(NULL);
    ggs_prove_forget();
    ggs_reads_forget();
    ggs_resolve_unlock();
}

static uint64_t number_from_environment(const char * name, uint64_t otherwise) {
    const char * text = getenv(name);
    if (text == NULL || text[0] < '0' || text[0] > '9') return otherwise;
    return strtoull(text, NULL, 10);
}

static void settings_of_environment(void) {
    struct ggs_segment_settings settings = {.most_bytes = number_from_environment("GGSCOPE_MAX_SIZE", 1ull << 40)};
    const char *                policy   = getenv("GGSCOPE_POLICY");
    settings.ring                        = policy != NULL && strcmp(policy, "ring") == 0;
    snprintf(settings.directory, sizeof(settings.directory), "%s", spool);
    ggs_segment_configure(&settings);
}

__attribute__((constructor)) static void constructor(void) {
    const char * directory = getenv("GGSCOPE_OUTPUT");
    if (directory == NULL || directory[0] == '\0') return;
    if (directory[0] == '/') {
        snprintf(output, sizeof(output), "%s", directory);
    } else {
        char here[PATH_MAX];
        if (getcwd(here, sizeof(here)) == NULL) return;
        if (snprintf(output, sizeof(output), "%s/%s", here, directory) >= (int) sizeof(output)) return;
    }
    const char * place = getenv("GGSCOPE_SPOOL");
    if (place != NULL && place[0] == '/') {
        snprintf(spool, sizeof(spool), "%s", place);
        spool_given = true;
    } else {
        if (snprintf(spool, sizeof(spool), "%s/spool", output) >= (int) sizeof(spool)) return;
    }
    memcpy(first_spool, spool, sizeof(spool));
    follow               = getenv("GGSCOPE_FOLLOW") != NULL;
    ggs_prove_wanted     = getenv("GGSCOPE_PROVE") != NULL;
    ggs_residency_wanted = getenv("GGSCOPE_RESIDENCY") != NULL;
    settings_of_environment();
    hold_spool(false);
    pthread_atfork(NULL, NULL, child_of_fork);
    set_state(GGS_CAPTURE_ASLEEP);
    // A program that links the engine is the one to be recorded: what it starts is not. A wrapper script hands us on.
    if (ggs_preload_sees_engine()) forget_environment();
}

static void tell_losses(void) {
    for (unsigned reason = 1; reason < GGS_LOSS_COUNT; reason++) {
        struct ggs_losses loss = ggs_losses_get(reason);
        if (loss.count > 0) ggs_journal_write_loss(reason, loss.count, 0, loss.begin, loss.end);
    }
}

// Nothing is unmapped: workers may still run.
__attribute__((destructor)) static void destructor(void) {
    int state = __atomic_load_n(&ggs_capture_state, __ATOMIC_ACQUIRE);
    if (state != GGS_CAPTURE_RECORDING && state != GGS_CAPTURE_FULL) return;
    ggs_device_finish();
    ggs_residency_tell(GGS_MOMENT_END);
    tell_losses();
    ggs_journal_numbers(GGS_JOURNAL_END, 0, 0, 0, 0, NULL);
}

// ---- waking up ----

static void * find_in_engine(const char * name) {
    return ggs_resolve_name(name, engine_address);
}

// A ggscope that started us has made both; where it named the spool, the directory may have been renamed since.
static int make_directories(void) {
    if (!spool_given && mkdir(output, 0700) != 0 && errno != EEXIST) return -1;
    if (mkdir(spool, 0700) != 0 && errno != EEXIST) return -1;
    return 0;
}

// A process that is followed, and not the first: it records into a directory of its own inside the experiment.
static int move_to_own_directory(void) {
    char own[sizeof(output)];
    if (snprintf(own, sizeof(own), "%s/process-%d", output, (int) getpid()) >= (int) sizeof(own) - 8) return -1;
    memcpy(output, own, sizeof(output));
    snprintf(spool, sizeof(spool), "%.*s/spool", (int) sizeof(spool) - 8, output);
    settings_of_environment();
    let_spool_go();
    spool_given = false;
    return make_directories();
}

static void tell_process(void) {
    char executable[PATH_MAX] = "";
    if (readlink("/proc/self/exe", executable, sizeof(executable) - 1) < 0) executable[0] = '\0';
    struct ggs_journal_process process = {
        .pid = (uint32_t) getpid(), .tick_is_ns = ggs_ticks_are_ns, .page_size = (uint32_t) sysconf(_SC_PAGESIZE)};
    ggs_ticks_pair(&process.ticks, &process.monotonic_ns);
    process.realtime_ns       = ggs_ticks_utc(process.monotonic_ns);
    struct ggs_piece pieces[] = {{&process, sizeof(process)}, {executable, strlen(executable) + 1}};
    ggs_journal_append(GGS_JOURNAL_PROCESS, pieces, 2);
}

struct text {
    char   data[65536];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text * text, const char * format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text->data + text->used, sizeof(text->data) - text->used, format, arguments);
    va_end(arguments);
    if (n > 0) text->used += (size_t) n;
    if (text->used >= sizeof(text->data)) text->used = sizeof(text->data) - 1;
}

static void add_build_id(struct text * text, const struct dl_phdr_info * info) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) * segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE) continue;
        const char * at  = (const char *) (info->dlpi_addr + segment->p_vaddr);
        const char * end = at + segment->p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            const ElfW(Nhdr) * note = (const ElfW(Nhdr) *) at;
            const char *    name    = at + sizeof(*note);
            const uint8_t * id      = (const uint8_t *) name + ((note->n_namesz + 3u) & ~3u);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
                for (unsigned k = 0; k < note->n_descsz; k++) add(text, "%02x", id[k]);
                return;
            }
            at = (const char *) id + ((note->n_descsz + 3u) & ~3u);
        }
    }
}

// An addon that has ggml inside.
static bool holds_engine(const struct dl_phdr_info * info) {
    uintptr_t address = (uintptr_t) ggs_engine.op_name;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) * segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

static int add_library(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    const char * name = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
    if (name == NULL) return 0;
    if (strncmp(name, "/libggml", 8) != 0 && strncmp(name, "/libllama", 9) != 0 && !holds_engine(info)) return 0;
    add(data, "library=%s\nbuild_id=", info->dlpi_name);
    add_build_id(data, info);
    add(data, "\n");
    return 0;
}

static void add_command_line(struct text * text) {
    char raw[32768];
    int  fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t n = read(fd, raw, sizeof(raw) - 1);
    close(fd);
    for (ssize_t i = 0; i < n;) {
        raw[n]              = '\0';
        const char * word   = raw + i;
        size_t       length = strlen(word);
        add(text, "argument=");
        for (size_t k = 0; k < length; k++) { // lines end records here, so a line break inside is written as \n
            if (word[k] == '\n') {
                add(text, "\\n");
            } else if (word[k] == '\\') {
                add(text, "\\\\");
            } else {
                add(text, "%c", word[k]);
            }
        }
        add(text, "\n");
        i += (ssize_t) length + 1;
    }
}

static unsigned long long n_loaded; // libraries that were ever loaded, when the engine was told last

static int count_loaded(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    *(unsigned long long *) data = info->dlpi_adds;
    return 1;
}

// Where the program began and with which words, asked for once: later it may be elsewhere, and in a sandbox.
static const char * beginning(void) {
    static struct text text; // under the lock
    char               here[PATH_MAX];
    if (text.used > 0) return text.data;
    if (getcwd(here, sizeof(here)) != NULL) add(&text, "directory=%s\n", here);
    add_command_line(&text);
    return text.data;
}

static void tell_engine(void) {
    static struct text text; // under the lock
    text.used = 0;
    add(&text, "capture=%s\n", GGSCOPE_VERSION);
    add(&text, "ggml_version=%s\n", ggs_engine.version == NULL ? "unknown" : ggs_engine.version());
    add(&text, "ggml_commit=%s\n", ggs_engine.commit == NULL ? "unknown" : ggs_engine.commit());
    const char * (*llama_version)(void) = (const char * (*) (void) ) find_in_engine("llama_version");
    if (llama_version != NULL) add(&text, "llama_version=%s\n", llama_version());
    dl_iterate_phdr(add_library, &text);
    add(&text, "%s", beginning());
    ggs_journal_text(GGS_JOURNAL_ENGINE, text.data);
    dl_iterate_phdr(count_loaded, &n_loaded);
}

void ggs_capture_tell_libraries(void) {
    unsigned long long now = 0;
    pthread_mutex_lock(&lock);
    dl_iterate_phdr(count_loaded, &now);
    if (now != n_loaded && ggs_capture_recording()) tell_engine();
    pthread_mutex_unlock(&lock);
}

static void start(void) {
    const char * problem = ggs_abi_check(&ggs_engine, find_in_engine);
    if (problem != NULL) {
        const char * version = ggs_engine.version == NULL ? "an unknown version" : ggs_engine.version();
        ggs_capture_give_up("this ggml (%s) is not laid out as expected (%s): the program runs on, nothing is recorded",
                            version, problem);
        return;
    }
    if (make_directories() != 0) {
        ggs_capture_give_up("cannot create %s: %s: the program runs on, nothing is recorded", spool, strerror(errno));
        return;
    }
    ggs_ticks_choose();
    if (ggs_journal_begin() != 0 &&
        (errno != EEXIST || !follow || move_to_own_directory() != 0 || ggs_journal_begin() != 0)) {
        if (errno == EEXIST) {
            set_state(GGS_CAPTURE_OFF); // another process of the same program records already
        } else {
            ggs_capture_give_up("cannot write to %s: %s: the program runs on, nothing is recorded", spool,
                                strerror(errno));
        }
        let_spool_go();
        return;
    }
    hold_spool(true);
    ggs_window_begin(first_spool);
    if (strcmp(spool, first_spool) == 0) ggs_segment_free(ggs_window_freed());
    forget_environment();
    tell_process();
    tell_engine();
    set_state(GGS_CAPTURE_RECORDING);
}

bool ggs_capture_wake(const void * caller) {
    int state = __atomic_load_n(&ggs_capture_state, __ATOMIC_ACQUIRE);
    if (state != GGS_CAPTURE_ASLEEP) return state == GGS_CAPTURE_RECORDING;
    static _Thread_local bool inside; // the layout check calls the engine, which may call hooks
    if (inside) return false;
    inside = true;
    pthread_mutex_lock(&lock);
    if (__atomic_load_n(&ggs_capture_state, __ATOMIC_RELAXED) == GGS_CAPTURE_ASLEEP) {
        engine_address = caller;
        start();
    }
    pthread_mutex_unlock(&lock);
    inside = false;
    return ggs_capture_recording();
}
