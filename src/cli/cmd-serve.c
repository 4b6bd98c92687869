// ggscope serve DIR...: experiments in the browser.
#include <argp.h>
#include <dirent.h>
#include <errno.h>
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
#include "cli/commands.h"
#include "cli/verb.h"
#include "record/live.h"
#include "record/spool-place.h"
#include "serve/guard.h"
#include "serve/server.h"

enum { KEY_PORT = 256, KEY_OPEN, KEY_BIND, DIRECTORIES_MOST = 64 };

struct arguments {
    const char * directories[DIRECTORIES_MOST];
    unsigned     n;
    const char * address;
    uint64_t     port;
    bool         open;
};

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct arguments * arguments = state->input;
    switch (key) {
        case KEY_PORT:
            if (!ggs_parse_u64(argument, 0, 65535, &arguments->port))
                argp_error(state, "--port takes a number from 0 to 65535, not '%s'", argument);
            return 0;
        case KEY_BIND:
            arguments->address = argument;
            return 0;
        case KEY_OPEN:
            arguments->open = true;
            return 0;
        case ARGP_KEY_ARG:
            if (arguments->n == DIRECTORIES_MOST)
                argp_error(state, "no more than %d experiments, please", DIRECTORIES_MOST);
            arguments->directories[arguments->n++] = argument;
            return 0;
        default:
            return ARGP_ERR_UNKNOWN;
    }
}

// ---- which experiments ----

static bool is_experiment(const char * directory) {
    static const char * const files[] = {"trace.ggs", "experiment.json", "spool"};
    char                      path[PATH_MAX];
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (snprintf(path, sizeof(path), "%s/%s", directory, files[i]) < (int) sizeof(path) && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

// The newest below ./experiments, where `ggscope run` and `ggscope record` put them.
static bool find_newest(char newest[PATH_MAX]) {
    DIR *           folder = opendir("experiments");
    struct timespec best   = {0};
    newest[0]              = '\0';
    for (struct dirent * entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char        path[PATH_MAX];
        struct stat info;
        if (entry->d_name[0] == '.' ||
            snprintf(path, sizeof(path), "experiments/%s", entry->d_name) >= (int) sizeof(path))
            continue;
        if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode) || !is_experiment(path)) continue;
        if (newest[0] != '\0' && (info.st_mtim.tv_sec < best.tv_sec ||
                                  (info.st_mtim.tv_sec == best.tv_sec && info.st_mtim.tv_nsec <= best.tv_nsec)))
            continue;
        best = info.st_mtim;
        memcpy(newest, path, strlen(path) + 1);
    }
    if (folder != NULL) closedir(folder);
    return newest[0] != '\0';
}

// Seals what nobody records to any more, and refuses what is no experiment.
static int prepare(const char * directory, struct ggs_error * error) {
    struct stat info;
    pid_t       writer;
    if (stat(directory, &info) != 0) return ggs_fail_errno(error, "cannot open the experiment %s", directory);
    if (S_ISDIR(info.st_mode) && ggs_spool_place_is_live(directory, &writer)) return 0;
    if (S_ISDIR(info.st_mode) && ggs_live_is_starting(directory)) return 0;
    return ggs_verb_seal(directory, error);
}

// ---- the browser ----

static void open_browser(const char * address) {
    pid_t child = fork();
    if (child != 0) return;
    // A grandchild, so that nobody has to wait for it; without our signals and our output.
    if (fork() == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (freopen("/dev/null", "w", stdout) != NULL && freopen("/dev/null", "w", stderr) != NULL)
            execlp("xdg-open", "xdg-open", address, (char *) NULL);
    }
    _exit(0);
}

// ---- the end ----

enum { PATIENCE_MS = 400 };

struct ending {
    const struct ggs_experiments * experiments;
    sem_t                          ended;
};

// Work that cannot be interrupted (sorting, a snapshot of a long recording) does not keep us from ending at once.
static void * end_anyway(void * context) {
    struct ending * ending = context;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PATIENCE_MS * 1000000l;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
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
    struct ggs_experiments *  experiments;
    struct ggs_server *       server;
    struct ggs_live_context   context = {0};
    struct ggs_live           live    = {.going_on = ggs_live_going_on, .copy = ggs_live_copy, .context = &context};
    struct ggs_server_options options = {.address = arguments->address, .port = (uint16_t) arguments->port};
    int status = ggs_experiments_new(&experiments, arguments->directories, arguments->n, &live, error);
    if (status < 0) return status;
    status = ggs_server_start(&server, experiments, &options, error);
    if (status == 0) {
        int signal;
        printf("%s\n", ggs_server_address(server));
        fflush(stdout);
        if (isatty(STDERR_FILENO)) fputs("ggscope: serving until Ctrl-C\n", stderr);
        if (arguments->open) open_browser(ggs_server_address(server));
        while (sigwait(signals, &signal) != 0 || signal == SIGCHLD) waitpid(-1, NULL, WNOHANG);
        stop(server, experiments);
    }
    ggs_experiments_free(experiments);
    ggs_live_release(&context);
    return status;
}

int cmd_serve(int argc, char ** argv) {
    static const struct argp_option options[] = {
        {"port", KEY_PORT, "N", 0, "Listen at this port; 0, the default, is any that is free", 1},
        {"open", KEY_OPEN, NULL, 0, "Start the browser", 1},
        {"bind", KEY_BIND, "ADDRESS", 0,
         "Listen at this address instead of 127.0.0.1: others can reach the server then, and need the token", 1},
        {0}};
    static const struct argp argp = {
        options,
        parse_option,
        "[DIR...]",
        "Show experiments in the browser, also while they are being recorded. Without DIR: the newest in ./experiments. Prints the address and serves until Ctrl-C.",
        NULL,
        NULL,
        NULL};
    struct arguments arguments = {0};
    struct ggs_error error     = {0};
    char             newest[PATH_MAX];
    sigset_t         signals;
    int              status = 0;
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) return 2;
    if (arguments.n == 0 && !find_newest(newest)) {
        fputs(
            "ggscope: there is no experiment in ./experiments; record one: ggscope run -m MODEL.gguf -p \"Once upon a time\" -n 16\n",
            stderr);
        return 1;
    }
    if (arguments.n == 0) arguments.directories[arguments.n++] = newest;
    // Blocked before the first thread is made: all of them inherit it, and sigwait gets the signals.
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    ggs_guard_install();
    for (unsigned i = 0; status == 0 && i < arguments.n; i++) status = prepare(arguments.directories[i], &error);
    if (status == 0) status = serve(&arguments, &signals, &error);
    if (status < 0) ggs_verb_complain(&error);
    return status < 0 ? 1 : 0;
}
