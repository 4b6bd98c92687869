#include "analyze/values/value-passes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

struct ggs_value_passes {
    struct ggs_trace *     trace;
    struct ggs_value_ops * ops;
    struct ggs_cursor *    values;
    struct ggs_cursor *    runs;
    struct ggs_cursor *    tokens;
    struct ggs_run         run;   // of `value`
    struct ggs_op_value    value; // read ahead
    int                    more;  // 1 if `value` is valid
    int64_t                step;  // the step of the tokens in `given`
    struct ggs_token *     given;
    bool *                 used;
    uint64_t               n_given, given_capacity, used_capacity;
    struct ggs_map         contexts; // number in the recording -> number among those with values
    struct ggs_map         lanes;    // (context, sequence) -> number of starts + 1
    struct ggs_map         newest;   // (context, sequence) -> position of the newest token + 2
    uint64_t               n_passes;
};

void ggs_value_pass_release(struct ggs_value_pass * pass) {
    free(pass->rows);
    free(pass->tokens);
    free(pass->order);
    free(pass->first);
    *pass = (struct ggs_value_pass){0};
}

const struct ggs_value_row * ggs_value_pass_row(const struct ggs_value_pass * pass, uint64_t op, int32_t token) {
    if (op >= pass->n_first || pass->first[op] == 0) return NULL;
    uint64_t likely = pass->first[op] - 1 + (uint64_t) (token < 0 ? 0 : token);
    if (likely < pass->n_rows && pass->rows[likely].op == op && pass->rows[likely].token == token)
        return &pass->rows[likely];
    for (uint64_t i = pass->first[op] - 1; i < pass->n_rows && pass->rows[i].op == op; i++)
        if (pass->rows[i].token == token) return &pass->rows[i];
    return NULL;
}

// ---- tokens ----

static int load_step(struct ggs_value_passes * p, int64_t step, struct ggs_error * error) {
    struct ggs_token token;
    int              status = 0;
    if (step == p->step) return 0;
    p->step    = step;
    p->n_given = 0;
    if (step < 0) return 0;
    status = ggs_cursor_steps(p->tokens, step, step, error);
    while (status >= 0 && (status = ggs_cursor_next(p->tokens, &token, error)) > 0)
        if (token.step == step && !ggs_array_push(p->given, p->n_given, p->given_capacity, token))
            return ggs_fail_memory(error);
    if (!ggs_array_reserve(p->used, p->used_capacity, p->n_given + 1)) return ggs_fail_memory(error);
    memset(p->used, 0, p->n_given + 1);
    return status < 0 ? status : 0;
}

// Finds the token of the step at this position that no earlier row has used.
static const struct ggs_token * find_given(struct ggs_value_passes * p, int64_t position) {
    const struct ggs_token * any = NULL;
    for (uint64_t i = 0; i < p->n_given; i++) {
        const struct ggs_token * token = &p->given[i];
        if (token->position != position) continue;
        if (p->run.decode != 0 && token->decode != 0 && token->decode != p->run.decode) continue;
        any = token;
        if (p->used[i]) continue;
        p->used[i] = true;
        return token;
    }
    return any;
}

static int lane_of(struct ggs_value_passes * p, struct ggs_value_where * where, struct ggs_error * error) {
    // Releases differ in contexts that compute nothing, so contexts are numbered as they appear.
    uint64_t * context = ggs_map_put(&p->contexts, ggs_map_key_number((uint64_t) p->run.context));
    if (context == NULL) return ggs_fail_memory(error);
    if (*context == 0) *context = p->contexts.used;
    struct {
        int64_t context, sequence;
    } text                    = {(int64_t) *context, where->sequence};
    struct ggs_map_key key    = ggs_map_key_of(&text, sizeof(text));
    uint64_t *         times  = ggs_map_put(&p->lanes, key);
    uint64_t *         newest = times == NULL ? NULL : ggs_map_put(&p->newest, key);
    if (newest == NULL) return ggs_fail_memory(error);
    if (*times == 0) *times = 1;
    if (*newest > (uint64_t) where->position + 2) ++*times; // the position went back: another text
    *newest = (uint64_t) where->position + 2;
    struct {
        int64_t  context, sequence;
        uint64_t times;
    } lane      = {text.context, text.sequence, *times};
    where->lane = ggs_map_key_of(&lane, sizeof(lane)).low;
    return 0;
}

