// Translates a row's words for a joined trace. A column's name means the same in every table, so
// names decide.
#include <string.h>

#include "base/search.h"
#include "trace/join/merge.h"
#include "trace/seal/runs/lods.h"

enum meaning {
    PLAIN,
    STRING,
    TIME,
    SPAN,
    RUN,
    GRAPH,
    TENSOR,
    BUFFER,
    FILE_,
    LOAD,
    SCHEDULE,
    DECODE,
    STEP,
    CONTEXT,
    TARGET,
    DEVICE,
    SLOT,
    LANE,
    OP,
    TYPE,
    PROCESS,
    UNSET,
};

static enum meaning by_name(enum ggs_trace_table table, const struct ggs_column * column) {
    static const struct {
        const char * name;
        enum meaning meaning;
    } names[] = {
        {"run", RUN},
        {"first_run", RUN},
        {"last_run", RUN},
        {"longest_run", RUN},
        {"graph", GRAPH},
        {"base", GRAPH},
        {"tensor", TENSOR},
        {"view", TENSOR},
        {"buffer", BUFFER},
        {"from_buffer", BUFFER},
        {"to_buffer", BUFFER},
        {"file", FILE_},
        {"origin_file", FILE_},
        {"load", LOAD},
        {"schedule", SCHEDULE},
        {"decode", DECODE},
        {"step", STEP},
        {"context", CONTEXT},
        {"target", TARGET},
        {"device", DEVICE},
        {"slot", SLOT},
        {"lane", LANE},
        {"op", OP},
        {"type", TYPE},
        {"process", PROCESS},
    };
    if (column->type == GGS_COLUMN_STRING) return STRING;
    if (column->type == GGS_COLUMN_TIME) return TIME;
    if (column->type == GGS_COLUMN_SPAN) return SPAN;
    // Exceptions: in these tables the name has another meaning (a disk, a kind of device, a source
    // of a node, a stream of the spool, counts of a graph).
    if (table == GGS_TABLE_BLOCK_REQUESTS && strcmp(column->name, "device") == 0) return PLAIN;
    if (table == GGS_TABLE_DEVICES && strcmp(column->name, "type") == 0) return PLAIN;
    if ((table == GGS_TABLE_EDGES || table == GGS_TABLE_INDEX) && strcmp(column->name, "slot") == 0) return PLAIN;
    if (table == GGS_TABLE_LOSSES && strcmp(column->name, "lane") == 0) return PLAIN;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(column->name, names[i].name) == 0) return names[i].meaning;
    return PLAIN;
}

static const uint8_t * meanings_of(enum ggs_trace_table table) {
    static uint8_t            known[GGS_TABLE_COUNT][GGS_COLUMNS_MAX];
    const struct ggs_schema * schema = ggs_trace_schema(table);
    if (known[table][GGS_COLUMNS_MAX - 1] == UNSET) return known[table];
    for (uint32_t i = 0; i < schema->n_columns; i++) known[table][i] = (uint8_t) by_name(table, &schema->columns[i]);
    known[table][GGS_COLUMNS_MAX - 1] = UNSET; // no table has so many
    return known[table];
}

// ---- numbers ----

uint64_t ggs_join_string(struct ggs_join_part * part, uint64_t string) {
    if (string == 0 || string >= part->n_strings) return 0;
    if (part->strings[string] == 0) {
        uint64_t     length   = 0;
        const void * bytes    = ggs_reader_bytes(part->reader, string, &length);
        part->strings[string] = bytes == NULL ? 0 : ggs_writer_string(part->writer, bytes, length);
    }
    return part->strings[string];
}

uint64_t ggs_join_run_number(const struct ggs_join_part * part, uint64_t run) {
    const struct ggs_join_run * known = run == 0 ? NULL : ggs_join_side_find(part->side, run);
    return known == NULL ? 0 : known->number;
}

