// The page's files, compressed with gzip and built into the program.
#pragma once

#include <stddef.h>

struct ggs_asset {
    const char *          path; // "/app.js"
    const char *          type; // content type
    const char *          etag; // with its quotes
    const unsigned char * data; // gzip
    size_t                size;
};

extern const struct ggs_asset ggs_assets[];
extern const size_t           ggs_n_assets;

const struct ggs_asset * ggs_asset_find(const char * path, size_t length); // NULL for none
