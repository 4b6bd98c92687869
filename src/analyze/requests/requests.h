// Requests: what each sequence of each context computed, from its first prompt token to its last
// generated one (trace/sequences.h has the rules). Found in one pass over the fed tokens and the
// changes of memory. Apart from these changes and the times of decodes, memory does not grow with
// the recording.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"
#include "trace/sequences.h"

enum ggs_request_kind {
    GGS_REQUEST_COMPLETION, // tokens were generated
    GGS_REQUEST_PROMPT,     // a prompt without requested output: shared by others, or cancelled
    GGS_REQUEST_EMBEDDING,  // embeddings were taken
    GGS_REQUEST_SCORING,    // outputs of many tokens and nothing generated: perplexity
    GGS_REQUEST_DRAFT,      // in a drafting context
    GGS_REQUEST_WARMUP,
    GGS_REQUEST_KINDS,
};
const char * ggs_request_kind_name(uint64_t kind);

// A request's part of one batch.
struct ggs_request_step {
    uint64_t                          request;
    int64_t                           step;   // -1: warm-up
    uint64_t                          decode; // 0 if the call was not seen
    uint64_t                          context;
    int64_t                           sequence;
    uint64_t                          phase; // PROMPT, GENERATE, VERIFY, WARMUP
    int64_t                           position;
    uint64_t                          tokens, outputs;
    uint64_t                          generated;    // of VERIFY as far as known at the call: see settle
    uint64_t                          batch_tokens; // of all sequences
    uint64_t                          cells;        // of the sequence, afterwards
    int64_t                           begin_ns, end_ns;
    const struct ggs_sequence_part *  part;
    const struct ggs_sequence_batch * batch; // valid during the call; NULL: it fed nothing
    const struct ggs_sequences *      sequences;
};

struct ggs_request_visitor {
    // Returns 0, or a negative status that ends the walk.
    int (*step)(void * owner, const struct ggs_request_step * step, struct ggs_error * error);
    // Called after a change of memory; its `step` is the row number. May be NULL.
    int (*change)(void * owner, const struct ggs_memory_change * change, const struct ggs_sequences * sequences,
                  struct ggs_error * error);
    // Reports the fate of drafted tokens of a VERIFY batch.
    void (*settle)(void * owner, const struct ggs_verify * verify, const struct ggs_settled * settled);
    // Called with the final state. May be NULL.
    int (*end)(void * owner, const struct ggs_sequences * sequences, struct ggs_error * error);
    void * owner;
};

int ggs_requests_walk(struct ggs_trace * trace, const struct ggs_request_visitor * visitor, struct ggs_error * error);

// ---- the list ----

struct ggs_request {
    uint64_t request; // from 1, in order of starts
    uint64_t context;
    int64_t  sequence;
    uint64_t kind;
    int64_t  begin_ns, end_ns;
    int64_t  first_output_ns;                  // end of the decode with its first output, -1 for none
    bool     sample;                           // the first token was sampled from another sequence's output
    bool     begun_before;                     // was under way when recording began
    bool     paused;                           // went on while recording was paused
    int64_t  prompt_tokens;                    // computed; -1 if begun_before, like the next
    int64_t  cached_tokens;                    // already present
    uint64_t generated_tokens;                 // sampled
    int64_t  decoded_tokens;                   // of those: fed back and kept; -1 in a context that drafts
    int64_t  unused_tokens;                    // of those: output never read; -1: reads were not seen
    uint64_t accepted_tokens, rejected_tokens; // of drafts
    uint64_t unsettled_tokens;                 // drafts of unknown fate
    uint64_t decodes, steps;
    uint64_t compute_ns; // of the decodes with this request
    uint64_t wait_ns;    // between them
    int64_t  cells_peak; // of the memory; -1 if begun_before
    bool     changes_seen;
    bool     embedding, scored;
    // Its share of its batches by tokens: an estimate. All 0 unless has_costs.
    bool     has_costs;
    uint64_t op_ns, bytes_read, bytes_written, bytes_disk;
    // Derived, -1 for none.
    int64_t duration_ns;
    int64_t time_to_first_ns; // from the start of its first decode to its first output
    int64_t ns_per_token;     // after the first one
    int64_t last_step;
};

struct ggs_request_context {
    uint64_t context;
    int64_t  target; // the context that it drafts for, -1 for none
    uint64_t model;
    uint64_t requests, begun_before, paused;
    uint64_t prompt_tokens, cached_tokens; // of requests whose beginning was recorded
    uint64_t generated_tokens;
    int64_t  decoded_tokens; // -1 if it drafts
    int64_t  unused_tokens;  // -1 if it drafts, or reads were not seen
    uint64_t accepted_tokens, rejected_tokens;
    uint64_t steps, compute_ns; // of its decodes
    bool     changes_seen;
    uint64_t removed, copied, moved, cleared;                         // calls that changed its memory
    int64_t  removed_cells, copied_cells, moved_cells, cleared_cells; // -1 if parts were not recorded
    int64_t  cells_peak;     // concurrent: each cell counted once; -1 if parts were not recorded
    int64_t  sequences_peak; // concurrent; likewise
    int64_t  cells_peak_ns;
    double   acceptance; // of drafts, NAN without drafts
    // Mean time of a generated token in batches without prompts; -1 if there were none. Of a target
    // context: drafted, in batches that check drafts, including its draft context; plain, in
    // batches that check none. An estimate, because batches differ in their other contents.
    int64_t  ns_per_drafted_token, ns_per_plain_token;
    int64_t  last_step;
    uint64_t last_decode;
    // the latest batch, and sums of the earlier ones: [0] without drafts to check, [1] with drafts
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

// `costs`: also each request's share of op time and bytes, which takes a walk over all ops.
int  ggs_requests_list(struct ggs_requests * requests, struct ggs_trace * trace, bool costs, struct ggs_error * error);
void ggs_requests_release(struct ggs_requests * requests);
