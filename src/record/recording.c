#include "record/recording-attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number.h"
#include "base/secrets.h"
#include "base/system/lock.h"
#include "engine/locate.h"
#include "record/busy.h"
#include "record/control.h"
#include "record/experiment.h"
#include "record/inspect/capture-library.h"
#include "record/inspect/program.h"
#include "record/launch/attach.h"
#include "record/launch/child-environment.h"
#include "record/launch/children.h"
#include "record/launch/launch.h"
#include "record/measure.h"
#include "record/memory/conditions.h"
#include "record/memory/mappings.h"
#include "record/observation.h"
#include "record/sealer.h"
#include "record/settings.h"
#include "record/spool/place.h"
#include "record/surroundings.h"
#include "trace/spool-reader.h"

// ---- preparation ----

const char * ggs_recording_find_model(char * const * command) {
    for (char * const * word = command + 1; command[0] != NULL && *word != NULL; word++) {
        if ((strcmp(*word, "-m") == 0 || strcmp(*word, "--model") == 0) && word[1] != NULL) return word[1];
        if (strncmp(*word, "--model=", 8) == 0) return *word + 8;
    }
    return NULL;
}

int ggs_recording_resolve(struct ggs_recording * recording, struct ggs_error * error) {
    const char * model  = recording->model != NULL        ? recording->model
                          : recording->cold_model != NULL ? recording->cold_model
                          : recording->command == NULL    ? NULL
                                                          : ggs_recording_find_model(recording->command);
    int          status = ggs_memory_size_resolve(&recording->memory, model, "--memory", error);
    return status != 0 ? status : ggs_memory_size_resolve(&recording->streaming.budget, model, "--budget", error);
}

// Makes the descriptive part of a directory name: no folders, no .gguf, no special characters.
static void make_subject(char * subject, size_t size, const char * path) {
    snprintf(subject, size, "%s", ggs_file_name(path));
    size_t length = strlen(subject);
    if (length > 5 && strcmp(subject + length - 5, ".gguf") == 0) subject[length - 5] = '\0';
    for (char * c = subject; *c != '\0'; c++) {
        bool plain =
            (*c >= '0' && *c <= '9') || ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z') || strchr("._-+", *c) != NULL;
        if (!plain) *c = '_';
    }
    if (subject[0] == '\0') snprintf(subject, size, "program");
}

static const char * model_of(const struct ggs_recording_attempt * attempt) {
    return attempt->recording->model != NULL ? attempt->recording->model : ggs_recording_find_model(attempt->command);
}

// ggscope's own program for running models.
static bool is_runner(const char * program) {
    return strcmp(ggs_file_name(program), "ggscope-engine") == 0;
}

static int check_pressure(struct ggs_recording_attempt * attempt, struct ggs_error * error) {
    const struct ggs_recording * recording = attempt->recording;
    attempt->conditions                    = (struct ggs_memory_conditions){
                           .memory       = recording->memory.bytes,
                           .cold         = recording->cold,
                           .model        = recording->cold_model != NULL ? recording->cold_model : model_of(attempt),
                           .engine_known = recording->engine != NULL || is_runner(attempt->command[0]),
                           .engine       = recording->engine == NULL ? NULL : attempt->engine.directory,
                           .command      = attempt->command};
    int status      = ggs_memory_conditions_check(&attempt->conditions, error);
    attempt->misuse = status == GGS_USAGE;
    return status;
}

// Checks everything possible before anything is made.
static int check(struct ggs_recording_attempt * attempt, struct ggs_error * error) {
    const struct ggs_recording * recording = attempt->recording;
    struct ggs_error             reason;
    bool                         only_warn;
    if (ggs_recording_is_attached(attempt)) {
        int status       = ggs_attach_open(&attempt->attach, recording->process, error);
        attempt->command = attempt->attach.command;
        memcpy(attempt->capture, attempt->attach.library, sizeof(attempt->capture));
        if (status == 0 && recording->follow && attempt->attach.tracee.other_root)
            status = ggs_fail(error, GGS_USAGE,
                              "process %d (%s) has other mounts than ggscope, so its children cannot record beside it: "
                              "attach to each of them instead of --follow",
                              (int) attempt->attach.tracee.pid, attempt->attach.tracee.name);
        return status != 0 ? status : check_pressure(attempt, error);
    }
    int status = ggs_program_find(&attempt->program, recording->command[0], error);
    if (status == 0) status = ggs_capture_library_find(attempt->capture, error);
    if (status == 0 && recording->engine != NULL)
        status = ggs_engine_locate(recording->engine, &attempt->engine, error);
    if (status != 0) return status;
    if (ggs_program_check(&attempt->program, &only_warn, &reason) != 0) {
        if (!only_warn) return ggs_fail(error, reason.status, "%s", reason.text);
        fprintf(stderr, "ggscope: %s; what the script %s starts may still be recorded\n", reason.text,
                attempt->program.path);
    }
    return check_pressure(attempt, error);
}

