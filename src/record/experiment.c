#include "record/experiment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/secrets.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/system/ticks.h"
#include "base/uuid.h"
#include "record/experiment-files.h"
#include "record/host.h"
#include "record/model-files.h"
#include "record/spool/engine-line.h"
#include "record/spool/place.h"
#include "record/surroundings.h"
#include "trace/seal/part.h"
#include "trace/spool-reader.h"

bool ggs_experiment_is_one(const char * directory) {
    return ggs_experiment_files_hold(directory, "trace.ggs") ||
           ggs_experiment_files_hold(directory, "experiment.json") || ggs_experiment_files_hold(directory, "spool") ||
           ggs_experiment_files_are_aside(directory);
}

// ---- identity and time ----

static int make_id(struct ggs_experiment_json * experiment, struct ggs_error * error) {
    uint8_t uuid[16];
    if (!ggs_uuid_make(uuid)) return ggs_fail_errno(error, "cannot get random bytes for an id");
    ggs_uuid_format(experiment->id, uuid);
    return 0;
}

void ggs_experiment_uuid(const struct ggs_experiment_json * experiment, uint8_t uuid[16]) {
    if (!ggs_uuid_parse(experiment->id, uuid)) memset(uuid, 0, 16);
}

struct json_object * ggs_experiment_utc(uint64_t realtime_ns) {
    char      day[32], text[48];
    time_t    seconds = (time_t) (realtime_ns / 1000000000u);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, sizeof(text), "%s.%03uZ", day, (unsigned) (realtime_ns / 1000000u % 1000u));
    return json_object_new_string(text);
}

// ---- the directory ----

// Makes missing parents of the experiment's directory, and remembers how much of the path existed.
static int make_parents(struct ggs_experiment_json * experiment, struct ggs_error * error) {
    char copy[PATH_MAX];
    snprintf(copy, sizeof(copy), "%s", experiment->directory);
    experiment->existing = 1;
    for (char * slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash    = '\0';
        bool made = mkdir(copy, 0777) == 0;
        if (!made && errno != EEXIST) return ggs_fail_errno(error, "cannot create the directory %s", copy);
        if (!made) experiment->existing = strlen(copy);
        *slash = '/';
    }
    return 0;
}

static int absolute(struct ggs_experiment_json * experiment, const char * path, struct ggs_error * error) {
    char here[PATH_MAX] = "";
    if (path[0] != '/' && getcwd(here, sizeof(here)) == NULL)
        return ggs_fail_errno(error, "cannot find the working directory");
    int length = snprintf(experiment->directory, sizeof(experiment->directory), "%s%s%s", here,
                          here[0] == '\0' ? "" : "/", path);
    if (length >= (int) sizeof(experiment->directory))
        return ggs_fail(error, GGS_USAGE, "the path %s is too long", path);
    while (length > 1 && experiment->directory[length - 1] == '/') experiment->directory[--length] = '\0';
    return 0;
}

static int is_empty(const char * directory, bool * empty, struct ggs_error * error) {
    DIR * folder = opendir(directory);
    if (folder == NULL) return ggs_fail_errno(error, "cannot read the folder %s", directory);
    const struct dirent * entry;
    *empty = true;
    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) *empty = false;
    }
    closedir(folder);
    return 0;
}

// A program whose ggscope was killed keeps recording, and so do programs that it started.
static bool is_used(const char * directory, bool (*asks)(const char * directory)) {
    char   pattern[PATH_MAX];
    glob_t found;
    bool   live = asks(directory);
    ggs_experiment_files_path(pattern, directory, "process-*");
    if (live || glob(pattern, GLOB_ONLYDIR, NULL, &found) != 0) return live;
    for (size_t i = 0; i < found.gl_pathc; i++) live = live || asks(found.gl_pathv[i]);
    globfree(&found);
    return live;
}

// For a ggscope that was killed while it replaced the experiment: the new one stays if anything was
// recorded.
static void settle(const char * directory) {
    if (ggs_experiment_files_hold(directory, "trace.ggs") || ggs_spool_place_has_segments(directory))
        ggs_experiment_files_remove_aside(directory);
    else
        ggs_experiment_files_put_back(directory);
}

