#include "record/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number.h"
#include "base/system/lock.h"
#include "base/text.h"
#include "engine/locate.h"
#include "record/busy.h"
#include "record/control.h"
#include "record/experiment.h"
#include "record/inspect/capture-library.h"
#include "record/inspect/findings.h"
#include "record/inspect/libraries.h"
#include "record/inspect/program.h"
#include "record/launch/environment.h"
#include "record/launch/launch.h"
#include "record/memory/conditions.h"
#include "record/observation.h"
#include "record/sealer.h"
#include "record/settings.h"
#include "record/spool/facts.h"
#include "record/spool/place.h"
#include "record/spool/sealing.h"
#include "trace/spool-reader.h"

// Less than this holds no recording: the journal and the first lane take a segment each.
static const uint64_t LEAST_SIZE   = 4u << 20;
static const uint64_t LEAST_MEMORY = 16u << 20;

// ---- options ----

static bool take_memory(void * member, const char * text) {
    return ggs_parse_bytes(text, member) && *(uint64_t *) member >= LEAST_MEMORY;
}

static bool take_max_size(void * member, const char * text) {
    return ggs_parse_bytes(text, member) && *(uint64_t *) member >= LEAST_SIZE;
}

static bool take_window(void * member, const char * text) {
    uint64_t runs;
    if (strcmp(text, "all") != 0 && strcmp(text, "none") != 0 &&
        (strncmp(text, "first:", 6) != 0 || !ggs_parse_u64(text + 6, 1, UINT32_MAX, &runs)))
        return false;
    return ggs_take_text(member, text);
}

static bool take_length(void * member, const char * text) {
    return ggs_parse_time(text, member);
}

static bool take_steps(void * member, const char * text) {
    return ggs_parse_u64(text, 1, UINT32_MAX, member);
}

static bool take_policy(void * member, const char * text) {
    return (strcmp(text, "stop") == 0 || strcmp(text, "ring") == 0) && ggs_take_text(member, text);
}

static bool take_cold(void * member, const char * text) {
    struct ggs_recording * recording = member;
    recording->cold                  = true;
    recording->cold_model            = text;
    return true;
}

// Of --faults and --no-faults the last one counts.
static bool take_faults(void * member, const char * text) {
    struct ggs_recording * recording = member;
    (void) text;
    recording->faults    = true;
    recording->no_faults = false;
    return true;
}

static bool take_no_faults(void * member, const char * text) {
    struct ggs_recording * recording = member;
    (void) text;
    recording->faults    = false;
    recording->no_faults = true;
    return true;
}

#define AT(member) offsetof(struct ggs_recording, member)
const struct ggs_option ggs_recording_options[] = {
    {"output", 'o', "DIR", "Put the experiment into DIR (./experiments/<date-time>-<model>)", 0, AT(output),
     ggs_take_path, "a directory"},
    {"force", 0, NULL, "Replace an experiment that is there already", 0, AT(force), NULL, NULL},
    {"max-size", 0, "SIZE", "Record at most SIZE bytes, such as 2G (16G, or half of what is free)", 0, AT(max_size),
     take_max_size, "a size of at least 4M, such as 512M or 2G"},
    {"policy", 0, "stop|ring", "What to do then: stop recording (the default), or drop the oldest op runs", 0,
     AT(policy), take_policy, "stop or ring"},
    {"follow", 0, NULL, "Record programs that the program starts, too", 0, AT(follow), NULL, NULL},
    {"spool", 0, "DIR", "Keep the recording in DIR until it is sealed (/dev/shm if that has room)", 0, AT(spool),
     ggs_take_text, NULL},
    {"engine", 0, "DIR", "Let the program use the llama.cpp libraries in DIR", 0, AT(engine), ggs_take_text, NULL},
    {"gpu-ops", 0, "first:N|all|none",
     "On devices: CUDA times ops until N graph runs after the first generated token (first:32), or in all; none on none",
     0, AT(gpu_ops), take_window, "first:N with N of at least 1, all or none"},
    {"paused", 0, NULL, "Record nothing until ggscope control DIR start, or SIGUSR2", 0, AT(paused), NULL, NULL},
    {"for", 0, "TIME", "Record for this long, such as 30s, 500ms or 2m; the program runs on", 0, AT(length_ns),
     take_length, "a time such as 30s, 500ms, 2m or 1h"},
    {"steps", 0, "N", "Record N decodes (graph runs if there are none); the program runs on", 0, AT(steps), take_steps,
     "a number of at least 1"},
    {"requests", 0, "N", "Record until N requests have ended, as servers have them; the program runs on", 0,
     AT(requests), take_steps, "a number of at least 1"},
    {"quiet", 'q', NULL, "No summary", 0, AT(quiet), NULL, NULL},
    {0},
};

