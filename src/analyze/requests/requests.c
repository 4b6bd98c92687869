#include "analyze/requests/requests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/requests/shares.h"
#include "analyze/walk/times.h"
#include "base/array.h"
#include "base/error.h"

const char * ggs_request_kind_name(uint64_t kind) {
    static const char * const names[GGS_REQUEST_KINDS] = {
        [GGS_REQUEST_COMPLETION] = "completion", [GGS_REQUEST_PROMPT] = "prompt", [GGS_REQUEST_EMBEDDING] = "embedding",
        [GGS_REQUEST_SCORING] = "scoring",       [GGS_REQUEST_DRAFT] = "draft",   [GGS_REQUEST_WARMUP] = "warmup",
    };
    return kind < GGS_REQUEST_KINDS ? names[kind] : "";
}

void ggs_requests_release(struct ggs_requests * requests) {
    free(requests->request);
    free(requests->context);
    *requests = (struct ggs_requests){0};
}

struct list {
    struct ggs_requests *         requests;
    const struct ggs_step_costs * costs; // NULL if not requested
    struct ggs_map                contexts;
};

static struct ggs_request_context * context_of(struct list * list, uint64_t context) {
    struct ggs_requests * r     = list->requests;
    uint64_t *            index = ggs_map_put(&list->contexts, ggs_map_key_number(context));
    if (index == NULL) return NULL;
    if (*index == 0) {
        struct ggs_request_context row = {.context       = context,
                                          .target        = -1,
                                          .changes_seen  = true,
                                          .cells_peak_ns = -1,
                                          .last_step     = INT64_MIN,
                                          .unused_tokens = -1};
        if (!ggs_array_push(r->context, r->n_contexts, r->contexts_capacity, row)) return NULL;
        *index = r->n_contexts;
    }
    return &r->context[*index - 1];
}

static void add_costs(const struct list * list, struct ggs_request * request, const struct ggs_request_step * step) {
    struct ggs_step_share share;
    if (list->costs == NULL || !ggs_step_costs_share(list->costs, step->step, step->tokens, &share)) return;
    request->op_ns += share.wall_ns;
    request->bytes_read += share.read;
    request->bytes_written += share.written;
    request->bytes_disk += share.disk;
}

// Completes the latest batch of a context.
static void end_batch(struct ggs_request_context * context) {
    if (!context->batch.prompt) {
        context->without_prompt_ns[context->batch.verify] += context->batch.ns;
        context->parts[context->batch.verify] += context->batch.parts;
    }
    memset(&context->batch, 0, sizeof(context->batch));
}

static bool add_context(struct list * list, const struct ggs_request_step * step) {
    struct ggs_request_context *  context = context_of(list, step->context);
    struct ggs_sequence_context * state   = NULL;
    uint64_t index = ggs_map_get(&step->sequences->numbers, ggs_map_key_number(step->context)), cells = 0;
    int64_t  holders = 0;
    if (context == NULL) return false;
    if (step->phase != GGS_PHASE_WARMUP) {
        context->steps += context->last_step != step->step;
        context->last_step = step->step;
        if (context->last_decode != step->decode || step->decode == 0) {
            end_batch(context);
            context->batch.ns = ggs_time_between(step->begin_ns, step->end_ns);
            context->compute_ns += context->batch.ns;
        }
        context->last_decode = step->decode;
        context->batch.prompt |= step->part->prompt > 0;
        context->batch.verify |= step->phase == GGS_PHASE_VERIFY;
        context->batch.parts += !step->part->branch;
    }
    if (index == 0 || step->part != step->sequences->parts) return true; // once per batch
    state = step->sequences->contexts[index - 1];
    for (size_t i = 0; i < state->n_sequences; i++) {
        holders += state->sequences[i].n_cells > 0;
        cells += ggs_sequence_cells(&state->sequences[i]);
    }
    if ((int64_t) cells > context->cells_peak && !ggs_sequences_cells(state, &cells)) return false; // shared once
    if (holders > context->sequences_peak) context->sequences_peak = holders;
    if ((int64_t) cells > context->cells_peak)
        context->cells_peak = (int64_t) cells, context->cells_peak_ns = step->end_ns;
    return true;
}

static void add_time(struct ggs_request * request, const struct ggs_request_step * step) {
    if (request->decodes > 0) request->wait_ns += ggs_time_between(request->end_ns, step->begin_ns);
    request->decodes++;
    request->steps += request->last_step != step->step || step->step < 0;
    request->last_step = step->step;
    request->compute_ns += ggs_time_between(step->begin_ns, step->end_ns);
    if (step->end_ns > request->end_ns) request->end_ns = step->end_ns;
}

