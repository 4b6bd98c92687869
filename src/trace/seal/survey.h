// What the journal tells of decodes only later: which were warm-ups, whose embeddings were taken,
// which check drafts, whose outputs are read, and which contexts draft for others. Records go in
// one by one, so a recording can be looked at while it is made.
#pragma once

#include "base/map.h"
#include "trace/seal/runs/batches.h"
#include "trace/sequences.h"
#include "trace/spool-reader.h"

// A context that drafts for another one, by their addresses.
struct ggs_draft {
    uint64_t context, target;
};

struct ggs_survey {
    struct ggs_sequences sequences;  // contexts by their addresses
    struct ggs_map       warmups;    // decodes that warm up
    struct ggs_map       embeddings; // whose embeddings were taken
    struct ggs_map       verifies;   // that check drafted tokens together with a prompt's last token
    struct ggs_map       readers;    // first decodes of contexts of which outputs are read
    struct ggs_draft *   drafts;     // when it is over
    size_t               n_drafts, drafts_capacity;
    uint64_t
        decode; // that the newest record made part of the sequences, 0 if it made none: `sequences.parts` are of it
    struct ggs_life *    lives; // private, as the rest
    size_t               n_lives, lives_capacity;
    struct ggs_pending * pending;
    size_t               n_pending, pending_capacity;
};

// A zeroed struct is ready, but for `sequences.gaps`. False when out of memory.
bool ggs_survey_add(struct ggs_survey * survey, const struct ggs_record * record);
// All records were taken.
bool ggs_survey_finish(struct ggs_survey * survey);
void ggs_survey_release(struct ggs_survey * survey);
// Has the context done anything else than what may turn out to be a warm-up?
bool ggs_survey_is_warm(const struct ggs_survey * survey, uint64_t context);