const struct ggs_option ggs_machine_options[] = {
    {"prove", 0, NULL,
     "Note which pages of the mapped model each op really touches, for ggscope prove; distorts all times", 0, AT(prove),
     NULL, NULL},
    {"faults", 0, NULL, "Record page faults (the default, if it is permitted)", 0, 0, take_faults, NULL},
    {"no-faults", 0, NULL, "Leave page faults out", 0, 0, take_no_faults, NULL},
    {"residency", 0, NULL, "Note which pages of the model are in memory after loading, after each token and at the end",
     0, AT(residency), NULL, NULL},
    {"io", 0, NULL, "Record the requests to the disk under the model (root)", 0, AT(io), NULL, NULL},
    {"memory", 0, "SIZE", "Let the program use at most SIZE bytes of memory, page cache included", 0, AT(memory),
     take_memory, "a size of at least 16M, such as 512M or 2G"},
    {"cold", 0, "=FILE", "Drop the model from the page cache first: FILE, or what the command names with -m", 0, 0,
     take_cold, NULL},
    {0},
};

// ---- before ----

// The model among the arguments of a llama.cpp program: -m FILE, --model FILE, --model=FILE.
static const char * find_model(char * const * command) {
    for (char * const * word = command + 1; command[0] != NULL && *word != NULL; word++) {
        if ((strcmp(*word, "-m") == 0 || strcmp(*word, "--model") == 0) && word[1] != NULL) return word[1];
        if (strncmp(*word, "--model=", 8) == 0) return *word + 8;
    }
    return NULL;
}

// A file name's part that tells what it is about: no folders, no .gguf, no characters that a shell minds.
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

struct attempt {
    const struct ggs_recording * recording;
    struct ggs_program           program;
    char                         capture[PATH_MAX];
    struct ggs_engine_paths      engine;
    struct ggs_experiment_json   experiment;
    struct ggs_spool_place       place;
    struct ggs_environment       environment;
    struct ggs_observation       observation;
    struct ggs_memory_conditions conditions;
    struct ggs_control *         control;
    struct ggs_sealer *          sealer;
    bool                         misuse;   // the command line is to blame
    int                          files[2]; // stdout.txt, stderr.txt
};

static const char * model_of(const struct ggs_recording * recording) {
    return recording->model != NULL ? recording->model : find_model(recording->command);
}

static int check_pressure(struct attempt * attempt, struct ggs_error * error) {
    const struct ggs_recording * recording = attempt->recording;
    attempt->conditions                    = (struct ggs_memory_conditions){.memory = recording->memory,
                                                                            .cold   = recording->cold,
                                                                            .model  = recording->cold_model != NULL ? recording->cold_model
                                                                                                                    : model_of(recording),
                                                                            .command = recording->command};
    int status                             = ggs_memory_conditions_check(&attempt->conditions, error);
    attempt->misuse                        = status == GGS_USAGE;
    return status;
}

