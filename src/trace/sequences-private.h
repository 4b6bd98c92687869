// Shared by the files of trace/sequences.h. Functions that return bool are false when out of
// memory.
#pragma once

#include "trace/sequences.h"

// More than these is damage and ignored.
enum { GGS_CONTEXTS_MAX = 1 << 16, GGS_SEQUENCES_MAX = 1 << 12 };
#define GGS_POSITION_MAX (INT64_C(1) << 40)

// ---- sequences ----

struct ggs_sequence * ggs_sequence_find(struct ggs_sequence_context * context, int64_t number);
// Makes a new one if necessary; NULL when out of memory, or if there are too many.
struct ggs_sequence * ggs_sequence_get(struct ggs_sequence_context * context, int64_t number);
// Settles the pending VERIFY batch, if there is one. `kept`: tokens that stay, from the first on;
// negative if unknown.
void ggs_sequence_settle(struct ggs_sequences * s, struct ggs_sequence * q, int64_t kept);
// Reclassifies the newest batch, which counted as a prompt, as VERIFY.
bool ggs_sequence_is_verify(struct ggs_sequences * s, struct ggs_sequence * q);
void ggs_sequence_end(struct ggs_sequences * s, struct ggs_sequence * q);

// ---- cells of a sequence, by position ----

int64_t  ggs_cells_last(const struct ggs_sequence * q); // position, -1 if it has none
uint64_t ggs_cells_between(const struct ggs_sequence * q, int64_t from, int64_t to);
// True if the other sequence shares this one's last cell.
bool ggs_cells_shared(const struct ggs_sequence * q, const struct ggs_sequence * other);
bool ggs_cells_remove(struct ggs_sequence * q, int64_t from, int64_t to);
bool ggs_cells_insert(struct ggs_sequence * q, struct ggs_cells cells);
// Removes [from, to) and adds it with other positions: `delta` added, or divided by it.
bool ggs_cells_move(struct ggs_sequence * q, int64_t from, int64_t to, int64_t delta, bool divide);
