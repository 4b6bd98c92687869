#include "record/recording-attempt.h"

#include <glob.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/system/lock.h"
#include "base/text.h"
#include "record/assertion.h"
#include "record/experiment-files.h"
#include "record/inspect/capture-library.h"
#include "record/inspect/doctor-findings.h"
#include "record/inspect/libraries.h"
#include "record/launch/launch.h"
#include "record/sealer.h"
#include "record/spool/engine-line.h"
#include "trace/spool-reader.h"

static void remove_spool(const struct ggs_recording_attempt * attempt) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/spool", attempt->experiment.directory);
    ggs_spool_remove(path, NULL);
}

// Reports that other processes computed. Returns false if none did.
static bool report_children(const struct ggs_recording_attempt * attempt) {
    const struct ggs_children_found * started = &attempt->started;
    if (started->n > 0)
        fprintf(
            stderr,
            "ggscope: the program computed no graph itself: %u program%s that it started ran an engine (%s, process "
            "%d); record it with --follow\n",
            started->n, started->n == 1 ? "" : "s", started->name, (int) started->first);
    else if (attempt->children > 0)
        fprintf(stderr,
                "ggscope: the program computed no graph itself: %u forked child%s did; record them with --follow\n",
                attempt->children, attempt->children == 1 ? "" : "ren");
    return started->n > 0 || attempt->children > 0;
}

static void report_nothing_seen(const struct ggs_recording_attempt * attempt, int wait_status) {
    struct ggs_text reason = {0};
    if (report_children(attempt)) return;
    if (ggs_recording_is_attached(attempt)) {
        const struct ggs_tracee * tracee = &attempt->attach.tracee;
        if (ggs_attach_failed(&attempt->attach)) return; // it has said why
        fprintf(stderr, "ggscope: process %d (%s) computed no graph while ggscope was attached", (int) tracee->pid,
                tracee->name);
        if (ggs_tracee_lives(tracee)) fprintf(stderr, "; ggscope doctor %d says what can be seen", (int) tracee->pid);
        fputc('\n', stderr);
        return;
    }
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/stderr.txt", attempt->experiment.directory);
    ggs_program_explain(&attempt->program, path, wait_status, &reason);
    unsigned started = attempt->recording->follow ? 0 : attempt->started.seen;
    if (started > 0)
        ggs_text_printf(&reason, "; it started %u program%s, which --follow records too", started,
                        started == 1 ? "" : "s");
    fprintf(stderr, "ggscope: no ggml activity was seen: %s\n", ggs_text_string(&reason));
    ggs_text_release(&reason);
}

static void add_engine(struct ggs_findings * report, const struct ggs_libraries * capture,
                       struct ggs_libraries * engine, const char * path) {
    struct ggs_elf elf;
    if (ggs_elf_open(&elf, path, NULL) != 0) return;
    if (!ggs_findings_inside(report, capture, &elf, path, path)) ggs_libraries_add(engine, path);
    ggs_elf_close(&elf);
}

// Reports what could not be recorded of the libraries that the program loaded, and that nothing was
// computed.
static void report_blindness(const struct ggs_spool_facts * facts, const struct ggs_recording_attempt * attempt) {
    struct ggs_libraries   capture = {0}, engine = {0};
    struct ggs_findings    report = {0};
    struct ggs_engine_line line;
    ggs_libraries_add(&capture, attempt->capture);
    for (const char * at = facts->engine; (at = ggs_engine_line(at, &line)) != NULL;) {
        char path[PATH_MAX];
        if (line.key_length != 7 || memcmp(line.key, "library", 7) != 0 || line.value_length >= sizeof(path)) continue;
        memcpy(path, line.value, line.value_length);
        path[line.value_length] = '\0';
        add_engine(&report, &capture, &engine, path);
    }
    if (engine.count > 0) ggs_findings_hooks(&report, &capture, &engine);
    for (size_t i = 0; i < report.count; i++) {
        if (report.findings[i].level == GGS_FINDING_FAIL && report.findings[i].text != NULL)
            fprintf(stderr, "ggscope: %s\n", report.findings[i].text);
    }
    if (facts->runs == 0 && attempt->recording->paused)
        fprintf(stderr, "ggscope: no graph run was recorded: it was paused whenever one began\n");
    else if (facts->runs == 0 && !report_children(attempt) && !attempt->recording->follow)
        fprintf(stderr, "ggscope: the program loaded an engine, but no graph was computed\n");
    ggs_findings_release(&report);
    ggs_libraries_release(&engine);
    ggs_libraries_release(&capture);
}

static void explain_assertion(const struct ggs_recording_attempt * attempt, int wait_status,
                              const struct ggs_spool_facts * facts) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/stderr.txt", attempt->experiment.directory);
    ggs_assertion_explain(path, wait_status, attempt->command, facts->layout);
}

// Copies facts of the journal into experiment.json after the program's end.
struct ending {
    struct ggs_recording_attempt * attempt;
    int                            wait_status;
    bool                           discard; // the program failed before it computed, and said why
};