// Everything that can be known before anything is made.
static int check(struct attempt * attempt, struct ggs_error * error) {
    const struct ggs_recording * recording = attempt->recording;
    struct ggs_error             reason;
    bool                         only_warn;
    int                          status = ggs_program_find(&attempt->program, recording->command[0], error);
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

static int open_copy(const struct attempt * attempt, const char * name, int * fd, struct ggs_error * error) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", attempt->experiment.directory, name);
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return *fd < 0 ? ggs_fail_errno(error, "cannot create %s", path) : 0;
}

static int make_environment(struct attempt * attempt, struct ggs_error * error) {
    const struct ggs_recording * recording   = attempt->recording;
    struct ggs_environment *     environment = &attempt->environment;
    char                         number[GGS_NUMBER_LENGTH];
    uint64_t                     reserved =
        ggs_memory_conditions_reserve(&attempt->conditions, attempt->place.folder, attempt->place.max_bytes);
    snprintf(number, sizeof(number), "%llu", (unsigned long long) (attempt->place.max_bytes - reserved));
    ggs_environment_copy(environment, environ);
    ggs_environment_prepend(environment, "LD_PRELOAD", attempt->capture);
    ggs_environment_set(environment, "GGSCOPE_OUTPUT", attempt->experiment.directory);
    ggs_environment_set(environment, "GGSCOPE_SPOOL", attempt->place.folder);
    ggs_environment_set(environment, "GGSCOPE_MAX_SIZE", number);
    ggs_environment_set(environment, "GGSCOPE_POLICY", recording->policy == NULL ? "stop" : recording->policy);
    if (recording->gpu_ops != NULL) ggs_environment_set(environment, "GGSCOPE_GPU_OPS", recording->gpu_ops);
    if (recording->follow) ggs_environment_set(environment, "GGSCOPE_FOLLOW", "1");
    if (recording->prove) ggs_environment_set(environment, "GGSCOPE_PROVE", "1");
    if (recording->residency) ggs_environment_set(environment, "GGSCOPE_RESIDENCY", "1");
    if (recording->engine != NULL) {
        ggs_environment_set(environment, "GGSCOPE_ENGINE", attempt->engine.directory);
        ggs_environment_prepend(environment, "LD_LIBRARY_PATH", attempt->engine.directory);
    }
    if (recording->streaming.wanted) {
        int status = ggs_streaming_prepare(&recording->streaming, environment, error);
        if (status != 0) return status;
    }
    return environment->failed ? ggs_fail_memory(error) : 0;
}

static int prepare(struct attempt * attempt, struct ggs_error * error) {
    const struct ggs_recording * recording = attempt->recording;
    const char *                 model     = model_of(recording);
    char                         subject[NAME_MAX], folder[PATH_MAX];
    int                          status = ggs_settings_folder(folder, error);
    if (status != 0) return status;
    make_subject(subject, sizeof(subject), model != NULL ? model : recording->command[0]);
    struct ggs_experiment_place where = {.directory = recording->output,
                                         .parent    = recording->parent == NULL ? folder : recording->parent,
                                         .subject   = subject,
                                         .force     = recording->force};
    status                            = ggs_experiment_create(&attempt->experiment, &where, error);
    if (status != 0) return status;
    status = ggs_spool_place_make(&attempt->place, attempt->experiment.directory, attempt->experiment.id,
                                  recording->spool, recording->max_size, error);
    if (status == 0) status = make_environment(attempt, error);
    if (status == 0) status = open_copy(attempt, "stdout.txt", &attempt->files[0], error);
    if (status == 0) status = open_copy(attempt, "stderr.txt", &attempt->files[1], error);
    if (status == 0)
        status =
            ggs_memory_conditions_apply(&attempt->conditions, attempt->place.folder, attempt->place.max_bytes, error);
    struct ggs_experiment_start start = {.command  = recording->command,
                                         .model    = model,
                                         .max_size = attempt->place.max_bytes,
                                         .policy   = recording->policy == NULL ? "stop" : recording->policy,
                                         .follow   = recording->follow,
                                         .prove    = recording->prove,
                                         .spool    = attempt->place.folder,
                                         .machine  = json_object_new_object()};
    ggs_memory_conditions_note_begin(&attempt->conditions, start.machine);
    if (status == 0) {
        status = ggs_experiment_begin(&attempt->experiment, &start, error);
    } else {
        json_object_put(start.machine);
    }
    if (status != 0) {
        ggs_memory_conditions_end(&attempt->conditions); // its segments lie in the spool
        ggs_lock_release(&attempt->place.lock);
        ggs_experiment_discard(&attempt->experiment);
    }
    return status;
}

