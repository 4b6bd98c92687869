// /api/x/N/op: all about one op.
#include <stdlib.h>

#include "analyze/ops/choices.h"
#include "analyze/walk/walk.h"
#include "analyze/walk/words.h"
#include "base/error.h"
#include "serve/routes/graph-walks.h"
#include "serve/routes/routes.h"

enum { RANGES_MOST = 64, EXPERTS_MOST = 4096 };

struct neighbour {
    uint64_t run, node;
    bool     found;
};

struct card {
    struct ggs_question *       request;
    const struct ggs_overview * overview;
    uint64_t                    run, node;
    uint32_t *        heads; // by node: node + 1 that it was computed together with, or itself; 0: not computed
    uint64_t          n_heads;
    struct ggs_walk * walk; // stands at the op
    uint64_t          number;
    struct neighbour  previous, next;
};

// ---- finding it ----

// The first or the last op of the nearest run that has any, going `step` from the run at `place`.
static int find_in_neighbour(const struct card * card, int64_t place, int step, struct neighbour * neighbour,
                             struct ggs_error * error) {
    struct ggs_trace  trace = ggs_trace_borrow(&card->request->trace);
    struct ggs_walk * walk;
    for (place += step; place >= 0 && (uint64_t) place < card->overview->runs; place += step) {
        const struct ggs_overview_run * at  = &card->overview->run[place];
        uint64_t                        run = at->run;
        uint64_t rows = (uint64_t) place + 1 < card->overview->runs ? at[1].first_row : card->overview->rows;
        if (rows == at->first_row) continue; // nothing was computed there one by one
        int status = ggs_walk_open_runs(&walk, &trace, run, run, error);
        if (status >= 0) status = ggs_walk_run(walk, error);
        while (status > 0 && ggs_walk_op(walk)) {
            *neighbour = (struct neighbour){run, walk->op.node, true};
            if (step > 0) break;
        }
        ggs_walk_close(walk);
        if (status < 0 || neighbour->found) {
            ggs_trace_give_back(&trace);
            return status < 0 ? status : 0;
        }
    }
    ggs_trace_give_back(&trace);
    return 0;
}

// Which node of the run stands for which: a fused op is one with the nodes that it absorbed.
static int find_heads(struct card * card, struct ggs_error * error) {
    struct ggs_walk * walk;
    int               status = ggs_walk_open_runs(&walk, &card->request->trace, card->run, card->run, error);
    if (status < 0) return status;
    walk->sums_only = true;
    status          = ggs_walk_run(walk, error);
    card->n_heads   = status > 0 && walk->graph != NULL ? walk->graph->n_nodes : 0;
    card->heads     = calloc(card->n_heads + 1, sizeof(*card->heads));
    if (card->heads == NULL) status = ggs_fail_memory(error);
    while (status > 0 && card->n_heads > 0 && ggs_walk_op(walk)) {
        uint64_t left              = walk->op.absorbed;
        card->heads[walk->op.node] = (uint32_t) walk->op.node + 1;
        for (uint64_t i = walk->op.node + 1; left > 0 && i < card->n_heads; i++) {
            if (ggs_trace_op_kind(&card->request->trace, walk->graph->nodes[i].op) == GGS_KIND_EMPTY) continue;
            card->heads[i] = (uint32_t) walk->op.node + 1;
            left--;
        }
    }
    ggs_walk_close(walk);
    if (status >= 0 && card->node < card->n_heads && card->heads[card->node] != 0)
        card->node = card->heads[card->node] - 1;
    return status < 0 ? status : 0;
}

// Goes to the op. Its neighbours in the run are found on the way: the one behind it by a look ahead.
static int find_op(struct card * card, struct ggs_error * error) {
    int status = ggs_walk_open_runs(&card->walk, &card->request->trace, card->run, card->run, error);
    if (status < 0) return status;
    status = ggs_walk_run(card->walk, error);
    while (status > 0 && ggs_walk_op(card->walk)) {
        if (card->walk->op.node == card->node) return 0;
        card->previous = (struct neighbour){card->run, card->walk->op.node, true};
        card->number += 1 + card->walk->op.absorbed; // rows of the log
    }
    if (status < 0) return status;
    return ggs_fail(error, GGS_ABSENT, "node %llu of graph run %llu was not computed", (unsigned long long) card->node,
                    (unsigned long long) card->run);
}

