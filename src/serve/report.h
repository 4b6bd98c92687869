// Writes a recording as one page that needs no server: the page, the module that replaces the
// server (src/wasm), and the trace.
//
//     <script type="application/json" class="ggscope-experiment">{"path", "directory", "name",
//         "state", "files": [{"path", "bytes", "head", "gzip"}]}</script>
//     <script type="text/plain" class="ggscope-trace">BASE64</script>
//
// `files` are the files that the server would read beside the trace, as the base64 of their heads:
// model files up to the tensor data, with zeros in place of long lists such as the vocabulary, and
// the measured limits of the machine.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "serve/experiments.h"

struct ggs_report_options {
    uint64_t most_bytes;                                             // of the file: larger ones are refused
    void (*progress)(void * context, uint64_t done, uint64_t total); // may be NULL
    void * progress_context;
};

// Writes experiment 0. GGS_UNSUPPORTED if it is too large.
int ggs_report_write(FILE * file, struct ggs_experiments * experiments, const struct ggs_report_options * options,
                     struct ggs_error * error);
