// A batch: what one decode feeds, as the spool has it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/sequences.h"
#include "trace/spool.h"

struct ggs_seal_graph;

// Arrays of n; ggs_seal_batch_release frees them.
struct ggs_seal_batch {
    uint64_t  decode; // 0 if the call was not seen
    bool      encode;
    bool      has_position, has_output; // they were given
    bool      reads_known;              // outputs that are read are told
    uint64_t  n;
    int64_t * token;
    int64_t * position;
    int64_t * sequence;
    uint8_t * output;
    // tokens that belong to further sequences
    uint64_t n_more;
    struct ggs_more {
        int64_t index, sequence;
    } * more;
};

// Fills the batch from the body of a GGS_JOURNAL_DECODE. GGS_FORMAT if that is damaged, GGS_MEMORY.
int  ggs_seal_batch_read(struct ggs_seal_batch * batch, struct ggs_journal_decode * decode, const void * body,
                         size_t length);
void ggs_seal_batch_release(struct ggs_seal_batch * batch);
// Positions that were not given go on from the sequence's last one; outputs that were not given
// mean the last token.
void ggs_seal_batch_complete(struct ggs_seal_batch * batch, struct ggs_sequences * sequences, uint64_t context);

// If the decode was not seen: takes tokens, positions and wanted outputs from the index data of a
// graph. False when out of memory.
bool ggs_seal_batch_learn(struct ggs_seal_batch * batch, const struct ggs_seal_graph * graph,
                          const struct ggs_index * index);
// Such a batch lacks sequences, which are not in the graph: a token that follows the one before it
// is of the same sequence, else of a new one.
void ggs_seal_batch_guess(struct ggs_seal_batch * batch, const struct ggs_seal_graph * graph);

// Is the k-th output, of that token, the one that GGS_JOURNAL_OUTPUT_READ has?
static inline bool ggs_seal_output_is(int64_t index, uint64_t token, uint64_t k, uint64_t outputs) {
    return index == INT32_MIN || index == (int64_t) token || index == (int64_t) k - (int64_t) outputs;
}

struct ggs_sequence_batch ggs_seal_batch_fed(const struct ggs_seal_batch * batch);

// The next of the copies that further sequences are, of `*at` on; false if there is none left.
// Copies of neighbours are one.
bool ggs_seal_batch_copy(const struct ggs_seal_batch * batch, uint64_t * at, struct ggs_memory_change * change);