static int open_copy(const struct ggs_recording_attempt * attempt, const char * name, int * fd,
                     struct ggs_error * error) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", attempt->experiment.directory, name);
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return *fd < 0 ? ggs_fail_errno(error, "cannot create %s", path) : 0;
}

static void set_values(const struct ggs_recording * recording, struct ggs_child_environment * environment) {
    char number[32];
    snprintf(number, sizeof(number), "%llu",
             (unsigned long long) (recording->values_every == 0 ? 1 : recording->values_every));
    ggs_child_environment_set(environment, "GGSCOPE_VALUES", recording->values);
    ggs_child_environment_set(environment, "GGSCOPE_VALUES_EVERY", number);
    if (recording->values_dump != NULL)
        ggs_child_environment_set(environment, "GGSCOPE_VALUES_DUMP", recording->values_dump);
    if (recording->values_unfused) ggs_child_environment_set(environment, "GGSCOPE_VALUES_UNFUSED", "1");
    // A streamed program must not read weights that it does not use.
    if (recording->streaming.wanted) ggs_child_environment_set(environment, "GGSCOPE_VALUES_NO_WEIGHTS", "1");
    // A captured graph is launched without the loop that shows what is fused.
    ggs_child_environment_set(environment, "GGML_CUDA_DISABLE_GRAPHS", "1");
}

static int make_environment(struct ggs_recording_attempt * attempt, struct ggs_error * error) {
    const struct ggs_recording *   recording   = attempt->recording;
    struct ggs_child_environment * environment = &attempt->environment;
    char                           number[GGS_NUMBER_LENGTH];
    uint64_t                       reserved =
        ggs_memory_conditions_reserve(&attempt->conditions, attempt->place.folder, attempt->place.max_bytes);
    snprintf(number, sizeof(number), "%llu", (unsigned long long) (attempt->place.max_bytes - reserved));
    ggs_child_environment_copy(environment, environ);
    ggs_child_environment_prepend(environment, "LD_PRELOAD", attempt->capture);
    ggs_child_environment_set(environment, "GGSCOPE_OUTPUT", attempt->experiment.directory);
    ggs_child_environment_set(environment, "GGSCOPE_SPOOL", attempt->place.folder);
    ggs_child_environment_set(environment, "GGSCOPE_MAX_SIZE", number);
    ggs_child_environment_set(environment, "GGSCOPE_POLICY", recording->policy == NULL ? "stop" : recording->policy);
    if (recording->gpu_ops != NULL) ggs_child_environment_set(environment, "GGSCOPE_GPU_OPS", recording->gpu_ops);
    if (recording->follow) ggs_child_environment_set(environment, "GGSCOPE_FOLLOW", "1");
    if (recording->prove) ggs_child_environment_set(environment, "GGSCOPE_PROVE", "1");
    if (recording->residency) ggs_child_environment_set(environment, "GGSCOPE_RESIDENCY", "1");
    if (recording->values != NULL) set_values(recording, environment);
    if (recording->engine != NULL) {
        ggs_child_environment_set(environment, "GGSCOPE_ENGINE", attempt->engine.directory);
        ggs_child_environment_prepend(environment, "LD_LIBRARY_PATH", attempt->engine.directory);
    }
    if (recording->streaming.wanted) {
        int status = ggs_streaming_prepare(&recording->streaming, environment, error);
        if (status != 0) return status;
    }
    return environment->failed ? ggs_fail_memory(error) : 0;
}

