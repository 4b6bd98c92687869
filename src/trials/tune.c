#include "trials/tune.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "trials/traffic.h"
#include "trials/tune-knobs.h"

static const double SAME = 0.02; // smaller differences do not count

// A setting that was tried: a variant of the trials.
struct tried {
    struct ggs_search_setting setting;
    char                      name[16];
    char *                    command; // NULL for the unchanged program
    const char *              words[4];
    unsigned                  variant;
    uint64_t                  output;  // digest of the first run's; 0: none
    bool                      differs; // outputs of later runs do
};

struct tune {
    const struct ggs_tune_options * options;
    struct ggs_tuned *              tuned;
    struct ggs_trials *             trials;
    struct ggs_invocation           program;
    struct ggs_tune_knobs           knobs;
    struct ggs_search               search;
    struct tried **                 tried; // the first is the unchanged program
    unsigned                        n_tried, tried_capacity;
    unsigned                        figure, left; // left: runs of this round
    uint64_t                        begin_ns;
    struct ggs_own_option           own[GGS_TUNE_PARTS];
    // A server: its command line with a port, and its requests.
    struct ggs_traffic traffic;
    const char **      server; // NULL if the program is no server
    unsigned           port;
    char               port_text[24];
    bool               own_port; // chosen here, and not part of the result
};

__attribute__((format(printf, 2, 3))) static void report(struct tune * tune, const char * format, ...) {
    char    text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (tune->options->progress != NULL) tune->options->progress(tune->options->context, text);
}

static bool is_over(const struct tune * tune) {
    return (double) (ggs_clock_now() - tune->begin_ns) / 1e9 > tune->options->seconds;
}

// ---- settings ----

static struct ggs_knob_setting setting_of(const struct ggs_tune_knob * knob, unsigned value) {
    struct ggs_knob_setting setting = {.knob = knob->values.knob};
    memcpy(setting.value, knob->values.value[value], sizeof(setting.value));
    return setting;
}

static char * command_of(const struct tune * tune, const struct ggs_search_setting * setting, const char * before) {
    struct ggs_knob_setting changes[GGS_SEARCH_KNOBS];
    struct ggs_text         text = {0};
    unsigned                n    = 0;
    for (unsigned k = 0; k < tune->knobs.n; k++)
        if (setting->value[k] != tune->knobs.list[k].values.start)
            changes[n++] = setting_of(&tune->knobs.list[k], setting->value[k]);
    ggs_text_puts(&text, before);
    ggs_invocation_command(&tune->program, changes, n, &text);
    char * command = text.failed ? NULL : strdup(ggs_text_string(&text));
    ggs_text_release(&text);
    return command;
}

static const char * const record_options[] = {"-q", NULL};

// Returns the entry of a setting, which becomes a variant if it is new; NULL if out of memory.
// `setting` is NULL for the unchanged program, before there are knobs.
static struct tried * tried_of(struct tune * tune, const struct ggs_search_setting * setting,
                               struct ggs_error * error) {
    for (unsigned i = 0; setting != NULL && i < tune->n_tried; i++)
        if (memcmp(&tune->tried[i]->setting, setting, sizeof(*setting)) == 0) return tune->tried[i];
    struct tried * tried = calloc(1, sizeof(*tried));
    if (tried == NULL || !ggs_array_push(tune->tried, tune->n_tried, tune->tried_capacity, tried)) {
        free(tried);
        ggs_fail_memory(error);
        return NULL;
    }
    snprintf(tried->name, sizeof(tried->name), "%s-%u", setting == NULL ? "base" : "try", tune->n_tried);
    struct ggs_variant variant = {.name    = tried->name,
                                  .options = record_options,
                                  .program = tune->server != NULL ? tune->server
                                                                  : (const char * const *) tune->options->program,
                                  .traffic = tune->server != NULL ? &tune->traffic : NULL,
                                  .port    = tune->port,
                                  .caller  = tried};
    if (setting != NULL) {
        tried->setting  = *setting;
        tried->command  = command_of(tune, setting, "exec ");
        tried->words[0] = "sh", tried->words[1] = "-c", tried->words[2] = tried->command;
        variant.program = tried->words;
    }
    if (setting != NULL && tried->command == NULL) {
        ggs_fail_memory(error);
        return NULL;
    }
    int number = ggs_trials_add(tune->trials, &variant, error);
    if (number < 0) return NULL;
    tried->variant = (unsigned) number;
    return tried;
}

// ---- trials ----

