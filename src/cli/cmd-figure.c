// ggscope figure DIR --kind KIND -o FILE: draws a figure of a recording or a study, for papers.
#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/experts/domains.h"
#include "base/error.h"
#include "base/system/file.h"
#include "cli/commands.h"
#include "cli/scaffold/op-options.h"
#include "cli/scaffold/verb.h"
#include "cli/sweep/cmd-sweep.h"
#include "figure/figure.h"
#include "figure/study.h"

struct arguments {
    struct ggs_input          input;
    const char *              output, *data, *figure;
    int64_t                   tokens[2];
    struct ggs_figure_options options;
};
#define AT(member) offsetof(struct arguments, member)

static const struct ggs_figure_kind miss_curve = {
    .name = "miss-curve", .title = "Miss curve", .text = "a study: bytes read from the disk over memory"};

static struct ggs_word kind_words(unsigned i) {
    const struct ggs_figure_kind * kind = ggs_figure_kind_at(i);
    if (kind == NULL && ggs_figure_kind_at(i - 1) != NULL) kind = &miss_curve; // after the last
    return kind == NULL ? (struct ggs_word){NULL, NULL} : (struct ggs_word){kind->name, kind->text};
}

GGS_WORDS(mark_words, {"faults", "page faults"}, {"disk", "block requests (record --io)"})

static bool set_kind(void * member, const char * text) {
    const struct ggs_figure_kind ** kind = member;
    *kind = strcmp(text, miss_curve.name) == 0 ? &miss_curve : ggs_figure_kind_named(text);
    return *kind != NULL;
}

static bool set_marks(void * member, const char * text) {
    enum ggs_figure_marks * marks = member;
    *marks                        = strcmp(text, "faults") == 0 ? GGS_MARKS_FAULTS
                                    : strcmp(text, "disk") == 0 ? GGS_MARKS_DISK
                                                                : GGS_MARKS_NONE;
    return *marks != GGS_MARKS_NONE;
}

static bool set_length(void * member, const char * text, double unit, const char * name, double least, double most) {
    char * end;
    double value = strtod(text, &end) * unit;
    if (end == text || (*end != '\0' && strcmp(end, name) != 0) || !(value >= least && value <= most)) return false;
    *(double *) member = value;
    return true;
}

// Parses "84mm", "8.4cm", "3.3in"; a number without a unit is millimetres.
static bool set_width(void * member, const char * text) {
    size_t       length = strlen(text);
    const char * end    = length > 2 ? text + length - 2 : text;
    double       unit   = strcmp(end, "cm") == 0 ? 10 : strcmp(end, "in") == 0 ? 25.4 : 1;
    return set_length(member, text, unit, unit == 1 ? "mm" : end, 30, 1000);
}

static bool set_font(void * member, const char * text) {
    return set_length(member, text, 1, "pt", 4, 36);
}

static const struct ggs_option options[] = {
    GGS_OPTION_OF("kind", 'k', "KIND", "What to draw", 1, AT(options.kind), set_kind, kind_words),
    GGS_OPTION("output", 'o', "FILE", "Write the figure to FILE, which ends in .svg or .pdf", 1, AT(output),
               ggs_set_path, "a file"),
    GGS_OPTION("data", 0, "FILE", "Write the numbers of the figure to FILE as CSV; - is standard output", 1, AT(data),
               ggs_set_path, "a file"),
    GGS_OPTION("token", 0, "A..B", "Only these token steps", 2, AT(tokens), ggs_set_tokens, GGS_EXPECTS_TOKENS),
    GGS_OPTION("since", 0, "TIME", "timeline, requests: from this time on, such as 1.5s", 2, AT(options.since_ns),
               ggs_set_time, GGS_EXPECTS_TIME),
    GGS_OPTION("until", 0, "TIME", "timeline, requests: up to this time", 2, AT(options.until_ns), ggs_set_time,
               GGS_EXPECTS_TIME),
    GGS_SWITCH("largest", 0, "values: the largest absolute value of each output, not its rms", 2, AT(options.largest)),
    GGS_SWITCH("by-layer", 0, "values: a row for each layer, not for each op", 2, AT(options.by_layer)),
    GGS_OPTION("layer", 0, "N", "experts, choices, expert-domains, graph: only this layer", 2, AT(options.layer),
               ggs_set_layer, "the number of a layer"),
    GGS_OPTION("readahead", 0, "SIZE", "paging: readahead of the disk (that of the model's disk)", 2,
               AT(options.readahead), ggs_set_size, "a size such as 128K"),
    GGS_OPTION_OF("marks", 0, "WHAT", "access-order: also draw these as dots", 2, AT(options.marks), set_marks,
                  mark_words),
    GGS_OPTION("figure", 0, "NAME", "miss-curve: one of the figures of sweep (read_bytes)", 2, AT(figure), ggs_set_text,
               NULL),
    GGS_OPTIONS_SELECTION(2),
    GGS_OPTION("width", 0, "LENGTH", "Width of the figure, as 84mm, 17cm or 3.3in (120mm)", 3, AT(options.width),
               set_width, "a length from 30mm to 1000mm"),
    GGS_OPTION("height", 0, "LENGTH", "Height of the figure (depends on the kind)", 3, AT(options.height), set_width,
               "a length from 30mm to 1000mm"),
    GGS_OPTION("font-size", 0, "POINTS", "Size of labels (8)", 3, AT(options.font), set_font,
               "a size from 4 to 36 points"),
    GGS_SWITCH("caption", 0, "Add a title, and a line with recording, command and date", 3, AT(options.caption)),
    GGS_OPTION_DAMAGED(4),
    {0}};

