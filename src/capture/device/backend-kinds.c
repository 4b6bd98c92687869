#include "capture/device/backend-kind.h"

#include <string.h>

const struct ggs_backend_kind * const ggs_backend_kinds[] = {
#define ROW(name_) &ggs_backend_kind_##name_,
    GGS_BACKEND_KINDS(ROW)
#undef ROW
        NULL,
};

const struct ggs_backend_kind * ggs_backend_kind_of(const char * name) {
    for (unsigned i = 0; name != NULL && ggs_backend_kinds[i] != NULL; i++) {
        const char * prefix = ggs_backend_kinds[i]->prefix;
        if (strncmp(name, prefix, strlen(prefix)) == 0) return ggs_backend_kinds[i];
    }
    return NULL;
}
