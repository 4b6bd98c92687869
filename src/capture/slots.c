#include "capture/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/ticks.h"

enum { MOST_COPY = 4 << 20 };

struct ggs_slot         ggs_slots[GGS_SLOTS];
_Atomic int             ggs_slots_open;
static _Atomic uint32_t n_lanes;

// ---- lanes ----

// Makes a lane if there is none. Returns NULL if out of memory.
static struct ggs_slot_lane * make_lane(struct ggs_slot_lane ** lane) {
    if (*lane != NULL) return *lane;
    struct ggs_slot_lane * made = aligned_alloc(_Alignof(struct ggs_slot_lane), sizeof(*made));
    if (made == NULL) return NULL;
    memset(made, 0, sizeof(*made));
    made->number = atomic_fetch_add(&n_lanes, 1);
    return *lane = made;
}

// Makes room for `bytes`, followed by a unit that stays zero.
static bool make_room(const struct ggs_slot * slot, struct ggs_slot_lane * lane, uint32_t thread, uint64_t bytes) {
    if (lane->next != NULL && (uint64_t) ((char *) lane->end - (char *) lane->next) >= bytes) return true;
    struct ggs_segment next;
    if (ggs_segment_create(&next, lane->number, lane->sequence, ggs_slot_number(slot), thread,
                           bytes + GGS_SPOOL_UNIT) != 0)
        return false;
    ggs_segment_leave(&lane->segment);
    lane->segment = next;
    lane->sequence++;
    lane->os_thread = 0;
    lane->next      = (struct ggs_spool_op *) (next.data + sizeof(struct ggs_spool_header));
    lane->end       = lane->next + (next.size - sizeof(struct ggs_spool_header)) / GGS_SPOOL_UNIT - 1;
    return true;
}

struct ggs_slot_lane * ggs_slot_provide(struct ggs_slot * slot, uint32_t number) {
    const struct ggs_captured_graph * graph = slot->graph;
    struct ggs_slot_lane *            lane  = make_lane(&slot->lanes[number]);
    // At worst each op needs a GGS_UNIT_AT before it.
    uint64_t bytes = ((uint64_t) graph->n_nodes + 2) * 2 * GGS_SPOOL_UNIT + (number == 0 ? graph->index_bytes : 0);
    return lane != NULL && make_room(slot, lane, number, bytes) ? lane : NULL;
}

// Makes room in the lane of values and writes the unit's head, but not its type.
static struct ggs_spool_values * begin_payload(struct ggs_slot * slot, const struct ggs_spool_values * head) {
    struct ggs_slot_lane * lane  = make_lane(&slot->values_lane);
    uint64_t               whole = (sizeof(*head) + (uint64_t) head->bytes + GGS_SPOOL_UNIT - 1) / GGS_SPOOL_UNIT;
    if (lane == NULL || !make_room(slot, lane, GGS_SPOOL_VALUES, whole * GGS_SPOOL_UNIT)) return NULL;
    struct ggs_spool_values * unit = (struct ggs_spool_values *) lane->next;
    memcpy((char *) unit + 1, (const char *) head + 1, sizeof(*head) - 1);
    unit->run = atomic_load_explicit(&slot->number, memory_order_relaxed);
    lane->next += whole;
    return unit;
}

bool ggs_slot_payload(struct ggs_slot * slot, const struct ggs_spool_values * head, const void * payload) {
    struct ggs_spool_values * unit = begin_payload(slot, head);
    if (unit == NULL) return false;
    memcpy(unit + 1, payload, head->bytes);
    __atomic_store_n(&unit->type, head->type, __ATOMIC_RELEASE);
    return true;
}

struct ggs_spool_values * ggs_slot_values_begin(struct ggs_slot * slot, uint32_t node, unsigned source, bool input,
                                                uint64_t elements, uint32_t n_rows) {
    struct ggs_spool_values head = {
        .source = (uint8_t) source, .input = input, .node = node, .elements = elements, .rows = n_rows};
    if (n_rows > UINT32_MAX / sizeof(struct ggs_spool_value)) return NULL;
    head.bytes = n_rows * (uint32_t) sizeof(struct ggs_spool_value);
    return begin_payload(slot, &head);
}

