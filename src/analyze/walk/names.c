#include "analyze/walk/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "trace/reader.h"

struct ggs_names {
    char **        texts; // by number
    uint32_t       n;
    uint64_t       capacity;
    struct ggs_map numbers; // number + 1
};

uint32_t ggs_names_number(struct ggs_names * names, const char * text, size_t length) {
    uint64_t * number = ggs_map_put(&names->numbers, ggs_map_key_of(text, length));
    if (number == NULL) return UINT32_MAX;
    if (*number != 0) return (uint32_t) (*number - 1);
    char * copy = strndup(text, length);
    if (copy == NULL || !ggs_array_push(names->texts, names->n, names->capacity, copy)) {
        free(copy);
        return UINT32_MAX; // the caller fails: the map is not used again
    }
    *number = names->n;
    return names->n - 1;
}

void ggs_names_free(struct ggs_names * names) {
    if (names == NULL) return;
    for (uint32_t i = 0; i < names->n; i++) free(names->texts[i]);
    free(names->texts);
    ggs_map_release(&names->numbers);
    free(names);
}

struct ggs_names * ggs_names_new(void) {
    return calloc(1, sizeof(struct ggs_names));
}

const char * ggs_names_text(const struct ggs_names * names, uint32_t number) {
    return number < names->n ? names->texts[number] : "";
}

const char * ggs_names_backend(struct ggs_names * names, struct ggs_reader * reader, uint64_t backend) {
    char     text[256];
    int      length = snprintf(text, sizeof(text), "%.200s, as a whole", ggs_reader_string(reader, backend));
    uint32_t number = ggs_names_number(names, text, (size_t) length);
    return number == UINT32_MAX ? NULL : ggs_names_text(names, number);
}
