#include "answer/answer.h"

#define TOTAL(member, ...) GGS_FIELD(struct ggs_streamed_totals, member, #member, __VA_ARGS__)

static const struct ggs_field fields[] = {
    TOTAL(runs, "graph runs that were streamed"),
    TOTAL(run_ns, "of these"),
    TOTAL(uses, "weights that their ops used"),
    TOTAL(mapped, "of these, weights left to the mapping"),
    TOTAL(bytes_read, "from the disk, for ops that needed them"),
    TOTAL(bytes_early, "from the disk, for experts that were predicted"),
    TOTAL(hits, "experts that were in memory when they were chosen, counted for each of their weights"),
    TOTAL(misses, "experts that were not"),
    TOTAL(predicted, "experts that were read early"),
    TOTAL(predicted_used, "hits among these"),
    TOTAL(waits, "uses that waited for the disk"),
    TOTAL(wait_ns, "of these"),
    {0},
};
const struct ggs_object ggs_streamed_object = {.fields = fields, .lines = true};
