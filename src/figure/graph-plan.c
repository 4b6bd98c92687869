#include "figure/graph-plan.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

enum { SWEEPS = 16, STRAIGHTENING = 8, ITEMS_MOST = 1 << 20 };

// ---- blocks and lines ----

// The block of a node: that of its layer, or of its neighbours without a layer.
static int64_t find_block(struct ggs_graph_plan * plan, uint64_t last, int layer) {
    for (uint64_t i = 0; layer >= 0 && i < plan->n_blocks; i++)
        if (plan->blocks[i].layer == layer) return (int64_t) i;
    if (layer < 0 && plan->n_blocks > 0 && plan->blocks[last].layer < 0) return (int64_t) last;
    struct ggs_plan_block block = {.layer = layer};
    bool                  done  = ggs_array_push(plan->blocks, plan->n_blocks, plan->block_capacity, block);
    return done ? (int64_t) plan->n_blocks - 1 : -1;
}

static bool is_drawn(const struct ggs_graph_plan * plan, uint64_t node) {
    const struct ggs_node_view * at = &plan->view->nodes[node];
    return at->state != GGS_NODE_EMPTY && (plan->layer < 0 || at->layer == plan->layer);
}

// Links a node with those of its block that it reads: for the time being from node to node.
static bool link_node(struct ggs_graph_plan * plan, uint32_t to) {
    uint32_t producers[GGS_NEIGHBOURS_MOST];
    unsigned n = ggs_graph_view_producers(plan->view, plan->items[to].node - 1, producers);
    for (unsigned i = 0; i < n; i++) {
        uint32_t from = plan->item_of[producers[i]];
        if (from == 0 || plan->items[from - 1].block != plan->items[to].block) continue;
        struct ggs_plan_link link = {from - 1, to};
        if (!ggs_array_push(plan->links, plan->n_links, plan->link_capacity, link)) return false;
        if (plan->items[to].line <= plan->items[from - 1].line) plan->items[to].line = plan->items[from - 1].line + 1;
    }
    return true;
}

static bool add_nodes(struct ggs_graph_plan * plan) {
    uint64_t last = 0;
    for (uint64_t node = 0; node < plan->view->graph->n_nodes; node++) {
        if (!is_drawn(plan, node)) continue;
        int64_t block = find_block(plan, last, plan->view->nodes[node].layer);
        if (block < 0) return false;
        last                      = (uint64_t) block;
        struct ggs_plan_item item = {.node = (uint32_t) node + 1, .block = (uint32_t) block};
        if (!ggs_array_push(plan->items, plan->n_items, plan->item_capacity, item)) return false;
        plan->item_of[node] = (uint32_t) plan->n_items;
        if (!link_node(plan, (uint32_t) plan->n_items - 1)) return false;
    }
    return true;
}

// Moves nodes that read nothing of their block to the line above their first reader.
static void lower_sources(struct ggs_graph_plan * plan) {
    for (uint64_t i = 0; i < plan->n_links; i++) plan->items[plan->links[i].to].neighbours++;
    for (uint64_t i = 0; i < plan->n_items; i++) plan->items[i].wanted = INFINITY;
    for (uint64_t i = 0; i < plan->n_links; i++) {
        struct ggs_plan_item * from = &plan->items[plan->links[i].from];
        from->wanted                = fmin(from->wanted, plan->items[plan->links[i].to].line);
    }
    for (uint64_t i = 0; i < plan->n_items; i++) {
        struct ggs_plan_item * item = &plan->items[i];
        if (item->neighbours == 0 && item->wanted < INFINITY) item->line = (uint32_t) item->wanted - 1;
        if (item->line >= plan->lines) plan->lines = item->line + 1;
    }
}

// Cuts links at every line that they pass, as far as there is room: no graph of a model needs more.
static bool cut_links(struct ggs_graph_plan * plan) {
    for (uint64_t i = 0, n = plan->n_links; i < n; i++) {
        struct ggs_plan_link link = plan->links[i];
        uint32_t             end  = plan->items[link.to].line;
        if (plan->n_items + end > ITEMS_MOST) continue;
        for (uint32_t line = plan->items[link.from].line + 1; line < end; line++) {
            struct ggs_plan_item bend = {.block = plan->items[link.to].block, .line = line};
            if (!ggs_array_push(plan->items, plan->n_items, plan->item_capacity, bend)) return false;
            struct ggs_plan_link part = {link.from, (uint32_t) plan->n_items - 1};
            if (!ggs_array_push(plan->links, plan->n_links, plan->link_capacity, part)) return false;
            link.from = part.to;
        }
        plan->links[i].from = link.from;
    }
    return true;
}

