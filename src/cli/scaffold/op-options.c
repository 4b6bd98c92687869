#include "cli/scaffold/op-options.h"

#include <string.h>
#include <strings.h>

#include "analyze/walk/words.h"
#include "base/number.h"

bool ggs_set_op_layer(void * member, const char * text) {
    if (strcmp(text, "none") != 0) return ggs_set_layer(member, text);
    *(int *) member = -1;
    return true;
}

bool ggs_set_thread(void * member, const char * text) {
    return ggs_parse_i64(text, 0, INT32_MAX, member);
}

bool ggs_set_buffer(void * member, const char * text) {
    return ggs_parse_u64(text, 1, UINT64_MAX, member);
}

GGS_WORDS(source_words, {"disk", "in a mapped file"}, {"buffer", "in other memory"}, {"vram", "in a device's memory"})

struct ggs_word ggs_source_words(unsigned i) {
    return source_words(i);
}

bool ggs_set_source(void * member, const char * text) {
    enum ggs_memory_source * source = member;
    for (uint64_t i = GGS_SOURCE_NONE + 1; i < GGS_SOURCE_COUNT; i++) {
        if (strcasecmp(text, ggs_word_source(i)) != 0) continue;
        *source = (enum ggs_memory_source) i;
        return true;
    }
    return false;
}
