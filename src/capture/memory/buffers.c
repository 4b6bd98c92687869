#include "capture/memory/buffers.h"

#include <pthread.h>
#include <stddef.h>

#include "base/array.h"
#include "base/map.h"

static struct buffer {
    const void * object; // the engine's
    uint64_t     id;
    uint64_t     address, size;
} * buffers; // in no order
static uint32_t        n_buffers, capacity;
static struct ggs_map  numbers; // object -> index in `buffers` + 1
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct buffer * find(const void * object) {
    uint64_t number = object == NULL ? 0 : ggs_map_get(&numbers, ggs_map_key_pointer(object));
    return number == 0 ? NULL : &buffers[number - 1];
}

// A known object was freed without a hook, and its memory is reused.
static struct buffer * find_or_add(const void * object) {
    struct buffer * buffer = find(object);
    if (buffer != NULL || !ggs_array_reserve(buffers, capacity, n_buffers + 1)) return buffer;
    uint64_t * number = ggs_map_put(&numbers, ggs_map_key_pointer(object));
    if (number == NULL) return NULL;
    *number = ++n_buffers;
    return &buffers[n_buffers - 1];
}

void ggs_buffer_add(const void * object, uint64_t id, uint64_t address, uint64_t size) {
    pthread_mutex_lock(&lock);
    struct buffer * buffer = find_or_add(object);
    if (buffer != NULL) *buffer = (struct buffer){object, id, address, size};
    pthread_mutex_unlock(&lock);
}

uint64_t ggs_buffer_remove(const void * object) {
    pthread_mutex_lock(&lock);
    struct buffer * buffer = find(object);
    uint64_t        id     = buffer == NULL ? 0 : buffer->id;
    if (buffer != NULL) { // the last one takes its place
        *buffer                                                     = buffers[n_buffers - 1];
        *ggs_map_put(&numbers, ggs_map_key_pointer(buffer->object)) = (uint64_t) (buffer - buffers) + 1;
        ggs_map_remove(&numbers, ggs_map_key_pointer(object));
        n_buffers--;
    }
    pthread_mutex_unlock(&lock);
    return id;
}

uint64_t ggs_buffer_id(const void * object) {
    if (object == NULL) return 0;
    pthread_mutex_lock(&lock);
    const struct buffer * buffer = find(object);
    uint64_t              id     = buffer == NULL ? 0 : buffer->id;
    pthread_mutex_unlock(&lock);
    return id;
}

bool ggs_buffer_holds(uint64_t address) {
    bool held = false;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; !held && i < n_buffers; i++) held = address - buffers[i].address < buffers[i].size;
    pthread_mutex_unlock(&lock);
    return held;
}

void ggs_buffers_reset(bool forked) {
    lock      = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    n_buffers = 0;
    if (forked) {
        buffers  = NULL;
        capacity = 0;
        numbers  = (struct ggs_map){0};
    }
    ggs_map_release(&numbers);
}
