// Ops added up by op, layer, component, tensor, thread, token, device, context, process or host; by request and sequence they are shared out.
#pragma once

#include <stdint.h>

#include "analyze/ops/totals.h"
#include "analyze/walk/names.h"

enum ggs_by {
    GGS_BY_OP,
    GGS_BY_LAYER,
    GGS_BY_COMPONENT,
    GGS_BY_TENSOR,
    GGS_BY_THREAD,
    GGS_BY_TOKEN,
    GGS_BY_DEVICE,
    GGS_BY_KERNEL, // not of ops: kernels.h
    GGS_BY_CONTEXT,
    GGS_BY_PROCESS,
    GGS_BY_HOST,
    GGS_BY_REQUEST, // these two: by tokens in each step, see analyze/requests/shares.h
    GGS_BY_SEQUENCE,
    GGS_BY_COUNT
};

struct ggs_group {
    const char * name;    // lives as long as the groups
    int64_t      order;   // of what has a number; else 0
    int64_t      context; // by sequence: the context that it is of
    bool         opaque;  // a backend that is seen as whole graphs: wall_ns is the time of its graph runs
    uint64_t     ops, op_runs;
    uint64_t     untimed; // ops whose times were not seen: of busy_ns, and by tensor of wall_ns, theirs is missing
    uint64_t     wall_ns, busy_ns, wait_ns;
    bool         unwaited;            // waits were not all seen: on a device, say
    bool         on_device;           // some were computed by a device: the host's limits are not theirs
    uint64_t     read, written, disk; // 0 by thread: bytes belong to ops
};

// Is its wall time known? The time of a run that was seen as a whole is the token's or the backend's, but no tensor's.
static inline bool ggs_group_has_wall(const struct ggs_group * group, enum ggs_by by) {
    return by != GGS_BY_TENSOR || group->untimed < group->ops;
}
// Do bytes over wall time say how fast they were moved?
static inline bool ggs_group_has_rate(const struct ggs_group * group, enum ggs_by by) {
    return by != GGS_BY_TENSOR || group->untimed == 0;
}

struct ggs_groups {
    struct ggs_group * group; // longest wall time first; what has a number by that
    uint64_t           n, capacity;
    bool               has_bytes; // false by thread
    struct ggs_names * names;
};

// By tensor an op counts for the weight that it reads, or for its result if it reads none. By thread the time of an op is
// that of the thread; a device's queues are no threads, and all its time is one group. The time of a backend without op times is a group of its own, except by token;
// its bytes are with it, except by tensor and by token, which are known.
int ggs_groups_compute(struct ggs_groups * groups, struct ggs_trace * trace, enum ggs_by by,
                       const struct ggs_totals_range * range, struct ggs_error * error);
// Several of them in one pass: groups[i] is by by[i].
int ggs_groups_compute_several(struct ggs_groups * groups, const enum ggs_by * by, unsigned n, struct ggs_trace * trace,
                               const struct ggs_totals_range * range, struct ggs_error * error);
struct ggs_access_list;
// The weight that an op reads: the largest source that lies in a model's file, or came from one. NULL: none.
const struct ggs_tensor * ggs_groups_weight(const struct ggs_access_list * list);
// What it belongs to; "(activations)" without one.
const char * ggs_groups_component(struct ggs_trace * trace, const struct ggs_tensor * weight, char * buffer,
                                  size_t size);
// Names the groups and puts them in order.
void ggs_groups_sort(struct ggs_groups * groups, enum ggs_by by);
void ggs_groups_release(struct ggs_groups * groups);
