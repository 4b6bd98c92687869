#include "capture/values/dump.h"

#include <string.h>

enum { PIECE = 240 << 10, USAGE_WEIGHTS = 1 }; // four pieces fit into a segment

size_t ggs_values_bytes(const struct abi_tensor * tensor) {
    static size_t (*bytes_of)(const struct abi_tensor * tensor);
    if (bytes_of == NULL) *(void **) &bytes_of = ggs_abi_find("ggml_nbytes");
    return bytes_of == NULL ? 0 : bytes_of(tensor);
}

void ggs_values_dump(struct ggs_slot * slot, uint32_t node, unsigned source, const struct abi_tensor * tensor,
                     const void * data) {
    uint64_t total = data == NULL ? 0 : ggs_values_bytes(tensor);
    for (uint64_t at = 0; at < total; at += PIECE) {
        struct ggs_spool_dump   unit = {.type   = GGS_UNIT_DUMP,
                                        .source = (uint8_t) source,
                                        .node   = node,
                                        .bytes  = (uint32_t) (total - at < PIECE ? total - at : PIECE),
                                        .offset = at,
                                        .total  = total};
        struct ggs_spool_values head;
        memcpy(&head, &unit, sizeof(head));
        if (!ggs_slot_payload(slot, &head, (const char *) data + at)) {
            slot->lost++;
            return;
        }
    }
}

bool ggs_values_is_weight(const struct abi_tensor * tensor) {
    static int (*usage)(void * buffer);
    if (usage == NULL) *(void **) &usage = ggs_abi_find("ggml_backend_buffer_get_usage");
    const struct abi_tensor * root = tensor->view_src != NULL ? tensor->view_src : tensor;
    return usage != NULL && root->src[0] == NULL && root->buffer != NULL && usage(root->buffer) == USAGE_WEIGHTS;
}
