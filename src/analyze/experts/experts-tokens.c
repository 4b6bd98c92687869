#include "analyze/experts/experts-tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

enum { MOST_SEQUENCES = 64, MOST_LAYERS = 1024, MOST_WINDOW = 1 << 16, DEFAULT_WINDOW = 256 };

// The choice of one layer for the tokens of the batch.
struct choice {
    uint64_t  layer; // index
    uint64_t  ids_tensor;
    uint64_t  used, n_tokens;
    uint64_t  bytes; // of one expert
    int64_t * ids;
    uint64_t  capacity;
};

// The latest choices of a sequence.
struct sequence {
    int64_t  number;
    uint64_t position; // tokens seen
    struct {
        uint64_t position; // of the token that chose; 0 for none
        uint32_t n;
        uint16_t ids[GGS_EXPERT_CHOICE];
    } * layers; // by index, MOST_LAYERS of them
};

// Experts that a token used, for removal from windows.
struct used_list {
    uint32_t * experts; // layer index << 12 | expert
    uint64_t   n, capacity;
};

struct ggs_expert_tokens {
    struct choice *     choices;
    uint64_t            n_choices, choices_capacity;
    struct sequence     sequences[MOST_SEQUENCES];
    unsigned            n_sequences, next_sequence;
    struct ggs_cursor * cursor;         // of the tokens table
    int64_t *           step_sequences; // of the step's tokens
    uint64_t            n_step, step_capacity, step_offset;
    struct used_list *  ring; // of the last `ring_length` tokens
    uint64_t            ring_length;
};

int ggs_expert_tokens_new(struct ggs_expert_tokens ** out, struct ggs_experts * experts, uint64_t window,
                          struct ggs_error * error) {
    if (window > MOST_WINDOW)
        return ggs_fail(error, GGS_USAGE, "a window of %llu tokens is too long; at most %d are kept",
                        (unsigned long long) window, MOST_WINDOW);
    struct ggs_expert_tokens * tokens = calloc(1, sizeof(*tokens));
    *out                              = tokens;
    if (tokens == NULL) return ggs_fail_memory(error);
    tokens->ring_length = window > 0 ? window + 1 : DEFAULT_WINDOW + 1;
    tokens->ring        = calloc(tokens->ring_length, sizeof(*tokens->ring));
    if (tokens->ring == NULL) return ggs_fail_memory(error);
    if (window > 0) {
        experts->sets[experts->n_sets++].window = window;
        return 0;
    }
    for (uint64_t w = 1; w <= DEFAULT_WINDOW; w *= 2) experts->sets[experts->n_sets++].window = w;
    return 0;
}

void ggs_expert_tokens_free(struct ggs_expert_tokens * tokens) {
    if (tokens == NULL) return;
    for (uint64_t i = 0; i < tokens->choices_capacity; i++) free(tokens->choices[i].ids);
    for (unsigned i = 0; i < tokens->n_sequences; i++) free(tokens->sequences[i].layers);
    for (uint64_t i = 0; tokens->ring != NULL && i < tokens->ring_length; i++) free(tokens->ring[i].experts);
    ggs_cursor_close(tokens->cursor);
    free(tokens->choices);
    free(tokens->step_sequences);
    free(tokens->ring);
    free(tokens);
}

int ggs_expert_tokens_step(struct ggs_expert_tokens * tokens, struct ggs_trace * trace, int64_t step,
                           struct ggs_error * error) {
    struct ggs_token row;
    int              status = 0;
    tokens->n_step = tokens->step_offset = 0;
    if (tokens->cursor == NULL) status = ggs_cursor_open(&tokens->cursor, trace->reader, GGS_TABLE_TOKENS, error);
    if (status < 0) return status;
    ggs_cursor_keys(tokens->cursor, step, step);
    while ((status = ggs_cursor_next(tokens->cursor, &row, error)) > 0) {
        if (!ggs_array_push(tokens->step_sequences, tokens->n_step, tokens->step_capacity, row.sequence))
            return ggs_fail_memory(error);
    }
    return status < 0 ? status : 0;
}

// ---- collecting a batch ----

