// Patterns with drafted tokens: from another context, from a table of earlier text, or from the
// same context.
#include "server-host.h"

enum { DRAFTS = 4 };
static const int accept[] = {4, 0, 2, 4, 1, 3}; // of four drafted tokens, repeated

static int pause_at = -1; // round

// Two slots. Every batch of the target is also fed to the draft's context, without outputs.
static void run_draft(struct server * target, struct server * draft) {
    int              position[2] = {6, 9}, left[2] = {19, 25};
    struct request * truth[2];
    struct request * shadow[2];
    for (int s = 0; s < 2; s++) truth[s] = new_request(target->number, s, 0);
    for (int s = 0; s < 2; s++) {
        shadow[s] = new_request(draft->number, s, 0);
        add_tokens(target, s, 0, position[s], true);
        add_tokens(draft, s, 0, position[s], false);
        truth[s]->prompt = shadow[s]->prompt = position[s];
        truth[s]->generated                  = 1;
        shadow[s]->kind                      = "draft";
    }
    draft->batch.logits[draft->batch.n_tokens - 1] = true; // no logits requested: those of the last
    decode(target);
    decode_reading_nothing(draft);
    for (int round = 0; left[0] > 0 || left[1] > 0; round++) {
        int n[2];
        if (round == pause_at) {
            wait_for_line();
            for (int s = 0; s < 2; s++)
                truth[s]->generated = truth[s]->accepted = truth[s]->rejected = shadow[s]->generated = 0;
        }
        for (int s = 0; s < 2; s++) n[s] = left[s] == 0 ? -1 : left[s] - 1 < DRAFTS ? left[s] - 1 : DRAFTS;
        for (int i = 0; i < DRAFTS; i++) { // id_last, then one drafted token after another
            for (int s = 0; s < 2; s++)
                if (i < n[s]) add_token(draft, token_at(position[s] + i, 10 + s), position[s] + i, s, true);
            if (draft->batch.n_tokens > 0) decode(draft);
        }
        for (int s = 0; s < 2; s++)
            if (n[s] > 0) seq_rm(draft->memory, s, position[s], -1), shadow[s]->generated += n[s];
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i <= n[s]; i++) {
                llama_token token = token_at(position[s] + i, 10 + s);
                add_token(target, token, position[s] + i, s, true);
                add_token(draft, token, position[s] + i, s, false);
            }
        }
        draft->batch.logits[draft->batch.n_tokens - 1] = true;
        int accepted[2], reads[2];
        for (int s = 0; s < 2; s++) {
            accepted[s] = accept[(round + s) % 6] < n[s] ? accept[(round + s) % 6] : n[s];
            reads[s]    = accepted[s] + 1;
        }
        decode_reading(target, reads);
        decode_reading_nothing(draft);
        for (int s = 0; s < 2; s++) {
            if (n[s] < 0) continue;
            position[s] += 1 + accepted[s];
            left[s] -= 1 + accepted[s];
            truth[s]->generated += 1 + accepted[s];
            truth[s]->accepted += accepted[s];
            truth[s]->rejected += n[s] - accepted[s];
            seq_rm(target->memory, s, position[s], -1);
            seq_rm(draft->memory, s, position[s], -1);
        }
    }
}

// Waits in the middle: someone attaches meanwhile.
static void run_draft_pause(struct server * target, struct server * draft) {
    pause_at = 2;
    run_draft(target, draft);
}

// Like programs for older releases: feeds the draft's context what it lacks of the accepted text,
// then drafts.
static void run_draft_behind(struct server * target, struct server * draft) {
    enum { PROMPT = 7, ROUNDS = 5 };
    int              position = PROMPT, there = 0; // of the draft's memory
    struct request * truth  = new_request(target->number, 0, 0);
    struct request * shadow = NULL;
    feed(target, 0, 0, PROMPT, true);
    truth->prompt = PROMPT, truth->generated = 1;
    for (int round = 0; round < ROUNDS; round++) {
        if (shadow == NULL) {
            shadow         = new_request(draft->number, 0, 0);
            shadow->kind   = "draft";
            shadow->prompt = position + 1;
        }
        seq_rm(draft->memory, 0, there, -1);
        for (int p = there; p <= position; p++) add_token(draft, token_at(p, 5), p, 0, p == position);
        decode(draft);
        for (int i = 1; i < DRAFTS; i++) {
            add_token(draft, token_at(position + i, 5), position + i, 0, true);
            decode(draft);
        }
        shadow->generated += DRAFTS;
        for (int i = 0; i <= DRAFTS; i++) add_token(target, token_at(position + i, 5), position + i, 0, true);
        int accepted = accept[round % 6];
        decode_reading(target, (int[]){accepted + 1});
        truth->generated += 1 + accepted, truth->accepted += accepted, truth->rejected += DRAFTS - accepted;
        there = position + (1 + accepted < DRAFTS ? 1 + accepted : DRAFTS);
        position += 1 + accepted;
        seq_rm(target->memory, 0, position, -1);
    }
}

