#include "analyze/machine/conditions.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "analyze/walk/trace.h"

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
