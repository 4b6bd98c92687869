// /api/x/N/choices: the experts of each token in one layer, as columns: that layer's rows of the
// exported table `experts`.
#include <stdlib.h>

#include "analyze/experts/choices.h"
#include "answer/pictures.h"
#include "base/array.h"
#include "base/error.h"
#include "serve/routes/routes.h"

enum { CHOICES_MOST = 40000 };

struct list {
    struct ggs_choice_row * rows;
    uint64_t                n, capacity, total;
};

static int add_choice(struct list * list, const struct ggs_run * run, const struct ggs_choice * choice, uint32_t input,
                      struct ggs_error * error) {
    for (uint64_t i = 0; i < choice->used * choice->tokens; i++) {
        struct ggs_choice_row row = {.weight =
                                         choice->weights == NULL ? __builtin_nan("") : (double) choice->weights[i],
                                     .run    = (uint32_t) run->run,
                                     .node   = (uint32_t) choice->node,
                                     .token  = (int32_t) run->step,
                                     .input  = input + (uint32_t) (i / choice->used),
                                     .expert = (int16_t) choice->experts[i],
                                     .rank   = (uint16_t) (i % choice->used)};
        if (list->total++ >= CHOICES_MOST) continue;
        if (!ggs_array_push(list->rows, list->n, list->capacity, row)) return ggs_fail_memory(error);
    }
    return 0;
}

static int read_choices(struct list * list, struct ggs_question * request, int64_t first, int64_t last, int64_t layer,
                        struct ggs_error * error) {
    struct ggs_walk *  walk;
    struct ggs_choices choices = {0};
    int64_t            step    = -1;
    uint32_t           input   = 0;
    int                status  = ggs_walk_open(&walk, &request->trace, first, last, error);
    if (status < 0) return status;
    walk->sums_only = true;
    while (status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        if (walk->run.step != step) step = walk->run.step, input = 0;
        uint64_t tokens = 0;
        status          = ggs_choices_of(&choices, walk, error);
        for (uint64_t i = 0; status >= 0 && i < choices.n; i++) {
            if (choices.choice[i].layer != layer) continue;
            status = add_choice(list, &walk->run, &choices.choice[i], input, error);
            tokens = choices.choice[i].tokens;
        }
        input += (uint32_t) tokens;
    }
    ggs_choices_release(&choices);
    ggs_walk_close(walk);
    return status < 0 ? status : 0;
}

static int write_rows(const struct list * list, struct ggs_question * request, int64_t layer,
                      struct ggs_error * error) {
    struct ggs_choices_header header = {.layer = layer, .total = list->total};
    ggs_columns_begin(&header.columns, list->n, 0);
    ggs_columns_add(&header.columns, &ggs_choices_columns, list->rows, sizeof(*list->rows));
    return ggs_reply_columns(request->answer, &header.columns, &ggs_choices_object, NULL, error);
}

int ggs_route_choices(struct ggs_question * request, struct ggs_error * error) {
    int64_t     first = 0, last = INT64_MAX, layer = 0;
    struct list list   = {0};
    int         status = ggs_query_tokens(&request->query, &first, &last, error);
    if (status == 0) status = ggs_query_i64(&request->query, "layer", 0, INT32_MAX, &layer, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status < 0) return status;
    ggs_request_expect(request, ggs_reader_rows(request->trace.reader, GGS_TABLE_OP_RUNS));
    status = read_choices(&list, request, first, last, layer, error);
    if (status == 0) status = write_rows(&list, request, layer, error);
    free(list.rows);
    return status;
}
