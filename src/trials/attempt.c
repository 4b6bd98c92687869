#include "trials/attempt.h"

#include <ftw.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/ops/totals.h"
#include "analyze/walk/trace.h"
#include "base/error.h"
#include "record/busy.h"
#include "record/host.h"
#include "record/memory/cold.h"
#include "record/recording.h"
#include "trials/traffic.h"

enum { MOST_WORDS = 1000 };

static int remove_entry(const char * path, const struct stat * info, int type, struct FTW * walk) {
    (void) info, (void) type, (void) walk;
    remove(path);
    return 0;
}

void ggs_attempt_remove(const char * directory) {
    nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

// ---- the command ----

struct words {
    const char * list[MOST_WORDS];
    unsigned     n;
    bool         too_many;
};

static void put(struct words * words, const char * word) {
    if (words->n == MOST_WORDS - 1)
        words->too_many = true;
    else
        words->list[words->n++] = word;
    words->list[words->n] = NULL;
}

static void put_all(struct words * words, const char * const * list) {
    while (list != NULL && *list != NULL) put(words, *list++);
}

// ggscope record [OPTIONS] [--memory N] [--cold[=FILE]] -o DIR -- PROGRAM...
static int record_words(struct words * words, const struct ggs_variant * variant, const char * directory,
                        char memory[32], char cold[PATH_MAX + 16], struct ggs_error * error) {
    put(words, "ggscope");
    put(words, "record");
    put_all(words, variant->options);
    if (variant->title != NULL) put(words, "--name"), put(words, variant->title);
    if (variant->group != NULL) put(words, "--group"), put(words, variant->group);
    if (variant->memory > 0) {
        snprintf(memory, 32, "%" PRIu64, variant->memory);
        put(words, "--memory");
        put(words, memory);
    }
    if (variant->cold) {
        snprintf(cold, PATH_MAX + 16, variant->model == NULL ? "--cold" : "--cold=%s", variant->model);
        put(words, cold);
    }
    put(words, "-o");
    put(words, directory);
    put(words, "--");
    put_all(words, variant->program);
    return words->too_many ? ggs_fail(error, GGS_USAGE, "the command has more than %d words", MOST_WORDS) : 0;
}

// ---- its figures ----

static double wall_quiet_ns(const struct ggs_totals * totals) {
    return (double) totals->wall_ns - (double) totals->generate_ns +
           (double) totals->generate_steps * (double) totals->quiet_ns;
}

static int read_totals(struct ggs_trial * trial, const char * directory, struct ggs_error * error) {
    struct ggs_trace  trace;
    struct ggs_totals totals;
    int               status = ggs_trace_open(&trace, directory, error);
    if (status < 0) return status;
    const char * missing = ggs_trace_missing(&trace);
    status               = missing != NULL ? ggs_fail(error, GGS_FORMAT, "cannot compare with a part: %s", missing)
                                           : ggs_totals_compute(&totals, &trace, &ggs_totals_all, error);
    if (status == 0) {
        int quiet = ggs_trial_figure_find("wall_quiet_ns");
        for (size_t i = 0; i < ggs_n_figures; i++) trial->values[i] = ggs_figures[i].of(&totals);
        if (quiet >= 0) trial->values[quiet] = wall_quiet_ns(&totals);
        ggs_totals_release(&totals);
    }
    ggs_trace_close(&trace);
    return status;
}

// Reads the machine's figures, and whether the limit killed the program.
static void read_machine(struct ggs_trial * trial, const char * directory) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/experiment.json", directory);
    struct json_object *experiment = ggs_json_file_read(path), *machine, *value;
    if (experiment == NULL) return;
    if (json_object_object_get_ex(experiment, "machine", &machine)) {
        for (unsigned i = (unsigned) ggs_n_figures; ggs_trial_figure(i) != NULL; i++) {
            if (json_object_object_get_ex(machine, ggs_trial_figure(i)->name, &value))
                trial->values[i] = (double) json_object_get_uint64(value);
        }
        if (trial->status != 0 && json_object_object_get_ex(machine, "oom_kills", &value) &&
            json_object_get_uint64(value) > 0)
            trial->outcome = GGS_TRIAL_LIMIT;
    }
    json_object_put(experiment);
}

// ---- a server ----

struct served {
    const struct ggs_variant * variant;
    struct ggs_traffic_run     run;
    bool                       started;
    bool                       orphan; // it did not end
};

static void on_start(void * context, pid_t process) {
    struct served * served = context;
    served->started        = true;
    ggs_traffic_start(&served->run, served->variant->traffic, served->variant->port, process);
}

