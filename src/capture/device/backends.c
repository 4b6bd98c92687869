#include "capture/device/backends.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "capture/capture.h"
#include "capture/journal.h"
#include "trace/spool.h"

// The device distinguishes an object from an earlier one at the same address whose end no hook
// observed.
struct entry {
    const void *       device; // ggml's; NULL in releases without devices
    struct ggs_backend backend;
};

static struct ggs_map  entries; // object -> struct entry *
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void * device_of(void * object) {
    return ggs_engine.backend_device == NULL ? NULL : ggs_engine.backend_device(object);
}

static struct entry * find(const void * object) {
    return (struct entry *) (uintptr_t) ggs_map_get(&entries, ggs_map_key_pointer(object));
}

// Returns NULL if out of memory.
static struct entry * find_or_add(const void * object) {
    struct entry * entry = find(object);
    uint64_t *     value = entry != NULL ? NULL : ggs_map_put(&entries, ggs_map_key_pointer(object));
    if (value == NULL) return entry;
    entry = malloc(sizeof(*entry));
    if (entry == NULL)
        ggs_map_remove(&entries, ggs_map_key_pointer(object));
    else
        *value = (uint64_t) (uintptr_t) entry;
    return entry;
}

// Writes the device to the journal. Returns its type.
static uint32_t emit_device(void * device, const char * name) {
    // ggml's numbers. In releases without a number for integrated GPUs, accelerators have 2.
    static const uint32_t        types[] = {GGS_DEVICE_CPU, GGS_DEVICE_GPU, GGS_DEVICE_GPU, GGS_DEVICE_ACCELERATOR};
    const struct abi_functions * f       = &ggs_engine;
    struct ggs_journal_device    record  = {0};
    size_t                       unused, memory = 0;
    int                          type = f->device_type == NULL ? -1 : f->device_type(device);
    if (type >= 0 && type < 4) record.type = types[type];
    if (f->device_memory != NULL) f->device_memory(device, &unused, &memory);
    record.memory             = memory;
    const char *     text     = f->device_description == NULL ? "" : f->device_description(device);
    struct ggs_piece pieces[] = {{&record, sizeof(record)}, {name, strlen(name)}, {"\n", 1}, {text, strlen(text) + 1}};
    ggs_journal_append(GGS_JOURNAL_DEVICE, pieces, 4);
    return record.type;
}

struct ggs_backend ggs_backend_get(void * object, const char * name) {
    void * device = device_of(object);
    pthread_mutex_lock(&lock);
    const struct entry * seen    = find(object);
    bool                 is_seen = seen != NULL && seen->device == device;
    struct ggs_backend   backend = {0};
    if (is_seen) backend = seen->backend;
    pthread_mutex_unlock(&lock);
    if (is_seen) return backend;
    backend.kind = ggs_backend_kind_of(name);
    if (device != NULL) backend.type = emit_device(device, name);
    pthread_mutex_lock(&lock);
    struct entry * entry = find_or_add(object);
    if (entry != NULL) *entry = (struct entry){device, backend};
    pthread_mutex_unlock(&lock);
    return backend;
}

bool ggs_backend_is_gpu(void * object) {
    if (object == NULL) return false;
    const void * device = device_of(object);
    pthread_mutex_lock(&lock);
    const struct entry * entry  = find(object);
    bool                 is_gpu = entry != NULL && entry->device == device && entry->backend.type == GGS_DEVICE_GPU;
    pthread_mutex_unlock(&lock);
    return is_gpu;
}

void ggs_backend_remove(const void * object) {
    pthread_mutex_lock(&lock);
    free(find(object));
    ggs_map_remove(&entries, ggs_map_key_pointer(object));
    pthread_mutex_unlock(&lock);
}

void ggs_backends_reset(bool forked) {
    lock = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
    if (forked) entries = (struct ggs_map){0};
    for (size_t i = 0; i < entries.capacity; i++) free((struct entry *) (uintptr_t) entries.slots[i].value);
    ggs_map_release(&entries);
}
