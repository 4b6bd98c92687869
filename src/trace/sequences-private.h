// What the files behind trace/sequences.h share. Functions that return bool are false when out of
// memory.
#pragma once

#include "trace/sequences.h"

// Beyond these a trace is damaged: what more there is takes part in nothing.
enum { GGS_CONTEXTS_MAX = 1 << 16, GGS_SEQUENCES_MAX = 1 << 12 };
#define GGS_POSITION_MAX (INT64_C(1) << 40)

// ---- sequences ----

struct ggs_sequence * ggs_sequence_find(struct ggs_sequence_context * context, int64_t number);
// Made if it is new; NULL when out of memory, or if there are too many.
struct ggs_sequence * ggs_sequence_get(struct ggs_sequence_context * context, int64_t number);
// The VERIFY batch that waits, if one does. `kept`: of its tokens, from the first on; negative if
// that was not seen.
void ggs_sequence_settle(struct ggs_sequences * s, struct ggs_sequence * q, int64_t kept);
// The newest batch, which was taken for a prompt's, is VERIFY.
bool ggs_sequence_is_verify(struct ggs_sequences * s, struct ggs_sequence * q);
void ggs_sequence_end(struct ggs_sequences * s, struct ggs_sequence * q);

// ---- cells of a sequence, by position ----

int64_t  ggs_cells_last(const struct ggs_sequence * q); // position, -1 if it has none
uint64_t ggs_cells_between(const struct ggs_sequence * q, int64_t from, int64_t to);
// Is the sequence's last cell the other one's too?
bool ggs_cells_shared(const struct ggs_sequence * q, const struct ggs_sequence * other);
bool ggs_cells_remove(struct ggs_sequence * q, int64_t from, int64_t to);
bool ggs_cells_insert(struct ggs_sequence * q, struct ggs_cells cells);
// Takes [from, to) out and puts it back with other positions: `delta` added, or divided by it.
bool ggs_cells_move(struct ggs_sequence * q, int64_t from, int64_t to, int64_t delta, bool divide);
