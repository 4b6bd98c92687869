#include "trace/seal/runs/steps.h"

#include <stdlib.h>
#include <string.h>

// The open step of an idle context delays the steps of others. Beyond this many it counts as
// closed.
enum { QUEUE_MAX = 1024 };

static void free_step(struct ggs_open_step * step) {
    free(step->tokens);
    free(step);
}

void ggs_steps_release(struct ggs_steps * steps) {
    for (size_t i = 0; i < steps->n_contexts; i++) free(steps->contexts[i]);
    for (size_t i = 0; i < steps->n_decodes; i++) ggs_seal_batch_release(&steps->decodes[i].batch);
    for (size_t i = 0; i < steps->n_queue; i++) free_step(steps->queue[i]);
    free(steps->contexts);
    free(steps->decodes);
    free(steps->queue);
    ggs_sequences_release(&steps->sequences);
    ggs_survey_release(&steps->survey);
}

// ---- contexts ----

static struct ggs_seal_context * find_context(struct ggs_steps * steps, uint64_t key) {
    for (size_t i = steps->n_contexts; i-- > 0;)
        if (steps->contexts[i]->key == key) return steps->contexts[i];
    return NULL;
}

// Finds the context of a scheduler, if known.
static struct ggs_seal_context * find_scheduler(struct ggs_steps * steps, uint64_t scheduler) {
    for (size_t i = steps->n_contexts; i-- > 0;)
        if (steps->contexts[i]->key == scheduler || (scheduler != 0 && steps->contexts[i]->scheduler == scheduler))
            return steps->contexts[i];
    return NULL;
}

static struct ggs_seal_context * add_context(struct ggs_steps * steps, uint64_t key, uint64_t model, uint64_t memory,
                                             int64_t ns) {
    struct ggs_seal_context * context = calloc(1, sizeof(*context));
    if (context == NULL || !ggs_array_reserve(steps->contexts, steps->contexts_capacity, steps->n_contexts + 1)) {
        ggs_writer_fail_memory(steps->writer);
        free(context);
        return NULL;
    }
    *context = (struct ggs_seal_context){
        .key = key, .number = steps->n_contexts, .model = model, .memory = memory, .begin_ns = ns};
    steps->contexts[steps->n_contexts++]   = context;
    struct ggs_sequence_context * sequence = ggs_sequences_context(&steps->sequences, context->number);
    if (sequence != NULL) sequence->no_memory = model != 0 && memory == 0; // embedding models
    return context;
}

// Targets are known once everything is read.
static void write_contexts(struct ggs_steps * steps) {
    for (size_t i = 0; i < steps->n_contexts; i++) {
        const struct ggs_seal_context * context = steps->contexts[i];
        struct ggs_context              row     = {.context  = context->number,
                                                   .address  = context->key,
                                                   .model    = context->model,
                                                   .memory   = context->memory,
                                                   .begin_ns = context->begin_ns,
                                                   .target   = context->target,
                                                   .read     = context->read};
        ggs_writer_append(steps->writer, GGS_TABLE_CONTEXTS, &row);
    }
}

static struct ggs_seal_context * get_context(struct ggs_steps * steps, uint64_t key, int64_t ns) {
    struct ggs_seal_context * context = find_context(steps, key);
    return context != NULL ? context : add_context(steps, key, 0, 0, ns);
}

void ggs_steps_context(struct ggs_steps * steps, uint64_t key, uint64_t model, uint64_t memory, int64_t ns) {
    // A reused address is a new context; the old one's steps are complete.
    struct ggs_seal_context * old = find_context(steps, key);
    if (old != NULL && old->step != NULL) old->step->closed = true;
    add_context(steps, key, model, memory, ns);
}

void ggs_steps_warmup(struct ggs_steps * steps, uint64_t key, bool on, int64_t ns) {
    struct ggs_seal_context * context = get_context(steps, key, ns);
    if (context != NULL) context->warmup = on;
}

static void change_one(struct ggs_steps * steps, struct ggs_seal_context * context, struct ggs_memory_change * change) {
    change->context = context->number;
    if (change->kind == GGS_MEMORY_CLEAR ||
        (change->kind == GGS_MEMORY_REMOVE && change->sequence < 0 && change->from <= 0 && change->to < 0))
        context->cleared = true;
    ggs_writer_append(steps->writer, GGS_TABLE_MEMORY_CHANGES, change);
    if (!ggs_sequences_change(&steps->sequences, change)) ggs_writer_fail_memory(steps->writer);
}

