// ggscope sweep: records a program under many conditions, several times each, and tabulates the
// results.
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/progress.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "cli/sweep/cmd-sweep.h"

struct arguments {
    struct ggs_input       input;
    bool                   program; // operands are a program; else they name a study
    const char *           output;
    struct ggs_study       study; // from options
    struct ggs_error       wrong; // in an option
    uint64_t               repeat;
    bool                   pairs;
    uint64_t               seed;
    bool                   table;
    enum ggs_sweep_format  format;
    const char *           to;
    struct ggs_sweep_shown shown;
};
#define AT(member) offsetof(struct arguments, member)

// ---- options ----

static bool add_list(void * member, const char * factor, const char * list) {
    struct arguments * arguments = member;
    return ggs_study_add_list(&arguments->study, factor, list, &arguments->wrong) == 0;
}

static bool set_memory_list(void * member, const char * text) {
    return add_list(member, "memory", text);
}

static bool set_cold_list(void * member, const char * text) {
    return add_list(member, "cold", text);
}

static bool set_readahead_list(void * member, const char * text) {
    return add_list(member, "readahead", text);
}

static bool set_factor(void * member, const char * text) {
    const char * equals = strchr(text, '=');
    char         name[128];
    if (equals == NULL || equals == text || (size_t) (equals - text) >= sizeof(name)) return false;
    snprintf(name, sizeof(name), "%.*s", (int) (equals - text), text);
    return add_list(member, name, equals + 1);
}

GGS_WORDS(format_words, {"text", NULL}, {"csv", "all figures, with the ends of their intervals"},
          {"parquet", "the same"}, {"markdown", NULL}, {"latex", "a tabular"})

static bool set_table(void * member, const char * text) {
    struct arguments * arguments = member;
    arguments->table             = true;
    for (unsigned i = 0; text != NULL; i++) {
        if (format_words(i).word == NULL) return false;
        arguments->format = (enum ggs_sweep_format) i;
        if (strcmp(format_words(i).word, text) == 0) break;
    }
    return true;
}

static bool set_figures(void * member, const char * text) {
    struct ggs_sweep_shown * shown = member;
    char                     list[512], *at = list, *name;
    shown->n = 0;
    if (snprintf(list, sizeof(list), "%s", text) >= (int) sizeof(list)) return false;
    while ((name = strtok_r(at, ",", &at)) != NULL) {
        int figure = ggs_trial_figure_find(name);
        if (figure < 0 || shown->n == GGS_SWEEP_SHOWN) return false;
        shown->list[shown->n++] = (unsigned) figure;
    }
    return shown->n > 0;
}

static char * name_figures(int key, const char * text, void * input) {
    (void) input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *) text;
    char   all[1024];
    size_t n = (size_t) snprintf(all, sizeof(all), "Figures:");
    for (unsigned i = 0; ggs_trial_figure(i) != NULL && n < sizeof(all); i++)
        n += (size_t) snprintf(all + n, sizeof(all) - n, " %s", ggs_trial_figure(i)->name);
    return strdup(all); // argp frees it
}

static const struct ggs_option options[] = {
    GGS_OPTION("output", 'o', "DIR", "Directory of the study", 1, AT(output), ggs_set_path, "a directory"),
    GGS_OPTION("memory", 0, "LIST", "Limits of memory: sizes, shares of the model such as 25%, none", 1, 0,
               set_memory_list, "a list such as 25%,50%,2G,none"),
    GGS_OPTION("cold", 0, "LIST", "Cold and warm starts: yes,no", 1, 0, set_cold_list, "a list of yes and no"),
    GGS_OPTION("readahead", 0, "LIST",
               "Readahead of the whole device that holds the model: sizes, none (needs root; restored at the end)", 1,
               0, set_readahead_list, "a list such as 128K,8M,none"),
    GGS_OPTION(
        "vary", 0, "NAME=LIST",
        "Vary anything else: model, prompt, drop-caches, an option of record by its name, an argument of the program "
        "with its dash, such as -t=1,2; repeatable",
        1, 0, set_factor, "a name and a list, such as -t=1,2,4 or engine=old,new"),
    GGS_SWITCH("pairs", 0, "Combine the first values of all lists, then the second, ...; not every combination", 1,
               AT(pairs)),
    GGS_OPTION("repeat", 'r', "N", "Run each variant N times (5)", 1, AT(repeat), ggs_set_count, "a number of runs"),
    GGS_OPTION("seed", 0, "N", "Seed of the order of runs (1)", 1, AT(seed), ggs_set_count, "a number"),
    {.name  = "table",
     .value = "=FORMAT",
     .help  = "Run nothing: show the table of finished runs",
     .group = 2,
     .set   = set_table,
     .words = format_words},
    GGS_OPTION("to", 0, "FILE", "Write the table to FILE", 2, AT(to), ggs_set_path, "a file"),
    GGS_OPTION("figures", 0, "LIST",
               "Figures in text, Markdown and LaTeX (tokens_per_s,token_quiet_ns,read_bytes,resident_peak)", 2,
               AT(shown), set_figures, "up to 8 of the figures in --help, with commas"),
    GGS_OPTION_JSON(2),
    {0},
};

