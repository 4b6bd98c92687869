#include "answer/answer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyze/experts/choices.h"
#include "analyze/machine/disk-waits.h"
#include "analyze/ops/graph-view.h"
#include "analyze/walk/walk.h"
#include "analyze/walk/words.h"
#include "answer/ops/operand.h"
#include "base/error.h"

enum { EXPERTS_MOST = 4096 };

struct neighbour {
    uint64_t run, node;
    bool     found;
};

struct card {
    struct ggs_trace *          trace;
    const struct ggs_overview * overview;
    uint64_t                    run, node;
    struct ggs_graph_view       view;
    struct ggs_walk *           walk; // stands at the op
    uint64_t                    number;
    struct neighbour            previous, next;
};

static const char * name_of(const struct card * card, uint64_t node) {
    const struct ggs_tensor * tensor = ggs_trace_tensor(card->trace, card->view.graph->nodes[node].tensor);
    return tensor == NULL ? "" : ggs_reader_string(card->trace->reader, tensor->name);
}

// node + 1 of the op that computed a node, 0 if none did. Of a run that is seen as a whole it is not known what was computed together.
static uint32_t head_of(const struct card * card, uint64_t node) {
    const struct ggs_node_view * view = &card->view.nodes[node];
    return view->state == GGS_NODE_OPAQUE ? (uint32_t) node + 1 : view->head;
}

// ---- finding it ----

// The first or the last op of the nearest run that has any, going `step` from the run at `place`.
static int find_in_neighbour(const struct card * card, int64_t place, int step, struct neighbour * neighbour,
                             struct ggs_error * error) {
    struct ggs_trace  trace = ggs_trace_borrow(card->trace);
    struct ggs_walk * walk;
    int               status = 0;
    for (place += step; place >= 0 && (uint64_t) place < card->overview->runs; place += step) {
        const struct ggs_overview_run * at = &card->overview->run[place];
        uint64_t rows = (uint64_t) place + 1 < card->overview->runs ? at[1].first_row : card->overview->rows;
        if (rows == at->first_row) continue; // nothing was computed there
        status = ggs_walk_open_runs(&walk, &trace, at->run, at->run, error);
        if (status >= 0) walk->with_opaque = true;
        if (status >= 0) status = ggs_walk_run(walk, error);
        while (status > 0 && ggs_walk_op(walk)) {
            *neighbour = (struct neighbour){at->run, walk->op.node, true};
            if (step > 0) break;
        }
        ggs_walk_close(walk);
        if (status < 0 || neighbour->found) break;
    }
    ggs_trace_give_back(&trace);
    return status < 0 ? status : 0;
}

// What became of the nodes of the run. A fused op is one with the nodes that it absorbed.
static int look_at_run(struct card * card, struct ggs_error * error) {
    struct ggs_run * runs;
    uint64_t         n;
    int              status = ggs_graph_runs(card->trace, -1, card->run, &runs, &n, error);
    if (status == 0) status = ggs_graph_view_compute(&card->view, card->trace, &runs[0], false, error);
    free(runs);
    uint32_t head = status == 0 && card->node < card->view.graph->n_nodes ? head_of(card, card->node) : 0;
    if (head != 0) card->node = head - 1;
    return status;
}

// Goes to the op. The one before it in the run is found on the way.
static int find_op(struct card * card, struct ggs_error * error) {
    int status = ggs_walk_open_runs(&card->walk, card->trace, card->run, card->run, error);
    if (status < 0) return status;
    card->walk->with_opaque = card->walk->with_submits = true;
    status                                             = ggs_walk_run(card->walk, error);
    while (status > 0 && ggs_walk_op(card->walk)) {
        if (card->walk->op.node == card->node) return 0;
        card->previous = (struct neighbour){card->run, card->walk->op.node, true};
        card->number += 1 + card->walk->op.absorbed; // rows of the log
    }
    if (status < 0) return status;
    return ggs_fail(error, GGS_ABSENT, "node %" PRIu64 " of graph run %" PRIu64 " was not computed", card->node,
                    card->run);
}

