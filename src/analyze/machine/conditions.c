#include "analyze/machine/conditions.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/walk/trace.h"
#include "base/json-read.h"
#include "base/json.h"
#include "base/number.h"

static uint64_t number(struct ggs_json_value object, const char * key) {
    uint64_t value = 0;
    ggs_json_to_u64(ggs_json_member(object, key), &value);
    return value;
}

void ggs_conditions_read(struct ggs_conditions * conditions, struct ggs_trace * trace) {
    const char *          text    = ggs_reader_experiment(trace->reader);
    struct ggs_json_value machine = ggs_json_member(ggs_json_read(text, strlen(text)), "machine");
    struct ggs_json_value cold    = ggs_json_member(machine, "cold");
    *conditions                   = (struct ggs_conditions){.memory_limit     = number(machine, "memory_limit"),
                                                            .memory_peak      = number(machine, "memory_peak"),
                                                            .memory_anonymous = number(machine, "memory_anonymous"),
                                                            .memory_shared    = number(machine, "memory_shared"),
                                                            .limit_hits       = number(machine, "limit_hits"),
                                                            .oom_kills        = number(machine, "oom_kills"),
                                                            .cold             = ggs_json_is_there(cold),
                                                            .cold_bytes       = number(cold, "bytes"),
                                                            .resident_before  = number(cold, "resident_before"),
                                                            .resident_after   = number(cold, "resident_after"),
                                                            .read_bytes       = number(machine, "read_bytes")};
    conditions->resident_known    = ggs_json_is_there(ggs_json_member(cold, "resident_after"));
    ggs_json_to_buffer(ggs_json_member(machine, "mechanism"), conditions->mechanism, sizeof(conditions->mechanism));
    ggs_json_to_buffer(ggs_json_member(machine, "residency"), conditions->residency, sizeof(conditions->residency));
}

void ggs_conditions_print(const struct ggs_conditions * c, FILE * out) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    if (c->memory_limit > 0) {
        fprintf(out, "limit     %s of memory (%s), reached %s times\n", ggs_format_bytes(a, c->memory_limit),
                c->mechanism, ggs_format_count(b, c->limit_hits));
        fprintf(out, "          %s at most, %s of it the program's own%s\n", ggs_format_bytes(a, c->memory_peak),
                ggs_format_bytes(b, c->memory_anonymous), c->oom_kills > 0 ? "; that ended it" : "");
    }
    if (c->cold) {
        fprintf(out, "cold      %s dropped from the page cache first", ggs_format_bytes(a, c->cold_bytes));
        if (c->resident_after > 0) fprintf(out, ", %s of it stayed", ggs_format_bytes(b, c->resident_after));
        fputc('\n', out);
    }
    if ((c->memory_limit > 0 || c->cold) && c->read_bytes > 0)
        fprintf(out, "storage   %s read by the program, by its own count\n", ggs_format_bytes(a, c->read_bytes));
}

void ggs_conditions_json(const struct ggs_conditions * c, struct ggs_json * json) {
    if (c->memory_limit > 0) {
        ggs_json_object(json, "memory");
        ggs_json_u64(json, "limit", c->memory_limit);
        ggs_json_string(json, "mechanism", c->mechanism);
        ggs_json_u64(json, "peak", c->memory_peak);
        ggs_json_u64(json, "anonymous", c->memory_anonymous);
        ggs_json_u64(json, "shared", c->memory_shared);
        ggs_json_u64(json, "limit_hits", c->limit_hits);
        ggs_json_u64(json, "oom_kills", c->oom_kills);
        ggs_json_end(json);
    }
    if (c->cold) {
        ggs_json_object_inline(json, "cold");
        ggs_json_u64(json, "bytes", c->cold_bytes);
        if (c->resident_known) {
            ggs_json_u64(json, "resident_before", c->resident_before);
            ggs_json_u64(json, "resident_after", c->resident_after);
        } else {
            ggs_json_null(json, "resident_before");
            ggs_json_null(json, "resident_after");
        }
        ggs_json_end(json);
    }
    if (c->memory_limit > 0 || c->cold) ggs_json_u64(json, "read_bytes", c->read_bytes);
}