static int add_token(struct ggs_value_passes * p, struct ggs_value_pass * pass, int64_t row, int64_t position,
                     struct ggs_error * error) {
    struct ggs_value_where where = {.position = -1, .token = -1};
    while (pass->n_tokens < (uint64_t) row + 1)
        if (!ggs_array_push(pass->tokens, pass->n_tokens, pass->tokens_capacity, where)) return ggs_fail_memory(error);
    if (position < 0 || pass->tokens[row].position >= 0) return 0;
    const struct ggs_token * given = find_given(p, position);
    where.position                 = position;
    where.generated                = p->run.phase == GGS_PHASE_GENERATE;
    if (given != NULL) where.token = given->token, where.sequence = given->sequence;
    int status        = lane_of(p, &where, error);
    pass->tokens[row] = where;
    return status;
}

// ---- rows ----

static int begin_run(struct ggs_value_passes * p, struct ggs_value_pass * pass, struct ggs_error * error) {
    int status = ggs_value_ops_graph(p->ops, &p->run, error);
    if (status == 0) status = load_step(p, p->run.step, error);
    for (uint64_t i = 0; status == 0 && i < p->ops->n_index; i++)
        if (!ggs_array_push(pass->order, pass->n_order, pass->order_capacity, p->ops->index[i]))
            return ggs_fail_memory(error);
    return status;
}

static int add_row(struct ggs_value_passes * p, struct ggs_value_pass * pass, struct ggs_error * error) {
    const struct ggs_op_value * v   = &p->value;
    struct ggs_value_row        row = {.run      = (uint32_t) v->run,
                                       .node     = (uint32_t) v->node,
                                       .elements = v->elements,
                                       .nan      = v->nan,
                                       .inf      = v->inf,
                                       .hash     = v->hash,
                                       .rms      = v->rms,
                                       .largest  = v->max > -v->min ? v->max : -v->min,
                                       .token    = -1};
    if (v->node >= p->ops->n_index || v->nan > v->elements || v->inf > v->elements - v->nan || v->row > INT32_MAX - 1)
        return ggs_fail(error, GGS_FORMAT, "the trace is damaged: op_values has an invalid row of graph run %llu",
                        (unsigned long long) v->run);
    if (v->length == sizeof(row.sketch)) memcpy(row.sketch, v->sketch, sizeof(row.sketch));
    row.op = p->ops->index[v->node];
    p->ops->n_read += !p->ops->nodes[row.op].has_values;
    p->ops->nodes[row.op].has_values = true;
    int status                       = 0;
    if (v->row >= 0) {
        row.token = (int32_t) v->row;
        status    = add_token(p, pass, v->row, v->position, error);
    }
    uint64_t had = pass->n_first;
    if (status == 0 && (!ggs_array_reserve(pass->first, pass->first_capacity, p->ops->n) ||
                        !ggs_array_push(pass->rows, pass->n_rows, pass->rows_capacity, row)))
        return ggs_fail_memory(error);
    if (had < p->ops->n) {
        memset(pass->first + had, 0, (p->ops->n - had) * sizeof(*pass->first));
        pass->n_first = p->ops->n;
    }
    if (pass->first[row.op] == 0) pass->first[row.op] = pass->n_rows;
    return status;
}

