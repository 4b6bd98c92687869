// ggscope tune -- PROGRAM: finds settings that make it faster.
#include <argp.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/explain/tuned.h"
#include "answer/answer.h"
#include "answer/tune.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/progress.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "trials/attempt.h"
#include "trials/traffic.h"
#include "trials/tune.h"

struct arguments {
    struct ggs_input input;
    unsigned         goal;
    uint64_t         time_ns, rounds;
    bool             lossy;
    const char *     replay;
    struct knobs {
        struct ggs_own_knob list[GGS_TUNE_PARTS];
        unsigned            n;
        const char *        wrong; // the first invalid knob
        const char *        what;  // its error
    } knobs;
    struct ggs_progress progress;
};
#define AT(member) offsetof(struct arguments, member)

static const char * const goals[GGS_TUNE_GOALS] = {"all", "prompt", "generate", "server", "load"};

static bool set_goal(void * member, const char * text) {
    for (unsigned i = 0; i < GGS_TUNE_GOALS; i++) {
        if (strcmp(text, goals[i]) != 0) continue;
        *(unsigned *) member = i;
        return true;
    }
    return false;
}

static bool set_time(void * member, const char * text) {
    return ggs_parse_time(text, member);
}

// check() reports errors: it can use whole sentences.
static bool set_knob(void * member, const char * text) {
    struct knobs * knobs = member;
    const char *   what  = "there are more than 8 knobs";
    if (knobs->n < GGS_TUNE_PARTS && ggs_own_knob_read(&knobs->list[knobs->n], text, &what))
        knobs->n++;
    else if (knobs->wrong == NULL)
        knobs->wrong = text, knobs->what = what;
    return true;
}

static void print_progress(void * context, const char * text) {
    const struct arguments * a = context;
    // On a terminal the progress line is enough.
    if (!a->input.quiet && !a->progress.active) fprintf(stderr, "ggscope: %s\n", text);
}

static void draw_progress(void * context, unsigned done, unsigned planned) {
    struct arguments * a = context;
    if (a->input.quiet) return;
    a->progress.total = planned;
    ggs_progress_update(&a->progress, done);
}

static const char * verdict_of(const struct ggs_tune_part * part) {
    if (part->kept) return part->without.low > 1 ? "kept" : "kept, not clear alone";
    if (part->without.value != part->without.value) return "";
    if (part->without.high < 1) return "slower";
    return part->without.low > 1 ? "better" : "no difference seen";
}

static int print_parts(const struct ggs_tuned * tuned) {
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "setting|mends|>without it|interval|");
    for (unsigned i = 0; i < tuned->n; i++) {
        const struct ggs_tune_part * part = &tuned->part[i];
        ggs_table_cell(table, "%s", part->said);
        ggs_table_cell(table, "%s", part->finding[0] == '\0' ? "-" : part->finding);
        if (part->without.value == part->without.value) {
            ggs_table_cell(table, "x %.2f", part->without.value);
            ggs_table_cell(table, "%.2f to %.2f", part->without.low, part->without.high);
        } else {
            ggs_table_cell(table, "-");
            ggs_table_cell(table, "not measured");
        }
        ggs_table_cell(table, "%s", verdict_of(part));
    }
    return ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

static int print_values(const struct ggs_tuned * tuned) {
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "value|>own time|interval|");
    for (unsigned i = 0; i < tuned->n_values; i++) {
        const struct ggs_tune_value * v    = &tuned->value[i];
        bool                          seen = v->ratio.value == v->ratio.value;
        ggs_table_cell(table, "%s", v->said);
        ggs_table_cell(table, seen ? "x %.2f" : "-", v->ratio.value);
        ggs_table_cell(table, seen ? "%.2f to %.2f" : "", v->ratio.low, v->ratio.high);
        ggs_table_cell(table, "%s", v->failed ? "ends the program" : "");
    }
    return ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

// Of the figures that decide.
static const char * words_of(const char * figure) {
    static const char * const words[][2] = {{"prompt_ns", "the prompt takes"},
                                            {"token_quiet_ns", "a token takes"},
                                            {"request_ns", "an answer takes"},
                                            {"load_ns", "the load takes"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i][0], figure) == 0) return words[i][1];
    return "prompt and tokens take";
}

static void print_outcome(const struct ggs_tuned * tuned) {
    if (tuned->failed) printf("with all remedies the program ends: %s\n", tuned->said);
    if (tuned->better) {
        printf("faster    %s %.3f of the time (%.3f to %.3f; the program against itself %.3f): %s\n",
               words_of(tuned->figure), tuned->ratio.value, tuned->ratio.low, tuned->ratio.high, tuned->control.value,
               tuned->figure);
        printf("output    %s\n", tuned->same_output  ? "the same"
                                 : tuned->repeatable ? "not the same: sums are made in another order, or it is lossy"
                                                     : "not comparable: the program's own differs from run to run");
        printf("run       %s\n", tuned->command);
        return;
    }
    if (tuned->stopped)
        printf("no setting is clearly better so far\n");
    else if (tuned->n == 0 && tuned->n_values == 0)
        printf("nothing to try: ggscope explain names no cause that an option of this program mends\n");
    else if (tuned->noise > 0.5)
        printf("no result: the program differs from itself by %.0f %%\n", 100 * tuned->noise);
    else
        printf("no setting is better than what you have; differences below %.0f %% cannot be told from noise here\n",
               100 * tuned->noise);
}

