#include "record/control.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "record/spool/live-requests.h"
#include "trace/spool.h"

enum { LINE = 4096, PATIENCE_MS = 2000, LOOK_MS = 50 };
enum { STOP = 1 << 20 }; // in the event file: ends the thread

struct ggs_control {
    struct ggs_control_settings settings;
    struct ggs_spool_control *  words; // shared with the program
    struct ggs_control_entry *  list;  // after the words
    pthread_mutex_t             lock;
    bool                        recording;
    uint32_t                    window; // the open entry + 1; 0 for none
    uint64_t                    opened_ns;
    struct ggs_live_requests *  requests;                // NULL if not counted
    uint64_t                    last;                    // newest wanted decode; 0 if incomplete
    int                         directory, socket, stop; // -1 for none
    pthread_t                   thread;
    bool                        running;
};

static size_t file_size(void) {
    return sizeof(struct ggs_spool_control) + GGS_CONTROL_ENTRIES * sizeof(struct ggs_control_entry);
}

// ---- the list ----

// Returns the entry's number + 1, 0 if there is no room. The kind is stored last, because a reader
// may read at any time.
static uint32_t add_entry(struct ggs_control * control, uint32_t kind, uint64_t ns, const char * text) {
    uint32_t n = control->words->entries;
    if (n >= GGS_CONTROL_ENTRIES) return 0;
    struct ggs_control_entry * entry = &control->list[n];
    entry->begin_ns                  = ns;
    entry->end_ns                    = kind == GGS_WINDOW_MARK ? ns : 0;
    if (kind == GGS_WINDOW_MARK)
        snprintf(entry->text, sizeof(entry->text), "%.*s", (int) sizeof(entry->text) - 1, text);
    __atomic_store_n(&entry->kind, kind, __ATOMIC_RELEASE);
    __atomic_store_n(&control->words->entries, n + 1, __ATOMIC_RELEASE);
    return n + 1;
}

// ---- windows: under the lock ----

// Excludes what was recorded after the old window had ended; later records belong to the new one.
static void end_cut(struct ggs_control * control) {
    if (control->requests == NULL) return;
    ggs_live_requests_read(control->requests, false);
    ggs_live_requests_begin(control->requests);
    control->last = 0;
    for (uint32_t i = 0; i < control->words->entries; i++) {
        struct ggs_control_entry * entry = &control->list[i];
        if (entry->kind == GGS_WINDOW_RECORDED && entry->late.cut != 0 && entry->late.newest == 0)
            entry->late.newest = ggs_live_requests_newest(control->requests);
    }
}

static bool open_window(struct ggs_control * control, bool first) {
    end_cut(control);
    uint64_t ns     = ggs_clock_now();
    control->window = add_entry(control, GGS_WINDOW_RECORDED, ns, "");
    if (control->window == 0) return false;
    control->list[control->window - 1].reserved = first; // from the program's begin on
    control->opened_ns                          = ns;
    control->recording                          = true;
    control->words->ended_ns                    = 0;
    __atomic_store_n(&control->words->steps_left, (int64_t) control->settings.steps, __ATOMIC_RELEASE);
    __atomic_store_n(&control->words->recording, 1, __ATOMIC_RELEASE);
    if (!first && control->settings.changed != NULL) control->settings.changed(control->settings.context, true);
    return true;
}

static void close_window(struct ggs_control * control, uint64_t ns) {
    __atomic_store_n(&control->words->recording, 0, __ATOMIC_RELEASE);
    control->list[control->window - 1].end_ns = ns;
    control->window                           = 0;
    control->recording                        = false;
    if (control->settings.changed != NULL) control->settings.changed(control->settings.context, false);
}

static bool requests_are_over(struct ggs_control * control, bool ended) {
    if (control->requests == NULL) return false;
    ggs_live_requests_read(control->requests, ended);
    return ggs_live_requests_have_ended(control->requests, control->settings.requests, &control->last);
}

// Closes a window whose requests ended a while ago: excludes what was recorded since.
static void close_after_requests(struct ggs_control * control, uint64_t ns) {
    struct ggs_control_entry * entry = &control->list[control->window - 1];
    close_window(control, ns);
    entry->late.last = control->last;
    __atomic_store_n(&entry->late.cut, 1, __ATOMIC_RELEASE);
}