// Segments made ahead belong to us: the process of another user could not write to them.
static bool makes_ahead(const struct ggs_recording_attempt * attempt) {
    return !ggs_recording_is_attached(attempt) || attempt->attach.tracee.user == geteuid();
}

static int prepare(struct ggs_recording_attempt * attempt, struct ggs_error * error) {
    const struct ggs_recording * recording = attempt->recording;
    const char *                 model     = model_of(attempt);
    char                         subject[NAME_MAX], folder[PATH_MAX];
    int                          status = ggs_settings_folder(folder, error);
    if (status != 0) return status;
    make_subject(subject, sizeof(subject), model != NULL ? model : attempt->command[0]);
    struct ggs_experiment_place where = {.directory = recording->output,
                                         .parent    = recording->parent == NULL ? folder : recording->parent,
                                         .subject   = subject,
                                         .force     = recording->force};
    status                            = ggs_experiment_create(&attempt->experiment, &where, error);
    if (status != 0) return status;
    const char * spool = recording->spool;
    if (ggs_recording_is_attached(attempt) && attempt->attach.tracee.other_root) {
        status = ggs_attach_find_parent(&attempt->attach, spool, error);
        spool  = attempt->attach.parent_outside;
    }
    if (status == 0)
        status = ggs_spool_place_make(&attempt->place, attempt->experiment.directory, attempt->experiment.id, spool,
                                      recording->max_size, error);
    if (!ggs_recording_is_attached(attempt)) {
        if (status == 0) status = make_environment(attempt, error);
        if (status == 0) status = open_copy(attempt, "stdout.txt", &attempt->files[0], error);
        if (status == 0) status = open_copy(attempt, "stderr.txt", &attempt->files[1], error);
    }
    if (status == 0 && makes_ahead(attempt))
        status =
            ggs_memory_conditions_apply(&attempt->conditions, attempt->place.folder, attempt->place.max_bytes, error);
    struct ggs_experiment_start start = {.command  = attempt->command,
                                         .model    = model,
                                         .max_size = attempt->place.max_bytes,
                                         .policy   = recording->policy == NULL ? "stop" : recording->policy,
                                         .follow   = recording->follow,
                                         .prove    = recording->prove,
                                         .stream   = recording->streaming.wanted,
                                         .values   = recording->values,
                                         .name     = recording->name,
                                         .group    = recording->group,
                                         .spool    = attempt->place.folder,
                                         .machine  = json_object_new_object()};
    ggs_memory_conditions_annotate_begin(&attempt->conditions, start.machine);
    if (status == 0) {
        status          = ggs_experiment_begin(&attempt->experiment, &start, error);
        unsigned hidden = attempt->experiment.hidden;
        if (hidden > 0 && !recording->quiet)
            fprintf(stderr,
                    "ggscope: %u part%s of the command line look%s like a secret: the recording has %s instead\n",
                    hidden, hidden == 1 ? "" : "s", hidden == 1 ? "s" : "", GGS_SECRET);
    } else {
        json_object_put(start.machine);
    }
    if (status != 0) {
        ggs_memory_conditions_end(&attempt->conditions); // its segments are in the spool
        ggs_lock_release(&attempt->place.lock);
        ggs_experiment_discard(&attempt->experiment);
    }
    return status;
}

// ---- running ----

