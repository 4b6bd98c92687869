// libFuzzer on the GGUF reader: no bytes may crash it, hang it or make it take much memory.
// Whatever opens is walked to the end: values, map, names, experts.
#include "base/error.h"
#include "base/text.h"
#include "gguf/gguf-entry.h"
#include "gguf/gguf-map.h"
#include "gguf/gguf-type.h"
#include "gguf/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

// An invariant: the fuzzer stops if it is violated.
static void require(bool condition) {
    if (!condition) abort();
}

static void walk_values(const struct ggs_gguf * gguf) {
    for (size_t i = 0; i < gguf->n_kvs; i++) {
        struct ggs_gguf_values values = ggs_gguf_values(&gguf->kvs[i]);
        struct ggs_gguf_value  value;
        uint64_t               bytes = 0;
        while (ggs_gguf_next(&values, &value)) {
            for (size_t j = 0; j < value.length; j++) bytes += (unsigned char) value.string[j] + 1u;
        }
        require(values.position == gguf->kvs[i].size && bytes < UINT64_MAX);
    }
    uint64_t number;
    (void) ggs_gguf_get_hparam(gguf, "block_count", &number);
    (void) ggs_gguf_get_u64(gguf, "split.count", &number);
}

static void walk_entries(const struct ggs_gguf * gguf, const struct ggs_gguf_map * map, bool experts) {
    struct ggs_entries entries = ggs_entries(gguf, map, experts);
    struct ggs_entry   entry;
    struct ggs_text    text = {0};
    uint64_t           sum  = 0;
    while (ggs_entries_next(&entries, &entry)) {
        char component[GGS_COMPONENT_LENGTH];
        char type[GGS_TYPE_NAME_LENGTH];
        require(strlen(ggs_name_component(component, sizeof component, &entry.name, entry.expert)) > 0);
        require(strlen(ggs_type_name(type, sizeof type, entry.tensor->type)) > 0);
        ggs_text_clear(&text);
        ggs_entry_append_name(&text, &entry);
        (void) ggs_name_layer(entry.tensor->name, entry.tensor->name_length);
        require(entry.offset <= gguf->size && entry.size <= gguf->size - entry.offset);
        sum += entry.size;
    }
    require(sum == map->bytes[GGS_REGION_TENSOR]);
    ggs_text_release(&text);
}

static void walk_map(const struct ggs_gguf * gguf) {
    struct ggs_gguf_map map;
    struct ggs_error    error = {0};
    if (ggs_gguf_map_init(&map, gguf, &error) < 0) {
        require(error.text[0] != '\0');
        return;
    }
    uint64_t end = 0;
    for (size_t i = 0; i < map.n_regions; i++) {
        require(map.regions[i].offset == end);
        end += map.regions[i].size;
    }
    require(end == gguf->size);
    walk_entries(gguf, &map, false);
    walk_entries(gguf, &map, true);
    ggs_gguf_map_release(&map);
}

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    struct ggs_gguf * gguf  = NULL;
    struct ggs_error  error = {0};
    char              path[64];
    int               fd = memfd_create("input", MFD_CLOEXEC);
    require(write(fd, data, size) == (ssize_t) size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int status = ggs_gguf_open(&gguf, path, &error);
    close(fd);
    if (status < 0) {
        require(gguf == NULL && error.status < 0 && error.text[0] != '\0');
        return 0;
    }
    walk_values(gguf);
    walk_map(gguf);
    ggs_gguf_free(gguf);
    return 0;
}
