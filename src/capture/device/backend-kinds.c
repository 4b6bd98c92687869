#include "capture/device/backend-kind.h"

#include <string.h>

const struct ggs_backend_kind * const ggs_backend_kinds[] = {
    &ggs_backend_kind_cuda,
    &ggs_backend_kind_rpc,
    &ggs_backend_kind_vulkan,
    NULL,
};

const struct ggs_backend_kind * ggs_backend_kind_of(const char * name) {
    for (unsigned i = 0; name != NULL && ggs_backend_kinds[i] != NULL; i++) {
        const char * prefix = ggs_backend_kinds[i]->prefix;
        if (strncmp(name, prefix, strlen(prefix)) == 0) return ggs_backend_kinds[i];
    }
    return NULL;
}
