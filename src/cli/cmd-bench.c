// ggscope bench -r N --baseline B -- PROGRAM: is it faster, or is that noise?
//
// Every round records the baseline, the program and the baseline once more, in turns that change places, so that what the machine does meanwhile falls
// on all of them alike. The baseline against itself is the control: what differs no more than that is noise.
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/diff/sample.h"
#include "analyze/ops/totals.h"
#include "base/error.h"
#include "base/json.h"
#include "base/system/progress.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/scaffold/judgements.h"
#include "cli/scaffold/verb.h"

enum { MOST_ROUNDS = 200, MOST_FIGURES = 32, SIDES = 3, BASE = 0, OTHER = 1, AGAIN = 2, MOST_WORDS = 512 };

struct arguments {
    struct ggs_input   input;
    uint64_t           rounds;
    const char *       baseline;
    const char *       engine;
    const char *       keep;
    struct ggs_fail_if fail_if;
    const char *       junit;
    bool               markdown;
};
#define AT(member) offsetof(struct arguments, member)

struct bench {
    const struct arguments * arguments;
    bool                     compares;         // there is a baseline
    char                     folder[PATH_MAX]; // of our own, below TMPDIR
    double                   values[SIDES][MOST_FIGURES][MOST_ROUNDS];
    unsigned                 rounds; // done
};

struct outcome {
    const struct ggs_figure * figure;
    double                    a, b; // medians
    struct ggs_ratio          ratio, control;
    bool                      differs;
};

// ---- one run ----

static bool is_folder(const char * path) {
    struct stat info;
    return path != NULL && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// ggscope record -q --no-faults -o DIR [--engine E] -- PROGRAM...
static int command_of(const struct bench * bench, int side, const char * directory, const char ** words) {
    const struct arguments * arguments = bench->arguments;
    bool                     base      = bench->compares && side != OTHER;
    const char *             engine = base && is_folder(arguments->baseline) ? arguments->baseline : arguments->engine;
    int                      n      = 0;
    words[n++]                      = "ggscope";
    words[n++]                      = "record";
    words[n++]                      = "-q";
    words[n++]                      = "--no-faults";
    words[n++]                      = "-o";
    words[n++]                      = directory;
    if (engine != NULL) {
        words[n++] = "--engine";
        words[n++] = engine;
    }
    words[n++] = "--";
    if (base && !is_folder(arguments->baseline)) {
        words[n++] = "sh";
        words[n++] = "-c";
        words[n++] = arguments->baseline;
    } else {
        for (unsigned i = 0; i < arguments->input.n && n < MOST_WORDS - 1; i++) words[n++] = arguments->input.paths[i];
    }
    words[n] = NULL;
    return n;
}

// The signal that ends the measurement, or 0. The run under way ends by it too, and what was recorded goes.
static volatile sig_atomic_t stopped;

static void stop(int signal) {
    stopped = signal;
}

static void stop_by_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action    = {.sa_handler = stop}; // a wait ends by it
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) sigaction(signals[i], &action, NULL);
}

// Its output is not ours: only what went wrong is shown.
static int run_quietly(const char ** words, const char * log, struct ggs_error * error) {
    posix_spawn_file_actions_t actions;
    pid_t                      child;
    int                        status;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    errno = posix_spawn(&child, "/proc/self/exe", &actions, NULL, (char **) words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (errno != 0) return ggs_fail_errno(error, "cannot start ggscope record");
    if (stopped != 0) kill(child, SIGTERM);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        if (stopped != 0) kill(child, SIGTERM);
    }
    if (stopped != 0) return ggs_fail(error, GGS_UNSUPPORTED, "interrupted");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    char   line[400] = ""; // the first it says is the cause, what follows are consequences
    FILE * file      = fopen(log, "re");
    while (file != NULL && line[0] == '\0' && fgets(line, sizeof(line), file) != NULL) line[strcspn(line, "\n")] = '\0';
    if (file != NULL) fclose(file);
    return ggs_fail(error, GGS_UNSUPPORTED, "a run of the program failed with status %d: %s",
                    WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                    line[0] == '\0' ? "it said nothing" : line);
}

static int read_figures(struct bench * bench, int side, unsigned round, const char * directory,
                        struct ggs_error * error) {
    struct ggs_trace  trace;
    struct ggs_totals totals;
    int               status = ggs_trace_open(&trace, directory, error);
    if (status < 0) return status;
    status = ggs_totals_compute(&totals, &trace, &ggs_totals_all, error);
    if (status == 0) {
        for (size_t i = 0; i < ggs_n_figures; i++) bench->values[side][i][round] = ggs_figures[i].of(&totals);
        ggs_totals_release(&totals);
    }
    ggs_trace_close(&trace);
    return status;
}