void ggs_steps_change(struct ggs_steps * steps, uint64_t object, struct ggs_memory_change change) {
    change.decode = steps->newest_decode;
    change.step   = steps->next_step - 1;
    for (size_t i = steps->n_contexts; object != 0 && i-- > 0;) {
        struct ggs_seal_context * context = steps->contexts[i];
        if (context->memory != object && context->key != object) continue;
        change_one(steps, context, &change);
        return; // the newest one: addresses are reused
    }
}

static void find_target(struct ggs_steps * steps, struct ggs_seal_context * context) {
    for (size_t i = 0; context->target == 0 && i < steps->survey.n_drafts; i++) {
        if (steps->survey.drafts[i].context != context->key) continue;
        struct ggs_seal_context * target = find_context(steps, steps->survey.drafts[i].target);
        if (target == NULL || target == context) continue;
        context->target = target->number + 1;
        ggs_sequences_draft(&steps->sequences, context->number, target->number);
    }
}

// Returns the batch's phase, and whether a request begins in it.
static enum ggs_phase classify(struct ggs_steps * steps, struct ggs_seal_context * context,
                               const struct ggs_seal_batch * batch, bool warmup, bool * begins) {
    struct ggs_sequence_batch fed = ggs_seal_batch_fed(batch);
    enum ggs_phase            phase;
    fed.warmup     = warmup;
    fed.embeddings = ggs_map_get(&steps->survey.embeddings, ggs_map_key_number(batch->decode)) != 0;
    fed.verify     = ggs_map_get(&steps->survey.verifies, ggs_map_key_number(batch->decode)) != 0;
    find_target(steps, context);
    if (!ggs_sequences_batch(&steps->sequences, context->number, &fed, &phase)) ggs_writer_fail_memory(steps->writer);
    *begins = false;
    for (size_t i = 0; i < steps->sequences.n_parts; i++) *begins |= steps->sequences.parts[i].begins;
    return phase;
}

// ---- steps ----

static void add_texts(struct ggs_steps * steps, struct ggs_open_step * step) {
    if (steps->options == NULL || steps->options->token_text == NULL || step->row.context >= steps->n_contexts) return;
    const char * path = steps->model_file(steps->owner, steps->contexts[step->row.context]->model);
    for (size_t i = 0; path != NULL && i < step->n_tokens; i++) {
        char   text[256];
        size_t n = steps->options->token_text(steps->options->token_text_context, path, step->tokens[i].token, text,
                                              sizeof(text));
        if (n > 0) step->tokens[i].text = ggs_writer_string(steps->writer, text, n);
    }
}

static void write_step(struct ggs_steps * steps, struct ggs_open_step * step) {
    add_texts(steps, step);
    step->row.first_token = ggs_writer_next_row(steps->writer, GGS_TABLE_TOKENS);
    step->row.tokens      = step->n_tokens;
    ggs_writer_append(steps->writer, GGS_TABLE_STEPS, &step->row);
    for (size_t i = 0; i < step->n_tokens; i++) {
        step->tokens[i].index = i;
        ggs_writer_append(steps->writer, GGS_TABLE_TOKENS, &step->tokens[i]);
    }
    for (size_t i = 0; i < steps->n_contexts; i++)
        if (steps->contexts[i]->step == step) steps->contexts[i]->step = NULL;
    for (size_t i = 0; i < steps->n_decodes; i++)
        if (steps->decodes[i].step == step) steps->decodes[i].step = NULL;
    free_step(step);
}

static void write_front(struct ggs_steps * steps, bool all) {
    size_t n = 0;
    while (n < steps->n_queue &&
           (all || (steps->queue[n]->closed && steps->queue[n]->waiting == 0) || steps->n_queue - n > QUEUE_MAX))
        write_step(steps, steps->queue[n++]);
    if (n > 0) memmove(steps->queue, steps->queue + n, (steps->n_queue - n) * sizeof(*steps->queue));
    steps->n_queue -= n;
}