// Ends what a trial left running. A shell that starts the server in the background, or waits for
// it, does not pass the signal on. Orphans become our children, see ggs_attempt().
static void end_orphans(void) {
    char   path[64], word[32];
    pid_t  orphan;
    FILE * list;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int) getpid());
    if ((list = fopen(path, "re")) == NULL) return;
    while (fscanf(list, "%31s", word) == 1) {
        orphan = (pid_t) strtol(word, NULL, 10);
        if (orphan <= 0) continue;
        kill(orphan, SIGKILL);
        waitpid(orphan, NULL, 0);
    }
    fclose(list);
}

// A server that answered every request has succeeded, however it ends.
static int conclude_traffic(struct served * served, const char * directory, struct ggs_trial * trial,
                            struct ggs_error * error) {
    char path[PATH_MAX + 32];
    int  figure    = ggs_trial_figure_find("request_ns");
    trial->outcome = served->run.done ? GGS_TRIAL_DONE : GGS_TRIAL_FAILED;
    if (!served->run.done) {
        if (served->orphan || trial->said[0] == '\0' || trial->status == 0)
            snprintf(trial->said, sizeof(trial->said), "%s", served->run.said);
        return 0;
    }
    if (figure >= 0) trial->values[figure] = served->run.request_ns;
    snprintf(path, sizeof(path), "%s/answers.txt", directory);
    return ggs_traffic_write(&served->run, path, error);
}

static int run_recorded(struct ggs_halt * halt, const struct ggs_variant * variant, const char * directory, int log,
                        struct served * served, struct ggs_child_end * end, struct ggs_error * error) {
    struct words words = {.n = 0};
    char         memory[32], cold[PATH_MAX + 16];
    int          status = record_words(&words, variant, directory, memory, cold, error);
    if (status != 0) return status;
    struct ggs_child child = {.path = "/proc/self/exe", .words = words.list, .log = log};
    if (variant->traffic != NULL) {
        child.started = on_start, child.context = served;
        prctl(PR_SET_CHILD_SUBREAPER, 1); // orphans become children of this process
    }
    status = ggs_child_run(halt, &child, end, error);
    if (served->started) ggs_traffic_join(&served->run);
    if (served->started && ggs_traffic_is_taken(variant->port)) {
        end_orphans();
        served->run.done = false;
        served->orphan   = true;
        snprintf(served->run.said, sizeof(served->run.said),
                 "it did not end on SIGINT: a shell in front of a server must exec it");
    }
    return status;
}

static const char * model_of(const struct ggs_variant * variant) {
    return variant->model != NULL ? variant->model : ggs_recording_find_model((char * const *) variant->program);
}

static int run_timed(struct ggs_halt * halt, const struct ggs_variant * variant, int log, struct ggs_child_end * end,
                     struct ggs_error * error) {
    const char * model = model_of(variant);
    if (variant->cold || (variant->memory > 0 && model != NULL)) {
        struct ggs_cold cold;
        if (model == NULL) return ggs_fail(error, GGS_USAGE, "a cold start needs the model: name it with -m FILE");
        int status = ggs_cold_drop(&cold, model, error);
        if (status != 0) return status;
    }
    struct ggs_child child = {.words = variant->program, .log = log, .memory = variant->memory};
    return ggs_child_run(halt, &child, end, error);
}

int ggs_attempt(struct ggs_halt * halt, const struct ggs_variant * variant, const char * directory, int log,
                struct ggs_trial * trial, struct ggs_error * error) {
    struct ggs_child_end end;
    struct ggs_busy      busy;
    struct served        served = {.variant = variant};
    for (unsigned i = 0; i < GGS_TRIAL_FIGURES; i++) trial->values[i] = NAN;
    int status = variant->warm ? ggs_cold_warm(model_of(variant), error) : 0;
    if (status != 0) return status;
    ggs_busy_begin(&busy, 0);
    status = variant->timed ? run_timed(halt, variant, log, &end, error)
                            : run_recorded(halt, variant, directory, log, &served, &end, error);
    if (status != 0) {
        ggs_traffic_run_release(&served.run);
        return status;
    }
    trial->others  = ggs_busy_share(&busy);
    trial->seconds = (double) end.ns / 1e9;
    trial->status  = WIFSIGNALED(end.status) ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status);
    trial->outcome = trial->status == 0 ? GGS_TRIAL_DONE : GGS_TRIAL_FAILED;
    ggs_child_log_line(log, trial->said, GGS_TRIAL_SAID);
    if (variant->timed) {
        int wall = ggs_trial_figure_find("wall_ns");
        if (wall >= 0) trial->values[wall] = (double) end.ns;
        return 0;
    }
    read_machine(trial, directory);
    if (served.started) {
        status = conclude_traffic(&served, directory, trial, error);
        ggs_traffic_run_release(&served.run);
        if (status != 0) return status;
    }
    return trial->outcome == GGS_TRIAL_DONE ? read_totals(trial, directory, error) : 0;
}