// Like llama-speculative-simple: the first draft is checked together with the last prompt token.
static void run_draft_at_once(struct server * target, struct server * draft) {
    enum { PROMPT = 9, ROUNDS = 6 };
    int              position = PROMPT - 1;
    struct request * truth    = new_request(target->number, 0, 0);
    struct request * shadow   = new_request(draft->number, 0, 0);
    feed(target, 0, 0, PROMPT - 1, false);
    feed(draft, 0, 0, PROMPT - 1, false);
    truth->prompt = PROMPT;
    shadow->kind = "draft", shadow->prompt = PROMPT - 1; // its last token is the first of a draft
    for (int round = 0; round < ROUNDS; round++) {
        int accepted = accept[round % 6];
        for (int i = 0; i < DRAFTS; i++) feed(draft, 0, position + i, 1, true);
        shadow->generated += DRAFTS;
        seq_rm(draft->memory, 0, position, -1);
        for (int i = 0; i <= DRAFTS; i++) {
            add_token(target, token_at(position + i, 0), position + i, 0, true);
            add_token(draft, token_at(position + i, 0), position + i, 0, false);
        }
        decode_reading(target, (int[]){accepted + 1});
        decode_reading_nothing(draft);
        position += 1 + accepted;
        truth->generated += 1 + accepted, truth->accepted += accepted, truth->rejected += DRAFTS - accepted;
        seq_rm(target->memory, 0, position, -1);
        seq_rm(draft->memory, 0, position, -1);
    }
}

// Like llama-lookup: the prompt in two pieces, each with an output; nothing is removed after the
// last draft.
static void run_lookup(struct server * server) {
    enum { PROMPT = 7, ROUNDS = 4 };
    llama_token      prompt[PROMPT];
    int              position = PROMPT;
    struct request * truth    = new_request(server->number, 0, 0);
    for (int i = 0; i < PROMPT; i++) prompt[i] = token_at(i, 0);
    if (llama_decode(server->context, llama_batch_get_one(prompt, PROMPT - 1)) != 0) die("llama_decode");
    if (llama_decode(server->context, llama_batch_get_one(prompt + PROMPT - 1, 1)) != 0) die("llama_decode");
    if (llama_get_logits_ith(server->context, 0) == NULL) die("llama_get_logits_ith");
    truth->prompt = PROMPT, truth->generated = 1;
    for (int round = 0; round < ROUNDS; round++) {
        int n = round == 1 ? 0 : DRAFTS, accepted = accept[round % 6] < n ? accept[round % 6] : n;
        for (int i = 0; i <= n; i++) add_token(server, token_at(position + i, 0), position + i, 0, true);
        decode_reading(server, (int[]){accepted + 1});
        position += 1 + accepted;
        truth->generated += 1 + accepted, truth->accepted += accepted, truth->rejected += n - accepted;
        if (round < ROUNDS - 1) seq_rm(server->memory, 0, position, -1);
    }
}

// ---- branches ----

enum { WINDOW = 3, NGRAM = 4, GUESSES = 2, LOOKAHEAD_SEQUENCES = 1 + WINDOW + GUESSES };

// Like llama-lookahead: sequences 1 to WINDOW look ahead of sequence 0, the others check what was
// found. All begin with the token of sequence 0.
static int add_lookahead(struct server * server, int position) {
    int before = server->batch.n_tokens + 1;
    add_token(server, token_at(position, 0), position, 0, true);
    for (int s = 1; s < LOOKAHEAD_SEQUENCES; s++) add_sequence(server, s);
    for (int i = 1; i < NGRAM; i++)
        for (int g = 0; g < GUESSES; g++)
            add_token(server, token_at(position + i, 0), position + i, 1 + WINDOW + g, true);
    for (int i = 1; i < WINDOW; i++) {
        add_token(server, token_at(position + i, 1), position + i, i + 1, false);
        for (int s = i + 2; s <= WINDOW; s++) add_sequence(server, s);
    }
    for (int level = 1; level < NGRAM - 1; level++)
        for (int i = 0; i < WINDOW; i++)
            add_token(server, token_at(position + i, level), position + level + i, i + 1, level == NGRAM - 2);
    return server->batch.n_tokens - before;
}