static int find_neighbours(struct card * card, struct ggs_error * error) {
    int64_t place  = ggs_overview_find(card->overview, card->run) - card->overview->run;
    int     status = 0;
    if (ggs_walk_op(card->walk)) card->next = (struct neighbour){card->run, card->walk->op.node, true};
    if (!card->previous.found) status = find_in_neighbour(card, place, -1, &card->previous, error);
    if (status == 0 && !card->next.found) status = find_in_neighbour(card, place, 1, &card->next, error);
    return status;
}

// ---- writing it ----

static void put_neighbour(struct ggs_json * json, const char * key, const struct neighbour * neighbour) {
    static const struct ggs_field fields[] = {
        GGS_FIELD(struct neighbour, run, "run"), GGS_FIELD(struct neighbour, node, "node"), {0}};
    if (neighbour->found)
        ggs_fields_object(json, key, fields, neighbour);
    else
        ggs_json_null(json, key);
}

// Null if they were not seen, as in the log.
static void put_times(struct ggs_json * json, const struct ggs_op_seen * op) {
    if (op->opaque)
        ggs_json_null(json, "begin_ns");
    else
        ggs_json_i64(json, "begin_ns", op->begin_ns);
    ggs_json_natural(json, "duration_ns", op->opaque ? -1 : op->end_ns - op->begin_ns);
    ggs_json_natural(json, "busy_ns", op->opaque ? -1 : (int64_t) op->busy_ns);
    ggs_json_natural(json, "wait_ns", op->opaque || op->unwaited ? -1 : (int64_t) op->wait_ns);
    ggs_json_natural(json, "submit_ns", op->submit_ns);
    ggs_json_natural(json, "host_ns", op->host_ns);
}

static void put_head(const struct card * card, struct ggs_json * json) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_op_seen, name, "op"),
                                              GGS_FIELD_OR_NULL(struct ggs_op_seen, layer, "layer"),
                                              GGS_FIELD(struct ggs_op_seen, cut, "cut"),
                                              {0}};
    const struct ggs_op_seen *    op       = &card->walk->op;
    const struct ggs_run *        run      = &card->walk->run;
    ggs_json_u64(json, "row", ggs_overview_find(card->overview, card->run)->first_row + card->number);
    ggs_json_u64(json, "run", card->run);
    ggs_json_u64(json, "node", card->node);
    ggs_json_natural(json, "token", run->step);
    ggs_json_string(json, "phase", ggs_word_phase(run->phase));
    ggs_json_string(json, "backend", ggs_reader_string(card->trace->reader, run->backend));
    ggs_json_string(json, "name", name_of(card, card->node));
    ggs_fields_members(json, fields, op);
    put_times(json, op);
}

// How long each of the op's threads was held up; as op->op_runs. NULL: that was not recorded.
struct held_up {
    uint64_t * stalls; // by page faults
    uint64_t * waits;  // for weights that were streamed
};

static int find_stalls(const struct card * card, uint64_t * stalls, struct ggs_error * error) {
    const struct ggs_op_seen * op = &card->walk->op;
    struct ggs_cursor *        cursor;
    struct ggs_fault           fault;
    int                        more = ggs_cursor_open(&cursor, card->trace->reader, GGS_TABLE_FAULTS, error);
    if (more < 0) return more;
    ggs_cursor_times(cursor, op->begin_ns, op->end_ns + 1);
    while ((more = ggs_cursor_next(cursor, &fault, error)) > 0) {
        if (fault.run != card->run || fault.node != card->node) continue;
        for (uint64_t i = 0; i < op->n_op_runs; i++) {
            if (op->op_runs[i].os_thread == fault.os_thread) stalls[i] += fault.duration_ns;
        }
    }
    ggs_cursor_close(cursor);
    return more;
}

struct waiting {
    const struct card * card;
    uint64_t *          waits;
    bool                summed; // of the run as a whole only
};

static void see_wait(void * context, const struct ggs_disk_wait * wait) {
    struct waiting *           waiting = context;
    const struct ggs_op_seen * op      = &waiting->card->walk->op;
    if (wait->run != waiting->card->run) return;
    waiting->summed |= wait->node == UINT64_MAX;
    for (uint64_t i = 0; wait->node == op->node && i < op->n_op_runs; i++)
        if (op->op_runs[i].thread == wait->thread) waiting->waits[i] += wait->wait_ns;
}