// ---- after ----

static void remove_spool(const struct attempt * attempt) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/spool", attempt->experiment.directory);
    ggs_spool_remove(path, NULL);
}

static void tell_nothing_seen(const struct attempt * attempt, int wait_status) {
    struct ggs_text reason = {0};
    char            path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/stderr.txt", attempt->experiment.directory);
    ggs_program_explain(&attempt->program, path, wait_status, &reason);
    fprintf(stderr, "ggscope: no ggml activity was seen: %s\n", ggs_text_string(&reason));
    ggs_text_release(&reason);
}

// Says what could not be seen of the libraries that the program really loaded, and that nothing was computed.
static void tell_blindness(const struct ggs_spool_facts * facts, const struct attempt * attempt) {
    struct ggs_libraries   capture = {0}, engine = {0};
    struct ggs_findings    report = {0};
    struct ggs_engine_line line;
    for (const char * at = facts->engine; (at = ggs_engine_line(at, &line)) != NULL;) {
        char path[PATH_MAX];
        if (line.key_length != 7 || memcmp(line.key, "library", 7) != 0 || line.value_length >= sizeof(path)) continue;
        memcpy(path, line.value, line.value_length);
        path[line.value_length] = '\0';
        ggs_libraries_add(&engine, path);
    }
    ggs_libraries_add(&capture, attempt->capture);
    ggs_findings_hooks(&report, &capture, &engine);
    for (size_t i = 0; i < report.count && engine.count > 0; i++) {
        if (report.findings[i].level == GGS_FINDING_FAIL && report.findings[i].text != NULL)
            fprintf(stderr, "ggscope: %s\n", report.findings[i].text);
    }
    if (facts->runs == 0 && attempt->recording->paused)
        fprintf(stderr, "ggscope: no graph run was recorded: it was paused whenever one began\n");
    else if (facts->runs == 0)
        fprintf(stderr, "ggscope: the program loaded an engine, but no graph was computed\n");
    ggs_findings_release(&report);
    ggs_libraries_release(&engine);
    ggs_libraries_release(&capture);
}

// The program has ended: what its journal says goes into experiment.json.
struct ending {
    struct attempt * attempt;
    int              wait_status;
    bool             discard; // the program failed before it computed anything, and has said why
};

static int complete(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error) {
    struct ending *  ending  = context;
    struct attempt * attempt = ending->attempt;
    ending->discard          = facts->runs == 0 && attempt->recording->discard && WIFEXITED(ending->wait_status) &&
                      WEXITSTATUS(ending->wait_status) != 0;
    if (ending->discard) return GGS_ABSENT;
    if (attempt->recording->residency)
        json_object_object_add(ggs_experiment_machine(&attempt->experiment), "residency",
                               json_object_new_string(!facts->resident             ? "none"
                                                      : facts->resident_in_process ? "pagemap"
                                                                                   : "mincore"));
    ggs_observation_note(&attempt->observation, &attempt->experiment);
    ggs_observation_check_files(&attempt->observation, facts->files, facts->n_files);
    int status = ggs_experiment_complete(&attempt->experiment, ending->wait_status, facts, error);
    if (status == 0 && facts->seen) tell_blindness(facts, attempt);
    return status;
}

