#include "answer/fields.h"

#include <math.h>

#include "analyze/walk/words.h"
#include "base/json.h"
#include "base/uuid.h"

const char * ggs_answer_string(const void * trace, uint64_t number) {
    return ggs_reader_string(((const struct ggs_trace *) trace)->reader, number);
}

GGS_GET_TEXT(id_of, void, ggs_uuid_format(room, ggs_reader_uuid(trace->reader)))
GGS_GET(bool, is_partial, void, ggs_trace_missing(trace) != NULL)

static const struct ggs_field about_fields[] = {
    GGS_TEXT("experiment_id", id_of, "UUID of the recording", .pattern = GGS_UUID_PATTERN),
    GGS_TRUE("partial", GGS_PARTIAL_TEXT, .asked = is_partial),
    {0},
};
const struct ggs_object ggs_answer_about = {
    .name = "About", .text = "The first keys of every answer about a recording.", .fields = about_fields};

static const char * const step_kinds[] = {"token", "graph run", NULL};
GGS_GET_TEXT(step_kind_of, void, ggs_word_step(trace))

static const struct ggs_field step_kind_fields[] = {
    GGS_TEXT("step_kind", step_kind_of, "what a step is: a graph run in programs that have no tokens",
             .words = step_kinds),
    {0},
};
const struct ggs_object ggs_answer_step_kind = {.fields = step_kind_fields};

void ggs_answer_write(struct ggs_json * json, const struct ggs_object * object, const void * it,
                      const struct ggs_trace * trace) {
    ggs_object_write(json, NULL, object, it, trace);
}

const char * ggs_answer_path(const struct ggs_trace * trace, uint64_t file) {
    return file == 0 || file > trace->n_files ? NULL : ggs_reader_string(trace->reader, trace->files[file - 1].path);
}

double ggs_answer_speed(uint64_t tokens, uint64_t ns) {
    return ns == 0 ? (double) NAN : (double) tokens / ((double) ns / 1e9);
}

struct ggs_list ggs_answer_bins(const uint64_t * bins, unsigned n) {
    while (n > 0 && bins[n - 1] == 0) n--;
    return (struct ggs_list){bins, n, sizeof(*bins)};
}
