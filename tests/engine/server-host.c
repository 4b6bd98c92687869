// A program that feeds the engine as servers and other programs do, and prints what is true of it.
//     server-host PATTERN MODEL [DRAFT-MODEL]
//     server-host http MODEL --port N [--pieces P]
// Tokens are made up: what is counted does not depend on them. The last line is a JSON object: for
// every request its context, sequence, kind, how many prompt tokens were computed, how many were
// there already, how many tokens were generated, and how many drafted ones were accepted and
// rejected, how many were fed back, and of how many of those nobody read the output; requests in
// the order of their first token. With SERVER_HOST_LOGITS in the environment the line before has a
// hash of all logits.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/load.h"

#include "server-host.h"

enum { CHUNK = 8 };

// ---- slots with continuous batching ----

struct job {
    int prompt, generate, cancel; // cancel: after so many steps, 0 for never
};

struct slot {
    int              job; // -1: idle
    struct request * truth;
    int              position, left_of_prompt, left, steps;
};

static void run_jobs(struct server * server, const struct job * jobs, int n_jobs) {
    struct slot slots[SLOTS];
    int         next = 0, busy = 0;
    for (int s = 0; s < SLOTS; s++) slots[s].job = -1;
    do {
        int room = CHUNK;
        busy     = 0;
        for (int s = 0; s < SLOTS; s++) { // generating slots first
            struct slot * slot = &slots[s];
            if (slot->job < 0 || slot->left_of_prompt > 0) continue;
            add_token(server, token_at(slot->position, s), slot->position, s, true);
            slot->position++, room--, busy++;
            slot->truth->generated++, slot->left--;
        }
        for (int s = 0; s < SLOTS; s++) {
            struct slot * slot = &slots[s];
            if (slot->job < 0 && next < n_jobs) {
                seq_rm(server->memory, s, -1, -1);
                *slot = (struct slot){.job = next, .left_of_prompt = jobs[next].prompt, .left = jobs[next].generate};
                next++;
            }
            if (slot->job < 0 || slot->left_of_prompt == 0 || room <= 0) continue;
            if (slot->truth == NULL) slot->truth = new_request(server->number, s, 0);
            int  n    = slot->left_of_prompt < room ? slot->left_of_prompt : room;
            bool last = n == slot->left_of_prompt;
            add_tokens(server, s, slot->position, n, last);
            slot->position += n, slot->left_of_prompt -= n, slot->truth->prompt += n;
            if (last) slot->truth->generated++, slot->left--;
            room -= n, busy++;
        }
        if (busy > 0) decode(server);
        for (int s = 0; s < SLOTS; s++) {
            struct slot * slot = &slots[s];
            if (slot->job < 0 || slot->truth == NULL) continue;
            bool cancelled = jobs[slot->job].cancel > 0 && ++slot->steps == jobs[slot->job].cancel;
            if (cancelled || (slot->left_of_prompt == 0 && slot->left == 0)) slot->job = -1;
        }
    } while (busy > 0 || next < n_jobs);
}

static void run_slots(struct server * server) {
    static const struct job jobs[] = {{5, 12, 0}, {9, 12, 0}, {21, 10, 0}, {4, 12, 0}, {1, 14, 0}, {7, 12, 0}};
    run_jobs(server, jobs, 6);
}

static void run_cancelled(struct server * server) {
    static const struct job jobs[] = {{5, 12, 0}, {9, 30, 6}, {40, 10, 2}, {4, 12, 0}, {6, 3, 0}, {7, 5, 0}, {3, 4, 0}};
    run_jobs(server, jobs, 7);
}

// ---- prefixes ----

// The slot keeps its contents: the next prompt shares its beginning, and the one after that all but
// the last token.
static void run_cached(struct server * server) {
    complete(server, 1, 0, 9, 4);
    seq_rm(server->memory, 1, 6, -1);
    complete(server, 1, 6, 5, 3);
    seq_rm(server->memory, 1, 10, -1);
    complete(server, 1, 10, 1, 6);
    seq_rm(server->memory, 1, -1, -1);
    complete(server, 1, 0, 4, 2);
}

