#include "analyze/walk/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct ggs_names {
    char **    texts; // by number
    uint32_t   n, capacity;
    uint32_t * slots; // number + 1; 0 for free
    uint32_t   n_slots;
};

static uint64_t hash_bytes(const char * text, size_t length) {
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char) text[i]) * 1099511628211u;
    return hash ^ hash >> 29;
}

static bool grow_names(struct ggs_names * names) {
    uint32_t   capacity = names->capacity == 0 ? 1024 : 2 * names->capacity;
    char **    texts    = realloc(names->texts, capacity * sizeof(*texts));
    uint32_t * slots    = calloc(2 * (size_t) capacity, sizeof(*slots));
    if (texts != NULL) names->texts = texts;
    if (texts == NULL || slots == NULL) {
        free(slots);
        return false;
    }
    for (uint32_t i = 0; i < names->n; i++) {
        uint64_t at = hash_bytes(texts[i], strlen(texts[i]));
        while (slots[at % (2 * (uint64_t) capacity)] != 0) at++;
        slots[at % (2 * (uint64_t) capacity)] = i + 1;
    }
    free(names->slots);
    names->slots    = slots;
    names->n_slots  = 2 * capacity;
    names->capacity = capacity;
    return true;
}

uint32_t ggs_names_number(struct ggs_names * names, const char * text, size_t length) {
    if (names->n == names->capacity && !grow_names(names)) return UINT32_MAX;
    uint64_t at = hash_bytes(text, length);
    for (; names->slots[at % names->n_slots] != 0; at++) {
        uint32_t number = names->slots[at % names->n_slots] - 1;
        if (strncmp(names->texts[number], text, length) == 0 && names->texts[number][length] == '\0') return number;
    }
    names->texts[names->n] = strndup(text, length);
    if (names->texts[names->n] == NULL) return UINT32_MAX;
    names->slots[at % names->n_slots] = names->n + 1;
    return names->n++;
}

void ggs_names_free(struct ggs_names * names) {
    if (names == NULL) return;
    for (uint32_t i = 0; i < names->n; i++) free(names->texts[i]);
    free(names->texts);
    free(names->slots);
    free(names);
}

struct ggs_names * ggs_names_new(void) {
    return calloc(1, sizeof(struct ggs_names));
}

const char * ggs_names_text(const struct ggs_names * names, uint32_t number) {
    return number < names->n ? names->texts[number] : "";
}
