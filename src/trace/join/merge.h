// A recording that is being joined: how its numbers, strings and times are translated.
#pragma once

#include "trace/join/join.h"
#include "trace/writer.h"

struct ggs_join_step {
    int64_t old, number; // in the recording and the joined trace (-1: left out)
};

// The origin of a server's tensor: a place in a file of its client's model.
struct ggs_join_origin {
    uint64_t file, offset; // of the joined trace; file 0 for none
};

struct ggs_join_part {
    const struct ggs_join *        join;
    const struct ggs_join_source * source;
    struct ggs_join_side *         side;
    struct ggs_reader *            reader;
    struct ggs_writer *            writer;
    // Offsets that are added to numbers:
    uint64_t process, graph, tensor, buffer, load, schedule, decode, context, device, lane;
    int64_t  slot;
    // Lists by which numbers are replaced:
    uint64_t *               strings; // 0 until first used
    uint64_t *               files;   // by number
    uint64_t *               ops;
    uint64_t *               types;
    uint64_t                 n_strings, n_files, n_ops, n_types;
    struct ggs_join_step *   steps; // by their old numbers
    uint64_t                 n_steps, steps_capacity;
    struct ggs_join_origin * origins; // by tensor - 1; NULL unless it is a server
    uint64_t                 n_tensors;
    uint64_t *               peers; // by buffer: process that has the memory, 0 for its own
    uint64_t                 n_peers;
};

void ggs_join_part_release(struct ggs_join_part * part);

// The number in the joined trace; 0 for none.
uint64_t ggs_join_string(struct ggs_join_part * part, uint64_t string);
uint64_t ggs_join_run_number(const struct ggs_join_part * part, uint64_t run);
int64_t  ggs_join_step_number(const struct ggs_join_part * part, int64_t step);

// Translates all words of a row of the table into those of the joined trace.
void ggs_join_translate(struct ggs_join_part * part, enum ggs_trace_table table, void * row);

// Numbers the parts' rows, and writes the tables that are not ordered by time.
int ggs_join_number(struct ggs_join_part * parts, uint32_t n, struct ggs_error * error);
// Finds where the weights of servers come from, and which process has a client's remote buffers.
int ggs_join_origins(struct ggs_join_part * parts, uint32_t n, struct ggs_error * error);
