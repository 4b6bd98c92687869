#include "cli/scaffold/complete.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/walk/trace.h"
#include "base/error.h"
#include "cli/scaffold/newest.h"
#include "export/export.h"
#include "record/experiment.h"
#include "record/settings.h"

static bool offer(const char * begun, const char * word, const char * what) {
    bool fits = strncmp(word, begun, strlen(begun)) == 0;
    if (fits) printf("%s\t%s\n", word, what);
    return fits;
}

// ---- options ----

struct option {
    char letter; // 0 for none
    char name[40];
    bool value;
    char help[100];
};

// "  -o, --output=DIR           Put the experiment into DIR": a line of --help.
static bool read_option(const char * line, struct option * option) {
    *option = (struct option){0};
    line += strspn(line, " ");
    if (line[0] == '-' && line[1] != '-' && line[1] != '\0') {
        option->letter = line[1];
        line += strspn(line + 2, ", ") + 2;
    }
    if (strncmp(line, "--", 2) != 0) return false;
    line += 2;
    size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (length == 0 || length >= sizeof(option->name)) return false;
    memcpy(option->name, line, length);
    line += length;
    option->value = line[0] == '='; // [=FILE] may be left out
    line += strcspn(line, " \n");
    line += strspn(line, " ");
    snprintf(option->help, sizeof(option->help), "%.*s", (int) strcspn(line, "\n"), line);
    return true;
}

// The help of a verb, as a stream; the caller closes it and waits for `child`.
static FILE * open_help(const char * verb, pid_t * child) {
    int                        ends[2];
    posix_spawn_file_actions_t actions;
    const char *               words[] = {"ggscope", verb, "--help", NULL};
    if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    bool started = posix_spawn(child, "/proc/self/exe", &actions, NULL, (char **) words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE * help = started ? fdopen(ends[0], "r") : NULL;
    if (help == NULL) close(ends[0]);
    return help;
}

// Offers options that begin so; if `given` is an option of the verb that takes a value, *found is it.
static void look_at_options(const char * verb, const char * begun, const char * given, struct option * found) {
    char          line[512], word[48];
    struct option option;
    pid_t         child;
    FILE *        help = open_help(verb, &child);
    while (help != NULL && fgets(line, sizeof(line), help) != NULL) {
        if (!read_option(line, &option)) continue;
        if (begun != NULL) {
            snprintf(word, sizeof(word), "--%s", option.name);
            offer(begun, word, option.help);
        }
        if (given == NULL || !option.value) continue;
        bool letter =
            given[0] == '-' && given[1] != '-' && strchr(given + 1, option.letter) != NULL && option.letter != '\0';
        if (letter || (strncmp(given, "--", 2) == 0 && strcmp(given + 2, option.name) == 0)) *found = option;
    }
    if (help == NULL) return;
    fclose(help);
    while (waitpid(child, NULL, 0) < 0) continue;
}

// ---- recordings ----

static bool offer_recordings(const char * begun) {
    bool             any = false;
    char             folder[PATH_MAX], path[PATH_MAX];
    struct ggs_error error;
    if (ggs_settings_folder(folder, &error) != 0) return false;
    DIR * entries = opendir(folder);
    for (struct dirent * entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.' ||
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= (int) sizeof(path))
            continue;
        if (ggs_experiment_is_one(path) && offer(begun, path, "recording")) any = true;
    }
    if (entries != NULL) closedir(entries);
    return any;
}

// The recording that the command line names, or the newest.
static bool find_recording(char path[PATH_MAX], int argc, char ** argv) {
    struct ggs_error error;
    for (int i = 1; i < argc - 1; i++) {
        if (argv[i][0] == '-' || !ggs_experiment_is_one(argv[i])) continue;
        snprintf(path, PATH_MAX, "%s", argv[i]);
        return true;
    }
    return ggs_newest_find(path, &error) == 0;
}

static void offer_names(const char * begun, bool ops, int argc, char ** argv) {
    char             path[PATH_MAX];
    struct ggs_trace trace;
    struct ggs_error error;
    if (!find_recording(path, argc, argv) || ggs_trace_open(&trace, path, &error) != 0) return;
    if (!ops) {
        for (uint64_t i = 0; i < trace.n_tensors; i++)
            offer(begun, ggs_reader_string(trace.reader, trace.tensors[i].name), "tensor");
    } else {
        struct ggs_cursor * cursor = NULL;
        struct ggs_node     node;
        struct ggs_op       op;
        uint8_t             seen[4096] = {0};
        int                 status     = ggs_cursor_open(&cursor, trace.reader, GGS_TABLE_NODES, &error);
        while (status >= 0 && (status = ggs_cursor_next(cursor, &node, &error)) > 0) {
            if (node.op < sizeof(seen)) seen[node.op] = 1;
        }
        ggs_cursor_close(cursor);
        status = ggs_cursor_open(&cursor, trace.reader, GGS_TABLE_OPS, &error);
        while (status >= 0 && (status = ggs_cursor_next(cursor, &op, &error)) > 0) {
            if (op.op < sizeof(seen) && seen[op.op]) offer(begun, ggs_reader_string(trace.reader, op.name), "op");
        }
        ggs_cursor_close(cursor);
    }
    ggs_trace_close(&trace);
}

// ---- values ----

static void offer_value(const struct option * option, const char * begun, int argc, char ** argv) {
    const struct ggs_export_format * format;
    if (strcmp(option->name, "op") == 0 || strcmp(option->name, "tensor") == 0) {
        offer_names(begun, option->name[0] == 'o', argc, argv);
    } else if (strcmp(option->name, "format") == 0) {
        for (unsigned i = 0; (format = ggs_export_format(i)) != NULL; i++) offer(begun, format->name, format->summary);
    } else if (strcmp(option->name, "by") == 0) {
        static const char * const names[] = {"op", "layer", "component", "tensor", "thread", "token", "device"};
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) offer(begun, names[i], "");
    } else if (strcmp(option->name, "from") != 0 || !offer_recordings(begun)) {
        puts(":files");
    }
}

static bool is_about_files(const char * verb) {
    static const char * const verbs[] = {"run", "record", "stream", "bench", "gguf", "relayout", "doctor"};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verb, verbs[i]) == 0) return true;
    }
    return false;
}

int ggs_complete(const struct ggs_command * commands, size_t n_commands, int argc, char ** argv) {
    const char *  begun = argc > 0 ? argv[argc - 1] : "";
    struct option found = {0};
    bool          help  = argc > 1 && strcmp(argv[0], "help") == 0;
    if (argc < 2 || help) {
        bool any = false;
        for (size_t i = 0; i < n_commands; i++) any |= offer(begun, commands[i].name, commands[i].summary);
        if (help) return 0;
        any |= offer(begun, "help", "the options of a verb");
        any |= offer(begun, "version", "the version, and how it was built");
        any |= offer_recordings(begun);
        if (!any) puts(":files");
        return 0;
    }
    for (int i = 1; i < argc - 1; i++) {
        if (strcmp(argv[i], "--") == 0) { // the rest is a program's
            puts(":files");
            return 0;
        }
    }
    look_at_options(argv[0], begun[0] == '-' ? begun : NULL, argc > 2 ? argv[argc - 2] : NULL, &found);
    if (begun[0] == '-') return 0;
    if (found.value) {
        offer_value(&found, begun, argc, argv);
        return 0;
    }
    if (is_about_files(argv[0]) || !offer_recordings(begun)) puts(":files");
    return 0;
}