static int empty_existing(const char * directory, bool force, struct ggs_error * error) {
    bool empty  = false;
    int  status = is_empty(directory, &empty, error);
    if (status != 0 || empty) return status;
    bool live = is_used(directory, ggs_spool_place_is_live);
    if (force && !live) settle(directory);
    bool experiment =
        ggs_experiment_files_hold(directory, "experiment.json") || ggs_experiment_files_hold(directory, "trace.ggs");
    if (!force)
        return ggs_fail(error, GGS_USAGE, "%s exists already and is not empty: choose another directory%s", directory,
                        experiment ? ", or replace this experiment with --force" : "");
    if (!experiment)
        return ggs_fail(error, GGS_USAGE, "%s is not empty and no experiment: --force replaces only experiments",
                        directory);
    if (live) return ggs_fail(error, GGS_USAGE, "%s is being recorded to: it cannot be replaced now", directory);
    return ggs_experiment_files_set_aside(directory, error);
}

// Makes the directory if it is missing, and claims it. Returns GGS_ABSENT if its maker removed it.
static int make_and_claim(struct ggs_experiment_json * experiment, bool must_make, struct ggs_error * error) {
    experiment->made = mkdir(experiment->directory, 0700) == 0;
    if (!experiment->made && (must_make || errno != EEXIST))
        return ggs_fail_errno(error, "cannot create the directory %s", experiment->directory);
    experiment->lock = ggs_lock_acquire(experiment->directory);
    if (experiment->lock >= 0) return 0;
    if (errno == EWOULDBLOCK)
        return ggs_fail(error, GGS_USAGE, "%s is being recorded to: choose another directory", experiment->directory);
    if (errno == ESTALE || errno == ENOENT) return ggs_fail(error, GGS_ABSENT, "%s was removed", experiment->directory);
    return ggs_fail_errno(error, "cannot open the directory %s", experiment->directory);
}

static int create_named(struct ggs_experiment_json * experiment, const char * path, bool force,
                        struct ggs_error * error) {
    int status = absolute(experiment, path, error);
    if (status == 0) status = make_parents(experiment, error);
    if (status != 0) return status;
    for (int attempts = 0; attempts < 100; attempts++) {
        status = make_and_claim(experiment, false, error);
        if (status != GGS_ABSENT) break;
    }
    struct stat info;
    if (status == GGS_ABSENT && lstat(experiment->directory, &info) == 0 && S_ISLNK(info.st_mode))
        return ggs_fail(error, GGS_USAGE, "%s is a link that leads nowhere", experiment->directory);
    if (status == 0) status = empty_existing(experiment->directory, force, error);
    if (status == 0 && access(experiment->directory, W_OK | X_OK) != 0)
        status = ggs_fail_errno(error, "cannot write to %s", path);
    if (status != 0) ggs_lock_release(&experiment->lock);
    return status;
}

// PARENT/<date-time>-<subject>, with a number appended if that exists.
static int create_unnamed(struct ggs_experiment_json * experiment, const char * parent, const char * subject,
                          struct ggs_error * error) {
    char      when[32], path[GGS_EXPERIMENT_PATH], suffix[16] = "";
    time_t    now = time(NULL);
    struct tm parts;
    localtime_r(&now, &parts);
    strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &parts);
    for (int i = 2;; i++) {
        if (snprintf(path, sizeof(path), "%s/%s-%.100s%s", parent, when, subject, suffix) >= (int) sizeof(path))
            return ggs_fail(error, GGS_USAGE, "the path %s is too long", parent);
        int status = absolute(experiment, path, error);
        if (status == 0) status = make_parents(experiment, error);
        if (status != 0) return status;
        status = make_and_claim(experiment, true, error);
        if (status == 0) return 0;
        if (access(experiment->directory, F_OK) != 0 || i == 10000) return status;
        snprintf(suffix, sizeof(suffix), "-%d", i);
    }
}

int ggs_experiment_create(struct ggs_experiment_json * experiment, const struct ggs_experiment_place * place,
                          struct ggs_error * error) {
    *experiment = (struct ggs_experiment_json){.lock = -1};
    int status  = make_id(experiment, error);
    if (status != 0) return status;
    if (place->directory != NULL) return create_named(experiment, place->directory, place->force, error);
    return create_unnamed(experiment, place->parent, place->subject, error);
}

