// libFuzzer on the decoder of reports: no frame may make it access memory out of bounds, and
// accepted frames decode as with zstd.
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "wasm/zstd-decode.h"

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    enum { MOST = 300000 };
    uint8_t *ours = malloc(MOST), *theirs = malloc(MOST);
    size_t   got = ggs_zstd_decompress(ours, MOST, data, size), right = ZSTD_decompress(theirs, MOST, data, size);
    if (got != GGS_ZSTD_FAILED && !ZSTD_isError(right) && (got != right || memcmp(ours, theirs, got) != 0)) abort();
    free(ours);
    free(theirs);
    return 0;
}
