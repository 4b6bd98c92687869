#include "record/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "record/launch/group-watch.h"
#include "record/launch/raw-terminal.h"
#include "record/launch/relay.h"

// The program's descriptors 0, 1 and 2 (-1: ours), and the terminal of its session (-1: it stays in
// ours).
struct ends {
    int child[3];
    int terminal;
};

struct session {
    const struct ggs_launch * launch;
    struct ends               ends;
    struct ggs_relay          out, err, in;
    int                       main_pty, error_pty; // masters, -1 for none; owned by `out` or `err`
    bool                      forwards_input;
    int                       signals; // signalfd
    int                       reports; // from the monitor, -1 if the program is our own child
    pid_t                     child;   // our child: the program, or the monitor
    pid_t                     program;
    int                       begin[2]; // a byte starts the program
    int                       wait_status;
    bool                      ended;
    bool                      stays; // a process of ours stays to relay later output
    struct ggs_group_watch    group; // while the program is in our group
    sigset_t                  mask_before;
    struct sigaction          child_before;
};

// ---- pipes and ptys ----

static int open_pty(int like, bool raw_output, int * master, int * slave, struct ggs_error * error) {
    char           name[128];
    struct termios settings;
    struct winsize size;
    *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (*master < 0) return ggs_fail_errno(error, "cannot open a pseudo terminal for the program");
    if (grantpt(*master) != 0 || unlockpt(*master) != 0 || ptsname_r(*master, name, sizeof(name)) != 0)
        return ggs_fail_errno(error, "cannot prepare a pseudo terminal for the program");
    *slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*slave < 0) return ggs_fail_errno(error, "cannot open the pseudo terminal %s for the program", name);
    if (tcgetattr(like, &settings) == 0) {
        // Our terminal converts line ends itself.
        if (raw_output) settings.c_oflag &= ~(tcflag_t) OPOST;
        tcsetattr(*slave, TCSANOW, &settings);
    }
    if (ioctl(like, TIOCGWINSZ, &size) == 0) ioctl(*slave, TIOCSWINSZ, &size);
    return 0;
}

static int open_pipe(int * reader, int * writer, struct ggs_error * error) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return ggs_fail_errno(error, "cannot open a pipe for the program");
    *reader = ends[0];
    *writer = ends[1];
    fcntl(*reader, F_SETFL, O_NONBLOCK); // of our end only
    return 0;
}

// Opens what the program writes to as `target` (1 or 2).
static int open_output(struct session * session, int target, struct ggs_relay * relay, struct ggs_error * error) {
    if (!isatty(target)) return open_pipe(&relay->from, &session->ends.child[target], error);
    int status      = open_pty(target, !session->forwards_input, &relay->from, &session->ends.child[target], error);
    relay->from_pty = true;
    if (session->main_pty < 0) {
        session->main_pty      = relay->from;
        session->ends.terminal = session->ends.child[target];
    } else {
        session->error_pty = relay->from;
    }
    return status;
}

static int open_ends(struct session * session, const struct ggs_launch * launch, struct ggs_error * error) {
    session->main_pty = session->error_pty = -1;
    session->ends                          = (struct ends){{-1, -1, -1}, -1};
    session->forwards_input                = isatty(0) && (isatty(1) || isatty(2));
    ggs_relay_init(&session->out, -1, STDOUT_FILENO, launch->copy_stdout);
    ggs_relay_init(&session->err, -1, STDERR_FILENO, launch->copy_stderr);
    ggs_relay_init(&session->in, -1, -1, -1);
    int status = open_output(session, 1, &session->out, error);
    if (status == 0) status = open_output(session, 2, &session->err, error);
    if (status != 0 || !session->forwards_input) return status;
    session->ends.child[0] = session->ends.terminal;
    session->in.from       = STDIN_FILENO;
    session->in.to         = session->main_pty;
    return 0;
}