void ggs_slot_values_end(struct ggs_spool_values * unit, bool filled) {
    if (!filled) unit->rows = 0;
    __atomic_store_n(&unit->type, GGS_UNIT_VALUES, __ATOMIC_RELEASE);
}

bool ggs_slot_values(struct ggs_slot * slot, uint32_t node, unsigned source, bool input, uint64_t elements,
                     const struct ggs_spool_value * rows, uint32_t n_rows) {
    struct ggs_spool_values * unit = ggs_slot_values_begin(slot, node, source, input, elements, n_rows);
    if (unit == NULL) return false;
    memcpy(unit + 1, rows, unit->bytes);
    ggs_slot_values_end(unit, true);
    return true;
}

// Writes a unit that is not an op. Returns false if there is no room.
static bool write_at(struct ggs_slot_lane * lane, unsigned type, uint32_t node, uint32_t run, uint64_t begin) {
    struct ggs_spool_at * unit = (struct ggs_spool_at *) lane->next;
    if (lane->next >= lane->end) return false;
    lane->next++;
    unit->run   = run;
    unit->begin = begin;
    __atomic_store_n((ggs_lane_head *) unit, type | node << GGS_HEAD_NODE, __ATOMIC_RELEASE);
    return true;
}

void ggs_lane_thread(struct ggs_slot_lane * lane, uint32_t run, uint32_t os_thread) {
    if (lane->os_thread != os_thread && write_at(lane, GGS_UNIT_THREAD, 0, run, os_thread)) lane->os_thread = os_thread;
}

struct ggs_spool_op * ggs_lane_begin_at(struct ggs_slot_lane * lane, uint32_t run, uint32_t node, uint64_t begin,
                                        bool fused) {
    if (!write_at(lane, GGS_UNIT_AT, node, run, begin) || lane->next >= lane->end) return NULL;
    struct ggs_spool_op * op = lane->next;
    ggs_lane_begin(lane, op, 0, fused);
    return op;
}

void ggs_lane_end_at(struct ggs_spool_op * op, uint64_t duration, uint64_t wait, uint64_t inner_wait, unsigned flags) {
    unsigned shift = 0;
    while (((duration | wait | inner_wait) >> shift) > UINT32_MAX) shift++;
    op->duration   = (uint32_t) (duration >> shift);
    op->wait       = (uint32_t) (wait >> shift);
    op->inner_wait = (uint32_t) (inner_wait >> shift);
    uint32_t kept  = *(ggs_lane_head *) op & ~(0xffu << GGS_HEAD_SHIFT | GGS_OP_RUN_WAIT_UNSEEN << GGS_HEAD_FLAGS);
    __atomic_store_n((ggs_lane_head *) op,
                     kept | (flags | GGS_OP_RUN_ENDED) << GGS_HEAD_FLAGS | shift << GGS_HEAD_SHIFT, __ATOMIC_RELEASE);
}

// Copies the values of a tensor, dense, first dimension fastest. Returns the bytes written.
static uint64_t copy_values(char * to, uint64_t room, const struct abi_tensor * t, size_t width) {
    uint64_t used = 0;
    for (int64_t i3 = 0; i3 < t->ne[3]; i3++) {
        for (int64_t i2 = 0; i2 < t->ne[2]; i2++) {
            for (int64_t i1 = 0; i1 < t->ne[1]; i1++) {
                const char * row =
                    (const char *) t->data + (size_t) i3 * t->nb[3] + (size_t) i2 * t->nb[2] + (size_t) i1 * t->nb[1];
                uint64_t bytes = (uint64_t) t->ne[0] * width;
                if (used + bytes > room) return used;
                if (t->nb[0] == width) {
                    memcpy(to + used, row, bytes);
                } else {
                    for (int64_t i0 = 0; i0 < t->ne[0]; i0++)
                        memcpy(to + used + (size_t) i0 * width, row + (size_t) i0 * t->nb[0], width);
                }
                used += bytes;
            }
        }
    }
    return used;
}

