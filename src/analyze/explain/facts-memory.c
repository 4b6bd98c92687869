// Facts about where weights lie: their pages, their copies into another layout.
#include <string.h>

#include "analyze/explain/facts.h"
#include "analyze/walk/times.h"

// ---- pages ----

static uint64_t number(struct ggs_json_value object, const char * key) {
    uint64_t value = 0;
    ggs_json_to_u64(ggs_json_member(object, key), &value);
    return value;
}

// Bytes of [start, start + bytes) that are weights in host memory. `copied`: only those outside of
// mapped files.
static uint64_t weights_in(const struct ggs_trace * trace, uint64_t start, uint64_t bytes, bool copied) {
    uint64_t covered = 0;
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        const struct ggs_buffer * b = &trace->buffers[i];
        if (b->class_ != GGS_CLASS_WEIGHTS || b->device != 0 || (copied && b->file != 0)) continue;
        uint64_t from = b->address > start ? b->address : start;
        uint64_t to   = b->address + b->size < start + bytes ? b->address + b->size : start + bytes;
        if (to <= from) continue;
        covered += to - from;
    }
    return covered < bytes ? covered : bytes;
}

static uint64_t part_of(uint64_t bytes, double share) {
    return (uint64_t) ((double) bytes * share);
}

static void add_mapping(struct ggs_pages_facts * pages, const struct ggs_trace * trace, struct ggs_json_value mapping) {
    struct ggs_json_value node = {0}, nodes = ggs_json_member(mapping, "node_bytes");
    uint64_t              start = number(mapping, "start"), bytes = number(mapping, "bytes"), on_node;
    uint64_t              resident = number(mapping, "resident_bytes"), huge = number(mapping, "huge_bytes");
    uint64_t              weights = weights_in(trace, start, bytes, false);
    uint64_t              copied  = weights_in(trace, start, bytes, true);
    // Neighbouring allocations are one mapping. Weights were all written or read once.
    double share    = resident == 0 ? 0 : weights < resident ? (double) weights / (double) resident : 1;
    pages->recorded = true;
    pages->resident += resident;
    pages->swapped += number(mapping, "swapped_bytes");
    pages->weights += part_of(resident, share);
    if (copied > resident) copied = resident;
    pages->copied += copied;
    pages->copied_small += huge < resident ? part_of(copied, 1 - (double) huge / (double) resident) : 0;
    for (unsigned i = 0; i < GGS_EXPLAIN_NODES && ggs_json_next(nodes, &node); i++) {
        if (ggs_json_to_u64(node, &on_node)) pages->node[i] += part_of(on_node, share);
        if (i >= pages->nodes) pages->nodes = i + 1;
    }
}

static void add_pages(struct ggs_explain_facts * facts, struct ggs_trace * trace) {
    const char *          text       = ggs_reader_experiment(trace->reader);
    struct ggs_json_value conditions = ggs_json_member(ggs_json_read(text, strlen(text)), "conditions");
    struct ggs_json_value memory = ggs_json_member(conditions, "memory"), mapping = {0};
    struct ggs_json_value list   = ggs_json_member(memory, "mappings");
    char *                choice = facts->pages.huge_pages;
    ggs_json_to_buffer(ggs_json_member(memory, "huge_pages"), choice, sizeof(facts->pages.huge_pages));
    while (ggs_json_next(list, &mapping)) add_mapping(&facts->pages, trace, mapping);
}

// ---- copies ----

static bool is_repacked(struct ggs_trace * trace, uint64_t buffer) {
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        if (trace->buffers[i].buffer != buffer) continue;
        const char * type = ggs_reader_string(trace->reader, trace->buffers[i].type);
        return strstr(type, "REPACK") != NULL || strcmp(type, "AMX") == 0;
    }
    return false;
}

static int add_copies(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_transfer row;
    int                 more, status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_TRANSFERS, error);
    if (status < 0) return status;
    while ((more = ggs_cursor_next(cursor, &row, error)) > 0) {
        if (row.kind != GGS_TRANSFER_SET || row.to_buffer == 0 || !is_repacked(trace, row.to_buffer)) continue;
        facts->repack_ns += row.duration_ns;
        facts->repack_bytes += row.bytes;
    }
    ggs_cursor_close(cursor);
    return more;
}

int ggs_explain_facts_memory(struct ggs_explain_facts * facts, struct ggs_trace * trace, struct ggs_error * error) {
    add_pages(facts, trace);
    return add_copies(facts, trace, error);
}
