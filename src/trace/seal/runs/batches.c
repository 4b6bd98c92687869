#include "trace/seal/runs/batches.h"

#include <stdlib.h>
#include <string.h>

#include "trace/seal/runs/graphs.h"
#include "trace/spool-reader.h"

void ggs_seal_batch_release(struct ggs_seal_batch * batch) {
    free(batch->token);
    free(batch->position);
    free(batch->sequence);
    free(batch->output);
    free(batch->more);
    *batch = (struct ggs_seal_batch){0};
}

static bool make_arrays(struct ggs_seal_batch * batch, uint64_t n, uint64_t more) {
    *batch    = (struct ggs_seal_batch){.n        = n,
                                        .token    = calloc(n + 1, sizeof(*batch->token)),
                                        .position = calloc(n + 1, sizeof(*batch->position)),
                                        .sequence = calloc(n + 1, sizeof(*batch->sequence)),
                                        .output   = calloc(n + 1, sizeof(*batch->output)),
                                        .n_more   = more,
                                        .more     = calloc(more + 1, sizeof(*batch->more))};
    bool made = batch->token != NULL && batch->position != NULL && batch->sequence != NULL && batch->output != NULL &&
                batch->more != NULL;
    if (!made) ggs_seal_batch_release(batch);
    return made;
}

int ggs_seal_batch_read(struct ggs_seal_batch * batch, struct ggs_journal_decode * decode, const void * body,
                        size_t length) {
    struct ggs_decode_arrays arrays;
    *batch = (struct ggs_seal_batch){0};
    if (!ggs_decode_arrays(&arrays, body, length)) return GGS_FORMAT;
    *decode    = *arrays.head;
    uint64_t n = decode->tokens, more = decode->more;
    if (!make_arrays(batch, n, more)) return GGS_MEMORY;
    batch->decode       = decode->decode;
    batch->encode       = decode->encode != 0;
    batch->has_position = (decode->has & GGS_DECODE_HAS_POSITIONS) != 0;
    batch->has_output   = (decode->has & GGS_DECODE_HAS_OUTPUTS) != 0;
    batch->reads_known  = (decode->has & GGS_DECODE_READS_RECORDED) != 0;
    for (uint64_t i = 0; i < n; i++) {
        batch->token[i]    = decode->has & GGS_DECODE_HAS_TOKENS ? arrays.tokens[i] : -1;
        batch->position[i] = arrays.positions[i];
        batch->sequence[i] = arrays.sequences[i];
        batch->output[i]   = arrays.outputs[i] != 0;
    }
    for (uint64_t i = 0; i < more; i++) {
        int32_t pair[2];
        memcpy(pair, arrays.more + i * sizeof(pair), sizeof(pair));
        if (pair[0] < 0 || (uint64_t) pair[0] >= n) {
            ggs_seal_batch_release(batch);
            return GGS_FORMAT;
        }
        batch->more[i] = (struct ggs_more){pair[0], pair[1]};
    }
    return 0;
}

void ggs_seal_batch_complete(struct ggs_seal_batch * batch, struct ggs_sequences * sequences, uint64_t context) {
    if (!batch->has_output && batch->n > 0) batch->output[batch->n - 1] = 1;
    for (uint64_t i = 0; !batch->has_position && i < batch->n; i++) {
        uint64_t before = i; // the previous token of its sequence, mostly its neighbour
        while (before > 0 && batch->sequence[before - 1] != batch->sequence[i]) before--;
        batch->position[i] = before > 0      ? batch->position[before - 1] + 1
                             : batch->encode ? 0
                                             : ggs_sequences_last(sequences, context, batch->sequence[i]) + 1;
    }
    batch->has_position = batch->has_output = true;
}