void ggs_experiment_discard(struct ggs_experiment_json * experiment) {
    char path[GGS_EXPERIMENT_PATH];
    if (is_used(experiment->directory, ggs_spool_place_is_written)) return;
    if (ggs_experiment_files_put_back(experiment->directory)) return;
    ggs_experiment_files_remove(experiment->directory, NULL);
    memcpy(path, experiment->directory, sizeof(path));
    while (experiment->made && strlen(path) > experiment->existing && rmdir(path) == 0) *strrchr(path, '/') = '\0';
}

int ggs_experiment_find(struct ggs_experiment_json * experiment, struct ggs_error * error) {
    char        link[64], path[GGS_EXPERIMENT_PATH];
    struct stat held, there;
    if (experiment->lock < 0 || fstat(experiment->lock, &held) != 0) return 0;
    if (stat(experiment->directory, &there) == 0 && there.st_dev == held.st_dev && there.st_ino == held.st_ino)
        return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", experiment->lock);
    ssize_t length = held.st_nlink == 0 ? -1 : readlink(link, path, sizeof(path) - 1);
    if (length > 0 && length < (ssize_t) sizeof(path) - 1) {
        path[length] = '\0';
        if (stat(path, &there) == 0 && there.st_dev == held.st_dev && there.st_ino == held.st_ino) {
            memcpy(experiment->directory, path, sizeof(path));
            return 0;
        }
    }
    return ggs_fail(error, GGS_ABSENT, "%s was removed while it was being recorded to: nothing is left of it",
                    experiment->directory);
}

bool ggs_experiment_is_claimed(const char * directory) {
    return ggs_lock_is_held(directory);
}

int ggs_experiment_claim(struct ggs_experiment_json * experiment, struct ggs_error * error) {
    const struct timespec moment    = {.tv_nsec = 20000000};
    const char *          directory = experiment->directory;
    for (;;) {
        experiment->lock = ggs_lock_acquire(directory);
        if (experiment->lock < 0 && errno != EWOULDBLOCK)
            return ggs_fail_errno(error, "cannot open the experiment %s", directory);
        bool recording = is_used(directory, ggs_spool_place_is_live) ||
                         (experiment->lock < 0 && !ggs_experiment_files_hold(directory, "spool") &&
                          !ggs_experiment_files_hold(directory, "trace.ggs"));
        if (experiment->lock >= 0 && !recording) return 0;
        ggs_lock_release(&experiment->lock);
        // A recording also holds the spool, except before the spool exists; sealing does not.
        if (recording) return ggs_fail(error, GGS_USAGE, "%s is still being recorded: wait for its end", directory);
        nanosleep(&moment, NULL);
    }
}

// ---- experiment.json ----

int ggs_experiment_write(const struct ggs_experiment_json * experiment, struct ggs_error * error) {
    char              path[PATH_MAX];
    struct ggs_output output;
    ggs_experiment_files_path(path, experiment->directory, "experiment.json");
    int status = ggs_output_open(&output, path, error);
    if (status != 0) return status;
    fchmod(fileno(output.file), 0600);
    int          flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE;
    const char * text  = json_object_to_json_string_ext(experiment->json, flags);
    if (text == NULL) {
        ggs_output_discard(&output);
        return ggs_fail_memory(error);
    }
    fprintf(output.file, "%s\n", text);
    return ggs_output_commit(&output, error);
}

static void set(struct ggs_experiment_json * experiment, const char * key, struct json_object * value) {
    json_object_object_add(experiment->json, key, value);
}

static void set_new(struct ggs_experiment_json * experiment) {
    experiment->json = json_object_new_object();
    set(experiment, "experiment_id", json_object_new_string(experiment->id));
    set(experiment, "ggscope_version", json_object_new_string(GGSCOPE_VERSION));
    set(experiment, "state", json_object_new_string("recording"));
}