static void close_child_ends(struct session * session) {
    for (int i = 1; i < 3; i++) {
        if (session->ends.child[i] >= 0) close(session->ends.child[i]);
        session->ends.child[i] = -1;
    }
}

// ---- starting ----

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

static int watch_signals(struct session * session, struct ggs_error * error) {
    sigset_t watched;
    sigemptyset(&watched);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++) sigaddset(&watched, forwarded[i]);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGWINCH);
    sigaddset(&watched, SIGCONT);
    // Without a pty the program gets it directly.
    if (isatty(1) || isatty(2)) sigaddset(&watched, SIGTSTP);
    sigset_t blocked = watched;
    // Using the terminal from the background is an error for us, not a reason to stop.
    sigaddset(&blocked, SIGTTIN);
    sigaddset(&blocked, SIGTTOU);
    sigprocmask(SIG_BLOCK, &blocked, &session->mask_before);
    // If our parent ignores SIGCHLD, children would vanish without a status.
    struct sigaction wait_for_children = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &wait_for_children, &session->child_before);
    signal(SIGPIPE, SIG_IGN);
    session->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    return session->signals < 0 ? ggs_fail_errno(error, "cannot watch signals") : 0;
}

static void restore_signals(const struct session * session) {
    signal(SIGPIPE, SIG_DFL);
    sigaction(SIGCHLD, &session->child_before, NULL);
    sigprocmask(SIG_SETMASK, &session->mask_before, NULL);
}

// In the child: waits until the observer of the program is ready. Returns false if there is none.
static bool wait_for_start(const struct session * session) {
    char    byte;
    ssize_t n;
    close(session->begin[1]);
    do {
        n = read(session->begin[0], &byte, 1);
    } while (n < 0 && errno == EINTR);
    return n == 1;
}

// In the child: becomes the program. A failure is written to `failure`, which exec closes.
__attribute__((noreturn)) static void become(const struct session * session, const struct ggs_launch * launch,
                                             int failure) {
    for (int i = 0; i < 3; i++) {
        if (session->ends.child[i] >= 0) dup2(session->ends.child[i], i);
    }
    restore_signals(session);
    if (!wait_for_start(session)) _exit(126);
    execvpe(launch->path, launch->argv, launch->environment);
    int     reason = errno;
    ssize_t n      = write(failure, &reason, sizeof(reason));
    _exit(n == sizeof(reason) ? 127 : 126);
}

// Stands between us and a program on a pty. A program whose parent is in another session cannot be
// stopped by Ctrl-Z (its process group counts as orphaned). So this process leads its session and
// reports the program's status to us.
__attribute__((noreturn)) static void monitor(const struct session * session, const struct ggs_launch * launch,
                                              int failure, int reports) {
    int      terminal = session->ends.terminal;
    sigset_t hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    sigprocmask(SIG_UNBLOCK, &hangup, NULL); // our death hangs up the terminal and ends it
    setsid();
    ioctl(terminal, TIOCSCTTY, 0);
    pid_t program = fork();
    if (program == 0) {
        setpgid(0, 0);
        tcsetpgrp(terminal, getpid());
        become(session, launch, failure);
    }
    int status = program < 0 ? errno : 0;
    if (program < 0 && write(failure, &status, sizeof(status)) < 0) _exit(1);
    close(failure);
    close(session->begin[1]);
    if (program > 0) {
        setpgid(program, program); // both sides call it; the first wins
        tcsetpgrp(terminal, program);
    }
    for (int i = 0; i < 3; i++) {
        if (session->ends.child[i] >= 0) close(session->ends.child[i]);
    }
    if (write(reports, &program, sizeof(program)) < 0) _exit(1);
    while (waitpid(program, &status, WUNTRACED) == program) {
        if (write(reports, &status, sizeof(status)) < 0 || !WIFSTOPPED(status)) break;
    }
    // The session ends with its leader: processes that the program left running keep their terminal
    // until no one reads it.
    if (read(reports, &status, sizeof(status)) < 0) _exit(1);
    _exit(0);
}