// ---- the study ----

// Reads a study by its directory, or a plan.
static int read_study(struct arguments * arguments, struct ggs_study * study, struct ggs_error * error) {
    const char * path = arguments->input.paths[0];
    char         plan[PATH_MAX + 32], folder[PATH_MAX];
    struct stat  info;
    bool         is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    snprintf(plan, sizeof(plan), is_folder ? "%s/study.json" : "%s", path);
    if (is_folder && stat(plan, &info) != 0)
        return ggs_fail(error, GGS_USAGE, "%s is not a study: it has no study.json", path);
    study->repeat = 5, study->seed = 1;
    int status = ggs_study_read(study, plan, error);
    if (status != 0) return status;
    snprintf(folder, sizeof(folder), "%s", arguments->output != NULL ? arguments->output : study->directory);
    if (is_folder) snprintf(folder, sizeof(folder), "%s", path);
    if (folder[0] == '\0') {
        size_t length = strlen(path);
        if (length < 6 || strcmp(path + length - 5, ".json") != 0)
            return ggs_fail(error, GGS_USAGE, "missing option: name the study's directory with -o DIR");
        snprintf(folder, sizeof(folder), "%.*s", (int) length - 5, path);
    }
    snprintf(study->directory, sizeof(study->directory), "%s", folder);
    return 0;
}

static int make_study(struct arguments * arguments, struct ggs_study * study, struct ggs_error * error) {
    *study           = arguments->study; // takes the values added by options
    arguments->study = (struct ggs_study){0};
    study->repeat = arguments->repeat == UINT64_MAX ? 5 : arguments->repeat, study->seed = arguments->seed;
    study->pairs = arguments->pairs;
    snprintf(study->directory, sizeof(study->directory), "%s", arguments->output);
    return ggs_study_set_program(study, arguments->input.paths, error);
}

static int absolute(struct ggs_study * study, struct ggs_error * error) {
    char here[PATH_MAX], whole[PATH_MAX];
    if (study->directory[0] == '/') return 0;
    if (getcwd(here, sizeof(here)) == NULL) return ggs_fail_errno(error, "cannot find the working directory");
    if (snprintf(whole, sizeof(whole), "%s/%s", here, study->directory) >= (int) sizeof(whole))
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", study->directory);
    memcpy(study->directory, whole, sizeof(whole));
    return 0;
}

// ---- running ----

struct show {
    struct ggs_progress progress;
    unsigned            before; // trials of earlier sweeps
};

static void draw(void * context, const struct ggs_sweep * sweep) {
    struct show * show = context;
    ggs_progress_update(&show->progress, sweep->done - show->before);
}

static void print_begin(const struct ggs_sweep * sweep) {
    bool readahead = false, drops = false;
    for (unsigned i = 0; i < sweep->study->n_variants; i++) {
        readahead |= sweep->variants[i].readahead >= 0;
        drops |= sweep->variants[i].drop_caches;
    }
    if (sweep->done > 0 && sweep->done < ggs_sweep_planned(sweep->study))
        fprintf(stderr, "ggscope: %u of %u runs have ended before; the rest follows\n", sweep->done,
                ggs_sweep_planned(sweep->study));
    if (readahead)
        fprintf(stderr,
                "ggscope: readahead is set for the whole device that holds the model, for all programs, until the "
                "sweep ends\n");
    if (drops) fprintf(stderr, "ggscope: the page cache of all files is dropped before runs, for all programs\n");
}

static void print_end(const struct ggs_sweep * sweep, bool stopped) {
    struct ggs_trials_load load = ggs_trials_load(sweep->trials);
    if (sweep->recovered > 0)
        fprintf(stderr, "ggscope: readahead of %u device%s, which a killed sweep had changed, was restored\n",
                sweep->recovered, sweep->recovered == 1 ? "" : "s");
    if (load.repeated > 0)
        fprintf(stderr, "ggscope: %u run%s repeated because other programs kept the machine busy\n", load.repeated,
                load.repeated == 1 ? " was" : "s were");
    if (stopped)
        fprintf(stderr, "ggscope: %u of %u runs have ended; go on with: ggscope sweep %s\n", sweep->done,
                ggs_sweep_planned(sweep->study), sweep->study->directory);
}