static int exit_status(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void on_started(void * context, pid_t program) {
    struct ggs_recording_attempt * attempt = context;
    if (!ggs_recording_is_attached(attempt)) ggs_memory_conditions_join(&attempt->conditions, program);
    ggs_observation_start(&attempt->observation, program);
    if (attempt->control != NULL) ggs_control_begin(attempt->control);
    // A ring stays within its limit, and what it drops must not be kept elsewhere.
    struct ggs_sealer_settings sealer = {.folder      = attempt->place.folder,
                                         .directory   = attempt->experiment.directory,
                                         .start_ns    = ggs_experiment_start_ns(&attempt->experiment),
                                         .follow      = attempt->recording->follow,
                                         .observation = &attempt->observation,
                                         .control     = attempt->control};
    bool ring = attempt->recording->policy != NULL && strcmp(attempt->recording->policy, "ring") == 0;
    if (attempt->control != NULL && !ring) attempt->sealer = ggs_sealer_start(&sealer);
    attempt->mappings = ggs_mappings_watch(program);
    // A followed program has the library from its start, except those that an attached one starts.
    bool attaches = attempt->recording->follow && ggs_recording_is_attached(attempt);
    attempt->watched =
        ggs_children_watch(program, attaches ? attempt->experiment.directory : NULL, attempt->recording->quiet);
}

// SIGUSR2 opens and closes the window of a recording that began paused; in all others it is for the
// program.
static bool keep_signal(void * context, int number) {
    struct ggs_recording_attempt * attempt = context;
    if (number != SIGUSR2 || !attempt->recording->paused || attempt->control == NULL) return false;
    ggs_control_toggle(attempt->control);
    return true;
}

static void on_window(void * context, bool recording) {
    struct ggs_recording_attempt * attempt = context;
    uint64_t                       one     = 1;
    ggs_observation_pause(&attempt->observation, !recording);
    // The only window of an attached recording is its whole length: closing it detaches.
    if (!recording && attempt->stop >= 0 && write(attempt->stop, &one, sizeof(one)) < 0) perror("ggscope");
}

// If systemd sets the limit, it starts the program.
static char ** words_to_run(const struct ggs_recording_attempt * attempt, const char ** path) {
    const struct ggs_recording * recording = attempt->recording;
    const char * const *         prefix    = attempt->conditions.limit.prefix;
    size_t                       n_prefix = 0, n_words = 0, n = 0;
    while (prefix[n_prefix] != NULL) n_prefix++;
    while (recording->command[n_words] != NULL) n_words++;
    char ** words = calloc(n_prefix + n_words + 1, sizeof(*words));
    if (words == NULL) return NULL;
    for (size_t i = 0; i < n_prefix; i++) words[n++] = (char *) prefix[i];
    for (size_t i = 0; i < n_words; i++) words[n++] = recording->command[i];
    *path = n_prefix > 0 ? prefix[0] : attempt->program.path;
    if (n_prefix > 0) words[n_prefix] = (char *) attempt->program.path; // as found
    return words;
}

static int launch_program(struct ggs_recording_attempt * attempt, struct ggs_launch_result * result,
                          struct ggs_error * error) {
    const char * path  = NULL;
    char **      words = words_to_run(attempt, &path);
    if (words == NULL) return ggs_fail_memory(error);
    struct ggs_launch launch = {.path        = path,
                                .argv        = words,
                                .environment = attempt->environment.entries,
                                .copy_stdout = attempt->files[0],
                                .copy_stderr = attempt->files[1],
                                .started     = on_started,
                                .keeps       = keep_signal,
                                .context     = attempt};
    int               status = ggs_launch(&launch, result, error);
    free(words);
    return status;
}

// ---- attaching ----

static void end_watching(struct ggs_recording_attempt * attempt) {
    if (attempt->watched != NULL) attempt->started = ggs_children_end(attempt->watched);
    attempt->watched = NULL;
    ggs_mappings_end(attempt->mappings, ggs_experiment_conditions(&attempt->experiment));
    attempt->mappings = NULL;
}

static int watch_ends(struct ggs_recording_attempt * attempt, int * signals, struct ggs_error * error) {
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &watched, NULL);
    *signals      = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    attempt->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return *signals < 0 || attempt->stop < 0 ? ggs_fail_errno(error, "cannot watch signals") : 0;
}

static void report_attached(const struct ggs_recording_attempt * attempt) {
    const struct ggs_attach * attach  = &attempt->attach;
    char                      all[64] = "";
    if (attempt->recording->quiet) return;
    if (attach->all_stood_ns > 0)
        snprintf(all, sizeof(all), ", and all of them for %.2f ms", (double) attach->all_stood_ns / 1e6);
    fprintf(stderr,
            "ggscope: attached to process %d (%s); a thread of it stood for %.2f ms%s; Ctrl-C or ggscope control %s "
            "stop detaches\n",
            (int) attach->tracee.pid, attach->tracee.name, (double) attach->stood_ns / 1e6, all,
            attempt->experiment.directory);
}

static bool is_any_held(const char * pattern) {
    glob_t found;
    bool   held = false;
    if (glob(pattern, GLOB_ONLYDIR, NULL, &found) != 0) return false;
    for (size_t i = 0; i < found.gl_pathc; i++) held = held || ggs_lock_is_held(found.gl_pathv[i]);
    globfree(&found);
    return held;
}

