// Sums of ops by a common property: op, layer, token and so on.
#pragma once

#include <stdint.h>

#include "analyze/ops/totals.h"
#include "analyze/walk/names.h"

// All groupings. --by and its completion, the JSON keys, the page and the man page derive from this
// table. A new grouping is a row and the function that finds the group of an op (groups.c).
//
//     number, name                   GGS_BY_number; --by name, by_name in JSON
//     key, form                      of a group in JSON: answer/ops/stats-write.c has the forms
//     order                          NUMBER: groups ascend by number; TIME: longest first
//     by                             what decides: the NODE; the RUN, also of a backend without
//                                    op times: the page shows such groups outside of its tables;
//                                    the BACKEND; OTHER: see compute
//     find                           the group of the walk's current op; NULL if compute is set
//     text                           half a line
#define GGS_GROUPINGS(ROW)                                                                                         \
    ROW(OP, op, "op", NAMED, TIME, NODE, find_op, NULL, "operation (the default)")                                 \
    ROW(LAYER, layer, "layer", NUMBERED, NUMBER, NODE, find_layer, NULL, "layer that the op belongs to")           \
    ROW(COMPONENT, component, "component", NAMED, TIME, NODE, find_component, NULL,                                \
        "purpose of the weight that an op reads")                                                                  \
    ROW(TENSOR, tensor, "name", TENSORS, TIME, NODE, find_tensor, NULL,                                            \
        "weight that an op reads, or its result if it reads none")                                                 \
    ROW(THREAD, thread, "thread", THREADS, NUMBER, OTHER, NULL, compute_threads,                                   \
        "thread of the pool; times only: bytes belong to ops")                                                     \
    ROW(TOKEN, token, "token", NUMBERED, NUMBER, RUN, find_token, NULL, "token step")                              \
    ROW(DEVICE, device, "device", NAMED, TIME, BACKEND, find_device, NULL,                                         \
        "device by the engine's name: CPU, Vulkan0, CUDA0; also backend")                                          \
    ROW(KERNEL, kernel, "kernel", KERNELS, TIME, OTHER, NULL, compute_kernels,                                     \
        "kernel of a device; times only, on CUDA")                                                                 \
    ROW(CONTEXT, context, "context", NUMBERED, NUMBER, RUN, find_context, NULL,                                    \
        "context of the engine, with what drafts cost and saved in the whole recording")                           \
    ROW(PROCESS, process, "process", PROCESSES, NUMBER, RUN, find_process, NULL, "process of a joined experiment") \
    ROW(HOST, host, "host", NAMED, NUMBER, RUN, find_host, NULL, "machine of a joined experiment")                 \
    ROW(REQUEST, request, "request", REQUESTS, NUMBER, RUN, NULL, ggs_shares_compute,                            \
        "request of a server; steps are shared out by tokens, which is an estimate")                               \
    ROW(SEQUENCE, sequence, "sequence", SEQUENCES, NUMBER, RUN, NULL, ggs_shares_compute,                        \
        "sequence, which servers call a slot; an estimate too")

enum ggs_by {
#define ROW(number, ...) GGS_BY_##number,
    GGS_GROUPINGS(ROW)
#undef ROW
        GGS_BY_COUNT
};

enum ggs_grouped_by { GGS_GROUPED_BY_NODE, GGS_GROUPED_BY_RUN, GGS_GROUPED_BY_BACKEND, GGS_GROUPED_BY_OTHER };
enum ggs_group_order { GGS_GROUP_ORDER_TIME, GGS_GROUP_ORDER_NUMBER };

struct ggs_groups;
struct ggs_grouped_op;
struct ggs_grouping {
    const char *         name, *key, *text;
    enum ggs_group_order order;
    enum ggs_grouped_by  by;
    const char * (*find)(const struct ggs_grouped_op * op, char * buffer, size_t size, int64_t * order);
    int (*compute)(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                   const struct ggs_totals_range * range, struct ggs_error * error);
};
extern const struct ggs_grouping ggs_groupings[GGS_BY_COUNT];
// Parses "layer,thread" to bits 1 << enum ggs_by; false for an unknown name.
bool ggs_groupings_parse(const char * text, unsigned * by);

struct ggs_group {
    const char * name;    // lives as long as the groups
    int64_t      order;   // its number, if any; else 0
    int64_t      context; // by sequence: its context
    bool         opaque;  // a backend that is seen as whole graphs: wall_ns is the time of its graph runs
    uint64_t     ops, op_runs;
    uint64_t     untimed; // ops without times: missing in busy_ns, and by tensor in wall_ns
    uint64_t     wall_ns, busy_ns, wait_ns;
    bool         unwaited;            // some waits were not seen, for example on a device
    bool         on_device;           // some ops ran on a device: the host's limits do not apply
    uint64_t     read, written, disk; // 0 by thread, because bytes belong to ops
};

// True if its wall time is known. The time of a run that is seen as a whole belongs to the token or
// backend, but to no tensor.
static inline bool ggs_group_has_wall(const struct ggs_group * group, enum ggs_by by) {
    return by != GGS_BY_TENSOR || group->untimed < group->ops;
}
// True if bytes divided by wall time are a meaningful rate.
static inline bool ggs_group_has_rate(const struct ggs_group * group, enum ggs_by by) {
    return by != GGS_BY_TENSOR || group->untimed == 0;
}

struct ggs_groups {
    struct ggs_group * group; // by number if there is one, else longest wall time first
    uint64_t           n, capacity;
    bool               has_bytes; // false by thread
    struct ggs_names * names;
};

// By tensor, an op counts for the weight that it reads, or for its result if it reads none. By
// thread, the time of an op is that of the thread; a device's queues are not threads, and all its
// time is one group. The time of a backend without op times is a separate group, except by token;
// so are its bytes, except by tensor and by token, where they are known.
int ggs_groups_compute(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                       const struct ggs_totals_range * range, struct ggs_error * error);
// Computes several in one pass: groups[i] is by by[i]; none may need a pass of its own.
int ggs_groups_compute_several(struct ggs_groups * groups, const enum ggs_by * by, unsigned n, struct ggs_trace * trace,
                               const struct ggs_totals_range * range, struct ggs_error * error);
struct ggs_access_list;
// Returns the weight that an op reads: the largest source in a model's file or copied from one.
// NULL: none.
const struct ggs_tensor * ggs_groups_weight(const struct ggs_access_list * list);
// Returns its component; "(activations)" without a weight.
const char * ggs_groups_component(struct ggs_trace * trace, const struct ggs_tensor * weight, char * buffer,
                                  size_t size);
// Names and sorts the groups.
void ggs_groups_sort(struct ggs_groups * groups, enum ggs_by by);
void ggs_groups_release(struct ggs_groups * groups);
