// The lower bound for the JSON export: the writer alone, on entries like those of a trace file.
// Prints MB per second.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"

static int count(void * context, const char * data, size_t length) {
    (void) data;
    *(uint64_t *) context += length;
    return 0;
}

int main(void) {
    struct ggs_json json;
    struct timespec begin, end;
    uint64_t        bytes = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    ggs_json_init(&json, count, &bytes, true);
    ggs_json_array(&json, NULL);
    for (uint64_t i = 0; i < 200000; i++) {
        ggs_json_object_inline(&json, NULL);
        ggs_json_u64(&json, "entry_id", i);
        ggs_json_u64(&json, "timestamp_ns", 253490459 + i * 1721);
        ggs_json_double(&json, "timestamp_relative_ms", 1.653071 + (double) i * 1e-3);
        ggs_json_u64(&json, "token_id", i / 725);
        ggs_json_null(&json, "layer_id");
        ggs_json_string(&json, "phase", "GENERATE");
        ggs_json_string(&json, "operation_type", "MUL_MAT");
        ggs_json_string(&json, "dst_name", "ffn_moe_logits-12");
        ggs_json_array(&json, "sources");
        for (int s = 0; s < 2; s++) {
            ggs_json_object(&json, NULL);
            ggs_json_string(&json, "name", "blk.12.ffn_gate_inp.weight");
            ggs_json_string(&json, "tensor_ptr", "0x7ff486ab5480");
            ggs_json_u64(&json, "size_bytes", 4608000);
            ggs_json_string(&json, "memory_source", "DISK");
            ggs_json_u64(&json, "disk_offset", 742528 + i);
            ggs_json_string(&json, "file", "moe.gguf");
            ggs_json_end(&json);
        }
        ggs_json_end(&json);
        ggs_json_u64(&json, "duration_ns", 1328435);
        ggs_json_u64(&json, "bytes_read", 6721024);
        ggs_json_end(&json);
    }
    ggs_json_end(&json);
    if (ggs_json_finish(&json) != 0) return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double) (end.tv_sec - begin.tv_sec) + (double) (end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("%.1f\n", (double) bytes / 1e6 / seconds);
    return 0;
}
