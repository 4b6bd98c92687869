// ggscope buffers DIR: the engine's buffers over time and by class.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "answer/buffers.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"

// ---- text ----

static void print_table(struct ggs_table * table) {
    ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

static void print_buffers(const struct ggs_trace * trace) {
    char               number[GGS_NUMBER_LENGTH];
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, ">buffer|class|type|>size|>allocated|>freed|");
    for (uint64_t i = 0; i < trace->n_buffers; i++) {
        const struct ggs_buffer * b = &trace->buffers[i];
        ggs_table_cell(table, "%" PRIu64, b->buffer);
        ggs_table_cell(table, "%s", ggs_word_class(b->class_));
        ggs_table_cell(table, "%s", ggs_reader_string(trace->reader, b->type));
        ggs_table_cell(table, "%s", ggs_format_bytes(number, b->size));
        ggs_table_cell(table, "%.3f s", (double) b->begin_ns / 1e9);
        if (b->end_ns < 0) {
            ggs_table_cell(table, "-");
        } else {
            ggs_table_cell(table, "%.3f s", (double) b->end_ns / 1e9);
        }
        ggs_table_cell(table, "%s", b->file != 0 ? "mapped file" : b->device != 0 ? "device memory" : "");
    }
    print_table(table);
}

static void print_peaks(const struct ggs_occupancy * o) {
    char               number[GGS_NUMBER_LENGTH], bar[3 * 24 + 1];
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "class|>buffers|>peak|");
    for (int c = 0; c < GGS_CLASSES; c++) {
        if (o->class_buffers[c] == 0) continue;
        ggs_table_cell(table, "%s", ggs_word_class((uint64_t) c));
        ggs_table_cell(table, "%" PRIu64, o->class_buffers[c]);
        ggs_table_cell(table, "%s", ggs_format_bytes(number, o->class_peak[c]));
        ggs_terminal_bar(bar, sizeof(bar), 24,
                         o->peak_bytes == 0 ? 0 : (double) o->class_peak[c] / (double) o->peak_bytes);
        ggs_table_cell(table, "%s", bar);
    }
    putchar('\n');
    print_table(table);
    printf("\npeak      %s", ggs_format_bytes(number, o->peak_bytes));
    printf(" at %.3f s", (double) o->peak_ns / 1e9);
    if (o->mapped_bytes > 0) printf("; %s in mapped files is not counted", ggs_format_bytes(number, o->mapped_bytes));
    putchar('\n');
}

// Prints a line of the plot: the part of the curve within it.
static void print_row(const uint64_t * curve, unsigned width, double from, double to) {
    static const char * const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    unsigned                  last     = 0;
    for (unsigned i = 0; i < width; i++) {
        if ((double) curve[i] > from) last = i + 1;
    }
    for (unsigned i = 0; i < last; i++) {
        double part = ((double) curve[i] - from) / (to - from);
        int    cell = part >= 1 ? 8 : part <= 0 ? 0 : 1 + (int) (part * 7);
        fputs(blocks[cell], stdout);
    }
    putchar('\n');
}

static void print_plot(const struct ggs_occupancy * o) {
    enum { HEIGHT = 8, LABEL = 10, MOST = 200 };
    uint64_t curve[MOST];
    char     number[GGS_NUMBER_LENGTH];
    unsigned width = ggs_terminal_width(stdout);
    if (o->peak_bytes == 0) return;
    width = width > MOST + LABEL + 2 ? MOST : width < 40 ? 28 : width - LABEL - 2;
    ggs_occupancy_curve(o, curve, width);
    putchar('\n');
    for (int row = HEIGHT; row-- > 0;) {
        double from = (double) o->peak_bytes * row / HEIGHT, to = (double) o->peak_bytes * (row + 1) / HEIGHT;
        bool   labelled = row == HEIGHT - 1 || row == HEIGHT / 2 - 1;
        printf("%*s │", LABEL, labelled ? ggs_format_bytes(number, (uint64_t) to) : "");
        print_row(curve, width, from, to);
    }
    printf("%*s └", LABEL, "0 B");
    for (unsigned i = 0; i < width; i++) fputs("─", stdout);
    char begin[GGS_NUMBER_LENGTH], end[GGS_NUMBER_LENGTH];
    snprintf(begin, sizeof(begin), "%.3f s", (double) o->begin_ns / 1e9);
    snprintf(end, sizeof(end), "%.3f s", (double) o->end_ns / 1e9);
    printf("\n%*s  %s%*s\n", LABEL, "", begin, (int) (width - strlen(begin)), end);
}

static void place_name(char * text, size_t size, const struct ggs_trace * trace, uint64_t buffer, uint64_t file) {
    if (buffer != 0) {
        const char * type = "";
        for (uint64_t i = 0; i < trace->n_buffers; i++) {
            if (trace->buffers[i].buffer == buffer) type = ggs_word_class(trace->buffers[i].class_);
        }
        snprintf(text, size, "buffer %" PRIu64 " (%s)", buffer, type);
    } else if (file != 0) {
        snprintf(text, size, "mapped file %" PRIu64, file);
    } else {
        snprintf(text, size, "host memory");
    }
}

static void print_transfers(const struct ggs_occupancy * o, const struct ggs_trace * trace) {
    enum { SHOWN = 20 };
    char               number[GGS_NUMBER_LENGTH], place[80];
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "moved from|to|>times|>bytes|>time");
    for (uint64_t i = 0; i < o->n_transfers && i < SHOWN; i++) {
        const struct ggs_transfer_totals * t = &o->transfers[i];
        place_name(place, sizeof(place), trace, t->from_buffer, t->from_file);
        ggs_table_cell(table, "%s", place);
        place_name(place, sizeof(place), trace, t->to_buffer, 0);
        ggs_table_cell(table, "%s", place);
        ggs_table_cell(table, "%s", ggs_format_count(number, t->count));
        ggs_table_cell(table, "%s", ggs_format_bytes(number, t->bytes));
        ggs_table_cell(table, "%s", ggs_format_nanoseconds(number, t->ns));
    }
    if (o->n_transfers == 0) {
        puts("\nno transfers were recorded");
        ggs_table_free(table);
        return;
    }
    putchar('\n');
    print_table(table);
    if (o->n_transfers > SHOWN)
        printf("and %" PRIu64 " more kinds, each of fewer bytes: see --json\n", o->n_transfers - SHOWN);
}

static void print_text(const struct ggs_occupancy * o, const struct ggs_trace * trace) {
    if (trace->n_buffers == 0) {
        puts("no buffers were recorded");
        return;
    }
    print_buffers(trace);
    print_plot(o);
    print_peaks(o);
    print_transfers(o, trace);
}

// ---- the verb ----

static int show(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    const struct ggs_input * input = arguments;
    struct ggs_buffers       buffers;
    int                      status = ggs_buffers_compute(&buffers, traces, true, error);
    if (status < 0) return status;
    if (input->json) {
        ggs_buffers_write(input->out, &buffers);
    } else {
        print_text(&buffers.occupancy, traces);
    }
    ggs_buffers_release(&buffers);
    return status;
}

int cmd_buffers(int argc, char ** argv) {
    static const struct ggs_option options[] = {GGS_OPTION_JSON(1), GGS_OPTION_DAMAGED(1), {0}};
    static const struct ggs_verb   verb      = {
               GGS_OPENS_ONE, .options = options, .run = show,
               .text = "List every runtime buffer with its class, size and lifetime, the memory they take over time and "
                              "at most, and the transfers between them."};
    struct ggs_input input = {0};
    return ggs_verb_run(&verb, argc, argv, &input);
}
