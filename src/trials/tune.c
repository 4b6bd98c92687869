#include "trials/tune.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "trials/traffic.h"

static const double SAME = 0.02; // smaller differences do not count
enum { BEST_ROUNDS = 3, VALUE_ROUNDS = 3 };

struct tune {
    const struct ggs_tune_options * options;
    struct ggs_tuned *              tuned;
    struct ggs_trials *             trials;
    struct ggs_invocation           program;
    unsigned                        base, control, all, figure;
    uint64_t                        begin_ns;
    // The words of each variant: sh -c COMMAND
    struct words {
        char *       command;
        const char * list[4];
    } words[GGS_TUNE_PARTS + GGS_TUNE_VALUES + 2];
    unsigned              n_words;
    struct ggs_own_option own[GGS_TUNE_PARTS];
    // A server: its command line with a port, and its requests.
    struct ggs_traffic traffic;
    const char **      server; // NULL if the program is no server
    unsigned           port;
    char               port_text[24];
    bool               own_port;                   // chosen here, and not part of the result
    char               names[GGS_TUNE_VALUES][16]; // of variants
};

__attribute__((format(printf, 2, 3))) static void report(struct tune * tune, const char * format, ...) {
    char    text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (tune->options->progress != NULL) tune->options->progress(tune->options->context, text);
}

// ---- variants ----

static const char * const record_options[] = {"-q", NULL};

static int add_plain(struct tune * tune, const char * name, unsigned * number, struct ggs_error * error) {
    struct ggs_variant variant = {.name    = name,
                                  .options = record_options,
                                  .program = tune->server != NULL ? tune->server
                                                                  : (const char * const *) tune->options->program,
                                  .traffic = tune->server != NULL ? &tune->traffic : NULL,
                                  .port    = tune->port};
    int                status  = ggs_trials_add(tune->trials, &variant, error);
    *number                    = (unsigned) status;
    return status < 0 ? status : 0;
}

// The kept parts without one; all of them if `without` is beyond the last.
static unsigned settings_of(const struct ggs_tuned * tuned, unsigned without, struct ggs_knob_setting * settings) {
    unsigned n = 0;
    for (unsigned i = 0; i < tuned->n; i++)
        if (i != without && tuned->part[i].kept) settings[n++] = tuned->part[i].setting;
    return n;
}

static char * command_with(const struct tune * tune, const struct ggs_knob_setting * settings, unsigned n) {
    struct ggs_text text = {0};
    ggs_invocation_command(&tune->program, settings, n, &text);
    char * command = text.failed ? NULL : strdup(ggs_text_string(&text));
    ggs_text_release(&text);
    return command;
}

static char * command_of(const struct tune * tune, unsigned without) {
    struct ggs_knob_setting settings[GGS_TUNE_PARTS];
    unsigned                n = settings_of(tune->tuned, without, settings);
    return command_with(tune, settings, n);
}

// Takes ownership of `command`.
static int add_command(struct tune * tune, const char * name, char * command, unsigned * number,
                       struct ggs_error * error) {
    struct words * words = &tune->words[tune->n_words];
    if (command == NULL || asprintf(&words->command, "exec %s", command) < 0) words->command = NULL;
    free(command);
    if (words->command == NULL) return ggs_fail_memory(error);
    tune->n_words++;
    words->list[0] = "sh", words->list[1] = "-c", words->list[2] = words->command;
    struct ggs_variant variant = {.name    = name,
                                  .options = record_options,
                                  .program = words->list,
                                  .traffic = tune->server != NULL ? &tune->traffic : NULL,
                                  .port    = tune->port};
    int                status  = ggs_trials_add(tune->trials, &variant, error);
    *number                    = (unsigned) status;
    return status < 0 ? status : 0;
}

static int add_changed(struct tune * tune, const char * name, unsigned without, unsigned * number,
                       struct ggs_error * error) {
    return add_command(tune, name, command_of(tune, without), number, error);
}

// ---- choosing remedies ----