static uint64_t digest(const char * path) {
    FILE *   file   = fopen(path, "re");
    uint64_t digest = 0xcbf29ce484222325u; // FNV-1a
    if (file == NULL) return 0;
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) digest = (digest ^ (uint64_t) c) * 0x100000001b3u;
    fclose(file);
    return digest;
}

static int choose_knobs(struct tune * tune, const char * directory, struct ggs_error * error) {
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
        explanation.program.own   = tune->own;
        explanation.program.n_own = tune->options->n_knobs;
        ggs_tune_knobs_choose(&tune->knobs, &explanation, tune->options);
        tune->program       = explanation.program;
        explanation.program = (struct ggs_invocation){0};
        ggs_explanation_release(&explanation);
    }
    ggs_trace_close(&trace);
    return status;
}

static int after_recording(void * context, const struct ggs_trial * trial, const char * directory,
                           struct ggs_error * error) {
    struct tune *  tune  = context;
    struct tried * tried = NULL;
    char           path[PATH_MAX + 16];
    for (unsigned i = 0; i < tune->n_tried; i++)
        if (tune->tried[i]->variant == trial->variant) tried = tune->tried[i];
    snprintf(path, sizeof(path), "%s/%s", directory, tune->server != NULL ? "answers.txt" : "stdout.txt");
    uint64_t output = digest(path);
    if (tried->output == 0) tried->output = output;
    tried->differs |= tried->output != output;
    bool first = tune->program.words == NULL;
    return first ? choose_knobs(tune, directory, error) : 0;
}

static int after_trial(void * context, const struct ggs_trial * trial, struct ggs_error * error) {
    enum { MORE = 5 }; // runs that usually follow
    struct tune * tune = context;
    (void) trial, (void) error;
    tune->tuned->runs++;
    if (tune->left > 0) tune->left--;
    if (tune->options->advanced != NULL)
        tune->options->advanced(tune->options->context, tune->tuned->runs, tune->tuned->runs + tune->left + MORE);
    return tune->left > 0 && is_over(tune) ? 1 : 0;
}

// The time of the variant's trial in the last round. Infinite if the program failed.
static double time_of(const struct tune * tune, unsigned variant, unsigned from) {
    unsigned                 n;
    const struct ggs_trial * list = ggs_trials_list(tune->trials, &n);
    for (unsigned i = from; i < n; i++)
        if (list[i].variant == variant)
            return list[i].outcome == GGS_TRIAL_DONE ? list[i].values[tune->figure] : INFINITY;
    return NAN;
}

static int measure(void * context, const struct ggs_search_setting * settings, unsigned n, double * times,
                   struct ggs_error * error) {
    struct tune * tune = context;
    unsigned      from;
    if (is_over(tune)) return 1;
    double gain = ggs_search_gain(&tune->search).value;
    if (isnan(gain))
        report(tune, "round %u of %u settings", tune->tuned->rounds + 1, n);
    else
        report(tune, "round %u of %u settings; the best so far takes %.3f of the time", tune->tuned->rounds + 1, n,
               gain);
    for (unsigned i = 0; i < tune->n_tried; i++) ggs_trials_retire(tune->trials, tune->tried[i]->variant);
    for (unsigned i = 0; i < n; i++) {
        struct tried * tried = tried_of(tune, &settings[i], error);
        if (tried == NULL) return GGS_MEMORY;
        ggs_trials_resume(tune->trials, tried->variant);
    }
    ggs_trials_list(tune->trials, &from);
    tune->left = n;
    int status = ggs_trials_round(tune->trials, error);
    if (status < 0) return status;
    tune->tuned->rounds++;
    for (unsigned i = 0; i < n; i++) times[i] = time_of(tune, tried_of(tune, &settings[i], error)->variant, from);
    return status;
}

// ---- results ----

static void name_value(const struct tune * tune, unsigned knob, unsigned value, char said[128]) {
    struct ggs_knob_setting setting = setting_of(&tune->knobs.list[knob], value);
    struct ggs_text         text    = {0};
    ggs_invocation_say(&tune->program, &setting, &text);
    snprintf(said, 128, "%s", ggs_text_string(&text));
    ggs_text_release(&text);
}