static struct ggs_open_step * add_step(struct ggs_steps * steps, struct ggs_seal_context * context,
                                       enum ggs_phase phase, int64_t ns) {
    if (context->step != NULL) context->step->closed = true;
    write_front(steps, false);
    struct ggs_open_step * step = calloc(1, sizeof(*step));
    if (step == NULL || !ggs_array_reserve(steps->queue, steps->queue_capacity, steps->n_queue + 1)) {
        ggs_writer_fail_memory(steps->writer);
        free(step);
        return NULL;
    }
    step->row                      = (struct ggs_step){.step     = phase == GGS_PHASE_WARMUP ? -1 : steps->next_step++,
                                                       .phase    = phase,
                                                       .context  = context->number,
                                                       .begin_ns = ns,
                                                       .end_ns   = ns};
    steps->queue[steps->n_queue++] = step;
    return context->step           = step;
}

// Makes the batch a step, or part of the context's newest one.
static struct ggs_open_step * assign_step(struct ggs_steps * steps, struct ggs_seal_context * context,
                                          const struct ggs_seal_batch * batch, bool warmup, int64_t ns) {
    bool                   begins = false;
    struct ggs_open_step * step   = context->step;
    enum ggs_phase         phase  = classify(steps, context, batch, warmup, &begins);
    if (phase == GGS_PHASE_NONE) phase = batch->dropped == 1 ? GGS_PHASE_GENERATE : GGS_PHASE_PROMPT;
    if (warmup) phase = GGS_PHASE_WARMUP;
    if (step == NULL || phase != GGS_PHASE_PROMPT || step->row.phase != GGS_PHASE_PROMPT || context->cleared || begins)
        step = add_step(steps, context, phase, ns);
    context->cleared = false;
    if (step == NULL) return NULL;
    if (!ggs_writer_reserve(steps->writer, step->tokens, step->capacity, step->n_tokens + batch->n)) return NULL;
    step->row.decodes++;
    context->newest = step->n_tokens;
    for (uint64_t i = 0; i < batch->n; i++)
        step->tokens[step->n_tokens++] = (struct ggs_token){.step     = step->row.step,
                                                            .token    = batch->token[i],
                                                            .position = batch->position[i],
                                                            .sequence = batch->sequence[i],
                                                            .output   = batch->output[i],
                                                            .decode   = batch->decode,
                                                            .read     = batch->reads_known && batch->output[i] != 0};
    struct ggs_memory_change change;
    for (uint64_t at = 0; ggs_seal_batch_copy(batch, &at, &change);) {
        change.step     = step->row.step;
        change.begin_ns = ns;
        change_one(steps, context, &change);
    }
    return step;
}

static void add_run(struct ggs_open_step * step, struct ggs_run * run) {
    run->step    = step->row.step;
    run->phase   = step->row.phase;
    run->context = (int64_t) step->row.context;
    if (step->row.runs++ == 0) step->row.first_run = run->run;
    step->row.last_run = run->run;
}

// ---- decodes ----

// The context's first decode: pass 1 knows whether any of its outputs is read.
static void learn_reading(struct ggs_steps * steps, struct ggs_seal_context * context,
                          const struct ggs_seal_batch * batch) {
    bool                          read = ggs_map_get(&steps->survey.readers, ggs_map_key_number(batch->decode)) != 0;
    struct ggs_sequence_context * sequence = ggs_sequences_context(&steps->sequences, context->number);
    if (!batch->reads_known) return;
    context->read = read ? GGS_READ_BY_PROGRAM : GGS_READ_NEVER;
    if (sequence != NULL) sequence->never_read = !read;
}