static void add_part(struct tune * tune, const char * finding, const struct ggs_knob_setting * setting) {
    struct ggs_tuned * tuned = tune->tuned;
    for (unsigned i = 0; i < tuned->n; i++)
        if (tuned->part[i].setting.knob == setting->knob) return; // the larger gain comes first
    if (ggs_knob_is_lossy(setting->knob) && !tune->options->lossy) {
        tuned->lossy_left_out++;
        return;
    }
    bool other_model = setting->knob == GGS_KNOB_MODEL; // the file does not exist yet
    if (other_model || tuned->n == GGS_TUNE_PARTS || !ggs_invocation_takes(&tune->program, setting, 1)) return;
    struct ggs_tune_part * part = &tuned->part[tuned->n++];
    struct ggs_text        text = {0};
    *part                       = (struct ggs_tune_part){.setting = *setting, .kept = true};
    ggs_invocation_say(&tune->program, setting, &text);
    snprintf(part->said, sizeof(part->said), "%s", ggs_text_string(&text));
    snprintf(part->name, sizeof(part->name), "%s",
             setting->knob >= GGS_KNOBS ? tune->own[setting->knob - GGS_KNOBS].name : ggs_knob_name(setting->knob));
    snprintf(part->finding, sizeof(part->finding), "%s", finding);
    ggs_text_release(&text);
}

// True if a knob of the user sets the same option as a remedy. The user's knob wins.
static bool is_own(const struct tune * tune, const struct ggs_knob_setting * setting) {
    struct ggs_text text  = {0};
    bool            found = false;
    ggs_invocation_say(&tune->program, setting, &text);
    for (unsigned i = 0; i < tune->options->n_knobs; i++) {
        size_t length = strlen(tune->own[i].option);
        found |= strncmp(ggs_text_string(&text), tune->own[i].option, length) == 0;
    }
    ggs_text_release(&text);
    return found;
}

static int explain(struct tune * tune, const char * directory, struct ggs_error * error) {
    struct ggs_trace       trace;
    struct ggs_totals      totals;
    struct ggs_explanation explanation;
    int                    status = ggs_trace_open(&trace, directory, error);
    if (status < 0) return status;
    status = ggs_totals_compute(&totals, &trace, &ggs_totals_all, error);
    if (status == 0) {
        status = ggs_explain_compute(&explanation, &trace, &totals, error);
        ggs_totals_release(&totals);
    }
    if (status == 0) {
        tune->program       = explanation.program;
        explanation.program = (struct ggs_invocation){0};
        tune->program.own   = tune->own;
        tune->program.n_own = tune->options->n_knobs;
        for (unsigned i = 0; i < explanation.n; i++) {
            const struct ggs_reason * reason = &explanation.finding[i];
            for (unsigned k = 0; k < sizeof(reason->settings) / sizeof(reason->settings[0]); k++)
                if (reason->settings[k].knob != GGS_KNOB_NONE && !is_own(tune, &reason->settings[k]))
                    add_part(tune, reason->name, &reason->settings[k]);
        }
        ggs_explanation_release(&explanation);
    }
    ggs_trace_close(&trace);
    return status;
}

// ---- rounds ----

static bool is_over(const struct tune * tune) {
    return (double) (ggs_clock_now() - tune->begin_ns) / 1e9 > tune->options->seconds;
}

static int after_trial(void * context, const struct ggs_trial * trial, struct ggs_error * error) {
    struct tune * tune = context;
    (void) error;
    tune->tuned->runs++;
    if (trial->outcome != GGS_TRIAL_DONE) ggs_trials_retire(tune->trials, trial->variant);
    return 0;
}

static bool has_failed(const struct tune * tune, unsigned variant, char * said) {
    unsigned                 n;
    const struct ggs_trial * list = ggs_trials_list(tune->trials, &n);
    for (unsigned i = 0; i < n; i++) {
        if (list[i].variant != variant || list[i].outcome == GGS_TRIAL_DONE) continue;
        snprintf(said, GGS_TRIAL_SAID, "%s: %.300s", ggs_trial_outcome_words[list[i].outcome], list[i].said);
        return true;
    }
    return false;
}

// ---- knobs of the user ----

static struct ggs_knob_setting setting_of(const struct tune * tune, unsigned knob, unsigned value) {
    struct ggs_knob_setting setting = {.knob = (enum ggs_knob)(GGS_KNOBS + (int) knob)};
    memcpy(setting.value, tune->options->knobs[knob].value[value], sizeof(setting.value));
    return setting;
}

