// What the patterns of server-host share: the engine, and what is true of what they do.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ggml-backend.h"
#include "llama.h"

#include "older-releases.h"

enum { SLOTS = 4 };

__attribute__((noreturn)) void die(const char * what);

// ---- what is true ----

struct request {
    const char * kind;
    int          context, sequence;
    int          prompt, cached, generated, accepted, rejected;
    int          decoded, unused; // decoded: -1 for all that were generated but the last
};

struct request * new_request(int context, int sequence, int cached);
void             print_truth(void);

// ---- the engine ----

struct server {
    struct llama_model *   model;
    struct llama_context * context;
    llama_memory_t         memory;
    struct llama_batch     batch;
    int                    number;
};

// Each sequence has its own cells; the context is for embeddings; batches are computed in pieces.
enum { APART = 1, EMBEDDINGS = 2, PIECES = 4, PIECE = 32 };

struct server open_server(const char * path, int number, int sequences, int options);
void          close_server(struct server * server);
// From here on removals go past any library that stands in between.
void go_past(void);
void seq_rm(llama_memory_t memory, int sequence, int from, int to);
// As servers do when a request begins or ends. Releases that cannot do it do nothing.
void set_sampler(struct server * server, int sequence);
void without_samplers(void);
// Prints a line, and waits for one.
void wait_for_line(void);

llama_token token_at(int position, int salt);
void        add_token(struct server * server, llama_token token, int position, int sequence, bool output);
// The newest token is another sequence's too.
void add_sequence(struct server * server, int sequence);
// n tokens from `position` on, an output for the last if wanted.
void add_tokens(struct server * server, int sequence, int position, int n, bool output);

// Reads all outputs as one does who samples from them.
void decode(struct server * server);
// Reads the first `reads[s]` outputs of sequence s.
void decode_reading(struct server * server, const int reads[]);
void decode_reading_nothing(struct server * server);
void feed(struct server * server, int sequence, int position, int n, bool output);
// A whole request by itself: the prompt goes on where the cached part ends.
struct request * complete(struct server * server, int sequence, int cached, int prompt, int generate);
void             print_logits_hash(void); // with SERVER_HOST_LOGITS in the environment

// ---- over HTTP ----

// The words behind the model.
void serve_http(struct server * server, int argc, char ** argv);

// ---- patterns ----

struct pattern {
    const char * name;
    void (*run)(struct server *);
    void (*run_both)(struct server *, struct server *);
    int  options, sequences;
    bool past;
};
extern const struct pattern server_patterns[], output_patterns[], draft_patterns[]; // the last has no name