// Words that look like secrets are hidden.
static struct json_object * command_json(char * const * command, unsigned * hidden) {
    struct ggs_secrets   secrets = {0};
    struct json_object * words   = json_object_new_array();
    for (; *command != NULL; command++) {
        char * word = ggs_secrets_hide(&secrets, *command);
        json_object_array_add(words, ggs_json_text(word == NULL ? GGS_SECRET : word));
        free(word);
    }
    *hidden = secrets.hidden;
    return words;
}

int ggs_experiment_begin(struct ggs_experiment_json * experiment, const struct ggs_experiment_start * start,
                         struct ggs_error * error) {
    char here[PATH_MAX];
    set_new(experiment);
    uint64_t now = ggs_clock_now();
    set(experiment, "start_utc", ggs_experiment_utc(ggs_ticks_utc(now)));
    set(experiment, "start_monotonic_ns", json_object_new_uint64(now));
    set(experiment, "command", command_json(start->command, &experiment->hidden));
    if (getcwd(here, sizeof(here)) != NULL) set(experiment, "working_directory", ggs_json_text(here));
    set(experiment, "environment", ggs_environment_json(environ));
    set(experiment, "host", ggs_host_json());
    set(experiment, "model", start->model == NULL ? NULL : ggs_json_text(start->model));
    struct json_object * settings = json_object_new_object();
    json_object_object_add(settings, "max_size", json_object_new_uint64(start->max_size));
    json_object_object_add(settings, "policy", ggs_json_text(start->policy));
    json_object_object_add(settings, "follow", json_object_new_boolean(start->follow));
    json_object_object_add(settings, "prove", json_object_new_boolean(start->prove));
    json_object_object_add(settings, "stream", json_object_new_boolean(start->stream));
    json_object_object_add(settings, "values", start->values == NULL ? NULL : ggs_json_text(start->values));
    json_object_object_add(settings, "spool", ggs_json_text(start->spool));
    set(experiment, "settings", settings);
    set(experiment, "machine", start->machine);
    set(experiment, "conditions", ggs_surroundings_begin(start->model));
    set(experiment, "name", ggs_json_text(start->name != NULL ? start->name : ggs_file_name(experiment->directory)));
    set(experiment, "group", start->group == NULL ? NULL : ggs_json_text(start->group));
    return ggs_experiment_write(experiment, error);
}

void ggs_experiment_setting(struct ggs_experiment_json * experiment, const char * key, struct json_object * value) {
    struct json_object * settings;
    if (!json_object_object_get_ex(experiment->json, "settings", &settings))
        set(experiment, "settings", settings = json_object_new_object());
    json_object_object_add(settings, key, value);
}

static const char * string_of(const struct ggs_experiment_json * experiment, const char * key) {
    struct json_object * value;
    if (!json_object_object_get_ex(experiment->json, key, &value) || !json_object_is_type(value, json_type_string))
        return NULL;
    return json_object_get_string(value);
}

int ggs_experiment_open(struct ggs_experiment_json * experiment, const char * directory, struct ggs_error * error) {
    char    path[PATH_MAX];
    uint8_t uuid[16];
    *experiment = (struct ggs_experiment_json){.lock = -1};
    int status  = absolute(experiment, directory, error);
    if (status != 0) return status;
    ggs_experiment_files_path(path, experiment->directory, "experiment.json");
    experiment->json = ggs_json_file_read(path);
    if (experiment->json != NULL && json_object_is_type(experiment->json, json_type_object) &&
        string_of(experiment, "experiment_id") != NULL &&
        ggs_uuid_parse(string_of(experiment, "experiment_id"), uuid)) {
        snprintf(experiment->id, sizeof(experiment->id), "%s", string_of(experiment, "experiment_id"));
        return 0;
    }
    ggs_experiment_release(experiment);
    status = make_id(experiment, error);
    if (status == 0) set_new(experiment);
    return status;
}

void ggs_experiment_release(struct ggs_experiment_json * experiment) {
    json_object_put(experiment->json);
    experiment->json = NULL;
    ggs_lock_release(&experiment->lock);
}

uint64_t ggs_experiment_start_ns(const struct ggs_experiment_json * experiment) {
    struct json_object * value;
    if (!json_object_object_get_ex(experiment->json, "start_monotonic_ns", &value)) return 0;
    return json_object_get_uint64(value);
}

