// Token steps: which decode, and so which graph run, belongs to which token.
//
// What a decode does to one of its sequences:
//
//     the sequence is new, or starts again at position 0       prompt
//     one token, and the decode before yielded an output       generate
//     one token, but no output was asked for before            prompt (its last piece)
//     more tokens, several outputs, after generating           mixed (speculation)
//     more tokens                                              prompt
//
// All prompt: PROMPT, and consecutive ones are one step unless the memory was cleared or a sequence started again. All
// generate: GENERATE. Anything else: MIXED. Each of those is a step of its own. Under llama_set_warmup, or if a context's
// first and only decode is followed by clearing its memory and decoding again: WARMUP, which takes no number.
//
// Decodes come from the llama_decode hook; if that was not passed, a scheduler call whose graph looks up tokens counts as one.
//
// A program in which nothing of this is ever seen (speech, pictures) has no tokens: there each scheduler call, and each graph run outside
// of any, is a step of phase GRAPH.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/seal/clock.h"
#include "trace/seal/seal.h"
#include "trace/spool.h"
#include "trace/writer.h"

struct ggs_sequence {
    int64_t last;      // position of its last token
    bool    known;     // it has tokens
    bool    output;    // its last decode asked for an output
    bool    generates; // its last decode was not prompt
    // of the decode that is looked at
    uint64_t decode;
    uint64_t tokens, outputs;
    int64_t  first;
};

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
    bool                   warmup;           // under llama_set_warmup
    bool                   cleared;          // since the last decode
    struct ggs_map         sequence_numbers; // sequence -> index + 1
    struct ggs_sequence *  sequences;
    size_t                 n_sequences, capacity;
    struct ggs_open_step * step;     // the newest one, NULL if it was written already
    uint64_t               schedule; // the scheduler call that became part of it, if no decode was seen
};

// A batch: what one decode feeds. Arrays of n, owned by the code that filled it.
struct ggs_batch {
    uint64_t  decode; // 0 if the call was not seen
    bool      encode;
    uint64_t  n;
    int64_t * token;
    int64_t * position;
    int64_t * sequence;
    uint8_t * output;
};

struct ggs_open_decode {
    struct ggs_decode         row;
    uint64_t                  number; // as in the journal
    struct ggs_seal_context * context;
    struct ggs_batch          batch;
    bool                      has_position, has_output;
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
    struct ggs_map             warmups; // decodes that the survey found to be warm-ups
    struct ggs_open_decode *   decodes; // that have begun and not ended
    size_t                     n_decodes, decodes_capacity;
    struct ggs_open_step **    queue; // in order of time, written from the front
    size_t                     n_queue, queue_capacity;
    int64_t                    next_step;
    uint64_t                   classified; // decodes so far; tells this one's marks from older ones
    uint64_t                   damaged;
    bool                       no_tokens; // pass 1 found neither a context nor a decode nor a lookup of tokens
};

void ggs_steps_release(struct ggs_steps * steps);

void ggs_steps_context(struct ggs_steps * steps, uint64_t context, uint64_t model, uint64_t memory, int64_t ns);
void ggs_steps_warmup(struct ggs_steps * steps, uint64_t context, bool on, int64_t ns);
void ggs_steps_clear(struct ggs_steps * steps, uint64_t memory);
// The body of GGS_JOURNAL_DECODE.
void ggs_steps_decode(struct ggs_steps * steps, const void * body, size_t length, int64_t ns);
void ggs_steps_decode_end(struct ggs_steps * steps, uint64_t decode, int64_t status, int64_t ns);

// A graph run that belongs to a decode began: fills step and phase of its row. False if the decode is not known.
bool ggs_steps_run(struct ggs_steps * steps, struct ggs_run * run);
// A graph run without a known decode, when it is complete; `batch` holds what its index data said, n == 0 for nothing.
// `scheduler` tells contexts apart.
void ggs_steps_run_alone(struct ggs_steps * steps, struct ggs_run * run, uint64_t scheduler, struct ggs_batch * batch);

// A run of a step was submitted to a device, and ends later: then its results are there, at `ns`. The step ends no earlier.
void ggs_steps_submitted(struct ggs_steps * steps, const struct ggs_run * run);
void ggs_steps_results(struct ggs_steps * steps, const struct ggs_run * run, int64_t ns);

// Writes all that is left.
void ggs_steps_finish(struct ggs_steps * steps, int64_t ns);
