// ggscope note DIR [TEXT]: notes on an experiment.
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "answer/notes.h"
#include "base/json.h"
#include "base/number.h"
#include "base/system/file.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "record/experiment.h"

enum { TEXT_MOST = 4000 };

struct arguments {
    struct ggs_input input;
    uint64_t         remove; // from 1; 0: none
};

// ---- writing ----

// Opens the notes and locks them against other writers. The file is replaced, not changed, so a
// process that waited for the lock must open it again.
static int lock_notes(int * lock, const char * path, struct ggs_error * error) {
    for (;;) {
        struct stat mine, there;
        int         fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0600);
        if (fd < 0 && errno == ELOOP)
            return ggs_fail(error, GGS_FORMAT, "%s is a link: notes are kept in a file of the experiment", path);
        if (fd < 0) return ggs_fail_errno(error, "cannot write %s", path);
        flock(fd, LOCK_EX); // without locks the last writer wins
        if (fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_dev == there.st_dev &&
            mine.st_ino == there.st_ino) {
            *lock = fd;
            return 0;
        }
        close(fd);
    }
}

static void write_line(FILE * file, const char * when, const char * text) {
    fprintf(file, "%s%s%s\n", when, when[0] == '\0' ? "" : " ", text);
}

static int rewrite(const struct arguments * arguments, const char * path, struct ggs_error * error) {
    const char *      directory = arguments->input.paths[0];
    struct ggs_notes  notes;
    struct ggs_output output;
    char              when[32];
    time_t            now    = time(NULL);
    struct tm         parts  = {0};
    int               status = ggs_notes_read(&notes, directory, error);
    if (status < 0) return status;
    if (arguments->remove > notes.n) {
        status = ggs_fail(error, GGS_ABSENT, "there is no note %llu: %s has %llu",
                          (unsigned long long) arguments->remove, directory, (unsigned long long) notes.n);
    }
    if (status == 0) status = ggs_output_open(&output, path, error);
    if (status == 0) {
        fchmod(fileno(output.file), 0600); // notes may be as private as a prompt
        for (uint64_t i = 0; i < notes.n; i++)
            if (i + 1 != arguments->remove) write_line(output.file, notes.note[i].when, notes.note[i].text);
        gmtime_r(&now, &parts);
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &parts);
        if (arguments->input.n > 1) write_line(output.file, when, arguments->input.paths[1]);
        if (ftell(output.file) > GGS_NOTES_MOST) {
            status = ggs_fail(error, GGS_USAGE, "%s would grow beyond 1 MiB, the most that notes may take", path);
            ggs_output_discard(&output);
        } else {
            status = ggs_output_commit(&output, error);
        }
    }
    ggs_notes_release(&notes);
    return status;
}

static int change(const struct arguments * arguments, struct ggs_error * error) {
    char path[PATH_MAX];
    int  lock;
    if (snprintf(path, sizeof(path), "%s/" GGS_NOTES_FILE, arguments->input.paths[0]) >= (int) sizeof(path))
        return ggs_fail(error, GGS_USAGE, "the path %.200s is too long", arguments->input.paths[0]);
    int status = lock_notes(&lock, path, error);
    if (status < 0) return status;
    status = rewrite(arguments, path, error);
    close(lock);
    return status;
}

// ---- showing ----

static int show(const struct arguments * arguments, struct ggs_error * error) {
    struct ggs_notes notes;
    int              status = ggs_notes_read(&notes, arguments->input.paths[0], error);
    if (status < 0) return status;
    if (!arguments->input.json) ggs_notes_disarm(&notes);
    for (uint64_t i = 0; !arguments->input.json && i < notes.n; i++)
        printf("%3llu  %-20s  %s\n", (unsigned long long) i + 1, notes.note[i].when, notes.note[i].text);
    if (arguments->input.json) ggs_object_write(arguments->input.out, NULL, &ggs_notes_object, &notes, NULL);
    ggs_notes_release(&notes);
    return status;
}

// ---- the verb ----

static int note(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    const char *             directory = arguments->input.paths[0];
    (void) traces;
    if (!ggs_experiment_is_one(directory))
        return ggs_fail(error, GGS_ABSENT, "%s is not an experiment: notes are kept in an experiment's directory",
                        directory);
    int status = arguments->input.n > 1 || arguments->remove > 0 ? change(arguments, error) : 0;
    if (status == 0 && (arguments->input.n == 1 || arguments->input.json)) status = show(arguments, error);
    return status;
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    const char *             text      = arguments->input.n > 1 ? arguments->input.paths[1] : NULL;
    if (text != NULL && arguments->remove > 0)
        argp_error(state, "--remove and TEXT exclude each other: --remove deletes a note, TEXT adds one");
    if (text != NULL && (text[strspn(text, " \t")] == '\0' || strpbrk(text, "\r\n") != NULL))
        argp_error(state, "a note is one line of text that is not empty");
    if (text != NULL && strlen(text) > TEXT_MOST) argp_error(state, "a note has at most %d bytes", TEXT_MOST);
}

static bool set_number(void * member, const char * text) {
    return ggs_parse_u64(text, 1, UINT32_MAX, member);
}

int cmd_note(int argc, char ** argv) {
    static const struct ggs_option options[] = {GGS_OPTION("remove", 0, "N", "Remove note N", 1,
                                                           offsetof(struct arguments, remove), set_number,
                                                           "the number of a note, from 1"),
                                                GGS_OPTION_JSON(2),
                                                {0}};
    static const struct ggs_verb   verb      = {
               .operands = "DIR [TEXT]",
               .least    = 1,
               .most     = 2,
               .options  = options,
               .check    = check,
               .run      = note,
               .text = "Add a note to an experiment, with the time; without TEXT, list its notes. The list of experiments in "
                              "ggscope serve FOLDER shows them too."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