// Nothing of ggml was seen: an experiment that is empty, and why.
static int finish_empty(struct ending * ending) {
    struct attempt *       attempt = ending->attempt;
    struct ggs_spool_facts nothing = {0};
    struct ggs_error       error;
    int                    status = complete(ending, &nothing, &error);
    if (ending->discard) {
        ggs_experiment_discard(&attempt->experiment);
        return 1;
    }
    if (status != 0) fprintf(stderr, "ggscope: %s\n", error.text);
    remove_spool(attempt);
    tell_nothing_seen(attempt, ending->wait_status);
    return 1;
}

// Seals. Returns 0, or 1 if the recording is not what it should be.
static int finish(struct attempt * attempt, int wait_status) {
    const char *           directory = attempt->experiment.directory;
    struct ending          ending    = {.attempt = attempt, .wait_status = wait_status};
    struct ggs_error       error;
    struct ggs_seal_result result;
    bool                   quiet = attempt->recording->quiet;
    if (ggs_lock_is_written(attempt->place.lock)) {
        fprintf(
            stderr,
            "ggscope: a process that the program started is still being recorded; when it has ended: ggscope seal %s\n",
            directory);
        return 0;
    }
    ggs_lock_release(&attempt->place.lock);
    if (!ggs_spool_place_has_segments(directory)) return finish_empty(&ending);
    int status = ggs_seal_experiment(&attempt->experiment, quiet, complete, &ending, &result, &error);
    if (ending.discard) {
        ggs_experiment_discard(&attempt->experiment);
        return 1;
    }
    if (status != 0) {
        fprintf(stderr, "ggscope: %s; then run: ggscope seal %s\n", error.text, directory);
        return 1;
    }
    if (attempt->recording->follow) ggs_seal_followed(directory, quiet);
    if (!quiet && attempt->recording->summarise != NULL) attempt->recording->summarise(directory, stderr);
    return 0;
}

