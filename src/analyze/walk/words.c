#include "analyze/walk/words.h"

#include <stddef.h>

#include "ggscope.h"

const char * ggs_word_phase(uint64_t phase) {
    static const char * const names[GGS_PHASE_COUNT] = {
        [GGS_PHASE_NONE] = "NONE",   [GGS_PHASE_PROMPT] = "PROMPT", [GGS_PHASE_GENERATE] = "GENERATE",
        [GGS_PHASE_MIXED] = "MIXED", [GGS_PHASE_WARMUP] = "WARMUP", [GGS_PHASE_VERIFY] = "VERIFY"};
    return phase < GGS_PHASE_COUNT ? names[phase] : "NONE";
}

const char * ggs_word_source(uint64_t source) {
    return source == GGS_SOURCE_DISK ? "DISK" : source == GGS_SOURCE_BUFFER ? "BUFFER" : NULL;
}

const char * ggs_word_class(uint64_t class_) {
    static const char * const names[GGS_CLASS_COUNT] = {[GGS_CLASS_OTHER]   = "other",
                                                        [GGS_CLASS_WEIGHTS] = "weights",
                                                        [GGS_CLASS_KV]      = "kv",
                                                        [GGS_CLASS_COMPUTE] = "compute",
                                                        [GGS_CLASS_IO]      = "io"};
    return class_ < GGS_CLASS_COUNT ? names[class_] : "other";
}

const char * ggs_word_usage(uint64_t usage) {
    return usage == 1 ? "weights" : usage == 2 ? "compute" : "any";
}

const char * ggs_word_transfer(uint64_t kind) {
    return kind == 1 ? "host to tensor" : kind == 2 ? "tensor to host" : "tensor to tensor";
}
