#include "base/system/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "base/utf8.h"

// stdout may be a stream without a descriptor.
static int descriptor(FILE * file) {
    return file == stdout ? STDOUT_FILENO : fileno(file);
}

bool ggs_terminal_is(FILE * file) {
    return isatty(descriptor(file)) == 1 || (file == stdout && getenv(GGS_PAGER_IN_USE) != NULL);
}

bool ggs_terminal_colour(FILE * file) {
    const char * no_color = getenv("NO_COLOR");
    const char * term     = getenv("TERM");
    if (no_color != NULL && no_color[0] != '\0') return false;
    if (term == NULL || strcmp(term, "dumb") == 0) return false;
    return ggs_terminal_is(file);
}

unsigned ggs_terminal_limit(FILE * file) {
    return ggs_terminal_is(file) ? ggs_terminal_width(file) : 0;
}

unsigned ggs_terminal_width(FILE * file) {
    uint64_t       columns;
    struct winsize size;
    if (ggs_parse_u64(getenv("COLUMNS"), 20, 10000, &columns)) return (unsigned) columns;
    if (ioctl(descriptor(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return ggs_parse_u64(getenv(GGS_PAGER_IN_USE), 20, 10000, &columns) ? (unsigned) columns : 80;
}

bool ggs_terminal_ascii(void) {
    static const char * const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char * value = getenv(variables[i]);
        if (value != NULL && value[0] != '\0') return strcmp(value, "C") == 0 || strcmp(value, "POSIX") == 0;
    }
    return false;
}

// Columns of one code point. wcwidth in the C locale knows only ASCII, and a library must not call
// setlocale, so the relevant ranges are listed here.
static unsigned point_columns(uint32_t point) {
    if (point < 0x300) return 1;
    if (point <= 0x36f || (point >= 0x200b && point <= 0x200f) || (point >= 0xfe00 && point <= 0xfe0f)) return 0;
    bool wide = (point >= 0x1100 && point <= 0x115f) || (point >= 0x2e80 && point <= 0xa4cf) ||
                (point >= 0xac00 && point <= 0xd7a3) || (point >= 0xf900 && point <= 0xfaff) ||
                (point >= 0xfe30 && point <= 0xfe6f) || (point >= 0xff00 && point <= 0xff60) ||
                (point >= 0xffe0 && point <= 0xffe6) || (point >= 0x1f300 && point <= 0x1faff) ||
                (point >= 0x20000 && point <= 0x3fffd);
    return wide ? 2 : 1;
}

size_t ggs_terminal_next(const char * s, size_t length, unsigned * columns) {
    if (s[0] == '\x1b' && length > 1 && s[1] == '[') {
        size_t i = 2;
        while (i < length && (s[i] < '@' || s[i] > '~')) i++;
        *columns = 0;
        return i < length ? i + 1 : i;
    }
    uint32_t point;
    size_t   size = ggs_utf8_decode(s, length, &point);
    *columns      = size == 0 ? 1 : point_columns(point);
    return size == 0 ? 1 : size;
}

void ggs_terminal_disarm(char * text) {
    for (unsigned char * p = (unsigned char *) text; *p != '\0'; p++) {
        if (*p < 0x20 || *p == 0x7f) *p = '?';
        if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) p[0] = p[1] = '?';
    }
}

size_t ggs_terminal_columns(const char * string) {
    size_t total = 0, length = strlen(string);
    for (size_t i = 0; i < length;) {
        unsigned columns;
        i += ggs_terminal_next(string + i, length - i, &columns);
        total += columns;
    }
    return total;
}

void ggs_terminal_bar(char * buffer, size_t size, unsigned width, double fraction) {
    static const char * const eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
    if (!(fraction > 0)) fraction = 0; // also NaN
    if (fraction > 1) fraction = 1;
    unsigned filled = (unsigned) (fraction * width * 8 + 0.5);
    if (filled == 0 && fraction > 0) filled = 1;
    size_t used = 0;
    for (unsigned i = 0; i < width; i++) {
        unsigned     cell  = filled > i * 8 ? filled - i * 8 : 0;
        const char * block = eighths[cell > 8 ? 8 : cell];
        size_t       bytes = strlen(block);
        if (used + bytes + 1 > size) break;
        memcpy(buffer + used, block, bytes);
        used += bytes;
    }
    if (size > 0) buffer[used] = '\0';
}

// ---- lines that fit ----

enum { LABEL = 10, USUAL = 80 }; // columns

// True for lines such as "faults    8,187 minor" and "processes 2 on 1 host".
static bool is_labelled(const char * line, size_t length) {
    if (length <= LABEL || line[LABEL - 1] != ' ' || line[LABEL] == ' ') return false;
    return line[LABEL - 2] == ' ' || memchr(line, ' ', LABEL - 1) == NULL;
}

// Returns the indentation of the continuation of a broken line.
static unsigned hanging(const char * line, size_t length, unsigned width) {
    unsigned blanks = 0;
    while (blanks < length && line[blanks] == ' ') blanks++;
    unsigned indent = is_labelled(line, length) ? LABEL : blanks + 2;
    return indent <= width / 2 ? indent : 2;
}

// Returns the bytes of the line that fit into `width` columns, up to a blank; at least the first
// word.
static size_t fitting(const char * line, size_t length, unsigned width) {
    size_t   at = 0, fits = 0;
    unsigned used = 0, columns;
    bool     word = false;
    while (at < length) {
        if (line[at] == ' ' && word && line[at - 1] != ' ') fits = at;
        word |= line[at] != ' ';
        size_t next = ggs_terminal_next(line + at, length - at, &columns);
        if (used + columns > width && fits > 0) return fits;
        used += columns;
        at += next;
    }
    return used <= width || fits == 0 ? length : fits;
}

static void wrap_line(const char * line, size_t length, unsigned width, FILE * file) {
    unsigned indent = hanging(line, length, width), before = 0;
    for (;;) {
        size_t fits = fitting(line, length, width - before);
        fprintf(file, "%*s%.*s\n", (int) before, "", (int) fits, line);
        while (fits < length && line[fits] == ' ') fits++;
        if (fits == length) return;
        line += fits;
        length -= fits;
        before = indent;
    }
}

static void write_line(char * line, size_t length, unsigned width, FILE * file) {
    char * soft = memchr(line, '\v', length);
    if (soft != NULL && width > 0 && width < USUAL) {
        *soft = ' ';
        write_line(line, length, width, file);
    } else if (soft != NULL) {
        write_line(line, (size_t) (soft - line), width, file);
        fprintf(file, "%*s", LABEL, "");
        write_line(soft + 1, length - (size_t) (soft - line) - 1, width, file);
    } else if (width > 0) {
        wrap_line(line, length, width, file);
    } else {
        fprintf(file, "%.*s\n", (int) length, line);
    }
}

void ggs_terminal_wrap(char * text, unsigned width, FILE * file) {
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        write_line(text, length, width, file);
        text += length + (text[length] == '\n');
    }
}
