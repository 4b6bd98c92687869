#include "base/map.h"

#include <stdlib.h>
#include <xxhash.h>

void ggs_map_release(struct ggs_map * map) {
    free(map->slots);
    *map = (struct ggs_map){0};
}

static size_t home(struct ggs_map_key key, size_t capacity) {
    uint64_t mixed = (key.low ^ key.high * 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
    return (size_t) (mixed ^ mixed >> 32) & (capacity - 1);
}

static struct ggs_map_slot * find(const struct ggs_map * map, struct ggs_map_key key) {
    size_t i = home(key, map->capacity);
    while (map->slots[i].value != 0 && (map->slots[i].key.low != key.low || map->slots[i].key.high != key.high))
        i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

uint64_t ggs_map_get(const struct ggs_map * map, struct ggs_map_key key) {
    return map->capacity == 0 ? 0 : find(map, key)->value;
}

static int grow(struct ggs_map * map) {
    struct ggs_map bigger = {.capacity = map->capacity == 0 ? 64 : 2 * map->capacity, .used = map->used};
    bigger.slots          = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (bigger.slots == NULL) return -1;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value != 0) *find(&bigger, map->slots[i].key) = map->slots[i];
    free(map->slots);
    *map = bigger;
    return 0;
}

uint64_t * ggs_map_put(struct ggs_map * map, struct ggs_map_key key) {
    if (4 * (map->used + 1) > 3 * map->capacity && grow(map) != 0) return NULL;
    struct ggs_map_slot * slot = find(map, key);
    if (slot->value == 0) {
        slot->key = key;
        map->used++;
    }
    return &slot->value;
}

struct ggs_map_key ggs_map_key_of(const void * data, size_t length) {
    XXH128_hash_t hash = XXH3_128bits(data, length);
    return (struct ggs_map_key){hash.low64, hash.high64};
}
