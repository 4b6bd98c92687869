#include "record/spool/joining.h"

#include <glob.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "record/experiment-files.h"
#include "record/experiment.h"
#include "record/host.h"
#include "record/sealer.h"
#include "trace/schema.h"

// Further data of a source.
struct ggs_joining_private {
    char *               path;
    char *               host;
    struct json_object * json; // its experiment.json, or an empty object
};

static const char * text_of(struct json_object * json, const char * key) {
    struct json_object * value;
    if (!json_object_object_get_ex(json, key, &value) || !json_object_is_type(value, json_type_string)) return "";
    return json_object_get_string(value);
}

static struct json_object * member(struct json_object * json, const char * key) {
    struct json_object * value;
    return json_object_object_get_ex(json, key, &value) ? json_object_get(value) : NULL;
}

// ---- sources ----

static int add(struct ggs_joined * joined, const char * path, const char * host, size_t host_length,
               struct ggs_error * error) {
    uint64_t                   n      = joined->n;
    struct ggs_join_source     source = {.boot = "", .host = "", .experiment = ""};
    struct ggs_joining_private own = {.path = strdup(path), .host = host == NULL ? NULL : strndup(host, host_length)};
    struct ggs_join_source *   sources = realloc(joined->sources, (n + 1) * sizeof(*sources));
    if (sources != NULL) joined->sources = sources;
    struct ggs_joining_private * owns = realloc(joined->own, (n + 1) * sizeof(*owns));
    if (owns != NULL) joined->own = owns;
    if (sources == NULL || owns == NULL || own.path == NULL) {
        free(own.path);
        free(own.host);
        return ggs_fail_memory(error);
    }
    int status         = ggs_reader_open(&source.reader, path, error);
    joined->own[n]     = own;
    joined->sources[n] = source;
    joined->n++;
    if (status < 0) return status;
    if (ggs_reader_warning(source.reader) != NULL)
        return ggs_fail(error, GGS_FORMAT, "part %llu is cut off: %s; join needs whole recordings",
                        (unsigned long long) n + 1, ggs_reader_warning(source.reader));
    const char *         text = ggs_reader_experiment(source.reader);
    struct json_object * json = json_tokener_parse(text);
    if (json == NULL || !json_object_is_type(json, json_type_object)) {
        json_object_put(json);
        json = json_object_new_object();
    }
    joined->own[n].json = json;
    return 0;
}

static bool is_directory(const char * path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// ---- sources that were joined ----

// Returns the path of a recording that another one was joined from; NULL if it is gone. `row` was
// written by source_json.
static const char * path_of_source(struct json_object * row) {
    const char *        path = text_of(row, "path");
    struct ggs_reader * reader;
    if (path[0] == '\0' || ggs_reader_open(&reader, path, NULL) < 0) return NULL;
    struct json_object * json = json_tokener_parse(ggs_reader_experiment(reader));
    bool same = json != NULL && strcmp(text_of(json, "experiment_id"), text_of(row, "experiment_id")) == 0;
    json_object_put(json);
    ggs_reader_close(reader);
    return same ? path : NULL;
}

// Replaces the last recording, if it was joined and its parts still exist, by these parts. Joining
// a joined experiment with others thus equals joining all parts. Host names stay, numbers are
// assigned again.
static int split_joined(struct ggs_joined * joined, struct ggs_error * error) {
    struct ggs_joining_private last = joined->own[joined->n - 1];
    struct json_object *       list, *row;
    if (!json_object_object_get_ex(last.json, "joined", &list) || !json_object_is_type(list, json_type_array)) return 0;
    size_t n = json_object_array_length(list);
    for (size_t i = 0; i < n; i++)
        if (path_of_source(json_object_array_get_idx(list, i)) == NULL) return 0; // refused as a whole
    ggs_reader_close(joined->sources[--joined->n].reader);
    int status = 0, number, end;
    for (size_t i = 0; status == 0 && i < n; i++) {
        row                = json_object_array_get_idx(list, i);
        const char * host  = text_of(row, "host");
        bool         named = host[0] != '\0' && !(sscanf(host, "host %d%n", &number, &end) == 1 && host[end] == '\0');
        status             = add(joined, text_of(row, "path"), named ? host : NULL, strlen(host), error);
    }
    json_object_put(last.json);
    free(last.path);
    free(last.host);
    return status;
}

// Adds the experiment, sealed if necessary, and those of followed programs.
static int add_all(struct ggs_joined * joined, const char * path, const char * host, size_t host_length,
                   struct ggs_error * error) {
    char   pattern[PATH_MAX];
    glob_t found;
    bool   directory = is_directory(path);
    int    status    = directory ? ggs_sealer_recover(path, true, NULL, error) : 0;
    bool   any       = status == 0;
    // A script that runs programs computes nothing by itself.
    if (directory && snprintf(pattern, sizeof(pattern), "%s/process-*", path) < (int) sizeof(pattern) &&
        glob(pattern, GLOB_ONLYDIR, NULL, &found) == 0) {
        if (status == GGS_ABSENT) status = 0;
        ggs_sealer_recover_followed(path, true);
        if (any && status == 0) status = add(joined, path, host, host_length, error);
        for (size_t i = 0; status == 0 && i < found.gl_pathc; i++) {
            char trace[PATH_MAX];
            if (snprintf(trace, sizeof(trace), "%s/trace.ggs", found.gl_pathv[i]) < (int) sizeof(trace) &&
                access(trace, R_OK) == 0)
                status = add(joined, found.gl_pathv[i], host, host_length, error);
        }
        globfree(&found);
        return status;
    }
    if (status == 0) status = add(joined, path, host, host_length, error);
    return status < 0 ? status : split_joined(joined, error);
}

static int add_inputs(struct ggs_joined * joined, const struct ggs_joining * joining, struct ggs_error * error) {
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < joining->n; i++) {
        const char * input  = joining->inputs[i];
        const char * equals = access(input, F_OK) == 0 ? NULL : strchr(input, '=');
        if (equals == input) return ggs_fail(error, GGS_USAGE, "%s: the name of the host before = is empty", input);
        if (equals != NULL && equals[1] == '\0')
            return ggs_fail(error, GGS_USAGE, "%s: the recording after = is missing", input);
        status = equals == NULL ? add_all(joined, input, NULL, 0, error)
                                : add_all(joined, equals + 1, input, (size_t) (equals - input), error);
    }
    if (status == 0 && joined->n < 2)
        return ggs_fail(error, GGS_USAGE, "%s is one recording: name at least two, or one whose programs were followed",
                        joining->inputs[0]);
    return status;
}

