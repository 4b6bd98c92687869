// Figures of one recording, for papers and slides. Each kind is a row of a table whose function
// runs an analysis and describes a chart (chart.h). The numbers of a figure are also available as
// CSV.
//
//     struct ggs_drawing figure = {0};
//     ggs_figure_make(&figure, &trace, &options, &error)
//     ggs_figure_draw(&figure, &options, &ggs_canvas_pdf, &document, &error)
//     ggs_figure_release(&figure)
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/walk/trace.h"
#include "figure/chart.h"

#ifdef __wasm__
enum { GGS_FIGURE_HAS_DATA = 0 };
#else
enum { GGS_FIGURE_HAS_DATA = 1 };
#endif

enum ggs_figure_marks { GGS_MARKS_NONE, GGS_MARKS_FAULTS, GGS_MARKS_DISK };

struct ggs_figure_options {
    const struct ggs_figure_kind * kind;
    int64_t                        first_step, last_step;
    int                            layer; // -1: all; others only for kinds with layers
    uint64_t                       readahead;
    int64_t                        since_ns, until_ns; // only for kinds with times
    bool                           largest;            // values: the largest absolute one, not the rms
    bool                           by_layer;           // values: a row for each layer, not for each op
    int64_t                        context;            // cells: its number; -1: the one with the most cells
    uint64_t                       run;                // graph: the graph run; 0: by token
    unsigned                       n_traces;           // 0: one
    enum ggs_figure_marks          marks;
    const char *                   directory;     // of the experiment; NULL: unknown
    double                         width, height; // millimetres; height 0: chosen by the figure
    double                         font;          // points
    bool                           caption;       // a title, and a line with recording, command and date
};
#define GGS_FIGURE_DEFAULTS                                                                                 \
    {                                                                                                       \
        .last_step = INT64_MAX, .layer = -1, .context = -1, .readahead = UINT64_MAX, .since_ns = INT64_MIN, \
        .until_ns = INT64_MAX, .width = 120, .font = 8                                                      \
    }

struct ggs_drawing {
    struct ggs_chart chart;
    struct ggs_text  data; // CSV; empty in a report
    struct ggs_text  title, caption;
};

struct ggs_figure_kind {
    const char * name, *title;
    const char * text; // half a line
    bool         takes_layer, takes_marks, takes_readahead, takes_time;
    unsigned     most; // recordings; 0: one
    int (*make)(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                struct ggs_error * error);
};

const struct ggs_figure_kind * ggs_figure_kind_at(unsigned i); // NULL beyond the last
const struct ggs_figure_kind * ggs_figure_kind_named(const char * name);

// `trace`: the first of options->n_traces, no more than the kind takes. GGS_ABSENT with a sentence
// if the recording has no data for the figure.
int  ggs_figure_make(struct ggs_drawing * figure, struct ggs_trace * trace, const struct ggs_figure_options * options,
                     struct ggs_error * error);
int  ggs_figure_draw(struct ggs_drawing * figure, const struct ggs_figure_options * options,
                     const struct ggs_canvas_output * output, struct ggs_text * out, struct ggs_error * error);
void ggs_figure_release(struct ggs_drawing * figure);