void ggs_steps_decode(struct ggs_steps * steps, const void * body, size_t length, int64_t ns) {
    struct ggs_journal_decode decode;
    struct ggs_open_decode    open = {0};
    if (!ggs_writer_reserve(steps->writer, steps->decodes, steps->decodes_capacity, steps->n_decodes + 1)) return;
    int status = ggs_seal_batch_read(&open.batch, &decode, body, length);
    if (status == GGS_FORMAT) steps->damaged++;
    if (status == GGS_MEMORY) ggs_writer_fail_memory(steps->writer);
    if (status < 0) return;
    open.context = get_context(steps, decode.context, ns);
    if (open.context == NULL) {
        ggs_seal_batch_release(&open.batch);
        return;
    }
    steps->newest_decode = decode.decode;
    if (!open.context->decodes) learn_reading(steps, open.context, &open.batch);
    open.context->decodes = true;
    open.number           = decode.decode;
    open.warmup = open.context->warmup || ggs_map_get(&steps->survey.warmups, ggs_map_key_number(decode.decode)) != 0;
    open.row    = (struct ggs_decode){
           .decode     = decode.decode,
           .context    = open.context->number,
           .step       = -1,
           .encode     = decode.encode != 0,
           .tokens     = decode.tokens,
           .begin_ns   = ns,
           .end_ns     = -1,
           .embeddings = ggs_map_get(&steps->survey.embeddings, ggs_map_key_number(decode.decode)) != 0,
           .verify     = ggs_map_get(&steps->survey.verifies, ggs_map_key_number(decode.decode)) != 0};
    steps->decodes[steps->n_decodes++] = open;
}

void ggs_steps_output_read(struct ggs_steps * steps, uint64_t key, int64_t index) {
    struct ggs_seal_context * context = find_context(steps, key);
    struct ggs_open_step *    step    = context == NULL ? NULL : context->step;
    if (step == NULL || context->newest > step->n_tokens) return; // written
    struct ggs_token * tokens  = step->tokens + context->newest;
    uint64_t           outputs = 0, n = step->n_tokens - context->newest;
    for (uint64_t i = 0; i < n; i++) outputs += tokens[i].output != 0;
    for (uint64_t i = 0, k = 0; i < n; i++) {
        if (tokens[i].output == 0 || !ggs_seal_output_is(index, i, k++, outputs)) continue;
        tokens[i].read = GGS_READ_BY_PROGRAM;
        ggs_sequences_read(&steps->sequences, context->number, tokens[i].sequence, tokens[i].position);
    }
}

static struct ggs_open_decode * find_decode(struct ggs_steps * steps, uint64_t number) {
    for (size_t i = steps->n_decodes; number != 0 && i-- > 0;)
        if (steps->decodes[i].number == number) return &steps->decodes[i];
    return NULL;
}

static void assign_decode(struct ggs_steps * steps, struct ggs_open_decode * decode) {
    if (decode->taken) return;
    decode->taken = true;
    ggs_seal_batch_complete(&decode->batch, &steps->sequences, decode->context->number);
    uint64_t kept = ggs_map_get(&steps->survey.failed, ggs_map_key_number(decode->number));
    if (kept > 0) ggs_seal_batch_cut(&decode->batch, kept - 1);
    decode->step = assign_step(steps, decode->context, &decode->batch, decode->warmup, decode->row.begin_ns);
    if (decode->step != NULL) decode->row.step = decode->step->row.step;
}

static void end_decode(struct ggs_steps * steps, struct ggs_open_decode * decode) {
    if (decode->step != NULL && decode->row.end_ns > decode->step->row.end_ns)
        decode->step->row.end_ns = decode->row.end_ns;
    ggs_writer_append(steps->writer, GGS_TABLE_DECODES, &decode->row);
    ggs_seal_batch_release(&decode->batch);
    *decode = steps->decodes[--steps->n_decodes];
}

void ggs_steps_decode_end(struct ggs_steps * steps, uint64_t number, int64_t status, int64_t ns) {
    struct ggs_open_decode * decode = find_decode(steps, number);
    if (decode == NULL) return;
    decode->row.status = status;
    decode->row.end_ns = ns;
    // A decode that failed before it computed fed no tokens: it will be retried.
    if (status == 0) assign_decode(steps, decode);
    end_decode(steps, decode);
}

// ---- runs ----

bool ggs_steps_run(struct ggs_steps * steps, struct ggs_run * run) {
    struct ggs_open_decode * decode = find_decode(steps, run->decode);
    if (decode == NULL) return false;
    assign_decode(steps, decode);
    if (decode->step != NULL) add_run(decode->step, run);
    return true;
}