static int add_step(void * owner, const struct ggs_request_step * step, struct ggs_error * error) {
    struct list *                    list = owner;
    struct ggs_requests *            r    = list->requests;
    const struct ggs_sequence_part * part = step->part;
    if (part->begins) {
        struct ggs_request row = {.request         = step->request,
                                  .context         = step->context,
                                  .sequence        = step->sequence,
                                  .kind            = step->phase == GGS_PHASE_WARMUP ? GGS_REQUEST_WARMUP
                                                     : part->draft                   ? GGS_REQUEST_DRAFT
                                                                                     : GGS_REQUEST_PROMPT,
                                  .begin_ns        = step->begin_ns,
                                  .end_ns          = step->begin_ns,
                                  .first_output_ns = -1,
                                  .begun_before    = part->begun_before,
                                  .sample          = part->sample,
                                  .cached_tokens   = (int64_t) part->cached,
                                  .unused_tokens   = -1,
                                  .changes_seen    = true,
                                  .last_step       = INT64_MIN};
        if (!ggs_array_push(r->request, r->n, r->capacity, row)) return ggs_fail_memory(error);
    }
    // Numbers are in order of starts: request n is the n-th.
    if (step->request == 0 || step->request > r->n) return 0;
    struct ggs_request * request = &r->request[step->request - 1];
    if (!part->branch) add_time(request, step);
    request->prompt_tokens += (int64_t) part->prompt;
    request->generated_tokens += step->generated;
    request->decoded_tokens += (int64_t) part->fed;
    if (step->batch == NULL || step->batch->reads_known) {
        if (request->unused_tokens < 0) request->unused_tokens = 0;
        request->unused_tokens += (int64_t) part->unused;
    }
    request->embedding |= part->embedding;
    request->scored |= part->scored;
    if (part->unseen) request->changes_seen = false;
    request->paused |= part->paused;
    if (request->first_output_ns < 0 && !request->sample && step->outputs > 0 &&
        (step->generated > 0 || part->embedding || part->scored))
        request->first_output_ns = step->end_ns;
    if ((int64_t) step->cells > request->cells_peak) request->cells_peak = (int64_t) step->cells;
    if (step->batch == NULL) return 0;
    add_costs(list, request, step);
    return add_context(list, step) ? 0 : ggs_fail_memory(error);
}

static void settle(void * owner, const struct ggs_verify * verify, const struct ggs_settled * settled) {
    struct ggs_requests * r = ((struct list *) owner)->requests;
    if (verify->request == 0 || verify->request > r->n) return;
    struct ggs_request * request = &r->request[verify->request - 1];
    request->generated_tokens += (uint64_t) settled->generated;
    request->decoded_tokens += settled->generated;
    request->accepted_tokens += settled->accepted;
    request->rejected_tokens += settled->rejected;
    request->unsettled_tokens += settled->unsettled;
}

// Cells that were not recorded are not known.
static void hide_cells(struct ggs_request_context * context) {
    context->cells_peak = context->cells_peak_ns = context->sequences_peak = -1;
    context->removed_cells = context->copied_cells = context->moved_cells = context->cleared_cells = -1;
}

static int end(void * owner, const struct ggs_sequences * sequences, struct ggs_error * error) {
    for (size_t i = 0; i < sequences->n_contexts; i++) {
        const struct ggs_sequence_context * state = sequences->contexts[i];
        if (state->batches == 0) continue;
        struct ggs_request_context * context = context_of(owner, state->number);
        if (context == NULL) return ggs_fail_memory(error);
        context->target        = (int64_t) state->target - 1;
        context->removed       = state->removed;
        context->copied        = state->copied;
        context->moved         = state->moved;
        context->cleared       = state->cleared;
        context->removed_cells = (int64_t) state->removed_cells;
        context->copied_cells  = (int64_t) state->copied_cells;
        context->moved_cells   = (int64_t) state->moved_cells;
        context->cleared_cells = (int64_t) state->cleared_cells;
        context->changes_seen  = !state->unseen;
        if (sequences->gaps) hide_cells(context);
    }
    return 0;
}

