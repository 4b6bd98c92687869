// Requests: what each sequence of each context computed, from its first prompt token to its last
// generated one (trace/sequences.h has the rules). Found in one pass over the tokens that were fed
// and the changes of the memory; beside those changes and the times of decodes, which are held,
// memory does not grow with the recording.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"
#include "trace/sequences.h"

enum ggs_request_kind {
    GGS_REQUEST_COMPLETION, // tokens were generated
    GGS_REQUEST_PROMPT,     // a prompt of which nothing was asked: shared by others, or cancelled
    GGS_REQUEST_EMBEDDING,  // embeddings were taken
    GGS_REQUEST_SCORING,    // outputs of many tokens, and nothing generated: perplexity
    GGS_REQUEST_DRAFT,      // in a context that drafts for another
    GGS_REQUEST_WARMUP,
    GGS_REQUEST_KINDS,
};
const char * ggs_request_kind_name(uint64_t kind);

// What a request has of one batch.
struct ggs_request_step {
    uint64_t                          request;
    int64_t                           step;   // -1: warm-up
    uint64_t                          decode; // 0 if the call was not seen
    uint64_t                          context;
    int64_t                           sequence;
    uint64_t                          phase; // PROMPT, GENERATE, VERIFY, WARMUP
    int64_t                           position;
    uint64_t                          tokens, outputs;
    uint64_t                          generated;    // of VERIFY as far as is known when it is told: see settle
    uint64_t                          batch_tokens; // of all sequences
    uint64_t                          cells;        // of the sequence, after it
    int64_t                           begin_ns, end_ns;
    const struct ggs_sequence_part *  part;
    const struct ggs_sequence_batch * batch; // while it is told
    const struct ggs_sequences *      sequences;
};

struct ggs_request_visitor {
    // 0, or negative to end the walk with that.
    int (*see)(void * owner, const struct ggs_request_step * step, struct ggs_error * error);
    // A change of the memory that was just made; its `step` is the number of its row. May be NULL.
    int (*change)(void * owner, const struct ggs_memory_change * change, const struct ggs_sequences * sequences,
                  struct ggs_error * error);
    // What became of the drafted tokens of a VERIFY batch.
    void (*settle)(void * owner, const struct ggs_verify * verify, const struct ggs_settled * settled);
    // The state after the last batch and the last change; May be NULL.
    int (*end)(void * owner, const struct ggs_sequences * sequences, struct ggs_error * error);
    void * owner;
};

int ggs_requests_walk(struct ggs_trace * trace, const struct ggs_request_visitor * visitor, struct ggs_error * error);

// ---- the list ----

struct ggs_request {
    uint64_t request; // from 1, in the order of begins
    uint64_t context;
    int64_t  sequence;
    uint64_t kind;
    int64_t  begin_ns, end_ns;
    int64_t  first_output_ns;                  // end of the decode that gave its first output, -1 for none
    uint64_t prompt_tokens;                    // computed
    uint64_t cached_tokens;                    // there already
    uint64_t generated_tokens;                 // sampled
    uint64_t decoded_tokens;                   // of those, or of drafts: fed back, to stay
    int64_t  unused_tokens;                    // of those: what came out was never read; -1: reading was not seen
    uint64_t accepted_tokens, rejected_tokens; // of drafts
    uint64_t unsettled_tokens;                 // drafts of which it was not seen what became of them
    uint64_t decodes, steps;
    uint64_t compute_ns; // of the decodes that it took part in
    uint64_t wait_ns;    // between them
    uint64_t cells_peak; // of the memory
    bool     changes_seen;
    bool     embedding, scored;
    // Its share of the batches that it took part in, by tokens: estimated. All 0 unless has_costs.
    bool     has_costs;
    uint64_t op_ns, bytes_read, bytes_written, bytes_disk;
    // From these, -1 for none.
    int64_t duration_ns;
    int64_t time_to_first_ns; // begin of its first decode to its first output
    int64_t ns_per_token;     // of those after the first
    int64_t last_step;
};

struct ggs_request_context {
    uint64_t context;
    int64_t  target; // the context that it drafts for, -1 for none
    uint64_t model;
    uint64_t requests, prompt_tokens, cached_tokens, generated_tokens, decoded_tokens;
    int64_t  unused_tokens; // -1: reading was not seen
    uint64_t accepted_tokens, rejected_tokens;
    uint64_t steps, compute_ns; // of its decodes
    bool     changes_seen;
    uint64_t removed, copied, moved, cleared; // calls that changed its memory
    uint64_t removed_cells, copied_cells, moved_cells, cleared_cells;
    uint64_t cells_peak, sequences_peak; // at once: each cell counted once
    int64_t  cells_peak_ns;
    double   acceptance; // of drafts, NAN if there are none
    // What a generated token took, on average, in batches that hold no prompt; -1 if there were
    // none. Of a target context: drafted, in batches that check drafts, with the time of its draft
    // context; plain, in batches that check none. Estimated: batches differ in what else they hold.
    int64_t  ns_per_drafted_token, ns_per_plain_token;
    int64_t  last_step;
    uint64_t last_decode;
    // the newest batch, and sums of those before it: [0] that check no drafts, [1] that do
    struct {
        uint64_t ns, parts;
        bool     prompt, verify;
    } batch;
    uint64_t without_prompt_ns[2], parts[2];
};

struct ggs_requests {
    struct ggs_request *         request;
    uint64_t                     n, capacity;
    struct ggs_request_context * context;
    uint64_t                     n_contexts, contexts_capacity;
    bool                         has_costs;
};

// With `costs` also each request's share of op time and bytes, which takes a walk over all ops.
int  ggs_requests_list(struct ggs_requests * requests, struct ggs_trace * trace, bool costs, struct ggs_error * error);
void ggs_requests_release(struct ggs_requests * requests);