// Forked children notice the end by themselves, and record their current graph run to its end.
static void await_children(const struct ggs_recording_attempt * attempt, int signals) {
    enum { NAP_MS = 10, NAPS = 1000 };
    char pattern[PATH_MAX];
    snprintf(pattern, sizeof(pattern), "%s/process-*/spool", attempt->experiment.directory);
    for (int i = 0; i < NAPS && (ggs_lock_is_written(attempt->place.lock) || is_any_held(pattern)); i++) {
        struct pollfd fd = {.fd = signals, .events = POLLIN};
        if (poll(&fd, 1, NAP_MS) > 0) break;
    }
}

// Returns once the process is restored or has ended.
static int attach_process(struct ggs_recording_attempt * attempt, struct ggs_error * error) {
    const struct ggs_recording * recording = attempt->recording;
    char                         inside[PATH_MAX + NAME_MAX];
    if (attempt->attach.parent < 0)
        snprintf(inside, sizeof(inside), "%s", attempt->place.folder);
    else
        snprintf(inside, sizeof(inside), "%s/%s", attempt->attach.parent_inside, ggs_file_name(attempt->place.folder));
    struct ggs_attach_settings settings = {
        .output  = attempt->experiment.directory,
        .folder  = attempt->place.folder,
        .inside  = inside,
        .model   = recording->model,
        .gpu_ops = recording->gpu_ops,
        .max_size =
            attempt->place.max_bytes -
            ggs_memory_conditions_reserve(&attempt->conditions, attempt->place.folder, attempt->place.max_bytes),
        .ring      = recording->policy != NULL && strcmp(recording->policy, "ring") == 0,
        .residency = recording->residency,
        .follow    = recording->follow,
        .quiet     = recording->quiet};
    int  signals = -1, status = watch_ends(attempt, &signals, error);
    bool pending = false;
    ggs_attach_chown(&attempt->attach, attempt->experiment.directory);
    ggs_attach_chown(&attempt->attach, attempt->place.folder);
    if (status == 0) status = ggs_attach_start(&attempt->attach, &settings, error);
    if (status == 0) {
        struct ggs_error reason;
        on_started(attempt, attempt->attach.tracee.pid);
        ggs_control_start(attempt->control);
        report_attached(attempt);
        ggs_attach_wait(&attempt->attach, attempt->stop, signals);
        if (ggs_attach_finish(&attempt->attach, signals, &pending, &reason) != 0)
            fprintf(stderr, "ggscope: %s\n", reason.text);
        end_watching(attempt);
        if (recording->follow && !pending) await_children(attempt, signals);
    }
    if (signals >= 0) close(signals);
    return status;
}

static void choose_observation(struct ggs_recording_attempt * attempt) {
    const struct ggs_recording * recording = attempt->recording;
    // Protected pages fault by the thousand, which says nothing about the machine.
    bool quiet_faults                 = recording->no_faults || recording->prove;
    attempt->observation.faults       = recording->faults || !quiet_faults;
    attempt->observation.faults_asked = recording->faults;
    attempt->observation.attached     = ggs_recording_is_attached(attempt);
    attempt->observation.io           = recording->io;
    attempt->observation.folder       = attempt->place.folder;
    attempt->observation.max_bytes    = attempt->place.max_bytes;
    attempt->observation.paused       = recording->paused || ggs_recording_is_attached(attempt);
}

static int open_control(struct ggs_recording_attempt * attempt, struct ggs_error * error) {
    struct ggs_control_settings windows = {.directory = attempt->experiment.directory,
                                           .folder    = attempt->place.folder,
                                           .paused    = attempt->observation.paused,
                                           .length_ns = attempt->recording->length_ns,
                                           .steps     = attempt->recording->steps,
                                           .requests  = attempt->recording->requests,
                                           .quiet     = attempt->recording->quiet,
                                           .changed   = on_window,
                                           .context   = attempt};
    return ggs_control_open(&attempt->control, &windows, error);
}

static void stop_all(struct ggs_recording_attempt * attempt) {
    end_watching(attempt);
    ggs_sealer_stop(attempt->sealer);
    if (attempt->control != NULL) attempt->children = ggs_control_children(attempt->control);
    ggs_control_close(attempt->control);
    attempt->control = NULL;
    ggs_observation_stop(&attempt->observation);
    ggs_memory_conditions_end(&attempt->conditions);
}

