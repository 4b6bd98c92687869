// The environment of a program that is about to be started: a copy of ours with changes.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ggs_child_environment {
    char ** entries; // NULL at the end
    size_t  count;
    bool    failed; // out of memory; stays set
};

void ggs_child_environment_copy(struct ggs_child_environment * environment, char * const * from);
void ggs_child_environment_set(struct ggs_child_environment * environment, const char * name, const char * value);
// Prepends `value` to the current one, with a colon between.
void ggs_child_environment_prepend(struct ggs_child_environment * environment, const char * name, const char * value);
void ggs_child_environment_release(struct ggs_child_environment * environment);