static void print_text(const struct ggs_tuned * tuned) {
    if (tuned->n_values > tuned->n) print_values(tuned);
    if (tuned->n > 0) print_parts(tuned);
    if (tuned->stopped && tuned->better) printf("stopped: the best so far\n");
    print_outcome(tuned);
    if (tuned->lossy_left_out > 0)
        printf("lossy     %u remed%s that change%s the output: --allow-lossy tries them\n", tuned->lossy_left_out,
               tuned->lossy_left_out == 1 ? "y" : "ies", tuned->lossy_left_out == 1 ? "s" : "");
    if (tuned->others >= 0.1 && tuned->repeated == 0)
        printf("busy      other programs used up to %.0f %% of the CPUs, in no run much more than in others\n",
               100 * tuned->others);
    else if (tuned->repeated > 0)
        printf(
            "busy      other programs used up to %.0f %% of the CPUs; %u runs were repeated for that, %u stayed busy\n",
            100 * tuned->others, tuned->repeated, tuned->busy);
    printf("tried     %u run%s in %u round%s\n", tuned->runs, tuned->runs == 1 ? "" : "s", tuned->rounds,
           tuned->rounds == 1 ? "" : "s");
}

static bool is_server(const struct arguments * a) {
    return ggs_traffic_is_server((const char * const *) a->input.paths, a->input.n);
}

static int make_folder(char folder[PATH_MAX], struct ggs_error * error) {
    const char * place = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    if (snprintf(folder, PATH_MAX, "%s/ggscope-tune-XXXXXX", place) >= PATH_MAX - 32)
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", place);
    return mkdtemp(folder) == NULL ? ggs_fail_errno(error, "cannot make a folder in %s", place) : 0;
}

static int tune(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments * a = input;
    struct ggs_tuned   tuned;
    char               folder[PATH_MAX];
    (void) traces;
    int status = make_folder(folder, error);
    if (status < 0) return status;
    struct ggs_tune_options options = {.program  = a->input.paths,
                                       .n        = a->input.n,
                                       .folder   = folder,
                                       .goal     = is_server(a) ? GGS_TUNE_SERVER : (enum ggs_tune_goal) a->goal,
                                       .rounds   = (unsigned) a->rounds,
                                       .seconds  = (double) a->time_ns / 1e9,
                                       .lossy    = a->lossy,
                                       .replay   = a->replay,
                                       .knobs    = a->knobs.list,
                                       .n_knobs  = a->knobs.n,
                                       .progress = print_progress,
                                       .advanced = draw_progress,
                                       .context  = a};
    ggs_progress_start(&a->progress, "tune", 1);
    status = ggs_tune(&tuned, &options, error);
    ggs_progress_finish(&a->progress);
    ggs_attempt_remove(folder);
    if (status < 0) return status;
    if (a->input.json)
        ggs_object_write(a->input.out, NULL, &ggs_tuned_object, &tuned, NULL);
    else
        print_text(&tuned);
    return tuned.better ? 0 : 1;
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments * a = input;
    if (a->knobs.wrong != NULL)
        argp_error(state, "--knob '%s': %s; a knob is 'threads: --n-threads {1,2,4}'", a->knobs.wrong, a->knobs.what);
    for (unsigned i = 0; i < a->knobs.n; i++)
        for (unsigned k = 0; k < i; k++)
            if (strcmp(a->knobs.list[i].option.option, a->knobs.list[k].option.option) == 0)
                argp_error(state, "two knobs set %s", a->knobs.list[i].option.option);
    if (a->rounds == 0) argp_error(state, "--rounds takes a number of rounds, not 0");
    if (a->replay != NULL && a->goal != GGS_TUNE_SERVER)
        argp_error(state, "--replay sends requests to a server: --for server");
    if (is_server(a) && a->goal != GGS_TUNE_ALL && a->goal != GGS_TUNE_SERVER)
        argp_error(state, "llama-server does not end by itself: --for server sends it requests");
    if (a->input.n == 0)
        argp_error(state, "missing argument: the program to tune: ggscope tune [OPTIONS...] -- PROGRAM ARGS...");
}

int cmd_tune(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("for", 0, "WHAT", "What is to be faster: all, prompt, generate, load, or the answers of a server", 1,
                   AT(goal), set_goal, "all, prompt, generate, load or server"),
        GGS_OPTION("replay", 0, "DIR", "Send the requests of this recording to the server", 1, AT(replay), ggs_set_text,
                   NULL),
        GGS_OPTION("time", 0, "TIME", "Begin no run after this time (10m)", 1, AT(time_ns), set_time,
                   "a time such as 10m"),
        GGS_OPTION("rounds", 'r', "N", "Compare the best setting with the program at most N times (12)", 1, AT(rounds),
                   ggs_set_count, "a number of rounds"),
        GGS_OPTION("knob", 0, "KNOB", "Also try values of one of its options: 'threads: -j {1,2,4}'; repeatable", 1,
                   AT(knobs), set_knob, NULL),
        GGS_SWITCH("allow-lossy", 0, "Also try settings that change the output", 1, AT(lossy)),
        GGS_OPTION_JSON(2),
        {0}};
    static const struct ggs_verb verb = {
        .operands = "[--] PROGRAM [ARGS...]",
        .most     = UINT_MAX,
        .program  = true,
        .options  = options,
        .check    = check,
        .run      = tune,
        .text     = "Record PROGRAM, apply all remedies that explain names, leave each out in turn, try neighbouring "
                    "values, and measure in turns which make it faster by more than noise. Exit 1 if none does."};
    struct arguments arguments = {.time_ns = 600000000000, .rounds = 12};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
