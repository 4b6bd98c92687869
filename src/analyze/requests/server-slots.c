#include "analyze/requests/server-slots.h"

#include <stdlib.h>

#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

void ggs_slots_release(struct ggs_slots * slots) {
    ggs_requests_release(&slots->list);
    free(slots->piece);
    free(slots->request);
    *slots = (struct ggs_slots){0};
}

struct gathering {
    struct ggs_slots *         slots;
    struct ggs_timeline_window window;
    struct ggs_slot_request *  all; // by request: slots->request while being filled
    struct newest {
        uint64_t              piece, request; // numbers, 0 for none
        struct ggs_slot_piece before;         // the last one before the window, if it has a request
        bool                  closed;         // a piece after the window was seen
    } newest[GGS_SLOTS_MOST];
};

static bool is_shown(const struct ggs_request * request) {
    return request->kind != GGS_REQUEST_WARMUP && request->kind != GGS_REQUEST_DRAFT;
}

static int compare(const struct ggs_request_slot * a, uint64_t context, int64_t sequence) {
    if (a->context != context) return a->context < context ? -1 : 1;
    return a->sequence < sequence ? -1 : a->sequence > sequence;
}

// Returns its index, or the insertion point.
static uint64_t find(const struct ggs_slots * slots, uint64_t context, int64_t sequence, bool * found) {
    uint64_t i = 0;
    while (i < slots->n && compare(&slots->slot[i], context, sequence) < 0) i++;
    *found = i < slots->n && compare(&slots->slot[i], context, sequence) == 0;
    return i;
}

static int by_slot(const void * a, const void * b) {
    const struct ggs_request_slot *x = a, *y = b;
    return compare(x, y->context, y->sequence);
}

// Lists the first slots in order, and the number of others.
static int list_slots(struct ggs_slots * slots, struct ggs_error * error) {
    struct ggs_request_slot * all = calloc(slots->list.n + 1, sizeof(*all));
    uint64_t                  n   = 0;
    if (all == NULL) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < slots->list.n; i++) {
        const struct ggs_request * request = &slots->list.request[i];
        if (is_shown(request)) all[n++] = (struct ggs_request_slot){request->context, request->sequence};
    }
    qsort(all, n, sizeof(*all), by_slot);
    for (uint64_t i = 0; n > 1 && i < n; i++) {
        if (i > 0 && by_slot(&all[i - 1], &all[i]) == 0) continue;
        if (slots->n < GGS_SLOTS_MOST)
            slots->slot[slots->n++] = all[i];
        else
            slots->more++;
    }
    free(all);
    return 0;
}

static uint64_t pixel_of(const struct ggs_timeline_window * window, int64_t ns) {
    double whole = (double) (window->end_ns - window->begin_ns);
    return ns <= window->begin_ns ? 0 : (uint64_t) ((double) (ns - window->begin_ns) / whole * (double) window->pixels);
}

// Merges a piece into the previous one.
static void join(struct ggs_slot_piece * a, const struct ggs_slot_piece * b, bool is_another_request) {
    if (b->end_ns > a->end_ns) a->end_ns = b->end_ns;
    a->prompt_ns += b->prompt_ns;
    a->tokens_ns += b->tokens_ns;
    a->requests += is_another_request;
    if (b->others > a->others) a->others = b->others;
}

static int add_piece(struct gathering * g, const struct ggs_slot_piece * piece, struct ggs_error * error) {
    struct ggs_slots *      slots              = g->slots;
    struct newest *         newest             = &g->newest[piece->slot];
    struct ggs_slot_piece * last               = newest->piece > 0 ? &slots->piece[newest->piece - 1] : NULL;
    bool                    is_another_request = newest->request != piece->request;
    newest->request                            = piece->request;
    if (last != NULL && last->end_ns > g->window.begin_ns &&
        pixel_of(&g->window, last->begin_ns) == pixel_of(&g->window, piece->begin_ns)) {
        join(last, piece, is_another_request);
        return 0;
    }
    if (!ggs_array_push(slots->piece, slots->n_pieces, slots->pieces_capacity, *piece)) return ggs_fail_memory(error);
    newest->piece = slots->n_pieces;
    return 0;
}

// Keeps the nearest pieces outside of the window of requests that continue in it: the wait between
// two pieces shows at the edges too, and in a window without a decode.
static int add_if_seen(struct gathering * g, const struct ggs_slot_piece * piece, struct ggs_error * error) {
    struct newest * newest = &g->newest[piece->slot];
    int             status = 0;
    if (newest->closed) return 0;
    if (piece->end_ns <= g->window.begin_ns) {
        newest->before = *piece;
        return 0;
    }
    if (newest->piece == 0 && newest->before.request == piece->request) status = add_piece(g, &newest->before, error);
    newest->closed = piece->begin_ns >= g->window.end_ns;
    return status < 0 || (newest->closed && newest->request != piece->request) ? status : add_piece(g, piece, error);
}

static int add_step(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    struct gathering * g     = owner;
    struct ggs_slots * slots = g->slots;
    bool               found = false;
    if (step->request == 0 || step->request > slots->list.n || step->part->branch) return 0;
    if (!is_shown(&slots->list.request[step->request - 1])) return 0;
    uint64_t              slot      = find(slots, step->context, step->sequence, &found);
    uint64_t              ns        = ggs_time_between(step->begin_ns, step->end_ns);
    bool                  is_prompt = step->phase == GGS_PHASE_PROMPT;
    struct ggs_slot_piece piece     = {.slot      = slot,
                                       .begin_ns  = step->begin_ns,
                                       .end_ns    = step->end_ns,
                                       .prompt_ns = is_prompt ? ns : 0,
                                       .tokens_ns = is_prompt ? 0 : ns,
                                       .request   = step->request,
                                       .requests  = 1};
    for (size_t i = 0; i < step->sequences->n_parts; i++)
        piece.others += !step->sequences->parts[i].branch && step->sequences->parts[i].request != step->request;
    struct ggs_slot_request * whole = &g->all[step->request - 1];
    whole->prompt_ns += piece.prompt_ns;
    whole->tokens_ns += piece.tokens_ns;
    if (piece.others > whole->others) whole->others = piece.others;
    return found ? add_if_seen(g, &piece, error) : 0;
}

// Keeps requests with a piece of their own.
static void list_requests(struct gathering * g) {
    struct ggs_slots * slots = g->slots;
    for (uint64_t i = 0; i < slots->n_pieces; i++)
        if (slots->piece[i].requests == 1) g->all[slots->piece[i].request - 1].has_piece = true;
    for (uint64_t i = 0; i < slots->list.n; i++) {
        if (!g->all[i].has_piece) continue;
        g->all[i].request           = slots->list.request[i];
        g->all[slots->n_requests++] = g->all[i];
    }
}

int ggs_slots_compute(struct ggs_slots * slots, struct ggs_trace * trace, struct ggs_timeline_window window,
                      struct ggs_error * error) {
    struct gathering           g       = {.slots = slots, .window = window};
    struct ggs_request_visitor visitor = {.step = add_step, .owner = &g};
    *slots                             = (struct ggs_slots){0};
    int status                         = ggs_requests_list(&slots->list, trace, false, error);
    if (status == 0) status = list_slots(slots, error);
    if (status == 0 && slots->n > 0) {
        g.all = slots->request = calloc(slots->list.n, sizeof(*g.all));
        status                 = g.all == NULL ? ggs_fail_memory(error) : ggs_requests_walk(trace, &visitor, error);
        if (status == 0) list_requests(&g);
    }
    if (status < 0) ggs_slots_release(slots);
    return status;
}
