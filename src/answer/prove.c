#include "answer/answer.h"

static void put_sum(struct ggs_json * json, const struct ggs_proof_sum * sum) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_proof_sum, ops, "ops"),
                                              GGS_FIELD(struct ggs_proof_sum, predicted, "pages_predicted"),
                                              GGS_FIELD(struct ggs_proof_sum, touched, "pages_touched"),
                                              GGS_FIELD(struct ggs_proof_sum, both, "pages_both"),
                                              {0}};
    ggs_fields_members(json, fields, sum);
    ggs_json_double(json, "recall", ggs_proof_recall(sum));
    ggs_json_double(json, "precision", ggs_proof_precision(sum));
}

static void put_surprises(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_proof * proof) {
    static const struct ggs_field fields[] = {GGS_FIELD_OR_NULL(struct ggs_surprise, token, "token"),
                                              GGS_FIELD(struct ggs_surprise, run, "run"),
                                              GGS_FIELD(struct ggs_surprise, node, "node"),
                                              GGS_FIELD_OR_NULL(struct ggs_surprise, op, "op"),
                                              GGS_FIELD_OR_NULL(struct ggs_surprise, tensor, "name"),
                                              GGS_FIELD(struct ggs_surprise, file, "file"),
                                              GGS_FIELD(struct ggs_surprise, page, "page"),
                                              GGS_FIELD(struct ggs_surprise, pages, "pages"),
                                              {0}};
    ggs_json_u64(json, "unpredicted_pages", proof->surprise_pages);
    ggs_json_u64(json, "unpredicted_areas", proof->n_surprises);
    ggs_json_array(json, "unpredicted");
    for (uint64_t i = 0; i < proof->n_surprises && i < GGS_PROOF_SURPRISES; i++) {
        uint64_t file = proof->surprises[i].file;
        ggs_json_object_inline(json, NULL);
        ggs_fields_members(json, fields, &proof->surprises[i]);
        ggs_json_string(
            json, "path",
            file == 0 || file > trace->n_files ? NULL : ggs_reader_string(trace->reader, trace->files[file - 1].path));
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

void ggs_proof_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_proof * proof) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_proof, page_size, "page_bytes"),
                                              GGS_FIELD(struct ggs_proof, runs, "runs"),
                                              GGS_FIELD(struct ggs_proof, incomplete, "incomplete_ops"),
                                              GGS_FIELD(struct ggs_proof, lost, "lost_ops"),
                                              {0}};
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, trace);
    ggs_fields_members(json, fields, proof);
    put_sum(json, &proof->total);
    ggs_json_array(json, "by_op");
    for (uint64_t i = 0; i < proof->n_by_op; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "op", proof->by_op[i].op);
        put_sum(json, &proof->by_op[i]);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    put_surprises(json, trace, proof);
    ggs_json_end(json);
}