// Sets pointers, once the arrays no longer grow.
static void describe(struct ggs_joined * joined) {
    for (uint32_t i = 0; i < joined->n; i++) {
        struct ggs_join_source * source = &joined->sources[i];
        struct json_object *     json   = joined->own[i].json, *host, *start;
        source->path                    = joined->own[i].path;
        source->experiment              = text_of(json, "experiment_id");
        if (json_object_object_get_ex(json, "host", &host)) source->boot = text_of(host, "boot_id");
        if (json_object_object_get_ex(json, "start_monotonic_ns", &start))
            source->start_monotonic_ns = json_object_get_uint64(start);
    }
}

// A machine has the name given to one of its recordings, else a number.
static int name_hosts(struct ggs_joined * joined, struct ggs_error * error) {
    for (uint32_t i = 0; i < joined->n; i++) {
        uint64_t machine = joined->sources[i].machine;
        uint32_t named   = 0;
        if (machine > joined->machines) joined->machines = machine;
        while (named < joined->n && (joined->sources[named].machine != machine || joined->own[named].host == NULL))
            named++;
        if (joined->own[i].host == NULL && named == joined->n &&
            asprintf(&joined->own[i].host, "host %llu", (unsigned long long) machine) < 0) {
            joined->own[i].host = NULL;
            return ggs_fail_memory(error);
        }
        joined->sources[i].host = joined->own[named < joined->n ? named : i].host;
    }
    return 0;
}

// ---- experiment.json ----

static struct json_object * natural(int64_t number) {
    return number < 0 ? NULL : json_object_new_int64(number);
}

static struct json_object * source_json(const struct ggs_join_source * source, struct json_object * json) {
    static const char * const kept[] = {"experiment_id", "command",     "executable", "process_id",
                                        "state",         "exit_status", "signal"};
    struct json_object *      row    = json_object_new_object();
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        json_object_object_add(row, kept[i], member(json, kept[i]));
    char * path = realpath(source->path, NULL);
    json_object_object_add(row, "path", path == NULL ? NULL : ggs_json_text(path));
    free(path);
    json_object_object_add(row, "host", ggs_json_text(source->host));
    json_object_object_add(row, "clock", json_object_new_string(ggs_clock_source_name(source->clock)));
    json_object_object_add(row, "offset_ns", json_object_new_int64(source->line.offset_ns));
    json_object_object_add(row, "drift_ppb", json_object_new_int64(source->line.drift_ppb));
    json_object_object_add(row, "error_ns", natural(source->line.error_ns));
    json_object_object_add(row, "graph_runs", json_object_new_uint64(source->runs));
    json_object_object_add(row, "matched_runs", json_object_new_uint64(source->matched));
    return row;
}

