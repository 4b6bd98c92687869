// What the tests of sealing and of reading share: a scratch folder, a small model's graph, and
// seal-then-open in one call.
#pragma once

#include <stdbool.h>

#include "spool-fixture.h"
#include "trace/reader.h"
#include "trace/seal/seal.h"

// A new empty folder below the system's temporary one; removed by scratch_remove with all that is
// in it.
char * scratch_make(void);
void   scratch_remove(char * folder);
char * scratch_path(const char * folder, const char * name); // to be freed

// The graph of a tiny model: node 0 GET_ROWS(token_embd.weight, inp_tokens), node 1 RMS_NORM, node
// 2 MUL (absorbed), node 3 MUL_MAT, node 4 RESHAPE (empty), node 5 ROPE(.., inp_pos), node 6
// GET_ROWS(.., out_ids).
enum { TINY_NODES = 7, TINY_TENSORS = 12 };
extern const char * const tiny_names[TINY_TENSORS];
void                      tiny_graph(struct spool_fixture * f, uint64_t id);
// The same as some builds of the engine leave it: inputs are marked, but have no names of their
// own.
void tiny_graph_unnamed(struct spool_fixture * f, uint64_t id);

// A run of it on `threads` threads of a slot (lanes slot * 4 + thread), with units for all nodes
// that are computed. Index data as given, 0 tokens for none.
void tiny_run(struct spool_fixture * f, uint64_t run, uint64_t graph, uint64_t decode, uint32_t threads, uint32_t slot,
              uint32_t n_tokens, const int32_t * tokens, int32_t position);
void tiny_ops(struct spool_fixture * f, uint32_t run, uint32_t threads, uint32_t slot, uint32_t n_tokens,
              const int32_t * tokens, int32_t position, uint32_t nodes);

// Closes the fixture, seals FOLDER/spool to FOLDER/trace.ggs and opens that. Failures end the test.
struct ggs_reader * seal_and_open(struct spool_fixture * f, const char * folder,
                                  const struct ggs_seal_options * options, struct ggs_seal_result * result);
// All rows of a table into an array that the caller frees.
void * read_all(struct ggs_reader * reader, enum ggs_trace_table table, size_t element, size_t * n);
