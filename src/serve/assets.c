#include "serve/assets.h"

#include <string.h>

const struct ggs_asset * ggs_asset_find(const char * path, size_t length) {
    if (length == 1) path = "/index.html", length = strlen(path);
    for (size_t i = 0; i < ggs_n_assets; i++) {
        if (strlen(ggs_assets[i].path) == length && memcmp(ggs_assets[i].path, path, length) == 0)
            return &ggs_assets[i];
    }
    return NULL;
}
