#include "cli/scaffold/pager.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number.h"
#include "base/system/terminal.h"
#include "base/utf8.h"

static pid_t pager; // global, for signal handlers

// ---- the pager ----

static void wait_for_pager(void) {
    // NOLINTNEXTLINE(bugprone-signal-handler): reading errno is safe in a handler
    while (waitpid(pager, NULL, 0) < 0 && errno == EINTR) continue;
}

static void at_exit(void) {
    fflush(stdout);
    close(STDOUT_FILENO); // ends its input
    wait_for_pager();
}

static void on_signal(int number) {
    close(STDOUT_FILENO);
    wait_for_pager(); // it owns the terminal
    if (number == SIGPIPE) _exit(0);
    signal(number, SIG_DFL);
    raise(number);
}

static bool is_installed(const char * program) {
    char         path[4096];
    const char * folders = getenv("PATH");
    while (folders != NULL && *folders != '\0') {
        int length = (int) strcspn(folders, ":");
        snprintf(path, sizeof(path), "%.*s/%s", length, folders, program);
        if (access(path, X_OK) == 0) return true;
        folders += length;
        folders += *folders == ':';
    }
    return false;
}

static const char * choose(void) {
    const char * chosen = getenv("GGSCOPE_PAGER");
    const char * term   = getenv("TERM");
    if (term == NULL || strcmp(term, "dumb") == 0) return NULL;
    if (chosen == NULL) chosen = getenv("PAGER");
    if (chosen == NULL) chosen = is_installed("less") ? "less" : "";
    return chosen[0] == '\0' || strcmp(chosen, "cat") == 0 ? NULL : chosen;
}

static void become(const char * command, const int ends[2]) {
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    unsetenv(GGS_PAGER_IN_USE);
    setenv("LESS", "FRX", 0); // quit if it fits, show colours, keep the text
    setenv("LV", "-c", 0);
    execl("/bin/sh", "sh", "-c", command, (char *) NULL);
    _exit(127);
}

void ggs_pager_start(void) {
    static const int signals[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const char *     command   = isatty(STDOUT_FILENO) == 1 ? choose() : NULL;
    char             width[GGS_NUMBER_LENGTH];
    int              ends[2];
    if (command == NULL || pipe(ends) != 0) return;
    snprintf(width, sizeof(width), "%u", ggs_terminal_width(stdout));
    pager = fork();
    if (pager == 0) become(command, ends);
    if (pager > 0) {
        dup2(ends[1], STDOUT_FILENO);
        setenv(GGS_PAGER_IN_USE, width, 1);
        atexit(at_exit);
        for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) signal(signals[i], on_signal);
    }
    close(ends[0]);
    close(ends[1]);
}

// ---- the C locale ----

// Handles only characters of ggscope's own text.
static char in_ascii(uint32_t point) {
    switch (point) {
        case 0x2026: // …
            return '~';
        case 0xb7: // ·
        case 0x2022:
            return '.';
        case 0xd7: // ×
            return 'x';
        case 0xb5: // µ
        case 0x3bc:
            return 'u';
        case 0x2190:
            return '<';
        case 0x2192:
            return '>';
        case 0x2500:
        case 0x2501:
        case 0x2013:
        case 0x2014:
            return '-';
        case 0x2502:
        case 0x2503:
            return '|';
        default:
            break;
    }
    if (point > 0x2503 && point <= 0x257f) return '+';  // corners
    if (point >= 0x258d && point <= 0x258f) return '.'; // less than half of a cell
    if (point >= 0x2581 && point <= 0x2584) return '.';
    if (point >= 0x2580 && point <= 0x259f) return '#';
    if (point >= 0x2800 && point <= 0x28ff) return point == 0x2800 ? ' ' : '*'; // plots
    return '?';
}

struct plain {
    char   rest[4]; // an incomplete character
    size_t n;
};

static ssize_t write_all(const char * bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(STDOUT_FILENO, bytes + done, size - done);
        if (n < 0 && errno != EINTR) return -1;
        if (n > 0) done += (size_t) n;
    }
    return 0;
}

static ssize_t write_plain(void * cookie, const char * bytes, size_t size) {
    struct plain * plain = cookie;
    char           out[4096];
    size_t         used = 0;
    for (size_t i = 0; i < size; i++) {
        uint32_t point;
        char     c = bytes[i];
        if (plain->n > 0 || (unsigned char) c >= 0x80) {
            plain->rest[plain->n++] = c;
            if (ggs_utf8_decode(plain->rest, plain->n, &point) == 0) {
                if (plain->n < 4 && ((unsigned char) plain->rest[0] >= 0xc2)) continue; // partial
                point = 0xfffd;
            }
            plain->n = 0;
            c        = in_ascii(point);
        }
        out[used++] = c;
        if (used == sizeof(out)) {
            if (write_all(out, used) != 0) return 0;
            used = 0;
        }
    }
    return write_all(out, used) != 0 ? 0 : (ssize_t) size;
}

void ggs_pager_plain(void) {
    static struct plain plain;
    if (!ggs_terminal_is(stdout) || !ggs_terminal_ascii()) return;
    FILE * file = fopencookie(&plain, "w", (cookie_io_functions_t){.write = write_plain});
    if (file == NULL) return;
    setvbuf(file, NULL, _IOLBF, BUFSIZ);
    stdout = file;
}
