// The page's pictures as binary columns: the rows and the header of each.
#pragma once

#include "analyze/lanes/gaps.h"
#include "analyze/lanes/timeline.h"
#include "analyze/memory/access-map.h"
#include "analyze/memory/occupancy.h"
#include "analyze/values/value-grid.h"
#include "answer/columns.h"

// ---- timeline: activity of lanes, as single op runs or folded into bins ----

struct ggs_timeline_header {
    struct ggs_columns               columns;
    int64_t                          level; // -1: single op runs
    uint64_t                         bin_ns;
    struct ggs_gaps                  gaps;
    const struct ggs_timeline_view * timeline;
};
extern const struct ggs_object ggs_timeline_object, ggs_timeline_bins, ggs_timeline_ops;

// ---- tokens: the token steps, folded if there are many ----

struct ggs_token_row {
    double       begin, end;
    uint32_t     first, last, count;
    uint8_t      phase;
    uint64_t     first_token, tokens; // of an unfolded row
    const char * text;                // NULL: none, or unknown
    size_t       length;
};

struct ggs_tokens_header {
    struct ggs_columns           columns;
    const struct ggs_token_row * row;
};
extern const struct ggs_object ggs_tokens_object, ggs_tokens_columns;

// ---- choices: the experts of each token in a layer ----

struct ggs_choice_row {
    double   weight; // NaN if unknown
    uint32_t run, node;
    int32_t  token;
    uint32_t input; // of the token step: a prompt has many
    int16_t  expert;
    uint16_t rank;
};

struct ggs_choices_header {
    struct ggs_columns columns;
    int64_t            layer;
    uint64_t           total;
};
extern const struct ggs_object ggs_choices_object, ggs_choices_columns;

// ---- access: reads of the model's files by offset and time ----

struct ggs_access_cell {
    double   amount;
    uint16_t column, row;
    uint8_t  layer; // enum ggs_access_layer
};

struct ggs_access_header {
    struct ggs_columns            columns;
    const struct ggs_access_map * map;
};
extern const struct ggs_object ggs_access_object, ggs_access_columns;

// ---- occupancy: maximum bytes of each class of buffers per time bin ----

struct ggs_occupancy_bin {
    double bytes[GGS_CLASSES];
};

struct ggs_occupancy_header {
    struct ggs_columns columns;
    int64_t            begin_ns, end_ns;
    uint64_t           peak_bytes;
};
extern const struct ggs_object ggs_occupancy_object, ggs_occupancy_columns;

// ---- curves: bytes and faults over time, one column each if recorded ----

struct ggs_curves_header {
    struct ggs_columns columns;
    int64_t            begin_ns, end_ns;
    double             bin_ns;
};
extern const struct ggs_object ggs_curves_object, ggs_curves_columns;

// ---- values: ops and tokens, what was computed or how far off it is ----

struct ggs_values_header {
    struct ggs_columns            columns; // a row for each cell, those of a line of the grid together
    const struct ggs_value_grid * grid;
    const char *                  of; // "rms", "largest" or "error"
};
extern const struct ggs_object ggs_values_map_object, ggs_values_map_columns;
