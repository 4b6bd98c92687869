// An amount of memory on a command line: bytes ("512M"), or a share of the model's files ("25%").
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

struct ggs_memory_size {
    uint64_t bytes; // 0 for none, or for a share
    double   share; // of the model's files, 1 for all; 0 for none
};

// For an option of type struct ggs_memory_size. At least 16 MiB, or more than 0 %.
bool ggs_set_memory(void * member, const char * text);
#define GGS_EXPECTS_MEMORY "a size of at least 16M such as 512M or 2G, or a share of the model's files such as 25%"

// Converts a share to bytes: of all files of a split model, rounded down to pages. `option` is the
// user's option, such as "--memory". Fails if the model is unknown (NULL) or unreadable, or if the
// result is below 16 MiB.
int ggs_memory_size_resolve(struct ggs_memory_size * size, const char * model, const char * option,
                            struct ggs_error * error);