static void run_lookahead(struct server * server) {
    enum { PROMPT = 6, ROUNDS = 6 };
    static const int found[]  = {0, 2, 0, 3, 1, 0};
    int              position = PROMPT, all[LOOKAHEAD_SEQUENCES], best = 2 + WINDOW;
    struct request * truth = new_request(server->number, 0, 0);
    feed(server, 0, 0, PROMPT - 1, false);
    feed(server, 0, PROMPT - 1, 1, true);
    truth->prompt = PROMPT, truth->generated = 1;
    for (int s = 1; s < LOOKAHEAD_SEQUENCES; s++) {
        llama_memory_seq_cp(server->memory, 0, s, -1, -1);
        all[s] = s <= WINDOW ? 1 : 0; // outputs that are read
    }
    for (int round = 0; round < ROUNDS; round++) {
        int drafted = add_lookahead(server, position);
        all[0] = 1, all[best] = found[round];
        decode_reading(server, all);
        position += 1 + found[round];
        truth->generated += 1 + found[round], truth->accepted += found[round];
        truth->rejected += drafted - found[round];
        seq_rm(server->memory, -1, position, -1);
        if (found[round] == 0) continue;
        llama_memory_seq_keep(server->memory, best);
        llama_memory_seq_cp(server->memory, best, 0, -1, -1);
        seq_rm(server->memory, best, -1, -1);
        for (int s = 1; s < LOOKAHEAD_SEQUENCES; s++) llama_memory_seq_cp(server->memory, 0, s, -1, -1);
    }
}

// Like llama-speculative: drafts are a tree. Sequence 1 leaves sequence 0 after one token, sequence
// 2 at once.
static void run_tree(struct server * server) {
    enum { PROMPT = 5, BRANCHES = 3, DRAFTED = 5, ROUNDS = 6 };
    static const int keep[] = {0, 1, 2, 0, 2, 1}, found[] = {1, 2, 1, 0, 2, 2};
    int              position = PROMPT;
    struct request * truth    = complete(server, 0, 0, PROMPT, 1);
    for (int round = 0; round < ROUNDS; round++) {
        llama_memory_seq_keep(server->memory, 0);
        for (int s = 1; s < BRANCHES; s++) llama_memory_seq_cp(server->memory, 0, s, -1, -1);
        add_token(server, token_at(position, 0), position, 0, true);
        for (int s = 1; s < BRANCHES; s++) add_sequence(server, s);
        add_token(server, token_at(position + 1, 0), position + 1, 0, true);
        add_sequence(server, 1);
        add_token(server, token_at(position + 1, 2), position + 1, 2, true);
        for (int s = 0; s < BRANCHES; s++) add_token(server, token_at(position + 2, s), position + 2, s, true);
        int s = keep[round], reads[BRANCHES] = {1, 0, 0};
        reads[s] += s == 0 ? found[round] : found[round] - (s == 1);
        reads[0] += s == 1;
        decode_reading(server, reads);
        position += 1 + found[round];
        truth->generated += 1 + found[round], truth->accepted += found[round];
        truth->rejected += DRAFTED - found[round];
        seq_rm(server->memory, s, position, -1);
        llama_memory_seq_keep(server->memory, s);
        llama_memory_seq_cp(server->memory, s, 0, -1, -1);
        llama_memory_seq_keep(server->memory, 0);
    }
}

const struct pattern draft_patterns[] = {
    {.name = "draft", .run_both = run_draft},
    {.name = "draft-pause", .run_both = run_draft_pause},
    {.name = "draft-behind", .run_both = run_draft_behind},
    {.name = "draft-at-once", .run_both = run_draft_at_once},
    {.name = "draft-unseen", .run_both = run_draft, .past = true},
    {.name = "lookup", .run = run_lookup},
    {.name = "lookahead", .run = run_lookahead, .sequences = LOOKAHEAD_SEQUENCES},
    {.name = "tree", .run = run_tree},
    {0},
};