static int start(struct session * session, const struct ggs_launch * launch, struct ggs_error * error) {
    int failure[2], reports[2] = {-1, -1}, reason = 0;
    if (pipe2(failure, O_CLOEXEC) != 0) return ggs_fail_errno(error, "cannot open a pipe");
    if (pipe2(session->begin, O_CLOEXEC) != 0) {
        session->begin[0] = session->begin[1] = -1;
        close(failure[0]);
        close(failure[1]);
        return ggs_fail_errno(error, "cannot open a pipe");
    }
    bool on_pty = session->ends.terminal >= 0;
    if (on_pty && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reports) != 0) {
        close(failure[0]);
        close(failure[1]);
        return ggs_fail_errno(error, "cannot open a socket pair");
    }
    session->child = fork();
    if (session->child == 0) {
        if (on_pty) {
            close(reports[0]);
            monitor(session, launch, failure[1], reports[1]);
        }
        become(session, launch, failure[1]);
    }
    if (session->child < 0) reason = errno;
    close(failure[1]);
    if (reports[1] >= 0) close(reports[1]);
    session->reports = reports[0];
    session->program = session->child;
    if (session->child > 0) {
        if (on_pty && read(session->reports, &session->program, sizeof(session->program)) < 0) session->program = -1;
        if (session->program > 0 && launch->started != NULL) launch->started(launch->context, session->program);
        // If the byte is not delivered, the child exits by itself and is reaped.
        if (write(session->begin[1], "", 1) < 0) close(session->begin[1]), session->begin[1] = -1;
        ssize_t n;
        do {
            n = read(failure[0], &reason, sizeof(reason));
        } while (n < 0 && errno == EINTR);
    }
    close(failure[0]);
    if (reason == 0 && !on_pty) ggs_group_watch_start(&session->group);
    if (reason == 0) return 0;
    errno      = reason;
    int status = ggs_fail_errno(error, "cannot run %s", launch->path);
    if (session->child > 0) waitpid(session->child, NULL, 0);
    return status;
}

// ---- relaying ----

static void resize(struct session * session) {
    struct winsize size;
    int            terminal = isatty(STDOUT_FILENO) ? STDOUT_FILENO : STDERR_FILENO;
    if (ioctl(terminal, TIOCGWINSZ, &size) != 0) return;
    if (session->main_pty >= 0) ioctl(session->main_pty, TIOCSWINSZ, &size);
    if (session->error_pty >= 0) ioctl(session->error_pty, TIOCSWINSZ, &size);
}

static void enter_foreground(struct session * session) {
    if (session->forwards_input && !session->ended) ggs_raw_terminal_enter(STDIN_FILENO);
}

// The program stopped itself, or the user pressed Ctrl-Z: the shell gets the terminal back.
static void stop_with_program(struct session * session) {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    ggs_raw_terminal_leave();
    kill(0, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, NULL); // returns when we are continued
    sigprocmask(SIG_BLOCK, &stop, NULL);
    enter_foreground(session);
    resize(session);
    kill(-session->program, SIGCONT);
}

static void on_status(struct session * session, int status) {
    if (WIFSTOPPED(status)) {
        int cause = WSTOPSIG(status);
        if (session->reports >= 0 && (cause == SIGTSTP || cause == SIGTTIN || cause == SIGTTOU))
            stop_with_program(session);
        return;
    }
    session->wait_status = status;
    session->ended       = true;
}

static void on_report(struct session * session) {
    int     status;
    ssize_t n = read(session->reports, &status, sizeof(status));
    if (n == sizeof(status)) {
        on_status(session, status);
    } else if (n == 0 || errno != EINTR) {
        on_status(session, SIGKILL); // the monitor was killed, and with it the terminal
    }
}