const char * ggs_experiment_state(const struct ggs_experiment_json * experiment) {
    const char * state = string_of(experiment, "state");
    return state == NULL ? "" : state;
}

static struct json_object * object_of(struct ggs_experiment_json * experiment, const char * key) {
    struct json_object * object;
    if (json_object_object_get_ex(experiment->json, key, &object) && json_object_is_type(object, json_type_object))
        return object;
    object = json_object_new_object();
    set(experiment, key, object);
    return object;
}

struct json_object * ggs_experiment_machine(struct ggs_experiment_json * experiment) {
    return object_of(experiment, "machine");
}

struct json_object * ggs_experiment_conditions(struct ggs_experiment_json * experiment) {
    return object_of(experiment, "conditions");
}

// ---- completion ----

static struct json_object * value_json(const struct ggs_engine_line * line) {
    char *               text  = strndup(line->value, line->value_length);
    struct json_object * value = text == NULL ? NULL : ggs_json_text(text);
    free(text);
    return value;
}

static bool is_key(const struct ggs_engine_line * line, const char * key) {
    return strlen(key) == line->key_length && memcmp(line->key, key, line->key_length) == 0;
}

// Finds the library that computes on the CPU among those that the engine may choose from:
// "libggml-cpu-haswell.so".
static void add_cpu_library(struct json_object * engine, struct json_object * path) {
    const char * name = path == NULL ? "" : ggs_file_name(json_object_get_string(path));
    if (strncmp(name, "libggml-cpu", 11) == 0) json_object_object_add(engine, "cpu_library", ggs_json_text(name));
}

