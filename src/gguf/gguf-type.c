#include "gguf/gguf-type.h"

#include <stdio.h>

// Sizes of the block structs of ggml-common.h. A test compares this table with the engine's
// library.
static const struct ggs_gguf_type types[GGS_TYPE_COUNT] = {
    [0] = {"f32", 1, 4, false},          [1] = {"f16", 1, 2, false},          [2] = {"q4_0", 32, 18, false},
    [3] = {"q4_1", 32, 20, false},       [4] = {"q4_2", 16, 10, true},        [5] = {"q4_3", 16, 12, true},
    [6] = {"q5_0", 32, 22, false},       [7] = {"q5_1", 32, 24, false},       [8] = {"q8_0", 32, 34, false},
    [9] = {"q8_1", 32, 36, false},       [10] = {"q2_K", 256, 84, false},     [11] = {"q3_K", 256, 110, false},
    [12] = {"q4_K", 256, 144, false},    [13] = {"q5_K", 256, 176, false},    [14] = {"q6_K", 256, 210, false},
    [15] = {"q8_K", 256, 292, false},    [16] = {"iq2_xxs", 256, 66, false},  [17] = {"iq2_xs", 256, 74, false},
    [18] = {"iq3_xxs", 256, 98, false},  [19] = {"iq1_s", 256, 50, false},    [20] = {"iq4_nl", 32, 18, false},
    [21] = {"iq3_s", 256, 110, false},   [22] = {"iq2_s", 256, 82, false},    [23] = {"iq4_xs", 256, 136, false},
    [24] = {"i8", 1, 1, false},          [25] = {"i16", 1, 2, false},         [26] = {"i32", 1, 4, false},
    [27] = {"i64", 1, 8, false},         [28] = {"f64", 1, 8, false},         [29] = {"iq1_m", 256, 56, false},
    [30] = {"bf16", 1, 2, false},        [31] = {"q4_0_4_4", 32, 18, true},   [32] = {"q4_0_4_8", 32, 18, true},
    [33] = {"q4_0_8_8", 32, 18, true},   [34] = {"tq1_0", 256, 54, false},    [35] = {"tq2_0", 256, 66, false},
    [36] = {"iq4_nl_4_4", 32, 18, true}, [37] = {"iq4_nl_4_8", 32, 18, true}, [38] = {"iq4_nl_8_8", 32, 18, true},
    [39] = {"mxfp4", 32, 17, false},     [40] = {"nvfp4", 64, 36, false},     [41] = {"q1_0", 128, 18, false},
    [42] = {"q2_0", 64, 18, false},
};

const struct ggs_gguf_type * ggs_type_find(uint32_t type) {
    if (type >= GGS_TYPE_COUNT || types[type].name == NULL) return NULL;
    return &types[type];
}

char * ggs_type_name(char * buffer, size_t size, uint32_t type) {
    const struct ggs_gguf_type * known = ggs_type_find(type);
    if (known != NULL) {
        snprintf(buffer, size, "%s", known->name);
    } else {
        snprintf(buffer, size, "type %u?", (unsigned) type);
    }
    return buffer;
}
