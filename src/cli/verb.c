#include "cli/verb.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/number.h"
#include "base/terminal.h"
#include "record/sealing.h"

int ggs_verb_seal(const char * path, struct ggs_error * error) {
    struct stat status;
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        return 0; // a trace by itself, as somebody else may have sent it
    return ggs_seal_recover(path, false, NULL, error);
}

int ggs_verb_open(struct ggs_trace * trace, const char * directory) {
    struct ggs_error error = {0};
    *trace                 = (struct ggs_trace){0};
    if (ggs_verb_seal(directory, &error) < 0 || ggs_trace_open(trace, directory, &error) < 0) {
        ggs_verb_complain(&error);
        return -1;
    }
    const char * warning = ggs_reader_warning(trace->reader);
    if (warning != NULL) fprintf(stderr, "ggscope: %s\n", warning);
    return 0;
}

void ggs_verb_complain(const struct ggs_error * error) {
    fprintf(stderr, "ggscope: %s\n", error->text);
}

char * ggs_verb_uuid(char text[GGS_UUID_LENGTH], const struct ggs_trace * trace) {
    return ggs_uuid_format(text, ggs_reader_uuid(trace->reader));
}

// ---- ranges ----

enum { MOST_NUMBER_TEXT = 40 };

// Cuts "A..B" in two. `b` is NULL where there is no "..".
static bool cut(const char * text, char a[MOST_NUMBER_TEXT], const char ** b) {
    const char * dots   = strstr(text, "..");
    size_t       length = dots == NULL ? strlen(text) : (size_t) (dots - text);
    if (length >= MOST_NUMBER_TEXT) return false;
    memcpy(a, text, length);
    a[length] = '\0';
    *b        = dots == NULL ? NULL : dots + 2;
    return length > 0 || dots != NULL;
}

bool ggs_parse_tokens(const char * text, int64_t * first, int64_t * last) {
    char         a[MOST_NUMBER_TEXT];
    const char * b;
    *first = 0, *last = INT64_MAX;
    if (!cut(text, a, &b)) return false;
    if (a[0] != '\0' && !ggs_parse_i64(a, 0, INT64_MAX, first)) return false;
    if (b == NULL) {
        *last = *first;
        return true;
    }
    return (b[0] == '\0' || ggs_parse_i64(b, 0, INT64_MAX, last)) && *first <= *last;
}

bool ggs_parse_offsets(const char * text, uint64_t * begin, uint64_t * end) {
    char         a[MOST_NUMBER_TEXT];
    const char * b;
    *begin = 0, *end = UINT64_MAX;
    if (!cut(text, a, &b)) return false;
    if (a[0] != '\0' && !ggs_parse_bytes(a, begin)) return false;
    if (b == NULL) {
        if (*begin == UINT64_MAX) return false;
        *end = *begin + 1;
        return true;
    }
    return (b[0] == '\0' || ggs_parse_bytes(b, end)) && *begin < *end;
}

bool ggs_parse_time(const char * text, int64_t * ns) {
    static const struct {
        const char * name;
        double       ns;
    } units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char * end;
    if (text[0] < '0' || text[0] > '9') return false;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].name) != 0) continue;
        value *= units[i].ns;
        if (!(value < 9.2e18)) return false;
        *ns = (int64_t) value;
        return true;
    }
    return false;
}

// ---- text ----

// Copies as many whole characters as `columns` columns take; returns the end of the copy.
static char * copy_columns(char * to, const char * end, const char * from, const char * stop, size_t columns) {
    while (from < stop) {
        unsigned width;
        size_t   size = ggs_terminal_next(from, (size_t) (stop - from), &width);
        if (width > columns || to + size >= end) break;
        if ((unsigned char) *from < 0x20 || *from == 0x7f) {
            *to++ = '?';
        } else {
            memcpy(to, from, size);
            to += size;
        }
        columns -= width;
        from += size;
    }
    return to;
}

char * ggs_verb_fit(char * buffer, size_t size, const char * name, unsigned columns) {
    const char *end = buffer + size, *stop = name + strlen(name), *tail;
    size_t      all = ggs_terminal_columns(name);
    char *      to  = buffer;
    if (all <= columns) {
        to = copy_columns(to, end, name, stop, columns);
    } else {
        size_t head = columns / 2, skip = all - (columns - head - 1), used = 0;
        for (tail = name; tail < stop && used < skip;) {
            unsigned width;
            tail += ggs_terminal_next(tail, (size_t) (stop - tail), &width);
            used += width;
        }
        to = copy_columns(to, end - 4, name, stop, head);
        memcpy(to, "…", 3);
        to = copy_columns(to + 3, end, tail, stop, columns);
    }
    *to = '\0';
    return buffer;
}

int ggs_verb_parse_directory(int key, char * argument, struct argp_state * state, const char ** directory) {
    if (key == ARGP_KEY_ARG) {
        if (*directory != NULL) argp_error(state, "one experiment at a time, please: '%s' is too much", argument);
        *directory = argument;
        return 0;
    }
    if (key != ARGP_KEY_END) return ARGP_ERR_UNKNOWN;
    if (*directory == NULL) argp_error(state, "which experiment? Give its directory, or a trace file");
    return 0;
}