// Computes the results that need all batches.
static void token_times(const struct ggs_requests * r, struct ggs_request_context * context) {
    uint64_t plain = context->parts[0], drafted = context->parts[1] + context->accepted_tokens;
    uint64_t ns = context->without_prompt_ns[1];
    context->ns_per_plain_token =
        context->target >= 0 || plain == 0 ? -1 : (int64_t) (context->without_prompt_ns[0] / plain);
    context->ns_per_drafted_token = -1;
    if (context->parts[1] == 0 || context->target >= 0) return;
    for (uint64_t i = 0; i < r->n_contexts; i++)
        if (r->context[i].target == (int64_t) context->context)
            ns += r->context[i].without_prompt_ns[0] + r->context[i].without_prompt_ns[1];
    context->ns_per_drafted_token = (int64_t) (ns / drafted);
}

// The beginning was not recorded: what depends on it is not known.
static void hide_beginning(struct ggs_request * request) {
    request->prompt_tokens = request->cached_tokens = request->cells_peak = -1;
    request->first_output_ns = request->time_to_first_ns = -1;
}

// After the first token, which a sample has at its begin.
static int64_t time_per_token(const struct ggs_request * request) {
    int64_t first = request->sample ? request->begin_ns : request->first_output_ns;
    if (first < 0 || request->generated_tokens < 2 || request->paused) return -1;
    return (int64_t) (ggs_time_between(first, request->end_ns) / (request->generated_tokens - 1));
}

static void finish(struct list * list) {
    struct ggs_requests * r = list->requests;
    for (uint64_t i = 0; i < r->n; i++) {
        struct ggs_request * request = &r->request[i];
        if (request->kind == GGS_REQUEST_PROMPT)
            request->kind = request->generated_tokens > 0 ? GGS_REQUEST_COMPLETION
                            : request->embedding          ? GGS_REQUEST_EMBEDDING
                            : request->scored             ? GGS_REQUEST_SCORING
                                                          : GGS_REQUEST_PROMPT;
        request->has_costs   = r->has_costs;
        request->duration_ns = (int64_t) ggs_time_between(request->begin_ns, request->end_ns);
        request->time_to_first_ns =
            request->first_output_ns < 0 ? -1 : (int64_t) ggs_time_between(request->begin_ns, request->first_output_ns);
        request->ns_per_token = time_per_token(request);
        if (request->begun_before) hide_beginning(request);
        if (request->kind == GGS_REQUEST_DRAFT) request->decoded_tokens = request->unused_tokens = -1;
        uint64_t index = ggs_map_get(&list->contexts, ggs_map_key_number(request->context));
        if (index == 0 || request->kind == GGS_REQUEST_WARMUP) continue;
        struct ggs_request_context * context = &r->context[index - 1];
        context->requests++;
        context->begun_before += request->begun_before;
        context->paused += request->paused;
        if (!request->begun_before) {
            context->prompt_tokens += (uint64_t) request->prompt_tokens;
            context->cached_tokens += (uint64_t) request->cached_tokens;
        }
        context->generated_tokens += request->generated_tokens;
        context->decoded_tokens =
            request->kind == GGS_REQUEST_DRAFT ? -1 : context->decoded_tokens + request->decoded_tokens;
        if (request->unused_tokens >= 0 && context->unused_tokens < 0) context->unused_tokens = 0;
        if (request->unused_tokens > 0) context->unused_tokens += request->unused_tokens;
        context->accepted_tokens += request->accepted_tokens;
        context->rejected_tokens += request->rejected_tokens;
    }
    for (uint64_t i = 0; i < r->n_contexts; i++) {
        struct ggs_request_context * context = &r->context[i];
        uint64_t                     drafts  = context->accepted_tokens + context->rejected_tokens;
        context->acceptance                  = drafts == 0 ? NAN : (double) context->accepted_tokens / (double) drafts;
        end_batch(context);
    }
    for (uint64_t i = 0; i < r->n_contexts; i++) token_times(r, &r->context[i]);
}

int ggs_requests_list(struct ggs_requests * requests, struct ggs_trace * trace, bool costs, struct ggs_error * error) {
    struct ggs_step_costs      shared  = {0};
    struct list                list    = {.requests = requests, .costs = costs ? &shared : NULL};
    struct ggs_request_visitor visitor = {.step = add_step, .settle = settle, .end = end, .owner = &list};
    *requests                          = (struct ggs_requests){.has_costs = costs};
    int status                         = costs ? ggs_step_costs_compute(&shared, trace, &ggs_totals_all, error) : 0;
    if (status == 0) status = ggs_requests_walk(trace, &visitor, error);
    if (status == 0) finish(&list);
    ggs_map_release(&list.contexts);
    ggs_step_costs_release(&shared);
    if (status < 0) ggs_requests_release(requests);
    return status;
}
