#include "trials/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

static void path_of(char path[PATH_MAX + 32], const char * study) {
    snprintf(path, PATH_MAX + 32, "%s/trials.jsonl", study);
}

bool ggs_journal_exists(const char * study) {
    char        path[PATH_MAX + 32];
    struct stat info;
    path_of(path, study);
    return stat(path, &info) == 0 && info.st_size > 0;
}

static int64_t number_of(struct json_object * line, const char * key) {
    struct json_object * value;
    return json_object_object_get_ex(line, key, &value) ? json_object_get_int64(value) : -1;
}

static double real_of(struct json_object * line, const char * key, double none) {
    struct json_object * value;
    return json_object_object_get_ex(line, key, &value) && value != NULL ? json_object_get_double(value) : none;
}

// False if the line is not a trial of this plan.
static bool read_trial(struct json_object * line, unsigned variants, unsigned rounds, struct ggs_trial * trial) {
    struct json_object * value;
    int64_t              variant = number_of(line, "variant"), round = number_of(line, "round");
    if (variant < 0 || variant >= variants || round < 0 || round >= rounds) return false;
    *trial      = (struct ggs_trial){.variant = (unsigned) variant,
                                     .round   = (unsigned) round,
                                     .status  = (int) number_of(line, "status"),
                                     .seconds = real_of(line, "seconds", 0),
                                     .others  = real_of(line, "others", -1)};
    trial->busy = json_object_object_get_ex(line, "busy", &value) && json_object_get_boolean(value);
    if (!json_object_object_get_ex(line, "outcome", &value)) return false;
    int outcome = -1;
    for (int i = 0; i < GGS_TRIAL_OUTCOMES; i++) {
        if (strcmp(json_object_get_string(value), ggs_trial_outcome_words[i]) == 0) outcome = i;
    }
    if (outcome < 0) return false;
    trial->outcome               = (enum ggs_trial_outcome) outcome;
    struct json_object * figures = NULL;
    json_object_object_get_ex(line, "figures", &figures);
    for (unsigned i = 0; i < GGS_TRIAL_FIGURES; i++) {
        const struct ggs_figure * figure = ggs_trial_figure(i);
        trial->values[i]                 = figure == NULL ? NAN : real_of(figures, figure->name, NAN);
    }
    return true;
}

static int read_all(FILE * file, const char * path, struct ggs_trials * trials, unsigned variants, unsigned rounds,
                    off_t * whole, struct ggs_error * error) {
    char *   text = NULL;
    size_t   size = 0;
    ssize_t  length;
    int      status = 0;
    unsigned number = 0;
    *whole          = 0;
    while (status == 0 && (length = getline(&text, &size, file)) > 0 && text[length - 1] == '\n') {
        struct json_object * line = json_tokener_parse(text);
        struct ggs_trial     trial;
        number++;
        if (line == NULL || !json_object_is_type(line, json_type_object) || !read_trial(line, variants, rounds, &trial))
            status = ggs_fail(error, GGS_FORMAT, "%s: line %u is no trial of this study", path, number);
        else
            status = ggs_trials_add_finished(trials, &trial, error);
        json_object_put(line);
        *whole += length;
    }
    free(text);
    return status;
}

int ggs_journal_open(struct ggs_journal * journal, const char * study, struct ggs_trials * trials, unsigned variants,
                     unsigned rounds, bool read_only, struct ggs_error * error) {
    char  path[PATH_MAX + 32];
    off_t whole  = 0;
    int   status = 0;
    journal->fd  = -1;
    path_of(path, study);
    FILE * file = fopen(path, "re");
    if (file == NULL && errno != ENOENT) return ggs_fail_errno(error, "cannot read %s", path);
    if (file != NULL) {
        status = read_all(file, path, trials, variants, rounds, &whole, error);
        fclose(file);
    }
    if (status != 0 || read_only) return status;
    journal->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (journal->fd < 0 || ftruncate(journal->fd, whole) != 0) return ggs_fail_errno(error, "cannot write %s", path);
    return 0;
}

int ggs_journal_add(const struct ggs_journal * journal, const struct ggs_trial * trial, const char * run,
                    struct ggs_error * error) {
    struct ggs_text text = {0};
    struct ggs_json json;
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    ggs_json_object(&json, NULL);
    ggs_json_u64(&json, "variant", trial->variant);
    ggs_json_u64(&json, "round", trial->round);
    ggs_json_string(&json, "run", run);
    ggs_json_string(&json, "outcome", ggs_trial_outcome_words[trial->outcome]);
    ggs_json_i64(&json, "status", trial->status);
    ggs_json_double(&json, "seconds", trial->seconds);
    ggs_json_double(&json, "others", trial->others < 0 ? NAN : trial->others);
    ggs_json_bool(&json, "busy", trial->busy);
    ggs_json_object(&json, "figures");
    for (unsigned i = 0; ggs_trial_figure(i) != NULL; i++) {
        if (!isnan(trial->values[i])) ggs_json_double(&json, ggs_trial_figure(i)->name, trial->values[i]);
    }
    ggs_json_end(&json);
    ggs_json_end(&json);
    bool ok = ggs_json_finish(&json) == 0;
    ggs_text_putc(&text, '\n');
    ok = ok && !text.failed && write(journal->fd, text.data, text.length) == (ssize_t) text.length &&
         fdatasync(journal->fd) == 0;
    ggs_text_release(&text);
    return ok ? 0 : ggs_fail_errno(error, "cannot write the journal of the study");
}

void ggs_journal_clear(const struct ggs_journal * journal) {
    if (ftruncate(journal->fd, 0) != 0) return; // they stay
}

void ggs_journal_close(struct ggs_journal * journal) {
    if (journal->fd >= 0) close(journal->fd);
    journal->fd = -1;
}