static int run_rest(struct ggs_sweep * sweep, struct ggs_error * error) {
    struct show show = {.before = sweep->done};
    sweep->progress  = draw;
    sweep->context   = &show;
    print_begin(sweep);
    ggs_progress_start(&show.progress, "sweep", ggs_sweep_planned(sweep->study) - sweep->done);
    int status = ggs_sweep_run(sweep, error);
    ggs_progress_finish(&show.progress);
    if (status >= 0) print_end(sweep, status == 1);
    return status;
}

static int show_table(const struct arguments * arguments, const struct ggs_sweep * sweep, struct ggs_error * error) {
    struct ggs_sweep_answer answer;
    int                     status = ggs_sweep_answer_make(&answer, sweep, error);
    if (status == 0 && arguments->input.json)
        ggs_object_write(arguments->input.out, NULL, &ggs_sweep_object, &answer, NULL);
    else if (status == 0)
        status = ggs_sweep_table_write(&answer, arguments->format, &arguments->shown,
                                       arguments->to == NULL ? "-" : arguments->to, error);
    ggs_sweep_answer_release(&answer);
    return status;
}

static int sweep_study(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments * arguments = input;
    struct ggs_study   study     = {0};
    struct ggs_sweep   sweep     = {.lock = -1, .journal = {.fd = -1}};
    int                stopped   = 0;
    (void) traces;
    int status = arguments->program ? make_study(arguments, &study, error) : read_study(arguments, &study, error);
    if (status == 0) status = absolute(&study, error);
    if (status == 0) status = ggs_study_check(&study, error);
    if (status == 0 && !arguments->table) status = ggs_study_make(&study, error);
    if (status == 0) status = ggs_sweep_open(&sweep, &study, arguments->table, error);
    if (status == 0 && !arguments->table) {
        status  = run_rest(&sweep, error);
        stopped = status == 1 ? ggs_trials_stopped(sweep.trials) : 0;
        if (status == 1) status = 0;
    }
    if (status == 0) status = show_table(arguments, &sweep, error);
    if (sweep.study != NULL) ggs_sweep_close(&sweep);
    ggs_study_release(&study);
    ggs_study_release(&arguments->study);
    return status == 0 && stopped != 0 ? 128 + stopped : status;
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    const struct ggs_study * study     = &arguments->study;
    if (arguments->input.n == 0)
        argp_error(state, "missing argument: a study to continue, a study.json, or -- PROGRAM ARGS...");
    if (!arguments->program && (study->n_factors > 0 || arguments->input.n > 1))
        argp_error(state, "put -- before the program: ggscope sweep [OPTIONS...] -- PROGRAM ARGS...");
    if (arguments->program && arguments->output == NULL)
        argp_error(state, "missing option: name the study's directory with -o DIR");
    if (arguments->program && arguments->table)
        argp_error(state, "--table needs an existing study: ggscope sweep DIR --table");
    if (!arguments->program && (arguments->pairs || arguments->repeat != UINT64_MAX || arguments->seed != 1))
        argp_error(state, "an existing study has its plan: omit --pairs, --repeat and --seed");
    if (arguments->to != NULL && arguments->input.json) argp_error(state, "--to writes a table, --json goes to stdout");
}

// Words after "--" are a program; a study may have options after it.
static bool names_program(int argc, char ** argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) return true;
    }
    return false;
}

int cmd_sweep(int argc, char ** argv) {
    struct ggs_verb verb = {
        .operands = "STUDY\n-- PROGRAM [ARGS...]",
        .several  = true,
        .most     = UINT_MAX,
        .options  = options,
        .check    = check,
        .run      = sweep_study,
        .help     = name_figures,
        .text = "Record PROGRAM under every combination of conditions, several times each, in an order that spreads "
                "each value over the whole time, and show medians with their 95 % intervals. STUDY, the directory of "
                "a sweep or a study.json, is continued where it stopped.\v"};
    struct arguments arguments = {
        .repeat = UINT64_MAX, .seed = 1, .program = argc != GGS_VERB_DESCRIBE && names_program(argc, argv)};
    verb.program = arguments.program;
    set_figures(&arguments.shown, "tokens_per_s,token_quiet_ns,read_bytes,resident_peak");
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
