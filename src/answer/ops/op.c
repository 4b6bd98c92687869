#include "answer/answer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/experts/choices.h"
#include "analyze/machine/disk-waits.h"
#include "analyze/machine/off-cpu.h"
#include "analyze/ops/graph-view.h"
#include "analyze/values/value-histogram.h"
#include "analyze/walk/times.h"
#include "analyze/walk/walk.h"
#include "analyze/walk/words.h"
#include "answer/ops/operand.h"
#include "base/error.h"

enum { EXPERTS_MOST = 4096 };

struct neighbour {
    uint64_t run, node;
    bool     found;
};

// The delays of each of the op's threads, in the order of op->op_runs. NULL: not recorded.
struct held_up {
    uint64_t * stalls; // by page faults
    uint64_t * waits;  // for streamed weights
    uint64_t * off;    // without a CPU
};

// Ops, by the nodes that they computed.
struct node_list {
    uint64_t node[GGS_NEIGHBOURS_MOST];
    uint64_t n;
};

// The remote client that waited for the op's graph run.
struct client {
    uint64_t run, process;
    uint64_t waited_ns;   // from sending the graph to receiving its results
    uint64_t computed_ns; // the part of it that the graph run took here
};

// Statistics of the result over all tokens.
struct computed {
    uint64_t                   rows, elements, nan, inf;
    double                     min, max, rms; // of the finite elements
    struct ggs_value_histogram histogram;
};

struct card {
    struct ggs_trace *             trace;
    const struct ggs_overview *    overview;
    uint64_t                       run, node, row;
    struct ggs_graph_view          view;
    struct ggs_walk *              walk; // at the op, and behind it once `next` is known
    struct ggs_op_seen             op;
    struct held_up                 held;
    const struct ggs_access_list * accesses;
    struct ggs_choices             choices;
    const struct ggs_choice *      choice; // NULL: none, or not recorded
    struct node_list               producers, consumers;
    struct neighbour               previous, next;
    struct client                  client;   // run 0: none
    struct computed                computed; // rows 0: not recorded
};

static const char * name_of(const struct card * card, uint64_t node) {
    const struct ggs_tensor * tensor = ggs_trace_tensor(card->trace, card->view.graph->nodes[node].tensor);
    return tensor == NULL ? "" : ggs_reader_string(card->trace->reader, tensor->name);
}

// Returns node + 1 of the op that computed a node, 0 if none did. Fusion is unknown for runs that
// are seen as a whole.
static uint32_t head_of(const struct card * card, uint64_t node) {
    const struct ggs_node_view * view = &card->view.nodes[node];
    return view->state == GGS_NODE_OPAQUE ? (uint32_t) node + 1 : view->head;
}

// ---- finding the op ----

