// ggscope bench -r N --baseline B -- PROGRAM: is it faster, or is that noise?
//
// Every round records the baseline, the program and the baseline again (src/trials). The baseline
// against itself is the control: no smaller difference counts.
#include <argp.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/diff/diff-causes.h"
#include "analyze/explain/explain.h"
#include "answer/bench.h"
#include "base/error.h"
#include "base/system/progress.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/scaffold/judgements.h"
#include "cli/scaffold/verb.h"
#include "record/recording.h"
#include "trials/traffic.h"
#include "trials/trials.h"

enum { MOST_ROUNDS = 200, MOST_FIGURES = 32, MOST_WORDS = 512 };
static const double SAME = 0.005; // --until-decided: smaller differences do not count

struct arguments {
    struct ggs_input     input;
    uint64_t             rounds;
    const char *         baseline;
    const char *         engine;
    const char *         keep;
    struct ggs_recording recording; // only --memory and --cold of these
    bool                 until_decided;
    struct ggs_fail_if   fail_if;
    const char *         junit;
    bool                 markdown;
};
#define AT(member) offsetof(struct arguments, member)

struct bench {
    const struct arguments * arguments;
    bool                     compares;         // there is a baseline
    char                     folder[PATH_MAX]; // temporary, below TMPDIR
    struct ggs_trials *      trials;
    unsigned                 a, b, again; // variants; without a baseline, b is the control
    unsigned                 rounds;      // done
    struct ggs_progress      progress;
    uint64_t                 done;
    struct ggs_explanation * explained; // of the first round: A and B
    bool                     has[2];
    struct ggs_causes        causes; // causes that only one of the two has
};

// ---- measuring ----

