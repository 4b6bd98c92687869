// ggscope serve DIR...: shows experiments in the browser.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/system/guard.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "record/experiment.h"
#include "record/spool/live.h"
#include "record/spool/place.h"
#include "serve/server.h"

enum { MOST_PATHS = 64 };
#define HOW_TO_RECORD "ggscope run -m MODEL.gguf -p \"Once upon a time\" -n 16"

struct arguments {
    struct ggs_input input;
    const char *     address;
    uint64_t         port;
    bool             open;
};
#define AT(member) offsetof(struct arguments, member)

static bool set_port(void * member, const char * text) {
    return ggs_parse_u64(text, 0, 65535, member);
}

// ---- experiments ----

// Seals a recording without a recorder, and refuses anything that is not an experiment.
static int prepare(const char * directory, struct ggs_error * error) {
    struct stat info;
    if (stat(directory, &info) != 0) return ggs_fail_errno(error, "cannot open the experiment %s", directory);
    if (S_ISDIR(info.st_mode) && (ggs_spool_place_is_live(directory) || ggs_live_is_starting(directory))) return 0;
    return ggs_verb_seal(directory, error);
}

struct looking {
    struct ggs_live_context live; // must be first: its functions get the same context
    bool                    serving;
};

// Recordings below a folder that were killed are sealed once, before the server starts; the server
// itself writes nothing.
static enum ggs_found classify_folder(void * context, const char * directory) {
    const struct looking * looking = context;
    struct ggs_error       error   = {0};
    if (!ggs_experiment_is_one(directory)) return GGS_FOUND_FOLDER;
    if (looking->serving) return ggs_live_can_be_shown(directory) ? GGS_FOUND_EXPERIMENT : GGS_FOUND_NOTHING;
    if (prepare(directory, &error) == 0) return GGS_FOUND_EXPERIMENT;
    fprintf(stderr, "ggscope: skipped: %s\n", error.text);
    return GGS_FOUND_NOTHING;
}

static bool is_folder(const char * path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && !ggs_experiment_is_one(path) &&
           !ggs_experiment_is_claimed(path);
}

static int add_all(struct ggs_experiments ** out, const struct arguments * arguments, const struct ggs_live * live,
                   struct ggs_error * error) {
    const char * directories[MOST_PATHS];
    unsigned     n      = 0;
    int          status = 0;
    for (unsigned i = 0; status == 0 && i < arguments->input.n; i++) {
        if (is_folder(arguments->input.paths[i])) continue;
        status           = prepare(arguments->input.paths[i], error);
        directories[n++] = arguments->input.paths[i];
    }
    if (status == 0) status = ggs_experiments_new(out, directories, n, live, error);
    for (unsigned i = 0; status == 0 && i < arguments->input.n; i++) {
        if (!is_folder(arguments->input.paths[i])) continue;
        status = ggs_experiments_add_folder(*out, arguments->input.paths[i], error);
        if (status < 0) ggs_experiments_free(*out);
    }
    if (status != 0 || ggs_experiments_count(*out) > 0) return status;
    ggs_experiments_free(*out);
    return ggs_fail(error, GGS_ABSENT, "there is no recording below %s; record one: " HOW_TO_RECORD,
                    arguments->input.paths[0]);
}

// ---- the browser ----

// The URL contains the token, and other users can see the arguments of a process: the browser gets
// a private page that redirects there.
static bool write_redirect(char path[PATH_MAX], const char * address) {
    const char * parent = getenv("XDG_RUNTIME_DIR");
    if (parent == NULL || parent[0] != '/' || access(parent, W_OK | X_OK) != 0) parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] != '/') parent = "/tmp";
    if (snprintf(path, PATH_MAX, "%s/ggscope-XXXXXX.html", parent) >= PATH_MAX) return false;
    int fd = mkostemps(path, 5, O_CLOEXEC); // mode 0600
    if (fd < 0) return false;
    FILE * file = fdopen(fd, "w");
    bool   good =
        file != NULL && fprintf(file,
                                "<!doctype html><meta charset=\"utf-8\"><title>ggscope</title>"
                                "<meta http-equiv=\"refresh\" content=\"0; url=%s\"><a href=\"%s\">ggscope</a>\n",
                                address, address) > 0;
    if (file == NULL) close(fd);
    if (file != NULL && fclose(file) != 0) good = false;
    if (!good) unlink(path);
    return good;
}