static void on_signal(struct session * session, const struct signalfd_siginfo * info) {
    int number = (int) info->ssi_signo;
    int status;
    switch (number) {
        case SIGCHLD:
            if (session->reports < 0 && waitpid(session->program, &status, WNOHANG) == session->program)
                on_status(session, status);
            return;
        case SIGWINCH:
            resize(session);
            return;
        case SIGCONT:
            enter_foreground(session);
            resize(session);
            return;
        default:
            break;
    }
    if (session->ended) { // a second signal: our output is not being read
        ggs_relay_close(&session->out);
        ggs_relay_close(&session->err);
        return;
    }
    if (session->launch->keeps != NULL && session->launch->keeps(session->launch->context, number)) return;
    // The terminal signals its whole foreground group: a program in ours has the signal too.
    bool to_group = info->ssi_code == SI_KERNEL;
    bool in_ours  = session->reports < 0 && getpgid(session->program) == getpgrp();
    if (in_ours && (to_group || (info->ssi_code == SI_USER && ggs_group_watch_had(&session->group, number)))) return;
    bool leads = getpgid(session->program) == session->program;
    kill(to_group && leads ? -session->program : session->program, number);
}

static void read_signals(struct session * session) {
    struct signalfd_siginfo info;
    while (read(session->signals, &info, sizeof(info)) == sizeof(info)) on_signal(session, &info);
}

// The events that the relay waits for: data to read, or room to write.
static struct pollfd wish_of(const struct ggs_relay * relay) {
    if (ggs_relay_pending(relay)) return (struct pollfd){.fd = relay->to, .events = POLLOUT};
    return (struct pollfd){.fd = relay->from, .events = POLLIN};
}

static void serve_relay(struct ggs_relay * relay, const struct pollfd * fd) {
    if (fd->revents == 0) return;
    if (ggs_relay_pending(relay)) {
        ggs_relay_write(relay);
    } else if (ggs_relay_read(relay)) {
        // Writes at once if there is room, which saves a turn of the loop.
        struct pollfd ready = {.fd = relay->to, .events = POLLOUT};
        if (relay->to >= 0 && poll(&ready, 1, 0) == 1) ggs_relay_write(relay);
    }
}

