// Writes spools as the capture library does (src/trace/spool.h), for tests of sealing.
//
//     struct spool_fixture f;
//     fixture_open(&f, "/some/empty/folder");
//     fixture_process(&f);
//     uint64_t graph = ...
//     fixture_close(&f);
//
// Failures of the operating system end the test program.
#pragma once

#include <stdint.h>

#include "trace/spool-reader.h"

enum { FIXTURE_LANES = 16, FIXTURE_SEGMENT = 64 << 10 };

struct fixture_stream {
    uint8_t * data; // of the open segment
    uint64_t  used, size;
    uint32_t  sequence;
};

struct spool_fixture {
    char                  directory[4096];
    struct fixture_stream journal;
    struct fixture_stream lanes[FIXTURE_LANES];
    uint32_t              slots[FIXTURE_LANES], threads[FIXTURE_LANES];
    uint64_t              ticks;   // the time now; ticks are TICKS_PER_NS / 1 per ns
    uint64_t              segment; // size of segments
};

// Ticks and CLOCK_MONOTONIC of the fixture: 3 ticks per ns, tick 3000000 at 5 s.
enum { FIXTURE_TICKS_PER_NS = 3 };
#define FIXTURE_FIRST_TICK 3000000ull
#define FIXTURE_FIRST_NS   5000000000ull
uint64_t fixture_ns(const struct spool_fixture * f); // CLOCK_MONOTONIC now
// Lets time pass.
void fixture_advance(struct spool_fixture * f, uint64_t ns);

void fixture_open(struct spool_fixture * f, const char * directory); // makes the folder
void fixture_close(struct spool_fixture * f);

// A journal record: a fixed part and a text, either of which may be NULL.
void fixture_record(struct spool_fixture * f, uint32_t type, const void * body, uint64_t bytes, const char * text);
void fixture_numbers(struct spool_fixture * f, uint32_t type, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                     const char * text);
void fixture_process(struct spool_fixture * f); // process, ops and types
void fixture_graph(struct spool_fixture * f, uint64_t id, uint32_t nodes, uint32_t tensors,
                   const struct ggs_journal_tensor * list, const char * const * names);
void fixture_run(struct spool_fixture * f, uint64_t run, uint64_t graph, uint64_t decode, uint32_t threads,
                 uint32_t slot);
void fixture_run_end(struct spool_fixture * f, uint64_t run);
// n tokens at consecutive positions of one sequence; an output for the last one where `output`.
void fixture_decode(struct spool_fixture * f, uint64_t decode, uint64_t context, uint32_t n, const int32_t * tokens,
                    int32_t position, int32_t sequence, int output);
void fixture_decode_end(struct spool_fixture * f, uint64_t decode, int32_t status);

// Lane units. Lanes are numbered 0..; each belongs to (slot, thread).
void fixture_lane(struct spool_fixture * f, uint32_t lane, uint32_t slot, uint32_t thread);
void fixture_op(struct spool_fixture * f, uint32_t lane, const struct ggs_unit * op);
void fixture_thread(struct spool_fixture * f, uint32_t lane, uint32_t os_thread);
void fixture_index(struct spool_fixture * f, uint32_t lane, const struct ggs_spool_index * index, const void * payload);
// To a lane whose thread is GGS_SPOOL_VALUES.
void fixture_values(struct spool_fixture * f, uint32_t lane, uint32_t run, uint32_t node, uint64_t elements,
                    const struct ggs_spool_value * rows, uint32_t n_rows);

// Op numbers that fixture_process names.
enum { OP_NONE, OP_ADD, OP_MUL_MAT, OP_GET_ROWS, OP_ROPE, OP_VIEW, OP_RESHAPE, OP_RMS_NORM, OP_MUL, OP_SET_ROWS };
// A tensor with that op and no sources: fill in the rest.
struct ggs_journal_tensor fixture_tensor(int32_t op, int64_t ne0, int64_t ne1);
