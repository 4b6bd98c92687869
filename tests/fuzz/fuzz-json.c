// libFuzzer on the JSON reader: no text may crash it or make it read out of bounds. Accepted text
// is walked to the end.
#include "base/json-read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

static void walk(struct ggs_json_value value) {
    struct ggs_json_value element = {0};
    struct ggs_text       text    = {0};
    uint64_t              number;
    (void) ggs_json_to_u64(value, &number);
    ggs_json_append_to(value, &text);
    if (text.length > (size_t) (value.end - value.at)) abort();
    ggs_text_release(&text);
    if (ggs_json_is_there(ggs_json_member(value, "a"))) walk(ggs_json_member(value, "a"));
    while (ggs_json_next(value, &element)) walk(element);
}

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    struct ggs_json_value root = ggs_json_read((const char *) data, size);
    if (ggs_json_is_there(root)) walk(root);
    return 0;
}
