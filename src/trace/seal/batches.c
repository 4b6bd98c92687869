#include "trace/seal/batches.h"

#include <stdlib.h>
#include <string.h>

void ggs_batch_release(struct ggs_batch * batch) {
    free(batch->token);
    free(batch->position);
    free(batch->sequence);
    free(batch->output);
    free(batch->more);
    *batch = (struct ggs_batch){0};
}

int ggs_batch_read(struct ggs_batch * batch, struct ggs_journal_decode * decode, const void * body, size_t length) {
    const uint8_t * arrays = (const uint8_t *) body + sizeof(*decode);
    *batch                 = (struct ggs_batch){0};
    if (length < sizeof(*decode)) return GGS_FORMAT;
    memcpy(decode, body, sizeof(*decode));
    length -= sizeof(*decode);
    uint64_t n = decode->tokens, more = decode->more;
    if (13 * n + 8 * more > length) return GGS_FORMAT;
    *batch = (struct ggs_batch){.decode       = decode->decode,
                                .encode       = decode->encode != 0,
                                .has_position = (decode->has & 2) != 0,
                                .has_output   = (decode->has & 8) != 0,
                                .n            = n,
                                .token        = calloc(n + 1, sizeof(int64_t)),
                                .position     = calloc(n + 1, sizeof(int64_t)),
                                .sequence     = calloc(n + 1, sizeof(int64_t)),
                                .output       = calloc(n + 1, 1),
                                .n_more       = more,
                                .more         = calloc(more + 1, sizeof(*batch->more))};
    if (batch->token == NULL || batch->position == NULL || batch->sequence == NULL || batch->output == NULL ||
        batch->more == NULL) {
        ggs_batch_release(batch);
        return GGS_MEMORY;
    }
    for (uint64_t i = 0; i < n; i++) {
        int32_t value[3];
        for (unsigned k = 0; k < 3; k++) memcpy(&value[k], arrays + 4 * (k * n + i), 4);
        batch->token[i]    = decode->has & 1 ? value[0] : -1;
        batch->position[i] = value[1];
        batch->sequence[i] = value[2];
        batch->output[i]   = arrays[12 * n + i] != 0;
    }
    for (uint64_t i = 0; i < more; i++) {
        int32_t pair[2];
        memcpy(pair, arrays + 13 * n + 8 * i, 8);
        if (pair[0] < 0 || (uint64_t) pair[0] >= n) {
            ggs_batch_release(batch);
            return GGS_FORMAT;
        }
        batch->more[i] = (struct ggs_more){pair[0], pair[1]};
    }
    return 0;
}

void ggs_batch_complete(struct ggs_batch * batch, struct ggs_sequences * sequences, uint64_t context) {
    if (!batch->has_output && batch->n > 0) batch->output[batch->n - 1] = 1;
    for (uint64_t i = 0; !batch->has_position && i < batch->n; i++) {
        uint64_t before = i; // the token before it in its sequence, mostly its neighbour
        while (before > 0 && batch->sequence[before - 1] != batch->sequence[i]) before--;
        batch->position[i] = before > 0      ? batch->position[before - 1] + 1
                             : batch->encode ? 0
                                             : ggs_sequences_last(sequences, context, batch->sequence[i]) + 1;
    }
    batch->has_position = batch->has_output = true;
}

struct ggs_sequence_batch ggs_batch_fed(const struct ggs_batch * batch) {
    return (struct ggs_sequence_batch){.decode   = batch->decode,
                                       .step     = -1,
                                       .encode   = batch->encode,
                                       .n        = batch->n,
                                       .token    = batch->token,
                                       .position = batch->position,
                                       .sequence = batch->sequence,
                                       .output   = batch->output};
}

// Pairs come by token; those of one further sequence become ranges.
bool ggs_batch_copy(const struct ggs_batch * batch, uint64_t * at, struct ggs_memory_change * change) {
    for (; *at < batch->n_more; ++*at) {
        const struct ggs_more * first = &batch->more[*at];
        if (first->sequence < 0) continue; // part of a range already
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