static bool is_folder(const char * path) {
    struct stat info;
    return path != NULL && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// Returns the model of a shell command: the word after its -m or --model, without quotes; else that
// of the program. The caller must not free it.
static const char * model_of_baseline(const struct arguments * arguments) {
    static char  words[4096], *list[MOST_WORDS];
    const char * found = NULL;
    unsigned     n     = 0;
    snprintf(words, sizeof(words), "%s", arguments->baseline);
    for (char *at = words, *word; n < MOST_WORDS - 1 && (word = strtok_r(at, " \t\n\"'", &at)) != NULL;)
        list[n++] = word;
    list[n] = NULL;
    if (n > 0) found = ggs_recording_find_model(list);
    return found != NULL ? found : ggs_recording_find_model(arguments->input.paths);
}

static int add_variant(struct bench * bench, const char * name, bool base, unsigned * number,
                       struct ggs_error * error) {
    static const char *      plain[] = {"-q", "--no-faults", NULL};
    static const char *      with[2][5];
    static const char *      shell[]   = {"sh", "-c", NULL, NULL};
    const struct arguments * arguments = bench->arguments;
    bool                     folder    = base && is_folder(arguments->baseline);
    const char *             engine    = folder ? arguments->baseline : arguments->engine;
    const char **            options   = plain;
    if (engine != NULL) {
        options    = with[base];
        options[0] = plain[0], options[1] = plain[1], options[2] = "--engine", options[3] = engine;
    }
    shell[2]             = arguments->baseline;
    bool         pressed = arguments->recording.cold || arguments->recording.memory.bytes > 0;
    const char * model   = arguments->recording.cold_model;
    if (pressed && model == NULL)
        model = base && !folder ? model_of_baseline(arguments) : ggs_recording_find_model(arguments->input.paths);
    struct ggs_variant variant = {.name    = name,
                                  .options = options,
                                  .program = base && !folder ? shell : (const char * const *) arguments->input.paths,
                                  .warm_up = strcmp(name, "control") != 0,
                                  .model   = model,
                                  .memory  = arguments->recording.memory.bytes,
                                  .cold    = arguments->recording.cold || model != NULL};
    int                status  = ggs_trials_add(bench->trials, &variant, error);
    *number                    = status < 0 ? 0 : (unsigned) status;
    return status < 0 ? status : 0;
}

static int after_trial(void * context, const struct ggs_trial * trial, struct ggs_error * error) {
    struct bench * bench = context;
    (void) trial, (void) error;
    ggs_progress_update(&bench->progress, ++bench->done);
    return 0;
}

// Explains A and B once, from their first rounds. Findings about the program are the same in every
// round; those about the machine are left out.
static int after_recording(void * context, const struct ggs_trial * trial, const char * directory,
                           struct ggs_error * error) {
    struct bench *    bench = context;
    struct ggs_trace  trace;
    struct ggs_totals totals;
    unsigned          side = trial->variant == bench->b;
    bool              ours = trial->variant == bench->a || trial->variant == bench->b;
    if (!bench->compares || !ours || bench->has[side]) return 0;
    int status = ggs_trace_open(&trace, directory, error);
    if (status < 0) return status;
    status = ggs_totals_compute(&totals, &trace, &ggs_totals_all, error);
    if (status == 0) {
        status           = ggs_explain_compute(&bench->explained[side], &trace, &totals, error);
        bench->has[side] = status == 0;
        ggs_totals_release(&totals);
    }
    ggs_trace_close(&trace);
    return status;
}

static bool is_decided(const struct bench * bench) {
    int figure = ggs_trial_figure_find("token_quiet_ns");
    return bench->arguments->until_decided && figure >= 0 &&
           ggs_trials_decided(bench->trials, bench->a, bench->b, bench->again, (unsigned) figure, SAME);
}

static void print_load(const struct bench * bench) {
    struct ggs_trials_load load = ggs_trials_load(bench->trials);
    if (load.repeated == 0) return;
    fprintf(stderr, "ggscope: %u run%s repeated because other programs kept the machine busy", load.repeated,
            load.repeated == 1 ? " was" : "s were");
    if (load.busy > 0) fprintf(stderr, "; %u stayed busy and count%s", load.busy, load.busy == 1 ? "s" : "");
    fputc('\n', stderr);
}

static int measure_all(struct bench * bench, struct ggs_error * error) {
    const struct arguments *   arguments = bench->arguments;
    struct ggs_trials_settings settings  = {.folder   = arguments->keep != NULL ? arguments->keep : bench->folder,
                                            .keep     = arguments->keep != NULL,
                                            .recorded = after_recording,
                                            .after    = after_trial,
                                            .context  = bench};
    int                        status    = ggs_trials_new(&bench->trials, &settings, error);
    if (status == 0) status = add_variant(bench, "a", bench->compares, &bench->a, error);
    if (status == 0 && bench->compares) status = add_variant(bench, "b", false, &bench->b, error);
    if (status == 0) status = add_variant(bench, "control", bench->compares, &bench->again, error);
    if (status != 0) return status;
    if (!bench->compares) bench->b = bench->again;
    ggs_progress_start(&bench->progress, "bench", arguments->rounds * (bench->compares ? 3 : 2));
    while (bench->rounds < arguments->rounds && status == 0 && !is_decided(bench)) {
        status = ggs_trials_round(bench->trials, error);
        bench->rounds += status == 0;
    }
    ggs_progress_finish(&bench->progress);
    if (status == 0) print_load(bench);
    return status;
}

// ---- results ----

static unsigned conclude(const struct bench * bench, struct ggs_bench_figure * outcomes) {
    unsigned n = 0;
    for (size_t i = 0; i < ggs_n_figures; i++) {
        const struct ggs_trials * trials  = bench->trials;
        unsigned                  f       = (unsigned) i;
        struct ggs_bench_figure   outcome = {.figure  = &ggs_figures[i],
                                             .a       = ggs_trials_median(trials, bench->a, f),
                                             .b       = ggs_trials_median(trials, bench->b, f),
                                             .ratio   = ggs_trials_ratio(trials, bench->a, bench->b, f),
                                             .control = ggs_trials_ratio(trials, bench->a, bench->again, f)};
        outcome.differs                   = bench->compares && ggs_ratio_differs(&outcome.ratio, &outcome.control);
        if (isnan(outcome.a) && isnan(outcome.b)) continue;
        outcomes[n++] = outcome;
    }
    return n;
}

static void judge(const struct arguments * arguments, const struct ggs_bench_figure * outcomes, unsigned n,
                  struct ggs_judgement * judgements) {
    for (unsigned i = 0; i < arguments->fail_if.n; i++) {
        const struct ggs_condition *    condition = &arguments->fail_if.conditions[i];
        const struct ggs_bench_figure * outcome   = NULL;
        for (unsigned k = 0; k < n; k++) {
            if (outcomes[k].figure == condition->figure) outcome = &outcomes[k];
        }
        ggs_fail_if_judge(condition, outcome == NULL ? NAN : outcome->a, outcome == NULL ? NAN : outcome->b,
                          &judgements[i]);
        if (outcome != NULL && judgements[i].failed && condition->figure->noisy && !outcome->differs) {
            judgements[i].failed = false;
            judgements[i].note   = "no more than noise";
        }
    }
}

static const char * verdict(const struct ggs_bench_figure * outcome, bool compares) {
    if (!compares) return "";
    if (isnan(outcome->ratio.value)) return "not seen";
    if (!outcome->differs) return outcome->a == outcome->b ? "same" : "noise";
    if (!outcome->figure->noisy) return outcome->b > outcome->a ? "more" : "less";
    return (outcome->b > outcome->a) == outcome->figure->more ? "faster" : "slower";
}

static void format_ratio(char text[64], const struct ggs_ratio * ratio) {
    if (isnan(ratio->value)) {
        snprintf(text, 64, "not seen");
    } else {
        snprintf(text, 64, "%.3f [%.3f, %.3f]", ratio->value, ratio->low, ratio->high);
    }
}

static bool is_dull(const struct ggs_bench_figure * outcome) {
    return !outcome->figure->noisy && outcome->a == outcome->b && !outcome->differs;
}

static void print_text(const struct bench * bench, const struct ggs_bench_figure * outcomes, unsigned n) {
    char               a[GGS_NUMBER_LENGTH], ratio[64];
    struct ggs_table * table = ggs_table_new();
    printf("%u rounds%s; medians, B/A with its 95 %% interval%s\n\n", bench->rounds,
           bench->compares ? ", A is the baseline" : " of the program against itself",
           bench->compares ? ", A/A measured beside it" : "");
    ggs_table_column(table, "", GGS_LEFT);
    ggs_table_column(table, "A", GGS_RIGHT);
    ggs_table_column(table, bench->compares ? "B" : "A again", GGS_RIGHT);
    ggs_table_column(table, bench->compares ? "B/A" : "A/A", GGS_LEFT);
    if (bench->compares) ggs_table_column(table, "A/A", GGS_LEFT);
    if (bench->compares) ggs_table_column(table, "", GGS_LEFT);
    for (unsigned i = 0; i < n; i++) {
        if (is_dull(&outcomes[i])) continue;
        ggs_table_cell(table, "%s", outcomes[i].figure->name);
        ggs_table_cell(table, "%s", ggs_figure_format(a, outcomes[i].figure, outcomes[i].a));
        ggs_table_cell(table, "%s", ggs_figure_format(a, outcomes[i].figure, outcomes[i].b));
        format_ratio(ratio, &outcomes[i].ratio);
        ggs_table_cell(table, "%s", ratio);
        if (!bench->compares) continue;
        format_ratio(ratio, &outcomes[i].control);
        ggs_table_cell(table, "%s", ratio);
        ggs_table_cell(table, "%s", verdict(&outcomes[i], true));
    }
    ggs_table_print(table, stdout, 0);
    ggs_table_free(table);
}

// Prints two times per token: the mean, which any load of the machine affects, and that of quiet
// tokens.
static void print_decision(const struct bench * bench, const struct ggs_bench_figure * outcomes, unsigned n) {
    const struct ggs_bench_figure * best = ggs_bench_decides(outcomes, n);
    if (!bench->compares || best == NULL) return;
    double control = 100 * (best->control.high - best->control.low) / 2;
    printf("\n%s decides on tokens (A/A within %.1f %%): ", best->figure->name, control);
    if (!best->differs)
        printf("differences below %.1f %% cannot be told from noise here\n", control);
    else
        printf("B takes %.1f %% %s\n", 100 * fabs(best->ratio.value - 1), best->ratio.value > 1 ? "longer" : "less");
}

static void print_causes(const struct bench * bench, const char * before) {
    for (unsigned i = 0; i < bench->causes.n; i++) printf("%scause: %s\n", before, bench->causes.text[i]);
}

static void print_markdown(const struct bench * bench, const struct ggs_bench_figure * outcomes, unsigned n) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], ratio[64], control[64];
    printf("### ggscope bench\n\n%u rounds, medians; B/A with its 95 %% interval, A/A measured beside it.\n\n"
           "| | A | B | B/A | A/A | |\n|---|---:|---:|---|---|---|\n",
           bench->rounds);
    for (unsigned i = 0; i < n; i++) {
        if (is_dull(&outcomes[i])) continue;
        format_ratio(ratio, &outcomes[i].ratio);
        format_ratio(control, &outcomes[i].control);
        printf("| %s | %s | %s | %s | %s | %s |\n", outcomes[i].figure->name,
               ggs_figure_format(a, outcomes[i].figure, outcomes[i].a),
               ggs_figure_format(b, outcomes[i].figure, outcomes[i].b), ratio, control,
               verdict(&outcomes[i], bench->compares));
    }
}

