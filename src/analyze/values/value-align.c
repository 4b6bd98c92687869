#include "analyze/values/value-align.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

// A pass of B with tokens that A has not reached.
struct pending {
    struct ggs_value_pass pass;
    uint64_t              serial, left; // tokens that A has not reached
};

struct ggs_value_align {
    struct ggs_value_diff *   diff;
    struct ggs_value_passes * reader;
    struct pending *          pending;
    uint64_t                  n_pending, pending_capacity, serial, pending_tokens;
    struct ggs_map            places;  // (lane, position) -> serial << 32 | token + 1
    struct ggs_map            reached; // lane -> newest position + 2
    struct ggs_map            parted;  // lane -> 1
    struct ggs_value_found *  found;
    uint64_t                  found_capacity;
};

static struct ggs_map_key place_key(uint64_t lane, int64_t position) {
    return (struct ggs_map_key){lane, (uint64_t) position + 1};
}

static void drop_pending(struct ggs_value_align * w, uint64_t i) {
    struct pending * p = &w->pending[i];
    for (uint64_t t = 0; t < p->pass.n_tokens; t++) {
        struct ggs_map_key key = place_key(p->pass.tokens[t].lane, p->pass.tokens[t].position);
        if (ggs_map_get(&w->places, key) >> 32 == p->serial) ggs_map_remove(&w->places, key);
    }
    w->pending_tokens -= p->pass.n_tokens;
    ggs_value_pass_release(&p->pass);
    memmove(p, p + 1, (w->n_pending - i - 1) * sizeof(*p));
    w->n_pending--;
}

// Reads one more pass of B. Returns 1 if there is one, 0 at the end.
static int pull(struct ggs_value_align * w, struct ggs_error * error) {
    struct pending fresh  = {.serial = ++w->serial};
    int            status = ggs_value_passes_next(w->reader, &fresh.pass, error);
    if (status <= 0) return status;
    fresh.left = fresh.pass.n_tokens;
    for (uint64_t t = 0; t < fresh.pass.n_tokens; t++) {
        const struct ggs_value_where * where = &fresh.pass.tokens[t];
        uint64_t *                     place = ggs_map_put(&w->places, place_key(where->lane, where->position));
        if (place != NULL) *place = fresh.serial << 32 | (t + 1);
        uint64_t * reached = place == NULL ? NULL : ggs_map_put(&w->reached, ggs_map_key_number(where->lane | 1));
        if (reached == NULL) {
            ggs_value_pass_release(&fresh.pass);
            return ggs_fail_memory(error);
        }
        if (*reached < (uint64_t) where->position + 2) *reached = (uint64_t) where->position + 2;
    }
    w->pending_tokens += fresh.pass.n_tokens;
    if (ggs_array_push(w->pending, w->n_pending, w->pending_capacity, fresh)) return 1;
    ggs_value_pass_release(&fresh.pass);
    return ggs_fail_memory(error);
}

static bool is_missing(const struct ggs_value_align * w, const struct ggs_value_where * where) {
    if (where->position < 0 || ggs_map_get(&w->parted, ggs_map_key_number(where->lane | 1)) != 0) return false;
    return ggs_map_get(&w->places, place_key(where->lane, where->position)) == 0 &&
           ggs_map_get(&w->reached, ggs_map_key_number(where->lane | 1)) < (uint64_t) where->position + 2;
}

static void find_token(struct ggs_value_align * w, const struct ggs_value_pass * pass, uint64_t t) {
    const struct ggs_value_where * where = &pass->tokens[t];
    struct ggs_value_diff *        diff  = w->diff;
    struct ggs_map_key             lane  = ggs_map_key_number(where->lane | 1);
    w->found[t]                          = (struct ggs_value_found){0};
    uint64_t place = where->position < 0 ? 0 : ggs_map_get(&w->places, place_key(where->lane, where->position));
    for (uint64_t i = 0; place != 0 && i < w->n_pending; i++) {
        struct pending * p = &w->pending[i];
        if (p->serial != place >> 32) continue;
        int32_t token = (int32_t) (place & UINT32_MAX) - 1;
        p->left -= p->left > 0;
        if (ggs_map_get(&w->parted, lane) != 0) break;
        if (p->pass.tokens[token].token == where->token) {
            w->found[t] = (struct ggs_value_found){&p->pass, token};
            diff->tokens++;
            return;
        }
        uint64_t * parted = ggs_map_put(&w->parted, lane);
        if (parted != NULL) *parted = 1;
        if (diff->parted < 0) diff->parted = where->position, diff->parted_sequence = where->sequence;
        break;
    }
    diff->tokens_only_a++;
}

int ggs_value_align_next(struct ggs_value_align * w, const struct ggs_value_pass * pass,
                         const struct ggs_value_found ** found, struct ggs_error * error) {
    enum { PENDING = 4096 };
    uint64_t n      = pass->n_tokens;
    int      status = 1;
    if (!ggs_array_reserve(w->found, w->found_capacity, n + 1)) return ggs_fail_memory(error);
    for (uint64_t t = 0; t < n && status >= 0; t++)
        while (status > 0 && is_missing(w, &pass->tokens[t])) {
            status = pull(w, error);
            // Passes of a text that A does not have must not accumulate without bound.
            while (w->n_pending > 1 && w->pending_tokens > PENDING + 4 * n) drop_pending(w, 0);
        }
    if (status < 0) return status;
    for (uint64_t t = 0; t < n; t++) find_token(w, pass, t);
    *found = w->found;
    return 0;
}

void ggs_value_align_done(struct ggs_value_align * w) {
    for (uint64_t i = w->n_pending; i-- > 0;)
        if (w->pending[i].left == 0) drop_pending(w, i);
}

int ggs_value_align_new(struct ggs_value_align ** align, struct ggs_value_diff * diff, struct ggs_trace * b,
                        struct ggs_error * error) {
    *align = calloc(1, sizeof(**align));
    if (*align == NULL) return ggs_fail_memory(error);
    (*align)->diff = diff;
    return ggs_value_passes_open(&(*align)->reader, b, &diff->b, error);
}

void ggs_value_align_free(struct ggs_value_align * w) {
    if (w == NULL) return;
    while (w->n_pending > 0) drop_pending(w, w->n_pending - 1);
    ggs_value_passes_close(w->reader);
    free(w->pending);
    free(w->found);
    ggs_map_release(&w->places);
    ggs_map_release(&w->reached);
    ggs_map_release(&w->parted);
    free(w);
}