// Nothing is removed: the next request continues at the end of the last one, or where its prompt
// was cut off.
static void run_continued(struct server * server) {
    set_sampler(server, 0);
    complete(server, 0, 0, 10, 1);
    complete(server, 0, 10, 4, 4);
    set_sampler(server, 1);
    struct request * cancelled = new_request(server->number, 1, 0);
    feed(server, 1, 0, 8, false);
    cancelled->prompt = 8;
    set_sampler(server, 1);
    complete(server, 1, 8, 6, 3);
    complete(server, 2, 0, 5, 3);
    set_sampler(server, 2);
    complete(server, 2, 7, 1, 2); // generated text and one more token: like a continuation
}

// Saves a sequence's state, and loads it into another.
static void run_loaded(struct server * server) {
    complete(server, 0, 0, 6, 4);
    size_t    size = llama_state_seq_get_size(server->context, 0);
    uint8_t * data = malloc(size);
    if (data == NULL || llama_state_seq_get_data(server->context, data, size, 0) == 0) die("llama_state_seq_get_data");
    seq_rm(server->memory, 0, -1, -1);
    complete(server, 0, 0, 5, 2);
    complete(server, 1, 0, 2, 2);
    if (llama_state_seq_set_data(server->context, data, size, 1) == 0) die("llama_state_seq_set_data");
    free(data);
    complete(server, 1, 9, 3, 2);
}

// A system prompt that all share.
static void run_shared(struct server * server) {
    struct request * system = new_request(server->number, 0, 0);
    feed(server, 0, 0, 6, false);
    system->kind   = "prompt";
    system->prompt = 6;
    for (int s = 1; s < SLOTS; s++) {
        llama_memory_seq_cp(server->memory, 0, s, -1, -1);
        complete(server, s, 6, 1 + s, 3);
    }
    for (int s = 1; s < SLOTS; s++) { // and once more
        seq_rm(server->memory, s, -1, -1);
        llama_memory_seq_cp(server->memory, 0, s, -1, -1);
        complete(server, s, 6, 4, 2);
    }
}

// One prompt, several samples of its continuation.
static void go_on_in_parallel(struct server * server, struct request * parent, int prompt, int generate) {
    struct request * all[3] = {parent, NULL, NULL};
    for (int s = 1; s < 3; s++) {
        all[s]            = new_request(server->number, s, prompt);
        all[s]->generated = 1;
    }
    for (int i = 1; i < generate; i++) {
        for (int s = 0; s < 3; s++) {
            add_token(server, token_at(i, s), prompt + i - 1, s, true);
            all[s]->generated++;
        }
        decode(server);
    }
}

static void run_forks(struct server * server) {
    struct request * parent = new_request(server->number, 0, 0);
    feed(server, 0, 0, 5, true);
    parent->prompt = 5, parent->generated = 1;
    for (int s = 1; s < 3; s++) llama_memory_seq_cp(server->memory, 0, s, -1, -1);
    go_on_in_parallel(server, parent, 5, 6);
}

// The same, with a prompt whose tokens belong to three sequences at once.
static void run_forks_in_batch(struct server * server) {
    struct request * parent = new_request(server->number, 0, 0);
    for (int i = 0; i < 5; i++) {
        add_token(server, token_at(i, 0), i, 0, i == 4);
        for (int s = 1; s < 3; s++) add_sequence(server, s);
    }
    decode(server);
    parent->prompt = 5, parent->generated = 1;
    go_on_in_parallel(server, parent, 5, 6);
}

// ---- decodes that fail ----

static struct {
    int calls, stop_at; // 0: never
} nodes;

static bool stops(void * data) {
    (void) data;
    return ++nodes.calls == nodes.stop_at;
}