static int add_value(struct tune * tune, unsigned knob, unsigned value, struct ggs_error * error) {
    struct ggs_tuned *      tuned   = tune->tuned;
    struct ggs_knob_setting setting = setting_of(tune, knob, value);
    const char *            has     = ggs_invocation_value(&tune->program, setting.knob);
    if (has != NULL && strcmp(has, setting.value) == 0) return 0; // the program's own value
    if (tuned->n_values == GGS_TUNE_VALUES)
        return ggs_fail(error, GGS_USAGE, "all knobs together have more than %d values", GGS_TUNE_VALUES);
    struct ggs_tune_value * v    = &tuned->value[tuned->n_values];
    struct ggs_text         text = {0};
    *v                           = (struct ggs_tune_value){.knob = knob, .ratio = {NAN, NAN, NAN}};
    ggs_invocation_say(&tune->program, &setting, &text);
    snprintf(v->said, sizeof(v->said), "%s", ggs_text_string(&text));
    ggs_text_release(&text);
    snprintf(tune->names[tuned->n_values], sizeof(tune->names[0]), "value-%u", tuned->n_values + 1);
    int status = add_command(tune, tune->names[tuned->n_values], command_with(tune, &setting, 1), &v->variant, error);
    tuned->n_values += status == 0;
    return status;
}

static void add_best(struct tune * tune, unsigned knob) {
    struct ggs_tuned *            tuned = tune->tuned;
    const struct ggs_tune_value * best  = NULL;
    for (unsigned i = 0; i < tuned->n_values; i++) {
        const struct ggs_tune_value * v = &tuned->value[i];
        if (v->knob != knob || v->failed || v->ratio.value != v->ratio.value) continue;
        if (best == NULL || v->ratio.value < best->ratio.value) best = v;
    }
    if (best == NULL || best->ratio.value >= 1 - SAME) return;
    for (unsigned i = 0; i < tune->options->knobs[knob].n; i++) {
        struct ggs_knob_setting setting = setting_of(tune, knob, i);
        struct ggs_text         text    = {0};
        ggs_invocation_say(&tune->program, &setting, &text);
        if (strcmp(ggs_text_string(&text), best->said) == 0) add_part(tune, "", &setting);
        ggs_text_release(&text);
    }
}

// Tries each value alone. The best of each knob joins the remedies.
static int try_values(struct tune * tune, struct ggs_error * error) {
    struct ggs_tuned * tuned = tune->tuned;
    char               said[GGS_TRIAL_SAID];
    int                status = 0;
    for (unsigned i = 0; status == 0 && i < tune->options->n_knobs; i++)
        for (unsigned k = 0; status == 0 && k < tune->options->knobs[i].n; k++) status = add_value(tune, i, k, error);
    if (status == 0 && tuned->n_values > 0)
        report(tune, "%u values of knobs to try, each alone, in rounds of %u runs", tuned->n_values,
               tuned->n_values + 1);
    for (unsigned i = 0; status == 0 && i < VALUE_ROUNDS && i < tune->options->rounds && !is_over(tune); i++) {
        if (tuned->n_values == 0) break;
        status = ggs_trials_round(tune->trials, error);
        tuned->rounds += status == 0;
    }
    if (status < 0) return status;
    tuned->stopped = status == 1 || is_over(tune);
    for (unsigned i = 0; i < tuned->n_values; i++) {
        struct ggs_tune_value * v = &tuned->value[i];
        v->failed                 = has_failed(tune, v->variant, said);
        v->ratio                  = ggs_trials_ratio(tune->trials, tune->base, v->variant, tune->figure);
        ggs_trials_retire(tune->trials, v->variant);
    }
    for (unsigned i = 0; i < tune->options->n_knobs; i++) add_best(tune, i);
    return 0;
}

static int try_all(struct tune * tune, struct ggs_error * error) {
    struct ggs_tuned * tuned  = tune->tuned;
    unsigned           most   = tuned->rounds + tune->options->rounds;
    int                status = 0;
    while (status == 0 && tuned->rounds < most && !is_over(tune)) {
        status = ggs_trials_round(tune->trials, error);
        tuned->rounds += status == 0;
        report(tune, "round %u: all remedies take %.3f of the time, the program itself %.3f", tuned->rounds,
               ggs_trials_ratio(tune->trials, tune->base, tune->all, tune->figure).value,
               ggs_trials_ratio(tune->trials, tune->base, tune->control, tune->figure).value);
        if (status == 0 && ggs_trials_decided(tune->trials, tune->base, tune->all, tune->control, tune->figure, SAME))
            break;
        if (has_failed(tune, tune->all, tuned->said)) break;
    }
    tuned->stopped = status == 1 || is_over(tune);
    return status < 0 ? status : 0;
}

// ---- results ----

static bool same_file(const char * a, const char * b) {
    FILE *x = fopen(a, "re"), *y = fopen(b, "re");
    bool  same = x != NULL && y != NULL;
    int   c    = 0;
    while (same && c != EOF) {
        c    = fgetc(x);
        same = c == fgetc(y);
    }
    if (x != NULL) fclose(x);
    if (y != NULL) fclose(y);
    return same;
}

