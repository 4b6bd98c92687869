#include "capture/device/backend-kind.h"

const struct ggs_backend_kind * const ggs_backend_kinds[] = {
#define ROW(name_, ...) &ggs_backend_kind_##name_,
    GGS_BACKENDS(ROW)
#undef ROW
        NULL,
};

const struct ggs_backend_kind * ggs_backend_kind_of(const char * name) {
    const struct ggs_backend_traits * traits = ggs_backend_traits_of(name);
    return traits == NULL ? NULL : ggs_backend_kinds[traits - ggs_backend_traits];
}