static void fail(struct server * server, int stop_at) {
    nodes.calls = 0, nodes.stop_at = stop_at;
    if (llama_decode(server->context, server->batch) == 0) die("aborting a decode");
    nodes.stop_at = server->batch.n_tokens = 0;
}

// Decodes are aborted and tried again: of a token, of a prompt in its first piece, and of one in
// its second, which goes on after the piece that was computed.
static void run_aborted(struct server * server) {
    llama_set_abort_callback(server->context, stops, NULL);
    struct request * request = complete(server, 0, 0, 6, 3);
    add_tokens(server, 0, 8, 1, true);
    fail(server, 5);
    for (int i = 0; i < 3; i++) feed(server, 0, 8 + i, 1, true), request->generated++;
    add_tokens(server, 1, 0, 7, true);
    fail(server, 5);
    nodes.calls = 0;
    complete(server, 1, 0, 7, 1);
    int piece = nodes.calls;
    add_tokens(server, 2, 0, 3 * PIECE, true);
    fail(server, piece + piece / 2);
    request         = complete(server, 2, PIECE, 2 * PIECE, 3);
    request->prompt = 3 * PIECE, request->cached = 0;
}

// ---- what happens to a sequence while it generates ----

static void run_shift(struct server * server) {
    enum { KEEP = 3, DISCARD = 10 };
    struct request * request = new_request(server->number, 0, 0);
    int              last    = 8;
    feed(server, 0, 0, 8, true);
    request->prompt = 8, request->generated = 1;
    for (int i = 0; i < 40; i++) {
        if (last >= 24) {
            seq_rm(server->memory, 0, KEEP, KEEP + DISCARD);
            llama_memory_seq_add(server->memory, 0, KEEP + DISCARD, last, -DISCARD);
            last -= DISCARD;
        }
        feed(server, 0, last++, 1, true);
        request->generated++;
    }
}

static void run_turns(struct server * server) {
    complete(server, 0, 0, 5, 4);
    complete(server, 0, 8, 6, 3);
    complete(server, 0, 16, 3, 5);
}

// Warms up, and tests whether a part of a sequence can be removed.
static void run_warm(struct server * server) {
    llama_token two[] = {1, 2}, none[] = {0, 0};
    for (int i = 0; i < 2; i++) {
        struct request * request = new_request(server->number, 0, 0);
        request->kind = "warmup", request->prompt = 2;
    }
    if (llama_decode(server->context, llama_batch_get_one(two, 2)) != 0) die("llama_decode");
    llama_memory_clear(server->memory, true);
    llama_memory_clear(server->memory, true);
    if (llama_decode(server->context, llama_batch_get_one(none, 2)) != 0) die("llama_decode");
    seq_rm(server->memory, 0, 1, -1);
    llama_memory_clear(server->memory, true);
}

// Start of a server.
static void run_warmup(struct server * server) {
    run_warm(server);
    complete(server, 0, 0, 5, 4);
    seq_rm(server->memory, 0, -1, -1);
    complete(server, 3, 0, 2, 2);
}

// Like a user who reads the answers before asking again.
static void run_slowly(struct server * server) {
    for (int i = 0; i < 6; i++) {
        if (i > 0) usleep(500000);
        seq_rm(server->memory, i % 2, -1, -1);
        complete(server, i % 2, 0, 5, 3 + i);
    }
}