static int show(const struct bench * bench, struct ggs_error * error) {
    const struct arguments * arguments = bench->arguments;
    struct ggs_bench_figure  outcomes[MOST_FIGURES];
    struct ggs_judgement     judgements[GGS_FAIL_IF_MOST];
    unsigned                 n = conclude(bench, outcomes), m = arguments->fail_if.n;
    int                      status = 0;
    judge(arguments, outcomes, n, judgements);
    if (arguments->input.json) {
        struct ggs_bench_answer answer = {bench->rounds,  bench->compares, outcomes, n, ggs_bench_decides(outcomes, n),
                                          &bench->causes, judgements,      m};
        ggs_object_write(arguments->input.out, NULL, &ggs_bench_object, &answer, NULL);
    } else if (arguments->markdown) {
        print_markdown(bench, outcomes, n);
        print_decision(bench, outcomes, n);
        print_causes(bench, "\n> ");
        ggs_judgements_markdown(stdout, judgements, m);
    } else {
        print_text(bench, outcomes, n);
        print_decision(bench, outcomes, n);
        print_causes(bench, "");
        ggs_judgements_text(stdout, judgements, m);
    }
    if (status == 0 && arguments->junit != NULL)
        status = ggs_judgements_junit(arguments->junit, "bench", judgements, m, error);
    return status != 0 ? status : ggs_judgements_failed(judgements, m) ? 1 : 0;
}