// Keys are passed on only while we own the terminal.
static bool takes_input(const struct session * session) {
    return session->in.from >= 0 && !session->ended && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void read_input(struct session * session, const struct pollfd * fd) {
    struct ggs_relay * in = &session->in;
    if (fd->revents == 0 || in->from < 0) return;
    if (ggs_relay_pending(in)) {
        ggs_relay_write(in);
        return;
    }
    ssize_t n = read(in->from, in->data, sizeof(in->data));
    if (n <= 0) {
        if (n == 0 || (errno != EINTR && errno != EAGAIN)) in->from = -1; // not ours to close
        return;
    }
    in->filled = (size_t) n;
    in->sent   = 0;
    ggs_relay_write(in);
}

// A pty without an open other side accepts no keys and no size.
static void forget_closed(struct session * session) {
    int out = session->out.from, err = session->err.from;
    if (session->main_pty >= 0 && session->main_pty != out && session->main_pty != err) {
        session->main_pty = session->in.from = session->in.to = -1;
        session->in.filled = session->in.sent = 0;
    }
    if (session->error_pty >= 0 && session->error_pty != err) session->error_pty = -1;
}

static void turn(struct session * session) {
    enum { SIGNALS, REPORTS, OUT, ERR, IN, SLOTS };
    struct pollfd fds[SLOTS];
    for (int i = 0; i < SLOTS; i++) fds[i] = (struct pollfd){.fd = -1};
    fds[SIGNALS] = (struct pollfd){.fd = session->signals, .events = POLLIN};
    if (session->reports >= 0 && !session->ended)
        fds[REPORTS] = (struct pollfd){.fd = session->reports, .events = POLLIN};
    fds[OUT] = wish_of(&session->out);
    fds[ERR] = wish_of(&session->err);
    if (takes_input(session)) fds[IN] = wish_of(&session->in);
    if (poll(fds, SLOTS, -1) < 0) return; // interrupted
    serve_relay(&session->out, &fds[OUT]);
    serve_relay(&session->err, &fds[ERR]);
    forget_closed(session);
    read_input(session, &fds[IN]);
    if (fds[SIGNALS].revents != 0) read_signals(session);
    if (fds[REPORTS].revents != 0) on_report(session);
}

// After the program's end its output is in the pipe. Returns true if nothing of it is left; `from`
// stays open if another process, a child in the background, can still write.
static bool drained(struct ggs_relay * relay) {
    while (!ggs_relay_pending(relay)) {
        if (!ggs_relay_read(relay)) return true;
    }
    return false;
}

// Relays the output of processes that the program left running, until they end. A process of its
// own, because we return with the program.
static void stay_behind(struct session * session) {
    pid_t child = fork();
    if (child > 0) waitpid(child, NULL, 0);
    if (child != 0) return;
    if (fork() != 0) _exit(0); // no one waits for it
    int keep[] = {session->out.from, session->err.from, session->out.copy, session->err.copy, session->reports};
    for (int fd = 3; fd < 1024; fd++) {
        bool kept = false;
        for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++) kept = kept || fd == keep[i];
        if (!kept) close(fd);
    }
    close(STDIN_FILENO);
    session->signals = -1;
    session->ended   = true;
    restore_signals(session);
    signal(SIGPIPE, SIG_IGN);
    if (session->reports >= 0) signal(SIGHUP, SIG_IGN);
    while (session->out.from >= 0 || session->err.from >= 0) {
        struct pollfd fds[2] = {wish_of(&session->out), wish_of(&session->err)};
        if (poll(fds, 2, -1) < 0) continue;
        serve_relay(&session->out, &fds[0]);
        serve_relay(&session->err, &fds[1]);
    }
    _exit(0);
}

static void follow(struct session * session) {
    while (!session->ended) turn(session);
    for (;;) {
        bool out = drained(&session->out), err = drained(&session->err); // always both
        if (out && err) break;
        turn(session);
    }
    session->stays = session->out.from >= 0 || session->err.from >= 0;
    if (session->stays) stay_behind(session);
}

static void close_session(struct session * session) {
    ggs_group_watch_stop(&session->group);
    ggs_raw_terminal_leave();
    close_child_ends(session);
    ggs_relay_close(&session->out);
    ggs_relay_close(&session->err);
    if (session->signals >= 0) close(session->signals);
    for (int i = 0; i < 2; i++) {
        if (session->begin[i] >= 0) close(session->begin[i]);
    }
    if (session->reports >= 0) {
        close(session->reports);
        // The monitor ends with the last reader of its terminal: with us, or with the process that
        // stays.
        if (!session->stays) waitpid(session->child, NULL, 0);
    }
    restore_signals(session);
}

int ggs_launch(const struct ggs_launch * launch, struct ggs_launch_result * result, struct ggs_error * error) {
    struct session * session = calloc(1, sizeof(*session));
    if (session == NULL) return ggs_fail_memory(error);
    session->launch  = launch;
    session->signals = session->reports = session->begin[0] = session->begin[1] = -1;
    *result                                                                     = (struct ggs_launch_result){0};
    int status                                                                  = watch_signals(session, error);
    if (status == 0) status = open_ends(session, launch, error);
    if (status == 0) status = start(session, launch, error);
    close_child_ends(session);
    if (status == 0) {
        enter_foreground(session);
        follow(session);
        result->wait_status  = session->wait_status;
        result->stdout_errno = session->out.copy_errno;
        result->stderr_errno = session->err.copy_errno;
        result->passed_errno = session->out.to_errno != 0 ? session->out.to_errno : session->err.to_errno;
    }
    close_session(session);
    free(session);
    return status;
}
