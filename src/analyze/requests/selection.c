#include "analyze/requests/selection.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/requests/requests.h"
#include "base/array.h"
#include "base/error.h"

void ggs_selection_free(struct ggs_selection * selection) {
    if (selection == NULL) return;
    free(selection->steps);
    free(selection);
}

bool ggs_selection_wants(const struct ggs_selection * s, const struct ggs_request_step * step) {
    if (s == NULL) return true;
    return (s->request == 0 || s->request - 1 == step->request) &&
           (s->context == 0 || s->context - 1 == step->context) &&
           (s->sequence == 0 || (int64_t) s->sequence - 1 == step->sequence);
}

struct making {
    struct ggs_selection * selection;
    uint64_t               capacity, requests;
};

static int add_step(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    struct making *        making = owner;
    struct ggs_selection * s      = making->selection;
    if (step->request > making->requests) making->requests = step->request;
    if (step->step < 0 || !ggs_selection_wants(s, step)) return 0;
    uint64_t word = (uint64_t) step->step / 64;
    if (word > UINT32_MAX || !ggs_array_reserve(s->steps, making->capacity, word + 1)) return ggs_fail_memory(error);
    for (; s->n_words <= word; s->n_words++) s->steps[s->n_words] = 0;
    s->steps[word] |= UINT64_C(1) << (step->step % 64);
    if (s->first_step < 0 || step->step < s->first_step) s->first_step = step->step;
    return 0;
}

static int refuse(const struct ggs_selection * s, uint64_t requests, struct ggs_error * error) {
    if (requests == 0) return ggs_fail(error, GGS_ABSENT, "this recording has no requests");
    if (s->request > 0 && s->sequence == 0 && s->context == 0)
        return s->request - 1 == 0 || s->request - 1 > requests
                   ? ggs_fail(error, GGS_ABSENT,
                              "there is no request %" PRIu64 ": this recording has requests 1 to %" PRIu64,
                              s->request - 1, requests)
                   : ggs_fail(error, GGS_ABSENT, "request %" PRIu64 " is a warm-up, which has no token steps",
                              s->request - 1);
    if (s->sequence > 0 && s->request == 0 && s->context == 0)
        return ggs_fail(error, GGS_ABSENT,
                        "there is no sequence %" PRIu64 " in this recording; ggscope requests lists them",
                        s->sequence - 1);
    if (s->context > 0 && s->request == 0 && s->sequence == 0)
        return ggs_fail(error, GGS_ABSENT,
                        "there is no context %" PRIu64 " in this recording; ggscope requests lists them",
                        s->context - 1);
    return ggs_fail(error, GGS_ABSENT,
                    "no op belongs to that request, sequence and context; ggscope requests lists them");
}

int ggs_selection_make(struct ggs_selection ** out, struct ggs_trace * trace, const struct ggs_asked * choice,
                       struct ggs_error * error) {
    *out = NULL;
    if (choice->request == 0 && choice->sequence == 0 && choice->context == 0) return 0;
    struct ggs_selection * s = calloc(1, sizeof(*s));
    if (s == NULL) return ggs_fail_memory(error);
    *s = (struct ggs_selection){
        .request = choice->request, .sequence = choice->sequence, .context = choice->context, .first_step = -1};
    struct making              making  = {.selection = s};
    struct ggs_request_visitor visitor = {.step = add_step, .owner = &making};
    int                        status  = ggs_requests_walk(trace, &visitor, error);
    if (status == 0 && s->first_step < 0) status = refuse(s, making.requests, error);
    if (status < 0)
        ggs_selection_free(s);
    else
        *out = s;
    return status;
}