static void add_part(struct tune * tune, unsigned k) {
    struct ggs_tuned *           tuned = tune->tuned;
    const struct ggs_tune_knob * knob  = &tune->knobs.list[k];
    unsigned                     value = tune->search.best.value[k], start = knob->values.start;
    bool                         set = value != start; // else its remedy brought nothing
    if ((!set && knob->remedy == start) || tuned->n == GGS_TUNE_PARTS) return;
    struct ggs_tune_part * part = &tuned->part[tuned->n++];
    *part                       = (struct ggs_tune_part){.kept = set && tuned->better};
    name_value(tune, k, set ? value : knob->remedy, part->said);
    snprintf(part->finding, sizeof(part->finding), "%s", knob->finding);
    snprintf(part->name, sizeof(part->name), "%s",
             knob->own ? tune->own[knob->values.knob - GGS_KNOBS].name : ggs_knob_name(knob->values.knob));
    struct ggs_ratio with = ggs_search_ratio(&tune->search, k, knob->remedy);
    part->without         = set ? ggs_search_ratio(&tune->search, k, start)
                                : (struct ggs_ratio){1 / with.value, 1 / with.high, 1 / with.low};
}

// Values relative to the program's own.
static void add_values(struct tune * tune, unsigned k) {
    struct ggs_tuned *           tuned = tune->tuned;
    const struct ggs_tune_knob * knob  = &tune->knobs.list[k];
    unsigned                     best = tune->search.best.value[k], start = knob->values.start;
    struct ggs_ratio             own = ggs_search_ratio(&tune->search, k, start);
    for (unsigned v = 0; v < knob->values.n && tuned->n_values < GGS_TUNE_VALUES; v++) {
        struct ggs_ratio ratio  = v == best ? (struct ggs_ratio){1, 1, 1} : ggs_search_ratio(&tune->search, k, v);
        bool             failed = tune->search.effect[k][v].failed;
        if (v == start || (isnan(ratio.value) && !failed)) continue;
        if (v == best)
            ratio = (struct ggs_ratio){1 / own.value, 1 / own.high, 1 / own.low};
        else if (best != start)
            ratio = (struct ggs_ratio){ratio.value / own.value, ratio.low / own.value, ratio.high / own.value};
        if (failed) ratio = (struct ggs_ratio){NAN, NAN, NAN};
        struct ggs_tune_value * out = &tuned->value[tuned->n_values++];
        *out                        = (struct ggs_tune_value){.ratio = ratio, .failed = failed};
        name_value(tune, k, v, out->said);
    }
}

static bool why_failed(const struct tune * tune, unsigned variant, char said[GGS_TRIAL_SAID]) {
    unsigned                 n;
    const struct ggs_trial * list = ggs_trials_list(tune->trials, &n);
    for (unsigned i = 0; i < n; i++) {
        if (list[i].variant != variant || list[i].outcome == GGS_TRIAL_DONE) continue;
        snprintf(said, GGS_TRIAL_SAID, "%s: %.300s", ggs_trial_outcome_words[list[i].outcome], list[i].said);
        return true;
    }
    return false;
}

static int conclude(struct tune * tune, struct ggs_error * error) {
    struct ggs_tuned *        tuned  = tune->tuned;
    struct ggs_search *       search = &tune->search;
    struct ggs_search_setting all    = ggs_search_start(search);
    for (unsigned k = 0; k < tune->knobs.n; k++) all.value[k] = (uint8_t) tune->knobs.list[k].remedy;
    tuned->control = ggs_search_control(search);
    tuned->noise   = fmax(SAME, 2 * ggs_search_noise(search));
    tuned->stopped = search->stopped;
    tuned->failed  = search->failed;
    for (unsigned i = 0; tuned->failed && i < tune->n_tried; i++)
        if (memcmp(&tune->tried[i]->setting, &all, sizeof(all)) == 0)
            why_failed(tune, tune->tried[i]->variant, tuned->said);
    tuned->ratio  = ggs_search_gain(search);
    tuned->better = ggs_search_is_better(search);
    for (unsigned k = 0; k < tune->knobs.n; k++) add_part(tune, k);
    for (unsigned k = 0; k < tune->knobs.n; k++) add_values(tune, k);
    tuned->repeatable = !tune->tried[0]->differs;
    if (!tuned->better) return 0;
    struct tried * best = tried_of(tune, &search->best, error);
    if (best == NULL) return GGS_MEMORY;
    tuned->same_output = best->output == tune->tried[0]->output;
    char * command     = command_of(tune, &search->best, "");
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
    for (unsigned i = 0; i < tune->n_tried; i++) {
        free(tune->tried[i]->command);
        free(tune->tried[i]);
    }
    free(tune->tried);
    ggs_invocation_release(&tune->program);
    ggs_trials_free(tune->trials);
    ggs_traffic_release(&tune->traffic);
    free(tune->server);
}

