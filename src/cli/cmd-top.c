// ggscope top DIR: shows the activity of a live recording, updated continuously.
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/number.h"
#include "base/system/clock.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "record/spool/follow.h"

struct arguments {
    struct ggs_input input;
    int64_t          interval_ns;
    bool             once;
};

// ---- the screen ----

static struct termios        before;
static volatile sig_atomic_t changed; // the terminal was resized
static volatile sig_atomic_t ended;   // number of the signal that ended it
static volatile sig_atomic_t stopped; // Ctrl-Z
static const char            enter_screen[] = "\x1b[?1049h\x1b[?25l";
static const char            leave_screen[] = "\x1b[?25h\x1b[?1049l";

static void put(const char * text) {
    size_t length = strlen(text);
    while (length > 0) {
        ssize_t n = write(STDOUT_FILENO, text, length);
        if (n < 0 && errno != EINTR) return;
        if (n > 0) text += n, length -= (size_t) n;
    }
}

static void leave(void) {
    if (!changed) return;
    changed = 0;
    put(leave_screen);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void enter(void) {
    struct termios raw;
    if (tcgetattr(STDIN_FILENO, &before) == 0) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO); // unbuffered keys; Ctrl-C and Ctrl-Z work
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    changed = 1;
    put(enter_screen);
}

static void on_signal(int number) {
    if (number == SIGTSTP)
        stopped = 1;
    else if (number != SIGWINCH)
        ended = number;
}

