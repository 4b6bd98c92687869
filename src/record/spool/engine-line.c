#include "record/spool/engine-line.h"

#include <string.h>

const char * ggs_loss_name(unsigned reason) {
    static const char * const names[GGS_LOSS_COUNT] = {
        [GGS_LOSS_SPACE]          = "space",
        [GGS_LOSS_SLOTS]          = "slots",
        [GGS_LOSS_UNMATCHED]      = "unmatched",
        [GGS_LOSS_RING]           = "ring",
        [GGS_LOSS_DAMAGED]        = "damaged",
        [GGS_LOSS_FAULTS]         = "faults",
        [GGS_LOSS_BLOCK_REQUESTS] = "block_requests",
        [GGS_LOSS_PAGES]          = "pages",
        [GGS_LOSS_SWITCHES]       = "switches",
        [GGS_LOSS_WEIGHTS]        = "weights",
    };
    return reason < GGS_LOSS_COUNT ? names[reason] : NULL;
}

const char * ggs_engine_line(const char * text, struct ggs_engine_line * line) {
    if (text == NULL || *text == '\0') return NULL;
    size_t length      = strcspn(text, "\n");
    size_t key         = strcspn(text, "=\n");
    line->key          = text;
    line->key_length   = key;
    line->value        = text + (key < length ? key + 1 : length);
    line->value_length = length - (size_t) (line->value - text);
    return text + length + (text[length] == '\n');
}
