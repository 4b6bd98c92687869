#include "cli/scaffold/complete.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/trace.h"
#include "base/error.h"
#include "cli/scaffold/newest.h"
#include "cli/scaffold/verb.h"
#include "record/experiment.h"
#include "record/settings.h"

static bool offer(const char * begun, const char * word, const char * what) {
    bool fits = strncmp(word, begun, strlen(begun)) == 0;
    if (fits) printf("%s\t%s\n", word, what);
    return fits;
}

// ---- options ----

static bool is_option(const struct ggs_option * option, const char * word) {
    if (word[0] != '-') return false;
    if (word[1] == '-') return strcmp(word + 2, option->name) == 0;
    return option->letter != 0 && strchr(word + 1, option->letter) != NULL;
}

// Offers options with this prefix.
static void offer_options(const struct ggs_verb * verb, const char * begun) {
    const struct ggs_option * option;
    const char *              title;
    char                      word[48];
    for (unsigned i = 0; (option = ggs_verb_next_option(verb, &i, &title)) != NULL;) {
        bool again = false; // an option of all verbs that this verb redefines
        for (unsigned k = 0; k + 1 < i;)
            again |= strcmp(ggs_verb_next_option(verb, &k, &title)->name, option->name) == 0;
        snprintf(word, sizeof(word), "--%s", option->name);
        if (!again) offer(begun, word, option->help);
    }
}

// Returns the option whose value follows `word`; NULL: none.
static const struct ggs_option * find_option(const struct ggs_verb * verb, const char * word) {
    const struct ggs_option * option;
    const char *              title;
    for (unsigned i = 0; (option = ggs_verb_next_option(verb, &i, &title)) != NULL;)
        if (option->value != NULL && option->value[0] != '=' && is_option(option, word)) return option;
    return NULL;
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

// Finds the recording on the command line, or else the newest.
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

// After a comma another value may follow.
static void offer_words(ggs_words words, const char * begun) {
    const char * comma = strrchr(begun, ',');
    size_t       head  = comma == NULL ? 0 : (size_t) (comma - begun) + 1;
    for (unsigned i = 0; words(i).word != NULL; i++) {
        char whole[256];
        snprintf(whole, sizeof(whole), "%.*s%s", (int) head, begun, words(i).word);
        offer(begun, whole, words(i).text == NULL ? "" : words(i).text);
    }
}

static void offer_value(const struct ggs_option * option, const char * begun, int argc, char ** argv) {
    static const char * const paths[] = {"FILE", "DIR", "OUT", "B"};
    if (option->words != NULL) {
        offer_words(option->words, begun);
    } else if (strcmp(option->name, "op") == 0 || strcmp(option->name, "tensor") == 0) {
        offer_names(begun, option->name[0] == 'o', argc, argv);
    } else if (strcmp(option->name, "from") != 0 || !offer_recordings(begun)) {
        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
            if (strcmp(option->value, paths[i]) == 0) puts(":files");
    }
}

static bool takes_recordings(const struct ggs_verb * verb) {
    static const char * const operands[] = {"DIR", "[DIR", "[HOST=]DIR", "A B"};
    bool                      any        = false;
    for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++)
        any |= strncmp(verb->operands, operands[i], strlen(operands[i])) == 0;
    return any;
}

int ggs_complete(const struct ggs_command * commands, size_t n_commands, int argc, char ** argv) {
    const char * begun = argc > 0 ? argv[argc - 1] : "";
    bool         help  = argc > 1 && strcmp(argv[0], "help") == 0;
    if (argc < 2 || help) {
        bool any = false;
        for (size_t i = 0; i < n_commands; i++) any |= offer(begun, commands[i].name, commands[i].summary);
        if (help) offer(begun, "words", "what the words of ggscope mean");
        if (help) return 0;
        any |= offer(begun, "help", "the options of a verb, the meaning of a word");
        any |= offer(begun, "version", "the version, and how it was built");
        any |= offer_recordings(begun);
        if (!any) puts(":files");
        return 0;
    }
    for (int i = 1; i < argc - 1; i++) {
        if (strcmp(argv[i], "--") == 0) { // the rest belongs to a program
            puts(":files");
            return 0;
        }
    }
    const struct ggs_command * command = NULL;
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(argv[0], commands[i].name) == 0) command = &commands[i];
    if (command == NULL) return 0;
    struct ggs_verb           verb   = ggs_verb_of(command->function);
    const struct ggs_option * option = argc > 2 ? find_option(&verb, argv[argc - 2]) : NULL;
    if (option != NULL) {
        offer_value(option, begun, argc, argv);
    } else if (begun[0] == '-') {
        offer_options(&verb, begun);
    } else if (!takes_recordings(&verb) || !offer_recordings(begun)) {
        puts(":files");
    }
    return 0;
}