static int find_held_up(const struct card * card, struct held_up * held, struct ggs_error * error) {
    const struct ggs_op_seen * op     = &card->walk->op;
    struct ggs_reader *        reader = card->trace->reader;
    bool                       faults = ggs_reader_rows(reader, GGS_TABLE_FAULTS) > 0,
         streamed                     = ggs_reader_rows(reader, GGS_TABLE_STREAMED) > 0;
    int status                        = 0;
    *held                             = (struct held_up){faults ? calloc(op->n_op_runs + 1, sizeof(uint64_t)) : NULL,
                             streamed ? calloc(op->n_op_runs + 1, sizeof(uint64_t)) : NULL};
    if ((faults && held->stalls == NULL) || (streamed && held->waits == NULL)) return ggs_fail_memory(error);
    if (faults) status = find_stalls(card, held->stalls, error);
    struct waiting waiting = {.card = card, .waits = held->waits};
    if (status == 0 && streamed)
        status = ggs_disk_waits_visit(card->trace, op->begin_ns, op->end_ns + 1, see_wait, &waiting, error);
    if (waiting.summed) {
        free(held->waits);
        held->waits = NULL;
    }
    return status;
}

static void put_sum(struct ggs_json * json, const char * key, const uint64_t * list, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = 0; list != NULL && i < n; i++) sum += list[i];
    ggs_json_natural(json, key, list == NULL ? -1 : (int64_t) sum);
}

// Of n of its threads, from `first` on.
static void put_held_up(struct ggs_json * json, const struct held_up * held, uint64_t first, uint64_t n) {
    put_sum(json, "stalled_ns", held->stalls == NULL ? NULL : held->stalls + first, n);
    put_sum(json, "disk_wait_ns", held->waits == NULL ? NULL : held->waits + first, n);
}

static int put_threads(const struct card * card, struct ggs_json * json, struct ggs_error * error) {
    static const struct ggs_field fields[] = {GGS_FIELD(struct ggs_op_run, thread, "thread"),
                                              GGS_FIELD(struct ggs_op_run, os_thread, "os_thread"),
                                              GGS_FIELD(struct ggs_op_run, begin_ns, "begin_ns"),
                                              GGS_FIELD(struct ggs_op_run, duration_ns, "duration_ns"),
                                              GGS_FIELD_OR_NULL(struct ggs_op_run, submit_ns, "submit_ns"),
                                              {0}};
    const struct ggs_op_seen *    op       = &card->walk->op;
    struct held_up                held;
    int                           status = find_held_up(card, &held, error);
    put_held_up(json, op->opaque ? &(struct held_up){0} : &held, 0, op->n_op_runs);
    ggs_json_array(json, "threads");
    for (uint64_t i = 0; i < op->n_op_runs; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_fields_members(json, fields, &op->op_runs[i]);
        bool unseen = (op->op_runs[i].flags & GGS_OP_RUN_WAIT_UNSEEN) != 0;
        bool whole  = (op->op_runs[i].flags & GGS_OP_RUN_INNER_UNSEEN) != 0;
        ggs_json_natural(json, "inner_wait_ns", whole ? -1 : (int64_t) op->op_runs[i].inner_wait_ns);
        ggs_json_natural(json, "wait_ns", unseen ? -1 : (int64_t) op->op_runs[i].wait_ns);
        put_held_up(json, &held, i, 1);
        ggs_json_bool(json, "cut", (op->op_runs[i].flags & GGS_OP_RUN_ENDED) == 0);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    free(held.stalls);
    free(held.waits);
    return status;
}

static void put_absorbed(const struct card * card, struct ggs_json * json) {
    const struct ggs_graph * graph = card->view.graph;
    ggs_json_array(json, "absorbed");
    for (uint64_t i = card->node + 1; i < graph->n_nodes; i++) {
        if (head_of(card, i) != card->node + 1) continue;
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "node", i);
        ggs_json_string(json, "op", ggs_trace_op_name(card->trace, graph->nodes[i].op));
        ggs_json_string(json, "name", name_of(card, i));
        ggs_json_end(json);
    }
    ggs_json_end(json);
}