static int complete(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error) {
    struct ending *                ending  = context;
    struct ggs_recording_attempt * attempt = ending->attempt;
    bool                           failed  = WIFEXITED(ending->wait_status) && WEXITSTATUS(ending->wait_status) != 0;
    ending->discard                        = facts->runs == 0 && attempt->recording->discard && failed;
    if (facts->runs == 0 && ggs_experiment_files_are_aside(attempt->experiment.directory)) {
        if (facts->seen) report_blindness(facts, attempt);
        ending->discard = true;
    }
    if (ending->discard) return GGS_ABSENT;
    if (attempt->recording->residency)
        json_object_object_add(ggs_experiment_machine(&attempt->experiment), "residency",
                               json_object_new_string(!facts->resident             ? "none"
                                                      : facts->resident_in_process ? "pagemap"
                                                                                   : "mincore"));
    ggs_observation_annotate(&attempt->observation, &attempt->experiment);
    ggs_observation_check_files(&attempt->observation, facts->files, facts->n_files);
    int status = ggs_experiment_complete(&attempt->experiment, ending->wait_status, facts, error);
    if (status == 0) explain_assertion(attempt, ending->wait_status, facts);
    if (status == 0 && facts->seen) report_blindness(facts, attempt);
    return status;
}

// Discards an empty recording. An experiment that was to be replaced stays.
static void discard(struct ggs_recording_attempt * attempt) {
    bool replaces = ggs_experiment_files_are_aside(attempt->experiment.directory);
    ggs_experiment_discard(&attempt->experiment);
    if (replaces && !ggs_experiment_files_are_aside(attempt->experiment.directory))
        fprintf(stderr, "ggscope: nothing was recorded: %s keeps the experiment that was there\n",
                attempt->experiment.directory);
}

// Lists the recordings of followed programs. Returns false if there are none.
static bool report_followed(const char * directory) {
    char   pattern[PATH_MAX];
    glob_t found;
    if (snprintf(pattern, sizeof(pattern), "%s/process-*/trace.ggs", directory) >= (int) sizeof(pattern) ||
        glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc; i++)
        fprintf(stderr, "%s%.*s\n", i == 0 ? "children  " : "          ",
                (int) (strlen(found.gl_pathv[i]) - strlen("/trace.ggs")), found.gl_pathv[i]);
    globfree(&found);
    return true;
}

// Ends a recording without any ggml activity: an empty experiment, and the reason.
static int finish_empty(struct ending * ending) {
    struct ggs_recording_attempt * attempt = ending->attempt;
    struct ggs_spool_facts         nothing = {0};
    struct ggs_error               error;
    int                            status = complete(ending, &nothing, &error);
    if (ending->discard) {
        if (!attempt->recording->discard) report_nothing_seen(attempt, ending->wait_status);
        discard(attempt);
        return 1;
    }
    if (status != 0) fprintf(stderr, "ggscope: %s\n", error.text);
    remove_spool(attempt);
    if (attempt->recording->follow) {
        ggs_sealer_recover_followed(attempt->experiment.directory, attempt->recording->quiet);
        if (report_followed(attempt->experiment.directory)) return 0;
    }
    report_nothing_seen(attempt, ending->wait_status);
    return 1;
}

static void report_end(struct ggs_recording_attempt * attempt, const struct ggs_launch_result * result) {
    int missing = result->stdout_errno != 0 ? result->stdout_errno : result->stderr_errno;
    if (missing != 0)
        fprintf(stderr, "ggscope: the copies of the program's output in %s are incomplete: %s\n",
                attempt->experiment.directory, strerror(missing));
    if (result->passed_errno != 0)
        fprintf(stderr, "ggscope: not all of the program's output could be written: %s\n",
                strerror(result->passed_errno));
    bool limited = ggs_memory_conditions_explain(&attempt->conditions, result->wait_status);
    if (WIFSIGNALED(result->wait_status) && !limited)
        fprintf(stderr, "ggscope: the program was ended by signal %d (%s)\n", WTERMSIG(result->wait_status),
                strsignal(WTERMSIG(result->wait_status)));
}

int ggs_recording_finish(struct ggs_recording_attempt * attempt, const struct ggs_launch_result * launched) {
    const char *           directory = attempt->experiment.directory;
    struct ending          ending    = {.attempt = attempt, .wait_status = launched->wait_status};
    struct ggs_error       error;
    struct ggs_seal_result result;
    bool                   quiet = attempt->recording->quiet;
    report_end(attempt, launched);
    if (ggs_lock_is_written(attempt->place.lock)) {
        fprintf(stderr, "ggscope: %s is still being recorded; when %s: ggscope seal %s\n",
                ggs_recording_is_attached(attempt) ? "a graph run" : "a process that the program started",
                ggs_recording_is_attached(attempt) ? "it is over" : "it has ended", directory);
        return 0;
    }
    ggs_lock_release(&attempt->place.lock);
    if (!ggs_spool_place_has_segments(directory)) return finish_empty(&ending);
    int status = ggs_sealer_finish(&attempt->experiment, quiet, complete, &ending, &result, &error);
    if (ending.discard) {
        discard(attempt);
        return 1;
    }
    if (status != 0) {
        fprintf(stderr, "ggscope: %s; when that is mended, run: ggscope seal %s\n", error.text, directory);
        return 1;
    }
    ggs_experiment_files_remove_aside(directory);
    if (attempt->recording->follow) ggs_sealer_recover_followed(directory, quiet);
    if (!quiet && attempt->recording->summarise != NULL) attempt->recording->summarise(directory, stderr);
    if (!quiet && attempt->recording->follow) report_followed(directory);
    return 0;
}