static int read_ahead(struct ggs_value_passes * p, struct ggs_error * error) {
    int found = 1, status = 0;
    do {
        p->more = ggs_cursor_next(p->values, &p->value, error);
        while (p->more > 0 && found > 0 && p->run.run < p->value.run) found = ggs_cursor_next(p->runs, &p->run, error);
        if (found < 0) p->more = found;
        if (p->more > 0 && p->run.run != p->value.run)
            p->more = ggs_fail(error, GGS_FORMAT,
                               "the trace is damaged: op_values names graph run %llu, which does not exist",
                               (unsigned long long) p->value.run);
        // Weights may be read during warm-up.
        if (p->more > 0 && p->value.flags != 0 && (p->value.flags & GGS_OP_VALUE_INPUT) == 0)
            status = ggs_value_ops_weight(p->ops, &p->run, &p->value, error);
        if (status != 0) p->more = status;
    } while (p->more > 0 && p->value.flags != 0);
    return p->more;
}

// A program without tokens: its passes are numbered.
static int count_pass(struct ggs_value_passes * p, struct ggs_value_pass * pass, struct ggs_error * error) {
    bool known = false;
    for (uint64_t i = 0; i < pass->n_tokens; i++) known = known || pass->tokens[i].position >= 0;
    p->n_passes++;
    if (known || !p->trace->tokenless) return 0;
    struct ggs_value_where where = {.position = (int64_t) p->n_passes - 1, .token = 0};
    pass->n_tokens               = 0;
    if (!ggs_array_push(pass->tokens, pass->n_tokens, pass->tokens_capacity, where)) return ggs_fail_memory(error);
    for (uint64_t i = 0; i < pass->n_rows; i++) pass->rows[i].token = pass->rows[i].token > 0 ? -1 : 0;
    return 0;
}

int ggs_value_passes_next(struct ggs_value_passes * p, struct ggs_value_pass * pass, struct ggs_error * error) {
    *pass      = (struct ggs_value_pass){0};
    int status = p->more;
    while (status > 0 && (p->run.phase == GGS_PHASE_WARMUP || !ggs_trace_has_step(p->trace, p->run.step)))
        status = read_ahead(p, error);
    if (status <= 0) return status;
    uint64_t schedule = p->run.schedule, process = p->run.process, run = 0;
    pass->run  = p->run.run;
    pass->step = p->run.step;
    status     = 0;
    while (status == 0 && p->more > 0) {
        if (p->run.run != run && run != 0 &&
            (schedule == 0 || p->run.schedule != schedule || p->run.process != process))
            break;
        if (p->run.run != run) status = begin_run(p, pass, error);
        run = p->run.run;
        if (status == 0) status = add_row(p, pass, error);
        if (status == 0 && read_ahead(p, error) < 0) status = p->more;
    }
    if (status == 0) status = count_pass(p, pass, error);
    if (status == 0) return 1;
    ggs_value_pass_release(pass);
    return status;
}

int ggs_value_passes_open(struct ggs_value_passes ** passes, struct ggs_trace * trace, struct ggs_value_ops * ops,
                          struct ggs_error * error) {
    struct ggs_value_passes * p = calloc(1, sizeof(*p));
    *passes                     = p;
    if (p == NULL) return ggs_fail_memory(error);
    p->trace   = trace;
    p->ops     = ops;
    p->step    = -1;
    ops->trace = trace;
    int status = ggs_cursor_open(&p->values, trace->reader, GGS_TABLE_OP_VALUES, error);
    if (status == 0) status = ggs_cursor_open(&p->runs, trace->reader, GGS_TABLE_RUNS, error);
    if (status == 0) status = ggs_cursor_open(&p->tokens, trace->reader, GGS_TABLE_TOKENS, error);
    if (status == 0 && read_ahead(p, error) < 0) status = p->more;
    return status;
}

void ggs_value_passes_close(struct ggs_value_passes * p) {
    if (p == NULL) return;
    ggs_cursor_close(p->values);
    ggs_cursor_close(p->runs);
    ggs_cursor_close(p->tokens);
    free(p->given);
    free(p->used);
    ggs_map_release(&p->contexts);
    ggs_map_release(&p->lanes);
    ggs_map_release(&p->newest);
    free(p);
}
