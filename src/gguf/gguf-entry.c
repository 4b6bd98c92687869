#include "gguf/gguf-entry.h"

#include "base/text.h"
#include "gguf/gguf-map.h"

#include <inttypes.h>
#include <string.h>

struct ggs_entries ggs_entries(const struct ggs_gguf * gguf, const struct ggs_gguf_map * map, bool experts) {
    return (struct ggs_entries){.gguf = gguf, .map = map, .experts = experts};
}

// Narrows an entry that is a whole tensor to the slice of one expert.
static void slice(struct ggs_entry * entry, uint32_t expert) {
    entry->expert = expert;
    entry->size /= entry->n_experts;
    entry->elements /= entry->n_experts;
    entry->offset += expert * entry->size;
    entry->ne[entry->name.expert_dimension] = 1;
    if (entry->n_dims > entry->name.expert_dimension) entry->n_dims = entry->name.expert_dimension;
}

bool ggs_entries_next(struct ggs_entries * entries, struct ggs_entry * entry) {
    const struct ggs_gguf_map * map = entries->map;
    while (entries->region < map->n_regions && map->regions[entries->region].kind != GGS_REGION_TENSOR) {
        entries->region++;
    }
    if (entries->region == map->n_regions) return false;
    const struct ggs_gguf_tensor * tensor = &entries->gguf->tensors[map->regions[entries->region].tensor];
    *entry = (struct ggs_entry){.tensor = tensor, .expert = -1, .offset = tensor->offset, .size = tensor->size};
    memcpy(entry->ne, tensor->ne, sizeof entry->ne);
    entry->n_dims    = tensor->n_dims;
    entry->elements  = ggs_gguf_elements(tensor);
    entry->name      = ggs_name_parse(tensor->name, tensor->name_length);
    entry->n_experts = ggs_name_experts(&entry->name, tensor);
    if (!entries->experts || entry->n_experts == 0) {
        entries->region++;
        return true;
    }
    slice(entry, entries->next_expert++);
    if (entries->next_expert == entry->n_experts) {
        entries->next_expert = 0;
        entries->region++;
    }
    return true;
}

void ggs_entry_append_name(struct ggs_text * text, const struct ggs_entry * entry) {
    ggs_text_append(text, entry->tensor->name, entry->tensor->name_length);
    if (entry->expert >= 0) ggs_text_printf(text, "[%" PRId64 "]", entry->expert);
}

int64_t ggs_entry_expert(const struct ggs_entry * entry) {
    return entry->expert >= 0 ? entry->expert : entry->name.expert;
}
