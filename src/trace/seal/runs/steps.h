// Token steps: which decode, and so which graph run, belongs to which token.
//
// trace/sequences.h defines what a decode does to its sequences. If all of it is prompt, the phase
// is PROMPT; consecutive ones are one step unless the memory was cleared or a sequence restarted.
// Every other decode is a step of its own. Under llama_set_warmup, or if the memory is cleared
// after a context's first decodes (pass 1), the phase is WARMUP, which has no number. Without
// records of either, the tokens decide (is_probe).
//
// Decodes come from the llama_decode hook; if that was bypassed, a scheduler call whose graph looks
// up tokens counts as one.
//
// A program with none of these (speech, pictures) has no tokens: each scheduler call, and each
// graph run outside of one, is a step of phase GRAPH.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/seal/runs/batches.h"
#include "trace/seal/seal.h"
#include "trace/seal/survey.h"
#include "trace/seal/tick-clock.h"
#include "trace/spool.h"
#include "trace/writer.h"

struct ggs_open_step {
    struct ggs_step    row;
    bool               closed;
    unsigned           waiting; // number of runs without results
    struct ggs_token * tokens;
    size_t             n_tokens, capacity;
};

struct ggs_seal_context {
    uint64_t               key;       // address of the llama_context, or of the scheduler
    uint64_t               scheduler; // without recorded decodes: its scheduler; 0 if unknown
    bool                   decodes;   // decodes are recorded
    uint64_t               number;
    uint64_t               model;
    uint64_t               memory;
    int64_t                begin_ns;
    uint64_t               target;   // number + 1 of the context it drafts for
    bool                   warmup;   // under llama_set_warmup
    bool                   cleared;  // since the last decode
    bool                   began;    // it has computed more than probes
    uint64_t               read;     // enum ggs_output_read, of all its outputs
    struct ggs_open_step * step;     // the newest one, NULL if written
    uint64_t               schedule; // its scheduler call, if no decode was recorded
    uint64_t               newest;   // tokens of the step before its newest batch
};

struct ggs_open_decode {
    struct ggs_decode         row;
    uint64_t                  number; // as in the journal
    struct ggs_seal_context * context;
    struct ggs_seal_batch     batch;
    bool                      warmup;
    bool                      taken; // it is (part of) a step
    struct ggs_open_step *    step;
};

struct ggs_steps {
    const struct ggs_seal_options * options; // for token_text
    const char * (*model_file)(void *   owner,
                               uint64_t model); // path of a model's file, NULL if unknown
    void *                     owner;
    struct ggs_writer *        writer;
    struct ggs_clock *         clock;
    struct ggs_seal_context ** contexts;
    size_t                     n_contexts, contexts_capacity;
    struct ggs_sequences       sequences;
    struct ggs_survey          survey; // of pass 1
    uint64_t                   newest_decode;
    struct ggs_open_decode *   decodes; // open ones
    size_t                     n_decodes, decodes_capacity;
    struct ggs_open_step **    queue; // in time order, written from the front
    size_t                     n_queue, queue_capacity;
    int64_t                    next_step;
    uint64_t                   damaged;
    bool                       no_tokens; // pass 1 found no context, decode or lookup of tokens
};

void ggs_steps_release(struct ggs_steps * steps);

void ggs_steps_context(struct ggs_steps * steps, uint64_t context, uint64_t model, uint64_t memory, int64_t ns);
void ggs_steps_warmup(struct ggs_steps * steps, uint64_t context, bool on, int64_t ns);
// `object` is a memory object, or a context. Sets decode, context and step of the change.
void ggs_steps_change(struct ggs_steps * steps, uint64_t object, struct ggs_memory_change change);
// The body of GGS_JOURNAL_DECODE.
void ggs_steps_decode(struct ggs_steps * steps, const void * body, size_t length, int64_t ns);
// For a read of an output of the context's newest decode: the token's index in the batch, as in
// GGS_JOURNAL_OUTPUT_READ.
void ggs_steps_output_read(struct ggs_steps * steps, uint64_t context, int64_t index);
void ggs_steps_decode_end(struct ggs_steps * steps, uint64_t decode, int64_t status, int64_t ns);

// For the begin of a decode's graph run: sets step and phase of its row. Returns false if the
// decode is unknown.
bool ggs_steps_run(struct ggs_steps * steps, struct ggs_run * run);
// For the end of a graph run without a known decode; `batch` has its index data, n == 0 for none.
// `scheduler` distinguishes contexts.
void ggs_steps_run_alone(struct ggs_steps * steps, struct ggs_run * run, uint64_t scheduler,
                         struct ggs_seal_batch * batch);

// For a run that was submitted to a device, and for the arrival of its results at `ns`. The step
// ends no earlier.
void ggs_steps_submitted(struct ggs_steps * steps, const struct ggs_run * run);
void ggs_steps_results(struct ggs_steps * steps, const struct ggs_run * run, int64_t ns);

// Writes the rest. `ended`: the program ended by itself, and so has read all that it wanted.
void ggs_steps_finish(struct ggs_steps * steps, int64_t ns, bool ended);