static int exit_status(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void on_started(void * context, pid_t program) {
    struct attempt * attempt = context;
    ggs_memory_conditions_join(&attempt->conditions, program);
    ggs_observation_start(&attempt->observation, program);
    if (attempt->control != NULL) ggs_control_begin(attempt->control);
    // A ring is never longer than its limit, and what it gives up must not be kept elsewhere.
    struct ggs_sealer_settings sealer = {.folder      = attempt->place.folder,
                                         .directory   = attempt->experiment.directory,
                                         .start_ns    = ggs_experiment_start_ns(&attempt->experiment),
                                         .follow      = attempt->recording->follow,
                                         .observation = &attempt->observation,
                                         .control     = attempt->control};
    bool ring = attempt->recording->policy != NULL && strcmp(attempt->recording->policy, "ring") == 0;
    if (attempt->control != NULL && !ring) attempt->sealer = ggs_sealer_start(&sealer);
}

// A recording that began paused is opened and closed by SIGUSR2; in all others it is the program's.
static bool keep_signal(void * context, int number) {
    struct attempt * attempt = context;
    if (number != SIGUSR2 || !attempt->recording->paused || attempt->control == NULL) return false;
    ggs_control_toggle(attempt->control);
    return true;
}

static void on_window(void * context, bool recording) {
    struct attempt * attempt = context;
    ggs_observation_pause(&attempt->observation, !recording);
}

// If systemd sets the limit, it starts the program.
static char ** words_to_run(const struct attempt * attempt, const char ** path) {
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
    if (n_prefix > 0) words[n_prefix] = (char *) attempt->program.path; // as we found it
    return words;
}

static int launch_program(struct attempt * attempt, struct ggs_launch_result * result, struct ggs_error * error) {
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

static int run(struct attempt * attempt, struct ggs_error * error) {
    struct ggs_launch_result result;
    // Protected pages fault by the thousand, and say nothing of the machine.
    bool quiet_faults                   = attempt->recording->no_faults || attempt->recording->prove;
    attempt->observation.faults         = attempt->recording->faults || !quiet_faults;
    attempt->observation.faults_asked   = attempt->recording->faults;
    attempt->observation.io             = attempt->recording->io;
    attempt->observation.folder         = attempt->place.folder;
    attempt->observation.max_bytes      = attempt->place.max_bytes;
    attempt->observation.paused         = attempt->recording->paused;
    struct ggs_control_settings windows = {.directory = attempt->experiment.directory,
                                           .folder    = attempt->place.folder,
                                           .paused    = attempt->recording->paused,
                                           .length_ns = attempt->recording->length_ns,
                                           .steps     = attempt->recording->steps,
                                           .requests  = attempt->recording->requests,
                                           .quiet     = attempt->recording->quiet,
                                           .changed   = on_window,
                                           .context   = attempt};
    struct ggs_busy             busy;
    ggs_busy_begin(&busy);
    int status = ggs_control_open(&attempt->control, &windows, error);
    if (status == 0) status = launch_program(attempt, &result, error);
    ggs_sealer_stop(attempt->sealer);
    ggs_control_close(attempt->control);
    attempt->control = NULL;
    ggs_observation_stop(&attempt->observation);
    ggs_memory_conditions_end(&attempt->conditions);
    if (status != 0) {
        ggs_lock_release(&attempt->place.lock);
        ggs_experiment_discard(&attempt->experiment);
        return -1;
    }
    ggs_busy_note(&busy, ggs_experiment_machine(&attempt->experiment));
    status = ggs_experiment_find(&attempt->experiment, error);
    if (status != 0) {
        ggs_lock_release(&attempt->place.lock);
        ggs_spool_remove(attempt->place.folder, NULL);
        return -1;
    }
    ggs_memory_conditions_note_end(&attempt->conditions, ggs_experiment_machine(&attempt->experiment));
    // The reader of our messages may be gone; the recording is sealed all the same.
    signal(SIGPIPE, SIG_IGN);
    ggs_experiment_stop_clock(&attempt->experiment);
    int missing = result.stdout_errno != 0 ? result.stdout_errno : result.stderr_errno;
    if (missing != 0)
        fprintf(stderr, "ggscope: the copies of the program's output in %s are not whole: %s\n",
                attempt->experiment.directory, strerror(missing));
    if (result.passed_errno != 0)
        fprintf(stderr, "ggscope: not all of the program's output could be written: %s\n",
                strerror(result.passed_errno));
    bool limited = ggs_memory_conditions_explain(&attempt->conditions, result.wait_status);
    if (WIFSIGNALED(result.wait_status) && !limited)
        fprintf(stderr, "ggscope: the program was ended by signal %d (%s)\n", WTERMSIG(result.wait_status),
                strsignal(WTERMSIG(result.wait_status)));
    int own    = finish(attempt, result.wait_status);
    int theirs = exit_status(result.wait_status);
    if (theirs != 0) return theirs;
    return own == 0 && result.passed_errno != 0 ? 1 : own;
}

static void release(struct attempt * attempt) {
    ggs_memory_conditions_end(&attempt->conditions);
    for (int i = 0; i < 2; i++) {
        if (attempt->files[i] >= 0) close(attempt->files[i]);
    }
    ggs_environment_release(&attempt->environment);
    ggs_lock_release(&attempt->place.lock);
    ggs_experiment_release(&attempt->experiment);
}

// If one of 0, 1 and 2 is closed, the next file that is opened would take its place, and the program's output with it.
static void open_standard_files(void) {
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

int ggs_recording_make(const struct ggs_recording * recording, char * directory, size_t size) {
    struct ggs_error error;
    struct attempt   attempt = {
          .recording = recording, .files = {-1, -1}, .experiment = {.lock = -1}, .place = {.lock = -1}};
    if (directory != NULL) directory[0] = '\0';
    open_standard_files();
    int status = check(&attempt, &error);
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
