// Information about decodes that follows later in the journal: warm-ups, embeddings, checks of
// drafts, reads of outputs, and contexts that draft for others. Records are added one by one, so a
// live recording can be read too.
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
    struct ggs_map       warmups;    // warm-ups
    struct ggs_map       embeddings; // embeddings were read
    struct ggs_map       verifies;   // drafted tokens are checked with a prompt's last token
    struct ggs_map       failed;     // decodes that computed and failed: the number of fed tokens + 1
    struct ggs_map       readers;    // first decodes of contexts that are no benchmark's
    struct ggs_draft *   drafts;     // once finished
    size_t               n_drafts, drafts_capacity;
    uint64_t             decode; // whose parts are in `sequences`, from the newest record; or 0
    struct ggs_life *    lives;  // private from here on
    size_t               n_lives, lives_capacity;
    struct ggs_pending * pending;
    size_t               n_pending, pending_capacity;
};

// A zeroed struct is ready; `sequences.gaps` may be set. False when out of memory.
bool ggs_survey_add(struct ggs_survey * survey, const struct ggs_record * record);
// Call it after the last record.
bool ggs_survey_finish(struct ggs_survey * survey);
void ggs_survey_release(struct ggs_survey * survey);
// True if the context has done more than possible warm-ups.
bool ggs_survey_is_warm(const struct ggs_survey * survey, uint64_t context);