static int make_folder(struct bench * bench, struct ggs_error * error) {
    const char * place = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    if (snprintf(bench->folder, sizeof(bench->folder), "%s/ggscope-bench-XXXXXX", place) >= PATH_MAX - 32)
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", place);
    return mkdtemp(bench->folder) == NULL ? ggs_fail_errno(error, "cannot make a folder in %s", place) : 0;
}

static int run(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments * arguments = input;
    (void) traces;
    arguments->recording.command = arguments->input.paths;
    int status                   = ggs_recording_resolve(&arguments->recording, error);
    if (status != 0) return status;
    if (arguments->keep != NULL && mkdir(arguments->keep, 0777) != 0)
        return ggs_fail_errno(error, "cannot make the folder %s", arguments->keep);
    struct bench bench = {.arguments = arguments, .compares = arguments->baseline != NULL};
    bench.explained    = calloc(2, sizeof(*bench.explained)); // too large for a stack
    status             = bench.explained == NULL ? ggs_fail_memory(error) : make_folder(&bench, error);
    if (status == 0) {
        status = measure_all(&bench, error);
        rmdir(bench.folder);
    }
    if (status == 1) exit(128 + ggs_trials_stopped(bench.trials));
    if (bench.has[0] && bench.has[1])
        ggs_causes_compare(&bench.causes, &bench.explained[0], &bench.explained[1], false);
    if (status == 0) status = show(&bench, error);
    for (unsigned i = 0; i < 2; i++)
        if (bench.has[i]) ggs_explanation_release(&bench.explained[i]);
    free(bench.explained);
    ggs_trials_free(bench.trials);
    return status;
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    if (arguments->input.n == 0)
        argp_error(state, "missing argument: the program to measure: ggscope bench [OPTIONS...] -- PROGRAM ARGS...");
    if (ggs_traffic_is_server((const char * const *) arguments->input.paths, arguments->input.n))
        argp_error(state, "llama-server does not end by itself, so its runs cannot be compared: ggscope tune --for "
                          "server sends it requests");
    if (arguments->rounds < 2 || arguments->rounds > MOST_ROUNDS)
        argp_error(state, "-r takes 2 to %d rounds", MOST_ROUNDS);
    if (arguments->fail_if.n > 0 && arguments->baseline == NULL)
        argp_error(state, "--fail-if compares with a baseline: give --baseline B");
    if (arguments->input.n > MOST_WORDS - 16) argp_error(state, "the program has too many arguments");
}