// Selects the output by the file name's extension; NULL if neither fits.
static const struct ggs_canvas_output * output_of(const char * path) {
    const char * dot = strrchr(path, '.');
    return dot == NULL ? NULL : ggs_canvas_output_named(dot + 1);
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments *       a    = input;
    const struct ggs_figure_kind * kind = a->options.kind;
    if (kind == NULL) argp_error(state, "missing option: name the figure with --kind KIND");
    if (a->output == NULL && a->data == NULL)
        argp_error(
            state,
            "missing option: name the figure's file with -o FILE.svg or -o FILE.pdf, or that of its numbers with --data FILE");
    if (a->output != NULL && output_of(a->output) == NULL)
        argp_error(state, "-o takes a file that ends in .svg or .pdf, not '%s'", a->output);
    if (kind == NULL) return;
    if (a->input.n > (kind->most == 0 ? 1 : kind->most))
        argp_error(state, "--kind %s shows at most %u recording%s", kind->name, kind->most == 0 ? 1 : kind->most,
                   kind->most == 0 ? "" : "s");
    if (strcmp(kind->name, "expert-domains") == 0 && a->input.n < 2)
        argp_error(state, "--kind expert-domains needs two recordings or more");
    if (a->figure != NULL && kind != &miss_curve) argp_error(state, "--figure needs --kind miss-curve");
    if (kind == &miss_curve && a->input.n == 0)
        argp_error(state, "--kind miss-curve needs the directory of a study, which ggscope sweep makes");
    if (kind == &miss_curve && (a->tokens[0] > 0 || a->tokens[1] < INT64_MAX || a->input.choice.request > 0 ||
                                a->input.choice.sequence > 0 || a->input.choice.context > 0))
        argp_error(state,
                   "--kind miss-curve shows whole recordings: omit --token, --request, --sequence and --context");
    if (a->options.layer >= 0 && !kind->takes_layer)
        argp_error(state, "--layer needs --kind experts, choices, expert-domains or graph");
    if ((a->options.since_ns > INT64_MIN || a->options.until_ns < INT64_MAX) && !kind->takes_time)
        argp_error(state, "--since and --until need --kind timeline or requests");
    if (a->options.marks != GGS_MARKS_NONE && !kind->takes_marks)
        argp_error(state, "--marks needs --kind access-order");
    if (a->options.readahead != UINT64_MAX && !kind->takes_readahead)
        argp_error(state, "--readahead needs --kind paging");
}

static int write_file(const char * path, const struct ggs_text * text, struct ggs_error * error) {
    struct ggs_output output;
    if (strcmp(path, "-") == 0) {
        fwrite(text->data, 1, text->length, stdout); // failures are reported at the end
        return 0;
    }
    int status = ggs_output_open(&output, path, error);
    if (status < 0) return status;
    fwrite(text->data, 1, text->length, output.file);
    return ggs_output_commit(&output, error);
}

// ---- studies ----

static int draw_study(struct ggs_drawing * drawing, const struct ggs_sweep * sweep, unsigned cell,
                      struct ggs_error * error) {
    struct ggs_sweep_answer answer;
    uint64_t *              memory = calloc(sweep->study->n_variants + 1, sizeof(*memory));
    int status = memory == NULL ? ggs_fail_memory(error) : ggs_sweep_answer_make(&answer, sweep, error);
    if (status == 0) {
        for (unsigned i = 0; i < sweep->study->n_variants; i++) memory[i] = sweep->variants[i].memory;
        status = ggs_figure_miss_curve(drawing, &answer, memory, cell, error);
    }
    if (memory != NULL) ggs_sweep_answer_release(&answer);
    free(memory);
    return status;
}