// The context of a scheduler without recorded decodes: the newest context that has neither a decode
// nor a scheduler, or the scheduler itself if no contexts are known.
static struct ggs_seal_context * context_of(struct ggs_steps * steps, uint64_t scheduler) {
    struct ggs_seal_context * context = find_scheduler(steps, scheduler);
    if (context != NULL) return context;
    for (size_t i = steps->n_contexts; scheduler != 0 && i-- > 0;) {
        context = steps->contexts[i];
        if (context->decodes || context->scheduler != 0 || context->model == 0) continue;
        context->scheduler = scheduler;
        return context;
    }
    return NULL;
}

// llama.cpp's own start-up code first computes the tokens that begin and end a text, later token 0
// twice, and clears the memory each time. Without recorded decodes, clearing is not recorded
// either; no real text looks like that.
static bool is_probe(const struct ggs_steps * steps, const struct ggs_seal_context * context,
                     const struct ggs_seal_batch * batch) {
    int64_t begin, end;
    if (context->began || batch->n != 2 || batch->position[0] != 0 || batch->position[1] != 1) return false;
    if (batch->token[0] == 0 && batch->token[1] == 0) return true;
    const char * path = steps->model_file(steps->owner, context->model);
    return path != NULL && steps->options != NULL && steps->options->text_ends != NULL &&
           steps->options->text_ends(steps->options->token_text_context, path, &begin, &end) &&
           batch->token[0] == begin && batch->token[1] == end;
}

void ggs_steps_run_alone(struct ggs_steps * steps, struct ggs_run * run, uint64_t scheduler,
                         struct ggs_seal_batch * batch) {
    struct ggs_seal_context * context = batch->n > 0 ? context_of(steps, scheduler) : find_scheduler(steps, scheduler);
    struct ggs_open_step *    step    = NULL;
    if (context != NULL && run->schedule != 0 && run->schedule == context->schedule) step = context->step;
    if (step == NULL && (batch->n > 0 || steps->no_tokens)) {
        if (context == NULL) context = add_context(steps, scheduler, 0, 0, run->begin_ns);
        if (context == NULL) return;
        bool probe = batch->n > 0 && is_probe(steps, context, batch);
        step       = batch->n > 0 ? assign_step(steps, context, batch, context->warmup || probe, run->begin_ns)
                                  : add_step(steps, context, GGS_PHASE_GRAPH, run->begin_ns);
        context->began |= !probe && !context->warmup;
        context->schedule = run->schedule;
    }
    if (step == NULL) return;
    add_run(step, run);
    if (run->end_ns > step->row.end_ns) step->row.end_ns = run->end_ns;
}

static struct ggs_open_step * step_of(struct ggs_steps * steps, const struct ggs_run * run) {
    for (size_t i = steps->n_queue; i-- > 0;) {
        struct ggs_open_step * step = steps->queue[i];
        if (step->row.step == run->step && run->run >= step->row.first_run && run->run <= step->row.last_run)
            return step;
    }
    return NULL;
}

void ggs_steps_submitted(struct ggs_steps * steps, const struct ggs_run * run) {
    struct ggs_open_step * step = step_of(steps, run);
    if (step != NULL) step->waiting++;
}

void ggs_steps_results(struct ggs_steps * steps, const struct ggs_run * run, int64_t ns) {
    struct ggs_open_step * step = step_of(steps, run);
    if (step == NULL) return;
    if (step->waiting > 0) step->waiting--;
    if (ns > step->row.end_ns) step->row.end_ns = ns;
}

// It is unknown whether a program that was killed, or is still running, would have read outputs of
// its newest decodes.
static void forget_newest_reads(struct ggs_steps * steps) {
    for (size_t i = 0; i < steps->n_contexts; i++) {
        struct ggs_open_step * step = steps->contexts[i]->step;
        for (size_t t = steps->contexts[i]->newest; step != NULL && t < step->n_tokens; t++)
            if (step->tokens[t].read == GGS_READ_NEVER) step->tokens[t].read = GGS_READ_NOT_KNOWN;
    }
}

void ggs_steps_finish(struct ggs_steps * steps, int64_t ns, bool ended) {
    if (!ended) forget_newest_reads(steps);
    while (steps->n_decodes > 0) {
        struct ggs_open_decode * decode = &steps->decodes[steps->n_decodes - 1];
        if (decode->step != NULL && ns > decode->step->row.end_ns) decode->step->row.end_ns = ns;
        end_decode(steps, decode);
    }
    write_front(steps, true);
    write_contexts(steps);
}