static void annotate_machine(struct ggs_recording_attempt * attempt, struct ggs_busy * busy) {
    struct json_object * machine = ggs_experiment_machine(&attempt->experiment);
    ggs_busy_annotate(busy, machine);
    ggs_surroundings_end(ggs_experiment_conditions(&attempt->experiment));
    if (attempt->children > 0)
        json_object_object_add(machine, "forked_unrecorded", json_object_new_uint64(attempt->children));
    if (attempt->started.n > 0)
        json_object_object_add(machine, "started_unrecorded", json_object_new_uint64(attempt->started.n));
}

static int run(struct ggs_recording_attempt * attempt, struct ggs_error * error) {
    struct ggs_launch_result result   = {.wait_status = GGS_END_UNKNOWN};
    bool                     attached = ggs_recording_is_attached(attempt);
    struct ggs_busy          busy;
    choose_observation(attempt);
    ggs_busy_begin(&busy, attached ? attempt->attach.tracee.pid : 0);
    int status = open_control(attempt, error);
    if (status == 0) status = attached ? attach_process(attempt, error) : launch_program(attempt, &result, error);
    stop_all(attempt);
    if (status != 0) {
        ggs_lock_release(&attempt->place.lock);
        ggs_experiment_discard(&attempt->experiment);
        return -1;
    }
    annotate_machine(attempt, &busy);
    status = ggs_experiment_find(&attempt->experiment, error);
    if (status != 0) {
        ggs_lock_release(&attempt->place.lock);
        ggs_spool_remove(attempt->place.folder, NULL);
        return -1;
    }
    ggs_memory_conditions_annotate_end(&attempt->conditions, ggs_experiment_machine(&attempt->experiment));
    // The reader of our messages may be gone; the recording is sealed all the same.
    signal(SIGPIPE, SIG_IGN);
    ggs_experiment_stop_clock(&attempt->experiment);
    double others = ggs_busy_share(&busy);
    int    own    = ggs_recording_finish(attempt, &result);
    if (attached) ggs_attach_chown(&attempt->attach, attempt->experiment.directory);
    int theirs = attached ? 0 : exit_status(result.wait_status);
    if (!attached) ggs_measure_if_wanted(others, attempt->recording->quiet);
    if (theirs != 0) return theirs;
    return own == 0 && result.passed_errno != 0 ? 1 : own;
}

static void release(struct ggs_recording_attempt * attempt) {
    ggs_memory_conditions_end(&attempt->conditions);
    for (int i = 0; i < 2; i++) {
        if (attempt->files[i] >= 0) close(attempt->files[i]);
    }
    if (attempt->stop >= 0) close(attempt->stop);
    ggs_attach_close(&attempt->attach);
    ggs_child_environment_release(&attempt->environment);
    ggs_lock_release(&attempt->place.lock);
    ggs_experiment_release(&attempt->experiment);
}

// If one of 0, 1 and 2 is closed, the next opened file would get its number, and the program's
// output.
static void open_standard_files(void) {
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

int ggs_recording_make(const struct ggs_recording * recording, char * directory, size_t size) {
    struct ggs_error             error;
    struct ggs_recording         resolved = *recording;
    struct ggs_recording_attempt attempt  = {.recording  = &resolved,
                                             .command    = recording->command,
                                             .attach     = GGS_ATTACH_NONE,
                                             .stop       = -1,
                                             .files      = {-1, -1},
                                             .experiment = {.lock = -1},
                                             .place      = {.lock = -1}};
    if (directory != NULL) directory[0] = '\0';
    open_standard_files();
    int status     = ggs_recording_resolve(&resolved, &error);
    attempt.misuse = status == GGS_USAGE;
    if (status == 0) status = check(&attempt, &error);
    if (status == 0) status = prepare(&attempt, &error);
    int result = status == 0 ? run(&attempt, &error) : -1;
    if (result < 0) {
        fprintf(stderr, "ggscope: %s\n", error.text);
    } else if (directory != NULL) {
        snprintf(directory, size, "%s", attempt.experiment.directory);
    }
    release(&attempt);
    return result >= 0 ? result : attempt.misuse ? 2 : 1;
}