// The types that index tensors and routing weights have: f32, i32, i64. Their numbers are part of
// the GGUF format.
static size_t width_of(int type) {
    return type == 0 || type == 26 ? 4 : type == 27 ? 8 : 0;
}

void ggs_lane_index(struct ggs_slot_lane * lane, uint32_t run, uint32_t node, unsigned source,
                    const struct abi_tensor * t) {
    size_t                   width = t == NULL ? 0 : width_of(t->type);
    struct ggs_spool_index * unit  = (struct ggs_spool_index *) lane->next;
    if (width == 0 || (char *) lane->end - (char *) unit <= (ptrdiff_t) sizeof(*unit)) return;
    uint64_t room  = (uint64_t) ((char *) lane->end - (char *) (unit + 1));
    uint64_t total = (uint64_t) (t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]) * width;
    uint64_t bytes = copy_values((char *) (unit + 1), room < MOST_COPY ? room : MOST_COPY, t, width);
    unit->source   = (uint8_t) source;
    unit->width    = (uint8_t) width;
    unit->flags    = bytes < total ? GGS_INDEX_CUT : 0;
    unit->run      = run;
    unit->node     = node;
    unit->bytes    = (uint32_t) bytes;
    for (int d = 0; d < 4; d++) unit->ne[d] = (uint32_t) t->ne[d];
    __atomic_store_n(&unit->type, GGS_UNIT_INDEX, __ATOMIC_RELEASE);
    lane->next += sizeof(*unit) / GGS_SPOOL_UNIT + (bytes + GGS_SPOOL_UNIT - 1) / GGS_SPOOL_UNIT;
}

bool ggs_slot_index(struct ggs_slot * slot, uint32_t node, unsigned source, const struct abi_tensor * t) {
    struct ggs_slot_lane * lane  = make_lane(&slot->values_lane);
    uint64_t               bytes = (uint64_t) (t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]) * width_of(t->type);
    if (bytes > MOST_COPY) bytes = MOST_COPY;
    if (lane == NULL ||
        !make_room(slot, lane, GGS_SPOOL_VALUES, sizeof(struct ggs_spool_index) + bytes + GGS_SPOOL_UNIT))
        return false;
    ggs_lane_index(lane, atomic_load_explicit(&slot->number, memory_order_relaxed), node, source, t);
    return true;
}

// ---- slots ----

// A lane is read in the order of run numbers. A run that got its number and lost the processor must
// not use a slot in which a later run has ended.
static struct ggs_slot * acquire_slot(uint32_t run) {
    for (unsigned i = 0; i < GGS_SLOTS; i++) {
        struct ggs_slot * slot      = &ggs_slots[i];
        bool              free_slot = false;
        if (!atomic_compare_exchange_strong(&slot->in_use, &free_slot, true)) continue;
        if (slot->newest <= run) {
            slot->newest = run;
            return slot;
        }
        atomic_store_explicit(&slot->in_use, false, memory_order_release);
    }
    return NULL;
}

// Other threads may be searching the nodes of the previous run. They check a result against the
// run's number afterwards, so each value is written whole, after the number.
static bool copy_nodes(struct ggs_slot * slot, const struct abi_graph * graph) {
    struct ggs_slot_nodes * nodes = atomic_load_explicit(&slot->nodes, memory_order_relaxed);
    uint32_t                n     = (uint32_t) graph->n_nodes;
    if (nodes == NULL || n > nodes->capacity) {
        struct ggs_slot_nodes * older    = nodes;
        uint32_t                capacity = nodes == NULL ? 1024 : nodes->capacity;
        while (capacity < n) capacity *= 2;
        nodes = calloc(1, sizeof(*nodes) + capacity * sizeof(nodes->node[0]));
        if (nodes == NULL) return false;
        nodes->capacity = capacity;
        nodes->older    = older;
    }
#pragma GCC unroll 8 // the compiler does not combine atomic stores
    for (uint32_t i = 0; i < n; i++) atomic_store_explicit(&nodes->node[i], graph->nodes[i], memory_order_relaxed);
    atomic_store_explicit(&nodes->n, n, memory_order_relaxed);
    atomic_store_explicit(&slot->nodes, nodes, memory_order_release);
    return true;
}

