// ggscope gguf MODEL: what is in a GGUF file, and where.
#include "cli/cmd-gguf.h"
#include "base/error.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "gguf/gguf.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_CSV = 256, KEY_JSON, KEY_EXPERTS, KEY_KV, KEY_EXTENTS, KEY_REGIONS, KEY_SUMMARY };

enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };
enum view { VIEW_MAP, VIEW_KV, VIEW_EXTENTS, VIEW_REGIONS, VIEW_SUMMARY };

struct options {
    const char * path;
    enum format  format;
    enum view    view;
    bool         experts;
};

static const struct argp_option option_table[] = {
    {"csv", KEY_CSV, NULL, 0, "Tensors as CSV: tensor_name,file_offset,size_bytes,layer_id,component_type", 1},
    {"json", KEY_JSON, NULL, 0, "As JSON, with every region and with experts one by one", 1},
    {"experts", KEY_EXPERTS, NULL, 0, "List the experts of each tensor one by one", 1},
    {"summary", KEY_SUMMARY, NULL, 0, "Leave out the list of tensors: the heading and the totals alone", 2},
    {"regions", KEY_REGIONS, NULL, 0, "Show every region instead: header, key-values, tensor infos, tensors, padding",
     2},
    {"kv", KEY_KV, NULL, 0, "Show the metadata instead (long arrays in full with --json)", 2},
    {"extents", KEY_EXTENTS, NULL, 0,
     "Show how the file lies on its disk instead: fragments of the file and of each tensor", 2},
    {0},
};

static void set_format(struct argp_state * state, enum format format) {
    struct options * options = state->input;
    if (options->format != FORMAT_TEXT && options->format != format)
        argp_error(state, "choose one of --csv and --json");
    options->format = format;
}

static void set_view(struct argp_state * state, enum view view) {
    struct options * options = state->input;
    if (options->view != VIEW_MAP && options->view != view) {
        argp_error(state, "choose one of --summary, --kv, --extents and --regions");
    }
    options->view = view;
}

static void check(struct argp_state * state) {
    const struct options * options = state->input;
    if (options->path == NULL) argp_error(state, "which model? Give the path of a GGUF file");
    if (options->view == VIEW_SUMMARY && options->format != FORMAT_TEXT) {
        argp_error(state, "--summary is text; --json has everything");
    }
    if (options->view != VIEW_MAP && options->format == FORMAT_CSV) {
        argp_error(state, "--csv lists tensors; use --json with --kv, --extents and --regions");
    }
    if (options->view != VIEW_MAP && options->experts) {
        argp_error(state, "--experts goes with the list of tensors, not with --summary, --kv, --extents or --regions");
    }
}

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct options * options = state->input;
    switch (key) {
        case KEY_CSV:
            set_format(state, FORMAT_CSV);
            return 0;
        case KEY_JSON:
            set_format(state, FORMAT_JSON);
            return 0;
        case KEY_EXPERTS:
            options->experts = true;
            return 0;
        case KEY_KV:
            set_view(state, VIEW_KV);
            return 0;
        case KEY_EXTENTS:
            set_view(state, VIEW_EXTENTS);
            return 0;
        case KEY_SUMMARY:
            set_view(state, VIEW_SUMMARY);
            return 0;
        case KEY_REGIONS:
            set_view(state, VIEW_REGIONS);
            return 0;
        case ARGP_KEY_ARG:
            if (options->path != NULL) argp_error(state, "one model at a time, please: '%s' is too much", argument);
            options->path = argument;
            return 0;
        case ARGP_KEY_END:
            check(state);
            return 0;
        default:
            return ARGP_ERR_UNKNOWN;
    }
}

const char * gguf_file_name(const char * path) {
    const char * slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

const char * gguf_model_name(const struct ggs_model * model, size_t * length) {
    const char * name;
    if (ggs_gguf_get_string(model->files[0], "general.name", &name, length) && *length > 0) return name;
    name    = gguf_file_name(model->files[0]->path);
    *length = strlen(name);
    return name;
}

double gguf_float(const struct ggs_gguf_value * value) {
    if (value->type != GGS_GGUF_F32 || !isfinite(value->f64)) return value->f64;
    for (int digits = 1; digits < 9; digits++) {
        char text[32];
        snprintf(text, sizeof text, "%.*g", digits, value->f64);
        if ((double) strtof(text, NULL) == value->f64) return strtod(text, NULL);
    }
    return value->f64;
}

static int make_maps(struct ggs_gguf_map ** out, const struct ggs_model * model, struct ggs_error * error) {
    struct ggs_gguf_map * maps = calloc(model->n_files, sizeof *maps);
    if (maps == NULL) return ggs_fail_memory(error);
    int status = 0;
    for (size_t i = 0; status == 0 && i < model->n_files; i++)
        status = ggs_gguf_map_init(&maps[i], model->files[i], error);
    *out = maps;
    return status;
}

static int write_report(const struct gguf_report * report, const struct options * options, struct ggs_error * error) {
    static int (*const writers[][3])(const struct gguf_report *, struct ggs_error *) = {
        [VIEW_MAP]     = {gguf_text_map, gguf_csv_map, gguf_json_map},
        [VIEW_KV]      = {gguf_text_kv, NULL, gguf_json_kv},
        [VIEW_EXTENTS] = {gguf_text_extents, NULL, gguf_json_extents},
        [VIEW_REGIONS] = {gguf_text_regions, NULL, gguf_json_regions},
        [VIEW_SUMMARY] = {gguf_text_summary, NULL, NULL},
    };
    return writers[options->view][options->format](report, error);
}

static int report_model(const struct options * options, struct ggs_error * error) {
    struct ggs_model *    model  = NULL;
    struct ggs_gguf_map * maps   = NULL;
    int                   status = ggs_model_open(&model, options->path, error);
    // The metadata of a file can be read whatever its tensors look like.
    if (status == 0 && options->view != VIEW_KV) status = make_maps(&maps, model, error);
    if (status == 0) {
        struct gguf_report report = {.model = model, .maps = maps, .experts = options->experts};
        if (isatty(STDOUT_FILENO)) report.width = ggs_terminal_width(stdout);
        status = write_report(&report, options, error);
    }
    for (size_t i = 0; maps != NULL && i < model->n_files; i++) ggs_gguf_map_release(&maps[i]);
    free(maps);
    ggs_model_free(model);
    return status;
}

// Was every byte of the answer written? A reader that went away (| head) is no failure worth a word.
static int finish_output(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    if (errno != EPIPE)
        fprintf(stderr, "ggscope: the output could not be written: %s\n", strerror(errno != 0 ? errno : EIO));
    return 1;
}

int cmd_gguf(int argc, char ** argv) {
    static const struct argp argp = {
        option_table,
        parse_option,
        "MODEL",
        "Show what is in a GGUF file and where: every tensor with its offset, size, type, shape, layer and component, "
        "totals, and every other byte. Of a split model any of its files can be given; the others are found.",
        NULL,
        NULL,
        NULL,
    };
    struct options options = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0) return 2;

    struct ggs_error error = {0};
    if (report_model(&options, &error) < 0) {
        fflush(stdout);
        fprintf(stderr, "ggscope: %s\n", error.text);
        return 1;
    }
    return finish_output();
}