// The files of all models, each once.
static struct json_object * model_files(const struct ggs_joined * joined) {
    struct json_object * all = json_object_new_array();
    for (uint32_t i = 0; i < joined->n; i++) {
        struct json_object * list;
        if (!json_object_object_get_ex(joined->own[i].json, "model_files", &list) ||
            !json_object_is_type(list, json_type_array))
            continue;
        for (size_t k = 0; k < json_object_array_length(list); k++) {
            struct json_object * file  = json_object_array_get_idx(list, k);
            bool                 known = false;
            for (size_t m = 0; m < json_object_array_length(all) && !known; m++)
                known = json_object_equal(file, json_object_array_get_idx(all, m)) != 0;
            if (!known) json_object_array_add(all, json_object_get(file));
        }
    }
    return all;
}

static int64_t end_of(const struct ggs_joined * joined) {
    int64_t end = 0;
    for (uint32_t i = 0; i < joined->n; i++) {
        int64_t last = ggs_clock_line_map(&joined->sources[i].line, joined->sources[i].end_ns);
        if (last > end) end = last;
    }
    return end;
}

// That of the recording with the common clock, and what holds for all.
static struct json_object * joined_json(const struct ggs_joined * joined, const char * id) {
    const struct ggs_join_source * reference = &joined->sources[joined->join.reference];
    struct json_object *           json      = json_object_new_object();
    struct json_object *           list      = json_object_new_array();
    json_object_object_foreach(joined->own[joined->join.reference].json, key, value) {
        json_object_object_add(json, key, json_object_get(value));
    }
    int64_t end = end_of(joined), start = reference->wall_ns + joined->join.zero_ns;
    json_object_object_add(json, "experiment_id", json_object_new_string(id));
    json_object_object_add(json, "ggscope_version", json_object_new_string(GGSCOPE_VERSION));
    json_object_object_add(json, "start_utc", start <= 0 ? NULL : ggs_experiment_utc((uint64_t) start));
    json_object_object_add(json, "end_utc", start <= 0 ? NULL : ggs_experiment_utc((uint64_t) (start + end)));
    json_object_object_add(json, "start_monotonic_ns",
                           json_object_new_uint64(reference->start_monotonic_ns + (uint64_t) joined->join.zero_ns));
    json_object_object_add(json, "duration_ns", json_object_new_int64(end));
    json_object_object_add(json, "model_files", model_files(joined));
    for (uint32_t i = 0; i < joined->n; i++)
        json_object_array_add(list, source_json(&joined->sources[i], joined->own[i].json));
    json_object_object_add(json, "joined", list);
    return json;
}

// ---- interface ----

static int write_experiment(struct ggs_joined * joined, struct ggs_experiment_json * experiment,
                            struct ggs_error * error) {
    char    path[PATH_MAX];
    uint8_t uuid[16];
    experiment->json = joined_json(joined, experiment->id);
    ggs_experiment_uuid(experiment, uuid);
    snprintf(path, sizeof(path), "%s/trace.ggs", experiment->directory);
    int          flags  = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE;
    const char * text   = json_object_to_json_string_ext(experiment->json, flags);
    int          status = text == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0) status = ggs_join_write(&joined->join, path, uuid, text, error);
    return status < 0 ? status : ggs_experiment_write(experiment, error);
}

int ggs_joined_make(struct ggs_joined * joined, const struct ggs_joining * joining, struct ggs_error * error) {
    *joined    = (struct ggs_joined){0};
    int status = add_inputs(joined, joining, error);
    if (status < 0) return status;
    describe(joined);
    status = ggs_join_open(&joined->join, joined->sources, joined->n, error);
    if (status == 0) status = name_hosts(joined, error);
    if (status < 0) return status;
    struct ggs_experiment_json  experiment = {.lock = -1};
    struct ggs_experiment_place place      = {.directory = joining->output, .force = joining->force};
    status                                 = ggs_experiment_create(&experiment, &place, error);
    if (status == 0) {
        status = write_experiment(joined, &experiment, error);
        if (status < 0)
            ggs_experiment_discard(&experiment);
        else
            ggs_experiment_files_remove_aside(experiment.directory);
    }
    ggs_experiment_release(&experiment);
    return status;
}

void ggs_joined_release(struct ggs_joined * joined) {
    ggs_join_release(&joined->join);
    for (uint32_t i = 0; i < joined->n; i++) {
        ggs_reader_close(joined->sources[i].reader);
        json_object_put(joined->own[i].json);
        free(joined->own[i].path);
        free(joined->own[i].host);
    }
    free(joined->sources);
    free(joined->own);
    *joined = (struct ggs_joined){0};
}
