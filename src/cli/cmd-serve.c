// ggscope serve DIR...: experiments in the browser.
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
#include "base/guard.h"
#include "base/number.h"
#include "cli/commands.h"
#include "cli/verb.h"
#include "record/live.h"
#include "record/spool-place.h"
#include "serve/server.h"

struct arguments {
    struct ggs_input input;
    const char *     address;
    uint64_t         port;
    bool             open;
};
#define AT(member) offsetof(struct arguments, member)

static bool take_port(void * member, const char * text) {
    return ggs_parse_u64(text, 0, 65535, member);
}

// ---- which experiments ----

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
    int status = ggs_experiments_new(&experiments, (const char * const *) arguments->input.paths, arguments->input.n,
                                     &live, error);
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

static int start(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments * arguments = input;
    sigset_t           signals;
    int                status = 0;
    (void) traces;
    // Blocked before the first thread is made: all of them inherit it, and sigwait gets the signals.
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    ggs_guard_install();
    for (unsigned i = 0; status == 0 && i < arguments->input.n; i++) status = prepare(arguments->input.paths[i], error);
    return status == 0 ? serve(arguments, &signals, error) : status;
}

int cmd_serve(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        {"port", 0, "N", "Listen at this port; 0, the default, is any that is free", 1, AT(port), take_port,
         "a number from 0 to 65535"},
        {"open", 0, NULL, "Start the browser", 1, AT(open), NULL, NULL},
        {"bind", 0, "ADDRESS",
         "Listen at this address instead of 127.0.0.1: others can reach the server then, and need the token", 1,
         AT(address), ggs_take_text, NULL},
        {0}};
    static const struct ggs_verb verb = {
        .operands = "[DIR...]",
        .most     = 64,
        .options  = options,
        .run      = start,
        .text =
            "Show experiments in the browser, also while they are being recorded. Without DIR: the newest in ./experiments. Prints the address and serves until Ctrl-C."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