// Closes a window that has ended by itself. `ended`: the program has ended.
static void check_window(struct ggs_control * control, bool ended) {
    const struct ggs_control_settings * settings = &control->settings;
    if (!control->recording) return;
    uint64_t steps_ended = __atomic_load_n(&control->words->ended_ns, __ATOMIC_ACQUIRE), ns = ggs_clock_now();
    if (settings->steps > 0 && steps_ended != 0) {
        close_window(control, steps_ended);
        if (!settings->quiet)
            fprintf(stderr, "ggscope: %" PRIu64 " steps are recorded, the program runs on\n", settings->steps);
    } else if (settings->requests > 0 && requests_are_over(control, ended)) {
        close_after_requests(control, ns);
        if (!settings->quiet && !ended)
            fprintf(stderr, "ggscope: %" PRIu64 " request%s recorded, the program runs on\n", settings->requests,
                    settings->requests == 1 ? " is" : "s are");
    } else if (settings->length_ns > 0 && ns - control->opened_ns >= settings->length_ns) {
        close_window(control, ns);
        if (!settings->quiet) fprintf(stderr, "ggscope: the time to record is over, the program runs on\n");
    }
}

// Milliseconds until the next deadline; -1 if there is none.
static int until_next(const struct ggs_control * control) {
    if (!control->recording) return -1;
    if (control->settings.steps > 0 || control->settings.requests > 0) return LOOK_MS;
    if (control->settings.length_ns == 0) return -1;
    uint64_t gone = ggs_clock_now() - control->opened_ns, length = control->settings.length_ns;
    uint64_t left = gone < length ? (length - gone) / 1000000u + 1 : 0;
    return left > INT_MAX ? INT_MAX : (int) left;
}

// ---- commands: under the lock ----

static bool set_recording(struct ggs_control * control, bool on, char answer[LINE]) {
    check_window(control, false);
    if (control->recording == on) {
        snprintf(answer, LINE, "error it is %s already\n", on ? "recording" : "paused");
        return false;
    }
    if (!on) {
        close_window(control, ggs_clock_now());
    } else if (!open_window(control, false)) {
        snprintf(answer, LINE, "error there have been %d windows and marks; more are not kept\n", GGS_CONTROL_ENTRIES);
        return false;
    }
    snprintf(answer, LINE, "ok %s\n", on ? "recording" : "paused");
    return true;
}

static void obey(struct ggs_control * control, const char * line, char answer[LINE]) {
    if (strcmp(line, "start") == 0 || strcmp(line, "stop") == 0) {
        set_recording(control, line[2] == 'a', answer);
    } else if (strcmp(line, "toggle") == 0) {
        set_recording(control, !control->recording, answer);
    } else if (strcmp(line, "status") == 0) {
        check_window(control, false);
        snprintf(answer, LINE, "ok %s\n", control->recording ? "recording" : "paused");
    } else if (strncmp(line, "mark ", 5) == 0 && line[5] != '\0') {
        bool kept = add_entry(control, GGS_WINDOW_MARK, ggs_clock_now(), line + 5) != 0;
        snprintf(answer, LINE, kept ? "ok marked\n" : "error there is no room for more marks\n");
    } else {
        snprintf(answer, LINE, "error there is no command '%.60s'\n", line);
    }
}

// ---- the socket ----

// A socket address holds about 100 characters, so a long path goes through /proc/self/fd.
static void address_of(struct sockaddr_un * address, int directory) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", directory, GGS_CONTROL_SOCKET);
}

static int listen_in(int directory) {
    struct sockaddr_un address;
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    address_of(&address, directory);
    mode_t before = umask(0177); // no other thread exists yet
    int    status = bind(fd, (struct sockaddr *) &address, sizeof(address));
    int    reason = errno;
    umask(before);
    if (status == 0 && listen(fd, 8) == 0) return fd;
    if (status == 0) reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

// Reads up to the end of the line. Returns false if it is too long or incomplete.
static bool read_line(int fd, char line[LINE]) {
    size_t used = 0;
    while (used < LINE - 1) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, PATIENCE_MS) <= 0) return false;
        ssize_t n = read(fd, line + used, LINE - 1 - used);
        if (n <= 0) return false;
        used += (size_t) n;
        line[used]  = '\0';
        char * over = strchr(line, '\n');
        if (over != NULL) {
            *over = '\0';
            return strlen(line) == (size_t) (over - line);
        }
    }
    return false;
}

