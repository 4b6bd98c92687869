// The kinds of figures: functions for the table in figure.c.
#pragma once

#include "figure/figure.h"

typedef int ggs_figure_maker(struct ggs_drawing * figure, struct ggs_trace * trace,
                             const struct ggs_figure_options * options, struct ggs_error * error);

ggs_figure_maker ggs_figure_page_map, ggs_figure_fault_map, ggs_figure_access_order, ggs_figure_memory_map,
    ggs_figure_heat_over_offset, ggs_figure_heat_rows, ggs_figure_reuse, ggs_figure_experts, ggs_figure_expert_matrix,
    ggs_figure_roofline, ggs_figure_paging, ggs_figure_tokens, ggs_figure_token_ops, ggs_figure_token_bytes,
    ggs_figure_timeline, ggs_figure_requests, ggs_figure_cells, ggs_figure_choices, ggs_figure_expert_domains,
    ggs_figure_working_sets, ggs_figure_lead_times, ggs_figure_durations, ggs_figure_storage, ggs_figure_residency,
    ggs_figure_values, ggs_figure_value_ranges, ggs_figure_graph, ggs_figure_order_map;

// Bytes of all model files before this one (from 1), which are concatenated on an axis of offsets.
// With n_files + 1: bytes of all files.
uint64_t ggs_figure_base(const struct ggs_trace * trace, uint64_t file);
// Finds the begin and the end of what is drawn: of the steps, or of the whole recording if it has
// none. Requested times are not checked: the end may be before the begin.
int ggs_figure_window(struct ggs_trace * trace, const struct ggs_figure_options * options, int64_t * begin_ns,
                      int64_t * end_ns, struct ggs_error * error);
// The boxes of an op's family, in the colours of the page. They are NULL at first and made when
// they are needed.
enum { GGS_FIGURE_FAMILIES = 8 };
struct ggs_series * ggs_figure_family(struct ggs_chart * chart, struct ggs_series * series[GGS_FIGURE_FAMILIES],
                                      const char * op);
// Appends to the data of a figure, like printf. Does nothing in a report, whose page makes its CSV
// from the answers that it shows.
#define ggs_figure_row(data, ...)                                    \
    do {                                                             \
        if (GGS_FIGURE_HAS_DATA) ggs_text_printf(data, __VA_ARGS__); \
    } while (0)
// Appends a text as a CSV field.
void ggs_figure_field(struct ggs_text * data, const char * text);