struct ggs_slot * ggs_slot_open(uint32_t run, const struct abi_graph * nodes, const struct ggs_captured_graph * graph,
                                void * pool, int lanes) {
    struct ggs_slot * slot = acquire_slot(run);
    if (slot == NULL || lanes > GGS_SLOT_LANES || graph->n_nodes > GGS_SPOOL_MOST_NODES) {
        if (slot != NULL) atomic_store(&slot->in_use, false);
        errno = EBUSY;
        return NULL;
    }
    bool good     = true;
    slot->lost    = 0;
    slot->graph   = graph;
    slot->watched = false;
    slot->values  = NULL;
    for (int i = 0; good && i < lanes; i++) good = ggs_slot_provide(slot, (uint32_t) i) != NULL;
    if (!good || !copy_nodes(slot, nodes)) {
        atomic_store(&slot->in_use, false);
        return NULL;
    }
    atomic_store_explicit(&slot->pool, pool, memory_order_relaxed);
    atomic_store_explicit(&slot->number, run, memory_order_release);
    atomic_fetch_add_explicit(&ggs_slots_open, 1, memory_order_relaxed);
    return slot;
}

uint32_t ggs_slots_lanes(void) {
    return atomic_load(&n_lanes);
}

uint32_t ggs_slot_number(const struct ggs_slot * slot) {
    return slot == NULL ? UINT32_MAX : (uint32_t) (slot - ggs_slots);
}

uint64_t ggs_slot_close(struct ggs_slot * slot) {
    uint64_t lost = slot->lost;
    atomic_fetch_sub_explicit(&ggs_slots_open, 1, memory_order_relaxed);
    atomic_store_explicit(&slot->number, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); // before the nodes of the next run are written
    atomic_store_explicit(&slot->in_use, false, memory_order_release);
    return lost;
}

uint32_t ggs_slot_search(struct ggs_slot * slot, const struct abi_tensor * node, uint32_t * index) {
    uint32_t run = atomic_load_explicit(&slot->number, memory_order_acquire), i = 0;
    if (run == 0) return 0;
    const struct ggs_slot_nodes * nodes = atomic_load_explicit(&slot->nodes, memory_order_acquire);
    uint32_t                      n     = atomic_load_explicit(&nodes->n, memory_order_relaxed);
    if (n > nodes->capacity) n = nodes->capacity;
    while (i < n && atomic_load_explicit(&nodes->node[i], memory_order_relaxed) != node) i++;
    atomic_thread_fence(memory_order_acquire);
    if (i == n || atomic_load_explicit(&slot->number, memory_order_relaxed) != run) return 0;
    *index = i;
    return run;
}

static void free_slot(struct ggs_slot * slot) {
    for (struct ggs_slot_nodes *nodes = atomic_load(&slot->nodes), *older; nodes != NULL; nodes = older) {
        older = nodes->older;
        free(nodes);
    }
    for (unsigned i = 0; i < GGS_SLOT_LANES; i++) free(slot->lanes[i]);
    free(slot->values_lane);
}

void ggs_slots_reset(bool forked) {
    for (unsigned i = 0; i < GGS_SLOTS; i++) {
        if (!forked) free_slot(&ggs_slots[i]);
        memset(&ggs_slots[i], 0, sizeof(ggs_slots[i]));
    }
    ggs_slots_open = 0;
    n_lanes        = 0;
}
