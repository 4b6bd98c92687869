// ggscope control DIR start | stop | toggle | status | mark TEXT | snapshot: controls a live
// recording.
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "record/control.h"
#include "record/spool/live.h"
#include "record/spool/place.h"

struct arguments {
    struct ggs_input input;
    const char *     output;
};

// ---- snapshots ----

// Creates OUT, or the first of DIR-snapshot-1, -2, ... that does not exist.
static int make_directory(const char * directory, const char * wanted, char path[PATH_MAX - 32],
                          struct ggs_error * error) {
    enum { MOST = 10000 };
    int length = (int) strlen(directory);
    while (length > 1 && directory[length - 1] == '/') length--;
    for (int i = 1; i < MOST; i++) {
        int n = wanted != NULL ? snprintf(path, PATH_MAX - 32, "%s", wanted)
                               : snprintf(path, PATH_MAX - 32, "%.*s-snapshot-%d", length, directory, i);
        if (n >= PATH_MAX - 32) return ggs_fail(error, GGS_USAGE, "the path %s is too long", directory);
        if (mkdir(path, 0700) == 0) return 0;
        if (errno != EEXIST || wanted != NULL) break;
    }
    return ggs_fail_errno(error, "cannot create %s", path);
}

static int copy_file(const char * from, const char * to, struct ggs_error * error) {
    struct ggs_mapping mapping;
    int                status = ggs_mapping_open(&mapping, from, error);
    if (status != 0) return status;
    FILE * file = fopen(to, "wxe");
    if (file == NULL || fwrite(mapping.data, 1, mapping.size, file) != mapping.size)
        status = ggs_fail_errno(error, "cannot write %s", to);
    if (file != NULL && fclose(file) != 0 && status == 0) status = ggs_fail_errno(error, "cannot write %s", to);
    ggs_mapping_close(&mapping);
    return status;
}

static int make_snapshot(const struct arguments * arguments, struct ggs_error * error) {
    const char *            directory = arguments->input.paths[0];
    struct ggs_live_context live      = {.weights = true};
    char                    out[PATH_MAX - 32], from[PATH_MAX], to[PATH_MAX], line[PATH_MAX + 64], answer[256];
    if (!ggs_spool_place_is_live(directory) || !ggs_spool_place_has_segments(directory))
        return ggs_fail(error, GGS_ABSENT, "nothing is being recorded into %s", directory);
    int status = make_directory(directory, arguments->output, out, error);
    if (status < 0) return status;
    snprintf(from, sizeof(from), "%.*s/experiment.json", PATH_MAX - 32, directory);
    snprintf(to, sizeof(to), "%s/trace.ggs", out);
    umask(077);
    status = ggs_live_copy(&live, directory, to, error);
    ggs_live_release(&live);
    snprintf(to, sizeof(to), "%s/experiment.json", out);
    if (status == 0) status = copy_file(from, to, error);
    if (status < 0) {
        rmdir(out); // stays if it is not empty
        return status;
    }
    snprintf(line, sizeof(line), "mark snapshot %s", out);
    ggs_control_ask(directory, line, answer, sizeof(answer), NULL); // notifies a live recorder
    printf("%s\n", out);
    return 0;
}

// ---- other commands ----

static int control(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    char * const *           words     = arguments->input.paths;
    char                     line[4096], answer[4096] = "";
    (void) traces;
    if (strcmp(words[1], "snapshot") == 0) return make_snapshot(arguments, error);
    if (snprintf(line, sizeof(line), "%s%s%s", words[1], arguments->input.n > 2 ? " " : "",
                 arguments->input.n > 2 ? words[2] : "") >= (int) sizeof(line))
        return ggs_fail(error, GGS_USAGE, "the mark is too long: shorten it");
    int status = ggs_control_ask(words[0], line, answer, sizeof(answer), error);
    if (status == 0) printf("%s\n", answer);
    return status;
}

static void check(const void * input, struct argp_state * state) {
    static const char * const commands[] = {"start", "stop", "toggle", "status", "mark", "snapshot"};
    const struct arguments *  arguments  = input;
    char * const *            words      = arguments->input.paths;
    bool                      known = false, mark = strcmp(words[1], "mark") == 0;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) known |= strcmp(words[1], commands[i]) == 0;
    if (!known)
        argp_error(state, "a recording takes start, stop, toggle, status, mark or snapshot, not '%s'", words[1]);
    if (mark && arguments->input.n < 3) argp_error(state, "missing argument: the text of the mark");
    if (mark && (words[2][0] == '\0' || strchr(words[2], '\n') != NULL))
        argp_error(state, "a mark is one line of text that is not empty");
    if (!mark && arguments->input.n > 2) argp_error(state, "too many arguments: %s takes none", words[1]);
    if (arguments->output != NULL && strcmp(words[1], "snapshot") != 0)
        argp_error(state, "--output goes with snapshot, not with %s", words[1]);
}

int cmd_control(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("output", 'o', "DIR", "snapshot: put it into this directory (DIR-snapshot-1 and so on)", 1,
                   offsetof(struct arguments, output), ggs_set_text, "a directory"),
        {0}};
    static const struct ggs_verb verb = {
        .operands = "DIR start|stop|toggle|status|mark TEXT|snapshot",
        .least    = 2,
        .most     = 3,
        .options  = options,
        .check    = check,
        .run      = control,
        .text     = "Control the recording that runs in DIR: start and stop recording graph runs, mark this moment, "
                    "or write what is recorded so far as an experiment (snapshot)."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