// Finds the output of a variant in the first round that it was part of. Rounds are counted over all
// variants.
static bool find_output(const struct tune * tune, const char * name, char path[PATH_MAX]) {
    const char * file = tune->server != NULL ? "answers.txt" : "stdout.txt";
    for (unsigned i = 1; i <= tune->tuned->rounds + 1; i++) {
        snprintf(path, PATH_MAX, "%s/%s-%03u/%s", tune->options->folder, name, i, file);
        if (access(path, R_OK) == 0) return true;
    }
    return false;
}

static bool same_output(const struct tune * tune, const char * name) {
    char a[PATH_MAX], b[PATH_MAX];
    return find_output(tune, "base", a) && find_output(tune, name, b) && same_file(a, b);
}

// Keeps a part if the program is slower without it by more than it differs from itself.
static void judge_parts(struct tune * tune) {
    struct ggs_tuned * tuned = tune->tuned;
    double             noise = fabs(tuned->control.value - 1);
    for (unsigned i = 0; i < tuned->n; i++) {
        struct ggs_tune_part * part = &tuned->part[i];
        part->without = tuned->n == 1 ? ggs_trials_ratio(tune->trials, tune->all, tune->base, tune->figure)
                                      : ggs_trials_ratio(tune->trials, tune->all, part->variant, tune->figure);
        part->kept    = part->without.value > 1 + SAME + (isnan(noise) ? 0 : noise) / 2;
    }
}

// Tries the combination without useless parts, and compares its output.
static int try_best(struct tune * tune, struct ggs_error * error) {
    struct ggs_tuned * tuned = tune->tuned;
    unsigned           best, left_out = 0;
    for (unsigned i = 0; i < tuned->n; i++) {
        left_out += !tuned->part[i].kept;
        if (tuned->n > 1) ggs_trials_retire(tune->trials, tuned->part[i].variant);
    }
    if (left_out == 0 || tuned->stopped) return 0;
    ggs_trials_retire(tune->trials, tune->all);
    int status = add_changed(tune, "best", GGS_TUNE_PARTS, &best, error);
    for (unsigned i = 0; status == 0 && i < BEST_ROUNDS && !is_over(tune); i++) {
        status = ggs_trials_round(tune->trials, error);
        tuned->rounds += status == 0;
    }
    if (status < 0) return status;
    tuned->ratio       = ggs_trials_ratio(tune->trials, tune->base, best, tune->figure);
    tuned->same_output = same_output(tune, "best");
    tuned->better      = tuned->ratio.value < 1 - SAME;
    return 0;
}

static int conclude(struct tune * tune, struct ggs_error * error) {
    struct ggs_tuned * tuned = tune->tuned;
    tuned->ratio             = ggs_trials_ratio(tune->trials, tune->base, tune->all, tune->figure);
    tuned->control           = ggs_trials_ratio(tune->trials, tune->base, tune->control, tune->figure);
    tuned->failed            = has_failed(tune, tune->all, tuned->said);
    tuned->same_output       = !tuned->failed && same_output(tune, "all");
    bool faster              = tuned->ratio.high < 1 - SAME && tuned->ratio.value < tuned->control.low;
    tuned->better            = faster && !tuned->failed;
    judge_parts(tune);
    bool any = false;
    for (unsigned i = 0; i < tuned->n; i++) any |= tuned->part[i].kept;
    // If leaving out any single part makes no difference, the parts only help together.
    for (unsigned i = 0; i < tuned->n && !any; i++) tuned->part[i].kept = true;
    if (!tuned->better) return 0;
    int status = any ? try_best(tune, error) : 0;
    if (status < 0 || !tuned->better) return status;
    char * command = command_of(tune, GGS_TUNE_PARTS);
    if (command == NULL) return ggs_fail_memory(error);
    char * port = tune->own_port ? strstr(command, tune->port_text) : NULL;
    if (port != NULL) memmove(port, port + strlen(tune->port_text), strlen(port + strlen(tune->port_text)) + 1);
    snprintf(tuned->command, sizeof(tuned->command), "%s", command);
    free(command);
    return 0;
}

// ---- servers ----

static unsigned port_of(const struct ggs_tune_options * options) {
    for (unsigned i = 1; i < options->n; i++) {
        const char * word = options->program[i];
        if (strncmp(word, "--port=", 7) == 0) return (unsigned) strtoul(word + 7, NULL, 10);
        if (strcmp(word, "--port") == 0 && i + 1 < options->n)
            return (unsigned) strtoul(options->program[i + 1], NULL, 10);
    }
    return 0;
}

