#include "base/options/options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

enum { MOST_NUMBER_TEXT = 40 };

// Splits "A..B". `b` is NULL if there is no "..".
static bool cut(const char * text, char a[MOST_NUMBER_TEXT], const char ** b) {
    const char * dots   = strstr(text, "..");
    size_t       length = dots == NULL ? strlen(text) : (size_t) (dots - text);
    if (length >= MOST_NUMBER_TEXT) return false;
    memcpy(a, text, length);
    a[length] = '\0';
    *b        = dots == NULL ? NULL : dots + 2;
    return length > 0 || dots != NULL;
}

bool ggs_set_tokens(void * member, const char * text) {
    int64_t *    range = member;
    char         a[MOST_NUMBER_TEXT];
    const char * b;
    range[0] = 0, range[1] = INT64_MAX;
    if (!cut(text, a, &b)) return false;
    if (a[0] != '\0' && !ggs_parse_i64(a, 0, INT64_MAX, &range[0])) return false;
    if (b == NULL) {
        range[1] = range[0];
        return true;
    }
    return (b[0] == '\0' || ggs_parse_i64(b, 0, INT64_MAX, &range[1])) && range[0] <= range[1];
}

bool ggs_set_offsets(void * member, const char * text) {
    uint64_t *   range = member;
    char         a[MOST_NUMBER_TEXT];
    const char * b;
    range[0] = 0, range[1] = UINT64_MAX;
    if (!cut(text, a, &b)) return false;
    if (a[0] != '\0' && !ggs_parse_bytes(a, &range[0])) return false;
    if (b == NULL) {
        if (range[0] == UINT64_MAX) return false;
        range[1] = range[0] + 1;
        return true;
    }
    return (b[0] == '\0' || ggs_parse_bytes(b, &range[1])) && range[0] < range[1];
}

bool ggs_set_time(void * member, const char * text) {
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
        *(int64_t *) member = (int64_t) value;
        return true;
    }
    return false;
}

bool ggs_set_text(void * member, const char * text) {
    *(const char **) member = text;
    return true;
}

bool ggs_set_path(void * member, const char * text) {
    return text[0] != '\0' && ggs_set_text(member, text);
}

bool ggs_set_count(void * member, const char * text) {
    return ggs_parse_u64(text, 0, UINT64_MAX, member);
}

bool ggs_set_size(void * member, const char * text) {
    return ggs_parse_bytes(text, member);
}

bool ggs_set_chosen(void * member, const char * text) {
    int64_t number;
    if (!ggs_set_index(&number, text)) return false;
    *(uint64_t *) member = (uint64_t) number + 1;
    return true;
}

bool ggs_set_index(void * member, const char * text) {
    return ggs_parse_i64(text, 0, INT64_MAX, member);
}

bool ggs_set_layer(void * member, const char * text) {
    int64_t layer;
    if (!ggs_parse_i64(text, 0, INT_MAX, &layer)) return false;
    *(int *) member = (int) layer;
    return true;
}

void ggs_words_append(struct ggs_text * text, ggs_words words) {
    for (unsigned i = 0; words(i).word != NULL; i++)
        ggs_text_printf(text, "%s%s", i == 0 ? "" : words(i + 1).word == NULL ? " or " : ", ", words(i).word);
}
