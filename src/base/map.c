#include "base/map.h"

#include <stdlib.h>

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

// Slots behind the removed one move up as far as their hash allows, because a search stops at a
// free slot.
void ggs_map_remove(struct ggs_map * map, struct ggs_map_key key) {
    if (map->capacity == 0) return;
    struct ggs_map_slot * removed = find(map, key);
    if (removed->value == 0) return;
    size_t mask = map->capacity - 1, hole = (size_t) (removed - map->slots);
    for (size_t i = (hole + 1) & mask; map->slots[i].value != 0; i = (i + 1) & mask) {
        if (((i - home(map->slots[i].key, map->capacity)) & mask) < ((i - hole) & mask)) continue;
        map->slots[hole] = map->slots[i];
        hole             = i;
    }
    map->slots[hole].value = 0;
    map->used--;
}
