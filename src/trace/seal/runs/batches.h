// A batch: the inputs of one decode, as in the spool.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/sequences.h"
#include "trace/spool.h"

struct ggs_seal_graph;

// Arrays of n; ggs_seal_batch_release frees them.
struct ggs_seal_batch {
    uint64_t  decode; // 0 if the call was not recorded
    bool      encode;
    bool      has_position, has_output; // the program set them
    bool      reads_known;              // reads of outputs are recorded
    uint64_t  n;
    uint64_t  dropped; // further tokens, which were not fed: the decode failed
    int64_t * token;
    int64_t * position;
    int64_t * sequence;
    uint8_t * output;
    // Tokens that belong to further sequences:
    uint64_t n_more;
    struct ggs_more {
        int64_t index, sequence;
    } * more;
};

// Reads the body of a GGS_JOURNAL_DECODE. Returns GGS_FORMAT if it is damaged, or GGS_MEMORY.
int  ggs_seal_batch_read(struct ggs_seal_batch * batch, struct ggs_journal_decode * decode, const void * body,
                         size_t length);
void ggs_seal_batch_release(struct ggs_seal_batch * batch);
// Positions that the program did not set continue from the sequence's last one; without outputs,
// the last token has one.
void ggs_seal_batch_complete(struct ggs_seal_batch * batch, struct ggs_sequences * sequences, uint64_t context);

// Of a decode that failed: only the first `kept` tokens were fed.
void ggs_seal_batch_cut(struct ggs_seal_batch * batch, uint64_t kept);

// If the decode was not recorded: reads tokens, positions and wanted outputs from the index data of
// a graph. False when out of memory.
bool ggs_seal_batch_learn(struct ggs_seal_batch * batch, const struct ggs_seal_graph * graph,
                          const struct ggs_index * index);
// Such a batch lacks sequences, which are not in the graph: a token that follows the previous one
// is of the same sequence, else of a new one.
void ggs_seal_batch_guess(struct ggs_seal_batch * batch, const struct ggs_seal_graph * graph);

// True if the k-th output, of that token, is the one of GGS_JOURNAL_OUTPUT_READ.
static inline bool ggs_seal_output_is(int64_t index, uint64_t token, uint64_t k, uint64_t outputs) {
    return index == INT32_MIN || index == (int64_t) token || index == (int64_t) k - (int64_t) outputs;
}

struct ggs_sequence_batch ggs_seal_batch_fed(const struct ggs_seal_batch * batch);

// Returns the next copy, from `*at` on, that makes a further sequence; false if there is none left.
// Copies of neighbours are merged.
bool ggs_seal_batch_copy(const struct ggs_seal_batch * batch, uint64_t * at, struct ggs_memory_change * change);