static int remove_entry(const char * path, const struct stat * info, int type, struct FTW * walk) {
    (void) info, (void) type, (void) walk;
    remove(path);
    return 0;
}

static void remove_recording(const char * directory) {
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

// Round -1 warms up: files in the page cache, and the first look at whether anything is recorded at all.
static int measure(struct bench * bench, int side, int round, struct ggs_error * error) {
    static const char * const sides[SIDES] = {"a", "b", "control"};
    const char *              parent       = bench->arguments->keep != NULL ? bench->arguments->keep : bench->folder;
    const char *              words[MOST_WORDS];
    char                      directory[PATH_MAX], log[PATH_MAX + 8];
    if (snprintf(directory, sizeof(directory), "%s/%s-%03d", parent, sides[side], round + 1) >= (int) sizeof(directory))
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", parent);
    snprintf(log, sizeof(log), "%s/log", bench->folder);
    command_of(bench, side, directory, words);
    int status = run_quietly(words, log, error);
    if (status == 0) status = read_figures(bench, side, round < 0 ? 0 : (unsigned) round, directory, error);
    if (bench->arguments->keep == NULL || round < 0 || stopped != 0) remove_recording(directory);
    unlink(log);
    return status;
}

static int measure_all(struct bench * bench, struct ggs_error * error) {
    struct ggs_progress progress;
    int                 status = 0, sides = bench->compares ? SIDES : 2;
    uint64_t            rounds = bench->arguments->rounds;
    ggs_progress_start(&progress, "bench", rounds * (uint64_t) sides);
    for (int side = 0; side < sides - 1 && status == 0; side++) status = measure(bench, side, -1, error);
    for (uint64_t round = 0; round < rounds && status == 0; round++) {
        for (int turn = 0; turn < sides && status == 0 && stopped == 0; turn++) {
            int side = (turn + (int) (round % (uint64_t) sides)) % sides;
            // Without a baseline the program is measured against itself.
            status = measure(bench, bench->compares || side == 0 ? side : AGAIN, (int) round, error);
            ggs_progress_update(&progress, round * (uint64_t) sides + (uint64_t) turn + 1);
        }
        if (status == 0 && stopped == 0) bench->rounds++;
    }
    ggs_progress_finish(&progress);
    return status == 0 && stopped != 0 ? ggs_fail(error, GGS_UNSUPPORTED, "interrupted") : status;
}

// ---- what it came to ----

static unsigned conclude(const struct bench * bench, struct outcome * outcomes) {
    unsigned n = 0;
    for (size_t i = 0; i < ggs_n_figures; i++) {
        const double * a = bench->values[BASE][i], *b = bench->values[bench->compares ? OTHER : AGAIN][i];
        struct outcome outcome = {.figure  = &ggs_figures[i],
                                  .a       = ggs_sample_median(a, bench->rounds),
                                  .b       = ggs_sample_median(b, bench->rounds),
                                  .ratio   = ggs_sample_ratio(a, b, bench->rounds),
                                  .control = ggs_sample_ratio(a, bench->values[AGAIN][i], bench->rounds)};
        outcome.differs        = bench->compares && ggs_ratio_differs(&outcome.ratio, &outcome.control);
        if (isnan(outcome.a) && isnan(outcome.b)) continue;
        outcomes[n++] = outcome;
    }
    return n;
}

static void judge(const struct arguments * arguments, const struct outcome * outcomes, unsigned n,
                  struct ggs_judgement * judgements) {
    for (unsigned i = 0; i < arguments->fail_if.n; i++) {
        const struct ggs_condition * condition = &arguments->fail_if.conditions[i];
        const struct outcome *       outcome   = NULL;
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

static const char * verdict(const struct outcome * outcome, bool compares) {
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

static bool is_dull(const struct outcome * outcome) {
    return !outcome->figure->noisy && outcome->a == outcome->b && !outcome->differs;
}

static void print_text(const struct bench * bench, const struct outcome * outcomes, unsigned n) {
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

static void print_markdown(const struct bench * bench, const struct outcome * outcomes, unsigned n) {
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

static void put_ratio(struct ggs_json * json, const char * key, const struct ggs_ratio * ratio) {
    ggs_json_object_inline(json, key);
    ggs_json_double(json, "ratio", ratio->value);
    ggs_json_double(json, "low", ratio->low);
    ggs_json_double(json, "high", ratio->high);
    ggs_json_end(json);
}

static void write_json(struct ggs_json * json, const struct bench * bench, const struct outcome * outcomes, unsigned n,
                       const struct ggs_judgement * judgements, unsigned n_judgements) {
    ggs_json_object(json, NULL);
    ggs_json_u64(json, "rounds", bench->rounds);
    ggs_json_bool(json, "baseline", bench->compares);
    ggs_json_array(json, "figures");
    for (unsigned i = 0; i < n; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "figure", outcomes[i].figure->name);
        ggs_json_double(json, "a", outcomes[i].a);
        ggs_json_double(json, "b", outcomes[i].b);
        put_ratio(json, "change", &outcomes[i].ratio);
        put_ratio(json, "control", &outcomes[i].control);
        ggs_json_bool(json, "differs", outcomes[i].differs);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_judgements_json(json, judgements, n_judgements);
    ggs_json_end(json);
}

static int show(const struct bench * bench, struct ggs_error * error) {
    const struct arguments * arguments = bench->arguments;
    struct outcome           outcomes[MOST_FIGURES];
    struct ggs_judgement     judgements[GGS_FAIL_IF_MOST];
    unsigned                 n = conclude(bench, outcomes), m = arguments->fail_if.n;
    int                      status = 0;
    judge(arguments, outcomes, n, judgements);
    if (arguments->input.json) {
        write_json(arguments->input.out, bench, outcomes, n, judgements, m);
    } else if (arguments->markdown) {
        print_markdown(bench, outcomes, n);
        ggs_judgements_markdown(stdout, judgements, m);
    } else {
        print_text(bench, outcomes, n);
        ggs_judgements_text(stdout, judgements, m);
    }
    if (status == 0 && arguments->junit != NULL)
        status = ggs_judgements_junit(arguments->junit, "bench", judgements, m, error);
    return status != 0 ? status : ggs_judgements_failed(judgements, m) ? 1 : 0;
}

static int run(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    (void) traces;
    if (arguments->keep != NULL && mkdir(arguments->keep, 0777) != 0)
        return ggs_fail_errno(error, "cannot make the folder %s", arguments->keep);
    struct bench * bench = calloc(1, sizeof(*bench));
    if (bench == NULL) return ggs_fail_memory(error);
    bench->arguments   = arguments;
    bench->compares    = arguments->baseline != NULL;
    const char * place = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    int status = snprintf(bench->folder, sizeof(bench->folder), "%s/ggscope-bench-XXXXXX", place) >= PATH_MAX - 32 ||
                         mkdtemp(bench->folder) == NULL
                     ? ggs_fail_errno(error, "cannot make a folder in %s", place)
                     : 0;
    if (status == 0) {
        stop_by_signals();
        status = measure_all(bench, error);
        rmdir(bench->folder);
    }
    if (stopped != 0) exit(128 + stopped);
    if (status == 0) status = show(bench, error);
    free(bench);
    return status;
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    if (arguments->input.n == 0)
        argp_error(state, "missing argument: the program to measure: ggscope bench [OPTIONS...] -- PROGRAM ARGS...");
    if (arguments->rounds < 2 || arguments->rounds > MOST_ROUNDS)
        argp_error(state, "-r takes 2 to %d rounds", MOST_ROUNDS);
    if (arguments->fail_if.n > 0 && arguments->baseline == NULL)
        argp_error(state, "--fail-if compares with a baseline: give --baseline B");
    if (arguments->input.n > MOST_WORDS - 16) argp_error(state, "the program has too many arguments");
}

int cmd_bench(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        {"rounds", 'r', "N", "Measure N times (10)", 1, AT(rounds), ggs_take_count, "a number of rounds"},
        {"baseline", 'b', "B",
         "Compare with B: a command, or a folder of another engine's libraries for the same program", 1, AT(baseline),
         ggs_take_text, NULL},
        {"engine", 0, "DIR", "Let the program use the llama.cpp libraries in DIR", 1, AT(engine), ggs_take_text, NULL},
        {"keep", 'o', "DIR", "Keep the recordings in DIR", 1, AT(keep), ggs_take_text, NULL},
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
            "Record PROGRAM several times, in turns with a baseline, and tell what differs by more than noise: medians, the 95 % interval of B/A, and the baseline against itself.\v"};
    struct arguments arguments = {.rounds = 10};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
