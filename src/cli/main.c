// ggscope VERB ARGS...: finds the verb and runs it.
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/glossary.h"
#include "base/options/nearest.h"
#include "base/system/file.h"
#include "base/system/terminal.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/scaffold/complete.h"
#include "cli/scaffold/man.h"
#include "cli/scaffold/pager.h"
#include "cli/scaffold/version.h"

static const struct ggs_command commands[] = {
#define ROW(name_, group_, pages_, summary_) {#name_, cmd_##name_, GGS_VERBS_##group_, summary_, pages_},
    GGS_VERBS(ROW)
#undef ROW
};
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE * file) {
    fputs("Usage: ggscope VERB [OPTIONS...]\n"
          "       ggscope DIR              the summary of a recording\n"
          "See every tensor operation and every byte of a ggml / llama.cpp inference.\n",
          file);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (i == 0 || commands[i].group != commands[i - 1].group) fprintf(file, "\n%s:\n", commands[i].group);
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    fputs("\n  ggscope help VERB      the options of a verb; also VERB --help, VERB -h\n"
          "  ggscope help WORD      what a word such as op run or lane means; help words lists all\n"
          "  ggscope version        the version, and how it was built\n"
          "  ggscope --no-pager ... long output straight to the terminal\n",
          file);
}

static const struct ggs_command * find(const char * name) {
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) return &commands[i];
    }
    return NULL;
}

// True if the word is among the options, which end at "--".
static bool has_option(int argc, char ** argv, const char * option) {
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], option) == 0) return true;
    }
    return false;
}

static int run(const struct ggs_command * command, int argc, char ** argv, bool pages) {
    char program[64]; // name in argp's messages
    snprintf(program, sizeof(program), "ggscope %s", command->name);
    argv[0]              = program;
    argp_err_exit_status = 2;
    if (argc == 2 && strcmp(argv[1], "-h") == 0) argv[1] = (char *) "--help";
    if (command->pages && pages && !has_option(argc, argv, "--no-pager")) ggs_pager_start();
    ggs_pager_plain();
    return command->function(argc, argv);
}

// Returns the command for a path in place of a verb: a recording, a trace or a model. NULL if it is
// none.
static const struct ggs_command * of_path(const char * path) {
    static const struct ggs_command summary = {"DIR", cmd_summary, "", "", false};
    char                            magic[4];
    struct stat                     info;
    if (stat(path, &info) != 0) return NULL;
    if (S_ISDIR(info.st_mode)) return &summary;
    FILE * file = S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    bool model = file != NULL && fread(magic, 1, sizeof(magic), file) == sizeof(magic) && memcmp(magic, "GGUF", 4) == 0;
    if (file != NULL) fclose(file);
    return file == NULL ? NULL : model ? find("gguf") : &summary;
}

static int no_verb(const char * word) {
    static const char * const own[]   = {"--help", "--version", "--no-pager"};
    struct ggs_nearest        nearest = {.word = word};
    bool                      option  = word[0] == '-';
    if (!option && strpbrk(word, "./") != NULL) { // probably meant as a path
        char here[PATH_MAX];
        bool relative = word[0] != '/' && getcwd(here, sizeof(here)) != NULL;
        fprintf(stderr, "ggscope: there is no %s%s%s\n", relative ? here : "", relative ? "/" : "", word);
        return 1;
    }
    if (option) {
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) ggs_nearest_try(&nearest, own[i]);
    } else {
        for (size_t i = 0; i < N_COMMANDS; i++) ggs_nearest_try(&nearest, commands[i].name);
    }
    const char * likely = ggs_nearest_likely(&nearest);
    fprintf(stderr, "ggscope: there is no %s '%s'%s%s%s; ggscope --help lists them\n", option ? "option" : "verb", word,
            likely == NULL ? "" : " (did you mean '", likely == NULL ? "" : likely, likely == NULL ? "" : "'?)");
    return 2;
}

// Prints the meaning of a word, "words" of all. False if it is not in the glossary.
static bool help_word(int argc, char ** argv) {
    struct ggs_text word = {0}, text = {0};
    for (int i = 0; i < argc; i++) ggs_text_printf(&word, "%s%s", i == 0 ? "" : " ", argv[i]);
    bool                    all = strcmp(ggs_text_string(&word), "words") == 0;
    const struct ggs_term * one = ggs_glossary_find(ggs_text_string(&word));
    for (const struct ggs_term * term = ggs_glossary; term->word != NULL; term++)
        if (all || term == one) ggs_text_printf(&text, "%s: %s\n", term->word, term->meaning);
    bool found = text.length > 0;
    if (found) ggs_terminal_wrap(text.data, ggs_terminal_limit(stdout), stdout);
    ggs_text_release(&word);
    ggs_text_release(&text);
    return found;
}

static int help(int argc, char ** argv, bool pages) {
    char * words[] = {argv[0], (char *) "--help", NULL};
    if (argc < 2) {
        print_help(stdout);
        return 0;
    }
    const struct ggs_command * command = argc == 2 ? find(argv[1]) : NULL; // "graph run" is a word
    if (command != NULL) return run(command, 2, words, pages);
    return help_word(argc - 1, argv + 1) ? 0 : no_verb(argv[1]);
}

// Checks that all output was written, including libc's help. A verb that failed to write has
// already reported it.
static void finish_stdout(void) {
    if (ggs_file_flush(stdout) == 0) return;
    fprintf(stderr, "ggscope: cannot write to standard output: %s\n", strerror(errno));
    _exit(1);
}

static void go_on(int number) {
    (void) number;
}

// With a file size limit (ulimit -f), write() must fail with a sentence that names the file. A
// handler, because child processes inherit ignored signals, but not handlers.
static void survive_file_limit(void) {
    struct sigaction before;
    struct sigaction wanted = {.sa_handler = go_on, .sa_flags = SA_RESTART};
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL) sigaction(SIGXFSZ, &wanted, NULL);
}

int main(int argc, char ** argv) {
    atexit(finish_stdout);
    survive_file_limit();
    // A closed pipe (| head) ends the program quietly, like other filters.
    signal(SIGPIPE, SIG_DFL);
    bool pages = true;
    for (; argc > 1 && (strcmp(argv[1], "--no-pager") == 0 || strcmp(argv[1], "-P") == 0); argc--, argv++)
        pages = false;
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    const char * verb = argv[1];
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "-?") == 0 || strcmp(verb, "help") == 0)
        return help(argc - 1, argv + 1, pages);
    if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0 || strcmp(verb, "version") == 0) {
        ggs_version_print(stdout);
        return 0;
    }
    if (strcmp(verb, "__complete") == 0) return ggs_complete(commands, N_COMMANDS, argc - 2, argv + 2);
    if (strcmp(verb, "__man") == 0 && argc == 3) return ggs_man_write(commands, N_COMMANDS, argv[2]);
    const struct ggs_command * command = find(verb);
    if (command != NULL) return run(command, argc - 1, argv + 1, pages);
    command = of_path(verb);
    if (command == NULL) return no_verb(verb);
    return run(command, argc, argv, pages); // the path is its first operand
}
