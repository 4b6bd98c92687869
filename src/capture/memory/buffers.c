// Runtime buffers by the engine's buffer object: ids that are never used again.
#include "capture/memory/buffers.h"

#include <pthread.h>
#include <stddef.h>

enum { MOST_BUFFERS = 4096 };

struct entry {
    const void * buffer; // NULL: free
    uint64_t     id;
    uint64_t     address, size;
};

static struct entry    entries[MOST_BUFFERS];
static unsigned        n_entries; // entries beyond are unused
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct entry * find(const void * buffer) {
    for (unsigned i = 0; i < n_entries; i++) {
        if (entries[i].buffer == buffer) return &entries[i];
    }
    return NULL;
}

void ggs_buffer_add(const void * buffer, uint64_t id, uint64_t address, uint64_t size) {
    pthread_mutex_lock(&lock);
    struct entry * entry = find(buffer); // its memory may have been used by a buffer that we did not see die
    if (entry == NULL) entry = find(NULL);
    if (entry == NULL && n_entries < MOST_BUFFERS) entry = &entries[n_entries++];
    if (entry != NULL) *entry = (struct entry){buffer, id, address, size};
    pthread_mutex_unlock(&lock);
}

uint64_t ggs_buffer_remove(const void * buffer) {
    pthread_mutex_lock(&lock);
    struct entry * entry = find(buffer);
    uint64_t       id    = entry == NULL ? 0 : entry->id;
    if (entry != NULL) entry->buffer = NULL;
    pthread_mutex_unlock(&lock);
    return id;
}

uint64_t ggs_buffer_id(const void * buffer) {
    if (buffer == NULL) return 0;
    pthread_mutex_lock(&lock);
    struct entry * entry = find(buffer);
    uint64_t       id    = entry == NULL ? 0 : entry->id;
    pthread_mutex_unlock(&lock);
    return id;
}

bool ggs_buffer_holds(uint64_t address) {
    bool held = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; !held && i < n_entries; i++)
        held = entries[i].buffer != NULL && address >= entries[i].address &&
               address - entries[i].address < entries[i].size;
    pthread_mutex_unlock(&lock);
    return held;
}