void ggs_seal_batch_cut(struct ggs_seal_batch * batch, uint64_t kept) {
    if (kept >= batch->n) return;
    batch->dropped = batch->n - kept;
    batch->n       = kept;
    uint64_t n     = 0;
    for (uint64_t i = 0; i < batch->n_more; i++)
        if (batch->more[i].index < (int64_t) kept) batch->more[n++] = batch->more[i];
    batch->n_more = n;
}

static int64_t element(const uint8_t * data, uint64_t width, uint64_t i) {
    int32_t narrow;
    int64_t wide;
    if (width == 8) {
        memcpy(&wide, data + 8 * i, 8);
        return wide;
    }
    memcpy(&narrow, data + 4 * i, 4);
    return narrow;
}

bool ggs_seal_batch_learn(struct ggs_seal_batch * batch, const struct ggs_seal_graph * graph,
                          const struct ggs_index * index) {
    if (index->width != 4 && index->width != 8) return true;
    uint64_t n    = index->length / index->width;
    int64_t  node = (int64_t) index->node;
    if (batch->token == NULL && node == graph->tokens.node && index->slot == graph->tokens.slot && n > 0) {
        if (!make_arrays(batch, n, 0)) return false;
        for (uint64_t i = 0; i < n; i++) batch->token[i] = element(index->data, index->width, i);
        for (uint64_t i = 0; i < n; i++) batch->position[i] = (int64_t) i;
    } else if (node == graph->positions.node && index->slot == graph->positions.slot) {
        // Some models have several positions per token; the first positions of all tokens come
        // first.
        for (uint64_t i = 0; i < n && i < batch->n; i++) batch->position[i] = element(index->data, index->width, i);
    }
    if (node == graph->outputs.node && index->slot == graph->outputs.slot) {
        for (uint64_t i = 0; i < n; i++) {
            int64_t which = element(index->data, index->width, i);
            if (which >= 0 && (uint64_t) which < batch->n) batch->output[which] = 1;
        }
    }
    return true;
}

void ggs_seal_batch_guess(struct ggs_seal_batch * batch, const struct ggs_seal_graph * graph) {
    for (uint64_t i = 1; i < batch->n; i++)
        batch->sequence[i] = batch->sequence[i - 1] + (batch->position[i] == batch->position[i - 1] + 1 ? 0 : 1);
    if (batch->n > 0 && graph->outputs.node < 0) memset(batch->output, 1, batch->n);
}

struct ggs_sequence_batch ggs_seal_batch_fed(const struct ggs_seal_batch * batch) {
    return (struct ggs_sequence_batch){.decode      = batch->decode,
                                       .step        = -1,
                                       .encode      = batch->encode,
                                       .reads_known = batch->reads_known,
                                       .n           = batch->n,
                                       .token       = batch->token,
                                       .position    = batch->position,
                                       .sequence    = batch->sequence,
                                       .output      = batch->output};
}

// Pairs are sorted by token; those of one further sequence become ranges.
bool ggs_seal_batch_copy(const struct ggs_seal_batch * batch, uint64_t * at, struct ggs_memory_change * change) {
    for (; *at < batch->n_more; ++*at) {
        const struct ggs_more * first = &batch->more[*at];
        if (first->sequence < 0) continue; // part of a range
        *change       = (struct ggs_memory_change){.decode   = batch->decode,
                                                   .kind     = GGS_MEMORY_COPY,
                                                   .sequence = batch->sequence[first->index],
                                                   .other    = first->sequence,
                                                   .from     = batch->position[first->index],
                                                   .to       = batch->position[first->index] + 1};
        int64_t index = first->index;
        for (uint64_t i = *at + 1; i < batch->n_more; i++) {
            struct ggs_more * next = &batch->more[i];
            if (next->sequence != change->other) continue;
            if (next->index != index + 1 || batch->sequence[next->index] != change->sequence ||
                batch->position[next->index] != change->to)
                break;
            index          = next->index;
            next->sequence = -1;
            change->to++;
        }
        ++*at;
        return true;
    }
    return false;
}
