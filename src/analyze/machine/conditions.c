#include "analyze/machine/conditions.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "analyze/walk/trace.h"
#include "base/json.h"

static struct json_object * member(struct json_object * object, const char * key) {
    struct json_object * value = NULL;
    if (json_object_is_type(object, json_type_object)) json_object_object_get_ex(object, key, &value);
    return value;
}

static uint64_t number(struct json_object * object, const char * key) {
    struct json_object * value = member(object, key);
    return json_object_is_type(value, json_type_int) ? json_object_get_uint64(value) : 0;
}

static void text(struct json_object * object, const char * key, char * buffer, size_t size) {
    struct json_object * value = member(object, key);
    snprintf(buffer, size, "%s", json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "");
}

void ggs_conditions_read(struct ggs_conditions * conditions, struct ggs_trace * trace) {
    struct json_object * root    = json_tokener_parse(ggs_reader_experiment(trace->reader));
    struct json_object * machine = member(root, "machine");
    struct json_object * cold    = member(machine, "cold");
    *conditions                  = (struct ggs_conditions){.memory_limit     = number(machine, "memory_limit"),
                                                           .memory_peak      = number(machine, "memory_peak"),
                                                           .memory_anonymous = number(machine, "memory_anonymous"),
                                                           .memory_shared    = number(machine, "memory_shared"),
                                                           .limit_hits       = number(machine, "limit_hits"),
                                                           .oom_kills        = number(machine, "oom_kills"),
                                                           .cold             = cold != NULL,
                                                           .cold_bytes       = number(cold, "bytes"),
                                                           .resident_before  = number(cold, "resident_before"),
                                                           .resident_after   = number(cold, "resident_after"),
                                                           .resident_known   = member(cold, "resident_after") != NULL,
                                                           .read_bytes       = number(machine, "read_bytes")};
    text(machine, "mechanism", conditions->mechanism, sizeof(conditions->mechanism));
    text(machine, "residency", conditions->residency, sizeof(conditions->residency));
    json_object_put(root);
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