// The first run is the recording that is explained.
static int run_first(struct tune * tune, struct ggs_error * error) {
    struct ggs_tuned * tuned = tune->tuned;
    struct tried *     base  = tried_of(tune, NULL, error);
    if (base == NULL) return GGS_MEMORY;
    int status         = ggs_trials_round(tune->trials, error);
    tuned->stopped     = status == 1;
    tune->search.first = NAN;
    if (status != 0) return status;
    if (why_failed(tune, base->variant, tuned->said))
        return ggs_fail(error, GGS_USAGE, "the program itself cannot be tuned: it %.300s", tuned->said);
    tune->search.first = time_of(tune, base->variant, 0);
    if (isnan(tune->search.first))
        return ggs_fail(error, GGS_USAGE, "the program cannot be tuned for that: its recording has no %s",
                        tuned->figure);
    base->setting = (struct ggs_search_setting){0};
    for (unsigned k = 0; k < tune->knobs.n; k++) base->setting.value[k] = (uint8_t) tune->knobs.list[k].values.start;
    return 0;
}

// Says what will be tried: remedies with their values, other knobs by name.
static void report_knobs(struct tune * tune, unsigned remedies) {
    struct ggs_text text = {0};
    char            said[128];
    for (unsigned pass = 0; pass < 2; pass++) {
        const char * before = pass == 0 ? "remedies: " : remedies > 0 ? "; other knobs: " : "knobs: ";
        for (unsigned k = 0; k < tune->knobs.n; k++) {
            const struct ggs_tune_knob * knob = &tune->knobs.list[k];
            bool                         has  = knob->remedy != knob->values.start;
            if (has != (pass == 0)) continue;
            name_value(tune, k, knob->remedy, said);
            ggs_text_printf(&text, "%s%s", before,
                            has         ? said
                            : knob->own ? tune->own[knob->values.knob - GGS_KNOBS].name
                                        : ggs_knob_name(knob->values.knob));
            before = ", ";
        }
    }
    if (text.length > 0) report(tune, "%s", ggs_text_string(&text));
    ggs_text_release(&text);
}

static int search(struct tune * tune, struct ggs_error * error) {
    struct ggs_search * search   = &tune->search;
    unsigned            remedies = 0;
    for (unsigned k = 0; k < tune->knobs.n; k++) {
        const struct ggs_tune_knob * knob = &tune->knobs.list[k];
        search->knob[k]                   = (struct ggs_search_knob){.n       = knob->values.n,
                                                                     .start   = knob->values.start,
                                                                     .remedy  = knob->remedy,
                                                                     .ordered = knob->values.ordered,
                                                                     .each    = knob->own,
                                                                     .bound   = knob->bound};
        remedies += knob->remedy != knob->values.start;
    }
    search->others  = fmax(0, ggs_trials_load(tune->trials).most);
    search->n_knobs = tune->knobs.n, search->rounds = tune->options->rounds;
    search->measure = measure, search->context = tune;
    report_knobs(tune, remedies);
    int status = ggs_search_run(search, error);
    return status < 0 ? status : conclude(tune, error);
}

int ggs_tune(struct ggs_tuned * tuned, const struct ggs_tune_options * options, struct ggs_error * error) {
    static const char * const figures[GGS_TUNE_GOALS] = {"wall_quiet_ns", "prompt_ns", "token_quiet_ns", "request_ns",
                                                         "load_ns"};
    struct tune *             tune                    = calloc(1, sizeof(*tune));
    *tuned = (struct ggs_tuned){.figure = figures[options->goal], .ratio = {NAN, NAN, NAN}, .control = {NAN, NAN, NAN}};
    if (tune == NULL) return ggs_fail_memory(error);
    tune->options = options, tune->tuned = tuned, tune->begin_ns = ggs_clock_now();
    struct ggs_trials_settings settings = {.folder    = options->folder,
                                           .tolerates = true,
                                           .seed      = 1,
                                           .recorded  = after_recording,
                                           .after     = after_trial,
                                           .context   = tune};
    tune->figure                        = (unsigned) ggs_trial_figure_find(tuned->figure);
    for (unsigned i = 0; i < options->n_knobs; i++) tune->own[i] = options->knobs[i].option;
    int status = options->goal == GGS_TUNE_SERVER ? prepare_server(tune, error) : 0;
    if (status == 0) status = ggs_trials_new(&tune->trials, &settings, error);
    if (status == 0) status = run_first(tune, error);
    if (status == 0) status = search(tune, error);
    tuned->lossy_left_out = tune->knobs.lossy_left_out;
    if (tune->trials != NULL) {
        struct ggs_trials_load load = ggs_trials_load(tune->trials);
        tuned->repeated             = load.repeated;
        tuned->busy                 = load.busy;
        tuned->others               = load.most;
    }
    release(tune);
    free(tune);
    return status < 0 ? status : 0;
}
