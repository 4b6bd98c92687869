#include "answer/answer.h"

#define SUM(member, key, ...) GGS_FIELD(struct ggs_proof_sum, member, key, __VA_ARGS__)

GGS_GET(double, recall_of, struct ggs_proof_sum, ggs_proof_recall(it))
GGS_GET(double, precision_of, struct ggs_proof_sum, ggs_proof_precision(it))

static const struct ggs_field sum_fields[] = {
    SUM(ops, "ops"),
    SUM(predicted, "pages_predicted"),
    SUM(touched, "pages_touched"),
    SUM(both, "pages_both"),
    GGS_REAL("recall", recall_of, "share of the pages touched that were predicted"),
    GGS_REAL("precision", precision_of, "share of the pages predicted that were touched"),
    {0},
};
static const struct ggs_object sum = {.name = "ProofSum", .fields = sum_fields};

static const struct ggs_field  op_fields[] = {SUM(op, "op"), GGS_MEMBERS_OF(&sum), {0}};
static const struct ggs_object op          = {.fields = op_fields};

#define AREA(member, key, ...)      GGS_FIELD(struct ggs_surprise, member, key, __VA_ARGS__)
#define AREA_NULL(member, key, ...) GGS_FIELD_OR_NULL(struct ggs_surprise, member, key, __VA_ARGS__)

GGS_GET_TEXT(path_of, struct ggs_surprise, ggs_answer_path(trace, it->file))

static const struct ggs_field area_fields[] = {
    AREA_NULL(token, "token"),
    AREA(run, "run"),
    AREA(node, "node"),
    AREA_NULL(op, "op"),
    AREA_NULL(tensor, "name", "result of the op"),
    AREA(file, "file", "files.file"),
    AREA(page, "page", "first page of the area"),
    AREA(pages, "pages"),
    GGS_TEXT_OR_NULL("path", path_of, "of the file"),
    {0},
};
static const struct ggs_object area = {.fields = area_fields};

GGS_NEXT(next_area) {
    const struct ggs_proof * proof = at;
    return *i < proof->n_surprises && *i < GGS_PROOF_SURPRISES ? &proof->surprises[(*i)++] : NULL;
}

#define COPY(member, key, ...) GGS_FIELD(struct ggs_proof_copies, member, key, __VA_ARGS__)

static const struct ggs_field copy_fields[] = {
    COPY(op, "op"),
    GGS_FIELD_OR_NULL(struct ggs_proof_copies, buffer_type, "buffer_type", "the engine's name: AMX, CPU_REPACK, CUDA0"),
    COPY(ops, "ops"),
    COPY(bytes, "bytes", "of these weights, read by all of them"),
    {0},
};
static const struct ggs_object copy = {.fields = copy_fields};

#define PROOF(member, key, ...) GGS_FIELD(struct ggs_proof, member, key, __VA_ARGS__)

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    PROOF(page_size, "page_bytes"),
    PROOF(runs, "runs", "graph runs that were looked at"),
    PROOF(incomplete, "incomplete_ops", "ops that touched more pages than could be recorded"),
    PROOF(lost, "lost_ops", "ops whose touched pages were lost"),
    GGS_MEMBERS(struct ggs_proof, total, &sum),
    GGS_ROWS(struct ggs_proof, by_op, n_by_op, "by_op", &op, "most pages touched first"),
    PROOF(surprise_pages, "unpredicted_pages"),
    PROOF(n_surprises, "unpredicted_areas"),
    GGS_EACH("unpredicted", next_area, &area, "areas that were touched but not predicted, 10000 at most"),
    PROOF(copied_ops, "ops_not_looked_at", "ops that read weights outside of mapped files: copies in buffers"),
    GGS_ROWS(struct ggs_proof, copies, n_copies, "not_looked_at", &copy,
             "the same by op and type of buffer, most bytes first"),
    {0},
};
const struct ggs_object ggs_proof_object = {
    .name   = "Proof",
    .text   = "Pages that ops touched against pages that the trace predicts, in a recording made with --prove.",
    .fields = fields,
    .lines  = true,
};
