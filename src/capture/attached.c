// The library in a program that was already running: ggscope attach loads it and calls
// ggscope_attach. A thread of this library does the rest and ends with the recording. The library
// stays loaded and can be attached again.
#include "capture/attached.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/system/lock.h"
#include "capture/capture.h"
#include "capture/cpu/ops.h"
#include "capture/existing.h"
#include "capture/forks.h"
#include "capture/inside/inside.h"
#include "capture/window.h"
#include "preload/hook.h"
#include "preload/redirect.h"
#include "preload/resolve.h"
#include "trace/spool.h"

// ---- the request: "key=value" lines ----

struct request {
    bool quiet;
    char who[128]; // the attaching process
};

static bool parse_line(const char * line, size_t length, struct ggs_capture_settings * settings,
                       struct request * request) {
    const char * equals = memchr(line, '=', length);
    if (equals == NULL) return false;
    size_t       key = (size_t) (equals - line), size = length - key - 1;
    const char * value = equals + 1;
    const struct {
        const char * key;
        char *       text;
        size_t       size;
    } texts[] = {{"spool", settings->spool, sizeof(settings->spool)},
                 {"output", settings->output, sizeof(settings->output)},
                 {"gpu_ops", settings->gpu_ops, sizeof(settings->gpu_ops)},
                 {"model", settings->model, sizeof(settings->model)},
                 {"who", request->who, sizeof(request->who)}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strlen(texts[i].key) == key && memcmp(texts[i].key, line, key) == 0)
            return snprintf(texts[i].text, texts[i].size, "%.*s", (int) size, value) < (int) texts[i].size;
    if (key == 8 && memcmp(line, "max_size", 8) == 0) settings->most_bytes = strtoull(value, NULL, 10);
    if (key == 6 && memcmp(line, "policy", 6) == 0) settings->ring = size == 4 && memcmp(value, "ring", 4) == 0;
    if (key == 9 && memcmp(line, "residency", 9) == 0) settings->residency = value[0] == '1';
    if (key == 6 && memcmp(line, "follow", 6) == 0) settings->follow = value[0] == '1';
    if (key == 5 && memcmp(line, "quiet", 5) == 0) request->quiet = value[0] == '1';
    return true;
}

static bool parse(const char * text, struct ggs_capture_settings * settings, struct request * request) {
    *settings = (struct ggs_capture_settings){.spool_is_set = true, .attached = true, .most_bytes = 1ull << 40};
    *request  = (struct request){0};
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (!parse_line(text, length, settings, request)) return false;
        text += length + (text[length] == '\n');
    }
    return settings->spool[0] == '/';
}

// ---- messages between ggscope and this library ----

