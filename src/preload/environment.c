#include "preload/environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t ggs_environment_number(const char * name, uint64_t otherwise) {
    const char * text = getenv(name);
    return text == NULL || text[0] < '0' || text[0] > '9' ? otherwise : strtoull(text, NULL, 10);
}

static bool is_variable(const char * entry, const char * name) {
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

// Returns "LD_PRELOAD=..." without the libraries of this name. NULL if none is left or memory is
// out.
static char * without_library(const char * entry, const char * library) {
    size_t used = strlen("LD_PRELOAD=");
    char * rest = malloc(strlen(entry) + 1);
    if (rest == NULL) return NULL;
    memcpy(rest, entry, used);
    for (const char * at = entry + used; *at != '\0';) {
        size_t length = strcspn(at, ": ");
        if (length > 0 && memmem(at, length, library, strlen(library)) == NULL) {
            if (rest[used - 1] != '=') rest[used++] = ':';
            memcpy(rest + used, at, length);
            used += length;
        }
        at += length + (at[length] != '\0');
    }
    rest[used] = '\0';
    if (rest[used - 1] != '=') return rest;
    free(rest);
    return NULL;
}

// Returns the replacement of an entry: itself, another one, or NULL to drop it.
static char * replacement(char * entry, const char * library, const char * const * settings, size_t n_settings) {
    if (is_variable(entry, "LD_PRELOAD"))
        return strstr(entry, library) == NULL ? entry : without_library(entry, library);
    for (size_t i = 0; i < n_settings; i++)
        if (is_variable(entry, settings[i])) return NULL;
    return entry;
}

// Returns a copy of the list with `n` entries. NULL if memory is out or the list changed meanwhile.
static char ** copy_list(char ** list, size_t * n) {
    for (*n = 0; list[*n] != NULL;) ++*n;
    char ** copy = malloc((*n + 1) * sizeof(*copy));
    if (copy == NULL) return NULL;
    memcpy(copy, list, (*n + 1) * sizeof(*copy));
    if (__atomic_load_n(&environ, __ATOMIC_ACQUIRE) == list && copy[*n] == NULL) return copy;
    free(copy);
    return NULL;
}

void ggs_environment_leave(const char * library, const char * const * settings, size_t n_settings) {
    for (int attempt = 0; attempt < 8; attempt++) {
        char ** list = __atomic_load_n(&environ, __ATOMIC_ACQUIRE);
        size_t  n = 0, kept = 0;
        char ** copy = list == NULL ? NULL : copy_list(list, &n);
        if (copy == NULL) continue;
        for (size_t i = 0; i < n; i++) {
            char * entry = replacement(copy[i], library, settings, n_settings);
            if (entry != NULL) copy[kept++] = entry;
        }
        copy[kept] = NULL;
        if (__atomic_compare_exchange_n(&environ, &list, copy, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return;
        free(copy);
    }
}