static void watch_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
    struct sigaction action    = {.sa_handler = on_signal}; // no SA_RESTART: poll returns
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) sigaction(signals[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void stop_here(void) {
    stopped = 0;
    leave();
    raise(SIGSTOP);
    enter();
}

// ---- contents ----

static double per_second(uint64_t now, uint64_t then, double seconds) {
    return seconds <= 0 || now < then ? 0 : (double) (now - then) / seconds;
}

static void print_bytes_rate(struct ggs_text * out, const char * title, uint64_t now, uint64_t then, double seconds) {
    char number[GGS_NUMBER_LENGTH];
    ggs_text_printf(out, "%s %s/s", title, ggs_format_bytes(number, (uint64_t) per_second(now, then, seconds)));
}

static void print_head(struct ggs_text * out, const struct ggs_follow * follow, const char * directory,
                       double seconds) {
    const struct ggs_follow_sums *now = &follow->now, *then = &follow->before;
    char                          a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    ggs_text_printf(out, "%s   %s", directory,
                    follow->pid == 0 ? "nothing computed yet"
                    : follow->paused ? "paused"
                                     : "recording");
    if (follow->pid != 0) ggs_text_printf(out, "   process %u%s", follow->pid, now->alive ? "" : " (gone)");
    ggs_text_append(out, "\n\n", 2);
    if (now->decodes > 0 || now->graph_runs == 0)
        ggs_text_printf(out, "tokens    %.1f/s out, %.1f/s in; %s and %s so far\n",
                        per_second(now->outputs, then->outputs, seconds),
                        per_second(now->tokens, then->tokens, seconds), ggs_format_count(a, now->outputs),
                        ggs_format_count(b, now->tokens));
    ggs_text_printf(out, "graphs    %.1f runs/s; %s so far\n", per_second(now->graph_runs, then->graph_runs, seconds),
                    ggs_format_count(a, now->graph_runs));
    uint64_t busy = now->busy_ns - then->busy_ns, wait = now->wait_ns - then->wait_ns;
    ggs_text_printf(out, "threads   %.2f computing, %.2f waiting for others\n",
                    seconds > 0 ? (double) busy / 1e9 / seconds : 0, seconds > 0 ? (double) wait / 1e9 / seconds : 0);
    if (!now->alive) {
        ggs_text_printf(out, "process   not seen\n");
    } else {
        ggs_text_printf(out, "faults    %.0f minor/s, %.1f major/s; %s in memory\n",
                        per_second(now->minor_faults, then->minor_faults, seconds),
                        per_second(now->major_faults, then->major_faults, seconds),
                        ggs_format_bytes(a, now->resident_bytes));
        ggs_text_printf(out, "disk      ");
        if (now->has_io && then->has_io) {
            print_bytes_rate(out, "read", now->read_bytes, then->read_bytes, seconds);
            print_bytes_rate(out, ", written", now->written_bytes, then->written_bytes, seconds);
            ggs_text_append(out, "\n", 1);
        } else {
            ggs_text_printf(out, "not seen\n");
        }
    }
    ggs_text_printf(out, "recorded  %s\n", ggs_format_bytes(a, now->spool_bytes));
}

struct hot {
    unsigned op;
    uint64_t busy_ns, wait_ns, op_runs;
};

static int by_time(const void * a, const void * b) {
    const struct hot *x = a, *y = b;
    if (x->busy_ns != y->busy_ns) return x->busy_ns > y->busy_ns ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static void print_ops(struct ggs_text * out, const struct ggs_follow * follow, double seconds, unsigned most) {
    static struct hot hot[GGS_FOLLOW_OPS];
    unsigned          n   = 0;
    uint64_t          all = 0;
    char              share[GGS_NUMBER_LENGTH], time[GGS_NUMBER_LENGTH], wait[GGS_NUMBER_LENGTH], bar[3 * 20 + 1];
    for (unsigned i = 0; i < GGS_FOLLOW_OPS; i++) {
        struct hot op = {i, follow->now.op[i].busy_ns - follow->before.op[i].busy_ns,
                         follow->now.op[i].wait_ns - follow->before.op[i].wait_ns,
                         follow->now.op[i].op_runs - follow->before.op[i].op_runs};
        if (op.op_runs == 0) continue;
        all += op.busy_ns;
        hot[n++] = op;
    }
    qsort(hot, n, sizeof(*hot), by_time);
    ggs_text_printf(out, "\n%-18s %9s %9s %9s %8s\n", "op", "op runs/s", "time/s", "wait/s", "share");
    for (unsigned i = 0; i < n && i < most; i++) {
        const char * name = follow->ops[hot[i].op];
        ggs_terminal_bar(bar, sizeof(bar), 16, all == 0 ? 0 : (double) hot[i].busy_ns / (double) all);
        ggs_text_printf(out, "%-18.18s %9.0f %9s %9s %8s  %s\n", name == NULL || hot[i].op == 0 ? "unknown" : name,
                        seconds > 0 ? (double) hot[i].op_runs / seconds : 0,
                        ggs_format_nanoseconds(time, seconds > 0 ? (uint64_t) ((double) hot[i].busy_ns / seconds) : 0),
                        ggs_format_nanoseconds(wait, seconds > 0 ? (uint64_t) ((double) hot[i].wait_ns / seconds) : 0),
                        ggs_format_percent(share, hot[i].busy_ns, all), bar);
    }
    if (n == 0)
        ggs_text_printf(out, "%s\n", follow->paused ? "nothing is recorded while it is paused" : "no op has run since");
}

static void describe(struct ggs_text * out, const struct ggs_follow * follow, const char * directory, unsigned rows) {
    double seconds = (double) (follow->now.ns - follow->before.ns) / 1e9;
    print_head(out, follow, directory, seconds);
    enum { HEAD = 11 };
    print_ops(out, follow, seconds, rows > HEAD + 2 ? rows - HEAD : 2);
}

// ---- drawing ----

// Writes line by line, each truncated to the terminal's width, and clears the rest of the screen.
static void draw(const char * text, unsigned columns, unsigned rows) {
    struct ggs_text out = {0};
    ggs_text_printf(&out, "\x1b[H");
    for (unsigned row = 0; *text != '\0' && row + 1 < rows; row++) {
        size_t   length = strcspn(text, "\n");
        unsigned used   = 0;
        for (size_t i = 0; i < length;) {
            unsigned wide;
            size_t   bytes = ggs_terminal_next(text + i, length - i, &wide);
            if (used + wide > columns) break;
            ggs_text_append(&out, text + i, bytes);
            used += wide, i += bytes;
        }
        ggs_text_printf(&out, "\x1b[K\r\n");
        text += length + (text[length] == '\n');
    }
    ggs_text_printf(&out, "\x1b[Jq: quit");
    put(ggs_text_string(&out));
    ggs_text_release(&out);
}

static void show(const struct ggs_follow * follow, const char * directory, bool screen) {
    struct ggs_text text = {0};
    struct winsize  size = {.ws_row = 24, .ws_col = 80};
    if (screen && (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0))
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    describe(&text, follow, directory, screen ? size.ws_row : 40);
    if (screen)
        draw(ggs_text_string(&text), size.ws_col, size.ws_row);
    else
        fputs(ggs_text_string(&text), stdout);
    ggs_text_release(&text);
}

// Waits for the next update, a key or a signal. True to quit.
static bool wait_for(uint64_t ns, bool screen) {
    uint64_t      begin = ggs_clock_now();
    struct pollfd keys  = {.fd = screen && isatty(STDIN_FILENO) ? STDIN_FILENO : -1, .events = POLLIN};
    for (;;) {
        uint64_t gone = ggs_clock_now() - begin;
        if (gone >= ns) return false;
        int ready = poll(&keys, 1, (int) ((ns - gone) / 1000000u) + 1);
        if (ended) return true;
        if (stopped) stop_here();
        if (ready < 0) return false; // the window was resized
        if (ready == 0 || keys.revents == 0) continue;
        char    key;
        ssize_t n = read(STDIN_FILENO, &key, 1);
        if (n == 1 && (key == 'q' || key == 'Q')) return true;
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) keys.fd = -1;
    }
}

static int watch(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    const char *             directory = arguments->input.paths[0];
    struct ggs_follow *      follow;
    (void) traces;
    bool screen = !arguments->once && isatty(STDOUT_FILENO);
    int  status = ggs_follow_open(&follow, directory, error);
    if (status < 0) return status;
    watch_signals();
    if (screen) enter();
    bool enough = false;
    while (status == 0 && !enough) {
        if (screen) show(follow, directory, true);
        enough = wait_for((uint64_t) arguments->interval_ns, screen);
        if (enough) break;
        status = ggs_follow_read(follow, error);
        if (!screen) break;
    }
    leave();
    bool over = status == GGS_ABSENT; // the recording has ended: not a failure
    if (!screen && status == 0 && !enough) show(follow, directory, false);
    if (over) printf("%s: the recording has ended\n", directory);
    ggs_follow_close(follow);
    if (ended) { // ends by the signal, as the parent expects
        signal(ended, SIG_DFL);
        raise(ended);
    }
    return over ? 0 : status;
}

int cmd_top(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("interval", 'd', "TIME", "Update interval (1s)", 1, offsetof(struct arguments, interval_ns),
                   ggs_set_time, "a time such as 1s or 200ms"),
        GGS_SWITCH("once", '1', "Print once and exit; the default if the output is not a terminal", 1,
                   offsetof(struct arguments, once)),
        {0}};
    static const struct ggs_verb verb = {
        .operands = "[DIR]",
        .most     = 1,
        .options  = options,
        .run      = watch,
        .text     = "Watch a running recording: tokens and graph runs per second, the ops that take most time, waits, "
                    "page faults and bytes from the disk. Press q or Ctrl-C to quit."};
    struct arguments arguments = {.interval_ns = 1000000000};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
