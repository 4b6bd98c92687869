#include "record/launch/child-environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ggs_child_environment_copy(struct ggs_child_environment * environment, char * const * from) {
    size_t count = 0;
    while (from[count] != NULL) count++;
    *environment        = (struct ggs_child_environment){.entries = calloc(count + 1, sizeof(char *))};
    environment->failed = environment->entries == NULL;
    for (size_t i = 0; i < count && !environment->failed; i++) {
        environment->entries[i] = strdup(from[i]);
        environment->failed     = environment->entries[i] == NULL;
        environment->count      = i + 1;
    }
}

static char ** find(const struct ggs_child_environment * environment, const char * name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < environment->count; i++) {
        char * entry = environment->entries[i];
        if (strncmp(entry, name, length) == 0 && entry[length] == '=') return &environment->entries[i];
    }
    return NULL;
}

void ggs_child_environment_set(struct ggs_child_environment * environment, const char * name, const char * value) {
    char * entry;
    if (environment->failed) return;
    if (asprintf(&entry, "%s=%s", name, value) < 0) {
        environment->failed = true;
        return;
    }
    char ** place = find(environment, name);
    if (place == NULL) {
        char ** more = realloc(environment->entries, (environment->count + 2) * sizeof(*more));
        if (more == NULL) {
            free(entry);
            environment->failed = true;
            return;
        }
        environment->entries     = more;
        place                    = &more[environment->count++];
        *place                   = NULL;
        more[environment->count] = NULL;
    }
    free(*place);
    *place = entry;
}

void ggs_child_environment_prepend(struct ggs_child_environment * environment, const char * name, const char * value) {
    char ** place = environment->failed ? NULL : find(environment, name);
    char *  both  = NULL;
    if (place != NULL && (*place)[strlen(name) + 1] != '\0') {
        if (asprintf(&both, "%s:%s", value, *place + strlen(name) + 1) < 0) {
            environment->failed = true;
            return;
        }
    }
    ggs_child_environment_set(environment, name, both == NULL ? value : both);
    free(both);
}

void ggs_child_environment_release(struct ggs_child_environment * environment) {
    for (size_t i = 0; i < environment->count; i++) free(environment->entries[i]);
    free(environment->entries);
    *environment = (struct ggs_child_environment){0};
}