// Waits for a line after the first request: someone attaches meanwhile. Afterwards one whose prompt
// lacks only the last token, one in another slot, and a new context in place of the old one, like a
// server that slept.
static void wait_idle(struct server * server) {
    struct llama_context_params params = llama_context_default_params();
    complete(server, 1, 0, 9, 2);
    complete(server, 0, 0, 12, 3);
    set_sampler(server, 0);
    wait_for_line();
    set_sampler(server, 0);
    seq_rm(server->memory, 0, 11, -1);
    complete(server, 0, 11, 1, 4);
    set_sampler(server, 1);
    seq_rm(server->memory, 1, 7, -1);
    complete(server, 1, 7, 4, 3);
    llama_free(server->context);
    params.n_ctx     = 512;
    params.n_threads = params.n_threads_batch = 1;
    server->context                           = llama_init_from_model(server->model, params);
    if (server->context == NULL) die("making a context");
    server->memory = llama_get_memory(server->context);
    server->number++;
    run_warm(server);
    complete(server, 0, 0, 5, 3);
}

static void run_idle(struct server * server) {
    wait_idle(server);
}

// The engine has no samplers of sequences.
static void run_idle_older(struct server * server) {
    without_samplers();
    wait_idle(server);
}

// ---- the program ----

const struct pattern server_patterns[] = {
    {.name = "slots", .run = run_slots},
    {.name = "slots-apart", .run = run_slots, .options = APART},
    {.name = "cancelled", .run = run_cancelled},
    {.name = "cached", .run = run_cached},
    {.name = "continued", .run = run_continued},
    {.name = "loaded", .run = run_loaded},
    {.name = "shared", .run = run_shared},
    {.name = "forks", .run = run_forks},
    {.name = "forks-apart", .run = run_forks, .options = APART},
    {.name = "forks-in-batch", .run = run_forks_in_batch},
    {.name = "aborted", .run = run_aborted, .options = PIECES},
    {.name = "shift", .run = run_shift},
    {.name = "turns", .run = run_turns},
    {.name = "warmup", .run = run_warmup},
    {.name = "slowly", .run = run_slowly},
    {.name = "idle", .run = run_idle},
    {.name = "idle-older", .run = run_idle_older},
    {.name = "slots-unseen", .run = run_slots, .past = true},
    {.name = "cached-unseen", .run = run_cached, .past = true},
    {0},
};

static const struct pattern * const all_patterns[] = {server_patterns, output_patterns, draft_patterns};

static const struct pattern * find_pattern(const char * name) {
    for (size_t i = 0; i < sizeof(all_patterns) / sizeof(all_patterns[0]); i++)
        for (const struct pattern * p = all_patterns[i]; p->name != NULL; p++)
            if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

static int run_http(int argc, char ** argv) {
    struct ggs_error error;
    if (ggs_engine_load(NULL, &error) < 0) die(error.text);
    struct server server = open_server(argv[2], 0, 1, 0);
    serve_http(&server, argc - 3, argv + 3);
    close_server(&server);
    print_truth();
    return 0;
}

int main(int argc, char ** argv) {
    struct ggs_error       error;
    const struct pattern * pattern = argc > 2 ? find_pattern(argv[1]) : NULL;
    if (argc > 2 && strcmp(argv[1], "http") == 0) return run_http(argc, argv);
    if (pattern == NULL || argc != (pattern->run_both != NULL ? 4 : 3)) {
        fputs("Usage: server-host PATTERN MODEL [DRAFT-MODEL]\npatterns:", stderr);
        for (size_t i = 0; i < sizeof(all_patterns) / sizeof(all_patterns[0]); i++)
            for (const struct pattern * p = all_patterns[i]; p->name != NULL; p++) fprintf(stderr, " %s", p->name);
        fputc('\n', stderr);
        return 2;
    }
    if (ggs_engine_load(NULL, &error) < 0) die(error.text);
    if (pattern->past) go_past();
    int           sequences = pattern->sequences > 0 ? pattern->sequences : SLOTS;
    struct server server    = open_server(argv[2], 0, sequences, pattern->options);
    if (pattern->run_both != NULL) {
        struct server draft = open_server(argv[3], 1, sequences, 0);
        pattern->run_both(&server, &draft);
        close_server(&draft);
    } else {
        pattern->run(&server);
    }
    close_server(&server);
    print_logits_hash();
    print_truth();
    return 0;
}
