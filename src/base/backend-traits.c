#include "base/backend-traits.h"

#include <string.h>

const struct ggs_backend_traits ggs_backend_traits[] = {
#define ROW(name_, ...) {.library = #name_, __VA_ARGS__},
    GGS_BACKENDS(ROW)
#undef ROW
        {.library = NULL},
};

const struct ggs_backend_traits * ggs_backend_traits_of_library(const char * library) {
    for (const struct ggs_backend_traits * traits = ggs_backend_traits; traits->library != NULL; traits++)
        if (strcmp(library, traits->library) == 0) return traits;
    return NULL;
}

const struct ggs_backend_traits * ggs_backend_traits_of(const char * name) {
    for (const struct ggs_backend_traits * traits = ggs_backend_traits; name != NULL && traits->library != NULL;
         traits++)
        if (strncmp(name, traits->prefix, strlen(traits->prefix)) == 0) return traits;
    return NULL;
}

bool ggs_backend_is_remote(const char * name) {
    const struct ggs_backend_traits * traits = ggs_backend_traits_of(name);
    return traits != NULL && traits->remote;
}