// Finds the first or last op of the nearest run that has ops, in direction `step` from the run at
// `place`.
static int find_in_neighbour(const struct card * card, int64_t place, int step, struct neighbour * neighbour,
                             struct ggs_error * error) {
    struct ggs_trace  trace = ggs_trace_borrow(card->trace);
    struct ggs_walk * walk;
    int               status = 0;
    for (place += step; place >= 0 && (uint64_t) place < card->overview->runs; place += step) {
        const struct ggs_overview_run * at = &card->overview->run[place];
        uint64_t rows = (uint64_t) place + 1 < card->overview->runs ? at[1].first_row : card->overview->rows;
        if (rows == at->first_row) continue; // no ops in this run
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
    ggs_trace_return(&trace);
    return status < 0 ? status : 0;
}

// Reads the fate of the run's nodes. A fused op includes the nodes that it absorbed.
static int read_run(struct card * card, struct ggs_error * error) {
    struct ggs_run * runs;
    uint64_t         n;
    int              status = ggs_graph_runs(card->trace, -1, card->run, &runs, &n, error);
    if (status == 0) status = ggs_graph_view_compute(&card->view, card->trace, &runs[0], false, error);
    free(runs);
    uint32_t head = status == 0 && card->node < card->view.graph->n_nodes ? head_of(card, card->node) : 0;
    if (head != 0) card->node = head - 1;
    return status;
}

// Walks to the op, noting the previous op of the run on the way.
static int find_op(struct card * card, struct ggs_error * error) {
    int status = ggs_walk_open_runs(&card->walk, card->trace, card->run, card->run, error);
    if (status < 0) return status;
    card->walk->with_opaque = card->walk->with_submits = true;

    card->row = ggs_overview_find(card->overview, card->run)->first_row;
    status    = ggs_walk_run(card->walk, error);
    while (status > 0 && ggs_walk_op(card->walk)) {
        card->op = card->walk->op;
        if (card->op.node == card->node) return 0;
        card->previous = (struct neighbour){card->run, card->op.node, true};
        card->row += 1 + card->op.absorbed;
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

// Reads the values of the op. Of fused ops only the last one has an output.
static int find_values(struct card * card, struct ggs_error * error) {
    struct computed *   out     = &card->computed;
    uint64_t            node    = card->node;
    double              squares = 0;
    uint64_t            finite  = 0;
    struct ggs_cursor * cursor;
    struct ggs_op_value row;
    for (uint64_t i = 0; i < card->op.absorbed && node < card->view.graph->n_nodes; i++)
        node = ggs_trace_next_node(card->trace, card->view.graph, node);
    int status = ggs_cursor_open(&cursor, card->trace->reader, GGS_TABLE_OP_VALUES, error);
    if (status != 0) return status;
    ggs_cursor_keys(cursor, (int64_t) card->run, (int64_t) card->run);
    while ((status = ggs_cursor_next(cursor, &row, error)) > 0) {
        uint64_t lost = row.nan + row.inf, n = row.elements > lost ? row.elements - lost : 0;
        if (row.node != node || row.flags != 0) continue;
        out->rows++;
        out->elements += row.elements;
        out->nan += row.nan;
        out->inf += row.inf;
        if (n == 0) continue;
        out->min = finite == 0 ? row.min : fmin(out->min, row.min);
        out->max = finite == 0 ? row.max : fmax(out->max, row.max);
        squares += row.rms * row.rms * (double) n;
        finite += n;
    }
    out->rms = finite == 0 ? 0 : sqrt(squares / (double) finite);
    ggs_cursor_close(cursor);
    if (status < 0 || node >= card->view.graph->n_nodes) return status;
    return ggs_value_histogram_compute(&out->histogram, card->trace, card->run, node,
                                       card->view.graph->nodes[node].tensor, error);
}

static int find_client(struct card * card, struct ggs_error * error) {
    const struct ggs_run * here = &card->walk->run;
    struct ggs_run *       runs;
    uint64_t               n;
    if (here->peer == 0 || ggs_run_is_elsewhere(here) || here->end_ns < here->begin_ns) return 0;
    int status = ggs_graph_runs(card->trace, -1, here->peer, &runs, &n, error);
    if (status < 0) return status;
    if (runs[0].end_ns >= runs[0].begin_ns)
        card->client = (struct client){here->peer, runs[0].process, (uint64_t) (runs[0].end_ns - runs[0].begin_ns),
                                       (uint64_t) (here->end_ns - here->begin_ns)};
    free(runs);
    return 0;
}

// ---- delays ----

static int find_stalls(const struct card * card, uint64_t * stalls, struct ggs_error * error) {
    const struct ggs_op_seen * op = &card->op;
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
    bool                summed; // only for the run as a whole
};

static void add_wait(void * context, const struct ggs_disk_wait * wait) {
    struct waiting *           waiting = context;
    const struct ggs_op_seen * op      = &waiting->card->op;
    if (wait->run != waiting->card->run) return;
    waiting->summed |= wait->node == UINT64_MAX;
    for (uint64_t i = 0; wait->node == op->node && i < op->n_op_runs; i++)
        if (op->op_runs[i].thread == wait->thread) waiting->waits[i] += wait->wait_ns;
}

static int find_off_cpu(const struct card * card, uint64_t * off, struct ggs_error * error) {
    const struct ggs_op_seen * op      = &card->op;
    uint64_t                   process = card->walk->run.process;
    struct ggs_off_cpu_spans   spans;
    int status = ggs_off_cpu_spans_read(&spans, card->trace, op->begin_ns, op->end_ns + 1, error);
    for (uint64_t i = 0; status == 0 && i < op->n_op_runs; i++) {
        const struct ggs_op_run * run = &op->op_runs[i];
        off[i]                        = ggs_off_cpu_spans_within(&spans, process, run->os_thread, run->begin_ns,
                                                                 ggs_time_after(run->begin_ns, run->duration_ns));
    }
    ggs_off_cpu_spans_release(&spans);
    return status;
}

static int find_held_up(struct card * card, struct ggs_error * error) {
    struct held_up *           held   = &card->held;
    const struct ggs_op_seen * op     = &card->op;
    struct ggs_reader *        reader = card->trace->reader;
    bool                       faults = ggs_reader_rows(reader, GGS_TABLE_FAULTS) > 0,
         streamed                     = ggs_reader_rows(reader, GGS_TABLE_STREAMED) > 0,
         switches                     = ggs_reader_rows(reader, GGS_TABLE_OFF_CPU) > 0;
    int status                        = 0;
    *held                             = (struct held_up){faults ? calloc(op->n_op_runs + 1, sizeof(uint64_t)) : NULL,
                             streamed ? calloc(op->n_op_runs + 1, sizeof(uint64_t)) : NULL,
                             switches ? calloc(op->n_op_runs + 1, sizeof(uint64_t)) : NULL};
    if ((faults && held->stalls == NULL) || (streamed && held->waits == NULL) || (switches && held->off == NULL))
        return ggs_fail_memory(error);
    if (faults) status = find_stalls(card, held->stalls, error);
    if (status == 0 && switches) status = find_off_cpu(card, held->off, error);
    struct waiting waiting = {.card = card, .waits = held->waits};
    if (status == 0 && streamed)
        status = ggs_disk_waits_visit(card->trace, op->begin_ns, op->end_ns + 1, add_wait, &waiting, error);
    if (waiting.summed) {
        free(held->waits);
        held->waits = NULL;
    }
    return status;
}

// ---- sources and readers ----

static int find_experts(struct card * card, struct ggs_error * error) {
    if (ggs_trace_op_kind(card->trace, card->op.op) != GGS_KIND_MUL_MAT_ID) return 0;
    int status = ggs_choices_of(&card->choices, card->walk, error);
    if (status == 0) card->choice = ggs_choice_of_node(&card->choices, card->trace, card->walk->graph, card->node);
    return status;
}

// Adds each op once, without the op itself.
static void add_ops(const struct card * card, struct node_list * list, const uint32_t * nodes, unsigned n) {
    for (unsigned i = 0; i < n && list->n < GGS_NEIGHBOURS_MOST; i++) {
        uint32_t head  = head_of(card, nodes[i]);
        bool     known = head == 0 || head - 1 == card->node;
        for (uint64_t k = 0; k < list->n; k++) known |= list->node[k] == head - 1;
        if (!known) list->node[list->n++] = head - 1;
    }
}

// Finds the sources of the op and its absorbed nodes, and the readers of the last node's result.
static void find_edges(struct card * card) {
    uint32_t nodes[GGS_NEIGHBOURS_MOST];
    uint64_t last = card->node;
    for (uint64_t i = card->node; i < card->view.graph->n_nodes; i++) {
        if (head_of(card, i) != card->node + 1) continue;
        add_ops(card, &card->producers, nodes, ggs_graph_view_producers(&card->view, i, nodes));
        last = i;
    }
    add_ops(card, &card->consumers, nodes, ggs_graph_view_consumers(&card->view, last, nodes));
}

// ---- threads ----

struct thread_row {
    const struct ggs_op_run * run;
    int64_t                   stalled_ns, disk_wait_ns, off_cpu_ns; // -1: not recorded
};

GGS_NEXT(next_thread) {
    const struct card * card = at;
    if (*i == card->op.n_op_runs) return NULL;
    *(struct thread_row *) room =
        (struct thread_row){&card->op.op_runs[*i], card->held.stalls == NULL ? -1 : (int64_t) card->held.stalls[*i],
                            card->held.waits == NULL ? -1 : (int64_t) card->held.waits[*i],
                            card->held.off == NULL ? -1 : (int64_t) card->held.off[*i]};
    ++*i;
    return room;
}

#define RUN(get, expression) GGS_GET(int64_t, get, struct ggs_op_run, expression)
RUN(inner_wait_of, (it->flags & GGS_OP_RUN_INNER_UNSEEN) != 0 ? -1 : (int64_t) it->inner_wait_ns)
RUN(wait_of, (it->flags & GGS_OP_RUN_WAIT_UNSEEN) != 0 ? -1 : (int64_t) it->wait_ns)
GGS_GET(bool, is_cut, struct thread_row, (it->run->flags & GGS_OP_RUN_ENDED) == 0)

static const struct ggs_field run_fields[] = {
    GGS_FIELD(struct ggs_op_run, thread, "thread", "index in the engine's pool"),
    GGS_FIELD(struct ggs_op_run, os_thread, "os_thread", "the operating system's number"),
    GGS_FIELD(struct ggs_op_run, begin_ns, "begin_ns"),
    GGS_FIELD(struct ggs_op_run, duration_ns, "duration_ns", "waits inside included"),
    GGS_FIELD_OR_NULL(struct ggs_op_run, submit_ns, "submit_ns",
                      "when the host handed it to the device; null on the CPU"),
    GGS_NATURAL("inner_wait_ns", inner_wait_of,
                "in barriers inside, or between the kernels of the op; part of duration_ns; null if not seen"),
    GGS_NATURAL("wait_ns", wait_of, "in the barrier after the end; null if not seen: on a device"),
    {0},
};
static const struct ggs_object run_ = {.fields = run_fields};

GGS_GET_VIEW(run_of, struct thread_row, it->run)

#define STALLED   "stalled by page faults; part of busy_ns; null if faults were not recorded"
#define DISK_WAIT "waiting for streamed weights; part of busy_ns; null if nothing was streamed, or it was not seen"

#define OFF_CPU "without a CPU; part of busy_ns; null if context switches were not recorded"

static const struct ggs_field thread_fields[] = {
    GGS_MEMBERS_VIEW(run_of, &run_),
    GGS_FIELD_OR_NULL(struct thread_row, stalled_ns, "stalled_ns", STALLED),
    GGS_FIELD_OR_NULL(struct thread_row, disk_wait_ns, "disk_wait_ns", DISK_WAIT),
    GGS_FIELD_OR_NULL(struct thread_row, off_cpu_ns, "off_cpu_ns", OFF_CPU),
    GGS_TEST("cut", is_cut, "its end was not seen"),
    {0},
};
static const struct ggs_object thread_ = {.fields = thread_fields};

// ---- fused nodes ----

struct absorbed_row {
    uint64_t     node;
    const char * op;
    const char * name;
};

GGS_NEXT(next_absorbed) {
    const struct card *      card  = at;
    const struct ggs_graph * graph = card->view.graph;
    if (*i == 0) *i = card->node + 1;
    while (*i < graph->n_nodes && head_of(card, *i) != card->node + 1) ++*i;
    if (*i >= graph->n_nodes) return NULL;
    *(struct absorbed_row *) room =
        (struct absorbed_row){*i, ggs_trace_op_name(card->trace, graph->nodes[*i].op), name_of(card, *i)};
    ++*i;
    return room;
}

static const struct ggs_field absorbed_fields[] = {
    GGS_FIELD(struct absorbed_row, node, "node"),
    GGS_FIELD(struct absorbed_row, op, "op"),
    GGS_FIELD(struct absorbed_row, name, "name"),
    {0},
};
static const struct ggs_object absorbed = {.fields = absorbed_fields};

// ---- operands and experts ----

GGS_NEXT(next_operand) {
    const struct ggs_access_list * list = ((const struct card *) at)->accesses;
    if (*i == list->n) return NULL;
    const struct ggs_access * a     = &list->access[(*i)++];
    uint64_t                  first = a->n_ranges > 0 ? a->ranges[0].offset : 0;
    *(struct ggs_operand *) room =
        (struct ggs_operand){{a->tensor, first}, a->slot, a->write, a->exact, a->bytes, a->n_ranges, a->ranges};
    return room;
}

struct expert_row {
    uint64_t input, rank;
    int64_t  expert;
    double   weight; // NaN: not known
};

GGS_NEXT(next_expert) {
    const struct ggs_choice * choice = ((const struct card *) at)->choice;
    if (*i == choice->used * choice->tokens || *i == EXPERTS_MOST) return NULL;
    *(struct expert_row *) room =
        (struct expert_row){*i / choice->used, *i % choice->used, choice->experts[*i],
                            choice->weights == NULL ? (double) NAN : (double) choice->weights[*i]};
    ++*i;
    return room;
}

static const struct ggs_field expert_fields[] = {
    GGS_FIELD(struct expert_row, input, "input", "which token of the batch"),
    GGS_FIELD(struct expert_row, rank, "rank", "0 is the first choice"),
    GGS_FIELD(struct expert_row, expert, "expert"),
    GGS_FIELD_OR_NULL(struct expert_row, weight, "weight", "multiplies the expert's output"),
    {0},
};
static const struct ggs_object expert = {.fields = expert_fields};

// ---- the answer ----

static int64_t sum_of(const uint64_t * list, const struct ggs_op_seen * op) {
    int64_t sum = 0;
    for (uint64_t i = 0; list != NULL && i < op->n_op_runs; i++) sum += (int64_t) list[i];
    return list == NULL || op->opaque ? -1 : sum;
}

#define CARD(get, expression)      GGS_GET(int64_t, get, struct card, expression)
#define CARD_TEXT(get, expression) GGS_GET_TEXT(get, struct card, expression)
CARD(token_of, it->walk->run.step)
CARD(stalled_of, sum_of(it->held.stalls, &it->op))
CARD(disk_wait_of, sum_of(it->held.waits, &it->op))
CARD(off_cpu_of, sum_of(it->held.off, &it->op))
CARD_TEXT(phase_of, ggs_word_phase(it->walk->run.phase))
CARD_TEXT(backend_of, ggs_reader_string(trace->reader, it->walk->run.backend))
CARD_TEXT(node_name_of, name_of(it, it->node))
GGS_GET(bool, has_experts, struct card, it->choice != NULL)
GGS_GET_VIEW(times_of, struct card, (*(struct ggs_op_times *) room = GGS_OP_TIMES(&it->op), room))
GGS_GET_VIEW(previous_of, struct card, it->previous.found ? &it->previous : NULL)
GGS_GET_VIEW(computed_of, struct card, it->computed.rows != 0 ? &it->computed : NULL)
GGS_GET_VIEW(client_of, struct card, it->client.run != 0 ? &it->client : NULL)
GGS_GET_VIEW(next_of, struct card, it->next.found ? &it->next : NULL)

static const struct ggs_field neighbour_fields[] = {
    GGS_FIELD(struct neighbour, run, "run"), GGS_FIELD(struct neighbour, node, "node"), {0}};
static const struct ggs_object neighbour = {.fields = neighbour_fields};

#define HISTOGRAM(member, ...) GGS_FIELD(struct ggs_value_histogram, member, #member, __VA_ARGS__)

static const struct ggs_field histogram_fields[] = {
    HISTOGRAM(least),
    HISTOGRAM(most),
    HISTOGRAM(elements, "finite elements"),
    GGS_LIST(struct ggs_value_histogram, counts, bins, "counts", "counts in bins of equal width from least to most",
             .inside = true),
    {0},
};
static const struct ggs_object histogram = {.fields = histogram_fields};

GGS_GET_VIEW(histogram_of, struct computed, it->histogram.elements > 0 ? &it->histogram : NULL)

static const struct ggs_field computed_fields[] = {
    GGS_FIELD(struct computed, rows, "rows", "tokens; 1 if the output is not divided by tokens"),
    GGS_FIELD(struct computed, elements, "elements", "elements of all rows"),
    GGS_FIELD(struct computed, nan, "nan", "elements that are NaN"),
    GGS_FIELD(struct computed, inf, "inf", "elements that are infinite"),
    GGS_FIELD(struct computed, min, "min", "of the finite elements; 0 if there are none, as the next two"),
    GGS_FIELD(struct computed, max, "max"),
    GGS_FIELD(struct computed, rms, "rms", "root of the mean square"),
    GGS_OBJECT_OR_NULL("histogram", histogram_of, &histogram,
                       "of all elements; null if they were not kept (record --values-dump)"),
    {0},
};
static const struct ggs_object computed = {.fields = computed_fields};

static const struct ggs_field client_fields[] = {
    GGS_FIELD(struct client, run, "run", "the same graph run there"),
    GGS_FIELD(struct client, process, "process"),
    GGS_FIELD(struct client, waited_ns, "waited_ns", "from sending the graph to having its results"),
    GGS_FIELD(struct client, computed_ns, "computed_ns",
              "of that, the time of the graph run here; the rest is the wire"),
    {0},
};
static const struct ggs_object client = {.fields = client_fields};

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    GGS_FIELD(struct card, row, "row", "row in the unfiltered log"),
    GGS_FIELD(struct card, run, "run"),
    GGS_FIELD(struct card, node, "node"),
    GGS_NATURAL("token", token_of, ""),
    GGS_TEXT("phase", phase_of, "", .word = ggs_word_phase),
    GGS_TEXT("backend", backend_of, ""),
    GGS_TEXT("name", node_name_of, "tensor that it computes"),
    GGS_FIELD(struct card, op.name, "op"),
    GGS_FIELD_OR_NULL(struct card, op.layer, "layer"),
    GGS_FIELD(struct card, op.cut, "cut", "some thread's end was not seen"),
    GGS_MEMBERS_VIEW(times_of, &ggs_op_times_object),
    GGS_NATURAL("stalled_ns", stalled_of, STALLED),
    GGS_NATURAL("disk_wait_ns", disk_wait_of, DISK_WAIT),
    GGS_NATURAL("off_cpu_ns", off_cpu_of, OFF_CPU),
    GGS_EACH("threads", next_thread, &thread_),
    GGS_EACH("absorbed", next_absorbed, &absorbed, "nodes that were computed together with it"),
    GGS_EACH("operands", next_operand, &ggs_ranged_operand_object),
    GGS_EACH("experts", next_expert, &expert, "experts of MUL_MAT_ID, if recorded", .known = has_experts),
    GGS_LIST(struct card, producers.node, producers.n, "producers", "nodes whose results it reads", .inside = true),
    GGS_LIST(struct card, consumers.node, consumers.n, "consumers", "nodes that read its result", .inside = true),
    GGS_OBJECT_OR_NULL("previous", previous_of, &neighbour, "the previous op"),
    GGS_OBJECT_OR_NULL("next", next_of, &neighbour, "the next op"),
    GGS_OBJECT_OR_NULL("values", computed_of, &computed, "what it computed; null: not recorded (record --values)"),
    GGS_OBJECT_OR_NULL("client", client_of, &client, "joined recordings: the process that waited for its graph run"),
    {0},
};
const struct ggs_object ggs_op_object = {
    .name = "OpAnswer",
    .text =
        "One op: its times by thread, its operands with their bytes, and the ops around it. A node of a backend that "
        "is seen as a whole has no times.",
    .fields = fields,
    .lines  = true,
};

// Of a graph run that a server computed, the op that took longest there: what the client waited
// for.
static int follow_to_server(struct card * card, struct ggs_error * error) {
    struct ggs_run * runs;
    uint64_t         n, longest = 0;
    int              status = ggs_graph_runs(card->trace, -1, card->run, &runs, &n, error);
    if (status < 0) return status;
    uint64_t server = n > 0 && ggs_run_is_elsewhere(&runs[0]) ? runs[0].peer : 0;
    free(runs);
    if (server == 0 || ggs_overview_find(card->overview, server) == NULL) return 0;
    struct ggs_trace  trace = ggs_trace_borrow(card->trace);
    struct ggs_walk * walk  = NULL;
    status                  = ggs_walk_open_runs(&walk, &trace, server, server, error);
    if (status >= 0) status = ggs_walk_run(walk, error);
    while (status > 0 && ggs_walk_op(walk)) {
        uint64_t took = ggs_time_between(walk->op.begin_ns, walk->op.end_ns);
        if (took < longest) continue;
        longest   = took;
        card->run = server, card->node = walk->op.node;
    }
    ggs_walk_close(walk);
    ggs_trace_return(&trace);
    return status < 0 ? status : 0;
}

int ggs_op_write(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_overview * overview, uint64_t run,
                 uint64_t node, struct ggs_error * error) {
    struct card card = {.trace = trace, .overview = overview, .run = run, .node = node};
    if (ggs_overview_find(overview, run) == NULL)
        return ggs_fail(error, GGS_ABSENT, "there is no graph run %" PRIu64, run);
    int status = follow_to_server(&card, error);
    if (status == 0) status = read_run(&card, error);
    if (status < 0) return status;
    status = find_op(&card, error);
    if (status == 0) status = find_held_up(&card, error);
    if (status == 0) status = ggs_walk_accesses(card.walk, &card.accesses, error);
    if (status == 0) status = find_experts(&card, error);
    if (status == 0) find_edges(&card);
    if (status == 0) status = find_client(&card, error);
    if (status == 0) status = find_values(&card, error);
    if (status == 0) status = find_neighbours(&card, error);
    if (status == 0) ggs_answer_write(json, &ggs_op_object, &card, trace);
    free(card.held.stalls);
    free(card.held.waits);
    free(card.held.off);
    ggs_choices_release(&card.choices);
    ggs_walk_close(card.walk);
    ggs_graph_view_release(&card.view);
    return status;
}