int ggs_expert_tokens_add(struct ggs_expert_tokens * tokens, uint64_t layer, uint64_t ids_tensor, const int64_t * ids,
                          uint64_t used, uint64_t n_tokens, uint64_t bytes, bool * first, struct ggs_error * error) {
    *first = false;
    if (layer >= MOST_LAYERS) return 0;
    for (uint64_t i = 0; i < tokens->n_choices; i++) {
        if (tokens->choices[i].layer != layer) continue;
        if (tokens->choices[i].ids_tensor == ids_tensor) tokens->choices[i].bytes += bytes;
        return 0;
    }
    uint64_t before = tokens->choices_capacity;
    if (!ggs_array_reserve(tokens->choices, tokens->choices_capacity, tokens->n_choices + 1))
        return ggs_fail_memory(error);
    if (tokens->choices_capacity > before)
        memset(tokens->choices + before, 0, (tokens->choices_capacity - before) * sizeof(*tokens->choices));
    struct choice * choice = &tokens->choices[tokens->n_choices];
    if (!ggs_array_reserve(choice->ids, choice->capacity, used * n_tokens)) return ggs_fail_memory(error);
    if (used * n_tokens > 0) memcpy(choice->ids, ids, used * n_tokens * sizeof(*ids));
    choice->layer      = layer;
    choice->ids_tensor = ids_tensor;
    choice->used       = used;
    choice->n_tokens   = n_tokens;
    choice->bytes      = bytes;
    tokens->n_choices++;
    *first = true;
    return 0;
}

// ---- counting a batch ----

static struct sequence * find_sequence(struct ggs_expert_tokens * tokens, int64_t number) {
    for (unsigned i = 0; i < tokens->n_sequences; i++) {
        if (tokens->sequences[i].number == number) return &tokens->sequences[i];
    }
    // If there are too many, the oldest is dropped.
    bool              room = tokens->n_sequences < MOST_SEQUENCES;
    struct sequence * sequence =
        &tokens->sequences[room ? tokens->n_sequences : tokens->next_sequence++ % MOST_SEQUENCES];
    free(sequence->layers);
    *sequence = (struct sequence){.number = number, .layers = calloc(MOST_LAYERS, sizeof(*sequence->layers))};
    if (room) tokens->n_sequences++;
    return sequence->layers == NULL ? NULL : sequence;
}

// Compares with the previous token and replaces it.
static void follow(struct sequence * sequence, struct ggs_experts_layer * layer, uint64_t at, const int64_t * ids,
                   uint64_t used) {
    uint64_t reused = 0, chosen = 0;
    bool     known = sequence->layers[at].position != 0 && sequence->layers[at].position + 1 == sequence->position;
    for (uint64_t i = 0; known && i < used; i++) {
        chosen += ids[i] >= 0 && (uint64_t) ids[i] < layer->experts;
        for (uint32_t k = 0; k < sequence->layers[at].n; k++) reused += sequence->layers[at].ids[k] == ids[i];
    }
    if (known) {
        layer->follows++;
        layer->chosen += chosen;
        layer->reused += reused;
        layer->all_predicted += reused == chosen;
        layer->none_predicted += reused == 0;
    }
    sequence->layers[at].position = sequence->position;
    sequence->layers[at].n        = 0;
    for (uint64_t i = 0; i < used; i++) {
        if (ids[i] >= 0 && (uint64_t) ids[i] < layer->experts)
            sequence->layers[at].ids[sequence->layers[at].n++] = (uint16_t) ids[i];
    }
}

static void count(struct ggs_experts_layer * layer, const int64_t * ids, uint64_t used) {
    layer->tokens++;
    for (uint64_t i = 0; i < used; i++) {
        if (ids[i] < 0 || (uint64_t) ids[i] >= layer->experts) continue;
        layer->activations++;
        layer->counts[ids[i]]++;
        for (uint64_t k = 0; layer->pairs != NULL && k < used; k++) {
            if (ids[k] > ids[i] && (uint64_t) ids[k] < layer->experts)
                layer->pairs[(uint64_t) ids[i] * layer->experts + (uint64_t) ids[k]]++;
        }
    }
}