static int put_operands(struct card * card, struct ggs_json * json, struct ggs_error * error) {
    const struct ggs_access_list * list;
    int                            status = ggs_walk_accesses(card->walk, &list, error);
    ggs_json_array(json, "operands");
    for (unsigned i = 0; status == 0 && i < list->n; i++) {
        const struct ggs_access * a       = &list->access[i];
        struct ggs_operand        operand = {a->tensor,   a->slot,  a->write,
                                             a->exact,    a->bytes, a->n_ranges > 0 ? a->ranges[0].offset : 0,
                                             a->n_ranges, a->ranges};
        ggs_answer_operand(json, card->trace, &operand);
    }
    ggs_json_end(json);
    return status;
}

static void put_chosen(struct ggs_json * json, const struct ggs_choice * choice) {
    uint64_t n = choice->used * choice->tokens;
    for (uint64_t i = 0; i < n && i < EXPERTS_MOST; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "input", i / choice->used);
        ggs_json_u64(json, "rank", i % choice->used);
        ggs_json_i64(json, "expert", choice->experts[i]);
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
    if (ggs_trace_op_kind(card->trace, card->walk->op.op) == GGS_KIND_MUL_MAT_ID) {
        status = ggs_choices_of(&choices, card->walk, error);
        if (status == 0) choice = ggs_choice_of_node(&choices, card->trace, card->walk->graph, card->node);
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
    ggs_json_array_inline(json, key);
    for (unsigned i = 0; i < n; i++) {
        uint32_t head  = head_of(card, nodes[i]);
        bool     known = head == 0 || head - 1 == card->node;
        for (unsigned k = 0; k < n_told; k++) known |= told[k] == head;
        if (known) continue;
        told[n_told++] = head;
        ggs_json_u64(json, NULL, head - 1);
    }
    ggs_json_end(json);
}

// What the op and the nodes that it absorbed read; and who reads what the last of them wrote.
static void put_edges(const struct card * card, struct ggs_json * json) {
    uint32_t nodes[GGS_NEIGHBOURS_MOST], more[GGS_NEIGHBOURS_MOST];
    unsigned n    = 0;
    uint64_t last = card->node;
    for (uint64_t i = card->node; i < card->view.graph->n_nodes; i++) {
        if (head_of(card, i) != card->node + 1) continue;
        unsigned found = ggs_graph_view_producers(&card->view, i, more);
        for (unsigned k = 0; k < found && n < GGS_NEIGHBOURS_MOST; k++) nodes[n++] = more[k];
        last = i;
    }
    put_ops(card, json, "producers", nodes, n);
    n = ggs_graph_view_consumers(&card->view, last, nodes);
    put_ops(card, json, "consumers", nodes, n);
}

static int put_card(struct card * card, struct ggs_json * json, struct ggs_error * error) {
    ggs_json_object(json, NULL);
    ggs_answer_experiment(json, card->trace);
    put_head(card, json);
    int status = put_threads(card, json, error);
    put_absorbed(card, json);
    if (status == 0) status = put_operands(card, json, error);
    if (status == 0) status = put_experts(card, json, error);
    put_edges(card, json);
    if (status == 0) status = find_neighbours(card, error);
    put_neighbour(json, "previous", &card->previous);
    put_neighbour(json, "next", &card->next);
    ggs_json_end(json);
    return status;
}

int ggs_op_write(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_overview * overview, uint64_t run,
                 uint64_t node, struct ggs_error * error) {
    struct card card = {.trace = trace, .overview = overview, .run = run, .node = node};
    if (ggs_overview_find(overview, run) == NULL)
        return ggs_fail(error, GGS_ABSENT, "there is no graph run %" PRIu64, run);
    int status = look_at_run(&card, error);
    if (status < 0) return status;
    status = find_op(&card, error);
    if (status == 0) status = put_card(&card, json, error);
    ggs_walk_close(card.walk);
    ggs_graph_view_release(&card.view);
    return status;
}