int cmd_bench(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("rounds", 'r', "N", "Measure N times (10)", 1, AT(rounds), ggs_set_count, "a number of rounds"),
        GGS_OPTION("baseline", 'b', "B",
                   "Compare with B: a command, or a folder of another engine's libraries for the same program", 1,
                   AT(baseline), ggs_set_text, NULL),
        GGS_OPTION("engine", 0, "DIR", "Run the program with the llama.cpp libraries in DIR", 1, AT(engine),
                   ggs_set_text, NULL),
        GGS_OPTION(
            "memory", 0, "SIZE",
            "Limit the memory of every run to SIZE bytes, or a share of the model such as 25%, page cache included", 1,
            AT(recording.memory), ggs_set_memory, GGS_EXPECTS_MEMORY),
        GGS_OPTION("cold", 0, "=FILE",
                   "Drop the model from the page cache before every run: FILE, or what the command names with -m", 1,
                   AT(recording), ggs_set_cold, NULL),
        GGS_SWITCH("until-decided", 0, "Stop as soon as the time per token is known to differ, or not to", 1,
                   AT(until_decided)),
        GGS_OPTION("keep", 'o', "DIR", "Keep the recordings in DIR", 1, AT(keep), ggs_set_text, NULL),
        GGS_OPTION_FAIL_IF(AT(fail_if), 2),
        GGS_OPTION_JUNIT(AT(junit), 2),
        GGS_OPTION_MARKDOWN(AT(markdown), 3),
        GGS_OPTION_JSON(3),
        {0},
    };
    static const struct ggs_verb verb = {
        .operands = "[--] PROGRAM [ARGS...]",
        .most     = UINT_MAX,
        .program  = true,
        .options  = options,
        .check    = check,
        .run      = run,
        .help     = ggs_figures_help,
        .text =
            "Record PROGRAM several times, in turns with a baseline, and show what differs by more than noise: medians, the 95 % interval of B/A, and the baseline against itself.\v"};
    struct arguments arguments = {.rounds = 10};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
