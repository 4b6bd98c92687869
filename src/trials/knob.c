#include "trials/knob.h"

#include <string.h>

static const char * skip(const char * at) {
    return at + strspn(at, " \t");
}

static bool copy(char * out, size_t size, const char * at, size_t length) {
    while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t')) length--;
    if (length == 0 || length >= size) return false;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}

static bool read_values(struct ggs_own_knob * knob, const char * at, const char ** what) {
    const char * end = strchr(at, '}');
    *what            = "the list of values has no } at its end";
    if (end == NULL || *skip(end + 1) != '\0') return false;
    while (at <= end) {
        at            = skip(at);
        size_t length = strcspn(at, ",}");
        *what         = "a knob has at most 16 values";
        if (knob->n == GGS_KNOB_VALUES) return false;
        *what = "a value is empty, or has more than 23 letters";
        if (!copy(knob->value[knob->n], sizeof(knob->value[0]), at, length)) return false;
        knob->n++;
        at += length + 1;
    }
    return true;
}

bool ggs_own_knob_read(struct ggs_own_knob * knob, const char * text, const char ** what) {
    *knob              = (struct ggs_own_knob){0};
    const char * at    = skip(text);
    size_t       colon = strcspn(at, ":");
    *what              = "it has no name with a colon behind it";
    if (at[colon] != ':' || !copy(knob->option.name, sizeof(knob->option.name), at, colon)) return false;
    at           = skip(at + colon + 1);
    size_t brace = strcspn(at, "{"), length = brace;
    *what = "it has no list of values in braces";
    if (at[brace] != '{') return false;
    if (length > 0 && at[length - 1] == '=') knob->option.joined = true, length--;
    *what = "it names no option, or a long one, in front of its values";
    if (!copy(knob->option.option, sizeof(knob->option.option), at, length)) return false;
    *what = "its option is more than one word";
    if (strpbrk(knob->option.option, " \t") != NULL) return false;
    return read_values(knob, at + brace + 1, what);
}