// Prepares the requests, and the port: from the command line, else an unused one.
static int prepare_server(struct tune * tune, struct ggs_error * error) {
    const struct ggs_tune_options * options = tune->options;
    int status = options->replay != NULL ? ggs_traffic_replay(&tune->traffic, options->replay, error)
                                         : ggs_traffic_own(&tune->traffic, error);
    if (status != 0) return status;
    tune->server = calloc(options->n + 3, sizeof(*tune->server));
    if (tune->server == NULL) return ggs_fail_memory(error);
    for (unsigned i = 0; i < options->n; i++) tune->server[i] = options->program[i];
    tune->port = port_of(options);
    if (tune->port != 0 && ggs_traffic_is_taken(tune->port))
        return ggs_fail(error, GGS_USAGE, "another server answers at port %u: end it, or name another port",
                        tune->port);
    if (tune->port != 0) return 0;
    tune->own_port = true;
    tune->port     = ggs_traffic_free_port();
    snprintf(tune->port_text, sizeof(tune->port_text), " --port %u", tune->port);
    tune->server[options->n]     = "--port";
    tune->server[options->n + 1] = tune->port_text + strlen(" --port ");
    return tune->port == 0 ? ggs_fail_errno(error, "there is no free port") : 0;
}

static void release(struct tune * tune) {
    for (unsigned i = 0; i < tune->n_words; i++) free(tune->words[i].command);
    ggs_invocation_release(&tune->program);
    ggs_trials_free(tune->trials);
    ggs_traffic_release(&tune->traffic);
    free(tune->server);
}

static int add_variants(struct tune * tune, struct ggs_error * error) {
    static const char * const names[GGS_TUNE_PARTS] = {"without-1", "without-2", "without-3", "without-4",
                                                       "without-5", "without-6", "without-7", "without-8"};
    int                       status                = add_plain(tune, "control", &tune->control, error);
    if (status == 0) status = add_changed(tune, "all", GGS_TUNE_PARTS, &tune->all, error);
    for (unsigned i = 0; status == 0 && tune->tuned->n > 1 && i < tune->tuned->n; i++)
        status = add_changed(tune, names[i], i, &tune->tuned->part[i].variant, error);
    return status;
}

int ggs_tune(struct ggs_tuned * tuned, const struct ggs_tune_options * options, struct ggs_error * error) {
    static const char * const figures[GGS_TUNE_GOALS] = {"wall_ns", "prompt_ns", "token_quiet_ns", "request_ns"};
    struct tune               tune = {.options = options, .tuned = tuned, .begin_ns = ggs_clock_now()};
    char                      first[PATH_MAX];
    *tuned = (struct ggs_tuned){.figure = figures[options->goal], .ratio = {NAN, NAN, NAN}, .control = {NAN, NAN, NAN}};
    struct ggs_trials_settings settings = {
        .folder = options->folder, .keep = true, .tolerates = true, .seed = 1, .after = after_trial, .context = &tune};
    tune.figure = (unsigned) ggs_trial_figure_find(tuned->figure);
    int status  = options->goal == GGS_TUNE_SERVER ? prepare_server(&tune, error) : 0;
    if (status == 0) status = ggs_trials_new(&tune.trials, &settings, error);
    if (status == 0) status = add_plain(&tune, "base", &tune.base, error);
    if (status == 0) status = ggs_trials_round(tune.trials, error);
    if (status == 1) tuned->stopped = true;
    if (status == 0 && has_failed(&tune, tune.base, tuned->said))
        status = ggs_fail(error, GGS_USAGE, "the program itself cannot be tuned: it %.300s", tuned->said);
    snprintf(first, sizeof(first), "%s/base-001", options->folder);
    for (unsigned i = 0; i < options->n_knobs; i++) tune.own[i] = options->knobs[i].option;
    if (status == 0) status = explain(&tune, first, error);
    if (status == 0) status = try_values(&tune, error);
    if (status == 0)
        report(&tune, "%u remedies to try, in rounds of %u runs", tuned->n, tuned->n > 1 ? tuned->n + 3 : 3);
    if (status == 0 && tuned->n > 0) status = add_variants(&tune, error);
    if (status == 0 && tuned->n > 0) status = try_all(&tune, error);
    if (status == 0 && tuned->n > 0) status = conclude(&tune, error);
    if (tune.trials != NULL) {
        struct ggs_trials_load load = ggs_trials_load(tune.trials);
        tuned->repeated             = load.repeated;
        tuned->busy                 = load.busy;
    }
    release(&tune);
    return status < 0 ? status : 0;
}
