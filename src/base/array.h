// Growing arrays. The array, its count and its capacity stay plain members of the caller's struct:
//
//     struct ggs_thing * things;
//     size_t             n_things, things_capacity;
//
//     if (!ggs_array_reserve(things, things_capacity, n_things + 1)) return ggs_fail_memory(error);
//     things[n_things++] = thing;
//
// or in one step: if (!ggs_array_push(things, n_things, things_capacity, thing)) ...
//
// All zero is an empty array; free(things) ends it. On failure nothing has changed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Makes room for `needed` elements in total. Capacity at least doubles, so pushing is linear. New
// memory is not zeroed.
#define ggs_array_reserve(array, capacity, needed)                                                               \
    __extension__({                                                                                              \
        uint64_t ggs_capacity_ = (capacity);                                                                     \
        void *   ggs_memory_   = ggs_array_grow((array), &ggs_capacity_, (uint64_t) (needed), sizeof(*(array))); \
        bool     ggs_ok_       = (uint64_t) (needed) <= ggs_capacity_;                                           \
        if (ggs_ok_) (array) = ggs_memory_, (capacity) = ggs_capacity_;                                          \
        ggs_ok_;                                                                                                 \
    })

#define ggs_array_push(array, count, capacity, ...) \
    (ggs_array_reserve((array), (capacity), (uint64_t) (count) + 1) && ((array)[(count)++] = (__VA_ARGS__), true))

// Returns the memory, possibly moved, and sets *capacity. On failure it returns the old memory and
// leaves *capacity alone.
void * ggs_array_grow(void * memory, uint64_t * capacity, uint64_t needed, size_t size);