// ---- places in a line ----

static int compare(const void * a, const void * b) {
    const struct ggs_plan_item *const *left = a, *const *right = b;
    const struct ggs_plan_item *       one = *left, *other = *right;
    if (one->block != other->block) return one->block < other->block ? -1 : 1;
    if (one->line != other->line) return one->line < other->line ? -1 : 1;
    if (one->wanted != other->wanted) return one->wanted < other->wanted ? -1 : 1;
    return one < other ? -1 : one > other;
}

static double gap(const struct ggs_plan_item * a, const struct ggs_plan_item * b) {
    return (a->node != 0 ? 0.5 : 0.12) + (b->node != 0 ? 0.5 : 0.12);
}

// Places a line as close to what its items want as their widths allow: the mean of packing it from
// the left and from the right.
static void settle(struct ggs_plan_item ** line, uint64_t n) {
    double at = 0;
    for (uint64_t i = 0; i < n; i++) {
        at         = i > 0 ? fmax(line[i]->wanted, at + gap(line[i - 1], line[i])) : line[i]->wanted;
        line[i]->x = at / 2;
    }
    for (uint64_t i = n; i-- > 0;) {
        at = i + 1 < n ? fmin(line[i]->wanted, at - gap(line[i], line[i + 1])) : line[i]->wanted;
        line[i]->x += at / 2;
    }
}

static void want_near(struct ggs_plan_item * item, const struct ggs_plan_item * neighbour) {
    item->wanted = (item->neighbours > 0 ? item->wanted : 0) + neighbour->x;
    item->neighbours++;
}

static void want(struct ggs_graph_plan * plan, bool by_above, bool by_below) {
    for (uint64_t i = 0; i < plan->n_items; i++) plan->items[i].neighbours = 0;
    for (uint64_t i = 0; i < plan->n_links; i++) {
        struct ggs_plan_item *from = &plan->items[plan->links[i].from], *to = &plan->items[plan->links[i].to];
        if (by_above) want_near(to, from);
        if (by_below) want_near(from, to);
    }
    for (uint64_t i = 0; i < plan->n_items; i++) {
        struct ggs_plan_item * item = &plan->items[i];
        item->wanted                = item->neighbours > 0 ? item->wanted / item->neighbours : item->x;
    }
}

// The places of their neighbours order the items of each line, downwards and upwards in turns. At
// the end both sides count, which makes long edges straight.
static bool place(struct ggs_graph_plan * plan) {
    struct ggs_plan_item ** order = calloc(plan->n_items + 1, sizeof(struct ggs_plan_item *));
    uint64_t                n     = plan->n_items;
    if (order == NULL) return false;
    for (uint64_t i = 0; i < n; i++) order[i] = &plan->items[i];
    for (unsigned sweep = 0; sweep < SWEEPS; sweep++) {
        bool both = sweep + STRAIGHTENING >= SWEEPS;
        want(plan, both || sweep % 2 == 0, both || sweep % 2 == 1);
        qsort(order, n, sizeof(struct ggs_plan_item *), compare);
        for (uint64_t first = 0, end; first < n; first = end) {
            for (end = first + 1;
                 end < n && order[end]->block == order[first]->block && order[end]->line == order[first]->line;)
                end++;
            settle(order + first, end - first);
        }
    }
    for (uint64_t i = 0; i < n; i++) {
        struct ggs_plan_block * block = &plan->blocks[order[i]->block];
        double                  half  = order[i]->node != 0 ? 0.5 : 0.12;
        bool                    first = i == 0 || order[i]->block != order[i - 1]->block;
        block->from                   = first ? order[i]->x - half : fmin(block->from, order[i]->x - half);
        block->to                     = first ? order[i]->x + half : fmax(block->to, order[i]->x + half);
    }
    free(order);
    return true;
}

int ggs_graph_plan_make(struct ggs_graph_plan * plan, struct ggs_error * error) {
    plan->item_of = calloc(plan->view->graph->n_nodes + 1, sizeof(*plan->item_of));
    bool done     = plan->item_of != NULL && add_nodes(plan);
    if (done) lower_sources(plan);
    done = done && cut_links(plan) && place(plan);
    if (done) return 0;
    ggs_graph_plan_release(plan);
    return ggs_fail_memory(error);
}

void ggs_graph_plan_release(struct ggs_graph_plan * plan) {
    free(plan->blocks);
    free(plan->items);
    free(plan->links);
    free(plan->item_of);
    *plan = (struct ggs_graph_plan){0};
}
