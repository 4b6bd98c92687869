// A hash table from 128-bit keys (a hash of contents, a number, a pointer) to 64-bit values other
// than 0.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

struct ggs_map_key {
    uint64_t low, high;
};

struct ggs_map_slot {
    struct ggs_map_key key;
    uint64_t           value; // 0: free
};

// A zeroed struct is an empty map.
struct ggs_map {
    struct ggs_map_slot * slots;
    size_t                capacity; // a power of two, or 0
    size_t                used;
};

void ggs_map_release(struct ggs_map * map);
// Returns the value, 0 if there is none.
uint64_t ggs_map_get(const struct ggs_map * map, struct ggs_map_key key);
// Returns where the key's value is stored, NULL if out of memory. The value of a new key is 0: the
// caller must set it. The pointer is valid until the next call.
uint64_t * ggs_map_put(struct ggs_map * map, struct ggs_map_key key);
// Does nothing if there is no such key.
void ggs_map_remove(struct ggs_map * map, struct ggs_map_key key);

// A key made of the contents of `data`.
static inline struct ggs_map_key ggs_map_key_of(const void * data, size_t length) {
    XXH128_hash_t hash = XXH3_128bits(data, length);
    return (struct ggs_map_key){hash.low64, hash.high64};
}
static inline struct ggs_map_key ggs_map_key_number(uint64_t number) {
    return (struct ggs_map_key){number, 0};
}
static inline struct ggs_map_key ggs_map_key_pointer(const void * pointer) {
    return (struct ggs_map_key){(uint64_t) (uintptr_t) pointer, 0};
}