static int find_neighbours(struct card * card, struct ggs_error * error) {
    int64_t place  = ggs_overview_find(card->overview, card->run) - card->overview->run;
    int     status = card->previous.found ? 0 : find_in_neighbour(card, place, -1, &card->previous, error);
    if (status == 0 && !card->next.found) status = find_in_neighbour(card, place, 1, &card->next, error);
    return status;
}

// ---- putting it down ----

static void put_neighbour(struct ggs_json * json, const char * key, const struct neighbour * neighbour) {
    if (!neighbour->found) {
        ggs_json_null(json, key);
        return;
    }
    ggs_json_object(json, key);
    ggs_json_u64(json, "run", neighbour->run);
    ggs_json_u64(json, "node", neighbour->node);
    ggs_json_end(json);
}

static void put_index(struct ggs_json * json, const char * key, int64_t value) {
    if (value < 0)
        ggs_json_null(json, key);
    else
        ggs_json_i64(json, key, value);
}

static void put_threads(struct ggs_json * json, const struct ggs_op_seen * op) {
    ggs_json_array(json, "threads");
    for (uint64_t i = 0; i < op->n_op_runs; i++) {
        const struct ggs_op_run * row = &op->op_runs[i];
        ggs_json_object(json, NULL);
        ggs_json_u64(json, "thread", row->thread);
        ggs_json_u64(json, "os_thread", row->os_thread);
        ggs_json_i64(json, "begin_ns", row->begin_ns);
        ggs_json_u64(json, "duration_ns", row->duration_ns);
        ggs_json_u64(json, "wait_ns", row->wait_ns + row->inner_wait_ns);
        ggs_json_bool(json, "cut", (row->flags & GGS_OP_RUN_ENDED) == 0);
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static void put_absorbed(struct card * card, struct ggs_json * json) {
    const struct ggs_graph * graph = card->walk->graph;
    uint64_t                 left  = card->walk->op.absorbed;
    ggs_json_array(json, "absorbed");
    for (uint64_t i = card->node + 1; left > 0 && i < graph->n_nodes; i++) {
        if (ggs_trace_op_kind(&card->request->trace, graph->nodes[i].op) == GGS_KIND_EMPTY) continue;
        ggs_json_string(
            json, NULL,
            ggs_request_tensor(card->request, ggs_trace_tensor(&card->request->trace, graph->nodes[i].tensor)));
        left--;
    }
    ggs_json_end(json);
}

static void put_place(struct ggs_json * json, const struct ggs_tensor * tensor) {
    bool disk = tensor->source == GGS_SOURCE_DISK, copied = !disk && tensor->origin_file != 0;
    ggs_json_string(json, "source", disk ? "DISK" : "BUFFER");
    put_index(json, "file", disk ? (int64_t) tensor->file : copied ? (int64_t) tensor->origin_file : -1);
    put_index(json, "file_offset", disk ? (int64_t) tensor->file_offset : -1);
    put_index(json, "origin_offset", copied ? (int64_t) tensor->origin_offset : -1);
    put_index(json, "buffer", tensor->buffer != 0 ? (int64_t) tensor->buffer : -1);
    put_index(json, "buffer_offset", tensor->buffer != 0 ? (int64_t) tensor->buffer_offset : -1);
}

static void put_operand(struct card * card, struct ggs_json * json, const struct ggs_access * access) {
    const struct ggs_trace *  trace  = &card->request->trace;
    const struct ggs_tensor * tensor = access->tensor;
    unsigned                  n_dims = 4;
    ggs_json_object(json, NULL);
    put_index(json, "slot", access->slot == GGS_ACCESS_RESULT ? -1 : (int64_t) access->slot);
    ggs_json_bool(json, "write", access->write);
    ggs_json_string(json, "name", ggs_request_tensor(card->request, tensor));
    ggs_json_string(json, "type",
                    tensor->type < trace->n_types ? ggs_request_string(card->request, trace->types[tensor->type].name)
                                                  : "");
    while (n_dims > 1 && tensor->ne[n_dims - 1] == 1) n_dims--;
    ggs_json_array(json, "shape");
    for (unsigned i = 0; i < n_dims; i++) ggs_json_i64(json, NULL, tensor->ne[i]);
    ggs_json_end(json);
    ggs_json_u64(json, "bytes", access->bytes);
    ggs_json_bool(json, "exact", access->exact);
    ggs_json_array(json, "ranges");
    for (uint32_t i = 0; i < access->n_ranges && i < RANGES_MOST; i++) {
        ggs_json_array(json, NULL);
        ggs_json_u64(json, NULL, access->ranges[i].offset);
        ggs_json_u64(json, NULL, access->ranges[i].length);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_u64(json, "n_ranges", access->n_ranges);
    put_place(json, tensor);
    ggs_json_end(json);
}

static int put_operands(struct card * card, struct ggs_json * json, struct ggs_error * error) {
    const struct ggs_access_list * list;
    int                            status = ggs_walk_accesses(card->walk, &list, error);
    ggs_json_array(json, "operands");
    for (unsigned i = 0; status == 0 && i < list->n; i++) put_operand(card, json, &list->access[i]);
    ggs_json_end(json);
    return status;
}

static void put_chosen(struct ggs_json * json, const struct ggs_choice * choice) {
    uint64_t n = choice->used * choice->tokens;
    for (uint64_t i = 0; i < n && i < EXPERTS_MOST; i++) {
        ggs_json_object(json, NULL);
        ggs_json_i64(json, "expert", choice->experts[i]);
        ggs_json_u64(json, "rank", i % choice->used);
        ggs_json_u64(json, "token", i / choice->used); // of the batch
        if (choice->weights != NULL)
            ggs_json_double(json, "weight", (double) choice->weights[i]);
        else
            ggs_json_null(json, "weight");
        ggs_json_end(json);
    }
}

static int put_experts(struct card * card, struct ggs_json * json, struct ggs_error * error) {
    struct ggs_choices        choices = {0};
    const struct ggs_choice * choice  = NULL;
    int                       status  = 0;
    if (ggs_trace_op_kind(&card->request->trace, card->walk->op.op) == GGS_KIND_MUL_MAT_ID) {
        status = ggs_choices_of(&choices, card->walk, error);
        if (status == 0) choice = ggs_choice_of_node(&choices, &card->request->trace, card->walk->graph, card->node);
    }
    if (choice == NULL) {
        ggs_json_null(json, "experts");
    } else {
        ggs_json_array(json, "experts");
        put_chosen(json, choice);
        ggs_json_end(json);
    }
    ggs_choices_release(&choices);
    return status;
}

// Nodes as the ops that computed them, each once and without the op itself.
static void put_ops(const struct card * card, struct ggs_json * json, const char * key, const uint32_t * nodes,
                    unsigned n) {
    uint32_t told[GGS_NEIGHBOURS_MOST];
    unsigned n_told = 0;
    ggs_json_array(json, key);
    for (unsigned i = 0; i < n; i++) {
        uint32_t head  = nodes[i] < card->n_heads ? card->heads[nodes[i]] : 0;
        bool     known = head == 0 || head - 1 == card->node;
        for (unsigned k = 0; k < n_told; k++) known |= told[k] == head;
        if (known) continue;
        told[n_told++] = head;
        ggs_json_u64(json, NULL, head - 1);
    }
    ggs_json_end(json);
}

// What the op and the nodes that it absorbed read; and who reads what the last of them wrote.
static int put_edges(struct card * card, struct ggs_json * json, struct ggs_error * error) {
    struct ggs_graph_walks walks;
    uint32_t               nodes[GGS_NEIGHBOURS_MOST], more[GGS_NEIGHBOURS_MOST];
    unsigned               n      = 0;
    uint64_t               last   = card->node;
    int                    status = ggs_graph_walks_init(&walks, &card->request->trace, card->walk->graph, error);
    if (status < 0) return status;
    for (uint64_t i = card->node; i < card->n_heads; i++) {
        if (card->heads[i] != card->node + 1) continue;
        unsigned found = ggs_graph_walks_producers(&walks, i, more);
        for (unsigned k = 0; k < found && n < GGS_NEIGHBOURS_MOST; k++) nodes[n++] = more[k];
        last = i;
    }
    put_ops(card, json, "producers", nodes, n);
    n = ggs_graph_walks_consumers(&walks, last, nodes);
    put_ops(card, json, "consumers", nodes, n);
    ggs_graph_walks_release(&walks);
    return 0;
}

static void put_head(struct card * card, struct ggs_json * json) {
    const struct ggs_op_seen * op  = &card->walk->op;
    const struct ggs_run *     run = &card->walk->run;
    ggs_json_u64(json, "run", card->run);
    ggs_json_u64(json, "node", card->node);
    put_index(json, "token", run->step);
    ggs_json_string(json, "phase", ggs_word_phase(run->phase));
    ggs_json_string(json, "backend", ggs_request_string(card->request, run->backend));
    ggs_json_string(json, "op", op->name);
    ggs_json_string(json, "name", ggs_request_tensor(card->request, op->result));
    put_index(json, "layer", op->layer);
    ggs_json_i64(json, "begin_ns", op->begin_ns);
    ggs_json_i64(json, "end_ns", op->end_ns);
    ggs_json_u64(json, "duration_ns", (uint64_t) (op->end_ns - op->begin_ns));
    ggs_json_u64(json, "busy_ns", op->busy_ns);
    ggs_json_u64(json, "wait_ns", op->wait_ns);
    ggs_json_bool(json, "cut", op->cut);
}

static int put_card(struct card * card, struct ggs_error * error) {
    struct ggs_json json;
    ggs_answer_begin(card->request->answer, &json);
    put_head(card, &json);
    put_threads(&json, &card->walk->op);
    put_absorbed(card, &json);
    int status = put_operands(card, &json, error);
    if (status == 0) status = put_experts(card, &json, error);
    if (status == 0) status = put_edges(card, &json, error);
    ggs_json_u64(&json, "row", ggs_overview_find(card->overview, card->run)->first_row + card->number);
    if (status == 0 && ggs_walk_op(card->walk)) card->next = (struct neighbour){card->run, card->walk->op.node, true};
    if (status == 0) status = find_neighbours(card, error);
    put_neighbour(&json, "previous", &card->previous);
    put_neighbour(&json, "next", &card->next);
    int ended = ggs_answer_end(card->request->answer, &json, error);
    return status < 0 ? status : ended;
}

int ggs_route_op(struct ggs_question * request, struct ggs_error * error) {
    struct card card   = {.request = request};
    int         status = ggs_query_u64(&request->query, "run", 1, UINT32_MAX, &card.run, error);
    if (status == 0) status = ggs_query_u64(&request->query, "node", 0, UINT32_MAX, &card.node, error);
    if (status == 0) status = ggs_query_finish(&request->query, error);
    if (status == 0 && card.run == 0) status = ggs_fail(error, GGS_USAGE, "which op? run and node tell");
    if (status == 0) status = ggs_snapshot_overview(request->snapshot, &card.overview, error);
    if (status == 0 && ggs_overview_find(card.overview, card.run) == NULL)
        status = ggs_fail(error, GGS_ABSENT, "there is no graph run %llu", (unsigned long long) card.run);
    if (status == 0) status = find_heads(&card, error);
    if (status == 0) status = find_op(&card, error);
    if (status == 0) status = put_card(&card, error);
    ggs_walk_close(card.walk);
    free(card.heads);
    return status;
}
