#include "serve/routes/query.h"

#include <string.h>

#include "analyze/lanes/timeline.h"
#include "base/error.h"
#include "base/number.h"

static int hexadecimal(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char) (c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Decodes up to `end` and adds a NUL; NULL for a broken escape or an escaped control character.
static char * decode(const char * from, const char * end, char * to) {
    while (from < end) {
        char c = *from++;
        if (c == '+') c = ' ';
        if (c == '%') {
            int high = end - from < 2 ? -1 : hexadecimal(from[0]), low = end - from < 2 ? -1 : hexadecimal(from[1]);
            if (high < 0 || low < 0) return NULL;
            c = (char) (high << 4 | low);
            from += 2;
        }
        if ((unsigned char) c < 0x20 || c == 0x7f) return NULL;
        *to++ = c;
    }
    *to++ = '\0';
    return to;
}

int ggs_query_parse(struct ggs_query * query, const char * text, struct ggs_error * error) {
    query->n  = 0;
    char * to = query->text;
    if (text == NULL) return 0;
    if (strlen(text) >= sizeof(query->text) / 2)
        return ggs_fail(error, GGS_USAGE, "the parameters are longer than %zu bytes", sizeof(query->text) / 2 - 1);
    for (const char * at = text; *at != '\0';) {
        const char *end = at + strcspn(at, "&"), *equals = memchr(at, '=', (size_t) (end - at));
        if (query->n == GGS_QUERY_MOST)
            return ggs_fail(error, GGS_USAGE, "there are more than %d parameters", GGS_QUERY_MOST);
        if (end > at) {
            char * name  = to;
            char * value = decode(at, equals == NULL ? end : equals, name);
            to           = value == NULL ? NULL : decode(equals == NULL ? end : equals + 1, end, value);
            if (to == NULL) return ggs_fail(error, GGS_USAGE, "parameter %u cannot be decoded", query->n + 1);
            query->pair[query->n].name  = name;
            query->pair[query->n].value = value;
            query->pair[query->n].used  = false;
            query->n++;
        }
        at = *end == '\0' ? end : end + 1;
    }
    return 0;
}

int ggs_query_finish(const struct ggs_query * query, struct ggs_error * error) {
    for (unsigned i = 0; i < query->n; i++) {
        if (!query->pair[i].used)
            return ggs_fail(error, GGS_USAGE, "there is no parameter '%.40s' here, or it was given twice",
                            query->pair[i].name);
    }
    return 0;
}

const char * ggs_query_text(struct ggs_query * query, const char * name) {
    for (unsigned i = 0; i < query->n; i++) {
        if (strcmp(query->pair[i].name, name) != 0) continue;
        query->pair[i].used = true;
        return query->pair[i].value;
    }
    return NULL;
}

int ggs_query_u64(struct ggs_query * query, const char * name, uint64_t least, uint64_t most, uint64_t * result,
                  struct ggs_error * error) {
    const char * text = ggs_query_text(query, name);
    if (text == NULL || ggs_parse_u64(text, least, most, result)) return 0;
    return ggs_fail(error, GGS_USAGE, "%s must be a number from %llu to %llu, not '%.40s'", name,
                    (unsigned long long) least, (unsigned long long) most, text);
}

int ggs_query_i64(struct ggs_query * query, const char * name, int64_t least, int64_t most, int64_t * result,
                  struct ggs_error * error) {
    const char * text = ggs_query_text(query, name);
    if (text == NULL || ggs_parse_i64(text, least, most, result)) return 0;
    return ggs_fail(error, GGS_USAGE, "%s must be a number from %lld to %lld, not '%.40s'", name, (long long) least,
                    (long long) most, text);
}

int ggs_query_window(struct ggs_query * query, int64_t * begin_ns, int64_t * end_ns, struct ggs_error * error) {
    const int64_t far    = INT64_MAX / 4; // sums of such times do not overflow
    int           status = ggs_query_i64(query, "begin", -far, far, begin_ns, error);
    if (status == 0) status = ggs_query_i64(query, "end", -far, far, end_ns, error);
    if (status == 0 && *end_ns <= *begin_ns) status = ggs_fail(error, GGS_USAGE, "the window must end after its begin");
    return status;
}

int ggs_query_pixels(struct ggs_query * query, const struct ggs_overview * overview,
                     struct ggs_timeline_window * window, struct ggs_error * error) {
    *window    = (struct ggs_timeline_window){overview->begin_ns, overview->end_ns, 1000};
    int status = ggs_query_window(query, &window->begin_ns, &window->end_ns, error);
    if (status == 0) status = ggs_query_u64(query, "pixels", 1, GGS_TIMELINE_PIXELS_MOST, &window->pixels, error);
    return status == 0 ? ggs_query_finish(query, error) : status;
}

int ggs_query_indices(struct ggs_query * query, const char * name, unsigned least, unsigned most, unsigned * indices,
                      unsigned * n, struct ggs_error * error) {
    const char * at   = ggs_query_text(query, name);
    bool         good = at != NULL;
    for (*n = 0; good; at++) {
        char     number[8] = "";
        uint64_t index;
        size_t   length = strcspn(at, ",");
        if (length < sizeof(number)) memcpy(number, at, length);
        good = *n < most && ggs_parse_u64(number, 0, UINT16_MAX, &index);
        if (good) indices[(*n)++] = (unsigned) index;
        at += length;
        if (*at == '\0') break;
    }
    if (good && *n >= least) return 0;
    return ggs_fail(error, GGS_USAGE, "%s must be %u to %u numbers of experiments such as 0,1,4", name, least, most);
}

int ggs_query_tokens(struct ggs_query * query, int64_t * first, int64_t * last, struct ggs_error * error) {
    const char * text = ggs_query_text(query, "tokens");
    char         copy[48];
    if (text == NULL || text[0] == '\0') return 0;
    if (strlen(text) < sizeof(copy)) {
        int64_t a = 0, b = INT64_MAX;
        memcpy(copy, text, strlen(text) + 1);
        char * dots = strstr(copy, "..");
        if (dots != NULL) *dots = '\0';
        const char * end  = dots == NULL ? copy : dots + 2;
        bool         good = copy[0] == '\0' ? dots != NULL : ggs_parse_i64(copy, 0, INT64_MAX, &a);
        if (end[0] != '\0' && !ggs_parse_i64(end, 0, INT64_MAX, &b)) good = false;
        if (good && a <= b) {
            *first = a, *last = b;
            return 0;
        }
    }
    return ggs_fail(error, GGS_USAGE, "tokens must be a token step or a range such as 3..5, not '%.40s'", text);
}
