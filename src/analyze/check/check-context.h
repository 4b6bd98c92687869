// What the checks of a trace share.
#pragma once

#include "analyze/check/check.h"

struct ggs_gguf;

struct context {
    struct ggs_checks * checks;
    struct ggs_trace *  trace;
    const char *        directory;
    struct ggs_gguf **  gguf; // by file - 1; NULL if it is no GGUF file or cannot be read any more
    bool                cut;  // a run was cut off, or records were lost: numbers may fall short
};

void ggs_check_layers(struct context * c);
void ggs_check_tokens(struct context * c);
