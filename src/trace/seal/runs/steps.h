// Token steps: which decode, and so which graph run, belongs to which token.
//
// What a decode does to its sequences, trace/sequences.h says. All prompt: PROMPT, and consecutive
// ones are one step unless the memory was cleared or a sequence started again. Each other one is a
// step of its own. Under llama_set_warmup, or if a context's first decodes are followed by clearing
// its memory (pass 1): WARMUP, which takes no number. Where neither is seen, the tokens tell (see
// is_probe).
//
// Decodes come from the llama_decode hook; if that was not passed, a scheduler call whose graph
// looks up tokens counts as one.
//
// A program in which nothing of this is ever seen (speech, pictures) has no tokens: there each
// scheduler call, and each graph run outside of any, is a step of phase GRAPH.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/seal/clock.h"
#include "trace/seal/runs/batches.h"
#include "trace/seal/seal.h"
#include "trace/seal/survey.h"
#include "trace/spool.h"
#include "trace/writer.h"

struct ggs_open_step {
    struct ggs_step    row;
    bool               closed;
    unsigned           waiting; // for the results of so many runs
    struct ggs_token * tokens;
    size_t             n_tokens, capacity;
};

struct ggs_seal_context {
    uint64_t               key;       // address of the llama_context, or of the scheduler
    uint64_t               scheduler; // if its decodes are not seen: what computes for it; 0 if not known
    bool                   decodes;   // they are seen
    uint64_t               number;
    uint64_t               model;
    uint64_t               memory;
    int64_t                begin_ns;
    uint64_t               target;   // number + 1 of the context that it drafts for
    bool                   warmup;   // under llama_set_warmup
    bool                   cleared;  // since the last decode
    bool                   began;    // something else than probes was computed
    uint64_t               read;     // enum ggs_output_read, of all its outputs
    struct ggs_open_step * step;     // the newest one, NULL if it was written already
    uint64_t               schedule; // the scheduler call that became part of it, if no decode was seen
    uint64_t               newest;   // tokens of the step before those of the newest batch
};

struct ggs_open_decode {
    struct ggs_decode         row;
    uint64_t                  number; // as in the journal
    struct ggs_seal_context * context;
    struct ggs_seal_batch     batch;
    bool                      warmup;
    bool                      taken; // it has become (part of) a step
    struct ggs_open_step *    step;
};

struct ggs_steps {
    const struct ggs_seal_options * options; // for token_text
    const char * (*model_file)(void *   owner,
                               uint64_t model); // the path of the file that a model was loaded from, NULL if unknown
    void *                     owner;
    struct ggs_writer *        writer;
    struct ggs_clock *         clock;
    struct ggs_seal_context ** contexts;
    size_t                     n_contexts, contexts_capacity;
    struct ggs_sequences       sequences;
    struct ggs_survey          survey; // of pass 1
    uint64_t                   newest_decode;
    struct ggs_open_decode *   decodes; // that have begun and not ended
    size_t                     n_decodes, decodes_capacity;
    struct ggs_open_step **    queue; // in order of time, written from the front
    size_t                     n_queue, queue_capacity;
    int64_t                    next_step;
    uint64_t                   damaged;
    bool                       no_tokens; // pass 1 found neither a context nor a decode nor a lookup of tokens
};

void ggs_steps_release(struct ggs_steps * steps);

void ggs_steps_context(struct ggs_steps * steps, uint64_t context, uint64_t model, uint64_t memory, int64_t ns);
void ggs_steps_warmup(struct ggs_steps * steps, uint64_t context, bool on, int64_t ns);
// `object` is a memory object, or a context. Decode, context and step of the change are filled in.
void ggs_steps_change(struct ggs_steps * steps, uint64_t object, struct ggs_memory_change change);
// The body of GGS_JOURNAL_DECODE.
void ggs_steps_decode(struct ggs_steps * steps, const void * body, size_t length, int64_t ns);
// The program read an output of the context's newest decode: the token's index in the batch, as
// GGS_JOURNAL_OUTPUT_READ has it.
void ggs_steps_output_read(struct ggs_steps * steps, uint64_t context, int64_t index);
void ggs_steps_decode_end(struct ggs_steps * steps, uint64_t decode, int64_t status, int64_t ns);

// A graph run that belongs to a decode began: fills step and phase of its row. False if the decode
// is not known.
bool ggs_steps_run(struct ggs_steps * steps, struct ggs_run * run);
// A graph run without a known decode, when it is complete; `batch` holds what its index data said,
// n == 0 for nothing. `scheduler` tells contexts apart.
void ggs_steps_run_alone(struct ggs_steps * steps, struct ggs_run * run, uint64_t scheduler,
                         struct ggs_seal_batch * batch);

// A run of a step was submitted to a device, and ends later: then its results are there, at `ns`.
// The step ends no earlier.
void ggs_steps_submitted(struct ggs_steps * steps, const struct ggs_run * run);
void ggs_steps_results(struct ggs_steps * steps, const struct ggs_run * run, int64_t ns);

// Writes all that is left. `ended`: the program came to its end, and would have read what it
// wanted.
void ggs_steps_finish(struct ggs_steps * steps, int64_t ns, bool ended);