// Adds the token to every window's set of experts.
static bool enter(struct ggs_expert_tokens * tokens, struct ggs_experts * experts, uint64_t at, const int64_t * ids,
                  uint64_t used) {
    struct ggs_experts_layer * layer = &experts->layers[at];
    struct used_list *         list  = &tokens->ring[experts->tokens % tokens->ring_length];
    int64_t                    now   = (int64_t) experts->tokens;
    for (uint64_t i = 0; i < used; i++) {
        if (ids[i] < 0 || (uint64_t) ids[i] >= layer->experts || layer->last_seen[ids[i]] == now) continue;
        for (unsigned s = 0; s < experts->n_sets; s++) {
            struct ggs_experts_set * set  = &experts->sets[s];
            int64_t                  last = layer->last_seen[ids[i]];
            if (last >= 0 && last > now - (int64_t) set->window) continue;
            set->now_experts++;
            set->now_bytes += layer->bytes;
        }
        layer->last_seen[ids[i]] = now;
        uint32_t expert          = (uint32_t) at << 12 | (uint32_t) ids[i];
        if (!ggs_array_push(list->experts, list->n, list->capacity, expert)) return false;
    }
    return true;
}

// Removes experts from a window's set that only the token leaving the window had used.
static void leave(struct ggs_expert_tokens * tokens, struct ggs_experts * experts) {
    int64_t now = (int64_t) experts->tokens;
    for (unsigned s = 0; s < experts->n_sets; s++) {
        struct ggs_experts_set * set  = &experts->sets[s];
        int64_t                  gone = now - (int64_t) set->window;
        if (gone < 0) continue;
        const struct used_list * list = &tokens->ring[(uint64_t) gone % tokens->ring_length];
        for (uint64_t i = 0; i < list->n; i++) {
            const struct ggs_experts_layer * layer = &experts->layers[list->experts[i] >> 12];
            if (layer->last_seen[list->experts[i] & 0xfff] != gone) continue;
            set->now_experts--;
            set->now_bytes -= layer->bytes;
        }
    }
    tokens->ring[experts->tokens % tokens->ring_length].n = 0;
}

static void sample(struct ggs_experts * experts) {
    experts->tokens++;
    for (unsigned s = 0; s < experts->n_sets; s++) {
        struct ggs_experts_set * set = &experts->sets[s];
        if (experts->tokens < set->window) continue;
        set->samples++;
        set->sum_experts += set->now_experts;
        set->sum_bytes += set->now_bytes;
        if (set->now_experts > set->most_experts) set->most_experts = set->now_experts;
        if (set->now_bytes > set->most_bytes) set->most_bytes = set->now_bytes;
    }
}

static int64_t sequence_number(const struct ggs_expert_tokens * tokens, uint64_t token) {
    if (tokens->n_step == 0) return 0;
    uint64_t at = tokens->step_offset + token;
    return tokens->step_sequences[at < tokens->n_step ? at : 0];
}

int ggs_expert_tokens_flush(struct ggs_expert_tokens * tokens, struct ggs_experts * experts, struct ggs_error * error) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < tokens->n_choices; i++) {
        struct choice *            choice = &tokens->choices[i];
        struct ggs_experts_layer * layer  = &experts->layers[choice->layer];
        if (choice->n_tokens > n) n = choice->n_tokens;
        if (choice->used > layer->used) layer->used = choice->used;
        if (layer->bytes == 0) layer->bytes = choice->bytes; // constant: the sets add and subtract it
    }
    for (uint64_t t = 0; t < n; t++) {
        struct sequence * sequence = find_sequence(tokens, sequence_number(tokens, t));
        if (sequence == NULL) return ggs_fail_memory(error);
        sequence->position++;
        leave(tokens, experts);
        for (uint64_t i = 0; i < tokens->n_choices; i++) {
            // The last layer computes only tokens whose output is requested: the last ones.
            const struct choice * choice = &tokens->choices[i];
            uint64_t              skip   = n - choice->n_tokens;
            if (t < skip) continue;
            const int64_t * ids = choice->ids + (t - skip) * choice->used;
            count(&experts->layers[choice->layer], ids, choice->used);
            follow(sequence, &experts->layers[choice->layer], choice->layer, ids, choice->used);
            if (!enter(tokens, experts, choice->layer, ids, choice->used)) return ggs_fail_memory(error);
        }
        sample(experts);
    }
    tokens->step_offset += n;
    tokens->n_choices = 0;
    return 0;
}