// `path` receives the page to remove at the end, "" for none.
static void open_browser(const char * address, char path[PATH_MAX]) {
    if (!write_redirect(path, address)) {
        path[0] = '\0';
        fputs("ggscope: cannot start the browser: no private file can be made; use the address\n", stderr);
        return;
    }
    pid_t child = fork();
    if (child != 0) return;
    // A grandchild, which needs no waiting; without our signals and output.
    if (fork() == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (freopen("/dev/null", "w", stdout) != NULL && freopen("/dev/null", "w", stderr) != NULL)
            execlp("xdg-open", "xdg-open", path, (char *) NULL);
    }
    _exit(0);
}

// ---- shutdown ----

enum { PATIENCE_MS = 400 };

struct ending {
    const struct ggs_experiments * experiments;
    sem_t                          ended;
};

// Work that cannot be interrupted (sorting, a snapshot of a long recording) must not delay the
// exit.
static void * end_anyway(void * context) {
    struct ending * ending = context;
    struct timespec until  = ggs_clock_in_ms(CLOCK_REALTIME, PATIENCE_MS);
    while (sem_timedwait(&ending->ended, &until) != 0) {
        if (errno == EINTR) continue;
        ggs_experiments_tidy(ending->experiments);
        _exit(0);
    }
    return NULL;
}

static void stop(struct ggs_server * server, const struct ggs_experiments * experiments) {
    pthread_t     watchdog;
    struct ending ending = {.experiments = experiments};
    bool watched = sem_init(&ending.ended, 0, 0) == 0 && pthread_create(&watchdog, NULL, end_anyway, &ending) == 0;
    ggs_server_stop(server);
    if (!watched) return;
    sem_post(&ending.ended);
    pthread_join(watchdog, NULL);
    sem_destroy(&ending.ended);
}

// ---- the verb ----

static int serve(const struct arguments * arguments, const sigset_t * signals, struct ggs_error * error) {
    struct ggs_experiments *  experiments = NULL;
    struct ggs_server *       server;
    char                      page[PATH_MAX] = "";
    struct looking            looking        = {0};
    struct ggs_live           live           = {.going_on = ggs_live_going_on,
                                                .copy     = ggs_live_copy,
                                                .classify = classify_folder,
                                                .context  = &looking,
                                                .damaged  = arguments->input.damaged};
    struct ggs_server_options options        = {.address = arguments->address, .port = (uint16_t) arguments->port};
    int                       status         = add_all(&experiments, arguments, &live, error);
    if (status < 0) return status;
    looking.serving = true;
    status          = ggs_server_start(&server, experiments, &options, error);
    if (status == 0) {
        int signal;
        printf("%s\n", ggs_server_address(server));
        if (ggs_file_flush(stdout) != 0) { // a URL that was not printed is useless
            status = ggs_fail_errno(error, "cannot write the address to standard output");
        } else {
            if (isatty(STDERR_FILENO)) fputs("ggscope: serving until Ctrl-C\n", stderr);
            if (arguments->open) open_browser(ggs_server_address(server), page);
            while (sigwait(signals, &signal) != 0 || signal == SIGCHLD) waitpid(-1, NULL, WNOHANG);
        }
        if (page[0] != '\0') unlink(page);
        stop(server, experiments);
    }
    ggs_experiments_free(experiments);
    ggs_live_release(&looking.live);
    return status;
}

static int start(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    static char        here[]    = "experiments";
    struct arguments * arguments = input;
    struct ggs_input * paths     = &arguments->input;
    sigset_t           signals;
    (void) traces;
    if (paths->n == 0) {
        if (access(here, F_OK) != 0)
            return ggs_fail(error, GGS_ABSENT,
                            "there is no folder ./experiments; name a directory, or record one: " HOW_TO_RECORD);
        paths->own[0] = here;
        paths->paths  = paths->own;
        paths->n      = 1;
    }
    // Blocked before the first thread starts, so that all threads inherit it and sigwait gets the
    // signals.
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    ggs_guard_install();
    return serve(arguments, &signals, error);
}

int cmd_serve(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("port", 0, "N", "Listen at this port (0: any free one)", 1, AT(port), set_port,
                   "a number from 0 to 65535"),
        GGS_SWITCH("open", 0, "Open the address in a browser", 1, AT(open)),
        GGS_OPTION("bind", 0, "ADDRESS",
                   "Listen at this address instead of 127.0.0.1; other machines then reach the server, with the token",
                   1, AT(address), ggs_set_text, NULL),
        GGS_OPTION_DAMAGED(1),
        {0}};
    static const struct ggs_verb verb = {
        .operands = "[DIR...]",
        .most     = MOST_PATHS,
        .several  = true,
        .options  = options,
        .run      = start,
        .text =
            "Show experiments in the browser, also while they are being recorded. Any other folder (./experiments without "
            "DIR) shows all experiments below it, including later ones. Prints the address and serves until Ctrl-C."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
