// A recording as one page that needs no server: the page itself, the module that answers in place
// of the server (src/wasm), and the trace.
//
//     <script type="application/json" class="ggscope-experiment">{"path", "directory", "name",
//         "state", "files": [{"path", "bytes", "head", "gzip"}]}</script>
//     <script type="text/plain" class="ggscope-trace">BASE64</script>
//
// `files` are those that the server would find beside the trace, each by its beginning in base64:
// model files up to their tensors' data, long lists such as a vocabulary blank; and the probe of
// the memory.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "serve/experiments.h"

struct ggs_report_options {
    uint64_t most_bytes;                                             // of the file: more is refused
    void (*progress)(void * context, uint64_t done, uint64_t total); // may be NULL
    void * progress_context;
};

// Of experiment 0. What is refused because of its size is GGS_UNSUPPORTED.
int ggs_report_write(FILE * file, struct ggs_experiments * experiments, const struct ggs_report_options * options,
                     struct ggs_error * error);
