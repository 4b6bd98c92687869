// What is remarkable in the values of one recording (record --values): where NaN and infinities
// come from, ranges by layer, outputs that never change, channels and tokens that stand out.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/values/value-names.h"
#include "analyze/walk/trace.h"

enum { GGS_VALUE_INPUTS = 10, GGS_VALUE_ORIGINS = 16, GGS_VALUE_BRIEF = 64 };
#define GGS_F16_MOST 65504.0

// What is recorded about an input of an op.
enum ggs_value_seen {
    GGS_VALUE_UNSEEN = 0, // not recorded
    GGS_VALUE_CLEAN  = 1, // finite
    GGS_VALUE_FOUL   = 2, // has a NaN, or infinities where these are asked for
};

struct ggs_value_input {
    char     name[GGS_VALUE_NAME];
    uint64_t seen; // enum ggs_value_seen
};

// An op that has NaN or infinities in its output and none in its recorded inputs; or a weight or
// input of the graph that has some, with the first op that reads it.
struct ggs_value_origin {
    uint64_t               run, node;
    int64_t                token; // step, -1 for none
    int64_t                batch_row, position;
    const char *           op;
    char                   name[GGS_VALUE_NAME];
    int                    layer;
    uint64_t               count, elements; // of the first row that has some
    uint64_t               rows, of_rows;   // rows that have some, of all rows
    struct ggs_value_input inputs[GGS_VALUE_INPUTS];
    uint64_t               n_inputs;
    char                   leaf[GGS_VALUE_NAME]; // weight or input that has them, or ""
    bool                   weight;
};

// All outputs of one op, over tokens.
struct ggs_value_op {
    char         name[GGS_VALUE_NAME];
    const char * op;
    int          layer;
    unsigned     model;          // from 1; a draft model has the same names as the one it drafts for
    bool         choice;         // elements are indices of rows or experts, not quantities
    uint64_t     rows, elements; // `elements` is the size of a row
    uint64_t     nan, inf;       // elements
    double       min, max, rms, mean;
    double       largest;   // absolute value
    int64_t      position;  // of the token that has it, -1 if unknown
    uint64_t     run, node; // likewise
    uint64_t     channel;   // index of the largest absolute value in most rows
    double       share;     // lower bound of the share of these rows
    double       peak;      // mean of (largest absolute value / rms of the row)
    uint64_t     constant;  // rows whose elements are all equal
    // Sums:
    double   squares, sum, peaks;
    uint64_t n;
    struct {
        uint64_t channel, count;
    } candidates[8];
};

struct ggs_value_layer {
    unsigned     model;
    int64_t      layer;
    uint64_t     ops;
    double       min, max;
    const char * largest_in; // name of the op with the largest absolute value
    const char * output;     // name of the layer's last op
    double       rms;        // of `output`
};

// A token whose rms is far from that of the others of its batch.
struct ggs_value_token {
    int64_t  position;
    uint64_t ops, of_ops; // outputs in which it stands out, of all outputs
    double   times;       // rms over the median, where it is farthest off
};

struct ggs_value_asked {
    int64_t      first_step, last_step;
    int          layer;  // -1 for all
    const char * tensor; // part of a name, NULL for all
};

struct ggs_value_report {
    uint64_t                 rows, runs, tokens;
    uint64_t                 weights;      // that were read
    uint64_t                 lost;         // records of the whole recording, so values may be missing
    uint64_t                 lost_weights; // of these: weights in files
    struct ggs_value_op *    ops;          // in order of computation
    uint64_t                 n_ops, ops_capacity;
    struct ggs_value_origin  nan[GGS_VALUE_ORIGINS], inf[GGS_VALUE_ORIGINS];
    uint64_t                 n_nan, n_inf; // may exceed the number of entries
    struct ggs_value_layer * layers;       // by model and layer
    uint64_t                 n_layers, layers_capacity;
    struct ggs_value_op **   near_f16; // largest first
    uint64_t                 n_near_f16, near_f16_capacity;
    struct ggs_value_op **   constants;
    uint64_t                 n_constants, constants_capacity;
    struct ggs_value_op **   channels; // highest peaks first
    uint64_t                 n_channels, channels_capacity;
    struct ggs_value_token * unlike; // most ops first
    uint64_t                 n_unlike, unlike_capacity;
    bool                     brief; // for the page: no by_op, at most 64 entries of a list
};

// `asked` NULL means everything. Returns GGS_ABSENT with a sentence if no values match. The caller
// releases the report whatever is returned.
int  ggs_value_report_compute(struct ggs_value_report * report, struct ggs_trace * trace,
                              const struct ggs_value_asked * asked, struct ggs_error * error);
void ggs_value_report_release(struct ggs_value_report * report);
