// Shared by the checks of a trace.
#pragma once

#include "analyze/check/check.h"

struct ggs_gguf;

struct context {
    struct ggs_checks * checks;
    struct ggs_trace *  trace;
    const char *        directory;
    struct ggs_gguf **  gguf; // by file - 1; NULL if it is not a readable GGUF file
    bool                cut;  // a run was truncated, or records were lost: numbers may be too small
};

void ggs_check_layers(struct context * c);
void ggs_check_tokens(struct context * c);
