#include "analyze/machine/conditions.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#include "analyze/walk/trace.h"
#include "base/number.h"

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
