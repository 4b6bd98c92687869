#include "capture/hooks/preload.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ggs_preload_leave(const char * name) {
    const char * preload = getenv("LD_PRELOAD");
    if (preload == NULL) return;
    char   rest[PATH_MAX] = "";
    size_t used           = 0;
    for (const char * at = preload; *at != '\0';) {
        size_t length = strcspn(at, ": ");
        if (length > 0 && memmem(at, length, name, strlen(name)) == NULL && used + length + 2 < sizeof(rest)) {
            used +=
                (size_t) snprintf(rest + used, sizeof(rest) - used, "%s%.*s", used > 0 ? ":" : "", (int) length, at);
        }
        at += length + (at[length] != '\0');
    }
    if (used > 0) {
        setenv("LD_PRELOAD", rest, 1);
    } else {
        unsetenv("LD_PRELOAD");
    }
}

static int sees_engine(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size, (void) data;
    return info->dlpi_name != NULL && strstr(info->dlpi_name, "libggml") != NULL;
}

bool ggs_preload_sees_engine(void) {
    return dl_iterate_phdr(sees_engine, NULL) != 0;
}
