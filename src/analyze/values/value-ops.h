// The ops of a recording by meaning instead of number: the same op of all its graphs is one, and it
// can be found in another recording.
//
// An op is identified by its kind and name, "MUL_MAT Qcur-3", by its input if it has no name
// (value-names.h), by a count if a graph has several of the kind, and by its model: a draft model
// has the same names as the one it drafts for. Models are numbered by their first context that
// computes: releases differ in contexts that compute nothing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/values/value-limits.h"
#include "analyze/values/value-names.h"
#include "analyze/walk/trace.h"
#include "base/map.h"

enum { GGS_VALUE_SOURCES = 10 };

struct ggs_value_source {
    uint32_t op;    // index + 1 of the op that made it, 0 for a weight or an input of the graph
    uint32_t leaf;  // index + 1 in `leafs`, 0 for none
    bool     cache; // read from a cache that the op writes into: earlier tokens count
    bool     part;  // a view that leaves out a part
};

// A weight or an input of the graph, over all its rows. A tied embedding may be in memory twice,
// once per device.
struct ggs_value_leaf {
    char         name[GGS_VALUE_NAME];
    const char * type;
    unsigned     model;
    bool         weight;            // a weight with values
    uint64_t     run, node, source; // where they were read
    uint32_t     copy;              // index + 1 of another weight with the name, 0 for none
    uint64_t     rows, elements, nan, inf, hash;
    double       squares;
    double       sketch[GGS_OP_VALUE_SKETCH];
};

struct ggs_value_node {
    char                    name[GGS_VALUE_NAME];
    char                    alias[GGS_VALUE_NAME]; // name of its reshaped form, or ""
    const char *            op;
    const char *            type;  // of the output
    const char *            input; // type of the first input
    unsigned                count; // number among equal names and kinds in a graph, from 1
    unsigned                model; // from 1
    int                     layer; // -1 for none
    bool                    empty; // a view
    bool                    choice;
    bool                    cache; // writes into a cache
    bool                    has_values;
    bool                    asked;     // passes the filter of the trace
    bool                    fused;     // a part of it was computed by an op without values
    uint64_t                device;    // kind of backend that computed it: a string of the trace
    bool                    on_device; // that is not a CPU
    struct ggs_value_limit  limit;
    struct ggs_value_source sources[GGS_VALUE_SOURCES];
    unsigned                n_sources;
};

struct ggs_value_ops {
    struct ggs_trace *      trace; // borrowed
    struct ggs_value_node * nodes;
    uint64_t                n, capacity;
    uint64_t                n_read; // of them, those with values so far
    struct ggs_value_leaf * leafs;
    uint64_t                n_leafs, leafs_capacity;
    struct ggs_map          by_key, by_name, by_cache, by_leaf;
    struct ggs_map          models; // model of the trace -> its number
    unsigned                model;  // of the graph that is added
    uint64_t                graph;  // the graph of `index`; 0 for none
    uint32_t *              index;  // by node of the graph: index of its op
    uint64_t                n_index;
};

// Finds the number of the run's model, from 1, in `models`, which keeps the numbers. Programs
// without contexts have one model.
int ggs_value_model(struct ggs_map * models, struct ggs_trace * trace, const struct ggs_run * run, unsigned * model,
                    struct ggs_error * error);

void ggs_value_ops_release(struct ggs_value_ops * ops);
// Adds the new ops of a graph and fills in `index`.
int ggs_value_ops_graph(struct ggs_value_ops * ops, const struct ggs_run * run, struct ggs_error * error);
// Adds a row of op_values that belongs to a weight (it has flags).
int ggs_value_ops_weight(struct ggs_value_ops * ops, const struct ggs_run * run, const struct ggs_op_value * value,
                         struct ggs_error * error);
// Finds a weight of another recording in `ops` by its name. NULL if there is none with values. Its
// copies follow by `copy`.
const struct ggs_value_leaf * ggs_value_ops_leaf(const struct ggs_value_ops * ops, const struct ggs_value_leaf * other);
// Finds an op of `others` with values in `ops`: index + 1, or 0.
uint64_t ggs_value_ops_match(const struct ggs_value_ops * ops, const struct ggs_value_ops * others, uint64_t other);
// Finds an op of this kind and name in `ops`, with or without values: index + 1, or 0.
uint64_t ggs_value_ops_find(const struct ggs_value_ops * ops, const struct ggs_value_ops * others, uint64_t other);
