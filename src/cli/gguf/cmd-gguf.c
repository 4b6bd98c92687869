// ggscope gguf MODEL: the contents and layout of a GGUF file.
#include "cli/gguf/cmd-gguf.h"
#include "answer/gguf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/system/terminal.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

enum format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };
enum view { VIEW_MAP, VIEW_KV, VIEW_EXTENTS, VIEW_REGIONS, VIEW_SUMMARY };

struct arguments {
    struct ggs_input input;
    bool             csv, full, experts, summary, regions, kv, extents;
};
#define AT(member) offsetof(struct arguments, member)

static const struct ggs_option options[] = {
    GGS_SWITCH("csv", 0, "Tensors as CSV: tensor_name,file_offset,size_bytes,layer_id,component_type", 1, AT(csv)),
    GGS_SWITCH("full", 0, "With --csv: also n_dims,shape,dtype,n_elements,file,dim0,dim1,dim2,dim3", 1, AT(full)),
    GGS_SWITCH("json", 'j', "As JSON, with every region and with experts one by one", 1, AT(input.json)),
    GGS_SWITCH("experts", 0, "List the experts of each tensor one by one", 1, AT(experts)),
    GGS_SWITCH("summary", 0, "Show the heading and totals only", 2, AT(summary)),
    GGS_SWITCH("regions", 0, "Show every region instead: header, key-values, tensor infos, tensors, padding", 2,
               AT(regions)),
    GGS_SWITCH("kv", 0, "Show the metadata instead (long arrays in full with --json)", 2, AT(kv)),
    GGS_SWITCH("extents", 0, "Show the fragments of the file and of each tensor on the disk instead", 2, AT(extents)),
    {0},
};

static enum format format_of(const struct arguments * arguments) {
    return arguments->csv ? FORMAT_CSV : arguments->input.json ? FORMAT_JSON : FORMAT_TEXT;
}

static enum view view_of(const struct arguments * arguments) {
    if (arguments->summary) return VIEW_SUMMARY;
    if (arguments->regions) return VIEW_REGIONS;
    if (arguments->kv) return VIEW_KV;
    return arguments->extents ? VIEW_EXTENTS : VIEW_MAP;
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    bool                     text = format_of(arguments) == FORMAT_TEXT, map = view_of(arguments) == VIEW_MAP;
    if (arguments->full && !arguments->csv) argp_error(state, "--full goes with --csv; --json has everything");
    if (arguments->csv && arguments->input.json) argp_error(state, "--csv and --json exclude each other");
    if (arguments->summary + arguments->regions + arguments->kv + arguments->extents > 1)
        argp_error(state, "--summary, --kv, --extents and --regions exclude each other");
    if (arguments->summary && !text) argp_error(state, "--summary is text; --json has everything");
    if (!map && arguments->csv) argp_error(state, "--csv lists tensors; use --json with --kv, --extents and --regions");
    if (!map && arguments->experts)
        argp_error(state, "--experts goes with the list of tensors, not with --summary, --kv, --extents or --regions");
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

static int write_json(const struct gguf_report * report, enum view view, struct ggs_error * error) {
    struct ggs_json json;
    int             status = 0;
    ggs_json_init(&json, ggs_json_to_file, stdout, true);
    if (view == VIEW_KV) {
        ggs_gguf_write_kv(&json, report->model);
    } else if (view == VIEW_REGIONS) {
        ggs_gguf_write_regions(&json, report->model, report->maps);
    } else if (view == VIEW_EXTENTS) {
        status = ggs_gguf_write_extents(&json, report->model, report->maps, error);
    } else {
        status = ggs_gguf_write_map(&json, report->model, report->maps, error);
    }
    // Write failures stay in stdout's error flag, which the scaffold checks.
    if (status == 0) (void) ggs_json_finish(&json);
    return status;
}

static int write_report(const struct gguf_report * report, enum view view, enum format format,
                        struct ggs_error * error) {
    static int (*const texts[])(const struct gguf_report *, struct ggs_error *) = {
        [VIEW_MAP] = gguf_text_map,         [VIEW_KV] = gguf_text_kv,           [VIEW_EXTENTS] = gguf_text_extents,
        [VIEW_REGIONS] = gguf_text_regions, [VIEW_SUMMARY] = gguf_text_summary,
    };
    if (format == FORMAT_JSON) return write_json(report, view, error);
    return format == FORMAT_CSV ? gguf_csv_map(report, error) : texts[view](report, error);
}

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    enum view                view      = view_of(arguments);
    (void) traces;
    struct ggs_model *    model  = NULL;
    struct ggs_gguf_map * maps   = NULL;
    int                   status = ggs_model_open(&model, arguments->input.paths[0], error);
    // The metadata of a file is readable even if its tensors are invalid.
    if (status == 0 && view != VIEW_KV) status = make_maps(&maps, model, error);
    if (status == 0) {
        struct gguf_report report = {
            .model = model, .maps = maps, .experts = arguments->experts, .full = arguments->full};
        report.width = ggs_terminal_limit(stdout);
        status       = write_report(&report, view, format_of(arguments), error);
    }
    for (size_t i = 0; maps != NULL && i < model->n_files; i++) ggs_gguf_map_release(&maps[i]);
    free(maps);
    ggs_model_free(model);
    return status;
}

int cmd_gguf(int argc, char ** argv) {
    static const struct ggs_verb verb = {
        .operands = "MODEL",
        .least    = 1,
        .most     = 1,
        .options  = options,
        .check    = check,
        .run      = show,
        .text     = "Show the contents of a GGUF file: every tensor with its offset, size, type, shape, layer and "
                    "component, totals, and every other byte. Any file of a split model can be given."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