static void caption_study(struct ggs_drawing * drawing, const struct ggs_sweep * sweep) {
    const char * slash = strrchr(sweep->study->directory, '/');
    ggs_text_printf(&drawing->title, "Miss curve: %s", slash == NULL ? sweep->study->directory : slash + 1);
    ggs_text_printf(&drawing->caption, "%u of %u runs, medians and 95 %% intervals \xc2\xb7", sweep->done,
                    ggs_sweep_planned(sweep->study));
    for (char ** word = sweep->study->program; *word != NULL; word++) ggs_text_printf(&drawing->caption, " %s", *word);
    ggs_text_puts(&drawing->caption, " \xc2\xb7 ggscope");
    drawing->chart.title   = ggs_text_string(&drawing->title);
    drawing->chart.caption = ggs_text_string(&drawing->caption);
}

// Reads the study and makes its figure; `name`: the plotted figure of a trial. `caption`: adds a
// title, and a line with the program.
static int make_study(struct ggs_drawing * drawing, const char * path, const char * name, bool caption,
                      struct ggs_error * error) {
    struct ggs_study study = {0};
    struct ggs_sweep sweep = {0};
    char             plan[PATH_MAX + 16];
    int              cell = ggs_trial_figure_find(name);
    if (cell < 0) return ggs_fail(error, GGS_USAGE, "a study has no figure %s; ggscope sweep --help lists them", name);
    snprintf(plan, sizeof(plan), "%s/study.json", path);
    int status = ggs_study_read(&study, plan, error);
    if (status == 0 && realpath(path, study.directory) == NULL) status = ggs_fail_errno(error, "opening %s", path);
    if (status == 0) status = ggs_study_check(&study, error);
    if (status == 0) status = ggs_sweep_open(&sweep, &study, true, error);
    if (status == 0) status = draw_study(drawing, &sweep, (unsigned) cell, error);
    if (status == 0 && caption) caption_study(drawing, &sweep);
    if (sweep.study != NULL) ggs_sweep_close(&sweep);
    ggs_study_release(&study);
    return status;
}

// ---- the verb ----

static int make(struct arguments * a, struct ggs_drawing * figure, struct ggs_error * error) {
    struct ggs_trace   traces[GGS_DOMAINS_MOST] = {0};
    struct ggs_trace * trace                    = &traces[0];
    int                status                   = 0;
    if (a->options.kind == &miss_curve)
        return make_study(figure, a->input.paths[0], a->figure == NULL ? "read_bytes" : a->figure, a->options.caption,
                          error);
    a->options.n_traces = a->input.n;
    for (unsigned i = 0; status == 0 && i < a->input.n; i++)
        status = ggs_verb_open(&traces[i], a->input.paths[i], &a->input, error);
    if (status == 0) status = ggs_selection_make(&trace->selection, trace, &a->input.choice, error);
    if (status == 0) status = ggs_figure_make(figure, trace, &a->options, error);
    ggs_selection_free(trace->selection);
    for (unsigned i = 0; i < a->input.n; i++) ggs_trace_close(&traces[i]);
    return status;
}

static int draw(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments * a        = input;
    struct ggs_drawing figure   = {0};
    struct ggs_text    document = {0};
    a->options.first_step = a->tokens[0], a->options.last_step = a->tokens[1];
    a->options.context   = (int64_t) a->input.choice.context - 1;
    a->options.directory = a->input.paths[0];
    int status           = make(a, &figure, error);
    (void) traces;
    if (status == 0 && a->output != NULL)
        status = ggs_figure_draw(&figure, &a->options, output_of(a->output), &document, error);
    if (status == 0 && a->output != NULL) status = write_file(a->output, &document, error);
    if (status == 0 && a->data != NULL) status = write_file(a->data, &figure.data, error);
    ggs_text_release(&document);
    ggs_figure_release(&figure);
    return status;
}

int cmd_figure(int argc, char ** argv) {
    static const struct ggs_verb verb = {
        .operands = "[DIR...]",
        .most     = GGS_DOMAINS_MOST,
        .options  = options,
        .check    = check,
        .run      = draw,
        .text =
            "Draw a figure for a paper or a slide, as SVG or PDF: axes with units, light on white, colours that the "
            "colour-blind can tell apart and that stay in order in print. The same recording gives the same bytes."};
    struct arguments arguments = {.tokens = {0, INT64_MAX}, .options = GGS_FIGURE_DEFAULTS};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