static void add_engine_fact(struct json_object * engine, const struct ggs_engine_line * line) {
    static const char * const keys[] = {"ggml_version", "ggml_commit", "llama_version", "sanitizer", "optimised"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (is_key(line, keys[i])) json_object_object_add(engine, keys[i], value_json(line));
}

// {"ggml_version", "ggml_commit", "llama_version", "sanitizer", "optimised", "cpu_library",
// "libraries": [{"path", "build_id"}]}
static struct json_object * engine_json(const char * text) {
    struct json_object *   engine    = json_object_new_object();
    struct json_object *   libraries = json_object_new_array();
    struct json_object *   library   = NULL;
    struct ggs_engine_line line;
    while ((text = ggs_engine_line(text, &line)) != NULL) {
        if (is_key(&line, "library")) {
            library                   = json_object_new_object();
            struct json_object * path = value_json(&line);
            json_object_object_add(library, "path", path);
            json_object_array_add(libraries, library);
            add_cpu_library(engine, path);
        } else if (is_key(&line, "build_id")) {
            if (library != NULL) json_object_object_add(library, "build_id", value_json(&line));
        } else {
            add_engine_fact(engine, &line);
        }
    }
    json_object_object_add(engine, "libraries", libraries);
    return engine;
}

// A program that was started without ggscope wrote its command line to the journal: \n and \\ stand
// for line breaks and backslashes.
static struct json_object * argument_json(const struct ggs_engine_line * line) {
    char *text = strndup(line->value, line->value_length), *to = text;
    for (const char * from = text; from != NULL && *from != '\0'; from++) {
        if (*from == '\\' && from[1] != '\0')
            from++, *to++ = *from == 'n' ? '\n' : *from;
        else
            *to++ = *from;
    }
    if (text != NULL) *to = '\0';
    struct json_object * value = text == NULL ? NULL : ggs_json_text(text);
    free(text);
    return value;
}

static void set_start_from(struct ggs_experiment_json * experiment, const struct ggs_spool_facts * facts) {
    struct json_object *   command = json_object_new_array();
    struct ggs_engine_line line;
    for (const char * at = facts->engine; (at = ggs_engine_line(at, &line)) != NULL;) {
        if (is_key(&line, "argument")) json_object_array_add(command, argument_json(&line));
        if (is_key(&line, "directory")) set(experiment, "working_directory", value_json(&line));
    }
    set(experiment, "start_utc", ggs_experiment_utc(facts->realtime_ns));
    set(experiment, "start_monotonic_ns", json_object_new_uint64(facts->monotonic_ns));
    set(experiment, "command", command);
    struct json_object * host = ggs_host_json();
    // Sealed later: is it still the same boot? Both clocks then advanced together.
    int64_t apart = (int64_t) (ggs_clock_read(CLOCK_REALTIME) - ggs_clock_now()) -
                    (int64_t) (facts->realtime_ns - facts->monotonic_ns);
    if (apart < -1000000000 || apart > 1000000000) json_object_object_add(host, "boot_id", NULL);
    set(experiment, "host", host);
    set(experiment, "model", facts->n_files > 0 ? ggs_json_text(facts->files[0]) : NULL);
}

static struct json_object * losses_json(const uint64_t * losses) {
    struct json_object * list = json_object_new_array();
    for (unsigned reason = 1; reason < GGS_LOSS_COUNT; reason++) {
        if (losses[reason] == 0) continue;
        struct json_object * loss = json_object_new_object();
        const char *         name = ggs_loss_name(reason);
        json_object_object_add(loss, "reason", json_object_new_string(name == NULL ? "unknown" : name));
        json_object_object_add(loss, "count", json_object_new_uint64(losses[reason]));
        json_object_array_add(list, loss);
    }
    return list;
}

static void set_end(struct ggs_experiment_json * experiment, int wait_status, const struct ggs_spool_facts * facts) {
    bool interrupted = wait_status == GGS_END_UNKNOWN ? !facts->ended : WIFSIGNALED(wait_status);
    set(experiment, "state", json_object_new_string(!facts->seen ? "empty" : interrupted ? "interrupted" : "complete"));
    set(experiment, "exit_status", NULL);
    set(experiment, "signal", NULL);
    if (wait_status == GGS_END_UNKNOWN) return;
    if (WIFEXITED(wait_status)) set(experiment, "exit_status", json_object_new_int(WEXITSTATUS(wait_status)));
    if (!WIFSIGNALED(wait_status)) return;
    const char * name = sigabbrev_np(WTERMSIG(wait_status));
    char         text[32];
    snprintf(text, sizeof(text), "SIG%s", name == NULL ? "?" : name);
    set(experiment, "signal", json_object_new_string(text));
}

void ggs_experiment_stop_clock(struct ggs_experiment_json * experiment) {
    uint64_t start = ggs_experiment_start_ns(experiment), now = ggs_clock_now();
    set(experiment, "end_utc", ggs_experiment_utc(ggs_clock_read(CLOCK_REALTIME)));
    set(experiment, "duration_ns", json_object_new_uint64(now > start ? now - start : 0));
}

// The program may use fewer cores than ggscope: taskset started it.
static void set_usable_cores(struct ggs_experiment_json * experiment, const struct ggs_spool_facts * facts) {
    struct json_object *   host = json_object_object_get(experiment->json, "host");
    struct ggs_engine_line line;
    for (const char * at = facts->engine; host != NULL && (at = ggs_engine_line(at, &line)) != NULL;) {
        long cores = is_key(&line, "usable_cores") ? strtol(line.value, NULL, 10) : 0;
        if (cores > 0 && cores < json_object_get_int(json_object_object_get(host, "usable_cores")))
            json_object_object_add(host, "usable_cores", json_object_new_int((int) cores));
    }
}

int ggs_experiment_complete(struct ggs_experiment_json * experiment, int wait_status,
                            const struct ggs_spool_facts * facts, struct ggs_error * error) {
    if (ggs_experiment_start_ns(experiment) == 0 && facts->seen) set_start_from(experiment, facts);
    set_end(experiment, wait_status, facts);
    if (facts->seen) {
        set(experiment, "process_id", json_object_new_uint64(facts->pid));
        set(experiment, "executable", ggs_json_text(facts->executable));
        set(experiment, "engine", engine_json(facts->engine));
        set_usable_cores(experiment, facts);
        set(experiment, "model_files", ggs_model_files_json(facts->files, facts->n_files));
        if (json_object_object_get(experiment->json, "model") == NULL && facts->n_files > 0)
            set(experiment, "model", ggs_json_text(facts->files[0])); // not on the command line
        set(experiment, "threads", json_object_new_uint64(facts->threads));
        set(experiment, "losses", losses_json(facts->losses));
    }
    return ggs_experiment_write(experiment, error);
}