static void serve(struct ggs_control * control) {
    int fd = accept4(control->socket, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    char line[LINE], answer[LINE] = "error that was no line\n";
    if (read_line(fd, line)) {
        pthread_mutex_lock(&control->lock);
        obey(control, line, answer);
        pthread_mutex_unlock(&control->lock);
    }
    send(fd, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT); // never blocks
    close(fd);
}

static void * attend(void * context) {
    struct ggs_control * control = context;
    for (;;) {
        struct pollfd fds[2] = {{.fd = control->stop, .events = POLLIN}, {.fd = control->socket, .events = POLLIN}};
        pthread_mutex_lock(&control->lock);
        check_window(control, false);
        int wait = until_next(control);
        pthread_mutex_unlock(&control->lock);
        if (poll(fds, 2, wait) < 0 && errno != EINTR) break;
        if ((fds[0].revents & POLLIN) != 0) {
            uint64_t value;
            if (read(control->stop, &value, sizeof(value)) == sizeof(value) && value >= STOP) break;
        }
        if ((fds[1].revents & POLLIN) != 0) serve(control);
    }
    return NULL;
}

// ---- life ----

static int make_file(struct ggs_control * control, struct ggs_error * error) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", control->settings.folder, GGS_SPOOL_CONTROL);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return ggs_fail_errno(error, "cannot create %s", path);
    // Allocated at full size: a sparse file on a full disk would end the program with SIGBUS.
    int    reason = posix_fallocate(fd, 0, (off_t) file_size());
    void * words  = reason == 0 ? mmap(NULL, file_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (reason == 0) reason = errno;
    close(fd);
    if (words == MAP_FAILED) {
        errno = reason;
        return ggs_fail_errno(error, "cannot make %s", path);
    }
    control->words = words;
    control->list  = (struct ggs_control_entry *) (control->words + 1);
    memcpy(control->words->magic, GGS_CONTROL_MAGIC, sizeof(control->words->magic));
    return 0;
}

int ggs_control_open(struct ggs_control ** out, const struct ggs_control_settings * settings,
                     struct ggs_error * error) {
    struct ggs_control * control = calloc(1, sizeof(*control));
    *out                         = NULL;
    if (control == NULL) return ggs_fail_memory(error);
    *control   = (struct ggs_control){.settings  = *settings,
                                      .lock      = PTHREAD_MUTEX_INITIALIZER,
                                      .directory = open(settings->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                      .stop      = eventfd(0, EFD_CLOEXEC),
                                      .socket    = -1};
    int status = control->directory < 0 || control->stop < 0
                     ? ggs_fail_errno(error, "cannot open %s", settings->directory)
                     : make_file(control, error);
    if (status != 0) {
        ggs_control_close(control);
        return status;
    }
    if (settings->requests > 0) status = ggs_live_requests_open(&control->requests, settings->folder, error);
    if (status != 0) {
        ggs_control_close(control);
        return status;
    }
    if (!settings->paused) open_window(control, true);
    control->socket = listen_in(control->directory);
    if (control->socket < 0)
        fprintf(stderr, "ggscope: ggscope control will not reach this recording: cannot make %s/%s: %s\n",
                settings->directory, GGS_CONTROL_SOCKET, strerror(errno));
    *out = control;
    return 0;
}

void ggs_control_begin(struct ggs_control * control) {
    sigset_t all, before;
    sigfillset(&all); // signals are for the thread that waits for the program
    pthread_sigmask(SIG_SETMASK, &all, &before);
    control->running = pthread_create(&control->thread, NULL, attend, control) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void wake(const struct ggs_control * control, uint64_t value) {
    ssize_t n;
    do {
        n = write(control->stop, &value, sizeof(value));
    } while (n < 0 && errno == EINTR);
}

void ggs_control_freed(struct ggs_control * control, uint64_t bytes) {
    __atomic_store_n(&control->words->freed, bytes, __ATOMIC_RELEASE);
}

uint32_t ggs_control_children(const struct ggs_control * control) {
    return control->words == NULL ? 0 : __atomic_load_n(&control->words->children, __ATOMIC_RELAXED);
}

void ggs_control_start(struct ggs_control * control) {
    char answer[LINE];
    pthread_mutex_lock(&control->lock);
    set_recording(control, true, answer);
    pthread_mutex_unlock(&control->lock);
    wake(control, 1); // the thread may have a new deadline
}

uint64_t ggs_control_certain(struct ggs_control * control) {
    pthread_mutex_lock(&control->lock);
    uint64_t last = control->recording && control->last != 0 ? control->last : UINT64_MAX;
    pthread_mutex_unlock(&control->lock);
    return last;
}

void ggs_control_toggle(struct ggs_control * control) {
    char answer[LINE];
    pthread_mutex_lock(&control->lock);
    bool done = set_recording(control, !control->recording, answer);
    bool on   = control->recording;
    pthread_mutex_unlock(&control->lock);
    wake(control, 1); // the thread may have a new deadline
    if (!control->settings.quiet && done) fprintf(stderr, "ggscope: %s\n", on ? "recording" : "paused");
}

void ggs_control_close(struct ggs_control * control) {
    if (control == NULL) return;
    if (control->running) {
        wake(control, STOP);
        pthread_join(control->thread, NULL);
    }
    if (control->words != NULL) {
        check_window(control, true);
        munmap(control->words, file_size());
    }
    ggs_live_requests_close(control->requests);
    if (control->socket >= 0) {
        close(control->socket);
        unlinkat(control->directory, GGS_CONTROL_SOCKET, 0);
    }
    if (control->directory >= 0) close(control->directory);
    if (control->stop >= 0) close(control->stop);
    pthread_mutex_destroy(&control->lock);
    free(control);
}

// ---- followed programs ----

// Decode numbers are per process, so no decodes of followed programs are excluded.
static bool write_shared(int fd, const struct ggs_mapping * file) {
    uint8_t * copy = malloc(file->size);
    if (copy == NULL) return false;
    memcpy(copy, file->data, file->size);
    for (size_t at = sizeof(struct ggs_spool_control); at + sizeof(struct ggs_control_entry) <= file->size;
         at += sizeof(struct ggs_control_entry)) {
        struct ggs_control_entry * entry = (struct ggs_control_entry *) (copy + at);
        if (entry->kind == GGS_WINDOW_RECORDED) entry->late.cut = 0;
    }
    bool written = write(fd, copy, file->size) == (ssize_t) file->size;
    free(copy);
    return written;
}

void ggs_control_share(const char * directory) {
    char               path[PATH_MAX];
    struct ggs_mapping file;
    glob_t             found;
    if (snprintf(path, sizeof(path), "%s/spool/%s", directory, GGS_SPOOL_CONTROL) >= (int) sizeof(path) ||
        access(path, R_OK) != 0 || ggs_mapping_open(&file, path, NULL) < 0)
        return;
    bool many = snprintf(path, sizeof(path), "%s/process-*/spool", directory) < (int) sizeof(path) &&
                glob(path, GLOB_ONLYDIR, NULL, &found) == 0;
    for (size_t i = 0; many && i < found.gl_pathc; i++) {
        if (snprintf(path, sizeof(path), "%s/%s", found.gl_pathv[i], GGS_SPOOL_CONTROL) >= (int) sizeof(path)) continue;
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0) continue; // it has one
        if (!write_shared(fd, &file)) unlink(path);
        close(fd);
    }
    if (many) globfree(&found);
    ggs_mapping_close(&file);
}

// ---- clients ----

int ggs_control_ask(const char * directory, const char * line, char * answer, size_t size, struct ggs_error * error) {
    struct sockaddr_un address;
    char               text[LINE], reply[LINE] = "";
    int                length = snprintf(text, sizeof(text), "%s\n", line);
    if (length >= (int) sizeof(text) || strchr(line, '\n') != NULL)
        return ggs_fail(error, GGS_USAGE, "a mark is one line of at most %d bytes", LINE - 8);
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return ggs_fail_errno(error, "cannot open %s", directory);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address_of(&address, folder);
    int status = fd < 0 ? ggs_fail_errno(error, "cannot make a socket") : 0;
    if (status == 0 && connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0) {
        status = errno == ENOENT || errno == ECONNREFUSED
                     ? ggs_fail(error, GGS_ABSENT, "nothing is being recorded into %s", directory)
                     : ggs_fail_errno(error, "cannot reach the ggscope record of %s", directory);
    }
    if (status == 0 && (send(fd, text, (size_t) length, MSG_NOSIGNAL) != length || !read_line(fd, reply)))
        status = ggs_fail(error, GGS_ABSENT, "the ggscope record of %s does not answer", directory);
    if (fd >= 0) close(fd);
    close(folder);
    if (status != 0) return status;
    if (strncmp(reply, "error ", 6) == 0) return ggs_fail(error, GGS_USAGE, "%s", reply + 6);
    snprintf(answer, size, "%s", strncmp(reply, "ok ", 3) == 0 ? reply + 3 : reply);
    return 0;
}
