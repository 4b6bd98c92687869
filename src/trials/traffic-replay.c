// Requests of a recording that are sent to a server again.
#include <stdlib.h>
#include <string.h>

#include "analyze/requests/requests.h"
#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "trials/traffic.h"

enum { MOST_SLOTS = 1024, MOST_TOKENS = 1 << 20, MOST_AT_ONCE = 64 };

struct tokens {
    int64_t * list;
    size_t    n, capacity;
};

// Contents of the cells of a sequence, by position. A request's own tokens are added once they are
// known.
struct replay {
    struct tokens * slots; // by sequence
    struct tokens * prompts;
    size_t          n_prompts, capacity; // by request - 1
};

static bool set_token(struct tokens * tokens, int64_t position, int64_t token) {
    if (position < 0 || position >= MOST_TOKENS) return true; // damaged trace
    while ((int64_t) tokens->n <= position)
        if (!ggs_array_push(tokens->list, tokens->n, tokens->capacity, -1)) return false;
    tokens->list[position] = token;
    return true;
}

static struct tokens * prompt_of(struct replay * replay, uint64_t request) {
    while (replay->n_prompts < request)
        if (!ggs_array_push(replay->prompts, replay->n_prompts, replay->capacity, (struct tokens){0})) return NULL;
    return &replay->prompts[request - 1];
}

static int add_step(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    struct replay *                   replay = owner;
    const struct ggs_sequence_batch * batch  = step->batch;
    bool                              prompt = step->phase == GGS_PHASE_PROMPT;
    if (batch == NULL || step->part->draft || step->sequence < 0 || step->sequence >= MOST_SLOTS ||
        step->request == 0 || step->request > MOST_TOKENS)
        return 0;
    struct tokens * cells = &replay->slots[step->sequence];
    int64_t         end   = 0;
    for (uint64_t i = 0; i < batch->n; i++) {
        if (batch->sequence[i] != step->sequence) continue;
        if (!set_token(cells, batch->position[i], batch->token[i])) return ggs_fail_memory(error);
        if (batch->position[i] + 1 > end) end = batch->position[i] + 1;
    }
    struct tokens * own = prompt ? prompt_of(replay, step->request) : NULL;
    if (prompt && own == NULL) return ggs_fail_memory(error);
    for (int64_t i = 0; prompt && i < end && i < (int64_t) cells->n; i++)
        if (!set_token(own, i, cells->list[i])) return ggs_fail_memory(error);
    return 0;
}

// The list of requests says how many drafted tokens were accepted.
static void settle(void * owner, const struct ggs_verify * verify, const struct ggs_settled * settled) {
    (void) owner, (void) verify, (void) settled;
}

static char * body_of(const struct tokens * prompt, uint64_t generated) {
    struct ggs_text text = {0};
    struct ggs_json json;
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    ggs_json_object(&json, NULL);
    ggs_json_array(&json, "prompt");
    for (size_t i = 0; i < prompt->n; i++) ggs_json_i64(&json, NULL, prompt->list[i]);
    ggs_json_end(&json);
    ggs_json_u64(&json, "n_predict", generated);
    ggs_json_u64(&json, "temperature", 0);
    ggs_json_u64(&json, "seed", 1);
    ggs_json_bool(&json, "ignore_eos", true); // as many tokens as were recorded
    ggs_json_end(&json);
    ggs_json_finish(&json);
    char * body = text.failed ? NULL : strdup(ggs_text_string(&text));
    ggs_text_release(&text);
    return body;
}

static bool is_known(const struct tokens * prompt) {
    for (size_t i = 0; i < prompt->n; i++)
        if (prompt->list[i] < 0) return false;
    return prompt->n > 0;
}

static int add_all(struct ggs_traffic * traffic, const struct replay * replay, const struct ggs_requests * requests,
                   struct ggs_error * error) {
    int64_t first = -1;
    for (uint64_t i = 0; i < requests->n; i++) {
        const struct ggs_request * r = &requests->request[i];
        if (r->kind != GGS_REQUEST_COMPLETION || r->request == 0 || r->request > replay->n_prompts) continue;
        const struct tokens * prompt = &replay->prompts[r->request - 1];
        if (!is_known(prompt)) continue; // of images, or begun before the recording
        if (first < 0) first = r->begin_ns;
        struct ggs_traffic_request request = {.body  = body_of(prompt, r->generated_tokens),
                                              .at_ns = r->begin_ns > first ? (uint64_t) (r->begin_ns - first) : 0};
        if (request.body == NULL || !ggs_array_push(traffic->request, traffic->n, traffic->capacity, request)) {
            free(request.body);
            return ggs_fail_memory(error);
        }
    }
    return 0;
}

int ggs_traffic_replay(struct ggs_traffic * traffic, const char * directory, struct ggs_error * error) {
    struct ggs_trace           trace;
    struct ggs_requests        requests = {0};
    struct replay              replay   = {.slots = calloc(MOST_SLOTS, sizeof(*replay.slots))};
    struct ggs_request_visitor visitor  = {.step = add_step, .settle = settle, .owner = &replay};
    *traffic                            = (struct ggs_traffic){.at_once = MOST_AT_ONCE};
    int status                          = replay.slots == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0 && (status = ggs_trace_open(&trace, directory, error)) == 0) {
        status = ggs_requests_walk(&trace, &visitor, error);
        if (status >= 0) status = ggs_requests_list(&requests, &trace, false, error);
        if (status >= 0) status = add_all(traffic, &replay, &requests, error);
        ggs_requests_release(&requests);
        ggs_trace_close(&trace);
    }
    for (size_t i = 0; replay.slots != NULL && i < MOST_SLOTS; i++) free(replay.slots[i].list);
    for (size_t i = 0; i < replay.n_prompts; i++) free(replay.prompts[i].list);
    free(replay.slots);
    free(replay.prompts);
    if (status >= 0 && traffic->n == 0)
        status = ggs_fail(error, GGS_ABSENT,
                          "%s has no request whose prompt is known: record a server, or leave out --replay", directory);
    if (status < 0) ggs_traffic_release(traffic);
    return status < 0 ? status : 0;
}
