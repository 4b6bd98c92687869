#include "answer/answer.h"

#include <math.h>

#include "analyze/walk/trace.h"
#include "base/uuid.h"

void ggs_answer_experiment(struct ggs_json * json, const struct ggs_trace * trace) {
    char id[GGS_UUID_LENGTH];
    ggs_json_string(json, "experiment_id", ggs_uuid_format(id, ggs_reader_uuid(trace->reader)));
    if (trace->damaged > 0) ggs_json_bool(json, "partial", true);
}

void ggs_answer_speed(struct ggs_json * json, uint64_t steps, uint64_t ns) {
    ggs_json_double(json, "tokens_per_second", ns == 0 ? NAN : (double) steps / ((double) ns / 1e9));
}