int64_t ggs_join_step_number(const struct ggs_join_part * part, int64_t step) {
    uint64_t i = ggs_search(part->n_steps, at, part->steps[at].old < step);
    return step >= 0 && i < part->n_steps && part->steps[i].old == step ? part->steps[i].number : -1;
}

static uint64_t listed(const uint64_t * list, uint64_t n, uint64_t number) {
    return number < n ? list[number] : 0;
}

static uint64_t moved(uint64_t base, uint64_t number) {
    return number == 0 ? 0 : base + number;
}

static int64_t slot_number(const struct ggs_join_part * part, int64_t slot) {
    if (slot < 0) return slot;
    return slot + (slot >= GGS_DEVICE_SLOT ? (int64_t) part->device : part->slot);
}

static uint64_t number(struct ggs_join_part * part, enum meaning meaning, uint64_t word) {
    switch (meaning) {
        case STRING:
            return ggs_join_string(part, word);
        case RUN:
            return ggs_join_run_number(part, word);
        case GRAPH:
            return moved(part->graph, word);
        case TENSOR:
            return moved(part->tensor, word);
        case BUFFER:
            return moved(part->buffer, word);
        case FILE_:
            return listed(part->files, part->n_files, word);
        case LOAD:
            return moved(part->load, word);
        case SCHEDULE:
            return moved(part->schedule, word);
        case DECODE:
            return moved(part->decode, word);
        case STEP:
            return (uint64_t) ggs_join_step_number(part, (int64_t) word);
        case CONTEXT:
            return (int64_t) word < 0 ? word : part->context + word;
        case TARGET:
            return moved(part->context, word);
        case DEVICE:
            return moved(part->device, word);
        case SLOT:
            return (uint64_t) slot_number(part, (int64_t) word);
        case LANE:
            return moved(part->lane, word);
        case OP:
            return listed(part->ops, part->n_ops, word);
        case TYPE:
            return listed(part->types, part->n_types, word);
        case PROCESS:
            return moved(part->process, word);
        default:
            return word;
    }
}

// ---- times ----

// Begins and ends are converted, and durations follow from them, so nested spans stay nested.
static void move_times(const struct ggs_join_part * part, const struct ggs_schema * schema, const uint8_t * meanings,
                       uint64_t * words) {
    const struct ggs_clock_line * line  = &part->source->line;
    int                           begin = ggs_schema_role(schema, GGS_ROLE_BEGIN);
    int64_t                       at    = begin < 0 ? 0 : (int64_t) words[begin];
    for (uint32_t i = 0; i < schema->n_columns; i++) {
        if (meanings[i] != TIME || (int64_t) words[i] < 0) continue;
        words[i] = (uint64_t) ggs_clock_line_map(line, (int64_t) words[i]);
    }
    if (line->drift_ppb == 0 || begin < 0) return;
    for (uint32_t i = 0; i < schema->n_columns; i++) { // in the order of columns
        if (schema->columns[i].role != GGS_ROLE_DURATION && schema->columns[i].role != GGS_ROLE_WAIT) continue;
        if (words[i] > INT64_MAX / 4) continue;
        int64_t after = at + (int64_t) words[i];
        words[i]      = (uint64_t) (ggs_clock_line_map(line, after) - ggs_clock_line_map(line, at));
        at            = after;
    }
}

void ggs_join_translate(struct ggs_join_part * part, enum ggs_trace_table table, void * row) {
    const struct ggs_schema * schema   = ggs_trace_schema(table);
    const uint8_t *           meanings = meanings_of(table);
    uint64_t *                words    = row;
    int                       process  = ggs_schema_role(schema, GGS_ROLE_PROCESS);
    move_times(part, schema, meanings, words);
    for (uint32_t i = 0; i < schema->n_columns; i++)
        if (meanings[i] != PLAIN && meanings[i] != TIME && meanings[i] != SPAN)
            words[i] = number(part, (enum meaning) meanings[i], words[i]);
    // The writer fills this column by itself.
    if (process >= 0) part->writer->process = words[process] == 0 ? part->process + 1 : words[process];
}