static struct ggs_spool_attach * open_words(const char * spool) {
    char        path[PATH_MAX];
    struct stat info;
    snprintf(path, sizeof(path), "%s/%s", spool, GGS_SPOOL_ATTACH);
    int                       fd    = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct ggs_spool_attach * words = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &info) == 0 && (uint64_t) info.st_size >= sizeof(*words))
        words = mmap(NULL, sizeof(*words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (words == MAP_FAILED) return NULL;
    if (memcmp(words->magic, GGS_ATTACH_MAGIC, sizeof(words->magic)) == 0) return words;
    munmap(words, sizeof(*words));
    return NULL;
}

static void set_state(struct ggs_spool_attach * words, uint32_t state) {
    __atomic_store_n(&words->state, state, __ATOMIC_RELEASE);
    syscall(SYS_futex, &words->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

// ---- the thread ----

static struct ggs_spool_attach * words;
static struct request            request;
static _Atomic bool              busy;     // the thread exists
static bool                      is_child; // forked by a recorded process: there is no thread

// Waits until ggscope asks for the end, ggscope is gone, or recording has failed. Redirects objects
// that are loaded meanwhile.
static void attend(bool (*is_watched)(void)) {
    const struct timespec moment = {.tv_nsec = 50000000};
    while (__atomic_load_n(&words->wanted, __ATOMIC_ACQUIRE) == GGS_ATTACH_RECORD && ggs_capture_problem()[0] == '\0' &&
           is_watched()) {
        ggs_redirect_again();
        syscall(SYS_futex, &words->wanted, FUTEX_WAIT, GGS_ATTACH_RECORD, &moment, NULL, 0);
    }
}

static bool is_parent_watched(void);

// Asks ggscope to stop all threads and change the code of an engine inside the program. If ggscope
// is killed or fails, the code stays as it is, and hooks forward their calls.
static void change_code(uint32_t what, bool (*is_watched)(void)) {
    const struct timespec moment = {.tv_nsec = 20000000};
    if (words->n_places == 0) return;
    __atomic_store_n(&words->asked, what, __ATOMIC_RELEASE);
    while (__atomic_load_n(&words->done, __ATOMIC_ACQUIRE) != what && is_watched())
        syscall(SYS_futex, &words->done, FUTEX_WAIT, what == GGS_ATTACH_CODE ? 0 : GGS_ATTACH_CODE, &moment, NULL, 0);
}

static void restore(void) {
    ggs_redirect_end();
    change_code(GGS_ATTACH_CODE_BACK, ggs_capture_is_watched);
}

// The last message. With a text it says what went wrong.
static void leave(void) {
    struct ggs_spool_attach * state = words;
    words                           = NULL;
    set_state(state, state->text[0] == '\0' ? GGS_ATTACH_DETACHED : GGS_ATTACH_FAILED);
    munmap(state, sizeof(*state));
    busy = false;
}

// Ends ahead of the recording, with the text.
static void * refuse(void * unused) {
    ggs_redirect_end();
    leave();
    return unused;
}

static void * record(void * unused) {
    if (ggs_capture_watch_forks()) ggs_forks_await(); // a child must know that it is one before it has hooks
    ggs_resolve_refresh();
    ggs_ops_list_threads();
    ggs_existing_begin();
    // Calls are forwarded until all slots are redirected.
    ggs_window_end();
    struct ggs_redirected counts = ggs_redirect_begin();
    words->slots                 = counts.slots;
    words->lazy                  = counts.lazy;
    words->locked                = counts.locked;
    words->failed                = counts.failed;
    const struct ggs_code_place * places;
    words->n_places = (uint32_t) ggs_inside_attach(&places);
    words->places   = (uint64_t) (uintptr_t) places;
    if (words->n_places == 0 && ggs_inside_problem() != NULL && !ggs_resolve_has_engine()) {
        snprintf(words->text, sizeof(words->text), "its ggml has no functions to record single ops by, and %s",
                 ggs_inside_problem());
        return refuse(unused);
    }
    change_code(GGS_ATTACH_CODE, is_parent_watched); // no spool has our mark yet
    if (words->stopped != 0) {
        snprintf(words->text, sizeof(words->text), "its code cannot be changed");
        return refuse(unused);
    }
    ggs_capture_begin();
    if (!request.quiet)
        ggs_capture_warn("process %d is being recorded%s%s, prompts included", (int) getpid(),
                         request.who[0] == '\0' ? "" : " by ", request.who);
    set_state(words, GGS_ATTACH_ATTACHED);
    attend(ggs_capture_is_watched);
    set_state(words, GGS_ATTACH_ENDING);
    ggs_capture_end(restore);
    snprintf(words->text, sizeof(words->text), "%s", ggs_capture_problem());
    leave();
    return unused;
}

// ---- forked children ----

// ggscope marks the parent's spool. The parent keeps its own mark until it notices that ggscope is
// gone.
static bool is_parent_watched(void) {
    int  fd   = open(ggs_capture.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool held = fd >= 0 && ggs_lock_is_written(fd);
    if (fd >= 0) close(fd);
    return held;
}

bool ggs_attached_is_wanted(void) {
    return words != NULL && __atomic_load_n(&words->wanted, __ATOMIC_ACQUIRE) == GGS_ATTACH_RECORD &&
           is_parent_watched();
}

// Does what the parent's thread does, without messages to ggscope. A child that computes before its
// parent owns the spool.
static void * record_child(void * unused) {
    attend(ggs_capture_has_own_spool() ? is_parent_watched : ggs_capture_is_watched);
    ggs_capture_end(ggs_redirect_end);
    munmap(words, sizeof(*words));
    words    = NULL;
    is_child = busy = false;
    return unused;
}

static bool start_thread(void * (*run)(void *) ) {
    pthread_attr_t attributes;
    pthread_t      thread;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    bool started = pthread_create(&thread, &attributes, run, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

void ggs_attached_forked(void) {
    if (words == NULL) return;
    is_child = true;
    busy     = false;
}

void ggs_attached_records(void) {
    if (is_child && words != NULL && !__atomic_exchange_n(&busy, true, __ATOMIC_ACQ_REL) && !start_thread(record_child))
        busy = false;
}

// The thread block of attach/stub.h's bootstrap, kept for the next one.
extern uint64_t ggscope_attach_block;
EXPORT uint64_t ggscope_attach_block;

// Called by ggscope's thread in this process with all signals blocked. Threads it makes inherit
// that.
EXPORT int ggscope_attach(const char * text);
EXPORT int ggscope_attach(const char * text) {
    struct ggs_capture_settings settings;
    if (__atomic_load_n(&ggs_capture_state, __ATOMIC_ACQUIRE) != GGS_CAPTURE_OFF ||
        __atomic_exchange_n(&busy, true, __ATOMIC_ACQ_REL))
        return GGS_ATTACH_BUSY;
    // The forking process shared this page with ggscope.
    if (words != NULL) munmap(words, sizeof(*words));
    is_child  = false;
    bool good = parse(text, &settings, &request);
    words     = good ? open_words(settings.spool) : NULL;
    if (words != NULL) {
        ggs_capture = settings;
        if (start_thread(record)) return GGS_ATTACH_STARTED;
        munmap(words, sizeof(*words));
        words = NULL;
    }
    busy = false;
    return GGS_ATTACH_REFUSED;
}
